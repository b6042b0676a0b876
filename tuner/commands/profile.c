/* gemmtune profile: what one configuration does, counted by the software GPU, and where its time would go. */
#include <stdio.h>
#include <stdlib.h>

#include "../../src/core/launch.h"
#include "../../src/softgpu/softgpu.h"
#include "../../src/core/status.h"
#include "../compile/nvrtc.h"
#include "output.h"
#include "pick.h"
#include "../compile/render.h"

/* Device memory with small numbers in it, never zeros; of no use where it is NULL. */
static gt_status make_operand(const gt_driver *driver, size_t bytes, CUdeviceptr *operand)
{
    float *host = malloc(bytes + sizeof *host);
    if (!host)
        return gt_fail_memory();
    for (size_t i = 0; i < bytes / sizeof *host + 1; i++)
        host[i] = (float)((i * 2654435761u >> 20) % 17) - 8;
    CUresult result = driver->cuMemAlloc(operand, bytes + sizeof *host);
    if (result == CUDA_SUCCESS)
        result = driver->cuMemcpyHtoD(*operand, host, bytes + sizeof *host);
    free(host);
    return gt_driver_check(driver, result, "making an operand");
}

static gt_status open_context(const gt_driver *driver)
{
    CUdevice device;
    CUcontext context;
    CUresult result = driver->cuDeviceGet(&device, 0);
    if (result == CUDA_SUCCESS)
        result = driver->cuDevicePrimaryCtxRetain(&context, device);
    if (result == CUDA_SUCCESS)
        result = driver->cuCtxSetCurrent(context);
    return gt_driver_check(driver, result, "opening the software GPU");
}

/* Runs the kernel, for its counts alone, and again when its operands are in L2. What it allocates goes with the
 * process, which does nothing else. */
static gt_status run(const gt_driver *driver, const gt_pick *pick, const gt_code *code)
{
    const gt_types *types = gt_class_types(&pick->problem.class);
    const size_t sizes[] = {gt_problem_bytes(&pick->problem, GT_A), gt_problem_bytes(&pick->problem, GT_B),
                            gt_problem_bytes(&pick->problem, GT_C)};
    CUdeviceptr operands[3], memory = 0;
    gt_module module;
    gt_launch launch;
    gt_status status = open_context(driver);
    if (status == GT_OK)
        status = gt_module_load(driver, &pick->kernel, code, &module);
    if (status == GT_OK)
        status = gt_launch_init(&pick->device, &pick->kernel, &pick->problem, &launch);
    for (int i = 0; status == GT_OK && i < 3; i++)
        status = make_operand(driver, sizes[i], &operands[i]);
    const size_t bytes = status == GT_OK ? gt_launch_memory(&launch) : 0;
    if (status == GT_OK && bytes > 0)
        status = make_operand(driver, bytes, &memory);
    if (status != GT_OK)
        return status;
    gt_launch_operands all = {.a = (void *)operands[0], .b = (void *)operands[1], .c = (void *)operands[2],
                              .alpha = gt_scalar_make(types, 1), .beta = gt_scalar_make(types, 0)};
    gt_launch_place(&launch, (void *)memory, &all);
    if (all.counters)
        status = gt_driver_check(driver, driver->cuMemsetD8((CUdeviceptr)all.counters, 0, launch.counter_bytes),
                                 "cuMemsetD8");
    if (status != GT_OK)
        return status;
    CUresult result = driver->soft->sample(1);
    for (int i = 0; i < 2 && result == CUDA_SUCCESS; i++)
        result = gt_launch_run(driver, &module, &launch, &all, NULL);
    if (result == CUDA_SUCCESS)
        result = driver->cuCtxSynchronize();
    return gt_driver_check(driver, result, "running the kernel");
}

/* One line of the report: a count or a time. */
typedef struct line {
    const char *name, *unit;
    double value;
} line;

static void print(const gt_options_cli *options, const gt_pick *pick, const gtSoftLaunch *l)
{
    static const gt_column columns[] = {{"what", GT_LEFT}, {"value", GT_RIGHT}, {"unit", GT_LEFT}};
    enum { WAVES = 6 };
    char params[GT_PARAMS_TEXT];
    const line lines[] = {
        {"blocks", "", (double)l->blocks},
        {"blocks that were counted", "", (double)l->ran},
        {"threads a block", "", (double)l->threads},
        {"registers a thread", "", l->registers},
        {"shared memory a block", "bytes", l->shared_bytes},
        {"blocks an SM", "", l->blocks_per_sm},
        [WAVES] = {"waves", "", l->waves},
        {"instructions", "warps", (double)l->warp_instructions},
        {"multiply-adds", "warps", (double)l->fma},
        {"integer and logic", "warps", (double)l->alu},
        {"control", "warps", (double)l->control},
        {"memory", "warps", (double)l->memory},
        {"tensor", "warps", (double)l->tensor},
        {"shared loads", "warps", (double)l->shared_loads},
        {"shared stores", "warps", (double)l->shared_stores},
        {"shared wavefronts", "", (double)l->shared_wavefronts},
        {"global sectors", "32 bytes", (double)l->global_sectors},
        {"copied in the background", "bytes", (double)l->async_bytes},
        {"barriers", "", (double)l->barriers},
        {"time, modelled", "us", l->us},
        {"issue slots alone", "us", l->issue_us},
        {"multiply-add pipe alone", "us", l->fma_us},
        {"integer pipe alone", "us", l->alu_us},
        {"load/store unit alone", "us", l->shared_us},
        {"L1 alone", "us", l->l1_us},
        {"L2 alone", "us", l->l2_us},
        {"device memory alone", "us", l->memory_us},
        {"latency nothing covers", "us", l->latency_us},
        {"launch", "us", l->launch_us},
    };
    if (!options->json)
        printf("%s %s on %s\n", pick->kernel.family, gt_params_text(&pick->kernel.params, params), pick->device.name);
    gt_table *table = gt_table_create(stdout, options->json, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        gt_table_text(table, lines[i].name);
        gt_table_number(table, i == WAVES || lines[i].unit[0] == 'u' ? "%.2f" : "%.0f", lines[i].value);
        gt_table_text(table, lines[i].unit);
    }
    gt_table_finish(table);
}

static gt_status profile(const gt_options_cli *options, gt_pick *pick, gtSoftLaunch *counts)
{
    gt_driver *driver = NULL;
    gt_nvrtc *nvrtc = NULL;
    gt_code code = {0};
    char *source = NULL;
    gt_status status = gt_driver_open(options->driver, &driver);
    if (status == GT_OK)
        status = gt_nvrtc_open(options->nvrtc, &nvrtc);
    if (status == GT_OK)
        status = gt_render(pick->family, &pick->problem.class, GT_VARIANT_FAST, &pick->kernel, &source);
    if (status == GT_OK)
        status = gt_nvrtc_compile(nvrtc, source, pick->device.arch, &code, NULL);
    if (status == GT_OK)
        status = run(driver, pick, &code);
    if (status == GT_OK && driver->soft->counts(counts, sizeof *counts) != CUDA_SUCCESS)
        status = gt_fail(GT_ERROR_DRIVER, "the software GPU counted nothing");
    free(source);
    gt_code_finish(&code);
    gt_nvrtc_close(nvrtc);
    gt_driver_close(driver);
    return status;
}

int gt_cmd_profile(const gt_options_cli *options)
{
    gt_families families = {0};
    gt_pick pick;
    gtSoftLaunch counts = {0};
    gt_options_cli soft = *options; /* only the software GPU counts */
    if (!gt_driver_is_soft(soft.driver, NULL)) {
        soft.driver = "soft";
        soft.device = 0;
        if (options->device_given)
            gt_print_note("profile counts on the software GPU, not on device %d", options->device);
    }
    gt_status status = gt_families_init(options->templates, &families);
    if (status == GT_OK && (status = gt_pick_init(&soft, &families, &pick)) == GT_ERROR_INVALID) {
        gt_families_finish(&families);
        return gt_print_usage_failure();
    }
    if (status == GT_OK)
        status = profile(&soft, &pick, &counts);
    if (status == GT_OK)
        print(options, &pick, &counts);
    gt_families_finish(&families);
    return status == GT_OK ? 0 : gt_print_failure();
}
