#include "verify.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../src/softgpu/softgpu.h"
#include "../random.h"

/* Multiply-adds that a candidate's cases may take on the software GPU, which runs some hundred millions a second. */
#define SOFT_WORK 60e6

/* Threads that compare results beside the worker's own. */
#define THREADS 7

/* Of every so many cases the workspace is looked at behind one. */
#define INSPECT_EVERY 16

void gt_verifier_init(const gt_checks *checks, uint64_t seed, gt_verifier *verifier)
{
    *verifier = (gt_verifier){.checks = checks, .seed = seed};
}

/* A seed of a kernel's own: two kernels of one run are not checked on the same numbers. */
static uint64_t kernel_seed(uint64_t seed, const gt_kernel *kernel)
{
    for (const char *at = kernel->source_hash; *at; at++)
        seed = gt_random_bits(seed, (uint64_t)*at);
    return seed;
}

/* Room on the device for the cases, kept while it is large enough. */
static CUresult make_room(gt_verifier *v)
{
    const gt_driver *driver = v->checks->driver;
    CUresult result = CUDA_SUCCESS;
    if (v->capacity < v->cases.bytes) {
        if (v->memory)
            driver->cuMemFree(v->memory);
        v->memory = 0;
        v->capacity = 0;
        if ((result = driver->cuMemAlloc(&v->memory, v->cases.bytes)) != CUDA_SUCCESS) {
            v->memory = 0;
            return result;
        }
        v->capacity = v->cases.bytes;
    }
    if (!v->counters && (result = driver->cuMemAlloc(&v->counters, 2 * sizeof(unsigned))) != CUDA_SUCCESS)
        v->counters = 0;
    return result;
}

bool gt_verify_prepare(gt_verifier *v, const gt_class *class, const gt_kernel *kernel, gt_trial *trial)
{
    const gt_driver *driver = v->checks->driver;
    gt_cases_finish(&v->cases);
    free(v->after);
    v->after = NULL;
    v->class = *class;
    const double work = driver->soft ? SOFT_WORK : 0;
    if (gt_cases_draw(class, kernel, kernel_seed(v->seed, kernel), work, &v->cases) != GT_OK)
        return gt_trial_fail(trial, GT_TRIAL_LAUNCH_ERROR, "preparing the small checks: %s", gt_error_message());
    if (!(v->after = malloc(v->cases.bytes)))
        return gt_trial_fail(trial, GT_TRIAL_OVER_RESOURCES, "out of memory for the small checks");
    return gt_trial_check(trial, driver, make_room(v), "making room for the small checks");
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
                             "wrote outside its workspace: %u guard halfwords changed (%s)", changed[0], name);
    if (changed[1])
        return gt_trial_fail(trial, GT_TRIAL_WRONG_RESULT, "left its counters other than zero: %u halfwords (%s)",
                             changed[1], name);
    return true;
}

/* On the software GPU a case's kernel can touch nothing but its own operands, blocks begin in an order of their own,
 * and general cases are watched for races. */
static void arm(const gt_verifier *v, const gt_case *c, uint64_t order)
{
    const gtSoft *soft = v->checks->driver->soft;
    const bool reads = c->problem.k > 0 && c->alpha != 0;
    if (!soft)
        return;
    soft->protect(v->memory, v->capacity, 0);
    for (gt_operand o = reads ? GT_A : GT_C; o < GT_OPERANDS; o++)
        soft->protect(v->memory + c->place[o], gt_problem_bytes(&c->problem, o), 1);
    soft->races(c->general);
    soft->order(order);
}

static void disarm(const gt_verifier *v)
{
    const gtSoft *soft = v->checks->driver->soft;
    if (!soft)
        return;
    soft->protect(v->memory, v->capacity, 1);
    soft->races(0);
    soft->order(0);
}

static CUresult launch(const gt_verifier *v, const gt_case *c, const gt_runner *runner, uint64_t order)
{
    const gt_types *types = gt_class_types(&c->problem.class);
    const gt_launch_operands operands = {
        .a = (void *)(v->memory + c->place[GT_A]), .b = (void *)(v->memory + c->place[GT_B]),
        .c = (void *)(v->memory + c->place[GT_C]),
        .alpha = gt_scalar_make(types, c->alpha), .beta = gt_scalar_make(types, c->beta),
    };
    CUresult result = CUDA_SUCCESS;
    arm(v, c, order);
    for (int i = 0; i < c->repeats && result == CUDA_SUCCESS; i++)
        result = runner->launch(runner, &operands);
    if (result == CUDA_SUCCESS)
        result = v->checks->driver->cuStreamSynchronize(v->checks->stream);
    disarm(v);
    return result;
}

/* Launches a general case once more with its blocks in another order. Where the bits are others, the kernel is not
 * deterministic. */
static CUresult launch_reordered(const gt_verifier *v, const gt_case *c, const gt_runner *runner, uint64_t order,
                                 bool *varied)
{
    const gt_driver *driver = v->checks->driver;
    const size_t bytes = gt_problem_bytes(&c->problem, GT_C);
    const CUdeviceptr at = v->memory + c->place[GT_C];
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
    if (!c->again && !runner->prepare(runner, &c->problem, trial))
        return false;
    CUresult result = launch(v, c, runner, index);
    if (result == CUDA_SUCCESS && driver->soft && c->general && c->beta == 0)
        result = launch_reordered(v, c, runner, ~(uint64_t)index, &varied);
    trial->varied = trial->varied || varied;
    if (!gt_trial_check(trial, driver, result, doing))
        return false;
    return (index % INSPECT_EVERY != 0 && index + 1 < v->cases.count) || inspect(v, runner, name, trial);
}

/* What became of one case. */
typedef struct outcome {
    bool good;
    gt_errors errors;
    gt_trial trial;
} outcome;

/* Cases to compare, which threads take one after the other. */
typedef struct comparison {
    const gt_verifier *verifier;
    outcome *outcomes;
    atomic_size_t next;
} comparison;

static bool compare_case(const gt_verifier *v, const gt_case *c, gt_errors *e, gt_trial *trial)
{
    const char *image = v->cases.image;
    gt_reference reference;
    bool good = true;
    if (gt_reference_init(&c->problem, image + c->place[GT_A], image + c->place[GT_B], &reference) != GT_OK)
        return gt_trial_fail(trial, GT_TRIAL_OVER_RESOURCES, "%s", gt_error_message());
    for (int64_t i = 0; good && i < c->problem.batch; i++)
        good = gt_compare_product(c, &reference, i, image + c->place[GT_C], (char *)v->after + c->place[GT_C], e,
                                  trial);
    gt_reference_finish(&reference);
    return good;
}

static void *compare_some(void *data)
{
    comparison *c = data;
    const gt_verifier *v = c->verifier;
    for (size_t i; (i = atomic_fetch_add(&c->next, 1)) < v->cases.count;) {
        outcome *o = &c->outcomes[i];
        o->good = compare_case(v, &v->cases.list[i], &o->errors, &o->trial);
    }
    return NULL;
}

/* Every case, by some threads. The trial is that of the first that went wrong; else it has the largest error. */
static bool compare_cases(const gt_verifier *v, gt_errors *e, gt_trial *trial)
{
    comparison c = {.verifier = v, .outcomes = calloc(v->cases.count, sizeof *c.outcomes)};
    pthread_t threads[THREADS];
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int started = 0;
    if (!c.outcomes)
        return gt_trial_fail(trial, GT_TRIAL_OVER_RESOURCES, "out of memory");
    while (started < THREADS && 2 * (started + 1) < cores &&
           pthread_create(&threads[started], NULL, compare_some, &c) == 0)
        started++;
    compare_some(&c);
    while (started > 0)
        pthread_join(threads[--started], NULL);
    bool good = true;
    for (size_t i = 0; good && i < v->cases.count; i++) {
        const outcome *o = &c.outcomes[i];
        good = o->good || gt_trial_fail(trial, o->trial.outcome, "%s", o->trial.detail);
        trial->error = o->trial.error > trial->error ? o->trial.error : trial->error;
        e->sum += o->errors.sum;
        e->count += o->errors.count;
        e->sums_sum += o->errors.sums_sum;
        e->sums_count += o->errors.sums_count;
    }
    free(c.outcomes);
    return good;
}

/* Says what lies at a place of the memory that changed, and should not have. */
static bool fail_changed(const gt_verifier *v, size_t at, gt_trial *trial)
{
    static const char *const names[] = {"A", "B", "C"};
    const gt_case *near = &v->cases.list[0];
    gt_operand operand = GT_A;
    for (size_t i = 0; i < v->cases.count; i++)
        for (gt_operand o = GT_A; o < GT_OPERANDS; o++)
            if (v->cases.list[i].place[o] <= at + GT_CASE_GUARD) {
                near = &v->cases.list[i];
                operand = o;
            }
    const gt_stored o = gt_problem_stored(&near->problem, operand);
    const size_t begin = near->place[operand], end = begin + gt_problem_bytes(&near->problem, operand);
    char name[GT_CASE_NAME];
    gt_case_name(near, name);
    if (at < begin || at >= end)
        return gt_trial_fail(trial, GT_TRIAL_OUT_OF_BOUNDS, "wrote %zu bytes %s %s (%s)",
                             at < begin ? begin - at : at - end, at < begin ? "before" : "behind", names[operand],
                             name);
    const size_t row = (size_t)o.ld * (size_t)gt_type_find(o.type)->bytes;
    return gt_trial_fail(trial, GT_TRIAL_OUT_OF_BOUNDS, "wrote into %s: row %zu, byte %zu of it (%s)",
                         operand == GT_C ? "C's padding" : names[operand], (at - begin) / row, (at - begin) % row,
                         name);
}

/* Puts into every C what it held before. */
static void restore(const gt_verifier *v)
{
    for (size_t i = 0; i < v->cases.count; i++) {
        const gt_case *c = &v->cases.list[i];
        const gt_stored o = gt_problem_stored(&c->problem, GT_C);
        const size_t bytes = (size_t)gt_type_find(o.type)->bytes;
        for (int64_t row = 0; row < c->problem.batch * o.rows; row++) {
            const size_t at = c->place[GT_C] + (size_t)(row / o.rows * o.stride + row % o.rows * o.ld) * bytes;
            memcpy((char *)v->after + at, (const char *)v->cases.image + at, (size_t)o.columns * bytes);
        }
    }
}

/* Results, and everything else, which must be as it was. A kernel that writes where it should not is told that first:
 * it may have spoilt results of its own. */
static bool compare(const gt_verifier *v, gt_trial *trial)
{
    gt_errors e = {0};
    const bool good = compare_cases(v, &e, trial);
    restore(v);
    if (memcmp(v->cases.image, v->after, v->cases.bytes) != 0) {
        size_t at = 0;
        while (((const char *)v->cases.image)[at] == ((const char *)v->after)[at])
            at++;
        return fail_changed(v, at, trial);
    }
    return good && gt_compare_errors(&e, trial);
}

bool gt_verify_cases(gt_verifier *v, const gt_kernel *kernel, gt_runner *runner, gt_trial *trial)
{
    const gt_driver *driver = v->checks->driver;
    if (!gt_trial_check(trial, driver, driver->cuMemcpyHtoD(v->memory, v->cases.image, v->cases.bytes),
                        "uploading the small checks"))
        return false;
    for (size_t i = 0; i < v->cases.count; i++)
        if (!launch_case(v, i, runner, trial))
            return false;
    if (!gt_trial_check(trial, driver, driver->cuMemcpyDtoH(v->after, v->memory, v->cases.bytes),
                        "reading the small checks") ||
        !compare(v, trial))
        return false;
    bool far = false;
    if (!gt_far_verify(&v->far, v->checks, &v->class, v->seed, runner, &far, trial))
        return false;
    gt_cases_describe(&v->cases, kernel, trial->detail, sizeof trial->detail);
    if (!far)
        gt_trial_add(trial, ", none far apart");
    return true;
}
