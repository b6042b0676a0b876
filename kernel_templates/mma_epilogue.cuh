// C from the sums of warps: as lanes have them, or through shared memory.
//
// Needs: what mma_warp.cuh does.
#ifndef GT_MMA_EPILOGUE_CUH
#define GT_MMA_EPILOGUE_CUH

#include "mma_warp.cuh"

// On its way through shared memory C has two blocks of rows of each warp at a time, in lines that begin in different
// banks.
constexpr int PITCH = WN + 8;

// Or two blocks of rows of all warps, so that rows of the whole tile leave: results, each row shifted so that its vectors lie in
// shared memory as they do in C. Rows are apart so far that lanes of eight of them write to different banks.
struct tile_rows {
    static constexpr int V = 16 / GT_C_BYTES, ROWS = BM / WM * 16, VECTORS = BN / V + 1; // of a row that begins anywhere
    static constexpr int PITCH = (VECTORS + (9 - VECTORS % 8) % 8) * V, BYTES = ROWS * PITCH * GT_C_BYTES;
};

// C of the warp's tile, which begins at (row, column). A lane has RUN sums side by side. PLAIN: alpha times sums is
// all, as mostly; and those of the block's tile that lie in the matrix are whole vectors.
struct epilogue {
    static constexpr bool ONE_BY_ONE = GT_WIDE_C == 1, PAIRS = ONE_BY_ONE && GT_C_BYTES == 2;
    static constexpr bool BY_ROWS = PAIRS && (WN & WN - 1) != 0; // faster where dividing by WN takes more than a shift
    static constexpr int UNIT = fragments_b::UNIT, RUN = 2 * UNIT;
    static constexpr int WIDTH = RUN < GT_WIDE_C ? RUN : GT_WIDE_C;
    const gt_args &g;
    GT_C *c; // of this matrix of the batch
    gt_int row, column;

    // Whether what lies in the matrix of any tile are whole vectors.
    __device__ __forceinline__ bool is_whole() const
    {
        return g.n % GT_WIDE_C == 0;
    }
    static __device__ __forceinline__ int outer_row(int block, int inner)
    {
        return gt_outer<fragments_a::UNIT>(block, inner);
    }
    static __device__ __forceinline__ gt_vector<GT_ACC, RUN> run(const sums &sum, int block, int n)
    {
        gt_vector<GT_ACC, RUN> r;
#pragma unroll
        for (int v = 0; v < RUN; v++)
            r.e[v] = sum[block][n * UNIT + v % UNIT][v / UNIT];
        return r;
    }
    template <int WIDE, bool PLAIN> __device__ __forceinline__ void store(int i, int j, const GT_ACC *sum) const
    {
        const bool inside = i < gt_clip(g.m - row, WM) && j < gt_clip(g.n - column, WN); // clipped once for all
        if (PLAIN && ONE_BY_ONE) {
            if (inside)
                (c + row * g.ldc + column)[i * g.ldc + j] = GT_C(g.alpha.value * sum[0]);
        } else if (PLAIN) {
            gt_vector<GT_C, WIDE> result;
#pragma unroll
            for (int u = 0; u < WIDE; u++)
                result.e[u] = GT_C(g.alpha.value * sum[u]);
            if (inside)
                gt_store_vector(c + (row + i) * g.ldc + column + j, result);
        } else if (row + i < g.m) {
            gt_store_c_vector<WIDE>(g, row + i, column + j, sum, blockIdx.z * g.stride_c);
        }
    }

    // As lanes have them: where the tile is PLAIN.
    __device__ __forceinline__ void store_direct(const sums &sum) const
    {
        const int lane = threadIdx.x % 32;
#pragma unroll
        for (int i = 0; i < BLOCKS_M; i++)
#pragma unroll
            for (int n = 0; n < BLOCKS_N / UNIT; n++) {
                const gt_vector<GT_ACC, RUN> r = run(sum, i, n);
#pragma unroll
                for (int v = 0; v < RUN; v += WIDTH)
                    store<WIDTH, true>(outer_row(i, lane / 4), n * 8 * UNIT + lane % 4 * RUN + v, r.e + v);
            }
    }
    // The same for any tile. The old C of the next AT_ONCE vectors, as many as sums leave registers for, is all on its way
    // before any of it is waited for.
    __device__ __forceinline__ void store_any(const sums &sum) const
    {
        constexpr int PER_RUN = RUN / WIDTH, OF_ROW = BLOCKS_N / UNIT * PER_RUN, ALL = BLOCKS_M * OF_ROW;
        constexpr int ROOM = WM * WN < 2048 ? 8 : 4, AT_ONCE = ALL < ROOM ? ALL : ALL % ROOM == 0 ? ROOM : ROOM / 2;
        static_assert(ALL % AT_ONCE == 0, "whole vectors, as many every time");
        const int lane = threadIdx.x % 32, rows = gt_clip(g.m - row, WM), columns = gt_clip(g.n - column, WN);
        const auto below = [&](int v) { return outer_row(v / OF_ROW, lane / 4); };
        const auto beside = [&](int v) {
            return v % OF_ROW / PER_RUN * 8 * UNIT + lane % 4 * RUN + v % PER_RUN * WIDTH;
        };
        const auto left = [&](int v) { return below(v) < rows ? gt_clip(columns - beside(v), WIDTH) : 0; };
        const auto at = [&](int v) { return c + (row + below(v)) * g.ldc + column + beside(v); };
#pragma unroll
        for (int first = 0; first < ALL; first += AT_ONCE) {
            gt_vector<GT_C, WIDTH> old[AT_ONCE];
#pragma unroll
            for (int v = 0; v < AT_ONCE; v++)
#pragma unroll
                for (int u = 0; u < WIDTH; u++)
                    old[v].e[u] = GT_C(-GT_ACC(0)); // which, times beta = 0, changes no number
            if (g.beta.value != GT_ACC(0))
#pragma unroll
                for (int v = 0; v < AT_ONCE; v++)
                    old[v] = gt_load_vector<WIDTH>(gt_old(g, at(first + v)), left(first + v));
#pragma unroll
            for (int v = first; v < first + AT_ONCE; v++) {
                const gt_vector<GT_ACC, RUN> r = run(sum, v / OF_ROW, v % OF_ROW / PER_RUN);
                gt_vector<GT_C, WIDTH> stored;
                GT_ACC results[WIDTH];
#pragma unroll
                for (int u = 0; u < WIDTH; u++)
                    results[u] = g.alpha.value * r.e[v % PER_RUN * WIDTH + u] + g.beta.value * GT_ACC(old[v - first].e[u]);
                if (gt_has_epilogue(g)) // one question for most
                    gt_finish(g, column + beside(v), results);
#pragma unroll
                for (int u = 0; u < WIDTH; u++)
                    stored.e[u] = GT_C(results[u]);
                gt_store_first(at(v), stored, left(v));
            }
        }
    }
    // Two elements of 16 bits in one store: the j-th of row i and the next, or, where words begin between these, the ones
    // one farther; the row's first one goes alone then, as does a last one. Without branches: rows begin differently, and
    // lanes would go all ways one after the other.
    __device__ __forceinline__ void store_pair(GT_C *tile, int i, int j, const GT_ACC *sum) const
    {
        GT_C *to = tile + (unsigned)i * g.ldc + j;
        const unsigned odd = (unsigned)(size_t)to / GT_C_BYTES % 2;
        const int left = (i < gt_clip(g.m - row, WM) ? gt_clip(g.n - column, WN) : 0) - j - (int)odd; // from the word on
        const GT_C first = GT_C(g.alpha.value * sum[0]);
        const gt_vector<GT_C, 2> pair = {GT_C(g.alpha.value * (odd ? sum[1] : sum[0])),
                                         GT_C(g.alpha.value * (odd && j + 2 < WN ? sum[2] : sum[1]))};
        if (left > 1)
            *(unsigned *)(to + odd) = *(const unsigned *)&pair; // the compiler would take two stores
        if (left == 1)
            to[odd] = pair.e[0];
        if (odd && j == 0 && left >= 0)
            to[0] = first;
    }
    // The same for the 16 rows in staging, of two blocks. LANES lanes take one row, so that what a row asks for is asked
    // once for all its words; a first and a last element that share their words with others go alone.
    __device__ __forceinline__ void store_words(GT_C *tile, int block, const GT_ACC *staging, int rows, int columns) const
    {
        constexpr int LANES = WN / 2 & -(WN / 2), AT_ONCE = 32 / LANES, WORDS = WN / 2 / LANES;
        static_assert(LANES > 1 && LANES <= 32, "lanes for a row's first and last element");
        const int lane = threadIdx.x % 32, along = lane % LANES;
#pragma unroll 4
        for (int line = 0; line < 16; line += AT_ONCE) {
            const int i = outer_row(block + line / 8, line % 8 + lane / LANES), left = i < rows ? columns : 0;
            GT_C *to = tile + (unsigned)i * g.ldc;
            const int odd = (unsigned)(size_t)to / GT_C_BYTES % 2, first = odd + 2 * along;
            unsigned *words = (unsigned *)(to + (unsigned)first), word[WORDS];
            int from = (line + lane / LANES) * PITCH;
            asm volatile("" : "+r"(from)); // else the compiler adds this up anew for every element
#pragma unroll
            for (int w = 0; w < WORDS; w++) {
                const bool beyond = w == WORDS - 1 && first + 1 >= 2 * LANES; // the row's end, which no word has
                const GT_ACC *sum = staging + from + first + w * 2 * LANES;
                const gt_vector<GT_C, 2> both = {GT_C(g.alpha.value * sum[0]), GT_C(g.alpha.value * sum[beyond ? 0 : 1])};
                word[w] = *(const unsigned *)&both; // as elements the compiler would take two stores
            }
#pragma unroll
            for (int w = 0; w < WORDS; w++)
                if (first + w * 2 * LANES + 1 < left)
                    words[w * LANES] = word[w];
            if (left > 0 && along < 2 && (along == 0 ? odd : left - odd & 1)) {
                const unsigned alone = along == 0 ? 0 : left - 1;
                to[alone] = GT_C(g.alpha.value * staging[from + alone]);
            }
        }
    }
    // Stores rows of the block's tile, which begins at (first_row, first_column), in vectors that begin where 16 bytes do, wherever
    // rows begin: all sectors but those at a row's ends whole. For plain results; all THREADS of the block take part.
    template <int THREADS>
    __device__ __forceinline__ void store_rows(const sums &sum, GT_C *staging, gt_int first_row, gt_int first_column) const
    {
        constexpr int V = tile_rows::V, ABREAST = BN / WN, LINES = tile_rows::ROWS;
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        const int rows = gt_clip(g.m - first_row, BM), columns = gt_clip(g.n - first_column, BN);
        GT_C *tile = c + first_row * g.ldc + first_column;
        const auto row_of = [&](int block, int line) { return line / 16 * WM + outer_row(block + line / 8 % 2, line % 8); };
        const auto shift_of = [&](const GT_C *line) { return (int)((unsigned long long)line / GT_C_BYTES % V); };
#pragma unroll 1
        for (int first = 0; first < BLOCKS_M; first += 2) { // one piece of code for all, but for the sums in registers
            __syncthreads(); // what lay there has been read
#pragma unroll
            for (int i = 0; i < BLOCKS_M; i++)
                if (i / 2 * 2 == first) {
                    const int line = warp / ABREAST * 16 + i % 2 * 8 + lane / 4;
                    GT_C *to = staging + line * tile_rows::PITCH + shift_of(tile + row_of(first, line) * g.ldc) +
                               warp % ABREAST * WN + lane % 4 * RUN;
#pragma unroll
                    for (int n = 0; n < BLOCKS_N / UNIT; n++)
#pragma unroll
                        for (int v = 0; v < RUN; v++)
                            to[n * 8 * UNIT + v] = GT_C(g.alpha.value * run(sum, i, n).e[v]);
                }
            __syncthreads();
            // Whole vectors; then elements before and behind them, of which each thread has one at a time.
            constexpr int WHOLE = BN / V, ENDS = 2 * V;
#pragma unroll 4
            for (int number = threadIdx.x; number < LINES * WHOLE; number += THREADS) {
                const int line = number / WHOLE, down = row_of(first, line);
                GT_C *to = tile + down * g.ldc;
                const int shift = shift_of(to), at = (number % WHOLE + (shift > 0)) * V;
                if (down < rows && at + V <= columns + shift)
                    gt_store_vector(to + at - shift,
                                    *(const gt_vector<GT_C, V> *)(staging + line * tile_rows::PITCH + at));
            }
#pragma unroll 1
            for (int number = threadIdx.x; number < LINES * ENDS; number += THREADS) {
                const int line = number / ENDS, end = number % ENDS, down = row_of(first, line);
                GT_C *to = tile + down * g.ldc;
                const int shift = shift_of(to), behind = (columns + shift) / V * V;
                const int at = end < V ? end : behind + end - V; // of a row with one vector only, what is behind is before
                const bool mine = end < V ? shift > 0 && at >= shift : behind > 0 || shift == 0;
                if (down < rows && mine && at < columns + shift)
                    to[at - shift] = staging[line * tile_rows::PITCH + at];
            }
        }
    }
    // Lanes side by side store neighbours: whole sectors, wherever rows of C begin and however short elements are.
    template <bool PLAIN> __device__ __forceinline__ void store_staged(const sums &sum, GT_ACC *staging) const
    {
        const int lane = threadIdx.x % 32;
        const int rows = gt_clip(g.m - row, WM), columns = gt_clip(g.n - column, WN);
        gt_int begin = c - g.c + row * g.ldc + column;
        if (PLAIN && PAIRS && !BY_ROWS)
            asm volatile("" : "+l"(begin)); // else the compiler adds this up anew for every pair
        staging += threadIdx.x / 32 * (16 * PITCH);
#pragma unroll
        for (int i = 0; i < BLOCKS_M; i += 2) {
            __syncwarp(); // what lay there has been read
#pragma unroll
            for (int h = 0; h < 2; h++)
#pragma unroll
                for (int n = 0; n < BLOCKS_N / UNIT; n++)
                    *(gt_vector<GT_ACC, RUN> *)&staging[(h * 8 + lane / 4) * PITCH + n * 8 * UNIT + lane % 4 * RUN] =
                        run(sum, i + h, n);
            __syncwarp();
            if (PLAIN && BY_ROWS) {
                store_words(c + row * g.ldc + column, i, staging, rows, columns);
                continue;
            }
            constexpr int WIDE = PLAIN && PAIRS ? 2 : GT_WIDE_C;
#pragma unroll(!PLAIN ? 1 : PAIRS ? 4 : 8)
            for (int e = lane * WIDE; e < 16 * WN; e += 32 * WIDE) {
                const int r = outer_row(i + e / WN / 8, e / WN % 8);
                const GT_ACC *from = &staging[e / WN * PITCH + e % WN];
                if (PLAIN && PAIRS)
                    store_pair(g.c + begin, r, e % WN, from);
                else
                    store<GT_WIDE_C, PLAIN>(r, e % WN, from);
            }
        }
    }
};

#endif
