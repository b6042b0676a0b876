// What a GPU does at most: multiply-adds with nothing else to do, where NUMBER is defined (float or int), and copies of
// its memory.

#ifdef NUMBER

// SUMS independent sums a thread hide the latency of a multiply-add, at any number of warps; ROUNDS of them a turn make
// the loop's own three instructions cost 0.6%. 512 instructions of 16 bytes stay in the first instruction cache.
#define SUMS   16
#define ROUNDS 32

// One multiply-add, its operands arranged in two ways, as it is the architecture's affair which of them the register
// file feeds without a wait: way 0 has all three in registers, two of them the same from step to step; way 1 has the
// factor in the instruction. f32 stays finite.
template <int WAY> __device__ float step(float sum, float x, float y)
{
    return WAY == 0 ? __fmaf_rn(sum, x, y) : __fmaf_rn(sum, 0.5f, y);
}

template <int WAY> __device__ int step(int sum, int x, int y)
{
    return WAY == 0 ? sum * x + y : sum * 214013 + y;
}

template <int WAY> __device__ void stream(NUMBER *out, NUMBER x, NUMBER y, int turns)
{
    NUMBER sums[SUMS], total = 0;
#pragma unroll
    for (int i = 0; i < SUMS; i++)
        sums[i] = (NUMBER)(threadIdx.x + i);
#pragma unroll 1
    for (int turn = 0; turn < turns; turn++)
#pragma unroll
        for (int round = 0; round < ROUNDS; round++)
#pragma unroll
            for (int i = 0; i < SUMS; i++)
                sums[i] = step<WAY>(sums[i], x, y);
#pragma unroll
    for (int i = 0; i < SUMS; i++)
        total += sums[i];
    out[blockIdx.x * blockDim.x + threadIdx.x] = total;
}

extern "C" __global__ void __launch_bounds__(256) stream_0(NUMBER *out, NUMBER x, NUMBER y, int turns)
{
    stream<0>(out, x, y, turns);
}

extern "C" __global__ void __launch_bounds__(256) stream_1(NUMBER *out, NUMBER x, NUMBER y, int turns)
{
    stream<1>(out, x, y, turns);
}

#endif

// A thread copies EACH vectors of 16 bytes, all loads before the first store: the more are under way, the fewer threads
// cover the memory's latency. The grid covers the memory exactly.
template <int EACH> __device__ void copy(const uint4 *from, uint4 *to)
{
    const unsigned long long first = (unsigned long long)blockIdx.x * blockDim.x * EACH + threadIdx.x;
    uint4 vectors[EACH];
#pragma unroll
    for (int i = 0; i < EACH; i++)
        vectors[i] = from[first + i * blockDim.x];
#pragma unroll
    for (int i = 0; i < EACH; i++)
        to[first + i * blockDim.x] = vectors[i];
}

extern "C" __global__ void __launch_bounds__(256) copy_1(const uint4 *from, uint4 *to)
{
    copy<1>(from, to);
}

extern "C" __global__ void __launch_bounds__(256) copy_4(const uint4 *from, uint4 *to)
{
    copy<4>(from, to);
}
