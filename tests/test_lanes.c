/* Lanes share an engine: one runs at a time, but for its waits; each has a worker of its own, and a failure is told. */
#include <errno.h>
#include <signal.h>

#include "../tuner/engine/lanes.h"
#include "../tuner/engine/worker_process.h"
#include "../tuner/worker/child.h"
#include "check.h"

#define LANES 3
#define TRIES 4 /* kernels of each lane */

typedef struct shared {
    const gt_space *space;
    gt_problem problem;
    const gt_worker *workers[LANES];
    bool passes; /* lanes give their turn up while a worker needs no GPU */
    int begun, inside, most, passed;
} shared;

static gt_status try_one(gt_engine *engine, shared *s, size_t row)
{
    gt_kernel kernel;
    const gt_code *code;
    gt_trial trial;
    gt_status status = gt_space_kernel(s->space, row, &engine->device, &kernel);
    s->inside--; /* the lane may wait here, and another goes on */
    if (status == GT_OK)
        status = gt_engine_code(engine, &s->problem.class, &kernel, &code);
    s->inside++;
    s->most = s->inside > s->most ? s->inside : s->most;
    if (status != GT_OK)
        return status;
    const gt_contestant contestant = {&kernel, code};
    const gt_try_terms terms = {.seed = 1, .extent = GT_EXTENT_FEW, .turn = s->passes ? engine->turn : NULL};
    status = gt_worker_try(engine->worker, &s->problem, &contestant, &terms, &trial);
    s->passed += status == GT_OK && trial.outcome == GT_TRIAL_OK;
    return status;
}

static gt_status try_some(gt_engine *engine, void *data)
{
    shared *s = data;
    const int lane = s->begun++;
    gt_status status = GT_OK;
    s->inside++;
    s->workers[lane] = engine->worker;
    for (size_t i = 0; status == GT_OK && i < TRIES; i++)
        status = try_one(engine, s, ((size_t)lane * TRIES + i) % s->space->rows);
    s->inside--;
    return status;
}

static gt_status fail_second(gt_engine *engine, void *data)
{
    int *begun = data;
    (void)engine;
    return (*begun)++ == 1 ? gt_fail(GT_ERROR_INVALID, "the second lane fell") : GT_OK;
}

static void open_engine(gt_engine *engine)
{
    static const gt_types *types;
    types = gt_types_find(GT_F32, GT_F32, GT_F32, GT_MATH_STRICT);
    const gt_engine_options options = {.driver = "soft", .types = &types, .type_count = 1, .limit_s = 60, .threads = 2};
    const gt_status status = gt_engine_open(&options, GT_ENGINE_NO_STORE, engine);
    if (status == GT_ERROR_NO_COMPILER)
        SKIP(gt_error_message());
    CHECK_OK(status);
}

/* Runs LANES lanes, each with TRIES kernels. */
static void run_lanes(bool passes, shared *s)
{
    gt_engine engine;
    gt_space space;
    const gt_gemm gemm = GT_GEMM(GT_F32, 20, 17, 9);
    *s = (shared){.space = &space, .passes = passes};
    open_engine(&engine);
    CHECK_OK(gt_problem_init(&gemm, &s->problem));
    CHECK_OK(gt_space_init(gt_families_find(&engine.families, "naive"), &engine.device, &s->problem, &space));
    CHECK_OK(gt_lanes_run(&engine, LANES, try_some, s));
    CHECK_INT(s->begun, LANES);
    CHECK_INT(s->passed, LANES * TRIES);
    CHECK(!engine.turn);
    gt_space_finish(&space);
    gt_engine_close(&engine, "done");
}

TEST(one_lane_runs_at_a_time_with_a_worker_of_its_own)
{
    shared s;
    run_lanes(false, &s);
    CHECK_INT(s.most, 1);
    CHECK(s.workers[0] != s.workers[1] && s.workers[0] != s.workers[2] && s.workers[1] != s.workers[2]);
}

/* The processes of a run's lanes, by lane. */
typedef struct processes {
    pid_t pid[LANES];
    int begun;
} processes;

static gt_status note_process(gt_engine *engine, void *data)
{
    processes *p = data;
    p->pid[p->begun++] = engine->worker->pid;
    return GT_OK;
}

static bool has(const processes *p, pid_t pid)
{
    bool found = false;
    for (int i = 0; i < p->begun; i++)
        found = found || p->pid[i] == pid;
    return found;
}

static processes run_and_note(gt_engine *engine, int lanes)
{
    processes p = {0};
    CHECK_OK(gt_lanes_run(engine, lanes, note_process, &p));
    CHECK_INT(p.begun, lanes);
    return p;
}

/* They take seconds to begin on a GPU. */
TEST(workers_stay_for_the_next_lap_unless_they_have_no_room)
{
    gt_engine engine;
    open_engine(&engine);
    CHECK_OK(gt_worker_start(engine.worker));
    const processes first = run_and_note(&engine, LANES), fewer = run_and_note(&engine, LANES - 1);
    const processes again = run_and_note(&engine, LANES);
    for (int i = 0; i < LANES; i++) {
        CHECK(first.pid[i] > 0 && has(&first, again.pid[i]));
        CHECK(i == LANES - 1 || has(&first, fewer.pid[i]));
    }
    gt_lanes_limit(&engine, 1);
    CHECK(kill(engine.worker->pid, 0) == 0);
    for (int i = 0; i < LANES; i++)
        CHECK(first.pid[i] == engine.worker->pid || (kill(first.pid[i], 0) != 0 && errno == ESRCH));
    const processes anew = run_and_note(&engine, LANES);
    for (int i = 0; i < LANES; i++)
        CHECK(kill(anew.pid[i], 0) == 0 && (anew.pid[i] == engine.worker->pid || !has(&first, anew.pid[i])));
    gt_engine_close(&engine, "done");
    for (int i = 0; i < LANES; i++)
        CHECK(kill(anew.pid[i], 0) != 0 && errno == ESRCH);
}

TEST(a_lane_lets_others_go_on_while_its_worker_needs_no_gpu)
{
    shared s;
    run_lanes(true, &s);
    CHECK(s.most > 1);
}

TEST(what_is_on_its_way_for_one_lane_is_not_compiled_for_another)
{
    gt_engine engine;
    gt_space space;
    const gt_gemm gemm = GT_GEMM(GT_F32, 20, 17, 9);
    gt_problem problem;
    gt_compiled compiled;
    open_engine(&engine);
    CHECK_OK(gt_problem_init(&gemm, &problem));
    CHECK_OK(gt_space_init(gt_families_find(&engine.families, "naive"), &engine.device, &problem, &space));
    gt_engine other = engine; /* as lanes have it */
    for (int i = 0; i < 2; i++) {
        gt_kernel kernel;
        CHECK_OK(gt_space_kernel(&space, 0, &engine.device, &kernel));
        CHECK_OK(gt_engine_prepare(i == 0 ? &engine : &other, &problem.class, &kernel, true));
    }
    CHECK(gt_compiler_next(engine.compiler, &compiled));
    gt_code_finish(&compiled.code);
    CHECK(!gt_compiler_next(engine.compiler, &compiled));
    gt_space_finish(&space);
    gt_engine_close(&engine, "done");
}

TEST(a_lanes_failure_is_told_by_the_caller)
{
    gt_engine engine;
    int begun = 0;
    open_engine(&engine);
    CHECK_STATUS(gt_lanes_run(&engine, LANES, fail_second, &begun), GT_ERROR_INVALID);
    CHECK(strstr(gt_error_message(), "the second lane fell"));
    CHECK_INT(begun, LANES);
    gt_engine_close(&engine, "done");
}

TEST(problems_that_fill_the_gpu_and_the_software_gpu_get_one_lane_and_first_choices_more_than_others)
{
    gt_engine engine;
    enum { MANY = 16 };
    gt_problem problems[MANY];
    gt_driver hardware = {0};
    const gt_gemm small = GT_GEMM(GT_F32, 64, 64, 64), large = GT_GEMM(GT_F32, 60000, 60000, 60000);
    open_engine(&engine);
    for (int i = 0; i < MANY; i++)
        CHECK_OK(gt_problem_init(&small, &problems[i]));
    CHECK_INT(gt_lanes_count(&engine, problems, MANY, false), 1);
    gt_driver *soft = engine.driver;
    engine.driver = &hardware;
    CHECK_INT(gt_lanes_count(&engine, problems, MANY, false), 8);
    CHECK_INT(gt_lanes_count(&engine, problems, 2, false), 2);
    CHECK_INT(gt_lanes_count(&engine, problems, MANY, true), 12);
    CHECK_OK(gt_problem_init(&large, &problems[3]));
    CHECK_INT(gt_lanes_count(&engine, problems, MANY, false), 1);
    engine.driver = soft;
    gt_engine_close(&engine, "done");
}

/* Workers are this program again. */
int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    return argc == 3 && strcmp(argv[1], "worker") == 0 ? gt_worker_main(atoi(argv[2])) : check_main(argc, argv);
}
