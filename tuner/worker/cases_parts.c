/* Cases for sums of tensor cores that are to be promoted, and for operands that may be split into parts. */
#include <math.h>

#include "../../src/core/copies.h"
#include "drawing.h"

#define STEEP_INTERVALS 12  /* of promotion, for each part of K */
#define STEEP_FIRST     512 /* the large product; the others are below 1/16 */

#define SUMS_SIDE    16   /* of a product whose sums are looked at on average */
#define FAR_SIDE     20   /* and of one whose elements are far apart, */
#define FAR_K        40   /* so that some of them are deep */
#define SPLIT_PAIR   1536 /* elements of a line that two blocks of 8 warps split at a time, in several turns */
#define SPLIT_LONG   3904 /* elements of a line: more than 8 blocks of 8 warps split at a time, and twice 2048 nearly */
#define SPLIT_MORE   8448 /* elements of a line that all warps of a block split, */
#define SPLIT_ALL    12288 /* and of one whose last ones are the last warp's */
#define STRICT_STEPS 64   /* of K: a multiple of what a loop without tensor cores steps by */
#define SPLIT_STEP   32   /* elements of a line that one warp splits at a time, where K goes down, */
#define SPLIT_TURN   512  /* and where it goes along */
#define SPLIT_LINES  32   /* that a warp splits where K goes down, a lane each */

static gt_case *newest(gt_drawing *d)
{
    return &d->cases->list[d->cases->count - 1];
}

static gt_status add_uneven(gt_drawing *d, int64_t m, int64_t n, int64_t k, int64_t batch, gt_uneven uneven,
                            gt_operand odd)
{
    gt_case *c;
    const gt_status status = gt_drawing_add(d, m, n, k, batch, &c);
    if (status == GT_OK) {
        c->values = GT_VALUES_UNEVEN;
        c->uneven = uneven;
        c->odd = odd;
        c->alpha = 1;
        c->beta = 0;
        c->watched = k != GT_SUMS_K; /* such tiles take ways of their own; a longer one is watched in its place */
    }
    return status;
}

/* Tiles that parts do not suffice for take K in a loop of their own. Its remainders: those next to what such a loop may
 * step by, and every one of eight; up to four times that before them. One of them in a batch, one with an epilogue. */
static gt_status add_strict_tails(gt_drawing *d)
{
    static const int64_t rests[] = {1, 2, 3, 32, 36, 45, 62, 63};
    const int64_t count = sizeof rests / sizeof rests[0], drawn = gt_drawing_below(d, 4);
    gt_status status = GT_OK;
    for (int64_t i = 0; status == GT_OK && i < count; i++) {
        const bool finished = d->epilogue && rests[i] == 45;
        const int64_t k = (i + drawn) % 4 * STRICT_STEPS + rests[i],
                      n = finished ? 1 + 2 * gt_drawing_below(d, 4) : 1 + gt_drawing_below(d, 8), /* no vector's multiple */
                      batch = rests[i] == 32 ? 4 + gt_drawing_below(d, 3) : 1;
        status = add_uneven(d, 1 + gt_drawing_below(d, 8), n, k, batch, GT_UNEVEN_BEYOND, (gt_operand)(i % 2));
        if (status != GT_OK)
            break;
        gt_case *c = newest(d);
        c->watched = false; /* a larger one is */
        if (finished) {
            c->epilogue = GT_EPILOGUE_RELU_BIAS;
            c->fill = GT_FILL_POISON; /* which shows where C is read and not asked for */
        }
    }
    return status;
}

/* Lines that one warp, the first one, splits all of, or all warps, without a tail that would tell of them too: what the
 * first or the last one alone has seen counts, from its first element to its last. The last line is one of a pair, or
 * that of a warp's last lane. */
static gt_status add_split_alone(gt_drawing *d)
{
    gt_status status = GT_OK;
    for (int i = 0; status == GT_OK && i < 8; i++) {
        const int64_t m = i < 4 ? 2 + 2 * gt_drawing_below(d, 2) : SPLIT_LINES,
                      n = i < 4 ? 2 + 2 * gt_drawing_below(d, 2) : SPLIT_LINES;
        status = add_uneven(d, m, n, i < 4 ? SPLIT_STEP : SPLIT_TURN, 1,
                            i / 2 % 2 ? GT_UNEVEN_LAST_SMALL : GT_UNEVEN_FIRST_SMALL, (gt_operand)(i % 2));
        if (status == GT_OK)
            newest(d)->watched = false; /* larger ones are */
    }
    return status;
}

/* Operands that may be split into parts: whether sums are promoted shows on average, over some elements. One element of A
 * or of B far below the others, of so many that few is not what is wrong with it, in a batch or not; one of both, of A
 * or of B farther than three parts hold, where another tile lies below: its rows are not this one's. The last row or
 * column of a tile, alone. Tiles beside and below others, with C of either sign: what one stored another must not add
 * to. Lines without a tail, so that zeros behind their end make up for nothing that is not counted; elements far apart,
 * whose errors are looked at on average too; those of one case so long that every warp which splits them takes several
 * turns, of two such that a pair of blocks splits them twice, and of one whose sums drift unless they are promoted, as
 * kernels that split operands promise, where tiles are computed without tensor cores, too. */
gt_status gt_cases_add_parts(gt_drawing *d)
{
    gt_case *c;
    if (d->types->parts == 0)
        return GT_OK;
    gt_status status = gt_drawing_add(d, SUMS_SIDE, SUMS_SIDE, GT_SUMS_K + gt_drawing_below(d, d->step), 1, &c);
    if (status != GT_OK)
        return status;
    c->values = GT_VALUES_NORMAL;
    c->alpha = 1;
    c->beta = 0;
    status =
        add_uneven(d, 4 + 2 * gt_drawing_below(d, 2), 4 + 2 * gt_drawing_below(d, 2), SPLIT_ALL, 1,
                   gt_drawing_below(d, 4) ? GT_UNEVEN_LAST_SMALL : GT_UNEVEN_SMALL, GT_A);
    if (status == GT_OK)
        status = add_uneven(d, 2 + gt_drawing_below(d, 5), 2 + gt_drawing_below(d, 5), 100 + gt_drawing_below(d, 100),
                            4 + gt_drawing_below(d, 3), GT_UNEVEN_SMALL, GT_B);
    for (gt_operand o = GT_A; status == GT_OK && o <= GT_B; o++)
        status = add_uneven(d, d->tile_m + 1 + gt_drawing_below(d, 4), 3 + gt_drawing_below(d, 4),
                            100 + gt_drawing_below(d, 100), 1, GT_UNEVEN_DEEP, o);
    if (status == GT_OK)
        status = add_uneven(d, d->tile_m, 1 + gt_drawing_below(d, 5), 100 + gt_drawing_below(d, 100), 1, GT_UNEVEN_LAST,
                            GT_A);
    if (status == GT_OK)
        status = add_uneven(d, 1 + gt_drawing_below(d, 5), d->tile_n, 100 + gt_drawing_below(d, 100), 1, GT_UNEVEN_LAST,
                            GT_B);
    if (status == GT_OK)
        status =
            add_uneven(d, 1 + gt_drawing_below(d, 5), 1 + gt_drawing_below(d, 5), GT_SUMS_K, 1, GT_UNEVEN_LARGE, GT_A);
    for (gt_operand o = GT_A; status == GT_OK && o <= GT_B; o++)
        status =
            add_uneven(d, 1 + gt_drawing_below(d, 5), 1 + gt_drawing_below(d, 5), SPLIT_PAIR, 1, GT_UNEVEN_LARGE, o);
    for (gt_operand o = GT_A; status == GT_OK && o <= GT_B; o++)
        status = add_uneven(d, FAR_SIDE, FAR_SIDE, FAR_K + gt_drawing_below(d, 8), 1, GT_UNEVEN_FAR, o);
    if (status == GT_OK)
        status = add_uneven(d, 1 + gt_drawing_below(d, 5), 1 + gt_drawing_below(d, 5), SPLIT_LONG, 1,
                            d->facts->repack & GT_COPY_SPLIT ? GT_UNEVEN_DRIFT : GT_UNEVEN_LARGE, GT_B);
    for (gt_operand o = GT_A; status == GT_OK && o <= GT_B; o++) {
        status = add_uneven(d, d->tile_m + 1 + gt_drawing_below(d, 4), d->tile_n + 1 + gt_drawing_below(d, 4),
                            1 + gt_drawing_below(d, STRICT_STEPS), 1, GT_UNEVEN_BEYOND, o);
        if (status != GT_OK)
            break;
        c = newest(d);
        gt_drawing_both(d, c);
        c->beta = o == GT_A ? fabs(c->beta) : -fabs(c->beta);
        c->watched = o == GT_A;
    }
    if (status == GT_OK)
        status = add_split_alone(d);
    return status == GT_OK ? add_strict_tails(d) : status;
}

/* Where sums are to be promoted: many intervals of that in every part of K. Where operands may be split into parts, so
 * many that blocks may share a row or column, of which one has the largest element, the first or the last. */
gt_status gt_cases_add_steep(gt_drawing *d)
{
    const bool parts = d->types->parts > 0;
    gt_status status = GT_OK;
    if (d->types->promoted == 0)
        return GT_OK;
    const int64_t k = STEEP_INTERVALS * d->types->promoted * d->facts->split_k + (parts ? SPLIT_MORE : 0) +
                      gt_drawing_below(d, d->step);
    for (int i = 0; status == GT_OK && i <= parts; i++) {
        gt_case *c;
        status = gt_drawing_add(d, 2 + gt_drawing_below(d, 4), 2 + gt_drawing_below(d, 4), k + i, 1, &c);
        if (status != GT_OK)
            break;
        c->values = GT_VALUES_STEEP;
        c->alpha = gt_drawing_scalar(d, 0);
        if (c->alpha * (STEEP_FIRST + (double)k / 16) > gt_type_find(d->types->c)->most)
            c->alpha = 1; /* infinity would hide what is lost */
        c->beta = 0;
    }
    return status;
}
