/* How a product of host memory is cut into tiles: so that copies and kernels overlap, and so that a product may be larger
 * than the GPU's memory. */
#ifndef GT_TILES_H
#define GT_TILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of op(A) m x k, of op(B) k x n, of C m x n; the last of each row and column may be smaller. */
typedef struct gt_tiles {
    int64_t m, n, k;
    int places; /* for tiles of an operand on the GPU, at most: one is used while the next ones come */
} gt_tiles;

#define GT_TILE_PLACES 8

/* Memory for a tile of so many rows and columns, in either order, with rows that begin at multiples of GT_TILE_ALIGN: places
 * that lie one behind the other begin as an allocation does. */
#define GT_TILE_ALIGN 16
size_t gt_tile_bytes(int64_t rows, int64_t columns, size_t element);

/* Places for tiles of an operand that has so many of them. */
int gt_tile_places(const gt_tiles *tiles, int64_t count);

/* Tiles of the product m x n x k whose places take no more than `limit` bytes, and whose rows and columns none more than
 * `line`. False if there are none. */
bool gt_tiles_choose(int64_t m, int64_t n, int64_t k, size_t element, size_t limit, size_t line, gt_tiles *tiles);

#endif
