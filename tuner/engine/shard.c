#include "shard.h"

#include <stdlib.h>
#include <string.h>

#include "../../src/core/status.h"
#include "../values.h"

#define MOST_SHARDS 10000

/*
 * A rough cost of tuning a problem, in seconds, to compare problems by. Compiling candidates and checking them on small
 * products costs the same for all; launches at full size grow with the work. On an H200 a problem of the default list
 * takes six seconds on average, the largest one twenty. The software GPU does 50 million operations a second.
 */
#define FIXED_S 4.0
#define GPU_LAUNCHES 600
#define GPU_RATE 5e13
#define SOFT_LAUNCHES 24
#define SOFT_RATE 5e7

typedef struct costed {
    double seconds;
    size_t at; /* in the list */
} costed;

gt_status gt_shard_parse(const char *text, gt_shard *shard)
{
    const char *slash = strchr(text, '/');
    char first[16] = "";
    int64_t index, count;
    if (slash && (size_t)(slash - text) < sizeof first) {
        memcpy(first, text, (size_t)(slash - text));
        if (gt_integer_parse("--shard", first, 1, MOST_SHARDS, &index) == GT_OK &&
            gt_integer_parse("--shard", slash + 1, index, MOST_SHARDS, &count) == GT_OK) {
            *shard = (gt_shard){(int)index, (int)count};
            return GT_OK;
        }
    }
    return gt_fail(GT_ERROR_INVALID, "--shard takes I/N, 1/6 to 6/6 for six of them, not '%.40s'", text);
}

static double estimate_seconds(const gt_problem *problem, bool soft)
{
    return FIXED_S + gt_problem_flops(problem) * (soft ? SOFT_LAUNCHES / SOFT_RATE : GPU_LAUNCHES / GPU_RATE);
}

/* The longest first; of two that are as long, the one that is first in the list. */
static int by_seconds(const void *a, const void *b)
{
    const costed *x = a, *y = b;
    if (x->seconds != y->seconds)
        return x->seconds < y->seconds ? 1 : -1;
    return x->at < y->at ? -1 : 1;
}

/* The longest that is left goes to the shard that has least to do. */
gt_status gt_shard_take(const gt_shard *shard, bool soft, gt_problem *problems, double *shares, size_t *count)
{
    const size_t total = *count;
    size_t kept = 0;
    if (shard->count == 0)
        return GT_OK;
    costed *list = calloc(total + 1, sizeof *list);
    double *loads = calloc((size_t)shard->count, sizeof *loads);
    bool *own = calloc(total + 1, sizeof *own);
    if (list && loads && own) {
        for (size_t i = 0; i < total; i++)
            list[i] = (costed){estimate_seconds(&problems[i], soft), i};
        qsort(list, total, sizeof *list, by_seconds);
        for (size_t i = 0; i < total; i++) {
            int least = 0;
            for (int j = 1; j < shard->count; j++)
                if (loads[j] < loads[least])
                    least = j;
            loads[least] += list[i].seconds;
            own[list[i].at] = least == shard->index - 1;
        }
        for (size_t i = 0; i < total; i++) {
            if (!own[i])
                continue;
            if (shares)
                shares[kept] = shares[i];
            problems[kept++] = problems[i];
        }
        *count = kept;
    }
    const gt_status status = list && loads && own ? GT_OK : gt_fail_memory();
    free(list);
    free(loads);
    free(own);
    return status;
}
