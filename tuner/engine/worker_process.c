#include "worker_process.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../timer.h"
#include "../worker/protocol.h"

#define READY_S  60.0 /* a process to start, the driver to open, a context to be made */
#define REAP_S   1.5  /* a process stuck in the driver is not waited for longer */
#define SEND_S   10
#define STARTS   3    /* tries to get a worker on a GPU that has just lost one */
#define CHILD_FD 3

extern char **environ;

gt_status gt_worker_create(const gt_worker_options *options, gt_worker **out)
{
    gt_worker *worker = calloc(1, sizeof *worker);
    if (!worker)
        return gt_fail_memory();
    worker->options = *options;
    worker->fd = -1;
    if (options->driver && !(worker->driver = strdup(options->driver))) {
        free(worker);
        return gt_fail_memory();
    }
    *out = worker;
    return GT_OK;
}

double gt_worker_cpu_s(const gt_worker *worker)
{
    clockid_t clock;
    struct timespec taken = {0};
    if (worker->pid > 0 && clock_getcpuclockid(worker->pid, &clock) == 0)
        clock_gettime(clock, &taken);
    return (double)taken.tv_sec + (double)taken.tv_nsec * 1e-9;
}

/* Collects what had to be left behind earlier. */
static void collect_left(gt_worker *worker)
{
    for (int i = 0; i < GT_WORKER_LEFT; i++)
        if (worker->left[i] != 0 && waitpid(worker->left[i], NULL, WNOHANG) != 0)
            worker->left[i] = 0;
}

/* Waits for the process to end, at most for so long; one that does not is left behind. Whether *status is known. */
static bool reap(gt_worker *worker, double seconds, int *status)
{
    const double deadline = gt_now() + seconds;
    const pid_t pid = worker->pid;
    pid_t got;
    while ((got = waitpid(pid, status, WNOHANG)) == 0 && gt_now() < deadline)
        gt_rest(0.002);
    worker->pid = 0;
    for (int i = 0; got == 0 && i < GT_WORKER_LEFT; i++)
        if (worker->left[i] == 0) {
            worker->left[i] = pid;
            break;
        }
    return got == pid;
}

static void close_socket(gt_worker *worker)
{
    if (worker->fd >= 0)
        close(worker->fd);
    worker->fd = -1;
}

void gt_worker_kill(gt_worker *worker)
{
    int status;
    if (worker->pid == 0)
        return;
    kill(worker->pid, SIGKILL);
    close_socket(worker);
    reap(worker, REAP_S, &status);
}

void gt_worker_destroy(gt_worker *worker)
{
    int status;
    if (!worker)
        return;
    close_socket(worker); /* which the worker takes as its end */
    if (worker->pid != 0) {
        const pid_t pid = worker->pid;
        if (!reap(worker, REAP_S, &status))
            kill(pid, SIGKILL);
    }
    collect_left(worker);
    free(worker->driver);
    free(worker);
}

int gt_worker_losses(const gt_worker *worker)
{
    return worker->losses;
}

/* This program again, with one end of a socket and nothing else of ours. The signals that end the tuner are the tuner's
 * to handle: they are blocked until the worker ignores them. */
static int spawn(int fd, pid_t *pid)
{
    char *const arguments[] = {(char *)"gemmtune", (char *)"worker", (char *)"3", NULL};
    _Static_assert(CHILD_FD == 3, "the argument above names it");
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t blocked;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0)
        return error;
    if ((error = posix_spawnattr_init(&attributes)) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return error;
    }
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGHUP);
    sigaddset(&blocked, SIGQUIT);
    if ((error = posix_spawn_file_actions_adddup2(&actions, fd, CHILD_FD)) == 0 &&
        (error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)) == 0 &&
        (error = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)) == 0 &&
        (error = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)) == 0 &&
        (error = posix_spawnattr_setsigmask(&attributes, &blocked)) == 0 &&
        (error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK)) == 0)
        error = posix_spawn(pid, "/proc/self/exe", &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static gt_status spawn_process(gt_worker *worker)
{
    const struct timeval limit = {.tv_sec = SEND_S};
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return gt_fail(GT_ERROR_IO, "no socket for a worker process: %s", strerror(errno));
    const int error = spawn(pair[1], &worker->pid);
    close(pair[1]);
    if (error != 0) {
        close(pair[0]);
        worker->pid = 0;
        return gt_fail(GT_ERROR_IO, "cannot start a worker process: %s", strerror(error));
    }
    setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    worker->fd = pair[0];
    return GT_OK;
}

static bool send_init(gt_worker *worker)
{
    static const gt_code none;
    const gt_code *checks = worker->options.checks ? worker->options.checks : &none;
    const gt_message_init init = {
        .device = worker->options.device,
        .driver_bytes = worker->driver ? (uint32_t)strlen(worker->driver) + 1 : 0,
        .cubin_bytes = checks->cubin_bytes,
        .ptx_bytes = checks->ptx ? checks->ptx_bytes : 0,
    };
    const struct iovec parts[] = {
        {(void *)&init, sizeof init},
        {worker->driver, init.driver_bytes},
        {checks->cubin, (size_t)init.cubin_bytes},
        {checks->ptx, (size_t)init.ptx_bytes},
    };
    return gt_message_send(worker->fd, GT_MESSAGE_INIT, parts, 4);
}

/* The signals that a worker may die of. A crash raises its own; the others come from somebody, or from the system where a
 * limit is reached. */
static const struct {
    int signal;
    const char *name;
    bool crash;
} signals[] = {
    {SIGSEGV, "SIGSEGV", true}, {SIGABRT, "SIGABRT", true}, {SIGBUS, "SIGBUS", true},   {SIGILL, "SIGILL", true},
    {SIGFPE, "SIGFPE", true},   {SIGTRAP, "SIGTRAP", true}, {SIGSYS, "SIGSYS", true},   {SIGKILL, "SIGKILL", false},
    {SIGTERM, "SIGTERM", false}, {SIGXCPU, "SIGXCPU", false}, {SIGXFSZ, "SIGXFSZ", false},
};

static bool is_crash(int signal)
{
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        if (signals[i].signal == signal)
            return signals[i].crash;
    return false;
}

/* How a process ended, for a sentence that begins with "the worker". */
static void describe_end(int status, char *text, size_t size)
{
    if (!WIFSIGNALED(status)) {
        snprintf(text, size, "ended with status %d", WEXITSTATUS(status));
        return;
    }
    snprintf(text, size, "died of signal %d", WTERMSIG(status));
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        if (signals[i].signal == WTERMSIG(status))
            snprintf(text, size, "died of %s", signals[i].name);
}

bool gt_worker_collect(gt_worker *worker, char *text, size_t size)
{
    int status;
    const pid_t pid = worker->pid;
    close_socket(worker);
    if (!reap(worker, REAP_S, &status)) {
        snprintf(text, size, "hung up");
        kill(pid, SIGKILL);
        return false;
    }
    describe_end(status, text, size);
    return WIFSIGNALED(status) && !is_crash(WTERMSIG(status));
}

gt_status gt_worker_interrupt(gt_worker *worker)
{
    gt_worker_kill(worker);
    return gt_fail(GT_ERROR_BUSY, "interrupted");
}

/* READY, or why not. */
static gt_status await_ready(gt_worker *worker)
{
    gt_message message = {0};
    char how[64];
    gt_status status;
    const gt_receipt receipt =
        gt_message_receive(worker->fd, gt_now() + READY_S, worker->options.interrupted, &message);
    if (receipt == GT_RECEIVE_INTERRUPTED)
        return gt_worker_interrupt(worker);
    if (receipt == GT_RECEIVE_END) {
        gt_worker_collect(worker, how, sizeof how);
        return gt_fail(GT_ERROR_DRIVER, "the worker process %s before it was ready", how);
    }
    if (receipt == GT_RECEIVED && message.kind == GT_MESSAGE_READY) {
        gt_message_finish(&message);
        return GT_OK;
    }
    if (receipt == GT_RECEIVED && message.kind == GT_MESSAGE_FAILED && message.bytes == sizeof(gt_message_failed)) {
        gt_message_failed failed;
        memcpy(&failed, message.payload, sizeof failed);
        failed.line[GT_MESSAGE_TEXT - 1] = 0;
        status = gt_fail(failed.status < 0 ? (gt_status)failed.status : GT_ERROR_DRIVER, "%s", failed.line);
    } else if (receipt == GT_RECEIVE_LATE) {
        status = gt_fail(GT_ERROR_DRIVER, "the worker process was not ready within %.0f s", READY_S);
    } else {
        status = gt_fail(GT_ERROR_DRIVER, "the worker process gave a garbled answer");
    }
    gt_message_finish(&message);
    gt_worker_kill(worker);
    return status;
}

gt_status gt_worker_start(gt_worker *worker)
{
    gt_status status = GT_OK;
    if (worker->pid != 0)
        return GT_OK;
    for (int i = 0; i < STARTS; i++) {
        collect_left(worker);
        if (i > 0)
            gt_rest(1);
        if ((status = spawn_process(worker)) != GT_OK)
            return status;
        if (!send_init(worker))
            gt_worker_kill(worker);
        status = worker->pid != 0 ? await_ready(worker) : gt_fail(GT_ERROR_IO, "the worker process takes no orders");
        if (status == GT_OK || status == GT_ERROR_BUSY || worker->losses == 0)
            return status;
    }
    return status;
}
