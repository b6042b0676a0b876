/* Several elements in one operand: pairs of 8-bit floats, atomics on vectors, a matrix that is transposed. */
#include "driver_fixture.h"

/* 8-bit floats, from their definition. */

typedef struct format {
    const char *name;
    int mantissa, bias, largest; /* bits; the code of the largest finite number */
} format;

static const format formats[] = {{"e4m3", 3, 7, 0x7e}, {"e5m2", 2, 15, 0x7b}};

static double value_of(const format *f, int code)
{
    const int exponent = (code & 0x7f) >> f->mantissa, rest = code & ((1 << f->mantissa) - 1);
    const double magnitude = exponent ? ldexp(1 + ldexp(rest, -f->mantissa), exponent - f->bias)
                                      : ldexp(rest, 1 - f->bias - f->mantissa);
    return code & 0x80 ? -magnitude : magnitude;
}

/* The nearest, of two the even one; what is beyond the largest becomes it. */
static int code_of(const format *f, float x)
{
    const int sign = signbit(x) ? 0x80 : 0;
    int best = 0;
    if (isnan(x))
        return 0x7f;
    if (fabs((double)x) >= value_of(f, f->largest))
        return sign | f->largest;
    for (int code = 1; code <= f->largest; code++) {
        const double was = fabs(fabs((double)x) - value_of(f, best)), is = fabs(fabs((double)x) - value_of(f, code));
        if (is < was || (is == was && code % 2 == 0))
            best = code;
    }
    return sign | best;
}

static const char conversions[] =
    "extern \"C\" __global__ void pack(const float *in, unsigned short *out, int relu)\n"
    "{\n"
    "    const int i = blockIdx.x * 256 + threadIdx.x;\n"
    "    if (relu) asm(\"cvt.rn.satfinite.relu.\" TYPE \"x2.f32 %0, %1, %2;\" : \"=h\"(out[i]) : \"f\"(in[2 * i + 1]), \"f\"(in[2 * i]));\n"
    "    else asm(\"cvt.rn.satfinite.\" TYPE \"x2.f32 %0, %1, %2;\" : \"=h\"(out[i]) : \"f\"(in[2 * i + 1]), \"f\"(in[2 * i]));\n"
    "}\n"
    "extern \"C\" __global__ void unpack(const unsigned short *in, unsigned *out)\n"
    "{\n"
    "    asm(\"cvt.rn.f16x2.\" TYPE \"x2 %0, %1;\" : \"=r\"(out[threadIdx.x]) : \"h\"(in[threadIdx.x]));\n"
    "}\n"
    "extern \"C\" __global__ void halves(const unsigned *in, unsigned short *out)\n"
    "{\n"
    "    const int i = blockIdx.x * 256 + threadIdx.x;\n"
    "    asm(\"cvt.rn.satfinite.\" TYPE \"x2.f16x2 %0, %1;\" : \"=h\"(out[i]) : \"r\"(in[i]));\n"
    "}\n";

static void load_conversions(const format *f)
{
    static char source[sizeof conversions + 50];
    sprintf(source, "#define TYPE \"%s\"\n%s", f->name, conversions);
    load_source(source);
}

/* f16 that is no NaN, by its definition. */
static double half_value(unsigned half)
{
    const int exponent = half >> 10 & 31, rest = half & 1023;
    const double magnitude = exponent == 31 ? INFINITY
                             : exponent     ? ldexp(1 + rest / 1024.0, exponent - 15)
                                            : ldexp(rest, -24);
    return half & 0x8000 ? -magnitude : magnitude;
}

static float some_float(int i)
{
    static const float chosen[] = {0.f, -0.f, INFINITY, -INFINITY, 448.f, 449.f, 463.9f, 464.f, 465.f, 480.f, 57344.f,
                                   61439.f, 61440.f, 65536.f, 0x1p-9f, 0x1p-10f, 0x1.8p-10f, 0x1p-16f, 0x1p-17f,
                                   0x1.000002p-17f, 0x1p-6f, 0x1.fp-7f, 1.0625f, 1.1875f, 1e30f, 1e-30f};
    if (i < (int)(sizeof chosen / sizeof chosen[0]))
        return chosen[i];
    const float x = (float)ldexp(1 + (double)(check_random() % (1 << 20)) / (1 << 20), (int)(check_random() % 40) - 20);
    return check_random() % 2 ? -x : x;
}

DEVICE_TEST(pairs_of_eight_bit_floats_are_rounded_to_the_nearest)
{
    enum { COUNT = 4096 };
    static float in[2 * COUNT];
    static uint16_t out[COUNT];
    open_context();
    need_capability(89);
    for (int t = 0; t < 2; t++) {
        const format *f = &formats[t];
        load_conversions(f);
        for (int i = 0; i < 2 * COUNT; i++)
            in[i] = some_float(i);
        in[2 * COUNT - 1] = NAN;
        CUdeviceptr from = upload(in, sizeof in), to = memory(sizeof out);
        for (int relu = 0; relu < 2; relu++) {
            launch("pack", COUNT / 256, 256, 1, 0, (void *[]){&from, &to, &relu});
            OK(cu->cuMemcpyDtoH(out, to, sizeof out));
            for (int i = 0; i < 2 * COUNT; i++) {
                const int code = out[i / 2] >> 8 * (i % 2) & 0xff, expected = code_of(f, in[i]);
                const int clamped = relu && expected & 0x80 ? 0 : expected;
                if ((code & 0x7f) != (clamped & 0x7f) || ((clamped & 0x7f) && code != clamped))
                    check_fail(__FILE__, __LINE__, "%s: %a becomes 0x%x, not 0x%x", f->name, (double)in[i], code, clamped);
            }
        }
        OK(cu->cuLibraryUnload(library));
        library = NULL;
    }
}

DEVICE_TEST(eight_bit_floats_come_back_and_halves_become_them)
{
    uint16_t codes[128], back[128 * 256];
    static uint32_t halves[128 * 256];
    open_context();
    need_capability(89);
    for (int t = 0; t < 2; t++) {
        const format *f = &formats[t];
        load_conversions(f);
        for (int i = 0; i < 128; i++)
            codes[i] = (uint16_t)(2 * i | (2 * i + 1) << 8);
        CUdeviceptr from = upload(codes, sizeof codes), to = memory(128 * 4), wide, narrow = memory(sizeof back);
        launch("unpack", 1, 128, 1, 0, (void *[]){&from, &to});
        OK(cu->cuMemcpyDtoH(halves, to, 128 * 4));
        for (int code = 0; code < 256; code++)
            if ((code & 0x7f) <= f->largest)
                CHECK_NEAR(half_value(halves[code / 2] >> 16 * (code % 2) & 0xffff), value_of(f, code), 0);
        for (int i = 0; i < 128 * 256; i++)
            halves[i] = 2 * i | (2 * i + 1u) << 16;
        wide = upload(halves, sizeof halves);
        launch("halves", 128, 256, 1, 0, (void *[]){&wide, &narrow});
        OK(cu->cuMemcpyDtoH(back, narrow, sizeof back));
        for (unsigned half = 0; half < 65536; half++)
            if ((half & 0x7fff) <= 0x7c00)
                CHECK_INT(back[half / 2] >> 8 * (half % 2) & 0xff, code_of(f, (float)half_value(half)));
        OK(cu->cuLibraryUnload(library));
        library = NULL;
    }
}

/* Atomics on vectors: 64 threads add to the same few vectors. */
static const char vectors[] =
    "extern \"C\" __global__ void k(float *f, unsigned *h, float *old)\n"
    "{\n"
    "    const int t = threadIdx.x;\n"
    "    float x, y;\n"
    "    asm volatile(\"red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};\" :: \"l\"(f), \"f\"(t + 0.f), \"f\"(1.f),\n"
    "                 \"f\"(-t + 0.f), \"f\"(t * t + 0.f) : \"memory\");\n"
    "    asm volatile(\"atom.relaxed.gpu.global.add.v2.f32 {%0, %1}, [%2], {%3, %4};\" : \"=f\"(x), \"=f\"(y)\n"
    "                 : \"l\"(f + 4 + 2 * t), \"f\"(0.5f), \"f\"(t + 0.f) : \"memory\");\n"
    "    old[2 * t] = x;\n"
    "    old[2 * t + 1] = y;\n"
    "    asm volatile(\"red.relaxed.gpu.global.add.noftz.v2.f16x2 [%0], {%1, %2};\" :: \"l\"(h), \"r\"(0x3c003c00),\n"
    "                 \"r\"(0x40003c00) : \"memory\");\n"
    "    asm volatile(\"red.relaxed.gpu.global.max.noftz.v4.bf16x2 [%0], {%1, %1, %2, %2};\" :: \"l\"(h + 4),\n"
    "                 \"r\"(0x3f803f80 + t * 0x10001), \"r\"(0x40404040 - t * 0x10001) : \"memory\");\n"
    "}\n";

DEVICE_TEST(atomics_take_vectors)
{
    float f[4 + 128], old[128];
    uint32_t h[8] = {0};
    open_context();
    need_capability(90);
    load_source(vectors);
    for (int i = 0; i < 4 + 128; i++)
        f[i] = (float)i;
    CUdeviceptr df = upload(f, sizeof f), dh = upload(h, sizeof h), dold = memory(sizeof old);
    launch("k", 1, 64, 1, 0, (void *[]){&df, &dh, &dold});
    OK(cu->cuMemcpyDtoH(f, df, sizeof f));
    OK(cu->cuMemcpyDtoH(h, dh, sizeof h));
    OK(cu->cuMemcpyDtoH(old, dold, sizeof old));
    CHECK_NEAR(f[0], 64 * 63 / 2, 0);
    CHECK_NEAR(f[1], 1 + 64, 0);
    CHECK_NEAR(f[2], 2 - 64 * 63 / 2, 0);
    CHECK_NEAR(f[3], 3 + 63 * 64 * 127 / 6, 0);
    for (int i = 0; i < 128; i++) {
        CHECK_NEAR(old[i], 4 + i, 0);
        CHECK_NEAR(f[4 + i], 4 + i + (i % 2 ? i / 2 : 0.5), 0);
    }
    CHECK_INT(h[0], 0x54005400); /* 64 and 64 */
    CHECK_INT(h[1], 0x58005400); /* 128 above */
    CHECK_INT(h[4], 0x3fbf3fbf); /* 63 steps above 1 */
    CHECK_INT(h[5], 0x3fbf3fbf);
    CHECK_INT(h[6], 0x40404040);
    CHECK_INT(h[7], 0x40404040);
}

DEVICE_TEST(a_matrix_is_turned)
{
    static const char turning[] =
        "extern \"C\" __global__ void k(unsigned *m)\n"
        "{\n"
        "    unsigned d;\n"
        "    asm(\"movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;\" : \"=r\"(d) : \"r\"(m[threadIdx.x]));\n"
        "    m[threadIdx.x] = d;\n"
        "}\n";
    uint16_t matrix[8][8];
    open_context();
    need_capability(75);
    load_source(turning);
    for (int i = 0; i < 64; i++)
        matrix[i / 8][i % 8] = (uint16_t)(100 * (i / 8) + i % 8);
    CUdeviceptr m = upload(matrix, sizeof matrix);
    launch("k", 1, 32, 1, 0, (void *[]){&m});
    OK(cu->cuMemcpyDtoH(matrix, m, sizeof matrix));
    for (int i = 0; i < 64; i++)
        CHECK_INT(matrix[i / 8][i % 8], 100 * (i % 8) + i / 8);
}

CHECK_MAIN
