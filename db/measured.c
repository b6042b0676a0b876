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

/* A trial, and what decides whether it is the one that is told of its kernel on its problem. */
typedef struct told {
    gt_measured measured;
    int64_t problem, gpu;
    size_t age; /* how many are newer */
    bool told;
} told;

static bool take_told(sqlite3_stmt *row, const gt_class *like, size_t age, told *out)
{
    gt_take take = {.row = row};
    *out = (told){.age = age};
    gt_measured *measured = &out->measured;
    measured->kernel_id = gt_take_int(&take, INT64_MIN, INT64_MAX);
    out->problem = gt_take_int(&take, INT64_MIN, INT64_MAX);
    out->gpu = gt_take_int(&take, INT64_MIN, INT64_MAX);
    gt_take_problem(&take, like, &measured->problem);
    gt_take_trial(&take, &measured->trial);
    measured->same_gpu = gt_take_int(&take, 0, 1) != 0;
    measured->winner = gt_take_int(&take, 0, 1) != 0;
    measured->unbeaten = gt_take_int(&take, 0, 1) != 0;
    measured->run = gt_take_int(&take, INT64_MIN, INT64_MAX);
    const double warm = gt_take_real(&take, 0, GT_LONGEST_US, 0), cold = gt_take_real(&take, 0, GT_LONGEST_US, 0);
    const gt_trial *trial = &measured->trial;
    const double scaled = trial->us_cold > 0 ? cold / trial->us_cold * trial->us : 0;
    measured->baseline_us = scaled > 0 && scaled < warm ? scaled : warm;
    return !take.bad && measured->trial.us > 0;
}

/* Every successful trial of a loadable kernel that is not convicted, newest first. The joins begin with the problems of a
 * class: a database has many classes, and a kernel's row lies beside its code. */
#define TRIED(PROBLEMS)                                                                                      \
    "WITH convicted AS MATERIALIZED (" GT_CONVICTED ")"                                                      \
    "SELECT t.kernel, t.problem, t.gpu, p.m, p.n, p.k, p.batch, p.align, " GT_TRIAL_COLUMNS ","              \
    " g.id IN (SELECT g.id FROM gpu g WHERE " GT_SAME_GPU "),"                                               \
    " t.margin IS NOT NULL AND t.id = coalesce("                                                             \
    "  (SELECT w.id FROM trial w WHERE w.problem = t.problem AND w.gpu = t.gpu AND w.timing = 'measured'"    \
    "   AND w.margin IS NOT NULL AND w.kernel NOT IN (SELECT kernel FROM convicted)"                         \
    "   ORDER BY w.tried_at DESC, w.us LIMIT 1),"                                                            \
    "  (SELECT w.id FROM trial w WHERE w.problem = t.problem AND w.gpu = t.gpu AND w.timing = 'modelled'"    \
    "   AND w.margin IS NOT NULL AND w.kernel NOT IN (SELECT kernel FROM convicted)"                         \
    "   ORDER BY w.tried_at DESC, w.us LIMIT 1)),"                                                           \
    " t.margin IS NOT NULL AND NOT EXISTS (SELECT 1 FROM trial l WHERE l.kernel = t.kernel"                  \
    "  AND l.problem = t.problem AND l.gpu = t.gpu AND l.stage = 'race' AND l.outcome = 'ok'"                \
    "  AND l.margin IS NULL AND l.tried_at > t.tried_at),"                                                   \
    " t.run, " GT_BASELINE_US("t.problem", "t.gpu", " AND b.timing = t.timing") ","                          \
    " " GT_BASELINE_LEAST("us_cold", "t.problem", "t.gpu", " AND b.timing = t.timing")                       \
    " FROM problem p CROSS JOIN trial t ON t.problem = p.id CROSS JOIN kernel k ON k.id = t.kernel"          \
    " CROSS JOIN gpu g ON g.id = t.gpu"                                                                      \
    " WHERE k.arch = ? AND k.cubin IS NOT NULL AND g.arch = k.arch AND p.type = ? AND p.math = ?"            \
    "  AND p.layout = ? AND p.epilogue = ? AND " PROBLEMS " AND t.outcome = 'ok' AND t.us IS NOT NULL"       \
    "  AND k.id NOT IN (SELECT kernel FROM convicted) ORDER BY t.tried_at DESC, t.us"

static const char tried_sql[] = TRIED("p.align <= ?");
static const char tried_on_sql[] = TRIED("p.align = ? AND p.m = ? AND p.n = ? AND p.k = ? AND p.batch = ?");

static int compare(int64_t x, int64_t y)
{
    return (x > y) - (x < y);
}

/* By problem and kernel; of these first what is told: measured, on this model, the won race, the newest. */
static int by_what_is_told(const void *a, const void *b)
{
    const told *x = *(told *const *)a, *y = *(told *const *)b;
    int order = compare(x->problem, y->problem);
    order = order ? order : compare(x->measured.kernel_id, y->measured.kernel_id);
    order = order ? order : compare(x->measured.trial.modelled, y->measured.trial.modelled);
    order = order ? order : compare(y->measured.same_gpu, x->measured.same_gpu);
    order = order ? order : compare(y->measured.winner, x->measured.winner);
    return order ? order : compare((int64_t)x->age, (int64_t)y->age);
}

/* The trials of one kernel on one problem; the first of them is told, with what the others say. */
static void tell(told **trials, size_t count)
{
    told *first = trials[0], *screened = NULL;
    bool unbeaten = false;
    for (size_t i = 0; i < count; i++) {
        const gt_measured *m = &trials[i]->measured;
        unbeaten |= m->unbeaten && m->same_gpu;
        if (m->trial.stage == GT_STAGE_SCREEN && trials[i]->gpu == first->gpu &&
            m->trial.modelled == first->measured.trial.modelled && (!screened || trials[i]->age < screened->age))
            screened = trials[i];
    }
    first->told = true;
    first->measured.unbeaten = unbeaten;
    if (first->measured.trial.stage == GT_STAGE_RACE && screened)
        first->measured.screen_us = screened->measured.trial.us;
}

/* Of each kernel on each problem one trial is told. A problem with any measured time shows no modelled ones: the two cannot
 * be compared. */
static void tell_all(told **sorted, size_t count)
{
    for (size_t i = 0, end; i < count; i = end) {
        bool modelled = true;
        for (end = i; end < count && sorted[end]->problem == sorted[i]->problem; end++)
            modelled = modelled && sorted[end]->measured.trial.modelled;
        for (size_t j = i, next; j < end; j = next) {
            for (next = j + 1; next < end && sorted[next]->measured.kernel_id == sorted[j]->measured.kernel_id;)
                next++;
            if (sorted[j]->measured.trial.modelled == modelled)
                tell(sorted + j, next - j);
        }
    }
}

/* What is told of so many trials, newest first. */
static gt_status choose_told(told *trials, size_t count, gt_measurements *m)
{
    told **sorted = malloc((count + 1) * sizeof *sorted);
    m->list = malloc((count + 1) * sizeof *m->list);
    if (!sorted || !m->list) {
        free(sorted);
        return gt_fail_memory();
    }
    for (size_t i = 0; i < count; i++)
        sorted[i] = &trials[i];
    qsort(sorted, count, sizeof *sorted, by_what_is_told);
    tell_all(sorted, count);
    for (size_t i = 0; i < count; i++)
        if (trials[i].told)
            m->list[m->count++] = trials[i].measured;
    free(sorted);
    return GT_OK;
}

static gt_status read_trials(gt_store *store, const gt_class *class, gt_bind *bind, gt_measurements *m)
{
    told *trials = NULL;
    size_t count = 0, room = 0;
    gt_status status = GT_OK;
    int code;
    while ((code = gt_sql_step(store, bind)) == SQLITE_ROW) {
        status = gt_list_grow((void **)&trials, count, &room, sizeof *trials);
        if (status != GT_OK)
            break;
        count += take_told(bind->statement, class, count, &trials[count]);
    }
    const gt_status ended = gt_sql_done(store, bind, code);
    if (status == GT_OK)
        status = ended;
    if (status == GT_OK)
        status = choose_told(trials, count, m);
    free(trials);
    return status;
}

static int by_id(const void *a, const void *b)
{
    return compare(*(const int64_t *)a, *(const int64_t *)b);
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
    /* One lock and one state of the file for hundreds of kernels. */
    const bool own = sqlite3_get_autocommit(store->db) && gt_sql_execute(store, "BEGIN") == GT_OK;
    gt_status status = read_trials(store, class, bind, &m);
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
    gt_bind bind = start(store, tried_sql, device, class);
    return find(store, device, class, &bind, out);
}

gt_status gt_store_find_measured_on(gt_store *store, const gt_device *device, const gt_problem *problem,
                                    gt_measurements *out)
{
    if (!gt_class_types(&problem->class))
        return fail_untyped();
    gt_bind bind = start(store, tried_on_sql, device, &problem->class);
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
