/*
 * Matrices between memory and registers: wmma.load and .store, ldmatrix and stmatrix. A wmma fragment's layout is the
 * hardware's own affair, so here it is the simplest: element i of lane l is element l * n + i of the matrix, row by
 * row, n being the elements a lane has; registers beyond them repeat the first ones.
 */
#include <inttypes.h>

#include "matrix.h"
#include "race.h"

bool sg_matrix_whole_warp(sg_warp *w, const sg_op *op, uint32_t mask)
{
    if (mask == SG_ALL)
        return true;
    if (w->alive == SG_ALL && w->active == mask) { /* the other lanes may still be on their way */
        w->pc = (uint32_t)(op - w->ops);
        sg_split_yield(w);
        return false;
    }
    sg_fault_at(w, op, mask, SG_FAULT_INSTRUCTION, 0, "needs all 32 lanes of a warp, %d are here",
                __builtin_popcount(mask));
    return false;
}

uint32_t sg_matrix_per_register(sg_type type)
{
    const uint32_t bytes = sg_type_bytes(type);
    return bytes >= 4 ? 1 : 4 / bytes;
}

/* Elements of a matrix that one lane has. */
uint32_t sg_matrix_per_lane(uint32_t count)
{
    return count / SG_LANES;
}

/* The registers of a fragment one after the other; element e of a register is element l * n + r * each + e. Sizes are
 * constants where this is inlined. */
static inline __attribute__((always_inline)) void
move_registers(const sg_warp *w, const sg_matrix_plan *p, uint8_t *const *lines, bool write, const uint32_t bytes)
{
    const uint32_t each = bytes >= 4 ? 1 : 4 / bytes, real = sg_matrix_per_lane(p->rows * p->columns);
    const uint32_t shift = (uint32_t)__builtin_ctz(p->columns), registers = real < each ? 1 : real / each;
    for (uint32_t r = 0; r < registers; r++) {
        uint8_t *row = sg_row(w, p->a[r]);
        for (uint32_t l = 0; l < SG_LANES; l++)
            for (uint32_t e = 0; e < each; e++) {
                const uint32_t linear = l * real + (r * each + e) % real;
                const uint32_t i = linear >> shift, j = linear & (p->columns - 1);
                uint8_t *at = p->transposed ? lines[j] + i * bytes : lines[i] + j * bytes;
                uint8_t *lane = row + l * (bytes > 4 ? bytes : 4) + e * bytes;
                memcpy(write ? at : lane, write ? lane : at, bytes);
            }
    }
    for (uint32_t r = registers; !write && r < p->count_a; r++) /* the rest repeats */
        memcpy(sg_row(w, p->a[r]), sg_row(w, p->a[r % registers]), SG_ROW_BYTES);
}

static void move_elements(const sg_warp *w, const sg_matrix_plan *p, uint8_t *const *lines, bool write)
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
    const sg_matrix_plan *p = (const sg_matrix_plan *)op->list;
    if (!sg_matrix_whole_warp(w, op, mask))
        return;
    const uint64_t base = sg_lane_address(w, op, op->a, 0);
    const uint32_t stride = sg_row32(w, op->b)[0], bytes = sg_type_bytes(p->type_a);
    const uint32_t lines = p->transposed ? p->columns : p->rows, length = p->transposed ? p->rows : p->columns;
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
        sg_watch_shared(w, op,
                        lines * (length * bytes / 16) >= SG_LANES ? SG_ALL : (1u << lines * (length * bytes / 16)) - 1,
                        touched, 16, write);
    }
    for (uint32_t i = 0; w->block->race && !p->shared && i < lines; i++)
        if (!sg_race_touch(w, op, 0, base + (uint64_t)i * stride * bytes, length * bytes,
                           write ? SG_TOUCH_WRITE : SG_TOUCH_READ, SG_SPACE_GENERIC))
            return;
    for (uint32_t i = 0; write && !p->shared && i < lines; i++)
        sg_late_touch(&w->block->cluster->late, base + (uint64_t)i * stride * bytes, length * bytes);
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
    const sg_matrix_plan *p = (const sg_matrix_plan *)op->list;
    uint8_t *lines[SG_LANES];
    uint32_t touched[SG_LANES];
    if (!sg_matrix_whole_warp(w, op, mask))
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
                const uint32_t along = l % 4 * 2 + half, line = p->transposed ? along : l / 4,
                               column = p->transposed ? l / 4 : along;
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

/* movmatrix: a matrix of 8 by 8 halves, two beside each other in a lane, transposed. */
static void turn_matrix(sg_warp *w, const sg_op *op, uint32_t mask)
{
    uint16_t matrix[8][8];
    if (!sg_matrix_whole_warp(w, op, mask))
        return;
    memcpy(matrix, sg_row(w, op->a), sizeof matrix); /* lane by lane it lies as in memory */
    uint32_t *row = sg_row32(w, op->d);
    for (uint32_t l = 0; l < SG_LANES; l++)
        row[l] = matrix[l % 4 * 2][l / 4] | (uint32_t)matrix[l % 4 * 2 + 1][l / 4] << 16;
}

/* Decoding. */

sg_matrix_plan *sg_matrix_plan_new(sg_decoder *d)
{
    return (sg_matrix_plan *)sg_list(d, sizeof(sg_matrix_plan) / sizeof(uint32_t));
}

/* A vector of just so many registers. */
void sg_matrix_vector(sg_decoder *d, const sg_operand *operand, uint32_t count, uint32_t bytes, bool write,
                      uint32_t *rows)
{
    const bool alone = operand->kind != SG_OPERAND_VECTOR;
    if ((alone ? 1 : operand->count) != count || count > 8)
        sg_decode_bad(d, "vector of another length");
    for (uint32_t i = 0; i < count; i++) {
        const sg_operand *item = alone ? operand : &operand->items[i];
        rows[i] = write ? sg_destination(d, item, bytes) : sg_source(d, item, bytes, bytes == 8);
    }
}

static const char *const wmma_names[] = {"m16n16k16", "m32n8k16", "m8n32k16", "m16n16k8", "m8n8k4", NULL};
static const uint8_t wmma_sizes[][3] = {{16, 16, 16}, {32, 8, 16}, {8, 32, 16}, {16, 16, 8}, {8, 8, 4}};

bool sg_matrix_shape(sg_decoder *d, sg_matrix_plan *p)
{
    const int which = sg_part_of(d, wmma_names);
    if (which < 0)
        return false;
    p->m = wmma_sizes[which][0];
    p->n = wmma_sizes[which][1];
    p->k = wmma_sizes[which][2];
    return true;
}

/* Registers of a fragment: f16 operands have eight whatever their size. */
uint32_t sg_matrix_registers(sg_type type, uint32_t rows, uint32_t columns, bool operand)
{
    if (type == SG_F16 && operand)
        return 8;
    const uint32_t bytes = rows * columns * sg_type_bytes(type) / SG_LANES, each = type == SG_F64 ? 8 : 4;
    return bytes < each ? 1 : bytes / each;
}

bool sg_matrix_has_type(sg_type type, bool operand)
{
    static const sg_type operands[] = {SG_F16, SG_BF16, SG_TF32, SG_S8, SG_U8, SG_F64, SG_E4M3, SG_E5M2},
                         sums[] = {SG_F16, SG_F32, SG_S32, SG_F64};
    const sg_type *list = operand ? operands : sums;
    const size_t count = operand ? sizeof operands / sizeof operands[0] : sizeof sums / sizeof sums[0];
    for (size_t i = 0; i < count; i++)
        if (list[i] == type)
            return true;
    return false;
}

void sg_decode_fragment(sg_decoder *d, sg_matrix_plan *p, bool store)
{
    static const char *const which_names[] = {"a", "b", "c", "d", NULL};
    static const char *const spaces[] = {"shared", "shared::cta", "global", NULL};
    const int which = sg_part_of(d, which_names), space = sg_part_of(d, spaces);
    const bool row = sg_part(d, "row"), column = sg_part(d, "col");
    const bool known = sg_matrix_shape(d, p);
    p->type_a = sg_part_type(d);
    sg_parts_done(d);
    const bool operand = which < 2;
    if (which < 0 || store != (which == 3) || row == column || !known || !sg_matrix_has_type(p->type_a, operand))
        sg_decode_unsupported(d, "shape, layout or type not known");
    sg_operands(d, 2, 3);
    p->rows = which == 1 ? p->k : p->m;
    p->columns = which == 0 ? p->k : p->n;
    p->transposed = column;
    p->shared = space == 0 || space == 1;
    p->count_a = sg_matrix_registers(p->type_a, p->rows, p->columns, operand);
    sg_matrix_vector(d, sg_operand_at(d, store ? 1 : 0), p->count_a, p->type_a == SG_F64 ? 8 : 4, !store, p->a);
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

static void decode_matrices(sg_decoder *d, bool store)
{
    sg_matrix_plan *p = sg_matrix_plan_new(d);
    const bool shape = sg_part(d, "m8n8");
    const uint32_t count = sg_part(d, "x4") ? 4 : sg_part(d, "x2") ? 2 : 1;
    sg_part(d, "x1");
    sg_part(d, "sync");
    sg_part(d, "aligned");
    const bool b16 = sg_part(d, "b16");
    p->transposed = sg_part(d, "trans");
    p->shared = sg_part(d, "shared") || sg_part(d, "shared::cta");
    sg_parts_done(d);
    sg_operands(d, 2, 2);
    if (!shape || !b16)
        sg_decode_unsupported(d, "shape or type not known");
    p->count_a = count;
    sg_matrix_vector(d, sg_operand_at(d, store ? 1 : 0), count, 4, !store, p->a);
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

const sg_entry sg_entries_fragment[] = {
    {"movmatrix.sync.aligned.m8n8.trans.b16", turn_matrix, turn_matrix, "ww", SG_PIPE_ALU, NULL},
    SG_DECODE("ldmatrix", decode_ldmatrix),
    SG_DECODE("stmatrix", decode_stmatrix),
    SG_END,
};
