#include "work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../model/l2.h"
#include "../model/limits.h"
#include "../model/sample.h"

/* What the driver says of a kernel that went wrong. */
static const CUresult fault_results[] = {
    [SG_FAULT_NONE] = CUDA_SUCCESS,
    [SG_FAULT_ADDRESS] = CUDA_ERROR_ILLEGAL_ADDRESS,
    [SG_FAULT_MISALIGNED] = CUDA_ERROR_MISALIGNED_ADDRESS,
    [SG_FAULT_UNWRITTEN] = CUDA_ERROR_LAUNCH_FAILED,
    [SG_FAULT_RACE] = CUDA_ERROR_LAUNCH_FAILED,
    [SG_FAULT_DEADLOCK] = CUDA_ERROR_LAUNCH_TIMEOUT,
    [SG_FAULT_BARRIER] = CUDA_ERROR_LAUNCH_FAILED,
    [SG_FAULT_TRAP] = CUDA_ERROR_LAUNCH_FAILED,
    [SG_FAULT_INSTRUCTION] = CUDA_ERROR_ILLEGAL_INSTRUCTION,
    [SG_FAULT_MEMORY] = CUDA_ERROR_OUT_OF_MEMORY,
};

/* Counts of launches that may come again: counting costs more than running. */
#define MEMOS 64

static struct memo {
    uint64_t key; /* 0: empty */
    uint64_t ran; /* blocks */
    sg_counts counts;
} memos[MEMOS];

static uint64_t mix(uint64_t hash, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

/* The same for equal launches of the same kernel. */
static uint64_t launch_key(const sg_launch *launch)
{
    uint64_t key = mix(0xcbf29ce484222325u, &launch->kernel, sizeof launch->kernel);
    key = mix(key, launch->grid, sizeof launch->grid);
    key = mix(key, launch->block, sizeof launch->block);
    key = mix(key, launch->cluster, sizeof launch->cluster);
    key = mix(key, &launch->dynamic_shared, sizeof launch->dynamic_shared);
    return mix(key, launch->params, launch->params_bytes) | 1;
}

/* Bytes of the allocations that the parameters point into, the most that the launch can reach, each byte once; and how
 * many of them are not in L2. */
static uint64_t reachable_bytes(const sg_launch *launch, uint64_t moved, uint64_t *missing)
{
    const sg_span *seen[32];
    size_t count = 0, i;
    uint64_t total = 0, word;
    *missing = 0;
    for (size_t at = 0; at + sizeof word <= launch->params_bytes && count < 32; at += sizeof word) {
        memcpy(&word, launch->params + at, sizeof word);
        const sg_span *span = sg_memory_find(sg.memory, word);
        for (i = 0; i < count && seen[i] != span; i++)
            ;
        if (!span || i < count)
            continue;
        seen[count++] = span;
        const uint64_t rest = span->bytes - (word - span->base), bytes = rest < moved ? rest : moved;
        *missing += sg_l2_reach(span->base, bytes, (uint64_t)sg.profile->l2_bytes);
        total += bytes;
    }
    sg_l2_settle();
    return total;
}

/* The time of a launch by its counts. */
static void take_time(const sg_launch *launch, const sg_function *function, int blocks_per_sm)
{
    sg_launch_record *last = &sg.last;
    uint64_t missing;
    const uint64_t moved = last->counts.global_sectors * 32, reach = reachable_bytes(launch, moved, &missing);
    last->shape = (sg_shape){
        .blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2],
        .threads = launch->block[0] * launch->block[1] * launch->block[2],
        .registers = (int)function->assembled.registers,
        .shared_bytes = function->assembled.static_shared + launch->dynamic_shared,
        .blocks_per_sm = blocks_per_sm,
        .footprint = reach < moved ? reach : moved,
        .cold = reach > 0 ? (double)missing / (double)reach : 0,
        .loop = function->assembled.loop,
    };
    last->cost = sg_model_launch(sg.profile, &last->shape, &last->counts);
    sg.now_us += last->cost.us;
}

/* Runs every block, and counts what they do where that is not known; memory is as the kernel leaves it. Sampled it runs
 * only what is not known, and memory is as it was; kept, some blocks run and memory is as they leave it. */
static sg_fault run_grid(const sg_launch *launch, sg_grid *grid, struct memo *known, sg_report *report)
{
    const uint64_t key = launch_key(launch), blocks = (uint64_t)grid->grid[0] * grid->grid[1] * grid->grid[2];
    sg_fault fault = SG_FAULT_NONE;
    sg_counts counts;
    uint64_t ran = blocks;
    struct memo *memo = &memos[key / 2 % MEMOS];
    const sg_sampling how = sg_sampling_now();
    grid->count = memo->key != key || (memo->ran < blocks && how == SG_SAMPLE_ALL) || how == SG_SAMPLE_KEPT;
    if (how == SG_SAMPLE_ALL)
        fault = sg_grid_run(grid, report, &counts);
    else if (grid->count)
        fault = sg_sample_run(grid, report, &counts, &ran);
    if (grid->count && fault == SG_FAULT_NONE)
        *memo = (struct memo){key, ran, counts};
    *known = *memo;
    return fault;
}

static CUresult run_launch(const sg_work *work)
{
    const sg_launch *launch = &work->launch;
    const sg_function *function = sg_handle_find(SG_FUNCTION, launch->kernel);
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    const int threads = (int)(launch->block[0] * launch->block[1] * launch->block[2]);
    const int fit = sg_blocks_per_sm(sg.profile, threads, (int)function->assembled.registers,
                                     (int)(function->assembled.static_shared + launch->dynamic_shared));
    /* The assembler heeds setmaxnreg where a kernel says how many threads it has and how many blocks an SM is to hold,
     * and gives registers in eights. */
    const bool counted = function->assembled.name && function->facts->max_threads > 0 && function->facts->min_blocks > 0;
    sg_grid grid = {
        .kernel = function->code, .dynamic_shared = launch->dynamic_shared, .params = launch->params,
        .memory = sg.memory, .sm_count = sg.profile->sm_count, .blocks_per_sm = fit > 0 ? fit : 1,
        .check_races = sg.check_races || sg_asked.check_races, .dependent = launch->dependent, .order = sg_asked.order,
        .registers = counted ? (function->assembled.registers + 7) / 8 * 8 : 0,
    };
    memcpy(grid.grid, launch->grid, sizeof grid.grid);
    memcpy(grid.block, launch->block, sizeof grid.block);
    memcpy(grid.cluster, launch->cluster, sizeof grid.cluster);
    sg_report report = {0};
    struct memo memo;
    const bool untimed = sg_sampling_now() == SG_SAMPLE_UNTIMED;
    const sg_fault fault =
        untimed ? sg_grid_run(&grid, &report, NULL) : run_grid(launch, &grid, &memo, &report);
    if (fault != SG_FAULT_NONE) {
        const size_t known = sizeof fault_results / sizeof fault_results[0];
        sg.fault = (size_t)fault < known ? fault_results[fault] : CUDA_ERROR_LAUNCH_FAILED;
        snprintf(sg.report, sizeof sg.report, "%s", report.message);
        return CUDA_SUCCESS;
    }
    if (untimed)
        return CUDA_SUCCESS;
    sg.last.counts = memo.counts;
    sg.last.ran = memo.ran;
    sg.last.counted = grid.count;
    sg.launched = true;
    take_time(launch, function, grid.blocks_per_sm);
    return CUDA_SUCCESS;
}

static void pass_l2(const sg_span *span, uint64_t bytes)
{
    sg_l2_reach(span->base, bytes, (uint64_t)sg.profile->l2_bytes);
    sg_l2_settle();
}

/* Fills bytes with copies of a pattern: doubled until it is long enough to be copied fast, and still in the cache. */
static void repeat(unsigned char *to, uint64_t bytes, const void *pattern, size_t width)
{
    const size_t longest = 1 << 14;
    size_t done = width;
    memcpy(to, pattern, width);
    while (done < bytes) {
        const size_t most = done < longest ? done : longest, left = bytes - done, step = left < most ? left : most;
        memcpy(to + done, to, step);
        done += step;
    }
}

static CUresult run_fill(const sg_work *work)
{
    const sg_fill *fill = &work->fill;
    const uint64_t bytes = fill->count * fill->width;
    const sg_span *span = sg_memory_find_range(sg.memory, fill->address, bytes);
    unsigned char *to = (unsigned char *)(uintptr_t)fill->address;
    if (!span) {
        sg.fault = CUDA_ERROR_ILLEGAL_ADDRESS; /* freed since it was captured */
        return CUDA_SUCCESS;
    }
    repeat(to, bytes, &fill->value, fill->width); /* the host is little-endian too: the value's low bytes */
    sg_span_mark(span, fill->address, bytes);
    pass_l2(span, bytes);
    sg.now_us += sg_model_fill_us(sg.profile, bytes);
    return CUDA_SUCCESS;
}

static CUresult run_copy(const sg_work *work)
{
    const sg_copy *copy = &work->copy;
    const sg_span *to = copy->to_device ? sg_memory_find_range(sg.memory, copy->to, copy->bytes) : NULL;
    const sg_span *from = copy->from_device ? sg_memory_find_range(sg.memory, copy->from, copy->bytes) : NULL;
    if ((copy->to_device && !to) || (copy->from_device && !from)) {
        sg.fault = CUDA_ERROR_ILLEGAL_ADDRESS;
        return CUDA_SUCCESS;
    }
    memmove((void *)(uintptr_t)copy->to, (const void *)(uintptr_t)copy->from, copy->bytes);
    if (to && from)
        sg_span_copy_marks(to, copy->to, from, copy->from, copy->bytes);
    else if (to)
        sg_span_mark(to, copy->to, copy->bytes);
    if (from)
        pass_l2(from, copy->bytes);
    if (to)
        pass_l2(to, copy->bytes);
    sg.now_us += to && from ? sg_model_fill_us(sg.profile, 2 * copy->bytes) : sg_model_transfer_us(copy->bytes);
    return CUDA_SUCCESS;
}

static CUresult (*const run[SG_WORK_KINDS])(const sg_work *) = {
    [SG_WORK_LAUNCH] = run_launch, [SG_WORK_FILL] = run_fill, [SG_WORK_COPY] = run_copy};

CUresult sg_work_run(const sg_work *work)
{
    return run[work->kind](work);
}

CUresult sg_work_check(const sg_work *work)
{
    const sg_fill *fill = &work->fill;
    const sg_copy *copy = &work->copy;
    uint64_t bytes;
    if (work->kind == SG_WORK_FILL)
        return fill->address % fill->width == 0 && !__builtin_mul_overflow(fill->count, fill->width, &bytes) &&
                       sg_memory_find_range(sg.memory, fill->address, bytes)
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_INVALID_VALUE;
    if (work->kind != SG_WORK_COPY)
        return CUDA_SUCCESS;
    const bool to = copy->to_device ? sg_memory_find_range(sg.memory, copy->to, copy->bytes) != NULL : copy->to != 0;
    const bool from =
        copy->from_device ? sg_memory_find_range(sg.memory, copy->from, copy->bytes) != NULL : copy->from != 0;
    return to && from ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

bool sg_launch_alloc(sg_launch *launch, uint32_t params_bytes, uint32_t param_count)
{
    const size_t pointers_at = (params_bytes + 15u) / 16 * 16;
    launch->params = calloc(1, pointers_at + param_count * sizeof(void *) + 16); /* never nothing */
    launch->param_pointers = launch->params ? (void **)(launch->params + pointers_at) : NULL;
    launch->params_bytes = params_bytes;
    launch->param_count = param_count;
    return launch->params != NULL;
}

bool sg_work_copy(const sg_work *work, sg_work *copy)
{
    const sg_launch *launch = &work->launch;
    *copy = *work;
    if (work->kind != SG_WORK_LAUNCH)
        return true;
    if (!sg_launch_alloc(&copy->launch, launch->params_bytes, launch->param_count))
        return false;
    memcpy(copy->launch.params, launch->params, launch->params_bytes);
    for (uint32_t i = 0; i < launch->param_count; i++)
        copy->launch.param_pointers[i] =
            copy->launch.params + ((unsigned char *)launch->param_pointers[i] - launch->params);
    return true;
}

void sg_work_finish(sg_work *work)
{
    if (work->kind == SG_WORK_LAUNCH)
        free(work->launch.params);
    *work = (sg_work){.kind = SG_WORK_FILL};
}
