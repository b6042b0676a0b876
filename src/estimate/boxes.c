#include "boxes.h"

#include <math.h>

#include "../core/traits.h"

/* Bytes of a piece of zeros, and of L2's sectors and lines. */
#define PIECE  16.0
#define SECTOR 32.0
#define LINE   128.0

/* What follows is by 2,600 trials of bf16 on an H200. */

/* Bytes of a line that one along M or N takes as long as, however short it is: it is asked for by itself. */
#define SHORT_LINE 96.0

/* Times that a line of a box takes which does not begin with a line of L2, and not with a sector either. */
#define BROKEN_LINE   1.2
#define BROKEN_SECTOR 1.9

/* Pieces of zeros that the end of a line takes as long as, where the line begins within a sector and ends in the box. */
#define BROKEN_END 2.0

/* Pieces beside that, for each of the first so many ends, where all SMs ask at once for the same lines of L2 and each of these
 * holds several lines of the matrix: 13144x40x96 tn takes 5.0 us, 4.2 where two blocks share boxes, and 3.3 where four do. */
#define BURST_END   80.0
#define BURST_LINES 128.0

/* Of the time for zeros where all SMs fill them in, what one alone takes: for whole lines, and for ends of lines. */
#define LINES_ALONE 0.2
#define ENDS_ALONE  0.45

/* How much the last tile counts where each block has one tile: not all of it, as tiles inside take their time, too. */
#define EDGE 0.3

/* The operand that boxes are of: its copy, unless it can be read as it is stored. */
static gt_stored stored_of(const gt_launch *launch, gt_operand operand)
{
    const bool copied = launch->copies.copied[operand] && !launch->maps.readable[operand];
    return copied ? launch->copies.copy[operand] : gt_problem_stored(&launch->problem, operand);
}

/* One side of tiles and what lies of it in the matrix. */
typedef struct side {
    double box;    /* elements along it that come for a tile, whole lines where they lie along it */
    double line;   /* elements of a line of a box */
    double held;   /* of them in the matrix */
    double shared; /* tiles of a cluster to which they come at once */
} side;

static side find_side(const gt_kernel *kernel, const gt_problem *p, gt_operand operand, bool along_k, bool edge)
{
    const gt_facts *f = &kernel->facts;
    const bool a = operand == GT_A;
    const double tile = (double)(a ? f->tile_m : f->tile_n), all = (double)(a ? p->m : p->n);
    const double line = (double)(a ? f->box_a_columns : f->box_b_columns);
    const double along = gt_trait(kernel, a ? "cluster_m" : "cluster_n", 1);
    const double across = gt_trait(kernel, a ? "cluster_n" : "cluster_m", 1);
    const double tiles = ceil(all / (tile * along)) * along, box = along_k ? tile : ceil(tile / line) * line;
    const double first = fmin(box, all), last = fmin(box, fmax(0, all - (tiles - 1) * tile));
    return (side){box, line, first + (edge ? EDGE : 1 / tiles) * (last - first), across};
}

/* Of SMs that are busy so much, times that something takes: `alone` on one of them, 1 on all. */
static double crowd(double alone, double busy)
{
    return alone + (1 - alone) * busy;
}

gt_boxes gt_boxes_moved(const gt_kernel *kernel, const gt_launch *launch, gt_operand operand, double staged,
                        double inside, double busy, bool edge)
{
    const gt_stored stored = stored_of(launch, operand);
    const bool along_k = gt_traits_read_along(kernel, &launch->problem, operand);
    const side s = find_side(kernel, &launch->problem, operand, along_k, edge);
    const double bytes = gt_type_find(stored.type)->bytes, row = (double)stored.ld * bytes;
    const double broken = fmod(row, SECTOR) != 0 ? BROKEN_SECTOR : fmod(row, LINE) != 0 ? BROKEN_LINE : 1;
    /* Elements of lines wholly beyond the matrix, and of those that end there; how many end so. */
    const double whole = along_k ? (s.box - s.held) * staged : s.box * (staged - inside);
    const double ends = along_k ? s.held * (staged - inside) : (s.box - s.held) * inside;
    const double lines = ends <= 0 ? 0 : along_k ? s.held : inside;
    const double held = s.held * bytes;
    const double read = (along_k ? held : fmax(held, SHORT_LINE * ceil(s.held / s.line))) * inside;
    /* Blocks that share K read other lines. */
    const bool burst = !along_k && row < LINE && s.box * bytes >= LINE && launch->problem.batch == 1;
    const double first = fmin(1, BURST_LINES / fmax(lines, 1)) * busy / (double)kernel->facts.split_k;
    const double end = BROKEN_END + (burst ? BURST_END * first : 0);
    const double pieces = ends * bytes / PIECE + (fmod(row, SECTOR) != 0 ? lines * end : 0);
    /* Blocks of a cluster ask once, but L2 delivers to each; where they do not share, it finds lines that several ask for at
     * once. By trials a share of four costs half. */
    return (gt_boxes){
        .bytes = read / sqrt(s.shared) * broken,
        .zeros = (whole * bytes / PIECE * crowd(LINES_ALONE, busy) + pieces * crowd(ENDS_ALONE, busy)) / s.shared,
    };
}
