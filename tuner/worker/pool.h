/* Random elements of a type that operands are filled from on the host, row by row, each from another place. */
#ifndef GT_POOL_H
#define GT_POOL_H

#include "../../src/core/problem.h"

typedef struct gt_pool {
    const gt_type_info *type;
    uint64_t seed, next; /* of the places; the next one */
    void *elements;
} gt_pool;

/* GT_ERROR_MEMORY leaves it empty. *pool: gt_pool_finish. */
gt_status gt_pool_init(gt_type type, uint64_t seed, gt_pool *pool);
void gt_pool_finish(gt_pool *pool);

/* Fills the rows of a stored operand, all matrices of a batch; what lies between them is left alone. */
void gt_pool_fill(gt_pool *pool, const gt_stored *operand, int64_t batch, void *data);

#endif
