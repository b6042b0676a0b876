#include "sample.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../machine/undo.h"
#include "../ptx/program.h"

/*
 * Blocks of a grid mostly do the same, but for those at the edges of a matrix. So units of it run alone, one after the
 * other: the first, the last, which has the tails, and some between. A unit is one cluster or, where a kernel's blocks
 * talk to each other through memory, a column of them along y: blocks that share a tile of the result lie there (what
 * K is split into), and which of them is the last to arrive and adds up does not matter if all of them run.
 */
#define ENOUGH   ((uint64_t)1 << 22) /* warp instructions: a tenth of a second */
#define FEW      2                   /* units between the first and the last, where those are alike */
#define MANY     14                  /* where they are not: a tail every ninth tile is then met once at 80% */
#define MOST     62                  /* where they are short */
#define ALIKE    32                  /* one part in so many */

static _Thread_local sg_sampling sampling;

sg_sampling sg_sampling_now(void)
{
    return sampling;
}

void sg_sample(sg_sampling how)
{
    sampling = how;
}

/* Instructions by which blocks of a grid learn of each other. */
static bool blocks_talk(const sg_kernel *kernel)
{
    static const char *const words[] = {"atom", "ld.acquire", "ld.relaxed", "ld.volatile"};
    for (size_t i = 0; i < kernel->op_count; i++)
        for (size_t k = 0; kernel->mnemonics[i] && k < sizeof words / sizeof words[0]; k++)
            if (strncmp(kernel->mnemonics[i], words[k], strlen(words[k])) == 0 &&
                !strstr(kernel->mnemonics[i], ".shared"))
                return true;
    return false;
}

/* How a grid falls into units, and what has been seen of them. */
typedef struct survey {
    sg_grid grid; /* of one unit: .chosen are its clusters */
    uint64_t *chosen;
    uint64_t columns, height, units; /* clusters along x; of a unit; units in all */
    sg_counts first, last, middle;   /* middle: all that lie between, added up */
    uint64_t middles, fewest, longest; /* how many; their shortest and longest, in warp instructions */
    uint64_t spent;
} survey;

static bool begin(const sg_grid *grid, sg_undo *undo, survey *s)
{
    uint64_t axes[3];
    for (int i = 0; i < 3; i++)
        axes[i] = grid->cluster[i] ? grid->grid[i] / grid->cluster[i] : 0;
    *s = (survey){.grid = *grid, .columns = axes[0], .height = blocks_talk(grid->kernel) ? axes[1] : 1,
                  .fewest = UINT64_MAX};
    s->units = s->height ? axes[0] * axes[1] * axes[2] / s->height : 0;
    if (s->units < MOST || !(s->chosen = malloc(s->height * sizeof *s->chosen)))
        return false;
    s->grid.undo = undo;
    s->grid.count = true;
    s->grid.chosen = s->chosen;
    s->grid.chosen_count = s->height;
    return true;
}

static bool run_unit(survey *s, uint64_t unit, sg_counts *counts)
{
    for (uint64_t y = 0; y < s->height; y++)
        s->chosen[y] = s->height > 1 ? unit % s->columns + s->columns * (y + s->height * (unit / s->columns)) : unit;
    if (sg_grid_run(&s->grid, NULL, counts) != SG_FAULT_NONE)
        return false;
    s->spent += counts->warp_instructions;
    return true;
}

/* All counts are of the same type, and sums but for the last. */
#define SUMS (offsetof(sg_counts, direct_most) / sizeof(uint64_t))
_Static_assert(sizeof(sg_counts) == (SUMS + 1) * sizeof(uint64_t), "counts are numbers of 64 bits");

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The i-th place of count, spread evenly however many are asked for: multiples of the golden ratio. */
static uint64_t spread(uint64_t i, uint64_t count)
{
    const uint64_t fraction = i * 0x9e3779b97f4a7c15u;
    return (uint64_t)((unsigned __int128)fraction * count >> 64);
}

static bool add_middle(survey *s)
{
    sg_counts counts;
    if (!run_unit(s, 1 + spread(s->middles + 1, s->units - 2), &counts))
        return false;
    const uint64_t one = counts.warp_instructions;
    for (size_t i = 0; i < SUMS; i++)
        ((uint64_t *)&s->middle)[i] += ((const uint64_t *)&counts)[i];
    s->middle.direct_most = larger(s->middle.direct_most, counts.direct_most);
    s->fewest = one < s->fewest ? one : s->fewest;
    s->longest = larger(s->longest, one);
    s->middles++;
    return true;
}

static bool seen_enough(const survey *s)
{
    if (s->spent < ENOUGH)
        return s->middles == MOST - 2;
    return s->middles >= (s->longest - s->fewest <= s->longest / ALIKE ? FEW : MANY);
}

/* False where the units say nothing of the whole: they need others, or the first took more than its share of a common
 * supply of work. */
static bool look(survey *s)
{
    if (!run_unit(s, 0, &s->first) || s->first.warp_instructions <= ENOUGH / s->units)
        return false;
    if (!run_unit(s, s->units - 1, &s->last))
        return false;
    do
        if (!add_middle(s))
            return false;
    while (!seen_enough(s));
    return s->middle.warp_instructions / s->middles >= s->first.warp_instructions / 2;
}

static void scale(const survey *s, sg_counts *counts)
{
    for (size_t i = 0; i < SUMS; i++) {
        const unsigned __int128 between = ((const uint64_t *)&s->middle)[i];
        ((uint64_t *)counts)[i] = ((const uint64_t *)&s->first)[i] + ((const uint64_t *)&s->last)[i] +
                                  (uint64_t)(between * (s->units - 2) / s->middles);
    }
    counts->direct_most = larger(s->middle.direct_most, larger(s->first.direct_most, s->last.direct_most));
}

sg_fault sg_sample_run(const sg_grid *grid, sg_report *report, sg_counts *counts, uint64_t *ran)
{
    survey s;
    sg_undo undo = {.memory = grid->memory};
    sg_fault fault = SG_FAULT_NONE;
    const bool keep = sampling == SG_SAMPLE_KEPT, sampled = begin(grid, &undo, &s) && look(&s);
    bool whole = (sampled && keep) || sg_undo_back(&undo);
    if (sampled) {
        scale(&s, counts);
        *ran = (s.middles + 2) * s.height * grid->cluster[0] * grid->cluster[1] * grid->cluster[2];
    } else if (whole) {
        sg_grid all = *grid;
        all.undo = keep ? NULL : &undo;
        all.count = true;
        fault = sg_grid_run(&all, report, counts);
        whole = sg_undo_back(&undo);
        *ran = (uint64_t)grid->grid[0] * grid->grid[1] * grid->grid[2];
    }
    sg_undo_finish(&undo);
    free(s.chosen);
    return whole ? fault : SG_FAULT_MEMORY;
}
