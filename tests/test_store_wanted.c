/* What programs asked for: added up, bounded, and found again by what it costs. */
#include "store_fixture.h"

static gt_wanted make_wanted(gt_type type, gt_op op_b, int64_t size, int64_t calls, double us)
{
    gt_gemm gemm = GT_GEMM(type, size, size, size);
    gt_wanted wanted = {.symbol = "cublasSgemm_v2", .fate = "not tuned", .tunable = true, .calls = calls, .us = us};
    gemm.op_b = op_b;
    CHECK_OK(gt_problem_init(&gemm, &wanted.problem));
    return wanted;
}

TEST(calls_add_up_and_times_become_the_new_ones)
{
    fixture f = fixture_open();
    gt_wanted wanted = make_wanted(GT_F32, GT_N, 64, 3, 10);
    CHECK_OK(gt_store_put_wanted(f.store, f.gpu, "a.out", &wanted, 1));
    wanted.us = 8;
    wanted.saved_us = 2;
    CHECK_OK(gt_store_put_wanted(f.store, f.gpu, "a.out", &wanted, 1));
    CHECK_OK(gt_store_put_wanted(f.store, f.gpu, "python3 b.py", &wanted, 1));
    CHECK_STR(ask(f.store, "SELECT group_concat(program || ' ' || calls || ' ' || us || ' ' || saved_us, ', ') FROM"
                           " (SELECT * FROM wanted ORDER BY program)"),
              "a.out 6 8.0 2.0, python3 b.py 3 8.0 2.0");
    fixture_close(&f);
}

TEST(what_takes_longest_comes_first)
{
    fixture f = fixture_open();
    const gt_device other = make_device("NVIDIA H100");
    int64_t other_gpu;
    gt_asked *asked = NULL;
    size_t count = 0;
    gt_wanted list[] = {
        make_wanted(GT_F32, GT_N, 64, 10, 1),   make_wanted(GT_BF16, GT_N, 128, 4, 20), make_wanted(GT_F32, GT_T, 256, 30, 2),
        make_wanted(GT_BF16, GT_N, 512, 1, 1), make_wanted(GT_F32, GT_N, 1024, 1, 9e6),
    };
    list[4].tunable = false; /* scalars on the device: no kernel changes that */
    CHECK_OK(gt_store_put_wanted(f.store, f.gpu, "a.out", list, 5));
    CHECK_OK(gt_store_gpu(f.store, &other, &other_gpu));
    const gt_wanted elsewhere = make_wanted(GT_F32, GT_N, 2048, 1, 9e6);
    CHECK_OK(gt_store_put_wanted(f.store, other_gpu, "a.out", &elsewhere, 1));
    CHECK_OK(gt_store_find_wanted(f.store, &f.device, &asked, &count));
    CHECK_INT(count, 4);
    CHECK(asked[0].problem.m == 128 && asked[1].problem.m == 256 && asked[2].problem.m == 64 && asked[3].problem.m == 512);
    CHECK(asked[0].us == 80 && asked[1].us == 60 && asked[2].us == 10 && asked[3].us == 1);
    CHECK(asked[1].problem.class.op_b == GT_T);
    free(asked);
    fixture_close(&f);
}

TEST(only_so_many_are_kept_and_those_that_were_seen_last)
{
    fixture f = fixture_open();
    gt_wanted *list = calloc(GT_WANTED_MOST, sizeof *list);
    const gt_wanted last = make_wanted(GT_F32, GT_N, GT_WANTED_MOST + 1, 1, 1);
    CHECK_OK(gt_sql_execute(f.store, "PRAGMA synchronous = OFF"));
    for (int i = 0; i < GT_WANTED_MOST; i++)
        list[i] = make_wanted(GT_F32, GT_N, 1 + i, 1, 1);
    CHECK_OK(gt_store_put_wanted(f.store, f.gpu, "a.out", list, GT_WANTED_MOST));
    CHECK_OK(gt_sql_execute(f.store, "UPDATE wanted SET last_seen = '2001-01-01 00:00:00' WHERE id = 7"));
    CHECK_OK(gt_store_put_wanted(f.store, f.gpu, "a.out", &last, 1));
    CHECK_STR(ask(f.store, "SELECT count(*) || ' ' || sum(id = 7) FROM wanted"), "20000 0");
    free(list);
    fixture_close(&f);
}

CHECK_MAIN
