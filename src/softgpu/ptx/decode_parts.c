/* What an instruction is made of, for the functions that decode it: modifiers, operands, and the operations it becomes. */
#include "decode.h"

#include <string.h>

void sg_parts_split(sg_decoder *d)
{
    d->part_count = 0;
    for (const char *at = d->in->mnemonic;; at++) {
        const size_t length = strcspn(at, ".");
        if (d->part_count == SG_PARTS)
            sg_decode_unsupported(d, "too many modifiers");
        d->parts[d->part_count].text = at;
        d->parts[d->part_count].length = length;
        d->parts[d->part_count].used = d->part_count == 0;
        d->part_count++;
        at += length;
        if (!*at)
            return;
    }
}

static bool part_is(const sg_decoder *d, int part, const char *text)
{
    return strlen(text) == d->parts[part].length && memcmp(text, d->parts[part].text, d->parts[part].length) == 0;
}

bool sg_part(sg_decoder *d, const char *text)
{
    bool found = false;
    for (int i = 1; i < d->part_count; i++)
        if (part_is(d, i, text))
            found = d->parts[i].used = true;
    return found;
}

int sg_part_of(sg_decoder *d, const char *const *texts)
{
    for (int i = 0; texts[i]; i++)
        if (sg_part(d, texts[i]))
            return i;
    return -1;
}

sg_type sg_part_type(sg_decoder *d)
{
    for (int i = 1; i < d->part_count; i++) {
        const sg_type type = d->parts[i].used ? SG_NONE : sg_type_find(d->parts[i].text, d->parts[i].length);
        if (type != SG_NONE) {
            d->parts[i].used = true;
            return type;
        }
    }
    return SG_NONE;
}

void sg_parts_done(sg_decoder *d)
{
    for (int i = 1; i < d->part_count; i++)
        if (!d->parts[i].used)
            sg_decode_unsupported(d, "modifier not known in this instruction");
}

const sg_operand *sg_operand_at(sg_decoder *d, uint32_t i)
{
    if (i >= d->in->count)
        sg_decode_bad(d, "operand missing");
    return &d->in->operands[i];
}

void sg_operands(sg_decoder *d, uint32_t least, uint32_t most)
{
    if (d->in->count < least || d->in->count > most)
        sg_decode_bad(d, "wrong number of operands");
}

sg_op *sg_emit(sg_decoder *d, sg_run *full, sg_run *masked, sg_pipe pipe)
{
    sg_kernel *kernel = d->kernel;
    if (kernel->op_count == kernel->op_room) {
        size_t room = 0;
        const size_t count = kernel->op_count;
        kernel->ops = sg_arena_grow(d->syntax->arena, kernel->ops, count, sizeof kernel->ops[0], &room);
        kernel->mnemonics =
            sg_arena_grow(d->syntax->arena, kernel->mnemonics, count, sizeof kernel->mnemonics[0], &kernel->op_room);
        if (!kernel->ops || !kernel->mnemonics)
            sg_syntax_fail(d->syntax, SG_PTX_MEMORY, d->in->line, "out of memory");
    }
    kernel->mnemonics[kernel->op_count] = d->in->mnemonic;
    sg_op *op = &kernel->ops[kernel->op_count++];
    *op = (sg_op){.full = full, .masked = masked, .guard = d->guard, .line = d->in->line, .pipe = (uint8_t)pipe};
    return op;
}
