// What every template shares: the element types, the argument block, the way from a block to its tile, and the
// last step from sums to C. A renderer puts its #defines before this text; alone, the defaults below stand.

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
struct __align__(2) gt_half {
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
    void *workspace;    // ws_tile bytes for each tile and each matrix of the batch
    unsigned *counters; // one for each tile and matrix, zero before and after a launch
    gt_int m, n, k;
    gt_int lda, ldb, ldc;
    gt_int stride_a, stride_b, stride_c;
    gt_slot<GT_ACC> alpha, beta;
};

static_assert(sizeof(gt_args) == 16 * 8, "the host passes this block");

// The operands of this block's matrix of the batch (blockIdx.z).
__device__ __forceinline__ void gt_select_batch(gt_args &g)
{
    g.a += blockIdx.z * g.stride_a;
    g.b += blockIdx.z * g.stride_b;
    g.c += blockIdx.z * g.stride_c;
}

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

// C = alpha * sum + beta * C for one element inside the matrix; beta = 0 never reads C.
__device__ __forceinline__ void gt_store_c(const gt_args &g, gt_int i, gt_int j, GT_ACC sum)
{
    GT_C *c = g.c + i * g.ldc + j;
    const GT_ACC scaled = g.alpha.value * sum;
    *c = g.beta.value == GT_ACC(0) ? GT_C(scaled) : GT_C(scaled + g.beta.value * GT_ACC(*c));
}

// The tile of C that blockIdx.x stands for. Tiles go down columns of `group` rows, so that blocks which run at the
// same time share rows of A and columns of B in L2; group 1 goes along rows.
struct gt_tile {
    gt_int row, column; // in tiles
};
template <int BM_, int BN_> __device__ __forceinline__ gt_tile gt_find_tile(const gt_args &g, unsigned group)
{
    const unsigned rows = (unsigned)((g.m + BM_ - 1) / BM_), columns = (unsigned)((g.n + BN_ - 1) / BN_);
    const unsigned band = blockIdx.x / (group * columns), first = band * group;
    const unsigned height = rows - first < group ? rows - first : group;
    const unsigned within = blockIdx.x - band * group * columns;
    return {(gt_int)(first + within % height), (gt_int)(within / height)};
}
