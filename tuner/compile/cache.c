#include "cache.h"

#include <stdlib.h>
#include <string.h>

#include "../../src/core/status.h"

/* Some 250 KB each: a quarter of a gigabyte at the most. */
#define ENTRIES 1024

struct gt_cache {
    size_t count, next;
    gt_cached entry[ENTRIES];
};

gt_status gt_cache_create(gt_cache **cache)
{
    *cache = calloc(1, sizeof **cache);
    return *cache ? GT_OK : gt_fail_memory();
}

void gt_cache_destroy(gt_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < cache->count; i++)
        gt_code_finish(&cache->entry[i].code);
    free(cache);
}

const gt_cached *gt_cache_find(const gt_cache *cache, const char *source_hash)
{
    for (size_t i = 0; i < cache->count; i++)
        if (strcmp(cache->entry[i].source_hash, source_hash) == 0)
            return &cache->entry[i];
    return NULL;
}

void gt_cache_forget(gt_cache *cache, const char *source_hash)
{
    for (size_t i = 0; i < cache->count; i++)
        if (strcmp(cache->entry[i].source_hash, source_hash) == 0)
            cache->entry[i].source_hash[0] = '\0';
}

void gt_cache_put(gt_cache *cache, gt_compiled *compiled)
{
    gt_cached *entry = &cache->entry[cache->next];
    gt_code_finish(&entry->code);
    memcpy(entry->source_hash, compiled->kernel.source_hash, sizeof entry->source_hash);
    memcpy(entry->detail, compiled->detail, sizeof entry->detail);
    entry->status = compiled->status;
    entry->code = compiled->code;
    compiled->code = (gt_code){0};
    cache->next = (cache->next + 1) % ENTRIES;
    if (cache->count < ENTRIES)
        cache->count++;
}
