/* Cases by their sizes: remainders, single lengths, numbers of steps, sizes and strides that are equal. */
#include "drawing.h"

#define MANY_STEPS 64 /* numbers of steps of K that are met, of those up to beyond all stages and parts */

#define MOST_CHUNKS 4   /* of K, for each part of it */
#define EDGE_STEPS  3   /* of K, at sides next to the tile's */
#define SHORT_STEP  128 /* of K, of which rows or columns of every length may have two */
#define LENGTHS     256 /* of m, n and k, up to which each is met where there is no bound */
#define FEWEST      12  /* remainders of a side that are met in any case */
#define ALIKE_MOST  64  /* of a matrix that is multiplied by itself: sums of squares are no sums of random signs */
#define ALIKE_LARGE 4   /* larger ones of equal sides where there is no bound */
#define MOST_WATCHED 8  /* tiles of a case that compute-sanitizer watches */

/* Shares of the bounded work. */
#define EDGE_SHARE  0.2
#define SWEEP_SHARE 0.15 /* for rows, and for columns */
#define STEP_SHARE  0.15
#define DEPTH_SHARE 0.05
#define CHUNK_SHARE 0.05 /* for each of its cases */
#define GROUP_SHARE 0.2
#define DEAL_SHARE  0.25 /* for each of its cases */

/* Two products of these sides: one of them with K of less than a step, one of them with C. */
static gt_status add_edge(gt_drawing *d, int64_t m, int64_t n)
{
    const int64_t shorter = gt_drawing_below(d, 2);
    bool had_c = false;
    gt_status status = GT_OK;
    for (int64_t i = 0; status == GT_OK && i < 2; i++) {
        gt_case *c;
        const int64_t k = gt_drawing_telling_k(d, i == shorter ? 0 : 1 + gt_drawing_below(d, EDGE_STEPS));
        status = gt_drawing_add(d, m, n, i == shorter && k == d->step ? 1 : k, 1, &c);
        if (status != GT_OK)
            break;
        gt_drawing_telling(d, c);
        if (i == 1 && had_c == (c->beta != 0)) {
            gt_drawing_both(d, c);
            c->beta = had_c ? 0 : c->beta;
            c->values = GT_VALUES_NORMAL;
        }
        had_c = c->beta != 0;
    }
    return status;
}

/* Sides next to the tile's and to twice that, and remainders of a few; a long one meets a short one. Then sides next to
 * powers of two, at least one of either kind, beside short ones. */
gt_status gt_cases_add_edges(gt_drawing *d)
{
    static const int64_t powers[] = {63, 64, 65, 127, 128, 129, 255, 256, 257};
    const int64_t m = d->tile_m, n = d->tile_n;
    const int64_t rows[] = {2, 3, m - 1, m, m + 1, 2 * m - 1, 2 * m, 2 * m + 1};
    const int64_t columns[] = {2 * n + 1, 2 * n, 2 * n - 1, n + 1, n, n - 1, 3, 2};
    const int64_t own = sizeof rows / sizeof rows[0], others = 2 * sizeof powers / sizeof powers[0];
    double left = gt_drawing_allowance(d, EDGE_SHARE);
    gt_status status = GT_OK;
    for (int64_t i = 0; status == GT_OK && i < own; i++) {
        status = add_edge(d, rows[i] > 0 ? rows[i] : 1, columns[i] > 0 ? columns[i] : 1);
        left -= 2 * gt_drawing_work(d, rows[i], columns[i], d->step + 1, 1);
    }
    for (int64_t i = 0; status == GT_OK && i < others && (i < 2 || left > 0); i++) {
        gt_case *c;
        const int64_t power = powers[i / 2], k = gt_drawing_telling_k(d, 1);
        const int64_t side_m = i % 2 ? power : gt_drawing_few(d, m), side_n = i % 2 ? gt_drawing_few(d, n) : power;
        left -= gt_drawing_work(d, side_m, side_n, k, 1);
        if ((status = gt_drawing_add(d, side_m, side_n, k, 1, &c)) == GT_OK)
            gt_drawing_telling(d, c);
    }
    return status;
}

/* Every remainder along one side, often behind a whole tile, the other side short. Then every length up to LENGTHS that
 * was not met, with a short K or of more than a step. */
static gt_status add_sweep(gt_drawing *d, bool rows)
{
    const int64_t tile = rows ? d->tile_m : d->tile_n, other = rows ? d->tile_n : d->tile_m;
    const gt_walk rests = gt_walk_draw(&d->random, tile), lengths = gt_walk_draw(&d->random, LENGTHS);
    const int64_t swept =
        gt_drawing_affordable(d, SWEEP_SHARE, 1.5 * gt_drawing_work(d, 1, 1, d->step + 1, 1), FEWEST, tile);
    bool met[LENGTHS + 1] = {false};
    double left = gt_drawing_allowance(d, SWEEP_SHARE);
    gt_status status = GT_OK;
    for (int64_t i = 0; status == GT_OK && i < swept + LENGTHS && (i < swept || left > 0); i++) {
        gt_case *c;
        const int64_t length = i - swept, few = gt_drawing_few(d, other);
        const int64_t side = length >= 0 ? 1 + gt_walk_at(&lengths, length)
                                         : 1 + gt_walk_at(&rests, i) + (gt_drawing_below(d, 4) == 0 ? tile : 0);
        if (length >= 0 && met[side])
            continue;
        if (side <= LENGTHS)
            met[side] = true;
        const int64_t whole = d->step <= SHORT_STEP ? gt_drawing_below(d, 2) * d->step : 0;
        const int64_t k = length >= 0 ? whole + gt_drawing_few(d, d->step) : gt_drawing_k(d, gt_drawing_steps(d));
        const int64_t batch = length < 0 && gt_drawing_below(d, 6) == 0 ? 2 + gt_drawing_below(d, 3) : 1;
        left -= gt_drawing_work(d, side, few, k, batch);
        status = gt_drawing_add(d, rows ? side : few, rows ? few : side, k, batch, &c);
        if (status == GT_OK && length >= 0)
            gt_drawing_telling(d, c);
    }
    return status;
}

gt_status gt_cases_add_rows(gt_drawing *d)
{
    return add_sweep(d, true);
}

gt_status gt_cases_add_columns(gt_drawing *d)
{
    return add_sweep(d, false);
}

/* Numbers of steps of K, up to beyond what the stages of all parts hold: those of one part first, then some of each
 * length. */
gt_status gt_cases_add_steps(gt_drawing *d)
{
    const int64_t count = d->depth + 2, own = d->stages + 2 < count ? d->stages + 2 : count;
    const gt_walk w = gt_walk_draw(&d->random, count - own > 0 ? count - own : 1);
    double left = gt_drawing_allowance(d, STEP_SHARE);
    gt_status status = GT_OK;
    for (int64_t i = 0; status == GT_OK && i < count && i < MANY_STEPS && (i < own || left > 0); i++) {
        gt_case *c;
        const int64_t steps = i < own ? i : own + gt_walk_at(&w, i), k = gt_drawing_telling_k(d, steps);
        left -= gt_drawing_work(d, 1, 1, k, 1);
        status = gt_drawing_add(d, gt_drawing_some(d, d->tile_m), gt_drawing_some(d, d->tile_n), k, 1, &c);
        if (status == GT_OK)
            gt_drawing_telling(d, c);
    }
    return status;
}

/* Chunks of the shorter side's operand, where they are longer than a step: one, two and more of them in all, and in every
 * part of K, so that each place that holds one is filled again. Behind the first there is all but one element of the next,
 * behind two one, and any number behind the others. */
gt_status gt_cases_add_chunks(gt_drawing *d)
{
    const bool rows = d->tile_m <= d->tile_n;
    const int64_t parts = d->facts->split_k, in_all = parts > 1 ? MOST_CHUNKS - 1 : 0;
    gt_status status = GT_OK;
    for (int64_t i = 0; status == GT_OK && d->chunk > d->step && i < in_all + MOST_CHUNKS; i++) {
        gt_case *c;
        const int64_t m = rows ? d->tile_m : gt_drawing_some(d, d->tile_m);
        const int64_t n = rows ? gt_drawing_some(d, d->tile_n) : d->tile_n;
        const int64_t chunks = i < in_all ? i + 1 : (i - in_all + 1) * parts;
        const int64_t rest = i == 0 ? d->chunk - 1 : i == 1 ? 1 : gt_drawing_below(d, d->chunk);
        const int64_t k = chunks * d->chunk + rest;
        if (chunks > 2 * parts && gt_drawing_work(d, m, n, k, 1) > gt_drawing_allowance(d, CHUNK_SHARE))
            break;
        if ((status = gt_drawing_add(d, m, n, k, 1, &c)) == GT_OK)
            gt_drawing_telling(d, c);
    }
    return status;
}

/* Every length of K up to LENGTHS. */
gt_status gt_cases_add_depths(gt_drawing *d)
{
    const gt_walk lengths = gt_walk_draw(&d->random, LENGTHS);
    double left = gt_drawing_allowance(d, DEPTH_SHARE);
    gt_status status = GT_OK;
    for (int64_t i = 0; status == GT_OK && i < LENGTHS && left > 0; i++) {
        gt_case *c;
        const int64_t k = 1 + gt_walk_at(&lengths, i);
        left -= gt_drawing_work(d, 1, 1, k, 1);
        if ((status = gt_drawing_add(d, gt_drawing_few(d, d->tile_m), gt_drawing_few(d, d->tile_n), k, 1, &c)) == GT_OK)
            gt_drawing_telling(d, c);
    }
    return status;
}

/* Where tiles go down columns of a few rows at a time: two columns, in a whole group of rows and in the part of one. Of
 * many tiles along one side, which are met elsewhere, none has a neighbour on the other. */
gt_status gt_cases_add_groups(gt_drawing *d)
{
    gt_case *c;
    const int64_t m = d->group * d->tile_m + gt_drawing_few(d, d->tile_m);
    const int64_t n = d->abreast * d->tile_n + gt_drawing_few(d, d->tile_n), k = gt_drawing_few(d, d->step);
    if (d->group < 2 || gt_drawing_work(d, m, n, k, 1) > gt_drawing_allowance(d, GROUP_SHARE))
        return GT_OK;
    const gt_status status = gt_drawing_add(d, m, n, k, 1, &c);
    if (status == GT_OK)
        gt_drawing_telling(d, c);
    return status;
}

/* For a persistent grid that deals the steps of its tiles out to its blocks: two tiles, of which every block has some
 * steps, so many that it fills a stage again where there is work for that, and more tiles than blocks, which have two
 * steps each. */
gt_status gt_cases_add_dealt(gt_drawing *d)
{
    const int64_t blocks = d->facts->blocks, tile = d->tile_m < d->tile_n ? d->tile_m : d->tile_n;
    if (!gt_facts_stream_k(d->facts))
        return GT_OK;
    const int64_t again = (d->stages + 1) * blocks / 2 + 1;
    const bool refills = gt_drawing_work(d, 1, 1, (again + 3) * d->step, 2) <= gt_drawing_allowance(d, DEAL_SHARE);
    const int64_t tiles[] = {2, blocks + 1 + gt_drawing_below(d, 3)},
                  steps[] = {(refills ? again : 5 * blocks / 4 + 1) + gt_drawing_below(d, 3), 1};
    gt_status status = GT_OK;
    for (int i = 0; status == GT_OK && i < 2; i++) {
        gt_case *c;
        const int64_t side = (tiles[i] - 1) * tile + gt_drawing_few(d, tile),
                      k = steps[i] * d->step + 1 + gt_drawing_below(d, d->step);
        const bool rows = tile == d->tile_m;
        const int64_t m = rows ? side : gt_drawing_few(d, d->tile_m), n = rows ? gt_drawing_few(d, d->tile_n) : side;
        if (gt_drawing_work(d, m, n, k, 1) > gt_drawing_allowance(d, DEAL_SHARE))
            continue;
        if ((status = gt_drawing_add(d, m, n, k, 1, &c)) == GT_OK)
            c->watched = i == 0 || tiles[i] <= MOST_WATCHED;
    }
    return status;
}

/* Adds a case whose operands have one stride between rows. */
static gt_status add_alike(gt_drawing *d, int64_t m, int64_t n, int64_t k, int64_t batch, gt_case **out)
{
    const gt_status status = gt_drawing_add(d, m, n, k, batch, out);
    if (status != GT_OK)
        return status;
    const int64_t unit = d->class->align / gt_class_element(d->class), longest = m > n ? m > k ? m : k : n > k ? n : k;
    gt_gemm gemm = gt_class_gemm(d->class, m, n, k);
    gemm.lda = gemm.ldb = gemm.ldc = (longest + unit - 1) / unit * unit;
    gemm.batch = batch;
    return gt_problem_init(&gemm, &(*out)->problem);
}

/* Sides that are as long as others: two of them and all, of two products too, whose strides are equal then, and a matrix that
 * is multiplied by itself. */
gt_status gt_cases_add_equal(gt_drawing *d)
{
    const int64_t tile = d->tile_m < d->tile_n ? d->tile_m : d->tile_n, most = tile < ALIKE_MOST ? tile : ALIKE_MOST;
    const int64_t a = 1 + gt_drawing_below(d, most), b = a + 1 + gt_drawing_below(d, 4);
    const int64_t sides[][3] = {{a, a, b}, {a, b, a}, {b, a, a}, {b, b, b}, {a, a, a}};
    const int count = sizeof sides / sizeof sides[0];
    gt_status status = GT_OK;
    for (int i = 0; status == GT_OK && i < count + (d->work == 0 ? ALIKE_LARGE : 0); i++) {
        gt_case *c;
        const int64_t large = 1 + gt_drawing_below(d, LENGTHS),
                      *side = i < count ? sides[i] : (const int64_t[]){large, large, large};
        if ((status = add_alike(d, side[0], side[1], side[2], i == 3 ? 2 : 1, &c)) == GT_OK) {
            gt_drawing_both(d, c);
            c->values = GT_VALUES_NORMAL;
            c->itself = i == count - 1 && d->class->type_a == d->class->type_b;
        }
    }
    return status;
}

/* A batch whose matrices overlap: those of A begin as near to each other as alignment allows, those of B a row apart.
 */
gt_status gt_cases_add_overlapping(gt_drawing *d)
{
    gt_case *c;
    const int bytes = gt_type_find(d->class->type_a)->bytes;
    const gt_status status = gt_drawing_add(d, 1 + gt_drawing_below(d, d->tile_m), 1 + gt_drawing_below(d, d->tile_n),
                                            gt_drawing_k(d, 1), 3, &c);
    if (status != GT_OK)
        return status;
    c->problem.stride_a = d->class->align > bytes ? d->class->align / bytes : 1;
    c->problem.stride_b = c->problem.ldb;
    c->values = GT_VALUES_NORMAL;
    gt_drawing_both(d, c);
    return GT_OK;
}
