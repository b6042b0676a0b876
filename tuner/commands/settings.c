/* What each option sets. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/core/driver.h"
#include "../../src/core/status.h"
#include "../values.h"
#include "option_rows.h"

/* What an option does to the field at offset. */
typedef enum setting_kind {
    SWITCH, /* bool */
    TEXT,   /* const char *, not empty */
    INT,    /* int from least to most */
    SECONDS,
    READ, /* more than that: its own function */
} setting_kind;

typedef struct setting {
    setting_kind kind;
    size_t offset;
    int least, most;
    gt_status (*read)(const char *text, gt_options_cli *o);
} setting;

static gt_status read_device(const char *text, gt_options_cli *o)
{
    int64_t number;
    o->device_given = true;
    o->driver = NULL; /* given twice: the last one counts */
    o->all_devices = strcmp(text, "all") == 0;
    if (o->all_devices)
        return GT_OK;
    if (gt_driver_is_soft(text, NULL)) {
        o->driver = text;
        o->device = 0;
        return gt_driver_check_name(text);
    }
    if (gt_integer_parse("--device", text, 0, 1023, &number) != GT_OK)
        return gt_fail(GT_ERROR_INVALID, "--device takes a GPU's number from 0 to 1023, soft, or all (tune), not '%.40s'",
                       text);
    o->device = (int)number;
    return GT_OK;
}

static gt_status read_shard(const char *text, gt_options_cli *o)
{
    return gt_shard_parse(text, &o->shard);
}

static gt_status read_effort(const char *text, gt_options_cli *o)
{
    static const char *const levels[] = {
        [GT_EFFORT_QUICK] = "quick", [GT_EFFORT_NORMAL] = "normal", [GT_EFFORT_FULL] = "full"};
    for (int i = GT_EFFORT_QUICK; i <= GT_EFFORT_FULL; i++)
        if (strcmp(text, levels[i]) == 0) {
            o->effort = (gt_effort)i;
            return GT_OK;
        }
    return gt_fail(GT_ERROR_INVALID, "--effort takes quick, normal or full, not '%.40s'", text);
}

static gt_status read_shapes(const char *text, gt_options_cli *o)
{
    gt_shapes shapes;
    gt_status status = gt_shapes_parse(text, &shapes);
    if (status != GT_OK)
        return status;
    gt_shapes_finish(&o->shapes); /* given twice: the last one counts */
    o->shapes = shapes;
    o->shapes_given = true;
    return GT_OK;
}

static gt_status read_type(const char *text, gt_options_cli *o)
{
    o->type_names = text;
    o->type_given = true;
    return GT_OK;
}

static gt_status read_math(const char *text, gt_options_cli *o)
{
    o->math_names = text;
    return GT_OK;
}

static gt_status read_layout(const char *text, gt_options_cli *o)
{
    o->layout_given = true;
    return gt_layout_parse(text, &o->op_a, &o->op_b);
}

static gt_status read_batch(const char *text, gt_options_cli *o)
{
    return gt_integer_parse("--batch", text, 1, INT64_MAX, &o->batch);
}

static gt_status read_align(const char *text, gt_options_cli *o)
{
    int64_t bytes;
    if (gt_integer_parse("--align", text, 1, 16, &bytes) != GT_OK || (bytes & (bytes - 1)) != 0)
        return gt_fail(GT_ERROR_INVALID, "--align takes 1, 2, 4, 8 or 16, not '%.40s'", text);
    o->align = (int)bytes;
    return GT_OK;
}

static gt_status read_seed(const char *text, gt_options_cli *o)
{
    char *end;
    errno = 0;
    const unsigned long long seed = strtoull(text, &end, 0);
    if (end == text || *end || errno == ERANGE || strchr(text, '-'))
        return gt_fail(GT_ERROR_INVALID, "--seed takes a whole number of up to 64 bits, not '%.40s'", text);
    o->seed = seed;
    o->seed_given = true;
    return GT_OK;
}

static gt_status read_arch(const char *text, gt_options_cli *o)
{
    gt_device device;
    o->arch = text;
    return gt_arch_parse(text, &device);
}

static gt_status read_f32(const char *text, gt_options_cli *o)
{
    o->f32 = text;
    return strcmp(text, "strict") == 0 || strcmp(text, "split") == 0 || strcmp(text, "tf32") == 0
               ? GT_OK
               : gt_fail(GT_ERROR_INVALID, "--f32 takes strict, split or tf32, not '%.40s'", text);
}

#define AT(field) .offset = offsetof(gt_options_cli, field)
static const setting settings[OPTION_COUNT] = {
    [DEVICE] = {READ, .read = read_device},
    [DB] = {TEXT, AT(database)},
    [SHAPES] = {READ, .read = read_shapes},
    [RANDOM] = {INT, AT(random), .least = 1, .most = 10000},
    [SHARD] = {READ, .read = read_shard},
    [TYPE] = {READ, .read = read_type},
    [MATH] = {READ, .read = read_math},
    [LAYOUT] = {READ, .read = read_layout},
    [BATCH] = {READ, .read = read_batch},
    [ALIGN] = {READ, .read = read_align},
    [FAMILY] = {TEXT, AT(family)},
    [KERNEL] = {TEXT, AT(kernel)},
    [EFFORT] = {READ, .read = read_effort},
    [BUDGET] = {SECONDS, AT(budget_s)},
    [TIMEOUT] = {SECONDS, AT(limit_s)},
    [SEED] = {READ, .read = read_seed},
    [JOBS] = {INT, AT(threads), .least = 0, .most = 1024},
    [TEMPLATES] = {TEXT, AT(templates)},
    [NVRTC] = {TEXT, AT(nvrtc)},
    [ARCH] = {READ, .read = read_arch},
    [PARAMS] = {TEXT, AT(params)},
    [ALL_ROWS] = {SWITCH, AT(all)},
    [ROUNDS] = {INT, AT(rounds), .least = 1, .most = 1000000},
    [CHECKED] = {SWITCH, AT(checked)},
    [UNTUNED] = {SWITCH, AT(untuned)},
    [ERRORS] = {SWITCH, AT(errors)},
    [REGRET] = {INT, AT(regret), .least = 1, .most = 10000},
    [TRIALS] = {TEXT, AT(trials)},
    [SAVE] = {TEXT, AT(save)},
    [WANTED] = {SWITCH, AT(wanted)},
    [TOP] = {INT, AT(top), .least = 1, .most = 1000000},
    [CAPTURE_ONLY] = {SWITCH, AT(capture_only)},
    [MARGIN] = {INT, AT(margin), .least = -100, .most = 1000},
    [F32] = {READ, .read = read_f32},
    [BLAS] = {SWITCH, AT(blas)},
    [DLSYM] = {SWITCH, AT(dlsym)},
    [NO_CUBLAS] = {SWITCH, AT(no_cublas)},
    [OUTPUT] = {TEXT, AT(output)},
    [SHARDS] = {INT, AT(shards), .least = 1, .most = 10000},
    [GPUS] = {TEXT, AT(gpus)},
    [DRY_RUN] = {SWITCH, AT(dry_run)},
    [JSON] = {SWITCH, AT(json)},
    [VERBOSE] = {SWITCH, AT(verbose)},
    [QUIET] = {SWITCH, AT(quiet)},
    [HELP] = {SWITCH, AT(help)},
    [VERSION] = {SWITCH, AT(version)},
};

gt_status gt_setting_apply(int option, const char *text, gt_options_cli *o)
{
    const setting *s = &settings[option];
    const char *name = gt_option_rows[option].name;
    void *field = (char *)o + s->offset;
    int64_t number;
    char what[32];
    snprintf(what, sizeof what, "--%s", name);
    switch (s->kind) {
    case SWITCH:
        *(bool *)field = true;
        return GT_OK;
    case TEXT:
        if (!*text)
            return gt_fail(GT_ERROR_INVALID, "%s needs a value: %s %s", what, what, gt_option_rows[option].value);
        *(const char **)field = text;
        return GT_OK;
    case INT:
        if (gt_integer_parse(what, text, s->least, s->most, &number) != GT_OK)
            return GT_ERROR_INVALID;
        *(int *)field = (int)number;
        return GT_OK;
    case SECONDS:
        if (gt_duration_parse(text, field) != GT_OK)
            return gt_fail(GT_ERROR_INVALID, "%s: %s", what, gt_error_message());
        return GT_OK;
    case READ:
        return s->read(text, o);
    }
    return GT_OK;
}
