#include "sampled.h"

#include <stdlib.h>
#include <string.h>

#include "../../src/softgpu/softgpu.h"
#include "../random.h"
#include "pool.h"
#include "reference.h"

#define SAMPLES 600  /* elements that are computed again, of those that were written */
#define TRIES   3000 /* places that are looked at for each of them; few blocks wrote */

void gt_sampled_init(const gt_checks *checks, gt_buffers *buffers, gt_sampled *sampled)
{
    *sampled = (gt_sampled){.checks = checks, .buffers = buffers};
}

/* A host image of an operand: rows are random, poison between them. NULL without memory. */
static void *make_operand(const gt_problem *p, gt_operand operand, uint64_t seed)
{
    const gt_stored o = gt_problem_stored(p, operand);
    const size_t bytes = gt_problem_bytes(p, operand);
    uint16_t *data = malloc(bytes + 2 * sizeof *data);
    gt_pool pool = {0};
    for (size_t i = 0; data && i <= bytes / sizeof *data; i++)
        data[i] = GT_POISON_HALF;
    if (data && gt_pool_init(o.type, seed, &pool) != GT_OK) {
        free(data);
        return NULL;
    }
    if (data)
        gt_pool_fill(&pool, &(gt_draws){.seed = ~seed}, &o, p->batch, data);
    gt_pool_finish(&pool);
    return data;
}

bool gt_sampled_prepare(gt_sampled *s, const gt_problem *problem, uint64_t seed, gt_trial *trial)
{
    const gt_driver *driver = s->checks->driver;
    gt_buffers *b = s->buffers;
    if (s->ready && s->seed == seed && b->placed && gt_problem_same(problem, &b->problem))
        return true;
    s->ready = false;
    s->seed = seed;
    free(s->a);
    free(s->b);
    s->a = s->b = NULL;
    if (!gt_buffers_place(b, problem, trial))
        return false;
    s->a = make_operand(problem, GT_A, gt_stream_seed(seed, GT_STREAM_A));
    s->b = make_operand(problem, GT_B, gt_stream_seed(seed, GT_STREAM_B));
    if (!s->a || !s->b)
        return gt_trial_fail(trial, GT_TRIAL_NOT_TRIED, "out of memory for the problem's operands");
    CUresult result = CUDA_SUCCESS;
    if (b->a.bytes > 0)
        result = driver->cuMemcpyHtoD(b->a.data, s->a, b->a.bytes);
    if (result == CUDA_SUCCESS && b->b.bytes > 0)
        result = driver->cuMemcpyHtoD(b->b.data, s->b, b->b.bytes);
    s->ready = gt_trial_check(trial, driver, result, "uploading the problem");
    return s->ready;
}

/* The sum of one element and of its squares. */
static void add_up(const gt_sampled *s, int64_t index, int64_t i, int64_t j, double *sum, double *square)
{
    const gt_problem *p = &s->buffers->problem;
    const gt_type_info *type_a = gt_type_find(p->class.type_a), *type_b = gt_type_find(p->class.type_b);
    const int64_t a_row = p->class.op_a == GT_N ? p->lda : 1, a_step = p->class.op_a == GT_N ? 1 : p->lda;
    const int64_t b_step = p->class.op_b == GT_N ? p->ldb : 1, b_column = p->class.op_b == GT_N ? 1 : p->ldb;
    const bool exact = gt_class_types(&p->class)->exact;
    uint32_t wrapped = 0;
    *sum = *square = 0;
    for (int64_t l = 0; l < p->k; l++) {
        const double x = type_a->load(s->a, index * p->stride_a + i * a_row + l * a_step);
        const double y = type_b->load(s->b, index * p->stride_b + l * b_step + j * b_column);
        if (exact)
            wrapped += (uint32_t)(int32_t)x * (uint32_t)(int32_t)y;
        *sum += x * y;
        *square += x * y * (x * y);
    }
    if (exact)
        *sum = (int32_t)wrapped;
}

/* Elements at random places that are no longer poison, against what they should be. */
static bool check_written(const gt_sampled *s, const char *c, double *share, gt_trial *trial)
{
    const gt_problem *p = &s->buffers->problem;
    const gt_types *types = gt_class_types(&p->class);
    const size_t bytes = (size_t)gt_type_find(p->class.type_c)->bytes;
    const uint64_t seed = gt_stream_seed(s->seed, GT_STREAM_PLACES);
    static const uint32_t poison[] = {GT_POISON, GT_POISON};
    int64_t looked = 0, checked = 0;
    for (; looked < TRIES * SAMPLES && checked < SAMPLES; looked++) {
        const uint64_t bits = gt_random_bits(seed, (uint64_t)looked);
        const int64_t place = (int64_t)(bits % (uint64_t)(p->batch * p->m * p->n));
        const int64_t index = place / (p->m * p->n), i = place / p->n % p->m, j = place % p->n;
        const int64_t at = index * p->stride_c + i * p->ldc + j;
        double sum, square;
        if (memcmp(c + (size_t)at * bytes, poison, bytes) == 0)
            continue;
        add_up(s, index, i, j, &sum, &square);
        const double got = gt_reference_load(p->class.type_c, c, at);
        const double bound = gt_reference_bound(types, p->k, p->k, 1, 0, square, 0);
        checked++;
        if (!gt_reference_accepts(got, sum, bound))
            return gt_trial_fail(trial, GT_TRIAL_WRONG_RESULT,
                                 "element (%lld,%lld) is %.9g, expected %.9g within %.2g (some blocks of the problem)",
                                 (long long)i, (long long)j, got, sum, bound);
    }
    *share = looked > 0 ? (double)checked / (double)looked : 0;
    if (checked == 0)
        return gt_trial_fail(trial, GT_TRIAL_WRONG_RESULT, "wrote nothing of C (some blocks of the problem)");
    return true;
}

bool gt_sampled_verify(gt_sampled *s, const gt_runner *runner, const gt_launch_operands *operands, double *share,
                       gt_trial *trial)
{
    const gt_driver *driver = s->checks->driver;
    const gtSoft *soft = driver->soft;
    char *c = malloc(s->buffers->c.bytes);
    if (!c)
        return gt_trial_fail(trial, GT_TRIAL_NOT_TRIED, "out of memory for C");
    CUresult result = gt_buffers_reset_c(s->buffers, false, s->seed);
    if (result == CUDA_SUCCESS)
        result = driver->cuStreamSynchronize(s->checks->stream);
    soft->sample(2);
    if (result == CUDA_SUCCESS)
        result = runner->launch(runner, operands);
    if (result == CUDA_SUCCESS)
        result = driver->cuStreamSynchronize(s->checks->stream);
    soft->sample(0);
    if (result == CUDA_SUCCESS)
        result = driver->cuMemcpyDtoH(c, s->buffers->c.data, s->buffers->c.bytes);
    const bool good = gt_trial_check(trial, driver, result, "running some blocks of the problem") &&
                      check_written(s, c, share, trial);
    free(c);
    return good;
}
