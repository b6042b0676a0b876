#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../src/core/launch.h"
#include "../../src/core/status.h"

/* Where there is no bound: K of the longest case, tiles along the longest sides, products of the largest batches (more
 * than a grid has in z), launches of the case that is repeated. With a bound there is at least the second. */
#define LONG_K       65537
#define LONG_LEAST   4200
#define MANY_TILES   260
#define TILES_LEAST  20
#define MANY_BATCH   65536
#define BATCH_LEAST  16
#define MANY_REPEATS 1100
#define REPEAT_LEAST 64

#define STEEP_INTERVALS 12  /* of promotion, for each part of K */
#define STEEP_FIRST     512 /* the large product; the others are below 1/16 */

#define SUMS_SIDE 16 /* of a product whose sums are looked at on average */

#define BATCH_BYTE 260 /* products of the batches that pass a byte, and some more */

/* No batch is so large that a kernel's workspace passes this. */
#define WORKSPACE_LIMIT ((int64_t)1 << 28)

#define MANY_STEPS 64 /* numbers of steps of K that are met, of those up to beyond all stages and parts */

#define SHORT_STEP  128 /* of K, of which rows or columns of every length may have two */
#define LENGTHS     256 /* of m, n and k, up to which each is met where there is no bound */
#define FEWEST      12  /* remainders of a side that are met in any case */
#define ALIKE_MOST  64  /* of a matrix that is multiplied by itself: sums of squares are no sums of random signs */
#define ALIKE_LARGE 4   /* larger ones of equal sides where there is no bound */

/* Shares of the bounded work. */
#define GENERAL_SHARE 0.2
#define EDGE_SHARE    0.2
#define SWEEP_SHARE   0.15 /* for rows, and for columns */
#define STEP_SHARE    0.15
#define DEPTH_SHARE   0.05
#define DEAL_SHARE    0.2 /* for each of its cases */
#define LONG_SHARE    0.1
#define SIDE_SHARE    0.05 /* for rows, and for columns */
#define BATCH_SHARE   0.05
#define EMPTY_SHARE   0.1 /* for a batch without K */
#define REPEAT_SHARE  0.9

/* A block that begins and ends costs the software GPU about as much as so many multiply-adds. */
#define BLOCK_WORK 8192

#define MANY_ROWS 1000 /* rows of an operand from which on they are packed */
#define FEW_ROWS  100  /* up to which they may lie far apart */

#define MORE 16 /* rows and columns of a general case beyond its first tile */
#define FEW  6  /* of a side that is short */

#define LARGE_C 65536 /* elements */
#define SECTORS 32    /* elements that fill whole sectors of memory, in any type */

/* Scalars go from 2^-11 to 2^12, and a few beyond 2^-FAR_POWERS and 2^FAR_POWERS, where the types have such numbers. */
#define SCALAR_POWERS 11
#define PLAIN_SCALARS 6 /* one of so many is a small number */
#define FAR_POWERS    88

/* All numbers from 0 to length - 1 in an order of their own: start, start + step, ... modulo the length. */
typedef struct walk {
    int64_t length, start, step;
} walk;

static int64_t divisor(int64_t a, int64_t b)
{
    return b == 0 ? a : divisor(b, a % b);
}

static walk draw_walk(gt_draws *random, int64_t length)
{
    walk w = {length, gt_draw_below(random, length), 1};
    do
        w.step = 1 + gt_draw_below(random, length);
    while (divisor(w.step, length) != 1);
    return w;
}

static int64_t walk_at(const walk *w, int64_t index)
{
    return (w->start + index % w->length * w->step) % w->length;
}

/* What is drawn for. */
typedef struct drawing {
    const gt_class *class;
    const gt_types *types;
    const gt_facts *facts;
    int64_t tile_m, tile_n;      /* the facts' */
    int64_t step, stages, depth; /* of K: depth is how many steps a pipeline's stages hold in all parts of K */
    int64_t per_product;         /* bytes of workspace for each product of one tile */
    double work;
    gt_draws random;
    walk rests;                 /* of k */
    /* How many there were of cases, those with hard values, those with K, strides: they go through kinds in turn. */
    int64_t drawn, hard, depths, strides;
    gt_cases *cases;
    size_t room;
} drawing;

static int64_t below(drawing *d, int64_t limit)
{
    return gt_draw_below(&d->random, limit);
}

/* ---- scalars ---- */

/* All bits of the accumulator's type, up to so many powers of two from 1; kind is 0 for positive ones, 1 for negative. */
static double draw_full(drawing *d, int kind, int powers)
{
    const double mantissa = 1 + (double)(gt_draw_bits(&d->random) >> 12) * 0x1p-52;
    const double magnitude = ldexp(mantissa, (int)below(d, 2 * powers + 1) - powers);
    const gt_scalar rounded = gt_scalar_make(d->types, kind == 0 ? magnitude : -magnitude);
    return gt_type_find(d->types->accumulator)->load(&rounded, 0);
}

/* Full mantissas of either sign, and 1, -1 and 0. Integers take any. Now and then another number that programs like. */
static double draw_scalar(drawing *d, int kind)
{
    static const double special[] = {1, -1, 0}, plain[] = {2, 0.5, 3, 0.25, 4, 10};
    if (kind >= 2)
        return special[kind - 2];
    if (below(d, PLAIN_SCALARS) == 0) {
        const double number = plain[below(d, sizeof plain / sizeof plain[0])];
        return (kind == 0 ? 1 : -1) * (d->types->exact ? ceil(number) : number);
    }
    if (d->types->exact)
        return (double)(int32_t)(uint32_t)gt_draw_bits(&d->random);
    return draw_full(d, kind, SCALAR_POWERS);
}

/* Both scalars near 1: neither hides the other's part of a result. Integers hide nothing. */
static void draw_both(drawing *d, gt_case *c)
{
    double *const both[] = {&c->alpha, &c->beta};
    for (int i = 0; i < 2; i++)
        *both[i] = d->types->exact ? draw_scalar(d, 0) : draw_full(d, (int)below(d, 2), 1);
}

/* For sizes that are met once: whole numbers, half of them without C, or scalars of which both count. */
static void draw_telling(drawing *d, gt_case *c)
{
    if (c->values != GT_VALUES_NORMAL || below(d, 2) == 0 || gt_cases_whole(d->types, c->problem.k) == 0) {
        draw_both(d, c);
        return;
    }
    c->values = GT_VALUES_WHOLE;
    c->alpha = below(d, 2) ? 1 : -1;
    c->beta = (double)below(d, 2);
}

/* One very far from 1. It shows only where nothing is added to what it is multiplied by. */
static double draw_far_scalar(drawing *d, bool large)
{
    const double least = ldexp(1, -FAR_POWERS - 32), most = ldexp(1, FAR_POWERS + 32);
    const gt_type_info *c = gt_type_find(d->types->c), *accumulator = gt_type_find(d->types->accumulator);
    const double scalar = draw_scalar(d, (int)below(d, 2));
    if (d->types->exact || c->least > least || c->most < most || accumulator->most < most)
        return scalar;
    const int power = FAR_POWERS + SCALAR_POWERS - ilogb(scalar) * (large ? 1 : -1);
    return ldexp(scalar, large ? power : -power);
}

/* ---- sizes ---- */

/* Some whole steps of K and what goes beyond them: the first few, half a step and all but one first, then every
 * remainder in turn. */
static int64_t draw_k(drawing *d, int64_t whole)
{
    const int64_t first[] = {1, 2, 3, d->step / 2, d->step - 1}, count = sizeof first / sizeof first[0];
    const int64_t index = d->depths++, rest = index < count ? first[index] : walk_at(&d->rests, index - count);
    const int64_t k = whole * d->step + rest % d->step;
    return k > 0 ? k : d->step;
}

/* A number of steps: often none or one, now and then any up to beyond what the stages hold. */
static int64_t draw_steps(drawing *d)
{
    const int64_t kind = below(d, 8);
    return kind == 0 ? below(d, d->stages + 3) : kind <= 3;
}

static int64_t draw_few(drawing *d, int64_t tile)
{
    return 1 + below(d, tile < FEW ? tile : FEW);
}

/* Multiply-adds of a case: its tiles are computed whole, and its blocks cost something by themselves. */
static double work_of(const drawing *d, int64_t m, int64_t n, int64_t k, int64_t batch)
{
    const double tiles = ceil((double)m / (double)d->tile_m) * ceil((double)n / (double)d->tile_n) * (double)batch;
    const double steps = ceil((double)k / (double)d->step);
    const double blocks = d->facts->blocks > 0 ? (double)(d->facts->blocks * batch) : tiles * (double)d->facts->split_k;
    return tiles * steps * (double)(d->tile_m * d->tile_n * d->step) + blocks * BLOCK_WORK;
}

/* Some stride that is aligned and no better, or rows of just their elements where those are: always where there are
 * many rows. Few of them may lie far apart. */
static int64_t draw_ld(drawing *d, int64_t rows, int64_t columns, int bytes)
{
    const int64_t unit = d->class->align > bytes ? d->class->align / bytes : 1, units = (columns + unit - 1) / unit;
    const int64_t kind = d->strides++ % 7; /* not in step with scalars and values */
    if (kind < 2 || rows > MANY_ROWS)
        return (units > 0 ? units : 1) * unit;
    if (kind == 2 && rows <= FEW_ROWS)
        return ((units + (65 + below(d, 64)) / unit + 1) | 1) * unit;
    return ((units + 1 + 2 * below(d, 3)) | 1) * unit;
}

/* Fills in strides and the gt_problem of a case. Each is a multiple of the alignment. */
static gt_status place_problem(drawing *d, gt_gemm *gemm, gt_problem *problem)
{
    const gt_class *c = d->class;
    const int a = gt_type_find(c->type_a)->bytes, b = gt_type_find(c->type_b)->bytes,
              result = gt_type_find(c->type_c)->bytes;
    const int64_t rows_a = c->op_a == GT_N ? gemm->m : gemm->k, rows_b = c->op_b == GT_N ? gemm->k : gemm->n;
    gemm->lda = draw_ld(d, gemm->batch * rows_a, c->op_a == GT_N ? gemm->k : gemm->m, a);
    gemm->ldb = draw_ld(d, gemm->batch * rows_b, c->op_b == GT_N ? gemm->n : gemm->k, b);
    gemm->ldc = draw_ld(d, gemm->batch * gemm->m, gemm->n, result);
    const int64_t gap = below(d, 2);
    gemm->stride_a = (rows_a + gap) * gemm->lda;
    gemm->stride_b = (rows_b + gap) * gemm->ldb;
    gemm->stride_c = (gemm->m + gap) * gemm->ldc;
    return gt_problem_init(gemm, problem);
}

/* ---- the list ---- */

/* Values that are not normal, for some cases in turn: each operand has each hard kind alone, and all of them. */
static void choose_values(drawing *d, int64_t turn, gt_case *c)
{
    if (d->types->exact)
        return;
    if (turn % 8 == 1 && d->types->parts > 0) {
        c->values = GT_VALUES_UNEVEN;
        c->odd = (gt_operand)below(d, 2);
        c->uneven = (gt_uneven)below(d, GT_UNEVEN_COUNT);
    } else if (turn % 8 == 3) {
        c->values = GT_VALUES_WIDE;
        c->odd = (gt_operand)below(d, 2);
    } else if (turn % 8 == 6 || turn % 16 == 9) {
        const int64_t index = d->hard++, kind = index / GT_OPERANDS % (GT_HARD_KINDS + 1);
        c->values = GT_VALUES_HARD;
        c->odd = (gt_operand)(index % GT_OPERANDS);
        c->hard = kind < GT_HARD_KINDS ? 1u << kind : (1u << GT_HARD_KINDS) - 1;
        *(c->odd == GT_C ? &c->beta : &c->alpha) = draw_scalar(d, (int)(index % 2));
    }
}

/* Adds a case of these sizes, with the scalars and values whose turn it is. */
static gt_status add(drawing *d, int64_t m, int64_t n, int64_t k, int64_t batch, gt_case **out)
{
    gt_cases *cases = d->cases;
    if (cases->count == d->room) {
        const size_t more = d->room ? 2 * d->room : 64;
        gt_case *larger = realloc(cases->list, more * sizeof *larger);
        if (!larger)
            return gt_fail_memory();
        cases->list = larger;
        d->room = more;
    }
    const int64_t turn = d->drawn++;
    gt_gemm gemm = gt_class_gemm(d->class, m, n, k);
    gemm.batch = batch;
    gt_case c = {.alpha = draw_scalar(d, (int)(turn % 5)), .beta = draw_scalar(d, (int)(turn / 5 % 5)),
                 .fill = (gt_fill)(turn % GT_FILL_COUNT), .seed = gt_draw_bits(&d->random), .repeats = 1};
    choose_values(d, turn, &c);
    const gt_status status = place_problem(d, &gemm, &c.problem);
    if (status != GT_OK)
        return status;
    cases->list[cases->count] = c;
    *out = &cases->list[cases->count++];
    return GT_OK;
}

/* The case before once more with other data. */
static gt_status add_again(drawing *d, gt_case **out)
{
    const gt_problem p = d->cases->list[d->cases->count - 1].problem;
    const gt_status status = add(d, p.m, p.n, p.k, p.batch, out);
    if (status == GT_OK) {
        (*out)->problem = p;
        (*out)->again = true;
        (*out)->values = GT_VALUES_NORMAL;
    }
    return status;
}

/* What a share of the work comes to. */
static double allowance(const drawing *d, double share)
{
    return d->work == 0 ? INFINITY : share * d->work;
}

/* How many of something fit into a share of the work; all where there is no bound. */
static int64_t affordable(const drawing *d, double share, double each, int64_t least, int64_t most)
{
    const double count = allowance(d, share) / each;
    return count >= (double)most ? most : count < (double)least ? least : (int64_t)count;
}

/* Sides next to the tile's and to twice that, and remainders of a few; a long one meets a short one. Every other one has
 * K of less than a step. Then sides next to powers of two, at least one of either kind, beside short ones. */
static gt_status add_edges(drawing *d)
{
    static const int64_t powers[] = {63, 64, 65, 127, 128, 129, 255, 256, 257};
    const int64_t m = d->tile_m, n = d->tile_n;
    const int64_t rows[] = {2, 3, m - 1, m, m + 1, 2 * m - 1, 2 * m, 2 * m + 1};
    const int64_t columns[] = {2 * n + 1, 2 * n, 2 * n - 1, n + 1, n, n - 1, 3, 2};
    const int64_t own = sizeof rows / sizeof rows[0], others = 2 * sizeof powers / sizeof powers[0];
    double left = allowance(d, EDGE_SHARE);
    gt_status status = GT_OK;
    for (int64_t i = 0; status == GT_OK && i < own + others && (i < own + 2 || left > 0); i++) {
        gt_case *c;
        const int64_t power = i < own ? 0 : powers[(i - own) / 2], k = draw_k(d, i < own ? i % 2 : 1);
        const int64_t side_m = i < own ? rows[i] : i % 2 ? power : draw_few(d, m),
                      side_n = i < own ? columns[i] : i % 2 ? draw_few(d, n) : power;
        left -= work_of(d, side_m, side_n, k, 1);
        if ((status = add(d, side_m > 0 ? side_m : 1, side_n > 0 ? side_n : 1, k, 1, &c)) == GT_OK)
            draw_telling(d, c);
    }
    return status;
}

/* Every remainder along one side, often behind a whole tile, the other side short. Then every length up to LENGTHS that
 * was not met, with a short K or of more than a step. */
static gt_status add_sweep(drawing *d, bool rows)
{
    const int64_t tile = rows ? d->tile_m : d->tile_n, other = rows ? d->tile_n : d->tile_m;
    const walk rests = draw_walk(&d->random, tile), lengths = draw_walk(&d->random, LENGTHS);
    const int64_t swept = affordable(d, SWEEP_SHARE, 1.5 * work_of(d, 1, 1, d->step + 1, 1), FEWEST, tile);
    bool met[LENGTHS + 1] = {false};
    double left = allowance(d, SWEEP_SHARE);
    gt_status status = GT_OK;
    for (int64_t i = 0; status == GT_OK && i < swept + LENGTHS && (i < swept || left > 0); i++) {
        gt_case *c;
        const int64_t length = i - swept, few = draw_few(d, other);
        const int64_t side = length >= 0 ? 1 + walk_at(&lengths, length)
                                         : 1 + walk_at(&rests, i) + (below(d, 4) == 0 ? tile : 0);
        if (length >= 0 && met[side])
            continue;
        if (side <= LENGTHS)
            met[side] = true;
        const int64_t whole = d->step <= SHORT_STEP ? below(d, 2) * d->step : 0;
        const int64_t k = length >= 0 ? whole + draw_few(d, d->step) : draw_k(d, draw_steps(d));
        const int64_t batch = length < 0 && below(d, 6) == 0 ? 2 + below(d, 3) : 1;
        left -= work_of(d, side, few, k, batch);
        status = add(d, rows ? side : few, rows ? few : side, k, batch, &c);
        if (status == GT_OK && length >= 0)
            draw_telling(d, c);
    }
    return status;
}

static gt_status add_rows(drawing *d)
{
    return add_sweep(d, true);
}

static gt_status add_columns(drawing *d)
{
    return add_sweep(d, false);
}

/* Numbers of steps of K, up to beyond what the stages of all parts hold: those of one part first, then some of each
 * length. */
static gt_status add_steps(drawing *d)
{
    const int64_t count = d->depth + 2, own = d->stages + 2 < count ? d->stages + 2 : count;
    const walk w = draw_walk(&d->random, count - own > 0 ? count - own : 1);
    double left = allowance(d, STEP_SHARE);
    gt_status status = GT_OK;
    for (int64_t i = 0; status == GT_OK && i < count && i < MANY_STEPS && (i < own || left > 0); i++) {
        gt_case *c;
        const int64_t steps = i < own ? i : own + walk_at(&w, i), k = draw_k(d, steps);
        left -= work_of(d, 1, 1, k, 1);
        status = add(d, draw_few(d, d->tile_m), draw_few(d, d->tile_n), k, 1, &c);
    }
    return status;
}

/* Every length of K up to LENGTHS. */
static gt_status add_depths(drawing *d)
{
    const walk lengths = draw_walk(&d->random, LENGTHS);
    double left = allowance(d, DEPTH_SHARE);
    gt_status status = GT_OK;
    for (int64_t i = 0; status == GT_OK && i < LENGTHS && left > 0; i++) {
        gt_case *c;
        const int64_t k = 1 + walk_at(&lengths, i);
        left -= work_of(d, 1, 1, k, 1);
        if ((status = add(d, draw_few(d, d->tile_m), draw_few(d, d->tile_n), k, 1, &c)) == GT_OK)
            draw_telling(d, c);
    }
    return status;
}

/* For a persistent grid that deals the steps of its tiles out to its blocks: two tiles, of which every block has some
 * steps, and more tiles than blocks, which have two steps each. */
static gt_status add_dealt(drawing *d)
{
    const int64_t blocks = d->facts->blocks, tile = d->tile_m < d->tile_n ? d->tile_m : d->tile_n;
    if (blocks == 0 || d->facts->ws_tile == 0)
        return GT_OK;
    const int64_t tiles[] = {2, blocks + 1 + below(d, 3)}, steps[] = {5 * blocks / 4 + 1 + below(d, 3), 1};
    gt_status status = GT_OK;
    for (int i = 0; status == GT_OK && i < 2; i++) {
        gt_case *c;
        const int64_t side = (tiles[i] - 1) * tile + draw_few(d, tile), k = steps[i] * d->step + 1 + below(d, d->step);
        const bool rows = tile == d->tile_m;
        const int64_t m = rows ? side : draw_few(d, d->tile_m), n = rows ? draw_few(d, d->tile_n) : side;
        if (work_of(d, m, n, k, 1) <= allowance(d, DEAL_SHARE))
            status = add(d, m, n, k, 1, &c);
    }
    return status;
}

/* Several tiles in both directions, of which one is whole. K longer than all stages and parts hold: plain numbers, then
 * other data in the same workspace. K that nobody shares, with and without C. A batch. And
 * sides of whole sectors, where padded rows of a copy have no padding. */
static gt_status add_general(drawing *d)
{
    gt_case *c;
    const int64_t m = d->tile_m + 1 + below(d, d->tile_m < MORE ? d->tile_m : MORE);
    const int64_t n = d->tile_n + 1 + below(d, d->tile_n < MORE ? d->tile_n : MORE);
    const int64_t steps = affordable(d, GENERAL_SHARE / 2, work_of(d, m, n, d->step, 1), 2, d->depth + 2);
    gt_status status = add(d, m, n, steps * d->step + below(d, d->step), 1, &c);
    if (status != GT_OK)
        return status;
    c->values = GT_VALUES_NORMAL;
    c->alpha = draw_scalar(d, 0);
    c->beta = draw_scalar(d, 1);
    c->watched = true;
    if ((status = add_again(d, &c)) != GT_OK)
        return status;
    c->alpha = 1;
    c->beta = 0;
    c->watched = true;
    for (int i = 0; i < 2; i++) {
        if ((status = add(d, m, n, draw_few(d, d->step), 1, &c)) != GT_OK)
            return status;
        c->values = GT_VALUES_NORMAL;
        c->alpha = i == 0 ? draw_far_scalar(d, below(d, 2)) : draw_scalar(d, 1);
        c->beta = i == 0 ? 0 : draw_scalar(d, 0);
        c->watched = true;
    }
    status = add(d, d->tile_m + below(d, 3), 1 + below(d, d->tile_n), draw_k(d, 1 + draw_steps(d)), 3, &c);
    if (status != GT_OK)
        return status;
    c->watched = true;
    const int64_t odd = 1 + 2 * below(d, 2); /* 1 or 3, the other one along the other side */
    if ((status = add(d, odd * SECTORS, (4 - odd) * SECTORS, (1 + 2 * below(d, 2)) * SECTORS, 1, &c)) == GT_OK) {
        c->alpha = draw_scalar(d, 0);
        c->watched = true;
    }
    return status;
}

/* Adds a case whose operands have one stride between rows. */
static gt_status add_alike(drawing *d, int64_t m, int64_t n, int64_t k, gt_case **out)
{
    const gt_status status = add(d, m, n, k, 1, out);
    if (status != GT_OK)
        return status;
    const int64_t unit = d->class->align / gt_class_element(d->class), longest = m > n ? m > k ? m : k : n > k ? n : k;
    gt_gemm gemm = gt_class_gemm(d->class, m, n, k);
    gemm.lda = gemm.ldb = gemm.ldc = (longest + unit - 1) / unit * unit;
    return gt_problem_init(&gemm, &(*out)->problem);
}

/* Sides that are as long as others: two of them and all, and a matrix that is multiplied by itself. */
static gt_status add_equal(drawing *d)
{
    const int64_t tile = d->tile_m < d->tile_n ? d->tile_m : d->tile_n, most = tile < ALIKE_MOST ? tile : ALIKE_MOST;
    const int64_t a = 1 + below(d, most), b = a + 1 + below(d, 4);
    const int64_t sides[][3] = {{a, a, b}, {a, b, a}, {b, a, a}, {b, b, b}, {a, a, a}};
    const int count = sizeof sides / sizeof sides[0];
    gt_status status = GT_OK;
    for (int i = 0; status == GT_OK && i < count + (d->work == 0 ? ALIKE_LARGE : 0); i++) {
        gt_case *c;
        const int64_t large = 1 + below(d, LENGTHS), *side = i < count ? sides[i] : (const int64_t[]){large, large, large};
        if ((status = add_alike(d, side[0], side[1], side[2], &c)) == GT_OK) {
            draw_both(d, c);
            c->values = GT_VALUES_NORMAL;
            c->itself = i == count - 1 && d->class->type_a == d->class->type_b;
        }
    }
    return status;
}

/* A batch whose matrices overlap: those of A begin as near to each other as alignment allows, those of B a row apart. */
static gt_status add_overlapping(drawing *d)
{
    gt_case *c;
    const int bytes = gt_type_find(d->class->type_a)->bytes;
    const gt_status status = add(d, 1 + below(d, d->tile_m), 1 + below(d, d->tile_n), draw_k(d, 1), 3, &c);
    if (status != GT_OK)
        return status;
    c->problem.stride_a = d->class->align > bytes ? d->class->align / bytes : 1;
    c->problem.stride_b = c->problem.ldb;
    c->values = GT_VALUES_NORMAL;
    draw_both(d, c);
    return GT_OK;
}

/* Many tiles along one side, of which a K of 1 would tell little, many elements of C, and a K that is far longer than any
 * other. */
static gt_status add_long(drawing *d)
{
    const double tile = work_of(d, 1, 1, 1, 1);
    const int64_t tall = affordable(d, SIDE_SHARE, tile, TILES_LEAST, MANY_TILES);
    const int64_t k = affordable(d, LONG_SHARE, (double)(d->tile_m * d->tile_n), LONG_LEAST, LONG_K);
    const int64_t rows = 200 + below(d, 100);
    gt_case *c;
    gt_status status =
        add(d, tall * d->tile_m + below(d, d->tile_m) + 1, 2 + below(d, 4), 2 + below(d, 2), 1, &c);
    if (status == GT_OK)
        status = add(d, 2 + below(d, 4), tall * d->tile_n + below(d, d->tile_n) + 1, 2 + below(d, 2), 1, &c);
    if (status == GT_OK)
        status = add(d, rows, LARGE_C / rows + 1 + below(d, 16), draw_few(d, d->step), 1, &c);
    if (status == GT_OK) {
        c->alpha = draw_scalar(d, 0);
        c->beta = draw_scalar(d, 1); /* of many elements there is no other case */
        c->values = GT_VALUES_NORMAL;
        status = add(d, 2 + below(d, 4), 2 + below(d, 4), k + below(d, 256), 1, &c);
    }
    if (status == GT_OK) {
        c->alpha = c->beta = draw_scalar(d, 0); /* a smaller beta would be lost beside a long sum */
        c->values = GT_VALUES_NORMAL;
    }
    return status;
}

/* Operands that may be split into parts: whether sums are promoted shows on average, over some elements. And one element
 * far below the others, of so many that few is not what is wrong with it. */
static gt_status add_parts(drawing *d)
{
    gt_case *c;
    if (d->types->parts == 0)
        return GT_OK;
    gt_status status = add(d, SUMS_SIDE, SUMS_SIDE, GT_SUMS_K + below(d, d->step), 1, &c);
    if (status != GT_OK)
        return status;
    c->values = GT_VALUES_NORMAL;
    c->alpha = 1;
    c->beta = 0;
    if ((status = add(d, 1 + below(d, 5), 1 + below(d, 5), 100 + below(d, 100), 1, &c)) == GT_OK) {
        c->values = GT_VALUES_UNEVEN;
        c->uneven = GT_UNEVEN_SMALL;
        c->odd = (gt_operand)below(d, 2);
        c->alpha = 1;
        c->beta = 0;
    }
    return status;
}

/* Where sums are to be promoted: many intervals of that in every part of K. */
static gt_status add_steep(drawing *d)
{
    gt_case *c;
    if (d->types->promoted == 0 || d->types->parts > 0)
        return GT_OK;
    const int64_t k = STEEP_INTERVALS * d->types->promoted * d->facts->split_k + below(d, d->step);
    const gt_status status = add(d, 2 + below(d, 4), 2 + below(d, 4), k, 1, &c);
    if (status == GT_OK) {
        c->values = GT_VALUES_STEEP;
        c->alpha = draw_scalar(d, 0);
        if (c->alpha * (STEEP_FIRST + (double)k / 16) > gt_type_find(d->types->c)->most)
            c->alpha = 1; /* infinity would hide what is lost */
        c->beta = 0;
    }
    return status;
}

/* As many products as the workspace and the work allow: with K, and, more than a byte counts, without. */
static gt_status add_batch(drawing *d)
{
    int64_t most = BATCH_BYTE + below(d, 64);
    if (d->work == 0) /* up to 2^8 times as many, every power as often; the last of them is more than a grid has in z */
        most = below(d, 8) == 0 ? MANY_BATCH + below(d, 256) : most << below(d, 8);
    if (d->per_product > 0 && most > WORKSPACE_LIMIT / d->per_product)
        most = WORKSPACE_LIMIT / d->per_product;
    most = most > 3 ? most : 3;
    const int64_t few = BATCH_LEAST < most ? BATCH_LEAST : most;
    const int64_t some = affordable(d, BATCH_SHARE, work_of(d, 1, 1, 1, 1), few, most);
    gt_case *c;
    gt_status status = add(d, 2, 2, 1 + below(d, 2), some, &c);
    if (status == GT_OK) {
        c->values = GT_VALUES_NORMAL;
        c->alpha = draw_scalar(d, 1);
    }
    most = affordable(d, EMPTY_SHARE, work_of(d, 1, 1, 0, 1), some, most);
    if (status == GT_OK && some < most && (status = add(d, 2, 2, 0, most, &c)) == GT_OK)
        c->beta = draw_scalar(d, 1);
    return status;
}

/* No K: C = beta C, and C = 0. Nothing but the kernel's own waits keeps them behind what the stream ran before. And beta
 * that is very small or large: added to A B, a small one would not show. */
static gt_status add_empty(drawing *d)
{
    gt_status status = GT_OK;
    for (int i = 0; status == GT_OK && i < 4; i++) {
        gt_case *c;
        status = add(d, 1 + below(d, d->tile_m), 1 + below(d, d->tile_n), 0, 1, &c);
        if (status == GT_OK && i < 2) {
            c->beta = draw_scalar(d, i == 0 ? 1 : 4);
            c->watched = true;
        } else if (status == GT_OK) {
            c->beta = draw_far_scalar(d, i == 2);
            c->values = GT_VALUES_NORMAL;
        }
    }
    return status;
}

/* The same launch very often, then other data. */
static gt_status add_repeated(drawing *d)
{
    const double each = work_of(d, 1, 1, 1, 1);
    gt_case *c;
    gt_status status = add(d, 1 + below(d, 3), 1 + below(d, 3), 1 + below(d, 3), 1, &c);
    if (status != GT_OK)
        return status;
    c->alpha = draw_scalar(d, 0);
    c->beta = 0;
    c->repeats = (int)affordable(d, REPEAT_SHARE, each, REPEAT_LEAST, MANY_REPEATS);
    if ((status = add_again(d, &c)) == GT_OK)
        c->alpha = draw_scalar(d, 1);
    return status;
}

/* ---- all of them ---- */

/* Where operands begin: the first address behind the guard that is as aligned as promised and no better. */
static void place_cases(const gt_class *class, gt_cases *cases)
{
    size_t at = 0;
    for (size_t i = 0; i < cases->count; i++) {
        cases->list[i].begin = at = (at + 255) / 256 * 256;
        for (gt_operand o = GT_A; o < GT_OPERANDS; o++) {
            const gt_problem *p = &cases->list[i].problem;
            const size_t align = (size_t)gt_class_pointer(class, gt_problem_stored(p, o).type);
            at = (at + GT_CASE_GUARD + 2 * align - 1) / (2 * align) * (2 * align) + align;
            cases->list[i].place[o] = at;
            at += gt_problem_bytes(p, o);
        }
        if (cases->list[i].itself)
            cases->list[i].place[GT_B] = cases->list[i].place[GT_A];
    }
    cases->bytes = (at + GT_CASE_GUARD + 255) / 256 * 256;
}

size_t gt_cases_end(const gt_cases *cases, size_t index)
{
    return index + 1 < cases->count ? cases->list[index + 1].begin : cases->bytes;
}

int64_t gt_cases_step(const gt_kernel *kernel)
{
    int64_t step = 16;
    gt_params_find(&kernel->params, "bk", &step);
    return step > 0 ? step : 16;
}

gt_status gt_cases_draw(const gt_class *class, const gt_kernel *kernel, uint64_t seed, double work, gt_cases *out)
{
    /* Cheap ones first: on the software GPU a wrong kernel is told so at its first wrong product. */
    static gt_status (*const kinds[])(drawing *) = {add_edges, add_rows, add_columns, add_steps, add_depths,
                                                    add_general, add_empty, add_equal, add_overlapping, add_dealt,
                                                    add_long, add_steep, add_parts, add_batch, add_repeated};
    const gt_facts *f = &kernel->facts;
    gt_cases cases = {0};
    int64_t stages = 2;
    gt_params_find(&kernel->params, "stages", &stages);
    if (f->tile_m < 1 || f->tile_n < 1 || f->split_k < 1)
        return gt_fail(GT_ERROR_INVALID, "a tile of %lld x %lld, K in %lld parts", (long long)f->tile_m,
                       (long long)f->tile_n, (long long)f->split_k);
    drawing d = {.class = class, .types = gt_class_types(class), .facts = f, .tile_m = f->tile_m, .tile_n = f->tile_n,
                 .step = gt_cases_step(kernel), .stages = stages > 0 ? stages : 1, .work = work, .random = {.seed = seed},
                 .per_product = f->blocks > 0 ? f->ws_tile * f->blocks : f->ws_tile, .cases = &cases};
    d.depth = (d.stages + 1) * f->split_k;
    d.rests = draw_walk(&d.random, d.step);
    d.drawn = below(&d, 25);
    d.strides = below(&d, 7);
    d.hard = below(&d, GT_OPERANDS * (GT_HARD_KINDS + 1));
    gt_status status = GT_OK;
    for (size_t i = 0; status == GT_OK && i < sizeof kinds / sizeof kinds[0]; i++)
        status = kinds[i](&d);
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
