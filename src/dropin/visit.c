#include "visit.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

/* Of an instruction: blocked, they would end the process whatever its handlers. */
static const int immediate[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

/* What users and watchdogs end or stop a process with. */
static const int ending[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGALRM, SIGTSTP};

/* Of a write, and pending then. */
static const int written[] = {SIGPIPE, SIGXFSZ};

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static void list_others(sigset_t *others)
{
    sigfillset(others);
    for (size_t i = 0; i < COUNT(immediate); i++)
        sigdelset(others, immediate[i]);
}

void gt_visit_begin(gt_visit *visit)
{
    sigset_t later;
    struct sigaction action;
    visit->error = errno;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &visit->cancellation);
    list_others(&later);
    for (size_t i = 0; i < COUNT(ending); i++)
        if (sigaction(ending[i], NULL, &action) == 0 && !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_DFL)
            sigdelset(&later, ending[i]);
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
    list_others(&others);
    pthread_sigmask(SIG_SETMASK, &others, &before);
    const bool begun = pthread_create(&thread, NULL, work, data) == 0;
    if (begun)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return begun;
}
