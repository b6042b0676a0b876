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
// The same for small blocks, of which an SM holds many: the next kernel begins when this one's turn has come. Else those
// that come behind it take their places, too, in the gaps that others leave, and blocks of one launch share an SM while
// other SMs have none: 126 blocks of simt take 1.6 times as long on an H200. A few blocks gain 0.2 us by an early start.
__device__ __forceinline__ void gt_begin_evenly()
{
    constexpr unsigned FEW = 8;
    const bool few = gridDim.x * gridDim.y * gridDim.z <= FEW;
#if __CUDA_ARCH__ >= 900
    if (few)
        asm volatile("griddepcontrol.launch_dependents;");
#endif
    gt_wait();
#if __CUDA_ARCH__ >= 900
    if (!few)
        asm volatile("griddepcontrol.launch_dependents;");
#endif
}

#endif
