/* How fast the software GPU runs: lane instructions a second on one core, with all checks, with counts, with races. */
#include "params_fixture.h"
#include "softgpu_fixture.h"

#define SIZE 256
#define RUNS 9

static const struct {
    const char *family, *params; /* the template's own defaults */
    gt_type ab;
    int tile, threads;
} kernels[] = {
    {"naive", "", GT_F32, 32, 1024},
    {"tile2d", "", GT_F32, 128, 256},
    {"vectorised", "", GT_F32, 128, 256},
    {"wmma", "", GT_F16, 128, 256},
};

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The fastest of some runs. */
static double best(const sg_grid *grid, sg_counts *counts)
{
    double least = INFINITY;
    sg_report report;
    for (int i = 0; i < RUNS; i++) {
        const double start = seconds();
        if (sg_grid_run(grid, &report, counts) != SG_FAULT_NONE)
            check_fail(__FILE__, __LINE__, "%s", report.message);
        const double time = seconds() - start;
        least = time < least ? time : least;
    }
    return least;
}

TEST(one_core_runs_a_billion_lane_instructions_a_second)
{
    gt_nvrtc *nvrtc = soft_nvrtc();
    gt_families families;
    CHECK_OK(gt_families_init(NULL, &families));
    printf("%d^3           load ms   run ms   G lanes/s   counted ms   races ms\n", SIZE);
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        sg_memory *memory = soft_memory();
        const gt_family *family = gt_families_find(&families, kernels[i].family);
        const gt_gemm gemm = {.m = SIZE, .n = SIZE, .k = SIZE, .type_ab = kernels[i].ab, .type_c = GT_F32, .align = 16};
        gt_problem problem;
        gt_code code;
        char *source;
        gt_kernel kernel = {.params = params_of(kernels[i].params), .facts.threads = kernels[i].threads};
        CHECK(family);
        CHECK_OK(gt_problem_init(&gemm, &problem));
        CHECK_OK(gt_render(family, &problem.class, GT_VARIANT_FAST, &kernel, &source));
        CHECK_OK(gt_nvrtc_compile(nvrtc, source, "sm_90", &code, NULL));
        double start = seconds();
        sg_module *module = soft_module(memory, code.ptx);
        const double load = seconds() - start;
        gt_args args = {.m = SIZE, .n = SIZE, .k = SIZE, .lda = SIZE, .ldb = SIZE, .ldc = SIZE};
        static float zeros[SIZE * SIZE];
        args.a = (void *)(uintptr_t)soft_upload(memory, zeros, sizeof zeros);
        args.b = (void *)(uintptr_t)soft_upload(memory, zeros, sizeof zeros);
        args.c = (void *)(uintptr_t)soft_upload(memory, NULL, sizeof zeros);
        args.alpha.f32 = 1;
        const int side = (SIZE + kernels[i].tile - 1) / kernels[i].tile;
        sg_grid grid =
            soft_grid(module, GT_ENTRY, memory, &args, (unsigned)(side * side), (unsigned)kernels[i].threads);
        sg_counts counts;
        const double plain = best(&grid, NULL);
        grid.count = true;
        const double counted = best(&grid, &counts);
        grid.count = false;
        grid.check_races = true;
        const double races = best(&grid, NULL);
        const double rate = (double)counts.lane_instructions / plain * 1e-9;
        printf("%-12s %9.2f %8.2f %11.2f %12.2f %10.2f\n", kernels[i].family, 1e3 * load, 1e3 * plain, rate,
               1e3 * counted, 1e3 * races);
        if (strcmp(kernels[i].family, "tile2d") == 0)
            CHECK(rate >= 1.0 && plain < 0.040);
        free(source);
        gt_code_finish(&code);
        sg_module_destroy(module);
        sg_memory_destroy(memory);
    }
    gt_families_finish(&families);
    gt_nvrtc_close(nvrtc);
}

CHECK_MAIN
