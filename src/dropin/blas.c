#include "blas.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../core/environment.h"
#include "front.h"
#include "host.h"

/* Below this many multiply-adds no GPU is faster: its memory is too far away. Nothing else is computed then. */
#define LEAST_WORK (1 << 22)

/* Microseconds: CUDA, the library and a first plan. Begun when products would have saved as much. */
#define SET_UP_US 400e3

/* What is assumed before it is known. */
#define LAUNCH_US   100.0 /* of a product, beside its copies and its kernel */
#define LINK_BYTES  16e3  /* a microsecond, from pageable memory and back */
#define LINK_MOST   64e3
#define KERNEL_FLOP 10e6  /* a microsecond */
#define GAIN        0.8   /* of the CPU's time that the GPU may take at most */
#define LINK_SIZES  64    /* powers of two: small copies are slower */
#define FADE        1.005 /* of a link's rate, for each product that it kept on the CPU: it is tried again some day */
#define RATES       (2 + LINK_SIZES)

static _Thread_local int inside; /* the program's own library, which may call another function that is seen here */

/* Measured in this process, or in one before; 0: not yet. They are hints: threads may overwrite each other's. */
static struct {
    pthread_once_t read, load;
    int64_t threshold;          /* multiply-adds; -1: by the rates */
    _Atomic double cpu_flop[2]; /* a microsecond: f32, f64 */
    _Atomic double link_bytes[LINK_SIZES]; /* a microsecond, of products that move so many */
    _Atomic double missed_us;   /* what the GPU would have saved so far */
    atomic_bool ready;          /* the GPU is set up */
} rates = {.read = PTHREAD_ONCE_INIT, .load = PTHREAD_ONCE_INIT};

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

/* In what the caller was linked with; else the next in the loader's order; else anywhere. */
void *gt_blas_find(gt_blas_function *function, const void *caller)
{
    const char *name = gt_symbol_name(function->symbol);
    Dl_info info;
    void *symbol = atomic_load_explicit(&function->real, memory_order_acquire);
    if (symbol)
        return symbol;
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
    if (function->plain && dladdr(symbol, &info)) {
        const char *slash = strrchr(info.dli_fname, '/');
        atomic_store(&function->foreign, strstr(slash ? slash : info.dli_fname, "64") != NULL);
    }
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

static void read_threshold(void)
{
    const char *text = gt_environment(GT_ENV_BLAS_THRESHOLD);
    char *end = NULL;
    errno = 0;
    const long long number = text ? strtoll(text, &end, 10) : -1;
    rates.threshold = !text || end == text || *end || errno || number < 0 ? -1 : number;
}

/* Each rate by its name in the database: how fast the CPU is at a type, and the link at a size. */
static _Atomic double *find_rate(size_t i, char *name, size_t room)
{
    if (i < 2)
        snprintf(name, room, "cpu %s", i == 0 ? "f32" : "f64");
    else
        snprintf(name, room, "link %zu", i - 2);
    return i < 2 ? &rates.cpu_flop[i] : &rates.link_bytes[i - 2];
}

static void load_rates(void)
{
    gt_rate list[RATES] = {0};
    for (size_t i = 0; i < RATES; i++)
        find_rate(i, list[i].name, sizeof list[i].name);
    gt_front_load_rates(list, RATES);
    for (size_t i = 0; i < RATES; i++)
        if (list[i].value > 0)
            atomic_store_explicit(find_rate(i, list[i].name, sizeof list[i].name), list[i].value, memory_order_relaxed);
}

/* What was measured beside a GPU. */
__attribute__((destructor)) static void store_rates(void)
{
    gt_rate list[RATES];
    size_t count = 0;
    if (!gt_front_is_on() || !atomic_load_explicit(&rates.ready, memory_order_relaxed))
        return;
    for (size_t i = 0; i < RATES; i++) {
        list[count].value =
            atomic_load_explicit(find_rate(i, list[count].name, sizeof list[count].name), memory_order_relaxed);
        count += list[count].value > 0;
    }
    gt_front_store_rates(list, count);
}

static double work(const gt_blas_call *c)
{
    return (double)c->m * (double)c->n * (double)c->k;
}

static double bytes(const gt_blas_call *c)
{
    const double elements = (double)c->m * (double)c->k + (double)c->k * (double)c->n +
                            (scalar(c->type, c->beta) != 0 ? 2 : 1) * (double)c->m * (double)c->n;
    return elements * (c->type == GT_F64 ? 8 : 4);
}

static _Atomic double *find_link(const gt_blas_call *c)
{
    const int size = ilogb(bytes(c));
    return &rates.link_bytes[size < LINK_SIZES ? size : LINK_SIZES - 1];
}

/* Whether the GPU is expected to be faster, with a kernel that takes so many microseconds; 0: not known. */
static bool is_faster(const gt_blas_call *c, double kernel_us, double *saved_us)
{
    const double cpu_flop = atomic_load_explicit(&rates.cpu_flop[c->type == GT_F64], memory_order_relaxed);
    const double link = atomic_load_explicit(find_link(c), memory_order_relaxed);
    const double flop = 2 * work(c), cpu_us = cpu_flop > 0 ? flop / cpu_flop : 0;
    const double gpu_us = LAUNCH_US + bytes(c) / (link > 0 ? link : LINK_BYTES) +
                          (kernel_us > 0 ? kernel_us : flop / KERNEL_FLOP);
    *saved_us = cpu_us - gpu_us;
    return gpu_us < GAIN * cpu_us;
}

/* Whether a product goes to the GPU. That is set up once products would have saved the time that it takes. */
static bool is_worth_it(const gt_blas_call *c)
{
    double saved_us;
    pthread_once(&rates.read, read_threshold);
    if (rates.threshold >= 0)
        return work(c) >= (double)rates.threshold;
    if (work(c) < LEAST_WORK)
        return false;
    pthread_once(&rates.load, load_rates);
    if (!is_faster(c, 0, &saved_us)) {
        _Atomic double *link = find_link(c);
        const double rate = atomic_load_explicit(link, memory_order_relaxed);
        if (rate < LINK_MOST)
            atomic_store_explicit(link, FADE * rate, memory_order_relaxed);
        return false;
    }
    if (atomic_load_explicit(&rates.ready, memory_order_relaxed))
        return true;
    const double missed = atomic_load_explicit(&rates.missed_us, memory_order_relaxed) + saved_us;
    atomic_store_explicit(&rates.missed_us, missed, memory_order_relaxed);
    return missed >= SET_UP_US;
}

/* With what is known of the kernel. */
static bool is_still_worth_it(void *data, double kernel_us)
{
    double saved_us;
    atomic_store_explicit(&rates.ready, true, memory_order_relaxed);
    return rates.threshold >= 0 || is_faster(data, kernel_us, &saved_us);
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
    if (!is_worth_it(call))
        return GT_FATE_SMALL;
    const gt_host_product product = translate(call);
    double moved_us = 0;
    const gt_fate fate =
        gt_host_run(&product, rates.threshold >= 0, is_still_worth_it, (void *)call, &moved_us);
    if (fate == GT_FATE_ANSWERED && moved_us > 0)
        atomic_store_explicit(find_link(call), bytes(call) / moved_us, memory_order_relaxed);
    return fate;
}

bool gt_blas_answer(const gt_blas_call *call)
{
    if (inside || !gt_front_is_on())
        return false;
    const gt_fate fate = answer(call);
    gt_tally_count(fate);
    return fate == GT_FATE_ANSWERED;
}

double gt_blas_leave(const gt_blas_call *call)
{
    return inside++ == 0 && work(call) >= LEAST_WORK ? now_us() : 0;
}

/* The best of late: a call that had to share the CPU says little of the next one. */
void gt_blas_return(const gt_blas_call *call, double left)
{
    _Atomic double *rate = &rates.cpu_flop[call->type == GT_F64];
    inside--;
    const double took = left > 0 ? now_us() - left : 0;
    if (took <= 0 || !is_legal(call))
        return;
    const double seen = 2 * work(call) / took, before = atomic_load_explicit(rate, memory_order_relaxed);
    const double faded = 0.9 * before + 0.1 * seen;
    atomic_store_explicit(rate, seen > faded ? seen : faded, memory_order_relaxed);
}
