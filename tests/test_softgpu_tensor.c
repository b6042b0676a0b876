/* Tensor maps and the copies that read them. */
#include <stddef.h>

#include "driver_fixture.h"

/* The arguments of cuTensorMapEncodeTiled, all of one width so that a table can change any of them. */
typedef struct description {
    uint64_t type, rank, address, sizes[5], strides[4], box[5], steps[5], interleave, swizzle, promotion, fill;
    uint64_t map_offset; /* bytes from a place for the map that is aligned */
} description;

/* Halves in 30 rows of 100, 104 apart. */
static description halves(CUdeviceptr address)
{
    return (description){.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16, .rank = 2, .address = address,
                         .sizes = {100, 30, 1, 1, 1}, .strides = {208, 208 * 30, 208 * 30, 208 * 30},
                         .box = {64, 24, 1, 1, 1}, .steps = {1, 1, 1, 1, 1}, .swizzle = CU_TENSOR_MAP_SWIZZLE_128B,
                         .promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_128B};
}

static CUresult encode(const description *d, CUtensorMap *map)
{
    cuuint32_t box[5], steps[5];
    for (int i = 0; i < 5; i++) {
        box[i] = (cuuint32_t)d->box[i];
        steps[i] = (cuuint32_t)d->steps[i];
    }
    return cu->cuTensorMapEncodeTiled((CUtensorMap *)((char *)map + d->map_offset), (CUtensorMapDataType)d->type,
                                      (cuuint32_t)d->rank, (void *)(uintptr_t)d->address, d->sizes, d->strides, box,
                                      steps, (CUtensorMapInterleave)d->interleave, (CUtensorMapSwizzle)d->swizzle,
                                      (CUtensorMapL2promotion)d->promotion, (CUtensorMapFloatOOBfill)d->fill);
}

static void need_tensor_maps(void)
{
    int there;
    OK(cu->cuDeviceGetAttribute(&there, CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, 0));
    if (!there)
        SKIP("a device without tensor maps");
}

#define FIELD(name) offsetof(description, name)

DEVICE_TEST(a_map_within_the_limits_is_made)
{
    static const struct {
        size_t field;
        uint64_t value;
    } changes[] = {
        {FIELD(rank), 1}, {FIELD(rank), 3}, {FIELD(rank), 5},
        {FIELD(map_offset), 16}, {FIELD(map_offset), 32}, /* a kernel wants 64, the encoder does not mind */
        {FIELD(sizes[0]), 1}, {FIELD(sizes[0]), (uint64_t)1 << 32}, {FIELD(sizes[1]), (uint64_t)1 << 32},
        {FIELD(strides[0]), ((uint64_t)1 << 40) - 16},
        {FIELD(box[0]), 8}, {FIELD(box[1]), 1}, {FIELD(box[1]), 256}, {FIELD(steps[1]), 8},
        {FIELD(swizzle), CU_TENSOR_MAP_SWIZZLE_NONE}, {FIELD(promotion), CU_TENSOR_MAP_L2_PROMOTION_NONE},
        {FIELD(promotion), CU_TENSOR_MAP_L2_PROMOTION_L2_64B}, {FIELD(promotion), CU_TENSOR_MAP_L2_PROMOTION_L2_256B},
        {FIELD(type), CU_TENSOR_MAP_DATA_TYPE_UINT8}, {FIELD(type), CU_TENSOR_MAP_DATA_TYPE_BFLOAT16},
        {FIELD(fill), CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA},
    };
    CUtensorMap map[2];
    open_context();
    need_tensor_maps();
    const description right = halves(memory(208 * 30));
    OK(encode(&right, map));
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        description d = right;
        *(uint64_t *)((char *)&d + changes[i].field) = changes[i].value;
        if (encode(&d, map) != CUDA_SUCCESS)
            check_fail(__FILE__, __LINE__, "change %zu is refused", i);
    }
}

DEVICE_TEST(a_map_outside_the_limits_is_refused)
{
    static const struct {
        size_t field;
        uint64_t value;
    } changes[] = {
        {FIELD(rank), 0}, {FIELD(rank), 6},
        {FIELD(sizes[0]), 0}, {FIELD(sizes[1]), 0}, {FIELD(sizes[1]), ((uint64_t)1 << 32) + 1},
        {FIELD(strides[0]), 200}, {FIELD(strides[0]), (uint64_t)1 << 40},
        {FIELD(box[0]), 0}, {FIELD(box[0]), 257}, {FIELD(box[1]), 0}, {FIELD(box[1]), 257},
        {FIELD(box[0]), 60}, /* 120 bytes */
        {FIELD(box[0]), 72}, /* 144 bytes, and a swizzle of 128 */
        {FIELD(swizzle), CU_TENSOR_MAP_SWIZZLE_64B}, {FIELD(swizzle), CU_TENSOR_MAP_SWIZZLE_32B},
        {FIELD(steps[1]), 0}, {FIELD(steps[1]), 9},
        {FIELD(type), 99}, {FIELD(swizzle), 99}, {FIELD(interleave), 99}, {FIELD(promotion), 99}, {FIELD(fill), 99},
    };
    CUtensorMap map[2];
    open_context();
    need_tensor_maps();
    const CUdeviceptr address = memory(208 * 30);
    const description right = halves(address);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        description d = right;
        *(uint64_t *)((char *)&d + changes[i].field) = changes[i].value;
        const CUresult result = encode(&d, map);
        if (result != CUDA_ERROR_INVALID_VALUE)
            check_fail(__FILE__, __LINE__, "change %zu gives %s", i, name_of(result));
    }
    description d = halves(address + 8);
    CU(encode(&d, map), CUDA_ERROR_INVALID_VALUE);
    d = halves(address);
    d.type = CU_TENSOR_MAP_DATA_TYPE_UINT16; /* NaN stands for no integer */
    d.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
    CU(encode(&d, map), CUDA_ERROR_INVALID_VALUE);
    OK(encode(&right, map));
    CU(cu->cuTensorMapReplaceAddress(map, (void *)(uintptr_t)(address + 8)), CUDA_ERROR_INVALID_VALUE);
}

/* NVIDIA's driver does not survive it. */
DEVICE_TEST(a_map_that_is_nowhere_is_refused)
{
    open_context();
    SOFT_ONLY;
    const CUdeviceptr address = memory(208 * 30);
    const description right = halves(address);
    CU(encode(&right, NULL), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuTensorMapReplaceAddress(NULL, (void *)(uintptr_t)address), CUDA_ERROR_INVALID_VALUE);
}

/* Copies. */

/* One thread brings a box; all write out what then lies in shared memory, byte by byte as it lies. */
static const char source[] =
    "struct __align__(64) tensor { unsigned long long words[16]; };\n"
    "template <int rank> __device__ void bring(const tensor &map, int bytes, int x, int y, int z, unsigned *out)\n"
    "{\n"
    "    extern __shared__ unsigned char raw[];\n"
    "    const unsigned tile = (unsigned)__cvta_generic_to_shared(raw) + 1023 & ~1023u, barrier = tile + bytes;\n"
    "    if (threadIdx.x == 0) {\n"
    "        asm volatile(\"mbarrier.init.shared::cta.b64 [%0], 1;\" :: \"r\"(barrier) : \"memory\");\n"
    "        asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n"
    "        asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\" :: \"r\"(barrier), \"r\"(bytes)\n"
    "                     : \"memory\");\n"
    "        if (rank == 2)\n"
    "            asm volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes \"\n"
    "                         \"[%0], [%1, {%2, %3}], [%4];\" :: \"r\"(tile), \"l\"(&map), \"r\"(x), \"r\"(y),\n"
    "                         \"r\"(barrier) : \"memory\");\n"
    "        else\n"
    "            asm volatile(\"cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes \"\n"
    "                         \"[%0], [%1, {%2, %3, %4}], [%5];\" :: \"r\"(tile), \"l\"(&map), \"r\"(x), \"r\"(y),\n"
    "                         \"r\"(z), \"r\"(barrier) : \"memory\");\n"
    "    }\n"
    "    __syncthreads();\n"
    "    for (int done = 0; !done;)\n"
    "        asm volatile(\"{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\"\n"
    "                     \" selp.b32 %0, 1, 0, p; }\"\n"
    "                     : \"=r\"(done) : \"r\"(barrier) : \"memory\");\n"
    "    for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x)\n"
    "        asm volatile(\"ld.shared.b32 %0, [%1];\" : \"=r\"(out[i]) : \"r\"(tile + 4 * i) : \"memory\");\n"
    "}\n"
    "extern \"C\" __global__ void bring_2d(const __grid_constant__ tensor map, int bytes, int x, int y, int z,\n"
    "                                    unsigned *out) { bring<2>(map, bytes, x, y, z, out); }\n"
    "extern \"C\" __global__ void bring_3d(const __grid_constant__ tensor map, int bytes, int x, int y, int z,\n"
    "                                    unsigned *out) { bring<3>(map, bytes, x, y, z, out); }\n"
    "extern \"C\" __global__ void send(const __grid_constant__ tensor map, int bytes, int x, int y)\n"
    "{\n"
    "    extern __shared__ unsigned char raw[];\n"
    "    const unsigned tile = (unsigned)__cvta_generic_to_shared(raw) + 1023 & ~1023u;\n"
    "    for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x)\n"
    "        asm volatile(\"st.shared.b32 [%0], %1;\" :: \"r\"(tile + 4 * i), \"r\"(~0u) : \"memory\");\n"
    "    asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n"
    "    __syncthreads();\n"
    "    if (threadIdx.x == 0) {\n"
    "        asm volatile(\"cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];\"\n"
    "                     :: \"l\"(&map), \"r\"(x), \"r\"(y), \"r\"(tile) : \"memory\");\n"
    "        asm volatile(\"cp.async.bulk.commit_group;\\n cp.async.bulk.wait_group 0;\" ::: \"memory\");\n"
    "    }\n"
    "}\n";

/* Words that follow their place, so that each is another. */
static CUdeviceptr numbered(size_t count)
{
    static uint16_t words[4096];
    CHECK(count <= 4096);
    for (size_t i = 0; i < count; i++)
        words[i] = (uint16_t)(i + 1);
    return upload(words, 2 * count);
}

/* Where a byte of a box lies: with a swizzle of 2, 4 or 8 sixteens, a sixteen's place in its line of that length is
 * exchanged by the number of the 128-byte line. */
static size_t place(size_t at, uint64_t swizzle)
{
    const size_t sixteens = (size_t)1 << swizzle;
    return swizzle ? at ^ (at / 128 % sixteens) * 16 : at;
}

/* Brings the box at (x, y, z) and compares it with the tensor of numbered words, zeros outside. */
static void check_box(const description *d, int x, int y, int z)
{
    static uint16_t tile[16384];
    CUtensorMap map;
    const int columns = (int)d->box[0], rows = (int)((d->box[1] + d->steps[1] - 1) / d->steps[1]);
    const int sheets = d->rank > 2 ? (int)d->box[2] : 1;
    int bytes = columns * rows * sheets * 2;
    CHECK((size_t)bytes <= sizeof tile);
    CUdeviceptr out = memory((size_t)bytes);
    void *arguments[] = {&map, &bytes, &x, &y, &z, &out};
    OK(encode(d, &map));
    OK(cu->cuLaunchKernel(kernel(d->rank == 2 ? "bring_2d" : "bring_3d"), 1, 1, 1, 64, 1, 1, (unsigned)bytes + 2048,
                          NULL, arguments, NULL));
    OK(cu->cuMemcpyDtoH(tile, out, (size_t)bytes));
    for (int i = 0; i < bytes / 2; i++) {
        const int64_t column = x + i % columns, row = y + i / columns % rows * (int)d->steps[1],
                      sheet = z + i / columns / rows;
        const bool inside = column >= 0 && column < (int64_t)d->sizes[0] && row >= 0 && row < (int64_t)d->sizes[1] &&
                            sheet >= 0 && sheet < (int64_t)d->sizes[2];
        const int64_t at = (row * (int64_t)d->strides[0] + sheet * (int64_t)d->strides[1]) / 2 + column;
        const uint16_t expected = inside ? (uint16_t)(at + 1) : 0;
        if (tile[place((size_t)i * 2, d->swizzle) / 2] != expected)
            check_fail(__FILE__, __LINE__, "swizzle %d, box at %d,%d,%d, element %d is %u, not %u", (int)d->swizzle, x,
                       y, z, i, tile[place((size_t)i * 2, d->swizzle) / 2], expected);
    }
}

static void load_bringer(void)
{
    open_context();
    need_tensor_maps();
    load_source(source);
}

DEVICE_TEST(a_box_comes_with_each_swizzle_and_zeros_outside)
{
    static const uint64_t columns[] = {[CU_TENSOR_MAP_SWIZZLE_NONE] = 40, [CU_TENSOR_MAP_SWIZZLE_32B] = 16,
                                       [CU_TENSOR_MAP_SWIZZLE_64B] = 32, [CU_TENSOR_MAP_SWIZZLE_128B] = 64};
    load_bringer();
    const CUdeviceptr address = numbered(104 * 30);
    for (uint64_t swizzle = 0; swizzle < 4; swizzle++) {
        description d = halves(address);
        d.type = CU_TENSOR_MAP_DATA_TYPE_UINT16;
        d.swizzle = swizzle;
        d.box[0] = columns[swizzle];
        check_box(&d, 8, 3, 0);
        check_box(&d, -8, -2, 0);
        check_box(&d, 88, 25, 0);
        check_box(&d, 104, 0, 0);
        check_box(&d, 0, -24, 0);
    }
}

DEVICE_TEST(a_box_that_does_not_begin_at_sixteen_bytes_is_an_illegal_instruction)
{
    CUtensorMap map;
    int bytes = 64 * 24 * 2, x = 4, none = 0;
    load_bringer();
    description d = halves(numbered(104 * 30));
    OK(encode(&d, &map));
    CUdeviceptr out = memory((size_t)bytes);
    void *arguments[] = {&map, &bytes, &x, &none, &none, &out};
    OK(cu->cuLaunchKernel(kernel("bring_2d"), 1, 1, 1, 64, 1, 1, (unsigned)bytes + 2048, NULL, arguments, NULL));
    CU(cu->cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_INSTRUCTION);
}

/* As an H200 does: of the sixteen bytes among which a row of the tensor ends all are written. */
DEVICE_TEST(a_stored_box_ends_with_whole_sixteens_and_with_the_last_row)
{
    static uint16_t rows[4][104];
    int bytes = 64 * 24 * 2, x = 64, y = 0;
    load_bringer();
    for (int columns = 64; columns <= 81; columns++) {
        CUtensorMap map;
        const CUdeviceptr address = memory(sizeof rows);
        description d = halves(address);
        d.sizes[0] = (uint64_t)columns;
        d.sizes[1] = 3;
        OK(encode(&d, &map));
        launch("send", 1, 64, 1, (unsigned)bytes + 1024, (void *[]){&map, &bytes, &x, &y});
        OK(cu->cuMemcpyDtoH(rows, address, sizeof rows));
        for (int i = 0; i < 4 * 104; i++) {
            const bool written = i / 104 < 3 && i % 104 >= 64 && i % 104 < (columns + 7) / 8 * 8;
            if ((rows[i / 104][i % 104] == 0xffff) != written)
                check_fail(__FILE__, __LINE__, "%d columns, row %d, element %d is %x", columns, i / 104, i % 104,
                           rows[i / 104][i % 104]);
        }
    }
}

DEVICE_TEST(a_box_has_steps_and_a_third_dimension)
{
    load_bringer();
    description d = halves(numbered(104 * 30));
    d.type = CU_TENSOR_MAP_DATA_TYPE_UINT16;
    d.rank = 3;
    d.sizes[1] = 10;
    d.sizes[2] = 3;
    d.strides[1] = 208 * 10;
    d.box[1] = 7; /* four rows, two apart */
    d.box[2] = 4;
    d.steps[1] = 2;
    check_box(&d, 8, 1, 0);
    check_box(&d, 88, 5, -1);
    check_box(&d, -8, -3, 2);
}

DEVICE_TEST(a_box_counts_for_what_it_fetches)
{
    CUtensorMap map;
    gtSoftLaunch counts;
    int bytes = 64 * 24 * 2, x = 96, y = 25, z = 0;
    load_bringer();
    SOFT_ONLY;
    description d = halves(numbered(104 * 30));
    OK(encode(&d, &map));
    CUdeviceptr out = memory((size_t)bytes);
    launch("bring_2d", 1, 64, 1, 8192, (void *[]){&map, &bytes, &x, &y, &z, &out});
    CHECK_INT(cu->soft->counts(&counts, sizeof counts), 0);
    CHECK_INT(counts.async_bytes, bytes);
    CHECK_INT(counts.global_bytes, bytes + 5 * 4 * 2); /* what is written out, and five rows of four inside */
}

DEVICE_TEST(a_map_can_be_pointed_elsewhere)
{
    CUtensorMap map;
    load_bringer();
    const CUdeviceptr address = numbered(104 * 30);
    description d = halves(address);
    d.type = CU_TENSOR_MAP_DATA_TYPE_UINT16;
    OK(encode(&d, &map));
    OK(cu->cuTensorMapReplaceAddress(&map, (void *)(uintptr_t)(address + 208)));
    int bytes = 64 * 24 * 2, none = 0;
    CUdeviceptr out = memory((size_t)bytes);
    void *arguments[] = {&map, &bytes, &none, &none, &none, &out};
    OK(cu->cuLaunchKernel(kernel("bring_2d"), 1, 1, 1, 64, 1, 1, (unsigned)bytes + 2048, NULL, arguments, NULL));
    CHECK_INT(word(out) & 0xffff, 105);
}

/* A tensor of 8 x 8 floats, as what the map says they are. */
static void bring_floats(CUtensorMapDataType type, const uint32_t *floats, uint32_t *out)
{
    CUtensorMap map;
    int bytes = 256, none = 0;
    CUdeviceptr from = upload(floats, 256), to = memory(256);
    description d = halves(from);
    d.type = type;
    d.swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
    d.sizes[0] = d.sizes[1] = d.box[0] = d.box[1] = 8;
    d.strides[0] = 32;
    OK(encode(&d, &map));
    launch("bring_2d", 1, 32, 1, 4096, (void *[]){&map, &bytes, &none, &none, &none, &to});
    OK(cu->cuMemcpyDtoH(out, to, 256));
}

DEVICE_TEST(floats_come_as_they_are_or_as_the_map_wants_them)
{
    static const uint32_t exact[] = {0x3f800000, 0xc0490000, 0x00000000, 0x7f800000, 0x42f6e000, 0xbf802000};
    static const struct {
        uint32_t from, flushed, rounded;
    } others[] = {
        {0x3f801000, 0x3f801000, 0x3f800000}, /* ties go to even */
        {0x3f803000, 0x3f803000, 0x3f804000}, {0x3f801001, 0x3f801001, 0x3f802000},
        {0x3f800fff, 0x3f800fff, 0x3f800000}, {0x807fffff, 0x80000000, 0x80800000},
        {0x00000001, 0x00000000, 0x00000000}, {0x7f7fffff, 0x7f7fffff, 0x7f800000},
    };
    uint32_t in[64], out[64];
    load_bringer();
    for (int i = 0; i < 64; i++)
        in[i] = exact[i % 6];
    bring_floats(CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, in, out);
    CHECK(memcmp(in, out, sizeof in) == 0);
    for (int i = 0; i < 64; i++)
        in[i] = others[i % 7].from;
    bring_floats(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, in, out);
    CHECK(memcmp(in, out, sizeof in) == 0);
    SOFT_ONLY; /* how a GPU rounds is not documented */
    bring_floats(CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ, in, out);
    for (int i = 0; i < 64; i++)
        CHECK_INT(out[i], others[i % 7].flushed);
    bring_floats(CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, in, out);
    for (int i = 0; i < 64; i++)
        CHECK_INT(out[i], others[i % 7].rounded);
}

CHECK_MAIN
