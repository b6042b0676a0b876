/* Stores, reductions and bulk copies that a thread starts and an mbarrier or a group ends. */
#include "driver_fixture.h"

/* Block 0 of a pair sends, block 1 receives. Every thread has a slot of 16 bytes, and eight words to reduce into. */
static const char remote[] =
    "__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }\n"
    "__device__ unsigned there(unsigned address, int rank)\n"
    "{\n"
    "    unsigned remote;\n"
    "    asm(\"mapa.shared::cluster.u32 %0, %1, %2;\" : \"=r\"(remote) : \"r\"(address), \"r\"(rank));\n"
    "    return remote;\n"
    "}\n"
    "#define CLUSTER_SYNC asm volatile(\"barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\" ::: \"memory\")\n"
    "#define BY_BARRIER \"shared::cluster.mbarrier::complete_tx::bytes.\"\n"
    "#define SEND(type, constraint, value, to) asm volatile(\"st.async.weak.\" BY_BARRIER type \" [%0], %1, [%2];\" \\\n"
    "    :: \"r\"(to), constraint(value), \"r\"(bar) : \"memory\")\n"
    "#define REDUCE(what, constraint, value, to) asm volatile(\"red.async.relaxed.cluster.\" BY_BARRIER what \\\n"
    "    \" [%0], %1, [%2];\" :: \"r\"(to), constraint(value), \"r\"(bar) : \"memory\")\n"
    "extern \"C\" __global__ void __cluster_dims__(2, 1, 1) k(unsigned *out)\n"
    "{\n"
    "    __shared__ __align__(16) unsigned slots[64][4];\n"
    "    __shared__ __align__(8) unsigned sums[8];\n"
    "    __shared__ unsigned long long barrier;\n"
    "    unsigned rank;\n"
    "    const int t = threadIdx.x;\n"
    "    asm(\"mov.u32 %0, %%cluster_ctarank;\" : \"=r\"(rank));\n"
    "    if (t < 8) sums[t] = t == 5 ? ~0u : t == 2 ? 7 : t == 1 ? -100 : 0;\n"
    "    if (t == 0) {\n"
    "        asm volatile(\"mbarrier.init.shared::cta.b64 [%0], 1;\" :: \"r\"(at(&barrier)) : \"memory\");\n"
    "        asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\" :: \"r\"(at(&barrier)),\n"
    "                     \"r\"(64 * 16 + 64 * (6 * 4 + 8)) : \"memory\");\n"
    "    }\n"
    "    __syncthreads();\n"
    "    CLUSTER_SYNC;\n"
    "    if (rank == 0) {\n"
    "        const unsigned bar = there(at(&barrier), BARRIER_IN), to = there(at(slots[t]), 1), sum = there(at(sums), 1);\n"
    "        if (t % 3 == 0) {\n"
    "            asm volatile(\"st.async.weak.\" BY_BARRIER \"v4.f32 [%0], {%1, %2, %3, %4}, [%5];\" :: \"r\"(to),\n"
    "                \"f\"(t + 0.f), \"f\"(t + .25f), \"f\"(t + .5f), \"f\"(t + .75f), \"r\"(bar) : \"memory\");\n"
    "        } else if (t % 3 == 1) {\n"
    "            SEND(\"u64\", \"l\", (unsigned long long)t << 32 | 17, to);\n"
    "            SEND(\"b32\", \"r\", t + 2, to + 8);\n"
    "            SEND(\"s32\", \"r\", -t, to + 12);\n"
    "        } else {\n"
    "            asm volatile(\"st.async.weak.\" BY_BARRIER \"v2.u64 [%0], {%1, %2}, [%3];\" :: \"r\"(to),\n"
    "                \"l\"((unsigned long long)t << 32 | 1), \"l\"((unsigned long long)t << 33 | 2), \"r\"(bar) : \"memory\");\n"
    "        }\n"
    "        REDUCE(\"add.u32\", \"r\", t, sum);\n"
    "        REDUCE(\"max.s32\", \"r\", t - 70, sum + 4);\n"
    "        REDUCE(\"min.u32\", \"r\", t + 3, sum + 8);\n"
    "        REDUCE(\"xor.b32\", \"r\", 1 << t % 32, sum + 12);\n"
    "        REDUCE(\"inc.u32\", \"r\", 9, sum + 16);\n"
    "        REDUCE(\"and.b32\", \"r\", ~(t << 8), sum + 20);\n"
    "        REDUCE(\"add.u64\", \"l\", 0x80000000ull + t, sum + 24);\n"
    "    } else if (WAIT) {\n"
    "        asm volatile(\"{ .reg .pred p; L: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra L; }\"\n"
    "                     :: \"r\"(at(&barrier)) : \"memory\");\n"
    "    }\n"
    "    if (!WAIT) CLUSTER_SYNC; /* all is sent, nothing has arrived */\n"
    "    if (rank == 1) {\n"
    "        for (int i = 0; i < 4; i++) out[t * 4 + i] = slots[t][i];\n"
    "        if (t < 8) out[256 + t] = sums[t];\n"
    "    }\n"
    "    CLUSTER_SYNC;\n"
    "}\n";

static CUdeviceptr send(int barrier_in, int wait)
{
    static char source[sizeof remote + 100];
    sprintf(source, "#define BARRIER_IN %d\n#define WAIT %d\n%s", barrier_in, wait, remote);
    open_context();
    need_capability(90);
    load_source(source);
    CUdeviceptr out = memory(264 * 4);
    launch("k", 2, 64, 2, 0, (void *[]){&out});
    return out;
}

static unsigned bits_of(float value)
{
    unsigned bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

DEVICE_TEST(stores_and_reductions_arrive_in_another_block)
{
    unsigned got[264];
    const CUdeviceptr out = send(1, 1);
    OK(cu->cuMemcpyDtoH(got, out, sizeof got));
    for (unsigned t = 0; t < 64; t++) {
        const float f = (float)t;
        const unsigned sent[3][4] = {
            {bits_of(f), bits_of(f + .25f), bits_of(f + .5f), bits_of(f + .75f)},
            {17, t, t + 2, 0u - t},
            {1, t, 2, 2 * t},
        };
        for (int i = 0; i < 4; i++)
            CHECK_INT(got[t * 4 + i], sent[t % 3][i]);
    }
    unsigned all = 0;
    for (unsigned t = 0; t < 64; t++)
        all |= t << 8;
    CHECK_INT(got[256], 64 * 63 / 2);
    CHECK_INT((int)got[257], 63 - 70);
    CHECK_INT(got[258], 3);
    CHECK_INT(got[259], 0);
    CHECK_INT(got[260], 64 % 10);
    CHECK_INT(got[261], ~all);
    CHECK_INT((uint64_t)got[263] << 32 | got[262], 64 * 0x80000000ull + 64 * 63 / 2);
}

static void expect_fault(CUresult fault, const char *part)
{
    char line[512] = "";
    CU(cu->cuCtxSynchronize(), fault);
    CHECK_INT(cu->soft->report(line, sizeof line), 0);
    if (!strstr(line, part))
        check_fail(__FILE__, __LINE__, "the report is '%s', without '%s'", line, part);
}

DEVICE_TEST(what_has_not_arrived_is_not_read)
{
    SOFT_ONLY;
    send(1, 0);
    expect_fault(CUDA_ERROR_LAUNCH_FAILED, "in flight");
}

DEVICE_TEST(a_store_counts_down_in_the_block_it_goes_to)
{
    SOFT_ONLY;
    send(0, 1);
    expect_fault(CUDA_ERROR_ILLEGAL_INSTRUCTION, "not in the block");
}

/* cp.reduce.async.bulk: 256 elements out of shared memory, put together with those in global memory. */
static const char bulk[] =
    "__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }\n"
    "extern \"C\" __global__ void k(const ELEMENT *in, ELEMENT *out)\n"
    "{\n"
    "    __shared__ __align__(16) ELEMENT tile[256];\n"
    "    for (int i = threadIdx.x; i < 256; i += 32) tile[i] = in[i];\n"
    "    asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n"
    "    __syncwarp();\n"
    "    if (threadIdx.x == 0) {\n"
    "        asm volatile(\"cp.reduce.async.bulk.global.shared::cta.bulk_group.\" WHAT \" [%0], [%1], %2;\"\n"
    "                     :: \"l\"(out), \"r\"(at(tile)), \"r\"((int)sizeof tile) : \"memory\");\n"
    "        asm volatile(\"cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\" ::: \"memory\");\n"
    "    }\n"
    "}\n";

/* Runs one reduction of elements of a width; both arrays are given and the second one changed. */
static void reduce_bulk(const char *element, const char *what, const void *in, void *out, size_t width)
{
    static char source[sizeof bulk + 200];
    sprintf(source, "#define ELEMENT %s\n#define WHAT \"%s\"\n%s", element, what, bulk);
    load_source(source);
    CUdeviceptr from = upload(in, 256 * width), to = upload(out, 256 * width);
    launch("k", 1, 32, 1, 0, (void *[]){&from, &to});
    OK(cu->cuMemcpyDtoH(out, to, 256 * width));
    OK(cu->cuLibraryUnload(library));
    library = NULL;
}

DEVICE_TEST(bulk_reductions_of_integers_reach_global_memory)
{
    static const char *const what[] = {"add.u32", "add.s32", "min.s32", "max.u32", "and.b32",
                                       "or.b32",  "xor.b32", "inc.u32", "dec.u32"};
    open_context();
    need_capability(90);
    for (size_t k = 0; k < sizeof what / sizeof what[0]; k++) {
        uint32_t in[256], old[256], new[256];
        for (int i = 0; i < 256; i++) {
            in[i] = k < 7 ? (uint32_t)check_random() : (uint32_t)check_random() % 100;
            old[i] = new[i] = k < 7 ? (uint32_t)check_random() : (uint32_t)check_random() % 100;
        }
        reduce_bulk("unsigned", what[k], in, new, 4);
        for (int i = 0; i < 256; i++) {
            const uint32_t a = old[i], b = in[i];
            const uint32_t expected[] = {a + b,
                                         a + b,
                                         (int32_t)a < (int32_t)b ? a : b,
                                         a > b ? a : b,
                                         a & b,
                                         a | b,
                                         a ^ b,
                                         a >= b ? 0 : a + 1,
                                         a == 0 || a > b ? b : a - 1};
            if (new[i] != expected[k])
                check_fail(__FILE__, __LINE__, "%s of %u and %u is %u, not %u", what[k], a, b, new[i], expected[k]);
        }
    }
}

DEVICE_TEST(bulk_reductions_of_floats_reach_global_memory)
{
    float in[256], out[256];
    double wide_in[256], wide_out[256];
    uint16_t half_in[256], half_out[256];
    open_context();
    need_capability(90);
    for (int i = 0; i < 256; i++) {
        in[i] = (float)(i - 100) / 4;
        out[i] = (float)(3 * i);
        wide_in[i] = i + 0x1p-30;
        wide_out[i] = -i;
        half_in[i] = 0x3c00;
        half_out[i] = (uint16_t)(i << 4);
    }
    reduce_bulk("float", "add.f32", in, out, 4);
    reduce_bulk("double", "add.f64", wide_in, wide_out, 8);
    reduce_bulk("unsigned short", "max.f16", half_in, half_out, 2);
    for (int i = 0; i < 256; i++) {
        CHECK_NEAR(out[i], (i - 100) / 4.0 + 3 * i, 0);
        CHECK_NEAR(wide_out[i], 0x1p-30, 0);
        CHECK_INT(half_out[i], i << 4 > 0x3c00 ? i << 4 : 0x3c00);
    }
    for (int i = 0; i < 256; i++)
        half_in[i] = half_out[i] = i % 2 ? 0x3c00 : 0x4000; /* 1 and 2 */
    reduce_bulk("unsigned short", "add.noftz.f16", half_in, half_out, 2);
    for (int i = 0; i < 256; i++)
        CHECK_INT(half_out[i], i % 2 ? 0x4000 : 0x4400);
    for (int i = 0; i < 256; i++)
        half_in[i] = half_out[i] = i % 2 ? 0x3f80 : 0x4000;
    reduce_bulk("unsigned short", "add.noftz.bf16", half_in, half_out, 2);
    for (int i = 0; i < 256; i++)
        CHECK_INT(half_out[i], i % 2 ? 0x4000 : 0x4080);
}

/* Into the other block's shared memory, and boxes into tensors. */
static const char wide[] =
    "struct __align__(64) tensor { unsigned long long words[16]; };\n"
    "__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }\n"
    "#define CLUSTER_SYNC asm volatile(\"barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\" ::: \"memory\")\n"
    "extern \"C\" __global__ void __cluster_dims__(2, 1, 1) shared(int *out)\n"
    "{\n"
    "    __shared__ __align__(16) int mine[64], sums[64];\n"
    "    __shared__ unsigned long long barrier;\n"
    "    unsigned rank, to, bar;\n"
    "    const int t = threadIdx.x;\n"
    "    asm(\"mov.u32 %0, %%cluster_ctarank;\" : \"=r\"(rank));\n"
    "    mine[t] = t + 1000 * rank;\n"
    "    sums[t] = 5 * t;\n"
    "    if (t == 0) {\n"
    "        asm volatile(\"mbarrier.init.shared::cta.b64 [%0], 1;\" :: \"r\"(at(&barrier)) : \"memory\");\n"
    "        asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;\" :: \"r\"(at(&barrier)) : \"memory\");\n"
    "    }\n"
    "    asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n"
    "    CLUSTER_SYNC;\n"
    "    if (t == 0) {\n"
    "        asm(\"mapa.shared::cluster.u32 %0, %1, %2;\" : \"=r\"(to) : \"r\"(at(sums)), \"r\"(rank ^ 1));\n"
    "        asm(\"mapa.shared::cluster.u32 %0, %1, %2;\" : \"=r\"(bar) : \"r\"(at(&barrier)), \"r\"(rank ^ 1));\n"
    "        asm volatile(\"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.s32 \"\n"
    "                     \"[%0], [%1], 256, [%2];\" :: \"r\"(to), \"r\"(at(mine)), \"r\"(bar) : \"memory\");\n"
    "    }\n"
    "    asm volatile(\"{ .reg .pred p; L: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra L; }\"\n"
    "                 :: \"r\"(at(&barrier)) : \"memory\");\n"
    "    out[rank * 64 + t] = sums[t];\n"
    "    CLUSTER_SYNC;\n"
    "}\n"
    "extern \"C\" __global__ void box(const __grid_constant__ tensor map, int x, int y)\n"
    "{\n"
    "    __shared__ __align__(128) float tile[8][16];\n"
    "    for (int i = threadIdx.x; i < 128; i += 32) tile[i / 16][i % 16] = i + 1;\n"
    "    asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n"
    "    __syncwarp();\n"
    "    if (threadIdx.x == 0) {\n"
    "        asm volatile(\"cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];\"\n"
    "                     :: \"l\"(&map), \"r\"(x), \"r\"(y), \"r\"(at(tile)) : \"memory\");\n"
    "        asm volatile(\"cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];\"\n"
    "                     :: \"l\"(&map), \"r\"(x), \"r\"(y + 20), \"r\"(at(tile)) : \"memory\");\n"
    "        asm volatile(\"cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\" ::: \"memory\");\n"
    "    }\n"
    "}\n";

DEVICE_TEST(a_bulk_reduction_reaches_another_block)
{
    int got[128];
    open_context();
    need_capability(90);
    load_source(wide);
    CUdeviceptr out = memory(sizeof got);
    launch("shared", 2, 64, 2, 0, (void *[]){&out});
    OK(cu->cuMemcpyDtoH(got, out, sizeof got));
    for (int i = 0; i < 128; i++)
        CHECK_INT(got[i], 5 * (i % 64) + i % 64 + (i < 64 ? 1000 : 0));
}

/* 40 rows of 20 floats, 24 apart: the box of 8 by 16 leaves it on the right and below. */
DEVICE_TEST(a_box_is_stored_and_added_inside_the_tensor_only)
{
    enum { ROWS = 40, COLUMNS = 20, STRIDE = 24 };
    float tensor[ROWS * STRIDE];
    int x = 8, y = 17;
    CUtensorMap map;
    open_context();
    need_capability(90);
    load_source(wide);
    for (int i = 0; i < ROWS * STRIDE; i++)
        tensor[i] = (float)(-1000 - i);
    CUdeviceptr address = upload(tensor, sizeof tensor);
    OK(cu->cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, (void *)(uintptr_t)address,
                                  (cuuint64_t[]){COLUMNS, ROWS}, (cuuint64_t[]){STRIDE * 4}, (cuuint32_t[]){16, 8},
                                  (cuuint32_t[]){1, 1}, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                                  CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    launch("box", 1, 32, 1, 0, (void *[]){&map, &x, &y});
    OK(cu->cuMemcpyDtoH(tensor, address, sizeof tensor));
    for (int i = 0; i < ROWS * STRIDE; i++) {
        const int row = i / STRIDE, column = i % STRIDE, old = -1000 - i;
        const bool in_column = column >= x && column < COLUMNS;
        const int added = in_column && row >= y && row < y + 8 ? (row - y) * 16 + column - x + 1 : 0;
        const int stored = in_column && row >= y + 20 ? (row - y - 20) * 16 + column - x + 1 : 0;
        CHECK_NEAR(tensor[i], stored ? stored : old + added, 0);
    }
}

CHECK_MAIN
