/* Virtual memory: reservations, physical memory, mappings and who may touch them. */
#include "driver_fixture.h"

#define GRANULE ((size_t)2 << 20)
#define GIB     ((size_t)1 << 30)
#define FAR     (16 * GIB)

static const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                         .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
static const CUmemAccessDesc both = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
static const CUmemAccessDesc none = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_NONE};

/* Thread i has the word i distances behind p. spread writes v + i there; collect writes what is there, and 1, to the
 * words of `to`. */
#define ELEMENT                                                                                              \
    ".reg .b64 %r<8>; .reg .b32 %w<4>; ld.param.u64 %r1, [p]; ld.param.u64 %r2, [d]; mov.u32 %w1, %tid.x;\n" \
    "cvt.u64.u32 %r3, %w1; mul.lo.s64 %r4, %r3, %r2; add.s64 %r5, %r1, %r4;\n"

static const char sparse[] =
    PTX("8.0", "sm_80")
    ".visible .entry spread(.param .u64 p, .param .u64 d, .param .u32 v)\n{\n" ELEMENT
    "ld.param.u32 %w2, [v]; add.s32 %w2, %w2, %w1; st.global.u32 [%r5], %w2; ret;\n}\n"
    ".visible .entry collect(.param .u64 p, .param .u64 d, .param .u64 to)\n{\n" ELEMENT
    "ld.param.u64 %r6, [to]; ld.global.u32 %w2, [%r5]; add.s32 %w2, %w2, 1; mul.wide.u32 %r7, %w1, 4;\n"
    "add.s64 %r6, %r6, %r7; st.global.u32 [%r6], %w2; ret;\n}\n";

static void open_sparse(void)
{
    open_context();
    OK(cu->cuLibraryLoadData(&library, sparse, NULL, NULL, 0, NULL, NULL, 0));
}

static CUdeviceptr reserve(size_t bytes)
{
    CUdeviceptr address = 0;
    OK(cu->cuMemAddressReserve(&address, bytes, 0, 0, 0));
    return address;
}

static CUmemGenericAllocationHandle create(size_t bytes)
{
    CUmemGenericAllocationHandle handle;
    OK(cu->cuMemCreate(&handle, bytes, &prop, 0));
    return handle;
}

/* Memory at a reserved address that lives until it is unmapped. */
static void place(CUdeviceptr address, size_t bytes)
{
    const CUmemGenericAllocationHandle handle = create(bytes);
    OK(cu->cuMemMap(address, bytes, 0, handle, 0));
    OK(cu->cuMemSetAccess(address, bytes, &both, 1));
    OK(cu->cuMemRelease(handle));
}

static size_t available(void)
{
    size_t bytes, total;
    OK(cu->cuMemGetInfo(&bytes, &total));
    return bytes;
}

static CUresult spread(CUdeviceptr p, size_t d, unsigned v, unsigned threads)
{
    void *arguments[] = {&p, &d, &v};
    OK(cu->cuLaunchKernel(kernel("spread"), 1, 1, 1, threads, 1, 1, 0, NULL, arguments, NULL));
    return cu->cuCtxSynchronize();
}

DEVICE_TEST(operands_lie_billions_of_elements_apart)
{
    unsigned seen[3] = {0};
    open_sparse();
    const CUdeviceptr base = reserve(40 * GIB);
    CUdeviceptr p = base + 4096, to;
    size_t d = FAR;
    for (size_t i = 0; i < 3; i++)
        place(base + i * FAR, GRANULE);
    OK(cu->cuMemAlloc(&to, sizeof seen));
    CHECK(to < base || to >= base + 40 * GIB);
    OK(spread(p, d, 100, 3));
    for (unsigned i = 0; i < 3; i++)
        CHECK_INT(word(p + i * d), 100 + i);
    for (unsigned i = 0; i < 3; i++) {
        const unsigned value = 7 * i;
        OK(cu->cuMemcpyHtoD(p + i * d, &value, sizeof value));
    }
    OK(cu->cuLaunchKernel(kernel("collect"), 1, 1, 1, 3, 1, 1, 0, NULL, (void *[]){&p, &d, &to}, NULL));
    OK(cu->cuMemcpyDtoH(seen, to, sizeof seen));
    for (unsigned i = 0; i < 3; i++)
        CHECK_INT(seen[i], 7 * i + 1);
    OK(cu->cuMemUnmap(base, 40 * GIB));
    OK(cu->cuMemAddressFree(base, 40 * GIB));
}

DEVICE_TEST(addresses_without_memory_cannot_be_touched_by_the_host)
{
    open_sparse();
    const CUdeviceptr base = reserve(40 * GIB);
    CU(cu->cuMemsetD8(base, 1, 4), CUDA_ERROR_INVALID_VALUE);
    place(base + FAR, GRANULE);
    OK(cu->cuMemsetD8(base + FAR, 1, GRANULE));
    CU(cu->cuMemsetD8(base, 1, 4), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemsetD8(base + FAR - 1, 1, 2), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemsetD8(base + FAR, 1, GRANULE + 1), CUDA_ERROR_INVALID_VALUE);
    OK(cu->cuMemUnmap(base + FAR, GRANULE));
    CU(cu->cuMemsetD8(base + FAR, 1, 4), CUDA_ERROR_INVALID_VALUE);
    OK(cu->cuCtxSynchronize());
}

DEVICE_TEST(a_kernel_between_two_mappings_breaks_the_context)
{
    open_sparse();
    const CUdeviceptr base = reserve(40 * GIB);
    place(base, GRANULE);
    place(base + FAR, GRANULE);
    OK(spread(base, FAR, 1, 2));
    CU(spread(base, FAR / 2, 1, 3), CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(cu->cuMemUnmap(base, 40 * GIB)); /* what needs no context goes on */
    OK(cu->cuMemAddressFree(base, 40 * GIB));
    OK(cu->cuMemRelease(create(GRANULE)));
}

DEVICE_TEST(a_kernel_just_behind_a_mapping_breaks_the_context)
{
    open_sparse();
    const CUdeviceptr base = reserve(2 * GRANULE);
    place(base, GRANULE);
    OK(spread(base, GRANULE - 4, 1, 2));
    CU(spread(base, GRANULE, 1, 2), CUDA_ERROR_ILLEGAL_ADDRESS);
}

DEVICE_TEST(a_kernel_breaks_the_context_where_memory_was_unmapped)
{
    open_sparse();
    const CUdeviceptr base = reserve(GRANULE);
    place(base, GRANULE);
    OK(spread(base, 4, 1, 32));
    OK(cu->cuMemUnmap(base, GRANULE));
    CU(spread(base, 4, 1, 32), CUDA_ERROR_ILLEGAL_ADDRESS);
}

DEVICE_TEST(a_kernel_breaks_the_context_before_access_is_given)
{
    open_sparse();
    const CUdeviceptr base = reserve(GRANULE);
    OK(cu->cuMemMap(base, GRANULE, 0, create(GRANULE), 0));
    CU(spread(base, 4, 1, 32), CUDA_ERROR_ILLEGAL_ADDRESS);
}

DEVICE_TEST(memory_is_touched_only_while_access_is_given)
{
    unsigned value = 5;
    open_sparse();
    const CUdeviceptr base = reserve(GRANULE);
    OK(cu->cuMemMap(base, GRANULE, 0, create(GRANULE), 0));
    CU(cu->cuMemcpyHtoD(base, &value, sizeof value), CUDA_ERROR_INVALID_VALUE);
    OK(cu->cuMemSetAccess(base, GRANULE, &both, 1));
    OK(cu->cuMemcpyHtoD(base, &value, sizeof value));
    OK(cu->cuMemSetAccess(base, GRANULE, &none, 1));
    CU(cu->cuMemcpyDtoH(&value, base, sizeof value), CUDA_ERROR_INVALID_VALUE);
    OK(cu->cuMemSetAccess(base, GRANULE, &both, 1));
    CHECK_INT(word(base), 5);
}

DEVICE_TEST(memory_keeps_its_bytes_from_one_address_to_another)
{
    open_sparse();
    const CUdeviceptr base = reserve(40 * GIB);
    const CUmemGenericAllocationHandle handle = create(GRANULE);
    OK(cu->cuMemMap(base, GRANULE, 0, handle, 0));
    OK(cu->cuMemSetAccess(base, GRANULE, &both, 1));
    OK(spread(base, 4, 10, 32));
    OK(cu->cuMemMap(base + FAR, GRANULE, 0, handle, 0)); /* two addresses at once */
    CU(cu->cuMemsetD8(base + FAR, 1, 4), CUDA_ERROR_INVALID_VALUE); /* access is a mapping's own */
    OK(cu->cuMemSetAccess(base + FAR, GRANULE, &both, 1));
    CHECK_INT(word(base + FAR + 4 * 31), 41);
    OK(spread(base + FAR, 4, 20, 32));
    CHECK_INT(word(base + 4 * 31), 51);
    OK(cu->cuMemUnmap(base, GRANULE));
    CHECK_INT(word(base + FAR), 20);
    OK(cu->cuMemUnmap(base + FAR, GRANULE));
    OK(cu->cuMemMap(base + GRANULE, GRANULE, 0, handle, 0)); /* its handle was not released */
    OK(cu->cuMemSetAccess(base + GRANULE, GRANULE, &both, 1));
    CHECK_INT(word(base + GRANULE), 20);
}

DEVICE_TEST(mappings_side_by_side_are_one_range)
{
    unsigned char *there = malloc(2 * GRANULE), *back = calloc(2, GRANULE);
    open_sparse();
    const CUdeviceptr base = reserve(4 * GRANULE);
    CHECK(there && back);
    for (size_t i = 0; i < 4; i++)
        OK(cu->cuMemMap(base + i * GRANULE, GRANULE, 0, create(GRANULE), 0));
    OK(cu->cuMemSetAccess(base, 3 * GRANULE, &both, 1));
    for (size_t i = 0; i < 2 * GRANULE; i++)
        there[i] = (unsigned char)(i * 31 >> 3);
    OK(cu->cuMemcpyHtoD(base + 1000, there, 2 * GRANULE));
    OK(cu->cuMemcpyDtoH(back, base + 1000, 2 * GRANULE));
    CHECK(memcmp(there, back, 2 * GRANULE) == 0);
    free(there);
    free(back);
    OK(cu->cuMemsetD8(base, 1, 3 * GRANULE));
    CHECK_INT(word(base + 2 * GRANULE), 0x01010101);
    OK(spread(base + GRANULE - 64, 4, 0, 32));
    CHECK_INT(word(base + GRANULE), 16);
    CU(cu->cuMemsetD8(base, 1, 3 * GRANULE + 1), CUDA_ERROR_INVALID_VALUE);
    OK(cu->cuMemSetAccess(base + GRANULE, GRANULE, &none, 1));
    CU(cu->cuMemsetD8(base, 1, 3 * GRANULE), CUDA_ERROR_INVALID_VALUE);
    OK(cu->cuMemUnmap(base, 4 * GRANULE));
}

DEVICE_TEST(physical_memory_counts_until_it_is_released_and_unmapped)
{
    const size_t bytes = 256 << 20;
    open_sparse();
    const size_t before = available();
    const CUdeviceptr base = reserve(128 * GIB);
    CHECK(available() == before); /* addresses cost nothing */
    const CUmemGenericAllocationHandle handle = create(bytes), second = create(bytes);
    CHECK(available() == before - 2 * bytes);
    OK(cu->cuMemMap(base, bytes, 0, handle, 0));
    OK(cu->cuMemMap(base + FAR, bytes, 0, handle, 0));
    OK(cu->cuMemSetAccess(base + FAR, bytes, &both, 1));
    CHECK(available() == before - 2 * bytes);
    OK(cu->cuMemRelease(second));
    CHECK(available() == before - bytes);
    OK(cu->cuMemRelease(handle));
    CHECK(available() == before - bytes);
    OK(cu->cuMemsetD8(base + FAR, 1, bytes));
    OK(cu->cuMemUnmap(base + FAR, bytes));
    CHECK(available() == before - bytes);
    OK(cu->cuMemUnmap(base, bytes));
    CHECK(available() == before);
    OK(cu->cuMemAddressFree(base, 128 * GIB));
}

DEVICE_TEST(fresh_memory_may_not_be_read)
{
    open_sparse();
    SOFT_ONLY; /* a GPU cannot tell */
    CUdeviceptr base = reserve(GRANULE), to = memory(4);
    size_t d = 4;
    place(base, GRANULE);
    OK(cu->cuMemsetD8(base, 1, GRANULE));
    OK(cu->cuMemUnmap(base, GRANULE));
    place(base, GRANULE);
    OK(cu->cuLaunchKernel(kernel("collect"), 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&base, &d, &to}, NULL));
    CU(cu->cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
}

DEVICE_TEST(bytes_of_several_mappings_are_protected)
{
    open_sparse();
    SOFT_ONLY;
    const CUdeviceptr base = reserve(2 * GRANULE);
    place(base, GRANULE);
    place(base + GRANULE, GRANULE);
    CHECK_INT(cu->soft->protect(base + 64, 2 * GRANULE - 64, 0), 0);
    CHECK_INT(cu->soft->protect(base + GRANULE - 8, 16, 1), 0);
    OK(spread(base + GRANULE - 8, 4, 0, 4));
    CU(spread(base + GRANULE - 8, 4, 0, 5), CUDA_ERROR_ILLEGAL_ADDRESS);
}

DEVICE_TEST(virtual_memory_outlives_contexts)
{
    const size_t bytes = 64 << 20;
    open_sparse();
    const CUdeviceptr base = reserve(bytes);
    place(base, bytes);
    OK(cu->cuMemsetD8(base, 3, bytes));
    OK(cu->cuDevicePrimaryCtxRelease(0));
    OK(cu->cuDevicePrimaryCtxRetain(&context, 0));
    OK(cu->cuCtxSetCurrent(context));
    CHECK_INT(word(base), 0x03030303);
    OK(cu->cuMemUnmap(base, bytes));
    OK(cu->cuMemAddressFree(base, bytes));
}

DEVICE_TEST(no_context_is_needed)
{
    CUdeviceptr address;
    size_t granularity = 0;
    open_driver();
    OK(cu->cuMemGetAllocationGranularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CHECK_INT(granularity, GRANULE);
    OK(cu->cuMemAddressReserve(&address, GRANULE, 0, 0, 0));
    const CUmemGenericAllocationHandle handle = create(GRANULE);
    OK(cu->cuMemMap(address, GRANULE, 0, handle, 0));
    OK(cu->cuMemUnmap(address, GRANULE));
    OK(cu->cuMemRelease(handle));
    OK(cu->cuMemAddressFree(address, GRANULE));
}

/* What is refused. */

DEVICE_TEST(a_granularity_is_asked_for_properly)
{
    size_t bytes = 0;
    int supported = 0;
    open_driver();
    OK(cu->cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
    CHECK_INT(supported, 1);
    OK(cu->cuMemGetAllocationGranularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    CHECK_INT(bytes, GRANULE);
    CU(cu->cuMemGetAllocationGranularity(NULL, &prop, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemGetAllocationGranularity(&bytes, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemGetAllocationGranularity(&bytes, &prop, (CUmemAllocationGranularity_flags)2), CUDA_ERROR_INVALID_VALUE);
}

DEVICE_TEST(reservations_are_whole_aligned_and_freed_as_they_were_made)
{
    CUdeviceptr address, other;
    open_context();
    static const size_t wrong[] = {0, 1, 4096, GRANULE - 1, GRANULE + 4096};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CU(cu->cuMemAddressReserve(&address, wrong[i], 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemAddressReserve(&address, GRANULE, 3, 0, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemAddressReserve(&address, GRANULE, 0, 4097, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemAddressReserve(&address, GRANULE, 0, 0, 1), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemAddressReserve(NULL, GRANULE, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemAddressReserve(&address, (size_t)1 << 60, 0, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cu->cuMemAddressReserve(&address, 3 * GRANULE, GIB, 0, 0));
    CHECK(address % GIB == 0);
    OK(cu->cuMemAddressReserve(&other, GRANULE, 4096, 0, 0));
    CHECK(other % GRANULE == 0 && (other >= address + 3 * GRANULE || other + GRANULE <= address));
    CU(cu->cuMemAddressFree(address, 2 * GRANULE), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemAddressFree(address + GRANULE, 2 * GRANULE), CUDA_ERROR_INVALID_VALUE);
    place(address + GRANULE, GRANULE);
    CU(cu->cuMemAddressFree(address, 3 * GRANULE), CUDA_ERROR_INVALID_VALUE);
    OK(cu->cuMemUnmap(address + GRANULE, GRANULE));
    OK(cu->cuMemAddressFree(address, 3 * GRANULE));
    CU(cu->cuMemAddressFree(address, 3 * GRANULE), CUDA_ERROR_INVALID_VALUE);
    OK(cu->cuMemAddressFree(other, GRANULE));
}

DEVICE_TEST(physical_memory_is_created_whole_and_on_a_device)
{
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp wrong = prop;
    open_context();
    CU(cu->cuMemCreate(&handle, 0, &prop, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemCreate(&handle, GRANULE + 4096, &prop, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemCreate(NULL, GRANULE, &prop, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemCreate(&handle, GRANULE, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemCreate(&handle, GRANULE, &prop, 1), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemCreate(&handle, (size_t)1 << 40, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
    wrong.type = CU_MEM_ALLOCATION_TYPE_INVALID;
    CU(cu->cuMemCreate(&handle, GRANULE, &wrong, 0), CUDA_ERROR_INVALID_VALUE);
    wrong = prop;
    wrong.location.type = CU_MEM_LOCATION_TYPE_INVALID;
    CU(cu->cuMemCreate(&handle, GRANULE, &wrong, 0), CUDA_ERROR_INVALID_VALUE);
    wrong = prop;
    wrong.location.id = 99;
    CU(cu->cuMemCreate(&handle, GRANULE, &wrong, 0), CUDA_ERROR_INVALID_DEVICE);
    SOFT_ONLY; /* to the driver that is undefined */
    handle = create(GRANULE);
    OK(cu->cuMemRelease(handle));
    CU(cu->cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemRelease(0), CUDA_ERROR_INVALID_VALUE);
}

DEVICE_TEST(mappings_are_whole_and_do_not_overlap)
{
    open_context();
    const CUdeviceptr base = reserve(GIB);
    const CUmemGenericAllocationHandle one = create(GRANULE), four = create(4 * GRANULE);
    CU(cu->cuMemMap(base + 4096, GRANULE, 0, one, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemMap(base, 0, 0, one, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemMap(base, GRANULE, 0, one, 1), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemMap(base + GIB + FAR, GRANULE, 0, one, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemMap(base, GRANULE / 2, 0, one, 0), CUDA_ERROR_NOT_SUPPORTED);
    CU(cu->cuMemMap(base, 2 * GRANULE, 0, one, 0), CUDA_ERROR_NOT_SUPPORTED);
    CU(cu->cuMemMap(base, GRANULE, 0, four, 0), CUDA_ERROR_NOT_SUPPORTED);
    CU(cu->cuMemMap(base, GRANULE, GRANULE, four, 0), CUDA_ERROR_NOT_SUPPORTED);
    OK(cu->cuMemMap(base + 4 * GRANULE, 4 * GRANULE, 0, four, 0));
    CU(cu->cuMemMap(base + 4 * GRANULE, 4 * GRANULE, 0, four, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemMap(base + 7 * GRANULE, GRANULE, 0, one, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemMap(base + GRANULE, 4 * GRANULE, 0, four, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cu->cuMemMap(base + 8 * GRANULE, GRANULE, 0, one, 0));
    OK(cu->cuMemMap(base, 4 * GRANULE, 0, four, 0));
    SOFT_ONLY; /* an H200's driver maps beyond a reservation's end, and what was released */
    CU(cu->cuMemMap(base + GIB - GRANULE, 4 * GRANULE, 0, four, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cu->cuMemRelease(one));
    CU(cu->cuMemMap(base + 100 * GRANULE, GRANULE, 0, one, 0), CUDA_ERROR_INVALID_VALUE);
}

DEVICE_TEST(whole_mappings_are_unmapped)
{
    open_context();
    const CUdeviceptr base = reserve(GIB);
    place(base, 4 * GRANULE);
    place(base + 4 * GRANULE, 2 * GRANULE);
    CU(cu->cuMemUnmap(base, GRANULE), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemUnmap(base + GRANULE, 3 * GRANULE), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemUnmap(base, 5 * GRANULE), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemUnmap(base, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemUnmap(base + GIB + FAR, GRANULE), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemFree(base), CUDA_ERROR_INVALID_VALUE);
    OK(cu->cuMemsetD8(base, 1, 6 * GRANULE)); /* all of it is still there */
    OK(cu->cuMemUnmap(base + 100 * GRANULE, GRANULE)); /* nothing there */
    OK(cu->cuMemUnmap(base, 7 * GRANULE));
    OK(cu->cuMemUnmap(base, 7 * GRANULE));
    CU(cu->cuMemsetD8(base, 1, 4), CUDA_ERROR_INVALID_VALUE);
    place(base + GRANULE, 4 * GRANULE); /* free for others */
}

DEVICE_TEST(access_is_given_to_whole_mappings)
{
    CUmemAccessDesc wrong = both;
    open_context();
    const CUdeviceptr base = reserve(GIB);
    OK(cu->cuMemMap(base, 4 * GRANULE, 0, create(4 * GRANULE), 0));
    OK(cu->cuMemMap(base + 4 * GRANULE, 2 * GRANULE, 0, create(2 * GRANULE), 0));
    CU(cu->cuMemSetAccess(base, GRANULE, &both, 1), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemSetAccess(base, 7 * GRANULE, &both, 1), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemSetAccess(base + 10 * GRANULE, GRANULE, &both, 1), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemSetAccess(base + 4096, 4 * GRANULE, &both, 1), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemSetAccess(base, 0, &both, 1), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemSetAccess(base, 4 * GRANULE, NULL, 1), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemSetAccess(base, 4 * GRANULE, &both, 0), CUDA_ERROR_INVALID_VALUE);
    wrong.location.id = 99;
    CU(cu->cuMemSetAccess(base, 4 * GRANULE, &wrong, 1), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemsetD8(base, 1, 4), CUDA_ERROR_INVALID_VALUE); /* none of it gave any */
    OK(cu->cuMemSetAccess(base, 6 * GRANULE, &both, 1));
    OK(cu->cuMemsetD8(base, 1, 6 * GRANULE));
    OK(cu->cuMemSetAccess(base, 6 * GRANULE, &both, 1));
    OK(cu->cuMemsetD8(base, 1, 6 * GRANULE));
}

CHECK_MAIN
