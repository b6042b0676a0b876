/* Moves: between registers, from special ones, in and out of vectors, and between address spaces. */
#include "../ptx/decode.h"
#include "rows.h"

SG_ROW_1(copy_32, u32, u32, a)
SG_ROW_1(copy_64, u64, u64, a)
SG_ROW_1(low_16, u32, u32, a & 0xffff)
SG_ROW_1(high_16, u32, u32, a >> 16)
SG_ROW_1(low_32, u32, u64, a)
SG_ROW_1(high_32, u32, u64, a >> 32)
SG_ROW_2(join_16, u32, u32, u32, (a & 0xffff) | b << 16)
SG_ROW_2(join_32, u64, u32, u32, (uint64_t)b << 32 | a)

static void sample_32(sg_warp *w, const sg_op *op, uint32_t mask)
{
    const uint32_t value = (uint32_t)w->machine->kernel->sampled[op->imm]->sample(w);
    uint32_t *row = sg_row32(w, op->d);
    SG_FOR_MASK(l, mask) row[l] = value;
}

static void sample_64(sg_warp *w, const sg_op *op, uint32_t mask)
{
    const uint64_t value = w->machine->kernel->sampled[op->imm]->sample(w);
    uint64_t *row = sg_row64(w, op->d);
    SG_FOR_MASK(l, mask) row[l] = value;
}

static void emit_1(sg_decoder *d, sg_run *full, sg_run *masked, uint32_t to, uint32_t a, uint32_t b, sg_pipe pipe)
{
    sg_op *op = sg_emit(d, full, masked, pipe);
    op->d = to;
    op->a = a;
    op->b = b;
}

/* mov.b64 {lo, hi}, a. Every part is read before the first is written: they may be the same registers. */
static void decode_unpack(sg_decoder *d, const sg_operand *to, const sg_operand *from, uint32_t bytes)
{
    const uint32_t part = to->count ? bytes / to->count : 0;
    const uint32_t source = sg_source(d, from, bytes, false);
    uint32_t halves[2];
    if (to->count < 2 || part * to->count != bytes || (part != 2 && part != 4))
        sg_decode_unsupported(d, "vector of this length");
    if (bytes == 4 || part == 4) {
        const bool small = bytes == 4;
        const uint32_t low = sg_destination(d, &to->items[0], part), high = sg_destination(d, &to->items[1], part);
        const uint32_t keep = sg_temporary(d, 4);
        emit_1(d, small ? high_16_full : high_32_full, small ? high_16_masked : high_32_masked, keep, source, 0,
               SG_PIPE_NONE);
        emit_1(d, small ? low_16_full : low_32_full, small ? low_16_masked : low_32_masked, low, source, 0,
               SG_PIPE_ALU);
        emit_1(d, copy_32_full, copy_32_masked, high, keep, 0, SG_PIPE_NONE);
        return;
    }
    for (int i = 0; i < 2; i++) {
        halves[i] = sg_temporary(d, 4);
        emit_1(d, i ? high_32_full : low_32_full, i ? high_32_masked : low_32_masked, halves[i], source, 0,
               SG_PIPE_NONE);
    }
    for (uint32_t i = 0; i < 4; i++)
        emit_1(d, i & 1 ? high_16_full : low_16_full, i & 1 ? high_16_masked : low_16_masked,
               sg_destination(d, &to->items[i], 2), halves[i / 2], 0, i ? SG_PIPE_NONE : SG_PIPE_ALU);
}

/* mov.b64 d, {lo, hi} */
static void decode_pack(sg_decoder *d, const sg_operand *to, const sg_operand *from, uint32_t bytes)
{
    const uint32_t part = from->count ? bytes / from->count : 0;
    const uint32_t target = sg_destination(d, to, bytes);
    uint32_t items[4];
    if (from->count < 2 || part * from->count != bytes || (part != 2 && part != 4))
        sg_decode_unsupported(d, "vector of this length");
    for (uint32_t i = 0; i < from->count; i++)
        items[i] = sg_source(d, &from->items[i], part, false);
    if (bytes == 4) {
        emit_1(d, join_16_full, join_16_masked, target, items[0], items[1], SG_PIPE_ALU);
    } else if (part == 4) {
        emit_1(d, join_32_full, join_32_masked, target, items[0], items[1], SG_PIPE_ALU);
    } else {
        const uint32_t low = sg_temporary(d, 4), high = sg_temporary(d, 4);
        emit_1(d, join_16_full, join_16_masked, low, items[0], items[1], SG_PIPE_NONE);
        emit_1(d, join_16_full, join_16_masked, high, items[2], items[3], SG_PIPE_NONE);
        emit_1(d, join_32_full, join_32_masked, target, low, high, SG_PIPE_ALU);
    }
}

static void decode_mov(sg_decoder *d)
{
    const sg_type type = sg_part_type(d);
    const uint32_t bytes = sg_type_bytes(type);
    const bool real = type == SG_F16 || type == SG_BF16 || type == SG_F32 || type == SG_F64;
    const sg_operand *to = sg_operand_at(d, 0), *from = sg_operand_at(d, 1);
    sg_parts_done(d);
    sg_operands(d, 2, 2);
    if (bytes != 2 && bytes != 4 && bytes != 8)
        sg_decode_unsupported(d, "type not known");
    if (to->kind == SG_OPERAND_VECTOR) {
        decode_unpack(d, to, from, bytes);
    } else if (from->kind == SG_OPERAND_VECTOR) {
        decode_pack(d, to, from, bytes);
    } else if (from->kind == SG_OPERAND_SPECIAL && sg_special_find(from->name) && sg_special_find(from->name)->sample) {
        const sg_special *special = sg_special_find(from->name);
        sg_kernel *kernel = d->kernel;
        if (special->bytes != bytes || kernel->sampled_count == sizeof kernel->sampled / sizeof kernel->sampled[0])
            sg_decode_bad(d, "special register of another width");
        const uint32_t row = sg_destination(d, to, bytes);
        sg_run *run = bytes == 8 ? sample_64 : sample_32;
        sg_op *op = sg_emit(d, run, run, SG_PIPE_ALU);
        op->d = row;
        size_t which = 0;
        while (which < kernel->sampled_count && kernel->sampled[which] != special)
            which++;
        kernel->sampled[which] = special;
        kernel->sampled_count += which == kernel->sampled_count;
        op->imm = (int64_t)which;
    } else {
        const uint32_t row = sg_destination(d, to, bytes), source = sg_source(d, from, bytes, real);
        emit_1(d, bytes == 8 ? copy_64_full : copy_32_full, bytes == 8 ? copy_64_masked : copy_32_masked, row, source,
               0, SG_PIPE_ALU);
    }
}

/* Into and out of a window of the generic space. */
SG_ROW_1(to_window, u64, u64, a | (uint64_t)op->imm)
SG_ROW_1(from_window, u64, u64, a ^ (uint64_t)op->imm)

static const char *const spaces[] = {"global", "const", "shared", "shared::cta", "shared::cluster", "local", "param",
                                     "param::entry", NULL};
static const uint64_t windows[] = {0, 0, SG_WINDOW_SHARED, SG_WINDOW_SHARED, SG_WINDOW_SHARED, SG_WINDOW_LOCAL,
                                   SG_WINDOW_PARAM, SG_WINDOW_PARAM};

static void decode_cvta(sg_decoder *d)
{
    const bool to = sg_part(d, "to");
    const int space = sg_part_of(d, spaces);
    const sg_type type = sg_part_type(d);
    sg_parts_done(d);
    sg_operands(d, 2, 2);
    if (space < 0 || sg_type_bytes(type) != 8)
        sg_decode_unsupported(d, "space or width not known");
    const uint32_t row = sg_destination(d, sg_operand_at(d, 0), 8),
                   source = sg_source(d, sg_operand_at(d, 1), 8, false);
    const uint64_t window = windows[space] << 56;
    sg_op *op = !window ? sg_emit(d, copy_64_full, copy_64_masked, SG_PIPE_ALU)
                : to    ? sg_emit(d, from_window_full, from_window_masked, SG_PIPE_ALU)
                        : sg_emit(d, to_window_full, to_window_masked, SG_PIPE_ALU);
    op->d = row;
    op->a = source;
    op->imm = (int64_t)window;
}

static void in_space(sg_warp *w, const sg_op *op, uint32_t mask)
{
    const uint64_t *a = sg_row64(w, op->a);
    uint32_t result = 0;
    for (int l = 0; l < SG_LANES; l++) {
        const uint64_t rank = a[l] >> SG_RANK_SHIFT & 255;
        const bool own = op->kind != SG_KIND_OWN || rank == 0 || rank == w->block->rank + 1;
        result |= (uint32_t)(SG_WINDOW(a[l]) == (uint64_t)op->imm && own) << l;
    }
    sg_set_mask(w, op->d, mask, result);
}

static void decode_isspacep(sg_decoder *d)
{
    const int space = sg_part_of(d, spaces);
    sg_parts_done(d);
    sg_operands(d, 2, 2);
    if (space < 0)
        sg_decode_unsupported(d, "space not known");
    const uint32_t p = sg_predicate_destination(d, sg_operand_at(d, 0)),
                   row = sg_source(d, sg_operand_at(d, 1), 8, false);
    sg_op *op = sg_emit(d, in_space, in_space, SG_PIPE_ALU);
    op->d = p;
    op->a = row;
    op->imm = (int64_t)windows[space];
    op->kind = space == 2 || space == 3 ? SG_KIND_OWN : SG_KIND_PLAIN; /* .shared means the block's own */
}

const sg_entry sg_entries_move[] = {
    SG_DECODE("mov", decode_mov),
    SG_DECODE("cvta", decode_cvta),
    SG_DECODE("isspacep", decode_isspacep),
    SG_END,
};
