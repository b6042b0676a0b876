#include "clocks.h"

#include "../core/residence.h"
#include "../core/traits.h"
#include "boxes.h"

/* Bytes that memory, or L2 where all operands stay there, gives each of all SMs in a clock. */
#define MEMORY_RATE 18.0
#define WARM_RATE   28.0

/* Of L2 by the copy engine, and where few SMs ask; clocks from a request for a box to its end, and stages that are not
 * on their way: the one that is multiplied and some of the one before. */
#define BOXES_RATE     56.0
#define BOXES_RATE_FEW 64.0
#define BOX_LATENCY    1600.0
#define STAGES_READ    1.7

/* How much longer L2 takes for operands that stay there where all blocks of a dependent launch begin on other SMs than those
 * of the launch before: each half of L2 has what its own SMs read. On an H200 64x6144x3072 and 6144x64x3072 of bf16, which
 * take 17 to 19 us behind another kernel, take 8.2 to 9.0 in 128 blocks, 9.8 in 64, 11.7 to 12.9 in 96 and 14.4 in 77. */
#define MOVED 1.0

/* Of the time that L2 takes for a stream into registers, what is left where the next launch's is beside it. */
#define SHARED_L2 0.75

/* How much longer memory takes for a stream into registers that L2 is not told to evict first: it evicts what the next
 * launch would have found. */
#define NOT_EVICTED 1.15

/* Clocks from a request for a stream to its answer: what lanes have on its way comes once in so many. */
#define LATENCY 600.0

/* Copies to shared memory that begin in a clock and SM, of 4, 8 or 16 bytes each; of a first stage, whose copies all threads
 * begin together. */
#define PIECES_RATE       2.0
#define FIRST_PIECES_RATE 6.0

/* Such copies that a piece of zeros takes as long as. */
#define ZEROS 2.0

#define COPIERS      8.0    /* warps of an SM from which on their copies are as fast as they can be */
#define COPIERS_TILE 1024.0 /* elements of a warp's tile up to which they are */

/* Clocks until copies are made; of warp groups, whose blocks prepare their product meanwhile. */
#define COPIES_BEGIN        8000.0
#define GROUPS_COPIES_BEGIN 3200.0

/* Clocks for an element that a thread takes to or from shared memory by itself; of which each lane reads one elsewhere. */
#define ELEMENT 0.0625
#define APART   0.25

#define SECTOR 32 /* bytes that L2 gives and memory is read by */

double gt_clocks_memory(const gt_device *device, double moved, double bytes)
{
    const double rate = gt_residence_stays(device, bytes) ? WARM_RATE : MEMORY_RATE;
    return moved / rate / fmax(device->sm_count, 1);
}

/* How many times a stream is read that lanes take in whole vectors. Where rows do not begin with sectors, each request
 * touches one more of them than it has bytes for; where they do not begin with lines, two tiles side by side share one, or
 * two steps along K. On an H200 odd rows of f32 that L2 does not hold took 1.3 times as long in tiles of 60 to 1020 columns,
 * 1.5 times in those of 28; 1x9000xK in 16 lanes along K takes 7.5 us for K = 1120, 8.0 for 1104 and 10.4 for 1100.
 * Columns shifted so that requests begin with sectors, or lines kept in L1, were no faster. Warps that read a row along K
 * into registers lose next to nothing. */
static double times_read(const gt_kernel *kernel, const gt_problem *p)
{
    const gt_operand stream = gt_traits_stream(kernel);
    const int64_t bytes = gt_type_find(p->class.type_b)->bytes, row = (stream == GT_A ? p->lda : p->ldb) * bytes;
    const double lanes = gt_trait(kernel, "lanes_k", 0);
    const int64_t tile = stream == GT_A ? kernel->facts.tile_m : kernel->facts.tile_n;
    const bool along = gt_traits_along(p, stream), warps = along && gt_traits_held(kernel);
    if (lanes <= 0 || row % GT_REQUEST == 0 || gt_traits_pieces(kernel, p, stream) > 0 || warps)
        return 1;
    const double run = along ? lanes * 16 : (double)(tile * bytes); /* bytes that follow each other */
    return 1 + (row % SECTOR != 0 ? (double)SECTOR / GT_REQUEST : 0) + SECTOR / run;
}

/* Clocks in which a stream comes of which so many blocks' lanes have their vectors on the way. */
static double flight_clocks(const gt_kernel *kernel, const gt_problem *p, double blocks)
{
    const double flight =
        (double)kernel->facts.threads * gt_trait(kernel, "unroll", 1) * gt_trait(kernel, "cols", 1) * 16 * blocks;
    const double bytes = (double)p->n * (double)p->k * (double)p->batch * gt_type_find(p->class.type_b)->bytes;
    return bytes * times_read(kernel, p) * LATENCY / flight;
}

/* Clocks in which the operands are moved. A stream that L2 does not hold is read again by every tile across the few rows
 * or columns of C: kernels whose lanes lie over K have one such stream. L2 takes C in any case; memory has it later. */
static double operand_clocks(const gt_device *device, const gt_kernel *kernel, const gt_problem *p)
{
    const double ab = gt_type_find(p->class.type_a)->bytes, c = gt_type_find(p->class.type_c)->bytes;
    const double m = (double)p->m, n = (double)p->n, k = (double)p->k, batch = (double)p->batch;
    const double stored = m * n * c * batch, bytes = (m + n) * k * ab * batch + stored;
    const double stream = (gt_traits_stream(kernel) == GT_A ? m : n) * k * ab * batch;
    double moved = bytes - stored + (times_read(kernel, p) - 1) * stream;
    if (!gt_residence_stays(device, bytes) && gt_trait(kernel, "lanes_k", 0) > 0) {
        const double tiles = m < n ? ceil(m / (double)kernel->facts.tile_m) : ceil(n / (double)kernel->facts.tile_n);
        moved += (tiles - 1) * fmax(m, n) * k * ab * batch;
    }
    return gt_clocks_memory(device, moved, bytes) + gt_clocks_memory(device, stored, 0);
}

double gt_clocks_moved(const gt_device *device, const gt_kernel *kernel, const gt_launch *launch, const gt_shares *s)
{
    const gt_problem *p = &launch->problem;
    const double clocks = operand_clocks(device, kernel, p) * s->uneven;
    if (gt_traits_boxes(kernel) && gt_residence_halved(device, p))
        return clocks * (1 + (launch->dependent ? MOVED * gt_residence_moved(device, kernel, launch) : 0));
    if (!gt_traits_held(kernel))
        return clocks;
    const bool in_l2 = gt_residence_stays(device, (double)gt_problem_bytes(p, GT_B));
    const bool first = gt_trait(kernel, "hint", 0) > 0; /* to be evicted */
    const double times = !in_l2 ? (first ? 1 : NOT_EVICTED) : s->beside ? SHARED_L2 : 1;
    return gt_clocks_together(times * clocks, flight_clocks(kernel, p, s->resident));
}

/* What a block reads of an operand for its tile: bytes, and pieces of them that take longer than those of 16 bytes. */
typedef struct moved {
    double bytes, pieces;
} moved;

static moved moved_of(const gt_device *device, const gt_kernel *kernel, const gt_launch *launch, gt_operand operand,
                      const gt_shares *s)
{
    const gt_problem *p = &launch->problem;
    if (gt_traits_boxes(kernel)) {
        const double inside = fmin((double)p->k / (double)kernel->facts.split_k, s->part);
        const double busy = fmin(1, s->resident / fmax(device->sm_count, 1));
        const gt_boxes boxes = gt_boxes_moved(kernel, launch, operand, s->part, inside, busy, s->sets <= 1);
        return (moved){boxes.bytes, boxes.zeros * ZEROS};
    }
    const double ab = gt_type_find(p->class.type_a)->bytes;
    const double tile = (double)(operand == GT_A ? kernel->facts.tile_m : kernel->facts.tile_n);
    const double inside = operand == GT_A ? s->rows : s->columns, bytes = s->part * ab;
    const double beyond = operand == GT_A ? 0 : gt_traits_beyond(kernel, p);
    /* Where lanes lie over K, of a row across it that is longer than its part in the tile whole sectors come. */
    const bool across = gt_trait(kernel, "lanes_k", 0) > 0 && !gt_traits_along(p, operand);
    const double row = (double)(operand == GT_A ? p->lda : p->ldb), least = across ? fmin(SECTOR / ab, row) : 0;
    /* Zeros, too, by those that tensor cores read. */
    const double copied = gt_traits_multiplier(kernel) == GT_BY_THREADS ? inside : tile;
    return (moved){fmax(inside + beyond, least) * bytes, copied * bytes * gt_traits_pieces(kernel, p, operand)};
}

/* How many times longer pieces take where the warps that multiply copy them, too: few on an SM wait for their own, and those
 * with large tiles longer. On an H200 201x203x4001 of tf32, in 64x64 tiles, takes 24.0 us by four warps of 32x32 and 55.6 by two
 * of 64x32; 1001x999x501 18.2 by eight of 32x32 and 50.1 by four of 64x64. */
static double waiting_copiers(const gt_kernel *kernel, const gt_shares *s)
{
    const double warps = fmax(fmin(s->held, s->per_sm) * gt_traits_warps(kernel), 1);
    const double tile = gt_trait(kernel, "wm", 0) * gt_trait(kernel, "wn", 0);
    const bool multiply = gt_traits_multiplier(kernel) == GT_BY_WARPS;
    return multiply ? sqrt(fmax(COPIERS / warps, 1) * fmax(tile / COPIERS_TILE, 1)) : 1;
}

/* Bytes that L2 gives an SM in a clock. The copy engine has all stages but the last two on their way; where few blocks
 * ask each gets more. */
static double l2_rate(const gt_device *device, const gt_kernel *kernel, const gt_shares *s)
{
    if (!gt_traits_boxes(kernel))
        return GT_L2_RATE;
    const double stages = fmax(gt_trait(kernel, "stages", 4), 2), sms = fmax(device->sm_count, 1);
    const double flight =
        fmin(s->held, s->per_sm) * (double)kernel->facts.smem_bytes * (1 - STAGES_READ / stages) / BOX_LATENCY;
    return fmin(fmin(BOXES_RATE_FEW, BOXES_RATE * sms / fmin(sms, s->resident)), flight);
}

/* Clocks in which threads that store vectors read elements one by one. Those that keep columns of B have them, and A,
 * brought to shared memory first, and read their columns there once for all rows that begin alike. Others read B again at
 * each turn where K takes more than one step: an element a lane, which lie side by side unless B lies along K. */
static double again_clocks(const gt_kernel *kernel, const gt_problem *p, const gt_shares *s)
{
    if (gt_traits_keeps_columns(kernel))
        return s->per_sm * s->part * (s->columns * (1 + gt_traits_apart(kernel, p)) + s->rows) * ELEMENT;
    if (!gt_traits_stores_vectors(kernel) || s->steps <= 1)
        return 0;
    const double elements = s->per_sm * s->columns * s->part * gt_trait(kernel, "down", 1) * s->turns;
    return elements * (p->class.op_b == GT_T ? APART : 1.0 / 32);
}

void gt_clocks_read(const gt_device *device, const gt_kernel *kernel, const gt_launch *launch, const gt_shares *s,
                    double *l2, double *narrow)
{
    const moved a = moved_of(device, kernel, launch, GT_A, s), b = moved_of(device, kernel, launch, GT_B, s);
    *l2 = s->per_sm * (a.bytes + b.bytes) / l2_rate(device, kernel, s) + again_clocks(kernel, &launch->problem, s);
    *narrow = s->per_sm * (a.pieces + b.pieces) * waiting_copiers(kernel, s) / PIECES_RATE;
}

double gt_clocks_first(const gt_kernel *kernel, const gt_problem *p, const gt_shares *s)
{
    const double ab = gt_type_find(p->class.type_a)->bytes, depth = fmin(gt_traits_step(kernel, p), s->part);
    const double pieces = s->rows * gt_traits_pieces(kernel, p, GT_A) + s->columns * gt_traits_pieces(kernel, p, GT_B);
    const double clocks = (s->rows + s->columns) * ab / GT_L2_RATE + pieces * ab / FIRST_PIECES_RATE;
    const double begins = kernel->facts.blocks > 0 ? 1 : s->begins; /* persistent blocks load ahead of their next tile */
    const bool staged = gt_trait(kernel, "stages", 0) > 0 && gt_traits_multiplier(kernel) != GT_BY_WARPS;
    return staged ? begins * fmin(s->per_sm, s->held) * depth * clocks : 0;
}

double gt_clocks_copied(const gt_device *device, const gt_kernel *kernel, const gt_launch *launch)
{
    double bytes = 0;
    for (gt_operand i = GT_A; i <= GT_B; i++)
        bytes += launch->maps.readable[i] ? 0 : 2 * (double)launch->copies.bytes[i] * (double)launch->problem.batch;
    if (bytes <= 0)
        return 0;
    const double begin = gt_traits_multiplier(kernel) == GT_BY_WARP_GROUPS ? GROUPS_COPIES_BEGIN : COPIES_BEGIN;
    return begin + gt_clocks_memory(device, bytes, bytes);
}
