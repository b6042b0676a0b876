// The barrier of a warp-specialised block's consumers.
//
// Needs: CONSUMERS, how many threads they are.
#ifndef GT_CONSUMERS_SYNC_CUH
#define GT_CONSUMERS_SYNC_CUH

// Waits for the other consumers, not for the producers.
__device__ __forceinline__ void consumers_sync()
{
    asm volatile("barrier.sync 1, %0;" ::"n"(CONSUMERS) : "memory");
}

#endif
