/* Which types a command line asks for, and which problems a first run has of each. */
#include "../tuner/commands/cover.h"
#include "../tuner/search/winners.h"
#include "options_fixture.h"

TEST(types_come_in_lists_each_once)
{
    gt_options_cli o;
    CHECK_OK(parse(WORDS("--type", "bf16,f32,bf16,f16_f32"), &o));
    CHECK_INT(o.type_count, 3);
    CHECK(o.types == o.type_list[0]);
    CHECK_STR(o.type_list[0]->name, "bf16");
    CHECK_STR(o.type_list[1]->name, "f32");
    CHECK_STR(o.type_list[2]->name, "f16_f32");
    gt_options_finish(&o);
}

static size_t count_types(void)
{
    size_t count = 0;
    while (gt_types_at(count))
        count++;
    return count;
}

TEST(a_gpu_is_tuned_for_all_types_the_usual_ones_first)
{
    static const char *const first[] = {"f32", "f32 split", "bf16", "f16", "f32 tf32", "f64", "s8"};
    gt_options_cli o;
    CHECK_OK(parse((const char *const[]){"gemmtune", NULL}, &o));
    CHECK(o.all_types);
    CHECK_INT(o.type_count, count_types());
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++) {
        char text[GT_TYPES_TEXT];
        CHECK_STR(gt_types_text(o.type_list[i], text), first[i]);
    }
    gt_options_finish(&o);
    CHECK_OK(parse(WORDS("--type", "f16,all"), &o)); /* what is named stands where it is */
    CHECK_INT(o.type_count, count_types());
    CHECK_STR(o.type_list[0]->name, "f16");
    CHECK_STR(o.type_list[1]->name, "f32");
    gt_options_finish(&o);
    CHECK_OK(parse(WORDS("--math", "tf32"), &o));
    CHECK_INT(o.type_count, 1);
    gt_options_finish(&o);
    CHECK_OK(parse(WORDS("--align", "2"), &o)); /* f32 does not lie there */
    for (size_t i = 0; i < o.type_count; i++)
        CHECK(gt_type_find(o.type_list[i]->a)->bytes <= 2);
    CHECK(o.type_count > 0 && o.type_count < count_types());
    gt_options_finish(&o);
}

TEST(other_commands_and_the_software_gpu_have_defaults_of_their_own)
{
    static const char *const one[] = {"bench", "ladder", "space"}, *const all[] = {"best", "verify"};
    gt_options_cli o;
    for (size_t i = 0; i < sizeof one / sizeof one[0]; i++) {
        CHECK_OK(parse(WORDS(one[i]), &o));
        CHECK_INT(o.type_count, 1);
        CHECK_STR(o.types->name, "f32");
        gt_options_finish(&o);
    }
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        CHECK_OK(parse(WORDS(all[i]), &o));
        CHECK_INT(o.type_count, count_types());
        gt_options_finish(&o);
    }
    CHECK_OK(parse(WORDS("--device", "soft"), &o));
    CHECK_INT(o.type_count, 1);
    CHECK_STR(o.types->name, "f32");
    gt_options_finish(&o);
    CHECK_OK(parse(WORDS("--device", "soft", "--type", "all"), &o));
    CHECK_INT(o.type_count, count_types());
    gt_options_finish(&o);
}

TEST(what_programs_want_is_tuned_and_nothing_for_other_sizes)
{
    gt_options_cli o;
    CHECK_OK(parse(WORDS("tune", "--wanted"), &o));
    CHECK(!o.shapes.cover && !o.few.cover);
    CHECK_INT(o.type_count, count_types());
    CHECK(gt_options_engine(&o).stored); /* of these, checks are compiled for what was asked for */
    gt_options_finish(&o);
}

/* The types whose winners some types begin with; "" where there are none. */
static const char *twin(const char *types, gt_math math)
{
    const gt_types *own = gt_types_parse(types, math);
    const gt_class class = {.type_a = own->a, .type_b = own->b, .type_c = own->c, .math = own->math, .align = 16};
    gt_class found;
    return gt_class_twin(&class, &found) ? gt_class_types(&found)->name : "";
}

TEST(types_that_are_multiplied_alike_are_twins)
{
    CHECK_STR(twin("f16", GT_MATH_STRICT), "bf16");
    CHECK_STR(twin("bf16", GT_MATH_STRICT), "f16");
    CHECK_STR(twin("bf16_f32", GT_MATH_STRICT), "f16_f32");
    CHECK_STR(twin("e5m2", GT_MATH_FAST), "e4m3");
    CHECK_STR(twin("e4m3_e5m2_f32", GT_MATH_STRICT), "e4m3_f32");
    CHECK_STR(twin("e4m3_f16", GT_MATH_STRICT), "e4m3");
    CHECK_STR(twin("e4m3_f32", GT_MATH_STRICT), "");
    CHECK_STR(twin("f32", GT_MATH_STRICT), "");
    CHECK_STR(twin("f32", GT_MATH_TF32), "");
    CHECK_STR(twin("f64", GT_MATH_STRICT), "");
    CHECK_STR(twin("s8", GT_MATH_STRICT), "");
}

/* All types together are to be tuned in 25 minutes on an H200, which takes 45 seconds for the default list, half as long
 * where it is searched quickly, 0.42 for each problem of the cover list (bf16 whole took 315), and for drawn sizes 50 for each of
 * three types and 20 for each of the other usual ones. */
TEST(less_usual_types_have_a_shorter_list_where_there_are_all)
{
    gt_options_cli o;
    gt_problem *problems;
    size_t count, odd = 0;
    CHECK_OK(parse((const char *const[]){"gemmtune", NULL}, &o));
    CHECK_OK(gt_options_problems(&o, &problems, &count));
    size_t at = 0, groups = 0, last = 0;
    double seconds = 3 * 60 + 5 * 20;
    for (; at < count; at += last, groups++)
        last = gt_options_group(problems + at, count - at);
    CHECK_INT(groups, count_types());
    for (size_t i = 0; i < count; i++)
        seconds += gt_cover_row(&problems[i]) >= 0                            ? 0.42
                   : gt_types_are_usual(gt_class_types(&problems[i].class)) ? 45.0 / 16
                                                                            : 22.0 / 16;
    CHECK(gt_cover_row(&problems[15]) < 0 && gt_cover_row(&problems[16]) >= 0);
    for (size_t i = count - last; i < count; i++)
        odd += problems[i].m % 2 && problems[i].n % 2 && problems[i].k % 2;
    CHECK_INT(odd, 4); /* one for each layout: no size of theirs is without a kernel then */
    printf("%.0f s\n", seconds);
    CHECK(seconds < 25 * 60);
    free(problems);
    gt_options_finish(&o);
    CHECK_OK(parse(WORDS("--type", "bf16_f32", "--layout", "nt"), &o)); /* who names it means it */
    CHECK_OK(gt_options_problems(&o, &problems, &count));
    CHECK_INT(count, 16);
    free(problems);
    gt_options_finish(&o);
    CHECK_OK(parse(WORDS("--type", "all", "--shapes", "64,65"), &o));
    CHECK_OK(gt_options_problems(&o, &problems, &count));
    CHECK_INT(count, 2 * count_types());
    free(problems);
    gt_options_finish(&o);
}

/* Whether some problem of the list is of this layout and alignment, and a product or a vector, of one or of many. */
static bool is_covered(const gt_problem *list, size_t count, const char *layout, int align, bool vector, bool batched)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(gt_class_layout(&list[i].class), layout) == 0 && list[i].class.align == align &&
            (list[i].m == 1) == vector && (list[i].batch > 1) == batched)
            return true;
    return false;
}

/* The first run's problems of a type: rows are aligned, or to one element, or to two. */
static void check_covered(const char *type, int element)
{
    static const char *const layouts[] = {"nn", "nt", "tn", "tt"};
    gt_options_cli o;
    gt_problem *problems;
    size_t count;
    CHECK_OK(parse(WORDS("--type", type), &o));
    CHECK_OK(gt_options_problems(&o, &problems, &count));
    for (int i = 0; i < 4; i++)
        for (int batched = 0; batched < 2; batched++)
            CHECK(is_covered(problems, count, layouts[i], 16, false, batched) &&
                  is_covered(problems, count, layouts[i], element, false, batched));
    for (int i = 0; i < 4; i++)
        CHECK(is_covered(problems, count, layouts[i], 2 * element, false, false));
    for (int i = 1; i < 4; i++) /* the first ones of the cover list: a run may be cut */
        CHECK(is_covered(problems + 15 + i, 1, layouts[i], element, false, false));
    for (int i = 0; i < 2; i++)
        CHECK(is_covered(problems, count, layouts[i], 16, true, false) &&
              is_covered(problems, count, layouts[i], element, true, false));
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            CHECK(!gt_problem_same(&problems[i], &problems[j]));
    free(problems);
    gt_options_finish(&o);
}

/* The number of problems that a first run has of a type which is named, or of it among all. */
static size_t count_problems(const char *type, const char *math, bool named)
{
    const char *const own[] = {"gemmtune", "--type", type, "--math", math, NULL};
    gt_options_cli o;
    gt_problem *problems;
    size_t all, count = 0;
    char text[GT_TYPES_TEXT], wanted[GT_TYPES_TEXT];
    CHECK_OK(parse(named ? own : (const char *const[]){"gemmtune", NULL}, &o));
    CHECK_OK(gt_options_problems(&o, &problems, &all));
    gt_math mode;
    CHECK(gt_math_parse(math, &mode));
    gt_types_text(gt_types_parse(type, mode), wanted);
    for (size_t i = 0; i < all; i++)
        count += strcmp(gt_types_text(gt_class_types(&problems[i].class), text), wanted) == 0;
    free(problems);
    gt_options_finish(&o);
    return count;
}

TEST(every_type_has_a_problem_in_each_layout_whose_kernels_serve_any_size)
{
    gt_options_cli o;
    gt_problem *problems;
    size_t count;
    CHECK_OK(parse((const char *const[]){"gemmtune", NULL}, &o));
    CHECK_OK(gt_options_problems(&o, &problems, &count));
    for (size_t at = 0, group; at < count; at += group) {
        unsigned layouts = 0;
        group = gt_options_group(problems + at, count - at);
        for (size_t i = at; i < at + group; i++) {
            const gt_problem *p = &problems[i];
            const unsigned layout = 1u << (p->class.op_a == GT_T) << 2 * (p->class.op_b == GT_T);
            const bool anywhere = p->class.align == gt_class_element(&p->class) && p->m > 1 && p->n > 1;
            CHECK(!gt_cover_serves_all(p) || (anywhere && (layout == 1 || !(layouts & layout))));
            if (gt_cover_serves_all(p) || (anywhere && gt_cover_row(p) < 0))
                layouts |= layout;
        }
        CHECK_INT(layouts, 1 | 2 | 4 | 8);
    }
    free(problems);
    gt_options_finish(&o);
}

TEST(a_type_that_is_named_is_covered_whole)
{
    CHECK(count_problems("f32", "tf32", true) > 2 * count_problems("f32", "tf32", false));
    CHECK(count_problems("s8", "strict", true) > 2 * count_problems("s8", "strict", false));
    CHECK_INT(count_problems("f32", "strict", true), count_problems("f32", "strict", false));
    CHECK_INT(count_problems("bf16", "strict", true), count_problems("bf16", "strict", false));
    check_covered("s8", 1);
    check_covered("e4m3", 1);
}

TEST(a_first_run_leaves_no_layout_alignment_or_kind_without_a_kernel)
{
    check_covered("f32", 4);
    check_covered("bf16", 2);
    check_covered("f16", 2);
    check_refused(WORDS("best", "--shapes", "cover"), "best takes no --shapes cover: that is for tune and bench");
}

TEST(maths_come_in_lists_and_each_type_takes_those_it_has)
{
    gt_options_cli o;
    CHECK_OK(parse(WORDS("bench", "--type", "f32,bf16", "--math", "strict,tf32"), &o));
    CHECK_INT(o.type_count, 3);
    CHECK_INT(o.type_list[0]->math, GT_MATH_STRICT);
    CHECK_INT(o.type_list[1]->math, GT_MATH_TF32);
    CHECK_STR(o.type_list[2]->name, "bf16");
    gt_options_finish(&o);
    CHECK_OK(parse(WORDS("forget", "--shapes", "64", "--type", "f32", "--math", "all"), &o));
    CHECK_INT(o.type_count, 3);
    gt_options_finish(&o);
    CHECK_OK(parse(WORDS("best", "--type", "f32"), &o)); /* shows what there is */
    CHECK_INT(o.type_count, 3);
    gt_options_finish(&o);
}

CHECK_MAIN
