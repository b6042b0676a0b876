/*
 * A test program: TEST(says_what_is_promised) { ... }, any number of them, and CHECK_MAIN at the end. A failed check
 * ends its test, also from inside a helper; in a forked child it ends the child with status 1. Arguments of the
 * program choose tests by a part of their name.
 */
#ifndef CHECK_H
#define CHECK_H

#include <ftw.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../src/gemmtune.h"

static struct {
    const char *names[200];
    void (*tests[200])(void);
    size_t count, running;
    enum { PASSED, FAILED, SKIPPED } result;
    pid_t process;
    jmp_buf end;
    uint64_t random;
    int folders;
    char root[32], folder[200][64];
} check;

#define TEST(name)                                                                                           \
    static void name(void);                                                                                  \
    __attribute__((constructor)) static void name##_is_a_test(void)                                          \
    {                                                                                                        \
        check.names[check.count] = #name;                                                                    \
        check.tests[check.count++] = name;                                                                   \
    }                                                                                                        \
    static void name(void)

#define CHECK(condition) ((condition) ? (void)0 : check_fail(__FILE__, __LINE__, "%s", #condition))
#define CHECK_COMPARE(type, form, same, text, a, b)                                                          \
    do {                                                                                                     \
        type a_ = (a);                                                                                       \
        type b_ = (b);                                                                                       \
        if (!(same))                                                                                         \
            check_fail(__FILE__, __LINE__, "%s is " form ", not " form, text, a_, b_);                       \
    } while (0)
#define CHECK_INT(a, b)        CHECK_COMPARE(long long, "%lld", a_ == b_, #a, a, b)
#define CHECK_STR(a, b)        CHECK_COMPARE(const char *, "'%s'", strcmp(a_, b_) == 0, #a, a, b)
#define CHECK_NEAR(a, b, most) CHECK_COMPARE(double, "%.17g", fabs(a_ - b_) <= (most), #a, a, b)
#define CHECK_OK(call)         CHECK_STATUS(call, GT_OK)
#define CHECK_STATUS(call, expected)                                                                         \
    do {                                                                                                     \
        const gt_status status_ = (call);                                                                    \
        if (status_ != (expected))                                                                           \
            check_fail(__FILE__, __LINE__, "%s is %s, not %s; last message: %s", #call, gt_status_name(status_), \
                       gt_status_name(expected), gt_error_message());                                        \
    } while (0)
#define SKIP(reason) (printf("skip %s: %s\n", check.names[check.running], reason), check_leave(SKIPPED))

/* Leaves the test, or the child process. A thread of its own can do neither: it goes on. */
static inline void check_leave(int result)
{
    fflush(stdout);
    check.result = result;
    if (getpid() != check.process)
        _exit(result);
    if (gettid() == check.process)
        longjmp(check.end, 1);
}

__attribute__((format(printf, 3, 4))) static inline void check_fail(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("FAIL %s: %s:%d: ", check.names[check.running], file, line);
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    check_leave(FAILED);
}

/* The next number of a sequence that the printed seed gives again: CHECK_SEED=N in the environment. */
static inline uint64_t check_random(void)
{
    uint64_t z = check.random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* A fresh empty folder of mode 0700, removed when the program ends. */
static inline const char *check_folder(void)
{
    char *path = check.folder[check.folders];
    CHECK(check.root[0] || mkdtemp(strcpy(check.root, "/tmp/gemmtune-test-XXXXXX")));
    snprintf(path, sizeof check.folder[0], "%s/%d", check.root, check.folders++);
    CHECK(check.folders < 200 && mkdir(path, 0700) == 0);
    return path;
}

/* CHECK_KEEP in the environment names a folder for the PTX that tests load: fuzz.sh starts from it. */
static inline void check_keep(const char *ptx)
{
    const char *keep = getenv("CHECK_KEEP");
    char path[512];
    uint64_t hash = 14695981039346656037u; /* FNV-1a: the same text goes to the same file */
    if (!keep)
        return;
    for (const char *at = ptx; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    snprintf(path, sizeof path, "%s/%016llx.ptx", keep, (unsigned long long)hash);
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(ptx, file) >= 0 && fclose(file) == 0);
}

static inline int check_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
    return (void)st, (void)type, (void)at, remove(path);
}

static inline int check_main(int argc, char **argv)
{
    static int counts[3];
    check.process = getpid();
    check.random = getenv("CHECK_SEED") ? strtoull(getenv("CHECK_SEED"), NULL, 10) : (uint64_t)time(NULL) * 1000003u;
    printf("seed %llu\n", (unsigned long long)check.random);
    for (check.running = 0; check.running < check.count; check.running++) {
        int wanted = argc < 2;
        for (int i = 1; i < argc; i++)
            wanted |= strstr(check.names[check.running], argv[i]) != NULL;
        if (!wanted)
            continue;
        check.result = PASSED;
        fflush(stdout); /* a forked child must not print it again */
        if (setjmp(check.end) == 0)
            check.tests[check.running]();
        if (check.result == PASSED)
            printf("ok %s\n", check.names[check.running]);
        counts[check.result]++;
    }
    if (check.root[0])
        nftw(check.root, check_remove, 16, FTW_DEPTH | FTW_PHYS);
    printf("%d passed, %d failed, %d skipped\n", counts[PASSED], counts[FAILED], counts[SKIPPED]);
    if (counts[FAILED]) { /* a test that was left may have left threads: libraries do not unload under them */
        fflush(stdout);
        _exit(1);
    }
    return counts[SKIPPED] && !counts[PASSED] ? 77 : 0;
}

#define CHECK_MAIN int main(int argc, char **argv) { return check_main(argc, argv); }

#endif
