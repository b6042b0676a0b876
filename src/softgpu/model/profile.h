/* The GPUs that the software GPU can pretend to be: one table row each. */
#ifndef SG_PROFILE_H
#define SG_PROFILE_H

#include <stdint.h>

typedef struct sg_profile {
    const char *key;  /* "h200": --device soft:h200 */
    const char *name; /* as the driver tells it, "NVIDIA H200 (software)" */
    int cc;
    int sm_count, clock_khz, memory_clock_khz, bus_bits;
    uint64_t memory_bytes;
    int l2_bytes;
    int smem_per_block, smem_per_block_optin, smem_per_sm, smem_reserved;
    int registers_per_block, registers_per_sm;
    int threads_per_block, threads_per_sm, blocks_per_sm;
    int cluster_max; /* blocks that any cluster may have; 0: no clusters */
    int cluster_max_nonportable;
    /* What one SM finishes in a clock: lanes of plain arithmetic, multiply-adds of f16 on the tensor cores. */
    int f32_lanes, int_lanes, half_lanes, f64_lanes, sfu_lanes, tensor_fma;
    int l2_bytes_per_clock; /* of the whole GPU, from L2 to the SMs, as far as kernels reach it */
    int l2_latency, memory_latency; /* clocks */
} sg_profile;

/* By key; the first row for NULL or "". NULL if there is none of that name. */
const sg_profile *sg_profile_find(const char *key);

#endif
