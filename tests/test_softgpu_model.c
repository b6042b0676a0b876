/* The software GPU's model of time: limits, L2, and what counts make of it. */
#include "../src/softgpu/model/l2.h"
#include "../src/softgpu/model/limits.h"
#include "../src/softgpu/model/model.h"
#include "check.h"

/* What an H200's driver (CUDA 13.0) said of kernels with these needs. */
TEST(occupancy_is_the_real_drivers)
{
    static const struct {
        int registers, shared, threads, blocks;
    } seen[] = {
        {10, 0, 32, 32},      {10, 0, 64, 32},     {10, 0, 256, 8},      {10, 0, 1024, 2},     {64, 0, 32, 32},
        {64, 0, 128, 8},      {64, 0, 1024, 1},    {255, 0, 32, 8},      {255, 0, 256, 1},     {255, 0, 512, 0},
        {10, 20000, 96, 11},  {14, 24000, 96, 9},  {14, 34000, 224, 6},  {64, 20000, 96, 10},  {64, 30000, 224, 4},
        {255, 20000, 96, 2},  {255, 30000, 224, 1}, {16, 48000, 512, 4}, {16, 48000, 1024, 2}, {10, 0, 2000, 0},
    };
    const sg_profile *h200 = sg_profile_find("h200");
    for (size_t i = 0; i < sizeof seen / sizeof seen[0]; i++)
        CHECK_INT(sg_blocks_per_sm(h200, seen[i].threads, seen[i].registers, seen[i].shared), seen[i].blocks);
    CHECK_INT(sg_most_threads(h200, 10), 1024);
    CHECK_INT(sg_most_threads(h200, 64), 1024);
    CHECK_INT(sg_most_threads(h200, 255), 256);
}

/* Turing reserves no shared memory for itself. */
TEST(shared_memory_that_no_block_needs_limits_nothing)
{
    const sg_profile *t4 = sg_profile_find("t4");
    CHECK_INT(sg_blocks_per_sm(t4, 32, 32, 0), 16);
    CHECK_INT(sg_blocks_per_sm(t4, 256, 32, 0), 4);
    CHECK_INT(sg_blocks_per_sm(t4, 256, 32, 32 << 10), 2);
}

TEST(l2_keeps_what_was_reached_last)
{
    const uint64_t l2 = 1000;
    CHECK_INT(sg_l2_reach(1, 400, l2), 400); /* never seen */
    sg_l2_settle();
    CHECK_INT(sg_l2_reach(1, 400, l2), 0);
    sg_l2_settle();
    CHECK_INT(sg_l2_reach(2, 700, l2), 700);
    sg_l2_settle();
    CHECK_INT(sg_l2_reach(1, 400, l2), 100); /* 400 and 700 since: some of it is pushed out */
    sg_l2_settle();
    CHECK_INT(sg_l2_reach(3, 5000, l2), 5000);
    sg_l2_settle();
    CHECK_INT(sg_l2_reach(1, 400, l2), 400);
    sg_l2_settle();
}

/* One block of a 128 x 256 tile with a register tile of 8 x 16 and four stages, as it was counted, for K of 2048, and
 * what its machine code says. */
static const sg_counts tile_counts = {
    .warp_instructions = 2397216, .fma = 2108616, .products = 2098176, .alu = 151880, .control = 23688,
    .memory = 113032, .shared_loads = 98304, .shared_stores = 8192, .shared_wavefronts = 352256,
    .shared_bytes = 3145728, .global_loads = 6144, .global_stores = 256, .global_sectors = 102400,
    .direct_sectors = 4096, .async_copies = 4096, .async_bytes = 2097152, .barriers = 257, .direct_most = 4096,
};
static const sg_sass_loop tile_loop = {.math = 1024, .slots = 1146, .stalls = 124, .pauses = 107, .conflicts = 8,
                                       .loads = 192, .bytes = 19328};

static double modelled_as(const char *key, const sg_shape *shape, const sg_counts *one)
{
    sg_counts counts = *one;
    uint64_t *fields = (uint64_t *)&counts;
    for (size_t i = 0; i < offsetof(sg_counts, direct_most) / sizeof *fields; i++)
        fields[i] *= shape->blocks;
    return sg_model_launch(sg_profile_find(key), shape, &counts).us;
}

static double modelled(const char *key, uint64_t blocks, int blocks_per_sm, double cold)
{
    const sg_shape shape = {.blocks = blocks, .threads = 256, .registers = 238, .shared_bytes = 49664,
                            .blocks_per_sm = blocks_per_sm, .footprint = blocks * 100000, .cold = cold,
                            .loop = tile_loop};
    return modelled_as(key, &shape, &tile_counts);
}

TEST(modelled_time_follows_waves_memory_and_device)
{
    const double one = modelled("h200", 132, 1, 0);
    CHECK(one > 265 && one < 400); /* 2048 steps of 128 x 256 on an SM that does 128 multiply-adds a clock at best */
    CHECK_NEAR(modelled("h200", 128, 1, 0), 346.5, 15);   /* measured */
    CHECK_NEAR(modelled("h200", 1, 1, 0), one, 1e-9);     /* the other SMs are idle */
    CHECK(modelled("h200", 133, 1, 0) > 1.8 * one);       /* one block more is one wave more */
    CHECK(modelled("h200", 264, 2, 0) < modelled("h200", 264, 1, 0));
    /* After a full wave an SM may take two of what is left. */
    const double full = modelled("h200", 264, 2, 0), tail = modelled("h200", 265, 2, 0) - full;
    CHECK(tail > 1.1 * one && tail < 0.95 * full);
    CHECK(modelled("h200", 132, 1, 1) >= one);
    CHECK(modelled("a100", 108, 1, 0) > 1.5 * one);       /* half the lanes, a slower clock */
    CHECK(sg_model_fill_us(sg_profile_find("h200"), 1 << 30) > 200);
    CHECK(sg_model_transfer_us(1 << 20) > sg_model_transfer_us(0));
}

/* What each thing that is counted does to the time, all else being equal. */
TEST(modelled_time_follows_what_is_counted)
{
    const sg_shape usual = {.blocks = 264, .threads = 256, .registers = 238, .shared_bytes = 49664, .blocks_per_sm = 2,
                            .footprint = 1 << 20, .loop = tile_loop};
    const double time = modelled_as("h200", &usual, &tile_counts);
    sg_shape shape = usual;
    sg_counts counts = tile_counts;
    shape.loop.slots += 100; /* more instructions beside the multiply-adds */
    CHECK(modelled_as("h200", &shape, &tile_counts) > 1.05 * time);
    shape = usual;
    shape.loop.stalls += 100; /* the assembler found nothing to do meanwhile */
    CHECK(modelled_as("h200", &shape, &tile_counts) > 1.05 * time);
    shape.loop.pauses += 100; /* the same at a barrier, where the other block goes on */
    CHECK(modelled_as("h200", &shape, &tile_counts) > 1.01 * time);
    CHECK(modelled_as("h200", &shape, &tile_counts) < 1.04 * time);
    shape = usual;
    shape.loop.conflicts += 100; /* operands in one bank */
    CHECK(modelled_as("h200", &shape, &tile_counts) > 1.05 * time);
    shape = usual;
    shape.loop.loads *= 2; /* a smaller register tile: more goes from shared memory to registers than is multiplied */
    CHECK(modelled_as("h200", &shape, &tile_counts) > 1.2 * time);
    shape = usual;
    shape.loop.bytes = 40000; /* does not fit the instruction cache */
    CHECK(modelled_as("h200", &shape, &tile_counts) > time);
    shape = usual;
    shape.shared_bytes *= 4; /* more stages, but half of the tile comes through registers; then none of it */
    CHECK_NEAR(modelled_as("h200", &shape, &tile_counts), time, 1e-9);
    counts.async_bytes = counts.shared_bytes;
    CHECK(modelled_as("h200", &shape, &counts) < time);
    counts = tile_counts;
    counts.shared_wavefronts *= 4; /* bank conflicts */
    CHECK(modelled_as("h200", &usual, &counts) > 1.2 * time);
    counts = tile_counts;
    counts.round_trips = 16; /* fences and atomics: each some hundred nanoseconds */
    CHECK(modelled_as("h200", &usual, &counts) > time + 1);
    counts = tile_counts;
    counts.direct_most += 20000; /* one block adds up what others left */
    CHECK(modelled_as("h200", &usual, &counts) > time + 5);
    counts = tile_counts;
    counts.bare_copies = 8 * 257; /* no tile is asked for before it is needed */
    CHECK(modelled_as("h200", &(sg_shape){.blocks = 132, .threads = 256, .shared_bytes = 49664, .blocks_per_sm = 1,
                                          .loop = tile_loop},
                      &counts) > modelled("h200", 132, 1, 0) + 20);
}

CHECK_MAIN
