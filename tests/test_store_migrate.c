/* Databases of every earlier format: what they hold is there in this one. */
#include <signal.h>
#include <sys/resource.h>

#include "store_fixture.h"

TEST(a_database_of_version_1_is_brought_up_to_date_with_all_its_rows)
{
    const char *path = in_folder(check_folder(), "old.db");
    gt_store *store = NULL;
    vandalise(path, gt_embedded_schema_sql);
    vandalise(path, "CREATE VIEW best_configs AS SELECT 'old' AS gpu;"
                    "INSERT INTO gpu VALUES (1, 'NVIDIA H200', 90, 'sm_90a', 132, 1980000, 1, 1, 1);"
                    "INSERT INTO peak VALUES (1, 'f32', 67, 'units x clock')");
    CHECK_STATUS(gt_store_open(path, GT_STORE_READ, &store), GT_ERROR_DATABASE);
    CHECK(strstr(gt_error_message(), "older") && strstr(gt_error_message(), "format 1"));
    CHECK_OK(gt_store_open(path, GT_STORE_WRITE, &store));
    CHECK_STR(ask(store, "SELECT user_version FROM pragma_user_version"), "8");
    CHECK_STR(ask(store, "SELECT name || math || tflops FROM gpu JOIN peak ON gpu.id = peak.gpu"),
              "NVIDIA H200strict67.0");
    CHECK_STR(ask(store, "SELECT count(*) FROM best_configs WHERE m = 1"), "0");
    CHECK_OK(gt_store_put_bandwidth(store, 1, 4.25));
    gt_store_close(store);
    CHECK_OK(gt_store_open(path, GT_STORE_WRITE, &store)); /* a second time there is nothing to do */
    CHECK_STR(ask(store, "SELECT copy_tbs FROM bandwidth"), "4.25");
    gt_store_close(store);
}

TEST(kernels_of_version_2_copy_both_operands_and_are_launched_in_their_turn)
{
    const char *path = in_folder(check_folder(), "old.db");
    gt_store *store = NULL;
    vandalise(path, gt_embedded_schema_sql);
    vandalise(path, gt_embedded_schema_2_sql);
    vandalise(path, "CREATE VIEW best_configs AS SELECT repack FROM kernel;"
                    "INSERT INTO kernel (family, params, source_hash, nvrtc, arch, tile_m, tile_n, split_k, threads,"
                    " smem_bytes, cluster, ws_tile, deterministic, registers, spills, repack)"
                    " SELECT 'simt_ws', '', printf('%064d', value), '', '', 1, 1, 1, 1, 0, 1, 0, 1, 0, 0, value"
                    " FROM (SELECT 0 AS value UNION SELECT 1)");
    CHECK_OK(gt_store_open(path, GT_STORE_WRITE, &store));
    CHECK_STR(ask(store, "SELECT group_concat(repack || dependent_launch, ' ') FROM kernel"), "00 30");
    gt_store_close(store);
}

TEST(a_database_of_version_3_keeps_its_winners_with_their_facts_and_parameters)
{
    const char *path = in_folder(check_folder(), "old.db");
    const gt_device device = make_device("NVIDIA H200");
    const gt_problem problem = make_problem(16, 16, 16);
    gt_store *store = NULL;
    gt_measurements found = {0};
    gt_code code = {0};
    make_format_3(path);
    CHECK_OK(gt_store_open(path, GT_STORE_WRITE, &store));
    CHECK_STR(ask(store, "SELECT group_concat(m || ' ' || family || ' ' || params || ' ' || coalesce(stages, '-') || ' ' ||"
                         " coalesce(bk, '-') || ' ' || us, ', ') FROM (SELECT * FROM best_configs ORDER BY m)"),
              "16 skinny bm=1 bn=32 - - 3.0, 4096 simt_ws bm=128 bn=256 bk=32 group=-8 stages=3 3 32 500.0");
    CHECK_STR(ask(store, "SELECT count(*) FROM pragma_foreign_key_check"), "0");
    CHECK_STR(ask(store, "SELECT integrity_check FROM pragma_integrity_check"), "ok");
    CHECK_OK(gt_store_find_measured(store, &device, &problem.class, &found));
    CHECK_INT(found.count, 2);
    for (size_t i = 0; i < 2; i++) {
        const gt_kernel *kernel = found.list[i].kernel;
        const bool first = found.list[i].kernel_id == 7;
        CHECK(kernel->facts.dependent_launch == 1 && kernel->facts.cluster_x == (first ? 1 : 8));
        CHECK(kernel->facts.cluster_y == 1 && kernel->facts.box_a_rows == 0 && kernel->facts.deterministic == 1);
        CHECK(kernel->facts.blocks == (first ? 132 : 0) && kernel->facts.repack == (first ? 2 : 0));
        CHECK_INT(kernel->params.count, first ? 5 : 2);
        CHECK(found.list[i].winner);
    }
    CHECK_OK(gt_store_find_code(store, 7, NULL, &code));
    gt_code_finish(&code);
    gt_measurements_finish(&found);
    gt_store_close(store);
}

TEST(a_database_of_version_4_gets_classes_and_seals_and_loses_only_code_of_no_class)
{
    const char *path = in_folder(check_folder(), "old.db");
    const gt_device device = make_device("NVIDIA H200");
    const gt_problem problem = make_problem(16, 16, 16);
    gt_store *store = NULL;
    gt_measurements found = {0};
    gt_code code = {0};
    make_format_4(path);
    vandalise(path, /* 20: trials of two classes; 21: none; 22: two sizes of one class */
              "INSERT INTO problem VALUES (3, 'f32', 'strict', 'nt', 16, 16, 16, 1, 16, 'none');"
              "INSERT INTO kernel SELECT 20 + value, family, printf('%064d', 20 + value), nvrtc, arch, tile_m, tile_n,"
              " split_k, threads, smem_bytes, cluster_x, ws_tile, deterministic, registers, spills, cubin_hash,"
              " ptx_hash, cubin, ptx, blocks, dependent_launch, repack, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2"
              " FROM kernel, (SELECT 0 AS value UNION SELECT 1 UNION SELECT 2) WHERE id = 7;"
              "INSERT INTO trial (run, gpu, problem, kernel, stage, outcome, detail, timing, us, samples,"
              " stopped_early, registers, spills) VALUES (1, 1, 2, 20, 'screen', 'ok', '', 'measured', 1, 30, 0, 168, 0),"
              " (1, 1, 3, 20, 'screen', 'ok', '', 'measured', 1, 30, 0, 168, 0),"
              " (1, 1, 2, 22, 'screen', 'ok', '', 'measured', 1, 30, 0, 168, 0),"
              " (1, 1, 1, 22, 'screen', 'ok', '', 'measured', 1, 30, 0, 168, 0)");
    CHECK_OK(gt_store_open(path, GT_STORE_WRITE, &store));
    CHECK_STR(ask(store, "SELECT group_concat(id || coalesce(class, '-'), ', ') FROM kernel WHERE cubin IS NOT NULL"),
              "7f32 strict none nn 16, 9f32 strict none nn 16, 22f32 strict none nn 16");
    CHECK_STR(ask(store, "SELECT group_concat(id, ' ') FROM kernel WHERE class IS NULL"), "20 21");
    CHECK_STR(ask(store, "SELECT group_concat(m || family || us) FROM (SELECT * FROM best_configs WHERE margin > 0"
                         " ORDER BY m)"), "16skinny3.0,4096simt_ws500.0");
    CHECK_STR(ask(store, "SELECT count(*) FROM trial WHERE seed IS NULL"), "7");
    CHECK_OK(gt_store_find_measured(store, &device, &problem.class, &found));
    CHECK_INT(found.count, 4);
    CHECK_INT(found.damaged, 0);
    CHECK_OK(gt_store_find_code(store, 22, NULL, &code));
    gt_code_finish(&code);
    gt_measurements_finish(&found);
    gt_store_close(store);
}

TEST(a_disk_that_fills_up_during_a_migration_leaves_the_old_database)
{
    const char *path = in_folder(check_folder(), "old.db");
    struct rlimit before;
    bool done = false;
    make_format_3(path);
    signal(SIGXFSZ, SIG_IGN);
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    for (rlim_t bytes = 4096; !done; bytes += 4096) {
        const struct rlimit small = {bytes, before.rlim_max};
        gt_store *store = NULL;
        CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
        done = gt_store_open(path, GT_STORE_WRITE, &store) == GT_OK;
        gt_store_close(store);
        CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
        CHECK_INT(format_of(path), done ? 8 : 3);
        CHECK(bytes < 4 << 20);
    }
}

CHECK_MAIN
