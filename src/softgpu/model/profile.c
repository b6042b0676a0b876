#include "profile.h"

#include <stddef.h>
#include <string.h>

/*
 * Limits and clocks are what each GPU's own driver reports. Lanes and tensor rates are the whitepapers' (dense, f16
 * with f32 sums). L2 bandwidth and latencies are what microbenchmarks in the literature find, rounded.
 */
static const sg_profile profiles[] = {
    {
        .key = "h200", .name = "NVIDIA H200 (software)", .cc = 90,
        .sm_count = 132, .clock_khz = 1980000, .memory_clock_khz = 3201000, .bus_bits = 6016,
        .memory_bytes = 150121545728, .l2_bytes = 60 << 20,
        .smem_per_block = 48 << 10, .smem_per_block_optin = 227 << 10, .smem_per_sm = 228 << 10, .smem_reserved = 1024,
        .registers_per_block = 65536, .registers_per_sm = 65536,
        .threads_per_block = 1024, .threads_per_sm = 2048, .blocks_per_sm = 32,
        .cluster_max = 8, .cluster_max_nonportable = 16,
        .f32_lanes = 128, .int_lanes = 64, .half_lanes = 128, .f64_lanes = 64, .sfu_lanes = 16, .tensor_fma = 2048,
        .l2_bytes_per_clock = 5280, .l2_latency = 270, .memory_latency = 700,
    },
    {
        .key = "a100", .name = "NVIDIA A100-SXM4-80GB (software)", .cc = 80,
        .sm_count = 108, .clock_khz = 1410000, .memory_clock_khz = 1593000, .bus_bits = 5120,
        .memory_bytes = 85198045184, .l2_bytes = 40 << 20,
        .smem_per_block = 48 << 10, .smem_per_block_optin = 163 << 10, .smem_per_sm = 164 << 10, .smem_reserved = 1024,
        .registers_per_block = 65536, .registers_per_sm = 65536,
        .threads_per_block = 1024, .threads_per_sm = 2048, .blocks_per_sm = 32,
        .f32_lanes = 64, .int_lanes = 64, .half_lanes = 256, .f64_lanes = 32, .sfu_lanes = 16, .tensor_fma = 1024,
        .l2_bytes_per_clock = 3400, .l2_latency = 210, .memory_latency = 500,
    },
    {
        .key = "rtx4090", .name = "NVIDIA GeForce RTX 4090 (software)", .cc = 89,
        .sm_count = 128, .clock_khz = 2520000, .memory_clock_khz = 10501000, .bus_bits = 384,
        .memory_bytes = 25756696576, .l2_bytes = 72 << 20,
        .smem_per_block = 48 << 10, .smem_per_block_optin = 99 << 10, .smem_per_sm = 100 << 10, .smem_reserved = 1024,
        .registers_per_block = 65536, .registers_per_sm = 65536,
        .threads_per_block = 1024, .threads_per_sm = 1536, .blocks_per_sm = 24,
        .f32_lanes = 128, .int_lanes = 64, .half_lanes = 128, .f64_lanes = 2, .sfu_lanes = 16, .tensor_fma = 512,
        .l2_bytes_per_clock = 2000, .l2_latency = 270, .memory_latency = 600,
    },
    {
        .key = "t4", .name = "Tesla T4 (software)", .cc = 75,
        .sm_count = 40, .clock_khz = 1590000, .memory_clock_khz = 5001000, .bus_bits = 256,
        .memory_bytes = 15828320256, .l2_bytes = 4 << 20,
        .smem_per_block = 48 << 10, .smem_per_block_optin = 64 << 10, .smem_per_sm = 64 << 10, .smem_reserved = 0,
        .registers_per_block = 65536, .registers_per_sm = 65536,
        .threads_per_block = 1024, .threads_per_sm = 1024, .blocks_per_sm = 16,
        .f32_lanes = 64, .int_lanes = 64, .half_lanes = 128, .f64_lanes = 2, .sfu_lanes = 16, .tensor_fma = 512,
        .l2_bytes_per_clock = 800, .l2_latency = 190, .memory_latency = 430,
    },
};

const sg_profile *sg_profile_find(const char *key)
{
    if (!key || !*key)
        return &profiles[0];
    for (size_t i = 0; i < sizeof profiles / sizeof profiles[0]; i++)
        if (strcmp(profiles[i].key, key) == 0)
            return &profiles[i];
    return NULL;
}
