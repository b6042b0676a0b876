/* The tensor maps of a launch: what the copy engine must know of operands that it moves in boxes. */
#ifndef GT_MAPS_H
#define GT_MAPS_H

#include "copies.h"
#include "driver.h"
#include "facts.h"
#include "problem.h"

/* One operand's, all but its address. */
typedef struct gt_map {
    gt_operand operand;
    CUtensorMapDataType type;
    CUtensorMapSwizzle swizzle;
    CUtensorMapL2promotion promotion;
    cuuint64_t size[3];   /* columns, rows, matrices */
    cuuint64_t stride[2]; /* bytes from row to row, from matrix to matrix */
    cuuint32_t box[3];
} gt_map;

typedef struct gt_maps {
    int count;
    gt_map list[GT_OPERANDS]; /* in the order of a kernel's parameters */
    /* Of operands that are copied, where these could be read as they are stored if only their addresses are aligned. */
    bool readable[GT_OPERANDS];
    gt_map stored[GT_OPERANDS];
} gt_maps;

/* Those that a kernel's facts ask for, of copies where operands are copied. GT_ERROR_INVALID if a tensor map cannot
 * describe an operand: rows that are not aligned to 16 bytes, sides above 2^31, strides of 2^40 bytes. */
gt_status gt_maps_init(const gt_facts *facts, const gt_problem *problem, const gt_copies *copies, gt_maps *maps);

/* Whether an operand that the kernel has copied, because not all of them are aligned, can do without. NULL cannot. */
bool gt_maps_read_stored(const gt_maps *maps, gt_operand operand, const void *address);

/* Encodes them for operands at these addresses: A, B, C. An operand that is not read may be NULL. `stored`: those that
 * lie there as they are stored, without their copy. */
CUresult gt_maps_encode(const gt_driver *driver, const gt_maps *maps, const void *const addresses[GT_OPERANDS],
                        const bool stored[GT_OPERANDS], CUtensorMap *encoded);

#endif
