/* f16 and bf16 by their bits: the same on every machine, and loops over them vectorise. */
#ifndef SG_HALF_H
#define SG_HALF_H

#include <stdint.h>
#include <string.h>

static inline float sg_float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

static inline uint32_t sg_bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

/* Exact. Fabian Giesen's: the exponent is moved by a multiplication, which also makes subnormals right. */
static inline float sg_from_f16(uint32_t half)
{
    const uint32_t sign = (half & 0x8000u) << 16, body = (half & 0x7fffu) << 13;
    const uint32_t scaled = sg_bits_of(sg_float_of(body) * 0x1p112f);
    return sg_float_of(sign | (body >= 0x0f800000u ? body | 0x7f800000u : scaled));
}

/* To the nearest, ties to even. */
static inline uint32_t sg_to_f16(float value)
{
    const uint32_t bits = sg_bits_of(value), sign = bits >> 16 & 0x8000u, body = bits & 0x7fffffffu;
    /* Subnormals: adding 0.5 leaves the rounded mantissa in the low bits. */
    const uint32_t small = sg_bits_of(sg_float_of(body) + 0.5f) - 0x3f000000u;
    const uint32_t normal = (body - 0x38000000u + 0xfffu + (body >> 13 & 1)) >> 13;
    const uint32_t large = body > 0x7f800000u ? 0x7fffu : 0x7c00u;
    return sign | (body >= 0x47800000u ? large : body < 0x38800000u ? small : normal);
}

static inline float sg_from_bf16(uint32_t half)
{
    return sg_float_of(half << 16);
}

static inline uint32_t sg_to_bf16(float value)
{
    const uint32_t bits = sg_bits_of(value);
    return (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
}

/* An f64 result to f16 or bf16 with one rounding: to odd in f32, which keeps what the second rounding needs. */
static inline float sg_to_odd(double value)
{
    float nearest = (float)value;
    if ((double)nearest == value || value != value || nearest - nearest != 0)
        return nearest;
    uint32_t bits = sg_bits_of(nearest);
    const double magnitude = value < 0 ? -value : value, got = nearest < 0 ? -(double)nearest : (double)nearest;
    if (got > magnitude)
        bits--; /* truncated */
    return sg_float_of(bits | 1);
}

#endif
