/* Operands become references to rows: of registers, of constants, of special registers. */
#include <string.h>

#include "decode.h"

#define REGISTER_BYTES_MOST (64u << 20) /* of one warp */

void sg_decode_unsupported(sg_decoder *d, const char *what)
{
    sg_syntax_fail(d->syntax, SG_PTX_UNSUPPORTED, d->in->line, "%.100s: %s", d->in->mnemonic, what);
}

void sg_decode_bad(sg_decoder *d, const char *what)
{
    sg_syntax_fail(d->syntax, SG_PTX_SYNTAX, d->in->line, "%.100s: %s", d->in->mnemonic, what);
}

uint32_t sg_temporary(sg_decoder *d, uint32_t bytes)
{
    const uint32_t row = d->kernel->register_bytes;
    d->kernel->register_bytes += bytes == 8 ? 2 * SG_ROW_BYTES : SG_ROW_BYTES;
    if (d->kernel->register_bytes > REGISTER_BYTES_MOST)
        sg_decode_unsupported(d, "too many registers");
    return row * 2;
}

uint32_t sg_register_row(sg_decoder *d, uint32_t reg)
{
    const sg_type type = d->function->registers[reg].type;
    if (!d->rows[reg])
        d->rows[reg] = 1 + (type == SG_PRED ? 2 * d->kernel->predicate_count++ : sg_temporary(d, sg_type_bytes(type)));
    return d->rows[reg] - 1;
}

uint32_t sg_register_bytes(sg_decoder *d, const sg_operand *operand)
{
    if (operand->kind != SG_OPERAND_REGISTER)
        return 0;
    const sg_type type = d->function->registers[operand->reg].type;
    return type == SG_PRED ? 1 : sg_type_bytes(type);
}

/* Constant rows: the same value has the same row. */
uint32_t sg_constant(sg_decoder *d, uint64_t value, uint32_t bytes)
{
    const uint32_t row_bytes = bytes == 8 ? 2 * SG_ROW_BYTES : SG_ROW_BYTES;
    if (bytes < 8)
        value &= UINT32_MAX;
    if (2 * (d->constant_count + 1) > d->constant_buckets) {
        uint32_t *old = d->constant_index, old_buckets = d->constant_buckets;
        d->constant_buckets = old_buckets ? 2 * old_buckets : 64;
        d->constant_index = sg_syntax_alloc(d->syntax, 4 * d->constant_buckets * sizeof(uint32_t));
        for (uint32_t i = 0; i < old_buckets; i++)
            if (old[4 * i]) {
                uint32_t at = sg_text_hash((const char *)&old[4 * i + 1], 12) % d->constant_buckets;
                while (d->constant_index[4 * at])
                    at = (at + 1) % d->constant_buckets;
                memcpy(&d->constant_index[4 * at], &old[4 * i], 16);
            }
    }
    /* An entry: reference + 1, value, width. */
    uint32_t key[3] = {(uint32_t)value, (uint32_t)(value >> 32), bytes == 8};
    uint32_t at = sg_text_hash((const char *)key, 12) % d->constant_buckets;
    for (; d->constant_index[4 * at]; at = (at + 1) % d->constant_buckets)
        if (memcmp(&d->constant_index[4 * at + 1], key, 12) == 0)
            return d->constant_index[4 * at] - 1;
    if (d->constant_bytes + row_bytes > d->constant_room) {
        const uint32_t room = d->constant_room ? 2 * d->constant_room : 64 * SG_ROW_BYTES;
        uint8_t *rows = room > REGISTER_BYTES_MOST ? NULL : sg_syntax_alloc(d->syntax, room);
        if (!rows)
            sg_decode_unsupported(d, "too many constants");
        if (d->constant_bytes)
            memcpy(rows, d->kernel->constants, d->constant_bytes);
        d->kernel->constants = rows;
        d->constant_room = room;
    }
    uint8_t *row = d->kernel->constants + d->constant_bytes;
    for (int lane = 0; lane < SG_LANES; lane++)
        memcpy(row + lane * (bytes == 8 ? 8 : 4), &value, bytes == 8 ? 8 : 4);
    d->constant_index[4 * at] = 2 * d->constant_bytes + 2; /* reference 2 * offset + 1, plus 1 */
    memcpy(&d->constant_index[4 * at + 1], key, 12);
    d->constant_count++;
    d->constant_bytes += row_bytes;
    return d->constant_index[4 * at] - 1;
}

/* The bits of a floating-point immediate in a register of so many bytes. */
static uint64_t float_bits(sg_decoder *d, const sg_operand *operand, uint32_t bytes)
{
    if (operand->single == (bytes == 4))
        return operand->value;
    uint64_t bits = operand->value;
    uint32_t low = (uint32_t)bits;
    double wide;
    float narrow;
    if (operand->single && bytes == 8) {
        memcpy(&narrow, &low, 4);
        wide = narrow;
        memcpy(&bits, &wide, 8);
    } else if (!operand->single && bytes == 4) {
        memcpy(&wide, &bits, 8);
        narrow = (float)wide;
        memcpy(&low, &narrow, 4);
        bits = low;
    } else {
        sg_decode_bad(d, "floating-point immediate of the wrong width");
    }
    return bits;
}

/* In the variable's own space; cvta makes a generic address of it. */
static uint64_t variable_address(const sg_operand *operand)
{
    return operand->variable->address + operand->value;
}

static uint32_t special_reference(sg_decoder *d, const sg_operand *operand, uint32_t bytes)
{
    sg_kernel *kernel = d->kernel;
    const sg_special *special = sg_special_find(operand->name);
    if (!special || special->sample)
        sg_decode_unsupported(d, special ? "special register that only mov reads" : "name not known");
    if (special->bytes != bytes)
        sg_decode_bad(d, "special register of another width");
    for (size_t i = 0; i < kernel->special_count; i++)
        if (kernel->specials[i].special == special)
            return 2 * kernel->specials[i].row;
    if (kernel->special_count == sizeof kernel->specials / sizeof kernel->specials[0])
        sg_decode_unsupported(d, "too many special registers");
    const uint32_t reference = sg_temporary(d, bytes);
    kernel->specials[kernel->special_count++] = (sg_special_use){special, reference / 2};
    return reference;
}

uint32_t sg_source(sg_decoder *d, const sg_operand *operand, uint32_t bytes, bool real)
{
    if (operand->negated)
        sg_decode_bad(d, "'!' before what is no predicate");
    switch (operand->kind) {
    case SG_OPERAND_REGISTER:
        if (sg_register_bytes(d, operand) != bytes || operand->value)
            sg_decode_bad(d, "register of the wrong kind");
        return sg_register_row(d, operand->reg);
    case SG_OPERAND_INTEGER:
        return sg_constant(d, operand->value, bytes);
    case SG_OPERAND_FLOAT:
        if (!real && operand->single != (bytes == 4))
            sg_decode_bad(d, "floating-point immediate of the wrong width");
        return sg_constant(d, float_bits(d, operand, bytes), bytes);
    case SG_OPERAND_VARIABLE:
        if (bytes < 4)
            sg_decode_bad(d, "address in a register that is too narrow");
        return sg_constant(d, variable_address(operand), bytes);
    case SG_OPERAND_SPECIAL:
        return special_reference(d, operand, bytes);
    default:
        sg_decode_bad(d, "operand of the wrong kind");
    }
}

uint32_t sg_destination(sg_decoder *d, const sg_operand *operand, uint32_t bytes)
{
    if (operand->kind == SG_OPERAND_SINK) {
        if (!d->sink)
            d->sink = sg_temporary(d, 8) + 1;
        return d->sink - 1;
    }
    if (operand->kind != SG_OPERAND_REGISTER || sg_register_bytes(d, operand) != bytes || operand->value ||
        operand->negated)
        sg_decode_bad(d, "destination of the wrong kind");
    return sg_register_row(d, operand->reg);
}

uint32_t sg_predicate(sg_decoder *d, const sg_operand *operand)
{
    if (operand->kind == SG_OPERAND_INTEGER)
        return operand->value == 0; /* predicate 0 is true */
    if (sg_register_bytes(d, operand) != 1)
        sg_decode_bad(d, "expected a predicate");
    return sg_register_row(d, operand->reg) | operand->negated;
}

uint32_t sg_predicate_destination(sg_decoder *d, const sg_operand *operand)
{
    if (operand->kind == SG_OPERAND_SINK)
        return 2; /* predicate 1 is written and never read */
    if (sg_register_bytes(d, operand) != 1 || operand->negated)
        sg_decode_bad(d, "expected a predicate");
    return sg_register_row(d, operand->reg);
}

int64_t sg_immediate(sg_decoder *d, const sg_operand *operand)
{
    if (operand->kind != SG_OPERAND_INTEGER)
        sg_decode_bad(d, "expected a constant");
    return (int64_t)operand->value;
}

uint32_t *sg_list(sg_decoder *d, uint32_t count)
{
    return sg_syntax_alloc(d->syntax, count * sizeof(uint32_t));
}

sg_address sg_address_of(sg_decoder *d, const sg_operand *operand)
{
    if (operand->kind != SG_OPERAND_ADDRESS || operand->count < 1)
        sg_decode_bad(d, "expected an address");
    const sg_operand *base = &operand->items[0];
    sg_address address = {.wide = true};
    if (base->kind == SG_OPERAND_REGISTER) {
        const uint32_t bytes = sg_register_bytes(d, base);
        if (bytes != 4 && bytes != 8)
            sg_decode_bad(d, "address in a register of the wrong kind");
        address.wide = bytes == 8;
        address.row = sg_register_row(d, base->reg);
        address.offset = (int64_t)base->value;
    } else if (base->kind == SG_OPERAND_VARIABLE) {
        address.row = sg_constant(d, variable_address(base), 8);
        address.space = base->variable->space;
    } else if (base->kind == SG_OPERAND_INTEGER) {
        address.row = sg_constant(d, base->value, 8);
    } else {
        sg_decode_bad(d, "expected an address");
    }
    return address;
}

uint8_t sg_address_kind(const sg_address *address)
{
    return address->wide ? SG_KIND_WIDE : SG_KIND_NARROW;
}

uint16_t sg_slot(sg_decoder *d)
{
    if (d->kernel->slots >= UINT16_MAX)
        d->kernel->slots = 0; /* shared ones are only slower */
    return (uint16_t)d->kernel->slots++;
}
