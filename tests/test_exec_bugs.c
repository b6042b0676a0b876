/* Seeded bugs: BUG 0 is a correct kernel, and each other number breaks it in one way that must not pass. */
#include "softgpu_fixture.h"

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
