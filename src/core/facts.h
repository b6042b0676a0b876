/*
 * Launch facts: what must be known of a kernel, beside its code, to launch it. One row each. A space's columns, a
 * database's columns, the checks of what a file says, the macros that a template may assert and the way to a worker
 * are made from it: a new fact is one row, and whoever acts on it.
 */
#ifndef GT_FACTS_H
#define GT_FACTS_H

#include <stdbool.h>

#include "status.h"

#define GT_FACT_NEEDED INT64_MIN /* no default: every space must say it */

/*
 * name, its column in a space, smallest and largest value, default, whether the template has it as a parameter too,
 * whether kernels that differ in it are different kernels, the database format that first has it.
 */
#define GT_FACTS(X)                                                                                          \
    /* Elements of C that one block computes. */                                                             \
    X(tile_m, "bm", 1, 1 << 16, GT_FACT_NEEDED, true, true, 4)                                               \
    X(tile_n, "bn", 1, 1 << 16, GT_FACT_NEEDED, true, true, 4)                                               \
    /* Blocks along y that share the K of one tile. */                                                       \
    X(split_k, "split_k", 1, 65535, 1, true, true, 4)                                                        \
    X(threads, "threads", 1, 1024, GT_FACT_NEEDED, false, true, 4)                                           \
    X(smem_bytes, "smem_bytes", 0, 1 << 20, 0, false, true, 4)                                               \
    /* Blocks of a cluster, along tiles and along K. */                                                      \
    X(cluster_x, "cluster_x", 1, 16, 1, false, true, 4)                                                      \
    X(cluster_y, "cluster_y", 1, 16, 1, false, true, 4)                                                      \
    /* Blocks of a persistent grid, which share all tiles of `products` products; unless they share K no more \
     * of them than tiles are launched. 0: not persistent, a block for each tile. */                         \
    X(blocks, "blocks", 0, 1 << 16, 0, true, true, 4)                                                        \
    /* Matrices of a batch whose tiles one block computes, or a persistent grid. */                          \
    X(products, "products", 1, 1024, 1, true, true, 7)                                                       \
    /* Workspace bytes for one tile of C, or for one block of a persistent grid. */                          \
    X(ws_tile, "ws_tile", 0, 1ll << 32, 0, false, true, 4)                                                   \
    /* The kernel reads the number of K's parts from the grid: a launch may have another than split_k, as    \
     * long as it is a multiple of cluster_y. Where it is cluster_y there are no workspace and no counters; \
     * where it is more the grid is not persistent. */                                                      \
    X(any_split, "any_split", 0, 1, 0, false, false, 8)                                                      \
    /* Operands that a second kernel of the same code copies into the workspace first: 1 for A, 2 for B, and \
     * how (copies.h): 4 as stored, 8 along K, 16 split into two parts of f16. Only with one of `products`. */ \
    X(repack, "repack", 0, 27, 0, true, true, 4)                                                             \
    /* It waits itself for the stream's earlier work (programmatic dependent launch). */                     \
    X(dependent_launch, "dependent_launch", 0, 1, 0, false, true, 4)                                         \
    /* It takes the whole argument block, applies an epilogue and reads C beside D. */                       \
    X(epilogue, "epilogue", 0, 1, 0, false, true, 8)                                                         \
    /* Tensor maps passed before the argument block: boxes in elements of A, B and C as they are stored, 0   \
     * for no map, and the swizzle of A's and B's, and of C's, a CUtensorMapSwizzle; 4: by the bytes of each \
     * box's lines, 16, 32, 64 or 128. */                                                                    \
    X(box_a_rows, "box_a_rows", 0, 256, 0, false, true, 4)                                                   \
    X(box_a_columns, "box_a_columns", 0, 256, 0, false, true, 4)                                             \
    X(box_b_rows, "box_b_rows", 0, 256, 0, false, true, 4)                                                   \
    X(box_b_columns, "box_b_columns", 0, 256, 0, false, true, 4)                                             \
    X(box_c_rows, "box_c_rows", 0, 256, 0, false, true, 4)                                                   \
    X(box_c_columns, "box_c_columns", 0, 256, 0, false, true, 4)                                             \
    X(swizzle_ab, "swizzle_ab", 0, 4, 0, false, true, 4)                                                     \
    X(swizzle_c, "swizzle_c", 0, 3, 0, false, true, 4)                                                       \
    /* What the copy engine brings into L2 around a box's lines: a CUtensorMapL2promotion. */                \
    X(map_promotion, "map_promotion", 0, 3, 2, false, true, 4)                                               \
    /* The same inputs give the same bits; a space may say no, and so may repeated launches. */              \
    X(deterministic, "deterministic", 0, 1, 1, false, false, 4)

/* No pointers inside: facts are copied and sent to a worker as they are. */
typedef struct gt_facts {
#define X(name, ...) int64_t name;
    GT_FACTS(X)
#undef X
} gt_facts;

typedef struct gt_fact_row {
    const char *name, *column;
    int64_t low, high, absent;
    bool param, key;
    int format;
} gt_fact_row;

#define GT_FACT_COUNT (sizeof(gt_facts) / sizeof(int64_t))

extern const gt_fact_row gt_fact_rows[GT_FACT_COUNT];

/* A fact by its row's number. */
int64_t *gt_fact(gt_facts *facts, size_t row);
int64_t gt_fact_value(const gt_facts *facts, size_t row);

/* Whether persistent blocks deal the steps of K of all their tiles out among themselves (stream-K). */
static inline bool gt_facts_stream_k(const gt_facts *facts)
{
    return facts->blocks > 0 && facts->ws_tile > 0 && !facts->any_split;
}

/* Holds every fact to its range, and those that depend on each other to each other: a space or a database may come from
 * anybody. GT_ERROR_INVALID: "threads is 0, outside 1 to 1024". */
gt_status gt_facts_check(const gt_facts *facts);

#endif
