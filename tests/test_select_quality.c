/* How good choices are for sizes that nobody tuned, on a made-up machine. */
#include "select_fixture.h"

/* A machine of another make than the one select.c has in mind: kernels differ in efficiency, latency is hidden
 * exponentially, sums of split K cost memory traffic, memory is a roof, and every time is off by a few percent. */
typedef struct true_machine {
    gt_kernel kernels[64];
    double efficiency[64], prologue[64];
    int count;
    uint64_t seed;
} true_machine;

static double uniform(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return (double)(*seed >> 11) * 0x1p-53;
}

static double true_us(const gt_device *device, const true_machine *machine, int index, const gt_problem *p)
{
    const gt_kernel *kernel = &machine->kernels[index];
    const double tiles = ceil((double)p->m / kernel->facts.tile_m) * ceil((double)p->n / kernel->facts.tile_n);
    const double blocks = tiles * kernel->facts.split_k, warps = (double)kernel->facts.threads / 32;
    const int resident = gt_device_occupancy(device, (int)kernel->facts.threads, kernel->registers,
                                             (int)kernel->facts.smem_bytes);
    const double waves = floor(blocks / (device->sm_count * resident));
    const double rest = ceil((blocks - waves * device->sm_count * resident) / device->sm_count);
    const double steps = ceil((double)p->k / kernel->facts.split_k / 16) * 16 + machine->prologue[index];
    /* 128 multiply-adds a clock at 1.9 GHz */
    const double block = steps * (double)(kernel->facts.tile_m * kernel->facts.tile_n) / (128 * 1900 * machine->efficiency[index]);
    const double full = waves * resident * block / (1 - exp(-resident * warps / 3));
    const double tail = rest > 0 ? rest * block / (1 - exp(-rest * warps / 3)) : 0;
    const double m = (double)p->m, n = (double)p->n, k = (double)p->k, bytes = 4 * (m * k + k * n + m * n);
    const double partial = kernel->facts.split_k > 1 ? 8 * m * n * kernel->facts.split_k : 0;
    const double memory = bytes / (bytes < 40e6 ? 8e6 : 4e6), sums = partial / 6e6;
    return 3 + fmax(full + tail, memory) + sums;
}

static void machine_init(true_machine *machine)
{
    static const int tiles[][2] = {{16, 16},   {32, 32},   {64, 64},   {64, 128},  {128, 64},
                                   {128, 128}, {128, 256}, {256, 128}, {16, 128}, {8, 256}};
    for (size_t t = 0; t < COUNT(tiles); t++)
        for (int split = 1; split <= 16; split *= 2) {
            const double harmonic = 2.0 * tiles[t][0] * tiles[t][1] / (tiles[t][0] + tiles[t][1]);
            machine->kernels[machine->count] = tiled(tiles[t][0], tiles[t][1], split);
            machine->efficiency[machine->count] =
                harmonic / (harmonic + 24) * (0.85 + 0.2 * uniform(&machine->seed));
            machine->prologue[machine->count++] = 20 + 100 * uniform(&machine->seed);
        }
}

/* Tunes the machine: on each of 16 sizes its `best` kernels and, of the others, a part. */
static size_t tune(const gt_device *device, true_machine *machine, int best, double part, gt_measured *list)
{
    static const int64_t sizes[16][3] = {
        {128, 128, 128},    {256, 256, 256},   {512, 512, 512},    {1024, 1024, 1024},
        {2048, 2048, 2048}, {4096, 4096, 4096}, {8192, 8192, 8192}, {16, 4096, 4096},
        {64, 4096, 4096},   {4096, 16, 4096},  {4096, 64, 4096},   {4096, 4096, 64},
        {256, 256, 8192},   {8192, 1024, 512}, {1024, 8192, 512},  {64, 64, 8192}};
    size_t count = 0;
    for (size_t s = 0; s < COUNT(sizes); s++) {
        const gt_problem problem = sized(sizes[s][0], sizes[s][1], sizes[s][2]);
        for (int i = 0; i < machine->count; i++) {
            const double us = true_us(device, machine, i, &problem);
            int faster = 0;
            for (int j = 0; j < machine->count; j++)
                faster += true_us(device, machine, j, &problem) < us;
            if (faster < best || uniform(&machine->seed) < part)
                list[count++] = row(i + 1, machine->kernels[i], problem, us * (0.98 + 0.04 * uniform(&machine->seed)));
        }
    }
    return count;
}

/* Geometric mean over random sizes of the best kernel's time over the chosen one's. */
static double quality(int best, double part, uint64_t seed)
{
    static gt_measured list[16 * 64];
    const gt_device device = h200();
    true_machine machine = {.seed = seed};
    machine_init(&machine);
    const size_t count = tune(&device, &machine, best, part, list);
    const int samples = 300;
    double sum = 0;
    for (int i = 0; i < samples; i++) {
        const gt_problem problem =
            sized((int64_t)(8 * exp2(10 * uniform(&machine.seed))), (int64_t)(8 * exp2(10 * uniform(&machine.seed))),
                  (int64_t)(16 * exp2(9 * uniform(&machine.seed))));
        gt_selection selection;
        const int64_t id = choose(problem, anything, list, count, &selection);
        CHECK(id > 0);
        double fastest = INFINITY;
        for (int k = 0; k < machine.count; k++)
            fastest = fmin(fastest, true_us(&device, &machine, k, &problem));
        sum += log(fastest / true_us(&device, &machine, (int)id - 1, &problem));
    }
    return exp(sum / samples);
}

TEST(untuned_sizes_reach_most_of_the_best_kernels_speed)
{
    enum { MACHINES = 6 };
    double dense = 0, sparse = 0;
    for (int i = 0; i < MACHINES; i++) {
        const uint64_t seed = check_random() | 1;
        dense += quality(5, 0.6, seed) / MACHINES;
        sparse += quality(3, 0.1, seed) / MACHINES;
    }
    printf("%.3f of the best kernel's speed where most were measured, %.3f where few were\n", dense, sparse);
    CHECK(dense >= 0.90);
    CHECK(sparse >= 0.85);
}

CHECK_MAIN
