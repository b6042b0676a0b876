/* The products that a kernel is checked on: what must be among them, whatever the seed. */
#include "../src/core/copies.h"
#include "cases_fixture.h"

TEST(every_remainder_is_met)
{
    const gt_class class = class_of(GT_F32, GT_F32, 16);
    const gt_kernel k = kernel(96, 64, "bk=128 stages=3");
    bool m[96] = {0}, n[64] = {0}, depth[128] = {0};
    gt_cases cases;
    CHECK_OK(gt_cases_draw(&class, &k, check_random(), 0, GT_EXTENT_ALL, &cases));
    for (size_t i = 0; i < cases.count; i++) {
        const gt_problem *p = &cases.list[i].problem;
        m[p->m % 96] = n[p->n % 64] = depth[p->k % 128] = true;
    }
    for (int i = 0; i < 128; i++)
        CHECK(m[i % 96] && n[i % 64] && depth[i]);
    gt_cases_finish(&cases);
}

/* A kernel may be wrong at a single size, and where sizes or operands are the same. */
TEST(every_small_size_is_met_and_sizes_and_operands_that_are_equal)
{
    const gt_kernel kernels[] = {kernel(16, 128, "bk=32 stages=3"), kernel(256, 64, "bk=8 stages=2")};
    for (int i = 0; i < 2; i++) {
        const gt_class class = class_of(GT_BF16, GT_F32, 16);
        bool m[257] = {0}, n[257] = {0}, k[257] = {0}, squares = false, itself = false, longest = false;
        gt_cases cases;
        CHECK_OK(gt_cases_draw(&class, &kernels[i], check_random(), 0, GT_EXTENT_ALL, &cases));
        for (size_t j = 0; j < cases.count; j++) {
            const gt_problem *p = &cases.list[j].problem;
            m[p->m < 256 ? p->m : 256] = n[p->n < 256 ? p->n : 256] = k[p->k < 256 ? p->k : 256] = true;
            longest |= p->m > 65536 || p->n > 65536;
            const bool square = p->m == p->n && p->n == p->k && p->lda == p->ldb && p->ldb == p->ldc;
            squares |= square && p->m > 1 && cases.list[j].place[GT_A] != cases.list[j].place[GT_B];
            itself |= square && cases.list[j].place[GT_A] == cases.list[j].place[GT_B];
        }
        for (int size = 1; size < 256; size++)
            CHECK(m[size] && n[size] && k[size]);
        CHECK(squares && itself && longest);
        gt_cases_finish(&cases);
    }
}

TEST(small_tiles_are_swept_whole_within_bounded_work)
{
    const gt_class class = class_of(GT_F32, GT_F32, 4);
    const gt_kernel k = kernel(32, 64, "bk=16 stages=3");
    gt_cases cases;
    char text[128];
    CHECK_OK(gt_cases_draw(&class, &k, check_random(), SOFT, GT_EXTENT_ALL, &cases));
    gt_cases_describe(&cases, &k, text, sizeof text);
    CHECK(strstr(text, " products, 32 of 32 remainders of m, 64 of 64 of n, 16 of 16 of k"));
    gt_cases_finish(&cases);
}

TEST(few_cases_are_of_every_kind_and_take_few_launches)
{
    const gt_class class = class_of(GT_F32, GT_F32, 16);
    const gt_kernel k = kernel(128, 256, "bk=32 stages=3");
    gt_cases all, few, alone;
    size_t launches = 0, watched[2] = {0}, using_stages = 0;
    bool batch = false, empty = false, tails = false, adds = false;
    const uint64_t seed = check_random();
    CHECK_OK(gt_cases_draw(&class, &k, seed, SOFT, GT_EXTENT_ALL, &all));
    CHECK_OK(gt_cases_draw(&class, &k, seed, SOFT, GT_EXTENT_FEW, &few));
    for (size_t i = 0; i < all.count; i++) {
        watched[0] += all.list[i].watched;
        using_stages += all.list[i].watched && all.list[i].problem.k > 0;
    }
    for (size_t i = 0; i < few.count; i++) {
        const gt_case *c = &few.list[i];
        launches += (size_t)c->repeats;
        watched[1] += c->watched;
        batch |= c->problem.batch > 1;
        empty |= c->problem.k == 0;
        tails |= c->problem.m % 128 && c->problem.n % 256 && c->problem.k > 32 && c->problem.k % 32;
        adds |= c->beta != 0;
        if (c->again)
            CHECK(i > 0 && gt_problem_same(&c->problem, &c[-1].problem));
    }
    CHECK(launches < 60 && watched[1] == watched[0] && batch && empty && tails && adds);
    CHECK_OK(gt_cases_draw(&class, &k, seed, SOFT, GT_EXTENT_WATCHED, &alone));
    CHECK(alone.count == using_stages && alone.count < watched[0] && alone.list[0].watched);
    gt_cases_finish(&alone);
    gt_cases_finish(&all);
    gt_cases_finish(&few);
}

/* Whether some case is of these sizes; 0 is any. */
static bool has(const gt_cases *cases, int64_t m, int64_t n, int64_t steps, int64_t step)
{
    for (size_t i = 0; i < cases->count; i++) {
        const gt_problem *p = &cases->list[i].problem;
        if ((m == 0 || p->m == m) && (n == 0 || p->n == n) && (steps < 0 || p->k / step == steps))
            return true;
    }
    return false;
}

TEST(chunks_of_many_steps_are_met_one_after_the_other_and_cost_no_more_than_their_steps)
{
    const gt_class class = class_of(GT_BF16, GT_BF16, 16);
    gt_kernel k = kernel(1, 256, "bk=2048 warps_k=8 lanes_k=1 stages=4");
    gt_cases cases;
    k.facts.split_k = 16;
    CHECK_OK(gt_cases_draw(&class, &k, check_random(), 0, GT_EXTENT_ALL, &cases));
    CHECK(cases.bytes < 100 << 20); /* 669 MB where a chunk is taken for a step */
    for (int64_t chunks = 1; chunks <= 4; chunks++)
        CHECK(has(&cases, 1, 0, chunks, 16 * 2048));
    for (int64_t steps = 0; steps <= 5; steps++)
        CHECK(has(&cases, 0, 0, steps, 4 * 8));
    CHECK(has(&cases, 1, 0, 2 * 2048 - 1, 1)); /* all but one element of the second chunk */
    CHECK(has(&cases, 1, 0, 2 * 2048 + 1, 1));
    gt_cases_finish(&cases);
}

TEST(numbers_of_chunks_are_met_where_parts_of_K_share_them_too_and_each_shows)
{
    const gt_class class = class_of(GT_F32, GT_F32, 4);
    gt_kernel k = kernel(64, 16, "bk=128 warps_k=1 lanes_k=4 stages=3");
    k.facts.split_k = 2;
    for (int round = 0; round < 8; round++) {
        gt_cases cases;
        bool shows[4] = {0}, whole = false; /* whole: no part has an element beyond its last chunk */
        CHECK_OK(gt_cases_draw(&class, &k, check_random(), SOFT, GT_EXTENT_ALL, &cases));
        for (size_t i = 0; i < cases.count; i++) {
            const gt_case *c = &cases.list[i];
            if (c->problem.k < 4 * 128)
                shows[c->problem.k / 128] |= c->alpha != 0 && c->problem.m > 1 && c->problem.n > 1;
            whole |= c->problem.m == 64 && c->problem.n == 16 && c->problem.k == 2 * 128;
        }
        CHECK(shows[1] && shows[2] && shows[3] && whole);
        gt_cases_finish(&cases);
    }
}

/* Parts beyond eight are added up in rounds. */
TEST(a_kernel_of_any_number_of_parts_is_met_with_fewer_more_and_many)
{
    const gt_class class = class_of(GT_F64, GT_F64, 16);
    gt_kernel k = kernel(32, 32, "bk=16 stages=3");
    gt_cases cases;
    bool fewer = false, more = false, many = false, most = false;
    k.facts.any_split = k.facts.cluster_y = 1;
    CHECK_OK(gt_cases_draw(&class, &k, check_random(), SOFT, GT_EXTENT_ALL, &cases));
    for (size_t i = 0; i < cases.count; i++) {
        const gt_case *c = &cases.list[i];
        fewer |= c->parts == 1;
        more |= c->parts > 2;
        many |= c->parts > 8 && c->problem.k > 16; /* of which two have some of K */
        most |= c->parts > 128 && c->problem.k == 16 * c->parts; /* all of them have */
    }
    CHECK(fewer && more && many && most);
    gt_cases_finish(&cases);
}

/* Counters of each product are to be zero behind a launch, whoever splits its K. */
TEST(a_kernel_made_for_one_part_has_several_in_each_product_of_a_batch)
{
    const gt_class class = class_of(GT_BF16, GT_F32, 16);
    gt_kernel k = kernel(64, 32, "bk=64 stages=4");
    gt_cases cases;
    bool several = false;
    k.facts.any_split = k.facts.split_k = k.facts.cluster_y = 1;
    CHECK_OK(gt_cases_draw(&class, &k, check_random(), SOFT, GT_EXTENT_ALL, &cases));
    for (size_t i = 0; i < cases.count; i++) {
        CHECK(cases.list[i].parts != 1); /* that is its own */
        several |= cases.list[i].parts > 1 && cases.list[i].problem.batch > 1 && cases.list[i].problem.k > 64;
    }
    CHECK(several);
    gt_cases_finish(&cases);
}

TEST(tiles_have_neighbours_in_a_whole_group_of_rows_and_beyond_it)
{
    const gt_class class = class_of(GT_F32, GT_F32, 4);
    const gt_kernel k = kernel(32, 64, "bk=16 stages=3 group=8 cluster_m=2");
    gt_cases cases;
    bool met = false;
    CHECK_OK(gt_cases_draw(&class, &k, check_random(), SOFT, GT_EXTENT_ALL, &cases));
    for (size_t i = 0; i < cases.count; i++)
        met |= cases.list[i].problem.m > 16 * 32 && cases.list[i].problem.n > 64;
    CHECK(met);
    gt_cases_finish(&cases);
}

/* Whether a side is met with K of less than a step, of 16, and of more. */
static bool short_and_long(const gt_cases *cases, int64_t m, int64_t n)
{
    return has(cases, m, n, 0, 16) &&
           (has(cases, m, n, 1, 16) || has(cases, m, n, 2, 16) || has(cases, m, n, 3, 16));
}

TEST(sizes_next_to_the_tile_and_all_numbers_of_steps_of_the_stages_are_met_within_bounded_work)
{
    const gt_class class = class_of(GT_F32, GT_F32, 4);
    const gt_kernel k = kernel(128, 256, "bk=16 stages=4");
    for (int round = 0; round < 8; round++) {
        gt_cases cases;
        bool rest[16] = {0}, short_k = false, large = false, far_apart = false;
        CHECK_OK(gt_cases_draw(&class, &k, check_random(), SOFT, GT_EXTENT_ALL, &cases));
        for (int64_t more = -1; more <= 1; more++)
            CHECK(short_and_long(&cases, 128 + more, 0) && short_and_long(&cases, 2 * 128 + more, 0) &&
                  short_and_long(&cases, 0, 256 + more) && short_and_long(&cases, 0, 2 * 256 + more));
        for (int64_t steps = 0; steps <= 5; steps++)
            CHECK(has(&cases, 0, 0, steps, 16));
        for (size_t i = 0; i < cases.count; i++) {
            const gt_problem *p = &cases.list[i].problem;
            rest[p->k % 16] = true;
            short_k |= p->m > 128 && p->k < 16 && p->k > 3;
            large |= p->m * p->n > 65536;
            far_apart |= p->ldc > p->n + 64;
        }
        CHECK(rest[1] && rest[2] && rest[3] && rest[8] && rest[15]);
        CHECK(short_k && large && far_apart);
        gt_cases_finish(&cases);
    }
}

TEST(a_persistent_grid_meets_tiles_that_its_blocks_share_and_tiles_that_they_have_whole)
{
    const gt_class class = class_of(GT_F32, GT_F32, 16);
    gt_kernel k = kernel(64, 128, "bk=16 stages=3");
    k.facts.blocks = 20;
    k.facts.split_k = 1;
    for (int bounded = 0; bounded < 2; bounded++) {
        bool several = false, shared = false, more = false, refilled = false;
        gt_cases cases;
        CHECK_OK(gt_cases_draw(&class, &k, check_random(), bounded ? 100e6 : 0, GT_EXTENT_ALL, &cases));
        for (size_t i = 0; i < cases.count; i++) {
            const gt_problem *p = &cases.list[i].problem;
            const int64_t tiles = (p->m + 63) / 64 * ((p->n + 127) / 128), steps = (p->k + 15) / 16;
            refilled |= cases.list[i].watched && tiles * steps > 3 * 20; /* stages of every block */
            several |= tiles == 2 && tiles * steps > 2 * 20 && tiles * steps % 20 != 0;
            shared |= tiles < 20 && steps > 1 && tiles * steps < 20;
            more |= tiles > 20 && steps > 1 && tiles % 20 != 0;
        }
        CHECK(several && shared && more && refilled);
        gt_cases_finish(&cases);
    }
}

TEST(sides_next_to_the_tile_meet_a_K_of_one_beyond_whole_steps_where_steps_are_padded)
{
    gt_class class = class_of(GT_F32, GT_F32, 16);
    gt_kernel k = kernel(64, 32, "bk=32 stages=3");
    class.math = GT_MATH_SPLIT;
    k.facts.repack = 3 | GT_COPY_SPLIT;
    for (int round = 0; round < 8; round++) {
        gt_cases cases;
        CHECK_OK(gt_cases_draw(&class, &k, check_random(), SOFT, GT_EXTENT_ALL, &cases));
        for (int64_t side = 0; side < 12; side++) {
            bool seen = false;
            for (size_t i = 0; i < cases.count; i++) {
                const gt_problem *p = &cases.list[i].problem;
                const int64_t tiles = side % 6 / 3 + 1, length = tiles * (side < 6 ? 64 : 32) + side % 3 - 1;
                seen |= p->k > 32 && p->k % 32 == 1 && (side < 6 ? p->m : p->n) == length;
            }
            CHECK(seen);
        }
        gt_cases_finish(&cases);
    }
}

TEST(tiles_that_parts_do_not_suffice_for_have_an_epilogue)
{
    gt_class class = class_of(GT_F32, GT_F32, 16);
    gt_kernel k = kernel(128, 64, "bk=32 stages=4");
    gt_cases cases;
    bool seen = false;
    k.facts.epilogue = 1;
    class.math = GT_MATH_SPLIT;
    CHECK_OK(gt_cases_draw(&class, &k, check_random(), SOFT, GT_EXTENT_ALL, &cases));
    for (size_t i = 0; i < cases.count; i++)
        seen |= cases.list[i].uneven == GT_UNEVEN_BEYOND && gt_case_bias(&cases.list[i]) > 0;
    CHECK(seen);
    gt_cases_finish(&cases);
}

TEST(products_without_K_are_watched)
{
    const gt_class class = class_of(GT_F32, GT_F32, 16);
    const gt_kernel k = kernel(64, 64, "bk=16 stages=3");
    int watched = 0;
    gt_cases cases;
    CHECK_OK(gt_cases_draw(&class, &k, check_random(), SOFT, GT_EXTENT_ALL, &cases));
    for (size_t i = 0; i < cases.count; i++)
        watched += cases.list[i].problem.k == 0 && cases.list[i].watched;
    CHECK(watched >= 2);
    gt_cases_finish(&cases);
}

TEST(a_product_whose_sides_are_odd_multiples_of_32_is_watched)
{
    const gt_class class = class_of(GT_F32, GT_F32, 4);
    const gt_kernel k = kernel(64, 64, "bk=16 stages=2");
    int found = 0;
    gt_cases cases;
    CHECK_OK(gt_cases_draw(&class, &k, check_random(), SOFT, GT_EXTENT_ALL, &cases));
    for (size_t i = 0; i < cases.count; i++) {
        const gt_problem *p = &cases.list[i].problem;
        found += cases.list[i].watched && p->m % 64 == 32 && p->n % 64 == 32 && p->k % 64 == 32;
    }
    CHECK_INT(found, 1);
    gt_cases_finish(&cases);
}

TEST(every_kind_of_product_is_there)
{
    static const double special[] = {0, 1, -1};
    for (int round = 0; round < 8; round++) {
        const bool bounded = round % 2;
        const gt_class class = class_of(GT_F32, GT_F32, 16);
        const gt_kernel k = kernel(64, 64, "bk=16 stages=3");
        bool alpha[5] = {0}, beta[5] = {0}, values[GT_VALUES_UNEVEN + 1] = {0}, zero = false, poison = false, again = false;
        bool rare = false, deep = false, plain = false;
        int64_t longest = 0, largest = 0, rows = 0, columns = 0, most = 0, three = 0;
        gt_cases cases;
        CHECK_OK(gt_cases_draw(&class, &k, check_random(), bounded ? SOFT : 0, GT_EXTENT_ALL, &cases));
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
            plain |= p->m % 64 == 0 && p->n % 64 == 0 && p->k > 0 && p->batch > 3 && c->beta == 0 && c->alpha != 0;
            deep |= (p->m > 20 * 64 || p->n > 20 * 64) && p->k > 16;
            most = c->repeats > most ? c->repeats : most;
            CHECK(c->repeats == 1 || c->beta == 0);
        }
        for (int s = 0; s < 5; s++)
            CHECK(alpha[s] && beta[s] && values[s % (GT_VALUES_WHOLE + 1)]);
        CHECK(rare && zero && poison && again && three);
        CHECK(longest > (bounded ? 4096 : 65536));
        CHECK(largest > 256);
        CHECK(rows > (bounded ? 20 : 200) * 64 && columns > (bounded ? 20 : 200) * 64 && deep && plain);
        CHECK(most > (bounded ? 60 : 1000));
        gt_cases_finish(&cases);
    }
}

TEST(many_tiles_along_either_side_have_a_K_of_more_than_a_step)
{
    for (int round = 0; round < 16; round++) {
        const gt_class class = class_of(GT_BF16, GT_BF16, 16);
        const gt_kernel k = kernel(128, 64, "bk=64 stages=4");
        bool rows = false, columns = false;
        gt_cases cases;
        CHECK_OK(gt_cases_draw(&class, &k, check_random(), 100e6, GT_EXTENT_ALL, &cases));
        for (size_t i = 0; i < cases.count; i++) {
            const gt_problem *p = &cases.list[i].problem;
            rows |= p->m > 20 * 128 && p->k > 64;
            columns |= p->n > 20 * 64 && p->k > 64;
        }
        CHECK(rows && columns);
        gt_cases_finish(&cases);
    }
}

/* As programs have them, and as kernels may mistake them. */
TEST(batches_are_packed_or_not_of_several_tiles_and_of_more_steps_than_stages)
{
    for (int round = 0; round < 8; round++) {
        const gt_class class = class_of(GT_F32, GT_F32, 4);
        const gt_kernel k = kernel(32, 64, "bk=16 stages=3");
        bool packed = false, apart = false, gap = false, tiles = false, deep = false, equal = false;
        gt_cases cases;
        CHECK_OK(gt_cases_draw(&class, &k, check_random(), SOFT, GT_EXTENT_ALL, &cases));
        for (size_t i = 0; i < cases.count; i++) {
            const gt_problem *p = &cases.list[i].problem;
            if (p->batch == 1)
                continue;
            const gt_stored a = gt_problem_stored(p, GT_A), b = gt_problem_stored(p, GT_B);
            const bool dense = a.ld == a.columns && b.ld == b.columns && p->ldc == p->n && p->k > 0 && p->m != p->n;
            packed |= dense && a.stride == a.rows * a.ld && b.stride == b.rows * b.ld && p->stride_c == p->m * p->ldc;
            apart |= p->ldc % 4 == 0 && p->stride_c % 4 != 0;
            gap |= p->stride_c == (p->m + 1) * p->ldc;
            tiles |= p->m > 32 && p->n > 64;
            deep |= p->k > 3 * 16;
            equal |= a.stride == b.stride && b.stride == p->stride_c;
        }
        CHECK(packed && apart && gap && tiles && deep && equal);
        gt_cases_finish(&cases);
    }
}

/* A place in the workspace, and blocks that make several copies. */
TEST(copies_of_operands_are_made_by_few_blocks_too)
{
    const gt_class class = class_of(GT_F32, GT_F32, 4);
    gt_kernel k = kernel(32, 64, "bk=16 stages=3");
    for (k.facts.repack = 0; k.facts.repack < 4; k.facts.repack += 3) {
        bool seen[2] = {false}, watched = false; /* by whether few do */
        gt_cases cases;
        CHECK_OK(gt_cases_draw(&class, &k, check_random(), SOFT, GT_EXTENT_ALL, &cases));
        for (size_t i = 0; i < cases.count; i++) {
            seen[cases.list[i].dealt] = true;
            watched |= cases.list[i].dealt && cases.list[i].watched;
        }
        CHECK(seen[0] && seen[1] == (k.facts.repack > 0) && watched == seen[1]);
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
        CHECK_OK(gt_cases_draw(&class, &k, check_random(), 0, GT_EXTENT_ALL, &cases));
        for (size_t i = 0; i < cases.count; i++)
            larger += cases.list[i].problem.batch > 65535;
        gt_cases_finish(&cases);
    }
    CHECK(larger > 0);
}

TEST(operands_lie_apart_and_are_aligned_as_promised_and_no_better_but_for_some_of_C)
{
    static const struct {
        gt_type ab, c;
        int align;
    } classes[] = {{GT_F32, GT_F32, 16}, {GT_F32, GT_F32, 4}, {GT_BF16, GT_F32, 2}, {GT_F16, GT_F32, 8}};
    int first[GT_OPERANDS] = {0}; /* operands that lie before the others */
    int fine = 0, rows = 0, matrices = 0; /* C, only its rows, or all but its matrices of a batch begin at 16 bytes */
    for (int round = 0; round < 8; round++) {
        const gt_class class = class_of(classes[round % 4].ab, classes[round % 4].c, classes[round % 4].align);
        const gt_kernel k = kernel(32, 32, "bk=8");
        gt_cases cases;
        CHECK_OK(gt_cases_draw(&class, &k, check_random(), SOFT, GT_EXTENT_ALL, &cases));
        for (size_t i = 0; i < cases.count; i++) {
            const gt_problem *p = &cases.list[i].problem;
            const size_t *places = cases.list[i].place;
            CHECK(gt_class_serves(&class, &p->class));
            for (gt_operand o = GT_A; o < GT_OPERANDS; o++) {
                const size_t place = cases.list[i].place[o];
                const int bytes = gt_type_find(gt_problem_stored(p, o).type)->bytes;
                const size_t align = (size_t)(class.align > bytes ? class.align : bytes);
                const bool wide = o == GT_C && align < 16 && p->ldc * bytes % 16 == 0;
                CHECK(place % align == 0 && (place % (2 * align) != 0 || (wide && place % 16 == 0)));
                fine += wide && place % 16 == 0;
                rows += wide && place % 16 != 0;
                matrices += wide && place % 16 == 0 && p->batch > 1 && p->stride_c * bytes % 16 != 0;
                if (o == GT_B && cases.list[i].itself)
                    continue;
                CHECK(place >= cases.list[i].begin + 1024);
                CHECK(place + gt_problem_bytes(p, o) + (i + 1 == cases.count ? 1024 : 0) <= gt_cases_end(&cases, i));
                for (gt_operand q = GT_A; q < o; q++)
                    CHECK(places[q] >= place + gt_problem_bytes(p, o) + 1024 ||
                          place >= places[q] + gt_problem_bytes(p, q) + 1024);
                first[o] += place < places[(o + 1) % GT_OPERANDS] && place < places[(o + 2) % GT_OPERANDS];
            }
        }
        gt_cases_finish(&cases);
    }
    CHECK(fine > 0 && rows > 0 && matrices > 0);
    CHECK(first[GT_A] > 0 && first[GT_B] > 0 && first[GT_C] > 0);
}

/* Else a kernel that shifts its columns to where D's vectors begin may read C's as if they did, too. */
TEST(results_beside_C_begin_elsewhere_in_16_bytes_where_a_tile_is_stored_with_C)
{
    gt_kernel k = kernel(32, 64, "bk=16");
    k.facts.epilogue = 1;
    for (int align = 4; align < 16; align *= 2)
        for (int round = 0; round < 8; round++) {
            const gt_class class = class_of(GT_F32, GT_F32, align);
            gt_cases cases;
            bool met = false, fine[2] = {false}, order[2] = {false}, bias[2] = {false};
            CHECK_OK(gt_cases_draw(&class, &k, check_random(), SOFT, GT_EXTENT_ALL, &cases));
            for (size_t i = 0; i < cases.count; i++) {
                const gt_case *c = &cases.list[i];
                const bool scaled = c->beside && c->beta != 0 && c->problem.n > 64;
                CHECK(!c->beside || c->result % (size_t)align == 0);
                met |= scaled && (c->result - c->place[GT_C]) % 16 != 0;
                if (scaled && c->problem.ldc % 4 == 0 && c->problem.stride_c % 4 == 0)
                    fine[c->result % 16 == 0] |= (c->result % 16 == 0) != (c->place[GT_C] % 16 == 0);
                if (c->beside)
                    order[c->result < c->place[GT_C]] = true;
                if (gt_case_bias(c) > 0)
                    bias[c->bias % 16 == 0] = true;
            }
            CHECK(met && fine[0] && fine[1] && order[0] && order[1] && bias[0] && bias[1]);
            gt_cases_finish(&cases);
        }
}

/* What lanes have on their way at once is more than a step. */
TEST(a_turn_of_K_is_what_a_block_takes_before_it_begins_again)
{
    const gt_kernel tile = kernel(32, 64, "bk=24"), lanes = kernel(1, 28, "lanes_k=4 warps_k=8 unroll=8"),
                    chunk = kernel(1, 64, "bk=1024 lanes_k=2 warps_k=8");
    CHECK_INT(gt_cases_turn(&tile), 24);
    CHECK_INT(gt_cases_turn(&lanes), 256);
    CHECK_INT(gt_cases_turn(&chunk), 1024);
}

TEST(a_seed_gives_the_same_cases_and_another_gives_others)
{
    const gt_class class = class_of(GT_F32, GT_F32, 16);
    const gt_kernel k = kernel(32, 32, "bk=8");
    static const uint64_t seeds[] = {7, 7, 8};
    gt_cases cases[3];
    char *images[3];
    for (int i = 0; i < 3; i++) {
        CHECK_OK(gt_cases_draw(&class, &k, seeds[i], SOFT, GT_EXTENT_ALL, &cases[i]));
        images[i] = fill(&class, &cases[i], 9);
    }
    CHECK(cases[0].bytes == cases[1].bytes && memcmp(images[0], images[1], cases[0].bytes) == 0);
    CHECK(cases[0].bytes != cases[2].bytes || memcmp(images[0], images[2], cases[0].bytes) != 0);
    for (int i = 0; i < 3; i++) {
        gt_cases_finish(&cases[i]);
        free(images[i]);
    }
}

TEST(absurd_facts_are_refused)
{
    const gt_class class = class_of(GT_F32, GT_F32, 16);
    const gt_kernel k = kernel(0, 32, "bk=8");
    gt_cases cases;
    CHECK_STATUS(gt_cases_draw(&class, &k, 7, SOFT, GT_EXTENT_ALL, &cases), GT_ERROR_INVALID);
}

CHECK_MAIN
