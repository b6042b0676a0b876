/*
 * How a kernel works, as far as its parameters and facts tell, for the estimate of its time.
 */
#ifndef GT_TRAITS_H
#define GT_TRAITS_H

#include "kernel.h"

/* Who multiplies: threads with tiles of their own or any others, warps by mma.sync, warp groups by instructions that
 * run on by themselves. */
typedef enum gt_multiplier { GT_BY_THREADS, GT_BY_WARPS, GT_BY_WARP_GROUPS } gt_multiplier;

/* A parameter's value; absent where the kernel has none, or zero. */
double gt_trait(const gt_kernel *kernel, const char *name, double absent);

gt_multiplier gt_traits_multiplier(const gt_kernel *kernel);

/* Whether operands come by the copy engine to instructions that read them there. */
bool gt_traits_boxes(const gt_kernel *kernel);

/* Bytes that rows and pointers are a multiple of, as far as a kernel knows. */
double gt_traits_align(const gt_kernel *kernel, const gt_problem *p);

/* K-steps that a block takes at once: of bk, or by how its lanes and warps lie over K and what they load at once. */
double gt_traits_step(const gt_kernel *kernel, const gt_problem *p);

/* The operand that kernels read as a stream whose lanes lie over K, and whether it lies along K. */
gt_operand gt_traits_stream(const gt_kernel *kernel);
bool gt_traits_along(const gt_problem *p, gt_operand operand);

/* Whether an operand reaches shared memory by elements: it is contiguous along K, and threads with tiles of their own
 * read it across, so that it is transposed on its way. */
bool gt_traits_transposed(const gt_kernel *kernel, const gt_problem *p, gt_operand operand);

/* Whether an operand, or the copy of it that a kernel reads, lies along K. */
bool gt_traits_read_along(const gt_kernel *kernel, const gt_problem *p, gt_operand operand);

/* Whether an operand comes to warp groups through registers: elements that are not of 16 bits and are not read along K, as the
 * instruction's A. */
bool gt_traits_through_registers(const gt_kernel *kernel, const gt_problem *p);

/* Whether lanes have B on its way in registers. */
bool gt_traits_held(const gt_kernel *kernel);

/* Columns that are read beyond those of a tile: a vector of rows across it that begin anywhere. */
double gt_traits_beyond(const gt_kernel *kernel, const gt_problem *p);

/* Whether threads load elements into registers, and wait for them: copies to shared memory have four bytes or more. */
bool gt_traits_elements(const gt_kernel *kernel, const gt_problem *p);

/* Pieces in which a byte of A or B is read, beyond those of 16 bytes: rows are aligned to less, or elements are
 * transposed; not those of a copy that was made first. */
double gt_traits_pieces(const gt_kernel *kernel, const gt_problem *p, gt_operand operand);

/* Instructions of a thread with a tile of its own for each multiply-add: it loads both sides of its tile. Where lanes lie
 * over K it counts, too, once in four steps. */
double gt_traits_issued(const gt_kernel *kernel, const gt_problem *p);

/* Elements of A and B that a block's threads or instructions read from shared memory in a step of one along K, and those
 * written there: of its warps' tiles, or of the instruction's two sides, 64 rows of a warp group and what is N there. */
double gt_traits_shared(const gt_kernel *kernel);

/* Warps of a block that multiply: all, or the consumers where the parameters tell them from producers. */
double gt_traits_warps(const gt_kernel *kernel);

/* Rows that the threads of a block have at a time which lie below each other, and whether a kernel has such: they store rows
 * of C that begin anywhere in whole vectors. */
double gt_traits_rows(const gt_kernel *kernel);
bool gt_traits_stores_vectors(const gt_kernel *kernel);

/* Whether blocks bring A and B into shared memory by elements, and threads keep the columns of a vector of C, for all of
 * bk, in registers while they go down their rows. */
bool gt_traits_keeps_columns(const gt_kernel *kernel);

/* Elements of C that such a thread stores at once; rows from one of its rows to the next: where rows begin anywhere,
 * those as many apart as a sector has elements begin alike. */
double gt_traits_vector(const gt_kernel *kernel, const gt_problem *p);
double gt_traits_apart(const gt_kernel *kernel, const gt_problem *p);

/* Registers that such a thread would need beyond those that it has. */
double gt_traits_spilled(const gt_kernel *kernel, const gt_problem *p);

/* Whether the last tile of K is multiplied only as far as K goes. */
bool gt_traits_stops_with_k(const gt_kernel *kernel);

#endif
