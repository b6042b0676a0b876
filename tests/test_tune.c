/* One problem, from its space to what is stored of it: how much is compiled where nobody asked for the problem. */
#include <signal.h>

#include "../tuner/engine/tune.h"
#include "../tuner/worker/child.h"
#include "check.h"

typedef struct fixture {
    gt_engine engine;
    gt_tuning tuning;
    char database[256];
} fixture;

static void open_fixture(fixture *f, const gt_types *const *types, size_t count, const char *family)
{
    *f = (fixture){0};
    snprintf(f->database, sizeof f->database, "%s/tune.db", check_folder());
    const gt_engine_options options = {.driver = "soft", .database = f->database, .types = types, .type_count = count,
                                       .family = family, .limit_s = 60, .threads = 2, .seed = 1, .check_seed = 1};
    const gt_status status = gt_engine_open(&options, GT_ENGINE_WRITE, &f->engine);
    if (status == GT_ERROR_NO_COMPILER)
        SKIP(gt_error_message());
    CHECK_OK(status);
    f->tuning = (gt_tuning){.engine = &f->engine, .progress = gt_progress_create(true), .covering = true};
}

static void close_fixture(fixture *f)
{
    gt_progress_destroy(f->tuning.progress);
    gt_engine_close(&f->engine, "done");
}

static gt_problem sized(gt_type type, int64_t m, int64_t n, int64_t k)
{
    const gt_gemm gemm = GT_GEMM(type, m, n, k);
    gt_problem problem;
    CHECK_OK(gt_problem_init(&gemm, &problem));
    return problem;
}

static gt_tuned tune(fixture *f, gt_effort effort, const gt_problem *problem)
{
    gt_tuned tuned;
    f->tuning.effort = effort;
    CHECK_OK(gt_tune(&f->tuning, problem, &tuned));
    return tuned;
}

/* What is stored of a class: kernels, and problems that have a time. */
static void count_stored(const fixture *f, const gt_class *class, size_t *kernels, size_t *problems)
{
    gt_measurements measured;
    *kernels = *problems = 0;
    CHECK_OK(gt_store_find_measured(f->engine.store, &f->engine.device, class, &measured));
    for (size_t i = 0; i < measured.count; i++) {
        bool kernel = true, problem = true;
        for (size_t j = 0; j < i; j++) {
            kernel = kernel && measured.list[j].kernel_id != measured.list[i].kernel_id;
            problem = problem && !gt_problem_same_size(&measured.list[j].problem, &measured.list[i].problem);
        }
        *kernels += kernel;
        *problems += problem;
    }
    gt_measurements_finish(&measured);
}

/* What the estimate takes first for a problem. */
static gt_params first_choice(const fixture *f, const gt_problem *problem)
{
    const gt_search_options options = {.effort = GT_EFFORT_FIRST, .seed = 1};
    gt_search *search;
    gt_candidate **round;
    size_t count;
    CHECK_OK(gt_search_create(&f->engine.families, &f->engine.device, problem, &options, &search));
    CHECK_OK(gt_search_round(search, &round, &count));
    CHECK_INT(count, 1);
    const gt_params params = round[0]->kernel.params;
    gt_search_destroy(search);
    return params;
}

TEST(a_covering_size_gets_a_kernel_of_its_own_only_where_stored_ones_are_expected_to_be_slow)
{
    static const gt_types *types;
    fixture f;
    size_t kernels, problems;
    types = gt_types_find(GT_F32, GT_F32, GT_F32, GT_MATH_STRICT);
    open_fixture(&f, &types, 1, NULL);
    const gt_problem first = sized(GT_F32, 96, 96, 96), alike = sized(GT_F32, 104, 96, 96), other = sized(GT_F32, 4, 512, 64);
    const gt_params own = first_choice(&f, &first), of_alike = first_choice(&f, &alike);
    CHECK(!gt_params_same(&own, &of_alike)); /* else nothing would be shown */
    CHECK_INT(tune(&f, GT_EFFORT_FIRST, &first).tried, 1);
    CHECK_INT(tune(&f, GT_EFFORT_FIRST, &alike).tried, 1);
    count_stored(&f, &first.class, &kernels, &problems);
    CHECK(kernels == 1 && problems == 2);
    CHECK_INT(tune(&f, GT_EFFORT_FIRST, &other).tried, 1);
    count_stored(&f, &first.class, &kernels, &problems);
    CHECK(kernels == 2 && problems == 3);
    CHECK_INT(tune(&f, GT_EFFORT_FIRST, &other).tried, 0); /* it has one */
    f.tuning.covering = false;
    const gt_problem asked = sized(GT_F32, 112, 96, 96);
    CHECK_INT(tune(&f, GT_EFFORT_FIRST, &asked).tried, 1);
    count_stored(&f, &first.class, &kernels, &problems);
    CHECK(kernels == 3 && problems == 4);
    close_fixture(&f);
}

TEST(what_won_in_a_twin_is_tried_with_little_else)
{
    static const gt_types *types[2];
    fixture f;
    types[0] = gt_types_find(GT_BF16, GT_BF16, GT_BF16, GT_MATH_STRICT);
    types[1] = gt_types_find(GT_F16, GT_F16, GT_F16, GT_MATH_STRICT);
    open_fixture(&f, types, 2, "mma");
    const gt_problem bf16 = sized(GT_BF16, 32, 48, 64), f16 = sized(GT_F16, 32, 48, 64);
    const gt_tuned leading = tune(&f, GT_EFFORT_COVER, &bf16), following = tune(&f, GT_EFFORT_COVER, &f16);
    CHECK(leading.won && leading.tried > 2);
    CHECK(following.won && following.tried >= 1 && following.tried <= 2);
    close_fixture(&f);
}

/* Workers are this program again. */
int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    return argc == 3 && strcmp(argv[1], "worker") == 0 ? gt_worker_main(atoi(argv[2])) : check_main(argc, argv);
}
