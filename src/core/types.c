#include "types.h"

#include <cuda.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static double load_f32(const void *data, int64_t index)
{
    return ((const float *)data)[index];
}

static void store_f32(void *data, int64_t index, double value)
{
    ((float *)data)[index] = (float)value;
}

static double load_f64(const void *data, int64_t index)
{
    return ((const double *)data)[index];
}

static void store_f64(void *data, int64_t index, double value)
{
    ((double *)data)[index] = value;
}

static double load_s32(const void *data, int64_t index)
{
    return ((const int32_t *)data)[index];
}

static void store_s32(void *data, int64_t index, double value)
{
    ((int32_t *)data)[index] = (int32_t)value;
}

static double load_s8(const void *data, int64_t index)
{
    return ((const int8_t *)data)[index];
}

static void store_s8(void *data, int64_t index, double value)
{
    ((int8_t *)data)[index] = (int8_t)value;
}

/* A format of floating point: sign, exponent, fraction. The bits of infinity, and of what is NaN: above it, or, where a
 * format has no infinity, the same. */
typedef struct format {
    int bits, fraction, bias;
    unsigned infinity, nan;
} format;

static const format f16 = {16, 10, 15, 0x7c00, 0x7e00}, bf16 = {16, 7, 127, 0x7f80, 0x7fc0},
                    e4m3 = {8, 3, 7, 0x7f, 0x7f}, e5m2 = {8, 2, 15, 0x7c, 0x7e};

static unsigned narrow(double value, const format *f)
{
    const unsigned sign = signbit(value) ? 1u << (f->bits - 1) : 0;
    int exponent;
    if (isnan(value))
        return sign | f->nan;
    const double magnitude = fabs(value);
    if (magnitude == 0 || isinf(value))
        return sign | (magnitude == 0 ? 0 : f->infinity);
    frexp(magnitude, &exponent); /* magnitude is in [2^(exponent - 1), 2^exponent) */
    const int scale = exponent - 1 < 1 - f->bias ? 1 - f->bias : exponent - 1; /* that of subnormal numbers at least */
    /* In units of the last place; 2^fraction or more for normal numbers, and a carry moves into the exponent. */
    const int64_t units = (int64_t)rint(ldexp(magnitude, f->fraction - scale));
    const int64_t bits = units + ((int64_t)(scale + f->bias - 1) << f->fraction);
    return sign | (bits >= f->infinity ? f->infinity : (unsigned)bits);
}

/* Of normal numbers the fraction is a double's, whose exponent is biased by 1023; the reference reads most of all. */
static double widen(unsigned bits, const format *f)
{
    const unsigned body = bits & ((1u << (f->bits - 1)) - 1), rest = body & ((1u << f->fraction) - 1);
    const unsigned exponent = body >> f->fraction;
    const uint64_t normal = (uint64_t)(exponent - (unsigned)f->bias + 1023) << 52 | (uint64_t)rest << (52 - f->fraction);
    double magnitude;
    if (body >= f->infinity)
        magnitude = body == f->infinity && body != f->nan ? INFINITY : NAN;
    else if (exponent == 0)
        magnitude = ldexp(rest, 1 - f->bias - f->fraction);
    else
        memcpy(&magnitude, &normal, sizeof magnitude);
    return body == bits ? magnitude : -magnitude;
}

#define NARROW(format, storage)                                                                              \
    static double load_##format(const void *data, int64_t index)                                             \
    {                                                                                                        \
        return widen(((const storage *)data)[index], &format);                                               \
    }                                                                                                        \
    static void store_##format(void *data, int64_t index, double value)                                      \
    {                                                                                                        \
        ((storage *)data)[index] = (storage)narrow(value, &format);                                          \
    }
NARROW(f16, uint16_t)
NARROW(bf16, uint16_t)
NARROW(e4m3, uint8_t)
NARROW(e5m2, uint8_t)

/* The sum of four 16-bit uniforms, centred and scaled to variance 1: close to normal and exactly symmetric. */
static double near_normal(uint64_t bits)
{
    const int sum = (int)(bits & 65535) + (int)(bits >> 16 & 65535) + (int)(bits >> 32 & 65535) + (int)(bits >> 48);
    return (sum - 2 * 65535) * 2.642899793810e-05; /* sqrt(12 / 4) / 65536 */
}

static void draw_f32(void *data, int64_t index, uint64_t bits)
{
    store_f32(data, index, near_normal(bits));
}

static void draw_f64(void *data, int64_t index, uint64_t bits)
{
    store_f64(data, index, near_normal(bits));
}

static void draw_f16(void *data, int64_t index, uint64_t bits)
{
    store_f16(data, index, near_normal(bits));
}

static void draw_bf16(void *data, int64_t index, uint64_t bits)
{
    store_bf16(data, index, near_normal(bits));
}

static void draw_e4m3(void *data, int64_t index, uint64_t bits)
{
    store_e4m3(data, index, near_normal(bits));
}

static void draw_e5m2(void *data, int64_t index, uint64_t bits)
{
    store_e5m2(data, index, near_normal(bits));
}

/* The whole range, so that sums wrap. */
static void draw_s32(void *data, int64_t index, uint64_t bits)
{
    ((uint32_t *)data)[index] = (uint32_t)(bits >> 32);
}

static void draw_s8(void *data, int64_t index, uint64_t bits)
{
    ((uint8_t *)data)[index] = (uint8_t)(bits >> 56);
}

/* Of cudaDataType_t and cublasComputeType_t, whose headers building does not ask for. */
enum { R_32F = 0, R_64F = 1, R_16F = 2, R_8I = 3, R_32I = 10, R_16BF = 14, R_8F_E4M3 = 28, R_8F_E5M2 = 29 };
enum { COMPUTE_NONE = 0, COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_32I = 72, COMPUTE_32F_FAST_TF32 = 77 };

static const gt_type_info types[] = {
    [GT_F32] = {"f32", "float", 4, R_32F, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 0x1p-149, 0x1.fffffep127, -140, 50, load_f32,
                store_f32, draw_f32},
    [GT_S32] = {"s32", "int", 4, R_32I, CU_TENSOR_MAP_DATA_TYPE_INT32, 1, INT32_MAX, 0, 0, load_s32, store_s32,
                draw_s32},
    [GT_F16] = {"f16", "gt_half", 2, R_16F, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 0x1p-24, 65504, -20, 6, load_f16,
                store_f16, draw_f16},
    [GT_BF16] = {"bf16", "gt_bf16", 2, R_16BF, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 0x1p-133, 0x1.fep127, -130, 50,
                 load_bf16, store_bf16, draw_bf16},
    [GT_F64] = {"f64", "double", 8, R_64F, CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 0x1p-1074, 0x1.fffffffffffffp1023, -1060,
                200, load_f64, store_f64, draw_f64},
    [GT_S8] = {"s8", "gt_s8", 1, R_8I, CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, INT8_MAX, 0, 0, load_s8, store_s8,
               draw_s8},
    [GT_E4M3] = {"e4m3", "gt_e4m3", 1, R_8F_E4M3, CU_TENSOR_MAP_DATA_TYPE_UINT8, 0x1p-9, 448, -7, 3, load_e4m3,
                 store_e4m3, draw_e4m3},
    [GT_E5M2] = {"e5m2", "gt_e5m2", 1, R_8F_E5M2, CU_TENSOR_MAP_DATA_TYPE_UINT8, 0x1p-16, 57344, -14, 6, load_e5m2,
                 store_e5m2, draw_e5m2},
};

#define TYPES (sizeof types / sizeof types[0])
_Static_assert(TYPES <= GT_TYPE_LIMIT, "arrays by type have room");

static const gt_rounded tf32 = {"tf32", "gt_tf32", CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, 0x1p-11, 0x1p-136};

#define OPERANDS(a_, b_) .a = a_, .b = b_
#define ALIKE(type)      OPERANDS(type, type)
#define F32_SUMS        .accumulator = GT_F32, .roundoff = 0x1p-24, .cublas = COMPUTE_32F
#define F64_SUMS        .accumulator = GT_F64, .roundoff = 0x1p-53, .cublas = COMPUTE_64F
#define S32_SUMS        .accumulator = GT_S32, .exact = true
#define TO_F32          .c = GT_F32, .result_roundoff = 0x1p-24
#define TO_F64          .c = GT_F64, .result_roundoff = 0x1p-53
#define TO_F16          .c = GT_F16, .result_roundoff = 0x1p-11
#define TO_BF16         .c = GT_BF16, .result_roundoff = 0x1p-8
#define TO_S32          .c = GT_S32
/* Steps of eight products: Ampere's and Turing's. Hopper's take sixteen and keep a bit more. */
#define TENSOR_16(unit_) F32_SUMS, .unit = unit_, .cut = {8, 0x1p-24, 0x1p-23}

/* Hopper's take steps of thirty-two. */
#define TENSOR_8 F32_SUMS, .unit = GT_UNIT_TENSOR_F8, .cut = {16, 0x1p-13, 0x1p-13}
#define PROMOTED TENSOR_8, .promoted = 128

/* The 8-bit floats, in any mix. */
#define FLOATS_8(X, ...)                                                                                     \
    INTO(X, "e4m3", ALIKE(GT_E4M3), __VA_ARGS__)                                                             \
    INTO(X, "e5m2", ALIKE(GT_E5M2), __VA_ARGS__)                                                             \
    INTO(X, "e4m3_e5m2", OPERANDS(GT_E4M3, GT_E5M2), __VA_ARGS__)                                            \
    INTO(X, "e5m2_e4m3", OPERANDS(GT_E5M2, GT_E4M3), __VA_ARGS__)
#define INTO(X, name, ...)                                                                                   \
    X(name, TO_BF16, __VA_ARGS__) X(name "_f16", TO_F16, __VA_ARGS__) X(name "_f32", TO_F32, __VA_ARGS__)

#define STRICT(X)                                                                                            \
    X("f32", ALIKE(GT_F32), TO_F32, F32_SUMS, .unit = GT_UNIT_F32)                                           \
    X("s32", ALIKE(GT_S32), TO_S32, S32_SUMS, .unit = GT_UNIT_S32)                                           \
    X("f64", ALIKE(GT_F64), TO_F64, F64_SUMS, .unit = GT_UNIT_F64)                                           \
    X("s8", ALIKE(GT_S8), TO_S32, S32_SUMS, .unit = GT_UNIT_TENSOR_S8, .cublas = COMPUTE_32I)                \
    X("f16", ALIKE(GT_F16), TO_F16, TENSOR_16(GT_UNIT_TENSOR_F16))                                           \
    X("f16_f32", ALIKE(GT_F16), TO_F32, TENSOR_16(GT_UNIT_TENSOR_F16))                                       \
    X("bf16", ALIKE(GT_BF16), TO_BF16, TENSOR_16(GT_UNIT_TENSOR_BF16))                                       \
    X("bf16_f32", ALIKE(GT_BF16), TO_F32, TENSOR_16(GT_UNIT_TENSOR_BF16))                                    \
    FLOATS_8(X, PROMOTED)

#define ROW(name_, math_, ...) {.name = name_, .math = math_, __VA_ARGS__},
#define STRICT_ROW(name_, ...) ROW(name_, GT_MATH_STRICT, __VA_ARGS__)
#define FAST_ROW(name_, ...)   ROW(name_, GT_MATH_FAST, __VA_ARGS__)
#define NAME(name, ...)        " " name
static const gt_types rows[] = {
    STRICT(STRICT_ROW)
    /* Tensor cores take steps of four. */
    ROW("f32", GT_MATH_TF32, ALIKE(GT_F32), TO_F32, .accumulator = GT_F32, .roundoff = 0x1p-24,
        .cublas = COMPUTE_32F_FAST_TF32, .unit = GT_UNIT_TENSOR_TF32, .rounded = &tf32, .cut = {4, 0x1p-24, 0x1p-23})
    /* kernel_templates/split.cu says what is proved of it. */
    ROW("f32", GT_MATH_SPLIT, ALIKE(GT_F32), TO_F32, TENSOR_16(GT_UNIT_TENSOR_SPLIT), .parts = 0x1p-23, .promoted = 64)
    FLOATS_8(FAST_ROW, TENSOR_8)
};
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

const gt_types *gt_types_at(size_t index)
{
    return index < ROWS ? &rows[index] : NULL;
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

bool gt_types_among(const gt_types *wanted, const gt_types *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == wanted)
            return true;
    return false;
}

const char *gt_types_text(const gt_types *row, char text[GT_TYPES_TEXT])
{
    const bool strict = row->math == GT_MATH_STRICT;
    snprintf(text, GT_TYPES_TEXT, "%s%s%s", row->name, strict ? "" : " ", strict ? "" : gt_math_name(row->math));
    return text;
}

const char *gt_types_maths(const char *name, char text[GT_TYPES_TEXT])
{
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, name) == 0 && length < GT_TYPES_TEXT)
            length += (size_t)snprintf(text + length, GT_TYPES_TEXT - length, "%s%s", length > 0 ? " " : "",
                                       gt_math_name(rows[i].math));
    return text;
}

static const char *const maths[] = {[GT_MATH_STRICT] = "strict", [GT_MATH_TF32] = "tf32", [GT_MATH_FAST] = "fast",
                                   [GT_MATH_SPLIT] = "split"};

const char *gt_math_name(gt_math math)
{
    return (size_t)math < sizeof maths / sizeof maths[0] ? maths[math] : "unknown";
}

gt_math gt_math_served_by(gt_math math)
{
    return math == GT_MATH_SPLIT ? GT_MATH_STRICT : math;
}

bool gt_math_parse(const char *name, gt_math *out)
{
    for (size_t math = 0; math < sizeof maths / sizeof maths[0]; math++)
        if (strcmp(maths[math], name) == 0) {
            *out = (gt_math)math;
            return true;
        }
    return false;
}
