#include "drawing.h"

#include <math.h>
#include <stdlib.h>

#include "../../src/core/copies.h"
#include "../../src/core/launch.h"
#include "../../src/core/status.h"
#include "exact.h"

/* A block that begins and ends costs the software GPU about as much as so many multiply-adds. */
#define BLOCK_WORK 8192

#define MANY_PARTS 24 /* of K */

#define MANY_ROWS 1000 /* rows of an operand from which on they are packed */
#define FEW_ROWS  100  /* up to which they may lie far apart */

#define FEW 6 /* of a side that is short */

/* Scalars go from 2^-11 to 2^12, and a few beyond 2^-FAR_POWERS and 2^FAR_POWERS, where the types have such numbers. */
#define SCALAR_POWERS 11
#define PLAIN_SCALARS 6 /* one of so many is a small number */
#define FAR_POWERS    88
#define FAR_POWERS_F64 300 /* what f32 cannot hold */

static int64_t divisor(int64_t a, int64_t b)
{
    return b == 0 ? a : divisor(b, a % b);
}

gt_walk gt_walk_draw(gt_draws *random, int64_t length)
{
    gt_walk w = {length, gt_draw_below(random, length), 1};
    do
        w.step = 1 + gt_draw_below(random, length);
    while (divisor(w.step, length) != 1);
    return w;
}

int64_t gt_walk_at(const gt_walk *w, int64_t index)
{
    return (w->start + index % w->length * w->step) % w->length;
}

int64_t gt_drawing_below(gt_drawing *d, int64_t limit)
{
    return gt_draw_below(&d->random, limit);
}

/* ---- scalars ---- */

/* All bits of the accumulator's type, up to so many powers of two from 1; kind is 0 for positive ones, 1 for negative.
 */
static double draw_full(gt_drawing *d, int kind, int powers)
{
    const double mantissa = 1 + (double)(gt_draw_bits(&d->random) >> 12) * 0x1p-52;
    const double magnitude = ldexp(mantissa, (int)gt_drawing_below(d, 2 * powers + 1) - powers);
    const gt_scalar rounded = gt_scalar_make(d->types, kind == 0 ? magnitude : -magnitude);
    return gt_type_find(d->types->accumulator)->load(&rounded, 0);
}

double gt_drawing_scalar(gt_drawing *d, int kind)
{
    static const double special[] = {1, -1, 0}, plain[] = {2, 0.5, 3, 0.25, 4, 10};
    if (kind == 4 && d->zeros++ % 2)
        return -0.0;
    if (kind >= 2)
        return special[kind - 2];
    if (gt_drawing_below(d, PLAIN_SCALARS) == 0) {
        const double number = plain[gt_drawing_below(d, sizeof plain / sizeof plain[0])];
        return (kind == 0 ? 1 : -1) * (d->types->exact ? ceil(number) : number);
    }
    if (d->types->exact)
        return (double)(int32_t)(uint32_t)gt_draw_bits(&d->random);
    return draw_full(d, kind, SCALAR_POWERS);
}

void gt_drawing_both(gt_drawing *d, gt_case *c)
{
    double *const both[] = {&c->alpha, &c->beta};
    for (int i = 0; i < 2; i++)
        *both[i] = d->types->exact ? gt_drawing_scalar(d, 0) : draw_full(d, (int)gt_drawing_below(d, 2), 1);
}

void gt_drawing_telling(gt_drawing *d, gt_case *c)
{
    if (c->values != GT_VALUES_NORMAL || gt_drawing_below(d, 2) == 0 || gt_exact_whole(d->types, c->problem.k) == 0) {
        gt_drawing_both(d, c);
        if (c->values == GT_VALUES_WIDE && d->wide++ % 2 == 0)
            c->beta = gt_drawing_scalar(d, 4); /* subnormal sums are the results */
        return;
    }
    c->values = GT_VALUES_WHOLE;
    c->alpha = gt_drawing_below(d, 2) ? 1 : -1;
    c->beta = gt_drawing_scalar(d, gt_drawing_below(d, 2) ? 2 : 4);
}

double gt_drawing_far_scalar(gt_drawing *d, bool large)
{
    const double least = ldexp(1, -FAR_POWERS - 32), most = ldexp(1, FAR_POWERS + 32);
    const gt_type_info *c = gt_type_find(d->types->c), *accumulator = gt_type_find(d->types->accumulator);
    const double scalar = gt_drawing_scalar(d, (int)gt_drawing_below(d, 2));
    if (d->types->exact || c->least > least || c->most < most || accumulator->most < most)
        return scalar;
    const bool wide = accumulator == gt_type_find(GT_F64) && c == accumulator;
    const int power = (wide ? FAR_POWERS_F64 : FAR_POWERS) + SCALAR_POWERS - ilogb(scalar) * (large ? 1 : -1);
    return ldexp(scalar, large ? power : -power);
}

/* ---- sizes ---- */

int64_t gt_drawing_k(gt_drawing *d, int64_t whole)
{
    const int64_t first[] = {1, 2, 3, d->step / 2, d->step - 1}, count = sizeof first / sizeof first[0];
    const int64_t index = d->depths++, rest = index < count ? first[index] : gt_walk_at(&d->rests, index - count);
    const int64_t k = whole * d->step + rest % d->step;
    return k > 0 ? k : d->step;
}

int64_t gt_drawing_telling_k(gt_drawing *d, int64_t whole)
{
    return whole > 0 && d->facts->repack & GT_COPY_SPLIT ? whole * d->step + 1 : gt_drawing_k(d, whole);
}

int64_t gt_drawing_steps(gt_drawing *d)
{
    const int64_t kind = gt_drawing_below(d, 8);
    return kind == 0 ? gt_drawing_below(d, d->stages + 3) : kind <= 3;
}

int64_t gt_drawing_few(gt_drawing *d, int64_t tile)
{
    return 1 + gt_drawing_below(d, tile < FEW ? tile : FEW);
}

int64_t gt_drawing_some(gt_drawing *d, int64_t tile)
{
    return tile < 2 ? 1 : 1 + gt_drawing_few(d, tile - 1);
}

double gt_drawing_work(const gt_drawing *d, int64_t m, int64_t n, int64_t k, int64_t batch)
{
    const double tiles = ceil((double)m / (double)d->tile_m) * ceil((double)n / (double)d->tile_n) * (double)batch;
    const double steps = ceil((double)k / (double)d->step);
    const double blocks = d->facts->blocks > 0 ? (double)(d->facts->blocks * batch) : tiles * (double)d->facts->split_k;
    return tiles * steps * (double)(d->tile_m * d->tile_n * d->step) + blocks * BLOCK_WORK;
}

/* Some stride that is aligned and no better, or rows of just their elements where those are: always where these are to be
 * packed, or there are many rows. Few of them may lie far apart. */
static int64_t draw_ld(gt_drawing *d, bool packed, int64_t rows, int64_t columns, int bytes)
{
    const int64_t unit = d->class->align > bytes ? d->class->align / bytes : 1, units = (columns + unit - 1) / unit;
    const int64_t kind = d->strides++ % 7; /* not in step with scalars and values */
    if (packed || kind < 2 || rows > MANY_ROWS)
        return (units > 0 ? units : 1) * unit;
    if (kind == 2 && rows <= FEW_ROWS)
        return ((units + (65 + gt_drawing_below(d, 64)) / unit + 1) | 1) * unit;
    return ((units + 1 + 2 * gt_drawing_below(d, 3)) | 1) * unit;
}

/* Fills in strides and the gt_problem of a case. Each is a multiple of the alignment. Matrices of a batch have a row between
 * them, or none, and then those of C begin where their rows do not; or they are packed, as programs mostly have them. */
static gt_status place_problem(gt_drawing *d, gt_gemm *gemm, gt_problem *problem)
{
    const gt_class *c = d->class;
    const int a = gt_type_find(c->type_a)->bytes, b = gt_type_find(c->type_b)->bytes,
              result = gt_type_find(c->type_c)->bytes;
    const int64_t rows_a = c->op_a == GT_N ? gemm->m : gemm->k, rows_b = c->op_b == GT_N ? gemm->k : gemm->n;
    const int64_t turn = gemm->batch > 1 ? d->batches++ % 3 : -1, gap = turn == 1;
    const bool packed = turn == 2, apart = turn == 0;
    gemm->lda = draw_ld(d, packed, gemm->batch * rows_a, c->op_a == GT_N ? gemm->k : gemm->m, a);
    gemm->ldb = draw_ld(d, packed, gemm->batch * rows_b, c->op_b == GT_N ? gemm->n : gemm->k, b);
    gemm->ldc = draw_ld(d, packed, gemm->batch * gemm->m, gemm->n, result);
    /* Rows of C that are multiples of 16 bytes, which kernels may find out, and with them matrices of a batch that are not. */
    if ((d->placed++ % 3 == 2 && !packed) || apart)
        gemm->ldc = (gemm->ldc + 16 / result - 1) / (16 / result) * (16 / result);
    gemm->stride_a = (rows_a + gap) * gemm->lda;
    gemm->stride_b = (rows_b + gap) * gemm->ldb;
    gemm->stride_c = (gemm->m + gap) * gemm->ldc + (apart ? gt_class_pointer(c, c->type_c) / result : 0);
    return gt_problem_init(gemm, problem);
}

/* ---- the list ---- */

/* Values that are not normal, for some cases in turn: each operand has each hard kind alone, and all of them. */
static void choose_values(gt_drawing *d, int64_t turn, gt_case *c)
{
    if (d->types->exact)
        return;
    if (turn % 8 == 1 && d->types->parts > 0) {
        const int64_t index = d->uneven++;
        c->values = GT_VALUES_UNEVEN;
        c->odd = (gt_operand)(index % 2);
        c->uneven = (gt_uneven)(index / 2 % GT_UNEVEN_COUNT);
    } else if (turn % 8 == 3) {
        c->values = GT_VALUES_WIDE;
        c->odd = (gt_operand)(turn / 16 % 2);
    } else if (turn % 8 == 6 || turn % 16 == 9) {
        const int64_t index = d->hard++, kind = index / GT_OPERANDS % (GT_HARD_KINDS + 1);
        c->values = GT_VALUES_HARD;
        c->odd = (gt_operand)(index % GT_OPERANDS);
        c->hard = kind < GT_HARD_KINDS ? 1u << kind : (1u << GT_HARD_KINDS) - 1;
        *(c->odd == GT_C ? &c->beta : &c->alpha) = gt_drawing_scalar(d, (int)(index % 2));
    }
}

/* A kernel that takes any number of parts of K is launched with others than its own every third time, fewer and more.
 * Of these, every fourth that gives several parts some of K has many, which several blocks may add up. */
static int64_t draw_parts(gt_drawing *d, int64_t k)
{
    if (!d->facts->any_split || gt_drawing_below(d, 3) > 0)
        return 0;
    const int64_t cluster = d->facts->cluster_y, own = d->facts->split_k / cluster, many = MANY_PARTS / cluster;
    if (k > d->step && many > 2 * own && d->divided++ % 4 == 0)
        return cluster * (many - gt_drawing_below(d, 1 + many * 5 / 8));
    const int64_t other = 1 + gt_drawing_below(d, 2 * own);
    return cluster * (other < own ? other : other + 1);
}

gt_status gt_drawing_add(gt_drawing *d, int64_t m, int64_t n, int64_t k, int64_t batch, gt_case **out)
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
    gt_case c = {.alpha = gt_drawing_scalar(d, (int)(turn % 5)),
                 .beta = gt_drawing_scalar(d, (int)(turn / 5 % 5)),
                 .fill = (gt_fill)(turn % GT_FILL_COUNT),
                 .seed = gt_draw_bits(&d->random),
                 .dealt = d->facts->repack > 0 && turn / 8 % 2,
                 .repeats = 1};
    choose_values(d, turn, &c);
    const gt_status status = place_problem(d, &gemm, &c.problem);
    if (status != GT_OK)
        return status;
    c.parts = draw_parts(d, k);
    cases->list[cases->count] = c;
    *out = &cases->list[cases->count++];
    return GT_OK;
}

gt_status gt_drawing_add_again(gt_drawing *d, gt_case **out)
{
    const gt_problem p = d->cases->list[d->cases->count - 1].problem;
    const gt_status status = gt_drawing_add(d, p.m, p.n, p.k, p.batch, out);
    if (status == GT_OK) {
        (*out)->problem = p;
        (*out)->parts = d->cases->list[d->cases->count - 2].parts;
        (*out)->again = true;
        (*out)->values = GT_VALUES_NORMAL;
    }
    return status;
}

double gt_drawing_allowance(const gt_drawing *d, double share)
{
    return d->work == 0 ? INFINITY : share * d->work;
}

int64_t gt_drawing_affordable(const gt_drawing *d, double share, double each, int64_t least, int64_t most)
{
    const double count = gt_drawing_allowance(d, share) / each;
    return count >= (double)most ? most : count < (double)least ? least : (int64_t)count;
}
