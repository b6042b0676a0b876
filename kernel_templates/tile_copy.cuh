// A tile's way from global to shared memory through registers.
#ifndef GT_TILE_COPY_CUH
#define GT_TILE_COPY_CUH

#include "gemm.cuh"

// A thread's part of a tile on its way to shared memory: OUTER rows of op(A), or columns of op(B), by DEPTH
// steps of K. The block takes the tile in vectors along the lines it is stored in, so that reads coalesce in
// every layout. All reads of a fetch are under way before a deposit waits for the first.
template <int OUTER, int DEPTH, bool ALONG_K, int THREADS_, int WIDTH> struct gt_carrier {
    static constexpr int LINE = ALONG_K ? DEPTH : OUTER; // elements side by side in global memory
    static constexpr int PASS = THREADS_ * WIDTH / LINE; // lines that the block takes at once
    static constexpr int COUNT = OUTER * DEPTH / (THREADS_ * WIDTH);
    static_assert(THREADS_ * WIDTH % LINE == 0, "whole lines at once");
    static_assert(OUTER * DEPTH % (THREADS_ * WIDTH) == 0, "every thread loads as much as every other");

    const GT_AB *from; // this thread's first vector of the next tile
    gt_int ld;
    gt_vector<GT_AB, WIDTH> held[COUNT];

    __device__ __forceinline__ gt_carrier(const GT_AB *tile, gt_int ld_)
        : from(tile + line() * ld_ + along()), ld(ld_)
    {
    }

    // Where that vector stands in a tile.
    static __device__ __forceinline__ int line()
    {
        return threadIdx.x * WIDTH / LINE;
    }
    static __device__ __forceinline__ int along()
    {
        return threadIdx.x * WIDTH % LINE;
    }

    // Reads the next tile. outer and depth are how much of it lies in the matrix; zeros stand beyond.
    __device__ __forceinline__ void fetch(int outer, int depth)
    {
        const GT_AB *p = from;
        const int lines = (ALONG_K ? outer : depth) - line(), left = (ALONG_K ? depth : outer) - along();
#pragma unroll
        for (int n = 0; n < COUNT; n++, p += PASS * ld)
            held[n] = gt_load_vector<WIDTH>(p, n * PASS < lines ? left : 0);
        from += ALONG_K ? DEPTH : DEPTH * ld;
    }

    // Puts element (r, p) of the tile at to[r * STEP_R + p * STEP_P].
    template <int STEP_R, int STEP_P> __device__ __forceinline__ void deposit(GT_AB *to) const
    {
        constexpr int NEXT = ALONG_K ? STEP_R : STEP_P,
                      STEP = ALONG_K ? STEP_P : STEP_R; // a line on, along a line
        to += line() * NEXT + along() * STEP;
#pragma unroll
        for (int n = 0; n < COUNT; n++) {
            if (STEP == 1 && NEXT % WIDTH == 0) {
                *(gt_vector<GT_AB, WIDTH> *)(to + n * PASS * NEXT) = held[n];
            } else {
#pragma unroll
                for (int u = 0; u < WIDTH; u++)
                    to[n * PASS * NEXT + u * STEP] = held[n].e[u];
            }
        }
    }
};

#endif
