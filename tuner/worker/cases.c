#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../src/core/status.h"
#include "../random.h"
#include "checks.h"
#include "pool.h"

/* Where there is no bound: K of the longest case, tiles along the longest sides, products of the largest batches (more
 * than a grid has in z), launches of the case that is repeated. With a bound there is at least the second. */
#define LONG_K       65537
#define LONG_LEAST   4200
#define MANY_TILES   200
#define TILES_LEAST  20
#define MANY_BATCH   65536
#define BATCH_LEAST  260
#define MANY_REPEATS 1100
#define REPEAT_LEAST 64

/* No batch is so large that a kernel's workspace passes this. */
#define WORKSPACE_LIMIT ((int64_t)1 << 28)

/* Remainders of k are met by steps up to this; longer ones are met by as many of theirs. */
#define STEP_LIMIT 64

/* Shares of the bounded work. */
#define GENERAL_SHARE 0.3
#define SWEEP_SHARE   0.2 /* for rows, and for columns */
#define LONG_SHARE    0.1
#define SIDE_SHARE    0.05 /* for rows, and for columns */
#define REPEAT_SHARE  0.5

#define VERY_MANY 1000 /* rows of an operand */

#define MORE 16 /* rows and columns of a general case beyond its first tile */
#define FEW  6  /* of a sweep's other side */

/* Scalars go from 2^-8 to 2^9. */
#define SCALAR_POWERS 8

/* Random numbers, one after the other. */
typedef struct stream {
    uint64_t seed, next;
} stream;

static uint64_t bits(stream *s)
{
    return gt_random_bits(s->seed, s->next++);
}

/* From 0 to limit - 1; limit is at least 1. */
static int64_t below(stream *s, int64_t limit)
{
    return (int64_t)(bits(s) % (uint64_t)limit);
}

/* All numbers from 0 to length - 1 in an order of their own: start, start + step, ... modulo the length. */
typedef struct walk {
    int64_t length, start, step;
} walk;

static int64_t divisor(int64_t a, int64_t b)
{
    return b == 0 ? a : divisor(b, a % b);
}

static walk draw_walk(stream *s, int64_t length)
{
    walk w = {length, below(s, length), 1};
    do
        w.step = 1 + below(s, length);
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
    int64_t tile_m, tile_n, step, depth; /* depth: K that a pipeline's stages and all parts of K hold */
    int64_t per_product;                 /* bytes of workspace for each product of one tile */
    double work;
    stream random;
    walk residues; /* of k */
    int64_t drawn; /* cases so far, which go through scalars and values in turn */
    gt_cases *cases;
    size_t room;
} drawing;

/* ---- scalars ---- */

/* Full mantissas of either sign, and 1, -1 and 0. Integers take any. */
static double draw_scalar(drawing *d, int kind)
{
    static const double special[] = {1, -1, 0};
    if (kind >= 2)
        return special[kind - 2];
    if (d->types->exact)
        return (double)(int32_t)(uint32_t)bits(&d->random);
    const float mantissa = 1 + (float)(bits(&d->random) >> 41) * 0x1p-23f; /* all bits of f32 */
    const double magnitude = ldexp(mantissa, (int)below(&d->random, 2 * SCALAR_POWERS + 1) - SCALAR_POWERS);
    return kind == 0 ? magnitude : -magnitude;
}

/* ---- sizes ---- */

/* Every remainder in turn, and some whole steps before it: `least`, one more, or as many as pass what the stages
 * hold. */
static int64_t draw_k(drawing *d, int64_t index, int64_t least)
{
    const int64_t rest = 1 + walk_at(&d->residues, index), kind = below(&d->random, 8);
    return rest + d->step * (least + (kind == 0 ? below(&d->random, d->depth / d->step + 2) : kind == 1));
}

/* Multiply-adds of a case: its tiles are computed whole. */
static double work_of(const drawing *d, int64_t m, int64_t n, int64_t k, int64_t batch)
{
    const double tiles = ceil((double)m / (double)d->tile_m) * ceil((double)n / (double)d->tile_n) * (double)batch;
    const double steps = ceil((double)k / (double)d->step) + 1;
    return tiles * (double)d->tile_m * (double)d->tile_n * steps * (double)d->step;
}

/* Some stride that is aligned and no better, or rows of just their elements where those are: always where there are
 * very many. */
static int64_t draw_ld(drawing *d, int64_t rows, int64_t columns, int bytes)
{
    const int64_t unit = d->class->align > bytes ? d->class->align / bytes : 1, units = (columns + unit - 1) / unit;
    const int64_t kind = below(&d->random, 4);
    if (kind == 0 || rows > VERY_MANY)
        return (units > 0 ? units : 1) * unit;
    return ((units + 1 + 2 * below(&d->random, 3)) | 1) * unit;
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
    const int64_t gap = below(&d->random, 2);
    gemm->stride_a = (rows_a + gap) * gemm->lda;
    gemm->stride_b = (rows_b + gap) * gemm->ldb;
    gemm->stride_c = (gemm->m + gap) * gemm->ldc;
    return gt_problem_init(gemm, problem);
}

/* ---- the list ---- */

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
                 .fill = (gt_fill)(turn % GT_FILL_COUNT), .repeats = 1};
    if (!d->types->exact && turn % 8 == 3) {
        c.values = GT_VALUES_WIDE;
        c.odd = (gt_operand)below(&d->random, 2);
    } else if (!d->types->exact && turn % 8 == 6) {
        c.values = GT_VALUES_HARD;
        c.odd = (gt_operand)(turn / 8 % GT_OPERANDS);
        *(c.odd == GT_C ? &c.beta : &c.alpha) = draw_scalar(d, (int)(turn / 8 % 2));
    }
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

/* How many of something fit into a share of the work; all where there is no bound. */
static int64_t affordable(const drawing *d, double share, double each, int64_t least, int64_t most)
{
    if (d->work == 0 || each * (double)most <= share * d->work)
        return most;
    const double count = share * d->work / each;
    return count < (double)least ? least : (int64_t)count;
}

/* Several tiles in both directions, K longer than all stages and parts hold; plain numbers, other data in the same
 * workspace, and a batch. */
static gt_status add_general(drawing *d)
{
    gt_case *c;
    const int64_t m = d->tile_m + 1 + below(&d->random, d->tile_m < MORE ? d->tile_m : MORE);
    const int64_t n = d->tile_n + 1 + below(&d->random, d->tile_n < MORE ? d->tile_n : MORE);
    const int64_t each = (int64_t)work_of(d, m, n, d->step, 1) / 2;
    const int64_t steps = affordable(d, GENERAL_SHARE / 4, (double)each, 2, d->depth / d->step + 2);
    gt_status status = add(d, m, n, steps * d->step + below(&d->random, d->step), 1, &c);
    if (status != GT_OK)
        return status;
    c->values = GT_VALUES_NORMAL;
    c->alpha = draw_scalar(d, 0);
    c->beta = draw_scalar(d, 1);
    c->general = true;
    if ((status = add_again(d, &c)) != GT_OK)
        return status;
    c->alpha = 1;
    c->beta = 0;
    c->general = true;
    status = add(d, d->tile_m + below(&d->random, 3), 1 + below(&d->random, d->tile_n), draw_k(d, 0, 1), 3, &c);
    if (status == GT_OK)
        c->general = true;
    return status;
}

/* Every remainder along one side, the other side short. */
static gt_status add_sweep(drawing *d, bool rows)
{
    const int64_t tile = rows ? d->tile_m : d->tile_n, other = rows ? d->tile_n : d->tile_m;
    const walk w = draw_walk(&d->random, tile);
    const double each = 1.5 * work_of(d, 1, 1, d->step, 1);
    const int64_t count = affordable(d, SWEEP_SHARE, each, 12, tile);
    gt_status status = GT_OK;
    for (int64_t i = 0; status == GT_OK && i < count; i++) {
        gt_case *c;
        const int64_t side = 1 + walk_at(&w, i) + (below(&d->random, 8) == 0 ? tile : 0);
        const int64_t few = 1 + below(&d->random, other < FEW ? other : FEW);
        const int64_t batch = below(&d->random, 6) == 0 ? 2 + below(&d->random, 3) : 1;
        status = add(d, rows ? side : few, rows ? few : side, draw_k(d, i, rows ? i % 2 : 1), batch, &c);
    }
    d->cases->residues[rows ? 0 : 1] = (int)count;
    return status;
}

/* Many tiles along one side, and a K that is far longer than any other. */
static gt_status add_long(drawing *d)
{
    const double tile = work_of(d, 1, 1, 1, 1);
    const int64_t tall = affordable(d, SIDE_SHARE, tile, TILES_LEAST, MANY_TILES);
    const int64_t k = affordable(d, LONG_SHARE, (double)(d->tile_m * d->tile_n), LONG_LEAST, LONG_K);
    gt_case *c;
    gt_status status = add(d, tall * d->tile_m + below(&d->random, d->tile_m) + 1, 1 + below(&d->random, 5),
                           1 + below(&d->random, 3), 1, &c);
    if (status == GT_OK)
        status = add(d, 1 + below(&d->random, 5), tall * d->tile_n + below(&d->random, d->tile_n) + 1,
                     1 + below(&d->random, 3), 1, &c);
    if (status == GT_OK)
        status = add(d, 1 + below(&d->random, 5), 1 + below(&d->random, 5), k + below(&d->random, 256), 1, &c);
    if (status == GT_OK) {
        c->alpha = draw_scalar(d, 0);
        c->values = GT_VALUES_NORMAL;
    }
    return status;
}

static gt_status add_batch(drawing *d)
{
    int64_t batch = BATCH_LEAST + below(&d->random, 64);
    if (d->work == 0) /* up to 2^8 times as many, every power as often; the last of them is more than a grid has in z */
        batch = below(&d->random, 8) == 0 ? MANY_BATCH + below(&d->random, 256) : batch << below(&d->random, 8);
    if (d->per_product > 0 && batch > WORKSPACE_LIMIT / d->per_product)
        batch = WORKSPACE_LIMIT / d->per_product;
    gt_case *c;
    const gt_status status = add(d, 1, 1, 1 + below(&d->random, 2), batch > 3 ? batch : 3, &c);
    if (status == GT_OK) {
        c->values = GT_VALUES_NORMAL;
        c->alpha = draw_scalar(d, 1);
    }
    return status;
}

/* No K: C = beta C, and C = 0. */
static gt_status add_empty(drawing *d)
{
    gt_status status = GT_OK;
    for (int i = 0; status == GT_OK && i < 2; i++) {
        gt_case *c;
        status = add(d, 1 + below(&d->random, d->tile_m), 1 + below(&d->random, d->tile_n), 0, 1, &c);
        if (status == GT_OK)
            c->beta = draw_scalar(d, i == 0 ? 1 : 4);
    }
    return status;
}

/* The same launch very often, then other data. */
static gt_status add_repeated(drawing *d)
{
    const double each = (double)(d->tile_m * d->tile_n * (d->step < 32 ? d->step : 32));
    gt_case *c;
    gt_status status = add(d, 1 + below(&d->random, 3), 1 + below(&d->random, 3), 1 + below(&d->random, 3), 1, &c);
    if (status != GT_OK)
        return status;
    c->alpha = draw_scalar(d, 0);
    c->beta = 0;
    c->repeats = (int)affordable(d, REPEAT_SHARE, each, REPEAT_LEAST, MANY_REPEATS);
    if ((status = add_again(d, &c)) == GT_OK)
        c->alpha = draw_scalar(d, 1);
    return status;
}

/* ---- what memory holds ---- */

/* Where operands begin: the first address behind the guard that is as aligned as promised and no better. */
static void place_cases(const gt_class *class, gt_cases *cases)
{
    size_t at = 0;
    for (size_t i = 0; i < cases->count; i++)
        for (gt_operand o = GT_A; o < GT_OPERANDS; o++) {
            const gt_problem *p = &cases->list[i].problem;
            const size_t element = (size_t)gt_type_find(gt_problem_stored(p, o).type)->bytes;
            const size_t align = (size_t)class->align > element ? (size_t)class->align : element;
            at = (at + GT_CASE_GUARD + 2 * align - 1) / (2 * align) * (2 * align) + align;
            cases->list[i].place[o] = at;
            at += gt_problem_bytes(p, o);
        }
    cases->bytes = (at + GT_CASE_GUARD + 255) / 256 * 256;
}

/* The power of two that a row of A or a column of B is scaled by. One of the two goes down to subnormal numbers, the
 * other up, so that most of their products are normal. */
static int scale_of(const gt_case *c, gt_operand operand, uint64_t seed, int64_t index)
{
    const gt_class *class = &c->problem.class;
    const gt_type_info *type = gt_type_find(operand == GT_A ? class->type_a : class->type_b);
    const int least = operand == c->odd ? type->least_scale : 0;
    return least + (int)(gt_random_bits(seed + operand, (uint64_t)index) % (uint64_t)(type->most_scale - least + 1));
}

/* Of A rows are scaled, of B columns, of C both, so far as its type can hold that. */
static void scale_operand(const gt_case *c, gt_operand operand, uint64_t seed, char *data)
{
    const gt_problem *p = &c->problem;
    const gt_stored o = gt_problem_stored(p, operand);
    const gt_type_info *type = gt_type_find(o.type);
    const bool a_down = p->class.op_a == GT_N, b_down = p->class.op_b == GT_N;
    for (int64_t index = 0; index < p->batch; index++)
        for (int64_t row = 0; row < o.rows; row++)
            for (int64_t column = 0; column < o.columns; column++) {
                const int64_t at = index * o.stride + row * o.ld + column;
                int power;
                if (operand == GT_A) {
                    power = scale_of(c, GT_A, seed, a_down ? row : column);
                } else if (operand == GT_B) {
                    power = scale_of(c, GT_B, seed, b_down ? column : row);
                } else {
                    power = scale_of(c, GT_A, seed, row) + scale_of(c, GT_B, seed, column);
                    power = power < type->least_scale ? type->least_scale : power;
                }
                type->store(data, at, ldexp(type->load(data, at), power));
            }
}

/* NaN and both infinities, each at a place of every matrix. */
static void harden(const gt_case *c, gt_operand operand, stream *s, char *data)
{
    static const double hard[] = {NAN, INFINITY, -INFINITY};
    const gt_stored o = gt_problem_stored(&c->problem, operand);
    const gt_type_info *type = gt_type_find(o.type);
    if (o.rows == 0 || o.columns == 0)
        return;
    for (int64_t index = 0; index < c->problem.batch; index++)
        for (int i = 0; i < 3; i++) {
            const int64_t place = below(s, o.rows) * o.ld + below(s, o.columns);
            type->store(data, index * o.stride + place, hard[(i + index) % 3]);
        }
}

/* One operand of a case. Poison stays between its rows, and in a C that nobody reads and that is not to be filled. */
static void fill_operand(const gt_case *c, gt_operand operand, gt_pool *pool, char *data)
{
    const gt_stored o = gt_problem_stored(&c->problem, operand);
    const bool unread = operand == GT_C && c->beta == 0;
    if (!unread || c->fill == GT_FILL_RANDOM) {
        gt_pool_fill(pool, &o, c->problem.batch, data);
        return;
    }
    for (int64_t row = 0; c->fill != GT_FILL_POISON && row < c->problem.batch * o.rows; row++)
        for (int64_t column = 0; column < o.columns; column++)
            pool->type->store(data, row / o.rows * o.stride + row % o.rows * o.ld + column, c->fill == GT_FILL_ONES);
}

static gt_status fill_image(drawing *d)
{
    gt_cases *cases = d->cases;
    gt_pool pools[GT_OPERANDS] = {0};
    const gt_type types[GT_OPERANDS] = {d->class->type_a, d->class->type_b, d->class->type_c};
    gt_status status = GT_OK;
    for (gt_operand o = GT_A; status == GT_OK && o < GT_OPERANDS; o++)
        status = gt_pool_init(types[o], bits(&d->random), &pools[o]);
    if (status == GT_OK && !(cases->image = malloc(cases->bytes)))
        status = gt_fail_memory();
    for (size_t i = 0; status == GT_OK && i < cases->bytes / sizeof(uint32_t); i++)
        ((uint32_t *)cases->image)[i] = GT_POISON;
    for (size_t i = 0; status == GT_OK && i < cases->count; i++) {
        const gt_case *c = &cases->list[i];
        const uint64_t scales = bits(&d->random);
        for (gt_operand o = GT_A; o < GT_OPERANDS; o++) {
            char *const data = (char *)cases->image + c->place[o];
            fill_operand(c, o, &pools[o], data);
            if (o == GT_C && c->beta == 0)
                continue;
            if (c->values == GT_VALUES_WIDE)
                scale_operand(c, o, scales, data);
            else if (c->values == GT_VALUES_HARD && o == c->odd)
                harden(c, o, &d->random, data);
        }
    }
    for (gt_operand o = GT_A; o < GT_OPERANDS; o++)
        gt_pool_finish(&pools[o]);
    return status;
}

gt_status gt_cases_draw(const gt_class *class, const gt_kernel *kernel, uint64_t seed, double work, gt_cases *out)
{
    const gt_facts *f = &kernel->facts;
    gt_cases cases = {0};
    int64_t step = 16, stages = 2;
    gt_params_find(&kernel->params, "bk", &step);
    gt_params_find(&kernel->params, "stages", &stages);
    if (f->tile_m < 1 || f->tile_n < 1 || f->split_k < 1)
        return gt_fail(GT_ERROR_INVALID, "a tile of %lld x %lld, K in %lld parts", (long long)f->tile_m,
                       (long long)f->tile_n, (long long)f->split_k);
    drawing d = {.class = class, .types = gt_class_types(class), .tile_m = f->tile_m, .tile_n = f->tile_n,
                 .step = step > 0 ? step : 16, .work = work, .random = {.seed = seed}, .cases = &cases,
                 .per_product = f->blocks > 0 ? f->ws_tile * f->blocks : f->ws_tile};
    d.depth = (stages > 0 ? stages + 1 : 2) * f->split_k * d.step;
    d.residues = draw_walk(&d.random, d.step < STEP_LIMIT ? d.step : STEP_LIMIT);
    d.drawn = below(&d.random, 25);
    gt_status status;
    if ((status = add_general(&d)) == GT_OK && (status = add_sweep(&d, true)) == GT_OK &&
        (status = add_sweep(&d, false)) == GT_OK && (status = add_empty(&d)) == GT_OK &&
        (status = add_long(&d)) == GT_OK && (status = add_batch(&d)) == GT_OK)
        status = add_repeated(&d);
    if (status == GT_OK) {
        const int64_t met = cases.residues[0] + cases.residues[1];
        cases.residues[2] = (int)(met < d.residues.length ? met : d.residues.length);
        place_cases(class, &cases);
        status = fill_image(&d);
    }
    if (status == GT_OK)
        *out = cases;
    else
        gt_cases_finish(&cases);
    return status;
}

void gt_cases_finish(gt_cases *cases)
{
    free(cases->list);
    free(cases->image);
    *cases = (gt_cases){0};
}

void gt_cases_describe(const gt_cases *cases, const gt_kernel *kernel, char *text, size_t bytes)
{
    snprintf(text, bytes, "%zu products, %d of %lld remainders of m, %d of %lld of n, %d of k", cases->count,
             cases->residues[0], (long long)kernel->facts.tile_m, cases->residues[1], (long long)kernel->facts.tile_n,
             cases->residues[2]);
}
