/* Cases with epilogues, for kernels that have them. */
#include "drawing.h"

#define MORE 16 /* rows and columns beyond the first tile */
#define WIDE 8  /* columns that one thread may read and store at once, or a multiple */

/* Shapes: a tile and some more in both directions, K long enough for every part of it, or of one step; whole tiles only, K
 * of one step; a few rows and columns, in a batch; and none of K. */
enum { BEYOND, BESIDE, WHOLE, FEW, EMPTY };

/* `rest`: of the columns by WIDE, but for one, where tiles are not whole. */
static gt_status add_one(gt_drawing *d, int shape, int64_t rest, gt_epilogue epilogue, bool beside, gt_case **out)
{
    const int64_t parts = d->facts->split_k + 1;
    const int64_t m = shape <= BESIDE  ? d->tile_m + 1 + gt_drawing_below(d, MORE)
                      : shape == WHOLE ? d->tile_m
                                       : gt_drawing_few(d, d->tile_m);
    const int64_t n = shape <= BESIDE     ? d->tile_n + WIDE * gt_drawing_below(d, MORE / WIDE) + rest + 1
                      : shape == WHOLE    ? 2 * d->tile_n
                      : d->tile_n >= WIDE ? WIDE * gt_drawing_below(d, d->tile_n / WIDE) + rest + 1
                                          : 1 + gt_drawing_below(d, d->tile_n);
    const int64_t k = shape == EMPTY ? 0 : gt_drawing_k(d, shape == BEYOND ? parts : 0);
    const gt_status status = gt_drawing_add(d, m, n, k, shape == FEW ? 3 : 1, out);
    if (status != GT_OK)
        return status;
    gt_drawing_both(d, *out);
    (*out)->values = GT_VALUES_NORMAL;
    (*out)->epilogue = epilogue;
    (*out)->beside = beside;
    return GT_OK;
}

/* Every epilogue, with and without beta, in place and beside C, in one tile, several and batches; three of them with alpha = 1
 * and beta = 0 or 1, as programs mostly have it, and one of these beside C. A NaN that relu is to keep. Watched for races: what is finished once it is
 * stored is read again. */
gt_status gt_cases_add_epilogues(gt_drawing *d)
{
    const struct {
        int shape, rest; /* behind an even one that is drawn: relu alone has an odd number of columns */
        gt_epilogue epilogue;
        bool beside, scales, ones;
    } kinds[] = {
        {BEYOND, 2, GT_EPILOGUE_GELU_BIAS, true, true}, {BEYOND, 5, GT_EPILOGUE_RELU_BIAS, false, false},
        {BESIDE, 7, GT_EPILOGUE_NONE, true, true},      {BESIDE, 3, GT_EPILOGUE_RELU, false, true},
        {BESIDE, 6, GT_EPILOGUE_NONE, true, false},     {BESIDE, 4, GT_EPILOGUE_GELU, true, false},
        {WHOLE, 0, GT_EPILOGUE_BIAS, true, false},      {WHOLE, 0, GT_EPILOGUE_GELU, false, true},
        {WHOLE, 0, GT_EPILOGUE_BIAS, false, false, .ones = true},
        {WHOLE, 0, GT_EPILOGUE_NONE, true, true, .ones = true},
        {FEW, 0, GT_EPILOGUE_RELU_BIAS, true, true},    {FEW, 1, GT_EPILOGUE_BIAS, false, true},
        {FEW, 2, GT_EPILOGUE_NONE, true, true},         {FEW, 4, GT_EPILOGUE_RELU, true, false},
        {FEW, 3, GT_EPILOGUE_GELU_BIAS, false, false},  {FEW, 5, GT_EPILOGUE_RELU_BIAS, false, true, .ones = true},
        {EMPTY, 3, GT_EPILOGUE_GELU_BIAS, false, false}, {EMPTY, 6, GT_EPILOGUE_RELU, true, true},
    };
    const int64_t start = 2 * gt_drawing_below(d, WIDE / 2);
    gt_status status = GT_OK;
    for (size_t i = 0; d->epilogue && status == GT_OK && i < sizeof kinds / sizeof kinds[0]; i++) {
        const bool gelu = kinds[i].epilogue & GT_EPILOGUE_GELU && d->types->accumulator != GT_F32;
        gt_case *c;
        status = add_one(d, kinds[i].shape, (start + kinds[i].rest) % WIDE,
                         gelu ? GT_EPILOGUE_BIAS : kinds[i].epilogue, kinds[i].beside, &c);
        if (status != GT_OK)
            break;
        if (kinds[i].beside && kinds[i].scales && c->problem.batch == 1) { /* C or results begin at 16 bytes, and so do rows */
            const int64_t row = kinds[i].ones ? c->problem.n : c->problem.ldc; /* packed, as programs have it */
            c->problem.ldc = (row + WIDE - 1) / WIDE * WIDE;
            c->problem.stride_c = c->problem.m * c->problem.ldc;
        }
        c->alpha = kinds[i].ones ? 1 : c->alpha;
        c->beta = !kinds[i].scales ? gt_drawing_scalar(d, 4) : kinds[i].ones ? 1 : c->beta;
        c->fill = GT_FILL_POISON; /* which shows where C is read and not asked for */
        c->watched = i < 2;
        if (kinds[i].epilogue == GT_EPILOGUE_RELU && kinds[i].shape == FEW && !d->types->exact) {
            c->values = GT_VALUES_HARD;
            c->odd = GT_A;
            c->hard = (1u << GT_HARD_KINDS) - 1;
        }
    }
    return status;
}
