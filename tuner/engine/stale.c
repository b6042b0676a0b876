#include "stale.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/core/status.h"
#include "../compile/render.h"

static int take_number(void *data, int count, const char *const *names, const char *const *values)
{
    (void)count, (void)names;
    *(double *)data = values[0] ? strtod(values[0], NULL) : 0;
    return 1;
}

/* Runs a query for one number about a problem, which stands in ?1 to ?9, and a text of its own in ?10. */
static gt_status ask(gt_store *store, const char *sql, const gt_problem *problem, const char *text, double *number)
{
    const int64_t numbers[] = {problem->m, problem->n, problem->k, problem->batch, problem->class.align};
    char texts[5][24];
    for (int i = 0; i < 5; i++)
        snprintf(texts[i], sizeof texts[i], "%lld", (long long)numbers[i]);
    const char *const parameters[] = {
        gt_class_types(&problem->class)->name, gt_math_name(problem->class.math), gt_class_layout(&problem->class),
        texts[0], texts[1], texts[2], texts[3], texts[4], gt_epilogue_name(problem->class.epilogue), text, NULL};
    *number = 0;
    return gt_store_query(store, sql, parameters, take_number, number);
}

#define IS_PROBLEM                                                                                           \
    " p.type = ?1 AND p.math = ?2 AND p.layout = ?3 AND p.m = ?4 AND p.n = ?5 AND p.k = ?6 AND p.batch = ?7 AND" \
    " p.align = ?8 AND p.epilogue = ?9"

/* Whether the template renders another source now that was never tried on the winner's problem. */
static gt_status check_template(gt_store *store, const gt_stale_terms *terms, gt_stale *s)
{
    const gt_family *family = gt_families_find(terms->families, s->kernel.family);
    gt_kernel kernel = s->kernel;
    double tried = 0;
    char *source;
    if (!family)
        return GT_OK;
    gt_status status = gt_render(family, &s->problem.class, GT_VARIANT_FAST, &kernel, &source);
    if (status == GT_ERROR_INVALID) /* the template has not all of its parameters any more: nothing to compare */
        return GT_OK;
    if (status != GT_OK)
        return status;
    free(source);
    if (strcmp(kernel.source_hash, s->kernel.source_hash) == 0)
        return GT_OK;
    status = ask(store, "SELECT count(*) FROM kernel k JOIN trial t ON t.kernel = k.id JOIN problem p ON"
                        " p.id = t.problem WHERE k.source_hash = ?10 AND" IS_PROBLEM,
                 &s->problem, kernel.source_hash, &tried);
    if (status == GT_OK && tried == 0)
        snprintf(s->why, sizeof s->why, "another template of %s", s->kernel.family);
    return status;
}

static gt_status check(gt_store *store, const gt_stale_terms *terms, int64_t run, gt_stale *s)
{
    gt_conditions then;
    const gt_status status = gt_store_find_conditions(store, run, &then);
    if (status != GT_OK)
        return status;
    then.clock_mhz = s->trial.clock_mhz;
    gt_conditions_compare(&then, &terms->now, s->why);
    return *s->why ? GT_OK : check_template(store, terms, s);
}

static gt_status add(gt_stales *s, const gt_stale *winner)
{
    if (s->count == s->room) {
        const size_t room = s->room ? 2 * s->room : 64;
        gt_stale *list = realloc(s->list, room * sizeof *list);
        if (!list)
            return gt_fail_memory();
        s->list = list;
        s->room = room;
    }
    s->list[s->count++] = *winner;
    return GT_OK;
}

/* The winners of one class. */
static gt_status find_in(gt_store *store, const gt_stale_terms *terms, const gt_class *class, gt_stales *s)
{
    gt_measurements measured;
    gt_status status = gt_store_find_measured(store, terms->device, class, &measured);
    if (status != GT_OK)
        return status;
    for (size_t i = 0; status == GT_OK && i < measured.count; i++) {
        const gt_measured *row = &measured.list[i];
        if (!row->winner || !row->same_gpu)
            continue;
        gt_stale winner = {.problem = row->problem, .kernel = *row->kernel, .trial = row->trial};
        status = check(store, terms, row->run, &winner);
        s->winners++;
        s->stale += *winner.why != '\0';
        if (status == GT_OK && (*winner.why || terms->all))
            status = add(s, &winner);
    }
    gt_measurements_finish(&measured);
    return status;
}

/* A budget goes where most is to be had. */
static int by_use(const void *a, const void *b)
{
    const gt_stale *x = a, *y = b;
    return x->use != y->use ? (x->use < y->use) - (x->use > y->use)
                            : (x->trial.us < y->trial.us) - (x->trial.us > y->trial.us);
}

gt_status gt_stales_find(gt_store *store, const gt_stale_terms *terms, gt_stales *stales)
{
    static const gt_op ops[] = {GT_N, GT_T};
    gt_stales found = {0};
    gt_status status = GT_OK;
    for (size_t i = 0; status == GT_OK && i < 4 * terms->type_count; i++) {
        const gt_types *types = terms->types[i / 4];
        const gt_gemm any = {.m = 64, .n = 64, .k = 64, .op_a = ops[i / 2 % 2], .op_b = ops[i % 2], .type_ab = types->a,
                             .type_b = types->b, .type_c = types->c, .math = types->math};
        gt_problem problem;
        if ((status = gt_problem_init(&any, &problem)) == GT_OK)
            status = find_in(store, terms, &problem.class, &found);
    }
    for (size_t i = 0; status == GT_OK && i < found.count; i++)
        status = ask(store, "SELECT sum(w.calls * w.us) FROM wanted w JOIN problem p ON p.id = w.problem"
                            " WHERE" IS_PROBLEM, &found.list[i].problem, NULL, &found.list[i].use);
    if (status != GT_OK) {
        gt_stales_finish(&found);
        return status;
    }
    if (found.count > 0)
        qsort(found.list, found.count, sizeof *found.list, by_use);
    *stales = found;
    return GT_OK;
}

void gt_stales_finish(gt_stales *stales)
{
    free(stales->list);
    *stales = (gt_stales){0};
}
