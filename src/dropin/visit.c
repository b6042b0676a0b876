#include "visit.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

/* Of an instruction: blocked, they would end the process whatever its handlers. */
static const int immediate[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

/* Of a write, and pending then. */
static const int written[] = {SIGPIPE, SIGXFSZ};

/* What programs and timers send, and what users and watchdogs end or stop a process with: their handlers may jump away. Those
 * by which a garbage collector stops all threads at once are others. */
static const int sent[] = {SIGUSR1, SIGUSR2, SIGVTALRM, SIGPROF};
static const int ending[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGALRM, SIGTSTP};

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static bool is_handled(int signal)
{
    struct sigaction action;
    return sigaction(signal, NULL, &action) == 0 && ((action.sa_flags & SA_SIGINFO) || action.sa_handler != SIG_DFL);
}

void gt_visit_begin(gt_visit *visit)
{
    sigset_t later;
    visit->error = errno;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &visit->cancellation);
    sigemptyset(&later);
    for (size_t i = 0; i < COUNT(written); i++)
        sigaddset(&later, written[i]);
    for (size_t i = 0; i < COUNT(sent); i++)
        sigaddset(&later, sent[i]);
    for (size_t i = 0; i < COUNT(ending); i++)
        if (is_handled(ending[i]))
            sigaddset(&later, ending[i]);
    pthread_sigmask(SIG_BLOCK, &later, &visit->signals);
    sigpending(&visit->pending);
    feholdexcept(&visit->floating);
}

void gt_visit_end(const gt_visit *visit)
{
    static const struct timespec at_once;
    sigset_t ours;
    sigemptyset(&ours);
    for (size_t i = 0; i < COUNT(written); i++)
        if (!sigismember(&visit->pending, written[i]))
            sigaddset(&ours, written[i]);
    while (sigtimedwait(&ours, NULL, &at_once) > 0) {
    }
    fesetenv(&visit->floating);
    pthread_sigmask(SIG_SETMASK, &visit->signals, NULL);
    pthread_setcancelstate(visit->cancellation, NULL);
    errno = visit->error;
}

bool gt_visit_start(void *(*work)(void *), void *data)
{
    pthread_t thread;
    sigset_t others, before;
    sigfillset(&others);
    for (size_t i = 0; i < COUNT(immediate); i++)
        sigdelset(&others, immediate[i]);
    pthread_sigmask(SIG_SETMASK, &others, &before);
    const bool begun = pthread_create(&thread, NULL, work, data) == 0;
    if (begun)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return begun;
}
