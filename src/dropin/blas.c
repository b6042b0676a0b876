#include "blas.h"

#include <ctype.h>
#include <errno.h>
#include <time.h>

#include "front.h"
#include "host.h"
#include "worth.h"

_Thread_local __attribute__((tls_model("initial-exec"))) int gt_blas_inside;
_Atomic double gt_blas_least;

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static bool is_transposed(char op)
{
    return toupper((unsigned char)op) != 'N';
}

static bool is_offered(const gt_blas_call *c)
{
    return gt_blas_is_legal(c) && c->m > 0 && c->n > 0 && c->k > 0 && c->alpha && c->beta && c->a && c->b && c->c;
}

static double scalar(gt_type type, const void *value)
{
    return type == GT_F64 ? *(const double *)value : *(const float *)value;
}

/* Multiply-adds. */
static double count(const gt_blas_call *c)
{
    return (double)c->m * (double)c->n * (double)c->k;
}

static gt_work measure(const gt_blas_call *c)
{
    const double m = (double)c->m, n = (double)c->n, k = (double)c->k;
    const double operands = m * k + k * n, all = operands + (scalar(c->type, c->beta) != 0 ? 2 : 1) * m * n;
    const double size = c->type == GT_F64 ? 8 : 4;
    return (gt_work){.type = c->type, .multiply_adds = count(c), .bytes = all * size, .operands = operands * size};
}

static bool is_still_worth_it(void *work, double kernel_us)
{
    return gt_worth_staying(work, kernel_us);
}

/* A column-major product is the row-major one of the transposes: C' = B' A', whose operands change places and keep
 * their ops. */
static gt_host_product translate(const gt_blas_call *c)
{
    const bool flip_a = is_transposed(c->op_a), flip_b = is_transposed(c->op_b);
    return (gt_host_product){
        .symbol = c->function->symbol, .type = c->type, .m = c->n, .n = c->m, .k = c->k,
        .op_a = flip_b ? GT_T : GT_N, .op_b = flip_a ? GT_T : GT_N,
        .alpha = c->alpha, .beta = c->beta, .reads_c = scalar(c->type, c->beta) != 0,
        .a = {(void *)c->b, flip_b ? c->k : c->n, flip_b ? c->n : c->k, c->ldb},
        .b = {(void *)c->a, flip_a ? c->m : c->k, flip_a ? c->k : c->m, c->lda},
        .c = {c->c, c->n, c->m, c->ldc},
    };
}

static gt_fate answer(const gt_blas_call *call)
{
    if (call->own->foreign)
        return GT_FATE_MODE;
    if (!is_offered(call) || scalar(call->type, call->alpha) == 0)
        return GT_FATE_ARGUMENTS;
    gt_work work = measure(call);
    if (!gt_worth_going(&work))
        return GT_FATE_SMALL;
    const gt_host_product product = translate(call);
    double moved_us = 0;
    const gt_fate fate = gt_host_run(&product, gt_worth_is_told(), is_still_worth_it, &work, &moved_us);
    if (fate == GT_FATE_ANSWERED && moved_us > 0)
        gt_worth_see_gpu(&work, moved_us);
    return fate;
}

static bool consider(const gt_blas_call *call)
{
    const bool told = gt_worth_is_told();
    if (!told)
        atomic_store_explicit(&gt_blas_least, GT_WORTH_LEAST, memory_order_relaxed);
    const gt_fate fate = told || gt_worth_seeing(count(call)) ? answer(call) : GT_FATE_SMALL;
    gt_tally_count(fate);
    return fate == GT_FATE_ANSWERED;
}

bool gt_blas_answer(const gt_blas_call *call)
{
    const int error = errno;
    const bool answered = gt_blas_inside == 0 && gt_front_is_on() && consider(call);
    errno = error; /* a BLAS leaves it alone */
    return answered;
}

/* The clock is for large products only: a small one takes no longer than to read it. */
double gt_blas_leave(const gt_blas_call *call)
{
    return gt_blas_is_legal(call) && gt_blas_inside++ == 0 && gt_worth_seeing(count(call)) ? now_us() : 0;
}

void gt_blas_return(const gt_blas_call *call, double left)
{
    gt_blas_inside -= gt_blas_is_legal(call);
    if (left <= 0 || !is_offered(call))
        return;
    const gt_work work = measure(call);
    const double took = now_us() - left;
    if (took > 0)
        gt_worth_see_cpu(&work, took);
}
