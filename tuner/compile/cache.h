/* Code compiled in this run, found by source hash. Bounded: the oldest goes first. */
#ifndef GT_CACHE_H
#define GT_CACHE_H

#include "compile.h"

typedef struct gt_cache gt_cache;

typedef struct gt_cached {
    char source_hash[GT_HASH_LENGTH];
    gt_status status;
    char detail[400];
    gt_code code;
} gt_cached;

gt_status gt_cache_create(gt_cache **cache);
void gt_cache_destroy(gt_cache *cache);

/* NULL if it is not there. Valid until the next put. */
const gt_cached *gt_cache_find(const gt_cache *cache, const char *source_hash);

/* Forgets an entry, so that it is compiled again. */
void gt_cache_forget(gt_cache *cache, const char *source_hash);

/* Takes the code of a finished compilation. */
void gt_cache_put(gt_cache *cache, gt_compiled *compiled);

#endif
