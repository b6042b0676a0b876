#include "tally.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../core/environment.h"

static const struct {
    const char *text;
    bool tunable;
} fates[] = {
    [GT_FATE_ANSWERED] = {"answered", true}, /* by a kernel of another size, perhaps */
    [GT_FATE_UNAVAILABLE] = {"unavailable", true},
    [GT_FATE_ARGUMENTS] = {"empty or illegal", false},
    [GT_FATE_MODE] = {"type or mode not offered", false},
    [GT_FATE_EPILOGUE] = {"with an epilogue", false},
    [GT_FATE_SCALARS] = {"scalars on the device", false},
    [GT_FATE_SMALL] = {"not worth the way to the GPU", false},
    [GT_FATE_CAPTURE] = {"in a graph capture", true},
    [GT_FATE_COUNTED] = {"only counted", true},
    [GT_FATE_NOT_TUNED] = {"not tuned", true},
    [GT_FATE_NO_BASELINE] = {"no time of cuBLAS stored", true},
    [GT_FATE_SLOWER] = {"cuBLAS is as fast", true},
    [GT_FATE_NO_ROOM] = {"too many problems", false},
    [GT_FATE_NO_MEMORY] = {"no memory on the GPU", false},
    [GT_FATE_FAILED] = {"failed", false},
};

_Static_assert(sizeof fates / sizeof fates[0] == GT_FATE_COUNT, "a row for each");

static struct {
    atomic_ullong counts[GT_FATE_COUNT];
    atomic_flag has_why;
    char why[1024];
} tally = {.has_why = ATOMIC_FLAG_INIT};

const char *gt_fate_text(gt_fate fate)
{
    return fates[fate].text;
}

bool gt_fate_is_tunable(gt_fate fate)
{
    return fates[fate].tunable;
}

void gt_tally_count(gt_fate fate)
{
    atomic_fetch_add_explicit(&tally.counts[fate], 1, memory_order_relaxed);
}

void gt_tally_why(const char *message)
{
    if (!atomic_flag_test_and_set(&tally.has_why))
        snprintf(tally.why, sizeof tally.why, "%s", message);
}

bool gt_tally_has_why(void)
{
    return tally.why[0] != 0;
}

static struct {
    bool known;
    struct stat file;
} at_start;

/* Before the program: what it opens in the place of a standard error that it closed is its own. */
__attribute__((constructor)) static void remember_stderr(void)
{
    at_start.known = fstat(STDERR_FILENO, &at_start.file) == 0;
}

static bool is_stderr_kept(void)
{
    struct stat now;
    return at_start.known && fstat(STDERR_FILENO, &now) == 0 && now.st_dev == at_start.file.st_dev &&
           now.st_ino == at_start.file.st_ino;
}

void gt_tally_print(const char *next)
{
    const char *asked = gt_environment(GT_ENV_SUMMARY);
    unsigned long long seen = 0, counts[GT_FATE_COUNT];
    char line[2048];
    if (!asked || !is_stderr_kept())
        return;
    for (int i = 0; i < GT_FATE_COUNT; i++)
        seen += counts[i] = atomic_load_explicit(&tally.counts[i], memory_order_relaxed);
    if (seen == 0 && strtol(asked, NULL, 10) == (long)getpid())
        dprintf(STDERR_FILENO, "gemmtune: no product of " GT_FRONT_OF "'s seen in %s; gemmtune(1), run, says which calls are\n",
                program_invocation_short_name);
    if (seen == 0)
        return;
    int length = snprintf(line, sizeof line, "gemmtune: %llu product%s: %llu answered, %llu forwarded", seen,
                          seen == 1 ? "" : "s", counts[GT_FATE_ANSWERED], seen - counts[GT_FATE_ANSWERED]);
    const char *before = " (";
    for (int i = GT_FATE_ANSWERED + 1; i < GT_FATE_COUNT; i++)
        if (counts[i] > 0) {
            length += snprintf(line + length, sizeof line - (size_t)length, "%s%llu %s", before, counts[i],
                               i == GT_FATE_UNAVAILABLE && tally.why[0] ? tally.why : fates[i].text);
            before = ", ";
        }
    dprintf(STDERR_FILENO, "%s%s%s\n", line, *before == ',' ? ")" : "", next);
}
