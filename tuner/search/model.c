#include "model.h"

#include <math.h>

/* What the model needs of a configuration, read once from the space's columns. */
typedef struct shape_of {
    double tile_m, tile_n, bk, split_k, stages;
    double tm, tn; /* register tile */
    int threads, smem_bytes, regs;
} shape_of;

static shape_of read_shape(const gt_space *space, size_t row)
{
    shape_of c = {
        .tile_m = (double)gt_space_value(space, row, "bm", 1),
        .tile_n = (double)gt_space_value(space, row, "bn", 1),
        .bk = (double)gt_space_value(space, row, "bk", 16),
        .split_k = (double)gt_space_value(space, row, "split_k", 1),
        .stages = (double)gt_space_value(space, row, "stages", 1),
        .threads = (int)gt_space_value(space, row, "threads", 256),
        .smem_bytes = (int)gt_space_value(space, row, "smem_bytes", 0),
        .regs = (int)gt_space_value(space, row, "regs", 0),
    };
    const double each = sqrt(c.tile_m * c.tile_n / c.threads);
    c.tm = (double)gt_space_value(space, row, "tm", (int64_t)fmax(1, each));
    c.tn = (double)gt_space_value(space, row, "tn", (int64_t)fmax(1, each));
    return c;
}

/* Share of the multiply-add rate that the instructions around the multiply-adds leave. An SM issues four warp
 * instructions a clock; in one k-step a block's warps read their fragments from shared memory, which answers a 16-byte
 * load of a warp in two clocks, and bring their share of the next tile, some three instructions for two elements. */
static double tile_efficiency(const shape_of *c)
{
    const double fma = c->tile_m * c->tile_n / 32;
    const double reads = c->threads / 32.0 * (c->tm + c->tn) / 4;
    const double loads = 1.5 * (c->tile_m + c->tile_n) / 32;
    return fma / fmax(fma + reads + loads, 8 * reads);
}

/* Share of the time in which a scheduler finds a warp ready: many warps, or few with much to do between waits. */
static double readiness(const shape_of *c, double warps)
{
    const double depth = warps * c->tm * c->tn / 64;
    return depth / (depth + 1);
}

double gt_model_us(const gt_space *space, size_t row, const gt_device *device, const gt_problem *problem)
{
    const double clock = device->clock_khz > 0 ? device->clock_khz * 1e-3 : 1500; /* a microsecond */
    const int64_t clocks = gt_space_value(space, row, "clocks", 0);
    if (clocks > 0) /* the family's author knows better */
        return 2 + (double)clocks / clock;
    const shape_of c = read_shape(space, row);
    const int fit = c.threads > 0 ? gt_device_occupancy(device, c.threads, c.regs, c.smem_bytes) : 0;
    if (fit < 1 || c.split_k < 1)
        return INFINITY;
    const double m = (double)problem->m, n = (double)problem->n, k = (double)problem->k, batch = (double)problem->batch;
    const double bytes = gt_type_find(problem->class.type_a)->bytes;
    /* Families that leave the estimate to this one have threads multiply, all but a rung of the ladder. */
    const double peak = gt_device_fma_tflops(device, gt_class_types(&problem->class));
    const double fma_per_clock = peak > 0 ? peak * 1e6 / 2 / device->sm_count / clock : 64;

    const double tiles = ceil(m / c.tile_m) * ceil(n / c.tile_n) * batch, blocks = tiles * c.split_k;
    const double part = ceil(k / c.split_k / c.bk) * c.bk;     /* k-steps of one block */
    const double on_sm = ceil(blocks / device->sm_count);      /* blocks of the busiest SM */
    const double together = fmin(on_sm, fit);                  /* of them at the same time */
    const double warps = together * c.threads / 32;

    const double rate = fma_per_clock * tile_efficiency(&c) * readiness(&c, warps);
    const double compute = on_sm * c.tile_m * c.tile_n * part / rate / clock;

    /* Latency of global memory that the stages in flight do not cover, once for each step of the ring. */
    const double step = together * c.tile_m * c.tile_n * c.bk / fma_per_clock;
    const double exposed = fmax(0, 700 - fmax(1, c.stages - 1) * step) / clock;
    const double waiting = ceil(on_sm / fit) * (1000 / clock + part / c.bk * exposed / together);

    /* Tiles come from L2, 40 bytes a clock and SM; each operand once from memory, at about half of that. */
    const double l2 = blocks * (c.tile_m + c.tile_n) * part * bytes / (40.0 * device->sm_count * clock);
    const double memory = (m * k + k * n + m * n) * batch * bytes / (18.0 * device->sm_count * clock);
    const double parts = c.split_k > 1 ? 1.5 + c.split_k * c.tile_m * c.tile_n * 4 / (48 * clock) : 0;

    const double known = 1 + (double)gt_space_value(space, row, "penalty", 0) * 1e-3;
    return known * (2 + fmax(fmax(compute, l2), memory) + waiting + parts);
}
