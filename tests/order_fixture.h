/* Kernels in PTX, each right or with one thing missing: the checker of races must be silent about the former and name
 * both accesses of the latter. Without it, stores that nothing tells of are not seen: the numbers are wrong. */
#ifndef ORDER_FIXTURE_H
#define ORDER_FIXTURE_H

#include "softgpu_fixture.h"

#define ORDER_BYTES 8192 /* of global memory, all zero, which a kernel's only parameter points to */

/* Both lines of a race, in either order; 0: there is none. */
typedef struct lines {
    uint32_t first, second;
} lines;

/* says: what else its message must tell; NULL: nothing. */
static inline void expect_race(const sg_grid *grid, const char *what, lines wanted, const char *says)
{
    sg_report report;
    const sg_fault fault = sg_grid_run(grid, &report, NULL);
    if (wanted.first == 0 && fault != SG_FAULT_NONE)
        check_fail(__FILE__, __LINE__, "%s, which is right: %s", what, report.message);
    if (wanted.first == 0)
        return;
    if (fault != SG_FAULT_RACE)
        check_fail(__FILE__, __LINE__, "%s: no race, but '%s'", what, report.message);
    const bool same = report.line == wanted.second && report.other_line == wanted.first;
    if (!same && !(report.line == wanted.first && report.other_line == wanted.second))
        check_fail(__FILE__, __LINE__, "%s: lines %u and %u, not %u and %u: %s", what, report.line, report.other_line,
                   wanted.first, wanted.second, report.message);
    char line[32];
    snprintf(line, sizeof line, " at line %u ", report.other_line);
    CHECK(report.other_line == 0 || (strstr(report.message, line) && strstr(report.message, "of block (")));
    if (says && !strstr(report.message, says))
        check_fail(__FILE__, __LINE__, "%s: '%s' does not say '%s'", what, report.message, says);
}

/* Runs kernel k with blocks by their numbers, or in another order, which changes nothing: all wait before they read. */
static inline void judge_launch(const char *ptx, const char *what, uint32_t blocks, uint32_t threads, uint32_t cluster,
                                lines wanted, const char *says, bool dependent)
{
    sg_memory *memory = soft_memory();
    sg_module *module = soft_module(memory, ptx);
    for (uint64_t order = 0; order < 2; order++) {
        const uint64_t to = soft_upload(memory, NULL, ORDER_BYTES);
        memset((void *)(uintptr_t)to, 0, ORDER_BYTES);
        sg_span_mark(sg_memory_find(memory, to), to, ORDER_BYTES);
        sg_grid grid = soft_grid(module, "k", memory, &to, blocks, threads);
        grid.cluster[0] = cluster;
        grid.check_races = true;
        grid.dependent = dependent;
        grid.order = order;
        expect_race(&grid, what, wanted, says);
    }
    sg_module_destroy(module);
    sg_memory_destroy(memory);
}

static inline void judge_order(const char *ptx, const char *what, uint32_t blocks, uint32_t threads, uint32_t cluster,
                               lines wanted, const char *says)
{
    judge_launch(ptx, what, blocks, threads, cluster, wanted, says, false);
}

/* Where in memory, in words, a kernel's results are: 0, 1, ... for each of some blocks, side by side. */
typedef struct words {
    uint32_t first, blocks, count;
} words;

/* Runs kernel k without the checker: the results are right, or the run fails or gives others. */
static inline void judge_values(const char *ptx, const char *what, uint32_t blocks, uint32_t threads, uint32_t cluster,
                                words results, bool right)
{
    sg_memory *memory = soft_memory();
    sg_module *module = soft_module(memory, ptx);
    for (uint64_t order = 0; order < 2; order++) {
        const uint64_t to = soft_upload(memory, NULL, ORDER_BYTES);
        memset((void *)(uintptr_t)to, 0, ORDER_BYTES);
        sg_span_mark(sg_memory_find(memory, to), to, ORDER_BYTES);
        sg_grid grid = soft_grid(module, "k", memory, &to, blocks, threads);
        grid.cluster[0] = cluster;
        grid.order = order;
        sg_report report;
        bool as_wanted = sg_grid_run(&grid, &report, NULL) == SG_FAULT_NONE;
        if (right && !as_wanted)
            check_fail(__FILE__, __LINE__, "%s, which is right: %s", what, report.message);
        for (uint32_t i = 0; i < results.blocks * results.count; i++)
            as_wanted &= ((const uint32_t *)(uintptr_t)to)[results.first + i] == i % results.count;
        if (as_wanted != right)
            check_fail(__FILE__, __LINE__, "%s, in order %d: the results are %s", what, (int)order,
                       right ? "wrong" : "right");
    }
    sg_module_destroy(module);
    sg_memory_destroy(memory);
}

#endif
