#include "buffers.h"

#include <stdio.h>

#include "../random.h"

#define COUNTERS 8
#define GIB      (1024.0 * 1024 * 1024)

uint64_t gt_stream_seed(uint64_t seed, int stream)
{
    return gt_random_bits(seed ^ 0x6d6d656774756e65u, (uint64_t)stream);
}

void gt_buffers_init(const gt_checks *checks, gt_buffers *buffers)
{
    *buffers = (gt_buffers){.driver = checks->driver, .stream = checks->stream, .checks = checks};
}

/* Only what is not there yet is asked for: buffers that are large enough are kept. */
static bool enough_memory(const gt_buffers *buffers, const gt_problem *problem, const size_t bytes[3], gt_trial *trial)
{
    const size_t have[] = {buffers->a.capacity, buffers->b.capacity, buffers->c.capacity};
    size_t free_bytes, total_bytes, more = 0, needed = 0;
    char name[GT_PROBLEM_NAME_LENGTH];
    if (!gt_trial_check(trial, buffers->driver, buffers->driver->cuMemGetInfo(&free_bytes, &total_bytes),
                        "asking for free memory"))
        return false;
    for (int i = 0; i < 3; i++) {
        const size_t size = gt_guarded_size(bytes[i]);
        needed += size;
        more += size > have[i] ? size - have[i] : 0;
    }
    if (more <= free_bytes)
        return true;
    gt_problem_name(problem, name);
    return gt_trial_fail(trial, GT_TRIAL_OVER_RESOURCES, "%s needs %.1f GiB, %.1f GiB free", name,
                         (double)needed / GIB, (double)(free_bytes + needed - more) / GIB);
}

bool gt_buffers_place(gt_buffers *buffers, const gt_problem *problem, gt_trial *trial)
{
    const gt_driver *driver = buffers->driver;
    const size_t bytes[] = {gt_problem_bytes(problem, GT_A), gt_problem_bytes(problem, GT_B),
                            gt_problem_bytes(problem, GT_C)};
    CUresult result = CUDA_SUCCESS;
    buffers->placed = false;
    if (!enough_memory(buffers, problem, bytes, trial))
        return false;
    if (!buffers->counters)
        result = driver->cuMemAlloc(&buffers->counters, COUNTERS * sizeof(unsigned));
    if (result == CUDA_SUCCESS)
        result = gt_guarded_place(driver, buffers->stream, &buffers->a, bytes[0]);
    if (result == CUDA_SUCCESS)
        result = gt_guarded_place(driver, buffers->stream, &buffers->b, bytes[1]);
    if (result == CUDA_SUCCESS)
        result = gt_guarded_place(driver, buffers->stream, &buffers->c, bytes[2]);
    if (!gt_trial_check(trial, driver, result, "making room for the operands"))
        return false;
    buffers->problem = *problem;
    buffers->placed = true;
    return true;
}

CUresult gt_buffers_fill(const gt_buffers *buffers, uint64_t seed)
{
    const gt_problem *p = &buffers->problem;
    const gt_matrix a = gt_matrix_of(p, GT_A, buffers->a.data, 0), b = gt_matrix_of(p, GT_B, buffers->b.data, 0);
    CUresult result = gt_checks_fill(buffers->checks, &a, p->batch, p->stride_a, gt_stream_seed(seed, GT_STREAM_A));
    if (result != CUDA_SUCCESS)
        return result;
    return gt_checks_fill(buffers->checks, &b, p->batch, p->stride_b, gt_stream_seed(seed, GT_STREAM_B));
}

CUresult gt_buffers_reset_c(gt_buffers *buffers, bool random, uint64_t seed)
{
    const gt_problem *p = &buffers->problem;
    const gt_matrix c = gt_matrix_of(p, GT_C, buffers->c.data, 0);
    CUresult result = gt_guarded_place(buffers->driver, buffers->stream, &buffers->c, buffers->c.bytes);
    if (result != CUDA_SUCCESS || !random)
        return result;
    return gt_checks_fill(buffers->checks, &c, p->batch, p->stride_c, gt_stream_seed(seed, GT_STREAM_C));
}

/* What is counted, each in its word; inspect() of a runner takes the last two. */
enum { CHANGED_A, CHANGED_B, CHANGED_C, CHANGED_PADDING, CHANGED_WORKSPACE, LEFT_COUNTERS };

static CUresult count_all(const gt_buffers *buffers, const gt_runner *runner)
{
    const gt_checks *checks = buffers->checks;
    const gt_problem *p = &buffers->problem;
    const CUdeviceptr counters = buffers->counters;
    const int64_t bytes = gt_type_find(p->class.type_c)->bytes, row = p->n * bytes, pitch = p->ldc * bytes;
    const int64_t matrix = p->m > 0 ? (p->m - 1) * pitch + row : 0, stride = p->stride_c * bytes;
    CUresult result = buffers->driver->cuMemsetD32Async(counters, 0, COUNTERS, buffers->stream);
    const gt_guarded *const guarded[] = {&buffers->a, &buffers->b, &buffers->c};
    for (int i = 0; i < 3 && result == CUDA_SUCCESS; i++)
        result = gt_guarded_count(checks, guarded[i], counters + (CUdeviceptr)i * sizeof(unsigned));
    const CUdeviceptr padding = counters + CHANGED_PADDING * sizeof(unsigned);
    for (int64_t i = 0; pitch > row && i < p->batch && result == CUDA_SUCCESS; i++)
        result = gt_checks_count(checks, buffers->c.data + (CUdeviceptr)(i * stride + row), p->m > 0 ? p->m - 1 : 0,
                                 pitch - row, pitch, GT_POISON_HALF, padding);
    if (result == CUDA_SUCCESS && buffers->c.bytes > 0 && p->batch > 1 && stride > matrix)
        result = gt_checks_count(checks, buffers->c.data + (CUdeviceptr)matrix, p->batch - 1, stride - matrix, stride,
                                 GT_POISON_HALF, padding);
    if (result == CUDA_SUCCESS && runner->inspect)
        result = runner->inspect(runner, checks, counters + CHANGED_WORKSPACE * sizeof(unsigned));
    return result;
}

bool gt_buffers_intact(const gt_buffers *buffers, const gt_runner *runner, const char *where, gt_trial *trial)
{
    static const struct {
        gt_outcome outcome;
        const char *what;
    } faults[] = {
        [CHANGED_A] = {GT_TRIAL_OUT_OF_BOUNDS, "wrote outside A: %u guard bytes changed (%s)"},
        [CHANGED_B] = {GT_TRIAL_OUT_OF_BOUNDS, "wrote outside B: %u guard bytes changed (%s)"},
        [CHANGED_C] = {GT_TRIAL_OUT_OF_BOUNDS, "wrote outside C: %u guard bytes changed (%s)"},
        [CHANGED_PADDING] = {GT_TRIAL_OUT_OF_BOUNDS, "wrote between C's rows: %u bytes of padding changed (%s)"},
        [CHANGED_WORKSPACE] = {GT_TRIAL_OUT_OF_BOUNDS, "wrote outside its workspace: %u guard bytes changed (%s)"},
        [LEFT_COUNTERS] = {GT_TRIAL_WRONG_RESULT, "left its counters other than zero: %u bytes (%s)"},
    };
    unsigned changed[COUNTERS];
    char doing[200];
    snprintf(doing, sizeof doing, "running (%s)", where);
    /* The launch itself first: a count behind a faulty kernel would only carry its error. */
    if (!gt_trial_check(trial, buffers->driver, buffers->driver->cuStreamSynchronize(buffers->stream), doing) ||
        !gt_trial_check(trial, buffers->driver, count_all(buffers, runner), "counting what changed") ||
        !gt_trial_check(trial, buffers->driver,
                        buffers->driver->cuMemcpyDtoH(changed, buffers->counters, sizeof changed), doing))
        return false;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        if (changed[i] != 0) {
            char line[GT_DETAIL_LENGTH];
            snprintf(line, sizeof line, faults[i].what, changed[i], where);
            return gt_trial_fail(trial, faults[i].outcome, "%s", line);
        }
    return true;
}
