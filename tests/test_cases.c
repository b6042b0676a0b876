/* The products that a kernel is checked on: what must be among them, whatever the seed. */
#include "../tuner/worker/cases.h"
#include "../tuner/worker/reference.h"
#include "params_fixture.h"

#define SOFT 60e6 /* some work that a drawing is held to */

static gt_kernel kernel(int tile_m, int tile_n, const char *params)
{
    return (gt_kernel){.params = params_of(params),
                       .facts = {.tile_m = tile_m, .tile_n = tile_n, .split_k = 2, .ws_tile = 1024}};
}

static gt_class class_of(gt_type ab, gt_type c, int align)
{
    return (gt_class){.type_a = ab, .type_b = ab, .type_c = c, .align = align, .op_a = check_random() % 2 ? GT_T : GT_N,
                      .op_b = check_random() % 2 ? GT_T : GT_N};
}

TEST(every_remainder_is_met)
{
    const gt_class class = class_of(GT_F32, GT_F32, 16);
    const gt_kernel k = kernel(96, 64, "bk=16 stages=3");
    bool m[96] = {0}, n[64] = {0}, depth[16] = {0};
    gt_cases cases;
    CHECK_OK(gt_cases_draw(&class, &k, check_random(), 0, &cases));
    for (size_t i = 0; i < cases.count; i++) {
        const gt_problem *p = &cases.list[i].problem;
        m[p->m % 96] = n[p->n % 64] = depth[p->k % 16] = true;
    }
    for (int i = 0; i < 96; i++)
        CHECK(m[i] && n[i % 64] && depth[i % 16]);
    gt_cases_finish(&cases);
}

TEST(small_tiles_are_swept_whole_within_bounded_work)
{
    const gt_class class = class_of(GT_F32, GT_F32, 4);
    const gt_kernel k = kernel(32, 64, "bk=16 stages=3");
    gt_cases cases;
    CHECK_OK(gt_cases_draw(&class, &k, check_random(), SOFT, &cases));
    CHECK_INT(cases.residues[0], 32);
    CHECK_INT(cases.residues[1], 64);
    CHECK_INT(cases.residues[2], 16);
    gt_cases_finish(&cases);
}

TEST(every_kind_of_product_is_there)
{
    static const double special[] = {0, 1, -1};
    for (int round = 0; round < 8; round++) {
        const bool bounded = round % 2;
        const gt_class class = class_of(GT_F32, GT_F32, 16);
        const gt_kernel k = kernel(64, 64, "bk=16 stages=3");
        bool alpha[5] = {0}, beta[5] = {0}, values[3] = {0}, zero = false, poison = false, again = false, rare = false;
        int64_t longest = 0, largest = 0, rows = 0, columns = 0, most = 0, three = 0;
        gt_cases cases;
        CHECK_OK(gt_cases_draw(&class, &k, check_random(), bounded ? SOFT : 0, &cases));
        for (size_t i = 0; i < cases.count; i++) {
            const gt_case *c = &cases.list[i];
            const gt_problem *p = &c->problem;
            for (int s = 0; s < 3; s++) {
                alpha[s] |= c->alpha == special[s];
                beta[s] |= c->beta == special[s];
            }
            alpha[3] |= c->alpha > 0 && c->alpha != 1;
            alpha[4] |= c->alpha < 0 && c->alpha != -1;
            beta[3] |= c->beta > 0 && c->beta != 1;
            beta[4] |= c->beta < 0 && c->beta != -1;
            rare |= c->alpha == 1 && c->beta != 0 && c->beta != 1;
            values[c->values] = true;
            zero |= c->beta == 0 && c->fill == GT_FILL_ZEROS;
            poison |= c->beta == 0 && c->fill == GT_FILL_POISON;
            again |= c->again;
            three |= p->batch > 2;
            longest = p->k > longest ? p->k : longest;
            largest = p->batch > largest ? p->batch : largest;
            rows = p->m > rows ? p->m : rows;
            columns = p->n > columns ? p->n : columns;
            most = c->repeats > most ? c->repeats : most;
            CHECK(c->repeats == 1 || c->beta == 0);
        }
        for (int s = 0; s < 5; s++)
            CHECK(alpha[s] && beta[s] && values[s % 3]);
        CHECK(rare && zero && poison && again && three);
        CHECK(longest > (bounded ? 4096 : 65536));
        CHECK(largest > 256);
        CHECK(rows > (bounded ? 20 : 200) * 64 && columns > (bounded ? 20 : 200) * 64);
        CHECK(most > (bounded ? 60 : 1000));
        gt_cases_finish(&cases);
    }
}

TEST(some_batches_are_larger_than_a_grid)
{
    const gt_class class = class_of(GT_F32, GT_F32, 16);
    const gt_kernel k = kernel(16, 16, "bk=8");
    int larger = 0;
    for (int round = 0; round < 100; round++) { /* one in eight: none in a hundred is once in 600,000 times */
        gt_cases cases;
        CHECK_OK(gt_cases_draw(&class, &k, check_random(), 0, &cases));
        for (size_t i = 0; i < cases.count; i++)
            larger += cases.list[i].problem.batch > 65535;
        gt_cases_finish(&cases);
    }
    CHECK(larger > 0);
}

TEST(operands_lie_apart_and_are_aligned_as_promised_and_no_better)
{
    static const struct {
        gt_type ab, c;
        int align;
    } classes[] = {{GT_F32, GT_F32, 16}, {GT_F32, GT_F32, 4}, {GT_BF16, GT_F32, 2}, {GT_F16, GT_F32, 8}};
    for (int round = 0; round < 8; round++) {
        const gt_class class = class_of(classes[round % 4].ab, classes[round % 4].c, classes[round % 4].align);
        const gt_kernel k = kernel(32, 32, "bk=8");
        gt_cases cases;
        size_t end = 0;
        CHECK_OK(gt_cases_draw(&class, &k, check_random(), SOFT, &cases));
        for (size_t i = 0; i < cases.count; i++) {
            const gt_problem *p = &cases.list[i].problem;
            CHECK(gt_class_serves(&class, &p->class));
            for (gt_operand o = GT_A; o < GT_OPERANDS; o++) {
                const size_t place = cases.list[i].place[o];
                const int bytes = gt_type_find(gt_problem_stored(p, o).type)->bytes;
                const size_t align = (size_t)(class.align > bytes ? class.align : bytes);
                CHECK(place % align == 0 && place % (2 * align) != 0);
                CHECK(place >= end + 1024);
                end = place + gt_problem_bytes(p, o);
            }
        }
        CHECK(cases.bytes >= end + 1024);
        gt_cases_finish(&cases);
    }
}

TEST(a_seed_gives_the_same_cases_and_another_gives_others)
{
    const gt_class class = class_of(GT_F32, GT_F32, 16);
    const gt_kernel k = kernel(32, 32, "bk=8");
    gt_cases first, same, other;
    CHECK_OK(gt_cases_draw(&class, &k, 7, SOFT, &first));
    CHECK_OK(gt_cases_draw(&class, &k, 7, SOFT, &same));
    CHECK_OK(gt_cases_draw(&class, &k, 8, SOFT, &other));
    CHECK(first.bytes == same.bytes && memcmp(first.image, same.image, first.bytes) == 0);
    CHECK(first.bytes != other.bytes || memcmp(first.image, other.image, first.bytes) != 0);
    gt_cases_finish(&first);
    gt_cases_finish(&same);
    gt_cases_finish(&other);
}

TEST(absurd_facts_are_refused)
{
    const gt_class class = class_of(GT_F32, GT_F32, 16);
    const gt_kernel k = kernel(0, 32, "bk=8");
    gt_cases cases;
    CHECK_STATUS(gt_cases_draw(&class, &k, 7, SOFT, &cases), GT_ERROR_INVALID);
}

CHECK_MAIN
