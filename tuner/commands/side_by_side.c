#include "side_by_side.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../src/core/status.h"
#include "../timer.h"
#include "output.h"
#include "tune_device.h"

#define LOOK_MS 200 /* between two looks whether somebody interrupts */

/* A GPU and the process that tunes on it. */
typedef struct tuner {
    gt_device device;
    int place, equal; /* it is the first, second ... of so many of its model */
    pid_t pid;        /* 0: none */
    int fd;           /* its standard error; -1: closed */
    int status;       /* as waitpid has it */
    char line[1024];  /* that it has begun */
    size_t length;
} tuner;

typedef struct tuners {
    tuner *list;
    size_t count;
} tuners;

/* As the store tells models apart: two cards of one share their rows. */
static bool is_same_model(const gt_device *a, const gt_device *b)
{
    return strcmp(a->name, b->name) == 0 && a->cc == b->cc && a->sm_count == b->sm_count &&
           llabs(a->memory_bytes - b->memory_bytes) <= a->memory_bytes / 10;
}

static gt_status find_gpus(const gt_options_cli *options, tuners *t)
{
    gt_driver *driver;
    int count = 0;
    gt_status status = gt_driver_open(options->driver, &driver);
    if (status != GT_OK)
        return status;
    status = gt_device_count(driver, &count);
    if (status == GT_OK && count == 0)
        status = gt_fail(GT_ERROR_NO_DEVICE, "the CUDA driver finds no GPU on this machine");
    if (status == GT_OK && !(t->list = calloc((size_t)count, sizeof *t->list)))
        status = gt_fail_memory();
    for (int i = 0; status == GT_OK && i < count; i++) {
        t->list[i].fd = -1;
        status = gt_device_query(driver, i, &t->list[i].device);
    }
    gt_driver_close(driver);
    t->count = (size_t)count;
    for (size_t i = 0; status == GT_OK && i < t->count; i++)
        for (size_t j = 0; j < t->count; j++) {
            const bool same = is_same_model(&t->list[i].device, &t->list[j].device);
            t->list[i].equal += same;
            t->list[i].place += same && j <= i;
        }
    return status;
}

/* The shapes that were given as a file without a name: standard input, which may have been their list, is read only once.
 * Drawn ones, at the end, every tuner draws itself. */
static gt_status list_shapes(const gt_options_cli *options, int *out)
{
    const size_t drawn = (size_t)options->random, count = options->shapes.count > drawn ? options->shapes.count - drawn : 0;
    char name[GT_SHAPE_LENGTH];
    const int fd = memfd_create("shapes", MFD_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(dup(fd), "w") : NULL;
    for (size_t i = 0; file && i < count; i++) {
        const gt_shape *s = &options->shapes.list[i];
        gt_shape_name(s->m, s->n, s->k, name);
        fprintf(file, "%s\n", name);
    }
    if (file && options->shapes.cover)
        fputs("cover\n", file);
    if (file && fclose(file) == 0) {
        *out = fd;
        return GT_OK;
    }
    if (fd >= 0)
        close(fd);
    return gt_fail(GT_ERROR_IO, "cannot hand the list of shapes on: %s", strerror(errno));
}

/* The child's side of a fork: nothing but system calls. It has a process group of its own, so that Ctrl-C reaches it
 * once, from the parent, and it ends with the parent. It opens the list anew, to read it from its beginning. */
static void become(char *const *words, const char *list, int fd, pid_t parent)
{
    const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC), shapes = open(list, O_RDONLY | O_CLOEXEC);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() == parent && dup2(shapes, STDIN_FILENO) >= 0 && dup2(nothing, STDOUT_FILENO) >= 0 &&
        dup2(fd, STDERR_FILENO) >= 0)
        execv("/proc/self/exe", words);
    _exit(127);
}

/* Starts the command line again for one GPU, with options at its end that override those before. */
static gt_status start(const gt_options_cli *options, tuner *t, int shapes, int jobs)
{
    char device[16], shard[32], threads[16], list[32];
    const char *const more[] = {"--device", device, "--shard", shard, "--jobs", threads};
    char **words = calloc(options->word_count + sizeof more / sizeof more[0] + 1, sizeof *words);
    int ends[2];
    if (!words)
        return gt_fail_memory();
    if (pipe2(ends, O_CLOEXEC) != 0) {
        free(words);
        return gt_fail(GT_ERROR_IO, "a pipe: %s", strerror(errno));
    }
    snprintf(device, sizeof device, "%d", t->device.ordinal);
    snprintf(shard, sizeof shard, "%d/%d", t->place, t->equal);
    snprintf(threads, sizeof threads, "%d", jobs);
    snprintf(list, sizeof list, "/proc/self/fd/%d", shapes);
    memcpy(words, options->words, options->word_count * sizeof *words);
    memcpy(words + options->word_count, more, sizeof more);
    const pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        become(words, list, ends[1], parent);
    const int error = errno;
    close(ends[1]);
    free(words);
    if (pid < 0) {
        close(ends[0]);
        return gt_fail(GT_ERROR_IO, "cannot start a process: %s", strerror(error));
    }
    t->pid = pid;
    t->fd = ends[0];
    return GT_OK;
}

/* Compiling threads are shared among them, unless somebody said how many each has. */
static gt_status start_all(const gt_options_cli *options, tuners *t)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const int share = cores > (long)t->count ? (int)(cores / (long)t->count) : 1;
    const int jobs = options->threads > 0 ? options->threads : share;
    int shapes = -1;
    gt_status status = list_shapes(options, &shapes);
    if (status != GT_OK)
        return status;
    for (size_t i = 0; status == GT_OK && i < t->count; i++)
        status = start(options, &t->list[i], shapes, jobs);
    close(shapes);
    return status;
}

static void put_line(tuner *t)
{
    fprintf(stderr, "GPU %d: %.*s\n", t->device.ordinal, (int)t->length, t->line);
    t->length = 0;
}

/* Passes on what a tuner wrote, line by line: those of several do not mix. */
static void pass_on(tuner *t)
{
    char text[1024];
    const ssize_t got = read(t->fd, text, sizeof text);
    for (ssize_t i = 0; i < got; i++) {
        if (text[i] != '\n')
            t->line[t->length++] = text[i];
        if (text[i] == '\n' || t->length == sizeof t->line)
            put_line(t);
    }
    if (got > 0 || (got < 0 && errno == EINTR))
        return;
    if (t->length > 0)
        put_line(t);
    close(t->fd);
    t->fd = -1;
}

static void stop_all(const tuners *t)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->list[i].pid > 0 && t->list[i].fd >= 0)
            kill(t->list[i].pid, SIGINT);
}

/* Until all have ended. An interruption, or a failure to start them all, ends them once. */
static gt_status watch(tuners *t, bool stopped)
{
    struct pollfd *polled = calloc(t->count, sizeof *polled);
    size_t open = polled ? t->count : 0;
    if (stopped || !polled)
        stop_all(t);
    while (open > 0) {
        open = 0;
        for (size_t i = 0; i < t->count; i++) {
            polled[i] = (struct pollfd){.fd = t->list[i].fd, .events = POLLIN};
            open += t->list[i].fd >= 0;
        }
        if (gt_engine_interrupted() && !stopped) {
            stop_all(t);
            stopped = true;
        }
        if (open > 0 && poll(polled, t->count, LOOK_MS) > 0)
            for (size_t i = 0; i < t->count; i++)
                if (polled[i].revents)
                    pass_on(&t->list[i]);
    }
    for (size_t i = 0; i < t->count; i++)
        while (t->list[i].pid > 0 && waitpid(t->list[i].pid, &t->list[i].status, 0) < 0 && errno == EINTR)
            ;
    const gt_status status = polled ? GT_OK : gt_fail_memory();
    free(polled);
    return status;
}

/* The GPU that ends a model's tuning: the first whose tuner did not fail, else the first. */
static const tuner *find_last(const tuners *t, const tuner *model)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->list[i].status == 0 && is_same_model(&t->list[i].device, &model->device))
            return &t->list[i];
    return model;
}

static void tell_failed(const tuners *t)
{
    for (size_t i = 0; i < t->count; i++) {
        const tuner *failed = &t->list[i];
        const bool killed = WIFSIGNALED(failed->status);
        if (failed->status != 0)
            gt_print_note("GPU %d: its tuner ended %s %d; GPU %d goes on with what it left", failed->device.ordinal,
                          killed ? "by signal" : "with status",
                          killed ? WTERMSIG(failed->status) : WEXITSTATUS(failed->status),
                          find_last(t, failed)->device.ordinal);
    }
}

/* Every problem of every model, most of which are known by now. A budget has at least a moment left. */
static int finish_all(const gt_options_cli *given, const tuners *t, const char *since, double started)
{
    int code = 0;
    for (size_t i = 0; i < t->count && !gt_engine_interrupted(); i++) {
        gt_options_cli options = *given;
        const double left = given->budget_s - (gt_now() - started);
        if (t->list[i].place > 1)
            continue;
        options.device = find_last(t, &t->list[i])->device.ordinal;
        options.budget_s = given->budget_s == 0 ? 0 : left > 0.001 ? left : 0.001;
        const int ended = gt_tune_device(&options, since);
        code = ended > code ? ended : code;
    }
    return code;
}

static gt_status check(const gt_options_cli *options, const tuners *t)
{
    for (size_t i = 0; options->json && i < t->count; i++)
        if (t->list[i].equal < (int)t->count)
            return gt_fail(GT_ERROR_INVALID, "--json is for one GPU model, and this machine has several: --device N");
    return GT_OK;
}

int gt_tune_side_by_side(const gt_options_cli *given)
{
    gt_options_cli options = *given;
    tuners t = {0};
    char since[32];
    const time_t now = time(NULL);
    const double started = gt_now();
    int code = 1;
    strftime(since, sizeof since, "%Y-%m-%d %H:%M:%S", gmtime(&now));
    gt_engine_catch_signals();
    gt_status status = find_gpus(&options, &t);
    if (status == GT_OK)
        status = check(&options, &t);
    if (status == GT_OK && t.count == 1) {
        options.all_devices = false;
        code = gt_tune_device(&options, NULL);
    } else if (status == GT_OK) {
        const gt_status begun = start_all(&options, &t);
        status = watch(&t, begun != GT_OK);
        if (status == GT_OK)
            status = begun;
        if (status == GT_OK && !gt_engine_interrupted()) {
            tell_failed(&t);
            code = finish_all(&options, &t, since, started);
        }
    }
    if (status != GT_OK)
        code = gt_print_failure();
    free(t.list);
    return gt_engine_interrupted() ? 130 : code;
}
