/* Sizes as people write them: 4096, 1024x512x64, lists, ranges, files. */
#ifndef GT_SHAPES_H
#define GT_SHAPES_H

#include <stdbool.h>

#include "../../src/core/status.h"

typedef struct gt_shape {
    int64_t m, n, k;
} gt_shape;

typedef struct gt_shapes {
    gt_shape *list;
    size_t count;
    bool cover; /* and the problems of cover.h */
} gt_shapes;

/*
 * Reads a list, items apart by commas or white space:
 *   4096            a cube
 *   1024x512x64     m, n, k
 *   128..8192       cubes by doubling; 128..1024+128 by adding; any of the three sizes may be a range: 1..64x4096x4096
 *   @FILE           a file of such items, # starts a comment; @- is standard input
 *   default, short  the default list, and a shorter one
 *   cover           what no list of sizes can say: cover.h
 * Duplicates are dropped. GT_ERROR_INVALID names the item and what is wrong: zero, negative, not a number, beyond
 * 64 bits, an empty list. *shapes: gt_shapes_finish.
 */
gt_status gt_shapes_parse(const char *text, gt_shapes *shapes);

#define GT_RANDOM_SIZE 16384    /* the largest size that is drawn */
#define GT_RANDOM_WORK (1ll << 36) /* multiply-adds of a drawn shape, at most */

/* Adds count shapes that are not in the list yet. The logarithm of each size is equally likely from 1 to GT_RANDOM_SIZE;
 * of three shapes one has any sizes, one multiples of 8, one of 64. The same seed draws the same shapes, however many.
 * Untouched on failure. */
gt_status gt_shapes_draw(int count, uint64_t seed, gt_shapes *shapes);

/* Clears the list. */
void gt_shapes_finish(gt_shapes *shapes);

#define GT_SHAPE_LENGTH 64

/* "1024x512x64". */
void gt_shape_name(int64_t m, int64_t n, int64_t k, char name[GT_SHAPE_LENGTH]);

#endif
