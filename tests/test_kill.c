/* Killed at thirty random moments of a run on a GPU: nothing acknowledged is lost, and the next run goes on. */
#include <signal.h>
#include <sys/wait.h>

#include "../db/store.h"
#include "check.h"

#define KILLS 30

static int keep(void *data, int columns, const char *const *names, const char *const *values)
{
    (void)columns, (void)names;
    snprintf(data, 64, "%s", values[0] ? values[0] : "NULL");
    return 0;
}

static void ask(const char *database, const char *sql, char answer[64])
{
    gt_store *store;
    strcpy(answer, "no row");
    CHECK_OK(gt_store_open(database, GT_STORE_READ, &store));
    CHECK_OK(gt_store_query(store, sql, NULL, keep, answer));
    gt_store_close(store);
}

static pid_t start(const char *program, const char *database)
{
    const pid_t child = fork();
    if (child == 0) {
        execl(program, program, "tune", "--device", "0", "--db", database, "--type", "f32", "--shapes",
              "256,384,200x300x100", "--effort", "quick", "--quiet", "--seed", "3", (char *)NULL);
        _exit(127);
    }
    CHECK(child > 0);
    return child;
}

TEST(killed_thirty_times_nothing_is_lost_or_done_twice)
{
    const char *program = getenv("GEMMTUNE");
    char database[512], answer[64];
    gt_driver *driver;
    int status, grew = 0;
    long rows = 0;
    /* From before the first candidate is compiled to well after some are stored. */
    const useconds_t longest = gt_driver_is_soft(getenv("GEMMTUNE_DRIVER"), NULL) ? 10000000 : 4000000;
    if (!program)
        SKIP("GEMMTUNE names the program");
    if (gt_driver_open(NULL, &driver) != GT_OK)
        SKIP(gt_error_message());
    gt_driver_close(driver);
    snprintf(database, sizeof database, "%s/kill.db", check_folder());
    for (int i = 0; i < KILLS; i++) {
        const pid_t child = start(program, database);
        usleep(200000 + (useconds_t)(check_random() % longest));
        kill(child, SIGKILL);
        CHECK(waitpid(child, &status, 0) == child);
        if (access(database, F_OK) != 0)
            continue;
        ask(database, "SELECT count(*) FROM trial", answer);
        CHECK(atol(answer) >= rows);
        grew += atol(answer) > rows;
        rows = atol(answer);
        ask(database, "PRAGMA integrity_check", answer);
        CHECK_STR(answer, "ok");
    }
    printf("%ld rows after %d kills, %d of them in the midst of the work\n", rows, KILLS, grew);
    CHECK(grew > 0);
    const pid_t child = start(program, database);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 0);
    ask(database,
        "SELECT count(*) FROM (SELECT 1 FROM trial WHERE stage = 'screen' GROUP BY kernel, problem, gpu HAVING count(*) > 1)",
        answer);
    CHECK_STR(answer, "0");
    ask(database, "SELECT count(*) FROM best_configs WHERE margin IS NOT NULL", answer);
    CHECK_STR(answer, "3");
}

CHECK_MAIN
