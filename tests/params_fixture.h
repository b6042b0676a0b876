/* Parameters as tests write them down. */
#ifndef PARAMS_FIXTURE_H
#define PARAMS_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "../src/core/params.h"
#include "check.h"

/* Those of a text, "bm=128 bn=256"; "" has none. */
static inline gt_params params_of(const char *text)
{
    gt_params params = {0};
    char copy[GT_PARAMS_TEXT], *rest = copy;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *word; *text && (word = strsep(&rest, " "));) {
        char *equals = strchr(word, '=');
        CHECK(equals);
        *equals = '\0';
        CHECK_OK(gt_params_add(&params, word, strtoll(equals + 1, NULL, 10)));
    }
    return params;
}

static inline const char *text_of(const gt_params *params)
{
    static char texts[4][GT_PARAMS_TEXT];
    static int next;
    return gt_params_text(params, texts[next++ % 4]);
}

/* The value of one that must be there. */
static inline int64_t value_of(const gt_params *params, const char *name)
{
    int64_t value = 0;
    CHECK(gt_params_find(params, name, &value));
    return value;
}

#endif
