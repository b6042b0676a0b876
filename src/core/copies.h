/* Operands that a kernel's code copies into the workspace before the product: kernel_templates/repack.cuh has the other
 * side. */
#ifndef GT_COPIES_H
#define GT_COPIES_H

#include "facts.h"
#include "problem.h"

/* Bits of the fact `repack`, beside 1 for A and 2 for B: whether a copy has the operand's own rows (AS_STORED), or
 * one line for each row of op(A) or column of op(B), contiguous along K (ALONG_K). With neither it has one line for
 * each k. */
#define GT_COPY_AS_STORED 4
#define GT_COPY_ALONG_K   8
/* Each f32 becomes two f16. Of every 32 elements along K the high parts come first, then the low ones, padded with zeros.
 * Such steps of a line are side by side; or, without ALONG_K and where the operand is stored across K, there is a row for
 * each: the first one of all lines, then the second. Behind all stand eight bytes about each line. */
#define GT_COPY_SPLIT 16

typedef struct gt_copies {
    unsigned blocks, threads;    /* blocks that make the copies of one matrix, 0: there are none; threads of each */
    unsigned cluster;            /* blocks of a cluster; blocks is a multiple */
    bool copied[GT_OPERANDS];
    bool lines_stay[GT_OPERANDS]; /* the copy differs from the operand by the alignment of its lines only */
    gt_stored copy[GT_OPERANDS]; /* lines aligned to 128 bytes */
    size_t bytes[GT_OPERANDS];   /* of one matrix */
} gt_copies;

/* Those that a kernel's facts ask for. GT_ERROR_INVALID where they pass 64 bits, or facts do not go together. */
gt_status gt_copies_init(const gt_facts *facts, const gt_problem *problem, gt_copies *copies);

/* Where the copies of `batch` matrices lie in a workspace: those of A, unless they are left out, then those of B; NULL for
 * what is not copied. */
const void *gt_copies_find(const gt_copies *copies, gt_operand operand, unsigned batch, bool without_a,
                           const void *workspace);

#endif
