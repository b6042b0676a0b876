#include "rates.h"

#include <math.h>

#include "../../db/store.h"
#include "counted.h"

void gt_rates_load(gt_rate *list, size_t count)
{
    gt_store *store = NULL;
    if (gt_store_open(NULL, GT_STORE_READ, &store) != GT_OK)
        return;
    for (size_t i = 0; i < count; i++) {
        double value = 0;
        if (gt_store_find_rate(store, list[i].name, &value) == GT_OK && isfinite(value) && value > 0)
            list[i].value = value;
    }
    gt_store_close(store);
}

gt_status gt_rates_store(const gt_counted_gpu *gpu, const gt_rate *list, size_t count)
{
    gt_store *store = NULL;
    int64_t id;
    gt_status status = gt_store_open(NULL, GT_STORE_ADD, &store);
    if (status == GT_OK)
        status = gt_store_gpu(store, &gpu->device, &id);
    for (size_t i = 0; status == GT_OK && i < count; i++)
        status = gt_store_put_rate(store, id, list[i].name, list[i].value);
    gt_store_close(store);
    return status;
}
