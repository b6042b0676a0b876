/* Random elements of a type that operands are filled from on the host, row by row, each from another place. */
#ifndef GT_POOL_H
#define GT_POOL_H

#include "../../src/core/problem.h"
#include "../random.h"

typedef struct gt_pool {
    const gt_type_info *type; /* NULL: it is empty */
    uint64_t seed;
    void *elements;
} gt_pool;

/* GT_ERROR_MEMORY leaves it empty. *pool: gt_pool_finish. */
gt_status gt_pool_init(gt_type type, uint64_t seed, gt_pool *pool);
void gt_pool_finish(gt_pool *pool);

/* Fills the rows of a stored operand, all matrices of a batch, from places that are drawn; what lies between the rows
 * is left alone. Safe from many threads. */
void gt_pool_fill(const gt_pool *pool, gt_draws *places, const gt_stored *operand, int64_t batch, void *data);

#endif
