/* A product of matrices in host memory on the GPU: they are copied there, multiplied by a stored kernel, and copied
 * back. */
#ifndef GT_HOST_H
#define GT_HOST_H

#include "../gemmtune.h"
#include "symbols.h"
#include "tally.h"

/* A matrix as it is stored, row-major: rows `ld` elements apart. */
typedef struct gt_host_matrix {
    void *data;
    int64_t rows, columns, ld;
} gt_host_matrix;

typedef struct gt_host_product {
    gt_symbol symbol;
    gt_type type; /* of all three */
    int64_t m, n, k;
    gt_op op_a, op_b;
    const void *alpha, *beta;
    bool reads_c;
    gt_host_matrix a, b, c;
} gt_host_product;

/* Asked once the kernel is known, with the microseconds that it is expected to take. */
typedef bool gt_host_worth(void *data, double kernel_us);

/*
 * Runs the product on the first GPU, which is set up with the first one. GT_FATE_ANSWERED: C has the result, and
 * *moved_us is how long the copies took, 0 if that says nothing. With any other fate C is as it was, where the product
 * reads it. One at a time: a second thread waits where it is told to, else its product is GT_FATE_SMALL.
 */
gt_fate gt_host_run(const gt_host_product *product, bool wait, gt_host_worth *worth, void *data, double *moved_us);

#endif
