#include "front.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../core/driver.h"
#include "../core/environment.h"
#include "answers.h"
#include "capture.h"
#include "cuda_state.h"
#include "graph_workspace.h"
#include "library.h"
#include "visit.h"

#define CONTEXTS 16 /* of CUDA: one a GPU is usual */

/* That have a plan of their own, of one problem, and entries for streams in all: a program that makes streams anew for each
 * of its inputs leaves room for other problems, for nobody tells when a stream is destroyed. PyTorch has 32 of each
 * priority. */
#define STREAMS        128
#define STREAM_ENTRIES (GT_ANSWERS_MOST / 2)

/* Device memory of plans, which a program never asked for: a part of the GPU's, or so many bytes where that is more. */
#define WORKSPACE_PART  64
#define WORKSPACE_LEAST (256ull << 20)

/* A CUDA context that products were seen in. What is planned and allocated there may wait for its GPU, which may wait for
 * the program's next call on another: so each has a lock of its own. */
typedef struct opened {
    uint64_t id;
    size_t workspace_most; /* bytes that its plans and graphs may have */
    pthread_mutex_t lock;  /* over all below, and what is decided there */
    gt_context *library;   /* NULL: it could not be opened there, or was not tried yet */
    bool tried;
    size_t workspace;       /* bytes that they have */
    gt_graph_bytes largest; /* of plans */
    gt_graph_workspaces graphs;
} opened;

/* READ: it is on, and no product was seen yet. */
typedef enum state { UNKNOWN, READ, ON, PAUSED, OFF } state;

static struct {
    pthread_once_t read, begun, set_up; /* with the first question; the first product; the first that could be answered */
    _Atomic(state) state;
    bool only_counts;
    double margin; /* times our expected time that cuBLAS must need more than */
    const gt_library *library;
    bool usable; /* library and driver are there */
    gt_driver *driver;
    atomic_ullong gave; /* 1 and the id of the context whose workspace for graphs was given last; 0: all are there */
    atomic_int stream_entries;
    pthread_mutex_t lock; /* over the list below; no context's is taken under it */
    opened contexts[CONTEXTS];
    size_t context_count;
} front = {.read = PTHREAD_ONCE_INIT, .begun = PTHREAD_ONCE_INIT, .set_up = PTHREAD_ONCE_INIT,
           .lock = PTHREAD_MUTEX_INITIALIZER};

static void set_up(void)
{
    gt_visit visit;
    gt_visit_begin(&visit);
    front.library = gt_library_load();
    if (front.library && gt_driver_open(NULL, &front.driver) != GT_OK)
        gt_tally_why(gt_error_message());
    else if (front.library) {
        gt_cuda_state_begin(front.driver);
        front.usable = true;
    }
    gt_visit_end(&visit);
}

static void turn_off(void)
{
    atomic_store(&front.state, OFF);
}

static void read_environment(void)
{
    const char *disable = gt_environment(GT_ENV_DISABLE), *margin = gt_environment(GT_ENV_MARGIN);
    front.only_counts = gt_capture_read_environment();
    front.margin = 1 + (margin ? strtod(margin, NULL) / 100 : 0);
    atomic_store(&front.state, disable && strcmp(disable, "0") != 0 ? OFF : READ);
}

bool gt_front_may_answer(void)
{
    pthread_once(&front.read, read_environment);
    const state now = atomic_load_explicit(&front.state, memory_order_relaxed);
    return now == READ || now == ON;
}

/* CUDA does not survive a fork, the lock may have been held by a thread that is not there, and counts are the
 * parent's. */
static void begin(void)
{
    if (gt_front_may_answer() && pthread_atfork(NULL, NULL, turn_off) == 0)
        atomic_store(&front.state, ON);
    else
        turn_off();
}

bool gt_front_is_on(void)
{
    if (atomic_load_explicit(&front.state, memory_order_acquire) <= READ)
        pthread_once(&front.begun, begin);
    return atomic_load_explicit(&front.state, memory_order_relaxed) == ON;
}

void gt_front_pause(bool paused)
{
    state from = paused ? ON : PAUSED;
    if (gt_front_is_on() || !paused)
        atomic_compare_exchange_strong(&front.state, &from, paused ? PAUSED : ON);
}

__attribute__((destructor)) static void end(void)
{
    char next[GT_CAPTURE_TEXT];
    gt_visit visit;
    gt_front_pause(false);
    if (!gt_front_is_on())
        return;
    gt_visit_begin(&visit);
    gt_capture_end(next);
    gt_tally_print(next);
    gt_visit_end(&visit);
}

/* Adds the current context, in which products are counted from now on. Under the lock. */
static void add(uint64_t id)
{
    opened *const context = &front.contexts[front.context_count++];
    CUdevice device;
    size_t bytes = 0;
    if (front.driver->cuCtxGetDevice(&device) == CUDA_SUCCESS)
        front.driver->cuDeviceTotalMem(&bytes, device);
    context->id = id;
    context->workspace_most = bytes / WORKSPACE_PART > WORKSPACE_LEAST ? bytes / WORKSPACE_PART : WORKSPACE_LEAST;
    pthread_mutex_init(&context->lock, NULL);
    gt_capture_begin(id, front.library);
}

/* The current CUDA context, with its lock, which leave() gives back; NULL if there are too many. */
static opened *enter(uint64_t id)
{
    size_t i = 0;
    pthread_mutex_lock(&front.lock);
    while (i < front.context_count && front.contexts[i].id != id)
        i++;
    if (i == front.context_count && i < CONTEXTS)
        add(id);
    pthread_mutex_unlock(&front.lock);
    if (i == CONTEXTS)
        return NULL;
    pthread_mutex_lock(&front.contexts[i].lock);
    return &front.contexts[i];
}

static void leave(opened *context)
{
    if (context)
        pthread_mutex_unlock(&context->lock);
}

/* The library there, opened with the first product that asks for it. Under the context's lock, as all that takes one. */
static gt_context *open_there(opened *context)
{
    if (!context->tried && front.library->gt_open(NULL, &context->library) != GT_OK)
        gt_tally_why(front.library->gt_error_message());
    context->tried = true;
    return context->library;
}

/* Times its expected time that f32 in parts must be faster than cuBLAS where nobody tuned it: its estimate was 2.2 times
 * too small for 64 products of 256^3 on an H200, from products of 2048x1024x1024. */
#define UNTUNED_PARTS 2

/* Whether a plan may answer. */
static gt_fate judge(const opened *context, const gt_description *d, bool alone)
{
    if (context->workspace + d->workspace > context->workspace_most)
        return GT_FATE_NO_MEMORY;
    if (alone)
        return GT_FATE_ANSWERED;
    if (d->choice == GT_CHOICE_FALLBACK)
        return GT_FATE_NOT_TUNED;
    if (d->baseline_us <= 0)
        return GT_FATE_NO_BASELINE;
    const double factor = d->math == GT_MATH_SPLIT && d->choice != GT_CHOICE_EXACT ? UNTUNED_PARTS : 1;
    return front.margin * factor * d->expected_us >= d->baseline_us ? GT_FATE_SLOWER : GT_FATE_ANSWERED;
}

/* Plans a problem and decides about it: fate, plan and its times are filled in. */
static void decide(opened *context, const gt_request *request, gt_answer *answer)
{
    gt_context *library = open_there(context);
    gt_description d;
    answer->fate = GT_FATE_UNAVAILABLE;
    if (!library)
        return;
    const gt_status status = front.library->gt_plan_gemm(library, &request->gemm, &answer->plan);
    answer->fate = status == GT_OK                  ? GT_FATE_FAILED
                   : status == GT_ERROR_NOT_TUNED   ? GT_FATE_NOT_TUNED
                   : status == GT_ERROR_UNSUPPORTED ? GT_FATE_MODE
                   : status == GT_ERROR_INVALID     ? GT_FATE_ARGUMENTS
                   : status == GT_ERROR_MEMORY      ? GT_FATE_NO_MEMORY
                                                    : GT_FATE_FAILED;
    if (status != GT_OK)
        return;
    if (front.library->gt_plan_describe(answer->plan, &d) == GT_OK) {
        answer->fate = judge(context, &d, request->alone);
        answer->baseline_us = d.baseline_us;
        answer->expected_us = d.expected_us;
        answer->workspace = d.workspace;
        answer->counters = d.counters;
    }
    if (answer->fate == GT_FATE_ANSWERED)
        context->workspace += d.workspace;
    else {
        front.library->gt_plan_destroy(answer->plan);
        answer->plan = NULL;
        answer->workspace = 0;
    }
}

/* Graphs that may be captured in a row, with no product between them, and each find a workspace. */
#define GRAPHS_IN_A_ROW 4

/* Sets a workspace aside for the next graph, as large as the largest, if as much is left for plans; and some for those behind
 * it, if they take little of that. */
static void prepare_graph(opened *context)
{
    unsigned long long here = context->id + 1;
    atomic_compare_exchange_strong_explicit(&front.gave, &here, 0, memory_order_relaxed, memory_order_relaxed);
    for (size_t i = 1, part = 2; context->largest.workspace > 0 && i <= GRAPHS_IN_A_ROW; i++, part = 16)
        context->workspace += gt_graph_workspace_prepare(&context->graphs, front.driver, context->largest, i,
                                                         (context->workspace_most - context->workspace) / part);
}

/* Takes a decision into the table. A plan with a workspace answers for one stream only; for the others an entry without
 * a stream says so, and has the plan that runs in graphs, with a workspace of theirs. */
static gt_answer *remember(opened *context, gt_answer *answer, uint64_t stream)
{
    gt_answer marker = *answer, *marked = gt_answers_find(&answer->key), *added = NULL;
    const bool is_first = answer->workspace > 0 && !marked;
    marker.by_stream = true;
    if (is_first)
        marked = gt_answers_add(&marker);
    if (marked)
        answer->key.stream = stream;
    if (marked || answer->workspace == 0)
        added = gt_answers_add(answer);
    if (added && marked) {
        marked->streams++;
        atomic_fetch_add_explicit(&front.stream_entries, 1, memory_order_relaxed);
    }
    if (!added && !(is_first && marked)) {
        front.library->gt_plan_destroy(answer->plan);
        context->workspace -= answer->workspace;
    }
    if (added && answer->workspace > context->largest.workspace)
        context->largest.workspace = answer->workspace;
    if (added && answer->counters > context->largest.counters)
        context->largest.counters = answer->counters;
    if (added && answer->workspace > 0)
        prepare_graph(context);
    return added;
}

/* Looks a problem up: its answer, for the stream where that matters; NULL if nothing was decided. */
static gt_answer *look_up(const gt_answer_key *key, uint64_t stream)
{
    gt_answer *answer = gt_answers_find(key);
    if (!answer || !answer->by_stream)
        return answer;
    gt_answer_key own = *key;
    own.stream = stream;
    return gt_answers_find(&own);
}

/* Whether a problem that is answered by stream, `marker`, is so for no more streams. */
static bool is_full(const opened *context, gt_answer *marker)
{
    if (marker->streams >= STREAMS ||
        atomic_load_explicit(&front.stream_entries, memory_order_relaxed) >= STREAM_ENTRIES ||
        context->workspace + marker->workspace > context->workspace_most)
        atomic_store_explicit(&marker->is_full, true, memory_order_relaxed);
    return atomic_load_explicit(&marker->is_full, memory_order_relaxed);
}

/* Decides for one more stream of a problem. Those that get no plan share an answer. */
static void decide_again(opened *context, const gt_request *request, gt_answer *marker, gt_answer *answer)
{
    answer->fate = GT_FATE_NO_MEMORY;
    if (!is_full(context, marker))
        decide(context, request, answer);
    if (answer->plan)
        return;
    atomic_store_explicit(&marker->is_full, true, memory_order_relaxed);
    answer->key.refused = GT_FATE_NO_MEMORY;
}

/* Decides about a problem that has no answer in a stream. A thread may load and allocate while others capture their streams
 * only if it says so. */
static gt_answer *make_answer(opened *context, const gt_answer_key *key, uint64_t stream, const gt_request *request)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    gt_answer made = {.key = *key, .fate = (gt_fate)key->refused}, *marker = gt_answers_find(key);
    gt_cuda_exchange_mode(&mode);
    if (marker)
        decide_again(context, request, marker, &made);
    else if (made.fate == GT_FATE_ANSWERED)
        decide(context, request, &made);
    gt_answer *answer = look_up(&made.key, stream);
    if (!answer)
        answer = remember(context, &made, stream);
    gt_cuda_exchange_mode(&mode);
    return answer;
}

/* The slow path: some milliseconds for the first problem, less for others. */
static gt_answer *learn(const gt_answer_key *key, uint64_t stream, const gt_request *request)
{
    gt_visit visit;
    gt_visit_begin(&visit);
    opened *const context = enter(key->context);
    gt_answer *answer = look_up(key, stream); /* another thread may have been faster */
    if (context && !answer && gt_answers_have_room())
        answer = make_answer(context, key, stream, request);
    leave(context);
    gt_visit_end(&visit);
    return answer;
}

static gt_answer_key make_key(const gt_request *request)
{
    const gt_gemm *gemm = &request->gemm;
    return (gt_answer_key){
        .m = gemm->m, .n = gemm->n, .k = gemm->k, .batch = gemm->batch,
        .lda = gemm->lda, .ldb = gemm->ldb, .ldc = gemm->ldc,
        .stride_a = gemm->stride_a, .stride_b = gemm->stride_b, .stride_c = gemm->stride_c,
        .op_a = (int32_t)gemm->op_a, .op_b = (int32_t)gemm->op_b, .type_ab = (int32_t)gemm->type_ab,
        .type_c = (int32_t)gemm->type_c, .math = (int32_t)gemm->math, .align = gemm->align,
        .symbol = (int32_t)request->symbol, .alone = request->alone, .epilogue = (int32_t)gemm->epilogue,
        .beside = gemm->beside,
        .refused = (int32_t)(front.only_counts ? GT_FATE_COUNTED : request->refused),
    };
}

/* Behind a graph that was given a workspace, before the next. */
static void prepare_next_graph(uint64_t id)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    gt_visit visit;
    gt_visit_begin(&visit);
    opened *const context = enter(id);
    gt_cuda_exchange_mode(&mode);
    if (context)
        prepare_graph(context);
    gt_cuda_exchange_mode(&mode);
    leave(context);
    gt_visit_end(&visit);
}

/* A workspace for a product that is captured, and counters; false if there is none. */
static bool take_workspace(const gt_answer *marker, CUstream stream, gt_operands *lent)
{
    const gt_graph_bytes bytes = {marker->workspace, marker->counters};
    uint64_t capture, number;
    CUgraph graph = NULL;
    gt_visit visit;
    if (!gt_cuda_find_capture(stream, &capture, &number, &graph))
        return false;
    gt_visit_begin(&visit);
    opened *const context = enter(marker->key.context);
    if (context) {
        lent->workspace = gt_graph_workspace_take(&context->graphs, capture, number, graph, bytes, &lent->counters);
        lent->workspace_bytes = marker->workspace;
        atomic_store_explicit(&front.gave, context->id + 1, memory_order_relaxed);
    }
    leave(context);
    gt_visit_end(&visit);
    return lent->workspace != NULL;
}

/* The answer to a product that has none yet, or one for each stream, which is `marker`; NULL if it cannot be remembered.
 * `lent` becomes what it is to run in, if not its own. */
static gt_answer *find_answer(gt_answer_key *key, CUstream stream, const gt_request *request, gt_answer *marker,
                              gt_operands *lent)
{
    uint64_t stream_id = 0;
    if (key->refused == GT_FATE_ANSWERED && gt_cuda_is_captured(stream)) {
        if (marker && take_workspace(marker, stream, lent))
            return marker;
        key->refused = GT_FATE_CAPTURE;
    }
    if (key->refused == GT_FATE_ANSWERED && !gt_cuda_find_stream(stream, &stream_id))
        key->refused = GT_FATE_FAILED;
    gt_answer *answer = look_up(key, stream_id);
    if (!answer && marker && key->refused == GT_FATE_ANSWERED &&
        atomic_load_explicit(&marker->is_full, memory_order_relaxed)) {
        key->refused = GT_FATE_NO_MEMORY;
        answer = look_up(key, stream_id);
    }
    if (answer && key->refused == GT_FATE_ANSWERED &&
        atomic_load_explicit(&front.gave, memory_order_relaxed) == key->context + 1)
        prepare_next_graph(key->context);
    return answer || !gt_answers_have_room() ? answer : learn(key, stream_id, request);
}

/* Finds the answer and counts the call. */
static gt_fate find(const gt_request *request, CUstream stream, gt_answer **out, gt_operands *lent)
{
    gt_answer_key key = make_key(request);
    pthread_once(&front.set_up, set_up);
    if (!front.usable)
        return GT_FATE_UNAVAILABLE;
    if (!gt_cuda_find_context(&key.context))
        return GT_FATE_FAILED;
    gt_answer *const known = gt_answers_find(&key);
    gt_answer *const answer =
        known && !known->by_stream ? known : find_answer(&key, stream, request, known, lent);
    if (!answer)
        return GT_FATE_NO_ROOM;
    atomic_fetch_add_explicit(&answer->calls, 1, memory_order_relaxed);
    *out = answer;
    return answer->fate;
}

void gt_front_load_rates(gt_rate *list, size_t count)
{
    const gt_library *library = gt_library_load();
    if (library)
        library->gt_rates_load(list, count);
}

void gt_front_store_rates(const gt_rate *list, size_t count)
{
    const gt_counted_gpu *gpu = gt_capture_gpu();
    if (gpu && count > 0)
        front.library->gt_rates_store(gpu, list, count); /* the next program measures anew what this one could not store */
}

gt_fate gt_front_find(const gt_request *request, struct CUstream_st *stream, gt_answer **answer, double *expected_us)
{
    gt_operands lent = {0}; /* the caller captures nothing */
    const gt_fate fate = find(request, stream, answer, &lent);
    if (fate == GT_FATE_ANSWERED)
        *expected_us = (*answer)->expected_us;
    return fate;
}

gt_fate gt_front_execute(gt_answer *answer, struct CUstream_st *stream, const gt_operands *operands)
{
    return front.library->gt_execute_ex(answer->plan, stream, operands) == GT_OK ? GT_FATE_ANSWERED : GT_FATE_FAILED;
}

gt_fate gt_front_run(const gt_request *request, struct CUstream_st *stream, const gt_operands *operands,
                     gt_answer **answer)
{
    gt_operands all = *operands;
    const gt_fate fate = find(request, stream, answer, &all);
    return fate == GT_FATE_ANSWERED ? gt_front_execute(*answer, stream, &all) : fate;
}
