/* gemmtune why: the evidence for one winner, as the database has it. Reads only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../db/store.h"
#include "../../src/core/status.h"
#include "options.h"
#include "output.h"

#define MOST_COLUMNS 9

/* A question to the database and its answer as a table. Parameters of all: 1 the problem, 2 the GPU, 3 the winner's
 * kernel, 4 the bytes of A, B and C together. Kinds of columns: text, integer, or digits behind the point. */
typedef struct section {
    const char *key, *title, *sql;
    struct {
        const char *title;
        char kind;
    } columns[MOST_COLUMNS];
} section;

/* The trials that a race left: of the run in which the winner won last, the newest of each kernel. */
#define RACE                                                                                                 \
    "(SELECT kernel, us, us_spread, clock_mhz, outcome, margin, max(tried_at) FROM trial"                    \
    " WHERE problem = ?1 AND gpu = ?2 AND stage = 'race' AND run ="                           \
    " (SELECT run FROM trial WHERE problem = ?1 AND gpu = ?2 AND kernel = ?3 AND margin IS NOT NULL"          \
    " ORDER BY tried_at DESC LIMIT 1) GROUP BY kernel)"
#define FLOPS "(2.0 * p.m * p.n * p.k * p.batch)"
#define BEST "b.gpu_id = g.id AND b.type = p.type AND b.math = p.math AND b.layout = p.layout AND b.batch = p.batch"

static const section sections[] = {
    {"winner", "The winner",
     "SELECT b.family, b.params, b.us, b.tflops, 100 * b.margin, b.timing, b.tuned_at, b.kernel"
     " FROM problem p CROSS JOIN gpu g JOIN best_configs b ON " BEST " AND b.m = p.m AND b.n = p.n AND b.k = p.k"
     " AND b.align = p.align AND b.kernel = ?3 WHERE p.id = ?1 AND g.id = ?2",
     {{"family", 't'}, {"configuration", 't'}, {"us", '2'}, {"TFLOPS", '2'}, {"margin %", '1'}, {"timing", 't'},
      {"tuned at", 't'}, {"kernel", 'i'}}},
    {"bound", "What bounds it",
     "SELECT CASE " FLOPS " / ?4 * w.copy_tbs > k.tflops WHEN 1 THEN 'multiply-adds' WHEN 0 THEN 'memory' END,"
     " " FLOPS " / ?4,"
     " k.tflops / w.copy_tbs, 100 * " FLOPS " / t.us / 1e6 / k.tflops, k.tflops, k.source,"
     " 100 * ?4 / t.us / 1e6 / w.copy_tbs, w.copy_tbs"
     " FROM (SELECT us, max(tried_at) FROM trial WHERE problem = ?1 AND gpu = ?2 AND kernel = ?3 AND us IS NOT NULL) t"
     " JOIN problem p ON p.id = ?1 LEFT JOIN peak k ON k.gpu = ?2 AND k.type = p.type AND k.math = p.math"
     " LEFT JOIN bandwidth w ON w.gpu = ?2 WHERE t.us IS NOT NULL",
     {{"bound by", 't'}, {"flops/byte", '1'}, {"balance", '1'}, {"peak %", '1'}, {"TFLOPS", '1'}, {"source", 't'},
      {"copy %", '1'}, {"TB/s", '2'}}},
    {"race", "Its last race",
     "SELECT c.family, c.params, r.us, 100 * (r.us / (SELECT us FROM " RACE " WHERE kernel = ?3) - 1),"
     " 100 * r.us_spread, r.clock_mhz, r.outcome FROM " RACE " r JOIN config c ON c.kernel = r.kernel"
     " ORDER BY r.margin IS NULL, r.us IS NULL, r.us",
     {{"family", 't'}, {"configuration", 't'}, {"us", '2'}, {"behind %", '1'}, {"spread %", '1'}, {"MHz", '0'},
      {"outcome", 't'}}},
    {"baselines", "Others on the same problem",
     "SELECT b.name, b.version, b.us, b.us / (SELECT us FROM trial WHERE problem = ?1 AND gpu = ?2 AND kernel = ?3"
     " AND us IS NOT NULL ORDER BY margin IS NULL, tried_at DESC LIMIT 1), b.clock_mhz,"
     " substr(max(b.measured_at), 1, 19)"
     " FROM baseline b WHERE b.problem = ?1 AND b.gpu = ?2 AND b.us IS NOT NULL GROUP BY b.name ORDER BY b.us",
     {{"library", 't'}, {"version", 't'}, {"us", '2'}, {"vs winner", '3'}, {"MHz", '0'}, {"measured at", 't'}}},
    {"proof", "What its code was checked on, here and on other problems",
     "SELECT t.stage, count(*), count(DISTINCT t.problem), count(DISTINCT coalesce(t.seed, r.seed)), max(t.error),"
     " sum(t.outcome <> 'ok'), substr(max(t.tried_at), 1, 19) FROM trial t JOIN run r ON r.id = t.run"
     " JOIN kernel k ON k.id = t.kernel JOIN kernel w ON w.source_hash = k.source_hash AND w.nvrtc = k.nvrtc"
     " AND w.arch = k.arch WHERE w.id = ?3 GROUP BY t.stage ORDER BY 7",
     {{"stage", 't'}, {"trials", 'i'}, {"problems", 'i'}, {"seeds", 'i'}, {"largest error", 'e'}, {"failed", 'i'},
      {"last", 't'}}},
    {"families", "All that was tried, by family",
     "SELECT k.family, count(DISTINCT t.kernel), count(DISTINCT iif(t.outcome = 'ok', t.kernel, NULL)), min(t.us),"
     " min(t.us) / (SELECT us FROM trial WHERE problem = ?1 AND gpu = ?2 AND kernel = ?3 AND us IS NOT NULL"
     " ORDER BY margin IS NULL, tried_at DESC LIMIT 1)"
     " FROM trial t JOIN kernel k ON k.id = t.kernel WHERE t.problem = ?1 AND t.gpu = ?2"
     " GROUP BY k.family ORDER BY min(t.us) IS NULL, min(t.us)",
     {{"family", 't'}, {"tried", 'i'}, {"passed", 'i'}, {"best us", '2'}, {"of the winner's", '2'}}},
    {"failures", "What failed, and the first reason",
     "SELECT t.outcome, k.family, count(DISTINCT t.kernel), substr(t.detail, 1, 200), substr(min(t.tried_at), 1, 19)"
     " FROM trial t JOIN kernel k ON k.id = t.kernel WHERE t.problem = ?1 AND t.gpu = ?2 AND t.outcome <> 'ok'"
     " GROUP BY t.outcome, k.family ORDER BY 3 DESC",
     {{"outcome", 't'}, {"family", 't'}, {"kernels", 'i'}, {"reason", 't'}, {"first", 't'}}},
    {"neighbours", "The nearest sizes that were tuned",
     "SELECT b.m || 'x' || b.n || 'x' || b.k, b.family, b.params, b.us, b.tflops, iif(b.kernel = ?3, 'yes', 'no')"
     " FROM problem p CROSS JOIN gpu g JOIN best_configs b ON " BEST
     " AND b.align = p.align AND (b.m <> p.m OR b.n <> p.n OR b.k <> p.k) AND b.m > 0 AND b.n > 0 AND b.k > 0"
     " WHERE p.id = ?1 AND g.id = ?2 ORDER BY max(1.0 * b.m / p.m, 1.0 * p.m / b.m)"
     " * max(1.0 * b.n / p.n, 1.0 * p.n / b.n) * max(1.0 * b.k / p.k, 1.0 * p.k / b.k), b.m, b.n, b.k LIMIT 6",
     {{"shape", 't'}, {"family", 't'}, {"configuration", 't'}, {"us", '2'}, {"TFLOPS", '2'}, {"same kernel", 't'}}},
};

#define SECTIONS (sizeof sections / sizeof sections[0])

typedef struct answer {
    const section *section;
    gt_column columns[MOST_COLUMNS];
    gt_table *table;
    size_t rows;
    bool json;
} answer;

/* The first row makes the table: a section without rows is passed over. */
static void begin(answer *a)
{
    size_t count = 0;
    for (; count < MOST_COLUMNS && a->section->columns[count].title; count++)
        a->columns[count] = (gt_column){a->section->columns[count].title,
                                        a->section->columns[count].kind == 't' ? GT_LEFT : GT_RIGHT};
    if (!a->json)
        printf("\n%s\n", a->section->title);
    a->table = gt_table_create(stdout, a->json, a->columns, count);
}

static int put_row(void *data, int count, const char *const *names, const char *const *values)
{
    static const char *const formats[] = {"%.0f", "%.1f", "%.2f", "%.3f"};
    answer *a = data;
    (void)names;
    if (a->rows++ == 0)
        begin(a);
    for (int i = 0; i < count; i++) {
        const char kind = a->section->columns[i].kind;
        if (!values[i])
            gt_table_none(a->table);
        else if (kind == 't')
            gt_table_text(a->table, values[i]);
        else if (kind == 'i')
            gt_table_integer(a->table, strtoll(values[i], NULL, 10));
        else
            gt_table_number(a->table, kind == 'e' ? "%.1e" : formats[kind - '0'], strtod(values[i], NULL));
    }
    return 0;
}

#define PARAMETERS 4

/* Asks with as many of the parameters as the question has. */
static gt_status ask(gt_store *store, const section *s, bool json, const char *const given[PARAMETERS])
{
    answer a = {.section = s, .json = json};
    const char *parameters[PARAMETERS + 1] = {0};
    for (int i = 0; i < PARAMETERS; i++)
        for (const char *at = s->sql; (at = strchr(at, '?')) && !parameters[i]; at++)
            parameters[i] = at[1] >= '1' + i ? given[i] : NULL;
    if (json)
        printf(",\n\"%s\": ", s->key);
    const gt_status status = gt_store_query(store, s->sql, parameters, put_row, &a);
    if (a.rows == 0 && json)
        fputs("[]", stdout);
    gt_table_finish(a.table);
    return status;
}

/* A GPU that the problem was tried on. */
typedef struct place {
    char problem[24], gpu[24], kernel[24], name[128];
} place;

typedef struct places {
    place list[16];
    size_t count;
} places;

static int put_place(void *data, int count, const char *const *names, const char *const *values)
{
    places *p = data;
    place *at = &p->list[p->count];
    (void)count, (void)names;
    snprintf(at->problem, sizeof at->problem, "%s", values[0]);
    snprintf(at->gpu, sizeof at->gpu, "%s", values[1]);
    snprintf(at->name, sizeof at->name, "%s", values[2]);
    snprintf(at->kernel, sizeof at->kernel, "%s", values[3] ? values[3] : "0");
    return ++p->count == sizeof p->list / sizeof p->list[0];
}

static gt_status find_places(gt_store *store, const char *database, const gt_problem *problem, places *found)
{
    static const char sql[] =
        "SELECT p.id, g.id, " GT_GPU_LABEL ", (SELECT b.kernel FROM best_configs b WHERE " BEST " AND b.m = p.m AND b.n = p.n"
        " AND b.k = p.k AND b.align = p.align)"
        " FROM problem p CROSS JOIN gpu g WHERE p.type = ?1 AND p.math = ?2 AND p.layout = ?3 AND p.m = ?4 AND p.n = ?5"
        " AND p.k = ?6 AND p.batch = ?7 AND p.align = ?8 AND p.epilogue = ?9"
        " AND EXISTS (SELECT 1 FROM trial t WHERE t.problem = p.id AND t.gpu = g.id) ORDER BY 3, 2";
    const int64_t numbers[] = {problem->m, problem->n, problem->k, problem->batch, problem->class.align};
    char texts[5][24], name[GT_PROBLEM_NAME_LENGTH], words[GT_PROBLEM_WORDS], db[GT_OPTIONS_DB];
    for (int i = 0; i < 5; i++)
        snprintf(texts[i], sizeof texts[i], "%lld", (long long)numbers[i]);
    const char *const parameters[] = {gt_class_types(&problem->class)->name, gt_math_name(problem->class.math),
                                      gt_class_layout(&problem->class), texts[0], texts[1], texts[2], texts[3],
                                      texts[4], gt_epilogue_name(problem->class.epilogue), NULL};
    const gt_status status = gt_store_query(store, sql, parameters, put_place, found);
    if (status != GT_OK || found->count > 0)
        return status;
    gt_problem_name(problem, name);
    return gt_fail(GT_ERROR_NOT_TUNED, "%s: nothing was tried on %s; `gemmtune %s%s` does", gt_store_path(store), name,
                   gt_problem_words(problem, words), gt_options_db(database, db));
}

static gt_status explain(gt_store *store, const gt_problem *problem, const place *at, bool json, bool first)
{
    char name[GT_PROBLEM_NAME_LENGTH], bytes[32];
    gt_status status = GT_OK;
    snprintf(bytes, sizeof bytes, "%zu", gt_problem_bytes(problem, GT_A) + gt_problem_bytes(problem, GT_B) +
                                             gt_problem_bytes(problem, GT_C));
    const char *const parameters[PARAMETERS] = {at->problem, at->gpu, at->kernel, bytes};
    gt_problem_name(problem, name);
    if (json) {
        printf("%s\n{\"problem\": \"%s\", \"gpu\": ", first ? "" : ",", name);
        gt_json_text(stdout, at->name);
    } else {
        printf("%s%s on ", first ? "" : "\n", name);
        gt_print_plain(stdout, at->name);
        putchar('\n');
    }
    for (size_t i = 0; status == GT_OK && i < SECTIONS; i++)
        status = ask(store, &sections[i], json, parameters);
    fputs(json ? "}" : "", stdout);
    return status;
}

int gt_cmd_why(const gt_options_cli *options)
{
    gt_store *store = NULL;
    gt_problem problem;
    places found = {0};
    gt_status status = gt_options_problem(options, &options->shapes.list[0], &problem);
    if (status == GT_OK)
        status = gt_store_open(options->database, GT_STORE_READ, &store);
    if (status == GT_OK)
        status = find_places(store, options->database, &problem, &found);
    if (status == GT_OK && options->json)
        putchar('[');
    for (size_t i = 0; status == GT_OK && i < found.count; i++)
        status = explain(store, &problem, &found.list[i], options->json, i == 0);
    if (status == GT_OK && options->json)
        puts("]");
    gt_store_close(store);
    return status == GT_OK ? 0 : gt_print_failure();
}
