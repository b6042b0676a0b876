/*
 * Claims on problems: of several tuners of one database each works on another one. A claim is a lock on one byte of a
 * file beside the database; the kernel gives it up with the process, however that ends.
 */
#ifndef GT_CLAIMS_H
#define GT_CLAIMS_H

#include <stdbool.h>
#include <stdint.h>

/* Opens the file, made where it is missing; -1 where that cannot be: every claim is then granted, and work may be done
 * twice. Owned: close(). */
int gt_claims_open(const char *database);

/* Takes a problem of a GPU, by their rows' ids; false if another process has it. Never waits. */
bool gt_claims_take(int claims, int64_t gpu, int64_t problem);

/* Gives it back. */
void gt_claims_drop(int claims, int64_t gpu, int64_t problem);

#endif
