/* A cluster's blocks and warps and their storage: shared memory, registers, predicates, local memory. */
#ifndef SG_CLUSTER_H
#define SG_CLUSTER_H

#include "warp.h"

/* Storage for one cluster of the machine's grid; NULL if out of memory. */
sg_cluster *sg_cluster_create(sg_machine *machine);

/* NULL is allowed. */
void sg_cluster_destroy(sg_cluster *cluster);

/* Puts the blocks of cluster `number` of the grid into the storage, with all threads at the kernel's beginning. */
void sg_cluster_start(sg_cluster *cluster, uint64_t number);

#endif
