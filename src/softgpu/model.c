#include "model.h"

#include <math.h>

/*
 * ISSUE_SHARE to RAMP_CLOCKS were fitted to simt on an H200: 74 configurations at 1024 and 2048 cubed, error of the
 * logarithm 5%; 36 more at 512 cubed, not fitted to, agree within 11%.
 */
#define WARP           32
#define SCHEDULERS     4
#define LAUNCH_US      2.3    /* between two launches in a row: H200, graph replay */
#define ISSUE_SHARE    0.85   /* of its slots that a scheduler fills at best */
#define SHARED_SHARE   1.1    /* wavefronts a clock: some broadcasts need fewer than are counted */
#define READINESS      0.72   /* how much a lack of warps and of independent work costs */
#define RAMP_CLOCKS    9900.0 /* a wave's first loads and last stores, where no other block works meanwhile */
#define LOADS_TOGETHER 8.0    /* loads of one warp in flight where nothing is staged */
#define L1_HITS        0.75   /* of loads that are not staged in shared memory */
#define L1_BYTES       64.0   /* a clock and SM */
#define MEMORY_SHARE   0.88   /* of the nominal bandwidth: H200, device copy */
#define FILL_US        1.8
#define TRANSFER_US    6.0
#define TRANSFER_BYTES 25e3   /* a microsecond: PCIe */

static double largest(const double *times, int count)
{
    double most = 0;
    for (int i = 0; i < count; i++)
        most = fmax(most, times[i]);
    return most;
}

/* One block's work in clocks of an SM that does nothing else, by pipe. */
enum { ISSUE, FMA, ALU, HALF, SFU, F64, TENSOR, SHARED, L1, PIPES };

static void find_pipes(const sg_profile *p, const sg_counts *c, double blocks, double pipes[PIPES])
{
    const double all[PIPES] = {
        [ISSUE] = (double)c->warp_instructions / (SCHEDULERS * ISSUE_SHARE),
        [FMA] = (double)c->fma * WARP / p->f32_lanes,
        [ALU] = (double)c->alu * WARP / p->int_lanes,
        [HALF] = (double)c->half * WARP / p->half_lanes,
        [SFU] = (double)c->sfu * WARP / p->sfu_lanes,
        [F64] = (double)c->f64 * WARP / p->f64_lanes,
        [TENSOR] = (double)c->tensor_flops / 2 / p->tensor_fma,
        [SHARED] = (double)c->shared_wavefronts / SHARED_SHARE,
        [L1] = (double)c->global_sectors * 32 / L1_BYTES,
    };
    for (int i = 0; i < PIPES; i++)
        pipes[i] = all[i] / blocks;
}

/* Clocks in which one wave's blocks wait for memory, and what they have to do meanwhile. */
typedef struct waits {
    double latency;  /* of one load */
    double steps;    /* barriers that a block passes */
    double stages;   /* tiles in flight; 0: none is copied asynchronously */
    double exposed;  /* clocks that a block waits in all where nothing is asynchronous */
} waits;

static waits find_waits(const sg_profile *p, const sg_shape *s, const sg_counts *c)
{
    const double warps = (double)s->blocks * ((s->threads + WARP - 1) / WARP), blocks = (double)s->blocks;
    waits w = {.latency = p->l2_latency + s->cold * (p->memory_latency - p->l2_latency),
               .steps = (double)c->barriers / blocks};
    if (c->async_bytes > 0 && w.steps > 0) {
        const double stage = (double)c->async_bytes / blocks / w.steps;
        w.stages = fmax(1, s->shared_bytes / stage);
    } else if (w.steps > 0) {
        w.exposed = fmax(1, w.steps / 2) * w.latency; /* one barrier before a tile is overwritten, one after */
    } else {
        w.exposed = (double)c->global_loads / warps / LOADS_TOGETHER * w.latency;
    }
    return w;
}

/* Independent multiply-adds of a thread: a register tile of t by t makes 2t of them for each fragment it reads. */
static double find_depth(const sg_shape *s, const sg_counts *c, double blocks)
{
    const double work = (double)(c->fma + c->half + c->alu), reads = (double)c->shared_loads;
    const double tile = reads > 0 ? fmin(fmax(work / reads / 2, 1), 12) : 2;
    return blocks * ceil(s->threads / (double)WARP) * (c->tensor > 0 ? 64 : tile * tile) / 64;
}

/* Clocks that `blocks` blocks take side by side on one SM. Schedulers find a warp ready more often the more warps there
 * are and the more each has to do between waits. */
static double wave(const sg_shape *s, const sg_counts *c, const waits *w, const double pipes[PIPES], double blocks)
{
    const double alone = largest(pipes, PIPES), depth = find_depth(s, c, blocks);
    const double busy = blocks * alone * (1 + READINESS / depth);
    double exposed = w->exposed;
    if (w->stages > 0)
        exposed = w->latency + w->steps * fmax(0, w->latency - (w->stages - 1) * busy / w->steps);
    return fmax(busy, alone + exposed) + RAMP_CLOCKS / blocks;
}

sg_cost sg_model_launch(const sg_profile *p, const sg_shape *s, const sg_counts *c)
{
    double pipes[PIPES];
    const double clock = p->clock_khz * 1e-3; /* a microsecond */
    const double blocks = (double)s->blocks, sms = p->sm_count, fit = s->blocks_per_sm;
    const double full = floor(blocks / (sms * fit)), rest = blocks - full * sms * fit;
    const double on_sm = full * fit + ceil(rest / sms); /* of the busiest SM */
    const waits w = find_waits(p, s, c);
    find_pipes(p, c, blocks, pipes);

    double sm = full > 0 ? full * wave(s, c, &w, pipes, fit) : 0;
    if (rest > 0)
        sm += wave(s, c, &w, pipes, ceil(rest / sms));
    /* What goes through shared memory is fetched once for each block; else L1 serves most of it. */
    const double hits = c->shared_stores > 0 || c->async_bytes > 0 ? 0 : L1_HITS;
    const double l2 = (double)c->global_sectors * 32 * (1 - hits) / p->l2_bytes_per_clock;
    const double bandwidth = p->memory_clock_khz * 1e-3 * 2 * p->bus_bits / 8 * MEMORY_SHARE; /* bytes a microsecond */
    const double memory = (double)s->footprint * s->cold / bandwidth;

    const double parts[] = {sm / clock, l2 / clock, memory};
    return (sg_cost){
        .us = LAUNCH_US + largest(parts, 3),
        .issue = on_sm * pipes[ISSUE] / clock, .fma = on_sm * pipes[FMA] / clock, .alu = on_sm * pipes[ALU] / clock,
        .half = on_sm * pipes[HALF] / clock, .sfu = on_sm * pipes[SFU] / clock, .f64 = on_sm * pipes[F64] / clock,
        .tensor = on_sm * pipes[TENSOR] / clock, .shared = on_sm * pipes[SHARED] / clock,
        .l1 = on_sm * pipes[L1] / clock,
        .latency = fmax(0, sm - on_sm * largest(pipes, PIPES)) / clock,
        .l2 = parts[1], .memory = memory, .launch = LAUNCH_US, .waves = blocks / (sms * fit),
    };
}

double sg_model_fill_us(const sg_profile *p, uint64_t bytes)
{
    return FILL_US + (double)bytes / (p->memory_clock_khz * 1e-3 * 2 * p->bus_bits / 8 * MEMORY_SHARE);
}

double sg_model_transfer_us(uint64_t bytes)
{
    return TRANSFER_US + (double)bytes / TRANSFER_BYTES;
}
