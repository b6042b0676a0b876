/* wgmma: products of a warpgroup, and waiting for them. */
#include <stdio.h>

#include "../ptx/decode.h"
#include "rows.h"
#include "wgmma.h"

/* m64nNkK, and the types: D, A, B. */
static void take_shape(sg_decoder *d, sg_wgmma_plan *p)
{
    static const struct {
        sg_type type;
        uint32_t k;
    } operands[] = {{SG_F16, 16}, {SG_BF16, 16}, {SG_TF32, 8}, {SG_E4M3, 32}, {SG_E5M2, 32}, {SG_S8, 32}, {SG_U8, 32}};
    uint32_t k = 0;
    for (int i = 1; i < d->part_count; i++)
        if (sscanf(d->parts[i].text, "m64n%uk%u", &p->n, &p->k) == 2)
            d->parts[i].used = true;
    p->type_d = sg_part_type(d);
    p->type_a = sg_part_type(d);
    p->type_b = sg_part_type(d);
    sg_parts_done(d);
    for (size_t i = 0; i < sizeof operands / sizeof operands[0]; i++)
        if (operands[i].type == p->type_a)
            k = operands[i].k;
    const bool integers = p->type_a == SG_S8 || p->type_a == SG_U8;
    const bool same = p->type_a == p->type_b || (k == 32 && integers == (p->type_b == SG_S8 || p->type_b == SG_U8));
    const bool sums = integers ? p->type_d == SG_S32
                               : p->type_d == SG_F32 ||
                                     (p->type_d == SG_F16 && p->type_a != SG_BF16 && p->type_a != SG_TF32);
    if (!k || p->k != k || p->n < 8 || p->n > SG_WGMMA_COLUMNS || p->n % 8 || !same ||
        sg_type_bytes(p->type_b) != 32 / k || !sums || (p->saturates && !integers))
        sg_decode_unsupported(d, "shape or types not known");
}

/* 1 or -1, 0 or 1 */
static bool take_flag(sg_decoder *d, uint32_t i, int64_t no, int64_t yes)
{
    const int64_t value = sg_immediate(d, sg_operand_at(d, i));
    if (value != no && value != yes)
        sg_decode_bad(d, "constant out of range");
    return value == yes;
}

/* d, a, b, scale-d {, scale-a, scale-b {, trans-a}, trans-b} */
static void decode_product(sg_decoder *d)
{
    sg_wgmma_plan *p = (sg_wgmma_plan *)sg_list(d, sizeof *p / sizeof(uint32_t));
    sg_part(d, "sync");
    sg_part(d, "aligned");
    p->saturates = sg_part(d, "satfinite");
    take_shape(d, p);
    const sg_operand *sums = sg_operand_at(d, 0), *a = sg_operand_at(d, 1);
    const bool halves = sg_type_bytes(p->type_a) == 2, scales = p->type_d != SG_S32;
    p->in_registers = a->kind == SG_OPERAND_VECTOR;
    const uint32_t count = 4 + (scales ? 2 : 0) + (halves ? (p->in_registers ? 1 : 2) : 0);
    sg_operands(d, count, count);
    p->count_d = p->type_d == SG_F16 ? p->n / 4 : p->n / 2;
    if (sums->kind != SG_OPERAND_VECTOR || sums->count != p->count_d || (p->in_registers && a->count != 4))
        sg_decode_bad(d, "vector of another length");
    for (uint32_t i = 0; i < p->count_d; i++)
        p->d[i] = sg_destination(d, &sums->items[i], 4);
    for (uint32_t i = 0; i < (p->in_registers ? 4u : 1u); i++)
        p->a[i] = p->in_registers ? sg_source(d, &a->items[i], 4, false) : sg_source(d, a, 8, false);
    for (uint32_t i = 0; i < p->count_d; i++)
        p->held[p->count_held++] = sg_held_number(d, &sums->items[i]);
    for (uint32_t i = 0; p->in_registers && i < 4; i++)
        p->held[p->count_held++] = sg_held_number(d, &a->items[i]);
    p->b = sg_source(d, sg_operand_at(d, 2), 8, false);
    p->scale_d = sg_predicate(d, sg_operand_at(d, 3));
    if (scales)
        p->negative = take_flag(d, 4, 1, -1) != take_flag(d, 5, 1, -1);
    if (halves && !p->in_registers)
        p->trans_a = take_flag(d, 6, 0, 1);
    if (halves)
        p->trans_b = take_flag(d, count - 1, 0, 1);
    sg_op *op = sg_emit(d, sg_wgmma_multiply, sg_wgmma_multiply, SG_PIPE_TENSOR);
    op->list = (uint32_t *)p;
}

static void decode_simple(sg_decoder *d, sg_run *run, bool counted)
{
    sg_part(d, "sync");
    sg_part(d, "aligned");
    sg_parts_done(d);
    sg_operands(d, counted, counted);
    const int64_t groups = counted ? sg_immediate(d, sg_operand_at(d, 0)) : 0;
    if (groups < 0 || groups > 7)
        sg_decode_bad(d, "number of groups");
    sg_emit(d, run, run, SG_PIPE_CONTROL)->imm = groups;
}

static void decode_fence(sg_decoder *d)
{
    sg_part(d, "fence");
    decode_simple(d, sg_wgmma_fence, false);
}

static void decode_commit(sg_decoder *d)
{
    sg_part(d, "commit_group");
    decode_simple(d, sg_wgmma_commit, false);
}

static void decode_wait(sg_decoder *d)
{
    sg_part(d, "wait_group");
    decode_simple(d, sg_wgmma_wait, true);
}

static void decode_async(sg_decoder *d)
{
    sg_part(d, "mma_async");
    decode_product(d);
}

const sg_entry sg_entries_wgmma[] = {
    SG_DECODE("wgmma.fence", decode_fence),
    SG_DECODE("wgmma.commit_group", decode_commit),
    SG_DECODE("wgmma.wait_group", decode_wait),
    SG_DECODE("wgmma.mma_async", decode_async),
    SG_END,
};
