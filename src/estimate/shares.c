#include "shares.h"

#include <math.h>

#include "../core/residence.h"
#include "../core/traits.h"

/* Latency left uncovered by a set of resident blocks, as the work of so many warps: a lone block of 4 warps gets 2/3
 * of the SM's throughput, one of 8 warps 4/5. By who multiplies. */
static const double uncovered_warps[] = {[GT_BY_THREADS] = 2, [GT_BY_WARPS] = 1, [GT_BY_WARP_GROUPS] = 0};

/* Of the first loads, that a dependent launch hides where it has SMs of its own beside the launch before it; and that one
 * of a stream hides where both find room together: memory has the next stream's requests when this one's run out. */
#define HIDDEN        0.25
#define HIDDEN_STREAM 0.5
#define HIDDEN_GROUPS 0.8 /* of warp groups, less what the launch has of all SMs */

/* Of the blocks that the fullest SM has beyond the average, how much longer a stream takes; and memory for what warp groups
 * multiply of operands that L2 does not hold, where a last set, or the only one, leaves SMs idle. On an H200 64x12288x6144 of
 * bf16 takes 44.1 us in 96 blocks, 37.7 in 128; 10368x8x12696, by 162 blocks, 76, where memory takes 62. */
#define UNEVEN_STREAM 0.5
#define UNEVEN_GROUPS 0.25

/* Of the blocks that the fullest SM of a crowded launch has beyond the others, what counts: less of those of mma.sync, by 2,400
 * trials of bf16 on an H200, where 1536x768x1 takes 4.6 us in 288 blocks, of which an SM holds four, and 3.9 behind another
 * kernel. */
#define CROWDED_WARPS 0.5

/* Steps of K that are multiplied together at its end. */
#define LAST_STEPS 8.0

double gt_shares_uncovered(const gt_kernel *kernel, const gt_shares *s)
{
    return 1 + uncovered_warps[gt_traits_multiplier(kernel)] / fmax(s->warps, 1);
}

/* Tiles that persistent blocks take in turns, in whole clusters: those beyond C take their turn, too. */
static double count_tiles(const gt_kernel *kernel, const gt_problem *p)
{
    int64_t tiles = 0;
    return gt_launch_tiles(kernel, p, &tiles) ? (double)tiles : INFINITY;
}

/* Of all operands. */
static double bytes_of(const gt_problem *p)
{
    return (double)gt_problem_bytes(p, GT_A) + (double)gt_problem_bytes(p, GT_B) + (double)gt_problem_bytes(p, GT_C);
}

/* Of the blocks that the fullest SM may have beyond the others, those that a launch's time is longer by: none unless it is a
 * dependent one that needs more than half of the places. Blocks that find none beside the launch before them take the first
 * that it leaves: some SMs are full then while others have few blocks. On an H200 such launches took 13 to 35% longer than the
 * rest of the estimate says. */
static double crowding(const gt_kernel *kernel, const gt_launch *launch, double launched, double sms, int resident)
{
    if (!launch->dependent || kernel->facts.blocks > 0 || 2 * launched <= sms * resident || launched >= sms * (resident - 1))
        return 0;
    return gt_traits_multiplier(kernel) == GT_BY_WARPS ? CROWDED_WARPS : 1;
}

gt_shares gt_shares_find(const gt_device *device, const gt_kernel *kernel, const gt_launch *launch)
{
    const gt_facts *f = &kernel->facts;
    const gt_problem *p = &launch->problem;
    const int resident = gt_residence_blocks(device, kernel);
    const double step = gt_traits_step(kernel, p), batch = (double)p->batch;
    const double launched = gt_residence_launched(kernel, launch);
    const double sms = gt_residence_sms(device, kernel, resident == 1 || launched <= device->sm_count);
    const double blocks = (double)f->blocks, tiles = blocks > 0 ? count_tiles(kernel, p) : 1;
    const bool groups = gt_traits_multiplier(kernel) == GT_BY_WARP_GROUPS;
    const double crowded = crowding(kernel, launch, launched, sms, resident), even = ceil(launched / sms);
    gt_shares s = {
        .per_sm = even + crowded * (resident - even), /* blocks, for now */
        .uneven = 1 + crowded * (resident * sms / launched - 1),
        .rows = fmin((double)f->tile_m, (double)p->m),
        .columns = fmin((double)f->tile_n, (double)p->n),
        .sharers = fmax(blocks / (tiles * fmin((double)f->products, batch)), 1),
        .turns = gt_traits_stores_vectors(kernel) ? ceil(fmin((double)f->tile_m, (double)p->m) / gt_traits_rows(kernel)) : 1,
        .held = resident,
        .resident = fmin(launched, sms * resident),
        .beside = launch->dependent && 2 * launched <= sms * resident && gt_trait(kernel, "lanes_k", 0) > 0,
    };
    s.sets = ceil(s.per_sm / resident);
    s.warps = gt_traits_warps(kernel) * fmin(s.per_sm, resident);
    s.per_sm *= (double)f->products;
    if (blocks > 0) {
        s.per_sm = gt_facts_stream_k(f) ? tiles / sms * batch
                                         : ceil(tiles / blocks) * ceil(fmin(blocks, tiles) * batch / sms);
        s.sets = fmax(s.sets, s.per_sm / resident); /* tiles begin one after the other */
    }
    if (launched > sms && crowded <= 0 && gt_trait(kernel, "lanes_k", 0) > 0)
        s.uneven = 1 + UNEVEN_STREAM * (even / (launched / sms) - 1);
    if (groups && blocks == 0 && crowded <= 0 && !gt_residence_stays(device, bytes_of(p)))
        s.uneven = 1 + UNEVEN_GROUPS * (s.sets * sms * resident / launched - 1);
    s.begins = groups ? 1 + (s.sets - 1) / resident : s.sets; /* groups of other blocks multiply meanwhile */
    if (launch->dependent && 2 * launched <= sms)
        s.begins -= groups ? HIDDEN_GROUPS * (1 - launched / sms) : HIDDEN;
    if (s.beside)
        s.begins -= HIDDEN_STREAM;
    s.steps = ceil(ceil((double)p->k / step) / (double)f->split_k);
    s.part = s.steps * step;
    if (gt_traits_stops_with_k(kernel))
        s.part = fmin(s.part, ceil((double)p->k / LAST_STEPS) * LAST_STEPS);
    return s;
}
