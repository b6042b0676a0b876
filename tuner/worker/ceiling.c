#include "ceiling.h"

#include "../../src/core/launch.h"
#include "../timer.h"

#define THREADS    256
#define STEPS      (16 * 32) /* SUMS and ROUNDS of ceiling.cu */
#define STREAM_S   0.003     /* one launch of a stream */
#define WARM_UP_S  0.03      /* for an idle GPU to reach its clock */
#define SAMPLES    3
#define MOST_SHARE 8         /* blocks of a stream an SM holds at once: 2048 threads */

#define VECTOR_BYTES 16
#define COPY_UNIT    ((size_t)THREADS * 4 * VECTOR_BYTES) /* what a block of copy_4 takes */
#define COPY_L2S     16 /* so many times L2: what stays in it does not count */
#define COPY_MOST    ((size_t)1 << 30)
#define COPIES       4 /* a sample, so that each writes back what the one before left in L2 */

static const struct {
    const char *name;
    int each; /* vectors a thread */
} copies[] = {{"copy_1", 1}, {"copy_4", 4}};

/* Units that ceiling.cu keeps busy with a stream of multiply-adds. */
static const bool has_stream[GT_UNIT_COUNT] = {[GT_UNIT_F32] = true, [GT_UNIT_S32] = true};

static const char *const streams[] = {"stream_0", "stream_1"};

/* One kernel, ready to be launched again and again. */
typedef struct work {
    CUfunction function;
    unsigned blocks;
    int launches; /* in one sample */
    void **arguments;
} work;

bool gt_ceilings_have_stream(const gt_types *types)
{
    return has_stream[types->unit];
}

/* The seconds of one launch. */
static CUresult sample(const gt_meter *m, const work *w, double *seconds)
{
    float ms = 0;
    CUresult result = m->driver->cuEventRecord(m->start, m->stream);
    for (int i = 0; i < w->launches && result == CUDA_SUCCESS; i++)
        result = m->driver->cuLaunchKernel(w->function, w->blocks, 1, 1, THREADS, 1, 1, 0, m->stream, w->arguments,
                                           NULL);
    if (result == CUDA_SUCCESS)
        result = m->driver->cuEventRecord(m->stop, m->stream);
    if (result == CUDA_SUCCESS)
        result = m->driver->cuEventSynchronize(m->stop);
    if (result == CUDA_SUCCESS)
        result = m->driver->cuEventElapsedTime(&ms, m->start, m->stop);
    *seconds = 1e-3 * (double)ms / w->launches;
    return result;
}

/* Raises *best to what a second of this work amounts to, by its fastest sample: a ceiling, not an average. */
static CUresult raise(const gt_meter *m, const work *w, double amount, double *best)
{
    double seconds = 0;
    CUresult result = sample(m, w, &seconds); /* the first one loads the code */
    for (int i = 0; i < SAMPLES && result == CUDA_SUCCESS; i++) {
        result = sample(m, w, &seconds);
        if (result == CUDA_SUCCESS && seconds > 0 && amount / seconds > *best)
            *best = amount / seconds;
    }
    return result;
}

static CUresult warm_up(const gt_meter *m, const work *w)
{
    const double until = gt_now() + WARM_UP_S;
    double seconds;
    CUresult result = CUDA_SUCCESS;
    while (result == CUDA_SUCCESS && gt_now() < until)
        result = sample(m, w, &seconds);
    return result;
}

/* Turns of a stream's loop that take about STREAM_S. */
static int turns_for(const gt_device *device, const gt_types *types, unsigned blocks)
{
    const double rate = gt_device_peak_tflops(device, types) * 1e12;
    const double turns = STREAM_S * (rate > 0 ? rate : 1e13) / (2.0 * STEPS * THREADS * blocks);
    return turns < 1 ? 1 : turns > 1e6 ? (int)1e6 : (int)turns;
}

/* Both arrangements of operands, with few warps, which keep their operands close, and with as many as an SM holds. */
static CUresult measure_stream(const gt_meter *m, const gt_device *device, const gt_types *types, CUlibrary library,
                               double *tflops)
{
    CUdeviceptr out = 0;
    gt_scalar x = gt_scalar_make(types, types->exact ? 3 : 0.5), y = gt_scalar_make(types, 1);
    int turns = 1;
    void *arguments[] = {&out, &x, &y, &turns};
    bool warm = false;
    double best = 0;
    CUresult result = m->driver->cuMemAlloc(&out, (size_t)device->sm_count * MOST_SHARE * THREADS * 4);
    if (result != CUDA_SUCCESS)
        return result;
    for (size_t i = 0; i < sizeof streams / sizeof streams[0] && result == CUDA_SUCCESS; i++) {
        CUkernel kernel;
        result = m->driver->cuLibraryGetKernel(&kernel, library, streams[i]);
        for (int share = 2; share <= MOST_SHARE && result == CUDA_SUCCESS; share *= 2) {
            const work w = {(CUfunction)kernel, (unsigned)(share * device->sm_count), 1, arguments};
            if (share * THREADS > device->threads_per_sm)
                break;
            turns = turns_for(device, types, w.blocks);
            if (!warm)
                result = warm_up(m, &w);
            warm = true;
            if (result == CUDA_SUCCESS)
                result = raise(m, &w, 2.0 * STEPS * turns * THREADS * w.blocks, &best);
        }
    }
    m->driver->cuMemFree(out);
    if (result == CUDA_SUCCESS)
        *tflops = best * 1e-12;
    return result;
}

/* Bytes that a copy takes: far more than L2, of what is free; 0 if that is not there. */
static CUresult copy_size(const gt_meter *m, const gt_device *device, size_t *bytes)
{
    size_t free_bytes = 0, total = 0, wanted = COPY_L2S * (size_t)device->l2_bytes;
    const CUresult result = m->driver->cuMemGetInfo(&free_bytes, &total);
    if (wanted == 0 || wanted > COPY_MOST)
        wanted = COPY_MOST;
    if (wanted > free_bytes / 4)
        wanted = free_bytes / 4;
    *bytes = wanted >= 4 * (size_t)device->l2_bytes ? wanted / COPY_UNIT * COPY_UNIT : 0;
    return result;
}

static CUresult measure_copy(const gt_meter *m, const gt_device *device, CUlibrary library, double *copy_tbs)
{
    CUdeviceptr from = 0, to = 0;
    void *arguments[] = {&from, &to};
    size_t bytes = 0;
    double best = 0;
    CUresult result = copy_size(m, device, &bytes);
    if (result != CUDA_SUCCESS || bytes == 0)
        return result;
    if ((result = m->driver->cuMemAlloc(&from, bytes)) != CUDA_SUCCESS)
        return result == CUDA_ERROR_OUT_OF_MEMORY ? CUDA_SUCCESS : result;
    if ((result = m->driver->cuMemAlloc(&to, bytes)) == CUDA_SUCCESS)
        result = m->driver->cuMemsetD32Async(from, GT_POISON, bytes / 4, m->stream);
    for (size_t i = 0; i < sizeof copies / sizeof copies[0] && result == CUDA_SUCCESS; i++) {
        CUkernel kernel;
        result = m->driver->cuLibraryGetKernel(&kernel, library, copies[i].name);
        const size_t blocks = bytes / ((size_t)THREADS * (size_t)copies[i].each * VECTOR_BYTES);
        const work w = {(CUfunction)kernel, (unsigned)blocks, COPIES, arguments};
        if (result == CUDA_SUCCESS)
            result = raise(m, &w, 2.0 * (double)bytes, &best);
    }
    if (to)
        m->driver->cuMemFree(to);
    m->driver->cuMemFree(from);
    if (result == CUDA_SUCCESS)
        *copy_tbs = best * 1e-12;
    return result == CUDA_ERROR_OUT_OF_MEMORY ? CUDA_SUCCESS : result;
}

gt_status gt_ceilings_measure(const gt_meter *m, const gt_device *device, const gt_types *types,
                              const gt_code *code, gt_ceilings *out)
{
    gt_ceilings measured = {0};
    CUlibrary library;
    CUresult result = gt_code_load(m->driver, code, &library);
    if (result != CUDA_SUCCESS)
        return gt_driver_check(m->driver, result, "loading the kernels that measure ceilings");
    if (gt_ceilings_have_stream(types))
        result = measure_stream(m, device, types, library, &measured.tflops);
    if (result == CUDA_SUCCESS)
        result = measure_copy(m, device, library, &measured.copy_tbs);
    const double mhz = gt_clock_mhz(m->clock);
    if (mhz > 0 && mhz < GT_THROTTLED * gt_clock_max_mhz(m->clock))
        measured = (gt_ceilings){0};
    m->driver->cuLibraryUnload(library);
    if (result == CUDA_SUCCESS)
        *out = measured;
    return gt_driver_check(m->driver, result, "measuring ceilings");
}

double gt_ceilings_peak_percent(const gt_ceilings *ceilings, const gt_problem *problem, double us)
{
    return ceilings->tflops > 0 && us > 0 ? 100 * gt_problem_flops(problem) / us * 1e-6 / ceilings->tflops : 0;
}

double gt_ceilings_copy_percent(const gt_ceilings *ceilings, const gt_problem *problem, double us)
{
    const double bytes = (double)gt_problem_bytes(problem, GT_A) + (double)gt_problem_bytes(problem, GT_B) +
                         (double)gt_problem_bytes(problem, GT_C);
    return ceilings->copy_tbs > 0 && us > 0 ? 100 * bytes / us * 1e-6 / ceilings->copy_tbs : 0;
}
