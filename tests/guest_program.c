/*
 * A program that knows nothing of gemmtune, and does what a library in its process must bear. test_dropin_guest.py runs it with
 * the front preloaded: `guest_program PART`.
 */
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "fake/program_blas.h"

#define REQUIRE(condition)                                                                                   \
    ((condition) ? (void)0 : (fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition), exit(1)))

#define LIMIT_S 60 /* of a part, which takes less than three: a lock that is never given back ends in SIGALRM */

/* C = A B of small whole numbers, checked in one element. */
static void multiply_into(double *c, int n, int k)
{
    const double one = 1, zero = 0;
    double *a = malloc((size_t)(n * k) * sizeof *a), *b = malloc((size_t)(n * k) * sizeof *b), sum = 0;
    REQUIRE(a && b);
    for (int i = 0; i < n * k; i++) {
        a[i] = i % 7;
        b[i] = i % 5;
    }
    dgemm_("N", "N", &n, &n, &k, &one, a, &n, b, &k, &zero, c, &n, 1, 1);
    for (int l = 0; l < k; l++)
        sum += a[l * n + 3] * b[2 * k + l];
    REQUIRE(c[2 * n + 3] == sum);
    free(a);
    free(b);
}

static void multiply(int n)
{
    double *c = malloc((size_t)(n * n) * sizeof *c);
    REQUIRE(c);
    multiply_into(c, n, n);
    free(c);
}

/* gfortran -ffpe-trap, where the processor has traps; and at its end a Fortran program tells which flags are set. */
static void floating(void)
{
    feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INEXACT);
    const int traps = fegetexcept();
    feclearexcept(FE_ALL_EXCEPT);
    fesetround(FE_UPWARD);
    multiply(20);
    multiply(21);
    REQUIRE(fetestexcept(FE_ALL_EXCEPT) == 0 && fegetround() == FE_UPWARD);
    REQUIRE(fegetexcept() == traps);
}

static void errors(void)
{
    errno = ERANGE;
    multiply(20);
    REQUIRE(errno == ERANGE);
}

static void *multiply_once(void *size)
{
    multiply(*(int *)size);
    return NULL;
}

/* Threads that are cancelled while they multiply, the first of them while the GPU is set up. */
static void cancels(void)
{
    int size = 40;
    for (useconds_t i = 0; i < 12; i++) {
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, multiply_once, &size) == 0);
        usleep(300 * i);
        pthread_cancel(thread);
        pthread_join(thread, NULL);
    }
    multiply(20);
}

static sigjmp_buf outside;

static void leave(int signal)
{
    (void)signal;
    siglongjmp(outside, 1);
}

/* A time limit by a signal whose handler jumps out of whatever runs. Blocks are lost that way, on purpose. */
static void jumps(void)
{
    static double c[30 * 30];
    signal(SIGUSR1, leave);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    timer_t timer;
    REQUIRE(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    for (volatile long i = 0; i < 40; i++)
        if (sigsetjmp(outside, 1) == 0) {
            const struct itimerspec once = {.it_value.tv_nsec = 3000000 + i * 500000};
            REQUIRE(timer_settime(timer, 0, &once, NULL) == 0);
            for (;;) {
                static const int n = 30;
                static const double one = 1, a[30 * 30];
                dgemm_("N", "N", &n, &n, &n, &one, a, &n, a, &n, &one, c, &n, 1, 1);
            }
        }
    signal(SIGUSR1, SIG_IGN);
    multiply(20);
}

static jmp_buf caught;

/* The program's own, in the place of the library's. */
void xerbla_(const char *name, const int *which, size_t length)
{
    (void)name;
    (void)length;
    longjmp(caught, *which);
}

/* R and Octave leave an illegal product by a jump. The ones behind it are answered. */
static void catches(void)
{
    const int n = 4, none = 0;
    const double one = 1;
    double x[16] = {0};
    if (setjmp(caught) == 0) {
        dgemm_("N", "N", &n, &n, &n, &one, x, &none, x, &n, &one, x, &n, 1, 1);
        REQUIRE(!"xerbla_ was called");
    }
    multiply(20);
}

static struct {
    char *data;
    size_t bytes;
    long page;
} lazy;

static void bring(int signal, siginfo_t *info, void *context)
{
    char *const at = info->si_addr;
    (void)signal;
    (void)context;
    if (at < lazy.data || at >= lazy.data + lazy.bytes ||
        mprotect(at - (size_t)(at - lazy.data) % (size_t)lazy.page, (size_t)lazy.page, PROT_READ | PROT_WRITE) != 0)
        _exit(9);
}

/* A result large enough for several threads, whose pages come as they are touched. */
static void pages(void)
{
    enum { N = 600 };
    const struct sigaction action = {.sa_sigaction = bring, .sa_flags = SA_SIGINFO};
    lazy.page = sysconf(_SC_PAGESIZE);
    lazy.bytes = sizeof(double[N * N]);
    lazy.data = mmap(NULL, lazy.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(lazy.data != MAP_FAILED && sigaction(SIGSEGV, &action, NULL) == 0);
    for (int i = 0; i < 8; i++) {
        REQUIRE(mprotect(lazy.data, lazy.bytes, PROT_NONE) == 0);
        multiply_into((double *)lazy.data, N, 3);
    }
}

/* Nothing can be written, neither to the database nor to standard error, and writing is no signal. */
static void full(void)
{
    const struct rlimit none = {0, 0};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &none) == 0);
    multiply(20);
}

/* A file of its own where standard error was, and where files of the front may have been. */
static void reopens(void)
{
    multiply(20);
    REQUIRE(close(STDERR_FILENO) == 0);
    for (int file = 3; file < 256; file++)
        close(file);
    for (int i = 0; i < 8; i++) {
        char name[] = "own0";
        name[3] = (char)('0' + i);
        REQUIRE(open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600) >= 0);
    }
    multiply(21);
}

static void moves(void)
{
    REQUIRE(chdir("/") == 0);
    multiply(20);
}

static atomic_int products;

static void *multiply_for_ever(void *unused)
{
    enum { N = 150 };
    static const int n = N;
    static const double one = 1, a[N * N];
    static _Thread_local double c[N * N];
    (void)unused;
    for (;;) {
        dgemm_("N", "N", &n, &n, &n, &one, a, &n, a, &n, &one, c, &n, 1, 1);
        atomic_fetch_add(&products, 1);
    }
    return NULL;
}

/* A program that ends while its threads multiply, each time at another moment. */
static void leaves(void)
{
    pthread_t thread;
    for (int i = 0; i < 3; i++)
        REQUIRE(pthread_create(&thread, NULL, multiply_for_ever, NULL) == 0);
    while (atomic_load(&products) < 3)
        usleep(1000);
    usleep((useconds_t)(getpid() % 10) * 2000);
}

static void plain(void)
{
    multiply(20);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {{"floating", floating}, {"errors", errors}, {"cancels", cancels}, {"jumps", jumps}, {"catches", catches},
                 {"pages", pages}, {"full", full}, {"reopens", reopens}, {"moves", moves}, {"plain", plain},
                 {"leaves", leaves}};
    REQUIRE(argc == 2);
    alarm(LIMIT_S);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strcmp(parts[i].name, argv[1]) == 0) {
            parts[i].run();
            return 0;
        }
    return 2;
}
