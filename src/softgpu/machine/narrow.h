/* Operands of tensor cores as numbers: packed elements of at most 32 bits, all exact in f32. */
#ifndef SG_NARROW_H
#define SG_NARROW_H

#include "../ptx/syntax.h"
#include "half.h"

/* e5m2 is f16's upper half. */
static inline float sg_from_e5m2(uint32_t byte)
{
    return sg_from_f16(byte << 8);
}

/* e4m3 has no infinities; its NaN are all ones. Moved into f16's place it is 2^8 too small, subnormals included. */
static inline float sg_from_e4m3(uint32_t byte)
{
    const uint32_t body = byte & 0x7f;
    const float magnitude = body == 0x7f ? sg_float_of(0x7fc00000u) : sg_from_f16(body << 7) * 256;
    return byte & 0x80 ? -magnitude : magnitude;
}

/* To the nearest, ties to even; what is too large becomes the largest that is finite, NaN stays one. */
static inline uint32_t sg_to_e4m3(float value)
{
    const uint32_t bits = sg_bits_of(value), body = bits & 0x7fffffffu, sign = bits >> 24 & 0x80u;
    /* Subnormals: 2^14 has their unit in its last place. */
    const uint32_t small = sg_bits_of(sg_float_of(body) + 0x1p14f) - sg_bits_of(0x1p14f);
    const uint32_t normal = ((body + 0x7ffffu + (body >> 20 & 1)) >> 20) - (120u << 3);
    const uint32_t finite = body < 0x3c800000u ? small : body >= 0x43e80000u ? 0x7e : normal;
    return body > 0x7f800000u ? 0x7fu : sign | finite;
}

static inline uint32_t sg_to_e5m2(float value)
{
    const uint32_t bits = sg_bits_of(value), body = bits & 0x7fffffffu, sign = bits >> 24 & 0x80u;
    const uint32_t small = sg_bits_of(sg_float_of(body) + 0x1p7f) - sg_bits_of(0x1p7f);
    const uint32_t normal = ((body + 0xfffffu + (body >> 21 & 1)) >> 21) - (112u << 2);
    const uint32_t finite = body < 0x38800000u ? small : body >= 0x47700000u ? 0x7b : normal;
    return body > 0x7f800000u ? 0x7fu : sign | finite;
}

/* The elements of sixteen bytes; of fewer where the caller has fewer. */
static inline void sg_from_narrow(const uint8_t *bytes, sg_type type, float *values)
{
    uint16_t halves[8];
    uint32_t words[4];
    memcpy(halves, bytes, 16);
    memcpy(words, bytes, 16);
    switch (type) {
    case SG_F16:
        for (int i = 0; i < 8; i++)
            values[i] = sg_from_f16(halves[i]);
        break;
    case SG_BF16:
        for (int i = 0; i < 8; i++)
            values[i] = sg_from_bf16(halves[i]);
        break;
    case SG_TF32:
        for (int i = 0; i < 4; i++)
            values[i] = sg_float_of(words[i] & ~0x1fffu);
        break;
    case SG_E4M3:
        for (int i = 0; i < 16; i++)
            values[i] = sg_from_e4m3(bytes[i]);
        break;
    case SG_E5M2:
        for (int i = 0; i < 16; i++)
            values[i] = sg_from_e5m2(bytes[i]);
        break;
    case SG_S8:
        for (int i = 0; i < 16; i++)
            values[i] = (int8_t)bytes[i];
        break;
    default:
        for (int i = 0; i < 16; i++)
            values[i] = bytes[i];
        break;
    }
}

#endif
