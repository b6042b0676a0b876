#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../src/core/status.h"
#include "drawing.h"
#include "exact.h"

/* Where there is no bound: K of the longest case, tiles along the longest sides, products of the largest batches (more
 * than a grid has in z), launches of the case that is repeated. With a bound there is at least the second. */
#define LONG_K       65537
#define LONG_LEAST   4200
#define MANY_TILES   260
#define TILES_LEAST  20
#define MANY_LINES   65537 /* rows or columns of the longest side: more than 16 bits count */
#define MANY_BATCH   65536
#define BATCH_LEAST  16
#define MANY_REPEATS 1100
#define REPEAT_LEAST 256

#define MANY_PARTS  256 /* of K, of each block of a cluster: a launch may have so many */
#define PARTS_LEAST 24

#define BATCH_BYTE 260 /* products of the batches that pass a byte, and some more */

/* No batch or side is so large that a kernel's workspace passes this. */
#define WORKSPACE_LIMIT ((int64_t)1 << 28)

/* Shares of the bounded work. */
#define GENERAL_SHARE 0.2
#define LONG_SHARE    0.1
#define SIDE_SHARE    0.05 /* for rows, and for columns */
#define DEEPER_SHARE  0.25 /* for either with K of more than a step */
#define TIE_SHARE     0.05 /* for each of its cases */
#define PARTS_SHARE   0.1
#define BATCH_SHARE   0.15
#define EMPTY_SHARE   0.1 /* for a batch without K */
#define REPEAT_SHARE  0.9

#define MORE 16 /* rows and columns of a general case beyond its first tile */

/* Multiply-adds of a general case, if every part of K gets a step and one more: what is right takes the host longest. */
#define GENERAL_MOST 16e6

#define MOST_GROUP 64 /* rows of tiles that are walked together, if they are to be met */

/* Where few cases are wanted: one of so many of a kind, and launches of the one that is repeated. */
#define FEW_OF      4
#define FEW_REPEATS 4

#define LARGE_C 65536 /* elements */
#define WHOLE_VECTOR 8 /* elements that are stored at once, of any type of C */
#define SECTORS 32    /* elements that fill whole sectors of memory, in any type */

/* A whole tile and whole chunks of K, one for each part of it, so that nothing lies beyond the last, with NaN and
 * infinities in many places of C. Before it a batch of such tiles without C, which kernels may store in a way of their
 * own. */
static gt_status add_whole(gt_drawing *d)
{
    gt_case *c;
    gt_status status = gt_drawing_add(d, d->tile_m, d->tile_n, d->step, 4 + gt_drawing_below(d, 3), &c);
    if (status != GT_OK)
        return status;
    c->values = GT_VALUES_NORMAL;
    c->alpha = gt_drawing_scalar(d, (int)gt_drawing_below(d, 2));
    c->beta = 0;
    const double chunk = gt_drawing_work(d, d->tile_m, d->tile_n, d->chunk, 1);
    const int64_t chunks = gt_drawing_affordable(d, GENERAL_SHARE / 2, chunk, 1, d->facts->split_k);
    if ((status = gt_drawing_add(d, d->tile_m, d->tile_n, chunks * d->chunk, 1, &c)) != GT_OK)
        return status;
    gt_drawing_both(d, c);
    c->values = d->types->exact ? GT_VALUES_NORMAL : GT_VALUES_HARD;
    c->odd = GT_C;
    c->hard = (1u << GT_HARD_KINDS) - 1;
    return GT_OK;
}

/* Sums next to the middle of two numbers of C's type, on a whole tile and on one that is not: kernels store these in ways
 * of their own. Both with and without C. */
static gt_status add_ties(gt_drawing *d)
{
    gt_status status = GT_OK;
    if (!gt_exact_has_ties(d->types))
        return GT_OK;
    const int64_t steps = gt_drawing_affordable(d, TIE_SHARE, gt_drawing_work(d, d->tile_m, d->tile_n, d->step, 1), 1,
                                                d->facts->split_k);
    for (int i = 0; status == GT_OK && i < 4; i++) {
        const int64_t beyond = i % 2, k = steps * d->step - (beyond && d->step > 2);
        gt_case *c;
        if ((status = gt_drawing_add(d, d->tile_m + beyond, d->tile_n + beyond, k, 1, &c)) == GT_OK) {
            c->values = GT_VALUES_TIES;
            c->alpha = gt_drawing_below(d, 2) ? 1 : -1;
            c->beta = i / 2;
        }
    }
    return status;
}

/* Several tiles in both directions, of which one is whole. K longer than all stages and parts hold: plain numbers, then
 * other data in the same workspace. K that nobody shares, with and without C. A batch, twice too, with K of two steps at
 * least, which blocks may share. And sides of whole sectors, where padded rows of a copy have no padding. */
static gt_status add_general(gt_drawing *d)
{
    gt_case *c;
    const int64_t m = d->tile_m + 1 + gt_drawing_below(d, d->tile_m < MORE ? d->tile_m : MORE);
    const int64_t n = d->tile_n + 1 + gt_drawing_below(d, d->tile_n < MORE ? d->tile_n : MORE);
    const int64_t parts = d->facts->split_k + 1, most = (int64_t)(GENERAL_MOST / (double)(m * n * d->step));
    const int64_t deepest = most < parts ? parts : most < d->depth + 2 ? most : d->depth + 2;
    const int64_t steps =
        gt_drawing_affordable(d, GENERAL_SHARE / 2, gt_drawing_work(d, m, n, d->step, 1), 2, deepest);
    gt_status status = gt_drawing_add(d, m, n, steps * d->step + gt_drawing_below(d, d->step), 1, &c);
    if (status != GT_OK)
        return status;
    c->values = GT_VALUES_NORMAL;
    c->alpha = gt_drawing_scalar(d, 0);
    c->beta = gt_drawing_scalar(d, 1);
    c->watched = true;
    if ((status = gt_drawing_add_again(d, &c)) != GT_OK)
        return status;
    c->alpha = 1;
    c->beta = 0;
    c->watched = true;
    for (int i = 0; i < 2; i++) {
        if ((status = gt_drawing_add(d, m, n, gt_drawing_few(d, d->step), 1, &c)) != GT_OK)
            return status;
        c->values = GT_VALUES_NORMAL;
        gt_drawing_both(d, c);
        c->beta = i; /* C as it is, also in tiles that kernels store in a way of their own where beta is 0 */
        if (i == 0)
            c->alpha = gt_drawing_far_scalar(d, gt_drawing_below(d, 2));
        c->watched = true;
    }
    status = gt_drawing_add(d, d->tile_m + gt_drawing_below(d, 3), 1 + gt_drawing_below(d, d->tile_n),
                            gt_drawing_k(d, 2 + gt_drawing_steps(d)), 3, &c);
    if (status != GT_OK)
        return status;
    c->alpha = gt_drawing_scalar(d, (int)gt_drawing_below(d, 2)); /* 0 would leave K out */
    c->watched = true;
    if ((status = gt_drawing_add_again(d, &c)) != GT_OK)
        return status;
    const int64_t odd = 1 + 2 * gt_drawing_below(d, 2); /* 1 or 3, the other one along the other side */
    if ((status = gt_drawing_add(d, odd * SECTORS, (4 - odd) * SECTORS, (1 + 2 * gt_drawing_below(d, 2)) * SECTORS, 1,
                                 &c)) == GT_OK) {
        c->alpha = gt_drawing_scalar(d, 0);
        c->watched = true;
        c->dealt = d->facts->repack > 0; /* several squares of a copy */
    }
    return status;
}

/* A side that is longer than any other, the rest of the product as short as can be. */
static gt_status add_longest(gt_drawing *d)
{
    const bool rows = gt_drawing_below(d, 2);
    const int64_t tile = rows ? d->tile_m : d->tile_n, few = 1 + gt_drawing_below(d, 2);
    const int64_t many = MANY_LINES + gt_drawing_below(d, tile);
    gt_case *c;
    if (d->facts->blocks == 0 && d->per_product > 0 && many / tile >= WORKSPACE_LIMIT / d->per_product)
        return GT_OK;
    const gt_status status = gt_drawing_add(d, rows ? many : few, rows ? few : many, 1 + gt_drawing_below(d, 2), 1, &c);
    if (status == GT_OK)
        gt_drawing_telling(d, c);
    return status;
}

/* Many tiles along one side, of which a K of 1 would tell little, along one of the two, or both, with K of two steps, many
 * elements of C with K of two steps, and a K that is far longer than any other. */
static gt_status add_long(gt_drawing *d)
{
    const int64_t tall =
        gt_drawing_affordable(d, SIDE_SHARE, gt_drawing_work(d, 1, 1, 1, 1), TILES_LEAST, MANY_TILES);
    const int64_t k = gt_drawing_affordable(d, LONG_SHARE, (double)(d->tile_m * d->tile_n), LONG_LEAST, LONG_K);
    const int64_t rows = 200 + gt_drawing_below(d, 100), deeper = gt_drawing_below(d, 2);
    const int64_t deep_k = (d->types->parts > 0 ? 2 : 1) * d->step; /* parts are multiplied by two steps at a time */
    gt_case *c;
    gt_status status = GT_OK;
    if (d->work == 0 && (status = add_longest(d)) != GT_OK)
        return status;
    for (int across = 0; status == GT_OK && across < 2; across++) {
        const int64_t tile = across ? d->tile_n : d->tile_m, few = 2 + gt_drawing_below(d, 4);
        const int64_t many = tall * tile + gt_drawing_below(d, tile) + 1, m = across ? few : many, n = across ? many : few;
        const bool deep = across == deeper ||
                          gt_drawing_work(d, m, n, deep_k + 1, 1) <= gt_drawing_allowance(d, DEEPER_SHARE);
        status = gt_drawing_add(d, m, n, deep ? deep_k + 1 : 2 + gt_drawing_below(d, 2), 1, &c);
        if (status == GT_OK)
            gt_drawing_telling(d, c); /* of many tiles there is no other case */
        if (status == GT_OK && c->beta == 0)
            c->beta = 1;
    }
    if (status == GT_OK)
        status = gt_drawing_add(d, rows, LARGE_C / rows + 1 + gt_drawing_below(d, 16), d->step + 1, 1, &c);
    if (status == GT_OK) {
        c->alpha = gt_drawing_scalar(d, 0);
        c->beta = gt_drawing_scalar(d, 1); /* of many elements there is no other case */
        c->values = GT_VALUES_NORMAL;
        const int64_t steps = (k + d->step - 1) / d->step + gt_drawing_below(d, 1 + 256 / d->step);
        status = gt_drawing_add(d, 2 + gt_drawing_below(d, 4), 2 + gt_drawing_below(d, 4),
                                gt_drawing_telling_k(d, steps), 1, &c);
    }
    if (status == GT_OK) {
        c->beta = gt_drawing_scalar(d, 0);
        c->alpha = d->types->exact ? c->beta : c->beta / 64; /* C would be lost beside a long sum */
        c->values = d->types->exact ? GT_VALUES_LARGE : GT_VALUES_NORMAL;
    }
    return status;
}

/* Where a launch may have any number of parts of K: as many as it may have, or as there is work for, of a step each. */
static gt_status add_many_parts(gt_drawing *d)
{
    const int64_t cluster = d->facts->cluster_y;
    const double each = gt_drawing_work(d, 1, 1, d->facts->split_k * d->step, 1) / (double)d->facts->split_k;
    if (!d->facts->any_split)
        return GT_OK;
    const int64_t clusters = gt_drawing_affordable(d, PARTS_SHARE, each * (double)cluster, PARTS_LEAST / cluster + 1,
                                                   MANY_PARTS - 1 - 2 * gt_drawing_below(d, 8));
    gt_case *c;
    const gt_status status =
        gt_drawing_add(d, gt_drawing_some(d, d->tile_m), gt_drawing_some(d, d->tile_n), clusters * cluster * d->step, 1, &c);
    if (status == GT_OK) {
        gt_drawing_telling(d, c);
        c->parts = clusters * cluster;
    }
    return status;
}

/* Two products of several tiles, and two with more steps of K than stages hold. Then as many as the workspace and the work
 * allow: with K, and, more than a byte counts, without, with C and not. */
static gt_status add_batch(gt_drawing *d)
{
    int64_t most = BATCH_BYTE + gt_drawing_below(d, 64);
    if (d->work == 0) /* up to 2^8 times as many, every power as often; the last of them is more than a grid has in z */
        most = gt_drawing_below(d, 8) == 0 ? MANY_BATCH + gt_drawing_below(d, 256) : most << gt_drawing_below(d, 8);
    if (d->per_product > 0 && most > WORKSPACE_LIMIT / d->per_product)
        most = WORKSPACE_LIMIT / d->per_product;
    most = most > 3 ? most : 3;
    const int64_t few = BATCH_LEAST < most ? BATCH_LEAST : most;
    const int64_t some = gt_drawing_affordable(d, BATCH_SHARE, gt_drawing_work(d, 1, 1, 1, 1), few, most);
    const int64_t deep = gt_drawing_affordable(d, BATCH_SHARE / 4, gt_drawing_work(d, 1, 1, d->step, 2), 2, d->stages + 1);
    gt_case *c;
    gt_status status = gt_drawing_add(d, d->tile_m + gt_drawing_few(d, d->tile_m), d->tile_n + gt_drawing_few(d, d->tile_n),
                                      gt_drawing_few(d, d->step), 2, &c);
    if (status == GT_OK) {
        gt_drawing_telling(d, c);
        status = gt_drawing_add(d, gt_drawing_some(d, d->tile_m), gt_drawing_some(d, d->tile_n),
                                gt_drawing_telling_k(d, deep), 2, &c);
    }
    if (status == GT_OK) {
        gt_drawing_telling(d, c);
        if (d->facts->any_split && d->facts->split_k == d->facts->cluster_y)
            c->parts = 2 * d->facts->cluster_y; /* of each product, where its own is one */
        status = gt_drawing_add(d, 3, 5, 1 + gt_drawing_below(d, 2), some, &c); /* strides differ in every layout */
    }
    if (status == GT_OK) {
        c->values = GT_VALUES_NORMAL;
        c->alpha = gt_drawing_scalar(d, 1);
    }
    most = gt_drawing_affordable(d, EMPTY_SHARE, gt_drawing_work(d, 1, 1, 0, 1), some, most);
    for (int i = 0; status == GT_OK && i < 2; i++)
        if ((status = gt_drawing_add(d, 2, i == 0 ? 2 : WHOLE_VECTOR, 0, most, &c)) == GT_OK) {
            c->beta = i == 0 ? gt_drawing_scalar(d, 1) : 0;
            c->fill = GT_FILL_ONES;
        }
    return status;
}

/* No K: C = beta C, and C = 0. Nothing but the kernel's own waits keeps them behind what the stream ran before. And
 * beta that is very small or large: added to A B, a small one would not show. And more tiles than a persistent grid has
 * blocks, none of which has sums of the one before. */
static gt_status add_empty(gt_drawing *d)
{
    gt_status status = GT_OK;
    for (int i = 0; status == GT_OK && i < 4; i++) {
        gt_case *c;
        status = gt_drawing_add(d, 1 + gt_drawing_below(d, d->tile_m), 1 + gt_drawing_below(d, d->tile_n), 0, 1, &c);
        if (status == GT_OK && i < 2) {
            c->beta = gt_drawing_scalar(d, i == 0 ? 1 : 4);
            c->watched = true;
        } else if (status == GT_OK) {
            c->beta = gt_drawing_far_scalar(d, i == 2);
            c->values = GT_VALUES_NORMAL;
        }
    }
    if (status == GT_OK && d->facts->blocks > 0 && d->facts->blocks < MANY_TILES) {
        gt_case *c;
        const bool rows = d->tile_m < d->tile_n;
        const int64_t tile = rows ? d->tile_m : d->tile_n, side = d->facts->blocks * tile + gt_drawing_few(d, tile), few = 2;
        status = gt_drawing_add(d, rows ? side : few, rows ? few : side, 0, 1, &c);
    }
    return status;
}

/* Scalars that are no numbers: they show in every element, of whole tiles, and one of them in others. Sums of one product
 * each, whose sign nothing rounds away. */
static gt_status add_strange(gt_drawing *d)
{
    static const double strange[][2] = {{1, NAN}, {NAN, 0}, {1, NAN}, {INFINITY, -INFINITY}};
    gt_status status = GT_OK;
    for (size_t i = 0; !d->types->exact && status == GT_OK && i < sizeof strange / sizeof strange[0]; i++) {
        gt_case *c;
        status = gt_drawing_add(d, i == 0 ? gt_drawing_few(d, d->tile_m) : d->tile_m,
                                i == 0 ? gt_drawing_few(d, d->tile_n) : d->tile_n, 1, 1, &c);
        if (status == GT_OK) {
            c->alpha = strange[i][0];
            c->beta = strange[i][1];
            c->values = GT_VALUES_NORMAL;
        }
    }
    return status;
}

/* The same launch very often, then other data. */
static gt_status add_repeated(gt_drawing *d)
{
    const double each = gt_drawing_work(d, 1, 1, 1, 1);
    gt_case *c;
    gt_status status =
        gt_drawing_add(d, 1 + gt_drawing_below(d, 3), 1 + gt_drawing_below(d, 3), 1 + gt_drawing_below(d, 3), 1, &c);
    if (status != GT_OK)
        return status;
    c->alpha = gt_drawing_scalar(d, 0);
    c->beta = 0;
    c->repeats = (int)gt_drawing_affordable(d, REPEAT_SHARE, each, REPEAT_LEAST, MANY_REPEATS);
    if ((status = gt_drawing_add_again(d, &c)) == GT_OK)
        c->alpha = gt_drawing_scalar(d, 1);
    return status;
}

/* ---- all of them ---- */

/* The first address behind a guard that is aligned so and no better. */
static size_t place_behind(size_t at, size_t align)
{
    return (at + GT_CASE_GUARD + 2 * align - 1) / (2 * align) * (2 * align) + align;
}

/* What an operand's address is a multiple of: as promised; but of cases whose rows of C are multiples of 16 bytes, batches',
 * those with results beside C and every other one's C is, too. */
static size_t align_of(const gt_class *class, const gt_cases *cases, size_t i, gt_operand o)
{
    const gt_problem *p = &cases->list[i].problem;
    const gt_type type = gt_problem_stored(p, o).type;
    const bool fine = o == GT_C && p->ldc * gt_type_find(type)->bytes % 16 == 0 &&
                      (p->batch > 1 || i % 2 == 0 || cases->list[i].beside);
    return fine ? 16 : (size_t)gt_class_pointer(class, type);
}

/* The bias, whose address is promised to be that of an element, and no better every other time, and results beside C, which
 * begin elsewhere in 16 bytes than C does where neither is promised to be aligned to these, but for batches. Every other time
 * they lie before C. */
static void place_results(const gt_class *class, const gt_cases *cases, size_t i, size_t *at)
{
    gt_case *c = &cases->list[i];
    const size_t element = (size_t)gt_type_find(class->type_c)->bytes;
    c->result = c->place[GT_C];
    if (gt_case_bias(c) > 0) {
        c->bias = place_behind(*at, i % 2 ? 16 : element);
        *at = c->bias + (size_t)gt_case_bias(c) * element;
    }
    if (c->beside) {
        const size_t promised = (size_t)gt_class_pointer(class, class->type_c);
        c->result = place_behind(*at, align_of(class, cases, i, GT_C));
        if (promised < 16 && c->problem.batch == 1 && (c->result - c->place[GT_C]) % 16 == 0)
            c->result += promised;
        *at = c->result + gt_problem_bytes(&c->problem, GT_C);
        if (i / 2 % 2) {
            const size_t before = c->place[GT_C];
            c->place[GT_C] = c->result;
            c->result = before;
        }
    }
}

/* Where operands begin, as aligned as promised. Each of them lies first now and then. */
static void place_cases(const gt_class *class, gt_cases *cases)
{
    size_t at = 0;
    for (size_t i = 0; i < cases->count; i++) {
        cases->list[i].begin = at = (at + 255) / 256 * 256;
        for (size_t turn = 0; turn < GT_OPERANDS; turn++) {
            const gt_operand o = (gt_operand)((i / 2 + turn) % GT_OPERANDS);
            const gt_problem *p = &cases->list[i].problem;
            cases->list[i].place[o] = place_behind(at, align_of(class, cases, i, o));
            at = cases->list[i].place[o] + gt_problem_bytes(p, o);
        }
        place_results(class, cases, i, &at);
        if (cases->list[i].itself)
            cases->list[i].place[GT_B] = cases->list[i].place[GT_A];
    }
    cases->bytes = (at + GT_CASE_GUARD + 255) / 256 * 256;
}

/* A tunable; 1 where there is none, or an absurd one. */
static int64_t find_param(const gt_kernel *kernel, const char *name)
{
    int64_t value = 1;
    gt_params_find(&kernel->params, name, &value);
    return value > 0 && value <= MOST_GROUP ? value : 1;
}

/* K of a tile or, where lanes and warps lie over K, of a chunk that many steps read. */
static int64_t find_chunk(const gt_kernel *kernel)
{
    int64_t chunk = 16;
    gt_params_find(&kernel->params, "bk", &chunk);
    return chunk > 0 ? chunk : 16;
}

/* A block's lanes that lie over K; 0: none do. */
static int64_t lanes_over_k(const gt_kernel *kernel)
{
    int64_t lanes = 0, warps = 1;
    gt_params_find(&kernel->params, "lanes_k", &lanes);
    gt_params_find(&kernel->params, "warps_k", &warps);
    return lanes * warps;
}

int64_t gt_cases_step(const gt_kernel *kernel)
{
    const int64_t chunk = find_chunk(kernel), step = 4 * lanes_over_k(kernel);
    return step > 0 && step < chunk ? step : chunk;
}

int64_t gt_cases_turn(const gt_kernel *kernel)
{
    int64_t unroll = 0;
    gt_params_find(&kernel->params, "unroll", &unroll);
    const int64_t turn = unroll * lanes_over_k(kernel);
    return turn > 0 ? turn : find_chunk(kernel);
}

/* Of the cases from `first` on, which are of one kind, leaves those that are watched and one of FEW_OF, the first, each with
 * the case in which its problem is met again; or those alone that are watched and have a K, so that they use shared memory. */
static void thin_out(gt_cases *cases, size_t first, gt_extent extent)
{
    const size_t count = cases->count;
    bool stays = false;
    cases->count = first;
    for (size_t i = first, leads = 0; i < count; i++) {
        gt_case c = cases->list[i];
        if (extent == GT_EXTENT_WATCHED)
            stays = c.watched && c.problem.k > 0;
        else if (!c.again)
            stays = leads++ % FEW_OF == 0 || c.watched;
        if (c.repeats > FEW_REPEATS)
            c.repeats = FEW_REPEATS;
        if (stays)
            cases->list[cases->count++] = c;
    }
}

gt_status gt_cases_draw(const gt_class *class, const gt_kernel *kernel, uint64_t seed, double work, gt_extent extent,
                        gt_cases *out)
{
    /* Cheap ones first: on the software GPU a wrong kernel is told so at its first wrong product. */
    static gt_cases_kind *const kinds[] = {
        gt_cases_add_edges, gt_cases_add_rows, gt_cases_add_columns, gt_cases_add_steps, gt_cases_add_chunks,
        gt_cases_add_depths, add_ties, add_whole, add_general, add_empty, add_strange, gt_cases_add_equal,
        gt_cases_add_overlapping, gt_cases_add_groups, gt_cases_add_dealt, add_long, add_many_parts,
        gt_cases_add_steep, gt_cases_add_parts, gt_cases_add_epilogues, add_batch, add_repeated};
    const gt_facts *f = &kernel->facts;
    gt_cases cases = {0};
    int64_t stages = 2;
    gt_params_find(&kernel->params, "stages", &stages);
    if (f->tile_m < 1 || f->tile_n < 1 || f->split_k < 1)
        return gt_fail(GT_ERROR_INVALID, "a tile of %lld x %lld, K in %lld parts", (long long)f->tile_m,
                       (long long)f->tile_n, (long long)f->split_k);
    gt_drawing d = {.class = class,
                    .types = gt_class_types(class),
                    .facts = f,
                    .epilogue = f->epilogue != 0,
                    .tile_m = f->tile_m,
                    .tile_n = f->tile_n,
                    .step = gt_cases_step(kernel),
                    .chunk = find_chunk(kernel),
                    .group = find_param(kernel, "group") * find_param(kernel, "cluster_m"),
                    .abreast = find_param(kernel, "cluster_n"),
                    .stages = stages > 0 ? stages : 1,
                    .work = work,
                    .random = {.seed = seed},
                    .per_product = gt_facts_stream_k(f) ? f->ws_tile * f->blocks / f->products : f->ws_tile,
                    .cases = &cases};
    d.depth = (d.stages + 1) * f->split_k;
    d.rests = gt_walk_draw(&d.random, d.step);
    d.drawn = gt_drawing_below(&d, 25);
    d.strides = gt_drawing_below(&d, 7);
    d.batches = gt_drawing_below(&d, 3);
    d.uneven = gt_drawing_below(&d, 2 * GT_UNEVEN_COUNT);
    d.zeros = gt_drawing_below(&d, 2);
    d.hard = gt_drawing_below(&d, GT_OPERANDS * (GT_HARD_KINDS + 1));
    gt_status status = GT_OK;
    for (size_t i = 0; status == GT_OK && i < sizeof kinds / sizeof kinds[0]; i++) {
        const size_t first = cases.count;
        status = kinds[i](&d);
        if (extent != GT_EXTENT_ALL)
            thin_out(&cases, first, extent);
    }
    if (status != GT_OK) {
        gt_cases_finish(&cases);
        return status;
    }
    place_cases(class, &cases);
    *out = cases;
    return GT_OK;
}

void gt_cases_finish(gt_cases *cases)
{
    free(cases->list);
    *cases = (gt_cases){0};
}

/* How many remainders by a number a size has among the cases. */
static int64_t count_met(const gt_cases *cases, size_t size, int64_t by)
{
    int64_t met = 0;
    for (int64_t rest = 0; rest < by; rest++)
        for (size_t i = 0; i < cases->count; i++) {
            const char *problem = (const char *)&cases->list[i].problem;
            if (*(const int64_t *)(problem + size) % by == rest) {
                met++;
                break;
            }
        }
    return met;
}

void gt_cases_describe(const gt_cases *cases, const gt_kernel *kernel, char *text, size_t bytes)
{
    const int64_t tile_m = kernel->facts.tile_m, tile_n = kernel->facts.tile_n, step = gt_cases_step(kernel);
    snprintf(text, bytes, "%zu products, %lld of %lld remainders of m, %lld of %lld of n, %lld of %lld of k",
             cases->count, (long long)count_met(cases, offsetof(gt_problem, m), tile_m), (long long)tile_m,
             (long long)count_met(cases, offsetof(gt_problem, n), tile_n), (long long)tile_n,
             (long long)count_met(cases, offsetof(gt_problem, k), step), (long long)step);
}
