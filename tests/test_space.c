/* Families, spaces and rendering, built in and from a user's folder. */
#include <sys/stat.h>

#include "../tuner/compile/render.h"
#include "params_fixture.h"

static gt_device hopper(void)
{
    gt_device d;
    CHECK_OK(gt_device_model(90, &d));
    d.sm_count = 132;
    return d;
}

static gt_problem product(gt_type type, int64_t m, int64_t size)
{
    gt_gemm gemm = GT_GEMM(type, m, size, size);
    gt_problem p;
    if (type == GT_F16)
        gemm.type_c = GT_F32;
    CHECK_OK(gt_problem_init(&gemm, &p));
    return p;
}

static gt_problem square(gt_type type, int64_t size)
{
    return product(type, size, size);
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    CHECK(file);
    fputs(text, file);
    fclose(file);
}

/* Evaluates a space given as text. */
static gt_status evaluate(const char *sql, gt_space *space)
{
    static gt_family family;
    const gt_device device = hopper();
    const gt_problem problem = square(GT_F32, 256);
    family = (gt_family){.name = "mine", .space = sql, .source = ""};
    return gt_space_init(&family, &device, &problem, space);
}

TEST(a_space_that_does_not_ask_for_math_is_for_strict_math)
{
    static const char plain[] = "SELECT 16 AS bm, 16 AS bn, 256 AS threads WHERE :type = 'f32'",
                      any[] = "SELECT 16 AS bm, 16 AS bn, 256 AS threads WHERE :math IN ('strict', 'tf32')";
    const gt_device device = hopper();
    gt_problem problem = square(GT_F32, 256);
    for (int i = 0; i < 4; i++) {
        const gt_family family = {.name = "mine", .space = i % 2 ? any : plain, .source = ""};
        gt_space space;
        problem.class.math = i < 2 ? GT_MATH_STRICT : GT_MATH_TF32;
        CHECK_OK(gt_space_init(&family, &device, &problem, &space));
        CHECK_INT(space.rows, i < 2 || i % 2);
        gt_space_finish(&space);
    }
}

TEST(every_built_in_space_has_its_facts)
{
    gt_families families;
    gt_device devices[2] = {hopper()};
    CHECK_OK(gt_device_model(80, &devices[1]));
    CHECK_OK(gt_families_init(NULL, &families));
    CHECK(families.count >= 12);
    for (size_t f = 0; f < families.count; f++) {
        size_t rows = 0;
        for (int i = 0; i < 36; i++) { /* types; square, few rows, small, one row, K of 4 and 12; f32 split too, on Ampere too */
            static const gt_type types[] = {GT_F32, GT_S32, GT_F16, GT_F64, GT_F32, GT_F32};
            static const int64_t sizes[][2] = {{1024, 1024}, {16, 1024}, {16, 48}, {1, 1024}, {1024, 4}, {1024, 12}};
            const gt_device *device = &devices[i / 6 == 5];
            gt_problem problem = product(types[i / 6], sizes[i % 6][0], sizes[i % 6][1]);
            gt_space space;
            problem.class.math = i / 6 >= 4 ? GT_MATH_SPLIT : GT_MATH_STRICT;
            CHECK_OK(gt_space_init(&families.list[f], device, &problem, &space));
            for (size_t r = 0; r < space.rows; r++) {
                gt_kernel kernel;
                CHECK_OK(gt_space_kernel(&space, r, device, &kernel));
                CHECK(kernel.facts.threads >= 32 && kernel.facts.threads <= 1024);
                CHECK(kernel.facts.smem_bytes <= device->smem_limit);
                /* Blocks of one cluster add up without a workspace where all that share K are of one, unless a launch may
                 * have others. */
                const bool meet = kernel.facts.split_k > gt_space_value(&space, r, "cluster_k", 1) ||
                                  gt_space_value(&space, r, "stream_k", 0);
                CHECK((kernel.facts.ws_tile > 0) == (meet || kernel.facts.any_split));
            }
            rows += space.rows;
            gt_space_finish(&space);
        }
        if (rows == 0)
            check_fail(__FILE__, __LINE__, "%s offers nothing", families.list[f].name);
    }
    gt_families_finish(&families);
}

/* How many configurations for a product of bf16 in nn have a tile, of any size where it is 0. */
static int count_tiles(const char *name, int64_t m, int64_t n, int64_t k, int64_t bm, int64_t bn)
{
    const gt_device device = hopper();
    const gt_gemm gemm = GT_GEMM(GT_BF16, m, n, k);
    gt_families families;
    const gt_family *family;
    gt_problem problem;
    gt_space space;
    int count = 0;
    CHECK_OK(gt_problem_init(&gemm, &problem));
    CHECK_OK(gt_families_init(NULL, &families));
    CHECK_OK(gt_families_get(&families, name, &family));
    CHECK_OK(gt_space_init(family, &device, &problem, &space));
    for (size_t r = 0; r < space.rows; r++)
        count += (bm == 0 || gt_space_value(&space, r, "bm", 0) == bm) && (bn == 0 || gt_space_value(&space, r, "bn", 0) == bn);
    gt_space_finish(&space);
    gt_families_finish(&families);
    return count;
}

TEST(tiles_for_tensor_cores_fit_the_matrix)
{
    CHECK(count_tiles("wgmma", 8192, 288, 1024, 128, 144) > 0 && count_tiles("wgmma", 8192, 320, 1024, 128, 144) == 0);
    CHECK(count_tiles("wgmma", 64, 6144, 3072, 64, 0) > 0 && count_tiles("wgmma", 64, 6144, 3072, 80, 0) == 0);
    CHECK(count_tiles("wgmma", 72, 6144, 3072, 80, 0) > 0 && count_tiles("wgmma", 72, 6144, 3072, 112, 0) == 0);
    CHECK(count_tiles("wgmma", 6144, 64, 3072, 0, 64) > 0 && count_tiles("wgmma", 6144, 64, 3072, 0, 128) == 0);
    CHECK(count_tiles("mma", 39, 39, 39, 48, 48) > 0 && count_tiles("mma", 49, 49, 49, 48, 0) == 0);
    CHECK(count_tiles("mma", 32, 32, 32, 48, 0) == 0 && count_tiles("mma", 32, 32, 32, 32, 32) > 0);
}

TEST(ladder_climbs_from_naive_to_tensor_core)
{
    gt_families families;
    const gt_device device = hopper();
    CHECK_OK(gt_families_init(NULL, &families));
    int rungs = 0;
    for (size_t f = 0; f < families.count; f++) {
        gt_space space;
        const gt_problem problem = square(strcmp(families.list[f].name, "wmma") == 0 ? GT_F16 : GT_F32, 512);
        CHECK_OK(gt_space_init(&families.list[f], &device, &problem, &space));
        if (gt_space_column(&space, "rung") >= 0) {
            CHECK(space.techniques != NULL);
            CHECK(space.techniques[0][0] != 0);
            rungs++;
        }
        gt_space_finish(&space);
    }
    CHECK(rungs >= 11);
    gt_families_finish(&families);
}

TEST(parameters_are_bound)
{
    gt_space space;
    CHECK_OK(evaluate("SELECT :m AS bm, :n AS bn, :cc AS cc, :align AS al, :elem_bytes AS e, :acc_bytes AS s, "
                      ":sm_count AS threads WHERE :type = 'f32'",
                      &space));
    CHECK_INT(space.rows, 1);
    CHECK_INT(gt_space_value(&space, 0, "bm", 0), 256);
    CHECK_INT(gt_space_value(&space, 0, "cc", 0), 90);
    CHECK_INT(gt_space_value(&space, 0, "nothing", 7), 7);
    const gt_device device = hopper();
    gt_kernel kernel;
    CHECK_OK(gt_space_kernel(&space, 0, &device, &kernel));
    CHECK_STR(text_of(&kernel.params), "bm=256 bn=256 cc=90 al=16 e=4 s=4");
    gt_space_finish(&space);
}

TEST(a_bad_space_is_one_clear_line)
{
    const struct {
        const char *sql, *word;
    } cases[] = {
        {"SELEKT 1", "syntax error"},
        {"-- nothing", "no query"},
        {"SELECT 1 AS BM", "'BM' is no parameter name"},
        {"SELECT 1.5 AS bm", "integers"},
        {"SELECT 'x' AS bm", "integers"},
        {"SELECT 1 AS bm UNION ALL SELECT NULL", "integers"},
        {"SELECT 1 AS bm, 1 AS bn, 2 AS bm", "column 'bm' is there twice"},
        {"SELECT 1 AS bm WHERE :typ = 'f32'", "no parameter ':typ'; there are: :cc :smem_limit :sm_count :type :math "},
        {"SELECT 1 AS bm WHERE ? = 'f32'", "no parameter '?'"},
        {"SELECT 1 AS bm, 1 AS bn; -- all\nWHERE :type = 'f32'\n", "behind the query's semicolon: -- all"},
        {"SELECT 1 AS bm;\nSELECT 2 AS bm", "behind the query's semicolon: SELECT 2 AS bm"},
        {"CREATE TABLE t(x)", "not authorized"},
        {"ATTACH 'x.db' AS x", "not authorized"},
        {"PRAGMA database_list", "not authorized"},
        {"WITH RECURSIVE r(bm) AS (SELECT 1 UNION ALL SELECT bm + 1 FROM r) SELECT bm FROM r", "more than"},
        {"WITH RECURSIVE r(bm) AS (SELECT 1 UNION ALL SELECT bm + 1 FROM r) SELECT bm FROM r WHERE bm < 0", "no end after"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gt_space space;
        CHECK_STATUS(evaluate(cases[i].sql, &space), GT_ERROR_INVALID);
        if (!strstr(gt_error_message(), cases[i].word) || !strstr(gt_error_message(), "mine.sql"))
            check_fail(__FILE__, __LINE__, "'%s' gives '%s'", cases[i].sql, gt_error_message());
    }
}

TEST(a_query_may_end_with_a_semicolon_and_a_comment)
{
    gt_space space;
    CHECK_OK(evaluate("SELECT 1 AS bm, 1 AS bn, 32 AS threads; -- that is all\n\n", &space));
    CHECK_INT(space.rows, 1);
    gt_space_finish(&space);
}

TEST(a_space_without_tile_is_refused)
{
    const gt_device device = hopper();
    gt_space space;
    gt_kernel kernel;
    CHECK_OK(evaluate("SELECT 16 AS bm, 32 AS threads", &space));
    CHECK_STATUS(gt_space_kernel(&space, 0, &device, &kernel), GT_ERROR_INVALID);
    CHECK(strstr(gt_error_message(), "'bn'"));
    gt_space_finish(&space);
}

TEST(a_users_folder_adds_and_replaces_families)
{
    gt_families families;
    const char *folder = check_folder();
    write_file(folder, "mine.cu", "#include \"gemm.cuh\"\n// BM BN\n");
    write_file(folder, "mine.sql", "SELECT 1 AS bm, 1 AS bn, 32 AS threads");
    write_file(folder, "naive.cu", "// another naive: BM BN\n");
    write_file(folder, "naive.sql", "SELECT 1 AS bm, 1 AS bn, 32 AS threads");
    CHECK_OK(gt_families_init(folder, &families));
    CHECK(gt_families_find(&families, "mine") != NULL);
    CHECK(strstr(gt_families_find(&families, "naive")->source, "another naive"));
    CHECK(gt_families_find(&families, "simt") != NULL);
    gt_families_finish(&families);
}

TEST(a_template_without_its_space_is_named_only_where_that_family_is_asked_for)
{
    gt_families families;
    const gt_family *family;
    const char *folder = check_folder();
    write_file(folder, "lonely.cu", "//\n");
    write_file(folder, "simt.cu", "");
    write_file(folder, "mine.cu", "// BM BN\n");
    write_file(folder, "mine.sql", "SELECT 1 AS bm, 1 AS bn, 32 AS threads");
    write_file(folder, "a_name_that_is_longer_than_any_family_is_allowed_to_have_in_a_database.cu", "");
    CHECK_OK(gt_families_init(folder, &families));
    CHECK_OK(gt_families_get(&families, "mine", &family));
    CHECK_OK(gt_families_get(&families, "simt", &family));
    CHECK(family->built_in);
    CHECK_STATUS(gt_families_get(&families, "lonely", &family), GT_ERROR_INVALID);
    CHECK(strstr(gt_error_message(), "lonely.sql"));
    gt_families_finish(&families);
    CHECK_STATUS(gt_families_init("/nowhere", &families), GT_ERROR_IO);
}

TEST(a_pipe_among_templates_is_refused_and_not_waited_for)
{
    gt_families families;
    const char *folder = check_folder();
    char path[512];
    snprintf(path, sizeof path, "%s/mine.cu", folder);
    write_file(folder, "mine.sql", "SELECT 1 AS bm, 1 AS bn, 32 AS threads");
    CHECK(mkfifo(path, 0600) == 0);
    CHECK_STATUS(gt_families_init(folder, &families), GT_ERROR_INVALID);
    CHECK(strstr(gt_error_message(), "mine.cu is no file"));
}

TEST(the_same_input_renders_the_same_bytes)
{
    gt_families families;
    char *a, *b, *c, *d;
    CHECK_OK(gt_families_init(NULL, &families));
    const gt_family *simt = gt_families_find(&families, "simt");
    const gt_problem small = square(GT_F32, 64), large = square(GT_F32, 8192);
    gt_problem transposed = small;
    transposed.class.op_a = GT_T;
    gt_kernel one = {.params = params_of("bm=64 bn=32"), .facts = {.threads = 96}}, two = one, three = one, four = one;
    four.facts.threads = 64;
    CHECK_OK(gt_render(simt, &small.class, GT_VARIANT_FAST, &one, &a));
    CHECK_OK(gt_render(simt, &large.class, GT_VARIANT_FAST, &two, &b));
    CHECK_OK(gt_render(simt, &transposed.class, GT_VARIANT_FAST, &three, &c));
    CHECK_OK(gt_render(simt, &small.class, GT_VARIANT_FAST, &four, &d));
    CHECK_STR(a, b);
    CHECK_STR(one.source_hash, two.source_hash);
    CHECK(strcmp(one.source_hash, three.source_hash) != 0 && strcmp(one.source_hash, four.source_hash) != 0);
    CHECK(strstr(a, "#define BM 64\n") && strstr(a, "#define GT_THREADS 96\n"));
    CHECK(!strstr(a, "#include"));
    free(a);
    free(b);
    free(c);
    free(d);
    gt_families_finish(&families);
}

TEST(a_template_may_include_the_headers_and_nothing_else_is_touched)
{
    gt_families families;
    char *source;
    const char *folder = check_folder();
    const gt_problem problem = square(GT_F32, 64);
    gt_kernel kernel = {.params = params_of("stages=3")};
    write_file(folder, "mine.cu",
               "#include \"gemm.cuh\"\n#include \"other.cuh\"\n#include \"warp_specialised.cuh\"\n// last\n");
    write_file(folder, "mine.sql", "SELECT 1 AS bm, 1 AS bn, 32 AS threads");
    CHECK_OK(gt_families_init(folder, &families));
    CHECK_OK(gt_render(gt_families_find(&families, "mine"), &problem.class, GT_VARIANT_FAST, &kernel, &source));
    const char *args = strstr(source, "struct gt_args {"), *other = strstr(source, "#include \"other.cuh\"\n");
    const char *ring = strstr(source, "struct ring {"), *within = strstr(source, "struct mainloop {");
    CHECK(args && other && ring && args < other && other < ring && ring < within && strstr(within, "// last\n"));
    CHECK(!strstr(source, "#include \"gemm") && !strstr(source, "#include \"warp"));
    free(source);
    gt_families_finish(&families);
}

TEST(a_header_that_others_include_too_is_rendered_once)
{
    gt_families families;
    char *source;
    const char *folder = check_folder();
    const gt_problem problem = square(GT_F32, 64);
    gt_kernel kernel = {0};
    write_file(folder, "mine.cu",
               "#include \"tile_copy.cuh\"\n#include \"gemm.cuh\"\n#include \"gemm.cuh\"\n// last\n");
    write_file(folder, "mine.sql", "SELECT 1 AS bm, 1 AS bn, 32 AS threads");
    CHECK_OK(gt_families_init(folder, &families));
    CHECK_OK(gt_render(gt_families_find(&families, "mine"), &problem.class, GT_VARIANT_FAST, &kernel, &source));
    const char *args = strstr(source, "struct gt_args {"), *copy = strstr(source, "struct gt_carrier {");
    CHECK(args && copy && args < copy && !strstr(args + 1, "struct gt_args {"));
    CHECK(strstr(copy, "\n// last\n") && !strstr(source, "#include"));
    free(source);
    gt_families_finish(&families);
}

TEST(the_compiler_is_told_which_lines_are_the_authors)
{
    gt_families families;
    const char *folder = check_folder();
    write_file(folder, "mine.cu", "// first\n#include \"own.cuh\"\n#include \"gemm.cuh\"\n// last\n");
    write_file(folder, "mine.sql", "SELECT 1 AS bm, 1 AS bn, 32 AS threads");
    write_file(folder, "own.cuh", "// of my own\n#include \"gemm.cuh\"\n// its end");
    CHECK_OK(gt_families_init(folder, &families));
    const char *source = gt_families_find(&families, "mine")->source;
    const char *head = "#line 1 \"mine.cu\"\n// first\n#line 1 \"own.cuh\"\n// of my own\n#line 1 \"gemm.cuh\"\n";
    const char *tail = "#line 3 \"own.cuh\"\n// its end\n#line 3 \"mine.cu\"\n\n// last\n";
    CHECK(strncmp(source, head, strlen(head)) == 0);
    CHECK_STR(source + strlen(source) - strlen(tail), tail);
    CHECK(!strstr(gt_families_find(&families, "simt")->source, "#line"));
    gt_families_finish(&families);
}

TEST(headers_of_the_folder_come_before_built_in_ones_also_where_those_include_them)
{
    gt_families families;
    const char *folder = check_folder();
    write_file(folder, "mine.cu", "#include \"warp_specialised.cuh\"\n#include \"own.cuh\"\n// last\n");
    write_file(folder, "mine.sql", "SELECT 1 AS bm, 1 AS bn, 32 AS threads");
    write_file(folder, "mainloop.cuh", "// another main loop\n#include \"mainloop.cuh\"\n");
    write_file(folder, "own.cuh", "// of my own\n#include \"gemm.cuh\"\n");
    CHECK_OK(gt_families_init(folder, &families));
    const char *source = gt_families_find(&families, "mine")->source;
    const char *loop = strstr(source, "// another main loop\n"), *own = strstr(source, "// of my own\n");
    CHECK(loop && own && loop < own && strstr(own, "// last\n") && !strstr(source, "#include"));
    CHECK(strstr(source, "struct gt_args {") && !strstr(source, "struct mainloop {"));
    CHECK(strstr(gt_families_find(&families, "simt_ws")->source, "struct mainloop {"));
    gt_families_finish(&families);
}

TEST(a_parameter_that_the_template_does_not_know_is_refused)
{
    gt_families families;
    char *source;
    gt_kernel kernel = {.params = params_of("bm=64 frobnicate=3")};
    CHECK_OK(gt_families_init(NULL, &families));
    const gt_problem problem = square(GT_F32, 64);
    CHECK_STATUS(gt_render(gt_families_find(&families, "simt"), &problem.class, GT_VARIANT_FAST, &kernel, &source),
                 GT_ERROR_INVALID);
    CHECK(strstr(gt_error_message(), "FROBNICATE"));
    gt_families_finish(&families);
}

TEST(facts_come_from_their_columns_or_their_defaults)
{
    gt_space space;
    gt_kernel kernel;
    const gt_device device = hopper();
    CHECK_OK(evaluate("SELECT 8 AS bm, 16 AS bn, 64 AS threads, 3 AS split_k, 3 AS cluster_y, 0 AS deterministic", &space));
    CHECK_OK(gt_space_kernel(&space, 0, &device, &kernel));
    CHECK(kernel.facts.tile_m == 8 && kernel.facts.tile_n == 16 && kernel.facts.split_k == 3);
    CHECK(kernel.facts.cluster_x == 1 && kernel.facts.cluster_y == 3 && kernel.facts.deterministic == 0);
    CHECK_STR(text_of(&kernel.params), "bm=8 bn=16 split_k=3"); /* what the template is told by these names */
    gt_space_finish(&space);
    CHECK_OK(evaluate("SELECT 8 AS bm, 16 AS bn", &space));
    CHECK_STATUS(gt_space_kernel(&space, 0, &device, &kernel), GT_ERROR_INVALID);
    CHECK(strstr(gt_error_message(), "no column 'threads'"));
    gt_space_finish(&space);
}

CHECK_MAIN
