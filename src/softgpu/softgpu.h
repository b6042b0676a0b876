/*
 * What the software GPU offers beyond the driver: one table, from the one function that it exports beside the driver's
 * own. Nothing here needs cuda.h.
 */
#ifndef GEMMTUNE_SOFTGPU_H
#define GEMMTUNE_SOFTGPU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ",gpus=N" takes as many. */
#define GT_SOFT_MOST_DEVICES 16

/* What the last launch did, and where the time went that the model gives it. */
typedef struct gtSoftLaunch {
    /* Warp instructions, all and by pipe. */
    uint64_t lane_instructions, warp_instructions;
    uint64_t fma, alu, half, sfu, f64, tensor, control, memory;
    uint64_t shared_loads, shared_stores, shared_wavefronts;
    uint64_t global_loads, global_stores, global_sectors; /* sectors of 32 bytes */
    uint64_t global_bytes, async_bytes, barriers, tensor_flops;
    uint64_t blocks, threads; /* of the grid; of a block */
    int32_t registers, shared_bytes, blocks_per_sm;
    int32_t counted; /* 0: an equal launch was counted before, these are its numbers */
    double waves;
    /* Microseconds: the whole, and what each part would take alone. The longest of them bounds the launch. */
    double us, issue_us, fma_us, alu_us, half_us, sfu_us, f64_us, tensor_us, shared_us, l1_us;
    double latency_us, l2_us, memory_us, launch_us;
    /* Bytes written to shared memory; sectors of global memory written, or read for use and not into shared memory, in
     * all and by the block that has the most; how often warps waited for such reads, for reads into shared memory with
     * nothing to do meanwhile, for fences and the results of atomics. */
    uint64_t stored_bytes, direct_sectors, direct_most, direct_rounds, bare_copies, round_trips;
    uint64_t ran; /* blocks that were counted; the rest of them is taken to do the same: see gtSoft.sample */
} gtSoftLaunch;

/* Results are the driver's: 0 is CUDA_SUCCESS. All of it may be called from any thread. */
typedef struct gtSoft {
    size_t bytes; /* of the library's table: one that was made for fewer members is shorter than this struct */

    /*
     * Says what to be, before cuInit: "h200", "a100", "rtx4090" or "t4", and behind a comma what to do more:
     * "h200,races" looks for races in global and shared memory, and for dependent launches that touch global memory
     * before they have waited, "h200,gpus=2" is a machine with two of them. "" leaves it to the environment variable
     * GEMMTUNE_SOFT, which takes the same and is read by cuInit, or to what $GEMMTUNE_DRIVER has behind "soft:"; without
     * any of these it is an h200. CUDA_ERROR_INVALID_VALUE for what is not known, CUDA_ERROR_ILLEGAL_STATE
     * after cuInit for anything but what it is.
     */
    int (*choose)(const char *choice);

    /*
     * Says which PTX a cubin was made of: a cubin alone cannot run here. To be called before cuLibraryLoadData gets the
     * same bytes; may be called before cuInit. The texts are copied. The last 256 are kept, a cubin's last PTX counts.
     * CUDA_ERROR_INVALID_VALUE for NULL or no PTX, CUDA_ERROR_INVALID_IMAGE for what is no cubin,
     * CUDA_ERROR_OUT_OF_MEMORY.
     */
    int (*attach_ptx)(const void *cubin, size_t cubin_bytes, const char *ptx, size_t ptx_bytes);

    /*
     * The last failure in one line: of a kernel (its name, block, thread, PTX line, address), or of PTX that could not
     * be loaded. Cut to fit; empty if there was none. CUDA_ERROR_INVALID_VALUE for NULL or no room.
     */
    int (*report)(char *line, size_t bytes);

    /*
     * Says whether launches of the calling thread, from now on, are only counted and timed: 1, or run: 0, as at first.
     * A launch that is only timed runs a few of its blocks, takes the counts of all from them, and leaves memory as it
     * was: nobody may want its result. Where blocks wait for each other all of them run, and memory still stays as it
     * was. 2 is like 1, but memory is as the blocks that ran leave it, so that their results can be looked at. 3 is like 0,
     * but faster: the launch takes no time of the device's, and what it does is not counted. CUDA_ERROR_INVALID_VALUE for
     * anything else.
     */
    int (*sample)(int on);

    /* Copies at most bytes of the last counted launch's: a caller compiled for a shorter struct is served.
     * CUDA_ERROR_INVALID_VALUE for NULL, CUDA_ERROR_NOT_READY if nothing was launched. */
    int (*counts)(gtSoftLaunch *launch, size_t bytes);

    /* Says whether launches of the calling thread, from now on, are checked for races: 1, or not: 0, as at first. With
     * ",races" in the device's name all are, whatever is said here. */
    void (*races)(int on);

    /*
     * Takes bytes of one allocation away from kernels, allowed 0, or gives them back, 1: a kernel that reads or writes
     * any of them stops as if they lay in no allocation. The host may still copy and fill them. Ranges may overlap;
     * they go with their allocation. CUDA_ERROR_INVALID_VALUE for what does not lie in one allocation,
     * CUDA_ERROR_NOT_INITIALIZED before cuInit, CUDA_ERROR_OUT_OF_MEMORY.
     */
    int (*protect)(unsigned long long address, unsigned long long bytes, int allowed);

    /* Says in which order launches of the calling thread, from now on, start their blocks (whole clusters where there
     * are some) and how long each may go on before others do: 0, one after the other by their numbers, as at first, or
     * as drawn from a seed. The same seed gives the same order. */
    void (*order)(unsigned long long seed);
} gtSoft;

/* The table, which lives as long as the library. Never NULL. */
const gtSoft *gtSoftTable(void);

#ifdef __cplusplus
}
#endif

#endif
