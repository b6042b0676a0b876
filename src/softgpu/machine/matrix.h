/* Small matrices in a warp's registers: what their products and their ways to and from memory share. */
#ifndef SG_MATRIX_H
#define SG_MATRIX_H

#include "../ptx/decode.h"
#include "rows.h"

#define ROWS_MOST    32
#define DEPTH_MOST   32
#define COLUMNS_MOST 32

/* What one instruction is: op->list. */
typedef struct sg_matrix_plan {
    uint32_t m, n, k;
    uint32_t type_a, type_b, type_c, type_d;
    uint32_t saturates;          /* sums of integers */
    uint32_t transposed;         /* ldmatrix: transposed; wmma memory: the matrix lies column by column */
    uint32_t shared;             /* memory: shared, else generic */
    uint32_t rows, columns;      /* wmma memory: of the matrix */
    uint32_t count_a, count_b, count_c, count_d; /* registers */
    uint32_t real_a, real_b; /* of a and b those that do not repeat others; 0: not a product with sums in f32 */
    uint32_t a[8], b[8], c[8], d[8];
    /* For f32 sums: where element e of register r of lane l goes in its matrix, at [(r * each + e) * 32 + l]. */
    uint16_t place_a[8 * 2 * SG_LANES], place_b[8 * 2 * SG_LANES], place_c[8 * SG_LANES];
} sg_matrix_plan;

/* Whether all lanes are here; if not, the others are waited for, or it is a fault. */
bool sg_matrix_whole_warp(sg_warp *w, const sg_op *op, uint32_t mask);

/* Elements of one 32-bit register (1 for 64-bit types), and of a matrix that one lane has. */
uint32_t sg_matrix_per_register(sg_type type);
uint32_t sg_matrix_per_lane(uint32_t elements);

/* Decoding: registers of a fragment, whether there are fragments of a type, m, n and k of a wmma, a vector of just so
 * many registers. */
uint32_t sg_matrix_registers(sg_type type, uint32_t rows, uint32_t columns, bool operand);
bool sg_matrix_has_type(sg_type type, bool operand);
bool sg_matrix_shape(sg_decoder *d, sg_matrix_plan *p);
void sg_matrix_vector(sg_decoder *d, const sg_operand *operand, uint32_t count, uint32_t bytes, bool write,
                      uint32_t *rows);
sg_matrix_plan *sg_matrix_plan_new(sg_decoder *d);

/* wmma.load and wmma.store. */
void sg_decode_fragment(sg_decoder *d, sg_matrix_plan *p, bool store);

#endif
