/* One instruction at a time: what the ISA says of it, in every lane, also where some lanes are left out. */
#include "softgpu_fixture.h"

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
    {"div.approx.f32 d, a, b", 32, 32, 32, 32, 0x40c00000, 0x40400000, 0, 0x3fffffff}, /* 6 / 3, a unit short */
    {"div.approx.f32 d, a, b", 32, 32, 32, 32, 0x40c00000, 0, 0, 0x7f800000},
    {"div.approx.f32 d, a, b", 32, 32, 32, 32, 0, 0x40400000, 0, 0},
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

CHECK_MAIN
