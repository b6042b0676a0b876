#include "verify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../random.h"

/* The sizes. The general one leaves tiles up to 256 x 256 a full and a partial one; its K is longer than 256, the most
 * that pipelines hold at once, and the deep one's longer than that times a split of 8. */
enum { GENERAL, DEEP, THIN, TALL, ONE, NO_K };

static const struct {
    int64_t m, n, k, batch;
} sizes[] = {
    [GENERAL] = {261, 519, 331, 2}, [DEEP] = {37, 70, 2777, 1}, [THIN] = {1, 67, 5, 1},
    [TALL] = {67, 1, 5, 1},         [ONE] = {1, 1, 1, 1},       [NO_K] = {33, 65, 0, 1},
};

_Static_assert(sizeof sizes / sizeof sizes[0] == GT_CASE_SETS, "every set has its sizes");

/* What A and B are for a launch: themselves, all NaN, or null pointers. */
typedef enum presence { GIVEN, POISONED, ABSENT } presence;

/* The launches, mild ones first: a null pointer that is read costs the worker. C is poisoned where beta is 0. Integers
 * take four times the scalars: 6 and -3. */
static const struct {
    int set;
    double alpha, beta;
    presence ab;
} launches[] = {
    {GENERAL, 1.5, -0.75, GIVEN},  {GENERAL, 1.5, 0, GIVEN}, {DEEP, 1.5, -0.75, GIVEN},  {THIN, 1.5, -0.75, GIVEN},
    {TALL, 1.5, -0.75, GIVEN},     {ONE, 1.5, -0.75, GIVEN}, {ONE, 1, 0, GIVEN},         {NO_K, 1.5, -0.75, POISONED},
    {NO_K, 1.5, 0, POISONED},      {GENERAL, 0, -0.75, POISONED}, {GENERAL, 0, 0, ABSENT}, {GENERAL, 0, -0.75, ABSENT},
};

void gt_verifier_init(const gt_checks *checks, uint64_t seed, gt_verifier *verifier)
{
    *verifier = (gt_verifier){.checks = checks, .seed = seed};
    gt_buffers_init(checks, &verifier->buffers);
}

static void finish_cases(gt_cases *cases)
{
    for (int i = 0; i < GT_CASE_SETS; i++) {
        free(cases->sets[i].a);
        free(cases->sets[i].b);
        free(cases->sets[i].c);
        gt_reference_finish(&cases->sets[i].reference);
    }
    *cases = (gt_cases){0};
}

/* A host image of a stored operand: elements random, everything between them poisoned. */
static void *make_operand(const gt_matrix *matrix, int64_t batch, int64_t stride, size_t bytes, uint64_t seed)
{
    const gt_type_info *type = gt_type_find(matrix->type);
    uint16_t *data = malloc(bytes + 2);
    if (!data)
        return NULL;
    for (size_t i = 0; i < bytes / 2; i++)
        data[i] = GT_POISON_HALF;
    uint64_t drawn = 0;
    for (int64_t i = 0; i < batch; i++)
        for (int64_t row = 0; row < matrix->rows; row++)
            for (int64_t column = 0; column < matrix->columns; column++)
                type->draw(data, i * stride + row * matrix->ld + column, gt_random_bits(seed, drawn++));
    return data;
}

/* The smallest leading dimension above the row that is an odd multiple of the alignment: no kernel may count on more.
 */
static int64_t padded(int64_t columns, int bytes, int align)
{
    const int64_t unit = align > bytes ? align / bytes : 1, units = (columns + unit - 1) / unit + 1;
    return (units | 1) * unit;
}

static gt_status make_problem(const gt_class *class, int set, gt_problem *problem)
{
    const int ab = gt_type_find(class->type_ab)->bytes, c = gt_type_find(class->type_c)->bytes;
    gt_gemm gemm = gt_class_gemm(class, sizes[set].m, sizes[set].n, sizes[set].k);
    const bool a_transposed = class->op_a == GT_T, b_transposed = class->op_b == GT_T;
    gemm.batch = sizes[set].batch;
    gemm.lda = padded(a_transposed ? gemm.m : gemm.k, ab, class->align);
    gemm.ldb = padded(b_transposed ? gemm.k : gemm.n, ab, class->align);
    gemm.ldc = padded(gemm.n, c, class->align);
    gemm.stride_a = ((a_transposed ? gemm.k : gemm.m) + 1) * gemm.lda;
    gemm.stride_b = ((b_transposed ? gemm.n : gemm.k) + 1) * gemm.ldb;
    gemm.stride_c = (gemm.m + 1) * gemm.ldc;
    return gt_problem_init(&gemm, problem);
}

static gt_status make_case(const gt_class *class, int set, uint64_t seed, gt_case *out)
{
    gt_problem *const p = &out->problem;
    gt_status status = make_problem(class, set, p);
    if (status != GT_OK)
        return status;
    const gt_matrix a = gt_matrix_of(p, GT_A, 0, 0), b = gt_matrix_of(p, GT_B, 0, 0), c = gt_matrix_of(p, GT_C, 0, 0);
    seed = gt_random_bits(seed, 100 + (uint64_t)set);
    out->a = make_operand(&a, p->batch, p->stride_a, gt_problem_bytes(p, GT_A), gt_stream_seed(seed, GT_STREAM_A));
    out->b = make_operand(&b, p->batch, p->stride_b, gt_problem_bytes(p, GT_B), gt_stream_seed(seed, GT_STREAM_B));
    out->c = make_operand(&c, p->batch, p->stride_c, gt_problem_bytes(p, GT_C), gt_stream_seed(seed, GT_STREAM_C));
    if (!out->a || !out->b || !out->c)
        return gt_fail_memory();
    return gt_reference_init(p, out->a, out->b, &out->reference);
}

bool gt_verify_prepare(gt_verifier *verifier, const gt_class *class, const gt_cases **out, gt_trial *trial)
{
    for (int i = 0; i < GT_CASE_CACHE; i++) {
        const gt_cases *c = &verifier->cache[i];
        if (c->made && gt_class_same(&c->class, class)) {
            *out = c;
            return true;
        }
    }
    gt_cases *cases = &verifier->cache[verifier->oldest];
    finish_cases(cases);
    *cases = (gt_cases){.class = *class};
    for (int set = 0; set < GT_CASE_SETS; set++)
        if (make_case(class, set, verifier->seed, &cases->sets[set]) != GT_OK)
            return gt_trial_fail(trial, GT_TRIAL_OVER_RESOURCES, "preparing the small checks: %s", gt_error_message());
    cases->made = true;
    verifier->oldest = (verifier->oldest + 1) % GT_CASE_CACHE;
    *out = cases;
    return true;
}

/* Every element against the reference. `result` is C as it came back. */
static bool compare(const gt_case *c, const void *result, double alpha, double beta, const char *where, gt_trial *trial)
{
    const gt_problem *p = &c->problem;
    const gt_types *types = gt_class_types(&p->class);
    int64_t at = 0;
    for (int64_t index = 0; index < p->batch; index++)
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++, at++) {
                const int64_t place = index * p->stride_c + i * p->ldc + j;
                const double before = beta == 0 ? 0 : gt_reference_load(p->class.type_c, c->c, place);
                const double got = gt_reference_load(p->class.type_c, result, place);
                const double wanted = gt_reference_scale(types, alpha, c->reference.sum[at], beta, before);
                const double bound =
                    gt_reference_bound(types, p->k, alpha, beta, c->reference.square[at], before * before);
                const double scale = fabs(alpha) * c->reference.magnitude[at] + fabs(beta * before);
                if (!gt_reference_accepts(got, wanted, bound))
                    return gt_trial_fail(trial, GT_TRIAL_WRONG_RESULT,
                                         "element (%lld,%lld)%s is %.9g, expected %.9g within %.2g (%s)", (long long)i,
                                         (long long)j, index > 0 ? " of the second product" : "", got, wanted, bound,
                                         where);
                if (!types->exact && scale > 0 && fabs(got - wanted) / scale > trial->error)
                    trial->error = fabs(got - wanted) / scale;
            }
    return true;
}

static CUresult upload(const gt_buffers *buffers, const gt_case *c, presence ab, bool with_c)
{
    const gt_driver *driver = buffers->driver;
    CUresult result = CUDA_SUCCESS;
    if (ab == GIVEN && buffers->a.bytes > 0)
        result = driver->cuMemcpyHtoD(buffers->a.data, c->a, buffers->a.bytes);
    if (result == CUDA_SUCCESS && ab == GIVEN && buffers->b.bytes > 0)
        result = driver->cuMemcpyHtoD(buffers->b.data, c->b, buffers->b.bytes);
    if (result == CUDA_SUCCESS && with_c)
        result = driver->cuMemcpyHtoD(buffers->c.data, c->c, buffers->c.bytes);
    return result;
}

static bool verify_launch(gt_verifier *verifier, const gt_cases *cases, size_t which, gt_runner *runner,
                          gt_trial *trial)
{
    const gt_driver *driver = verifier->checks->driver;
    gt_buffers *buffers = &verifier->buffers;
    const gt_case *c = &cases->sets[launches[which].set];
    const gt_types *types = gt_class_types(&cases->class);
    const presence ab = launches[which].ab;
    const double unit = types->exact ? 4 : 1, alpha = launches[which].alpha * unit, beta = launches[which].beta * unit;
    char where[128], doing[160];
    snprintf(where, sizeof where, "check %lldx%lldx%lld, alpha=%g beta=%g%s", (long long)c->problem.m,
             (long long)c->problem.n, (long long)c->problem.k, alpha, beta,
             ab == ABSENT     ? ", A and B null"
             : ab == POISONED ? ", A and B nan"
                              : "");
    snprintf(doing, sizeof doing, "launching (%s)", where);

    if (!gt_buffers_place(buffers, &c->problem, cases->class.align < 16 ? (size_t)cases->class.align : 0, trial) ||
        !gt_trial_check(trial, driver, upload(buffers, c, ab, beta != 0), "uploading a small check") ||
        !runner->prepare(runner, &c->problem, trial))
        return false;
    const gt_launch_operands operands = {
        .a = ab == ABSENT ? NULL : (void *)buffers->a.data, .b = ab == ABSENT ? NULL : (void *)buffers->b.data,
        .c = (void *)buffers->c.data,
        .alpha = gt_scalar_make(types, alpha), .beta = gt_scalar_make(types, beta),
    };
    if (!gt_trial_check(trial, driver, runner->launch(runner, &operands), doing) ||
        !gt_buffers_intact(buffers, runner, where, trial))
        return false;
    void *result = malloc(buffers->c.bytes);
    if (!result)
        return gt_trial_fail(trial, GT_TRIAL_OVER_RESOURCES, "out of memory");
    const bool good =
        gt_trial_check(trial, driver, driver->cuMemcpyDtoH(result, buffers->c.data, buffers->c.bytes), doing) &&
        compare(c, result, alpha, beta, where, trial);
    free(result);
    return good;
}

bool gt_verify_cases(gt_verifier *verifier, const gt_cases *cases, gt_runner *runner, gt_trial *trial)
{
    for (size_t i = 0; i < sizeof launches / sizeof launches[0]; i++)
        if (!verify_launch(verifier, cases, i, runner, trial))
            return false;
    return true;
}
