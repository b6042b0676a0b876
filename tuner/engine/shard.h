/* Shards: the problems of one tuning among several machines, so that all of them end at about the same time. */
#ifndef GT_SHARD_H
#define GT_SHARD_H

#include "../../src/core/problem.h"

/* One of several; count 0: all problems are its own. */
typedef struct gt_shard {
    int index; /* 1 to count */
    int count;
} gt_shard;

/* Reads "2/6". GT_ERROR_INVALID says what it takes. */
gt_status gt_shard_parse(const char *text, gt_shard *shard);

/* Keeps, in their order, the problems that fall to one shard; *count may become 0. The same list and number of shards give
 * the same parts on every machine: no problem is in two of them, and none is left out. soft: for the software GPU.
 * shares: one of each problem, which stays with it; NULL: none. */
gt_status gt_shard_take(const gt_shard *shard, bool soft, gt_problem *problems, double *shares, size_t *count);

#endif
