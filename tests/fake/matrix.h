/* Matrices as the pretended libraries take them, column-major, and their product, which the host computes. */
#ifndef FAKE_MATRIX_H
#define FAKE_MATRIX_H

#include <stdbool.h>
#include <stdint.h>

#include "../../src/softgpu/machine/half.h"
#include "../../tuner/baselines/cublaslt_abi.h"

typedef struct fake_matrix {
    int type, batch;
    int64_t rows, columns, ld, stride;
} fake_matrix;

/* Which of two operands are transposed. */
typedef struct fake_ops {
    bool a, b;
} fake_ops;

/* Whether the matrices go together. */
static inline bool fake_fits(fake_ops flip, const fake_matrix *a, const fake_matrix *b, const fake_matrix *c)
{
    const int64_t m = flip.a ? a->columns : a->rows, n = flip.b ? b->rows : b->columns;
    const int64_t k = flip.a ? a->rows : a->columns, k_of_b = flip.b ? b->columns : b->rows;
    return m == c->rows && n == c->columns && k == k_of_b && a->ld >= a->rows && b->ld >= b->rows && c->ld >= c->rows &&
           a->batch == c->batch && b->batch == c->batch && a->type == b->type && c->type == GT_LT_32F;
}

static inline double fake_element(const fake_matrix *o, const void *data, int64_t index, int64_t row, int64_t column)
{
    const int64_t at = index * o->stride + column * o->ld + row;
    return o->type == GT_LT_16F ? (double)sg_from_f16(((const uint16_t *)data)[at]) : (double)((const float *)data)[at];
}

static inline void fake_multiply(fake_ops flip, float alpha, const fake_matrix *a, const void *a_data,
                                 const fake_matrix *b, const void *b_data, float beta, const fake_matrix *c,
                                 float *c_data)
{
    const int64_t k = flip.a ? a->rows : a->columns;
    for (int64_t i = 0; i < c->batch; i++)
        for (int64_t column = 0; column < c->columns; column++)
            for (int64_t row = 0; row < c->rows; row++) {
                float *to = c_data + i * c->stride + column * c->ld + row;
                double sum = 0;
                for (int64_t l = 0; l < k; l++)
                    sum += (flip.a ? fake_element(a, a_data, i, l, row) : fake_element(a, a_data, i, row, l)) *
                           (flip.b ? fake_element(b, b_data, i, column, l) : fake_element(b, b_data, i, l, column));
                *to = (float)(alpha * sum + (beta == 0 ? 0 : beta * *to));
            }
}

#endif
