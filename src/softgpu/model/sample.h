/* A launch of which only the time is wanted: what all its blocks would do, from some of them. */
#ifndef SG_SAMPLE_H
#define SG_SAMPLE_H

#include "../machine/exec.h"

/* Whether launches of the calling thread are sampled, and the word that they are from now on. At first they are not. */
bool sg_sampling(void);
void sg_sample(bool on);

/*
 * Runs as much of a grid as tells what the whole would count, and leaves memory as it was. Where blocks need each other
 * or share out their work as they go, and where the whole costs little, all of them run. *ran: how many blocks.
 */
sg_fault sg_sample_run(const sg_grid *grid, sg_report *report, sg_counts *counts, uint64_t *ran);

#endif
