#include "lanes.h"

#include <stdatomic.h>
#include <stdio.h>

#include "../../src/core/status.h"
#include "../timer.h"
#include "worker_process.h"

/* A candidate is compiled for a second and has the GPU for some 30 ms, and the rounds of a search wait for each other. On an
 * H200 with 16 cores three problems under way tried 6.6 candidates a second, six 12.8, for which three quarters of the
 * cores compiled. More lanes wait for nothing but searches where each problem has one candidate only. */
#define LANES      8
#define MOST_LANES 12

/* Device memory of a problem, in multiples of its operands: they, their copies, workspaces, guards and references; and of
 * a worker's context. */
#define ROOM          4
#define CONTEXT_BYTES ((size_t)512 << 20)

#define STARTING_S 0.002 /* seconds between two looks at who is starting */

typedef struct lane {
    gt_engine engine;
    gt_lane_work *work;
    void *data;
    gt_status status;
    char message[1024];
    pthread_t thread;
    atomic_int *starting; /* lanes whose workers are being started */
} lane;

int gt_lanes_count(const gt_engine *engine, const gt_problem *problems, size_t count, bool first)
{
    size_t largest = 1, most = first ? MOST_LANES : LANES;
    if (engine->driver->soft)
        return 1;
    for (size_t i = 0; i < count; i++) {
        size_t bytes = 0;
        for (gt_operand o = GT_A; o < GT_OPERANDS; o++)
            bytes += gt_problem_bytes(&problems[i], o);
        largest = bytes > largest ? bytes : largest;
    }
    size_t lanes = (size_t)engine->device.memory_bytes / (ROOM * largest + CONTEXT_BYTES);
    lanes = lanes < most ? lanes : most;
    lanes = lanes < count ? lanes : count;
    return lanes > 1 ? (int)lanes : 1;
}

static void *run_lane(void *data)
{
    lane *l = data;
    while (atomic_load(l->starting) > 0) /* side by side, and before anything is timed */
        gt_rest(STARTING_S);
    gt_engine_take_turn(&l->engine);
    l->status = l->work(&l->engine, l->data);
    if (l->status != GT_OK)
        snprintf(l->message, sizeof l->message, "%s", gt_error_message());
    gt_engine_give_turn(&l->engine);
    return NULL;
}

static void *run_lane_of_its_own(void *data)
{
    lane *l = data;
    gt_worker_start(l->engine.worker); /* why it fails is told by the first that needs it */
    atomic_fetch_sub(l->starting, 1);
    run_lane(l);
    gt_worker_destroy(l->engine.worker); /* by the thread that started it: it ends with it */
    return NULL;
}

gt_status gt_lanes_run(gt_engine *engine, int wanted, gt_lane_work *work, void *data)
{
    pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    lane lanes[MOST_LANES];
    int count = 1;
    wanted = wanted < MOST_LANES ? wanted : MOST_LANES;
    atomic_int starting = wanted - 1;
    for (int i = 0; i < wanted; i++) {
        lanes[i] = (lane){.engine = *engine, .work = work, .data = data, .starting = &starting};
        lanes[i].engine.turn = &turn;
    }
    for (; count < wanted; count++) {
        lane *l = &lanes[count];
        if (gt_engine_create_worker(engine, &l->engine.worker) != GT_OK)
            break;
        if (pthread_create(&l->thread, NULL, run_lane_of_its_own, l) != 0) {
            gt_worker_destroy(l->engine.worker);
            break;
        }
    }
    atomic_fetch_sub(&starting, wanted - count);
    run_lane(&lanes[0]);
    for (int i = 1; i < count; i++)
        pthread_join(lanes[i].thread, NULL);
    pthread_mutex_destroy(&turn);
    for (int i = 0; i < count; i++)
        if (lanes[i].status != GT_OK)
            return gt_fail(lanes[i].status, "%s", lanes[i].message);
    return GT_OK;
}
