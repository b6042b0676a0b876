/* The driver, its device, contexts and memory. */
#include <pthread.h>

#include "../src/core/device.h"
#include "driver_fixture.h"

DEVICE_TEST(nothing_answers_before_the_driver_is_started)
{
    int count;
    CUdeviceptr address;
    void *driver = dlopen(path() ? path() : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!driver)
        SKIP(dlerror());
    __typeof__(cuDeviceGetCount) *get_count = dlsym(driver, STRING(cuDeviceGetCount));
    __typeof__(cuMemAlloc) *allocate_memory = dlsym(driver, STRING(cuMemAlloc));
    __typeof__(cuInit) *start = dlsym(driver, STRING(cuInit));
    const CUresult counted = get_count(&count), allocated = allocate_memory(&address, 4), started = start(1);
    open_driver();
    CU(counted, CUDA_ERROR_NOT_INITIALIZED);
    CU(allocated, CUDA_ERROR_NOT_INITIALIZED);
    CU(started, CUDA_ERROR_INVALID_VALUE); /* no flags are known */
    OK(get_count(&count));
    dlclose(driver);
}

DEVICE_TEST(a_device_has_the_facts_that_the_project_asks_for)
{
    gt_device device;
    int value, count;
    open_driver();
    CHECK(cu->version >= 12000);
    CHECK_OK(gt_device_query(cu, 0, &device));
    CHECK(device.sm_count > 0 && device.clock_khz > 0 && device.l2_bytes > 0 && device.memory_bytes > 0);
    CHECK(device.smem_limit > 48 << 10 && device.registers_per_sm == 65536);
    OK(cu->cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
    CHECK_INT(value, 32);
    OK(cu->cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 0));
    CHECK_INT(value, 0x7fffffff);
    OK(cu->cuDeviceGetCount(&count));
    CU(cu->cuDeviceGet(&value, count), CUDA_ERROR_INVALID_DEVICE);
    CU(cu->cuDeviceGet(&value, -1), CUDA_ERROR_INVALID_DEVICE);
    CU(cu->cuDeviceGet(NULL, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuDeviceGetAttribute(&value, (CUdevice_attribute)10000, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, count), CUDA_ERROR_INVALID_DEVICE);
    CU(cu->cuDeviceGetCount(NULL), CUDA_ERROR_INVALID_VALUE);
}

DEVICE_TEST(a_name_is_cut_to_fit)
{
    char name[8] = "-------";
    open_driver();
    OK(cu->cuDeviceGetName(name, 5, 0));
    CHECK_STR(name, "NVID");
    CHECK_STR(name + 5, "--");
    CU(cu->cuDeviceGetName(NULL, 5, 0), CUDA_ERROR_INVALID_VALUE);
}

DEVICE_TEST(errors_have_names_and_descriptions)
{
    const char *text = "";
    open_driver();
    OK(cu->cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
    CHECK_STR(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
    OK(cu->cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &text));
    CHECK_STR(text, "invalid argument");
    CU(cu->cuGetErrorName((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
    CHECK(!text);
}

DEVICE_TEST(the_environment_chooses_the_device)
{
    static const struct {
        const char *key;
        int cc, sm_count;
    } profiles[] = {{"a100", 80, 108},       {"rtx4090", 89, 128}, {"t4", 75, 40}, {"h200", 90, 132},
                    {"h200,races", 90, 132}, {"", 90, 132}};
    gt_device device;
    SOFT_ONLY;
    for (size_t i = 0; i < sizeof profiles / sizeof profiles[0]; i++) {
        setenv("GEMMTUNE_SOFT", profiles[i].key, 1);
        CHECK_OK(gt_driver_open(path(), &cu));
        CHECK_OK(gt_device_query(cu, 0, &device));
        CHECK_INT(device.cc, profiles[i].cc);
        CHECK_INT(device.sm_count, profiles[i].sm_count);
        gt_driver_close(cu);
    }
    cu = NULL;
    setenv("GEMMTUNE_SOFT", "abacus", 1);
    CHECK_STATUS(gt_driver_open(path(), &cu), GT_ERROR_NO_DEVICE);
    setenv("GEMMTUNE_SOFT", "h200,magic", 1);
    CHECK_STATUS(gt_driver_open(path(), &cu), GT_ERROR_NO_DEVICE);
}

DEVICE_TEST(several_devices_have_a_primary_context_each)
{
    CUcontext contexts[2];
    gt_device devices[2];
    int count;
    SOFT_ONLY;
    for (int bad = 0; bad < 3; bad++) {
        setenv("GEMMTUNE_SOFT", (const char *[]){"h200,gpus=0", "h200,gpus=17", "h200,gpus=2x"}[bad], 1);
        CHECK_STATUS(gt_driver_open(path(), &cu), GT_ERROR_NO_DEVICE);
    }
    setenv("GEMMTUNE_SOFT", "a100,gpus=2", 1);
    open_driver();
    CHECK_OK(gt_device_count(cu, &count));
    CHECK_INT(count, 2);
    for (int i = 0; i < 2; i++) {
        CUdevice device;
        CHECK_OK(gt_device_query(cu, i, &devices[i]));
        OK(cu->cuDevicePrimaryCtxRetain(&contexts[i], i));
        OK(cu->cuCtxSetCurrent(contexts[i]));
        OK(cu->cuCtxGetDevice(&device));
        CHECK_INT(device, i);
    }
    CHECK(contexts[0] != contexts[1]);
    CHECK_STR(devices[0].name, devices[1].name);
    CHECK(strcmp(devices[0].bus_id, devices[1].bus_id) != 0);
    OK(cu->cuDevicePrimaryCtxRelease(1));
    CU(cu->cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    OK(cu->cuCtxSetCurrent(contexts[0]));
    OK(cu->cuCtxSynchronize());
    OK(cu->cuDevicePrimaryCtxRelease(0));
    CU(cu->cuDevicePrimaryCtxRetain(&contexts[0], 2), CUDA_ERROR_INVALID_DEVICE);
}

DEVICE_TEST(a_choice_goes_before_the_environment)
{
    gt_device device;
    SOFT_ONLY;
    void *driver = dlopen(path(), RTLD_NOW | RTLD_LOCAL);
    CHECK(driver);
    int (*choose)(const char *) = soft_table(driver)->choose;
    setenv("GEMMTUNE_SOFT", "a100", 1);
    CHECK_INT(choose("abacus"), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(choose(NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(choose("rtx4090"), CUDA_SUCCESS);
    CHECK_INT(choose(""), CUDA_SUCCESS);
    CHECK_INT(choose("h200"), CUDA_SUCCESS); /* the last one counts */
    open_driver();
    CHECK_OK(gt_device_query(cu, 0, &device));
    CHECK_INT(device.cc, 90);
    CHECK_INT(choose("h200"), CUDA_SUCCESS);
    CHECK_INT(choose(""), CUDA_SUCCESS);
    CHECK_INT(choose("a100"), CUDA_ERROR_ILLEGAL_STATE);
    CHECK_INT(choose("h200,races"), CUDA_ERROR_ILLEGAL_STATE);
    dlclose(driver);
}

/* A program that is linked with the software GPU starts it before libgemmtune opens it by this variable. */
DEVICE_TEST(the_variable_that_names_the_driver_chooses_the_device)
{
    gt_driver *other = NULL;
    gt_device device;
    SOFT_ONLY;
    setenv("GEMMTUNE_SOFTGPU", path(), 1);
    unsetenv("GEMMTUNE_SOFT");
    setenv("GEMMTUNE_DRIVER", "soft:t4", 1);
    CHECK_OK(gt_driver_open(path(), &cu));
    CHECK_OK(gt_device_query(cu, 0, &device));
    CHECK_INT(device.cc, 75);
    CHECK_OK(gt_driver_open(NULL, &other));
    gt_driver_close(other);
    CHECK_STATUS(gt_driver_open("soft:a100", &other), GT_ERROR_NO_DEVICE);
    CHECK(strstr(gt_error_message(), "run it with GEMMTUNE_DRIVER=soft:a100"));
}

DEVICE_TEST(a_software_gpu_with_too_short_a_table_is_refused)
{
    const char *older = getenv("GEMMTUNE_OLDER_SOFTGPU");
    SOFT_ONLY;
    CHECK(older);
    CHECK_STATUS(gt_driver_open(older, &cu), GT_ERROR_NO_DRIVER);
    CHECK(strstr(gt_error_message(), "older"));
    setenv("GEMMTUNE_SOFTGPU", older, 1);
    CHECK_STATUS(gt_driver_open("soft", &cu), GT_ERROR_NO_DRIVER);
    CHECK(strstr(gt_error_message(), "older"));
}

/* Contexts. */

DEVICE_TEST(work_needs_a_context)
{
    CUdeviceptr address;
    CUstream stream;
    CUdevice device;
    CUcontext current = (CUcontext)1;
    open_driver();
    OK(cu->cuCtxGetCurrent(&current));
    CHECK(!current);
    CU(cu->cuMemAlloc(&address, 4), CUDA_ERROR_INVALID_CONTEXT);
    CU(cu->cuStreamCreate(&stream, 0), CUDA_ERROR_INVALID_CONTEXT);
    CU(cu->cuCtxGetDevice(&device), CUDA_ERROR_INVALID_CONTEXT);
    CU(cu->cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
    CU(run("fill", 1, 32, 0, 0, NULL), CUDA_ERROR_INVALID_CONTEXT); /* loading needs none */
    CU(cu->cuDevicePrimaryCtxRetain(&current, 99), CUDA_ERROR_INVALID_DEVICE);
    CU(cu->cuDevicePrimaryCtxRetain(NULL, 0), CUDA_ERROR_INVALID_VALUE);
}

DEVICE_TEST(a_context_ends_with_its_last_release)
{
    CUdeviceptr address;
    CUcontext same;
    open_context();
    OK(cu->cuDevicePrimaryCtxRetain(&same, 0));
    CHECK(same == context);
    OK(cu->cuMemAlloc(&address, 1 << 20));
    OK(cu->cuDevicePrimaryCtxRelease(0));
    OK(cu->cuMemsetD8(address, 0, 4));
    OK(cu->cuDevicePrimaryCtxRelease(0));
    CU(cu->cuMemsetD8(address, 0, 4), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CU(cu->cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    SOFT_ONLY;
    CU(cu->cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
    OK(cu->cuDevicePrimaryCtxRetain(&same, 0));
    CU(cu->cuMemsetD8(address, 0, 4), CUDA_ERROR_INVALID_VALUE); /* gone with its context */
    OK(cu->cuMemAlloc(&address, 1 << 20));
}

static void *look_at_context(void *seen)
{
    cu->cuCtxGetCurrent(seen);
    return NULL;
}

DEVICE_TEST(each_thread_has_its_own_current_context)
{
    CUcontext seen = (CUcontext)1;
    pthread_t thread;
    open_context();
    CHECK_INT(pthread_create(&thread, NULL, look_at_context, &seen), 0);
    pthread_join(thread, NULL);
    CHECK(!seen);
    OK(cu->cuCtxGetCurrent(&seen));
    CHECK(seen == context);
    OK(cu->cuCtxSetCurrent(NULL));
    OK(cu->cuCtxGetCurrent(&seen));
    CHECK(!seen);
}

/* Memory. */

DEVICE_TEST(memory_is_allocated_counted_and_freed)
{
    size_t before, after, total, memory_bytes;
    CUdeviceptr address = 0, second;
    open_context();
    OK(cu->cuMemGetInfo(&before, &total));
    OK(cu->cuDeviceTotalMem(&memory_bytes, 0));
    CHECK(total == memory_bytes);
    OK(cu->cuMemAlloc(&address, 64 << 20));
    CHECK(address % 256 == 0);
    OK(cu->cuMemGetInfo(&after, NULL));
    CHECK(before - after >= 64 << 20);
    OK(cu->cuMemAlloc(&second, 1));
    CHECK(second % 256 == 0 && (second < address || second >= address + (64 << 20)));
    OK(cu->cuMemFree(address));
    OK(cu->cuMemFree(second));
    OK(cu->cuMemFree(0));
    OK(cu->cuMemGetInfo(&after, NULL));
    CHECK(after + (8 << 20) >= before);
    CU(cu->cuMemAlloc(&address, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemAlloc(NULL, 4), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemAlloc(&address, total + 1), CUDA_ERROR_OUT_OF_MEMORY);
    CU(cu->cuMemAlloc(&address, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
}

DEVICE_TEST(only_the_start_of_a_live_allocation_is_freed)
{
    open_context();
    const CUdeviceptr address = memory(1000);
    CU(cu->cuMemFree(address + 4), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemFree(12345), CUDA_ERROR_INVALID_VALUE);
    OK(cu->cuMemFree(address));
    CU(cu->cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
}

DEVICE_TEST(copies_and_fills_bring_the_bytes)
{
    unsigned char there[1000], back[1000];
    open_context();
    for (size_t i = 0; i < sizeof there; i++)
        there[i] = (unsigned char)check_random();
    const CUdeviceptr address = memory(sizeof there);
    OK(cu->cuMemcpyHtoD(address, there, sizeof there));
    OK(cu->cuMemcpyDtoH(back, address, sizeof back));
    CHECK(memcmp(there, back, sizeof back) == 0);
    OK(cu->cuMemsetD8(address + 3, 0x5a, 2));
    OK(cu->cuMemsetD32(address + 8, 0x11223344, 2));
    OK(cu->cuMemsetD32Async(address + 16, 0x55667788, 1, NULL));
    OK(cu->cuMemcpyDtoH(back, address, sizeof back));
    CHECK(back[2] == there[2] && back[3] == 0x5a && back[4] == 0x5a && back[5] == there[5]);
    CHECK(back[8] == 0x44 && back[15] == 0x11 && back[16] == 0x88 && back[20] == there[20]);
    EXTRA(copy_inside, cuMemcpyDtoDAsync);
    OK(copy_inside(address + 500, address, 24, NULL));
    CHECK_INT(word(address + 508), 0x11223344);
}

DEVICE_TEST(host_memory_that_is_registered_is_copied_from_and_to)
{
    enum { BYTES = 1 << 20 };
    char *from = malloc(BYTES), *to = calloc(1, BYTES);
    open_context();
    const CUdeviceptr address = memory(BYTES);
    memset(from, 7, BYTES);
    OK(cu->cuMemHostRegister(from, BYTES, 0));
    OK(cu->cuMemHostRegister(to, BYTES, 0));
    OK(cu->cuMemcpyHtoD(address, from, BYTES));
    OK(cu->cuMemcpyDtoH(to, address, BYTES));
    CHECK(memcmp(from, to, BYTES) == 0);
    OK(cu->cuMemHostUnregister(from));
    OK(cu->cuMemHostUnregister(to));
    CU(cu->cuMemHostRegister(NULL, BYTES, 0), CUDA_ERROR_INVALID_VALUE);
    free(from);
    free(to);
}

DEVICE_TEST(host_memory_that_is_registered_is_filled_from_the_device_where_it_is_mapped)
{
    enum { BYTES = 4096 };
    unsigned *words = calloc(1, BYTES);
    CUdeviceptr mapped;
    open_context();
    OK(cu->cuMemHostRegister(words, BYTES, 0));
    const CUresult result = cu->cuMemHostGetDevicePointer(&mapped, words, 0);
    if (result == CUDA_SUCCESS) {
        OK(cu->cuMemsetD32Async(mapped + 8, 5, 1, NULL));
        OK(cu->cuCtxSynchronize());
        CHECK(words[1] == 0 && words[2] == 5 && words[3] == 0);
    } else {
        CHECK_INT(result, CUDA_ERROR_NOT_SUPPORTED);
    }
    CU(cu->cuMemHostGetDevicePointer(&mapped, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cu->cuMemHostUnregister(words));
    free(words);
}

DEVICE_TEST(copies_and_fills_stay_inside_one_allocation)
{
    char host[64] = {0}, *large = calloc(1, 8 << 20);
    open_context();
    const CUdeviceptr address = memory(1 << 12);
    const size_t beyond = 8 << 20; /* beyond what any driver rounds a small allocation up to */
    CU(cu->cuMemcpyHtoD(address, large, beyond), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemcpyDtoH(large, address, beyond), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemsetD8(address, 0, beyond), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemsetD32(address, 0, beyond), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemcpyHtoD(0, host, 4), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemcpyHtoD(address, NULL, 4), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemcpyDtoH(NULL, address, 4), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemsetD8(12345678, 0, 4), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemsetD32(address + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cu->cuMemcpyHtoD(address, host, 0));
    OK(cu->cuMemsetD8(0, 0, 0));
    OK(cu->cuMemFree(address));
    CU(cu->cuMemcpyHtoD(address, host, 4), CUDA_ERROR_INVALID_VALUE);
    OK(cu->cuCtxSynchronize()); /* none of it broke anything */
    free(large);
    SOFT_ONLY;
    const CUdeviceptr exact = memory(1000);
    CU(cu->cuMemsetD8(exact, 0, 1001), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemsetD8(exact + 999, 0, 2), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuMemsetD32(exact, 0, (size_t)1 << 62), CUDA_ERROR_INVALID_VALUE);
    OK(cu->cuMemsetD8(exact + 999, 0, 1));
}

CHECK_MAIN
