#include "l2.h"

#include <stddef.h>

#define KNOWN 64 /* allocations; more are forgotten, the oldest first */

/* All bytes that went through, and of each allocation how many had when it was last reached. */
static uint64_t traffic = 1, coming;
static struct {
    uint64_t base, reached; /* reached 0: free */
} known[KNOWN];

uint64_t sg_l2_reach(uint64_t base, uint64_t bytes, uint64_t l2_bytes)
{
    size_t place = 0;
    for (size_t i = 0; i < KNOWN; i++) {
        if (known[i].base == base) {
            place = i;
            break;
        }
        if (known[i].reached < known[place].reached)
            place = i;
    }
    uint64_t missing = bytes;
    if (known[place].base == base && known[place].reached > 0) {
        const uint64_t since = traffic - known[place].reached;
        const uint64_t pushed_out = since > l2_bytes ? since - l2_bytes : 0;
        missing = pushed_out < bytes ? pushed_out : bytes;
    }
    known[place].base = base;
    known[place].reached = traffic; /* before the traffic that goes on side by side: that pushes it out too */
    coming += bytes;
    return missing;
}

void sg_l2_settle(void)
{
    traffic += coming;
    coming = 0;
}
