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
 * Fitted together, to two runs of the tuner for simt on an H200 (711 trials of six cubes from 128 to 4096), and
 * tried on a third: tests/model_h200.txt. Their form was found with one thing varied at a time:
 *
 * SLOT to CODE_MISSES: a warp alone on its scheduler takes half as long again as its instructions have slots, two take
 * 1.2 times as long together, four about as long as their slots; of the pauses that the assembler orders some stay
 * visible, those around barriers the less the more blocks an SM has; a loop that does not fit the instruction cache
 * loses a little.
 *
 * SHARPNESS: issue slots and the load/store unit go on side by side; where they are equally busy, the fourth root of 2.
 */
#define SLOT           0.90
#define READINESS      0.55
#define STALLS         0.28
#define CODE_BYTES     32768
#define CODE_MISSES    0.014
#define COPY_CLOCKS    3.6    /* of the load/store unit, for each copy of a warp in the background; a load takes one */
#define SHARPNESS      4.0
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
enum { ISSUE, FMA, ALU, HALF, SFU, F64, TENSOR, SHARED, L1, PIPES }; /* SHARED: the load/store unit */

/* The machine code knows how many instructions come with each multiply-add; PTX has more of them than are left. */
static double find_slots(const sg_shape *s, const sg_counts *c)
{
    return s->loop.math > 0 && c->products > 0 ? (double)c->products * s->loop.slots / s->loop.math
                                               : (double)c->warp_instructions;
}

static void find_pipes(const sg_profile *p, const sg_shape *s, const sg_counts *c, double pipes[PIPES])
{
    const double all[PIPES] = {
        [ISSUE] = find_slots(s, c) / SCHEDULERS,
        [FMA] = (double)c->fma * WARP / p->f32_lanes,
        [ALU] = (double)c->alu * WARP / p->int_lanes,
        [HALF] = (double)c->half * WARP / p->half_lanes,
        [SFU] = (double)c->sfu * WARP / p->sfu_lanes,
        [F64] = (double)c->f64 * WARP / p->f64_lanes,
        [TENSOR] = (double)c->tensor_flops / 2 / p->tensor_fma,
        [SHARED] = (double)(c->shared_wavefronts + c->global_loads) + (COPY_CLOCKS - 1) * (double)c->async_copies,
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
} waits;

static waits find_waits(const sg_profile *p, const sg_shape *s, const sg_counts *c)
{
    const double blocks = (double)s->blocks, warps = blocks * ceil(s->threads / (double)WARP);
    const double stored = (double)(c->shared_bytes > c->async_bytes ? c->shared_bytes : c->async_bytes) / blocks;
    waits w = {.latency = p->l2_latency + s->cold * (p->memory_latency - p->l2_latency),
               .steps = (double)c->barriers / blocks,
               .bare = ((double)c->bare_copies + (double)c->direct_rounds / LOADS_TOGETHER) / warps,
               .trips = (double)c->round_trips / warps};
    if (stored > 0 && w.steps > 0) {
        w.stages = fmax(1, s->shared_bytes * w.steps / stored);
        if ((double)c->async_bytes / blocks < 0.95 * stored)
            w.stages = fmin(w.stages, 2); /* what comes through registers is asked for one tile ahead */
    }
    return w;
}

/* Clocks of a scheduler for the slots of `blocks` blocks side by side. */
static double issue(const sg_shape *s, const double pipes[PIPES], double blocks)
{
    const double warps = blocks * ceil(s->threads / (double)WARP), used = fmin(warps, SCHEDULERS);
    const double slots = fmax(1, s->loop.slots), pauses = s->loop.pauses / slots, others = s->loop.stalls / slots - pauses;
    const double code = s->loop.bytes > CODE_BYTES ? 1 + CODE_MISSES : 1;
    return blocks * pipes[ISSUE] * SCHEDULERS / used * (SLOT + READINESS * used / warps) * code *
           (1 + STALLS * (others + pauses / blocks));
}

/* Clocks that `blocks` blocks take side by side on one SM. */
static double wave(const sg_shape *s, const sg_counts *c, const waits *w, const double pipes[PIPES], double blocks)
{
    const double shared = blocks * pipes[SHARED], slots = issue(s, pipes, blocks);
    double busy = pow(pow(slots, SHARPNESS) + pow(shared, SHARPNESS), 1 / SHARPNESS);
    for (int i = 0; i < PIPES; i++)
        busy = fmax(busy, i == SHARED ? 0 : blocks * pipes[i]);
    /* Latencies differ: the further ahead a tile is asked for, the fewer of them are longer than that. */
    if (w->stages > 0)
        busy += w->steps * w->latency * exp(-(w->stages - 1) * busy / w->steps / w->latency);
    busy = fmax(busy, busy / blocks + w->bare * w->latency);
    /* What a block writes, and what it reads of others, comes when its pipeline has run out. Without one, L1 has it. */
    const double direct = blocks * (double)c->direct_sectors / (double)s->blocks + (double)c->direct_most;
    return busy + (1 + w->trips * TRIP) * w->latency + (w->stages > 0 ? direct * 32 / DIRECT_BYTES : 0);
}

sg_cost sg_model_launch(const sg_profile *p, const sg_shape *s, const sg_counts *c)
{
    double pipes[PIPES];
    const double clock = p->clock_khz * 1e-3; /* a microsecond */
    const double blocks = (double)s->blocks, sms = p->sm_count, fit = s->blocks_per_sm;
    const double full = floor(blocks / (sms * fit)), rest = blocks - full * sms * fit;
    const double on_sm = full * fit + ceil(rest / sms); /* of the busiest SM */
    const waits w = find_waits(p, s, c);
    find_pipes(p, s, c, pipes);

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
