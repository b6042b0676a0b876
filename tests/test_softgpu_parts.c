/* Parts of the software GPU on their own: device memory, cubins, limits, L2, the time model. */
#include "../src/softgpu/machine/memory.h"
#include "../src/softgpu/model/l2.h"
#include "../src/softgpu/model/limits.h"
#include "../src/softgpu/model/model.h"
#include "../src/softgpu/ptx/cubin.h"
#include "../tuner/nvrtc.h"
#include "check.h"

#define BYTES 3000

TEST(marks_tell_which_bytes_were_written)
{
    static bool expected[BYTES];
    sg_memory *memory = sg_memory_create(1 << 20);
    const uint64_t base = sg_memory_alloc(memory, BYTES);
    const sg_span *span = sg_memory_find(memory, base);
    CHECK(base && base % 256 == 0 && span && span->base == base && span->bytes == BYTES);
    for (int i = 0; i < 20000; i++) {
        const uint64_t first = check_random() % BYTES, wanted = check_random() % (i % 8 ? 20 : BYTES);
        const uint64_t count = wanted < BYTES - first ? wanted : BYTES - first;
        if (i % 100 == 0) {
            sg_span_mark(span, base + first, count);
            memset(expected + first, 1, count);
        }
        CHECK(sg_span_written(span, base + first, count) == !memchr(expected + first, 0, count));
    }
    sg_memory_destroy(memory);
}

TEST(copied_bytes_are_written_as_their_source_is)
{
    sg_memory *memory = sg_memory_create(1 << 20);
    const uint64_t a = sg_memory_alloc(memory, 100), b = sg_memory_alloc(memory, 100);
    const sg_span *from = sg_memory_find(memory, a), *to = sg_memory_find(memory, b);
    sg_span_mark(from, a + 10, 5);
    sg_span_mark(to, b, 100);
    sg_span_copy_marks(to, b + 20, from, a + 8, 10);
    CHECK(!sg_span_written(to, b + 20, 1) && !sg_span_written(to, b + 27, 1));
    CHECK(sg_span_written(to, b, 20) && sg_span_written(to, b + 22, 5) && sg_span_written(to, b + 30, 70));
    sg_memory_destroy(memory);
}

TEST(allocations_lie_apart_and_are_found)
{
    enum { MOST = 200 };
    struct {
        uint64_t base, bytes;
    } live[MOST];
    size_t count = 0;
    sg_memory *memory = sg_memory_create(64 << 20);
    for (int i = 0; i < 5000; i++) {
        if (count < MOST && check_random() % 2) {
            const uint64_t bytes = 1 + check_random() % 100000, base = sg_memory_alloc(memory, bytes);
            CHECK(base);
            for (size_t k = 0; k < count; k++)
                CHECK(base + bytes <= live[k].base || live[k].base + live[k].bytes <= base);
            *(char *)(uintptr_t)(base + bytes - 1) = 1;
            live[count].base = base;
            live[count++].bytes = bytes;
        } else if (count > 0) {
            const size_t k = check_random() % count;
            const sg_span *span = sg_memory_find(memory, live[k].base + check_random() % live[k].bytes);
            CHECK(span && span->base == live[k].base && span->bytes == live[k].bytes);
            CHECK(!sg_memory_find(memory, live[k].base - 1) && !sg_memory_find(memory, live[k].base + live[k].bytes));
            CHECK(!sg_memory_find_range(memory, live[k].base, live[k].bytes + 1));
            CHECK(!sg_memory_free(memory, live[k].base + 1) && sg_memory_free(memory, live[k].base));
            CHECK(!sg_memory_find(memory, live[k].base));
            live[k] = live[--count];
        }
    }
    sg_memory_destroy(memory);
}

TEST(memory_ends_at_its_limit)
{
    sg_memory *memory = sg_memory_create(1 << 20);
    const uint64_t own = sg_memory_alloc(memory, 1000), users = sg_memory_alloc_user(memory, 1, 2000);
    CHECK(own && users);
    CHECK_INT(sg_memory_used(memory), 3000);
    CHECK_INT(sg_memory_available(memory), (1 << 20) - 3000);
    CHECK(!sg_memory_alloc(memory, 0) && !sg_memory_alloc(memory, (1 << 20) - 2999));
    CHECK(sg_memory_alloc(memory, (1 << 20) - 3000) && !sg_memory_alloc(memory, 1));
    sg_memory_free_user(memory, 1);
    CHECK(sg_memory_find(memory, own) && !sg_memory_find(memory, users));
    sg_memory_destroy(memory);
}

TEST(allocations_stay_out_of_reservations)
{
    enum { MOST = 30, KEPT = 10 };
    uint64_t at[MOST], bytes[MOST];
    sg_memory *memory = sg_memory_create(64 << 20);
    for (int i = 0; i < 3000; i++) {
        const int k = i < MOST ? i : KEPT + (int)(check_random() % (MOST - KEPT));
        const uint64_t alignment = SG_GRANULE << check_random() % 6;
        if (i >= MOST)
            sg_memory_unreserve(memory, at[k]);
        bytes[k] = SG_GRANULE * (1 + check_random() % 2500);
        at[k] = sg_memory_reserve(memory, bytes[k], alignment);
        CHECK(at[k] && at[k] % alignment == 0 && !sg_memory_find(memory, at[k]));
        const uint64_t base = sg_memory_alloc_user(memory, 1, 100000);
        CHECK(base);
        for (int j = 0; j < (i < MOST ? i : MOST); j++) {
            CHECK(j == k || at[k] + bytes[k] <= at[j] || at[j] + bytes[j] <= at[k]);
            CHECK(base + 100000 <= at[j] || at[j] + bytes[j] <= base);
        }
        CHECK(i % 64 == 0 || sg_memory_free(memory, base));
        if (i % 600 == 599)
            sg_memory_free_user(memory, 1);
    }
    CHECK(!sg_memory_reserve(memory, (uint64_t)1 << 50, SG_GRANULE));
    CHECK(!sg_memory_reserve(memory, SG_GRANULE, (uint64_t)1 << 63));
    sg_memory_destroy(memory);
}

TEST(pages_are_the_same_at_two_addresses)
{
    uint64_t pages, fresh;
    sg_memory *memory = sg_memory_create(2 * SG_GRANULE);
    const uint64_t a = sg_memory_reserve(memory, 2 * SG_GRANULE, SG_GRANULE), b = a + SG_GRANULE;
    CHECK(sg_memory_take_pages(memory, SG_GRANULE, &pages));
    CHECK(sg_memory_map(memory, a, pages, SG_GRANULE) && sg_memory_map(memory, b, pages, SG_GRANULE));
    CHECK_INT(sg_memory_used(memory), SG_GRANULE);
    *(char *)(uintptr_t)(a + 1000) = 7;
    sg_span_mark(sg_memory_find(memory, a), a + 1000, 1);
    CHECK_INT(*(char *)(uintptr_t)(b + 1000), 7);
    CHECK(sg_span_written(sg_memory_find(memory, b), b + 1000, 1));
    CHECK(!sg_span_written(sg_memory_find(memory, b), b + 1001, 1));
    CHECK(sg_memory_find_range(memory, a + 5, 2 * SG_GRANULE - 5) == sg_memory_find(memory, a));
    CHECK(!sg_memory_find_range(memory, a + 5, 2 * SG_GRANULE - 4));
    sg_memory_unmap(memory, a);
    CHECK(!sg_memory_find(memory, a) && !sg_memory_find_range(memory, a, 2 * SG_GRANULE));
    sg_memory_unmap(memory, b);
    sg_memory_give_pages(memory, pages, SG_GRANULE);
    CHECK_INT(sg_memory_used(memory), 0);
    CHECK(sg_memory_take_pages(memory, SG_GRANULE, &fresh) && sg_memory_map(memory, a, fresh, SG_GRANULE));
    CHECK_INT(*(char *)(uintptr_t)(a + 1000), 0);
    CHECK(!sg_span_written(sg_memory_find(memory, a), a + 1000, 1));
    CHECK(!sg_memory_take_pages(memory, 2 * SG_GRANULE, &pages)); /* beyond the limit */
    sg_memory_destroy(memory);
}

TEST(an_allocation_where_pages_were_mapped_is_unwritten)
{
    uint64_t pages, base = 0;
    sg_memory *memory = sg_memory_create(4 * SG_GRANULE);
    const uint64_t a = sg_memory_reserve(memory, SG_GRANULE, SG_GRANULE);
    CHECK(sg_memory_take_pages(memory, SG_GRANULE, &pages) && sg_memory_map(memory, a, pages, SG_GRANULE));
    *(char *)(uintptr_t)a = 7;
    sg_span_mark(sg_memory_find(memory, a), a, 1);
    sg_memory_unmap(memory, a);
    sg_memory_unreserve(memory, a);
    CHECK(sg_memory_reserve(memory, (uint64_t)1 << 40, SG_GRANULE)); /* so that the rest soon comes back */
    for (int i = 0; i < 40 && (a < base || a - base >= SG_GRANULE); i++) {
        CHECK(!base || sg_memory_free(memory, base));
        CHECK((base = sg_memory_alloc(memory, SG_GRANULE)));
    }
    CHECK(a >= base && a - base < SG_GRANULE);
    CHECK(*(char *)(uintptr_t)a == 0 && !sg_span_written(sg_memory_find(memory, a), a, 1));
    sg_span_mark(sg_memory_find(memory, a), a, 1);
    CHECK(sg_memory_free(memory, base));
    sg_memory_destroy(memory);
}

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

static const char source[] =
    "extern \"C\" __global__ void plain(int *p) { *p = 1; }\n"
    "extern \"C\" __global__ void __launch_bounds__(96) bounded(int *p) { *p = 1; }\n"
    "extern \"C\" __global__ void fixed(float *p, int n) { __shared__ float s[1000]; s[threadIdx.x] = p[n];\n"
    "    __syncthreads(); p[threadIdx.x] = s[n]; }\n"
    "extern \"C\" __global__ void local(float *p, int n) { float a[100]; for (int i = 0; i < 100; i++) a[i] = p[i];\n"
    "    for (int i = 0; i < n; i++) a[i * 7 % 100] += p[i]; p[n] = a[n]; }\n"
    "#if __CUDA_ARCH__ >= 900\n"
    "extern \"C\" __global__ void __cluster_dims__(2, 1, 1) clustered(int *p) { *p = 1; }\n"
    "#endif\n";

static gt_code compile(const char *text, const char *arch)
{
    gt_nvrtc *nvrtc;
    gt_code code;
    if (gt_nvrtc_open(NULL, &nvrtc) != GT_OK)
        SKIP(gt_error_message());
    CHECK_OK(gt_nvrtc_compile(nvrtc, text, arch, &code, NULL));
    gt_nvrtc_close(nvrtc);
    return code;
}

TEST(a_cubin_tells_what_the_assembler_knows)
{
    static const struct {
        const char *name;
        int cc;
    } archs[] = {{"sm_80", 80}, {"sm_89", 89}, {"sm_90a", 90}};
    for (size_t i = 0; i < sizeof archs / sizeof archs[0]; i++) {
        gt_code code = compile(source, archs[i].name);
        sg_cubin cubin;
        CHECK_INT(sg_cubin_size(code.cubin), code.cubin_bytes);
        CHECK(sg_cubin_read(code.cubin, code.cubin_bytes, &cubin));
        CHECK_INT(cubin.cc, archs[i].cc);
        CHECK_INT(cubin.count, archs[i].cc >= 90 ? 5 : 4);
        CHECK(!sg_cubin_find(&cubin, "nobody"));
        for (size_t k = 0; k < cubin.count; k++)
            CHECK(cubin.kernels[k].registers >= 4 && cubin.kernels[k].registers < 64);
        CHECK_INT(sg_cubin_find(&cubin, "plain")->static_shared, 0);
        CHECK_INT(sg_cubin_find(&cubin, "plain")->max_threads, 0);
        CHECK_INT(sg_cubin_find(&cubin, "bounded")->max_threads, 96);
        CHECK_INT(sg_cubin_find(&cubin, "fixed")->static_shared, 4000);
        CHECK_INT(sg_cubin_find(&cubin, "fixed")->barriers, 1);
        CHECK_INT(sg_cubin_find(&cubin, "local")->local_bytes, 400);
        if (archs[i].cc >= 90)
            CHECK_INT(sg_cubin_find(&cubin, "clustered")->cluster[0], 2);
        sg_cubin_finish(&cubin);
        gt_code_finish(&code);
    }
}

/* A loop of 96 multiply-adds, with a copy that is passed over in the last turn, and a longer one for tails. */
static const char loop_source[] =
    "extern \"C\" __global__ void loop(float *out, const float *in, int n, int edge) {\n"
    "    __shared__ float tile[2][32];\n"
    "    float sum[48] = {};\n"
    "    tile[0][threadIdx.x] = in[threadIdx.x];\n"
    "#pragma unroll 1\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        const float x = tile[i % 2][threadIdx.x ^ 1];\n"
    "#pragma unroll\n"
    "        for (int j = 0; j < 48; j++) sum[j] = fmaf(sum[j], x, sum[j]);\n"
    "        if (i + 1 < n) {\n"
    "            if (edge > 0)\n"
    "#pragma unroll\n"
    "                for (int k = 0; k < 16; k++)\n"
    "                    tile[1 - i % 2][(threadIdx.x + k) % 32] = in[(i + k) * 32 + threadIdx.x];\n"
    "            else\n"
    "#pragma unroll\n"
    "                for (int k = 0; k < 40; k++)\n"
    "                    if ((k ^ (int)threadIdx.x) < i) tile[1 - i % 2][k % 32] = in[(i - k) * k];\n"
    "        }\n"
    "        __syncthreads();\n"
    "#pragma unroll\n"
    "        for (int j = 0; j < 48; j++) sum[j] = fmaf(x, sum[j], x);\n"
    "    }\n"
    "    float all = 0;\n"
    "    for (int j = 0; j < 48; j++) all += sum[j];\n"
    "    out[threadIdx.x] = all;\n"
    "}\n"
    "extern \"C\" __global__ void straight(float *out) { *out = 1; }\n";

TEST(machine_code_tells_what_a_loop_costs)
{
    static const char *const archs[] = {"sm_75", "sm_80", "sm_89", "sm_90a"};
    for (size_t i = 0; i < sizeof archs / sizeof archs[0]; i++) {
        gt_code code = compile(loop_source, archs[i]);
        sg_cubin cubin;
        CHECK(sg_cubin_read(code.cubin, code.cubin_bytes, &cubin));
        const sg_sass_loop *loop = &sg_cubin_find(&cubin, "loop")->loop;
        CHECK_INT(loop->math, 96);
        /* On the way lie sixteen reads of global memory and as many writes to shared memory; off it forty more. */
        CHECK(loop->slots > 200 && loop->slots < 320); /* 156 without, 440 with the tails */
        CHECK(loop->bytes > 16 * (loop->slots + 80));
        CHECK(loop->stalls >= loop->pauses && loop->pauses > 0 && loop->stalls < 2 * loop->slots);
        CHECK_INT(loop->loads, 1);
        CHECK(loop->conflicts < loop->math);
        CHECK_INT(sg_cubin_find(&cubin, "straight")->loop.math, 0);
        sg_cubin_finish(&cubin);
        gt_code_finish(&code);
    }
    CHECK_INT(sg_sass_read("", 0, 90).math, 0);
}

/* A branch from `at` to `to`, for compute capability 9.0. */
static void put_branch(uint64_t (*code)[2], int at, int to)
{
    const int64_t words = 4 * (to - at - 1), upper = words >> 8;
    code[at][0] = 0x7947 | (uint64_t)(words & 0xff) << 16 | (uint64_t)upper << 34;
    code[at][1] = ((uint64_t)upper >> 30 & 0x3ffff) | (uint64_t)7 << 23;
}

/* A loop of 64 multiply-adds for compute capability 9.0, each with registers and places that keep theirs from `rows`,
 * over and over; what its operands cost. Before every `apart`th comes a load that nothing waits for; 0: none. */
static uint32_t conflicts_of(const uint8_t rows[][4], int count, int apart)
{
    enum { MATH = 64 };
    uint64_t code[2 * MATH + 2][2];
    int at = 0;
    for (int i = 0; i < MATH; i++) {
        const uint8_t *row = rows[i % count];
        if (apart > 0 && i % apart == 0) {
            code[at][0] = 0x7984;
            code[at++][1] = 6 << 9;
        }
        code[at][0] = 0x7223 | (uint64_t)row[0] << 24 | (uint64_t)row[1] << 32;
        code[at++][1] = row[2] | (uint64_t)row[3] << 58;
    }
    put_branch(code, at++, 0);
    const sg_sass_loop loop = sg_sass_read(code, (size_t)at * sizeof *code, 90);
    CHECK_INT(loop.math, MATH);
    CHECK_INT(loop.slots, at);
    CHECK_INT(loop.loads, apart > 0 ? MATH / apart * 4 : 0);
    return loop.conflicts;
}

TEST(operands_of_one_bank_are_read_one_after_the_other)
{
    enum { FIRST = 1, SECOND = 2 };
    static const uint8_t apart[][4] = {{0, 1, 3, SECOND}, {4, 1, 5, SECOND}};     /* one kept, others in two banks */
    static const uint8_t by_turns[][4] = {{0, 1, 2, SECOND}, {5, 1, 7, SECOND}};  /* both in one, each bank in turn */
    static const uint8_t same[][4] = {{0, 1, 2, SECOND}, {4, 1, 6, SECOND}};      /* both in one, always the same */
    static const uint8_t sums[][4] = {{0, 1, 2, SECOND}, {5, 1, 4, SECOND}};      /* all sums in one */
    static const uint8_t none[][4] = {{0, 1, 2, 0}, {4, 1, 6, 0}};                /* nothing kept */
    static const uint8_t elsewhere[][4] = {{0, 1, 3, FIRST}, {2, 0, 5, FIRST}};   /* kept where nobody asks for it */
    static const uint8_t two[][4] = {{1, 3, 5, FIRST | SECOND}, {1, 3, 7, FIRST | SECOND}};
    static const uint8_t zeros[][4] = {{0, 255, 255, 0}, {2, 255, 255, 0}};       /* one operand each */
    CHECK(conflicts_of(apart, 2, 0) <= 1); /* the first of them reads all three */
    CHECK(conflicts_of(by_turns, 2, 0) <= 2);
    CHECK_NEAR(conflicts_of(same, 2, 0), 64, 4); /* a clock more each; those at the end are not waited for */
    CHECK_NEAR(conflicts_of(sums, 2, 0), 32, 4);
    CHECK_NEAR(conflicts_of(none, 2, 0), 64, 4);
    CHECK_NEAR(conflicts_of(elsewhere, 2, 0), 32, 4);
    CHECK_INT(conflicts_of(zeros, 2, 0), 0);
    CHECK(conflicts_of(sums, 2, 2) < 8);    /* what comes between leaves the banks time */
    CHECK(conflicts_of(two, 2, 0) <= 2);
    CHECK_NEAR(conflicts_of(two, 2, 4), 16, 3); /* but what was kept is read again */
}

/* A kernel that stays for many tiles: its loop over them has the one over K inside, and what ends a tile. */
TEST(the_loop_is_the_innermost_that_multiplies)
{
    uint64_t code[100][2];
    for (int at = 0; at < 100; at++) {
        code[at][0] = at % 2 ? 0x7223 : 0x7918;
        code[at][1] = 0;
    }
    put_branch(code, 60, 20);
    put_branch(code, 90, 80);
    put_branch(code, 99, 2);
    const sg_sass_loop loop = sg_sass_read(code, sizeof code, 90);
    CHECK_INT(loop.math, 20);
    CHECK_INT(loop.slots, 41);
}

TEST(a_damaged_cubin_is_read_or_refused)
{
    gt_code code = compile(loop_source, "sm_90a");
    sg_cubin cubin;
    CHECK(!sg_cubin_read(code.cubin, 63, &cubin));
    CHECK(!sg_cubin_read(code.cubin, code.cubin_bytes / 2, &cubin));
    for (int i = 0; i < 3000; i++) {
        const size_t bytes = i % 4 ? code.cubin_bytes : check_random() % code.cubin_bytes;
        unsigned char *copy = malloc(bytes + 1); /* of its own, so that a sanitizer sees its end */
        memcpy(copy, code.cubin, bytes);
        for (int k = 0; k < 8 && bytes > 0; k++)
            copy[check_random() % (k % 2 || bytes < 64 ? bytes : 64)] = (unsigned char)check_random();
        if (sg_cubin_read(copy, bytes, &cubin))
            sg_cubin_finish(&cubin);
        free(copy);
    }
    gt_code_finish(&code);
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
