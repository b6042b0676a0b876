/*
 * Seeded bugs: mistakes that kernels for matrix products are known for, one at a time, each with the reason for which
 * it must be rejected. BUG 0 of every kernel is the correct one, which must pass.
 */
#include "../src/softgpu/machine/tensor_map.h"
#include "softgpu_fixture.h"

static const char tiled[] =
    "extern \"C\" __global__ void k(const float *a, const float *b, float *c, int n, int ldc, float alpha, float beta)\n"
    "{\n"
    "    __shared__ float as[16][16], bs[16][16];\n"
    "    const int x = threadIdx.x % 16, y = threadIdx.x / 16, i = blockIdx.x * 16 + y, j = blockIdx.y * 16 + x;\n"
    "    float sum = 0;\n"
    "    if ((BUG == 27 || BUG == 28) && threadIdx.x < 128)\n"
    "        asm volatile(\"setmaxnreg.inc.sync.aligned.u32 %0;\" ::\"n\"(BUG == 27 ? 104 : 112));\n"
    "    else if (BUG == 27 || BUG == 28)\n"
    "        asm volatile(\"setmaxnreg.dec.sync.aligned.u32 24;\");\n"
    "    for (int p = 0; p < (BUG == 9 ? n / 16 * 16 : n); p += 16) {\n"
    "        if (BUG == 15) __syncthreads();\n"
    "        const int place = BUG == 18 ? (signed char)threadIdx.x : threadIdx.x;\n"
    "        if (BUG != 5 || (i < n && p + x < n)) as[0][place] = i < n && p + x < n + (BUG == 3) ? a[i * n + p + x] : 0;\n"
    "        if (BUG != 5 || (j < n && p + y < n)) bs[y][x] = p + y < n && j < n ? b[(p + y) * n + j] : 0;\n"
    "        if (BUG == 6) { if (threadIdx.x % 2) __syncthreads(); else __syncthreads(); }\n"
    "        else if (BUG == 8) asm volatile(\"bar.sync 1, 288;\" ::: \"memory\");\n"
    "        else if (BUG == 22) asm volatile(\"barrier.cluster.arrive.relaxed; barrier.cluster.wait;\" ::: \"memory\");\n"
    "        else if (BUG != 1 && BUG != 15) __syncthreads();\n"
    "        if (BUG == 23) asm volatile(\"barrier.cluster.wait;\" ::: \"memory\");\n"
    "        if (BUG == 24) asm volatile(\"barrier.cluster.arrive;\" ::: \"memory\");\n"
    "        for (int q = 0; q < 16; q++) sum += as[y][q] * bs[q][x];\n"
    "        if (BUG != 2) __syncthreads();\n"
    "    }\n"
    "    if (BUG == 21) {\n"
    "        if (threadIdx.x == 0) bs[0][0] = 1;\n"
    "        if (threadIdx.x >= 32) sum *= bs[0][0];\n"
    "    }\n"
    "    if (BUG == 25 || BUG == 26 || BUG == 29) {\n"
    "        as[0][threadIdx.x] = sum;\n"
    "        if (BUG == 26) __syncwarp();\n"
    "        const float *from = &as[0][threadIdx.x ^ 1], others = BUG == 29 ? +*(const volatile float *)from : +*from;\n"
    "        sum += others - others;\n"
    "    }\n"
    "    if (i < n + (BUG == 16) && j < n + (BUG == 4)) {\n"
    "        float *to = c + (BUG == 17 ? i % 128 : i) * ldc + j;\n"
    "        *to = (BUG == 19 ? sum : alpha * sum) + (BUG == 7 || beta != 0 ? (BUG == 20 ? 1 : beta) * *to : 0);\n"
    "    }\n"
    "    if (BUG == 10 && threadIdx.x == 33) asm volatile(\"trap;\");\n"
    "    if (BUG == 11) *(float2 *)(c + 1) = make_float2(0, 0);\n"
    "    if (BUG == 12) as[y * 16 + x + n][0] = 0;\n"
    "    if (BUG == 13) while (*(volatile int *)a != 12345) ;\n"
    "    if (BUG == 14) asm volatile(\"bar.sync %0;\" ::\"r\"(n));\n"
    "}\n";

/* Three stages of cp.async; the tile of A is swizzled. */
static const char staged[] =
    "__device__ void bring(float *to, const float *from, bool inside)\n"
    "{\n"
    "    asm volatile(\"cp.async.ca.shared.global [%0], [%1], 4, %2;\" ::\"r\"((unsigned)__cvta_generic_to_shared(to)),\n"
    "                 \"l\"(from), \"r\"(inside ? 4 : 0) : \"memory\");\n"
    "}\n"
    "extern \"C\" __global__ void k(const float *a, const float *b, float *c, int n, int ldc, float alpha, float beta)\n"
    "{\n"
    "    __shared__ float as[3][16][16], bs[3][16][16];\n"
    "    const int x = threadIdx.x % 16, y = threadIdx.x / 16, i = blockIdx.x * 16 + y, j = blockIdx.y * 16 + x;\n"
    "    const int tiles = (n + 15) / 16;\n"
    "    const auto fetch = [&](int t) {\n"
    "        const int p = t * 16, s = BUG == 2 ? 0 : BUG == 5 ? t % 2 : t % 3;\n"
    "        const bool in_a = t < tiles && i < n && p + x < n, in_b = t < tiles && p + y < n && j < n;\n"
    "        bring(&as[s][y][x ^ (y & 7)], in_a ? a + i * n + p + x : a, in_a);\n"
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
    "        for (int q = 0; q < 16; q++) sum += as[s][y][q ^ (BUG == 6 ? y & 3 : y & 7)] * bs[s][q][x];\n"
    "    }\n"
    "    if (BUG == 7) as[tiles % 3][y][x ^ (y & 7)] = sum;\n"
    "    if (i < n && j < n) c[i * ldc + j] = alpha * sum + (beta != 0 ? beta * c[i * ldc + j] : 0);\n"
    "}\n";

/* A producer warp and a consumer warp around a ring of two full and two empty barriers: sums of columns. */
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
    "            asm volatile(\"mbarrier.init.shared.b64 [%0], %1;\" ::\"r\"(BAR(full[s])), \"r\"(BUG == 1 ? 33 : BUG == 8 ? 31 : 32) : \"memory\");\n"
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

/* Two boxes of 8 x 32 floats through the copy engine, one behind the other through one swizzled buffer. */
static const char copied[] =
    "struct __align__(64) map { char bytes[128]; };\n"
    "__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }\n"
    "extern \"C\" __global__ void k(const __grid_constant__ map m, float *out)\n"
    "{\n"
    "    __shared__ __align__(1024) unsigned char box[1024 + 128];\n"
    "    __shared__ unsigned long long bar;\n"
    "    const int t = threadIdx.x;\n"
    "    if (t == 0 && BUG != 5) asm volatile(\"mbarrier.init.shared::cta.b64 [%0], 1;\" ::\"r\"(at(&bar)) : \"memory\");\n"
    "    if (BUG != 10) asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n"
    "    __syncthreads();\n"
    "    for (int turn = 0; turn < 2; turn++) {\n"
    "        if (t == 0) {\n"
    "            asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\" ::\"r\"(at(&bar)), \"r\"(BUG == 1 ? 2048 : BUG == 2 ? 512 : 1024) : \"memory\");\n"
    "            asm volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];\"\n"
    "                         ::\"r\"(at(box) + (BUG == 8 ? 64 : 0)), \"l\"(&m), \"r\"(0), \"r\"(8 * turn), \"r\"(at(&bar)) : \"memory\");\n"
    "        }\n"
    "        if (BUG != 3) asm volatile(\"{ .reg .pred p; L: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra L; }\"\n"
    "                                   ::\"r\"(at(&bar)), \"r\"(BUG == 4 ? turn ^ 1 : turn) : \"memory\");\n"
    "        const unsigned offset = t * 4, swizzled = offset ^ (offset >> (BUG == 6 ? 8 : 7) & 7) << 4;\n"
    "        out[turn * 256 + t] = *(float *)(box + swizzled);\n"
    "        if (BUG != 9) asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n"
    "        if (BUG != 7) __syncthreads();\n"
    "    }\n"
    "}\n";

enum { SIDE = 140, RING = 32, ROWS = 16, COLUMNS = 32 };

typedef struct bug {
    const char *kernel;
    int number;
    const char *is, *reason; /* a part of the verdict */
} bug;

#define UNWRITTEN "which nobody has written"
#define OUTSIDE   "which lies in no allocation"
#define IN_FLIGHT "which an asynchronous copy in flight writes"
#define DEADLOCK  "deadlock: no thread can go on"
#define WRONG     "wrong result"
#define RIGHT     "passed"

static const bug bugs[] = {
    {tiled, 0, "nothing", RIGHT},
    {tiled, 1, "no barrier before the tile is read", UNWRITTEN},
    {tiled, 2, "no barrier before the tile is overwritten", WRONG},
    {tiled, 3, "guard of a read one too far", OUTSIDE},
    {tiled, 4, "write one past the row", "a write between the rows"},
    {tiled, 5, "shared memory left unset outside the matrix", UNWRITTEN},
    {tiled, 6, "barrier in divergent code", "threads of one warp stand at different barriers"},
    {tiled, 7, "C read where beta is 0", UNWRITTEN},
    {tiled, 8, "barrier for more threads than there are", DEADLOCK},
    {tiled, 9, "tail of K dropped", WRONG},
    {tiled, 10, "trap", "the kernel stopped itself"},
    {tiled, 11, "vector at an address that is not aligned", "is not aligned to 8 bytes"},
    {tiled, 12, "write beyond shared memory", "of a block that has 2048 bytes"},
    {tiled, 13, "wait without end", "deadlock: no thread can go on"},
    {tiled, 14, "barrier that does not exist", "there are 16"},
    {tiled, 15, "barrier before the tile is written, not behind", UNWRITTEN},
    {tiled, 16, "write one row past the last", OUTSIDE},
    {tiled, 17, "rows counted in seven bits", WRONG},
    {tiled, 18, "place in a tile of more than 128 in a signed byte", "write of 4 bytes at shared address"},
    {tiled, 19, "alpha dropped", WRONG},
    {tiled, 20, "beta dropped", WRONG},
    {tiled, 21, "no barrier between warps that happen to come in order", "race: this "},
    {tiled, 22, "a relaxed barrier, which orders nothing", "race: this read of shared address"},
    {tiled, 23, "a wait for a cluster at whose barrier nobody arrived", "without an arrival"},
    {tiled, 24, "arrivals at a cluster's barrier without a wait", "without a wait"},
    {tiled, 25, "lanes that exchange numbers and do not meet", "by another lane of the warp"},
    {tiled, 26, "nothing: they meet", RIGHT},
    {tiled, 27, "nothing: warps take the registers that others give back", RIGHT},
    {tiled, 28, "warps take more registers than others give back", DEADLOCK},
    {tiled, 29, "lanes that read as volatile what others wrote and do not meet", "by another lane of the warp"},
    {staged, 0, "nothing", RIGHT},
    {staged, 1, "wait for one copy too few", IN_FLIGHT},
    {staged, 2, "one stage", IN_FLIGHT},
    {staged, 3, "no wait", IN_FLIGHT},
    {staged, 4, "no barrier behind the wait", UNWRITTEN},
    {staged, 5, "one stage too few", IN_FLIGHT},
    {staged, 6, "tile read with another swizzle", WRONG},
    {staged, 7, "stage used for something else while a copy of nothing is under way", "write of 4 bytes at shared address"},
    {ring, 0, "nothing", RIGHT},
    {ring, 1, "barrier for one arrival too many", DEADLOCK},
    {ring, 2, "producer does not wait for an empty stage", DEADLOCK},
    {ring, 3, "consumer does not wait for a full stage", DEADLOCK},
    {ring, 4, "wrong phase", DEADLOCK},
    {ring, 5, "barriers not initialised", UNWRITTEN},
    {ring, 6, "full stage not told", DEADLOCK},
    {ring, 7, "full stage told twice", DEADLOCK},
    {ring, 8, "barrier for one arrival too few", "ended between those of a warp's lanes"},
    {copied, 0, "nothing", RIGHT},
    {copied, 1, "more bytes expected than come", DEADLOCK},
    {copied, 2, "fewer bytes expected than come", DEADLOCK}, /* the count never comes to zero */
    {copied, 3, "no wait", IN_FLIGHT},
    {copied, 4, "wrong phase", IN_FLIGHT},
    {copied, 5, "barrier not initialised", UNWRITTEN},
    {copied, 6, "box read with another swizzle", WRONG},
    {copied, 7, "buffer filled anew while it is read", IN_FLIGHT},
    {copied, 8, "box at an address that is not aligned", "is not aligned to 128 bytes"},
    {copied, 9, "buffer filled anew without a fence between the proxies", "needs fence.proxy.async"}, /* fails on an H200 */
    {copied, 10, "mbarrier without a fence between the proxies", "needs fence.proxy.async"},
};

/* Runs it; true if it came to its end without a fault. Else verdict has the report. */
static bool finishes(const sg_grid *grid, char verdict[SG_MESSAGE_LENGTH])
{
    sg_report report;
    if (sg_grid_run(grid, &report, NULL) == SG_FAULT_NONE)
        return true;
    CHECK(report.line > 0 && report.message[0]);
    CHECK(report.fault != SG_FAULT_RACE || report.other_line > 0);
    strcpy(verdict, report.message);
    return false;
}

static bool differs(int i, int j, float found, float expected, char verdict[SG_MESSAGE_LENGTH])
{
    if (found != expected)
        snprintf(verdict, SG_MESSAGE_LENGTH, WRONG ": (%d, %d) is %g, not %g", i, j, (double)found, (double)expected);
    return found != expected;
}

/* Two products, C = 3 A B and C = 3 A B + 2 C, of numbers whose sums are exact. C's rows have a gap. */
static void run_product(sg_memory *memory, const sg_module *module, bool races, char verdict[SG_MESSAGE_LENGTH])
{
    enum { N = SIDE, LDC = SIDE + 4 };
    static float a[N * N], b[N * N], c[N * LDC];
    for (int i = 0; i < N * N; i++) {
        a[i] = (float)(1 + check_random() % 7);
        b[i] = (float)(1 + check_random() % 7);
    }
    for (int with_c = 0; with_c < 2; with_c++) {
        for (int i = 0; i < N * LDC; i++)
            c[i] = (float)(1 + check_random() % 7);
        const struct {
            uint64_t a, b, c;
            int n, ldc;
            float alpha, beta;
        } params = {soft_upload(memory, a, sizeof a), soft_upload(memory, b, sizeof b),
                    soft_upload(memory, with_c ? c : NULL, sizeof c), N, LDC, 3, (float)(2 * with_c)};
        sg_grid grid = soft_grid(module, "k", memory, &params, (N + 15) / 16, 256);
        grid.grid[1] = grid.grid[0];
        grid.registers = 64;
        grid.budget = (uint64_t)1 << 30;
        grid.check_races = races;
        if (!finishes(&grid, verdict))
            return;
        const float *found = (const float *)(uintptr_t)params.c;
        const sg_span *span = sg_memory_find(memory, params.c);
        for (int i = 0; i < N; i++) {
            for (int j = 0; j < N; j++) {
                float sum = 0;
                for (int p = 0; p < N; p++)
                    sum += a[i * N + p] * b[p * N + j];
                if (differs(i, j, found[i * LDC + j], 3 * sum + (with_c ? 2 * c[i * LDC + j] : 0), verdict))
                    return;
            }
            for (int j = N; j < LDC; j++)
                if (with_c ? found[i * LDC + j] != c[i * LDC + j]
                           : sg_span_written(span, params.c + (uint64_t)(i * LDC + j) * 4, 4)) {
                    snprintf(verdict, SG_MESSAGE_LENGTH, "a write between the rows, at (%d, %d)", i, j);
                    return;
                }
        }
    }
}

static void run_ring(sg_memory *memory, const sg_module *module, bool races, char verdict[SG_MESSAGE_LENGTH])
{
    static float a[RING * RING];
    for (int i = 0; i < RING * RING; i++)
        a[i] = (float)(1 + check_random() % 7);
    const struct {
        uint64_t a, b, c;
        int n;
    } params = {soft_upload(memory, a, sizeof a), 0, soft_upload(memory, NULL, RING * sizeof(float)), RING};
    sg_grid grid = soft_grid(module, "k", memory, &params, 1, 64);
    grid.check_races = races;
    if (!finishes(&grid, verdict))
        return;
    for (int j = 0; j < RING; j++) {
        float sum = 0;
        for (int i = 0; i < RING; i++)
            sum += a[i * RING + j];
        if (differs(0, j, ((const float *)(uintptr_t)params.c)[j], sum, verdict))
            return;
    }
}

static void run_copy(sg_memory *memory, const sg_module *module, bool races, char verdict[SG_MESSAGE_LENGTH])
{
    float tensor[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        tensor[i] = (float)(i + 1);
    struct {
        sg_tensor_map map;
        uint64_t out;
    } params = {.map = {.magic = SG_TENSOR_MAP_MAGIC, .strides = {COLUMNS * 4}, .sizes = {COLUMNS, ROWS, 1, 1, 1},
                        .box = {COLUMNS, ROWS / 2, 1, 1, 1}, .steps = {1, 1, 1, 1, 1}, .rank = 2, .element_bytes = 4,
                        .swizzle = 3}};
    params.map.address = soft_upload(memory, tensor, sizeof tensor);
    params.out = soft_upload(memory, NULL, sizeof tensor);
    sg_grid grid = soft_grid(module, "k", memory, &params, 1, 256);
    grid.check_races = races;
    if (!finishes(&grid, verdict))
        return;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        if (differs(i / COLUMNS, i % COLUMNS, ((const float *)(uintptr_t)params.out)[i], tensor[i], verdict))
            return;
}

/* What became of one kernel; what passes is run again with the race checker: it may have been right by luck. */
static void judge(const gt_nvrtc *nvrtc, const bug *b, char verdict[SG_MESSAGE_LENGTH])
{
    char *source = malloc(strlen(b->kernel) + 64);
    sg_memory *memory = soft_memory();
    sprintf(source, "#define BUG %d\n%s", b->number, b->kernel);
    sg_module *module = soft_compile(nvrtc, memory, source, "sm_90a");
    strcpy(verdict, RIGHT);
    for (int races = 0; races < 2 && strcmp(verdict, RIGHT) == 0; races++)
        (b->kernel == copied ? run_copy : b->kernel == ring ? run_ring : run_product)(memory, module, races, verdict);
    sg_module_destroy(module);
    sg_memory_destroy(memory);
    free(source);
}

TEST(seeded_bugs_are_rejected_for_their_reason_and_correct_kernels_are_not)
{
    gt_nvrtc *nvrtc = soft_nvrtc();
    char verdict[SG_MESSAGE_LENGTH];
    for (size_t i = 0; i < sizeof bugs / sizeof bugs[0]; i++) {
        judge(nvrtc, &bugs[i], verdict);
        printf("%s: %s\n", bugs[i].is, verdict);
        if (!strstr(verdict, bugs[i].reason))
            check_fail(__FILE__, __LINE__, "%s: \"%s\", not \"%s\"", bugs[i].is, verdict, bugs[i].reason);
    }
    gt_nvrtc_close(nvrtc);
}

/* Launched while earlier work runs: 0 waits for it, 1 has written before, 2 has a copy under way, 3 never waits, of
 * 4 only the first block waits, in whose place the second one runs. */
TEST(a_dependent_grid_that_does_not_wait_first_is_rejected)
{
    static const char dependent[] =
        "__shared__ float s[32];\n"
        "__device__ void bring(const float *from)\n"
        "{\n"
        "    asm volatile(\"cp.async.ca.shared.global [%0], [%1], 4;\\ncp.async.wait_all;\" ::\n"
        "                 \"r\"((unsigned)__cvta_generic_to_shared(s + threadIdx.x)), \"l\"(from) : \"memory\");\n"
        "}\n"
        "extern \"C\" __global__ void k(const float *a, float *c)\n"
        "{\n"
        "    if (BUG == 1) c[blockIdx.x * 32 + threadIdx.x] = 0;\n"
        "    if (BUG == 2) bring(a + threadIdx.x);\n"
        "    asm volatile(\"griddepcontrol.launch_dependents;\");\n"
        "    if (BUG != 3 && (BUG != 4 || blockIdx.x == 0)) asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n"
        "    if (BUG != 2) bring(a + threadIdx.x);\n"
        "    c[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x];\n"
        "}\n";
    gt_nvrtc *nvrtc = soft_nvrtc();
    for (int which = 0; which < 5; which++) {
        char source[sizeof dependent + 32];
        sg_memory *memory = soft_memory();
        sprintf(source, "#define BUG %d\n%s", which, dependent);
        sg_module *module = soft_compile(nvrtc, memory, source, "sm_90a");
        const float a[32] = {1};
        const struct {
            uint64_t a, c;
        } params = {soft_upload(memory, a, sizeof a), soft_upload(memory, NULL, 2 * sizeof a)};
        sg_grid grid = soft_grid(module, "k", memory, &params, 2, 32);
        sg_report report;
        grid.sm_count = grid.blocks_per_sm = 1;
        CHECK_INT(sg_grid_run(&grid, &report, NULL), SG_FAULT_NONE); /* in its turn there is nothing to wait for */
        grid.dependent = grid.check_races = true;
        CHECK_INT(sg_grid_run(&grid, &report, NULL), which ? SG_FAULT_RACE : SG_FAULT_NONE);
        CHECK(!which || strstr(report.message, "before griddepcontrol.wait"));
        sg_module_destroy(module);
        sg_memory_destroy(memory);
    }
    gt_nvrtc_close(nvrtc);
}

/* Two warps store the halves of every word; with the bug, the same half. */
TEST(neighbours_of_16_bits_are_no_race)
{
    static const char halves[] = "__shared__ short s[64];\n"
                                 "extern \"C\" __global__ void k(short *c)\n"
                                 "{\n"
                                 "    s[threadIdx.x % 32 * 2 + (BUG ? 0 : threadIdx.x / 32)] = threadIdx.x;\n"
                                 "    __syncthreads();\n"
                                 "    c[threadIdx.x] = s[threadIdx.x];\n"
                                 "}\n";
    gt_nvrtc *nvrtc = soft_nvrtc();
    for (int which = 0; which < 2; which++) {
        char source[sizeof halves + 32];
        sg_memory *memory = soft_memory();
        sprintf(source, "#define BUG %d\n%s", which, halves);
        sg_module *module = soft_compile(nvrtc, memory, source, "sm_90a");
        const uint64_t c = soft_upload(memory, NULL, 64 * sizeof(short));
        sg_grid grid = soft_grid(module, "k", memory, &c, 1, 64);
        sg_report report;
        grid.check_races = true;
        CHECK_INT(sg_grid_run(&grid, &report, NULL), which ? SG_FAULT_RACE : SG_FAULT_NONE);
        sg_module_destroy(module);
        sg_memory_destroy(memory);
    }
    gt_nvrtc_close(nvrtc);
}

CHECK_MAIN
