/* gemmtune run: becomes another program, with the front preloaded that answers its products. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../src/core/status.h"
#include "options.h"
#include "output.h"

/* As env and nice do. */
#define EXIT_CANNOT_RUN 126
#define EXIT_NOT_FOUND  127

#define PATH_LENGTH 4096

/* The front: beside a program that was not installed, beside one that was, where that was to be. Owned: free(). */
static char *find_front(const char *library)
{
    static const char *const beside[] = {"/../src/dropin/", "/../" GT_LIBRARY_SUBFOLDER "/"};
    char program[PATH_LENGTH], path[2 * PATH_LENGTH];
    char *found = NULL;
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = 0;
    const int folder = length > 0 ? (int)(strrchr(program, '/') - program) : 0;
    for (size_t i = 0; !found && i < sizeof beside / sizeof beside[0]; i++) {
        snprintf(path, sizeof path, "%.*s%s%s", folder, program, beside[i], library);
        found = realpath(path, NULL);
    }
    if (!found) {
        snprintf(path, sizeof path, "%s/%s", GT_SOFTGPU_FOLDER, library);
        found = realpath(path, NULL);
    }
    if (!found)
        gt_fail(GT_ERROR_IO, "%s is neither beside this program nor in %s: install gemmtune again", library,
                GT_SOFTGPU_FOLDER);
    return found;
}

/* Puts the front before what is preloaded already. */
static gt_status preload(const char *front)
{
    const char *others = getenv("LD_PRELOAD"); /* the loader's variable, not ours */
    char *list = NULL;
    if (strpbrk(front, " :"))
        return gt_fail(GT_ERROR_INVALID, "the loader cannot preload %s: a blank or colon in a path ends it", front);
    if (asprintf(&list, "%s%s%s", front, others && *others ? ":" : "", others ? others : "") < 0)
        return gt_fail_memory();
    const bool set = setenv("LD_PRELOAD", list, 1) == 0;
    free(list);
    return set ? GT_OK : gt_fail_memory();
}

/* What the front finds in its environment. */
static gt_status prepare(const gt_options_cli *options)
{
    char process[24], *front = find_front(options->blas ? GT_BLAS_LIBRARY : GT_FRONT_LIBRARY);
    gt_status status = front ? preload(front) : GT_ERROR_IO;
    free(front);
    snprintf(process, sizeof process, "%ld", (long)getpid());
    if (status == GT_OK && options->database && setenv("GEMMTUNE_DB", options->database, 1) != 0)
        status = gt_fail_memory();
    if (status == GT_OK && (setenv("GEMMTUNE_SUMMARY", options->quiet ? "" : process, 1) != 0 ||
                            setenv("GEMMTUNE_CAPTURE", options->capture_only ? "only" : "on", 1) != 0))
        status = gt_fail_memory();
    return status;
}

int gt_cmd_run(const gt_options_cli *options)
{
    if (prepare(options) != GT_OK)
        return gt_print_failure();
    signal(SIGPIPE, SIG_DFL); /* what is ignored here would stay so there */
    signal(SIGXFSZ, SIG_DFL);
    execvp(options->program[0], options->program);
    const int reason = errno;
    gt_fail(GT_ERROR_IO, "cannot run '%s': %s", options->program[0], strerror(reason));
    gt_print_failure();
    return reason == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}
