#include "model.h"

#include <math.h>

#define WARP           32
#define SCHEDULERS     4
#define LAUNCH_US      1.2    /* between two launches in a row: H200, graph replay, times carried on to K = 0 */
#define MEMORY_SHARE   0.88   /* of the nominal bandwidth: H200, device copy */
#define FILL_US        1.8
#define TRANSFER_US    6.0
#define TRANSFER_BYTES 25e3   /* a microsecond: PCIe */
#define LOADS_TOGETHER 8.0    /* loads of a warp that are under way at once where PTX has them one by one */
#define L1_HITS        0.75   /* of loads that are not staged in shared memory */
#define L1_BYTES       64.0   /* a clock and SM */

/*
 * Fitted together to 332 trials of simt for 2048 x 2048 x 2048 on an H200, of one run of the tuner, and tried on 220
 * others of that run; tests/model_h200.txt has every 18th of all, from both, measured again as simt is now, and LOADED_CLOCKS is
 * fitted to those. Their form was found with one thing varied at a time:
 *
 * SLOT, READINESS: a warp alone on its scheduler takes half as long again as its slots and what the assembler orders
 * between them, two take 1.1 times as long together, four a little less: some of what one waits for is another's slot.
 *
 * CODE_MISSES: a loop that does not fit the instruction cache loses a little.
 *
 * SHARPNESS: issue slots, the load/store unit and the way from there to the registers go on side by side; where all are
 * equally busy, the eighth root of 3.
 */
#define SLOT           0.79
#define READINESS      0.66
#define CODE_BYTES     32768
#define CODE_MISSES    0.038
#define COPY_CLOCKS    2.0    /* of the load/store unit, for each copy of a warp in the background; a load takes one */
#define LOADED_CLOCKS  0.93   /* for what a warp loads of 128 bytes from shared memory, on their way to its registers */
#define SHARPNESS      8.0

/* Of an earlier run for six cubes from 128 to 4096. */
#define DIRECT_BYTES   41.0   /* a clock and SM: results, and parts of them that others left */
#define TRIP           4.9    /* latencies that a fence or an atomic takes */

static double largest(const double *times, int count)
{
    double most = 0;
    for (int i = 0; i < count; i++)
        most = fmax(most, times[i]);
    return most;
}

/* One block's work in clocks of an SM that does nothing else, by pipe. */
enum { ISSUE, FMA, ALU, HALF, SFU, F64, TENSOR, SHARED, LOADED, L1, PIPES }; /* SHARED: the load/store unit */

/* Turns of the main loop that all warps take together; 0 where it is not known. */
static double find_turns(const sg_shape *s, const sg_counts *c)
{
    return s->loop.math > 0 ? (double)c->products / s->loop.math : 0;
}

static void find_pipes(const sg_profile *p, const sg_shape *s, const sg_counts *c, double pipes[PIPES])
{
    /* The machine code knows how many instructions come with each multiply-add; PTX has more of them than are left. */
    const double turns = find_turns(s, c), slots = turns > 0 ? turns * s->loop.slots : (double)c->warp_instructions;
    const double all[PIPES] = {
        [ISSUE] = slots / SCHEDULERS,
        [FMA] = (double)c->fma * WARP / p->f32_lanes,
        [ALU] = (double)c->alu * WARP / p->int_lanes,
        [HALF] = (double)c->half * WARP / p->half_lanes,
        [SFU] = (double)c->sfu * WARP / p->sfu_lanes,
        [F64] = (double)c->f64 * WARP / p->f64_lanes,
        [TENSOR] = (double)c->tensor_flops / 2 / p->tensor_fma,
        [SHARED] = (double)(c->shared_wavefronts + c->global_loads) + (COPY_CLOCKS - 1) * (double)c->async_copies,
        [LOADED] = LOADED_CLOCKS * turns * s->loop.loads,
        [L1] = (double)c->global_sectors * 32 / L1_BYTES,
    };
    for (int i = 0; i < PIPES; i++)
        pipes[i] = all[i] / (double)s->blocks;
}

/* What a block waits for. */
typedef struct waits {
    double latency; /* clocks of one access to memory */
    double steps;   /* barriers that it passes */
    double stages;  /* tiles that shared memory holds; 0: none is staged there */
    double bare;    /* accesses that a warp waits for with nothing else to do */
    double trips;   /* fences and atomics of a warp */
    double pauses;  /* clocks around barriers, which come to all its warps at once */
} waits;

static waits find_waits(const sg_profile *p, const sg_shape *s, const sg_counts *c)
{
    const double blocks = (double)s->blocks, warps = blocks * ceil(s->threads / (double)WARP);
    const double stored = (double)(c->shared_bytes > c->async_bytes ? c->shared_bytes : c->async_bytes) / blocks;
    waits w = {.latency = p->l2_latency + s->cold * (p->memory_latency - p->l2_latency),
               .steps = (double)c->barriers / blocks,
               .bare = ((double)c->bare_copies + (double)c->direct_rounds / LOADS_TOGETHER) / warps,
               .trips = (double)c->round_trips / warps,
               .pauses = find_turns(s, c) / warps * s->loop.pauses};
    if (stored > 0 && w.steps > 0) {
        w.stages = fmax(1, s->shared_bytes * w.steps / stored);
        if ((double)c->async_bytes / blocks < 0.95 * stored)
            w.stages = fmin(w.stages, 2); /* what comes through registers is asked for one tile ahead */
    }
    return w;
}

/* What a block writes, and what it reads of others, comes when its pipeline has run out. Without one, L1 has it. */
static double direct(const waits *w, double sectors)
{
    return w->stages > 0 ? sectors * 32 / DIRECT_BYTES : 0;
}

/* Clocks of a scheduler for the slots of `blocks` blocks side by side. */
static double issue(const sg_shape *s, const double pipes[PIPES], double blocks)
{
    const double warps = blocks * ceil(s->threads / (double)WARP), used = fmin(warps, SCHEDULERS);
    const double longer = (double)(s->loop.stalls - s->loop.pauses) + s->loop.conflicts;
    const double code = s->loop.bytes > CODE_BYTES ? 1 + CODE_MISSES : 1;
    return blocks * pipes[ISSUE] * SCHEDULERS / used * (SLOT + READINESS * used / warps) * code *
           (1 + longer / fmax(1, s->loop.slots));
}

/* Clocks that `blocks` blocks take side by side on one SM. */
static double wave(const sg_shape *s, const sg_counts *c, const waits *w, const double pipes[PIPES], double blocks)
{
    const double side_by_side[] = {issue(s, pipes, blocks), blocks * pipes[SHARED], blocks * pipes[LOADED]};
    double busy = 0;
    for (int i = 0; i < 3; i++)
        busy += pow(side_by_side[i], SHARPNESS);
    busy = pow(busy, 1 / SHARPNESS);
    for (int i = 0; i < PIPES; i++)
        busy = fmax(busy, i == SHARED || i == LOADED ? 0 : blocks * pipes[i]);
    busy += w->pauses;
    /* Latencies differ: the further ahead a tile is asked for, the fewer of them are longer than that. */
    if (w->stages > 0)
        busy += w->steps * w->latency * exp(-(w->stages - 1) * busy / w->steps / w->latency);
    busy = fmax(busy, busy / blocks + w->bare * w->latency);
    const double sectors = blocks * (double)c->direct_sectors / (double)s->blocks;
    return busy + (1 + w->trips * TRIP) * w->latency + direct(w, sectors);
}

/* Clocks of the busiest SM. */
static double find_sm(const sg_profile *p, const sg_shape *s, const sg_counts *c, const double pipes[PIPES])
{
    const waits w = find_waits(p, s, c);
    const double sms = p->sm_count, fit = s->blocks_per_sm;
    const double full = floor((double)s->blocks / (sms * fit)), rest = (double)s->blocks - full * sms * fit;
    const double most = ceil(rest / sms);
    double sm = direct(&w, (double)c->direct_most);
    if (full > 0)
        sm += full * wave(s, c, &w, pipes, fit);
    if (rest > 0)
        sm += wave(s, c, &w, pipes, most);
    /* After a full wave the rest is not spread evenly: an SM that is free early may take one more. */
    if (full > 0 && rest > 0)
        sm += (wave(s, c, &w, pipes, fmin(most + 1, fit)) - wave(s, c, &w, pipes, most)) / 2;
    return sm;
}

sg_cost sg_model_launch(const sg_profile *p, const sg_shape *s, const sg_counts *c)
{
    double pipes[PIPES];
    const double clock = p->clock_khz * 1e-3; /* a microsecond */
    const double blocks = (double)s->blocks, sms = p->sm_count, fit = s->blocks_per_sm;
    const double full = floor(blocks / (sms * fit)), rest = blocks - full * sms * fit;
    const double on_sm = full * fit + ceil(rest / sms); /* of the busiest SM */
    find_pipes(p, s, c, pipes);

    const double sm = find_sm(p, s, c, pipes);
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
        .tensor = on_sm * pipes[TENSOR] / clock, .shared = on_sm * fmax(pipes[SHARED], pipes[LOADED]) / clock,
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
