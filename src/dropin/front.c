#include "front.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/driver.h"
#include "../core/environment.h"
#include "answers.h"
#include "capture.h"

#define CONTEXTS 16 /* of CUDA: one a GPU is usual */

/* Device memory of plans, which a program never asked for: a part of the GPU's, or so many bytes where that is more. */
#define WORKSPACE_PART  64
#define WORKSPACE_LEAST (256ull << 20)

/* What is called of the library, which is loaded with the first product: it brings SQLite along. */
#define LIBRARY_SYMBOLS(X)                                                                                   \
    X(gt_open) X(gt_plan_gemm) X(gt_plan_describe) X(gt_plan_destroy) X(gt_execute_ex) X(gt_error_message)    \
    X(gt_counted_open) X(gt_counted_store) X(gt_rates_load) X(gt_rates_store)

/* A CUDA context that products were seen in. */
typedef struct opened {
    uint64_t id;
    gt_context *library; /* NULL: it could not be opened there, or was not tried yet */
    bool tried;
    size_t workspace, workspace_most; /* bytes of its plans, and how many they may have */
} opened;

static struct {
    pthread_once_t begun, loaded, set_up; /* with the first product; the library; with the first that could be answered */
    _Atomic(enum { UNKNOWN, ON, OFF }) state;
    bool only_counts;
    double margin; /* times our expected time that cuBLAS must need more than */
    bool has_library;
    bool usable; /* library and driver are there */
    gt_driver *driver;
    /* These came with CUDA 12.0 or before; the software GPU, where handles are not used again, has none of them. */
    CUresult (*context_id)(CUcontext context, unsigned long long *id);
    CUresult (*stream_id)(CUstream stream, unsigned long long *id);
    CUresult (*exchange_capture_mode)(CUstreamCaptureMode *mode);
    pthread_mutex_t lock; /* over all below, and what is added to the answers */
    opened contexts[CONTEXTS];
    size_t context_count;
#define X(symbol) __typeof__(symbol) *symbol;
    LIBRARY_SYMBOLS(X)
#undef X
} front = {.begun = PTHREAD_ONCE_INIT, .loaded = PTHREAD_ONCE_INIT, .set_up = PTHREAD_ONCE_INIT,
         .lock = PTHREAD_MUTEX_INITIALIZER};

/* The library beside this one: installed, in the same folder; built, in the one above. */
static void *open_library(void)
{
    static const char *const places[] = {"/", "/../"};
    char path[4096];
    Dl_info self;
    void *library = NULL;
    if (dladdr(&front, &self) && strrchr(self.dli_fname, '/'))
        for (size_t i = 0; !library && i < sizeof places / sizeof places[0]; i++) {
            const int folder = (int)(strrchr(self.dli_fname, '/') - self.dli_fname);
            snprintf(path, sizeof path, "%.*s%s%s", folder, self.dli_fname, places[i], GT_LIBRARY);
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        }
    return library ? library : dlopen(GT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
}

static void load_library(void)
{
    void *library = open_library();
    if (!library) {
        gt_tally_why(GT_LIBRARY " is not beside the preloaded library");
        return;
    }
#define X(symbol) front.symbol = (__typeof__(front.symbol))dlsym(library, #symbol);
    LIBRARY_SYMBOLS(X)
#undef X
#define X(symbol) || !front.symbol
    if (0 LIBRARY_SYMBOLS(X)) {
        gt_tally_why(GT_LIBRARY " is of another version");
        return;
    }
#undef X
    front.has_library = true;
}

static void set_up(void)
{
    pthread_once(&front.loaded, load_library);
    if (!front.has_library)
        return;
    if (gt_driver_open(NULL, &front.driver) != GT_OK) {
        gt_tally_why(gt_error_message());
        return;
    }
    front.context_id = (__typeof__(front.context_id))dlsym(front.driver->library, "cuCtxGetId");
    front.stream_id = (__typeof__(front.stream_id))dlsym(front.driver->library, "cuStreamGetId");
    front.exchange_capture_mode =
        (__typeof__(front.exchange_capture_mode))dlsym(front.driver->library, "cuThreadExchangeStreamCaptureMode");
    front.usable = true;
}

static void turn_off(void)
{
    atomic_store(&front.state, OFF);
}

/* CUDA does not survive a fork, the lock may have been held by a thread that is not there, and counts are the
 * parent's. */
static void begin(void)
{
    const char *disable = gt_environment(GT_ENV_DISABLE), *margin = gt_environment(GT_ENV_MARGIN);
    front.only_counts = gt_capture_read_environment();
    front.margin = 1 + (margin ? strtod(margin, NULL) / 100 : 0);
    pthread_atfork(NULL, NULL, turn_off);
    atomic_store(&front.state, disable && strcmp(disable, "0") != 0 ? OFF : ON);
}

bool gt_front_is_on(void)
{
    if (atomic_load_explicit(&front.state, memory_order_acquire) == UNKNOWN)
        pthread_once(&front.begun, begin);
    return atomic_load_explicit(&front.state, memory_order_relaxed) == ON;
}

__attribute__((destructor)) static void end(void)
{
    char next[GT_CAPTURE_TEXT];
    if (!gt_front_is_on())
        return;
    gt_capture_end(next);
    gt_tally_print(next);
}

/* Handles of contexts and streams are used again by CUDA; ids are not. */
static bool find_context(uint64_t *id)
{
    CUcontext context = NULL;
    unsigned long long number = 0;
    if (front.driver->cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context)
        return false;
    if (front.context_id && front.context_id(context, &number) != CUDA_SUCCESS)
        return false;
    *id = front.context_id ? number : (uintptr_t)context;
    return true;
}

/* A number for each thread, which is not used again. */
static uint64_t find_thread(void)
{
    static _Thread_local __attribute__((tls_model("initial-exec"))) uint64_t own;
    static atomic_ullong last;
    return own ? own : (own = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1);
}

/* Every thread has a stream behind this handle, and nothing says that its id is another in each. */
static bool find_stream(CUstream stream, uint64_t *id)
{
    unsigned long long number = 0;
    if (stream == CU_STREAM_PER_THREAD) {
        *id = UINT64_MAX - find_thread();
        return true;
    }
    if (front.stream_id && front.stream_id(stream, &number) != CUDA_SUCCESS)
        return false;
    *id = (front.stream_id ? number : (uintptr_t)stream) + 1; /* 0 is no stream */
    return true;
}

/* True also where that cannot be told: the default stream must not be asked while others are captured. */
static bool is_captured(CUstream stream)
{
    CUstreamCaptureStatus status;
    return front.driver->cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* The current CUDA context, in which products are counted from its first on; NULL if there are too many. Under the
 * lock. */
static opened *enter(uint64_t context)
{
    size_t i = 0;
    while (i < front.context_count && front.contexts[i].id != context)
        i++;
    if (i == CONTEXTS)
        return NULL;
    if (i == front.context_count) {
        CUdevice device;
        size_t bytes = 0;
        if (front.driver->cuCtxGetDevice(&device) == CUDA_SUCCESS)
            front.driver->cuDeviceTotalMem(&bytes, device);
        front.contexts[front.context_count++] = (opened){
            .id = context,
            .workspace_most = bytes / WORKSPACE_PART > WORKSPACE_LEAST ? bytes / WORKSPACE_PART : WORKSPACE_LEAST,
        };
        gt_capture_begin(context, front.gt_counted_open, front.gt_counted_store, front.gt_error_message);
    }
    return &front.contexts[i];
}

/* The library there, opened with the first product that asks for it. Under the lock. */
static gt_context *open_there(opened *context)
{
    if (!context->tried && front.gt_open(NULL, &context->library) != GT_OK)
        gt_tally_why(front.gt_error_message());
    context->tried = true;
    return context->library;
}

/* Whether a plan may answer. */
static gt_fate judge(const opened *context, const gt_description *d, bool alone)
{
    if (context->workspace + d->workspace > context->workspace_most)
        return GT_FATE_NO_ROOM;
    if (alone)
        return GT_FATE_ANSWERED;
    if (d->choice == GT_CHOICE_FALLBACK)
        return GT_FATE_NOT_TUNED;
    if (d->baseline_us <= 0)
        return GT_FATE_NO_BASELINE;
    return front.margin * d->expected_us >= d->baseline_us ? GT_FATE_SLOWER : GT_FATE_ANSWERED;
}

/* Plans a problem and decides about it: fate, plan and its times are filled in. Under the lock. */
static void decide(opened *context, const gt_request *request, gt_answer *answer, size_t *workspace)
{
    gt_context *library = open_there(context);
    gt_description d;
    answer->fate = GT_FATE_UNAVAILABLE;
    if (!library)
        return;
    const gt_status status = front.gt_plan_gemm(library, &request->gemm, &answer->plan);
    answer->fate = status == GT_OK                  ? GT_FATE_FAILED
                   : status == GT_ERROR_NOT_TUNED   ? GT_FATE_NOT_TUNED
                   : status == GT_ERROR_UNSUPPORTED ? GT_FATE_MODE
                   : status == GT_ERROR_INVALID     ? GT_FATE_ARGUMENTS
                                                    : GT_FATE_FAILED;
    if (status != GT_OK)
        return;
    if (front.gt_plan_describe(answer->plan, &d) == GT_OK) {
        answer->fate = judge(context, &d, request->alone);
        answer->baseline_us = d.baseline_us;
        answer->expected_us = d.expected_us;
        *workspace = d.workspace;
    }
    if (answer->fate == GT_FATE_ANSWERED)
        context->workspace += d.workspace;
    else {
        front.gt_plan_destroy(answer->plan);
        answer->plan = NULL;
        *workspace = 0;
    }
}

/* Takes a decision into the table. A plan with a workspace answers for one stream only; for the others an entry without
 * a stream says so. Under the lock. */
static gt_answer *remember(opened *context, gt_answer *answer, uint64_t stream, size_t workspace)
{
    const gt_answer marker = {.key = answer->key, .fate = answer->fate, .by_stream = true};
    gt_answer *marked = gt_answers_find(&answer->key), *added = NULL;
    if (workspace > 0 && !marked)
        marked = gt_answers_add(&marker);
    if (marked)
        answer->key.stream = stream;
    if (marked || workspace == 0)
        added = gt_answers_add(answer);
    if (!added) {
        front.gt_plan_destroy(answer->plan);
        context->workspace -= workspace;
    }
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

/* The slow path: some milliseconds for the first problem, less for others. A thread may load and allocate while others
 * capture their streams only if it says so. */
static gt_answer *learn(const gt_answer_key *key, uint64_t stream, const gt_request *request)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    pthread_mutex_lock(&front.lock);
    gt_answer *answer = look_up(key, stream); /* another thread may have been faster */
    opened *context = !answer && gt_answers_have_room() ? enter(key->context) : NULL;
    if (context) {
        gt_answer made = {.key = *key, .fate = (gt_fate)key->refused};
        size_t workspace = 0;
        if (front.exchange_capture_mode)
            front.exchange_capture_mode(&mode);
        if (made.fate == GT_FATE_ANSWERED)
            decide(context, request, &made, &workspace);
        answer = remember(context, &made, stream, workspace);
        if (front.exchange_capture_mode)
            front.exchange_capture_mode(&mode);
    }
    pthread_mutex_unlock(&front.lock);
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

/* The answer to a product that has none yet, or one for each stream; NULL if it cannot be remembered. */
static gt_answer *find_answer(gt_answer_key *key, CUstream stream, const gt_request *request)
{
    uint64_t stream_id = 0;
    /* A graph may run beside the stream that it was captured from: a workspace would have two users. */
    if (key->refused == GT_FATE_ANSWERED && is_captured(stream))
        key->refused = GT_FATE_CAPTURE;
    if (key->refused == GT_FATE_ANSWERED && !find_stream(stream, &stream_id))
        key->refused = GT_FATE_FAILED;
    gt_answer *answer = look_up(key, stream_id);
    return answer || !gt_answers_have_room() ? answer : learn(key, stream_id, request);
}

/* Finds the answer and counts the call. */
static gt_fate find(const gt_request *request, CUstream stream, gt_answer **out)
{
    gt_answer_key key = make_key(request);
    pthread_once(&front.set_up, set_up);
    if (!front.usable)
        return GT_FATE_UNAVAILABLE;
    if (!find_context(&key.context))
        return GT_FATE_FAILED;
    gt_answer *answer = gt_answers_find(&key);
    if (!answer || answer->by_stream)
        answer = find_answer(&key, stream, request);
    if (!answer)
        return GT_FATE_NO_ROOM;
    atomic_fetch_add_explicit(&answer->calls, 1, memory_order_relaxed);
    *out = answer;
    return answer->fate;
}

void gt_front_load_rates(gt_rate *list, size_t count)
{
    pthread_once(&front.loaded, load_library);
    if (front.has_library)
        front.gt_rates_load(list, count);
}

void gt_front_store_rates(const gt_rate *list, size_t count)
{
    const gt_counted_gpu *gpu = gt_capture_gpu();
    if (gpu && count > 0)
        front.gt_rates_store(gpu, list, count); /* the next program measures anew what this one could not store */
}

gt_fate gt_front_find(const gt_request *request, struct CUstream_st *stream, gt_answer **answer, double *expected_us)
{
    const gt_fate fate = find(request, stream, answer);
    if (fate == GT_FATE_ANSWERED)
        *expected_us = (*answer)->expected_us;
    return fate;
}

gt_fate gt_front_execute(gt_answer *answer, struct CUstream_st *stream, const gt_operands *operands)
{
    return front.gt_execute_ex(answer->plan, stream, operands) == GT_OK ? GT_FATE_ANSWERED : GT_FATE_FAILED;
}

gt_fate gt_front_run(const gt_request *request, struct CUstream_st *stream, const gt_operands *operands,
                     gt_answer **answer)
{
    const gt_fate fate = find(request, stream, answer);
    return fate == GT_FATE_ANSWERED ? gt_front_execute(*answer, stream, operands) : fate;
}
