#include "pool.h"

#include <stdlib.h>
#include <string.h>

#include "../../src/core/status.h"

#define POOL 65536

gt_status gt_pool_init(gt_type type, uint64_t seed, gt_pool *pool)
{
    const gt_type_info *info = gt_type_find(type);
    *pool = (gt_pool){.seed = seed, .elements = malloc(POOL * (size_t)info->bytes)};
    if (!pool->elements)
        return gt_fail_memory();
    pool->type = info;
    for (int64_t i = 0; i < POOL; i++)
        info->draw(pool->elements, i, gt_random_bits(seed, (uint64_t)i));
    return GT_OK;
}

void gt_pool_finish(gt_pool *pool)
{
    free(pool->elements);
    *pool = (gt_pool){0};
}

void gt_pool_fill(const gt_pool *pool, gt_draws *places, const gt_stored *o, int64_t batch, void *data)
{
    const size_t bytes = (size_t)pool->type->bytes;
    for (int64_t row = 0; row < batch * o->rows; row++) {
        char *const to = (char *)data + (size_t)(row / o->rows * o->stride + row % o->rows * o->ld) * bytes;
        for (int64_t done = 0; done < o->columns;) {
            const int64_t from = gt_draw_below(places, POOL), left = o->columns - done;
            const int64_t count = left < POOL - from ? left : POOL - from;
            memcpy(to + (size_t)done * bytes, (const char *)pool->elements + (size_t)from * bytes,
                   (size_t)count * bytes);
            done += count;
        }
    }
}
