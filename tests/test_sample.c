/* Launches of which only the time is wanted: counts from a few blocks, memory as it was. */
#include "../src/softgpu/model/sample.h"
#include "softgpu_fixture.h"

/* Kernels whose blocks differ in every way that counts. `turns` makes a block long enough to be worth a sample. */
static const char source[] =
    "struct args { unsigned *out, *work, *counters; unsigned turns, items; };\n"
    "__device__ unsigned spend(unsigned x, unsigned turns)\n"
    "{\n"
    "    for (unsigned i = 0; i < turns; i++)\n"
    "        x = x * 1664525u + i;\n"
    "    return x;\n"
    "}\n"
    /* Every ninth block has half the work, as at the edge of a matrix. */
    "extern \"C\" __global__ void tiles(args g)\n"
    "{\n"
    "    const unsigned turns = blockIdx.x % 9 == 8 ? g.turns / 2 : g.turns;\n"
    "    g.out[blockIdx.x * blockDim.x + threadIdx.x] = spend(threadIdx.x, turns);\n"
    "}\n"
    /* Four blocks along y leave parts; whoever comes last adds them up. */
    "extern \"C\" __global__ void parts(args g)\n"
    "{\n"
    "    __shared__ unsigned place;\n"
    "    unsigned *mine = g.work + blockIdx.x * gridDim.y * blockDim.x + threadIdx.x;\n"
    "    mine[blockIdx.y * blockDim.x] = spend(threadIdx.x, g.turns);\n"
    "    __threadfence();\n"
    "    __syncthreads();\n"
    "    if (threadIdx.x == 0)\n"
    "        place = atomicAdd(&g.counters[blockIdx.x], 1u);\n"
    "    __syncthreads();\n"
    "    if (place != gridDim.y - 1)\n"
    "        return;\n"
    "    unsigned sum = 0;\n"
    "    for (unsigned y = 0; y < gridDim.y; y++)\n"
    "        sum += mine[y * blockDim.x];\n"
    "    g.out[blockIdx.x * blockDim.x + threadIdx.x] = sum;\n"
    "    g.counters[blockIdx.x] = 0;\n"
    "}\n"
    /* Blocks fetch work from a common counter until there is none. */
    "extern \"C\" __global__ void queue(args g)\n"
    "{\n"
    "    __shared__ unsigned item;\n"
    "    for (;;) {\n"
    "        if (threadIdx.x == 0)\n"
    "            item = atomicAdd(g.counters, 1u);\n"
    "        __syncthreads();\n"
    "        const unsigned mine = item;\n"
    "        __syncthreads();\n"
    "        if (mine >= g.items)\n"
    "            return;\n"
    "        g.out[mine * blockDim.x + threadIdx.x] = spend(threadIdx.x, g.turns);\n"
    "    }\n"
    "}\n"
    /* Each block waits for the one before it. */
    "extern \"C\" __global__ void chain(args g)\n"
    "{\n"
    "    volatile unsigned *flags = g.counters;\n"
    "    g.out[blockIdx.x * blockDim.x + threadIdx.x] = spend(threadIdx.x, g.turns);\n"
    "    __syncthreads();\n"
    "    if (threadIdx.x == 0) {\n"
    "        while (blockIdx.x > 0 && flags[blockIdx.x - 1] == 0)\n"
    "            __nanosleep(20);\n"
    "        __threadfence();\n"
    "        flags[blockIdx.x] = 1;\n"
    "    }\n"
    "}\n"
    /* Both blocks of a cluster meet. */
    "extern \"C\" __global__ void pairs(args g)\n"
    "{\n"
    "    const unsigned x = spend(threadIdx.x, g.turns);\n"
    "    asm volatile(\"barrier.cluster.arrive.aligned;\\nbarrier.cluster.wait.aligned;\" ::: \"memory\");\n"
    "    g.out[blockIdx.x * blockDim.x + threadIdx.x] = x;\n"
    "}\n";

enum { BLOCKS = 512, THREADS = 64, PARTS = 4, TURNS = 6000, ITEMS = 700 };

typedef struct arguments {
    uint64_t out, work, counters;
    uint32_t turns, items;
} arguments;

typedef struct stage {
    gt_nvrtc *nvrtc;
    sg_memory *memory;
    sg_module *module;
    arguments args;
} stage;

static stage set_up(void)
{
    static uint32_t zeros[BLOCKS];
    stage s = {.nvrtc = soft_nvrtc(), .memory = soft_memory()};
    s.module = soft_compile(s.nvrtc, s.memory, source, "sm_90a");
    s.args = (arguments){soft_upload(s.memory, NULL, ITEMS * THREADS * 4),
                         soft_upload(s.memory, NULL, BLOCKS * PARTS * THREADS * 4),
                         soft_upload(s.memory, zeros, sizeof zeros), TURNS, ITEMS};
    return s;
}

static void take_down(stage *s)
{
    sg_module_destroy(s->module);
    sg_memory_destroy(s->memory);
    gt_nvrtc_close(s->nvrtc);
}

static bool untouched(const stage *s)
{
    const uint32_t *counters = (const uint32_t *)(uintptr_t)s->args.counters;
    const sg_span *out = sg_memory_find(s->memory, s->args.out), *work = sg_memory_find(s->memory, s->args.work);
    for (uint64_t i = 0; i < out->bytes; i++)
        if (sg_span_written(out, out->base + i, 1) || ((const char *)(uintptr_t)out->base)[i])
            return false;
    for (uint64_t i = 0; i < work->bytes; i++)
        if (sg_span_written(work, work->base + i, 1))
            return false;
    for (int i = 0; i < BLOCKS; i++)
        if (counters[i])
            return false;
    return true;
}

/* A sample, then the whole: what it said, and how many blocks that took. */
static uint64_t compare(const char *name, unsigned x, unsigned y, unsigned cluster, double tolerance)
{
    stage s = set_up();
    sg_grid grid = soft_grid(s.module, name, s.memory, &s.args, x, THREADS);
    sg_counts sampled, counted;
    sg_report report;
    uint64_t ran = 0;
    grid.grid[1] = y;
    grid.cluster[0] = cluster;
    if (sg_sample_run(&grid, &report, &sampled, &ran) != SG_FAULT_NONE)
        check_fail(__FILE__, __LINE__, "%s", report.message);
    CHECK(untouched(&s));
    grid.count = true;
    CHECK_INT(sg_grid_run(&grid, &report, &counted), SG_FAULT_NONE);
    CHECK(!untouched(&s));
    const uint64_t *a = (const uint64_t *)&sampled, *b = (const uint64_t *)&counted;
    for (size_t i = 0; i < sizeof counted / sizeof *b; i++)
        if (fabs((double)a[i] - (double)b[i]) > tolerance * (double)b[i])
            check_fail(__FILE__, __LINE__, "%s: count %zu is %llu by a sample, %llu in fact", name, i,
                       (unsigned long long)a[i], (unsigned long long)b[i]);
    take_down(&s);
    return ran;
}

TEST(a_sample_counts_what_all_blocks_do_and_leaves_memory_as_it_was)
{
    const uint64_t ran = compare("tiles", BLOCKS, 1, 1, 0.03);
    CHECK(ran > 16 && ran < BLOCKS / 4); /* some of them differ: more than the fewest are looked at */
}

TEST(blocks_that_share_a_result_are_sampled_together)
{
    const uint64_t ran = compare("parts", BLOCKS, PARTS, 1, 0.001);
    CHECK(ran % PARTS == 0 && ran < BLOCKS * PARTS / 8);
}

TEST(clusters_are_sampled_whole)
{
    const uint64_t ran = compare("pairs", BLOCKS, 1, 2, 0.001);
    CHECK(ran % 2 == 0 && ran < BLOCKS / 4);
}

TEST(a_sample_that_is_kept_leaves_what_its_blocks_wrote)
{
    stage s = set_up();
    sg_grid grid = soft_grid(s.module, "tiles", s.memory, &s.args, BLOCKS, THREADS);
    const sg_span *out = sg_memory_find(s.memory, s.args.out);
    sg_counts counts;
    sg_report report;
    uint64_t ran, written = 0;
    sg_sample(SG_SAMPLE_KEPT);
    CHECK_INT(sg_sample_run(&grid, &report, &counts, &ran), SG_FAULT_NONE);
    sg_sample(SG_SAMPLE_ALL);
    for (uint64_t i = 0; i < BLOCKS; i++)
        written += sg_span_written(out, out->base + 4 * THREADS * i, 4 * THREADS);
    CHECK(ran < BLOCKS / 4);
    CHECK_INT(written, ran);
    CHECK(sg_span_written(out, out->base, 4) && sg_span_written(out, out->base + 4 * (BLOCKS * THREADS - 1), 4));
    take_down(&s);
}

TEST(blocks_that_draw_from_one_queue_run_all)
{
    CHECK_INT(compare("queue", 132, 1, 1, 0), 132);
}

TEST(blocks_that_wait_for_each_other_run_all)
{
    CHECK_INT(compare("chain", 200, 1, 1, 0.02), 200); /* how often they look depends on whose turn it is */
}

TEST(small_grids_run_all)
{
    CHECK_INT(compare("tiles", 20, 1, 1, 0), 20);
}

TEST(a_fault_in_a_sample_is_the_launch_s)
{
    stage s = set_up();
    sg_grid grid = soft_grid(s.module, "tiles", s.memory, &s.args, 4 * BLOCKS, THREADS); /* more than out has room for */
    sg_counts counts;
    sg_report report;
    uint64_t ran;
    CHECK_INT(sg_sample_run(&grid, &report, &counts, &ran), SG_FAULT_ADDRESS);
    CHECK(strstr(report.message, "tiles"));
    CHECK(untouched(&s));
    take_down(&s);
}

CHECK_MAIN
