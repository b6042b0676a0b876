/* What was ever measured: every kernel that can be loaded, with its times on the problems it was tried on. */
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

void gt_take_problem(gt_take *take, const gt_class *class, gt_problem *problem)
{
    gt_gemm gemm = gt_class_gemm(class, 0, 0, 0);
    gemm.m = gt_take_int(take, 0, INT64_MAX);
    gemm.n = gt_take_int(take, 0, INT64_MAX);
    gemm.k = gt_take_int(take, 0, INT64_MAX);
    gemm.batch = gt_take_int(take, 1, INT64_MAX);
    gemm.align = (int)gt_take_int(take, 1, 16);
    if (take->bad || gt_problem_init(&gemm, problem) != GT_OK)
        take->bad = true;
    else
        problem->class.align = gemm.align; /* of the leading dimensions it was tuned with, not of packed ones */
}

static bool take_measured(sqlite3_stmt *row, const gt_class *like, gt_measured *measured)
{
    gt_take take = {.row = row};
    measured->kernel_id = gt_take_int(&take, INT64_MIN, INT64_MAX);
    measured->kernel = NULL;
    measured->estimate_us = 0;
    gt_take_problem(&take, like, &measured->problem);
    gt_take_trial(&take, &measured->trial);
    measured->same_gpu = gt_take_int(&take, 0, 1) != 0;
    measured->winner = gt_take_int(&take, 0, 1) != 0;
    measured->unbeaten = gt_take_int(&take, 0, 1) != 0;
    measured->run = gt_take_int(&take, INT64_MIN, INT64_MAX);
    measured->screen_us = gt_take_real(&take, 0, GT_LONGEST_US, 0);
    const double warm = gt_take_real(&take, 0, GT_LONGEST_US, 0), cold = gt_take_real(&take, 0, GT_LONGEST_US, 0);
    const gt_trial *trial = &measured->trial;
    const double scaled = trial->us_cold > 0 ? cold / trial->us_cold * trial->us : 0;
    measured->baseline_us = scaled > 0 && scaled < warm ? scaled : warm;
    return !take.bad && measured->trial.us > 0;
}

/*
 * `tried` is every successful trial of a loadable kernel that is not convicted; `ranked` puts first, for each kernel
 * and problem, what is told of them: measured, on this model, the won race, the newest. A problem with any measured
 * time shows no modelled ones: the two cannot be compared. Both have only what decides: rows of trials are wide, and
 * few are told.
 */
#define MEASURED(FROM, PROBLEMS)                                                                             \
    "WITH convicted AS MATERIALIZED (" GT_CONVICTED "),"                                                     \
    " tried AS ("                                                                                            \
    " SELECT t.id, t.kernel, t.problem, t.timing, t.tried_at,"                                               \
    "  g.id IN (SELECT g.id FROM gpu g WHERE " GT_SAME_GPU ") AS same_gpu,"                                  \
    "  t.margin IS NOT NULL AND t.id = coalesce("                                                            \
    "   (SELECT w.id FROM trial w WHERE w.problem = t.problem AND w.gpu = t.gpu AND w.timing = 'measured'"   \
    "    AND w.margin IS NOT NULL AND w.kernel NOT IN (SELECT kernel FROM convicted)"                        \
    "    ORDER BY w.tried_at DESC, w.us LIMIT 1),"                                                           \
    "   (SELECT w.id FROM trial w WHERE w.problem = t.problem AND w.gpu = t.gpu AND w.timing = 'modelled'"   \
    "    AND w.margin IS NOT NULL AND w.kernel NOT IN (SELECT kernel FROM convicted)"                        \
    "    ORDER BY w.tried_at DESC, w.us LIMIT 1))"                                                           \
    "  AS winner,"                                                                                           \
    "  t.margin IS NOT NULL AND NOT EXISTS (SELECT 1 FROM trial l WHERE l.kernel = t.kernel"                 \
    "   AND l.problem = t.problem AND l.gpu = t.gpu AND l.stage = 'race' AND l.outcome = 'ok'"               \
    "   AND l.margin IS NULL AND l.tried_at > t.tried_at) AS unbeaten"                                       \
    " FROM " FROM                                                                                            \
    " WHERE k.arch = ? AND k.cubin IS NOT NULL AND g.arch = k.arch AND p.type = ? AND p.math = ?"            \
    "  AND p.layout = ? AND p.epilogue = ? AND " PROBLEMS " AND t.outcome = 'ok' AND t.us IS NOT NULL"       \
    "  AND k.id NOT IN (SELECT kernel FROM convicted)),"                                                     \
    " ranked AS ("                                                                                           \
    " SELECT *, row_number() OVER (PARTITION BY kernel, problem"                                             \
    "   ORDER BY timing = 'modelled', same_gpu DESC, winner DESC, tried_at DESC) AS place,"                  \
    "  max(unbeaten AND same_gpu) OVER (PARTITION BY kernel, problem) AS champion,"                          \
    "  min(timing = 'modelled') OVER (PARTITION BY problem) AS only_modelled FROM tried)"                    \
    "SELECT t.kernel, p.m, p.n, p.k, p.batch, p.align, " GT_TRIAL_COLUMNS ", r.same_gpu, r.winner,"          \
    " r.champion, t.run, CASE WHEN t.stage = 'race' THEN"                                                    \
    "  (SELECT s.us FROM trial s WHERE s.kernel = t.kernel AND s.problem = t.problem AND s.gpu = t.gpu"      \
    "   AND s.stage = 'screen' AND s.outcome = 'ok' AND s.us IS NOT NULL AND s.timing = t.timing"            \
    "   ORDER BY s.tried_at DESC LIMIT 1) END,"                                                              \
    " " GT_BASELINE_US("t.problem", "t.gpu", " AND b.timing = t.timing") ","                                 \
    " " GT_BASELINE_LEAST("us_cold", "t.problem", "t.gpu", " AND b.timing = t.timing")                       \
    " FROM ranked r JOIN trial t ON t.id = r.id JOIN problem p ON p.id = t.problem"                          \
    " WHERE r.place = 1 AND (r.timing = 'measured' OR r.only_modelled) ORDER BY t.tried_at DESC, t.us"

/* Of all sizes: the joins begin with kernels that have code, which are a tenth of all. Of one: with its trials. */
static const char measured_sql[] =
    MEASURED("kernel k CROSS JOIN trial t ON t.kernel = k.id CROSS JOIN gpu g ON g.id = t.gpu"
             " CROSS JOIN problem p ON p.id = t.problem", "p.align <= ?");
static const char measured_on_sql[] =
    MEASURED("problem p CROSS JOIN trial t ON t.problem = p.id CROSS JOIN kernel k ON k.id = t.kernel"
             " CROSS JOIN gpu g ON g.id = t.gpu", "p.align = ? AND p.m = ? AND p.n = ? AND p.k = ? AND p.batch = ?");

static int by_id(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The ids of all kernels in a list, each once. *ids is owned by the caller: free(). */
static gt_status list_kernels(const gt_measurements *m, int64_t **out, size_t *count)
{
    size_t distinct = 0;
    int64_t *ids = malloc((m->count + 1) * sizeof *ids);
    if (!ids)
        return gt_fail_memory();
    for (size_t i = 0; i < m->count; i++)
        ids[i] = m->list[i].kernel_id;
    qsort(ids, m->count, sizeof *ids, by_id);
    for (size_t i = 0; i < m->count; i++)
        if (i == 0 || ids[i] != ids[distinct - 1])
            ids[distinct++] = ids[i];
    *out = ids;
    *count = distinct;
    return GT_OK;
}

/* Remembers that a kernel is left out, and of the first one why. */
static void leave_out(gt_store *store, int64_t id, const char *what, const char *why, gt_measurements *m)
{
    if (m->damaged++ > 0)
        return;
    gt_kernel_fail(store, id, what, why);
    snprintf(m->damage, sizeof m->damage, "%s", gt_error_message());
}

/* Reads every kernel once. One whose row is damaged is left out, and so are measurements on problems that it does not
 * serve: whatever a problem's row says, a kernel runs what it was rendered for. */
static gt_status read_kernels(gt_store *store, gt_measurements *m)
{
    int64_t *ids = NULL;
    size_t count = 0, kept = 0;
    gt_status status = list_kernels(m, &ids, &count);
    gt_kernel_row *rows = status == GT_OK ? calloc(count + 1, sizeof *rows) : NULL;
    m->kernels = status == GT_OK ? calloc(count + 1, sizeof *m->kernels) : NULL;
    if (status == GT_OK && (!rows || !m->kernels))
        status = gt_fail_memory();
    for (size_t i = 0; status == GT_OK && i < count; i++) {
        status = gt_kernel_read(store, ids[i], &rows[i]);
        m->kernels[i] = rows[i].kernel;
        m->kernels[i].align = rows[i].class.align;
        if (status == GT_OK && !rows[i].usable)
            leave_out(store, ids[i], "row", "does not match its hash", m);
    }
    for (size_t i = 0; status == GT_OK && i < m->count; i++) {
        const int64_t *id = bsearch(&m->list[i].kernel_id, ids, count, sizeof *ids, by_id);
        if (!id || !rows[id - ids].usable)
            continue;
        if (!gt_class_serves(&rows[id - ids].class, &m->list[i].problem.class)) {
            leave_out(store, *id, "problem of a trial", "is none that it was rendered for", m);
            continue;
        }
        m->list[kept] = m->list[i];
        m->list[kept++].kernel = &m->kernels[id - ids];
    }
    m->count = kept;
    free(rows);
    free(ids);
    return status;
}

/* What choices are made by, once for all of them. */
static void estimate(const gt_device *device, gt_measurements *m)
{
    for (size_t i = 0; i < m->count; i++) {
        gt_measured *row = &m->list[i];
        gt_terms terms;
        if (gt_estimate_terms(device, row->kernel, &row->problem, &terms, NULL))
            row->estimate_us = gt_estimate_us(&terms, gt_coefficients_find(m->fitted, m->fitted_count, row->kernel->family,
                                                                           &row->problem.class));
    }
}

static gt_bind start(gt_store *store, const char *sql, const gt_device *device, const gt_class *class)
{
    gt_bind bind = gt_sql_start(store, sql);
    gt_bind_gpu(&bind, device);
    gt_bind_text(&bind, device->arch, sizeof device->arch);
    gt_bind_text(&bind, gt_class_types(class)->name, GT_ANY_LENGTH);
    gt_bind_text(&bind, gt_math_name(class->math), GT_ANY_LENGTH);
    gt_bind_text(&bind, gt_class_layout(class), GT_LAYOUT_LENGTH);
    gt_bind_text(&bind, gt_epilogue_name(class->epilogue), GT_ANY_LENGTH);
    gt_bind_int(&bind, class->align);
    return bind;
}

static gt_status find(gt_store *store, const gt_device *device, const gt_class *class, gt_bind *bind,
                      gt_measurements *out)
{
    gt_measurements m = {0};
    size_t room = 0;
    /* One lock and one state of the file for hundreds of kernels. */
    const bool own = sqlite3_get_autocommit(store->db) && gt_sql_execute(store, "BEGIN") == GT_OK;
    gt_status status = GT_OK;
    int code;
    while ((code = gt_sql_step(store, bind)) == SQLITE_ROW) {
        status = gt_list_grow((void **)&m.list, m.count, &room, sizeof *m.list);
        if (status != GT_OK)
            break;
        m.count += take_measured(bind->statement, class, &m.list[m.count]);
    }
    const gt_status ended = gt_sql_done(store, bind, code);
    if (status == GT_OK)
        status = ended;
    if (status == GT_OK)
        status = read_kernels(store, &m);
    if (status == GT_OK)
        status = gt_store_find_fitted(store, device, gt_class_types(class), &m.fitted, &m.fitted_count, &m.misfits);
    if (own)
        status = gt_sql_end(store, status);
    if (status == GT_OK)
        estimate(device, &m);
    if (status == GT_OK)
        *out = m;
    else
        gt_measurements_finish(&m);
    return status;
}

static gt_status fail_untyped(void)
{
    return gt_fail(GT_ERROR_UNSUPPORTED, "no problem of these types is ever stored");
}

gt_status gt_store_find_measured(gt_store *store, const gt_device *device, const gt_class *class, gt_measurements *out)
{
    if (!gt_class_types(class))
        return fail_untyped();
    gt_bind bind = start(store, measured_sql, device, class);
    return find(store, device, class, &bind, out);
}

gt_status gt_store_find_measured_on(gt_store *store, const gt_device *device, const gt_problem *problem,
                                    gt_measurements *out)
{
    if (!gt_class_types(&problem->class))
        return fail_untyped();
    gt_bind bind = start(store, measured_on_sql, device, &problem->class);
    gt_bind_int(&bind, problem->m);
    gt_bind_int(&bind, problem->n);
    gt_bind_int(&bind, problem->k);
    gt_bind_int(&bind, problem->batch);
    return find(store, device, &problem->class, &bind, out);
}

double gt_measured_us(const gt_measured *measured)
{
    return measured->screen_us > 0 ? measured->screen_us : measured->trial.us;
}

double gt_measurements_leave_out(gt_measurements *measured, const gt_problem *problem)
{
    double best = 0;
    size_t kept = 0;
    for (size_t i = 0; i < measured->count; i++) {
        const gt_measured *row = &measured->list[i];
        if (!gt_problem_same_size(&row->problem, problem))
            measured->list[kept++] = *row;
        else if (best == 0 || row->trial.us < best)
            best = row->trial.us;
    }
    measured->count = kept;
    return best;
}

void gt_measurements_drop_kernel(gt_measurements *measured, int64_t kernel_id)
{
    size_t kept = 0;
    for (size_t i = 0; i < measured->count; i++)
        if (measured->list[i].kernel_id != kernel_id)
            measured->list[kept++] = measured->list[i];
    measured->count = kept;
}

void gt_measurements_finish(gt_measurements *measurements)
{
    free(measurements->list);
    free(measurements->kernels);
    free(measurements->fitted);
    *measurements = (gt_measurements){0};
}
