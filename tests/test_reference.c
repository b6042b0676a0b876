/* The host's reference and the error bound that candidates are judged by. */
#include "check.h"

#include "../tuner/worker/reference.h"

static double normal(void)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += (double)(check_random() >> 11) * 0x1p-53;
    return sum;
}

static void fill(gt_type type, void *data, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t bits = check_random();
        if (type == GT_F32)
            ((float *)data)[i] = (float)normal();
        else if (type == GT_F64)
            ((double *)data)[i] = normal();
        else if (type == GT_S32)
            ((uint32_t *)data)[i] = (uint32_t)bits;
        else if (type == GT_S8)
            ((uint8_t *)data)[i] = (uint8_t)bits;
        else if (type == GT_E4M3 || type == GT_E5M2) /* all that are finite */
            ((uint8_t *)data)[i] = (uint8_t)((bits >> 63) << 7 | bits % 0x7c);
        else /* signs, exponents around zero and mantissas, all by their bits */
            ((uint16_t *)data)[i] = (uint16_t)((bits >> 63) << 15 | (10 + bits % 8) << 10 | (bits >> 32 & 1023));
    }
}

/* The definition, element by element in long double or in integers. */
static void check_against_definition(gt_type type_a, gt_type type_b, gt_type c, gt_op op_a, gt_op op_b)
{
    gt_gemm gemm = {.m = 7, .n = 5, .k = 11, .batch = 2, .lda = 13, .ldb = 17, .ldc = 9, .op_a = op_a, .op_b = op_b,
                    .type_ab = type_a, .type_b = type_b, .type_c = c};
    gt_problem p;
    gt_reference reference;
    uint64_t a[2 * 13 * 13], b[2 * 17 * 17];
    CHECK_OK(gt_problem_init(&gemm, &p));
    fill(type_a, a, 2 * 13 * 13);
    fill(type_b, b, 2 * 17 * 17);
    CHECK_OK(gt_reference_init(&p, a, b, &reference));
    for (int64_t index = 0; index < 2; index++)
        for (int64_t i = 0; i < p.m; i++)
            for (int64_t j = 0; j < p.n; j++) {
                long double sum = 0, square = 0, magnitude = 0;
                uint32_t wrapped = 0;
                for (int64_t l = 0; l < p.k; l++) {
                    const double x = gt_reference_load(
                        type_a, a, index * p.stride_a + (op_a == GT_N ? i * p.lda + l : l * p.lda + i));
                    const double y = gt_reference_load(
                        type_b, b, index * p.stride_b + (op_b == GT_N ? l * p.ldb + j : j * p.ldb + l));
                    sum += (long double)x * y;
                    square += (long double)x * y * x * y;
                    magnitude += fabsl((long double)x * y);
                    wrapped += (uint32_t)((int64_t)x * (int64_t)y);
                }
                const int64_t at = (index * p.m + i) * p.n + j;
                if (c == GT_S32) {
                    CHECK_INT((int64_t)reference.sum[at], (int32_t)wrapped);
                } else {
                    CHECK_NEAR(reference.sum[at], (double)sum, 1e-13 * (double)magnitude);
                    CHECK_NEAR(reference.square[at], (double)square, 1e-13 * (double)square);
                    CHECK_NEAR(reference.magnitude[at], (double)magnitude, 1e-13 * (double)magnitude);
                }
            }
    gt_reference_finish(&reference);
}

TEST(sums_follow_the_definition_in_all_types_and_layouts)
{
    for (int layout = 0; layout < 4; layout++) {
        check_against_definition(GT_F32, GT_F32, GT_F32, (gt_op)(layout / 2), (gt_op)(layout % 2));
        check_against_definition(GT_S32, GT_S32, GT_S32, (gt_op)(layout / 2), (gt_op)(layout % 2));
        check_against_definition(GT_F16, GT_F16, GT_F32, (gt_op)(layout / 2), (gt_op)(layout % 2));
        check_against_definition(GT_S8, GT_S8, GT_S32, (gt_op)(layout / 2), (gt_op)(layout % 2));
        check_against_definition(GT_F64, GT_F64, GT_F64, (gt_op)(layout / 2), (gt_op)(layout % 2));
        check_against_definition(GT_E4M3, GT_E4M3, GT_BF16, (gt_op)(layout / 2), (gt_op)(layout % 2));
        check_against_definition(GT_E5M2, GT_E4M3, GT_F32, (gt_op)(layout / 2), (gt_op)(layout % 2));
    }
}

/* Cancelling sums: in f64 few digits would be left of them. */
TEST(sums_of_f64_have_twice_its_precision)
{
    enum { K = 200 };
    gt_gemm gemm = GT_GEMM(GT_F64, 1, 1, 2 * K + 1);
    double a[2 * K + 1], b[2 * K + 1];
    gt_problem p;
    gt_reference reference;
    CHECK_OK(gt_problem_init(&gemm, &p));
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < K; i++) {
            a[i] = a[2 * K - i] = normal();
            b[i] = normal();
            b[2 * K - i] = -b[i];
        }
        a[K] = 0x1p-40;
        b[K] = normal();
        CHECK_OK(gt_reference_init(&p, a, b, &reference));
        CHECK_NEAR(reference.sum[0], a[K] * b[K], 0x1p-100 * reference.magnitude[0]);
        gt_reference_finish(&reference);
    }
}

TEST(empty_sums_are_zero)
{
    gt_gemm gemm = GT_GEMM(GT_F32, 3, 4, 0);
    gt_problem p;
    gt_reference reference;
    CHECK_OK(gt_problem_init(&gemm, &p));
    CHECK_OK(gt_reference_init(&p, "", "", &reference));
    for (int i = 0; i < 12; i++)
        CHECK(reference.sum[i] == 0 && reference.square[i] == 0);
    gt_reference_finish(&reference);
}

TEST(half_precision_is_decoded_exactly)
{
    const uint16_t bits[] = {0x0000, 0x8000, 0x3c00, 0xc000, 0x7bff, 0x0001, 0x03ff, 0x3555, 0x7c00, 0xfc00, 0x7fff};
    const double values[] = {0, 0, 1, -2, 65504, 0x1p-24, 1023 * 0x1p-24, 1365 * 0x1p-12, INFINITY, -INFINITY};
    for (int i = 0; i < 10; i++)
        CHECK(gt_reference_load(GT_F16, bits, i) == values[i]);
    CHECK(isnan(gt_reference_load(GT_F16, bits, 10)));
}

TEST(scaling_ignores_c_where_beta_is_zero_and_wraps_integers)
{
    const gt_types *f32 = gt_types_parse("f32", GT_MATH_STRICT), *s32 = gt_types_parse("s32", GT_MATH_STRICT);
    CHECK(gt_reference_scale(f32, 1.5, 4, 0, NAN) == 6);
    CHECK(gt_reference_scale(f32, 0, NAN, -0.75, 4) == -3);
    CHECK(gt_reference_scale(s32, 6, 7, -3, 5) == 27);
    CHECK(gt_reference_scale(s32, 2, 0x7fffffff, 0, 0) == -2);
    CHECK(gt_reference_scale(s32, 3, -2147483647.0 - 1, 1, 1) == -2147483647.0);
}

/* One element's sum in f32 as kernels form it: `lanes` partial sums, fused or not, added up in the end. */
static float sum_like_a_kernel(const float *a, const float *b, int64_t k, int lanes, int fused)
{
    float partial[64] = {0}, total = 0;
    for (int64_t p = 0; p < k; p++) {
        float *sum = &partial[p * lanes / k];
        const volatile float product = a[p] * b[p];
        *sum = fused ? fmaf(a[p], b[p], *sum) : *sum + product;
    }
    for (int i = 0; i < lanes; i++)
        total += partial[i];
    return total;
}

/* How tensor cores are modelled: the sum is cut to f32 after every `group` products. */
static float sum_truncated(const float *a, const float *b, int64_t k, int64_t group)
{
    float total = 0;
    for (int64_t p = 0; p < k;) {
        double exact = total;
        for (const int64_t end = p + group < k ? p + group : k; p < end; p++)
            exact += (double)a[p] * b[p];
        float cut = (float)exact;
        if (fabs((double)cut) > fabs(exact))
            cut = nextafterf(cut, 0);
        total = cut;
    }
    return total;
}

typedef struct dot {
    float *a, *b;
    double sum, square, largest;
    int64_t largest_at;
} dot;

static dot make_dot(int64_t k)
{
    dot d = {.a = malloc((size_t)k * sizeof(float)), .b = malloc((size_t)k * sizeof(float)), .largest_at = -1};
    for (int64_t p = 0; p < k; p++) {
        d.a[p] = (float)normal();
        d.b[p] = (float)normal();
        const double x = (double)d.a[p] * d.b[p];
        d.sum += x;
        d.square += x * x;
        if (fabs(x) > d.largest) {
            d.largest = fabs(x);
            d.largest_at = p;
        }
    }
    return d;
}

static void free_dot(dot *d)
{
    free(d->a);
    free(d->b);
}

TEST(rounding_in_any_order_is_accepted)
{
    static const int lanes[] = {1, 2, 7, 32, 64};
    static const int64_t lengths[] = {1, 2, 5, 64, 331, 2777, 65536};
    const gt_types *f32 = gt_types_parse("f32", GT_MATH_STRICT), *f16 = gt_types_parse("f16_f32", GT_MATH_STRICT);
    for (size_t length = 0; length < 7; length++)
        for (int seed = 0; seed < (lengths[length] > 10000 ? 10 : 200); seed++) {
            dot d = make_dot(lengths[length]);
            for (int i = 0; i < 10; i++) {
                const double got = sum_like_a_kernel(d.a, d.b, lengths[length], lanes[i / 2], i % 2);
                CHECK(gt_reference_accepts(got, d.sum, gt_reference_bound(f32, lengths[length], 0, 1, 0, d.square, 0)));
                const float c = (float)normal(), scaled = fmaf(-0.75f, c, 1.5f * (float)got);
                CHECK(gt_reference_accepts(
                    scaled, 1.5 * d.sum - 0.75 * (double)c,
                    gt_reference_bound(f32, lengths[length], 0, 1.5, -0.75, d.square, (double)c * c)));
            }
            CHECK(gt_reference_accepts(sum_truncated(d.a, d.b, lengths[length], f16->cut.group), d.sum,
                                       gt_reference_bound(f16, lengths[length], 0, 1, 0, d.square, 0)));
            free_dot(&d);
        }
}

TEST(a_missing_product_is_refused)
{
    static const int64_t lengths[] = {1, 5, 331, 2777, 65536};
    const gt_types *f32 = gt_types_parse("f32", GT_MATH_STRICT), *f16 = gt_types_parse("f16_f32", GT_MATH_STRICT);
    for (int i = 0; i < 5; i++) {
        dot d = make_dot(lengths[i]);
        d.a[d.largest_at] = 0;
        const double got = sum_like_a_kernel(d.a, d.b, lengths[i], 1, 1);
        CHECK(!gt_reference_accepts(got, d.sum, gt_reference_bound(f32, lengths[i], 0, 1, 0, d.square, 0)));
        if (lengths[i] <= 331) /* the bound of truncating units grows with k, not its root */
            CHECK(!gt_reference_accepts(got, d.sum, gt_reference_bound(f16, lengths[i], 0, 1, 0, d.square, 0)));
        free_dot(&d);
    }
}

/* C = A B in f32, and its rows times a random vector, as at the tuned size. */
TEST(row_residuals_accept_rounding_and_refuse_one_wrong_element)
{
    enum { M = 24, N = 300, K = 200 };
    static float a[M][K], b[K][N], c[M][N];
    static double x[N];
    const gt_types *f32 = gt_types_parse("f32", GT_MATH_STRICT);
    for (int i = 0; i < M * K; i++)
        a[i / K][i % K] = (float)normal();
    for (int i = 0; i < K * N; i++)
        b[i / N][i % N] = (float)normal();
    for (int j = 0; j < N; j++)
        x[j] = check_random() >> 63 ? 1 : -1;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            for (int p = 0; p < K; p++)
                c[i][j] = fmaf(a[i][p], b[p][j], c[i][j]);
    for (int i = 0; i < M; i++) {
        double wanted = 0, got = 0, square = 0;
        for (int p = 0; p < K; p++) {
            double row = 0, row_square = 0;
            for (int j = 0; j < N; j++) {
                row += (double)b[p][j] * x[j];
                row_square += (double)b[p][j] * b[p][j];
            }
            wanted += (double)a[i][p] * row;
            square += (double)a[i][p] * a[i][p] * row_square;
        }
        for (int j = 0; j < N; j++)
            got += (double)c[i][j] * x[j];
        const double bound = gt_reference_bound(f32, K, 0, 1, 0, square, 0);
        CHECK(gt_reference_accepts(got, wanted, bound));
        CHECK(!gt_reference_accepts(got + 0.01, wanted, bound));
        int most = 0; /* an element that is not small by chance */
        for (int j = 0; j < N; j++)
            most = fabsf(c[i][j]) > fabsf(c[i][most]) ? j : most;
        CHECK(!gt_reference_accepts(got - x[most] * (double)c[i][most], wanted, bound));
    }
}

TEST(what_is_not_finite_is_refused)
{
    CHECK(!gt_reference_accepts(NAN, 1, 1e30));
    CHECK(!gt_reference_accepts(INFINITY, 1, 1e30));
    CHECK(!gt_reference_accepts(1, 1, NAN));
    CHECK(!gt_reference_accepts(NAN, NAN, 1));
    CHECK(gt_reference_accepts(1, 1, 0));
}

TEST(integers_have_no_tolerance)
{
    const gt_types *s32 = gt_types_parse("s32", GT_MATH_STRICT);
    CHECK(gt_reference_bound(s32, 4096, 0, 6, -3, 1e12, 1e6) == 0);
    CHECK(gt_reference_accepts(27, 27, 0));
    CHECK(!gt_reference_accepts(28, 27, 0));
}

CHECK_MAIN
