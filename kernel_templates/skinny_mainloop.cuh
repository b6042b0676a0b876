// The main loop of skinny.cu: a lane reads units of the streamed operand from its corner of a slot and multiplies them
// with a chunk of the kept one, while later units and the next chunk are on their way. Included by skinny.cu, after
// skinny_producer.cuh.
//
// Needs: struct stream and stage; kept_type and streamed_type; V, ALONG_K, COVER, UNIT, UNITS, PITCH, CHUNK, SLOT;
// step_of, warp_few, warp_many and warp_k.
// Offers: main_loop, a lane's sums over the block's part of K. A barrier stands only between chunks.
#ifndef GT_SKINNY_MAINLOOP_CUH
#define GT_SKINNY_MAINLOOP_CUH

__device__ __forceinline__ void multiply_add(float &sum, float x, float y)
{
    sum = __fmaf_rn(x, y, sum);
}
__device__ __forceinline__ void multiply_add(double &sum, double x, double y)
{
    sum = __fma_rn(x, y, sum);
}
__device__ __forceinline__ void multiply_add(int &sum, int x, int y)
{
    sum += x * y;
}

// Adds a unit's products. x is the lane's first k-step of the unit in its warp's first line of the kept operand.
__device__ __forceinline__ void multiply(GT_ACC (&sum)[T_FEW * T_MANY], const GT_AB (&b)[4 * T_MANY], const GT_AB *x)
{
    constexpr int WIDE = ALONG_K ? V : 4;
    GT_ACC streamed[4 * T_MANY];
#pragma unroll
    for (int i = 0; i < 4 * T_MANY; i++)
        streamed[i] = GT_ACC(streamed_type(b[i]));
#pragma unroll
    for (int s = 0; s < T_FEW; s++) {
        gt_vector<GT_AB, WIDE> held[4 / WIDE];
#pragma unroll
        for (int q = 0; q < 4 / WIDE; q++)
            held[q] = *(const gt_vector<GT_AB, WIDE> *)(x + s * PITCH + q * LANES_K * WIDE);
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const GT_ACC kept = GT_ACC(kept_type(held[e / WIDE].e[e % WIDE]));
#pragma unroll
            for (int j = 0; j < T_MANY; j++)
                multiply_add(sum[s * T_MANY + j], streamed[ALONG_K ? j * 4 + e : e * T_MANY + j], kept);
        }
    }
}

// Adds a lane's products over the block's part of K, k_count k-steps from k on. Afterwards shared memory is free.
__device__ __forceinline__ void main_loop(const operands &o, gt_int first_few, gt_int first_many, gt_int k,
                                          gt_int k_count, GT_AB *shared, GT_ACC (&sum)[T_FEW * T_MANY])
{
    const int group = warp_k();
    // Where columns of the tile lie beyond the matrix, no unit is whole.
    const bool ragged = first_many + COVER > o.many;
    const int all = (int)(((k_count + UNIT - 1) / UNIT + WARPS_K - 1 - group) / WARPS_K);
    const int whole = ragged ? 0 : (int)((k_count / UNIT + WARPS_K - 1 - group) / WARPS_K);
    // k-steps of the last unit
    const int tail = (int)(k_count - group * UNIT - (gt_int)(all - 1) * (WARPS_K * UNIT));
    stream from(o, first_many + warp_many() * (LANES_MANY * T_MANY), k + group * UNIT);
    GT_AB *const corner = shared + 2 * CHUNK + threadIdx.x / 32 * (STAGES * SLOT) + threadIdx.x % 32 * 4;
    const auto fetch = [&](int unit, int slot) {
        if (unit < whole)
            from.fetch<true>(corner + slot, UNIT);
        else if (unit < all)
            from.fetch<false>(corner + slot, unit + 1 < all ? UNIT : tail);
    };
    // A unit is a group of copies. The first one takes the first chunk along, and any later chunk travels with one
    // that is awaited before the chunk's turn.
#pragma unroll
    for (int s = 0; s < STAGES; s++) {
        fetch(s, s * SLOT);
        if (s == 0)
            stage(shared, o, first_few, k, k_count);
        gt_commit_copies();
    }
    const GT_AB *x = shared + warp_few() * T_FEW * PITCH + group * UNIT + step_of(0);
    int other = CHUNK; // from the chunk that is read to the other one
    for (int unit = 0, slot = 0; k_count > 0; k += BK, k_count -= BK) {
        gt_wait_copies<STAGES - 1>();
        __syncthreads();
        if (k_count > BK)
            stage(shared + (other > 0 ? CHUNK : 0), o, first_few, k + BK, k_count - BK);
#pragma unroll 1
        for (int u = 0; u < UNITS && unit < all; u++, unit++) {
            __align__(16) GT_AB b[4 * T_MANY];
            gt_wait_copies<STAGES - 1>();
#pragma unroll
            for (int i = 0; i < T_MANY; i++)
                *(gt_vector<GT_AB, 4> *)&b[4 * i] = *(gt_vector<GT_AB, 4> *)(corner + slot + i * 128);
            fetch(unit + STAGES, slot);
            gt_commit_copies();
            slot = slot == (STAGES - 1) * SLOT ? 0 : slot + SLOT;
            multiply(sum, b, x + u * (WARPS_K * UNIT));
        }
        x += other;
        other = -other;
    }
    gt_wait_copies<0>();
    __syncthreads();
}

#endif
