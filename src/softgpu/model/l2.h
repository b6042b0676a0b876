/* What of a program's memory still lies in the device's L2 cache: by allocation, oldest out first. */
#ifndef SG_L2_H
#define SG_L2_H

#include <stdint.h>

/* Something reaches `bytes` of the allocation at `base`. Gives how many of them must come from memory. What is reached
 * until the next sg_l2_settle goes on side by side. */
uint64_t sg_l2_reach(uint64_t base, uint64_t bytes, uint64_t l2_bytes);
void sg_l2_settle(void);

#endif
