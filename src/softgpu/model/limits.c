#include "limits.h"

#define WARP 32
#define QUARTERS 4 /* schedulers of an SM, each with its own registers */
#define SHARED_UNIT 128

/* Registers are handed out to whole warps, eight a thread at least; no warp's lie in two quarters. */
static int warps_by_registers(const sg_profile *profile, int registers)
{
    const int each = (registers + 7) / 8 * 8 * WARP;
    return each > 0 ? profile->registers_per_sm / QUARTERS / each * QUARTERS : profile->threads_per_sm / WARP;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

int sg_blocks_per_sm(const sg_profile *profile, int threads, int registers, int shared_bytes)
{
    const int warps = (threads + WARP - 1) / WARP;
    const int shared = (shared_bytes + profile->smem_reserved + SHARED_UNIT - 1) / SHARED_UNIT * SHARED_UNIT;
    if (threads < 1 || threads > profile->threads_per_block || shared_bytes > profile->smem_per_block_optin)
        return 0;
    const int by_threads = least(profile->blocks_per_sm, profile->threads_per_sm / WARP / warps);
    const int by_registers = warps_by_registers(profile, registers) / warps;
    const int by_shared = shared > 0 ? profile->smem_per_sm / shared : by_threads; /* Turing reserves none */
    return least(least(by_threads, by_registers), by_shared);
}

int sg_most_threads(const sg_profile *profile, int registers)
{
    return least(profile->threads_per_block, warps_by_registers(profile, registers) * WARP);
}
