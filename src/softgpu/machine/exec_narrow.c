/* cvt to and from pairs of 8-bit floats: e4m3 and e5m2. In a pair the first operand is the upper one. */
#include "narrow.h"
#include "rows.h"

static inline float positive(float x)
{
    return x > 0 || x != x ? x : 0;
}

static inline float low(uint32_t pair)
{
    return sg_from_f16(pair & 0xffff);
}

static inline float high(uint32_t pair)
{
    return sg_from_f16(pair >> 16);
}

#define PAIR(type, a, b) (sg_to_##type(a) << 8 | sg_to_##type(b))
#define CONVERT(type)                                                                                        \
    SG_ROW_2(type##_f32, u16, f32, f32, PAIR(type, a, b))                                                    \
    SG_ROW_2(type##_f32_relu, u16, f32, f32, PAIR(type, positive(a), positive(b)))                           \
    SG_ROW_1(type##_f16x2, u16, u32, PAIR(type, high(a), low(a)))                                            \
    SG_ROW_1(type##_f16x2_relu, u16, u32, PAIR(type, positive(high(a)), positive(low(a))))                   \
    SG_ROW_1(f16x2_##type, u32, u16, sg_to_f16(sg_from_##type(a >> 8)) << 16 | sg_to_f16(sg_from_##type(a & 255))) \
    SG_ROW_1(f16x2_##type##_relu, u32, u16,                                                                  \
             sg_to_f16(positive(sg_from_##type(a >> 8))) << 16 | sg_to_f16(positive(sg_from_##type(a & 255))))
CONVERT(e4m3)
CONVERT(e5m2)

#define ENTRIES(type)                                                                                        \
    SG_ENTRY("cvt.rn.satfinite." #type "x2.f32", type##_f32, "hff", HALF),                                   \
    SG_ENTRY("cvt.rn.satfinite.relu." #type "x2.f32", type##_f32_relu, "hff", HALF),                         \
    SG_ENTRY("cvt.rn.satfinite." #type "x2.f16x2", type##_f16x2, "hw", HALF),                                \
    SG_ENTRY("cvt.rn.satfinite.relu." #type "x2.f16x2", type##_f16x2_relu, "hw", HALF),                      \
    SG_ENTRY("cvt.rn.f16x2." #type "x2", f16x2_##type, "wh", HALF),                                          \
    SG_ENTRY("cvt.rn.relu.f16x2." #type "x2", f16x2_##type##_relu, "wh", HALF)

const sg_entry sg_entries_narrow[] = {
    ENTRIES(e4m3),
    ENTRIES(e5m2),
    SG_END,
};
