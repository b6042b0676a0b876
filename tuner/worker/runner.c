#include "runner.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../../src/softgpu/softgpu.h"

/* What an error of the driver says about the kernel. What is not listed is a launch that was refused, or memory, a bus
 * or a whole GPU that failed under a kernel: no verdict on it. */
static const struct {
    CUresult result;
    gt_outcome outcome;
} outcomes[] = {
    {CUDA_ERROR_ILLEGAL_ADDRESS, GT_TRIAL_OUT_OF_BOUNDS},
    {CUDA_ERROR_MISALIGNED_ADDRESS, GT_TRIAL_OUT_OF_BOUNDS},
    {CUDA_ERROR_INVALID_ADDRESS_SPACE, GT_TRIAL_OUT_OF_BOUNDS},
    {CUDA_ERROR_LAUNCH_FAILED, GT_TRIAL_CRASH}, /* a trap, among others */
    {CUDA_ERROR_ILLEGAL_INSTRUCTION, GT_TRIAL_CRASH},
    {CUDA_ERROR_HARDWARE_STACK_ERROR, GT_TRIAL_CRASH},
    {CUDA_ERROR_INVALID_PC, GT_TRIAL_CRASH},
    {CUDA_ERROR_ASSERT, GT_TRIAL_CRASH},
    {CUDA_ERROR_LAUNCH_TIMEOUT, GT_TRIAL_TIMEOUT},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, GT_TRIAL_OVER_RESOURCES},
    {CUDA_ERROR_OUT_OF_MEMORY, GT_TRIAL_OVER_RESOURCES},
};

bool gt_trial_fail(gt_trial *trial, gt_outcome outcome, const char *format, ...)
{
    va_list arguments;
    trial->outcome = outcome;
    va_start(arguments, format);
    vsnprintf(trial->detail, sizeof trial->detail, format, arguments);
    va_end(arguments);
    return false;
}

bool gt_trial_excuse(gt_trial *trial)
{
    trial->outcome = GT_TRIAL_NOT_TRIED;
    return false;
}

void gt_trial_add(gt_trial *trial, const char *format, ...)
{
    const size_t said = strlen(trial->detail);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(trial->detail + said, sizeof trial->detail - said, format, arguments);
    va_end(arguments);
}

bool gt_trial_check(gt_trial *trial, const gt_driver *driver, CUresult result, const char *doing)
{
    gt_outcome outcome = GT_TRIAL_LAUNCH_ERROR;
    const char *name = NULL;
    char report[256] = "";
    if (result == CUDA_SUCCESS)
        return true;
    for (size_t i = 0; i < sizeof outcomes / sizeof outcomes[0]; i++)
        if (outcomes[i].result == result)
            outcome = outcomes[i].outcome;
    /* The software GPU knows where a kernel failed and why; of a launch that was refused it would tell the last one's.
     */
    if (driver->soft && (outcome == GT_TRIAL_CRASH || outcome == GT_TRIAL_OUT_OF_BOUNDS || outcome == GT_TRIAL_TIMEOUT))
        driver->soft->report(report, sizeof report);
    driver->cuGetErrorName(result, &name);
    return gt_trial_fail(trial, outcome, "%s (%d) while %s%s%s", name ? name : "unknown CUDA error", (int)result, doing,
                         *report ? ": " : "", report);
}

/* The workspace and its counters, zeroed, at exactly the size the launch was computed for. What the workspace holds is
 * promised to nobody: poison and zeros in turn, of which a kernel that reads what it has not written may bear one. */
static CUresult place_workspace(gt_kernel_runner *self)
{
    CUresult result = CUDA_SUCCESS;
    self->own.workspace = NULL;
    self->own.counters = NULL;
    if (self->launch.workspace_bytes > 0) {
        const size_t bytes = (self->launch.workspace_bytes + 1) / 2 * 2;
        if ((result = gt_guarded_place(self->driver, self->stream, &self->workspace, bytes)) != CUDA_SUCCESS)
            return result;
        self->own.workspace = (void *)self->workspace.data;
        self->cleared = !self->cleared;
        if (self->cleared &&
            (result = self->driver->cuMemsetD32Async(self->workspace.data, 0, bytes / 4, self->stream)) != CUDA_SUCCESS)
            return result;
    }
    if (self->launch.counter_bytes > 0) {
        const size_t bytes = self->launch.counter_bytes;
        if ((result = gt_guarded_place(self->driver, self->stream, &self->counters, bytes)) != CUDA_SUCCESS)
            return result;
        self->own.counters = (void *)self->counters.data;
        result = self->driver->cuMemsetD32Async(self->counters.data, 0, bytes / 4, self->stream);
    }
    return result;
}

static bool prepare_kernel(gt_runner *runner, const gt_problem *problem, gt_trial *trial)
{
    gt_kernel_runner *self = (gt_kernel_runner *)runner;
    gt_kernel kernel = *self->kernel;
    kernel.registers = self->module.registers;
    if (runner->parts > 0)
        gt_kernel_split(&kernel, runner->parts);
    if (gt_launch_init(self->device, &kernel, problem, &self->launch) != GT_OK)
        return gt_trial_fail(trial, GT_TRIAL_LAUNCH_ERROR, "%s", gt_error_message());
    if (runner->dealt && self->launch.copies.blocks > 0)
        self->launch.copies.blocks = self->launch.copies.cluster;
    runner->counter_bytes = self->launch.counter_bytes;
    return gt_trial_check(trial, self->driver, place_workspace(self), "making room for the workspace");
}

static CUresult launch_kernel(const gt_runner *runner, const gt_launch_operands *operands)
{
    const gt_kernel_runner *self = (const gt_kernel_runner *)runner;
    gt_launch_operands all = *operands;
    all.workspace = self->own.workspace;
    all.counters = self->own.counters;
    return gt_launch_run(self->driver, &self->module, &self->launch, &all, self->stream);
}

static CUresult inspect_kernel(const gt_runner *runner, const gt_checks *checks, CUdeviceptr counters)
{
    const gt_kernel_runner *self = (const gt_kernel_runner *)runner;
    const int64_t bytes = (int64_t)self->launch.counter_bytes;
    CUresult result = CUDA_SUCCESS;
    if (self->own.workspace)
        result = gt_guarded_count(checks, &self->workspace, counters);
    if (result != CUDA_SUCCESS || !self->own.counters)
        return result;
    if ((result = gt_guarded_count(checks, &self->counters, counters)) != CUDA_SUCCESS)
        return result;
    return gt_checks_count(checks, self->counters.data, 1, bytes, bytes, 0, counters + sizeof(unsigned));
}

static void protect_kernel(const gt_runner *runner, bool on)
{
    const gt_kernel_runner *self = (const gt_kernel_runner *)runner;
    gt_guarded_protect(self->driver, &self->workspace, on);
    gt_guarded_protect(self->driver, &self->counters, on);
}

bool gt_kernel_runner_init(const gt_driver *driver, const gt_device *device, CUstream stream, const gt_kernel *kernel,
                           const gt_code *code, gt_kernel_runner *out, gt_trial *trial)
{
    gt_kernel_runner self = {
        .runner = {prepare_kernel, launch_kernel, inspect_kernel, protect_kernel,
                   .epilogue = kernel->facts.epilogue != 0},
        .driver = driver, .device = device, .stream = stream, .kernel = kernel,
    };
    const gt_status status = gt_module_load(driver, kernel, code, &self.module);
    *out = (gt_kernel_runner){0};
    if (status != GT_OK)
        return gt_trial_fail(trial, status == GT_ERROR_DEVICE_MEMORY ? GT_TRIAL_NOT_TRIED : GT_TRIAL_LAUNCH_ERROR,
                             "%s", gt_error_message());
    trial->registers = self.module.registers;
    trial->spills = self.module.spills;
    *out = self;
    return true;
}

void gt_kernel_runner_finish(gt_kernel_runner *runner)
{
    if (!runner->driver)
        return;
    gt_guarded_free(runner->driver, &runner->workspace);
    gt_guarded_free(runner->driver, &runner->counters);
    gt_module_unload(runner->driver, &runner->module);
    *runner = (gt_kernel_runner){0};
}
