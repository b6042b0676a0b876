/* Where the blocks of a launch find room, and what L2 keeps of its operands for the next one like it. */
#ifndef GT_RESIDENCE_H
#define GT_RESIDENCE_H

#include "launch.h"

/* Blocks that an SM holds at once; 0 if not even one fits. */
int gt_residence_blocks(const gt_device *device, const gt_kernel *kernel);

/* SMs that work on a kernel. Where they have one block each, clusters of four and more do not fit into every part of the
 * chip: an H200 has room for 30 of four and 15 of eight. Those beyond wait, or share SMs that hold more blocks: 32 of eight
 * fit where these hold two. 66, one set more, take 11.3 us in bf16 where two sets would take 6.5 (2240x1408x384). */
double gt_residence_sms(const gt_device *device, const gt_kernel *kernel, bool one_each);

/* Blocks of a launch, of all matrices. */
double gt_residence_launched(const gt_kernel *kernel, const gt_launch *launch);

/* Whether so many bytes stay in L2 from one launch to the next; and fill more than half of it, so that each half has only
 * what its own SMs read. */
bool gt_residence_stays(const gt_device *device, double bytes);
bool gt_residence_halved(const gt_device *device, const gt_problem *problem);

/* Of a launch's blocks, how many begin on other SMs than those of a launch like it, if they need not wait for its end: on
 * those that it left free. */
double gt_residence_moved(const gt_device *device, const gt_kernel *kernel, const gt_launch *launch);

/* Whether a launch had better wait for the end of what the stream ran before, so that blocks find their operands in the half
 * of L2 where the launch before it had them. */
bool gt_residence_waits(const gt_device *device, const gt_kernel *kernel, const gt_launch *launch);

#endif
