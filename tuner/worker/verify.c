#include "verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/softgpu/softgpu.h"

/* Multiply-adds that a candidate's cases may take on the software GPU, which runs some hundred millions a second. */
#define SOFT_WORK 100e6

/* And where a quick check is asked for: about 40 launches, so that compute-sanitizer, which takes milliseconds for each
 * and slows a GPU 10 to 100 times, gets through some dozen kernels in a minute; 11 for its racecheck, which takes 200 ms.
 * Rows far apart it would not understand: of 16 bytes that a copy asks for in part it takes all to be read, and between
 * such rows nobody writes. */
#define QUICK_WORK 10e6

/* Of every so many cases the workspace is looked at behind one, behind those that are watched, and behind each with counters of
 * several products, or with more than any that was looked at: the next case finds them cleared. */
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

/* Words on the device, of which the first is one, and on the host. */
static CUresult make_words(gt_verifier *v)
{
    const gt_driver *driver = v->checks->driver;
    if (v->room >= v->cases.count)
        return CUDA_SUCCESS;
    if (v->words)
        driver->cuMemFree(v->words);
    free_host(driver, (char *)v->reached);
    v->words = 0;
    v->room = 0;
    const size_t room = 2 * v->cases.count;
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    if ((v->reached = (unsigned *)allocate_host(driver, 3 * room * sizeof(unsigned))) &&
        (result = driver->cuMemAlloc(&v->words, (1 + 2 * room) * sizeof(unsigned))) == CUDA_SUCCESS &&
        (result = driver->cuMemsetD32(v->words, 1, 1)) == CUDA_SUCCESS)
        v->room = room;
    if (v->room > 0 && driver->cuMemHostGetDevicePointer(&v->mapped, v->reached, 0) != CUDA_SUCCESS)
        v->mapped = 0;
    return result;
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
            return gt_trial_fail(trial, GT_TRIAL_NOT_TRIED, "out of memory for the small checks");
        if (!gt_trial_check(trial, driver, driver->cuMemAlloc(&v->memory, bytes), "making room for the small checks"))
            return false;
        v->capacity = bytes;
    }
    return gt_trial_check(trial, driver, make_words(v), "making room for the small checks");
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

/* Cases that are run one behind the other: all, but the software GPU keeps a case's kernel to its own operands. */
static size_t count_together(const gt_verifier *v)
{
    return v->checks->driver->soft ? 1 : v->cases.count;
}

/* Begins to judge the cases from first on. */
static void begin_judgement(gt_verifier *v, size_t first)
{
    v->judgement = gt_judge_begin(&v->cases, first, first + count_together(v), v->before);
}

static bool end_judgement(gt_verifier *v, gt_trial *trial)
{
    gt_judgement *const judgement = v->judgement;
    v->judgement = NULL;
    return gt_judge_end(judgement, v->after, &v->errors, trial);
}

static void drop_judgement(gt_verifier *v)
{
    gt_judge_drop(v->judgement);
    v->judgement = NULL;
}

bool gt_verify_prepare(gt_verifier *v, const gt_class *class, const gt_kernel *kernel, uint64_t seed, gt_extent extent,
                       gt_trial *trial)
{
    drop_judgement(v);
    gt_cases_finish(&v->cases);
    v->class = *class;
    v->seed = seed;
    v->extent = extent;
    v->errors = (gt_errors){0};
    const double work = extent != GT_EXTENT_ALL ? QUICK_WORK : v->checks->driver->soft ? SOFT_WORK : 0;
    gt_status status = fill_pools(v, class);
    if (status == GT_OK)
        status = gt_cases_draw(class, kernel, kernel_seed(seed, kernel), work, extent, &v->cases);
    if (status == GT_OK && extent == GT_EXTENT_ALL)
        status = gt_far_draw(&v->far, class, kernel, seed);
    if (status != GT_OK)
        return gt_trial_fail(trial, status == GT_ERROR_MEMORY ? GT_TRIAL_NOT_TRIED : GT_TRIAL_LAUNCH_ERROR,
                             "preparing the small checks: %s", gt_error_message());
    if (!make_room(v, trial))
        return gt_trial_excuse(trial);
    gt_cases_fill(&v->cases, v->pools, v->before);
    begin_judgement(v, 0);
    return true;
}

/* Where a case's two words are. */
static CUdeviceptr words_of(const gt_verifier *v, size_t index)
{
    return v->words + (1 + 2 * index) * sizeof(unsigned);
}

/* Whether the runner left its workspace's surroundings and its counters as they were, where that was looked at. */
static bool check_workspace(const gt_verifier *v, size_t first, size_t end, gt_trial *trial)
{
    const gt_driver *driver = v->checks->driver;
    unsigned *const changed = v->reached + v->room;
    char name[GT_CASE_NAME];
    if (!gt_trial_check(trial, driver,
                        driver->cuMemcpyDtoH(changed, words_of(v, first), 2 * (end - first) * sizeof *changed),
                        "looking at the workspace"))
        return false;
    size_t at = 0;
    while (at < 2 * (end - first) && !changed[at])
        at++;
    if (at == 2 * (end - first))
        return true;
    gt_case_name(&v->cases.list[first + at / 2], name);
    return at % 2 == 0
               ? gt_trial_fail(trial, GT_TRIAL_OUT_OF_BOUNDS,
                               "wrote outside its workspace: %u guard bytes changed (%s)", changed[at], name)
               : gt_trial_fail(trial, GT_TRIAL_WRONG_RESULT, "left its counters other than zero: %u bytes (%s)",
                               changed[at], name);
}

/* What lies between rows of the results is somebody else's, who may be writing it: no kernel is to write there, not even
 * what it has read. */
static void protect_padding(const gt_verifier *v, const gt_case *c)
{
    const gt_problem *p = &c->problem;
    const size_t bytes = (size_t)gt_type_find(p->class.type_c)->bytes;
    for (int64_t row = 1; p->ldc > p->n && row < p->batch * p->m; row++) {
        const int64_t end = (row - 1) / p->m * p->stride_c + (row - 1) % p->m * p->ldc + p->n;
        const int64_t next = row / p->m * p->stride_c + row % p->m * p->ldc;
        v->checks->driver->soft->protect(v->memory + c->result + (size_t)end * bytes, (size_t)(next - end) * bytes, 0);
    }
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
    if (c->watched)
        protect_padding(v, c);
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

/* Enqueues a case. The software GPU is armed for one at a time, and waited for. */
static CUresult launch(const gt_verifier *v, const gt_case *c, const gt_runner *runner, uint64_t order)
{
    const gt_driver *driver = v->checks->driver;
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
    if (result == CUDA_SUCCESS && driver->soft)
        result = driver->cuStreamSynchronize(v->checks->stream);
    disarm(v, runner);
    return result;
}

/* Launches a watched case once more with its blocks in another order, on the same C where that is read. Where the bits
 * are others, the kernel is not deterministic. */
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
    if (result == CUDA_SUCCESS && c->beta != 0)
        result = driver->cuMemcpyHtoD(at, v->before + c->result, bytes);
    gt_case other = *c;
    other.watched = c->beta == 0; /* watching takes longest */
    if (result == CUDA_SUCCESS)
        result = launch(v, &other, runner, order);
    if (result == CUDA_SUCCESS)
        result = driver->cuMemcpyDtoH(first + bytes, at, bytes);
    *varied = result == CUDA_SUCCESS && memcmp(first, first + bytes, bytes) != 0;
    free(first);
    return result;
}

static bool fail_running(const gt_verifier *v, size_t index, CUresult result, gt_trial *trial)
{
    char name[GT_CASE_NAME], doing[200];
    gt_case_name(&v->cases.list[index], name);
    snprintf(doing, sizeof doing, "running (%s)", name);
    return gt_trial_check(trial, v->checks->driver, result, doing);
}

/* Enqueues that a case was reached. A copy takes an H200's host 10 to 17 us longer than a word that the device sets. */
static CUresult mark_reached(const gt_verifier *v, size_t index)
{
    const gt_driver *driver = v->checks->driver;
    return v->mapped ? driver->cuMemsetD32Async(v->mapped + index * sizeof *v->reached, 1, 1, v->checks->stream)
                     : driver->cuMemcpyDtoHAsync(&v->reached[index], v->words, sizeof *v->reached, v->checks->stream);
}

/* Enqueues all of a case, and then that it was reached. */
static bool launch_case(const gt_verifier *v, size_t index, gt_runner *runner, gt_trial *trial)
{
    const gt_driver *driver = v->checks->driver;
    const gt_case *c = &v->cases.list[index];
    bool varied = false;
    runner->parts = c->parts;
    runner->dealt = c->dealt;
    const bool ready = c->again || runner->prepare(runner, &c->problem, trial);
    runner->parts = 0;
    runner->dealt = false;
    if (!ready)
        return false;
    CUresult result = launch(v, c, runner, index);
    if (result == CUDA_SUCCESS && driver->soft && c->watched && (c->beta == 0 || (c->problem.k > 0 && c->alpha != 0)))
        result = launch_reordered(v, c, runner, ~(uint64_t)index, &varied);
    trial->varied = trial->varied || varied;
    if (result == CUDA_SUCCESS)
        result = mark_reached(v, index);
    const bool most = runner->counter_bytes > runner->looked_at, each = runner->counter_bytes > 0 && c->problem.batch > 1;
    const bool looked_at = index % INSPECT_EVERY == 0 || c->watched || most || each || index + 1 == v->cases.count;
    if (looked_at && most)
        runner->looked_at = runner->counter_bytes;
    if (result == CUDA_SUCCESS && looked_at && runner->inspect)
        result = runner->inspect(runner, v->checks, words_of(v, index));
    return result == CUDA_SUCCESS || fail_running(v, index, result, trial);
}

/* Launches the cases from first to end - 1 one behind the other and waits for all of them. What one does wrong may be
 * told by any call that comes later. */
static bool launch_cases(const gt_verifier *v, size_t first, size_t end, gt_runner *runner, gt_trial *trial)
{
    const gt_driver *driver = v->checks->driver;
    size_t at = first;
    memset(v->reached + first, 0, (end - first) * sizeof *v->reached);
    if (!gt_trial_check(trial, driver,
                        driver->cuMemsetD32Async(words_of(v, first), 0, 2 * (end - first), v->checks->stream),
                        "beginning the small checks"))
        return false;
    while (at < end && launch_case(v, at, runner, trial))
        at++;
    const CUresult result = driver->cuStreamSynchronize(v->checks->stream);
    if (result == CUDA_SUCCESS)
        return at == end;
    for (at = first; at + 1 < end && v->reached[at];)
        at++;
    return fail_running(v, at, result, trial);
}

/* Runs the cases from first to end - 1 and reads what became of them. */
static bool run_some(const gt_verifier *v, size_t first, size_t end, gt_runner *runner, gt_trial *trial)
{
    const gt_driver *driver = v->checks->driver;
    const size_t begin = v->cases.list[first].begin, bytes = gt_cases_end(&v->cases, end - 1) - begin;
    return launch_cases(v, first, end, runner, trial) && check_workspace(v, first, end, trial) &&
           gt_trial_check(trial, driver, driver->cuMemcpyDtoH(v->after + begin, v->memory + begin, bytes),
                          "reading the small checks");
}

static bool run_all(gt_verifier *v, gt_runner *runner, gt_trial *trial)
{
    const gt_driver *driver = v->checks->driver;
    const size_t count = v->cases.count, together = count_together(v);
    if (!gt_trial_check(trial, driver, driver->cuMemcpyHtoD(v->memory, v->before, v->cases.bytes),
                        "uploading the small checks"))
        return false;
    for (size_t i = 0; i < count; i += together) {
        if (i > 0 && !end_judgement(v, trial))
            return false;
        if (i > 0)
            begin_judgement(v, i);
        if (!run_some(v, i, i + together, runner, trial))
            return false;
    }
    return v->extent != GT_EXTENT_ALL || gt_far_run(&v->far, v->checks, &v->class, runner, trial);
}

bool gt_verify_run(gt_verifier *v, gt_runner *runner, gt_trial *trial)
{
    const gtSoft *soft = v->checks->driver->soft;
    if (soft)
        soft->sample(3); /* nobody asks how long these take */
    const bool good = run_all(v, runner, trial);
    if (soft)
        soft->sample(0);
    if (!good)
        drop_judgement(v);
    return good;
}

bool gt_verify_judge(gt_verifier *v, const gt_kernel *kernel, gt_trial *trial)
{
    const bool all = v->extent == GT_EXTENT_ALL;
    if (!end_judgement(v, trial) || !gt_compare_errors(&v->errors, trial) || (all && !gt_far_judge(&v->far, trial)))
        return false;
    gt_cases_describe(&v->cases, kernel, trial->detail, sizeof trial->detail);
    if (!all || v->far.mapped == 0)
        gt_trial_add(trial, ", none far apart");
    return true;
}
