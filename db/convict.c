/* Kernels out of service: those whose code failed a check and has not passed it since. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* The newest failure of each code, problem and seed, newest first. */
static const char convicted_sql[] =
    "SELECT t.kernel, k.cubin IS NOT NULL, " GT_PROBLEM_CLASS ", p.m, p.n, p.k, p.batch, p.align, l.seed,"
    " t.gpu IN (SELECT g.id FROM gpu g WHERE " GT_SAME_GPU "), " GT_TRIAL_COLUMNS
    " FROM (SELECT c.trial, c.seed, max(c.tried_at) FROM (" GT_CONVICTIONS ") c WHERE c.arch = ?"
    "  GROUP BY c.source_hash, c.nvrtc, c.problem, c.seed) l"
    " JOIN trial t ON t.id = l.trial JOIN kernel k ON k.id = t.kernel JOIN problem p ON p.id = t.problem"
    " ORDER BY t.tried_at DESC";

static bool take_convicted(sqlite3_stmt *row, gt_convicted *convicted)
{
    gt_take take = {.row = row};
    char text[GT_CLASS_LENGTH];
    gt_class class;
    *convicted = (gt_convicted){.kernel_id = gt_take_int(&take, INT64_MIN, INT64_MAX)};
    convicted->has_code = gt_take_int(&take, 0, 1) != 0;
    gt_take_text(&take, text, sizeof text);
    if (take.bad || !gt_class_parse(text, &class))
        return false;
    gt_take_problem(&take, &class, &convicted->problem);
    const uint64_t seed = gt_take_seed(&take);
    convicted->same_gpu = gt_take_int(&take, 0, 1) != 0;
    gt_take_trial(&take, &convicted->trial);
    convicted->trial.seed = seed;
    return !take.bad;
}

/* Reads the kernels. One whose row is damaged is out of service for that, too, and left out here. */
static gt_status read_kernels(gt_store *store, gt_convictions *convictions)
{
    size_t kept = 0;
    gt_status status = GT_OK;
    for (size_t i = 0; status == GT_OK && i < convictions->count; i++) {
        gt_kernel_row row;
        gt_convicted *convicted = &convictions->list[i];
        status = gt_kernel_read(store, convicted->kernel_id, &row);
        if (status != GT_OK || !row.usable || !gt_class_serves(&row.class, &convicted->problem.class))
            continue;
        convicted->kernel = row.kernel;
        convictions->list[kept++] = *convicted;
    }
    convictions->count = kept;
    return status;
}

gt_status gt_store_find_convicted(gt_store *store, const gt_device *device, gt_convictions *out)
{
    gt_convictions convictions = {0};
    gt_status status = GT_OK;
    size_t room = 0;
    int code;
    gt_bind bind = gt_sql_start(store, convicted_sql);
    gt_bind_gpu(&bind, device);
    gt_bind_text(&bind, device->arch, sizeof device->arch);
    while ((code = gt_sql_step(store, &bind)) == SQLITE_ROW) {
        status = gt_list_grow((void **)&convictions.list, convictions.count, &room, sizeof *convictions.list);
        if (status != GT_OK)
            break;
        convictions.count += take_convicted(bind.statement, &convictions.list[convictions.count]);
    }
    const gt_status ended = gt_sql_done(store, &bind, code);
    if (status == GT_OK)
        status = ended;
    if (status == GT_OK)
        status = read_kernels(store, &convictions);
    if (status == GT_OK)
        *out = convictions;
    else
        gt_convictions_finish(&convictions);
    return status;
}

void gt_convictions_finish(gt_convictions *convictions)
{
    free(convictions->list);
    *convictions = (gt_convictions){0};
}

static void drop_code(gt_measurements *measured, const gt_kernel *code)
{
    size_t kept = 0;
    for (size_t i = 0; i < measured->count; i++) {
        const gt_kernel *kernel = measured->list[i].kernel;
        if (strcmp(kernel->source_hash, code->source_hash) != 0 || strcmp(kernel->nvrtc, code->nvrtc) != 0 ||
            strcmp(kernel->arch, code->arch) != 0)
            measured->list[kept++] = measured->list[i];
    }
    measured->count = kept;
}

gt_status gt_measurements_drop_convicted(gt_measurements *measured, gt_store *other, const gt_device *device)
{
    gt_convictions convictions = {0};
    const gt_status status = gt_store_find_convicted(other, device, &convictions);
    for (size_t i = 0; i < convictions.count; i++)
        drop_code(measured, &convictions.list[i].kernel);
    gt_convictions_finish(&convictions);
    return status;
}
