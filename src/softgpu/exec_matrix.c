/*
 * Products of small matrices by a whole warp. mma.sync and ldmatrix have documented layouts; a wmma fragment's is the
 * hardware's own affair, so here it is the simplest: element i of lane l is element l * n + i of the matrix, row by
 * row, n being the elements a lane holds.
 */
#include <inttypes.h>

#include "decode.h"
#include "rows.h"

#define ROWS_MOST    32
#define DEPTH_MOST   32
#define COLUMNS_MOST 32

/* op->list */
typedef struct plan {
    uint32_t m, n, k;
    uint32_t type_a, type_b, type_c, type_d;
    uint32_t bytes_or_trans;     /* ldmatrix: transposed; wmma memory: matrix is column-major */
    uint32_t shared;             /* memory: shared, else generic */
    uint32_t rows, columns;      /* wmma memory: of the matrix */
    uint32_t count_a, count_b, count_c, count_d; /* registers */
    uint32_t real_a, real_b; /* of a and b those that do not repeat others; 0: not a product with sums in f32 */
    uint32_t a[8], b[8], c[8], d[8];
    /* For f32 sums: where element e of register r of lane l goes in its matrix, at [(r * each + e) * 32 + l]. */
    uint16_t place_a[8 * 2 * SG_LANES], place_b[8 * 2 * SG_LANES], place_c[8 * SG_LANES];
} plan;

static bool whole_warp(sg_warp *w, const sg_op *op, uint32_t mask)
{
    if (mask == SG_ALL)
        return true;
    if (w->alive == SG_ALL && w->active == mask) { /* the other lanes may still be on their way */
        w->pc = (uint32_t)(op - w->ops);
        sg_split_yield(w);
        return false;
    }
    sg_fault_at(w, op, mask, SG_FAULT_INSTRUCTION, 0, "needs all 32 lanes of a warp, %d are here", __builtin_popcount(mask));
    return false;
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

/* Where the elements of fragments lie. */
typedef struct place {
    uint32_t row, column;
} place;

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

/* wmma: row by row; registers beyond the matrix repeat it. */
static place wmma_place(uint32_t l, uint32_t i, uint32_t rows, uint32_t columns)
{
    const uint32_t each = rows * columns / SG_LANES, at = l * each + i % each;
    return (place){at / columns, at % columns};
}

/* Elements of a matrix that one lane has. */
static uint32_t fragment_elements(uint32_t count)
{
    return count / SG_LANES;
}

typedef struct matrices {
    double a[ROWS_MOST][DEPTH_MOST], b[DEPTH_MOST][COLUMNS_MOST], c[ROWS_MOST][COLUMNS_MOST];
} matrices;

static uint32_t per_register(sg_type type)
{
    const uint32_t bytes = sg_type_bytes(type);
    return bytes >= 4 ? 1 : 4 / bytes;
}

/* Sums in the accumulator's precision, in the order of K. Products of two elements are exact in it but for f64. */
static void multiply_f32(const plan *p, matrices *m)
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

static void multiply_f64(const plan *p, matrices *m)
{
    for (uint32_t i = 0; i < p->m; i++)
        for (uint32_t q = 0; q < p->k; q++)
            for (uint32_t j = 0; j < p->n; j++)
                m->c[i][j] = __builtin_fma(m->a[i][q], m->b[q][j], m->c[i][j]);
}

/* 32-bit integers wrap; sums of so few products are exact in f64. */
static void multiply_s32(const plan *p, matrices *m)
{
    for (uint32_t i = 0; i < p->m; i++)
        for (uint32_t j = 0; j < p->n; j++) {
            int64_t sum = (int64_t)m->c[i][j];
            for (uint32_t q = 0; q < p->k; q++)
                sum += (int64_t)m->a[i][q] * (int64_t)m->b[q][j];
            m->c[i][j] = (int32_t)(uint32_t)sum;
        }
}

/*
 * The frequent case, f16, bf16 or tf32 with sums in f32: matrices in f32, filled row by row of registers.
 */
typedef struct matrices_f32 {
    float a[ROWS_MOST * DEPTH_MOST], b[DEPTH_MOST * COLUMNS_MOST], c[ROWS_MOST * COLUMNS_MOST];
} matrices_f32;

static void spread_f32(const sg_warp *w, const uint32_t *rows, uint32_t count, sg_type type, const uint16_t *places,
                       float *matrix)
{
    const uint32_t each = type == SG_F16 || type == SG_BF16 ? 2 : 1;
    for (uint32_t r = 0; r < count; r++)
        for (uint32_t e = 0; e < each; e++, places += SG_LANES) {
            const uint32_t *row = sg_row32(w, rows[r]);
            float values[SG_LANES];
            if (type == SG_F16)
                SG_FOR_LANES values[l] = sg_from_f16(row[l] >> 16 * e & 0xffff);
            else if (type == SG_BF16)
                SG_FOR_LANES values[l] = sg_from_bf16(row[l] >> 16 * e & 0xffff);
            else
                SG_FOR_LANES values[l] = sg_float_of(type == SG_TF32 ? row[l] & ~0x1fffu : row[l]);
            for (int l = 0; l < SG_LANES; l++)
                matrix[places[l]] = values[l];
        }
}

static inline __attribute__((always_inline)) void product_f32(const plan *p, matrices_f32 *m, const uint32_t n)
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

static void multiply_to_f32(sg_warp *w, const plan *p)
{
    matrices_f32 m;
    spread_f32(w, p->a, p->real_a, p->type_a, p->place_a, m.a);
    spread_f32(w, p->b, p->real_b, p->type_b, p->place_b, m.b);
    spread_f32(w, p->c, p->count_c, SG_F32, p->place_c, m.c);
    if (p->n == 8)
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
    const plan *p = (const plan *)op->list;
    matrices m;
    if (!whole_warp(w, op, mask))
        return;
    if (w->machine->counts)
        w->machine->counts->tensor_flops += 2ull * p->m * p->n * p->k;
    if (p->real_a) {
        multiply_to_f32(w, p);
        return;
    }
    const uint32_t each_a = per_register(p->type_a), each_b = per_register(p->type_b), each_c = per_register(p->type_c),
                   each_d = per_register(p->type_d);
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

/* The registers of a fragment one after the other; element e of a register is element l * n + r * each + e. Sizes are
 * constants where this is inlined. */
static inline __attribute__((always_inline)) void move_registers(const sg_warp *w, const plan *p, uint8_t *const *lines,
                                                                 bool write, const uint32_t bytes)
{
    const uint32_t each = bytes >= 4 ? 1 : 4 / bytes, real = fragment_elements(p->rows * p->columns);
    const uint32_t shift = (uint32_t)__builtin_ctz(p->columns), registers = real < each ? 1 : real / each;
    for (uint32_t r = 0; r < registers; r++) {
        uint8_t *row = sg_row(w, p->a[r]);
        for (uint32_t l = 0; l < SG_LANES; l++)
            for (uint32_t e = 0; e < each; e++) {
                const uint32_t linear = l * real + (r * each + e) % real;
                const uint32_t i = linear >> shift, j = linear & (p->columns - 1);
                uint8_t *at = p->bytes_or_trans ? lines[j] + i * bytes : lines[i] + j * bytes;
                uint8_t *lane = row + l * (bytes > 4 ? bytes : 4) + e * bytes;
                memcpy(write ? at : lane, write ? lane : at, bytes);
            }
    }
    for (uint32_t r = registers; !write && r < p->count_a; r++) /* the rest repeats */
        memcpy(sg_row(w, p->a[r]), sg_row(w, p->a[r % registers]), SG_ROW_BYTES);
}

static void move_elements(const sg_warp *w, const plan *p, uint8_t *const *lines, bool write)
{
    const uint32_t bytes = sg_type_bytes(p->type_a);
    if (bytes == 2 && write)
        move_registers(w, p, lines, true, 2);
    else if (bytes == 2)
        move_registers(w, p, lines, false, 2);
    else if (bytes == 4 && write)
        move_registers(w, p, lines, true, 4);
    else if (bytes == 4)
        move_registers(w, p, lines, false, 4);
    else
        move_registers(w, p, lines, write, bytes);
}

/* wmma.load and wmma.store: op->a the address, b the distance of lines in elements. */
static void move_fragment(sg_warp *w, const sg_op *op, uint32_t mask, bool write)
{
    const plan *p = (const plan *)op->list;
    if (!whole_warp(w, op, mask))
        return;
    const uint64_t base = sg_lane_address(w, op, op->a, 0);
    const uint32_t stride = sg_row32(w, op->b)[0], bytes = sg_type_bytes(p->type_a);
    const uint32_t lines = p->bytes_or_trans ? p->columns : p->rows, length = p->bytes_or_trans ? p->rows : p->columns;
    uint8_t *at[ROWS_MOST];
    if (base & 15) {
        sg_fault_at(w, op, mask, SG_FAULT_MISALIGNED, base, "address 0x%" PRIx64 " is not aligned to 16 bytes", base);
        return;
    }
    for (uint32_t i = 0; i < lines; i++)
        if (!(at[i] = sg_bytes_at(w, op, 0, base + (uint64_t)i * stride * bytes, length * bytes, write, p->shared)))
            return;
    if (w->watched && p->shared) {
        uint32_t touched[SG_LANES];
        for (uint32_t l = 0; l < SG_LANES; l++)
            touched[l] = (uint32_t)(base + (uint64_t)(l % lines) * stride * bytes + l / lines * 16);
        sg_watch_shared(w, op, lines * (length * bytes / 16) >= SG_LANES ? SG_ALL : (1u << lines * (length * bytes / 16)) - 1,
                        touched, 16, write);
    }
    move_elements(w, p, at, write);
}

static void load_fragment(sg_warp *w, const sg_op *op, uint32_t mask)
{
    move_fragment(w, op, mask, false);
}

static void store_fragment(sg_warp *w, const sg_op *op, uint32_t mask)
{
    move_fragment(w, op, mask, true);
}

/* ldmatrix and stmatrix: matrices of 8 lines of 16 bytes, whose addresses are in lanes 8 i to 8 i + 7. */
static void move_matrices(sg_warp *w, const sg_op *op, uint32_t mask, bool write)
{
    const plan *p = (const plan *)op->list;
    uint8_t *lines[SG_LANES];
    uint32_t touched[SG_LANES];
    if (!whole_warp(w, op, mask))
        return;
    for (uint32_t l = 0; l < 8 * p->count_a; l++) {
        const uint64_t address = sg_lane_address(w, op, op->a, (int)l);
        touched[l] = (uint32_t)address;
        lines[l] = (p->shared ? sg_shared_at : sg_generic_at)(w, op, (int)l, address, 16, write);
        if (!lines[l])
            return;
    }
    if (w->watched)
        sg_watch_shared(w, op, p->count_a == 4 ? SG_ALL : (1u << 8 * p->count_a) - 1, touched, 16, write);
    for (uint32_t i = 0; i < p->count_a; i++)
        for (uint32_t l = 0; l < SG_LANES; l++)
            for (uint32_t half = 0; half < 2; half++) {
                const uint32_t along = l % 4 * 2 + half, line = p->bytes_or_trans ? along : l / 4,
                               column = p->bytes_or_trans ? l / 4 : along;
                uint32_t *word = &sg_row32(w, p->a[i])[l];
                uint8_t *at = lines[8 * i + line] + 2 * column;
                uint16_t value = (uint16_t)(*word >> 16 * half);
                if (write) {
                    memcpy(at, &value, 2);
                } else {
                    memcpy(&value, at, 2);
                    *word = (*word & ~(0xffffu << 16 * half)) | (uint32_t)value << 16 * half;
                }
            }
}

static void load_matrices(sg_warp *w, const sg_op *op, uint32_t mask)
{
    move_matrices(w, op, mask, false);
}

static void store_matrices(sg_warp *w, const sg_op *op, uint32_t mask)
{
    move_matrices(w, op, mask, true);
}

/* Decoding. */

static plan *new_plan(sg_decoder *d)
{
    return (plan *)sg_list(d, sizeof(plan) / sizeof(uint32_t));
}

/* A vector of just so many registers. */
static void take_vector(sg_decoder *d, const sg_operand *operand, uint32_t count, uint32_t bytes, bool write, uint32_t *rows)
{
    const bool alone = operand->kind != SG_OPERAND_VECTOR;
    if ((alone ? 1 : operand->count) != count || count > 8)
        sg_decode_bad(d, "vector of another length");
    for (uint32_t i = 0; i < count; i++) {
        const sg_operand *item = alone ? operand : &operand->items[i];
        rows[i] = write ? sg_destination(d, item, bytes) : sg_source(d, item, bytes, bytes == 8);
    }
}

static bool take_shape(sg_decoder *d, plan *p, const char *const *names, const uint8_t (*sizes)[3])
{
    const int which = sg_part_of(d, names);
    if (which < 0)
        return false;
    p->m = sizes[which][0];
    p->n = sizes[which][1];
    p->k = sizes[which][2];
    return true;
}

static const char *const wmma_names[] = {"m16n16k16", "m32n8k16", "m8n32k16", "m16n16k8", "m8n8k4", NULL};
static const uint8_t wmma_sizes[][3] = {{16, 16, 16}, {32, 8, 16}, {8, 32, 16}, {16, 16, 8}, {8, 8, 4}};

/* Registers of a fragment: f16 operands have eight whatever their size. */
static uint32_t fragment_registers(sg_type type, uint32_t rows, uint32_t columns, bool operand)
{
    if (type == SG_F16 && operand)
        return 8;
    const uint32_t bytes = rows * columns * sg_type_bytes(type) / SG_LANES, each = type == SG_F64 ? 8 : 4;
    return bytes < each ? 1 : bytes / each;
}

static bool fragment_type(sg_type type, bool operand)
{
    static const sg_type operands[] = {SG_F16, SG_BF16, SG_TF32, SG_S8, SG_U8, SG_F64},
                         sums[] = {SG_F16, SG_F32, SG_S32, SG_F64};
    const sg_type *list = operand ? operands : sums;
    const size_t count = operand ? sizeof operands / sizeof operands[0] : sizeof sums / sizeof sums[0];
    for (size_t i = 0; i < count; i++)
        if (list[i] == type)
            return true;
    return false;
}

static void decode_wmma_memory(sg_decoder *d, plan *p, bool store)
{
    static const char *const which_names[] = {"a", "b", "c", "d", NULL};
    static const char *const spaces[] = {"shared", "shared::cta", "global", NULL};
    const int which = sg_part_of(d, which_names), space = sg_part_of(d, spaces);
    const bool row = sg_part(d, "row"), column = sg_part(d, "col");
    const bool known = take_shape(d, p, wmma_names, wmma_sizes);
    p->type_a = sg_part_type(d);
    sg_parts_done(d);
    const bool operand = which < 2;
    if (which < 0 || store != (which == 3) || row == column || !known || !fragment_type(p->type_a, operand))
        sg_decode_unsupported(d, "shape, layout or type not known");
    sg_operands(d, 2, 3);
    p->rows = which == 1 ? p->k : p->m;
    p->columns = which == 0 ? p->k : p->n;
    p->bytes_or_trans = column;
    p->shared = space == 0 || space == 1;
    p->count_a = fragment_registers(p->type_a, p->rows, p->columns, operand);
    take_vector(d, sg_operand_at(d, store ? 1 : 0), p->count_a, p->type_a == SG_F64 ? 8 : 4, !store, p->a);
    const sg_address address = sg_address_of(d, sg_operand_at(d, store ? 0 : 1));
    const uint32_t stride = d->in->count == 3 ? sg_source(d, sg_operand_at(d, 2), 4, false)
                                              : sg_constant(d, column ? p->rows : p->columns, 4);
    sg_run *run = store ? store_fragment : load_fragment;
    sg_op *op = sg_emit(d, run, run, SG_PIPE_MEMORY);
    op->a = address.row;
    op->imm = address.offset;
    op->kind = sg_address_kind(&address);
    op->b = stride;
    op->slot = sg_slot(d);
    op->list = (uint32_t *)p;
}

static uint32_t register_bytes(uint32_t type)
{
    return type == SG_F64 ? 8 : 4;
}

static void tabulate(plan *p, bool is_wmma)
{
    const uint32_t each = per_register(p->type_a);
    p->real_a = is_wmma ? fragment_elements(p->m * p->k) / each : p->count_a;
    p->real_b = is_wmma ? fragment_elements(p->k * p->n) / each : p->count_b;
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
static void finish_multiply(sg_decoder *d, plan *p, sg_run *run)
{
    if (p->type_c == SG_F32 && p->type_d == SG_F32 &&
        (p->type_a == SG_F16 || p->type_a == SG_BF16 || p->type_a == SG_TF32) && p->type_a == p->type_b)
        tabulate(p, run == multiply_wmma);
    sg_operands(d, 4, 4);
    take_vector(d, sg_operand_at(d, 1), p->count_a, register_bytes(p->type_a), false, p->a);
    take_vector(d, sg_operand_at(d, 2), p->count_b, register_bytes(p->type_b), false, p->b);
    take_vector(d, sg_operand_at(d, 3), p->count_c, register_bytes(p->type_c), false, p->c);
    take_vector(d, sg_operand_at(d, 0), p->count_d, register_bytes(p->type_d), true, p->d);
    sg_emit(d, run, run, SG_PIPE_TENSOR)->list = (uint32_t *)p;
}

static void decode_wmma(sg_decoder *d)
{
    plan *p = new_plan(d);
    sg_part(d, "sync");
    sg_part(d, "aligned");
    if (sg_part(d, "load") || sg_part(d, "store")) {
        decode_wmma_memory(d, p, sg_part(d, "store"));
        return;
    }
    /* wmma.mma.row.col.shape.dtype.ctype for f16; .dtype.atype.btype.ctype for the others. Layouts do not matter here:
     * a fragment is a fragment. */
    const bool mma = sg_part(d, "mma");
    sg_part(d, "row");
    sg_part(d, "col");
    sg_part(d, "rn");
    sg_type types[4];
    uint32_t count = 0;
    const bool known = take_shape(d, p, wmma_names, wmma_sizes);
    for (; count < 4 && (types[count] = sg_part_type(d)) != SG_NONE; count++)
        continue;
    sg_parts_done(d);
    if (!mma || !known || (count != 2 && count != 4))
        sg_decode_unsupported(d, "form not known");
    p->type_d = types[0];
    p->type_a = count == 4 ? types[1] : SG_F16;
    p->type_b = count == 4 ? types[2] : SG_F16;
    p->type_c = types[count - 1];
    if (!fragment_type(p->type_a, true) || !fragment_type(p->type_b, true) || !fragment_type(p->type_c, false) ||
        !fragment_type(p->type_d, false) || sg_type_bytes(p->type_a) != sg_type_bytes(p->type_b))
        sg_decode_unsupported(d, "types not known");
    p->count_a = fragment_registers(p->type_a, p->m, p->k, true);
    p->count_b = fragment_registers(p->type_b, p->k, p->n, true);
    p->count_c = fragment_registers(p->type_c, p->m, p->n, false);
    p->count_d = fragment_registers(p->type_d, p->m, p->n, false);
    finish_multiply(d, p, multiply_wmma);
}

static void decode_mma(sg_decoder *d)
{
    static const char *const names[] = {"m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32", "m8n8k16", "m8n8k4", NULL};
    static const uint8_t sizes[][3] = {{16, 8, 4}, {16, 8, 8}, {16, 8, 16}, {16, 8, 32}, {8, 8, 16}, {8, 8, 4}};
    plan *p = new_plan(d);
    sg_part(d, "sync");
    sg_part(d, "aligned");
    const bool row = sg_part(d, "row"), column = sg_part(d, "col");
    sg_part(d, "rn");
    if (!take_shape(d, p, names, sizes) || !row || !column)
        sg_decode_unsupported(d, "shape or layout not known");
    p->type_d = sg_part_type(d);
    p->type_a = sg_part_type(d);
    p->type_b = sg_part_type(d);
    p->type_c = sg_part_type(d);
    sg_parts_done(d);
    const uint32_t bytes = sg_type_bytes(p->type_a);
    const bool eight_rows_f16 = p->m == 8 && p->k == 4 && p->type_a != SG_F64; /* Volta's, with layouts of its own */
    if (!fragment_type(p->type_a, true) || !fragment_type(p->type_b, true) || !fragment_type(p->type_c, false) ||
        !fragment_type(p->type_d, false) || bytes != sg_type_bytes(p->type_b) || eight_rows_f16 ||
        p->k * bytes < (bytes == 8 ? 32 : 16) || (bytes < 8 && p->k * bytes > 32))
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

static void decode_matrices(sg_decoder *d, bool store)
{
    plan *p = new_plan(d);
    const bool shape = sg_part(d, "m8n8");
    const uint32_t count = sg_part(d, "x4") ? 4 : sg_part(d, "x2") ? 2 : 1;
    sg_part(d, "x1");
    sg_part(d, "sync");
    sg_part(d, "aligned");
    const bool b16 = sg_part(d, "b16");
    p->bytes_or_trans = sg_part(d, "trans");
    p->shared = sg_part(d, "shared") || sg_part(d, "shared::cta");
    sg_parts_done(d);
    sg_operands(d, 2, 2);
    if (!shape || !b16)
        sg_decode_unsupported(d, "shape or type not known");
    p->count_a = count;
    take_vector(d, sg_operand_at(d, store ? 1 : 0), count, 4, !store, p->a);
    const sg_address address = sg_address_of(d, sg_operand_at(d, store ? 0 : 1));
    sg_run *run = store ? store_matrices : load_matrices;
    sg_op *op = sg_emit(d, run, run, SG_PIPE_MEMORY);
    op->a = address.row;
    op->imm = address.offset;
    op->kind = sg_address_kind(&address);
    op->slot = sg_slot(d);
    op->list = (uint32_t *)p;
}

static void decode_ldmatrix(sg_decoder *d)
{
    decode_matrices(d, false);
}

static void decode_stmatrix(sg_decoder *d)
{
    decode_matrices(d, true);
}

static void decode_wgmma(sg_decoder *d)
{
    sg_decode_unsupported(d, "warpgroup products are not supported yet");
}

const sg_entry sg_entries_matrix[] = {
    SG_DECODE("wmma", decode_wmma),
    SG_DECODE("mma", decode_mma),
    SG_DECODE("ldmatrix", decode_ldmatrix),
    SG_DECODE("stmatrix", decode_stmatrix),
    SG_DECODE("wgmma", decode_wgmma),
    SG_END,
};
