/*
 * Products of small matrices by a whole warp: mma.sync, whose layouts are documented, and wmma, whose are
 * exec_fragment.c's.
 */
#include "matrix.h"
#include "narrow.h"
#include "race.h"
#include "short_sums.h"

/* Where the elements of fragments lie. */
typedef struct place {
    uint32_t row, column;
} place;

/* wmma: row by row; registers beyond the matrix repeat it. */
static place wmma_place(uint32_t l, uint32_t i, uint32_t rows, uint32_t columns)
{
    const uint32_t each = rows * columns / SG_LANES, at = l * each + i % each;
    return (place){at / columns, at % columns};
}

/* Element i of the registers that a lane holds; packed types have several in one register. */
static double element(const sg_warp *w, const uint32_t *rows, sg_type type, uint32_t l, uint32_t i)
{
    const uint32_t bytes = sg_type_bytes(type);
    if (bytes == 8) {
        double value;
        memcpy(&value, &sg_row64(w, rows[i])[l], 8);
        return value;
    }
    const uint32_t each = 4 / bytes, bits = sg_row32(w, rows[i / each])[l] >> 8 * bytes * (i % each);
    switch (type) {
    case SG_F16: return sg_from_f16(bits & 0xffff);
    case SG_BF16: return sg_from_bf16(bits & 0xffff);
    case SG_TF32: return sg_float_of(bits & ~0x1fffu);
    case SG_F32: return sg_float_of(bits);
    case SG_E4M3: return sg_from_e4m3(bits & 0xff);
    case SG_E5M2: return sg_from_e5m2(bits & 0xff);
    case SG_S8: return (int8_t)bits;
    case SG_U8: return (uint8_t)bits;
    default: return (int32_t)bits;
    }
}

static void put_element(const sg_warp *w, const uint32_t *rows, sg_type type, uint32_t l, uint32_t i, uint64_t value)
{
    const uint32_t bytes = sg_type_bytes(type);
    if (bytes == 8) {
        sg_row64(w, rows[i])[l] = value;
    } else if (bytes == 4) {
        sg_row32(w, rows[i])[l] = (uint32_t)value;
    } else {
        const uint32_t each = 4 / bytes, shift = 8 * bytes * (i % each), mask = ((1u << 8 * bytes) - 1) << shift;
        uint32_t *word = &sg_row32(w, rows[i / each])[l];
        *word = (*word & ~mask) | ((uint32_t)value << shift & mask);
    }
}

static uint64_t bits_of(double value, sg_type type)
{
    uint64_t bits;
    switch (type) {
    case SG_F64: return memcpy(&bits, &value, 8), bits;
    case SG_F32: return sg_bits_of((float)value);
    case SG_F16: return sg_to_f16((float)value);
    default: return (uint32_t)(int64_t)value;
    }
}

/* mma.sync: lanes are eight groups of four; registers run along K first. */
static place mma_a(uint32_t l, uint32_t i, uint32_t each, uint32_t rows)
{
    const uint32_t reg = i / each, halves = rows / 8;
    return (place){l / 4 + 8 * (reg % halves), l % 4 * each + reg / halves * 4 * each + i % each};
}
static place mma_b(uint32_t l, uint32_t i, uint32_t each)
{
    return (place){l % 4 * each + i / each * 4 * each + i % each, l / 4};
}
static place mma_c(uint32_t l, uint32_t i)
{
    return (place){l / 4 + 8 * (i / 2), l % 4 * 2 + i % 2};
}

typedef struct matrices {
    double a[ROWS_MOST][DEPTH_MOST], b[DEPTH_MOST][COLUMNS_MOST], c[ROWS_MOST][COLUMNS_MOST];
} matrices;

/* Sums in the accumulator's precision, in the order of K. Products of two elements are exact in it but for f64. */
static void multiply_f32(const sg_matrix_plan *p, matrices *m)
{
    for (uint32_t i = 0; i < p->m; i++) {
        float sums[COLUMNS_MOST];
        for (uint32_t j = 0; j < p->n; j++)
            sums[j] = (float)m->c[i][j];
        for (uint32_t q = 0; q < p->k; q++) {
            const float x = (float)m->a[i][q];
            for (uint32_t j = 0; j < p->n; j++)
                sums[j] += x * (float)m->b[q][j];
        }
        for (uint32_t j = 0; j < p->n; j++)
            m->c[i][j] = sums[j];
    }
}

static void multiply_f64(const sg_matrix_plan *p, matrices *m)
{
    for (uint32_t i = 0; i < p->m; i++)
        for (uint32_t q = 0; q < p->k; q++)
            for (uint32_t j = 0; j < p->n; j++)
                m->c[i][j] = __builtin_fma(m->a[i][q], m->b[q][j], m->c[i][j]);
}

/* 32-bit integers wrap or saturate; sums of so few products are exact in 64 bits. */
static void multiply_s32(const sg_matrix_plan *p, matrices *m)
{
    for (uint32_t i = 0; i < p->m; i++)
        for (uint32_t j = 0; j < p->n; j++) {
            int64_t sum = (int64_t)m->c[i][j];
            for (uint32_t q = 0; q < p->k; q++)
                sum += (int64_t)m->a[i][q] * (int64_t)m->b[q][j];
            if (p->saturates)
                sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
            m->c[i][j] = (int32_t)(uint32_t)sum;
        }
}

/*
 * The frequent case, f16, bf16, tf32 or 8-bit floats with sums in f32: matrices in f32, filled row by row of registers.
 */
typedef struct matrices_f32 {
    float a[ROWS_MOST * DEPTH_MOST], b[DEPTH_MOST * COLUMNS_MOST], c[ROWS_MOST * COLUMNS_MOST];
} matrices_f32;

static void spread_f32(const sg_warp *w, const uint32_t *rows, uint32_t count, sg_type type, const uint16_t *places,
                       float *matrix)
{
    const uint32_t each = 4 / sg_type_bytes(type);
    for (uint32_t r = 0; r < count; r++)
        for (uint32_t e = 0; e < each; e++, places += SG_LANES) {
            const uint32_t *row = sg_row32(w, rows[r]);
            float values[SG_LANES];
            if (type == SG_F16)
                SG_FOR_LANES values[l] = sg_from_f16(row[l] >> 16 * e & 0xffff);
            else if (type == SG_BF16)
                SG_FOR_LANES values[l] = sg_from_bf16(row[l] >> 16 * e & 0xffff);
            else if (type == SG_E4M3)
                SG_FOR_LANES values[l] = sg_from_e4m3(row[l] >> 8 * e & 0xff);
            else if (type == SG_E5M2)
                SG_FOR_LANES values[l] = sg_from_e5m2(row[l] >> 8 * e & 0xff);
            else
                SG_FOR_LANES values[l] = sg_float_of(type == SG_TF32 ? row[l] & ~0x1fffu : row[l]);
            for (int l = 0; l < SG_LANES; l++)
                matrix[places[l]] = values[l];
        }
}

static inline __attribute__((always_inline)) void product_f32(const sg_matrix_plan *p, matrices_f32 *m,
                                                              const uint32_t n)
{
    for (uint32_t i = 0; i < p->m; i++) {
        float sums[COLUMNS_MOST];
        memcpy(sums, m->c + i * n, n * sizeof(float));
        for (uint32_t q = 0; q < p->k; q++) {
            const float x = m->a[i * p->k + q], *line = m->b + q * n;
            for (uint32_t j = 0; j < n; j++)
                sums[j] += x * line[j];
        }
        memcpy(m->c + i * n, sums, n * sizeof(float));
    }
}

static bool is_f8(uint32_t type)
{
    return type == SG_E4M3 || type == SG_E5M2;
}

/* Of 8-bit floats; n is a multiple of eight. */
SG_VECTOR static void product_f8(const sg_matrix_plan *p, matrices_f32 *m)
{
    for (uint32_t i = 0; i < p->m; i++)
        for (uint32_t j = 0; j < p->n; j += SG_SHORT_COLUMNS)
            sg_short_sums(m->a + i * p->k, m->b + j, p->n, p->k, m->c + i * p->n + j);
}

static void multiply_to_f32(sg_warp *w, const sg_matrix_plan *p)
{
    matrices_f32 m;
    spread_f32(w, p->a, p->real_a, p->type_a, p->place_a, m.a);
    spread_f32(w, p->b, p->real_b, p->type_b, p->place_b, m.b);
    spread_f32(w, p->c, p->count_c, SG_F32, p->place_c, m.c);
    if (is_f8(p->type_a))
        product_f8(p, &m);
    else if (p->n == 8)
        product_f32(p, &m, 8);
    else if (p->n == 16)
        product_f32(p, &m, 16);
    else
        product_f32(p, &m, 32);
    for (uint32_t r = 0; r < p->count_d; r++) {
        float *row = sg_row(w, p->d[r]);
        for (int l = 0; l < SG_LANES; l++)
            row[l] = m.c[p->place_c[r * SG_LANES + (uint32_t)l]];
    }
}

static void multiply(sg_warp *w, const sg_op *op, uint32_t mask, bool is_wmma)
{
    const sg_matrix_plan *p = (const sg_matrix_plan *)op->list;
    matrices m;
    if (!sg_matrix_whole_warp(w, op, mask))
        return;
    if (w->block->race)
        sg_race_meet(w);
    if (w->machine->counts)
        w->machine->counts->tensor_flops += 2ull * p->m * p->n * p->k;
    if (p->real_a) {
        multiply_to_f32(w, p);
        return;
    }
    const uint32_t each_a = sg_matrix_per_register(p->type_a), each_b = sg_matrix_per_register(p->type_b),
                   each_c = sg_matrix_per_register(p->type_c), each_d = sg_matrix_per_register(p->type_d);
    for (uint32_t l = 0; l < SG_LANES; l++) {
        for (uint32_t i = 0; i < p->count_a * each_a; i++) {
            const place at = is_wmma ? wmma_place(l, i, p->m, p->k) : mma_a(l, i, each_a, p->m);
            m.a[at.row][at.column] = element(w, p->a, p->type_a, l, i);
        }
        for (uint32_t i = 0; i < p->count_b * each_b; i++) {
            const place at = is_wmma ? wmma_place(l, i, p->k, p->n) : mma_b(l, i, each_b);
            m.b[at.row][at.column] = element(w, p->b, p->type_b, l, i);
        }
        for (uint32_t i = 0; i < p->count_c * each_c; i++) {
            const place at = is_wmma ? wmma_place(l, i, p->m, p->n) : mma_c(l, i);
            m.c[at.row][at.column] = element(w, p->c, p->type_c, l, i);
        }
    }
    (p->type_a == SG_F64                         ? multiply_f64
     : p->type_a == SG_S8 || p->type_a == SG_U8 ? multiply_s32
                                                 : multiply_f32)(p, &m);
    for (uint32_t l = 0; l < SG_LANES; l++)
        for (uint32_t i = 0; i < p->count_d * each_d; i++) {
            const place at = is_wmma ? wmma_place(l, i, p->m, p->n) : mma_c(l, i);
            put_element(w, p->d, p->type_d, l, i, bits_of(m.c[at.row][at.column], p->type_d));
        }
}

static void multiply_mma(sg_warp *w, const sg_op *op, uint32_t mask)
{
    multiply(w, op, mask, false);
}

static void multiply_wmma(sg_warp *w, const sg_op *op, uint32_t mask)
{
    multiply(w, op, mask, true);
}

/* Decoding. */

static uint32_t register_bytes(uint32_t type)
{
    return type == SG_F64 ? 8 : 4;
}

static void tabulate(sg_matrix_plan *p, bool is_wmma)
{
    const uint32_t each = sg_matrix_per_register(p->type_a);
    p->real_a = is_wmma ? sg_matrix_per_lane(p->m * p->k) / each : p->count_a;
    p->real_b = is_wmma ? sg_matrix_per_lane(p->k * p->n) / each : p->count_b;
    for (uint32_t l = 0; l < SG_LANES; l++) {
        for (uint32_t i = 0; i < p->real_a * each; i++) {
            const place at = is_wmma ? wmma_place(l, i, p->m, p->k) : mma_a(l, i, each, p->m);
            p->place_a[i * SG_LANES + l] = (uint16_t)(at.row * p->k + at.column);
        }
        for (uint32_t i = 0; i < p->real_b * each; i++) {
            const place at = is_wmma ? wmma_place(l, i, p->k, p->n) : mma_b(l, i, each);
            p->place_b[i * SG_LANES + l] = (uint16_t)(at.row * p->n + at.column);
        }
        for (uint32_t i = 0; i < p->count_c; i++) {
            const place at = is_wmma ? wmma_place(l, i, p->m, p->n) : mma_c(l, i);
            p->place_c[i * SG_LANES + l] = (uint16_t)(at.row * p->n + at.column);
        }
    }
}

/* d, a, b, c */
static void finish_multiply(sg_decoder *d, sg_matrix_plan *p, sg_run *run)
{
    if (p->type_c == SG_F32 && p->type_d == SG_F32 &&
        ((is_f8(p->type_a) && is_f8(p->type_b)) ||
         ((p->type_a == SG_F16 || p->type_a == SG_BF16 || p->type_a == SG_TF32) && p->type_a == p->type_b)))
        tabulate(p, run == multiply_wmma);
    if (p->saturates && p->type_d != SG_S32)
        sg_decode_unsupported(d, "saturation not known for this type");
    sg_operands(d, 4, 4);
    sg_matrix_vector(d, sg_operand_at(d, 1), p->count_a, register_bytes(p->type_a), false, p->a);
    sg_matrix_vector(d, sg_operand_at(d, 2), p->count_b, register_bytes(p->type_b), false, p->b);
    sg_matrix_vector(d, sg_operand_at(d, 3), p->count_c, register_bytes(p->type_c), false, p->c);
    sg_matrix_vector(d, sg_operand_at(d, 0), p->count_d, register_bytes(p->type_d), true, p->d);
    sg_emit(d, run, run, SG_PIPE_TENSOR)->list = (uint32_t *)p;
}

static void decode_wmma(sg_decoder *d)
{
    sg_matrix_plan *p = sg_matrix_plan_new(d);
    sg_part(d, "sync");
    sg_part(d, "aligned");
    if (sg_part(d, "load") || sg_part(d, "store")) {
        sg_decode_fragment(d, p, sg_part(d, "store"));
        return;
    }
    /* wmma.mma.row.col.shape.dtype.ctype for f16; .dtype.atype.btype.ctype for the others. Layouts do not matter here:
     * a fragment is a fragment. */
    const bool mma = sg_part(d, "mma");
    sg_part(d, "row");
    sg_part(d, "col");
    sg_part(d, "rn");
    p->saturates = sg_part(d, "satfinite");
    sg_type types[4];
    uint32_t count = 0;
    const bool known = sg_matrix_shape(d, p);
    for (; count < 4 && (types[count] = sg_part_type(d)) != SG_NONE; count++)
        continue;
    sg_parts_done(d);
    if (!mma || !known || (count != 2 && count != 4))
        sg_decode_unsupported(d, "form not known");
    p->type_d = types[0];
    p->type_a = count == 4 ? types[1] : SG_F16;
    p->type_b = count == 4 ? types[2] : SG_F16;
    p->type_c = types[count - 1];
    if (!sg_matrix_has_type(p->type_a, true) || !sg_matrix_has_type(p->type_b, true) ||
        !sg_matrix_has_type(p->type_c, false) || !sg_matrix_has_type(p->type_d, false) ||
        sg_type_bytes(p->type_a) != sg_type_bytes(p->type_b))
        sg_decode_unsupported(d, "types not known");
    p->count_a = sg_matrix_registers(p->type_a, p->m, p->k, true);
    p->count_b = sg_matrix_registers(p->type_b, p->k, p->n, true);
    p->count_c = sg_matrix_registers(p->type_c, p->m, p->n, false);
    p->count_d = sg_matrix_registers(p->type_d, p->m, p->n, false);
    finish_multiply(d, p, multiply_wmma);
}

static void decode_mma(sg_decoder *d)
{
    static const char *const names[] = {"m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32", "m8n8k16", "m8n8k4", NULL};
    static const uint8_t sizes[][3] = {{16, 8, 4}, {16, 8, 8}, {16, 8, 16}, {16, 8, 32}, {8, 8, 16}, {8, 8, 4}};
    sg_matrix_plan *p = sg_matrix_plan_new(d);
    sg_part(d, "sync");
    sg_part(d, "aligned");
    const bool row = sg_part(d, "row"), column = sg_part(d, "col");
    sg_part(d, "rn");
    p->saturates = sg_part(d, "satfinite");
    const int which = sg_part_of(d, names);
    if (which < 0 || !row || !column)
        sg_decode_unsupported(d, "shape or layout not known");
    p->m = sizes[which][0];
    p->n = sizes[which][1];
    p->k = sizes[which][2];
    p->type_d = sg_part_type(d);
    p->type_a = sg_part_type(d);
    p->type_b = sg_part_type(d);
    p->type_c = sg_part_type(d);
    sg_parts_done(d);
    const uint32_t bytes = sg_type_bytes(p->type_a);
    const bool eight_rows_f16 = p->m == 8 && p->k == 4 && p->type_a != SG_F64; /* Volta's, with layouts of its own */
    if (!sg_matrix_has_type(p->type_a, true) || !sg_matrix_has_type(p->type_b, true) ||
        !sg_matrix_has_type(p->type_c, false) || !sg_matrix_has_type(p->type_d, false) ||
        bytes != sg_type_bytes(p->type_b) || eight_rows_f16 || p->k * bytes < (bytes == 8 ? 32 : 16) ||
        (bytes < 8 && p->k * bytes > 32))
        sg_decode_unsupported(d, "shape not known for these types");
    const uint32_t each_c = p->type_c == SG_F16 ? 2 : 1, each_d = p->type_d == SG_F16 ? 2 : 1;
    p->count_a = p->m * p->k * bytes / SG_LANES / register_bytes(p->type_a);
    p->count_b = p->n * p->k * bytes / SG_LANES / register_bytes(p->type_b);
    p->count_c = p->m * p->n / SG_LANES / each_c;
    p->count_d = p->m * p->n / SG_LANES / each_d;
    if (p->count_a > 8 || p->count_b > 8 || !p->count_a || !p->count_b)
        sg_decode_unsupported(d, "shape not known for these types");
    finish_multiply(d, p, multiply_mma);
}

const sg_entry sg_entries_matrix[] = {
    SG_DECODE("wmma", decode_wmma),
    SG_DECODE("mma", decode_mma),
    SG_END,
};
