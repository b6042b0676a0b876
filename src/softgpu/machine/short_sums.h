/*
 * Sums of products of 8-bit floats, of which tensor cores keep few bits. All products of an instruction and the sum so
 * far are aligned to the largest of them, cut to 13 bits behind its first, added exactly, and the result is cut to as
 * many of its own. Hopper's do so; Ada's, in two halves of K, lose no less.
 */
#ifndef SG_SHORT_SUMS_H
#define SG_SHORT_SUMS_H

#include "half.h"

#define SG_SHORT_BITS    13
#define SG_SHORT_DEPTH   32 /* of K, at most */
#define SG_SHORT_COLUMNS 8  /* that are summed together */

/* sums[j] += sum over q of x[q] * y[q * pitch + j]. Numbers that are not finite, and sums so small that their last bits
 * are no f32, are added as they are. */
static inline __attribute__((always_inline)) void sg_short_sums(const float *x, const float *y, uint32_t pitch,
                                                                uint32_t k, float *sums)
{
    float products[SG_SHORT_DEPTH][SG_SHORT_COLUMNS], plain[SG_SHORT_COLUMNS], scale[SG_SHORT_COLUMNS];
    uint32_t largest[SG_SHORT_COLUMNS];
    int32_t total[SG_SHORT_COLUMNS];
    for (uint32_t j = 0; j < SG_SHORT_COLUMNS; j++) {
        plain[j] = sums[j];
        largest[j] = sg_bits_of(sums[j]) & 0x7fffffffu;
    }
    for (uint32_t q = 0; q < k; q++)
        for (uint32_t j = 0; j < SG_SHORT_COLUMNS; j++) {
            const float product = x[q] * y[q * pitch + j];
            const uint32_t magnitude = sg_bits_of(product) & 0x7fffffffu;
            products[q][j] = product;
            plain[j] += product;
            largest[j] = magnitude > largest[j] ? magnitude : largest[j];
        }
    for (uint32_t j = 0; j < SG_SHORT_COLUMNS; j++) {
        const uint32_t exponent = largest[j] >> 23;
        scale[j] = exponent > SG_SHORT_BITS && exponent < 255 ? sg_float_of((254 + SG_SHORT_BITS - exponent) << 23) : 0;
        total[j] = (int32_t)(scale[j] > 0 ? sums[j] * scale[j] : 0);
    }
    for (uint32_t q = 0; q < k; q++)
        for (uint32_t j = 0; j < SG_SHORT_COLUMNS; j++)
            total[j] += (int32_t)(scale[j] > 0 ? products[q][j] * scale[j] : 0);
    for (uint32_t j = 0; j < SG_SHORT_COLUMNS; j++) {
        const uint32_t cut = sg_bits_of((float)total[j]) & ~((1u << (23 - SG_SHORT_BITS)) - 1);
        sums[j] = scale[j] > 0 ? sg_float_of(cut) / scale[j] : plain[j];
    }
}

#endif
