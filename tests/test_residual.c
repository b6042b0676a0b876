/* The problem that stands in for a large one where that would take minutes to check. */
#include "../tuner/worker/residual.h"
#include "params_fixture.h"

static gt_problem problem(gt_gemm gemm)
{
    gt_problem p;
    CHECK_OK(gt_problem_init(&gemm, &p));
    return p;
}

static gt_kernel kernel(int tile_m, int tile_n, int bk, int split_k)
{
    gt_kernel k = {.facts = {.tile_m = tile_m, .tile_n = tile_n, .split_k = split_k}};
    CHECK_OK(gt_params_add(&k.params, "bk", bk));
    return k;
}

TEST(a_stand_in_has_the_same_tails_alignment_and_layout)
{
    static const int tiles[] = {16, 32, 48, 64, 96, 128, 192, 256}, steps[] = {4, 8, 16, 32, 64, 48},
                     splits[] = {1, 1, 2, 3, 4, 8, 24};
    for (int i = 0; i < 20000; i++) {
        const gt_kernel k = kernel(tiles[check_random() % 8], tiles[check_random() % 8], steps[check_random() % 6],
                                   splits[check_random() % 7]);
        const int64_t sides[] = {1, 100, 600, 5000, 20000};
        const int64_t m = 1 + (int64_t)(check_random() % (uint64_t)sides[check_random() % 5]),
                      n = 1 + (int64_t)(check_random() % (uint64_t)sides[check_random() % 5]),
                      depth = 1 + (int64_t)(check_random() % (uint64_t)sides[check_random() % 5]);
        gt_gemm gemm = GT_GEMM(GT_F32, m, n, depth);
        gemm.op_a = check_random() % 2 ? GT_T : GT_N;
        gemm.op_b = check_random() % 2 ? GT_T : GT_N;
        gemm.batch = 1 + (int64_t)(check_random() % 5);
        gemm.ldc = n + (int64_t)(check_random() % 3);
        const gt_problem p = problem(gemm), s = gt_residual_stand_in(&p, &k);
        const int64_t step = value_of(&k.params, "bk");
        CHECK_INT(s.m % k.facts.tile_m, p.m % k.facts.tile_m);
        CHECK_INT(s.n % k.facts.tile_n, p.n % k.facts.tile_n);
        CHECK_INT(s.k % (step * k.facts.split_k), p.k % (step * k.facts.split_k)); /* the parts of K are as uneven */
        CHECK(s.m <= p.m && s.n <= p.n && s.k <= p.k && s.batch <= p.batch);
        CHECK(gt_class_same(&s.class, &p.class) && s.ldc - s.n == p.ldc - p.n);
        CHECK(gt_problem_flops(&s) <= gt_problem_flops(&p));
        /* As many tiles as a kernel must be seen with. */
        CHECK(s.m == p.m || (s.m >= 2 * k.facts.tile_m && s.m >= 64));
        CHECK(s.n == p.n || (s.n >= 2 * k.facts.tile_n && s.n >= 64));
        CHECK(s.k == p.k || s.k >= 256);
    }
}

TEST(a_stand_in_is_small_and_small_problems_stand_for_themselves)
{
    const gt_kernel k = kernel(128, 256, 16, 1);
    const gt_gemm gemms[] = {GT_GEMM(GT_F32, 300, 200, 350), GT_GEMM(GT_F32, 8192, 8192, 8192),
                             GT_GEMM(GT_F32, 8191, 4097, 12289)};
    const gt_problem small = problem(gemms[0]), large = problem(gemms[1]), odd = problem(gemms[2]);
    gt_problem s = gt_residual_stand_in(&small, &k);
    CHECK(s.m == small.m && s.n == small.n && s.k == small.k && s.lda == small.lda);
    s = gt_residual_stand_in(&large, &k);
    CHECK_INT(s.m, 256);
    CHECK_INT(s.n, 512);
    CHECK_INT(s.k, 256);
    s = gt_residual_stand_in(&odd, &k);
    CHECK_INT(s.n, 512 + 1);
    CHECK_INT(s.k, 256 + 1);
    CHECK(gt_problem_flops(&s) < 3e8);
    const gt_kernel broken = {.facts = {.tile_m = 0, .tile_n = 64, .split_k = 1}};
    CHECK_INT(gt_residual_stand_in(&large, &broken).m, large.m);
}

CHECK_MAIN
