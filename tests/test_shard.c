/* Shards: every problem falls to one of them, and they have about as much to do. */
#include "../tuner/engine/shard.h"
#include "check.h"

#define MOST 64

static void draw(gt_problem *problems, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const gt_gemm gemm = GT_GEMM(GT_F32, 1 + (int64_t)(check_random() % 8192), 1 + (int64_t)(check_random() % 8192),
                                     1 + (int64_t)i);
        CHECK_OK(gt_problem_init(&gemm, &problems[i]));
    }
}

TEST(every_problem_falls_to_one_shard_and_keeps_its_place)
{
    for (int shards = 1; shards <= 9; shards++) {
        gt_problem all[MOST], part[MOST];
        double shares[MOST];
        const size_t total = check_random() % MOST;
        int seen[MOST + 1] = {0};
        draw(all, total);
        for (int i = 1; i <= shards; i++) {
            size_t count = total;
            memcpy(part, all, sizeof all);
            for (size_t j = 0; j < total; j++)
                shares[j] = 0.5 * (double)all[j].k;
            CHECK_OK(gt_shard_take(&(gt_shard){i, shards}, false, part, shares, &count));
            for (size_t j = 0; j < count; j++) {
                seen[part[j].k]++;
                CHECK(shares[j] == 0.5 * (double)part[j].k);
                CHECK(j == 0 || part[j].k > part[j - 1].k);
            }
        }
        for (size_t i = 1; i <= total; i++)
            CHECK_INT(seen[i], 1);
    }
}

TEST(shards_are_the_same_each_time_and_large_problems_are_apart)
{
    gt_problem problems[4], again[4];
    const int64_t sizes[] = {8192, 64, 8192, 64};
    for (int i = 1; i <= 2; i++) {
        size_t count = 4, same = 4;
        for (int j = 0; j < 4; j++) {
            const gt_gemm gemm = GT_GEMM(GT_F32, sizes[j], sizes[j], sizes[j]);
            CHECK_OK(gt_problem_init(&gemm, &problems[j]));
        }
        memcpy(again, problems, sizeof again);
        CHECK_OK(gt_shard_take(&(gt_shard){i, 2}, true, problems, NULL, &count));
        CHECK_OK(gt_shard_take(&(gt_shard){i, 2}, true, again, NULL, &same));
        CHECK(count == 2 && same == 2 && problems[0].m + problems[1].m == 8256);
        CHECK(gt_problem_same(&problems[0], &again[0]) && gt_problem_same(&problems[1], &again[1]));
    }
}

TEST(more_shards_than_problems_leave_some_with_nothing)
{
    gt_problem problem;
    size_t total = 0;
    for (int i = 1; i <= 3; i++) {
        size_t count = 1;
        draw(&problem, 1);
        CHECK_OK(gt_shard_take(&(gt_shard){i, 3}, false, &problem, NULL, &count));
        total += count;
    }
    CHECK_INT(total, 1);
}

TEST(what_is_no_shard_is_refused)
{
    static const char *const words[] = {"5/4", "0/0", "0/4", "4", "", "/", "1/", "/4", "-1/4", "1/-4", "1/4/4", "1.5/4",
                                        "1/99999999999999999999"};
    gt_shard shard = {0};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        CHECK_STATUS(gt_shard_parse(words[i], &shard), GT_ERROR_INVALID);
    CHECK_INT(shard.count, 0);
    CHECK_OK(gt_shard_parse("4/4", &shard));
    CHECK(shard.index == 4 && shard.count == 4);
}

CHECK_MAIN
