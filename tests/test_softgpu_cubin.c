/* What the software GPU reads in a cubin: the assembler's facts, and the machine code of its loop. */
#include "../src/softgpu/ptx/cubin.h"
#include "../tuner/compile/nvrtc.h"
#include "check.h"

static const char source[] =
    "extern \"C\" __global__ void plain(int *p) { *p = 1; }\n"
    "extern \"C\" __global__ void __launch_bounds__(96) bounded(int *p) { *p = 1; }\n"
    "extern \"C\" __global__ void fixed(float *p, int n) { __shared__ float s[1000]; s[threadIdx.x] = p[n];\n"
    "    __syncthreads(); p[threadIdx.x] = s[n]; }\n"
    "extern \"C\" __global__ void local(float *p, int n) { float a[100]; for (int i = 0; i < 100; i++) a[i] = p[i];\n"
    "    for (int i = 0; i < n; i++) a[i * 7 % 100] += p[i]; p[n] = a[n]; }\n"
    "#if __CUDA_ARCH__ >= 900\n"
    "extern \"C\" __global__ void __cluster_dims__(2, 1, 1) clustered(int *p) { *p = 1; }\n"
    "#endif\n";

static gt_code compile(const char *text, const char *arch)
{
    gt_nvrtc *nvrtc;
    gt_code code;
    if (gt_nvrtc_open(NULL, &nvrtc) != GT_OK)
        SKIP(gt_error_message());
    CHECK_OK(gt_nvrtc_compile(nvrtc, text, arch, &code, NULL));
    gt_nvrtc_close(nvrtc);
    return code;
}

TEST(a_cubin_tells_what_the_assembler_knows)
{
    static const struct {
        const char *name;
        int cc;
    } archs[] = {{"sm_80", 80}, {"sm_89", 89}, {"sm_90a", 90}};
    for (size_t i = 0; i < sizeof archs / sizeof archs[0]; i++) {
        gt_code code = compile(source, archs[i].name);
        sg_cubin cubin;
        CHECK_INT(sg_cubin_size(code.cubin), code.cubin_bytes);
        CHECK(sg_cubin_read(code.cubin, code.cubin_bytes, &cubin));
        CHECK_INT(cubin.cc, archs[i].cc);
        CHECK_INT(cubin.count, archs[i].cc >= 90 ? 5 : 4);
        CHECK(!sg_cubin_find(&cubin, "nobody"));
        for (size_t k = 0; k < cubin.count; k++)
            CHECK(cubin.kernels[k].registers >= 4 && cubin.kernels[k].registers < 64);
        CHECK_INT(sg_cubin_find(&cubin, "plain")->static_shared, 0);
        CHECK_INT(sg_cubin_find(&cubin, "plain")->max_threads, 0);
        CHECK_INT(sg_cubin_find(&cubin, "bounded")->max_threads, 96);
        CHECK_INT(sg_cubin_find(&cubin, "fixed")->static_shared, 4000);
        CHECK_INT(sg_cubin_find(&cubin, "fixed")->barriers, 1);
        CHECK_INT(sg_cubin_find(&cubin, "local")->local_bytes, 400);
        if (archs[i].cc >= 90)
            CHECK_INT(sg_cubin_find(&cubin, "clustered")->cluster[0], 2);
        sg_cubin_finish(&cubin);
        gt_code_finish(&code);
    }
}

/* A loop of 96 multiply-adds, with a copy that is passed over in the last turn, and a longer one for tails. */
static const char loop_source[] =
    "extern \"C\" __global__ void loop(float *out, const float *in, int n, int edge) {\n"
    "    __shared__ float tile[2][32];\n"
    "    float sum[48] = {};\n"
    "    tile[0][threadIdx.x] = in[threadIdx.x];\n"
    "#pragma unroll 1\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        const float x = tile[i % 2][threadIdx.x ^ 1];\n"
    "#pragma unroll\n"
    "        for (int j = 0; j < 48; j++) sum[j] = fmaf(sum[j], x, sum[j]);\n"
    "        if (i + 1 < n) {\n"
    "            if (edge > 0)\n"
    "#pragma unroll\n"
    "                for (int k = 0; k < 16; k++)\n"
    "                    tile[1 - i % 2][(threadIdx.x + k) % 32] = in[(i + k) * 32 + threadIdx.x];\n"
    "            else\n"
    "#pragma unroll\n"
    "                for (int k = 0; k < 40; k++)\n"
    "                    if ((k ^ (int)threadIdx.x) < i) tile[1 - i % 2][k % 32] = in[(i - k) * k];\n"
    "        }\n"
    "        __syncthreads();\n"
    "#pragma unroll\n"
    "        for (int j = 0; j < 48; j++) sum[j] = fmaf(x, sum[j], x);\n"
    "    }\n"
    "    float all = 0;\n"
    "    for (int j = 0; j < 48; j++) all += sum[j];\n"
    "    out[threadIdx.x] = all;\n"
    "}\n"
    "extern \"C\" __global__ void straight(float *out) { *out = 1; }\n";

TEST(machine_code_tells_what_a_loop_costs)
{
    static const char *const archs[] = {"sm_75", "sm_80", "sm_89", "sm_90a"};
    for (size_t i = 0; i < sizeof archs / sizeof archs[0]; i++) {
        gt_code code = compile(loop_source, archs[i]);
        sg_cubin cubin;
        CHECK(sg_cubin_read(code.cubin, code.cubin_bytes, &cubin));
        const sg_sass_loop *loop = &sg_cubin_find(&cubin, "loop")->loop;
        CHECK_INT(loop->math, 96);
        /* On the way lie sixteen reads of global memory and as many writes to shared memory; off it forty more. */
        CHECK(loop->slots > 200 && loop->slots < 320); /* 156 without, 440 with the tails */
        CHECK(loop->bytes > 16 * (loop->slots + 80));
        CHECK(loop->stalls >= loop->pauses && loop->pauses > 0 && loop->stalls < 2 * loop->slots);
        CHECK_INT(loop->loads, 1);
        CHECK(loop->conflicts < loop->math);
        CHECK_INT(sg_cubin_find(&cubin, "straight")->loop.math, 0);
        sg_cubin_finish(&cubin);
        gt_code_finish(&code);
    }
    CHECK_INT(sg_sass_read("", 0, 90).math, 0);
}

/* A branch from `at` to `to`, for compute capability 9.0. */
static void put_branch(uint64_t (*code)[2], int at, int to)
{
    const int64_t words = 4 * (to - at - 1), upper = words >> 8;
    code[at][0] = 0x7947 | (uint64_t)(words & 0xff) << 16 | (uint64_t)upper << 34;
    code[at][1] = ((uint64_t)upper >> 30 & 0x3ffff) | (uint64_t)7 << 23;
}

/* A loop of 64 multiply-adds for compute capability 9.0, each with registers and places that keep theirs from `rows`,
 * over and over; what its operands cost. Before every `apart`th comes a load that nothing waits for; 0: none. */
static uint32_t conflicts_of(const uint8_t rows[][4], int count, int apart)
{
    enum { MATH = 64 };
    uint64_t code[2 * MATH + 2][2];
    int at = 0;
    for (int i = 0; i < MATH; i++) {
        const uint8_t *row = rows[i % count];
        if (apart > 0 && i % apart == 0) {
            code[at][0] = 0x7984;
            code[at++][1] = 6 << 9;
        }
        code[at][0] = 0x7223 | (uint64_t)row[0] << 24 | (uint64_t)row[1] << 32;
        code[at++][1] = row[2] | (uint64_t)row[3] << 58;
    }
    put_branch(code, at++, 0);
    const sg_sass_loop loop = sg_sass_read(code, (size_t)at * sizeof *code, 90);
    CHECK_INT(loop.math, MATH);
    CHECK_INT(loop.slots, at);
    CHECK_INT(loop.loads, apart > 0 ? MATH / apart * 4 : 0);
    return loop.conflicts;
}

TEST(operands_of_one_bank_are_read_one_after_the_other)
{
    enum { FIRST = 1, SECOND = 2 };
    static const uint8_t apart[][4] = {{0, 1, 3, SECOND}, {4, 1, 5, SECOND}};     /* one kept, others in two banks */
    static const uint8_t by_turns[][4] = {{0, 1, 2, SECOND}, {5, 1, 7, SECOND}};  /* both in one, each bank in turn */
    static const uint8_t same[][4] = {{0, 1, 2, SECOND}, {4, 1, 6, SECOND}};      /* both in one, always the same */
    static const uint8_t sums[][4] = {{0, 1, 2, SECOND}, {5, 1, 4, SECOND}};      /* all sums in one */
    static const uint8_t none[][4] = {{0, 1, 2, 0}, {4, 1, 6, 0}};                /* nothing kept */
    static const uint8_t elsewhere[][4] = {{0, 1, 3, FIRST}, {2, 0, 5, FIRST}};   /* kept where nobody asks for it */
    static const uint8_t two[][4] = {{1, 3, 5, FIRST | SECOND}, {1, 3, 7, FIRST | SECOND}};
    static const uint8_t zeros[][4] = {{0, 255, 255, 0}, {2, 255, 255, 0}};       /* one operand each */
    CHECK(conflicts_of(apart, 2, 0) <= 1); /* the first of them reads all three */
    CHECK(conflicts_of(by_turns, 2, 0) <= 2);
    CHECK_NEAR(conflicts_of(same, 2, 0), 64, 4); /* a clock more each; those at the end are not waited for */
    CHECK_NEAR(conflicts_of(sums, 2, 0), 32, 4);
    CHECK_NEAR(conflicts_of(none, 2, 0), 64, 4);
    CHECK_NEAR(conflicts_of(elsewhere, 2, 0), 32, 4);
    CHECK_INT(conflicts_of(zeros, 2, 0), 0);
    CHECK(conflicts_of(sums, 2, 2) < 8);    /* what comes between leaves the banks time */
    CHECK(conflicts_of(two, 2, 0) <= 2);
    CHECK_NEAR(conflicts_of(two, 2, 4), 16, 3); /* but what was kept is read again */
}

/* A kernel that stays for many tiles: its loop over them has the one over K inside, and what ends a tile. */
TEST(the_loop_is_the_innermost_that_multiplies)
{
    uint64_t code[100][2];
    for (int at = 0; at < 100; at++) {
        code[at][0] = at % 2 ? 0x7223 : 0x7918;
        code[at][1] = 0;
    }
    put_branch(code, 60, 20);
    put_branch(code, 90, 80);
    put_branch(code, 99, 2);
    const sg_sass_loop loop = sg_sass_read(code, sizeof code, 90);
    CHECK_INT(loop.math, 20);
    CHECK_INT(loop.slots, 41);
}

TEST(a_damaged_cubin_is_read_or_refused)
{
    gt_code code = compile(loop_source, "sm_90a");
    sg_cubin cubin;
    CHECK(!sg_cubin_read(code.cubin, 63, &cubin));
    CHECK(!sg_cubin_read(code.cubin, code.cubin_bytes / 2, &cubin));
    for (int i = 0; i < 3000; i++) {
        const size_t bytes = i % 4 ? code.cubin_bytes : check_random() % code.cubin_bytes;
        unsigned char *copy = malloc(bytes + 1); /* of its own, so that a sanitizer sees its end */
        memcpy(copy, code.cubin, bytes);
        for (int k = 0; k < 8 && bytes > 0; k++)
            copy[check_random() % (k % 2 || bytes < 64 ? bytes : 64)] = (unsigned char)check_random();
        if (sg_cubin_read(copy, bytes, &cubin))
            sg_cubin_finish(&cubin);
        free(copy);
    }
    gt_code_finish(&code);
}

CHECK_MAIN
