/*
 * What cases are drawn with, for the files that draw them: a kernel's tile and steps, the work that they may take, and
 * which kinds have had their turn.
 */
#ifndef GT_DRAWING_H
#define GT_DRAWING_H

#include "../random.h"
#include "case.h"

/* All numbers from 0 to length - 1 in an order of their own: start, start + step, ... modulo the length. */
typedef struct gt_walk {
    int64_t length, start, step;
} gt_walk;

gt_walk gt_walk_draw(gt_draws *random, int64_t length);
int64_t gt_walk_at(const gt_walk *w, int64_t index);

/* What is drawn for. */
typedef struct gt_drawing {
    const gt_class *class;
    const gt_types *types;
    const gt_facts *facts;
    bool epilogue;               /* the kernel has epilogues */
    int64_t tile_m, tile_n;      /* the facts' */
    int64_t step, stages, depth; /* of K: depth is how many steps a pipeline's stages hold in all parts of K */
    int64_t chunk;               /* of K, a step or many of them: what shared memory holds at once of a short operand */
    int64_t group, abreast;      /* rows of tiles that are walked together, columns that a cluster has; 1: no such thing */
    int64_t per_product;         /* bytes of workspace for each product of one tile */
    double work;
    gt_draws random;
    gt_walk rests; /* of k */
    /* How many there were of cases, those with hard, with wide and with uneven values, zeros, those with other parts of K, with K,
     * strides, problems, batches: they go through kinds in turn. */
    int64_t drawn, hard, wide, uneven, zeros, divided, depths, strides, placed, batches;
    gt_cases *cases;
    size_t room;
} gt_drawing;

/* A number from 0 to limit - 1. */
int64_t gt_drawing_below(gt_drawing *d, int64_t limit);

/* Full mantissas of either sign, and 1, -1 and 0, of either sign too. Integers take any. Now and then another number that
 * programs like. */
double gt_drawing_scalar(gt_drawing *d, int kind);

/* One very far from 1. It shows only where nothing is added to what it is multiplied by. */
double gt_drawing_far_scalar(gt_drawing *d, bool large);

/* Both scalars near 1: neither hides the other's part of a result. Integers hide nothing. */
void gt_drawing_both(gt_drawing *d, gt_case *c);

/* For sizes that are met once: whole numbers, half of them without C, or scalars of which both count. */
void gt_drawing_telling(gt_drawing *d, gt_case *c);

/* Some whole steps of K and what goes beyond them: the first few, half a step and all but one first, then every
 * remainder in turn. */
int64_t gt_drawing_k(gt_drawing *d, int64_t whole);

/* For sizes that are met once: the same, but one beyond whole steps where operands come in parts, which are padded to
 * whole steps, so that nothing else tells of a K that is one too short. */
int64_t gt_drawing_telling_k(gt_drawing *d, int64_t whole);

/* A number of steps: often none or one, now and then any up to beyond what the stages hold. */
int64_t gt_drawing_steps(gt_drawing *d);

/* A short side, no longer than the tile. */
int64_t gt_drawing_few(gt_drawing *d, int64_t tile);

/* The same of more than one, where the tile has that. */
int64_t gt_drawing_some(gt_drawing *d, int64_t tile);

/* Multiply-adds of a case: its tiles are computed whole, and its blocks cost something by themselves. */
double gt_drawing_work(const gt_drawing *d, int64_t m, int64_t n, int64_t k, int64_t batch);

/* Adds a case of these sizes, with the scalars and values whose turn it is. */
gt_status gt_drawing_add(gt_drawing *d, int64_t m, int64_t n, int64_t k, int64_t batch, gt_case **out);

/* The case before once more with other data. */
gt_status gt_drawing_add_again(gt_drawing *d, gt_case **out);

/* What a share of the work comes to. */
double gt_drawing_allowance(const gt_drawing *d, double share);

/* How many of something fit into a share of the work; all where there is no bound. */
int64_t gt_drawing_affordable(const gt_drawing *d, double share, double each, int64_t least, int64_t most);

/* Each kind adds its cases, as many as there is work for. */
typedef gt_status gt_cases_kind(gt_drawing *d);

gt_cases_kind gt_cases_add_edges, gt_cases_add_rows, gt_cases_add_columns, gt_cases_add_steps, gt_cases_add_chunks,
    gt_cases_add_depths, gt_cases_add_groups, gt_cases_add_dealt, gt_cases_add_equal,
    gt_cases_add_overlapping, gt_cases_add_steep, gt_cases_add_parts, gt_cases_add_epilogues;

#endif
