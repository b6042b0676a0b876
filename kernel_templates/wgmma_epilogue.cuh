// C from the sums of warp groups. A warp group's sums go, subtile by subtile and already as elements of C, into a
// buffer of shared memory; from there the copy engine stores them, which leaves out what lies outside C. Where it
// cannot, threads side by side store neighbours of a row: rows of C that are not aligned, and the end of rows that are
// no multiple of what it writes at once. C's old values come the other way, through the same buffers, where beta asks
// for them. They, a bias, relu and gelu are done with in registers, before.
//
// Needs: BM, BN, SWAP, WARP_GROUPS, of which SHARERS have a tile, STACKED, CLUSTER_K, FROM_REGISTERS, and what the other
// headers of wgmma offer; BIAS_AHEAD, whether the bias of a tile has been loaded before its products, so that nobody
// waits for it.
#ifndef GT_WGMMA_EPILOGUE_CUH
#define GT_WGMMA_EPILOGUE_CUH

#include "async_copy.cuh"
#include "matrices.cuh"
#include "tensor_copy.cuh"
#include "wgmma_instruction.cuh"

#define MAP_C (GT_ALIGN >= 16)                  // whether a tensor map can describe C
constexpr int STORED_AT_ONCE = 16 / GT_C_BYTES; // elements, whose first lies in C

// The sums of a thread that its block stores: where blocks of a cluster share K, those of OWN_N along the instruction's
// N.
constexpr int OWN_N = INSTRUCTION_N / CLUSTER_K, OWN = STACKED * OWN_N / 2;
static_assert(OWN_N % 16 == 0, "a part for each block");

// A subtile is those of a warp group, SUBTILE_M along the instruction's M and SUBTILE_N along its N.
constexpr int INSTRUCTIONS = FROM_REGISTERS ? 2 : 1, SUBTILE_M = 64 * INSTRUCTIONS;
__device__ constexpr int subtile_n()
{
    int n = 8192 / (SUBTILE_M * GT_C_BYTES);
    while (OWN_N % n != 0)
        n /= 2;
    return n;
}
constexpr int SUBTILE_N = subtile_n(), SUBTILES = OWN * 2 / SUBTILE_N / INSTRUCTIONS;
constexpr int SUBTILE_BYTES = SUBTILE_M * SUBTILE_N * GT_C_BYTES;
// While the copy engine reads one buffer of a warp group the next one is filled, where there is room.
constexpr int BUFFERS = SUBTILES == 1 || WARP_GROUPS == 3 ? 1 : 2;

// As it lies in the matrix, and in its buffer: boxes of at most 128 bytes along a row of C, swizzled.
constexpr int SUBTILE_ROWS = SWAP ? SUBTILE_N : SUBTILE_M, SUBTILE_COLUMNS = SWAP ? SUBTILE_M : SUBTILE_N;
constexpr int C_BOX_COLUMNS = SWAP ? 128 / GT_C_BYTES : SUBTILE_N, C_BOXES = SUBTILE_COLUMNS / C_BOX_COLUMNS;
constexpr int C_LINE = C_BOX_COLUMNS * GT_C_BYTES, C_SWIZZLE = C_LINE == 128 ? 3 : C_LINE == 64 ? 2 : 1;
static_assert(C_LINE >= 32 && C_LINE <= 128, "a line that a swizzle has");

// Where an element of the subtile lies in the buffer.
__device__ __forceinline__ int subtile_at(int row, int column)
{
    const int byte = column % C_BOX_COLUMNS * GT_C_BYTES;
    return (column / C_BOX_COLUMNS * SUBTILE_ROWS + row) * C_LINE +
           ((byte / 16 ^ row * C_LINE / 128 % (C_LINE / 16)) * 16 | byte % 16);
}

__device__ __forceinline__ void warp_group_sync()
{
    asm volatile("barrier.sync %0, 128;" ::"r"(2 + (int)threadIdx.x / 128) : "memory");
}

// One of two neighbours of 16 bits in a register.
template <typename T> __device__ __forceinline__ float unpack(unsigned both, int which)
{
    T value;
    value.bits = (unsigned short)(both >> which * 16);
    return float(value);
}

// Along the instruction's M, where in a subtile a thread's sums lie: those of an instruction's first row, and of the
// one eight below.
__device__ __forceinline__ int row_of_sums(int instruction, int below)
{
    return FROM_REGISTERS ? fragment_row(instruction, below)
                          : (int)threadIdx.x % 128 / 32 * 16 + (int)threadIdx.x % 32 / 4 + below * 8;
}

// Along the instruction's M, where in a tile a warp group's sums begin.
__device__ __forceinline__ int group_begins()
{
    return SHARERS == 1 ? 0 : threadIdx.x / 128 * (STACKED * 64);
}

// The bias of the columns of a tile that a thread's own sums have. Where columns go along the instruction's M a thread
// holds its own; else a warp holds those of all, each lane two neighbours of every 64.
struct bias_of_columns {
    static constexpr int HELD = SWAP ? 2 * STACKED : 2 * ((OWN_N + 63) / 64);
    GT_C held[HELD];

    __device__ __forceinline__ void load(const gt_args &g, gt_int column, unsigned part)
    {
        const int within = SWAP ? group_begins() : (int)part * OWN_N + (int)threadIdx.x % 32 * 2;
#pragma unroll
        for (int i = 0; i < HELD; i++)
            held[i] = gt_bias(g, column + within +
                                     (SWAP ? i / 2 / INSTRUCTIONS * SUBTILE_M + row_of_sums(i / 2 % INSTRUCTIONS, i % 2)
                                           : i / 2 * 64 + i % 2));
    }
    // Of a thread's two neighbours of eight that begin at n along the instruction's N.
    __device__ __forceinline__ gt_vector<GT_C, 2> of_two(int n) const
    {
        union {
            gt_vector<GT_C, 2> two;
            unsigned words[GT_C_BYTES / 2];
        } v;
        v.two = {held[n / 64 * 2], held[n / 64 * 2 + 1]};
#pragma unroll
        for (int w = 0; w < GT_C_BYTES / 2; w++)
            v.words[w] = __shfl_sync(~0u, v.words[w], n % 64 / 2 + threadIdx.x % 4);
        return v.two;
    }
    // Adds it to alpha times a thread's own sums.
    __device__ __forceinline__ void add_to(GT_ACC *d, GT_ACC alpha) const
    {
#pragma unroll
        for (int n = 0; n < OWN_N; n += 8) {
            gt_vector<GT_C, 2> two = {};
            if (!SWAP)
                two = of_two(n);
#pragma unroll
            for (int i = 0; i < STACKED; i++)
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    GT_ACC &sum = d[i * (OWN_N / 2) + n / 2 + e];
                    sum = alpha * sum + GT_ACC(SWAP ? held[i * 2 + e / 2] : two.e[e % 2]);
                }
        }
    }
};

// A warp's sums of a subtile and its buffer: IN adds beta times what lies there to alpha times sums, else they go
// there, times alpha.
template <bool IN, typename T = GT_C>
__device__ __forceinline__ void pass_subtile(char *buffer, GT_ACC *d, GT_ACC alpha, GT_ACC beta)
{
    const int lane = threadIdx.x % 32;
    if constexpr (sizeof(T) == 2 && !FROM_REGISTERS) {
        const int along_m = threadIdx.x % 128 / 32 * 16 + lane / 8 % 2 * 8, along_n = lane / 16 * 8;
#pragma unroll
        for (int n = 0; n < SUBTILE_N; n += 16) {
            const unsigned line = gt_shared_address(buffer) + (SWAP ? subtile_at(n + along_n + lane % 8, along_m)
                                                                    : subtile_at(along_m + lane % 8, n + along_n));
            unsigned r[4];
            if (IN) {
                gt_read_matrices<SWAP>(r, line);
#pragma unroll
                for (int i = 0; i < 8; i++)
                    d[n / 2 + i] = alpha * d[n / 2 + i] + beta * unpack<T>(r[i / 2], i % 2);
            } else {
#pragma unroll
                for (int i = 0; i < 8; i += 2)
                    r[i / 2] = gt_pack(T(), alpha * d[n / 2 + i], alpha * d[n / 2 + i + 1]);
                gt_write_matrices<SWAP>(line, r);
            }
        }
    } else {
        // Neighbours of a row of C that a thread has: along the instruction's N two, along its M what fragments give
        // it.
        constexpr int WIDE = !SWAP ? 2 : FROM_REGISTERS ? 4 : 1;
        typedef gt_vector<T, WIDE> vector;
        // Half a warp stores 32 bytes of each of four rows, and two neighbours meet in the same banks, however
        // swizzled: so every other row's are those so many columns apart.
        constexpr int APART = !IN && !SWAP && !FROM_REGISTERS && C_LINE == 128 ? 16 : 0;
        const bool apart = lane / 4 % 2;
#pragma unroll
        for (int e = 0; e < SUBTILE_N / 2 * INSTRUCTIONS; e += WIDE) {
            // Of WIDE sums the first: its instruction, whether it is eight rows below, its column of every eight and
            // next.
            constexpr int ALONG_M = SWAP ? WIDE : 1;
            const int column = e / ALONG_M / (4 * INSTRUCTIONS / ALONG_M) * 8,
                      rest = e / ALONG_M % (4 * INSTRUCTIONS / ALONG_M);
            const int next = rest % 2, row = rest / 2 * ALONG_M, instruction = row / 2, below = row % 2;
            const int along_n = (apart ? column ^ APART : column) + lane % 4 * 2 + next,
                      along_m = row_of_sums(instruction, below);
            vector *c = (vector *)(buffer + (SWAP ? subtile_at(along_n, along_m) : subtile_at(along_m, along_n))), v;
            if (IN)
                v = *c;
#pragma unroll
            for (int u = 0; u < WIDE; u++) {
                const int i = SWAP ? (row + u) / 2 : instruction, half = SWAP ? (row + u) % 2 : below;
                GT_ACC *sum = d + i * (OWN_N / 2) + half * 2 + (SWAP ? next : u);
                if (IN)
                    sum[column / 2] = alpha * sum[column / 2] + beta * GT_ACC(v.e[u]);
                else
                    v.e[u] = T(alpha * (apart ? sum[(column ^ APART) / 2] : sum[column / 2]));
            }
            if (!IN)
                *c = v;
        }
    }
}

// Calls each(place in the buffer, place in the matrix, how many of WIDE elements lie in it) for this thread's part of a
// subtile that begins at this row and column: the same columns of some rows.
template <int WIDE, typename EACH>
__device__ __forceinline__ void visit_subtile(const gt_args &g, char *buffer, gt_int row, gt_int column, EACH each)
{
    constexpr int ABREAST = SUBTILE_COLUMNS / WIDE, PASS = 128 / ABREAST;
    constexpr int AT_ONCE = OWN <= 128 ? 4 : 2; // for which registers are left
    static_assert(SUBTILE_ROWS % PASS == 0, "all threads have as many");
    const int first = threadIdx.x % 128 / ABREAST, x = threadIdx.x % ABREAST * WIDE;
    const int rows = gt_clip(g.m - row, SUBTILE_ROWS), left = gt_clip(g.n - column - x, WIDE);
    GT_C *c = g.c + blockIdx.z * g.stride_c + (row + first) * g.ldc + column + x;
#pragma unroll(AT_ONCE)
    for (int y = 0; y < SUBTILE_ROWS; y += PASS, c += PASS * g.ldc)
        each((gt_vector<GT_C, WIDE> *)(buffer + subtile_at(first + y, x)), c, first + y < rows ? left : 0);
}
typedef gt_vector<GT_C, GT_WIDE_C> c_vector;
constexpr int WIDEST = 16 / GT_C_BYTES; // elements of C that a thread stores at once, where rows begin at 16 bytes

// Whether they do, though those of an operand need not.
__device__ __forceinline__ bool is_aligned(const gt_args &g)
{
    return ((unsigned long long)g.c | g.ldc * GT_C_BYTES | g.stride_c * GT_C_BYTES) % 16 == 0;
}

// Starts copies of C's old values of a subtile into the buffer; zeros stand for those outside.
__device__ __forceinline__ void copy_old(const gt_args &g, char *buffer, gt_int row, gt_int column)
{
    visit_subtile<GT_WIDE_C>(g, buffer, row, column, [&](c_vector *held, const GT_C *c, int left) {
        gt_copy_async<sizeof(c_vector)>(gt_shared_address(held), (const GT_AB *)gt_old(g, c),
                                        left > 0 ? left * GT_C_BYTES : 0);
    });
    gt_commit_copies();
}

// Stores a subtile of 16-bit elements from the buffer where rows may begin between words. Threads store the words of a
// row; where it begins between two of them the last thread has the row's first element and its last. On an H200 bf16's
// 4097x4095x4093 takes 232 us so (240 by elements), 1001³ 12.5 (13.1); with 16 columns it is no faster.
__device__ __forceinline__ void store_words(const gt_args &g, const char *buffer, gt_int row, gt_int column)
{
    constexpr int ABREAST = SUBTILE_COLUMNS / 2, PASS = 128 / ABREAST;
    constexpr int AT_ONCE = OWN <= 128 ? 4 : 2; // for which registers are left
    static_assert(SUBTILE_ROWS % PASS == 0, "all threads have as many");
    const int first = threadIdx.x % 128 / ABREAST, x = threadIdx.x % ABREAST * 2;
    const int rows = gt_clip(g.m - row, SUBTILE_ROWS), columns = gt_clip(g.n - column, SUBTILE_COLUMNS);
    unsigned short *c = (unsigned short *)(g.c + blockIdx.z * g.stride_c + (row + first) * g.ldc + column);
#pragma unroll(AT_ONCE)
    for (int y = 0; y < SUBTILE_ROWS; y += PASS, c += PASS * g.ldc) {
        const int low = x + (unsigned)(unsigned long long)c % 4 / 2, high = (low + 1) % SUBTILE_COLUMNS;
        const unsigned short e[2] = {*(const unsigned short *)(buffer + subtile_at(first + y, low)),
                                     *(const unsigned short *)(buffer + subtile_at(first + y, high))};
        if (first + y >= rows)
            continue;
        if (low < high && high < columns) {
            *(unsigned *)(c + low) = e[0] | (unsigned)e[1] << 16;
        } else {
            if (low < columns)
                c[low] = e[0];
            if (high < low && high < columns)
                c[high] = e[1];
        }
    }
}

// Stores a subtile from the buffer, without what lies outside.
template <int WIDE>
__device__ __forceinline__ void store_by_threads(const gt_args &g, char *buffer, gt_int row, gt_int column)
{
    visit_subtile<WIDE>(g, buffer, row, column, [](const gt_vector<GT_C, WIDE> *held, GT_C *c, int left) {
        if (left == WIDE)
            *(gt_vector<GT_C, WIDE> *)c = *held;
        else
#pragma unroll 1
            for (int u = 0; u < left; u++)
                c[u] = held->e[u];
    });
}

// A warp group's buffers, and what it stores through them. One of its threads talks to the copy engine.
struct output {
    char *buffers;

    __device__ __forceinline__ static bool speaks()
    {
        return threadIdx.x % 128 == 0;
    }

    // Where a warp group's subtiles begin in C, and their sums in a thread's own.
    static constexpr int ALONG_N = OWN_N / SUBTILE_N;
    struct tile_part {
        gt_int row, column;
        unsigned part;

        __device__ __forceinline__ gt_int top(int s) const
        {
            return row + (SWAP ? along_n(s) : along_m(s));
        }
        __device__ __forceinline__ gt_int left(int s) const
        {
            return column + (SWAP ? along_m(s) : along_n(s));
        }
        __device__ __forceinline__ static int along_m(int s)
        {
            return group_begins() + s / ALONG_N * SUBTILE_M;
        }
        __device__ __forceinline__ int along_n(int s) const
        {
            return (CLUSTER_K == 1 ? 0 : (int)part * OWN_N) + s % ALONG_N * SUBTILE_N;
        }
    };
    __device__ __forceinline__ static GT_ACC *sums_of(GT_ACC *d, int s)
    {
        return d + s / ALONG_N * INSTRUCTIONS * (OWN_N / 2) + s % ALONG_N * (SUBTILE_N / 2);
    }

    __device__ __forceinline__ char *buffer_of(int s) const
    {
        return buffers + s % BUFFERS * SUBTILE_BYTES;
    }

    // Waits until a buffer has been read that is to be filled.
    template <int PENDING> __device__ __forceinline__ static void wait_read()
    {
        if (MAP_C && speaks())
            gt_stores_wait_read<PENDING>();
        warp_group_sync();
    }
    // Sums become alpha times sums and beta times C.
    __device__ __forceinline__ void add_old(const gt_args &g, const tile_part &at, GT_ACC *d) const
    {
        wait_read<0>();
#pragma unroll
        for (int s = 0; s < BUFFERS; s++)
            copy_old(g, buffer_of(s), at.top(s), at.left(s));
#pragma unroll
        for (int s = 0; s < SUBTILES; s++) {
            if (s + 1 < SUBTILES)
                gt_wait_copies<BUFFERS - 1>();
            else
                gt_wait_copies<0>();
            warp_group_sync();
            pass_subtile<true>(buffer_of(s), sums_of(d, s), g.alpha.value, g.beta.value);
            if (s + BUFFERS < SUBTILES) {
                warp_group_sync(); // all have read it
                copy_old(g, buffer_of(s), at.top(s + BUFFERS), at.left(s + BUFFERS));
            }
        }
    }
    // WHOLE: the copy engine can store everything; else threads store WIDE elements at once.
    template <bool WHOLE, int WIDE = GT_WIDE_C>
    __device__ __forceinline__ void store_as(const gt_args &g, const gt_tensor_map *map, const tile_part &at, GT_ACC *d,
                                             GT_ACC alpha) const
    {
#pragma unroll
        for (int s = 0; s < SUBTILES; s++) {
            char *buffer = buffer_of(s);
            const gt_int top = at.top(s), left = at.left(s);
            if (s == 0)
                wait_read<0>();
            else
                wait_read<BUFFERS - 1>();
            pass_subtile<false>(buffer, sums_of(d, s), alpha, GT_ACC(0));
            if (MAP_C)
                gt_fence_async();
            warp_group_sync();
            const bool by_threads = !WHOLE && (!MAP_C || (g.n % STORED_AT_ONCE != 0 && left + SUBTILE_COLUMNS > g.n));
            if constexpr (WIDE * GT_C_BYTES == 2 && !MAP_C && SUBTILE_COLUMNS > 16)
                store_words(g, buffer, top, left);
            else if (by_threads)
                store_by_threads<WIDE>(g, buffer, top, left);
            if (MAP_C && speaks()) {
#pragma unroll
                for (int b = 0; b < C_BOXES && !by_threads; b++)
                    gt_store_box(*map, (int)left + b * C_BOX_COLUMNS, (int)top,
                                 gt_shared_address(buffer) + b * SUBTILE_ROWS * C_LINE);
                gt_stores_commit(); // a group for each subtile, so that they can be counted
            }
        }
    }

    // C of its sums in a tile that begins at this row and column. `part`: which of the tile's CLUSTER_K parts they are.
    // Mostly sums are only scaled and the copy engine can store everything: that is code of its own, and little.
    __device__ __forceinline__ void store(const gt_args &g, const gt_tensor_map *map, gt_int row, gt_int column,
                                          unsigned part, bias_of_columns &bias, GT_ACC *d) const
    {
        const tile_part at = {row, column, part};
        GT_ACC alpha = g.alpha.value; // what sums are still to be multiplied with
        if (MAP_C && gt_is_plain(g) && (g.n % STORED_AT_ONCE == 0 || column + BN <= g.n)) {
            store_as<true>(g, map, at, d, alpha);
            return;
        }
        if (g.beta.value != GT_ACC(0)) {
            add_old(g, at, d);
            alpha = 1;
        }
        if (gt_has_epilogue(g)) {
            if (!BIAS_AHEAD)
                bias.load(g, column, part);
            bias.add_to(d, alpha);
            gt_activate(g, *(GT_ACC(*)[OWN])d);
            alpha = 1;
        }
        if (GT_WIDE_C < WIDEST && is_aligned(g))
            store_as<false, WIDEST>(g, map, at, d, alpha);
        else
            store_as<false>(g, map, at, d, alpha);
    }

    // Before a block ends: its shared memory is read until then.
    __device__ __forceinline__ static void finish()
    {
        if (MAP_C && speaks())
            gt_stores_wait_read<0>();
    }
};

#endif
