/* Kernels in the store: what is kept of one, its class and seal, and which are offered for a problem. */
#include "store_fixture.h"

TEST(that_a_kernel_is_not_deterministic_is_remembered_for_good)
{
    fixture f = fixture_open();
    const gt_kernel kernel = make_kernel(1);
    CHECK_OK(put(&f, &kernel, NULL, make_trial(10)));
    CHECK_STR(ask(f.store, "SELECT deterministic FROM kernel"), "1");
    gt_trial varied = make_trial(10);
    varied.varied = true;
    CHECK_OK(put(&f, &kernel, NULL, varied));
    CHECK_OK(put(&f, &kernel, NULL, make_trial(10)));
    CHECK_STR(ask(f.store, "SELECT group_concat(deterministic) FROM kernel"), "0");
    fixture_close(&f);
}

TEST(the_winner_of_a_race_is_compared_by_its_newest_screening)
{
    fixture f = fixture_open();
    const gt_kernel winner = make_kernel(1), other = make_kernel(2);
    gt_measurements found = {0};
    CHECK_OK(put(&f, &winner, &code_of_tests, make_win(70, 0.03)));
    CHECK_OK(gt_store_find_measured(f.store, &f.device, &f.problem.class, &found));
    CHECK(found.count == 1 && found.list[0].screen_us == 0 && gt_measured_us(&found.list[0]) == 70);
    gt_measurements_finish(&found);
    CHECK_OK(put(&f, &winner, NULL, make_trial(50)));
    CHECK_OK(put(&f, &winner, NULL, make_trial(60)));
    CHECK_OK(put(&f, &other, &code_of_tests, make_trial(65)));
    CHECK_OK(gt_store_find_measured(f.store, &f.device, &f.problem.class, &found));
    CHECK_INT(found.count, 2);
    for (size_t i = 0; i < found.count; i++) {
        CHECK(found.list[i].trial.us == (found.list[i].winner ? 70 : 65));
        CHECK(gt_measured_us(&found.list[i]) == (found.list[i].winner ? 60 : 65));
    }
    gt_measurements_finish(&found);
    fixture_close(&f);
}

TEST(a_stored_kernel_comes_back_with_facts_and_code)
{
    fixture f = fixture_open();
    const gt_kernel kernel = make_kernel(1);
    gt_measurements found = {0};
    gt_code code = {0};
    CHECK_OK(put(&f, &kernel, NULL, make_trial(10)));
    CHECK_OK(gt_store_find_measured(f.store, &f.device, &f.problem.class, &found));
    CHECK_INT(found.count, 0); /* nothing to load yet */
    gt_measurements_finish(&found);
    CHECK_OK(put(&f, &kernel, &code_of_tests, make_win(9, 0.03)));
    gt_store_close(f.store);
    CHECK_OK(gt_store_open(f.path, GT_STORE_READ, &f.store));
    CHECK_OK(gt_store_find_measured(f.store, &f.device, &f.problem.class, &found));
    CHECK_INT(found.count, 1);
    const gt_kernel *back = found.list[0].kernel;
    CHECK_STR(back->family, kernel.family);
    CHECK_STR(back->source_hash, kernel.source_hash);
    CHECK(gt_params_same(&back->params, &kernel.params) && back->registers == kernel.registers);
    CHECK(memcmp(&back->facts, &kernel.facts, sizeof kernel.facts) == 0);
    CHECK(gt_problem_same(&found.list[0].problem, &f.problem));
    CHECK(found.list[0].same_gpu && found.list[0].winner && found.list[0].trial.us == 9 && found.list[0].trial.margin == 0.03);
    CHECK_OK(gt_store_find_code(f.store, found.list[0].kernel_id, NULL, &code));
    CHECK(code.cubin_bytes == sizeof code_bytes && memcmp(code.cubin, code_bytes, sizeof code_bytes) == 0);
    CHECK_INT(code.ptx_bytes, sizeof ptx_bytes - 1);
    CHECK_STR(code.ptx, ptx_bytes);
    CHECK_STATUS(gt_store_find_code(f.store, 12345, NULL, &code), GT_ERROR_NOT_TUNED);
    gt_code_finish(&code);
    gt_measurements_finish(&found);
    fixture_close(&f);
}

/* One trial of a kernel with code on another problem or GPU; the id of neither matters. */
static void put_elsewhere(const fixture *f, int number, const gt_device *device, const gt_problem *problem)
{
    const gt_kernel kernel = make_kernel(number);
    const gt_trial trial = make_trial(number);
    int64_t gpu = 0, id = 0;
    CHECK_OK(gt_store_gpu(f->store, device, &gpu));
    CHECK_OK(gt_store_problem(f->store, problem, &id));
    CHECK_OK(gt_store_put_trial(f->store, f->run, gpu, id, &kernel, &code_of_tests, &trial));
}

/* An application remembers what it has read: by the time that it loads a kernel the id may be another's. */
TEST(an_id_that_is_another_kernels_has_no_code)
{
    fixture f = fixture_open();
    const gt_kernel remembered = make_kernel(1), there = make_kernel(2);
    gt_code code = {0};
    CHECK_OK(put(&f, &there, &code_of_tests, make_trial(1)));
    CHECK_STATUS(gt_store_find_code(f.store, 1, &remembered, &code), GT_ERROR_NOT_TUNED);
    CHECK_OK(gt_store_find_code(f.store, 1, &there, &code));
    gt_code_finish(&code);
    fixture_close(&f);
}

TEST(a_kernel_is_of_the_class_it_was_rendered_for_and_runs_no_other)
{
    fixture f = fixture_open();
    const gt_kernel kernel = make_kernel(1);
    const gt_trial trial = make_trial(1);
    gt_problem transposed = f.problem, loose = f.problem;
    int64_t id = 0;
    CHECK_OK(put(&f, &kernel, &code_of_tests, trial));
    CHECK_STR(ask(f.store, "SELECT class FROM kernel"), "f32 strict none nn 16");
    transposed.class.op_b = GT_T;
    loose.class.align = 8;
    CHECK_OK(gt_store_problem(f.store, &transposed, &id));
    CHECK_STATUS(gt_store_put_trial(f.store, f.run, f.gpu, id, &kernel, NULL, &trial), GT_ERROR_INVALID);
    CHECK_OK(gt_store_problem(f.store, &loose, &id));
    CHECK_STATUS(gt_store_put_trial(f.store, f.run, f.gpu, id, &kernel, NULL, &trial), GT_ERROR_INVALID);
    fixture_close(&f);
}

/* Spelled out, for seals are in files: a change of what they cover makes every stored kernel a damaged one. */
TEST(a_seal_covers_what_a_launch_depends_on_and_no_fact_that_has_its_default)
{
    static const char text[] =
        "class=f32 strict none nn 16\nfamily=simt\n"
        "source=8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4\nnvrtc=13.0\narch=sm_90a\n"
        "cubin=6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d\nptx=\n"
        "tile_m=128\ntile_n=64\nthreads=256\nws_tile=4294967296\nmap_promotion=0\ndeterministic=0\n";
    const gt_problem problem = make_problem(16, 16, 16);
    gt_kernel kernel = {.family = "simt", .nvrtc = "13.0", .arch = "sm_90a", .registers = 168};
    char expected[GT_HASH_LENGTH], seal[GT_HASH_LENGTH], zero[GT_HASH_LENGTH];
    gt_hash("hi", 2, kernel.source_hash);
    gt_hash("", 1, zero);
    gt_hash(text, sizeof text - 1, expected);
    for (size_t i = 0; i < GT_FACT_COUNT; i++)
        *gt_fact(&kernel.facts, i) = gt_fact_rows[i].absent;
    kernel.facts.tile_m = 128;
    kernel.facts.tile_n = 64;
    kernel.facts.threads = 256;
    kernel.facts.ws_tile = 1ll << 32;
    kernel.facts.map_promotion = 0;
    kernel.facts.deterministic = 0;
    gt_kernel_seal(&kernel, &problem.class, zero, "", seal);
    CHECK_STR(seal, expected);
}

TEST(a_class_is_one_text_and_back)
{
    static const char *const wrong[] = {"", "f32", "f32 strict none nn", "f32 strict none nn 3",
                                        "f32 strict none nn 32", "f32  strict none nn 16", "f32 strict none nn 16 ",
                                        "f33 strict none nn 16",
                                        "f32 strict none nm 16", "f32 unknown none nn 16", "f32 strict unknown nn 16",
                                        "f32 strict none nn 016", "f32 loose none nn 16"};
    gt_problem problem = make_problem(16, 16, 16);
    gt_class class;
    char text[GT_CLASS_LENGTH];
    problem.class.op_a = GT_T;
    problem.class.align = 4;
    CHECK_STR(gt_class_text(&problem.class, text), "f32 strict none tn 4");
    CHECK(gt_class_parse(text, &class) && gt_class_same(&class, &problem.class));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK(!gt_class_parse(wrong[i], &class));
}

TEST(kernels_of_every_type_are_found_again_for_rows_of_any_length)
{
    const gt_types *types;
    fixture f = fixture_open();
    for (size_t i = 0; (types = gt_types_at(i)); i++) {
        gt_gemm gemm = GT_GEMM(types->a, 33, 35, 37);
        gt_problem problem;
        gt_measurements found = {0};
        gemm.type_b = types->b;
        gemm.type_c = types->c;
        gemm.math = types->math;
        CHECK_OK(gt_problem_init(&gemm, &problem));
        put_elsewhere(&f, (int)i + 1, &f.device, &problem);
        CHECK_OK(gt_store_find_measured(f.store, &f.device, &problem.class, &found));
        CHECK_INT(found.count, 1);
        CHECK(gt_problem_same(&found.list[0].problem, &problem));
        gt_measurements_finish(&found);
    }
    fixture_close(&f);
}

TEST(only_kernels_that_can_run_the_problem_are_offered_newest_first)
{
    fixture f = fixture_open();
    gt_device sister = make_device("NVIDIA H100"), stranger = make_device("NVIDIA B200");
    gt_problem loose = f.problem, transposed = f.problem, asked = f.problem;
    gt_measurements found = {0};
    strcpy(stranger.arch, "sm_100a");
    loose.class.align = 4;
    transposed.class.op_a = GT_T;
    put_elsewhere(&f, 1, &f.device, &f.problem);
    put_elsewhere(&f, 2, &f.device, &loose);
    put_elsewhere(&f, 3, &f.device, &transposed);
    put_elsewhere(&f, 4, &sister, &f.problem);
    put_elsewhere(&f, 5, &stranger, &f.problem);
    CHECK_OK(gt_store_find_measured(f.store, &f.device, &asked.class, &found));
    CHECK_INT(found.count, 3);
    CHECK(found.list[0].trial.us == 4 && !found.list[0].same_gpu);
    CHECK(found.list[1].trial.us == 2 && found.list[1].same_gpu && found.list[1].problem.class.align == 4);
    CHECK(found.list[2].trial.us == 1 && found.list[2].same_gpu && !found.list[2].winner);
    gt_measurements_finish(&found);
    asked.class.align = 8; /* too little for what was built for 16 */
    CHECK_OK(gt_store_find_measured(f.store, &f.device, &asked.class, &found));
    CHECK(found.count == 1 && found.list[0].trial.us == 2);
    gt_measurements_finish(&found);
    fixture_close(&f);
}

TEST(what_is_told_of_one_problem_is_what_the_list_of_all_has_of_it)
{
    fixture f = fixture_open();
    const gt_device sister = make_device("NVIDIA H100");
    gt_problem loose = f.problem, other = make_problem(64, 64, 72);
    gt_measurements all, own;
    size_t at = 0;
    loose.class.align = 4;
    put_elsewhere(&f, 1, &f.device, &f.problem);
    put_elsewhere(&f, 2, &f.device, &loose);
    put_elsewhere(&f, 3, &f.device, &other);
    put_elsewhere(&f, 4, &sister, &f.problem);
    put_elsewhere(&f, 5, &f.device, &f.problem);
    CHECK_OK(gt_store_find_measured(f.store, &f.device, &f.problem.class, &all));
    CHECK_OK(gt_store_find_measured_on(f.store, &f.device, &f.problem, &own));
    CHECK(all.count == 5 && own.count == 3);
    for (size_t i = 0; i < all.count; i++)
        if (gt_problem_same(&all.list[i].problem, &f.problem)) {
            const gt_measured *told = &own.list[at++];
            CHECK(told->kernel_id == all.list[i].kernel_id && told->trial.us == all.list[i].trial.us);
            CHECK(told->same_gpu == all.list[i].same_gpu && told->winner == all.list[i].winner);
        }
    CHECK_INT(at, own.count);
    gt_measurements_finish(&all);
    gt_measurements_finish(&own);
    CHECK_OK(gt_store_find_measured_on(f.store, &f.device, &loose, &own));
    CHECK(own.count == 1 && own.list[0].trial.us == 2);
    gt_measurements_finish(&own);
    fixture_close(&f);
}

TEST(an_alignment_class_is_kept_though_packed_rows_would_have_less)
{
    fixture f = fixture_open();
    gt_problem padded = make_problem(63, 63, 63);
    gt_measurements found = {0};
    CHECK_INT(padded.class.align, 4);
    padded.class.align = 16; /* rows of 64 */
    put_elsewhere(&f, 1, &f.device, &padded);
    CHECK_OK(gt_store_find_measured(f.store, &f.device, &padded.class, &found));
    CHECK_INT(found.count, 1);
    CHECK_INT(found.list[0].problem.class.align, 16);
    gt_measurements_finish(&found);
    fixture_close(&f);
}

TEST(one_row_for_each_kernel_and_problem_the_won_race_before_newer_screenings)
{
    fixture f = fixture_open();
    const gt_kernel a = make_kernel(1), b = make_kernel(2);
    gt_measurements found = {0};
    CHECK_OK(put(&f, &a, &code_of_tests, make_win(10, 0.1)));
    CHECK_OK(put(&f, &b, &code_of_tests, make_win(11, 0.1)));
    CHECK_OK(put(&f, &a, NULL, make_trial(12)));
    CHECK_OK(put(&f, &b, NULL, make_trial(13)));
    CHECK_OK(gt_store_find_measured(f.store, &f.device, &f.problem.class, &found));
    CHECK_INT(found.count, 2);
    CHECK(found.list[0].trial.us == 12 && !found.list[0].winner);
    CHECK(found.list[1].trial.us == 11 && found.list[1].winner);
    gt_measurements_finish(&found);
    fixture_close(&f);
}

CHECK_MAIN
