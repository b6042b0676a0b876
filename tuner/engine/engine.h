/* What every command that launches kernels needs, opened once: driver, compiler, families, worker, store. */
#ifndef GT_ENGINE_H
#define GT_ENGINE_H

#include <pthread.h>

#include "../../db/store.h"
#include "../compile/compile.h"
#include "../search/search.h"
#include "worker.h"

typedef struct gt_cache gt_cache;
typedef struct gt_lanes gt_lanes;

/* What an engine is opened with. Texts must outlive it. */
typedef struct gt_engine_options {
    const char *database;  /* NULL: the default place */
    const char *driver;    /* NULL: the CUDA driver; "soft": the software GPU */
    int device;
    const char *nvrtc;     /* NULL: found */
    const char *templates; /* a folder with more families; NULL: none */
    const char *family;    /* only this one is searched; NULL: all that fit */
    const gt_types *const *types; /* that there will be products of */
    size_t type_count;            /* 0: any */
    bool behind; /* reads the system's database behind the user's, as the library does */
    bool stored; /* of these, there will be products only of types that the store has */
    gt_effort effort;
    gt_variant variant; /* in which kernels are rendered */
    uint64_t seed;       /* of the search */
    uint64_t check_seed; /* of the data that kernels are checked on; stands in the run's row */
    int threads;        /* that compile; 0: as many as cores */
    double limit_s;     /* how long one candidate may take */
    unsigned baselines; /* who races against the winners: GT_BASELINE_BIT of each */
    const char *line;   /* the command line, for the run's row */
} gt_engine_options;

typedef struct gt_engine {
    gt_engine_options options;
    gt_driver *driver;
    gt_device device;
    gt_nvrtc *nvrtc;
    gt_families families;
    gt_compiler *compiler;
    gt_cache *cache; /* code compiled in this run, by source hash */
    gt_code checks;
    gt_worker *worker;
    gt_lanes *lanes; /* with workers of their own, from the first run of lanes on: lanes.h */
    pthread_mutex_t *turn; /* where several lanes share the GPU, the store and all else: lanes.h; else NULL */
    gt_store *store;
    gt_store *behind; /* the system's, where options.behind; may be NULL, and is where the user has none of his own */
    int64_t run, gpu;
    int claims; /* of problems, where the engine writes: claims.h */
    char search[GT_EFFORT_COUNT][GT_HASH_LENGTH]; /* of all that a search depends on but the problem and the GPU */
    double started; /* seconds of a clock that only goes forward */
} gt_engine;

/* What a command does with the store. */
typedef enum gt_engine_use {
    GT_ENGINE_NO_STORE,
    GT_ENGINE_READ,
    GT_ENGINE_WRITE, /* begins a run in it */
} gt_engine_use;

/* Opens everything. engine: gt_engine_close, also after a failure. */
gt_status gt_engine_open(const gt_engine_options *options, gt_engine_use use, gt_engine *engine);

/* What a GPU can do at most with some types. */
typedef struct gt_limits {
    const gt_types *types;
    gt_ceilings ceilings;
    bool measured; /* ceilings.tflops is; else it comes from units and clock */
} gt_limits;

/* As the store has them, else measured now and stored where the engine writes; what cannot be measured, the software
 * GPU, tensor cores, comes from units and clock. Fails where the store does, or GT_ERROR_BUSY after an interruption. */
gt_status gt_engine_find_limits(gt_engine *engine, const gt_types *types, gt_limits *limits);

/* Those of a problem's types; it is one of them. */
const gt_limits *gt_limits_find(const gt_limits *limits, size_t count, const gt_problem *problem);

#define GT_LIMITS_LINE 2048

/* A line on those of some types, of each unit once: "f32 65.3 TFLOPS (measured), f16 989.4 TFLOPS (units x clock),
 * copies 4.29 TB/s". */
void gt_limits_describe(const gt_limits *limits, size_t count, char *line, size_t size);

/* Lets an engine that reads write from now on: opens its store anew for that and begins a run, once. */
gt_status gt_engine_begin_writing(gt_engine *engine);

/* Ends the run ("done", "budget", "interrupted", "failed") and frees everything. */
void gt_engine_close(gt_engine *engine, const char *end);

/* Seconds since the engine was opened. */
double gt_engine_elapsed(const gt_engine *engine);

/* Whether Ctrl-C or SIGTERM came, from the first engine on, or from when somebody said to catch them. */
bool gt_engine_interrupted(void);
void gt_engine_catch_signals(void);

/* Makes a worker for the engine's device. Owned: gt_worker_destroy. */
gt_status gt_engine_create_worker(const gt_engine *engine, gt_worker **worker);

/* Lets another lane go on, and waits until it is this one's turn again. Without lanes nothing happens. */
void gt_engine_give_turn(const gt_engine *engine);
void gt_engine_take_turn(const gt_engine *engine);

/* A kernel's code, from this run's cache or compiled now; kernel gets its source hash and compiler. The code belongs
 * to the cache and is valid until the next call, or the end of the lane's turn. GT_ERROR_COMPILE says why there is none,
 * GT_ERROR_NO_COMPILER why it cannot be told. */
gt_status gt_engine_code(gt_engine *engine, const gt_class *class, gt_kernel *kernel, const gt_code **code);

/* Renders a kernel and fills in its source hash and compiler; starts compiling it in the background if the cache
 * has no code of it yet, it is not on its way for another lane, and it is wanted. */
gt_status gt_engine_prepare(gt_engine *engine, const gt_class *class, gt_kernel *kernel, bool wanted);

#endif
