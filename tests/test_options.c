/* The command line. */
#include "../tuner/values.h"
#include "options_fixture.h"

static double seconds(const char *text)
{
    double value = -1;
    CHECK_OK(gt_duration_parse(text, &value));
    return value;
}

TEST(no_words_mean_tune_with_the_defaults)
{
    gt_options_cli o;
    CHECK_OK(parse((const char *const[]){"gemmtune", NULL}, &o));
    CHECK_STR(o.command, "tune");
    CHECK_STR(o.types->name, "f32");
    CHECK_INT(o.device, 0);
    CHECK_INT(o.batch, 1);
    CHECK_INT(o.align, 16);
    CHECK_INT(o.op_a, GT_N);
    CHECK_INT(o.effort, GT_EFFORT_NORMAL);
    CHECK_INT(o.shapes.count, 16);
    CHECK(!o.shapes_given && !o.type_given && !o.layout_given && !o.json && !o.help && !o.command_given);
    CHECK_NEAR(o.budget_s, 0, 0);
    CHECK_NEAR(o.limit_s, 10, 0);
    CHECK_STR(o.line, "gemmtune");
    gt_options_finish(&o);
}

TEST(every_option_reaches_its_field)
{
    gt_options_cli o;
    CHECK_OK(parse(WORDS("tune", "--device", "3", "--db=a b.db", "--shapes", "64,32", "--type=s32", "--layout", "tn",
                         "--batch", "5", "--align", "8", "--family", "simt", "--effort", "full", "--budget", "1m30s",
                         "--timeout=2", "--seed", "0xffffffffffffffff", "--jobs", "4", "--templates", "dir", "--nvrtc",
                         "lib", "--no-cublas", "--json", "-q"),
                   &o));
    CHECK_INT(o.device, 3);
    CHECK_STR(o.database, "a b.db");
    CHECK_INT(o.shapes.count, 2);
    CHECK_STR(o.types->name, "s32");
    CHECK(o.op_a == GT_T && o.op_b == GT_N);
    CHECK_INT(o.batch, 5);
    CHECK_INT(o.align, 8);
    CHECK_STR(o.family, "simt");
    CHECK_INT(o.effort, GT_EFFORT_FULL);
    CHECK_NEAR(o.budget_s, 90, 0);
    CHECK_NEAR(o.limit_s, 2, 0);
    CHECK(o.seed == UINT64_MAX);
    CHECK_INT(o.threads, 4);
    CHECK_STR(o.templates, "dir");
    CHECK_STR(o.nvrtc, "lib");
    CHECK(o.no_cublas && o.json && o.quiet && o.shapes_given && o.type_given && o.layout_given && o.command_given);
    CHECK(strstr(o.line, "'--db=a b.db' --shapes 64,32"));
    gt_options_finish(&o);
}

TEST(the_command_may_stand_behind_its_options)
{
    gt_options_cli o;
    CHECK_OK(parse(WORDS("--arch", "sm_80", "space", "--all", "simt"), &o));
    CHECK_STR(o.command, "space");
    CHECK_STR(o.operand, "simt");
    CHECK(o.all);
    gt_options_finish(&o);
    CHECK_OK(parse(WORDS("verify", "--all", "--rounds", "7", "-v", "--seed", "1"), &o));
    CHECK(o.all && o.verbose && o.seed_given);
    CHECK_INT(o.rounds, 7);
    gt_options_finish(&o);
    CHECK_OK(parse(WORDS("--", "render", "simt"), &o));
    CHECK_STR(o.operand, "simt");
    gt_options_finish(&o);
}

TEST(one_thing_is_forgotten_at_a_time)
{
    gt_options_cli o;
    CHECK_OK(parse(WORDS("forget", "--kernel", "12"), &o));
    CHECK_STR(o.kernel, "12");
    gt_options_finish(&o);
    CHECK_OK(parse(WORDS("forget", "--family", "somebody's"), &o)); /* whose templates may be gone */
    gt_options_finish(&o);
    CHECK_OK(parse(WORDS("forget", "--shapes", "64", "--type", "s32", "--batch", "2", "--align", "4"), &o));
    gt_options_finish(&o);
    check_refused(WORDS("forget"), "forget takes one of --kernel, --family and --shapes");
    check_refused(WORDS("forget", "--kernel", "12", "--family", "simt"),
                  "forget takes one of --kernel, --family and --shapes");
    check_refused(WORDS("forget", "--kernel", "12", "--batch", "2"), "forget takes --batch with --shapes only");
}

TEST(verify_takes_a_batch_and_an_alignment_with_shapes_only)
{
    gt_options_cli o;
    CHECK_OK(parse(WORDS("verify", "--shapes", "64", "--batch", "3", "--align", "4"), &o));
    gt_options_finish(&o);
    check_refused(WORDS("verify", "--batch", "3"), "verify takes --batch with --shapes only");
    check_refused(WORDS("verify", "--align", "4"), "verify takes --align with --shapes only");
}

TEST(each_command_has_its_own_default_shapes)
{
    gt_options_cli o;
    CHECK_OK(parse(WORDS("ladder"), &o));
    CHECK_INT(o.shapes.count, 4);
    CHECK_INT(o.shapes.list[3].m, 4096);
    gt_options_finish(&o);
    CHECK_OK(parse(WORDS("space"), &o));
    CHECK_INT(o.shapes.count, 1);
    gt_options_finish(&o);
}

/* Rows of an odd number of elements: what is tuned then serves every alignment of its class. */
TEST(every_default_list_has_a_shape_of_odd_sizes)
{
    static const char *const devices[] = {"0", "soft", "soft:a100"};
    for (size_t d = 0; d < 3; d++) {
        gt_options_cli o;
        int odd = 0;
        CHECK_OK(parse(WORDS("--device", devices[d]), &o));
        for (size_t i = 0; i < o.shapes.count; i++)
            odd += o.shapes.list[i].m % 2 && o.shapes.list[i].n % 2 && o.shapes.list[i].k % 2;
        CHECK(odd > 0);
        gt_options_finish(&o);
    }
}

TEST(the_last_of_two_counts)
{
    gt_options_cli o;
    CHECK_OK(parse(WORDS("--device", "soft:t4", "--device", "0"), &o));
    CHECK(!o.driver);
    gt_options_finish(&o);
    CHECK_OK(parse(WORDS("--shapes", "1", "--shapes", "2,3", "--device", "1", "--device", "2"), &o));
    CHECK_INT(o.shapes.count, 2);
    CHECK_INT(o.device, 2);
    gt_options_finish(&o);
}

TEST(a_mistyped_name_is_answered_with_the_nearest)
{
    check_refused(WORDS("--shape", "64"), "unknown option '--shape'; did you mean '--shapes'?");
    check_refused(WORDS("--shpaes=64"), "unknown option '--shpaes'; did you mean '--shapes'?");
    check_refused(WORDS("--templ", "x"), "unknown option '--templ'; did you mean '--templates'?");
    check_refused(WORDS("--zzz"), "unknown option '--zzz'; see gemmtune --help");
    check_refused(WORDS("-x"), "unknown option '-x'; see gemmtune --help");
    check_refused(WORDS("tnue"), "unknown command 'tnue'; did you mean 'tune'?");
    check_refused(WORDS("frobnicate"), "unknown command 'frobnicate'; see gemmtune --help");
}

TEST(verbose_and_quiet_contradict_each_other)
{
    check_refused(WORDS("-q", "-v"), "--verbose and --quiet: one of them");
    check_refused(WORDS("bench", "-v"), "bench takes no --verbose; see gemmtune bench --help");
}

TEST(operands_are_counted)
{
    check_refused(WORDS("render"),
                  "render needs a FAMILY: gemmtune render simt --params \"bm=128 bn=128\" > simt.cu");
    check_refused(WORDS("render", "a", "b"), "render takes one FAMILY, but there is 'b' too");
    check_refused(WORDS("why", "4", "5"), "why takes one SHAPE, but there is '5' too");
    check_refused(WORDS("space", "a", "b"), "space takes one FAMILY, but there is 'b' too");
    check_refused(WORDS("best", "4096"), "best takes no operand, but there is '4096'");
}

TEST(a_command_refuses_what_it_does_not_use)
{
    check_refused(WORDS("best", "--nvrtc", "x"), "best takes no --nvrtc; see gemmtune best --help");
    check_refused(WORDS("--all"), "tune takes no --all; see gemmtune tune --help");
    check_refused(WORDS("--json", "render", "simt"), "render takes no --json; see gemmtune render --help");
}

#define TYPES                                                                                                \
    "f32 s32 f64 s8 f16 f16_f32 bf16 bf16_f32 e4m3 e4m3_f16 e4m3_f32 e5m2 e5m2_f16 e5m2_f32 e4m3_e5m2 "      \
    "e4m3_e5m2_f16 e4m3_e5m2_f32 e5m2_e4m3 e5m2_e4m3_f16 e5m2_e4m3_f32"

TEST(values_are_checked)
{
    check_refused(WORDS("--device", "-1"), "--device takes a GPU's number from 0 to 1023, soft, or all (tune), not '-1'");
    check_refused(WORDS("--device", "cpu"), "--device takes a GPU's number from 0 to 1023, soft, or all (tune), not 'cpu'");
    check_refused(WORDS("--batch", "0"), "--batch takes a whole number from 1 to 9223372036854775807, not '0'");
    check_refused(WORDS("--align", "3"), "--align takes 1, 2, 4, 8 or 16, not '3'");
    check_refused(WORDS("--type", "f31"), "unknown type 'f31'; there are: " TYPES " and all");
    check_refused(WORDS("--type", "f32,f16,"), "unknown type ''; there are: " TYPES " and all");
    check_refused(WORDS("--math", "loose"), "unknown math 'loose'; there are: strict tf32 fast split and all");
    check_refused(WORDS("--math", "tf32", "--type", "f32,f16"), "--math tf32 does not fit f16, which has: strict");
    check_refused(WORDS("--math", "fast", "--type", "f32"), "--math fast does not fit f32, which has: strict tf32 split");
    check_refused(WORDS("--math", "tf32", "--type", "e4m3"), "--math tf32 does not fit e4m3, which has: strict fast");
    check_refused(WORDS("--type", "tf32"), "tf32 is no type but a math mode: --math tf32");
    check_refused(WORDS("--type", "all", "--math", "tf32", "--align", "2"), "align is 2 bytes, smaller than an element");
    check_refused(WORDS("space", "--type", "f32,f16"), "space takes one type, not 2");
    check_refused(WORDS("space", "--math", "strict,tf32"), "space takes one type, not 2");
    check_refused(WORDS("--layout", "n"), "unknown layout 'n'; there are: nn nt tn tt");
    check_refused(WORDS("--effort", "much"), "--effort takes quick, normal or full, not 'much'");
    check_refused(WORDS("--seed", "-1"), "--seed takes a whole number of up to 64 bits, not '-1'");
    check_refused(WORDS("--budget", "soon"), "--budget: a time such as 90, 10m or 1h30m is expected, not 'soon'");
    check_refused(WORDS("--db"), "--db needs a value; see gemmtune --help");
    check_refused(WORDS("--db="), "--db needs a value: --db FILE");
    check_refused(WORDS("--json=1"), "--json takes no value");
    check_refused(WORDS("space", "--arch", "sm_42"), "unknown architecture sm_42; there are: sm_75 to sm_121");
    check_refused(WORDS("--align", "2", "--type", "f32"), "align is 2 bytes, smaller than an element");
}

TEST(a_shape_too_large_for_64_bits_is_named)
{
    check_refused(WORDS("--shapes", "64,4000000000x4000000000x2"),
                  "shape 4000000000x4000000000x2: 4000000000 rows with ldc 4000000000 overflow 64 bits");
    check_refused(WORDS("--shapes", "2000000000", "--batch", "100"),
                  "shape 2000000000x2000000000x2000000000: 100 matrices with stride_a 4000000000000000000 overflow 64 bits");
}

TEST(the_software_gpu_tries_less_on_smaller_sizes)
{
    gt_options_cli o;
    CHECK_OK(parse(WORDS("--device", "soft:a100"), &o));
    CHECK_STR(o.driver, "soft:a100");
    CHECK_INT(o.effort, GT_EFFORT_QUICK);
    CHECK_NEAR(o.limit_s, 60, 0);
    for (size_t i = 0; i < o.shapes.count; i++)
        CHECK(o.shapes.list[i].m * o.shapes.list[i].n * o.shapes.list[i].k <= 128 * 128 * 128);
    gt_options_finish(&o);
    CHECK_OK(parse(WORDS("verify", "--device", "soft"), &o)); /* whose checks are as strict as the tuner's */
    CHECK_INT(o.effort, GT_EFFORT_NORMAL);
    gt_options_finish(&o);
    CHECK_OK(parse(WORDS("--device", "soft", "--effort", "full", "--shapes", "300", "--timeout", "5"), &o));
    CHECK_INT(o.effort, GT_EFFORT_FULL);
    CHECK_NEAR(o.limit_s, 5, 0);
    CHECK_INT(o.shapes.list[0].m, 300);
    gt_options_finish(&o);
    CHECK_STATUS(parse(WORDS("--device", "software"), &o), GT_ERROR_INVALID);
}

TEST(what_stands_behind_a_software_gpu_is_looked_at)
{
    static const char *const good[] = {"soft:h200,races,gpus=2", "soft:h200,gpus=16,races", "soft:t4,gpus=1"};
    static const char *const bad[] = {"soft:t4,", "soft:t4,gpus=0", "soft:t4,gpus=17", "soft:t4,gpus=2x", "soft:t4,races,"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        gt_options_cli o;
        CHECK_OK(parse(WORDS("--device", good[i]), &o));
        gt_options_finish(&o);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char says[160];
        snprintf(says, sizeof says, "the software GPU has no profile '%s'; there are: h200 a100 rtx4090 t4, each with ,races "
                 "or ,gpus=2 behind it", bad[i] + strlen("soft:"));
        check_refused(WORDS("--device", bad[i]), says);
    }
}

TEST(regret_is_measured_on_shapes_of_its_own)
{
    gt_options_cli o;
    CHECK_OK(parse(WORDS("bench", "--regret", "5", "--seed", "7", "--budget", "10m"), &o));
    CHECK(o.regret == 5 && o.shapes.count == 5 && o.budget_s == 600);
    gt_options_finish(&o);
    check_refused(WORDS("bench", "--regret", "5", "--shapes", "64"),
                  "--regret draws its shapes: no --shapes, --random or --untuned beside it");
    check_refused(WORDS("tune", "--regret", "5"), "tune takes no --regret; see gemmtune tune --help");
}

TEST(random_shapes_stand_for_the_default_list_or_beside_the_given_ones)
{
    gt_options_cli o, again;
    CHECK_OK(parse(WORDS("bench", "--random", "20", "--seed", "7"), &o));
    CHECK_INT(o.random, 20);
    CHECK_INT(o.shapes.count, 20);
    CHECK_OK(parse(WORDS("tune", "--seed", "7", "--shapes", "63", "--random", "20"), &again));
    CHECK_INT(again.shapes.count, 21);
    CHECK_INT(again.shapes.list[0].m, 63);
    CHECK(memcmp(again.shapes.list + 1, o.shapes.list, 20 * sizeof *o.shapes.list) == 0); /* tuned and then raced */
    gt_options_finish(&o);
    gt_options_finish(&again);
    check_refused(WORDS("--random", "0"), "--random takes a whole number from 1 to 10000, not '0'");
    check_refused(WORDS("ladder", "--random", "3"), "ladder takes no --random; see gemmtune ladder --help");
}

TEST(help_and_version_ask_for_nothing_else)
{
    gt_options_cli o;
    CHECK_OK(parse(WORDS("render", "--help"), &o));
    CHECK(o.help && o.command_given && o.command_id == GT_COMMAND_RENDER);
    gt_options_finish(&o);
    CHECK_OK(parse(WORDS("-V"), &o));
    CHECK(o.version);
    gt_options_finish(&o);
}

TEST(times_have_units)
{
    double untouched = 5;
    CHECK_NEAR(seconds("90"), 90, 0);
    CHECK_NEAR(seconds("0.5"), 0.5, 0);
    CHECK_NEAR(seconds("10m"), 600, 0);
    CHECK_NEAR(seconds("1h30m"), 5400, 0);
    CHECK_NEAR(seconds("1m30s"), 90, 0);
    CHECK_NEAR(seconds("1.5h"), 5400, 0);
    static const char *const wrong[] = {"", "0", "-1", "m", "10x", "10m5", "1s1m", "1m1m", "inf", "nan", "1e999", "1 m", " 1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK_STATUS(gt_duration_parse(wrong[i], &untouched), GT_ERROR_INVALID);
    CHECK_NEAR(untouched, 5, 0);
}

TEST(architectures_have_several_spellings)
{
    static const char *const spellings[] = {"90", "9.0", "sm_90", "sm_90a"};
    static const char *const wrong[] = {"", "sm_", "sm_90b", "x", "-90", "9.", "900000"};
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        gt_device device = {0};
        CHECK_OK(gt_arch_parse(spellings[i], &device));
        CHECK_STR(device.arch, "sm_90a");
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        gt_device device = {.cc = 1};
        CHECK_STATUS(gt_arch_parse(wrong[i], &device), GT_ERROR_INVALID);
        CHECK_INT(device.cc, 1);
    }
}

TEST(options_make_the_problem)
{
    gt_options_cli o;
    gt_problem problem;
    char name[GT_PROBLEM_NAME_LENGTH];
    CHECK_OK(parse(WORDS("--type", "f16_f32", "--layout", "nt", "--batch", "3", "--align", "4", "--shapes", "64x32x8"), &o));
    CHECK_OK(gt_options_problem(&o, &o.shapes.list[0], &problem));
    gt_problem_name(&problem, name);
    CHECK_STR(name, "f16_f32 nt 64x32x8 batch 3 align 4");
    gt_options_finish(&o);
    CHECK_OK(parse(WORDS("--math", "tf32", "--shapes", "64"), &o));
    CHECK_OK(gt_options_problem(&o, &o.shapes.list[0], &problem));
    gt_problem_name(&problem, name);
    CHECK_STR(name, "f32 tf32 nn 64x64x64");
    gt_options_finish(&o);
}

TEST(the_tables_are_whole)
{
    for (int i = 0; i < GT_COMMAND_COUNT; i++)
        CHECK(gt_command_rows[i].name && gt_command_rows[i].shapes && gt_command_rows[i].types &&
              gt_command_rows[i].summary);
    for (const gt_option_row *row = gt_option_rows; row->name; row++) {
        CHECK(row->help && row->commands != 0);
        CHECK(strlen(row->help) <= 56); /* one line of 80 columns */
    }
}

CHECK_MAIN
