/* Which bytes of an allocation somebody has written: one bit a byte. */
#include <string.h>

#include "memory.h"

/* Bits first to last of one byte, both included. */
static uint8_t bits(unsigned first, unsigned last)
{
    return (uint8_t)(0xffu << first & 0xffu >> (7 - last));
}

/* Blocks that run side by side may share a byte of marks. Once set it is only read. */
static void set_bits(uint8_t *byte, uint8_t mask)
{
    if ((__atomic_load_n(byte, __ATOMIC_RELAXED) & mask) != mask)
        __atomic_fetch_or(byte, mask, __ATOMIC_RELAXED);
}

void sg_span_mark(const sg_span *span, uint64_t address, uint64_t count)
{
    if (!span->written || count == 0)
        return;
    const uint64_t first = address - span->base, last = first + count - 1;
    uint8_t *from = span->written + first / 8, *to = span->written + last / 8;
    if (from == to) {
        set_bits(from, bits(first % 8, last % 8));
        return;
    }
    set_bits(from, bits(first % 8, 7));
    set_bits(to, bits(0, last % 8));
    memset(from + 1, 0xff, (size_t)(to - from - 1));
}

bool sg_span_written(const sg_span *span, uint64_t address, uint64_t count)
{
    if (!span->written || count == 0)
        return true;
    const uint64_t first = address - span->base, last = first + count - 1;
    const uint8_t *from = span->written + first / 8, *to = span->written + last / 8;
    const uint8_t head = bits(first % 8, from == to ? last % 8 : 7), tail = bits(0, last % 8);
    if ((*from & head) != head || (from != to && (*to & tail) != tail))
        return false;
    for (const uint8_t *at = from + 1; at < to; at++)
        if (*at != 0xff)
            return false;
    return true;
}

void sg_span_copy_marks(const sg_span *to, uint64_t to_address, const sg_span *from, uint64_t from_address,
                        uint64_t count)
{
    if (!to->written)
        return;
    if (sg_span_written(from, from_address, count)) {
        sg_span_mark(to, to_address, count);
        return;
    }
    /* Backwards where the areas overlap and forwards would overwrite what is still to be read. */
    const bool backwards = to_address > from_address;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t at = backwards ? count - 1 - i : i, bit = to_address + at - to->base;
        if (sg_span_written(from, from_address + at, 1))
            to->written[bit / 8] |= (uint8_t)(1u << bit % 8);
        else
            to->written[bit / 8] &= (uint8_t)~(1u << bit % 8);
    }
}
