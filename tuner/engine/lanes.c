#include "lanes.h"

#include <stdio.h>
#include <stdlib.h>

#include "../../src/core/status.h"
#include "worker_process.h"

/* A candidate is compiled for a second and has the GPU for some 30 ms, and the rounds of a search wait for each other. On an
 * H200 with 16 cores three problems under way tried 6.6 candidates a second, six 12.8, for which three quarters of the
 * cores compiled. More lanes wait for nothing but searches where each problem has one candidate only. */
#define LANES 8

/* Device memory of a problem, in multiples of its operands: they, their copies, workspaces, guards and references; and of
 * a worker's context. */
#define ROOM          4
#define CONTEXT_BYTES ((size_t)512 << 20)

typedef struct lane {
    gt_lanes *all;
    int number; /* 0: the caller's, with the engine's own worker */
    gt_worker *worker;
    gt_status status;
    char message[1024];
    pthread_t thread; /* by which the worker is started: it ends with it */
    unsigned run;     /* the last one that this lane has seen */
} lane;

struct gt_lanes {
    gt_engine *engine;
    pthread_mutex_t turn;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    lane list[GT_LANES_MOST];
    int count; /* that have a thread */
    gt_lane_work *work;
    void *data;
    unsigned run; /* how many there have been */
    int wanted;   /* lanes that take part */
    int starting; /* of them those whose workers are being started */
    int under_way;
    bool closing;
};

int gt_lanes_room(const gt_engine *engine, const gt_problem *problems, size_t count)
{
    size_t largest = 1;
    if (engine->driver->soft)
        return 1;
    for (size_t i = 0; i < count; i++) {
        size_t bytes = 0;
        for (gt_operand o = GT_A; o < GT_OPERANDS; o++)
            bytes += gt_problem_bytes(&problems[i], o);
        largest = bytes > largest ? bytes : largest;
    }
    const size_t lanes = (size_t)engine->device.memory_bytes / (ROOM * largest + CONTEXT_BYTES);
    return lanes < 1 ? 1 : lanes < GT_LANES_MOST ? (int)lanes : GT_LANES_MOST;
}

int gt_lanes_count(const gt_engine *engine, const gt_problem *problems, size_t count, bool first)
{
    const int room = gt_lanes_room(engine, problems, count), most = first ? GT_LANES_MOST : LANES;
    const int lanes = room < most ? room : most;
    return (size_t)lanes < count ? lanes : count > 1 ? (int)count : 1;
}

/* Workers start side by side, and before anything is timed. */
static void start(lane *l)
{
    gt_lanes *all = l->all;
    if (l->worker || gt_engine_create_worker(all->engine, &l->worker) == GT_OK)
        gt_worker_start(l->worker); /* why it fails is told by the first that needs it */
    pthread_mutex_lock(&all->lock);
    all->starting--;
    pthread_cond_broadcast(&all->changed);
    while (all->starting > 0)
        pthread_cond_wait(&all->changed, &all->lock);
    pthread_mutex_unlock(&all->lock);
}

static void run(lane *l)
{
    gt_lanes *all = l->all;
    gt_engine engine = *all->engine;
    engine.turn = &all->turn;
    engine.worker = l->worker;
    l->status = GT_OK;
    if (!l->worker)
        return;
    gt_engine_take_turn(&engine);
    l->status = all->work(&engine, all->data);
    if (l->status != GT_OK)
        snprintf(l->message, sizeof l->message, "%s", gt_error_message());
    gt_engine_give_turn(&engine);
}

static void end_worker(lane *l)
{
    gt_worker_destroy(l->worker);
    l->worker = NULL;
}

static void *wait_and_run(void *data)
{
    lane *l = data;
    gt_lanes *all = l->all;
    pthread_mutex_lock(&all->lock);
    for (;;) {
        while (l->run == all->run && !all->closing)
            pthread_cond_wait(&all->changed, &all->lock);
        if (all->closing)
            break;
        l->run = all->run;
        const bool takes_part = l->number < all->wanted;
        pthread_mutex_unlock(&all->lock);
        if (takes_part) {
            start(l);
            run(l);
        }
        pthread_mutex_lock(&all->lock);
        all->under_way--;
        pthread_cond_broadcast(&all->changed);
    }
    pthread_mutex_unlock(&all->lock);
    end_worker(l);
    return NULL;
}

static gt_status begin_lanes(gt_engine *engine)
{
    gt_lanes *lanes = calloc(1, sizeof *lanes);
    if (!lanes)
        return gt_fail_memory();
    lanes->engine = engine;
    pthread_mutex_init(&lanes->turn, NULL);
    pthread_mutex_init(&lanes->lock, NULL);
    pthread_cond_init(&lanes->changed, NULL);
    lanes->count = 1;
    for (int i = 0; i < GT_LANES_MOST; i++)
        lanes->list[i] = (lane){.all = lanes, .number = i};
    engine->lanes = lanes;
    return GT_OK;
}

void gt_lanes_end(gt_engine *engine)
{
    gt_lanes *lanes = engine->lanes;
    if (!lanes)
        return;
    pthread_mutex_lock(&lanes->lock);
    lanes->closing = true;
    pthread_cond_broadcast(&lanes->changed);
    pthread_mutex_unlock(&lanes->lock);
    for (int i = 1; i < lanes->count; i++)
        pthread_join(lanes->list[i].thread, NULL);
    pthread_cond_destroy(&lanes->changed);
    pthread_mutex_destroy(&lanes->lock);
    pthread_mutex_destroy(&lanes->turn);
    free(lanes);
    engine->lanes = NULL;
}

void gt_lanes_limit(gt_engine *engine, int room)
{
    for (int i = room; engine->lanes && i < engine->lanes->count; i++)
        end_worker(&engine->lanes->list[i]);
}

/* Threads for so many lanes, or for as many as can be had. */
static void add_threads(gt_lanes *lanes, int wanted)
{
    for (; lanes->count < wanted && lanes->count < GT_LANES_MOST; lanes->count++) {
        lane *l = &lanes->list[lanes->count];
        l->run = lanes->run;
        if (pthread_create(&l->thread, NULL, wait_and_run, l) != 0)
            return;
    }
}

gt_status gt_lanes_run(gt_engine *engine, int wanted, gt_lane_work *work, void *data)
{
    gt_status status = engine->lanes ? GT_OK : begin_lanes(engine);
    if (status != GT_OK)
        return status;
    gt_lanes *lanes = engine->lanes;
    pthread_mutex_lock(&lanes->lock);
    add_threads(lanes, wanted);
    lanes->wanted = wanted < lanes->count ? wanted : lanes->count;
    lanes->starting = lanes->wanted - 1;
    lanes->under_way = lanes->count - 1;
    lanes->work = work;
    lanes->data = data;
    lanes->run++;
    pthread_cond_broadcast(&lanes->changed);
    while (lanes->starting > 0)
        pthread_cond_wait(&lanes->changed, &lanes->lock);
    pthread_mutex_unlock(&lanes->lock);
    lanes->list[0].worker = engine->worker;
    run(&lanes->list[0]);
    pthread_mutex_lock(&lanes->lock);
    while (lanes->under_way > 0)
        pthread_cond_wait(&lanes->changed, &lanes->lock);
    pthread_mutex_unlock(&lanes->lock);
    for (int i = 0; i < lanes->wanted; i++)
        if (lanes->list[i].status != GT_OK)
            return gt_fail(lanes->list[i].status, "%s", lanes->list[i].message);
    return GT_OK;
}
