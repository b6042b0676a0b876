#include "types.h"

#include <cuda.h>
#include <math.h>
#include <string.h>

static double load_f32(const void *data, int64_t index)
{
    return ((const float *)data)[index];
}

static void store_f32(void *data, int64_t index, double value)
{
    ((float *)data)[index] = (float)value;
}

static double load_s32(const void *data, int64_t index)
{
    return ((const int32_t *)data)[index];
}

static void store_s32(void *data, int64_t index, double value)
{
    ((int32_t *)data)[index] = (int32_t)value;
}

/* The bits of a number in a format of 16 bits: sign, exponent, `fraction` bits. */
static uint16_t narrow(double value, int fraction)
{
    const int bias = (1 << (14 - fraction)) - 1, most = 2 * bias + 1;
    const uint16_t sign = signbit(value) ? 0x8000 : 0, infinity = (uint16_t)(sign | most << fraction);
    int exponent;
    if (isnan(value))
        return (uint16_t)(infinity | 1 << (fraction - 1));
    const double magnitude = fabs(value);
    if (magnitude == 0 || isinf(value))
        return magnitude == 0 ? sign : infinity;
    frexp(magnitude, &exponent); /* magnitude is in [2^(exponent - 1), 2^exponent) */
    const int scale = exponent - 1 < 1 - bias ? 1 - bias : exponent - 1; /* that of the subnormal numbers at least */
    /* In units of the last place; 2^fraction or more for normal numbers, and a carry moves into the exponent. */
    const int64_t units = (int64_t)rint(ldexp(magnitude, fraction - scale));
    const int64_t bits = units + ((int64_t)(scale + bias - 1) << fraction);
    return bits >= (int64_t)most << fraction ? infinity : (uint16_t)(sign | bits);
}

static double widen(uint16_t bits, int fraction)
{
    const int bias = (1 << (14 - fraction)) - 1, exponent = (bits & 0x7fff) >> fraction;
    const int rest = bits & ((1 << fraction) - 1);
    const double magnitude = exponent == 2 * bias + 1 ? (rest ? NAN : INFINITY)
                             : exponent == 0          ? ldexp(rest, 1 - bias - fraction)
                                                      : ldexp((1 << fraction) + rest, exponent - bias - fraction);
    return bits >> 15 ? -magnitude : magnitude;
}

#define F16_FRACTION  10
#define BF16_FRACTION 7

static double load_f16(const void *data, int64_t index)
{
    return widen(((const uint16_t *)data)[index], F16_FRACTION);
}

static void store_f16(void *data, int64_t index, double value)
{
    ((uint16_t *)data)[index] = narrow(value, F16_FRACTION);
}

static double load_bf16(const void *data, int64_t index)
{
    return widen(((const uint16_t *)data)[index], BF16_FRACTION);
}

static void store_bf16(void *data, int64_t index, double value)
{
    ((uint16_t *)data)[index] = narrow(value, BF16_FRACTION);
}

/* The sum of four 16-bit uniforms, centred and scaled to variance 1: close to normal and exactly symmetric. */
static float near_normal(uint64_t bits)
{
    const int sum = (int)(bits & 65535) + (int)(bits >> 16 & 65535) + (int)(bits >> 32 & 65535) + (int)(bits >> 48);
    return (float)(sum - 2 * 65535) * 2.6428998e-05f; /* sqrt(12 / 4) / 65536 */
}

static void draw_f32(void *data, int64_t index, uint64_t bits)
{
    store_f32(data, index, near_normal(bits));
}

static void draw_f16(void *data, int64_t index, uint64_t bits)
{
    store_f16(data, index, near_normal(bits));
}

static void draw_bf16(void *data, int64_t index, uint64_t bits)
{
    store_bf16(data, index, near_normal(bits));
}

/* The whole range, so that sums wrap. */
static void draw_s32(void *data, int64_t index, uint64_t bits)
{
    ((uint32_t *)data)[index] = (uint32_t)(bits >> 32);
}

/* Of cudaDataType_t and cublasComputeType_t, whose headers building does not ask for. */
enum { R_32F = 0, R_16F = 2, R_32I = 10, R_16BF = 14 };
enum { COMPUTE_NONE = 0, COMPUTE_32F = 68 };

static const gt_type_info types[] = {
    [GT_F32] = {"f32", "float", 4, R_32F, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 0x1p-149, 0x1.fffffep127, -140, 50, load_f32,
                store_f32, draw_f32},
    [GT_S32] = {"s32", "int", 4, R_32I, CU_TENSOR_MAP_DATA_TYPE_INT32, 1, INT32_MAX, 0, 0, load_s32, store_s32,
                draw_s32},
    [GT_F16] = {"f16", "gt_half", 2, R_16F, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 0x1p-24, 65504, -20, 6, load_f16,
                store_f16, draw_f16},
    [GT_BF16] = {"bf16", "gt_bf16", 2, R_16BF, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 0x1p-133, 0x1.fep127, -130, 50,
                 load_bf16, store_bf16, draw_bf16},
};

#define TYPES (sizeof types / sizeof types[0])
_Static_assert(TYPES <= GT_TYPE_LIMIT, "arrays by type have room");

#define ALIKE(type)     .a = type, .b = type
#define F32_SUMS        .accumulator = GT_F32, .roundoff = 0x1p-24, .cublas = COMPUTE_32F
#define S32_SUMS        .accumulator = GT_S32, .exact = true
#define TO_F32          .c = GT_F32, .result_roundoff = 0x1p-24
#define TO_F16          .c = GT_F16, .result_roundoff = 0x1p-11
#define TO_BF16         .c = GT_BF16, .result_roundoff = 0x1p-8
#define TO_S32          .c = GT_S32
/* Steps of eight products: Ampere's and Turing's. Hopper's take sixteen and keep a bit more. */
#define TENSOR_16(unit_) F32_SUMS, .unit = unit_, .cut = {8, 0x1p-24, 0x1p-23}

#define STRICT(X)                                                                                            \
    X("f32", ALIKE(GT_F32), TO_F32, F32_SUMS, .unit = GT_UNIT_F32)                                           \
    X("s32", ALIKE(GT_S32), TO_S32, S32_SUMS, .unit = GT_UNIT_S32)                                           \
    X("f16", ALIKE(GT_F16), TO_F16, TENSOR_16(GT_UNIT_TENSOR_F16))                                           \
    X("f16_f32", ALIKE(GT_F16), TO_F32, TENSOR_16(GT_UNIT_TENSOR_F16))                                       \
    X("bf16", ALIKE(GT_BF16), TO_BF16, TENSOR_16(GT_UNIT_TENSOR_BF16))                                       \
    X("bf16_f32", ALIKE(GT_BF16), TO_F32, TENSOR_16(GT_UNIT_TENSOR_BF16))

#define STRICT_ROW(name_, ...) {.name = name_, .math = GT_MATH_STRICT, __VA_ARGS__},
#define NAME(name, ...)        " " name
static const gt_types rows[] = {STRICT(STRICT_ROW)};
static const char names[] = STRICT(NAME);

#define ROWS (sizeof rows / sizeof rows[0])

const gt_type_info *gt_type_find(gt_type type)
{
    return (size_t)type < TYPES ? &types[type] : NULL;
}

const gt_types *gt_types_find(gt_type a, gt_type b, gt_type c, gt_math math)
{
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].a == a && rows[i].b == b && rows[i].c == c && rows[i].math == math)
            return &rows[i];
    return NULL;
}

const gt_types *gt_types_parse(const char *name, gt_math math)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, name) == 0 && rows[i].math == math)
            return &rows[i];
    return NULL;
}

const char *gt_types_names(void)
{
    return names + 1; /* behind the first blank */
}
