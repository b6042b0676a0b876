/*
 * Handlers that do the same for each lane: SG_ROW_1, _2 and _3 make the pair of functions for all lanes and for some
 * from one expression of a, b, c. Both loops run over all 32 lanes without a branch, so that compilers vectorise them:
 * the second one keeps the old value where a lane is not meant. Expressions must therefore be harmless on any bits.
 */
#ifndef SG_ROWS_H
#define SG_ROWS_H

#include "half.h"
#include "warp.h"

/* x86-64's baseline has no fused multiply-add. The name of a CPU would mean that one alone, not those after it; names of
 * levels are known since GCC 12. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__FMA__) && !defined(__clang__) && __GNUC__ >= 12
#define SG_VECTOR __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define SG_VECTOR
#endif

/* What a type is in a row, and how it is taken out and put back. */
#define SG_STORE_u8   uint32_t
#define SG_STORE_s8   uint32_t
#define SG_STORE_u16  uint32_t
#define SG_STORE_s16  uint32_t
#define SG_STORE_u32  uint32_t
#define SG_STORE_s32  int32_t
#define SG_STORE_u64  uint64_t
#define SG_STORE_s64  int64_t
#define SG_STORE_f16  uint32_t
#define SG_STORE_bf16 uint32_t
#define SG_STORE_f32  float
#define SG_STORE_f64  double

#define SG_VALUE_u8   uint8_t
#define SG_VALUE_s8   int8_t
#define SG_VALUE_u16  uint16_t
#define SG_VALUE_s16  int16_t
#define SG_VALUE_u32  uint32_t
#define SG_VALUE_s32  int32_t
#define SG_VALUE_u64  uint64_t
#define SG_VALUE_s64  int64_t
#define SG_VALUE_f16  float
#define SG_VALUE_bf16 float
#define SG_VALUE_f32  float
#define SG_VALUE_f64  double

#define SG_GET_u8(x)   ((uint8_t)(x))
#define SG_GET_s8(x)   ((int8_t)(x))
#define SG_GET_u16(x)  ((uint16_t)(x))
#define SG_GET_s16(x)  ((int16_t)(x))
#define SG_GET_u32(x)  (x)
#define SG_GET_s32(x)  (x)
#define SG_GET_u64(x)  (x)
#define SG_GET_s64(x)  (x)
#define SG_GET_f16(x)  sg_from_f16(x)
#define SG_GET_bf16(x) sg_from_bf16(x)
#define SG_GET_f32(x)  (x)
#define SG_GET_f64(x)  (x)

#define SG_PUT_u8(x)   ((uint8_t)(x))
#define SG_PUT_s8(x)   ((uint32_t)(int8_t)(x))
#define SG_PUT_u16(x)  ((uint16_t)(x))
#define SG_PUT_s16(x)  ((uint32_t)(int16_t)(x))
#define SG_PUT_u32(x)  ((uint32_t)(x))
#define SG_PUT_s32(x)  ((int32_t)(x))
#define SG_PUT_u64(x)  ((uint64_t)(x))
#define SG_PUT_s64(x)  ((int64_t)(x))
#define SG_PUT_f16(x)  sg_to_f16(x)
#define SG_PUT_bf16(x) sg_to_bf16(x)
#define SG_PUT_f32(x)  (x)
#define SG_PUT_f64(x)  (x)

static inline void *sg_row(const sg_warp *w, uint32_t reference)
{
    return __builtin_assume_aligned(w->base[reference & 1] + (reference >> 1), SG_ROW_BYTES);
}

static inline uint32_t *sg_row32(const sg_warp *w, uint32_t reference)
{
    return sg_row(w, reference);
}

static inline uint64_t *sg_row64(const sg_warp *w, uint32_t reference)
{
    return sg_row(w, reference);
}

static inline uint32_t sg_mask_of(const sg_warp *w, uint32_t predicate)
{
    return w->predicates[predicate >> 1] ^ (0u - (predicate & 1));
}

static inline void sg_set_mask(sg_warp *w, uint32_t predicate, uint32_t lanes, uint32_t value)
{
    uint32_t *p = &w->predicates[predicate >> 1];
    *p = (*p & ~lanes) | (value & lanes);
}

/* A mask spelled out: all ones for a lane that is in it. */
static inline const uint32_t *sg_lanes(sg_warp *w, uint32_t mask)
{
    if (w->lanes_of != mask) {
        w->lanes_of = mask;
        for (int l = 0; l < SG_LANES; l++)
            w->lanes[l] = 0u - (mask >> l & 1);
    }
    return w->lanes;
}

/* A loop over all lanes, which do not depend on each other. */
#ifdef __clang__
#define SG_FOR_LANES _Pragma("clang loop vectorize(assume_safety)") for (int l = 0; l < SG_LANES; l++)
#else
#define SG_FOR_LANES _Pragma("GCC ivdep") for (int l = 0; l < SG_LANES; l++)
#endif

/* Whether each lane's address is the same step, of `most` at most, behind that of the lane before. */
#define SG_EVEN(name, address)                                                                               \
    static inline __attribute__((always_inline)) bool name(const address *at, address most)                  \
    {                                                                                                        \
        const address step = at[1] - at[0];                                                                  \
        address uneven = step > most;                                                                        \
        for (int l = 1; l < SG_LANES; l++)                                                                   \
            uneven |= (at[l] - at[l - 1]) ^ step;                                                            \
        return !uneven;                                                                                      \
    }
SG_EVEN(sg_even, uint64_t)
SG_EVEN(sg_even_shared, uint32_t)

/* A loop over the lanes of a mask. */
#define SG_FOR_MASK(l, mask)                                                                                 \
    for (uint32_t rest_##l = (mask), l = 0; rest_##l && (l = (uint32_t)__builtin_ctz(rest_##l), 1);          \
         rest_##l &= rest_##l - 1)

#define SG_ROW_PAIR(name, TD, SETUP, TAKE, EXPRESSION)                                                       \
    SG_VECTOR static void name##_full(sg_warp *w, const sg_op *op, uint32_t mask)                            \
    {                                                                                                        \
        SG_STORE_##TD *d_ = sg_row(w, op->d);                                                                \
        SETUP;                                                                                               \
        (void)mask;                                                                                          \
        SG_FOR_LANES                                                                                         \
        {                                                                                                    \
            TAKE;                                                                                            \
            d_[l] = SG_PUT_##TD(EXPRESSION);                                                                 \
        }                                                                                                    \
    }                                                                                                        \
    SG_VECTOR static void name##_masked(sg_warp *w, const sg_op *op, uint32_t mask)                          \
    {                                                                                                        \
        SG_STORE_##TD *d_ = sg_row(w, op->d);                                                                \
        const uint32_t *lanes_ = sg_lanes(w, mask);                                                          \
        SETUP;                                                                                               \
        SG_FOR_LANES                                                                                         \
        {                                                                                                    \
            TAKE;                                                                                            \
            const SG_STORE_##TD new_ = SG_PUT_##TD(EXPRESSION);                                              \
            d_[l] = lanes_[l] ? new_ : d_[l];                                                                \
        }                                                                                                    \
    }

#define SG_ROW_1(name, TD, TA, EXPRESSION)                                                                   \
    SG_ROW_PAIR(name, TD, const SG_STORE_##TA *a_ = sg_row(w, op->a), const SG_VALUE_##TA a = SG_GET_##TA(a_[l]), \
                EXPRESSION)

#define SG_ROW_2(name, TD, TA, TB, EXPRESSION)                                                               \
    SG_ROW_PAIR(name, TD, const SG_STORE_##TA *a_ = sg_row(w, op->a);                                        \
                const SG_STORE_##TB *b_ = sg_row(w, op->b), const SG_VALUE_##TA a = SG_GET_##TA(a_[l]);      \
                const SG_VALUE_##TB b = SG_GET_##TB(b_[l]), EXPRESSION)

#define SG_ROW_3(name, TD, TA, TB, TC, EXPRESSION)                                                           \
    SG_ROW_PAIR(name, TD, const SG_STORE_##TA *a_ = sg_row(w, op->a);                                        \
                const SG_STORE_##TB *b_ = sg_row(w, op->b); const SG_STORE_##TC *c_ = sg_row(w, op->c),      \
                const SG_VALUE_##TA a = SG_GET_##TA(a_[l]); const SG_VALUE_##TB b = SG_GET_##TB(b_[l]);      \
                const SG_VALUE_##TC c = SG_GET_##TC(c_[l]), EXPRESSION)

#define SG_ENTRY(mnemonic_, name, shape_, pipe_) {mnemonic_, name##_full, name##_masked, shape_, SG_PIPE_##pipe_, NULL}
#define SG_DECODE(mnemonic_, function) {mnemonic_, NULL, NULL, NULL, SG_PIPE_NONE, function}
#define SG_END {NULL, NULL, NULL, NULL, SG_PIPE_NONE, NULL}

/* One table for each file of handlers, for the catalog. */
extern const sg_entry sg_entries_integer[], sg_entries_float[], sg_entries_half[], sg_entries_compare[],
    sg_entries_move[], sg_entries_control[], sg_entries_memory[], sg_entries_atomic[], sg_entries_barrier[],
    sg_entries_lanes[], sg_entries_async[], sg_entries_matrix[], sg_entries_fragment[], sg_entries_convert[],
    sg_entries_mbarrier[], sg_entries_remote[], sg_entries_wgmma[], sg_entries_narrow[];

#endif
