/* From a gt_gemm to a problem: defaults, refusals, alignment classes. And the small tables beside it. */
#include "../src/core/device.h"
#include "../src/core/kernel.h"
#include "../src/core/problem.h"
#include "params_fixture.h"

TEST(defaults_are_packed_and_one_matrix)
{
    gt_gemm gemm = GT_GEMM(GT_F32, 30, 20, 10);
    gt_problem p;
    gemm.op_b = GT_T;
    CHECK_OK(gt_problem_init(&gemm, &p));
    CHECK_INT(p.lda, 10);
    CHECK_INT(p.ldb, 10);
    CHECK_INT(p.ldc, 20);
    CHECK_INT(p.batch, 1);
    CHECK_STR(gt_class_layout(&p.class), "nt");
    CHECK_INT(gt_problem_bytes(&p, GT_A), 30 * 10 * 4);
    CHECK_NEAR(gt_problem_flops(&p), 2.0 * 30 * 20 * 10, 0);
}

TEST(alignment_follows_rows_and_strides)
{
    gt_gemm gemm = GT_GEMM(GT_F32, 64, 64, 64);
    gt_problem p;
    CHECK_OK(gt_problem_init(&gemm, &p));
    CHECK_INT(p.class.align, 16);
    gemm.ldb = 66;
    CHECK_OK(gt_problem_init(&gemm, &p));
    CHECK_INT(p.class.align, 8);
    gemm.ldc = 65;
    CHECK_OK(gt_problem_init(&gemm, &p));
    CHECK_INT(p.class.align, 4);
    gemm = (gt_gemm)GT_GEMM(GT_F32, 1, 4096, 4095); /* A's only row may be of any length */
    CHECK_OK(gt_problem_init(&gemm, &p));
    CHECK_INT(p.class.align, 16);
    gemm = (gt_gemm)GT_GEMM(GT_F32, 64, 64, 64);
    gemm.batch = 2;
    gemm.stride_a = 64 * 64 + 1;
    CHECK_OK(gt_problem_init(&gemm, &p));
    CHECK_INT(p.class.align, 4);
    gemm.align = 4;
    gemm.stride_a = 0;
    CHECK_OK(gt_problem_init(&gemm, &p));
    CHECK_INT(p.class.align, 4);
}

/* Rows of A and B may lie closer than an element of C is long. */
TEST(alignment_may_be_that_of_the_smallest_element)
{
    const gt_types *types;
    for (size_t i = 0; (types = gt_types_at(i)); i++) {
        gt_gemm gemm = GT_GEMM(types->a, 33, 35, 37);
        gt_problem p, again;
        gemm.type_b = types->b;
        gemm.type_c = types->c;
        gemm.math = types->math;
        CHECK_OK(gt_problem_init(&gemm, &p));
        CHECK_INT(p.class.align, gt_class_element(&p.class));
        gemm = gt_class_gemm(&p.class, 33, 35, 37);
        CHECK_OK(gt_problem_init(&gemm, &again));
        CHECK(gt_class_same(&p.class, &again.class));
        gemm.align = p.class.align / 2;
        CHECK(gemm.align == 0 || gt_problem_init(&gemm, &again) == GT_ERROR_INVALID);
    }
}

TEST(an_operand_without_elements_lowers_no_alignment)
{
    gt_gemm gemm = GT_GEMM(GT_F32, 64, 64, 0);
    gt_problem p;
    for (int layout = 0; layout < 4; layout++) {
        gemm.op_a = (gt_op)(layout / 2);
        gemm.op_b = (gt_op)(layout % 2);
        CHECK_OK(gt_problem_init(&gemm, &p));
        CHECK_INT(p.class.align, 16);
    }
    gemm.batch = 3;
    gemm.stride_a = 1;
    gemm.ldb = 65;
    CHECK_OK(gt_problem_init(&gemm, &p));
    CHECK_INT(p.class.align, 16);
    gemm.ldc = 65; /* C has elements all the same */
    CHECK_OK(gt_problem_init(&gemm, &p));
    CHECK_INT(p.class.align, 4);
}

/* The memory of op(A)'s element (i, p), of op(B)'s (p, j) and C's (i, j), in elements. */
static int64_t place_a(const gt_problem *p, int64_t i, int64_t at)
{
    return p->class.op_a == GT_N ? i * p->lda + at : at * p->lda + i;
}
static int64_t place_b(const gt_problem *p, int64_t at, int64_t j)
{
    return p->class.op_b == GT_N ? at * p->ldb + j : j * p->ldb + at;
}

TEST(a_folded_problem_is_the_same_product)
{
    static const int64_t sizes[][3] = {{40, 1, 24}, {1, 40, 24}, {1, 1, 24}, {40, 30, 24}, {40, 1, 1}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int variant = 0; variant < 8; variant++) {
            gt_gemm gemm = GT_GEMM(GT_F32, sizes[i][0], sizes[i][1], sizes[i][2]);
            gt_problem plain, folded;
            bool swapped;
            gemm.op_a = variant & 1 ? GT_T : GT_N;
            gemm.op_b = variant & 2 ? GT_T : GT_N;
            gemm.ldc = variant & 4 ? 44 : 0;
            CHECK_OK(gt_problem_init(&gemm, &plain));
            CHECK_OK(gt_problem_fold(&gemm, &folded, &swapped));
            CHECK(folded.class.align >= plain.class.align);
            for (int64_t e = 0; e < 24 * 40; e++) {
                const int64_t r = e % plain.m, c = e % plain.n, p = e % plain.k;
                CHECK_INT(place_a(&plain, r, p), swapped ? place_b(&folded, p, r) : place_a(&folded, r, p));
                CHECK_INT(place_b(&plain, p, c), swapped ? place_a(&folded, c, p) : place_b(&folded, p, c));
                CHECK_INT(r * plain.ldc + c, swapped ? c * folded.ldc + r : r * folded.ldc + c);
            }
        }
}

TEST(vectors_that_lie_together_have_two_layouts_and_dot_products_one)
{
    for (int variant = 0; variant < 4; variant++) {
        gt_gemm column = GT_GEMM(GT_F32, 40, 1, 24), dot = GT_GEMM(GT_F32, 1, 1, 24);
        gt_problem p;
        bool swapped;
        column.op_a = dot.op_a = variant & 1 ? GT_T : GT_N;
        column.op_b = dot.op_b = variant & 2 ? GT_T : GT_N;
        CHECK_OK(gt_problem_fold(&column, &p, &swapped));
        CHECK(swapped && p.m == 1 && p.n == 40 && p.class.align == 16);
        CHECK_STR(gt_class_layout(&p.class), variant & 1 ? "nn" : "nt");
        CHECK_OK(gt_problem_fold(&dot, &p, &swapped));
        CHECK(!swapped && p.class.align == 16);
        CHECK_STR(gt_class_layout(&p.class), "nt");
        column.ldc = 2; /* a column of a wider matrix is no row */
        CHECK_OK(gt_problem_fold(&column, &p, &swapped));
        CHECK(!swapped && p.m == 40);
    }
}

TEST(bad_fields_are_named)
{
    const struct {
        gt_gemm gemm;
        gt_status status;
        const char *word;
    } cases[] = {
        {{.m = -1, .n = 1, .k = 1}, GT_ERROR_INVALID, "m is negative"},
        {{.m = 4, .n = 4, .k = 4, .lda = 3}, GT_ERROR_INVALID, "lda is 3"},
        {{.m = 4, .n = 4, .k = 4, .ldb = 3}, GT_ERROR_INVALID, "ldb is 3"},
        {{.m = 4, .n = 4, .k = 4, .ldc = 2}, GT_ERROR_INVALID, "ldc is 2"},
        {{.m = INT64_MAX / 2, .n = 4, .k = 4}, GT_ERROR_INVALID, "overflow"},
        {{.m = 4, .n = INT64_MAX, .k = INT64_MAX}, GT_ERROR_INVALID, "overflow"},
        {{.m = 4, .n = 4, .k = 4, .batch = INT64_MAX}, GT_ERROR_INVALID, "overflow"},
        {{.m = 4, .n = 4, .k = 4, .batch = 2, .stride_c = 3}, GT_ERROR_INVALID, "overlap"},
        {{.m = 4, .n = 4, .k = 4, .batch = 2, .ldc = 8, .stride_c = 4}, GT_ERROR_INVALID, "between each other's rows"},
        {{.m = 4, .n = 4, .k = 4, .align = 3}, GT_ERROR_INVALID, "align is 3"},
        {{.m = 4, .n = 4, .k = 4, .align = 2}, GT_ERROR_INVALID, "smaller than an element"},
        {{.m = 4, .n = 4, .k = 4, .op_a = (gt_op)7}, GT_ERROR_INVALID, "op_a"},
        {{.m = 4, .n = 4, .k = 4, .type_ab = (gt_type)9}, GT_ERROR_UNSUPPORTED, "f32 s32 f64 s8 f16 f16_f32"},
        {{.m = 4, .n = 4, .k = 4, .type_ab = GT_F32, .type_c = GT_F16}, GT_ERROR_UNSUPPORTED, "not offered"},
        {{.m = 4, .n = 4, .k = 4, .type_ab = GT_F16, .type_b = GT_BF16}, GT_ERROR_UNSUPPORTED, "type_b 3"},
        {{.m = 4, .n = 4, .k = 4, .type_ab = GT_E4M3, .type_b = GT_E5M2, .math = GT_MATH_TF32}, GT_ERROR_UNSUPPORTED,
         "math 1 (tf32) does not fit e4m3_e5m2_f32, which has: strict fast"},
        {{.m = 4, .n = 4, .k = 4, .math = (gt_math)9}, GT_ERROR_UNSUPPORTED, "math 9 (unknown) does not fit f32"},
        {{.m = 4, .n = 4, .k = 4, .type_ab = GT_F16, .math = GT_MATH_TF32}, GT_ERROR_UNSUPPORTED,
         "math 1 (tf32) does not fit f16_f32, which has: strict"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gt_problem p = {.m = 77};
        CHECK_STATUS(gt_problem_init(&cases[i].gemm, &p), cases[i].status);
        if (!strstr(gt_error_message(), cases[i].word))
            check_fail(__FILE__, __LINE__, "case %zu: '%s' does not say '%s'", i, gt_error_message(), cases[i].word);
        CHECK_INT(p.m, 77); /* untouched */
    }
}

TEST(empty_sizes_are_problems_too)
{
    gt_gemm gemm = GT_GEMM(GT_F32, 0, 5, 0);
    gt_problem p;
    CHECK_OK(gt_problem_init(&gemm, &p));
    CHECK_INT(gt_problem_bytes(&p, GT_A) + gt_problem_bytes(&p, GT_B) + gt_problem_bytes(&p, GT_C), 0);
}

TEST(names_say_what_is_unusual)
{
    gt_gemm gemm = GT_GEMM(GT_S32, 3, 5, 7);
    gt_problem p;
    char name[GT_PROBLEM_NAME_LENGTH];
    gemm.batch = 2;
    CHECK_OK(gt_problem_init(&gemm, &p));
    gt_problem_name(&p, name);
    CHECK_STR(name, "s32 nn 3x5x7 batch 2 align 4");
}

TEST(layouts_are_read_back)
{
    gt_op a, b;
    CHECK_OK(gt_layout_parse("tn", &a, &b));
    CHECK(a == GT_T && b == GT_N);
    CHECK_STATUS(gt_layout_parse("xx", &a, &b), GT_ERROR_INVALID);
}

TEST(hash_is_sha256)
{
    char hash[GT_HASH_LENGTH];
    gt_hash("", 0, hash);
    CHECK_STR(hash, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    gt_hash("abc", 3, hash);
    CHECK_STR(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    gt_hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, hash);
    CHECK_STR(hash, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(parameters_are_found_by_whole_name)
{
    const gt_params params = params_of("wbm=3 bm=128 bn=256");
    int64_t value = -1;
    CHECK(gt_params_find(&params, "bm", &value));
    CHECK_INT(value, 128);
    CHECK(!gt_params_find(&params, "b", &value));
    CHECK_STR(text_of(&params), "wbm=3 bm=128 bn=256");
}

TEST(no_parameter_is_cut_and_none_passes_that_is_no_name)
{
    gt_params params = {0};
    char name[32];
    for (int i = 0; i < GT_PARAM_COUNT; i++) {
        snprintf(name, sizeof name, "a_name_as_long_as_it%03d", i);
        CHECK_OK(gt_params_add(&params, name, INT64_MIN + i));
    }
    CHECK_STATUS(gt_params_add(&params, "one_more", 1), GT_ERROR_INVALID);
    CHECK(gt_params_same(&params, &(gt_params){.count = params.count}) == false);
    const gt_params again = params_of(text_of(&params));
    CHECK(gt_params_same(&params, &again));
    params.count = 0;
    CHECK_STATUS(gt_params_add(&params, "a_name_of_24_characters_", 1), GT_ERROR_INVALID);
    CHECK_STATUS(gt_params_add(&params, "", 1), GT_ERROR_INVALID);
    CHECK_STATUS(gt_params_add(&params, "BM", 1), GT_ERROR_INVALID);
    CHECK_STATUS(gt_params_add(&params, "bm 1;drop", 1), GT_ERROR_INVALID);
}

TEST(every_type_stores_what_it_loads_and_rounds_to_the_nearest)
{
    for (gt_type type = 0; gt_type_find(type); type++) {
        const gt_type_info *info = gt_type_find(type);
        for (int i = 0; i < 20000; i++) {
            uint64_t drawn = 0, again = 0, above = 0;
            info->draw(&drawn, 0, check_random());
            const double value = info->load(&drawn, 0);
            info->store(&again, 0, value);
            CHECK(drawn == again);
            if (value == 0 || info->least == 1) /* integers */
                continue;
            above = drawn + 1; /* the neighbour away from zero */
            const double other = info->load(&above, 0), middle = value + (other - value) / 2;
            info->store(&again, 0, value + (other - value) * 0.49);
            CHECK(again == drawn);
            info->store(&again, 0, value + (other - value) * 0.51);
            CHECK(again == above);
            info->store(&again, 0, middle);
            CHECK(again == (drawn % 2 ? above : drawn)); /* ties to even */
        }
    }
}

TEST(sixteen_bits_reach_from_subnormal_numbers_to_infinity)
{
    const gt_type_info *f16 = gt_type_find(GT_F16);
    const struct {
        double value;
        uint16_t bits;
    } known[] = {{0, 0},           {-0.0, 0x8000},      {1, 0x3c00},        {-2, 0xc000},         {65504, 0x7bff},
                 {65519, 0x7bff},  {65520, 0x7c00},     {-1e9, 0xfc00},     {0x1p-14, 0x0400},    {0x1p-24, 0x0001},
                 {0x1p-25, 0},     {0x1.8p-25, 0x0001}, {0x1p-26, 0},       {0x1.ffcp-15, 0x0400}, {INFINITY, 0x7c00}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint16_t bits = 0x5555;
        f16->store(&bits, 0, known[i].value);
        if (bits != known[i].bits)
            check_fail(__FILE__, __LINE__, "%g became %04x, not %04x", known[i].value, bits, known[i].bits);
    }
    uint16_t nan = 0;
    f16->store(&nan, 0, NAN);
    CHECK(isnan(f16->load(&nan, 0)));
}

TEST(eight_bits_reach_from_subnormal_numbers_to_the_largest_and_beyond)
{
    const struct {
        gt_type type;
        double value;
        uint8_t bits;
    } known[] = {{GT_E4M3, 1, 0x38},        {GT_E4M3, -448, 0xfe},     {GT_E4M3, 464, 0x7e},
                 {GT_E4M3, 465, 0x7f},      {GT_E4M3, 0x1p-9, 0x01},   {GT_E4M3, 0x1p-10, 0},
                 {GT_E4M3, 0x1p-6, 0x08},   {GT_E4M3, INFINITY, 0x7f}, {GT_E5M2, 1, 0x3c},
                 {GT_E5M2, -57344, 0xfb},   {GT_E5M2, 61439, 0x7b},    {GT_E5M2, 61440, 0x7c},
                 {GT_E5M2, 0x1p-16, 0x01},  {GT_E5M2, -0x1p-17, 0x80}, {GT_E5M2, 0x1p-14, 0x04},
                 {GT_E5M2, -INFINITY, 0xfc}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint8_t bits = 0x55;
        gt_type_find(known[i].type)->store(&bits, 0, known[i].value);
        if (bits != known[i].bits)
            check_fail(__FILE__, __LINE__, "%g became %02x, not %02x", known[i].value, bits, known[i].bits);
    }
    for (gt_type type = GT_E4M3; type <= GT_E5M2; type++) {
        const gt_type_info *info = gt_type_find(type);
        for (int code = 0; code < 256; code++) {
            uint8_t bits = (uint8_t)code, again = 0;
            const double value = info->load(&bits, 0);
            info->store(&again, 0, value);
            CHECK(isnan(value) ? isnan(info->load(&again, 0)) : again == bits);
            CHECK(!isfinite(value) || fabs(value) <= info->most);
            CHECK(!isinf(value) || type == GT_E5M2);
        }
    }
}

TEST(problems_that_are_the_same_have_the_same_hash_and_others_another)
{
    gt_gemm gemm = GT_GEMM(GT_F32, 30, 20, 10);
    gt_problem p, q;
    CHECK_OK(gt_problem_init(&gemm, &p));
    gemm.ldc = 100; /* where the numbers lie is not what they are */
    CHECK_OK(gt_problem_init(&gemm, &q));
    CHECK(gt_problem_hash(&p) == gt_problem_hash(&q));
    q.k = 11;
    CHECK(gt_problem_hash(&p) != gt_problem_hash(&q));
    q = p;
    q.class.op_a = GT_T;
    CHECK(gt_problem_hash(&p) != gt_problem_hash(&q));
}

TEST(every_status_has_a_name)
{
    for (int s = GT_OK; s >= GT_ERROR_UNSUPPORTED; s--)
        CHECK(strncmp(gt_status_name((gt_status)s), "GT_", 3) == 0);
    CHECK_STR(gt_status_name((gt_status)1), "unknown gt_status");
}

/* Figures of the occupancy calculator for compute capability 9.0. */
TEST(occupancy_is_limited_by_the_scarcest_resource)
{
    gt_device d;
    CHECK_OK(gt_device_model(90, &d));
    CHECK_INT(gt_device_occupancy(&d, 256, 32, 0), 8);
    CHECK_INT(gt_device_occupancy(&d, 256, 128, 0), 2);
    CHECK_INT(gt_device_occupancy(&d, 256, 129, 0), 1);
    CHECK_INT(gt_device_occupancy(&d, 256, 255, 0), 1);
    CHECK_INT(gt_device_occupancy(&d, 1024, 65, 0), 0);
    CHECK_INT(gt_device_occupancy(&d, 128, 32, 100 << 10), 2);
    CHECK_INT(gt_device_occupancy(&d, 32, 32, 0), 32);
    d.smem_reserved = 0; /* as on Turing */
    CHECK_INT(gt_device_occupancy(&d, 32, 32, 0), 32);
}

TEST(architectures_are_known_or_refused)
{
    gt_device d;
    CHECK_OK(gt_device_model(80, &d));
    CHECK_STR(d.arch, "sm_80");
    CHECK_OK(gt_device_model(90, &d));
    CHECK_STR(d.arch, "sm_90a");
    CHECK_STATUS(gt_device_model(70, &d), GT_ERROR_INVALID);
}

CHECK_MAIN
