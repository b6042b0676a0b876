/* Sizes as people write them. */
#include "../tuner/commands/shapes.h"
#include "../tuner/fit/drawn.h"
#include "check.h"

/* Parses, and checks the whole list: "m,n,k m,n,k". */
static void check_list(const char *text, const char *expected)
{
    gt_shapes shapes;
    char list[4096] = "";
    size_t length = 0;
    CHECK_OK(gt_shapes_parse(text, &shapes));
    for (size_t i = 0; i < shapes.count && length < sizeof list; i++)
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%lld,%lld,%lld", i > 0 ? " " : "",
                                   (long long)shapes.list[i].m, (long long)shapes.list[i].n, (long long)shapes.list[i].k);
    gt_shapes_finish(&shapes);
    CHECK_STR(list, expected);
}

/* Is refused, with a line that has both words; the output stays untouched. */
static void check_refused(const char *text, const char *word, const char *other)
{
    gt_shapes shapes = {.count = 77};
    CHECK_STATUS(gt_shapes_parse(text, &shapes), GT_ERROR_INVALID);
    CHECK_INT(shapes.count, 77);
    if (!strstr(gt_error_message(), word) || !strstr(gt_error_message(), other))
        check_fail(__FILE__, __LINE__, "'%s' gives '%s', without '%s' and '%s'", text, gt_error_message(), word, other);
    CHECK(!strchr(gt_error_message(), '\n'));
}

static const char *write_file(const char *text)
{
    static char path[128];
    snprintf(path, sizeof path, "@%s/shapes", check_folder());
    FILE *file = fopen(path + 1, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
    return path;
}

TEST(one_size_is_a_cube_and_three_are_m_n_k)
{
    check_list("4096", "4096,4096,4096");
    check_list("1024x512x64", "1024,512,64");
    check_list("3X2X1", "3,2,1");
}

TEST(items_are_apart_by_commas_or_blanks)
{
    check_list("1,2x3x4 \t5\n6,,7 ,", "1,1,1 2,3,4 5,5,5 6,6,6 7,7,7");
}

TEST(a_range_doubles_or_adds)
{
    check_list("128..1024", "128,128,128 256,256,256 512,512,512 1024,1024,1024");
    check_list("3..11", "3,3,3 6,6,6");
    check_list("128..512+128", "128,128,128 256,256,256 384,384,384 512,512,512");
    check_list("5..5", "5,5,5");
}

TEST(any_of_the_three_sizes_may_be_a_range)
{
    check_list("1..4x8x9", "1,8,9 2,8,9 4,8,9");
    check_list("1..2x3x4..6+1", "1,3,4 1,3,5 1,3,6 2,3,4 2,3,5 2,3,6");
}

TEST(a_range_to_the_end_of_64_bits_ends)
{
    gt_shapes shapes;
    CHECK_OK(gt_shapes_parse("1..9223372036854775807", &shapes));
    CHECK_INT(shapes.count, 63);
    gt_shapes_finish(&shapes);
    check_list("9223372036854775806..9223372036854775807+5",
               "9223372036854775806,9223372036854775806,9223372036854775806");
}

TEST(duplicates_are_dropped)
{
    check_list("64,64x64x64,32..64", "64,64,64 32,32,32");
}

TEST(the_default_list_has_its_sixteen_shapes)
{
    gt_shapes shapes;
    CHECK_OK(gt_shapes_parse("default", &shapes));
    CHECK_INT(shapes.count, 16);
    CHECK_INT(shapes.list[0].m, 128);
    CHECK_INT(shapes.list[6].m, 8192);
    CHECK_INT(shapes.list[15].k, 11008);
    gt_shapes_finish(&shapes);
    CHECK_OK(gt_shapes_parse("default,7", &shapes));
    CHECK_INT(shapes.count, 17);
    gt_shapes_finish(&shapes);
}

TEST(a_file_holds_items_and_comments)
{
    check_list(write_file("# sizes\n64 # small\n1x2x3,4\r\n\n5#6\n"), "64,64,64 1,2,3 4,4,4 5,5,5");
}

TEST(a_failure_in_a_file_names_file_and_line)
{
    check_refused(write_file("64\n# fine\n12x\n"), "12x", "shapes, line 3");
    check_refused(write_file("@other"), "@other", "cannot name another file");
    check_refused(write_file("# nothing\n"), "empty", "@");
    check_refused("@/nowhere/shapes", "/nowhere/shapes", "No such file");
    check_refused("@/tmp", "/tmp", "directory");
    check_refused("@/dev/zero", "/dev/zero", "larger");
    check_refused("@", "@", "missing");
}

TEST(what_is_no_size_is_refused_by_name)
{
    check_refused("0", "'0'", "at least 1");
    check_refused("64,4x0x4", "'4x0x4'", "at least 1");
    check_refused("-5", "'-5'", "negative");
    check_refused("4x-4x4", "'4x-4x4'", "negative");
    check_refused("9223372036854775808", "'9223372036854775808'", "64 bits");
    check_refused("99999999999999999999999", "99999999999999999999999", "64 bits");
    check_refused("abc", "'abc'", "'a'");
    check_refused("12k", "'12k'", "'k'");
    check_refused("1.5", "'1.5'", "'.'");
    check_refused("4x5", "'4x5'", "two sizes");
    check_refused("1x2x3x4", "'1x2x3x4'", "three");
    check_refused("4x", "'4x'", "missing");
    check_refused("4..", "'4..'", "missing");
    check_refused("4..8+", "'4..8+'", "missing");
    check_refused("4..8+0", "'4..8+0'", "at least 1");
    check_refused("8..4", "'8..4'", "empty");
    check_refused("", "empty", "''");
    check_refused(" ,, ", "empty", ",,");
}

TEST(a_list_that_nobody_can_tune_is_refused)
{
    check_refused("1..1000000+1", "1..1000000+1", "more than 10000");
    check_refused("1..1000+1x1..1000+1x1..1000+1", "1..1000+1x", "more than 10000");
}

static gt_shapes drawn(int count, uint64_t seed)
{
    gt_shapes shapes = {0};
    CHECK_OK(gt_shapes_draw(count, seed, &shapes));
    CHECK_INT(shapes.count, count);
    return shapes;
}

TEST(a_seed_draws_the_same_shapes_again_and_another_seed_others)
{
    gt_shapes a = drawn(100, 1), b = drawn(40, 1), c = drawn(40, 2);
    size_t same = 0;
    CHECK(memcmp(a.list, b.list, 40 * sizeof *a.list) == 0);
    for (size_t i = 0; i < 40; i++)
        same += a.list[i].m == c.list[i].m;
    CHECK(same < 5);
    gt_shapes_finish(&a);
    gt_shapes_finish(&b);
    gt_shapes_finish(&c);
}

TEST(drawn_sizes_are_small_as_often_as_large_and_a_third_each_is_aligned_to_8_and_64)
{
    gt_shapes shapes = drawn(6000, check_random());
    int octaves[15] = {0}, aligned[3] = {0};
    for (size_t i = 0; i < shapes.count; i++) {
        const int64_t sizes[] = {shapes.list[i].m, shapes.list[i].n, shapes.list[i].k};
        CHECK(sizes[0] * sizes[1] * sizes[2] <= GT_RANDOM_WORK);
        const int64_t bits = sizes[0] | sizes[1] | sizes[2];
        aligned[bits % 64 == 0 ? 2 : bits % 8 == 0 ? 1 : 0]++;
        for (int j = 0; j < 3 && bits % 8 != 0; j++) {
            CHECK(sizes[j] >= 1 && sizes[j] <= GT_RANDOM_SIZE);
            octaves[63 - __builtin_clzll((unsigned long long)sizes[j])]++;
        }
    }
    for (int i = 0; i < 3; i++) /* products of three large sizes are left out more often the more they are rounded up */
        CHECK_NEAR(aligned[i], 2000, 500);
    for (int i = 0; i < 9; i++) /* 6000 sizes in 14 octaves, the small ones of which no limit cuts: 420, and more */
        CHECK(octaves[i] > 330 && octaves[i] < 620);
    gt_shapes_finish(&shapes);
}

/* What the last lap draws of a type, by layout, alignment and whether they are batches. */
static void count_drawn(const char *type, size_t kinds[4][17][2])
{
    static gt_problem problems[GT_DRAWN_MOST];
    const gt_types *types = gt_types_parse(type, GT_MATH_STRICT);
    const int element = gt_type_find(types->a)->bytes;
    size_t count;
    memset(kinds, 0, sizeof(size_t[4][17][2]));
    CHECK_OK(gt_draw_problems(types, problems, &count));
    CHECK_INT(count, GT_DRAWN_MOST);
    for (size_t i = 0; i < count; i++) {
        const gt_problem *p = &problems[i];
        const int unit = p->class.align / element;
        CHECK(p->m >= 1 && p->n >= 1 && p->k >= 1 && gt_problem_flops(p) <= 0x1p34);
        CHECK(unit >= 1 && (p->ldc % unit == 0 || p->m == 1) && (p->stride_c % unit == 0 || p->batch == 1));
        kinds[(p->class.op_a == GT_T) * 2 + (p->class.op_b == GT_T)][p->class.align][p->batch > 1]++;
    }
}

TEST(sizes_for_the_last_lap_are_of_every_layout_and_alignment)
{
    static const struct {
        const char *type;
        int element;
    } types[] = {{"f64", 8}, {"f32", 4}, {"bf16", 2}, {"e4m3", 1}};
    size_t kinds[4][17][2];
    for (size_t t = 0; t < 4; t++) {
        count_drawn(types[t].type, kinds);
        for (int layout = 0; layout < 4; layout++)
            for (int align = 16; align >= types[t].element; align /= 2) {
                const size_t *of = kinds[layout][align], all = of[0] + of[1];
                CHECK(all >= GT_DRAWN_SIZES / (align == 16 || align == types[t].element ? 4 : 12)); /* of 3 and 9 */
                CHECK(of[1] > all / 12 && of[1] < all / 2);
            }
    }
}

TEST(cover_is_a_word_of_lists)
{
    gt_shapes shapes;
    CHECK_OK(gt_shapes_parse("cover", &shapes));
    CHECK(shapes.cover && shapes.count == 0);
    gt_shapes_finish(&shapes);
    CHECK_OK(gt_shapes_parse("64,cover", &shapes));
    CHECK(shapes.cover && shapes.count == 1);
    gt_shapes_finish(&shapes);
    CHECK_OK(gt_shapes_parse("64", &shapes));
    CHECK(!shapes.cover);
    gt_shapes_finish(&shapes);
}

TEST(drawn_shapes_add_to_a_list_and_are_not_in_it_yet)
{
    gt_shapes first = drawn(3, 9), shapes;
    char text[64];
    snprintf(text, sizeof text, "%lldx%lldx%lld", (long long)first.list[1].m, (long long)first.list[1].n,
             (long long)first.list[1].k);
    CHECK_OK(gt_shapes_parse(text, &shapes));
    CHECK_OK(gt_shapes_draw(3, 9, &shapes));
    CHECK_INT(shapes.count, 4);
    CHECK_INT(shapes.list[2].m, first.list[2].m);
    CHECK_STATUS(gt_shapes_draw(10000, 1, &shapes), GT_ERROR_INVALID);
    CHECK_INT(shapes.count, 4);
    gt_shapes_finish(&first);
    gt_shapes_finish(&shapes);
}

TEST(any_bytes_are_read_or_refused)
{
    static const char alphabet[] = "0123456789x.,+- \n@#dX\xff";
    for (int i = 0; i < 20000; i++) {
        char text[16] = "";
        gt_shapes shapes = {0};
        for (size_t j = 0; j < check_random() % (sizeof text - 1); j++)
            text[j] = alphabet[check_random() % (sizeof alphabet - 1)];
        if (strchr(text, '@'))
            continue; /* files have their own test, and @- would wait */
        if (gt_shapes_parse(text, &shapes) == GT_OK) {
            CHECK(shapes.count > 0);
            for (size_t j = 0; j < shapes.count; j++)
                CHECK(shapes.list[j].m > 0 && shapes.list[j].n > 0 && shapes.list[j].k > 0);
        }
        gt_shapes_finish(&shapes);
    }
}

CHECK_MAIN
