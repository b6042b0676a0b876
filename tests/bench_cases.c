/* What the host does for a candidate's small checks: drawing and filling its cases, and judging what came back, in
 * milliseconds of all threads together. On a GPU that is most of what the checks take. */
#include "cases_fixture.h"

#define ROUNDS 8

static double busy(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

TEST(small_checks_of_a_large_tile_take_little_of_the_host)
{
    const gt_class class = {.type_a = GT_F32, .type_b = GT_F32, .type_c = GT_F32, .align = 16};
    const gt_kernel kernel = {
        .params = params_of("bk=16 stages=4"),
        .facts = {.tile_m = 128, .tile_n = 256, .split_k = 1, .ws_tile = 2 * 128 * 256 * 4, .blocks = 132, .products = 1}};
    gt_pool pools[GT_OPERANDS];
    char *before = NULL, *after = NULL;
    double fill = 0, judge = 0, bytes = 0;
    size_t room = 0, count = 0;
    for (gt_operand o = GT_A; o < GT_OPERANDS; o++)
        CHECK_OK(gt_pool_init(GT_F32, check_random(), &pools[o]));
    for (int round = 0; round <= ROUNDS; round++) {
        gt_cases cases;
        gt_errors errors = {0};
        gt_trial trial = {0};
        double start = busy();
        CHECK_OK(gt_cases_draw(&class, &kernel, check_random(), 0, GT_EXTENT_ALL, &cases));
        if (room < cases.bytes) {
            room = 2 * cases.bytes;
            before = realloc(before, room);
            after = realloc(after, room);
            memset(after, 0, room);
            memset(before, 0, room);
            start = busy();
        }
        gt_cases_fill(&cases, pools, before);
        const double filled = busy() - start;
        memcpy(after, before, cases.bytes);
        for (size_t i = 0; i < cases.count; i++)
            cases_multiply(&cases.list[i], before, after);
        start = busy();
        if (!gt_judge_end(gt_judge_begin(&cases, 0, cases.count, before), after, &errors, &trial))
            check_fail(__FILE__, __LINE__, "%s", trial.detail);
        if (round > 0) { /* the first one makes room */
            judge += busy() - start;
            fill += filled;
            bytes += (double)cases.bytes;
            count += cases.count;
        }
        gt_cases_finish(&cases);
    }
    printf("%zu products, %.1f MB: filled in %.1f ms, judged in %.1f ms\n", count / ROUNDS, bytes / ROUNDS / 1e6,
           fill / ROUNDS, judge / ROUNDS);
    for (gt_operand o = GT_A; o < GT_OPERANDS; o++)
        gt_pool_finish(&pools[o]);
    free(before);
    free(after);
}

CHECK_MAIN
