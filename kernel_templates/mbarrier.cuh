// mbarriers: objects in shared memory on which warps of sm_90 wait for each other and for copies. `b` is an address in
// shared memory. A phase is complete when as many have arrived as gt_mbarrier_init said; its parity is what a waiter
// asks for.
#ifndef GT_MBARRIER_CUH
#define GT_MBARRIER_CUH

// 1: every lane arrives where otherwise one is elected to arrive for its warp, after __syncwarp. One arrival is right
// by the memory model, but compute-sanitizer's racecheck does not see what it orders and reports hazards.
#ifndef GT_CHECKED
#define GT_CHECKED 0
#endif
#define GT_WARP_ARRIVALS (GT_CHECKED ? 32 : 1) // of a warp that arrives

typedef unsigned long long gt_mbarrier;
#define GT_MBARRIER_BYTES ((int)sizeof(gt_mbarrier))

__device__ __forceinline__ void gt_mbarrier_init(unsigned b, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(b), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void gt_mbarrier_arrive(unsigned b)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(b) : "memory");
}
// Arrives once all copies that this thread has under way are there.
__device__ __forceinline__ void gt_mbarrier_arrive_after_copies(unsigned b)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(b) : "memory");
}
__device__ __forceinline__ void gt_mbarrier_wait(unsigned b, unsigned phase)
{
    unsigned done;
    do {
        asm volatile("{\n.reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(b), "r"(phase)
                     : "memory");
    } while (!done);
}
// The same mbarrier of another block of the cluster.
__device__ __forceinline__ void gt_mbarrier_arrive_remote(unsigned b, unsigned block)
{
    asm volatile("{\n.reg .u32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [there];\n}" ::"r"(b),
                 "r"(block)
                 : "memory");
}
// Waits for arrivals from CLUSTER blocks.
template <int CLUSTER> __device__ __forceinline__ void gt_mbarrier_wait_cluster(unsigned b, unsigned phase)
{
    unsigned done;
    if (CLUSTER == 1) {
        gt_mbarrier_wait(b, phase);
        return;
    }
    do {
        asm volatile("{\n.reg .pred p;\n"
                     "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(b), "r"(phase)
                     : "memory");
    } while (!done);
}
// Asks without waiting.
__device__ __forceinline__ bool gt_mbarrier_test(unsigned b, unsigned phase)
{
    unsigned done;
    asm volatile("{\n.reg .pred p;\n"
                 "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done)
                 : "r"(b), "r"(phase)
                 : "memory");
    return done;
}

#endif
