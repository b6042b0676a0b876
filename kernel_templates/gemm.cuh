// What every template shares: the element types, the argument block, the way from a block to its tile, a
// tile's way into shared memory, and the last step from sums to C. A renderer puts its #defines before this
// text; alone, the defaults below stand.

#ifndef GT_AB // element type of A and B
#define GT_AB float
#endif
#ifndef GT_C // element type of C
#define GT_C float
#endif
#ifndef GT_ACC // type of sums, alpha and beta
#define GT_ACC float
#endif
#ifndef GT_TRANS_A // 0: A is stored m x k; 1: k x m
#define GT_TRANS_A 0
#endif
#ifndef GT_TRANS_B // 0: B is stored k x n; 1: n x k
#define GT_TRANS_B 0
#endif
#ifndef GT_ALIGN // bytes that divide every pointer, row and batch stride
#define GT_ALIGN 16
#endif

typedef long long gt_int;

// f16 without a header: its bits. Arithmetic on it happens in tensor cores or through conversion.
struct __align__(2) gt_half
{
    unsigned short bits;
};

// alpha and beta sit in slots of eight bytes whatever their type. src/launch.h has the block's other side.
template <typename T> union gt_slot {
    T value;
    unsigned long long bits;
};

struct gt_args {
    const GT_AB *a;
    const GT_AB *b;
    GT_C *c;
    void *workspace;    // ws_tile bytes for each tile (or block, where their number is fixed) and matrix of the batch
    unsigned *counters; // one for each block, zero before and after a launch
    gt_int m, n, k;
    gt_int lda, ldb, ldc;
    gt_int stride_a, stride_b, stride_c;
    gt_slot<GT_ACC> alpha, beta;

    GT_C *d; // where results go: C itself
    gt_int ldd, stride_d;
    const void *bias, *scale_a, *scale_b, *scale_d; // NULL: none
    const GT_ACC *scalars;                          // alpha and beta in device memory; NULL: those above
};

static_assert(sizeof(gt_args) == 24 * 8, "the host passes this block");

// Neighbours that move in one access.
template <typename T, int WIDTH> struct __align__(WIDTH * sizeof(T)) gt_vector
{
    T e[WIDTH];
};

#ifndef REPACK // 1: op(A) is first copied into the workspace, a line for each k-step; 2: op(B); 3: both
#define REPACK 0
#endif
#define GT_COPY_A (REPACK % 2 != 0)
#define GT_COPY_B (REPACK / 2 != 0)

// Whether op(A) and op(B) are contiguous along K, or else along m and n, as copies are.
#define GT_A_ALONG_K (!GT_TRANS_A && !GT_COPY_A)
#define GT_B_ALONG_K (GT_TRANS_B && !GT_COPY_B)

// The most elements of A or B as they are given, and of C, that one access to global memory may take.
#define GT_WIDE_AB (GT_ACCESS / (int)sizeof(GT_AB))
#define GT_WIDE_C  (GT_ACCESS < (int)sizeof(GT_C) ? 1 : GT_ACCESS / (int)sizeof(GT_C))
#define GT_ACCESS  (GT_ALIGN < 16 ? GT_ALIGN : 16) // bytes

// A kernel may be launched while what the stream ran before is still at work: before a thread touches global memory it
// waits until all that is done; and some thread lets the next kernel come as early.
__device__ __forceinline__ void gt_wait()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
__device__ __forceinline__ void gt_begin()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
    gt_wait();
}

// What a tile of `most` has of what is left of the matrix: small numbers, so that loops compare 32 bits.
__device__ __forceinline__ int gt_clip(gt_int left, int most)
{
    return left < most ? (int)left : most;
}

// The operands of this block's matrix of the batch (blockIdx.z).
__device__ __forceinline__ void gt_select_batch(gt_args &g)
{
    g.a += blockIdx.z * g.stride_a;
    g.b += blockIdx.z * g.stride_b;
    g.c += blockIdx.z * g.stride_c;
}

// An operand of this block's matrix of the batch: where it was given, or its copy.
struct gt_operand {
    const GT_AB *at;
    gt_int ld;
};

// The workspace begins with the copies of op(A) of all matrices, k x m, then those of op(B), k x n, lines padded to 128
// bytes. src/launch.c has the other side.
__device__ __forceinline__ gt_int gt_padded(gt_int columns)
{
    constexpr int UNIT = 128 / sizeof(GT_AB);
    return (columns + UNIT - 1) / UNIT * UNIT;
}
__device__ __forceinline__ gt_operand gt_operand_a(const gt_args &g)
{
    if (!GT_COPY_A)
        return {g.a + blockIdx.z * g.stride_a, g.lda};
    const gt_int ld = gt_padded(g.m);
    return {(const GT_AB *)g.workspace + blockIdx.z * g.k * ld, ld};
}
__device__ __forceinline__ gt_operand gt_operand_b(const gt_args &g)
{
    if (!GT_COPY_B)
        return {g.b + blockIdx.z * g.stride_b, g.ldb};
    const gt_int ld = gt_padded(g.n), before = GT_COPY_A ? gridDim.z * g.k * gt_padded(g.m) : 0;
    return {(const GT_AB *)g.workspace + before + blockIdx.z * g.k * ld, ld};
}
__device__ __forceinline__ void *gt_workspace(const gt_args &g)
{
    const gt_int copied = (GT_COPY_A ? gt_padded(g.m) : 0) + (GT_COPY_B ? gt_padded(g.n) : 0);
    return (GT_AB *)g.workspace + gridDim.z * g.k * copied;
}

#if REPACK
// The kernel that makes the copies: squares are dealt out to blocks, those of op(A) first. They go through shared
// memory, where what lies along K is turned, so that they arrive in pieces of 16 bytes wherever they began.
constexpr int GT_SQUARE = 64, GT_PIECE = 16 / sizeof(GT_AB);
constexpr int GT_ABREAST = 256 / GT_SQUARE; // lines that the 256 threads of a block read at once
template <bool ALONG_K>
__device__ __forceinline__ void gt_copy_square(gt_operand to, const GT_AB *from, gt_int ld, gt_int outer, gt_int k,
                                               unsigned number, GT_AB *square)
{
    constexpr int PITCH = GT_SQUARE + (ALONG_K ? 1 : GT_PIECE);
    const unsigned wide = (unsigned)((outer + GT_SQUARE - 1) / GT_SQUARE);
    const gt_int outer_first = (gt_int)(number % wide) * GT_SQUARE, k_first = (gt_int)(number / wide) * GT_SQUARE;
    const int outer_left = gt_clip(outer - outer_first, GT_SQUARE), k_left = gt_clip(k - k_first, GT_SQUARE);
    from += ALONG_K ? outer_first * ld + k_first : k_first * ld + outer_first;
    GT_AB held[GT_SQUARE / GT_ABREAST] = {};
    int along = threadIdx.x % GT_SQUARE, line = threadIdx.x / GT_SQUARE;
#pragma unroll
    for (int i = 0; i < GT_SQUARE; i += GT_ABREAST)
        if (line + i < (ALONG_K ? outer_left : k_left) && along < (ALONG_K ? k_left : outer_left))
            held[i / GT_ABREAST] = from[(line + i) * ld + along];
    __syncthreads(); // the square before this one has been read
#pragma unroll
    for (int i = 0; i < GT_SQUARE; i += GT_ABREAST)
        square[(line + i) * PITCH + along] = held[i / GT_ABREAST];
    __syncthreads();
    constexpr int OF_LINE = GT_SQUARE / GT_PIECE; // pieces
    along = threadIdx.x % OF_LINE * GT_PIECE, line = threadIdx.x / OF_LINE;
#pragma unroll
    for (int i = 0; i < GT_SQUARE; i += 256 / OF_LINE) {
        gt_vector<GT_AB, GT_PIECE> piece;
        if (ALONG_K) {
#pragma unroll
            for (int e = 0; e < GT_PIECE; e++)
                piece.e[e] = square[(along + e) * PITCH + line + i];
        } else {
            piece = *(const gt_vector<GT_AB, GT_PIECE> *)&square[(line + i) * PITCH + along];
        }
        const gt_int place = (k_first + line + i) * to.ld + outer_first + along;
        if (line + i < k_left && along < outer_left) // the last piece may reach into the padding
            *(gt_vector<GT_AB, GT_PIECE> *)const_cast<GT_AB *>(to.at + place) = piece;
    }
}
extern "C" __global__ void __launch_bounds__(256) repack(const __grid_constant__ gt_args g)
{
    __shared__ __align__(16) GT_AB square[GT_SQUARE * (GT_SQUARE + GT_PIECE)];
    gt_begin();
    const unsigned deep = (unsigned)((g.k + GT_SQUARE - 1) / GT_SQUARE);
    const unsigned of_a = GT_COPY_A ? deep * (unsigned)((g.m + GT_SQUARE - 1) / GT_SQUARE) : 0;
    const unsigned of_b = GT_COPY_B ? deep * (unsigned)((g.n + GT_SQUARE - 1) / GT_SQUARE) : 0;
    for (unsigned number = blockIdx.x; number < of_a + of_b; number += gridDim.x)
        if (number < of_a)
            gt_copy_square<!GT_TRANS_A>(gt_operand_a(g), g.a + blockIdx.z * g.stride_a, g.lda, g.m, g.k, number, square);
        else
            gt_copy_square<GT_TRANS_B>(gt_operand_b(g), g.b + blockIdx.z * g.stride_b, g.ldb, g.n, g.k, number - of_a,
                                       square);
}
#endif

// Element (i, p) of op(A) and (p, j) of op(B), wherever they are stored.
__device__ __forceinline__ const GT_AB *gt_at_a(const gt_args &g, gt_int i, gt_int p)
{
    return g.a + (GT_TRANS_A ? p * g.lda + i : i * g.lda + p);
}
__device__ __forceinline__ const GT_AB *gt_at_b(const gt_args &g, gt_int p, gt_int j)
{
    return g.b + (GT_TRANS_B ? j * g.ldb + p : p * g.ldb + j);
}

// The same with zero outside the matrices.
__device__ __forceinline__ GT_AB gt_load_a(const gt_args &g, gt_int i, gt_int p)
{
    return i < g.m && p < g.k ? *gt_at_a(g, i, p) : GT_AB();
}
__device__ __forceinline__ GT_AB gt_load_b(const gt_args &g, gt_int p, gt_int j)
{
    return p < g.k && j < g.n ? *gt_at_b(g, p, j) : GT_AB();
}

// WIDTH neighbours of a line, of which only the first `left` lie in the matrix (all if it is more than WIDTH,
// none if it is negative); zeros stand for the others.
template <int WIDTH, typename T>
__device__ __forceinline__ gt_vector<T, WIDTH> gt_load_vector(const T *from, int left)
{
    gt_vector<T, WIDTH> v = {};
    if (left >= WIDTH) {
        v = *(const gt_vector<T, WIDTH> *)from;
    } else {
#pragma unroll
        for (int u = 0; u < WIDTH - 1; u++)
            if (u < left)
                v.e[u] = from[u];
    }
    return v;
}

// A thread's part of a tile on its way to shared memory: OUTER rows of op(A), or columns of op(B), by DEPTH
// steps of K. The block takes the tile in vectors along the lines it is stored in, so that reads coalesce in
// every layout. All reads of a fetch are under way before a deposit waits for the first.
template <int OUTER, int DEPTH, bool ALONG_K, int THREADS_, int WIDTH> struct gt_carrier {
    static constexpr int LINE = ALONG_K ? DEPTH : OUTER; // elements side by side in global memory
    static constexpr int TURN = THREADS_ * WIDTH / LINE; // lines that the block takes in one turn
    static constexpr int COUNT = OUTER * DEPTH / (THREADS_ * WIDTH);
    static_assert(THREADS_ * WIDTH % LINE == 0, "whole lines a turn");
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
        for (int n = 0; n < COUNT; n++, p += TURN * ld)
            held[n] = gt_load_vector<WIDTH>(p, n * TURN < lines ? left : 0);
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
                *(gt_vector<GT_AB, WIDTH> *)(to + n * TURN * NEXT) = held[n];
            } else {
#pragma unroll
                for (int u = 0; u < WIDTH; u++)
                    to[n * TURN * NEXT + u * STEP] = held[n].e[u];
            }
        }
    }
};

__device__ __forceinline__ unsigned gt_shared_address(const void *shared)
{
    return (unsigned)__cvta_generic_to_shared(shared);
}

// BYTES from global to shared memory in the background; of them only `valid` are read, the rest are zeros.
template <int BYTES> __device__ __forceinline__ void gt_copy_async(unsigned to, const GT_AB *from, int valid)
{
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(to), "l"(from), "r"(valid), "n"(BYTES)
                     : "memory");
}

// sum += x * y, in the order in which they are written.
__device__ __forceinline__ void gt_multiply_add(float &sum, float x, float y)
{
    asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(sum) : "f"(x), "f"(y));
}
__device__ __forceinline__ void gt_multiply_add(int &sum, int x, int y)
{
    sum += x * y;
}

// Two sums begin in a pair of registers, even and odd: in different banks.
__device__ __forceinline__ void gt_clear_pair(float *pair)
{
    asm volatile("mov.b64 {%0, %1}, %2;" : "=f"(pair[0]), "=f"(pair[1]) : "l"(0ll));
}
__device__ __forceinline__ void gt_clear_pair(int *pair)
{
    pair[0] = pair[1] = 0;
}

// C = alpha * sum + beta * C for one element inside the matrix, `away` elements from where the arguments point; beta = 0
// never reads C.
__device__ __forceinline__ void gt_store_c(const gt_args &g, gt_int i, gt_int j, GT_ACC sum, gt_int away = 0)
{
    GT_C *c = g.c + away + i * g.ldc + j;
    const GT_ACC scaled = g.alpha.value * sum;
    *c = g.beta.value == GT_ACC(0) ? GT_C(scaled) : GT_C(scaled + g.beta.value * GT_ACC(*c));
}

// The same for WIDTH neighbours of a row inside the matrix from column j on, a multiple of WIDTH; those
// beyond the last column are left out.
template <int WIDTH>
__device__ __forceinline__ void gt_store_c_vector(const gt_args &g, gt_int i, gt_int j, const GT_ACC *sums,
                                                  gt_int away = 0)
{
    if (WIDTH <= GT_WIDE_C && j + WIDTH <= g.n) {
        gt_vector<GT_C, WIDTH> *c = (gt_vector<GT_C, WIDTH> *)(g.c + away + i * g.ldc + j), result;
#pragma unroll
        for (int u = 0; u < WIDTH; u++)
            result.e[u] = GT_C(g.alpha.value * sums[u]);
        if (g.beta.value != GT_ACC(0)) {
            const gt_vector<GT_C, WIDTH> old = *c;
#pragma unroll
            for (int u = 0; u < WIDTH; u++)
                result.e[u] = GT_C(g.alpha.value * sums[u] + g.beta.value * GT_ACC(old.e[u]));
        }
        *c = result;
    } else if (WIDTH > GT_WIDE_C) {
#pragma unroll
        for (int u = 0; u < WIDTH; u++)
            if (j + u < g.n)
                gt_store_c(g, i, j + u, sums[u], away);
    } else { // the last columns, with little code
#pragma unroll 1
        for (int u = 0; j + u < g.n; u++) {
            GT_ACC sum = sums[0];
#pragma unroll
            for (int v = 1; v < WIDTH; v++)
                sum = u == v ? sums[v] : sum;
            gt_store_c(g, i, j + u, sum, away);
        }
    }
}

// A tile of C by its number. Tiles go down columns of `group` rows, so that blocks which run at the same time share
// rows of A and columns of B in L2; group 1 goes along rows.
struct gt_tile {
    gt_int row, column; // in tiles
};
template <int BM_, int BN_>
__device__ __forceinline__ gt_tile gt_find_tile(const gt_args &g, unsigned group, unsigned number = blockIdx.x)
{
    const unsigned rows = (unsigned)((g.m + BM_ - 1) / BM_), columns = (unsigned)((g.n + BN_ - 1) / BN_);
    const unsigned band = number / (group * columns), first = band * group;
    const unsigned height = rows - first < group ? rows - first : group;
    const unsigned within = number - band * group * columns;
    return {(gt_int)(first + within % height), (gt_int)(within / height)};
}
