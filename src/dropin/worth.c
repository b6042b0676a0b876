#include "worth.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "../core/environment.h"
#include "front.h"
#include "visit.h"

/* Microseconds: CUDA, the library and a first plan. Begun when products would have saved as much. */
#define SET_UP_US 400e3

/* What is assumed before it is known. */
#define LAUNCH_US   100.0 /* of a product, beside its copies and its kernel */
#define LINK_BYTES  16e3  /* a microsecond, from pageable memory and back */
#define KERNEL_FLOP 10e6  /* a microsecond */

/* A BLAS whose threads sleep, on cores that do, takes several times as long for its next products, unless they are
 * long. What had gone to the GPU since would never show it: so products of a size stay on the CPU for so many
 * microseconds first, and again when they were on the GPU for a hundred times as long. */
#define AWAKE_US 20e3
#define AGAIN_US 2e6
#define LONG_US  10e3

#define GAIN      0.8   /* of the CPU's time that the GPU may take at most */
#define LINK_MOST 64e3  /* bytes a microsecond */
#define FADE      1.005 /* of a link's rate, for each product that it kept on the CPU: it is tried again some day */

/* Rates are of sizes, by powers of two: small products are slower. And of shapes: where nearly all bytes are operands, or
 * nearly all the result, a CPU is slower than at a cube of as many multiply-adds, and the link is used one way. */
#define SIZES    64
#define ONE_SIDE 0.2 /* of all bytes, that the others are then at most */
enum { CPU_F32, CPU_F64, LINK, KINDS };
enum { OPERANDS, BOTH, RESULT, SHAPES };
static const char *const kinds[] = {"cpu f32", "cpu f64", "link"};
static const char *const shapes[] = {" in", "", " out"};

/* Measured in this process, or in one before; 0: not yet. They are hints: threads may overwrite each other's. */
static struct {
    pthread_once_t read, load;
    atomic_bool is_read;
    int64_t threshold;                          /* multiply-adds; -1: by the rates */
    _Atomic double of[KINDS][SHAPES][SIZES];    /* flop, or bytes moved, a microsecond */
    _Atomic double on_cpu[LINK][SHAPES][SIZES]; /* microseconds in this process, since the others became too many */
    _Atomic double on_gpu[LINK][SHAPES][SIZES];
    _Atomic double missed_us; /* what the GPU would have saved so far */
    atomic_bool ready;        /* the GPU is set up */
} rates = {.read = PTHREAD_ONCE_INIT, .load = PTHREAD_ONCE_INIT};

static double get(_Atomic double *rate)
{
    return atomic_load_explicit(rate, memory_order_relaxed);
}

static void set(_Atomic double *rate, double value)
{
    atomic_store_explicit(rate, value, memory_order_relaxed);
}

/* The best of late: what had to share the CPU or the link says little of the next one. */
static void learn(_Atomic double *rate, double assumed, double seen)
{
    const double before = get(rate), faded = 0.7 * (before > 0 ? before : assumed) + 0.3 * seen;
    set(rate, seen > faded ? seen : faded);
}

static int size_of(double amount)
{
    const int size = ilogb(amount);
    return size < 0 ? 0 : size < SIZES ? size : SIZES - 1;
}

static int cpu_of(const gt_work *w)
{
    return w->type == GT_F64 ? CPU_F64 : CPU_F32;
}

static int shape_of(const gt_work *w)
{
    const double share = w->operands / w->bytes;
    return share > 1 - ONE_SIDE ? OPERANDS : share < ONE_SIDE ? RESULT : BOTH;
}

static _Atomic double *link_rate(const gt_work *w)
{
    return &rates.of[LINK][shape_of(w)][size_of(w->bytes)];
}

#define RATES (KINDS * SHAPES * SIZES)

static _Atomic double *rate_at(int i)
{
    return &rates.of[i / SIZES / SHAPES][i / SIZES % SHAPES][i % SIZES];
}

/* Names in the database: "cpu f32 30", "link 24 out". */
static void name_rate(int i, char name[sizeof((gt_rate *)0)->name])
{
    snprintf(name, sizeof((gt_rate *)0)->name, "%s %d%s", kinds[i / SIZES / SHAPES], i % SIZES, shapes[i / SIZES % SHAPES]);
}

static void load(void)
{
    gt_rate list[RATES] = {0};
    gt_visit visit;
    gt_visit_begin(&visit);
    for (int i = 0; i < RATES; i++)
        name_rate(i, list[i].name);
    gt_front_load_rates(list, RATES);
    for (int i = 0; i < RATES; i++)
        if (list[i].value > 0)
            set(rate_at(i), list[i].value);
    gt_visit_end(&visit);
}

/* What was measured beside a GPU. */
__attribute__((destructor)) static void store(void)
{
    gt_rate list[RATES];
    size_t count = 0;
    gt_visit visit;
    if (!gt_front_is_on() || !atomic_load_explicit(&rates.ready, memory_order_relaxed))
        return;
    gt_visit_begin(&visit);
    for (int i = 0; i < RATES; i++) {
        name_rate(i, list[count].name);
        list[count].value = get(rate_at(i));
        count += list[count].value > 0;
    }
    gt_front_store_rates(list, count);
    gt_visit_end(&visit);
}

static void read_threshold(void)
{
    const char *text = gt_environment(GT_ENV_BLAS_THRESHOLD);
    char *end = NULL;
    errno = 0;
    const long long number = text ? strtoll(text, &end, 10) : -1;
    rates.threshold = !text || end == text || *end || errno || number < 0 ? -1 : number;
    atomic_store_explicit(&rates.is_read, true, memory_order_release);
}

bool gt_worth_is_told(void)
{
    if (!atomic_load_explicit(&rates.is_read, memory_order_acquire))
        pthread_once(&rates.read, read_threshold);
    return rates.threshold >= 0;
}

/* What the CPU needs: by the rate of this size, or of the nearest that is known; 0 if too little is. */
static double cpu_us(const gt_work *w)
{
    _Atomic double *const list = rates.of[cpu_of(w)][shape_of(w)];
    const int size = size_of(w->multiply_adds);
    double rate = 0;
    for (int far = 0; far < SIZES && rate <= 0; far++) {
        rate = size - far >= 0 ? get(&list[size - far]) : 0;
        if (rate <= 0 && size + far < SIZES)
            rate = get(&list[size + far]);
    }
    const double us = rate > 0 ? 2 * w->multiply_adds / rate : 0;
    return us > LONG_US || get(&rates.on_cpu[cpu_of(w)][shape_of(w)][size]) >= AWAKE_US ? us : 0;
}

/* With a kernel that takes so many microseconds; 0: not known. */
static double gpu_us(const gt_work *w, double kernel_us)
{
    const double link = get(link_rate(w));
    return LAUNCH_US + w->bytes / (link > 0 ? link : LINK_BYTES) +
           (kernel_us > 0 ? kernel_us : 2 * w->multiply_adds / KERNEL_FLOP);
}

bool gt_worth_going(const gt_work *w)
{
    if (gt_worth_is_told())
        return w->multiply_adds >= (double)rates.threshold;
    if (!gt_worth_seeing(w->multiply_adds))
        return false;
    pthread_once(&rates.load, load);
    const double cpu = cpu_us(w), gpu = gpu_us(w, 0);
    if (gpu >= GAIN * cpu) {
        if (get(link_rate(w)) < LINK_MOST)
            set(link_rate(w), FADE * get(link_rate(w)));
        return false;
    }
    if (atomic_load_explicit(&rates.ready, memory_order_relaxed))
        return true;
    set(&rates.missed_us, get(&rates.missed_us) + cpu - gpu);
    return get(&rates.missed_us) >= SET_UP_US;
}

bool gt_worth_staying(const gt_work *w, double kernel_us)
{
    atomic_store_explicit(&rates.ready, true, memory_order_relaxed);
    return gt_worth_is_told() || gpu_us(w, kernel_us) < GAIN * cpu_us(w);
}

void gt_worth_see_gpu(const gt_work *w, double moved_us)
{
    const int shape = shape_of(w), size = size_of(w->multiply_adds);
    _Atomic double *const on_gpu = &rates.on_gpu[cpu_of(w)][shape][size];
    learn(link_rate(w), LINK_BYTES, w->bytes / moved_us);
    set(on_gpu, get(on_gpu) + moved_us);
    if (get(on_gpu) >= AGAIN_US) {
        set(on_gpu, 0);
        set(&rates.on_cpu[cpu_of(w)][shape][size], 0);
    }
}

void gt_worth_see_cpu(const gt_work *w, double us)
{
    const int shape = shape_of(w), size = size_of(w->multiply_adds);
    _Atomic double *const on_cpu = &rates.on_cpu[cpu_of(w)][shape][size];
    learn(&rates.of[cpu_of(w)][shape][size], 0, 2 * w->multiply_adds / us);
    set(on_cpu, get(on_cpu) + us);
}

bool gt_worth_seeing(double multiply_adds)
{
    return multiply_adds >= GT_WORTH_LEAST;
}
