/*
 * Lanes: several problems of a run under way at once. One has the GPU while others wait for the compiler, which takes
 * longer than a candidate's checks and timings. Only the lane whose turn it is runs, so what lanes share needs no other
 * lock; it gives its turn up while it waits (gt_engine_code) and where it says so (gt_engine_give_turn).
 */
#ifndef GT_LANES_H
#define GT_LANES_H

#include "engine.h"

/* What a lane does, with an engine that shares everything with the others' but the worker. */
typedef gt_status gt_lane_work(gt_engine *engine, void *data);

#define GT_LANES_MOST 12

/* How many lanes have room in the GPU's memory for such problems: one on the software GPU, whose runs are to be repeatable and
 * which needs the cores itself. */
int gt_lanes_room(const gt_engine *engine, const gt_problem *problems, size_t count);

/* How many of them the problems are worth. first: each waits for one candidate alone. */
int gt_lanes_count(const gt_engine *engine, const gt_problem *problems, size_t count, bool first);

/* Ends the workers of the engine's lanes beyond so many: they hold memory of the GPU. */
void gt_lanes_limit(gt_engine *engine, int room);

/* Runs work in so many lanes and waits for all; the first failure, if there is any. Work returns where there is nothing
 * left to do. Where threads or workers cannot be had there are fewer lanes. Workers stay for the engine's next run of
 * lanes: on an H200 a dozen take 2.3 seconds to begin. */
gt_status gt_lanes_run(gt_engine *engine, int lanes, gt_lane_work *work, void *data);

/* Ends the lanes of an engine, where it has had any. */
void gt_lanes_end(gt_engine *engine);

#endif
