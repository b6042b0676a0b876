// Plain arithmetic on Hopper where tiles alone would leave multiprocessors idle: warps with trades (ws.cuh), and
// K is shared out three ways, so that large register tiles serve small products too. Squads of a block take
// turns at the k-steps of every stage, TEAM blocks of a cluster take parts of K and add up in each other's
// shared memory, and the clusters of one tile meet in the workspace. All sums are added in a fixed order.
#include "gemm.cuh"
#include "split_k.cuh"

#ifndef TEAM // blocks of a cluster, which share K
#define TEAM 2
#endif
#ifndef SPLIT_K // blocks that share K, of all clusters
#define SPLIT_K 2
#endif
#ifndef SLICES
#define SLICES 2
#endif
#define LEAN (DEEP == 2 ? 56 : TM * TN == 128 ? (DEEP ? 40 : 72) : DEEP ? 48 : 80)
#define CROSSED (TM * TN > 64 || (TM * TN == 64 && DEEP != 1))
#include "ws.cuh"

constexpr int CLUSTERS = SPLIT_K / TEAM; // of one tile
constexpr int OWN = PIECES / TEAM;       // pieces of every thread's sums that a block of the team adds up
static_assert(SPLIT_K % TEAM == 0 && PIECES % TEAM == 0 && OWN > 0, "a team's blocks have equal shares");

constexpr int KEPT = PIECES / SLICES;                      // pieces of the block's sums that a thread has,
constexpr int SHARE = OWN * SQUAD;                         // pieces of the team's that a block has,
constexpr int TURNS = (SHARE + CONSUMERS - 1) / CONSUMERS; // and a thread of it
static_assert(PIECES % SLICES == 0, "squads have equal shares");

// Blocks of a cluster are neighbours in K.
__device__ __forceinline__ unsigned rank()
{
    return blockIdx.y % TEAM;
}

// A share of the steps of K.
__device__ __forceinline__ gt_int share(const gt_args &g, unsigned part)
{
    return (g.k + BK - 1) / BK * part / SPLIT_K;
}

__device__ __forceinline__ void produce(const gt_args &g, const ring &r)
{
    place at = {0, 1};
    bring_tile(g, r, gt_find_tile<BM, BN>(g, 8), share(g, blockIdx.y), share(g, blockIdx.y + 1), at);
}

// Four sums into shared memory: of this block,
__device__ __forceinline__ void leave(unsigned to, const four_acc &sum)
{
    const float *e = (const float *)sum.e;
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(e[0]), "f"(e[1]), "f"(e[2]), "f"(e[3])
                 : "memory");
}
// or the same place of a block of the team. (Asynchronous stores, which count on a barrier there, are no faster, and
// slower if they are many.)
__device__ __forceinline__ void post(unsigned to, unsigned block, const four_acc &sum)
{
    const float *e = (const float *)sum.e;
    asm volatile("mapa.shared::cluster.u32 %0, %0, %1;\n"
                 "st.shared::cluster.v4.f32 [%0], {%2, %3, %4, %5};"
                 : "+r"(to)
                 : "r"(block), "f"(e[0]), "f"(e[1]), "f"(e[2]), "f"(e[3])
                 : "memory");
}

__device__ __forceinline__ void add(four_acc &sum, const four_acc &part)
{
#pragma unroll
    for (int e = 0; e < 4; e++)
        sum.e[e] += part.e[e];
}

// Adds up parts in their order.
template <int COUNT> __device__ __forceinline__ four_acc total(four_acc (&part)[COUNT])
{
#pragma unroll
    for (int l = 1; l < COUNT; l++)
        add(part[0], part[l]);
    return part[0];
}

// The sums of the block: every squad leaves a letter where the stages were, and a thread adds up every SLICES-th piece,
// its squad's number first.
__device__ __forceinline__ void add_squads(const ring &r, const sums &sum, four_acc *block)
{
    if (SLICES == 1) {
#pragma unroll
        for (int p = 0; p < PIECES; p++)
            block[p] = piece(sum, p);
        return;
    }
    const unsigned letter = r.stages + 16 * (threadIdx.x / SQUAD * PIECES * SQUAD + threadIdx.x % SQUAD);
    consumers_meet(); // nobody reads stages any more
#pragma unroll
    for (int p = 0; p < PIECES; p++)
        leave(letter + 16 * p * SQUAD, piece(sum, p));
    consumers_meet();
#pragma unroll
    for (int n = 0; n < KEPT; n++) {
        four_acc part[SLICES];
#pragma unroll
        for (int l = 0; l < SLICES; l++)
            read_four(part[l].e, r.stages + 16 * (l * PIECES * SQUAD + n * CONSUMERS + threadIdx.x));
        block[n] = total(part);
    }
}

// The consumers of a team meet; who has come need not wait at once. What was written needs a release, which waits for
// memory; what was read has been multiplied.
enum news { READ_ALL, WROTE };
template <news NEWS> __device__ __forceinline__ void team_arrives()
{
    if (NEWS == WROTE)
        asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    else
        asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ __forceinline__ void team_waits()
{
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// The sums of the team: every block posts the others their shares of the pieces. Its own stay with the threads that have
// them, if these are whole turns.
__device__ __forceinline__ void add_team(const ring &r, const four_acc *block, four_acc *result)
{
    constexpr bool STAY = OWN % SLICES == 0;
    const unsigned letters = r.stages + (SLICES > 1 ? 16 * SLICES * PIECES * SQUAD : 0); // squads may still read theirs
    team_waits(); // nobody reads stages any more
#pragma unroll
    for (int n = 0; n < KEPT; n++) {
        const unsigned p = n * SLICES + threadIdx.x / SQUAD;
        const unsigned place = rank() * SHARE + p % OWN * SQUAD + threadIdx.x % SQUAD;
        const unsigned owner = STAY ? n / TURNS : p / OWN;
        if (!STAY || rank() != owner)
            post(letters + 16 * place, owner, block[n]);
    }
    team_arrives<WROTE>();
    team_waits();
#pragma unroll
    for (int n = 0; n < TURNS; n++)
        if (n * CONSUMERS + threadIdx.x < SHARE) {
            four_acc part[TEAM];
#pragma unroll
            for (int l = 0; l < TEAM; l++)
                if (STAY && rank() == l)
                    part[l] = block[STAY ? l * TURNS + n : 0];
                else
                    read_four(part[l].e, letters + 16 * (l * SHARE + n * CONSUMERS + threadIdx.x));
            result[n] = total(part);
        }
}

// The sums of all clusters: each leaves its own in the workspace, and the last to come adds them up. False for the
// others.
__device__ __forceinline__ bool gather(const gt_args &g, four_acc *result)
{
    __shared__ bool last;
    const gt_int tile = (gt_int)blockIdx.z * gridDim.x + blockIdx.x;
    unsigned *counter = g.counters + tile * SPLIT_K + rank();
    four_acc *parts = (four_acc *)gt_workspace(g) + (tile * TEAM + rank()) * CLUSTERS * SHARE + threadIdx.x;
    return gt_add_parts<CLUSTERS, SHARE, CONSUMERS, TURNS>(parts, blockIdx.y / TEAM, counter, result, &last,
                                                           consumers_meet);
}

__device__ __forceinline__ void consume(const gt_args &g, const ring &r)
{
    __shared__ gt_tile tile;
    if (threadIdx.x == 0)
        tile = gt_find_tile<BM, BN>(g, 8); // while the first stage is on its way
    sums sum;
    multiplier m(r);
    const gt_int first = share(g, blockIdx.y), end = share(g, blockIdx.y + 1);
    m.multiply((int)(end - first), m.idle(g, end - 1), sum);

    if (TEAM > 1)
        team_arrives<READ_ALL>();
    four_acc result[KEPT];
    add_squads(r, sum, result);
    if (TEAM > 1)
        add_team(r, result, result);
    if (CLUSTERS > 1 && !gather(g, result))
        return;
#pragma unroll
    for (int n = 0; n < TURNS; n++)
        if (n * CONSUMERS + threadIdx.x < SHARE)
            store_piece<false>(g, tile.row * BM + first_row(), tile.column * BN + first_column(),
                               rank() * OWN + (n * CONSUMERS + threadIdx.x) / SQUAD, result[n]);
}

#if TEAM > 1
#define IN_TEAMS __cluster_dims__(1, TEAM, 1)
#else
#define IN_TEAMS
#endif
extern "C" __global__ void __launch_bounds__(THREADS_, OCC) IN_TEAMS gemm(const __grid_constant__ gt_args args)
{
    work(args);
}
