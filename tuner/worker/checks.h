/* The host's side of checks.cu: random data and f64 arithmetic on the device, for verification. Everything is
 * enqueued on one stream; nothing waits. */
#ifndef GT_CHECKS_H
#define GT_CHECKS_H

#include "../../src/core/driver.h"
#include "../../src/core/kernel.h"
#include "../../src/core/problem.h"

/* Memory that nobody should read or write is filled with this: a NaN in every type of floating point, the halfword
 * 0x7fff at every even address. */
#define GT_POISON 0x7fff7fffu
#define GT_POISON_HALF 0x7fffu

typedef struct gt_checks {
    const gt_driver *driver;
    CUstream stream;
    CUlibrary library;
    CUfunction fill[GT_TYPE_LIMIT], rows[GT_TYPE_LIMIT], columns[GT_TYPE_LIMIT];
    CUfunction gather[GT_TYPE_LIMIT], nonfinite[GT_TYPE_LIMIT];
    CUfunction sample[GT_TYPE_LIMIT][GT_TYPE_LIMIT]; /* by the types of A and B, where these may be multiplied */
    CUfunction count_changed, checksum[2]; /* checksum: of bytes, of halfwords */
} gt_checks;

/* One matrix on the device as it is stored, row-major. */
typedef struct gt_matrix {
    CUdeviceptr data;
    gt_type type;
    int64_t rows, columns, ld;
} gt_matrix;

/* An operand of one product of a problem's batch, found from the first one's address. */
gt_matrix gt_matrix_of(const gt_problem *problem, gt_operand operand, CUdeviceptr first, int64_t index);

/* Loads the compiled checks.cu into the current context. Owned: gt_checks_finish. */
gt_status gt_checks_init(const gt_driver *driver, CUstream stream, const gt_code *code, gt_checks *checks);
void gt_checks_finish(gt_checks *checks);

/* Random elements (near normal; integers from -8 to 8 for s32, of the whole range for s8) in `batch` matrices `stride` elements apart. */
CUresult gt_checks_fill(const gt_checks *checks, const gt_matrix *matrix, int64_t batch, int64_t stride, uint64_t seed);

/* out = M v, or v' M with transposed, in f64; with squares, of M's squared elements. v 0 stands for ones. */
CUresult gt_checks_multiply(const gt_checks *checks, const gt_matrix *matrix, bool transposed, bool squares,
                            CUdeviceptr v, CUdeviceptr out);

/* For each of count places (pairs of int64: i, j) three f64: the sum over p of a_ip b_pj, of its squares, of its
 * magnitudes. index: which product of the batch. */
CUresult gt_checks_sample(const gt_checks *checks, const gt_problem *problem, CUdeviceptr a, CUdeviceptr b,
                          int64_t index, CUdeviceptr places, int64_t count, CUdeviceptr out);

/* The elements at these places, as f64. */
CUresult gt_checks_gather(const gt_checks *checks, const gt_matrix *matrix, CUdeviceptr places, int64_t count,
                          CUdeviceptr out);

/* found[0] += elements that are not finite; found[1] = min(found[1], first of them), counted along rows. */
CUresult gt_checks_nonfinite(const gt_checks *checks, const gt_matrix *matrix, CUdeviceptr found);

/* *sum (64 bits) += a number that stands for the matrix's bits. */
CUresult gt_checks_checksum(const gt_checks *checks, const gt_matrix *matrix, CUdeviceptr sum);

/* *counter += bytes that differ from pattern, a halfword at every even address, in rows of width bytes, pitch apart. */
CUresult gt_checks_count(const gt_checks *checks, CUdeviceptr region, int64_t rows, int64_t width, int64_t pitch,
                         unsigned pattern, CUdeviceptr counter);

#endif
