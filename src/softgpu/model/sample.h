/* A launch of which only the time is wanted: what all its blocks would do, from some of them. */
#ifndef SG_SAMPLE_H
#define SG_SAMPLE_H

#include "../machine/exec.h"

/* How launches of the calling thread are run. At first all of each is; untimed too, but nothing is counted. */
typedef enum sg_sampling { SG_SAMPLE_ALL, SG_SAMPLE_UNDONE, SG_SAMPLE_KEPT, SG_SAMPLE_UNTIMED } sg_sampling;
sg_sampling sg_sampling_now(void);
void sg_sample(sg_sampling how);

/*
 * Runs as much of a grid as tells what the whole would count, and leaves memory as it was or, kept, as these blocks
 * leave it. Where blocks need each other or share out their work as they go, and where the whole costs little, all of
 * them run. *ran: how many blocks.
 */
sg_fault sg_sample_run(const sg_grid *grid, sg_report *report, sg_counts *counts, uint64_t *ran);

#endif
