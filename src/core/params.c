#include "params.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

bool gt_param_is_name(const char *name)
{
    if (!islower((unsigned char)*name))
        return false;
    for (const char *c = name; *c; c++)
        if (!islower((unsigned char)*c) && !isdigit((unsigned char)*c) && *c != '_')
            return false;
    return strlen(name) < GT_PARAM_NAME;
}

gt_status gt_params_add(gt_params *params, const char *name, int64_t value)
{
    if (!gt_param_is_name(name))
        return gt_fail(GT_ERROR_INVALID, "'%.40s' is no parameter name (a-z, 0-9 and _, at most %d characters)", name,
                       GT_PARAM_NAME - 1);
    if (params->count >= GT_PARAM_COUNT)
        return gt_fail(GT_ERROR_INVALID, "more than %d parameters", GT_PARAM_COUNT);
    gt_param *param = &params->list[params->count++];
    *param = (gt_param){.value = value};
    strcpy(param->name, name);
    return GT_OK;
}

/* An estimate asks for dozens of names, a choice for hundreds of estimates: the first bytes, which most names differ in and
 * many do not exceed, are compared as one number. Behind a name's end there are zeros. */
bool gt_params_find(const gt_params *params, const char *name, int64_t *value)
{
    char first[sizeof(uint64_t)] = {0};
    uint64_t wanted, found;
    size_t length = 0;
    for (; length < sizeof first && name[length]; length++)
        first[length] = name[length];
    memcpy(&wanted, first, sizeof wanted);
    for (int64_t i = 0; i < params->count; i++) {
        memcpy(&found, params->list[i].name, sizeof found);
        if (found == wanted && (length < sizeof first || strcmp(params->list[i].name, name) == 0)) {
            *value = params->list[i].value;
            return true;
        }
    }
    return false;
}

bool gt_params_same(const gt_params *a, const gt_params *b)
{
    if (a->count != b->count)
        return false;
    for (int64_t i = 0; i < a->count; i++)
        if (strcmp(a->list[i].name, b->list[i].name) != 0 || a->list[i].value != b->list[i].value)
            return false;
    return true;
}

const char *gt_params_text(const gt_params *params, char text[GT_PARAMS_TEXT])
{
    int length = 0;
    text[0] = '\0';
    for (int64_t i = 0; i < params->count; i++)
        length += snprintf(text + length, (size_t)(GT_PARAMS_TEXT - length), "%s%s=%lld", i > 0 ? " " : "",
                           params->list[i].name, (long long)params->list[i].value);
    return text;
}
