#include "pool.h"

#include <stdlib.h>
#include <string.h>

#include "../../src/core/status.h"
#include "../random.h"

#define POOL 65536

gt_status gt_pool_init(gt_type type, uint64_t seed, gt_pool *pool)
{
    *pool = (gt_pool){.type = gt_type_find(type), .seed = seed};
    if (!(pool->elements = malloc(POOL * (size_t)pool->type->bytes)))
        return gt_fail_memory();
    for (int64_t i = 0; i < POOL; i++)
        pool->type->draw(pool->elements, i, gt_random_bits(seed, pool->next++));
    return GT_OK;
}

void gt_pool_finish(gt_pool *pool)
{
    free(pool->elements);
    *pool = (gt_pool){0};
}

void gt_pool_fill(gt_pool *pool, const gt_stored *o, int64_t batch, void *data)
{
    const size_t bytes = (size_t)pool->type->bytes;
    for (int64_t row = 0; row < batch * o->rows; row++) {
        char *const to = (char *)data + (size_t)(row / o->rows * o->stride + row % o->rows * o->ld) * bytes;
        for (int64_t done = 0; done < o->columns;) {
            const int64_t from = (int64_t)(gt_random_bits(pool->seed, pool->next++) % POOL), left = o->columns - done;
            const int64_t count = left < POOL - from ? left : POOL - from;
            memcpy(to + (size_t)done * bytes, (const char *)pool->elements + (size_t)from * bytes,
                   (size_t)count * bytes);
            done += count;
        }
    }
}
