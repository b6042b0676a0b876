#include "estimate.h"

#include <math.h>
#include <string.h>

#include "boxes.h"
#include "residence.h"
#include "traits.h"

/* Nominal rates: bytes in a clock that L2 gives one SM, and that memory, or L2 where all operands stay there, gives each
 * of all SMs. */
#define L2_RATE     40.0
#define MEMORY_RATE 18.0
#define WARM_RATE   28.0

/* Of L2 by the copy engine, and where few SMs ask; clocks from a request for a box to its end, and stages that are not
 * on their way: the one that is multiplied and some of the one before. */
#define BOXES_RATE     56.0
#define BOXES_RATE_FEW 64.0
#define BOX_LATENCY    1600.0
#define STAGES_READ    1.7

/* Latency left uncovered by a set of resident blocks, as the work of so many warps: a lone block of 4 warps gets 2/3
 * of the SM's throughput, one of 8 warps 4/5. By who multiplies. */
static const double uncovered_warps[] = {[GT_BY_THREADS] = 2, [GT_BY_WARPS] = 1, [GT_BY_WARP_GROUPS] = 0};

/* Clocks until blocks of a cluster that share operands have met, by 60 pairs of trials with and without. */
#define MEETING 600.0

/* Of the first loads, that a dependent launch hides where it has SMs of its own beside the launch before it; and that one
 * of a stream hides where both find room together: memory has the next stream's requests when this one's run out. */
#define HIDDEN        0.25
#define HIDDEN_STREAM 0.5
#define HIDDEN_GROUPS 0.8 /* of warp groups, less what the launch has of all SMs */

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

/* Of the blocks that the fullest SM has beyond the average, how much longer a stream takes. */
#define UNEVEN_STREAM 0.5

/* Clocks until partial sums are known to be there, in the workspace, in a cluster and among persistent blocks; until
 * copies are made. */
#define SUMS_BEGIN    2500.0
#define CLUSTER_BEGIN 1500.0
#define STREAM_BEGIN  5000.0
#define COPIES_BEGIN  8000.0

/* The same of warp groups, whose blocks prepare their product while copies are made; bytes that a block stores in a
 * clock into others of its cluster, and adds up from the workspace. */
#define GROUPS_COPIES_BEGIN 3200.0
#define GROUPS_CLUSTER_RATE 8.0
#define GROUPS_SUMS_RATE    17.0

/* Copies to shared memory that begin in a clock and SM, of 4, 8 or 16 bytes each; of a first stage, whose copies all threads
 * begin together. */
#define PIECES_RATE       2.0
#define FIRST_PIECES_RATE 6.0

/* Such copies that a piece of zeros takes as long as. */
#define ZEROS 2.0

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

#define TURN_ROW   0.5 /* of a step, for each row of a thread in a turn */
#define LAST_STEPS 8.0 /* of K that are multiplied together at its end */

#define ELEMENT    0.0625 /* clocks for an element that a thread takes to or from shared memory by itself */
#define EDGE_OWN   32.0   /* multiply-adds that a row of a vector at an edge of C takes as long as, beside its own */
#define EDGE_ROW   32.0   /* of them in a step */
#define SPILLED    1.5    /* elements of C that a register counts for which a thread spills */

#define COPIERS      8.0    /* warps of an SM from which on their copies are as fast as they can be */
#define COPIERS_TILE 1024.0 /* elements of a warp's tile up to which they are */

#define APART 0.25 /* clocks for an element of which each lane reads one elsewhere */

#define SHARED_RATE  128.0 /* bytes that shared memory takes or gives in a clock */
#define UNCOVERED_STORES 2.0 /* times that stores of a block take that has its SM alone: nothing is multiplied meanwhile */
#define BURST        0.5 /* of its rate, that memory takes stores at which all SMs begin at the same time */
#define STORED_WARPS 0.25 /* clocks of an SM for an element of C that warps take through shared memory */
#define STORED_ALONE 0.3 /* clocks of an SM for an element of C whose rows are not aligned, however short it is */
#define STORED_APART 1.0 /* where lanes store such elements as they have them, each two apart: half of a sector at a time */

#define SUMS_RATE 64.0 /* bytes of partial sums in a clock and SM */

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

static double at_least_one(double number)
{
    return number > 1 ? number : 1;
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
    return peak > 0 ? peak * 1e6 / 2 / at_least_one(device->sm_count) / clock : 128;
}

/* Clocks in which all SMs move so many bytes, in L2 where what they are of stays there. */
static double memory_clocks(const gt_device *device, double moved, double bytes)
{
    const double rate = gt_residence_stays(device, bytes) ? WARM_RATE : MEMORY_RATE;
    return moved / rate / at_least_one(device->sm_count);
}

/* Bytes that L2 gives and memory is read by, and those of a request of eight lanes. */
#define SECTOR  32
#define REQUEST 128

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
    if (lanes <= 0 || row % REQUEST == 0 || gt_traits_pieces(kernel, p, stream) > 0 || warps)
        return 1;
    const double run = along ? lanes * 16 : (double)(tile * bytes); /* bytes that follow each other */
    return 1 + (row % SECTOR != 0 ? (double)SECTOR / REQUEST : 0) + SECTOR / run;
}

/* Clocks in which a stream comes of which so many blocks' lanes have their vectors on the way. */
static double flight_clocks(const gt_kernel *kernel, const gt_problem *p, double blocks)
{
    const double flight =
        (double)kernel->facts.threads * gt_trait(kernel, "unroll", 1) * gt_trait(kernel, "cols", 1) * 16 * blocks;
    const double bytes = (double)p->n * (double)p->k * (double)p->batch * gt_type_find(p->class.type_b)->bytes;
    return bytes * times_read(kernel, p) * LATENCY / flight;
}

/* Near the larger of two, and above it where they are alike. */
static double together(double a, double b)
{
    return sqrt(hypot(a * a, b * b));
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
    return memory_clocks(device, moved, bytes) + memory_clocks(device, stored, 0);
}

/* What the terms are made of. */
typedef struct shares {
    double per_sm;        /* tiles, or parts of them, of the busiest SM */
    double sets;          /* times that an SM's blocks are replaced by others */
    double part, steps;   /* of K, that a block works on; stages of it */
    double rows, columns; /* of a tile that are inside the matrix, where it is larger than that */
    double begins;        /* of first loads that nothing hides: one for each set */
    double warps;         /* that multiply, on the SM at once */
    double sharers;       /* persistent blocks that a tile is split among */
    double uneven;        /* blocks of the fullest SM, as a multiple of the average */
    double turns;         /* in which a block's threads take the rows of a tile */
    double resident;      /* blocks at the same time, on all SMs */
    bool beside;          /* a stream, and the next launch finds room beside it */
} shares;

/* How many times longer the SM's warps take than if they covered all latency. */
static double uncovered(const gt_kernel *kernel, const shares *s)
{
    return 1 + uncovered_warps[gt_traits_multiplier(kernel)] / at_least_one(s->warps);
}

/* Whether blocks of a dependent launch lie unevenly, but for those of mma.sync. Where they need more than half of the
 * places, those that find none beside the launch before them take the first that it leaves: some SMs are full then
 * while others have few blocks. On an H200 such launches took 13 to 35% longer than the rest of the estimate says. */
static bool is_crowded(const gt_kernel *kernel, const gt_launch *launch, double launched, double sms, int resident)
{
    return launch->dependent && kernel->facts.blocks == 0 && gt_traits_multiplier(kernel) != GT_BY_WARPS &&
           2 * launched > sms * resident && launched < sms * (resident - 1);
}

/*
 * Blocks are dealt evenly over the SMs, and each SM works on as many as it holds at a time. Persistent blocks share all
 * tiles: with a workspace tiles are split along K and the work is even, else each takes whole ones.
 */
static shares find_shares(const gt_device *device, const gt_kernel *kernel, const gt_problem *p, const gt_launch *launch,
                          int resident)
{
    const gt_facts *f = &kernel->facts;
    const double step = gt_traits_step(kernel, p), batch = (double)p->batch;
    const double tiles = ceil((double)p->m / (double)f->tile_m) * ceil((double)p->n / (double)f->tile_n);
    const double launched = gt_residence_launched(kernel, launch);
    const double sms = gt_residence_sms(device, kernel, resident == 1 || launched <= device->sm_count);
    const double blocks = (double)f->blocks;
    const bool groups = gt_traits_multiplier(kernel) == GT_BY_WARP_GROUPS;
    const bool crowded = is_crowded(kernel, launch, launched, sms, resident);
    shares s = {
        .per_sm = crowded ? resident : ceil(launched / sms), /* blocks, for now */
        .uneven = crowded ? resident * sms / launched : 1,
        .rows = fmin((double)f->tile_m, (double)p->m),
        .columns = fmin((double)f->tile_n, (double)p->n),
        .sharers = at_least_one(blocks / (tiles * fmin((double)f->products, batch))),
        .turns = gt_traits_stores_vectors(kernel) ? ceil(fmin((double)f->tile_m, (double)p->m) / gt_traits_rows(kernel)) : 1,
        .resident = fmin(launched, sms * resident),
        .beside = launch->dependent && 2 * launched <= sms * resident && gt_trait(kernel, "lanes_k", 0) > 0,
    };
    s.sets = ceil(s.per_sm / resident);
    s.warps = gt_traits_warps(kernel) * fmin(s.per_sm, resident);
    s.per_sm *= (double)f->products;
    if (blocks > 0) {
        s.per_sm = f->ws_tile > 0 ? tiles / sms * batch
                                  : ceil(tiles / blocks) * ceil(fmin(blocks, tiles) * batch / sms);
        s.sets = fmax(s.sets, s.per_sm / resident); /* tiles begin one after the other */
    }
    if (launched > sms && !crowded && gt_trait(kernel, "lanes_k", 0) > 0)
        s.uneven = 1 + UNEVEN_STREAM * (ceil(launched / sms) / (launched / sms) - 1);
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

/* Clocks in which memory, or L2, moves the operands. */
static double moving_clocks(const gt_device *device, const gt_kernel *kernel, const gt_launch *launch, const shares *s)
{
    const gt_problem *p = &launch->problem;
    const double clocks = operand_clocks(device, kernel, p) * s->uneven;
    if (gt_boxes_used(kernel) && gt_residence_halved(device, p))
        return clocks * (1 + (launch->dependent ? MOVED * gt_residence_moved(device, kernel, launch) : 0));
    if (!gt_traits_held(kernel))
        return clocks;
    const bool in_l2 = gt_residence_stays(device, (double)gt_problem_bytes(p, GT_B));
    const bool first = gt_trait(kernel, "hint", 0) > 0; /* to be evicted */
    const double times = !in_l2 ? (first ? 1 : NOT_EVICTED) : s->beside ? SHARED_L2 : 1;
    return together(times * clocks, flight_clocks(kernel, p, s->resident));
}

/* What a block reads of an operand for its tile: bytes, and pieces of them that take longer than those of 16 bytes. */
typedef struct moved {
    double bytes, pieces;
} moved;

static moved moved_of(const gt_device *device, const gt_kernel *kernel, const gt_launch *launch, gt_operand operand,
                      const shares *s)
{
    const gt_problem *p = &launch->problem;
    if (gt_boxes_used(kernel)) {
        const double inside = fmin((double)p->k / (double)kernel->facts.split_k, s->part);
        const double busy = fmin(1, s->resident / at_least_one(device->sm_count));
        const gt_boxes boxes = gt_boxes_moved(kernel, launch, operand, s->part, inside, busy, s->sets <= 1);
        return (moved){boxes.bytes, boxes.zeros * ZEROS};
    }
    const double ab = gt_type_find(p->class.type_a)->bytes;
    const double tile = (double)(operand == GT_A ? kernel->facts.tile_m : kernel->facts.tile_n);
    const double inside = operand == GT_A ? s->rows : s->columns, bytes = s->part * ab;
    const double beyond = operand == GT_A ? 0 : gt_traits_beyond(kernel, p);
    /* Zeros, too, by those that tensor cores read. */
    const double copied = gt_traits_multiplier(kernel) == GT_BY_THREADS ? inside : tile;
    return (moved){(inside + beyond) * bytes, copied * bytes * gt_traits_pieces(kernel, p, operand)};
}

/* How many times longer pieces take where the warps that multiply copy them, too: few on an SM wait for their own, and those
 * with large tiles longer. On an H200 201x203x4001 of tf32, in 64x64 tiles, takes 24.0 us by four warps of 32x32 and 55.6 by two
 * of 64x32; 1001x999x501 18.2 by eight of 32x32 and 50.1 by four of 64x64. */
static double waiting_copiers(const gt_kernel *kernel, const shares *s, int resident)
{
    const double warps = at_least_one(fmin(resident, s->per_sm) * gt_traits_warps(kernel));
    const double tile = gt_trait(kernel, "wm", 0) * gt_trait(kernel, "wn", 0);
    const bool multiply = gt_traits_multiplier(kernel) == GT_BY_WARPS;
    return multiply ? sqrt(at_least_one(COPIERS / warps) * at_least_one(tile / COPIERS_TILE)) : 1;
}

/* Bytes that L2 gives an SM in a clock. The copy engine has all stages but the last two on their way; where few blocks
 * ask each gets more. */
static double l2_rate(const gt_device *device, const gt_kernel *kernel, const shares *s, int resident)
{
    if (!gt_boxes_used(kernel))
        return L2_RATE;
    const double stages = fmax(gt_trait(kernel, "stages", 4), 2), sms = at_least_one(device->sm_count);
    const double flight =
        fmin(resident, s->per_sm) * (double)kernel->facts.smem_bytes * (1 - STAGES_READ / stages) / BOX_LATENCY;
    return fmin(fmin(BOXES_RATE_FEW, BOXES_RATE * sms / fmin(sms, s->resident)), flight);
}

/* Clocks in which the first stage of K comes to the blocks that an SM begins with: nothing is multiplied before. */
static double first_clocks(const gt_kernel *kernel, const gt_problem *p, const shares *s, int resident)
{
    const double ab = gt_type_find(p->class.type_a)->bytes, depth = fmin(gt_traits_step(kernel, p), s->part);
    const double pieces = s->rows * gt_traits_pieces(kernel, p, GT_A) + s->columns * gt_traits_pieces(kernel, p, GT_B);
    const double clocks = (s->rows + s->columns) * ab / L2_RATE + pieces * ab / FIRST_PIECES_RATE;
    const double begins = kernel->facts.blocks > 0 ? 1 : s->begins; /* persistent blocks load ahead of their next tile */
    const bool staged = gt_trait(kernel, "stages", 0) > 0 && gt_traits_multiplier(kernel) != GT_BY_WARPS;
    return staged ? begins * fmin(s->per_sm, resident) * depth * clocks : 0;
}

/* Clocks until blocks that share operands have met. Persistent ones meet while the launch before ends. */
static double meeting_clocks(const gt_kernel *kernel)
{
    return gt_boxes_used(kernel) && kernel->facts.cluster_x > 1 && kernel->facts.blocks == 0 ? MEETING : 0;
}

/* Steps that rows at an edge of C count for, of threads that keep columns. A warp with a vector that is not whole goes
 * down its rows twice, the second time by elements, and the block at the end of a row once more for what shifts leave
 * behind its tile; the launch ends with the last such block. With 16 warps on an SM 1023x8191x8 in f32 takes an H200 12.2,
 * 14.0 and 16.6 us in tiles of 64, 128 and 256 rows, where 4096x4096x16, aligned, takes 19.7 in those of 128 and 256. All
 * blocks do so where K is more than a thread keeps. */
static double edge_steps(const gt_kernel *kernel, const gt_problem *p, const shares *s)
{
    const double tiles = ceil((double)p->n / (double)kernel->facts.tile_n), apart = gt_traits_apart(kernel, p);
    const bool whole = gt_traits_align(kernel, p) >= 16 && p->n % kernel->facts.tile_n == 0, kept = s->steps <= 1;
    const double rows = ceil(s->rows / apart) * (1 + apart / gt_trait(kernel, "down", 1));
    const double row = (gt_traits_step(kernel, p) * gt_traits_vector(kernel, p) + EDGE_OWN) / EDGE_ROW;
    const double sets = kept ? at_least_one(s->sets / tiles) : s->sets;
    return kept && whole ? 0 : rows * row * sets;
}

/* Steps that sets of blocks count for. Where threads store vectors, a turn has more rows to store. */
static double turn_steps(const gt_kernel *kernel, const gt_problem *p, const shares *s)
{
    if (gt_traits_keeps_columns(kernel))
        return edge_steps(kernel, p, s);
    return s->sets * (gt_traits_stores_vectors(kernel) ? s->turns * (1 + TURN_ROW * gt_trait(kernel, "tm", 1)) : 1);
}

/* Clocks in which threads that store vectors read elements one by one. Those that keep columns of B have them, and A,
 * brought to shared memory first, and read their columns there once for all rows that begin alike. Others read B again at
 * each turn where K takes more than one step: an element a lane, which lie side by side unless B lies along K. */
static double again_clocks(const gt_kernel *kernel, const gt_problem *p, const shares *s)
{
    if (gt_traits_keeps_columns(kernel))
        return s->per_sm * s->part * (s->columns * (1 + gt_traits_apart(kernel, p)) + s->rows) * ELEMENT;
    if (!gt_traits_stores_vectors(kernel) || s->steps <= 1)
        return 0;
    const double elements = s->per_sm * s->columns * s->part * gt_trait(kernel, "down", 1) * s->turns;
    return elements * (p->class.op_b == GT_T ? APART : 1.0 / 32);
}

/* Clocks in which threads wait for the elements of a step. Warps of mma.sync load those of a tile's two sides in as many
 * parts as it has k-steps of 16 but one, if there are two. */
static double element_clocks(const gt_kernel *kernel, const gt_problem *p)
{
    const double m = (double)kernel->facts.tile_m, n = (double)kernel->facts.tile_n, step = gt_traits_step(kernel, p);
    if (gt_traits_multiplier(kernel) == GT_BY_WARPS) {
        const double parts = at_least_one(step / 16 - 1);
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
    return STEP + fmax(0, STAGE_CLOCKS / at_least_one(gt_trait(kernel, "stages", 2) - 1) - multiplied);
}

/* Clocks in which C is stored. A block that has its SM alone multiplies nothing meanwhile, unless its threads go down
 * their rows by themselves; a persistent one, whose next operands come then, waits until L2 or memory has taken its tile,
 * unless the copy engine stores it. Where tiles are not split along K all blocks come to their end together. */
static double store_clocks(const gt_device *device, const gt_kernel *kernel, const gt_problem *p, const shares *s,
                           int resident)
{
    const double c = gt_type_find(p->class.type_c)->bytes, bytes = (double)p->m * (double)p->n * (double)p->batch * c;
    const gt_multiplier by = gt_traits_multiplier(kernel);
    const bool vectors = gt_traits_stores_vectors(kernel);
    const bool alone = by == GT_BY_WARP_GROUPS ? gt_traits_align(kernel, p) < 4 : p->class.align < 16 && !vectors;
    const double spilled = gt_traits_spilled(kernel, p) / (gt_trait(kernel, "tm", 1) * gt_traits_vector(kernel, p));
    const double lines = vectors ? 1 + REQUEST / (c * (double)kernel->facts.tile_n) : 1; /* tiles meet in one */
    const bool direct = gt_trait(kernel, "inst_k", 0) > 0 && gt_trait(kernel, "store", 0) == 0;
    const double element = direct && gt_traits_align(kernel, p) < 2 * c ? STORED_APART
                           : alone                                      ? STORED_ALONE * uncovered(kernel, s)
                           : by == GT_BY_WARPS                          ? STORED_WARPS
                                                                        : c / L2_RATE;
    const double clocks = s->per_sm * s->rows * s->columns * element * (lines + SPILLED * spilled);
    if (kernel->facts.blocks == 0)
        return resident > 1 || by == GT_BY_WARP_GROUPS || gt_traits_keeps_columns(kernel) ? clocks
                                                                                          : UNCOVERED_STORES * clocks;
    if (kernel->facts.box_c_rows > 0)
        return clocks;
    const bool burst = kernel->facts.ws_tile == 0 && !gt_residence_stays(device, bytes);
    return clocks + memory_clocks(device, bytes, bytes) / (burst ? BURST : 1);
}

/* Clocks in which K-slice groups of a block leave their sums in shared memory and add them up. */
static double slice_clocks(const gt_kernel *kernel, const shares *s)
{
    const double slices = gt_trait(kernel, "slices", 1), tile = (double)kernel->facts.tile_m * (double)kernel->facts.tile_n;
    return slices > 1 ? s->per_sm * tile * slices * 2 * 4 / SHARED_RATE : 0;
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
    return (int64_t)at_least_one(fmin(fmin(filling, worth), MOST_CLUSTERS)) * f->cluster_y;
}

/* Clocks until partial sums are added up, among persistent blocks, in the workspace and in clusters. */
static double sums_clocks(const gt_kernel *kernel, const shares *s)
{
    const gt_facts *f = &kernel->facts;
    const bool groups = gt_traits_multiplier(kernel) == GT_BY_WARP_GROUPS;
    const double tile = (double)f->tile_m * (double)f->tile_n, blocks = (double)f->cluster_y;
    double sums = slice_clocks(kernel, s);
    if (f->blocks > 0 && f->ws_tile > 0)
        sums += STREAM_BEGIN + tile * 4 * s->sharers / SUMS_RATE;
    else if (f->ws_tile > 0 && f->split_k > f->cluster_y)
        sums += SUMS_BEGIN + fmin(s->per_sm, 4) * (double)f->ws_tile / (groups ? GROUPS_SUMS_RATE * blocks : SUMS_RATE);
    if (f->cluster_y > 1)
        sums += CLUSTER_BEGIN +
                s->per_sm * tile * 4 * (groups ? (blocks - 1) / blocks / GROUPS_CLUSTER_RATE : 1 / SUMS_RATE);
    return sums;
}

/* Clocks until operands are copied, but those that boxes can be read from as they are stored. */
static double copies_clocks(const gt_device *device, const gt_kernel *kernel, const gt_launch *launch)
{
    double bytes = 0;
    for (gt_operand i = GT_A; i <= GT_B; i++)
        bytes += launch->maps.readable[i] ? 0 : 2 * (double)launch->copies.bytes[i] * (double)launch->problem.batch;
    if (bytes <= 0)
        return 0;
    const double begin = gt_traits_multiplier(kernel) == GT_BY_WARP_GROUPS ? GROUPS_COPIES_BEGIN : COPIES_BEGIN;
    return begin + memory_clocks(device, bytes, bytes);
}

bool gt_estimate_terms(const gt_device *device, const gt_kernel *kernel, const gt_problem *p, gt_terms *out,
                       size_t *workspace)
{
    const gt_facts *f = &kernel->facts;
    gt_launch launch;
    if (gt_launch_init(device, kernel, p, &launch) != GT_OK || launch.empty)
        return false;
    const int resident = gt_residence_blocks(device, kernel);
    if (resident < 1)
        return false;
    const shares s = find_shares(device, kernel, p, &launch, resident);
    const double clock = device->clock_khz > 0 ? device->clock_khz * 1e-3 : 1500;
    const double multiply_adds = rate_of(device, kernel, &p->class, clock);
    const double ab = gt_type_find(p->class.type_a)->bytes;
    const double tile = (double)f->tile_m * (double)f->tile_n;
    const double step_clocks =
        fmax(tile / multiply_adds, gt_traits_shared(kernel) * ab / SHARED_RATE) + transposing_clocks(kernel, p);
    const double rate = l2_rate(device, kernel, &s, resident);
    const moved a = moved_of(device, kernel, &launch, GT_A, &s), b = moved_of(device, kernel, &launch, GT_B, &s);
    *out = (gt_terms){
        .launch = 1,
        .begin = (s.begins * 1000 + meeting_clocks(kernel) + first_clocks(kernel, p, &s, resident)) / clock,
        .compute = s.per_sm * s.part * step_clocks * gt_traits_issued(kernel, p) *
                   uncovered(kernel, &s) / clock,
        .step = s.steps * turn_steps(kernel, p, &s) *
                waiting_clocks(kernel, p, step_clocks * gt_traits_step(kernel, p) * fmin(s.per_sm, resident)) / clock,
        .l2 = (s.per_sm * (a.bytes + b.bytes) / rate + again_clocks(kernel, p, &s)) / clock,
        .narrow = s.per_sm * (a.pieces + b.pieces) * waiting_copiers(kernel, &s, resident) / PIECES_RATE / clock,
        .memory = moving_clocks(device, kernel, &launch, &s) / clock,
        .store = store_clocks(device, kernel, p, &s, resident) / clock,
        .sums = sums_clocks(kernel, &s) / clock,
        .copies = copies_clocks(device, kernel, &launch) / clock,
        .dispatch = DISPATCH_BEGIN + gt_residence_launched(kernel, &launch) * DISPATCH / clock,
    };
    if (workspace)
        *workspace = gt_launch_memory(&launch);
    return true;
}

double gt_estimate_us(const gt_terms *t, const gt_terms *c)
{
    const double shared = t->l2 * c->l2 + t->narrow * c->narrow;
    const double busy = together(t->compute * c->compute, together(shared, t->memory * c->memory));
    const double sum = t->launch * c->launch + t->begin * c->begin + busy + t->step * c->step + t->store * c->store +
                       t->sums * c->sums + t->copies * c->copies;
    return fmax(sum, t->dispatch * c->dispatch);
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
