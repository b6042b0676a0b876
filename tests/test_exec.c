/* What the software GPU computes, and what it refuses to let pass. */
#include "../src/softgpu/tensor_map.h"
#include "softgpu_fixture.h"

/* Single instructions. */

/* d = instruction of a, b, c in registers of so many bits; the registers are untyped. */
typedef struct single {
    const char *instruction;
    int bits_d, bits_a, bits_b, bits_c;
    uint64_t a, b, c, expected;
} single;

#define F32(x) ((union { float f; uint32_t u; }){.f = (x)}.u)
#define F64(x) ((union { double f; uint64_t u; }){.f = (x)}.u)
#define NEG(x) ((uint32_t)-(x))

static const single singles[] = {
    {"add.s32 d, a, b", 32, 32, 32, 32, 0xffffffff, 2, 0, 1},
    {"add.sat.s32 d, a, b", 32, 32, 32, 32, 0x7fffffff, 2, 0, 0x7fffffff},
    {"sub.s64 d, a, b", 64, 64, 64, 64, 1, 2, 0, UINT64_MAX},
    {"add.u16 d, a, b", 16, 16, 16, 16, 0xffff, 2, 0, 1},
    {"mul.lo.s32 d, a, b", 32, 32, 32, 32, NEG(3), 7, 0, NEG(21)},
    {"mul.hi.s32 d, a, b", 32, 32, 32, 32, NEG(3), 0x40000000, 0, NEG(1)},
    {"mul.hi.u32 d, a, b", 32, 32, 32, 32, 0x80000000, 6, 0, 3},
    {"mul.hi.u64 d, a, b", 64, 64, 64, 64, (uint64_t)1 << 63, 6, 0, 3},
    {"mul.hi.s64 d, a, b", 64, 64, 64, 64, UINT64_MAX, 6, 0, UINT64_MAX},
    {"mul.wide.s32 d, a, b", 64, 32, 32, 32, NEG(3), 7, 0, (uint64_t)-21},
    {"mul.wide.u32 d, a, b", 64, 32, 32, 32, NEG(3), 2, 0, 0x1fffffffaull},
    {"mul.wide.u16 d, a, b", 32, 16, 16, 16, 0xffff, 0xffff, 0, 0xfffe0001},
    {"mul.wide.s16 d, a, b", 32, 16, 16, 16, 0xffff, 5, 0, NEG(5)},
    {"mad.lo.s32 d, a, b, c", 32, 32, 32, 32, NEG(3), 7, 1, NEG(20)},
    {"mad.hi.u32 d, a, b, c", 32, 32, 32, 32, 0x80000000, 6, 10, 13},
    {"div.s32 d, a, b", 32, 32, 32, 32, NEG(7), 2, 0, NEG(3)},
    {"div.s32 d, a, b", 32, 32, 32, 32, 0x80000000, NEG(1), 0, 0x80000000},
    {"div.u32 d, a, b", 32, 32, 32, 32, 7, 0, 0, 0xffffffff},
    {"rem.s32 d, a, b", 32, 32, 32, 32, NEG(7), 2, 0, NEG(1)},
    {"rem.u64 d, a, b", 64, 64, 64, 64, 1000000007ull * 5 + 3, 1000000007, 0, 3},
    {"div.s64 d, a, b", 64, 64, 64, 64, (uint64_t)-100, 7, 0, (uint64_t)-14},
    {"abs.s32 d, a", 32, 32, 32, 32, NEG(7), 0, 0, 7},
    {"neg.s64 d, a", 64, 64, 64, 64, 7, 0, 0, (uint64_t)-7},
    {"min.s32 d, a, b", 32, 32, 32, 32, NEG(7), 2, 0, NEG(7)},
    {"min.u32 d, a, b", 32, 32, 32, 32, NEG(7), 2, 0, 2},
    {"max.s64 d, a, b", 64, 64, 64, 64, (uint64_t)-7, 2, 0, 2},
    {"min.s16 d, a, b", 16, 16, 16, 16, 0xfff0, 2, 0, 0xfff0},
    {"shl.b32 d, a, b", 32, 32, 32, 32, 3, 32, 0, 0},
    {"shl.b32 d, a, b", 32, 32, 32, 32, 3, 31, 0, 0x80000000},
    {"shl.b64 d, a, b", 64, 64, 32, 32, 3, 40, 0, (uint64_t)3 << 40},
    {"shr.s32 d, a, b", 32, 32, 32, 32, 0x80000000, 99, 0, 0xffffffff},
    {"shr.u32 d, a, b", 32, 32, 32, 32, 0x80000000, 31, 0, 1},
    {"shr.s64 d, a, b", 64, 64, 32, 32, (uint64_t)1 << 63, 63, 0, UINT64_MAX},
    {"shr.u16 d, a, b", 16, 16, 32, 32, 0x8000, 15, 0, 1},
    {"shf.l.wrap.b32 d, a, b, c", 32, 32, 32, 32, 0x80000001, 0x12345678, 4, 0x23456788},
    {"shf.r.wrap.b32 d, a, b, c", 32, 32, 32, 32, 0x80000001, 0x12345678, 36, 0x88000000},
    {"shf.r.clamp.b32 d, a, b, c", 32, 32, 32, 32, 0x80000001, 0x12345678, 36, 0x12345678},
    {"bfe.u32 d, a, b, c", 32, 32, 32, 32, 0xabcd1234, 8, 12, 0xd12},
    {"bfe.s32 d, a, b, c", 32, 32, 32, 32, 0x00000f00, 8, 4, 0xffffffff},
    {"bfe.u64 d, a, b, c", 64, 64, 32, 32, 0xabcd123400000000ull, 40, 12, 0xd12},
    {"popc.b32 d, a", 32, 32, 32, 32, 0xf0f01, 0, 0, 9},
    {"popc.b64 d, a", 32, 64, 32, 32, UINT64_MAX, 0, 0, 64},
    {"clz.b32 d, a", 32, 32, 32, 32, 1, 0, 0, 31},
    {"clz.b32 d, a", 32, 32, 32, 32, 0, 0, 0, 32},
    {"clz.b64 d, a", 32, 64, 32, 32, 1, 0, 0, 63},
    {"brev.b32 d, a", 32, 32, 32, 32, 1, 0, 0, 0x80000000},
    {"brev.b64 d, a", 64, 64, 64, 64, 1, 0, 0, (uint64_t)1 << 63},
    {"bfind.u32 d, a", 32, 32, 32, 32, 0x800, 0, 0, 11},
    {"prmt.b32 d, a, b, c", 32, 32, 32, 32, 0x33221100, 0x77665544, 0x7531, 0x77553311},
    {"prmt.b32 d, a, b, c", 32, 32, 32, 32, 0x80, 0, 0x8888, 0xffffffff},
    {"lop3.b32 d, a, b, c, 0x96", 32, 32, 32, 32, 0xf0f0, 0xff00, 0xaaaa, 0xf0f0 ^ 0xff00 ^ 0xaaaa},
    {"lop3.b32 d, a, b, c, 0xf8", 32, 32, 32, 32, 0x1, 0x6, 0xc, 0x5},
    {"dp4a.s32.s32 d, a, b, c", 32, 32, 32, 32, 0xff020304, 0x05060708, 10, 10 - 5 + 12 + 21 + 32},
    {"not.b32 d, a", 32, 32, 32, 32, 5, 0, 0, ~5u},
    {"xor.b64 d, a, b", 64, 64, 64, 64, 5, UINT64_MAX, 0, ~(uint64_t)5},
    {"add.f32 d, a, b", 32, 32, 32, 32, 0x3f800000, 0x33800000, 0, 0x3f800000},
    {"add.rp.f32 d, a, b", 32, 32, 32, 32, 0x3f800000, 0x33000000, 0, 0x3f800001},
    {"fma.rn.f32 d, a, b, c", 32, 32, 32, 32, 0x3f800001, 0x3f800001, 0xbf800002, 0x28800000},
    {"fma.rz.f32 d, a, b, c", 32, 32, 32, 32, 0x3f800001, 0x3f800001, 0, 0x3f800002},
    {"add.ftz.f32 d, a, b", 32, 32, 32, 32, 0x00400000, 0x00400000, 0, 0},
    {"add.sat.f32 d, a, b", 32, 32, 32, 32, 0x3f800000, 0x3f800000, 0, 0x3f800000},
    {"min.f32 d, a, b", 32, 32, 32, 32, 0x7fc00000, 0x3f800000, 0, 0x3f800000},
    {"max.f32 d, a, b", 32, 32, 32, 32, 0x80000000, 0, 0, 0},
    {"neg.f32 d, a", 32, 32, 32, 32, 0, 0, 0, 0x80000000},
    {"abs.f32 d, a", 32, 32, 32, 32, 0xbf800000, 0, 0, 0x3f800000},
    {"div.rn.f32 d, a, b", 32, 32, 32, 32, 0x3f800000, 0x40400000, 0, 0x3eaaaaab},
    {"rcp.rn.f32 d, a", 32, 32, 32, 32, 0x40400000, 0, 0, 0x3eaaaaab},
    {"sqrt.rn.f32 d, a", 32, 32, 32, 32, 0x40000000, 0, 0, 0x3fb504f3},
    {"ex2.approx.f32 d, a", 32, 32, 32, 32, 0x40400000, 0, 0, 0x41000000},
    {"lg2.approx.f32 d, a", 32, 32, 32, 32, 0x41000000, 0, 0, 0x40400000},
    {"copysign.f32 d, a, b", 32, 32, 32, 32, 0xbf800000, 0x40400000, 0, 0xc0400000},
    {"fma.rn.f64 d, a, b, c", 64, 64, 64, 64, 0x3ff0000000000001, 0x3ff0000000000001, 0xbff0000000000002,
     0x3970000000000000},
    {"div.rn.f64 d, a, b", 64, 64, 64, 64, 0x3ff0000000000000, 0x4008000000000000, 0, 0x3fd5555555555555},
    {"add.f16 d, a, b", 16, 16, 16, 16, 0x3c00, 0x3c00, 0, 0x4000},
    {"fma.rn.f16 d, a, b, c", 16, 16, 16, 16, 0x3c01, 0x3c01, 0xbc02, 0x0010},
    {"mul.f16x2 d, a, b", 32, 32, 32, 32, 0x40003c00, 0x42004000, 0, 0x46004000},
    {"fma.rn.bf16 d, a, b, c", 16, 16, 16, 16, 0x3f80, 0x4000, 0x3f80, 0x4040},
    {"cvt.u64.u32 d, a", 64, 32, 32, 32, 0xffffffff, 0, 0, 0xffffffff},
    {"cvt.s64.s32 d, a", 64, 32, 32, 32, 0xffffffff, 0, 0, UINT64_MAX},
    {"cvt.u32.u64 d, a", 32, 64, 32, 32, 0x123456789ull, 0, 0, 0x23456789},
    {"cvt.s32.s8 d, a", 32, 32, 32, 32, 0x180, 0, 0, 0xffffff80},
    {"cvt.u16.u8 d, a", 16, 16, 16, 16, 0x1ff, 0, 0, 0xff},
    {"cvt.sat.u8.s32 d, a", 32, 32, 32, 32, NEG(5), 0, 0, 0},
    {"cvt.sat.s8.s32 d, a", 32, 32, 32, 32, 300, 0, 0, 127},
    {"cvt.rn.f32.s32 d, a", 32, 32, 32, 32, 16777217, 0, 0, 0x4b800000},
    {"cvt.rp.f32.s32 d, a", 32, 32, 32, 32, 16777217, 0, 0, 0x4b800001},
    {"cvt.rn.f32.u64 d, a", 32, 64, 32, 32, UINT64_MAX, 0, 0, 0x5f800000},
    {"cvt.rzi.s32.f32 d, a", 32, 32, 32, 32, 0xc0200000, 0, 0, NEG(2)},
    {"cvt.rni.s32.f32 d, a", 32, 32, 32, 32, 0x40200000, 0, 0, 2},
    {"cvt.rzi.u32.f32 d, a", 32, 32, 32, 32, 0xc0200000, 0, 0, 0},
    {"cvt.rzi.s32.f32 d, a", 32, 32, 32, 32, 0x7fc00000, 0, 0, 0},
    {"cvt.rni.f32.f32 d, a", 32, 32, 32, 32, 0x40200000, 0, 0, 0x40000000},
    {"cvt.rmi.f32.f32 d, a", 32, 32, 32, 32, 0xc0200000, 0, 0, 0xc0400000},
    {"cvt.rn.f16.f32 d, a", 16, 32, 32, 32, 0x477ff000, 0, 0, 0x7c00},
    {"cvt.rn.f16.f32 d, a", 16, 32, 32, 32, 0x33000001, 0, 0, 0x0001},
    {"cvt.rz.f16.f32 d, a", 16, 32, 32, 32, 0x3f801fff, 0, 0, 0x3c00},
    {"cvt.f32.f16 d, a", 32, 16, 16, 16, 0x0001, 0, 0, 0x33800000},
    {"cvt.rn.bf16.f32 d, a", 16, 32, 32, 32, 0x3f808000, 0, 0, 0x3f80},
    {"cvt.rn.f16x2.f32 d, a, b", 32, 32, 32, 32, 0x3f800000, 0x40000000, 0, 0x3c004000},
    {"cvt.rna.tf32.f32 d, a", 32, 32, 32, 32, 0x3f801000, 0, 0, 0x3f802000},
    {"cvt.rn.f32.f64 d, a", 32, 64, 32, 32, 0x3ff0000010000000, 0, 0, 0x3f800000},
    {"cvt.rz.f32.f64 d, a", 32, 64, 32, 32, 0x3ff000001fffffff, 0, 0, 0x3f800000},
    {"cvt.f64.f32 d, a", 64, 32, 32, 32, 0x3fc00000, 0, 0, 0x3ff8000000000000},
    {"cvt.rn.f64.s64 d, a", 64, 64, 64, 64, (uint64_t)-3, 0, 0, 0xc008000000000000},
    {"{ .reg .pred p; setp.lt.s32 p, a, b; selp.b32 d, 1, 2, p; }", 32, 32, 32, 32, NEG(1), 1, 0, 1},
    {"{ .reg .pred p; setp.lt.u32 p, a, b; selp.b32 d, 1, 2, p; }", 32, 32, 32, 32, NEG(1), 1, 0, 2},
    {"{ .reg .pred p; setp.neu.f32 p, a, b; selp.b32 d, 1, 2, p; }", 32, 32, 32, 32, 0x7fc00000, 0, 0, 1},
    {"{ .reg .pred p; setp.ne.f32 p, a, b; selp.b32 d, 1, 2, p; }", 32, 32, 32, 32, 0x7fc00000, 0, 0, 2},
    {"{ .reg .pred p, q; setp.eq.s32 p|q, a, b; @q mov.b32 d, 7; @!q mov.b32 d, 8; }", 32, 32, 32, 32, 1, 2, 0, 7},
    {"{ .reg .pred p, q; setp.ne.s32 q, a, a; setp.lt.and.s32 p, a, b, !q; selp.b32 d, 1, 2, p; }", 32, 32, 32, 32, 1, 2, 0,
     1},
    {"set.lt.u32.s32 d, a, b", 32, 32, 32, 32, 1, 2, 0, 0xffffffff},
    {"slct.s32.s32 d, a, b, c", 32, 32, 32, 32, 1, 2, NEG(1), 2},
    {"{ .reg .b32 x, y; add.cc.u32 x, a, b; addc.u32 d, c, 0; }", 32, 32, 32, 32, 0xffffffff, 1, 5, 6},
    {"{ .reg .b32 x; sub.cc.u32 x, a, b; subc.u32 d, c, 0; }", 32, 32, 32, 32, 1, 2, 5, 4},
    {"{ .reg .b16 x, y; mov.b32 {x, y}, a; mov.b32 d, {y, x}; }", 32, 32, 32, 32, 0x12345678, 0, 0, 0x56781234},
    {"{ .reg .b32 x, y; mov.b64 {x, y}, a; mov.b64 d, {y, x}; }", 64, 64, 64, 64, 0x1234567800000001ull, 0, 0,
     0x112345678ull},
    {"{ .reg .pred p; testp.infinite.f32 p, a; selp.b32 d, 1, 2, p; }", 32, 32, 32, 32, 0x7f800000, 0, 0, 1},
    {"mov.b32 d, 0f3F800000", 32, 32, 32, 32, 0, 0, 0, 0x3f800000},
    {"bfi.b32 d, a, b, 8, 4", 32, 32, 32, 32, 0xff, 0, 0, 0xf00},
    {"max.NaN.f32 d, a, b", 32, 32, 32, 32, 0x7fc00000, 0x3f800000, 0, 0x7fc00000},
    {"mul24.lo.s32 d, a, b", 32, 32, 32, 32, 0xffffff, 3, 0, NEG(3)},
    {"sad.s32 d, a, b, c", 32, 32, 32, 32, NEG(3), 4, 1, 8},
};

/* Every lane runs it on the same values; lanes above 16 are then left out, so that both kinds of loop are seen. */
static void run_single(const single *s)
{
    char ptx[2048];
    const uint64_t values[] = {s->a, s->b, s->c};
    const int loads[] = {s->bits_a, s->bits_b, s->bits_c};
    snprintf(ptx, sizeof ptx,
             ".version 8.0\n.target sm_90\n.address_size 64\n"
             ".visible .entry k(.param .u64 to, .param .u64 from)\n{\n"
             ".reg .b%d d, zero; .reg .b%d a; .reg .b%d b; .reg .b%d c; .reg .b64 in, out; .reg .b32 t; .reg .pred few;\n"
             "ld.param.u64 in, [from];\nld.param.u64 out, [to];\n"
             "ld.global.b%d a, [in];\nld.global.b%d b, [in+8];\nld.global.b%d c, [in+16];\n"
             "mov.u32 t, %%tid.x;\nmad.wide.u32 out, t, 16, out;\n%s%s\nst.global.b%d [out], d;\n"
             "setp.lt.u32 few, t, 16;\nmov.b%d d, 0;\n@!few bra SKIP;\n%s%s\nSKIP:\nst.global.b%d [out+8], d;\nret;\n}\n",
             s->bits_d, loads[0], loads[1], loads[2], loads[0], loads[1], loads[2], s->instruction,
             s->instruction[0] == '{' ? "" : ";", s->bits_d, s->bits_d, s->instruction, s->instruction[0] == '{' ? "" : ";",
             s->bits_d);
    sg_memory *memory = soft_memory();
    sg_module *module = soft_module(memory, ptx);
    uint64_t out[64] = {0};
    const uint64_t params[2] = {soft_upload(memory, out, sizeof out), soft_upload(memory, values, sizeof values)};
    const sg_grid grid = soft_grid(module, "k", memory, params, 1, 32);
    sg_report report;
    if (sg_grid_run(&grid, &report, NULL) != SG_FAULT_NONE)
        check_fail(__FILE__, __LINE__, "%s: %s", s->instruction, report.message);
    const uint64_t *result = (const uint64_t *)(uintptr_t)params[0];
    for (int lane = 0; lane < 32; lane++)
        if (result[2 * lane] != s->expected || result[2 * lane + 1] != (lane < 16 ? s->expected : 0))
            check_fail(__FILE__, __LINE__, "%s of %llx %llx %llx: lane %d has %llx and %llx, not %llx", s->instruction,
                       (unsigned long long)s->a, (unsigned long long)s->b, (unsigned long long)s->c, lane,
                       (unsigned long long)result[2 * lane], (unsigned long long)result[2 * lane + 1],
                       (unsigned long long)s->expected);
    sg_module_destroy(module);
    sg_memory_destroy(memory);
}

TEST(single_instructions_give_what_the_isa_says)
{
    for (size_t i = 0; i < sizeof singles / sizeof singles[0]; i++)
        run_single(&singles[i]);
}

/* Products. */

typedef struct product {
    int64_t m, n, k, pad, batch;
    int alpha, beta;
} product;

static const product products[] = {
    {37, 53, 29, 0, 1, 1, 0}, {65, 33, 70, 4, 3, 3, -2}, {130, 129, 9, 8, 1, -1, 1}, {5, 3, 0, 0, 1, 2, 3}, {1, 1, 131, 4, 2, 2, 0},
};

/* Small integers in any element type. */
static void put(void *matrix, gt_type type, int64_t at, int value)
{
    if (type == GT_F32)
        ((float *)matrix)[at] = (float)value;
    else if (type == GT_S32)
        ((int32_t *)matrix)[at] = value;
    else
        ((uint16_t *)matrix)[at] = (uint16_t)(value == 0 ? 0 : (value < 0 ? 0x8000 : 0) |
                                              (value == 1 || value == -1   ? 0x3c00
                                               : value == 2 || value == -2 ? 0x4000
                                                                           : 0x4200));
}

static int64_t get(const void *matrix, gt_type type, int64_t at)
{
    return type == GT_F32 ? (int64_t)((const float *)matrix)[at] : ((const int32_t *)matrix)[at];
}

static int64_t up(int64_t x, int64_t multiple)
{
    return (x + multiple - 1) / multiple * multiple;
}

typedef struct operand {
    int64_t rows, columns, ld, stride;
    gt_type type;
    int *values;
    uint64_t device;
} operand;

/* Elements in [-3, 3]. What lies between the rows is left unwritten on the device. */
static void make_operand(sg_memory *memory, operand *x, int64_t batch, bool written)
{
    const int64_t bytes = x->type == GT_F16 ? 2 : 4, count = x->stride * batch;
    x->values = calloc((size_t)count + 1, sizeof x->values[0]);
    x->device = soft_upload(memory, NULL, (size_t)(count * bytes));
    const sg_span *span = sg_memory_find(memory, x->device);
    for (int64_t b = 0; b < batch; b++)
        for (int64_t i = 0; i < x->rows; i++)
            for (int64_t j = 0; j < x->columns; j++) {
                const int64_t at = b * x->stride + i * x->ld + j;
                x->values[at] = (int)(check_random() % 7) - 3;
                if (written) {
                    put((void *)(uintptr_t)x->device, x->type, at, x->values[at]);
                    sg_span_mark(span, x->device + (uint64_t)(at * bytes), (uint64_t)bytes);
                }
            }
}

static operand layout(int64_t rows, int64_t columns, int64_t pad, int align, gt_type type)
{
    const int64_t bytes = type == GT_F16 ? 2 : 4, unit = align > bytes ? align / bytes : 1;
    const int64_t ld = up((columns ? columns : 1) + pad, unit);
    return (operand){.rows = rows, .columns = columns, .ld = ld, .stride = up(ld * (rows ? rows : 1), unit), .type = type};
}

/* One product with one kernel, bit for bit; check_races too. */
static void run_product(sg_memory *memory, const sg_module *module, const gt_kernel *kernel, const gt_gemm *class,
                        const product *p, bool races)
{
    const gt_type ab = class->type_ab, c_type = class->type_c;
    operand a = class->op_a == GT_N ? layout(p->m, p->k, p->pad, class->align, ab) : layout(p->k, p->m, p->pad, class->align, ab);
    operand b = class->op_b == GT_N ? layout(p->k, p->n, p->pad, class->align, ab) : layout(p->n, p->k, p->pad, class->align, ab);
    operand c = layout(p->m, p->n, p->pad, class->align, c_type);
    gt_gemm gemm = *class;
    gt_problem problem;
    gt_launch launch;
    gt_args args;
    gemm.m = p->m, gemm.n = p->n, gemm.k = p->k, gemm.batch = p->batch;
    gemm.lda = a.ld, gemm.ldb = b.ld, gemm.ldc = c.ld;
    gemm.stride_a = a.stride, gemm.stride_b = b.stride, gemm.stride_c = c.stride;
    CHECK_OK(gt_problem_init(&gemm, &problem));
    CHECK_OK(gt_launch_init(kernel, &problem, &launch));
    make_operand(memory, &a, p->batch, true);
    make_operand(memory, &b, p->batch, true);
    make_operand(memory, &c, p->batch, p->beta != 0);
    gt_args_init(&problem, &args);
    args.a = (void *)(uintptr_t)a.device, args.b = (void *)(uintptr_t)b.device, args.c = (void *)(uintptr_t)c.device;
    if (ab == GT_S32)
        args.alpha.s32 = p->alpha, args.beta.s32 = p->beta;
    else
        args.alpha.f32 = (float)p->alpha, args.beta.f32 = (float)p->beta;
    uint8_t *zeros = calloc(launch.counter_bytes + 1, 1);
    const uint64_t counters = soft_upload(memory, zeros, launch.counter_bytes);
    const uint64_t workspace = soft_upload(memory, NULL, launch.workspace_bytes);
    args.counters = (unsigned *)(uintptr_t)counters, args.workspace = (void *)(uintptr_t)workspace;

    sg_grid grid = soft_grid(module, GT_ENTRY, memory, &args, launch.grid[0], launch.threads);
    grid.grid[1] = launch.grid[1], grid.grid[2] = launch.grid[2];
    grid.dynamic_shared = launch.smem_bytes;
    grid.check_races = races;
    sg_report report;
    if (sg_grid_run(&grid, &report, NULL) != SG_FAULT_NONE)
        check_fail(__FILE__, __LINE__, "%s %s %s %lldx%lldx%lld: %s", kernel->family, kernel->params,
                   gt_problem_layout(&problem), (long long)p->m, (long long)p->n, (long long)p->k, report.message);
    for (int64_t q = 0; q < p->batch; q++)
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++) {
                int64_t sum = 0;
                for (int64_t s = 0; s < p->k; s++)
                    sum += a.values[q * a.stride + (class->op_a == GT_N ? i * a.ld + s : s * a.ld + i)] *
                           b.values[q * b.stride + (class->op_b == GT_N ? s * b.ld + j : j * b.ld + s)];
                const int64_t at = q * c.stride + i * c.ld + j;
                const int64_t expected = p->alpha * sum + (p->beta ? p->beta * c.values[at] : 0);
                const int64_t got = get((const void *)(uintptr_t)c.device, c_type, at);
                if (got != expected)
                    check_fail(__FILE__, __LINE__, "%s %s %s %lldx%lldx%lld: (%lld, %lld) of %lld is %lld, not %lld",
                               kernel->family, kernel->params, gt_problem_layout(&problem), (long long)p->m,
                               (long long)p->n, (long long)p->k, (long long)i, (long long)j, (long long)q, (long long)got,
                               (long long)expected);
            }
    operand *const operands[] = {&a, &b, &c};
    for (int i = 0; i < 3; i++) {
        free(operands[i]->values);
        CHECK(sg_memory_free(memory, operands[i]->device));
    }
    free(zeros);
    CHECK(sg_memory_free(memory, counters) && sg_memory_free(memory, workspace));
}

/* All products of one class of problems with a few configurations of one family. */
static size_t run_class(const gt_nvrtc *nvrtc, const gt_families *families, const gt_family *family, const gt_gemm *class)
{
    sg_memory *memory = soft_memory();
    gt_kernel kernel;
    sg_module *module;
    const bool any = soft_family(nvrtc, families, family, class, check_random() >> 1, memory, &kernel, &module);
    if (any) {
        for (size_t i = 0; i < sizeof products / sizeof products[0]; i++)
            run_product(memory, module, &kernel, class, &products[i], i == 1);
        sg_module_destroy(module);
    }
    sg_memory_destroy(memory);
    return any;
}

TEST(every_family_multiplies_right_in_every_layout)
{
    static const struct {
        gt_type ab, c;
        gt_op op_a, op_b;
        int align;
    } classes[] = {{GT_F32, GT_F32, GT_N, GT_N, 16}, {GT_F32, GT_F32, GT_T, GT_N, 4}, {GT_F32, GT_F32, GT_N, GT_T, 8},
                   {GT_S32, GT_S32, GT_T, GT_T, 16}, {GT_F16, GT_F32, GT_N, GT_N, 4}, {GT_F16, GT_F32, GT_T, GT_T, 16},
                   {GT_F16, GT_F32, GT_N, GT_T, 8}};
    gt_nvrtc *nvrtc = soft_nvrtc();
    gt_families families;
    CHECK_OK(gt_families_init(NULL, &families));
    size_t ran = 0;
    for (size_t f = 0; f < families.count; f++)
        for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
            /* The size decides what the space offers; small enough for K to be split now and then. */
            const gt_gemm class = {.m = 256, .n = 256, .k = 1024, .type_ab = classes[i].ab, .type_c = classes[i].c,
                                   .op_a = classes[i].op_a, .op_b = classes[i].op_b, .align = classes[i].align};
            ran += run_class(nvrtc, &families, &families.list[f], &class);
        }
    printf("%zu kernels\n", ran);
    CHECK(ran >= 4 * families.count - 2);
    gt_families_finish(&families);
    gt_nvrtc_close(nvrtc);
}

/* Other kernels: 256 threads that leave one word each. */

static const char odd[] =
    "__constant__ int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};\n"
    "__device__ unsigned total;\n"
    "__device__ int twist(int x)\n"
    "{\n"
    "    switch (x % 7) {\n"
    "    case 0: return x * 3 + 1;\n"
    "    case 1: return x - 5;\n"
    "    case 2: return table[x & 7];\n"
    "    case 3: return x ^ 0x55;\n"
    "    case 4: return x << 2;\n"
    "    case 5: return -x;\n"
    "    default: return x / 3;\n"
    "    }\n"
    "}\n"
    "__device__ int work(int t)\n"
    "{\n"
    "    int local[8], steps = 0;\n"
    "    for (int i = 0; i < 8; i++) local[(i * 3 + t) & 7] = twist(t + i);\n"
    "    for (unsigned x = t + 1; x != 1; steps++) x = x & 1 ? 3 * x + 1 : x / 2;\n"
    "    for (int i = 0; i < t % 5; i++) steps += local[(t + i) & 7];\n"
    "    return steps;\n"
    "}\n"
    "extern \"C\" __global__ void k(int *out)\n"
    "{\n"
    "    __shared__ int bins[8];\n"
    "    __shared__ unsigned char bytes[256];\n"
    "    const int t = threadIdx.x;\n"
    "    if (t < 8) bins[t] = 0;\n"
    "    bytes[t] = (unsigned char)(t * 7);\n"
    "    __syncthreads();\n"
    "    int mine = work(t);\n"
    "    atomicAdd(&bins[mine & 7], 1);\n"
    "    atomicMax(&total, (unsigned)t);\n"
    "    int *where = t & 1 ? bins : out + 256; /* a generic address, of either space */\n"
    "    atomicAdd(where + (t & 7), t & 1 ? 0 : 1);\n"
    "    const int sum = __reduce_add_sync(~0u, mine);\n"
    "    const unsigned vote = __ballot_sync(~0u, mine & 1);\n"
    "    int scan = mine;\n"
    "    for (int d = 1; d < 32; d *= 2) { const int other = __shfl_up_sync(~0u, scan, d); if (t % 32 >= d) scan += other; }\n"
    "    const int any = __syncthreads_count(mine > 10);\n"
    "    const short half = (short)(mine * 1000);\n"
    "    out[t] = sum + (int)vote + scan + any + half + bytes[(t * 5) & 255] + bins[t & 7] + (int)total;\n"
    "}\n";

static int odd_twist(int x)
{
    static const int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
    const int results[] = {x * 3 + 1, x - 5, table[x & 7], x ^ 0x55, x << 2, -x, x / 3};
    return results[x % 7];
}

static int odd_work(int t)
{
    int local[8], steps = 0;
    for (int i = 0; i < 8; i++)
        local[(i * 3 + t) & 7] = odd_twist(t + i);
    for (unsigned x = (unsigned)t + 1; x != 1; steps++)
        x = x & 1 ? 3 * x + 1 : x / 2;
    for (int i = 0; i < t % 5; i++)
        steps += local[(t + i) & 7];
    return steps;
}

TEST(ordinary_code_with_divergence_atomics_and_shuffles_runs_right)
{
    gt_nvrtc *nvrtc = soft_nvrtc();
    sg_memory *memory = soft_memory();
    sg_module *module = soft_compile(nvrtc, memory, odd, "sm_80");
    static const int zeros[264];
    const uint64_t out = soft_upload(memory, zeros, sizeof zeros);
    const sg_grid grid = soft_grid(module, "k", memory, &out, 1, 256);
    sg_report report;
    if (sg_grid_run(&grid, &report, NULL) != SG_FAULT_NONE)
        check_fail(__FILE__, __LINE__, "%s", report.message);
    const int *result = (const int *)(uintptr_t)out;
    int work[256], bins[8] = {0}, many = 0;
    for (int t = 0; t < 256; t++) {
        work[t] = odd_work(t);
        bins[work[t] & 7]++;
        many += work[t] > 10;
    }
    for (int t = 0; t < 256; t++) {
        int sum = 0, scan = 0;
        unsigned vote = 0;
        for (int l = 0; l < 32; l++) {
            sum += work[t / 32 * 32 + l];
            scan += l <= t % 32 ? work[t / 32 * 32 + l] : 0;
            vote |= (unsigned)(work[t / 32 * 32 + l] & 1) << l;
        }
        const int bytes = (unsigned char)((t * 5 & 255) * 7), half = (short)(work[t] * 1000);
        CHECK_INT(result[t], (int)((unsigned)sum + vote + (unsigned)(scan + many + half + bytes + bins[t & 7] + 255)));
    }
    CHECK_INT(result[256], 32);
    CHECK_INT(result[257], 0);
    sg_module_destroy(module);
    sg_memory_destroy(memory);
    gt_nvrtc_close(nvrtc);
}

/* Functions that the compiler does not inline, its own among them, called by some lanes only. */
static const char calling[] =
    "__noinline__ __device__ int collatz(unsigned x) { int n = 0; for (; x != 1; n++) x = x & 1 ? 3 * x + 1 : x / 2; return n; }\n"
    "__noinline__ __device__ double mixed(double x, int n, const int *table) { return x * n + table[n & 3] + collatz(n + 1); }\n"
    "extern \"C\" __global__ void k(double *out)\n"
    "{\n"
    "    const int t = threadIdx.x;\n"
    "    int table[4] = {t, t + 1, t + 2, t + 3};\n"
    "    double x = sin(t * 1e6) + pow(1.0 + t, 1.25);\n"
    "    if (t % 3 == 1) x += mixed(0.5, t, table);\n"
    "    if (t > 1000) asm volatile(\"trap;\");\n"
    "    out[t] = x;\n"
    "}\n";

TEST(functions_that_are_called_return)
{
    gt_nvrtc *nvrtc = soft_nvrtc();
    sg_memory *memory = soft_memory();
    gt_code code;
    CHECK_OK(gt_nvrtc_compile(nvrtc, calling, "sm_80", &code, NULL));
    CHECK(strstr(code.ptx, "call.uni"));
    sg_module *module = soft_module(memory, code.ptx);
    const uint64_t out = soft_upload(memory, NULL, 96 * 8);
    const sg_grid grid = soft_grid(module, "k", memory, &out, 1, 96);
    sg_report report;
    if (sg_grid_run(&grid, &report, NULL) != SG_FAULT_NONE)
        check_fail(__FILE__, __LINE__, "%s", report.message);
    for (int t = 0; t < 96; t++) {
        double expected = sin(t * 1e6) + pow(1.0 + t, 1.25);
        int steps = 0;
        for (unsigned x = (unsigned)t + 1; x != 1; steps++)
            x = x & 1 ? 3 * x + 1 : x / 2;
        if (t % 3 == 1)
            expected += 0.5 * t + (t + (t & 3)) + steps;
        CHECK_NEAR(((const double *)(uintptr_t)out)[t], expected, 1e-12 * fabs(expected));
    }
    gt_code_finish(&code);
    sg_module_destroy(module);
    sg_memory_destroy(memory);
    gt_nvrtc_close(nvrtc);
}

/* ldmatrix and mma.sync as CUTLASS puts them together: A row by row, B once along K and once along N. */
static const char tensor_core[] =
    "typedef unsigned short half_bits;\n"
    "extern \"C\" __global__ void k(const half_bits *a, const half_bits *b, float *c)\n"
    "{\n"
    "    __shared__ __align__(16) half_bits as[16][16], bt[8][16], bs[16][8];\n"
    "    const int l = threadIdx.x;\n"
    "    for (int i = l; i < 256; i += 32) as[i / 16][i % 16] = a[i];\n"
    "    for (int i = l; i < 128; i += 32) bs[i / 8][i % 8] = bt[i % 8][i / 8] = b[i];\n"
    "    __syncwarp();\n"
    "    unsigned x[4], y[2], z[2];\n"
    "    asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\" : \"=r\"(x[0]), \"=r\"(x[1]), \"=r\"(x[2]), \"=r\"(x[3])\n"
    "                 : \"r\"((unsigned)__cvta_generic_to_shared(&as[l % 16][l / 16 * 8])));\n"
    "    asm volatile(\"ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];\" : \"=r\"(y[0]), \"=r\"(y[1])\n"
    "                 : \"r\"((unsigned)__cvta_generic_to_shared(&bt[l % 8][l / 8 % 2 * 8])));\n"
    "    asm volatile(\"ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];\" : \"=r\"(z[0]), \"=r\"(z[1])\n"
    "                 : \"r\"((unsigned)__cvta_generic_to_shared(&bs[l % 16][0])));\n"
    "    float d[4] = {1, 2, 3, 4};\n"
    "    asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.\" TYPE \".\" TYPE \".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\"\n"
    "                 : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3]) : \"r\"(x[0]), \"r\"(x[1]), \"r\"(x[2]), \"r\"(x[3]), \"r\"(y[0]), \"r\"(y[1]));\n"
    "    for (int i = 0; i < 4; i++)\n"
    "        c[(l / 4 + i / 2 * 8) * 8 + l % 4 * 2 + i % 2] = d[i] - (i + 1) + (y[0] == z[0] && y[1] == z[1] ? 0 : 1000);\n"
    "}\n";

TEST(ldmatrix_and_mma_fit_together)
{
    gt_nvrtc *nvrtc = soft_nvrtc();
    for (int bf16 = 0; bf16 < 2; bf16++) {
        sg_memory *memory = soft_memory();
        char source[sizeof tensor_core + 64];
        sprintf(source, "#define TYPE \"%s\"\n%s", bf16 ? "bf16" : "f16", tensor_core);
        sg_module *module = soft_compile(nvrtc, memory, source, "sm_80");
        uint16_t a[256], b[128];
        int x[256], y[128];
        for (int i = 0; i < 256; i++) {
            x[i] = (int)(check_random() % 3);
            a[i] = (uint16_t)(x[i] == 0 ? 0 : x[i] == 2 ? 0x4000 : bf16 ? 0x3f80 : 0x3c00); /* 2.0 is 0x4000 in both */
            y[i % 128] = (int)(check_random() % 3);
            b[i % 128] = (uint16_t)(y[i % 128] == 0 ? 0 : y[i % 128] == 2 ? 0x4000 : bf16 ? 0x3f80 : 0x3c00);
        }
        const uint64_t params[] = {soft_upload(memory, a, sizeof a), soft_upload(memory, b, sizeof b),
                                   soft_upload(memory, NULL, 128 * 4)};
        sg_grid grid = soft_grid(module, "k", memory, params, 1, 32);
        sg_report report;
        sg_counts counts;
        grid.count = true;
        if (sg_grid_run(&grid, &report, &counts) != SG_FAULT_NONE)
            check_fail(__FILE__, __LINE__, "%s", report.message);
        CHECK_INT(counts.tensor, 1);
        CHECK_INT(counts.tensor_flops, 2 * 16 * 8 * 16);
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 8; j++) {
                int sum = 0;
                for (int p = 0; p < 16; p++)
                    sum += x[i * 16 + p] * y[p * 8 + j];
                CHECK_INT((int)((const float *)(uintptr_t)params[2])[i * 8 + j], sum);
            }
        sg_module_destroy(module);
        sg_memory_destroy(memory);
    }
    gt_nvrtc_close(nvrtc);
}

/* Two blocks of a cluster: each brings half of a swizzled box to both, reads the other's memory, and stores in bulk. */
static const char clustered[] =
    "struct __align__(64) map { char bytes[128]; };\n"
    "__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }\n"
    "__device__ void cluster_sync() { asm volatile(\"barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\" ::: \"memory\"); }\n"
    "extern \"C\" __global__ void __cluster_dims__(2, 1, 1) k(const __grid_constant__ map m, float *out, int x, int y)\n"
    "{\n"
    "    extern __shared__ __align__(1024) unsigned char box[];\n"
    "    __shared__ __align__(16) float back[256];\n"
    "    __shared__ unsigned long long bar;\n"
    "    unsigned rank, remote;\n"
    "    asm(\"mov.u32 %0, %%cluster_ctarank;\" : \"=r\"(rank));\n"
    "    const int t = threadIdx.x;\n"
    "    if (t == 0) asm volatile(\"mbarrier.init.shared::cta.b64 [%0], 1; fence.mbarrier_init.release.cluster;\" ::\"r\"(at(&bar)) : \"memory\");\n"
    "    cluster_sync();\n"
    "    if (t == 0) {\n"
    "        asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\" ::\"r\"(at(&bar)), \"r\"(EXPECTED) : \"memory\");\n"
    "        asm volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;\"\n"
    "                     ::\"r\"(at(box) + rank * 2048), \"l\"(&m), \"r\"(x), \"r\"(y + (int)rank * 16), \"r\"(at(&bar)), \"h\"((unsigned short)3) : \"memory\");\n"
    "    }\n"
    "#if WAIT\n"
    "    asm volatile(\"{ .reg .pred p; L: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra L; }\" ::\"r\"(at(&bar)) : \"memory\");\n"
    "#endif\n"
    "    for (int i = t; i < 1024; i += 256) {\n"
    "        const unsigned offset = i * 4, swizzled = offset ^ (offset >> 7 & 7) << 4;\n"
    "        out[rank * 1024 + i] = *(float *)(box + swizzled);\n"
    "    }\n"
    "    back[t] = t + rank * 1000;\n"
    "    cluster_sync();\n"
    "    asm(\"mapa.shared::cluster.u32 %0, %1, %2;\" : \"=r\"(remote) : \"r\"(at(back + t)), \"r\"(rank ^ 1));\n"
    "    float there;\n"
    "    asm volatile(\"ld.shared::cluster.f32 %0, [%1];\" : \"=f\"(there) : \"r\"(remote) : \"memory\");\n"
    "    cluster_sync();\n"
    "    back[t] = there;\n"
    "    asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n"
    "    __syncthreads();\n"
    "    if (t == 0) {\n"
    "        asm volatile(\"cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024; cp.async.bulk.commit_group;\" ::\"l\"(out + 2048 + rank * 256), \"r\"(at(back)) : \"memory\");\n"
    "        asm volatile(\"cp.async.bulk.wait_group.read 0;\" ::: \"memory\");\n"
    "    }\n"
    "}\n";

/* A tensor of 40 x 40 floats with rows of 48; a box of 32 x 16 at (x, y). */
static sg_fault run_clustered(const gt_nvrtc *nvrtc, int expected, int wait, int x, int y, sg_report *report)
{
    sg_memory *memory = soft_memory();
    char source[sizeof clustered + 64];
    float tensor[40 * 48];
    sprintf(source, "#define EXPECTED %d\n#define WAIT %d\n%s", expected, wait, clustered);
    sg_module *module = soft_compile(nvrtc, memory, source, "sm_90");
    for (int i = 0; i < 40 * 48; i++)
        tensor[i] = (float)(i + 1);
    struct {
        sg_tensor_map map;
        uint64_t out;
        int x, y;
    } params = {.map = {.magic = SG_TENSOR_MAP_MAGIC, .strides = {48 * 4}, .sizes = {40, 40, 1, 1, 1},
                        .box = {32, 16, 1, 1, 1}, .steps = {1, 1, 1, 1, 1}, .rank = 2, .element_bytes = 4, .swizzle = 3},
                .x = x, .y = y};
    params.map.address = soft_upload(memory, tensor, sizeof tensor);
    params.out = soft_upload(memory, NULL, 4 * (2048 + 512));
    sg_grid grid = soft_grid(module, "k", memory, &params, 2, 256);
    CHECK_INT(sg_kernel_describe(grid.kernel)->cluster[0], 2);
    grid.cluster[0] = 2;
    grid.dynamic_shared = 4096;
    grid.check_races = true;
    const sg_fault fault = sg_grid_run(&grid, report, NULL);
    const float *out = (const float *)(uintptr_t)params.out;
    for (int rank = 0; rank < 2 && !fault; rank++) {
        for (int i = 0; i < 1024; i++) {
            const int row = y + i / 32, column = x + i % 32;
            const bool inside = row >= 0 && row < 40 && column >= 0 && column < 40;
            CHECK_NEAR(out[rank * 1024 + i], inside ? (double)tensor[row * 48 + column] : 0, 0);
        }
        for (int t = 0; t < 256; t++)
            CHECK_NEAR(out[2048 + rank * 256 + t], t + (rank ^ 1) * 1000, 0);
    }
    sg_module_destroy(module);
    sg_memory_destroy(memory);
    return fault;
}

TEST(tensor_copies_clusters_and_bulk_stores_work_and_their_misuse_is_seen)
{
    gt_nvrtc *nvrtc = soft_nvrtc();
    sg_report report;
    const struct {
        int expected, wait, x, y;
        sg_fault fault;
    } cases[] = {{4096, 1, 0, 0, SG_FAULT_NONE},     {4096, 1, 20, 30, SG_FAULT_NONE}, {4096, 1, -8, -3, SG_FAULT_NONE},
                 {8192, 1, 0, 0, SG_FAULT_DEADLOCK}, {2048, 1, 0, 0, SG_FAULT_UNWRITTEN}, {4096, 0, 0, 0, SG_FAULT_UNWRITTEN}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const sg_fault fault = run_clustered(nvrtc, cases[i].expected, cases[i].wait, cases[i].x, cases[i].y, &report);
        if (fault != cases[i].fault)
            check_fail(__FILE__, __LINE__, "case %zu: fault %d, %s", i, fault, report.message);
    }
    gt_nvrtc_close(nvrtc);
}

/* The kernels that verification itself uses. */
extern const char gt_embedded_checks_cu[];

TEST(the_kernels_of_verification_run)
{
    enum { ROWS = 37, COLUMNS = 70, LD = 80 };
    gt_nvrtc *nvrtc = soft_nvrtc();
    sg_memory *memory = soft_memory();
    sg_module *module = soft_compile(nvrtc, memory, gt_embedded_checks_cu, "sm_90a");
    sg_report report;
    struct matrix {
        uint64_t data;
        int64_t rows, columns, ld;
    } matrix = {soft_upload(memory, NULL, ROWS * LD * 4), ROWS, COLUMNS, LD};
    const struct {
        struct matrix m;
        int64_t batch, stride;
        uint64_t seed;
    } fill = {matrix, 1, ROWS * LD, 42};
    sg_grid grid = soft_grid(module, "fill_f32", memory, &fill, 5, 256);
    CHECK_INT(sg_grid_run(&grid, &report, NULL), SG_FAULT_NONE);
    const float *data = (const float *)(uintptr_t)matrix.data;
    double square = 0;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            square += (double)data[i * LD + j] * data[i * LD + j];
    CHECK_NEAR(square / (ROWS * COLUMNS), 1, 0.15); /* of variance 1 */

    static const double zeros[COLUMNS];
    struct {
        struct matrix m;
        uint64_t v, out;
        int64_t chunk;
        int squares;
    } multiply = {matrix, 0, soft_upload(memory, zeros, sizeof zeros), 40, 0};
    grid = soft_grid(module, "rows_f32", memory, &multiply, (ROWS * 32 + 255) / 256, 256);
    grid.grid[1] = 2;
    CHECK_INT(sg_grid_run(&grid, &report, NULL), SG_FAULT_NONE);
    for (int i = 0; i < ROWS; i++) {
        double sum = 0;
        for (int j = 0; j < COLUMNS; j++)
            sum += data[i * LD + j];
        CHECK_NEAR(((const double *)(uintptr_t)multiply.out)[i], sum, 1e-12 * COLUMNS);
    }
    multiply.out = soft_upload(memory, zeros, sizeof zeros);
    grid = soft_grid(module, "columns_f32", memory, &multiply, 1, 256);
    CHECK_INT(sg_grid_run(&grid, &report, NULL), SG_FAULT_NONE);
    double column = 0;
    for (int i = 0; i < ROWS; i++)
        column += data[i * LD + 7];
    CHECK_NEAR(((const double *)(uintptr_t)multiply.out)[7], column, 1e-12 * ROWS);

    /* The gap between the rows is not written: to count there is to read what nobody wrote. */
    const unsigned zero = 0;
    const struct {
        uint64_t region;
        int64_t rows, width, pitch;
        unsigned pattern;
        uint64_t changed;
    } count = {matrix.data + COLUMNS * 4, 3, 4, LD * 2, 0xffff, soft_upload(memory, &zero, 4)};
    grid = soft_grid(module, "count_changed", memory, &count, 1, 32);
    CHECK_INT(sg_grid_run(&grid, &report, NULL), SG_FAULT_UNWRITTEN);
    CHECK(report.address >= count.region && strstr(report.message, "count_changed"));
    sg_module_destroy(module);
    sg_memory_destroy(memory);
    gt_nvrtc_close(nvrtc);
}

/* Blocks that wait for each other: all are resident, so they come to an end. */
static const char grid_barrier[] =
    "extern \"C\" __global__ void k(unsigned *counter, unsigned *out)\n"
    "{\n"
    "    for (unsigned round = 1; round <= 3; round++) {\n"
    "        __syncthreads();\n"
    "        if (threadIdx.x == 0) {\n"
    "            __threadfence();\n"
    "            atomicAdd(counter, 1);\n"
    "            while (*(volatile unsigned *)counter < round * gridDim.x) ;\n"
    "        }\n"
    "        __syncthreads();\n"
    "    }\n"
    "    out[blockIdx.x * blockDim.x + threadIdx.x] = *(volatile unsigned *)counter;\n"
    "}\n";

TEST(resident_blocks_may_wait_for_each_other)
{
    gt_nvrtc *nvrtc = soft_nvrtc();
    sg_memory *memory = soft_memory();
    sg_module *module = soft_compile(nvrtc, memory, grid_barrier, "sm_80");
    const unsigned zero = 0;
    const uint64_t params[] = {soft_upload(memory, &zero, 4), soft_upload(memory, NULL, 4 * 64 * 8)};
    sg_grid grid = soft_grid(module, "k", memory, params, 8, 64);
    sg_report report;
    grid.sm_count = 4;
    if (sg_grid_run(&grid, &report, NULL) != SG_FAULT_NONE)
        check_fail(__FILE__, __LINE__, "%s", report.message);
    CHECK_INT(((const unsigned *)(uintptr_t)params[1])[100], 24);
    /* One block too few, and they wait for ever, as they would on a GPU. */
    *(unsigned *)(uintptr_t)params[0] = 0;
    grid.sm_count = 7;
    grid.blocks_per_sm = 1;
    grid.budget = (uint64_t)1 << 28;
    CHECK_INT(sg_grid_run(&grid, &report, NULL), SG_FAULT_DEADLOCK);
    sg_module_destroy(module);
    sg_memory_destroy(memory);
    gt_nvrtc_close(nvrtc);
}

/* Seeded bugs. BUG 0 is a correct kernel; each other number breaks it in one way. */

static const char tiled[] =
    "extern \"C\" __global__ void k(const float *a, const float *b, float *c, int n)\n"
    "{\n"
    "    __shared__ float as[16][16], bs[16][16];\n"
    "    const int x = threadIdx.x % 16, y = threadIdx.x / 16, i = blockIdx.x * 16 + y, j = blockIdx.y * 16 + x;\n"
    "    float sum = BUG == 7 && i < n && j < n ? c[i * n + j] : 0;\n"
    "    for (int p = 0; p < (BUG == 9 ? n / 16 * 16 : n); p += 16) {\n"
    "        if (BUG != 5 || (i < n && p + x < n)) as[y][x] = i < n && p + x < n + (BUG == 3) ? a[i * n + p + x] : 0;\n"
    "        if (BUG != 5 || (j < n && p + y < n)) bs[y][x] = p + y < n && j < n ? b[(p + y) * n + j] : 0;\n"
    "        if (BUG == 6) { if (threadIdx.x % 2) __syncthreads(); else __syncthreads(); }\n"
    "        else if (BUG == 8) asm volatile(\"bar.sync 1, 288;\" ::: \"memory\");\n"
    "        else if (BUG != 1) __syncthreads();\n"
    "        for (int q = 0; q < 16; q++) sum += as[y][q] * bs[q][x];\n"
    "        if (BUG != 2) __syncthreads();\n"
    "    }\n"
    "    if (i < n && j < n + (BUG == 4)) c[i * n + j] = sum;\n"
    "    if (BUG == 10 && threadIdx.x == 33) asm volatile(\"trap;\");\n"
    "    if (BUG == 11) *(float2 *)(c + 1) = make_float2(0, 0);\n"
    "    if (BUG == 12) as[y * 16 + x + n][0] = 0;\n"
    "    if (BUG == 13) while (*(volatile int *)a != 12345) ;\n"
    "    if (BUG == 14) asm volatile(\"bar.sync %0;\" ::\"r\"(n));\n"
    "}\n";

static const char staged[] =
    "__device__ void bring(float *to, const float *from, bool inside)\n"
    "{\n"
    "    asm volatile(\"cp.async.ca.shared.global [%0], [%1], 4, %2;\" ::\"r\"((unsigned)__cvta_generic_to_shared(to)),\n"
    "                 \"l\"(from), \"r\"(inside ? 4 : 0) : \"memory\");\n"
    "}\n"
    "extern \"C\" __global__ void k(const float *a, const float *b, float *c, int n)\n"
    "{\n"
    "    __shared__ float as[3][16][16], bs[3][16][16];\n"
    "    const int x = threadIdx.x % 16, y = threadIdx.x / 16, i = blockIdx.x * 16 + y, j = blockIdx.y * 16 + x;\n"
    "    const int tiles = (n + 15) / 16;\n"
    "    const auto fetch = [&](int t) {\n"
    "        const int p = t * 16, s = BUG == 2 ? 0 : BUG == 5 ? t % 2 : t % 3;\n"
    "        const bool in_a = t < tiles && i < n && p + x < n, in_b = t < tiles && p + y < n && j < n;\n"
    "        bring(&as[s][y][x], in_a ? a + i * n + p + x : a, in_a);\n"
    "        bring(&bs[s][y][x], in_b ? b + (p + y) * n + j : b, in_b);\n"
    "        asm volatile(\"cp.async.commit_group;\" ::: \"memory\");\n"
    "    };\n"
    "    float sum = 0;\n"
    "    fetch(0);\n"
    "    fetch(1);\n"
    "    for (int t = 0; t < tiles; t++) {\n"
    "        if (BUG == 1) asm volatile(\"cp.async.wait_group 2;\" ::: \"memory\");\n"
    "        else if (BUG != 3) asm volatile(\"cp.async.wait_group 1;\" ::: \"memory\");\n"
    "        if (BUG != 4) __syncthreads();\n"
    "        fetch(t + 2);\n"
    "        const int s = BUG == 2 ? 0 : BUG == 5 ? t % 2 : t % 3;\n"
    "        for (int q = 0; q < 16; q++) sum += as[s][y][q] * bs[s][q][x];\n"
    "    }\n"
    "    if (i < n && j < n) c[i * n + j] = sum;\n"
    "}\n";

/* A producer warp and consumer warps around a ring of two full and two empty barriers. */
static const char ring[] =
    "#define BAR(x) ((unsigned)__cvta_generic_to_shared(&x))\n"
    "__device__ void wait(unsigned bar, int parity)\n"
    "{\n"
    "    asm volatile(\"{ .reg .pred p; L: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra L; }\" ::\"r\"(bar), \"r\"(parity) : \"memory\");\n"
    "}\n"
    "__device__ void arrive(unsigned bar)\n"
    "{\n"
    "    asm volatile(\"{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }\" ::\"r\"(bar) : \"memory\");\n"
    "}\n"
    "extern \"C\" __global__ void k(const float *a, const float *b, float *c, int n)\n"
    "{\n"
    "    __shared__ unsigned long long full[2], empty[2];\n"
    "    __shared__ float stage[2][32];\n"
    "    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;\n"
    "    if (threadIdx.x == 0 && BUG != 5)\n"
    "        for (int s = 0; s < 2; s++) {\n"
    "            asm volatile(\"mbarrier.init.shared.b64 [%0], %1;\" ::\"r\"(BAR(full[s])), \"r\"(BUG == 1 ? 33 : 32) : \"memory\");\n"
    "            asm volatile(\"mbarrier.init.shared.b64 [%0], %1;\" ::\"r\"(BAR(empty[s])), \"r\"(32) : \"memory\");\n"
    "        }\n"
    "    __syncthreads();\n"
    "    if (warp == 0) {\n"
    "        for (int t = 0; t < n; t++) {\n"
    "            if (BUG != 2) wait(BAR(empty[t % 2]), (t / 2 & 1) ^ 1);\n"
    "            stage[t % 2][lane] = a[t * n + lane];\n"
    "            if (BUG != 6) arrive(BAR(full[t % 2]));\n"
    "            if (BUG == 7) arrive(BAR(full[t % 2]));\n"
    "        }\n"
    "    } else if (warp == 1) {\n"
    "        float sum = 0;\n"
    "        for (int t = 0; t < n; t++) {\n"
    "            if (BUG != 3) wait(BAR(full[t % 2]), BUG == 4 ? (t / 2 & 1) ^ 1 : t / 2 & 1);\n"
    "            sum += stage[t % 2][lane];\n"
    "            arrive(BAR(empty[t % 2]));\n"
    "        }\n"
    "        c[lane] = sum;\n"
    "    }\n"
    "}\n";

typedef struct seeded {
    const char *source;
    int bugs, side, threads;
    bool is_ring;
} seeded;

/* What became of one kernel: a fault, a wrong result, or nothing. */
static bool run_seeded(const gt_nvrtc *nvrtc, const seeded *kernel, int bug, char *verdict, size_t size)
{
    sg_memory *memory = soft_memory();
    const int n = kernel->side;
    float *a = calloc((size_t)(n * n), 4), *b = calloc((size_t)(n * n), 4);
    char *source = malloc(strlen(kernel->source) + 64);
    sprintf(source, "#define BUG %d\n%s", bug, kernel->source);
    for (int i = 0; i < n * n; i++) {
        a[i] = (float)((int)(check_random() % 7) + 1);
        b[i] = (float)((int)(check_random() % 7) + 1);
    }
    sg_module *module = soft_compile(nvrtc, memory, source, "sm_90");
    const struct {
        uint64_t a, b, c;
        int n;
    } params = {soft_upload(memory, a, (size_t)(n * n) * 4), soft_upload(memory, b, (size_t)(n * n) * 4),
                soft_upload(memory, NULL, (size_t)(n * n) * 4), n};
    sg_grid grid = soft_grid(module, "k", memory, &params, kernel->is_ring ? 1 : (unsigned)(n + 15) / 16,
                             (unsigned)kernel->threads);
    grid.grid[1] = grid.grid[0];
    grid.budget = (uint64_t)1 << 28;
    sg_report report;
    bool caught = sg_grid_run(&grid, &report, NULL) != SG_FAULT_NONE;
    snprintf(verdict, size, "%s", caught ? report.message : "passed");
    CHECK(!caught || (report.line > 0 && report.message[0]));
    const float *c = (const float *)(uintptr_t)params.c;
    for (int i = 0; i < (kernel->is_ring ? 1 : n) && !caught; i++)
        for (int j = 0; j < n && !caught; j++) {
            float sum = 0;
            for (int p = 0; p < n; p++)
                sum += kernel->is_ring ? a[p * n + j] : a[i * n + p] * b[p * n + j];
            if (c[i * n + j] != sum) {
                caught = true;
                snprintf(verdict, size, "(%d, %d) is %g, not %g", i, j, (double)c[i * n + j], (double)sum);
            }
        }
    if (!caught) { /* right by luck, perhaps: now with the race checker */
        grid.check_races = true;
        caught = sg_grid_run(&grid, &report, NULL) != SG_FAULT_NONE;
        snprintf(verdict, size, "%s", caught ? report.message : "passed");
        CHECK(!caught || (report.fault == SG_FAULT_RACE && report.other_line > 0));
    }
    sg_module_destroy(module);
    sg_memory_destroy(memory);
    free(a);
    free(b);
    free(source);
    return caught;
}

TEST(seeded_bugs_are_caught_and_correct_kernels_are_not)
{
    static const seeded kernels[] = {{tiled, 14, 40, 256, false}, {staged, 5, 104, 256, false}, {ring, 7, 32, 64, true}};
    gt_nvrtc *nvrtc = soft_nvrtc();
    char verdict[SG_MESSAGE_LENGTH];
    for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++)
        for (int bug = 0; bug <= kernels[k].bugs; bug++) {
            const bool caught = run_seeded(nvrtc, &kernels[k], bug, verdict, sizeof verdict);
            printf("kernel %zu, bug %d: %s\n", k, bug, verdict);
            if (caught != (bug > 0))
                check_fail(__FILE__, __LINE__, "kernel %zu with bug %d: %s", k, bug, verdict);
        }
    gt_nvrtc_close(nvrtc);
}

CHECK_MAIN
