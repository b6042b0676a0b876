/* How many blocks and threads fit, as the hardware hands out registers and shared memory. */
#ifndef SG_LIMITS_H
#define SG_LIMITS_H

#include "profile.h"

/* Blocks of that size on one SM at the same time; 0: not even one. shared_bytes: static and dynamic, without what the
 * system keeps. */
int sg_blocks_per_sm(const sg_profile *profile, int threads, int registers, int shared_bytes);

/* Threads that one block may have with so many registers each. */
int sg_most_threads(const sg_profile *profile, int registers);

#endif
