#include "verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/softgpu/softgpu.h"
#include "judge.h"

/* Multiply-adds that a candidate's cases may take on the software GPU, which runs some hundred millions a second. */
#define SOFT_WORK 100e6

/* And where a quick check is asked for: little more than one case of everything. compute-sanitizer, which slows a GPU 10
 * to 100 times, is to get through. Rows far apart it would not understand: of 16 bytes that a copy asks for in part it
 * takes all to be read, and between such rows nobody writes. */
#define QUICK_WORK 10e6

/* Of every so many cases the workspace is looked at behind one, and behind those that are watched: the next case finds
 * its counters cleared. */
#define INSPECT_EVERY 16

void gt_verifier_init(const gt_checks *checks, gt_verifier *verifier)
{
    *verifier = (gt_verifier){.checks = checks};
}

/* A seed of a kernel's own: two kernels of one run are not checked on the same numbers. */
static uint64_t kernel_seed(uint64_t seed, const gt_kernel *kernel)
{
    for (const char *at = kernel->source_hash; *at; at++)
        seed = gt_random_bits(seed, (uint64_t)*at);
    return seed;
}

/* Host memory that the device copies from and to without detours, where the driver allows that. NULL without memory. */
static char *allocate_host(const gt_driver *driver, size_t bytes)
{
    char *memory = malloc(bytes);
    if (memory)
        driver->cuMemHostRegister(memory, bytes, 0);
    return memory;
}

static void free_host(const gt_driver *driver, char *memory)
{
    if (memory)
        driver->cuMemHostUnregister(memory);
    free(memory);
}

/* Room for the cases on the device and on the host, kept while it is large enough. */
static bool make_room(gt_verifier *v, gt_trial *trial)
{
    const gt_driver *driver = v->checks->driver;
    if (v->capacity < v->cases.bytes) {
        const size_t bytes = v->cases.bytes + v->cases.bytes / 2; /* the next candidate's are of another size */
        if (v->memory)
            driver->cuMemFree(v->memory);
        free_host(driver, v->before);
        free_host(driver, v->after);
        v->memory = 0;
        v->capacity = 0;
        v->before = allocate_host(driver, bytes);
        v->after = allocate_host(driver, bytes);
        if (!v->before || !v->after)
            return gt_trial_fail(trial, GT_TRIAL_OVER_RESOURCES, "out of memory for the small checks");
        if (!gt_trial_check(trial, driver, driver->cuMemAlloc(&v->memory, bytes), "making room for the small checks"))
            return false;
        v->capacity = bytes;
    }
    return v->counters || gt_trial_check(trial, driver, driver->cuMemAlloc(&v->counters, 2 * sizeof(unsigned)),
                                         "making room for the small checks");
}

static gt_status fill_pools(gt_verifier *v, const gt_class *class)
{
    const gt_type types[GT_OPERANDS] = {class->type_a, class->type_b, class->type_c};
    gt_status status = GT_OK;
    for (gt_operand o = GT_A; status == GT_OK && o < GT_OPERANDS; o++) {
        const uint64_t seed = gt_random_bits(v->seed, o);
        if (v->pools[o].type == gt_type_find(types[o]) && v->pools[o].seed == seed)
            continue;
        gt_pool_finish(&v->pools[o]);
        status = gt_pool_init(types[o], seed, &v->pools[o]);
    }
    return status;
}

bool gt_verify_prepare(gt_verifier *v, const gt_class *class, const gt_kernel *kernel, uint64_t seed, bool quick,
                       gt_trial *trial)
{
    gt_cases_finish(&v->cases);
    v->class = *class;
    v->seed = seed;
    v->quick = quick;
    const double work = quick ? QUICK_WORK : v->checks->driver->soft ? SOFT_WORK : 0;
    if (fill_pools(v, class) != GT_OK || gt_cases_draw(class, kernel, kernel_seed(seed, kernel), work, &v->cases) != GT_OK)
        return gt_trial_fail(trial, GT_TRIAL_LAUNCH_ERROR, "preparing the small checks: %s", gt_error_message());
    if (!make_room(v, trial))
        return false;
    gt_cases_fill(&v->cases, v->pools, v->before);
    return true;
}

/* Whether the runner left its workspace's surroundings and its counters as they were. */
static bool inspect(const gt_verifier *v, const gt_runner *runner, const char *name, gt_trial *trial)
{
    const gt_driver *driver = v->checks->driver;
    unsigned changed[2] = {0};
    if (!runner->inspect)
        return true;
    CUresult result = driver->cuMemsetD32Async(v->counters, 0, 2, v->checks->stream);
    if (result == CUDA_SUCCESS)
        result = runner->inspect(runner, v->checks, v->counters);
    if (result == CUDA_SUCCESS)
        result = driver->cuMemcpyDtoH(changed, v->counters, sizeof changed);
    if (!gt_trial_check(trial, driver, result, "looking at the workspace"))
        return false;
    if (changed[0])
        return gt_trial_fail(trial, GT_TRIAL_OUT_OF_BOUNDS,
                             "wrote outside its workspace: %u guard bytes changed (%s)", changed[0], name);
    if (changed[1])
        return gt_trial_fail(trial, GT_TRIAL_WRONG_RESULT, "left its counters other than zero: %u bytes (%s)",
                             changed[1], name);
    return true;
}

/* On the software GPU a case's kernel can touch nothing but its own operands and workspace, blocks begin in an order of
 * their own, and some are watched for races. */
static void arm(const gt_verifier *v, const gt_case *c, const gt_runner *runner, uint64_t order)
{
    const gtSoft *soft = v->checks->driver->soft;
    const bool reads = c->problem.k > 0 && c->alpha != 0;
    if (!soft)
        return;
    soft->protect(v->memory, v->capacity, 0);
    for (gt_operand o = reads ? GT_A : GT_C; o < GT_OPERANDS; o++) {
        const bool unread = o == GT_C && c->beside && c->beta == 0;
        soft->protect(v->memory + c->place[o], gt_problem_bytes(&c->problem, o), !unread);
    }
    soft->protect(v->memory + c->result, gt_problem_bytes(&c->problem, GT_C), 1);
    if (gt_case_bias(c) > 0)
        soft->protect(v->memory + c->bias, (size_t)(gt_case_bias(c) * gt_type_find(c->problem.class.type_c)->bytes), 1);
    if (runner->protect)
        runner->protect(runner, true);
    soft->races(c->watched);
    soft->order(order);
}

static void disarm(const gt_verifier *v, const gt_runner *runner)
{
    const gtSoft *soft = v->checks->driver->soft;
    if (!soft)
        return;
    soft->protect(v->memory, v->capacity, 1);
    if (runner->protect)
        runner->protect(runner, false);
    soft->races(0);
    soft->order(0);
}

static CUresult launch(const gt_verifier *v, const gt_case *c, const gt_runner *runner, uint64_t order)
{
    const gt_types *types = gt_class_types(&c->problem.class);
    const gt_launch_operands operands = {
        .a = (void *)(v->memory + c->place[GT_A]), .b = (void *)(v->memory + c->place[GT_B]),
        .c = (void *)(v->memory + c->place[GT_C]), .d = c->beside ? (void *)(v->memory + c->result) : NULL,
        .epilogue = c->epilogue, .bias = gt_case_bias(c) > 0 ? (void *)(v->memory + c->bias) : NULL,
        .alpha = gt_scalar_make(types, c->alpha), .beta = gt_scalar_make(types, c->beta),
    };
    CUresult result = CUDA_SUCCESS;
    arm(v, c, runner, order);
    for (int i = 0; i < c->repeats && result == CUDA_SUCCESS; i++)
        result = runner->launch(runner, &operands);
    if (result == CUDA_SUCCESS)
        result = v->checks->driver->cuStreamSynchronize(v->checks->stream);
    disarm(v, runner);
    return result;
}

/* Launches a watched case once more with its blocks in another order. Where the bits are others, the kernel is not
 * deterministic. */
static CUresult launch_reordered(const gt_verifier *v, const gt_case *c, const gt_runner *runner, uint64_t order,
                                 bool *varied)
{
    const gt_driver *driver = v->checks->driver;
    const size_t bytes = gt_problem_bytes(&c->problem, GT_C);
    const CUdeviceptr at = v->memory + c->result;
    char *first = malloc(2 * bytes);
    if (!first)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = driver->cuMemcpyDtoH(first, at, bytes);
    if (result == CUDA_SUCCESS)
        result = launch(v, c, runner, order);
    if (result == CUDA_SUCCESS)
        result = driver->cuMemcpyDtoH(first + bytes, at, bytes);
    *varied = result == CUDA_SUCCESS && memcmp(first, first + bytes, bytes) != 0;
    free(first);
    return result;
}

static bool launch_case(const gt_verifier *v, size_t index, gt_runner *runner, gt_trial *trial)
{
    const gt_driver *driver = v->checks->driver;
    const gt_case *c = &v->cases.list[index];
    char name[GT_CASE_NAME], doing[200];
    bool varied = false;
    gt_case_name(c, name);
    snprintf(doing, sizeof doing, "running (%s)", name);
    runner->parts = c->parts;
    const bool ready = c->again || runner->prepare(runner, &c->problem, trial);
    runner->parts = 0;
    if (!ready)
        return false;
    CUresult result = launch(v, c, runner, index);
    if (result == CUDA_SUCCESS && driver->soft && c->watched && c->beta == 0)
        result = launch_reordered(v, c, runner, ~(uint64_t)index, &varied);
    trial->varied = trial->varied || varied;
    if (!gt_trial_check(trial, driver, result, doing))
        return false;
    const bool looked_at = index % INSPECT_EVERY == 0 || c->watched || index + 1 == v->cases.count;
    return !looked_at || inspect(v, runner, name, trial);
}

/* Runs the cases from first to end - 1, and looks at what became of them. */
static bool verify_some(const gt_verifier *v, size_t first, size_t end, gt_runner *runner, gt_errors *errors,
                        gt_trial *trial)
{
    const gt_driver *driver = v->checks->driver;
    const size_t begin = v->cases.list[first].begin, bytes = gt_cases_end(&v->cases, end - 1) - begin;
    for (size_t i = first; i < end; i++)
        if (!launch_case(v, i, runner, trial))
            return false;
    return gt_trial_check(trial, driver, driver->cuMemcpyDtoH(v->after + begin, v->memory + begin, bytes),
                          "reading the small checks") &&
           gt_judge_cases(&v->cases, first, end, v->before, v->after, errors, trial);
}

bool gt_verify_cases(gt_verifier *v, const gt_kernel *kernel, gt_runner *runner, gt_trial *trial)
{
    const gt_driver *driver = v->checks->driver;
    /* The software GPU keeps a case's kernel to its own operands, and takes longer than the comparison. */
    const size_t count = v->cases.count, together = driver->soft ? 1 : count;
    gt_errors errors = {0};
    bool far = false;
    if (!gt_trial_check(trial, driver, driver->cuMemcpyHtoD(v->memory, v->before, v->cases.bytes),
                        "uploading the small checks"))
        return false;
    for (size_t i = 0; i < count; i += together)
        if (!verify_some(v, i, i + together, runner, &errors, trial))
            return false;
    if (!gt_compare_errors(&errors, trial))
        return false;
    if (!v->quick && !gt_far_verify(&v->far, v->checks, &v->class, kernel, v->seed, runner, &far, trial))
        return false;
    gt_cases_describe(&v->cases, kernel, trial->detail, sizeof trial->detail);
    if (!far)
        gt_trial_add(trial, ", none far apart");
    return true;
}
