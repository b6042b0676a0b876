/*
 * Registers of asynchronous products: from wgmma.mma_async until its group has been waited for, sums and A's fragments
 * are the tensor core's. What the assembler makes of another instruction that mentions one meanwhile may be wrong, also
 * of a move that the compiler put there. So an operation stands before each of those and asks. Registers are numbered,
 * as rows may be another value's behind the last instruction that mentions theirs.
 */
#include <string.h>

#include "decode.h"

static bool is_wgmma(const sg_instruction *in)
{
    return strncmp(in->mnemonic, "wgmma.", 6) == 0;
}

static void number(sg_decoder *d, const sg_operand *operand)
{
    if (operand->kind == SG_OPERAND_REGISTER && !d->held[operand->reg])
        d->held[operand->reg] = ++d->kernel->held_count;
    for (uint32_t i = 0; operand->kind == SG_OPERAND_VECTOR && i < operand->count; i++)
        number(d, &operand->items[i]);
}

void sg_held_find(sg_decoder *d)
{
    const sg_function *f = d->function;
    d->held = NULL;
    for (size_t i = 0; i < f->instruction_count; i++) {
        const sg_instruction *in = &f->instructions[i];
        if (!is_wgmma(in) || in->count < 2)
            continue;
        if (!d->held)
            d->held = sg_list(d, (uint32_t)f->register_count);
        number(d, &in->operands[0]);
        if (in->operands[1].kind == SG_OPERAND_VECTOR)
            number(d, &in->operands[1]);
    }
}

uint32_t sg_held_number(const sg_decoder *d, const sg_operand *operand)
{
    return operand->kind == SG_OPERAND_REGISTER ? d->held[operand->reg] : 0;
}

/* Writes the numbers of an operand's registers to list, where there is one. Returns how many they are. */
static uint32_t collect(const sg_decoder *d, const sg_operand *operand, uint32_t *list)
{
    uint32_t count = 0;
    if (operand->kind == SG_OPERAND_REGISTER && d->held[operand->reg]) {
        if (list)
            *list = d->held[operand->reg];
        return 1;
    }
    for (uint32_t i = 0; operand->items && operand->kind != SG_OPERAND_TARGETS && i < operand->count; i++)
        count += collect(d, &operand->items[i], list ? list + count : NULL);
    return count;
}

void sg_held_ask(sg_decoder *d)
{
    uint32_t count = 0, at = 0;
    if (!d->held || is_wgmma(d->in))
        return;
    for (uint32_t i = 0; i < d->in->count; i++)
        count += collect(d, &d->in->operands[i], NULL);
    if (count == 0)
        return;
    sg_op *op = sg_emit(d, sg_run_ask, sg_run_ask, SG_PIPE_NONE);
    op->imm = count;
    op->list = sg_list(d, count);
    for (uint32_t i = 0; i < d->in->count; i++)
        at += collect(d, &d->in->operands[i], op->list + at);
}
