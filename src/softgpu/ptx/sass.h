/* What the machine code itself says, as far as times depend on it: PTX leaves addresses, moves and the order of
 * instructions to the assembler. */
#ifndef SG_SASS_H
#define SG_SASS_H

#include <stddef.h>
#include <stdint.h>

/* One turn of the innermost loop with the most multiply-adds, on the way that it takes but for the last turns and the
 * tails. */
typedef struct sg_sass_loop {
    uint32_t math;      /* multiply-adds of f32; 0: there is no such loop, or the code is of a kind that is not known */
    uint32_t slots;     /* instructions */
    uint32_t stalls;    /* clocks that a warp spends between them without a wait for memory, as the assembler orders */
    uint32_t pauses;    /* those of them where nothing is multiplied: around barriers and copies */
    uint32_t conflicts; /* clocks that multiply-adds wait for operands in the same bank of registers */
    uint32_t loads;     /* clocks in which what a warp loads from shared memory goes to its registers */
    uint32_t bytes;     /* of code, all of the loop */
} sg_sass_loop;

/* Reads a kernel's code for compute capability cc (90). */
sg_sass_loop sg_sass_read(const void *code, size_t bytes, int cc);

#endif
