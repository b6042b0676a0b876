// Dependent launch: a kernel of a stream may begin while the one before it still runs. A family whose space says so
// (the launch fact `dependent_launch`) waits here before a thread touches global memory.
#ifndef GT_DEPENDENT_LAUNCH_CUH
#define GT_DEPENDENT_LAUNCH_CUH

// Waits until all that the stream ran before is done.
__device__ __forceinline__ void gt_wait()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
// The same, and the stream's next kernel may begin: one thread of a block says so for all.
__device__ __forceinline__ void gt_begin()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
    gt_wait();
}

#endif
