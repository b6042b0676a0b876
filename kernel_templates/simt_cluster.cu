// Plain arithmetic on Hopper where tiles alone would leave multiprocessors idle: warps with trades (ws.cuh), and
// K is shared out three ways, so that large register tiles serve small products too. Squads of a block take
// turns at the k-steps of every stage, TEAM blocks of a cluster take parts of K and add up in each other's
// shared memory, and the clusters of one tile meet in the workspace. All sums are added in a fixed order.
#include "gemm.cuh"

#ifndef TEAM // blocks of a cluster, which share K
#define TEAM 2
#endif
#ifndef SPLIT_K // blocks that share K, of all clusters
#define SPLIT_K 2
#endif
#ifndef SLICES
#define SLICES 2
#endif
#define LEAN (TM * TN == 128 ? (DEEP ? 40 : 72) : DEEP ? 48 : 80)
#include "ws.cuh"

constexpr int CLUSTERS = SPLIT_K / TEAM; // of one tile
constexpr int OWN = PIECES / TEAM;       // pieces of every thread's sums that a block of the team adds up
static_assert(SPLIT_K % TEAM == 0 && PIECES % TEAM == 0 && OWN > 0, "a team's blocks have equal shares");

constexpr int LETTERS = TEAM * SLICES;                     // that a block gets, one from each squad of the team
constexpr int SHARE = OWN * SQUAD;                         // pieces of a letter, which a block adds up,
constexpr int TURNS = (SHARE + CONSUMERS - 1) / CONSUMERS; // and a thread of it

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

// Waits for the consumers of the team.
__device__ __forceinline__ void team_meets()
{
#if TEAM > 1
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
    consumers_meet();
#endif
}

// Four sums into the shared memory of a block of the team. (Asynchronous stores, which count on a barrier there, took
// three microseconds more for a tile of 128 x 128.)
__device__ __forceinline__ void post(unsigned to, unsigned block, const gt_vector<float, 4> &sum)
{
#if TEAM > 1
    asm volatile("mapa.shared::cluster.u32 %0, %0, %1;" : "+r"(to) : "r"(block));
#endif
    asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(sum.e[0]), "f"(sum.e[1]),
                 "f"(sum.e[2]), "f"(sum.e[3])
                 : "memory");
}
__device__ __forceinline__ void post(unsigned to, unsigned block, const gt_vector<int, 4> &sum)
{
    post(to, block, (const gt_vector<float, 4> &)sum);
}

// Adds up letters, or what clusters left, in their order.
__device__ __forceinline__ void add(four_acc &sum, const four_acc &part)
{
#pragma unroll
    for (int e = 0; e < 4; e++)
        sum.e[e] += part.e[e];
}

// The sums of all clusters: each leaves its own in the workspace, and the last to come adds them up. False for the
// others.
__device__ __forceinline__ bool gather(const gt_args &g, four_acc *result)
{
    __shared__ bool last;
    const gt_int tile = (gt_int)blockIdx.z * gridDim.x + blockIdx.x;
    unsigned *counter = g.counters + tile * SPLIT_K + rank();
    four_acc *parts = (four_acc *)gt_workspace(g) + (tile * TEAM + rank()) * CLUSTERS * SHARE + threadIdx.x;
#pragma unroll
    for (int n = 0; n < TURNS; n++)
        if (n * CONSUMERS + threadIdx.x < SHARE)
            parts[blockIdx.y / TEAM * SHARE + n * CONSUMERS] = result[n];
    consumers_meet();
    if (threadIdx.x == 0) { // for all that met
        unsigned before;
        asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
        last = before == CLUSTERS - 1;
    }
    consumers_meet();
    if (!last)
        return false;
    // Many reads are under way together.
    constexpr int BATCH = TURNS >= 16 ? 1 : 16 / TURNS;
#pragma unroll 1
    for (int first = 0; first < CLUSTERS; first += BATCH) {
        four_acc part[BATCH][TURNS] = {};
#pragma unroll
        for (int c = 0; c < BATCH; c++)
#pragma unroll
            for (int n = 0; n < TURNS; n++)
                if (first + c < CLUSTERS && n * CONSUMERS + threadIdx.x < SHARE)
                    part[c][n] = parts[(first + c) * SHARE + n * CONSUMERS];
#pragma unroll
        for (int c = 0; c < BATCH; c++)
#pragma unroll
            for (int n = 0; n < TURNS; n++)
                if (first + c == 0)
                    result[n] = part[c][n];
                else if (first + c < CLUSTERS)
                    add(result[n], part[c][n]);
    }
    if (threadIdx.x == 0)
        *counter = 0; // as the next launch expects it
    return true;
}

__device__ __forceinline__ void consume(const gt_args &g, const ring &r)
{
    sums sum;
    multiplier m(r);
    const gt_int first = share(g, blockIdx.y), end = share(g, blockIdx.y + 1);
    m.multiply((int)(end - first), m.idle(g, end - 1), sum);

    // Letters lie where the stages were, by sender, squads of the first block first; in them pieces, and threads
    // side by side.
    team_meets(); // nobody reads stages any more
    const unsigned letter = r.stages + 16 * ((rank() * SLICES + threadIdx.x / SQUAD) * SHARE + threadIdx.x % SQUAD);
#pragma unroll
    for (int p = 0; p < PIECES; p++)
        post(letter + 16 * (p % OWN * SQUAD), p / OWN, piece(sum, p));
    team_meets();

    four_acc result[TURNS];
#pragma unroll
    for (int n = 0; n < TURNS; n++)
        if (n * CONSUMERS + threadIdx.x < SHARE) {
            const unsigned mine = r.stages + 16 * (n * CONSUMERS + threadIdx.x);
            read_four(result[n].e, mine);
#pragma unroll
            for (int l = 1; l < LETTERS; l++) {
                four_acc part;
                read_four(part.e, mine + 16 * l * SHARE);
                add(result[n], part);
            }
        }
    if (CLUSTERS > 1 && !gather(g, result))
        return;
    const gt_tile tile = gt_find_tile<BM, BN>(g, 8);
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
