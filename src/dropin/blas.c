#include "blas.h"

#include <ctype.h>
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

/* A symbol of a library that is loaded, and of those it was linked with; NULL if it has none but this library's. */
static void *look_into(const char *path, const char *name)
{
    static const char here;
    Dl_info self, other;
    void *library = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
    void *symbol = library ? dlsym(library, name) : NULL;
    if (library)
        dlclose(library); /* it stays: the program has it */
    return symbol && dladdr(&here, &self) && dladdr(symbol, &other) && other.dli_fbase != self.dli_fbase ? symbol : NULL;
}

static int list_object(struct dl_phdr_info *object, size_t size, void *data)
{
    (void)size;
    if (object->dlpi_name && object->dlpi_name[0])
        fprintf(data, "%s%c", object->dlpi_name, '\0');
    return 0;
}

/* In any library: Python gives each a scope of its own. Their names are listed first, for the list is under a lock of
 * the loader's, which must not be held while libraries are looked into. */
static void *look_everywhere(const char *name)
{
    char *paths = NULL;
    size_t length = 0;
    void *symbol = NULL;
    FILE *stream = open_memstream(&paths, &length);
    if (!stream)
        return NULL;
    dl_iterate_phdr(list_object, stream);
    if (fclose(stream) == 0)
        for (const char *path = paths; !symbol && path < paths + length; path += strlen(path) + 1)
            symbol = look_into(path, name);
    free(paths);
    return symbol;
}

/* Whether a library's file says that its integers have 64 bits, where its symbols do not: "libblas64.so.3", MKL's
 * "libmkl_intel_ilp64.so", but not "libmkl_intel_lp64.so" or a machine's "x86_64". */
static bool is_named_wide(const char *path)
{
    static const char *const others[] = {"_lp64", "x86_64"};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t found = 0, explained = 0;
    for (const char *at = name; (at = strstr(at, "64")); at += 2)
        found++;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        for (const char *at = name; (at = strstr(at, others[i])); at += strlen(others[i]))
            explained++;
    return found > explained;
}

/* In what the caller was linked with; else the next in the loader's order; else anywhere. */
void *gt_blas_find(gt_blas_function *function, const void *caller)
{
    const char *name = gt_symbol_name(function->symbol);
    Dl_info info;
    void *symbol = NULL;
    if (dladdr(caller, &info))
        symbol = look_into(info.dli_fname, name);
    if (!symbol)
        symbol = dlsym(RTLD_NEXT, name);
    if (!symbol)
        symbol = look_everywhere(name);
    if (!symbol) {
        dprintf(STDERR_FILENO, "gemmtune: no BLAS of the program's has %s\n", name);
        abort();
    }
    if (function->plain && dladdr(symbol, &info))
        atomic_store(&function->foreign, is_named_wide(info.dli_fname));
    atomic_store_explicit(&function->real, symbol, memory_order_release);
    return symbol;
}

static bool is_op(char op)
{
    return op && strchr("NTC", toupper((unsigned char)op));
}

static bool is_transposed(char op)
{
    return toupper((unsigned char)op) != 'N';
}

static bool is_legal(const gt_blas_call *c)
{
    return is_op(c->op_a) && is_op(c->op_b) && c->m > 0 && c->n > 0 && c->k > 0 && c->ldc >= c->m &&
           c->lda >= (is_transposed(c->op_a) ? c->k : c->m) && c->ldb >= (is_transposed(c->op_b) ? c->n : c->k) &&
           c->alpha && c->beta && c->a && c->b && c->c;
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
    if (call->function->foreign)
        return GT_FATE_MODE;
    if (!is_legal(call) || scalar(call->type, call->alpha) == 0)
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

bool gt_blas_answer(const gt_blas_call *call)
{
    if (gt_blas_inside || !gt_front_is_on())
        return false;
    const bool told = gt_worth_is_told();
    if (!told)
        atomic_store_explicit(&gt_blas_least, GT_WORTH_LEAST, memory_order_relaxed);
    const gt_fate fate = told || gt_worth_seeing(count(call)) ? answer(call) : GT_FATE_SMALL;
    gt_tally_count(fate);
    return fate == GT_FATE_ANSWERED;
}

/* The clock is for large products only: a small one takes no longer than to read it. */
double gt_blas_leave(const gt_blas_call *call)
{
    return gt_blas_inside++ == 0 && gt_worth_seeing(count(call)) ? now_us() : 0;
}

void gt_blas_return(const gt_blas_call *call, double left)
{
    gt_blas_inside--;
    if (left <= 0 || !is_legal(call))
        return;
    const gt_work work = measure(call);
    const double took = now_us() - left;
    if (took > 0)
        gt_worth_see_cpu(&work, took);
}
