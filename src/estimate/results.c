#include "clocks.h"

#include <string.h>

#include "../core/residence.h"
#include "../core/traits.h"
#include "estimate.h"

/* Clocks until partial sums are known to be there, in the workspace, in a cluster and among persistent blocks. */
#define SUMS_BEGIN    2500.0
#define CLUSTER_BEGIN 1500.0
#define STREAM_BEGIN  5000.0

/* Bytes of partial sums in a clock and SM; those that a block of warp groups stores into others of its cluster, and adds up
 * from the workspace. */
#define SUMS_RATE           64.0
#define GROUPS_CLUSTER_RATE 8.0
#define GROUPS_SUMS_RATE    17.0

#define UNCOVERED_STORES 2.0  /* times that stores of a block take that has its SM alone: nothing is multiplied meanwhile */
#define BURST            0.5  /* of its rate, that memory takes stores at which all SMs begin at the same time */
#define STORED_WARPS     0.25 /* clocks of an SM for an element of C that warps take through shared memory */
#define STORED_ALONE     0.3  /* for one whose rows are not aligned, however short it is */
#define GROUPS_ALONE     0.36 /* where threads of warp groups store it */
#define STORED_APART     1.0  /* where lanes store such elements as they have them, each two apart: half of a sector at a time */
#define STORED_ROWS      0.03 /* where threads of warp groups store 128 bytes of a row after those of another one; more, if fewer */
#define SPILLED          1.5  /* elements of C that a register counts for which a thread spills */

/* For an element that threads of warp groups store, where the copy engine does not. A buffer of theirs has so many columns of a
 * tile as divide it, 64 or a smaller power of two. */
static double rows_clocks(const gt_kernel *kernel, double bytes)
{
    const int64_t own = kernel->facts.tile_n / kernel->facts.cluster_y;
    const double columns = gt_trait(kernel, "swap", 0) > 0 ? 64 : (double)(own & -own);
    return STORED_ROWS * fmax(GT_REQUEST / (columns * bytes), 1);
}

/* For an element of so many bytes. */
static double element_clocks(const gt_kernel *kernel, const gt_problem *p, const gt_shares *s, double bytes)
{
    const gt_multiplier by = gt_traits_multiplier(kernel);
    const bool groups = by == GT_BY_WARP_GROUPS;
    const bool alone = groups ? gt_traits_align(kernel, p) < 4 : p->class.align < 16 && !gt_traits_stores_vectors(kernel);
    const bool direct = gt_trait(kernel, "inst_k", 0) > 0 && gt_trait(kernel, "store", 0) == 0;
    if (direct && gt_traits_align(kernel, p) < 2 * bytes)
        return STORED_APART;
    if (alone)
        return (groups ? GROUPS_ALONE : STORED_ALONE) * gt_shares_uncovered(kernel, s);
    if (by == GT_BY_WARPS)
        return STORED_WARPS;
    return bytes / GT_L2_RATE + (groups && kernel->facts.box_c_rows == 0 ? rows_clocks(kernel, bytes) : 0);
}

/* Clocks in which C is stored. A block that has its SM alone multiplies nothing meanwhile, unless its threads go down
 * their rows by themselves; a persistent one, whose next operands come then, waits until L2 or memory has taken its tile,
 * unless the copy engine stores it. Where tiles are not split along K all blocks come to their end together. */
double gt_clocks_stored(const gt_device *device, const gt_kernel *kernel, const gt_problem *p, const gt_shares *s)
{
    const double c = gt_type_find(p->class.type_c)->bytes, bytes = (double)p->m * (double)p->n * (double)p->batch * c;
    const double spilled = gt_traits_spilled(kernel, p) / (gt_trait(kernel, "tm", 1) * gt_traits_vector(kernel, p));
    const bool vectors = gt_traits_stores_vectors(kernel), groups = gt_traits_multiplier(kernel) == GT_BY_WARP_GROUPS;
    const double lines = vectors ? 1 + GT_REQUEST / (c * (double)kernel->facts.tile_n) : 1; /* tiles meet in one */
    const double clocks =
        s->per_sm * s->rows * s->columns * element_clocks(kernel, p, s, c) * (lines + SPILLED * spilled);
    if (kernel->facts.blocks == 0)
        return s->held > 1 || groups || gt_traits_keeps_columns(kernel) ? clocks : UNCOVERED_STORES * clocks;
    if (kernel->facts.box_c_rows > 0)
        return clocks;
    const bool burst = !gt_facts_stream_k(&kernel->facts) && !gt_residence_stays(device, bytes);
    return clocks + gt_clocks_memory(device, bytes, bytes) / (burst ? BURST : 1);
}

/* Clocks in which K-slice groups of a block leave their sums in shared memory and add them up. */
static double slice_clocks(const gt_kernel *kernel, const gt_shares *s)
{
    const double slices = gt_trait(kernel, "slices", 1), tile = (double)kernel->facts.tile_m * (double)kernel->facts.tile_n;
    return slices > 1 ? s->per_sm * tile * slices * 2 * 4 / GT_SHARED_RATE : 0;
}

/* Clocks in which blocks meet in the workspace and the last of them adds up what is there. Where warps multiply blocks add up
 * GT_ROUND parts each, and others what these come to, in as many rounds as it takes: on an H200 of twelve products that came in 9
 * to 132 parts each took 0.8 to 1.3 us longer than in one round. */
static double parts_clocks(const gt_kernel *kernel, const gt_shares *s)
{
    const gt_facts *f = &kernel->facts;
    const gt_multiplier by = gt_traits_multiplier(kernel);
    const double parts = (double)f->split_k;
    double rounds = 1, added = parts;
    if (by == GT_BY_WARPS) {
        for (double left = parts; left > GT_ROUND; left = ceil(left / GT_ROUND))
            rounds++;
        added = fmin(rounds * GT_ROUND, parts);
    }
    const double rate = by == GT_BY_WARP_GROUPS ? GROUPS_SUMS_RATE * (double)f->cluster_y : SUMS_RATE;
    return rounds * SUMS_BEGIN + fmin(s->per_sm, 4) * (double)f->ws_tile * added / parts / rate;
}

double gt_clocks_summed(const gt_kernel *kernel, const gt_shares *s)
{
    const gt_facts *f = &kernel->facts;
    const bool groups = gt_traits_multiplier(kernel) == GT_BY_WARP_GROUPS;
    const double tile = (double)f->tile_m * (double)f->tile_n, blocks = (double)f->cluster_y;
    double sums = slice_clocks(kernel, s);
    if (gt_facts_stream_k(f))
        sums += STREAM_BEGIN + tile * 4 * s->sharers / SUMS_RATE;
    else if (f->ws_tile > 0 && f->split_k > f->cluster_y)
        sums += parts_clocks(kernel, s);
    if (f->cluster_y > 1)
        sums += CLUSTER_BEGIN +
                s->per_sm * tile * 4 * (groups ? (blocks - 1) / blocks / GROUPS_CLUSTER_RATE : 1 / SUMS_RATE);
    return sums;
}

/*
 * What an epilogue costs beside the product, on an H200: microseconds of a launch, and clocks of an SM for an element
 * of C, for the bias, relu and gelu. Families that finish sums in registers before they leave (512^3 to 4096^3 in bf16;
 * gelu is bound by two instructions of which an SM does 16 a clock), those that add the bias there (2048x1024x1024 and
 * 2048x4096x1024 in f32) and finish what they have stored (128^3 to 4096^3 in f32; relu as gelu), and all others as if
 * they stored all of it again.
 */
typedef struct epilogue_cost {
    const char *family;
    double begin, bias, relu, gelu;
} epilogue_cost;

static const epilogue_cost epilogue_costs[] = {
    {"wgmma", 0.1, 0.03, 0.03, 0.15},
    {"split", 0.1, 0.03, 0.03, 0.15},
    {"simt", 0.1, 0.02, 0.6, 0.6},
    {"simt_ws", 0.1, 0.02, 0.6, 0.6},
    {"simt_cluster", 0.1, 0.02, 0.6, 0.6},
    {NULL, 0, 0.6, 0.6, 0.6},
};

double gt_estimate_epilogue_us(const gt_device *device, const char *family, const gt_problem *problem,
                               gt_epilogue epilogue)
{
    if (epilogue == GT_EPILOGUE_NONE || device->clock_khz <= 0)
        return 0;
    const epilogue_cost *cost = epilogue_costs;
    while (cost->family && strcmp(cost->family, family) != 0)
        cost++;
    const double clocks = (epilogue & GT_EPILOGUE_BIAS ? cost->bias : 0) +
                          (epilogue & GT_EPILOGUE_RELU ? cost->relu : 0) +
                          (epilogue & GT_EPILOGUE_GELU ? cost->gelu : 0);
    const double elements = (double)problem->m * (double)problem->n * (double)problem->batch;
    return cost->begin + clocks * elements / device->sm_count / device->clock_khz * 1e3;
}
