/* gemmtune run: becomes another program, with the front preloaded that answers its products. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <config.h>

#include "../../src/core/environment.h"
#include "../../src/core/status.h"
#include "options.h"
#include "output.h"

/* As env and nice do. */
#define EXIT_CANNOT_RUN 126
#define EXIT_NOT_FOUND  127

#define PATH_LENGTH 4096

/* A front: beside a program that was not installed, beside one that was, where that was to be. Owned: free(). */
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

/* Puts a library before what is preloaded already. */
static gt_status preload(const char *name)
{
    const char *others = getenv("LD_PRELOAD"); /* the loader's variable, not ours */
    char *list = NULL, *path = find_front(name);
    if (!path)
        return GT_ERROR_IO;
    const bool unfit = strpbrk(path, " :") != NULL;
    if (unfit)
        gt_fail(GT_ERROR_INVALID, "the loader cannot preload %s: a blank or colon in a path ends it", path);
    else if (asprintf(&list, "%s%s%s", path, others && *others ? ":" : "", others ? others : "") < 0)
        list = NULL;
    free(path);
    if (unfit)
        return GT_ERROR_INVALID;
    const bool set = list && setenv("LD_PRELOAD", list, 1) == 0;
    free(list);
    return set ? GT_OK : gt_fail_memory();
}

/* A database by its whole path: the program may go to another folder before its first product. */
static gt_status name_database(const char *variable, const char *path)
{
    char folder[PATH_LENGTH] = "", whole[2 * PATH_LENGTH];
    if (!path)
        return GT_OK;
    if (path[0] != '/' && !getcwd(folder, sizeof folder))
        return gt_fail(GT_ERROR_IO, "the current folder: %s", strerror(errno));
    if (snprintf(whole, sizeof whole, "%s%s%s", folder, folder[0] ? "/" : "", path) >= (int)sizeof whole)
        return gt_fail(GT_ERROR_INVALID, "%.64s...: the path is too long", path);
    return setenv(variable, whole, 1) == 0 ? GT_OK : gt_fail_memory();
}

/* What the front finds in its environment. */
static gt_status prepare(const gt_options_cli *options)
{
    char process[24], margin[24];
    gt_status status = preload(options->blas ? GT_BLAS_LIBRARY : GT_FRONT_LIBRARY);
    if (status == GT_OK && options->dlsym)
        status = preload(GT_DLSYM_LIBRARY);
    snprintf(process, sizeof process, "%ld", (long)getpid());
    snprintf(margin, sizeof margin, "%d", options->margin);
    if (status == GT_OK)
        status = name_database("GEMMTUNE_DB", options->database ? options->database : gt_environment(GT_ENV_DATABASE));
    if (status == GT_OK)
        status = name_database("GEMMTUNE_SYSTEM_DB", gt_environment(GT_ENV_SYSTEM_DATABASE));
    if (status == GT_OK && (setenv("GEMMTUNE_SUMMARY", options->quiet ? "" : process, 1) != 0 ||
                            setenv("GEMMTUNE_CAPTURE", options->capture_only ? "only" : "on", 1) != 0 ||
                            setenv("GEMMTUNE_F32", options->f32, 1) != 0 || setenv("GEMMTUNE_MARGIN", margin, 1) != 0))
        status = gt_fail_memory();
    return status;
}

/* The program's file, found as execvp finds it; -1 if it cannot be read. */
static int open_program(const char *name)
{
    const char *folders = getenv("PATH"); /* the shell's variable, not ours */
    char path[2 * PATH_LENGTH];
    int file = strchr(name, '/') ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    while (!strchr(name, '/') && folders && file < 0) {
        const size_t length = strcspn(folders, ":");
        snprintf(path, sizeof path, "%.*s/%s", (int)length, length > 0 ? folders : ".", name);
        file = access(path, X_OK) == 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        folders = folders[length] ? folders + length + 1 : NULL;
    }
    return file;
}

/* Whether an executable names no loader: it is static, and nothing is ever preloaded into it. */
static bool is_static(int file)
{
    Elf64_Ehdr head;
    Elf64_Phdr part;
    bool loader = false;
    if (pread(file, &head, sizeof head, 0) != (ssize_t)sizeof head || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof part)
        return false; /* a script, or of another machine */
    for (int i = 0; i < head.e_phnum && !loader; i++)
        loader = pread(file, &part, sizeof part, (off_t)(head.e_phoff + (unsigned)i * sizeof part)) ==
                     (ssize_t)sizeof part && part.p_type == PT_INTERP;
    return !loader;
}

/* Tells of a program that nothing can be preloaded into: it would run as ever, without a word. */
static void tell_unreachable(const char *name)
{
    struct stat st;
    const int file = open_program(name);
    if (file < 0)
        return;
    if (fstat(file, &st) == 0 && (((st.st_mode & S_ISUID) && st.st_uid != getuid()) ||
                                  ((st.st_mode & S_ISGID) && st.st_gid != getgid())))
        gt_print_note("%s runs with the rights of another user: the loader preloads nothing into it", name);
    else if (is_static(file))
        gt_print_note("%s is static: nothing can be preloaded into it", name);
    close(file);
}

int gt_cmd_run(const gt_options_cli *options)
{
    if (!options->quiet)
        tell_unreachable(options->program[0]);
    if (prepare(options) != GT_OK)
        return gt_print_failure();
    signal(SIGPIPE, options->on_pipe); /* ignored here, they would stay so; systemd's services have the first one ignored */
    signal(SIGXFSZ, options->on_large_file);
    execvp(options->program[0], options->program);
    const int reason = errno;
    gt_fail(GT_ERROR_IO, "cannot run '%s': %s", options->program[0], strerror(reason));
    gt_print_failure();
    return reason == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}
