#include "estimate.h"

#include "../core/residence.h"
#include "../core/traits.h"
#include "clocks.h"

/* Clocks until blocks of a cluster that share operands have met, by 60 pairs of trials with and without. */
#define MEETING 600.0

/* Clocks of a step in which nothing is multiplied; in which warp groups load their instruction's A into registers; until the
 * stage before it is there; in which a warp of mma.sync waits for eight words that it puts together of elements; in which a
 * thread of a block with lanes over K waits for an element, where they lie along K and else. */
#define STEP          100.0
#define FRAGMENTS     200.0
#define STAGE_CLOCKS  660.0
#define WORDS_CLOCKS  400.0
#define ALONG_CLOCKS  115.0
#define ACROSS_CLOCKS 38.0
#define WORDS         8.0

#define ISSUED      128.0 /* instructions of lanes that an SM issues in a clock */
#define TRANSPOSING 6.0   /* of them for an element that is transposed on its way */

#define TURN_ROW 0.5 /* of a step, for each row of a thread in a turn */

#define EDGE_OWN 32.0 /* multiply-adds that a row of a vector at an edge of C takes as long as, beside its own */
#define EDGE_ROW 32.0 /* of them in a step */

/* Microseconds of a launch, and clocks of each of its blocks, in which the GPU gives them to SMs. Of 8,000 trials of an H200
 * none takes less, and the shortest as long: 2.3 us for 1,414 blocks, 3.6 for 2,500, 5.7 for 4,064, 14.3 for 10,800. */
#define DISPATCH_BEGIN 0.4
#define DISPATCH       2.5

/* Steps of K that are worth a block of their own; blocks or clusters that may meet in the workspace. */
#define FEWEST_STEPS  2.0
#define MOST_CLUSTERS 256.0

const char *const gt_term_names[GT_TERM_COUNT] = {
#define X(name) #name,
    GT_TERMS(X)
#undef X
};

double *gt_term(gt_terms *terms, size_t index)
{
    return (double *)terms + index;
}

/* Clocks in which a block's warps transpose what they copy of a step of one along K, beside multiplying. Persistent blocks
 * have warps that do nothing else. */
static double transposing_clocks(const gt_kernel *kernel, const gt_problem *p)
{
    const gt_facts *f = &kernel->facts;
    const double a = gt_traits_transposed(kernel, p, GT_A) && !(f->repack >> GT_A & 1) ? (double)f->tile_m : 0;
    const double b = gt_traits_transposed(kernel, p, GT_B) && !(f->repack >> GT_B & 1) ? (double)f->tile_n : 0;
    return f->blocks > 0 ? 0 : (a + b) * TRANSPOSING / ISSUED;
}

/* Multiply-adds of an SM in a clock: of its tensor cores or, where threads have tiles of their own, of its FMA units. */
static double rate_of(const gt_device *device, const gt_kernel *kernel, const gt_class *class, double clock)
{
    const gt_types *types = gt_class_types(class);
    const bool by_threads = gt_trait(kernel, "tm", 0) > 0 || gt_traits_held(kernel);
    const double peak = by_threads ? gt_device_fma_tflops(device, types) : gt_device_peak_tflops(device, types);
    return peak > 0 ? peak * 1e6 / 2 / fmax(device->sm_count, 1) / clock : 128;
}

/* Clocks until blocks that share operands have met. Persistent ones meet while the launch before ends. */
static double meeting_clocks(const gt_kernel *kernel)
{
    return gt_traits_boxes(kernel) && kernel->facts.cluster_x > 1 && kernel->facts.blocks == 0 ? MEETING : 0;
}

/* Steps that rows at an edge of C count for, of threads that keep columns. A warp with a vector that is not whole goes
 * down its rows twice, the second time by elements, and the block at the end of a row once more for what shifts leave
 * behind its tile; the launch ends with the last such block. With 16 warps on an SM 1023x8191x8 in f32 takes an H200 12.2,
 * 14.0 and 16.6 us in tiles of 64, 128 and 256 rows, where 4096x4096x16, aligned, takes 19.7 in those of 128 and 256. All
 * blocks do so where K is more than a thread keeps. */
static double edge_steps(const gt_kernel *kernel, const gt_problem *p, const gt_shares *s)
{
    const double tiles = ceil((double)p->n / (double)kernel->facts.tile_n), apart = gt_traits_apart(kernel, p);
    const bool whole = gt_traits_align(kernel, p) >= 16 && p->n % kernel->facts.tile_n == 0, kept = s->steps <= 1;
    const double rows = ceil(s->rows / apart) * (1 + apart / gt_trait(kernel, "down", 1));
    const double row = (gt_traits_step(kernel, p) * gt_traits_vector(kernel, p) + EDGE_OWN) / EDGE_ROW;
    const double sets = kept ? fmax(s->sets / tiles, 1) : s->sets;
    return kept && whole ? 0 : rows * row * sets;
}

/* Steps that sets of blocks count for. Where threads store vectors, a turn has more rows to store. */
static double turn_steps(const gt_kernel *kernel, const gt_problem *p, const gt_shares *s)
{
    if (gt_traits_keeps_columns(kernel))
        return edge_steps(kernel, p, s);
    return s->sets * (gt_traits_stores_vectors(kernel) ? s->turns * (1 + TURN_ROW * gt_trait(kernel, "tm", 1)) : 1);
}

/* Clocks in which threads wait for the elements of a step. Warps of mma.sync load those of a tile's two sides in as many
 * parts as it has k-steps of 16 but one, if there are two. */
static double element_clocks(const gt_kernel *kernel, const gt_problem *p)
{
    const double m = (double)kernel->facts.tile_m, n = (double)kernel->facts.tile_n, step = gt_traits_step(kernel, p);
    if (gt_traits_multiplier(kernel) == GT_BY_WARPS) {
        const double parts = fmax(step / 16 - 1, 1);
        const double rounds = gt_type_find(p->class.type_a)->bytes * step / 4 / (double)kernel->facts.threads / parts / WORDS;
        return WORDS_CLOCKS * parts * (ceil(m * rounds) + ceil(n * rounds));
    }
    const gt_operand stream = gt_traits_stream(kernel);
    const double elements = (stream == GT_A ? m : n) * step / (double)kernel->facts.threads;
    return (gt_traits_along(p, stream) ? ALONG_CLOCKS : ACROSS_CLOCKS) * elements;
}

/* Clocks of a step in which nothing is multiplied. Warps of mma.sync wait for what stages do not cover. */
static double waiting_clocks(const gt_kernel *kernel, const gt_problem *p, double multiplied)
{
    if (gt_traits_elements(kernel, p))
        return STEP + element_clocks(kernel, p);
    if (gt_traits_multiplier(kernel) != GT_BY_WARPS)
        return STEP + (gt_traits_through_registers(kernel, p) ? FRAGMENTS : 0);
    return STEP + fmax(0, STAGE_CLOCKS / fmax(gt_trait(kernel, "stages", 2) - 1, 1) - multiplied);
}

bool gt_estimate_terms(const gt_device *device, const gt_kernel *kernel, const gt_problem *p, gt_terms *out,
                       size_t *workspace)
{
    const gt_facts *f = &kernel->facts;
    gt_launch launch;
    if (gt_launch_init(device, kernel, p, &launch) != GT_OK || launch.empty)
        return false;
    if (gt_residence_blocks(device, kernel) < 1)
        return false;
    const gt_shares s = gt_shares_find(device, kernel, &launch);
    const double clock = device->clock_khz > 0 ? device->clock_khz * 1e-3 : 1500;
    const double multiply_adds = rate_of(device, kernel, &p->class, clock);
    const double ab = gt_type_find(p->class.type_a)->bytes;
    const double tile = (double)f->tile_m * (double)f->tile_n;
    const double step_clocks =
        fmax(tile / multiply_adds, gt_traits_shared(kernel) * ab / GT_SHARED_RATE) + transposing_clocks(kernel, p);
    const double stage_clocks = step_clocks * gt_traits_step(kernel, p) * fmin(s.per_sm, s.held);
    double l2, narrow;
    gt_clocks_read(device, kernel, &launch, &s, &l2, &narrow);
    *out = (gt_terms){
        .launch = 1,
        .begin = (s.begins * 1000 + meeting_clocks(kernel) + gt_clocks_first(kernel, p, &s)) / clock,
        .compute = s.per_sm * s.part * step_clocks * gt_traits_issued(kernel, p) * gt_shares_uncovered(kernel, &s) / clock,
        .step = s.steps * turn_steps(kernel, p, &s) * waiting_clocks(kernel, p, stage_clocks) / clock,
        .l2 = l2 / clock,
        .narrow = narrow / clock,
        .memory = gt_clocks_moved(device, kernel, &launch, &s) / clock,
        .store = gt_clocks_stored(device, kernel, p, &s) / clock,
        .sums = gt_clocks_summed(kernel, &s) / clock,
        .copies = gt_clocks_copied(device, kernel, &launch) / clock,
        .dispatch = DISPATCH_BEGIN + gt_residence_launched(kernel, &launch) * DISPATCH / clock,
    };
    if (workspace)
        *workspace = gt_launch_memory(&launch);
    return true;
}

double gt_estimate_us(const gt_terms *t, const gt_terms *c)
{
    const double shared = t->l2 * c->l2 + t->narrow * c->narrow;
    const double busy = gt_clocks_together(t->compute * c->compute, gt_clocks_together(shared, t->memory * c->memory));
    const double sum = t->launch * c->launch + t->begin * c->begin + busy + t->step * c->step + t->store * c->store +
                       t->sums * c->sums + t->copies * c->copies;
    return fmax(sum, t->dispatch * c->dispatch);
}

int64_t gt_estimate_parts(const gt_device *device, const gt_kernel *kernel, const gt_problem *p, int64_t blocks)
{
    const gt_facts *f = &kernel->facts;
    int64_t tiles;
    if (!gt_launch_tiles(kernel, p, &tiles))
        return f->cluster_y;
    const double sms = gt_residence_sms(device, kernel, blocks == 1 || gt_residence_blocks(device, kernel) == 1);
    const double filling = floor((double)blocks * sms / ((double)tiles * (double)p->batch * (double)f->cluster_y));
    const double worth = floor((double)p->k / gt_traits_step(kernel, p) / FEWEST_STEPS / (double)f->cluster_y);
    return (int64_t)fmax(fmin(fmin(filling, worth), MOST_CLUSTERS), 1) * f->cluster_y;
}

int64_t gt_estimate_fewer_parts(const gt_kernel *kernel, int64_t parts)
{
    int64_t fewer = 1;
    while (gt_traits_multiplier(kernel) == GT_BY_WARPS && fewer * GT_ROUND < parts)
        fewer *= GT_ROUND;
    return fewer > 1 ? fewer : 0;
}
