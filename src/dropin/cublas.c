#include "cublas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "../core/environment.h"
#include "../core/types.h"
#include "cublas_abi.h"
#include "front.h"

/* More matrices take several launches, of which a later one may fail: then nothing could be forwarded any more. */
#define MOST_MATRICES 65535

/* cuBLAS multiplies 8-bit integers only where rows and pointers are multiples of this many bytes: elsewhere the program
 * gets cuBLAS's own status. */
#define INTEGER_ALIGN 4

_Static_assert(GT_CUBLAS_ASKED == 11 * 8 + 10 * 4 && GT_CUBLAS_ASKED / 8 <= GT_MEMO_WORDS, "no bytes between fields");

/* Whether a function is of a library of the program's own, not of any cuBLAS. */
static bool is_between(const void *function)
{
    Dl_info info;
    return function && dladdr(function, &info) && info.dli_fname && !strstr(info.dli_fname, "libcublas");
}

/* The program's own function of a name. That is cuBLAS's; but in a program that is linked with cuBLAS, a library of its
 * own may come before that in the loader's order, as this one does. Python loads cuBLAS into a scope of its own, where
 * that order does not lead. */
static void *find_own(const gt_cublas_library *library, const char *name)
{
    void *const real = dlopen(library->soname, RTLD_NOLOAD | RTLD_LAZY), *const next = dlsym(RTLD_NEXT, name);
    if (!real) /* what asked for no version has the first of this library's, whatever its cuBLAS is */
        return next;
    const bool is_linked = dlvsym(RTLD_NEXT, library->probe, library->soname) == dlsym(real, library->probe);
    return is_linked && is_between(next) ? next : dlsym(real, name);
}

void *gt_cublas_find(const gt_cublas_library *library, const char *name, _Atomic(void *) *slot)
{
    void *symbol = atomic_load_explicit(slot, memory_order_acquire);
    if (symbol)
        return symbol;
    gt_cublas_leave(); /* dlsym may be another library of ours */
    symbol = find_own(library, name);
    gt_cublas_return();
    atomic_store_explicit(slot, symbol, memory_order_release);
    return symbol;
}

/* A number that a handle is set to. False where the handle is none, or cuBLAS too old to be asked. */
static bool read_int(const gt_cublas_library *library, const char *name, _Atomic(void *) *slot, void *handle,
                     int *value)
{
    cublas_get_int *const get = (cublas_get_int *)gt_cublas_find(library, name, slot);
    return get && handle && get(handle, value) == GT_CUBLAS_SUCCESS;
}

static bool read_math_mode(gt_cublas_library *library, gt_cublas_call *call)
{
    return read_int(library, "cublasGetMathMode", &library->get_math_mode, call->handle, &call->math_mode);
}

static bool read_state(gt_cublas_library *library, void *handle, gt_cublas_state *s)
{
    cublas_get_stream *const stream =
        (cublas_get_stream *)gt_cublas_find(library, "cublasGetStream_v2", &library->get_stream);
    return stream && stream(handle, &s->stream) == GT_CUBLAS_SUCCESS &&
           read_int(library, "cublasGetPointerMode_v2", &library->get_pointer_mode, handle, &s->pointer_mode) &&
           read_int(library, "cublasGetSmCountTarget", &library->get_sm_target, handle, &s->sm_target);
}

/* The types and compute types that the library has, and its names for them. Sums in f16 become sums in f32, which are
 * closer. Pedantic 16-bit products are not among them: tensor cores cut sums. */
static const struct {
    int ab, c, compute;
    gt_type type_ab, type_c;
    gt_math math;
} offers[] = {
    {GT_CUDA_32F, GT_CUDA_32F, GT_CUBLAS_COMPUTE_32F, GT_F32, GT_F32, GT_MATH_STRICT},
    {GT_CUDA_32F, GT_CUDA_32F, GT_CUBLAS_COMPUTE_32F_PEDANTIC, GT_F32, GT_F32, GT_MATH_STRICT},
    {GT_CUDA_32F, GT_CUDA_32F, GT_CUBLAS_COMPUTE_32F_TF32, GT_F32, GT_F32, GT_MATH_TF32},
    {GT_CUDA_64F, GT_CUDA_64F, GT_CUBLAS_COMPUTE_64F, GT_F64, GT_F64, GT_MATH_STRICT},
    {GT_CUDA_64F, GT_CUDA_64F, GT_CUBLAS_COMPUTE_64F_PEDANTIC, GT_F64, GT_F64, GT_MATH_STRICT},
    {GT_CUDA_16F, GT_CUDA_16F, GT_CUBLAS_COMPUTE_32F, GT_F16, GT_F16, GT_MATH_STRICT},
    {GT_CUDA_16F, GT_CUDA_32F, GT_CUBLAS_COMPUTE_32F, GT_F16, GT_F32, GT_MATH_STRICT},
    {GT_CUDA_16F, GT_CUDA_16F, GT_CUBLAS_COMPUTE_16F, GT_F16, GT_F16, GT_MATH_STRICT},
    {GT_CUDA_16BF, GT_CUDA_16BF, GT_CUBLAS_COMPUTE_32F, GT_BF16, GT_BF16, GT_MATH_STRICT},
    {GT_CUDA_16BF, GT_CUDA_32F, GT_CUBLAS_COMPUTE_32F, GT_BF16, GT_F32, GT_MATH_STRICT},
    {GT_CUDA_8I, GT_CUDA_32I, GT_CUBLAS_COMPUTE_32I, GT_S8, GT_S32, GT_MATH_STRICT},
    {GT_CUDA_8I, GT_CUDA_32I, GT_CUBLAS_COMPUTE_32I_PEDANTIC, GT_S8, GT_S32, GT_MATH_STRICT},
};

/* What users ask for, whatever their programs do. Read once: a program may change its environment beside other
 * threads. */
static struct {
    pthread_once_t once;
    bool tf32_overridden; /* by a variable of NVIDIA's that its libraries obey */
    bool invariant;       /* by another one: a row's bits are to be the same whatever the others are */
    gt_math f32_math;     /* that products of f32 may be computed in, where the program asks for f32 */
} asked = {.once = PTHREAD_ONCE_INIT};

static void read_environment(void)
{
    const char *f32 = gt_environment(GT_ENV_F32), *invariance = gt_environment(GT_ENV_BATCH_INVARIANCE);
    asked.invariant = invariance && strcmp(invariance, "0") != 0;
    asked.tf32_overridden = gt_environment(GT_ENV_TF32_OVERRIDE) != NULL;
    asked.f32_math = f32 && strcmp(f32, "tf32") == 0    ? GT_MATH_TF32
                     : f32 && strcmp(f32, "split") == 0 ? GT_MATH_SPLIT
                                                        : GT_MATH_STRICT;
}

/* The handle's math mode. Whether sums may be reduced makes no difference: ours never are. */
static int find_mode(const gt_cublas_call *call)
{
    return call->math_mode & ~GT_CUBLAS_MATH_NO_REDUCED_SUMS;
}

/* Finds types and math, by the compute type and the handle's math mode. False for types that have no name here. */
static bool translate_types(const gt_cublas_call *call, gt_gemm *gemm)
{
    size_t i = 0;
    while (i < sizeof offers / sizeof offers[0] &&
           (offers[i].ab != call->type_a || offers[i].c != call->type_c || offers[i].compute != call->compute))
        i++;
    if (i == sizeof offers / sizeof offers[0] || call->type_b != call->type_a)
        return false;
    gemm->type_ab = offers[i].type_ab;
    gemm->type_c = offers[i].type_c;
    gemm->math = offers[i].math;
    if (find_mode(call) == GT_CUBLAS_MATH_TF32 && call->compute == GT_CUBLAS_COMPUTE_32F && gemm->type_ab == GT_F32)
        gemm->math = GT_MATH_TF32;
    return true;
}

static bool is_legal(const gt_cublas_call *c)
{
    const int64_t rows_a = c->op_a == GT_CUBLAS_OP_N ? c->m : c->k, rows_b = c->op_b == GT_CUBLAS_OP_N ? c->k : c->n;
    return c->m > 0 && c->n > 0 && c->k > 0 && c->batch > 0 && (unsigned)c->op_a <= GT_CUBLAS_OP_C &&
           (unsigned)c->op_b <= GT_CUBLAS_OP_C && c->lda >= rows_a && c->ldb >= rows_b && c->ldc >= c->m && c->alpha &&
           c->beta && c->a && c->b && c->c;
}

int gt_cublas_align(const gt_cublas_call *c)
{
    const uintptr_t bits = (uintptr_t)c->a | (uintptr_t)c->b | (uintptr_t)c->c | (uintptr_t)c->d | 16;
    return (int)(bits & -bits);
}

/* A column-major product is the row-major one of the transposes: C' = B' A', whose operands change places and keep
 * their ops, and whose columns have the bias. Of real numbers the conjugate transpose is the transpose. */
static void translate_layout(const gt_cublas_call *c, gt_gemm *gemm)
{
    const bool many = c->batch > 1; /* the strides of one matrix mean nothing */
    gemm->m = c->n;
    gemm->n = c->m;
    gemm->k = c->k;
    gemm->lda = c->ldb;
    gemm->ldb = c->lda;
    gemm->ldc = c->ldc;
    gemm->batch = c->batch;
    gemm->stride_a = many ? c->stride_b : 0;
    gemm->stride_b = many ? c->stride_a : 0;
    gemm->stride_c = many ? c->stride_c : 0;
    gemm->op_a = c->op_b == GT_CUBLAS_OP_N ? GT_N : GT_T;
    gemm->op_b = c->op_a == GT_CUBLAS_OP_N ? GT_N : GT_T;
    gemm->align = c->align;
    gemm->epilogue = c->epilogue;
    gemm->beside = c->d != NULL;
    gemm->deterministic = 1; /* as cuBLAS is by default */
}

/* Whether the library computes as the handle and the call ask. */
static bool is_mode_offered(const gt_cublas_call *call, const gt_cublas_state *s, const gt_gemm *gemm)
{
    const int mode = find_mode(call);
    const bool is_short = gemm->type_ab == GT_F16 || gemm->type_ab == GT_BF16;
    const bool invariant =
        s->invariance == GT_CUBLAS_INVARIANCE_UNSET ? asked.invariant : s->invariance != GT_CUBLAS_INVARIANCE_NONE;
    if (s->sm_target != 0 || invariant || (gemm->math == GT_MATH_TF32 && asked.tf32_overridden) ||
        (call->algorithm != GT_CUBLAS_ALGORITHM_DEFAULT && call->algorithm != GT_CUBLAS_ALGORITHM_DEFAULT_TENSOR))
        return false;
    return mode == GT_CUBLAS_MATH_DEFAULT || mode == GT_CUBLAS_MATH_TF32 ||
           (mode == GT_CUBLAS_MATH_TENSOR && gemm->type_ab != GT_F32) ||
           (mode == GT_CUBLAS_MATH_PEDANTIC && !is_short && gemm->math == GT_MATH_STRICT);
}

/* What cuBLAS takes and the library has no word for, or cuBLAS refuses and the library would not. */
static bool is_offered(const gt_cublas_call *c, const gt_gemm *gemm)
{
    if (c->batch > MOST_MATRICES || (c->batch > 1 && (c->stride_a <= 0 || c->stride_b <= 0 || c->stride_c <= 0)))
        return false;
    return gemm->type_ab != GT_S8 ||
           (gemm->align >= INTEGER_ALIGN && c->lda % INTEGER_ALIGN == 0 && c->ldb % INTEGER_ALIGN == 0);
}

static float load_half(const void *data)
{
    return (float)gt_type_find(GT_F16)->load(data, 0);
}

/* Whether the user allows what the program did not ask for. It stays with what it asked to be pedantic. */
static bool may_be_looser(const gt_cublas_call *call, const gt_gemm *gemm)
{
    return asked.f32_math != GT_MATH_STRICT && gemm->type_ab == GT_F32 && gemm->math == GT_MATH_STRICT &&
           !(asked.f32_math == GT_MATH_TF32 && asked.tf32_overridden) && call->compute == GT_CUBLAS_COMPUTE_32F &&
           find_mode(call) == GT_CUBLAS_MATH_DEFAULT;
}

static gt_fate answer(const gt_cublas_call *call, const gt_cublas_state *s, gt_answer *answers[GT_MEMO_ANSWERS])
{
    gt_request request = {.symbol = call->symbol};
    gt_gemm *gemm = &request.gemm;
    translate_layout(call, gemm);
    if (!translate_types(call, gemm) || !is_offered(call, gemm))
        return GT_FATE_MODE;
    request.refused = !is_mode_offered(call, s, gemm)             ? GT_FATE_MODE
                      : s->pointer_mode != GT_CUBLAS_HOST_SCALARS ? GT_FATE_SCALARS
                      : s->epilogue                               ? GT_FATE_EPILOGUE
                                                                  : GT_FATE_ANSWERED;
    gt_operands operands = {.alpha = call->alpha, .beta = call->beta, .a = call->b, .b = call->a, .c = call->c,
                            .d = call->d, .bias = call->bias};
    const bool half = call->compute == GT_CUBLAS_COMPUTE_16F && request.refused == GT_FATE_ANSWERED;
    const float scalars[2] = {half ? load_half(call->alpha) : 0, half ? load_half(call->beta) : 0};
    if (half) {
        operands.alpha = &scalars[0];
        operands.beta = &scalars[1];
    }
    if (request.refused == GT_FATE_ANSWERED && may_be_looser(call, gemm)) {
        gt_request looser = request;
        looser.gemm.math = asked.f32_math;
        looser.alone = asked.f32_math == GT_MATH_TF32; /* what is stored of cuBLAS is its tf32, and not what it would do */
        const gt_fate fate = gt_front_run(&looser, s->stream, &operands, &answers[0]);
        if (fate == GT_FATE_ANSWERED)
            return fate;
    }
    return gt_front_run(&request, s->stream, &operands, &answers[1]);
}

gt_fate gt_cublas_run(const gt_cublas_call *call, const gt_cublas_state *state, gt_answer *answers[GT_MEMO_ANSWERS])
{
    pthread_once(&asked.once, read_environment);
    return is_legal(call) ? answer(call, state, answers) : GT_FATE_ARGUMENTS;
}

bool gt_cublas_answer(gt_cublas_library *library, gt_cublas_call *call)
{
    gt_cublas_state state = {.invariance = GT_CUBLAS_INVARIANCE_UNSET};
    gt_answer *answers[GT_MEMO_ANSWERS] = {0};
    gt_fate fate = GT_FATE_ARGUMENTS;
    if (gt_cublas_is_left() || !gt_front_is_on())
        return false;
    if (read_math_mode(library, call)) {
        call->align = gt_cublas_align(call);
        if (gt_memo_forwards(call, GT_CUBLAS_ASKED / 8))
            return false;
        if (read_state(library, call->handle, &state))
            fate = gt_cublas_run(call, &state, answers);
        gt_memo_keep(call, GT_CUBLAS_ASKED / 8, fate, answers);
    }
    gt_tally_count(fate);
    return fate == GT_FATE_ANSWERED;
}

/* Preloaded, it has a place in every thread from the start. */
static _Thread_local __attribute__((tls_model("initial-exec"))) int left;

void gt_cublas_leave(void)
{
    left++;
}

void gt_cublas_return(void)
{
    left--;
}

bool gt_cublas_is_left(void)
{
    return left > 0;
}

__attribute__((visibility("default"))) void gemmtune_pause(int paused)
{
    gt_front_pause(paused != 0);
}
