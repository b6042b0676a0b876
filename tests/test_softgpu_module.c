/* What programs that use the driver directly begin with: contexts of their own, modules, functions by name. */
#include <pthread.h>

#include "driver_fixture.h"

static const char counting[] =
    PTX("8.0", "sm_80")
    ".visible .global .align 4 .u32 counter = 7;\n"
    ".visible .const .align 8 .b8 table[24];\n"
    ".visible .entry bump(.param .u32 by)\n{\n.reg .b32 %w<4>; .reg .b64 %r<2>; ld.param.u32 %w1, [by];\n"
    "mov.u64 %r1, counter; ld.global.u32 %w2, [%r1]; add.s32 %w3, %w2, %w1; st.global.u32 [%r1], %w3; ret;\n}\n";

/* The functions of these tests; a driver that lacks one is older than CUDA 12.5. */
#define CALLS(X)                                                                                             \
    X(cuCtxCreate) X(cuCtxDestroy) X(cuCtxPushCurrent) X(cuCtxPopCurrent) X(cuGetProcAddress)                 \
    X(cuModuleLoad) X(cuModuleLoadData) X(cuModuleLoadDataEx) X(cuModuleUnload) X(cuModuleGetFunction)        \
    X(cuModuleGetGlobal) X(cuFuncGetAttribute) X(cuFuncSetAttribute) X(cuFuncGetName) X(cuFuncGetParamInfo)

static struct {
#define X(symbol) __typeof__(symbol) *symbol;
    CALLS(X)
#undef X
} calls;

static void open_calls(void)
{
    open_driver();
#define X(symbol)                                                                                            \
    if (!(calls.symbol = (__typeof__(symbol) *)dlsym(cu->library, STRING(symbol))))                          \
        SKIP("this driver has no " STRING(symbol));
    CALLS(X)
#undef X
}

static CUcontext current(void)
{
    CUcontext top = (CUcontext)1;
    OK(cu->cuCtxGetCurrent(&top));
    return top;
}

/* Contexts. */

DEVICE_TEST(a_context_is_current_when_it_is_created_and_gone_when_destroyed)
{
    CUcontext first, second, popped = NULL;
    CUdevice device = -1;
    open_calls();
    OK(calls.cuCtxCreate(&first, NULL, CU_CTX_SCHED_AUTO, 0));
    CHECK(current() == first);
    OK(cu->cuCtxGetDevice(&device));
    CHECK_INT(device, 0);
    OK(calls.cuCtxCreate(&second, NULL, CU_CTX_SCHED_BLOCKING_SYNC, 0));
    CHECK(second != first && current() == second);
    const CUdeviceptr address = memory(4096);
    OK(run("fill", 1, 32, address, 3, NULL));
    CHECK_INT(word(address + 4 * 31), 3);
    OK(calls.cuCtxDestroy(second));
    CHECK(current() == first);
    OK(calls.cuCtxPopCurrent(&popped));
    CHECK(popped == first && !current());
    OK(calls.cuCtxDestroy(first));
}

DEVICE_TEST(contexts_are_pushed_and_popped)
{
    CUcontext primary, own, popped;
    CUdeviceptr address;
    open_calls();
    CU(calls.cuCtxPopCurrent(&popped), CUDA_ERROR_INVALID_CONTEXT);
    OK(cu->cuDevicePrimaryCtxRetain(&primary, 0));
    CHECK(!current()); /* retaining makes nothing current */
    OK(calls.cuCtxCreate(&own, NULL, 0, 0));
    OK(calls.cuCtxPushCurrent(primary));
    CHECK(current() == primary);
    OK(cu->cuMemAlloc(&address, 64));
    OK(calls.cuCtxPushCurrent(own));
    OK(calls.cuCtxPopCurrent(&popped));
    CHECK(popped == own && current() == primary);
    OK(cu->cuMemFree(address));
    OK(cu->cuCtxSetCurrent(own)); /* instead of the topmost */
    CHECK(current() == own);
    OK(calls.cuCtxPopCurrent(&popped));
    CHECK(popped == own && current() == own);
    OK(cu->cuCtxSetCurrent(NULL)); /* takes the topmost away */
    CHECK(!current());
    CU(cu->cuMemAlloc(&address, 64), CUDA_ERROR_INVALID_CONTEXT);
    OK(calls.cuCtxDestroy(own));
    OK(cu->cuDevicePrimaryCtxRelease(0));
}

static pthread_barrier_t turn;

static void *work_in_destroyed(void *own)
{
    CUdeviceptr address;
    OK(calls.cuCtxPushCurrent(own));
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    CU(cu->cuMemAlloc(&address, 64), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    return NULL;
}

DEVICE_TEST(a_destroyed_context_stays_current_elsewhere_and_does_nothing)
{
    CUcontext own;
    pthread_t thread;
    open_calls();
    OK(calls.cuCtxCreate(&own, NULL, 0, 0));
    pthread_barrier_init(&turn, NULL, 2);
    CHECK_INT(pthread_create(&thread, NULL, work_in_destroyed, own), 0);
    pthread_barrier_wait(&turn);
    OK(calls.cuCtxDestroy(own));
    pthread_barrier_wait(&turn);
    pthread_join(thread, NULL);
    CHECK_INT(check.result, PASSED);
}

DEVICE_TEST(a_context_takes_what_it_owns_with_it)
{
    CUcontext own, other;
    CUmodule module;
    CUfunction bump;
    CUstream stream;
    CUevent event;
    size_t before, after;
    open_calls();
    OK(calls.cuCtxCreate(&other, NULL, 0, 0));
    const CUdeviceptr kept = memory(1 << 20);
    OK(cu->cuMemGetInfo(&before, NULL));
    OK(calls.cuCtxCreate(&own, NULL, 0, 0));
    const CUdeviceptr lost = memory(64 << 20);
    OK(cu->cuStreamCreate(&stream, 0));
    OK(cu->cuEventCreate(&event, 0));
    OK(calls.cuModuleLoadData(&module, counting));
    OK(calls.cuModuleGetFunction(&bump, module, "bump"));
    OK(calls.cuCtxDestroy(own));
    OK(cu->cuMemGetInfo(&after, NULL));
    CHECK(after + (32 << 20) >= before);
    OK(cu->cuMemsetD8(kept, 1, 1 << 20));
    SOFT_ONLY; /* elsewhere what comes now has no defined answer */
    CHECK_INT(after, before);
    CU(cu->cuMemsetD8(lost, 1, 4), CUDA_ERROR_INVALID_VALUE);
    CU(cu->cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
    CU(cu->cuEventSynchronize(event), CUDA_ERROR_INVALID_HANDLE);
    CU(calls.cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
    CU(cu->cuLaunchKernel(bump, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    CU(calls.cuCtxDestroy(own), CUDA_ERROR_INVALID_CONTEXT);
    CU(calls.cuCtxPushCurrent(own), CUDA_ERROR_INVALID_CONTEXT);
    CU(calls.cuCtxPushCurrent((CUcontext)stream), CUDA_ERROR_INVALID_CONTEXT);
}

DEVICE_TEST(a_context_is_not_created_from_nonsense)
{
    CUcontext own = NULL;
    int count;
    open_calls();
    OK(cu->cuDeviceGetCount(&count));
    CU(calls.cuCtxCreate(&own, NULL, 0, count), CUDA_ERROR_INVALID_DEVICE);
    CU(calls.cuCtxCreate(NULL, NULL, 0, 0), CUDA_ERROR_INVALID_VALUE);
    CU(calls.cuCtxCreate(&own, NULL, 0x10000, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK(!own && !current());
}

/* Modules. */

static CUmodule load(const char *image)
{
    CUmodule module;
    OK(calls.cuModuleLoadData(&module, image));
    return module;
}

static void open_module_context(void)
{
    open_calls();
    OK(cu->cuDevicePrimaryCtxRetain(&context, 0));
    OK(cu->cuCtxSetCurrent(context));
}

static void bump(CUmodule module, unsigned by)
{
    CUfunction function;
    void *arguments[] = {&by};
    OK(calls.cuModuleGetFunction(&function, module, "bump"));
    OK(cu->cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
}

DEVICE_TEST(a_module_has_functions_and_variables)
{
    CUfunction function;
    CUdeviceptr counter, table;
    size_t bytes = 0;
    open_module_context();
    CUmodule module = load(counting), second = load(counting);
    OK(calls.cuModuleGetGlobal(&counter, &bytes, module, "counter"));
    CHECK_INT(bytes, 4);
    CHECK_INT(word(counter), 7);
    bump(module, 5);
    CHECK_INT(word(counter), 12);
    OK(calls.cuModuleGetGlobal(&counter, NULL, second, "counter"));
    CHECK_INT(word(counter), 7); /* each module has its own */
    OK(calls.cuModuleGetGlobal(NULL, &bytes, second, "table"));
    CHECK_INT(bytes, 24);
    OK(calls.cuModuleGetGlobal(&table, NULL, second, "table"));
    CHECK(table % 8 == 0);
    CU(calls.cuModuleGetFunction(&function, module, "nobody"), CUDA_ERROR_NOT_FOUND);
    CU(calls.cuModuleGetFunction(&function, module, "counter"), CUDA_ERROR_NOT_FOUND);
    CU(calls.cuModuleGetGlobal(&counter, &bytes, module, "nothing"), CUDA_ERROR_NOT_FOUND);
    OK(calls.cuModuleUnload(module));
    bump(second, 1);
    OK(calls.cuModuleUnload(second));
    SOFT_ONLY;
    CU(calls.cuModuleUnload(second), CUDA_ERROR_INVALID_HANDLE);
    CU(calls.cuModuleGetFunction(&function, second, "bump"), CUDA_ERROR_INVALID_HANDLE);
}

DEVICE_TEST(a_module_needs_a_context_an_image_and_a_name)
{
    CUmodule module = NULL;
    CUfunction function;
    open_calls();
    CU(calls.cuModuleLoadData(&module, counting), CUDA_ERROR_INVALID_CONTEXT);
    open_module_context();
    CU(calls.cuModuleLoadData(NULL, counting), CUDA_ERROR_INVALID_VALUE);
    CU(calls.cuModuleLoadData(&module, NULL), CUDA_ERROR_INVALID_VALUE);
    module = load(counting);
    CU(calls.cuModuleGetFunction(&function, module, NULL), CUDA_ERROR_INVALID_VALUE);
    CU(calls.cuModuleGetFunction(NULL, module, "bump"), CUDA_ERROR_INVALID_VALUE);
    SOFT_ONLY;
    CU(calls.cuModuleGetGlobal(NULL, NULL, module, "counter"), CUDA_ERROR_INVALID_VALUE);
}

DEVICE_TEST(what_is_wrong_with_a_module_is_in_the_log)
{
    char log[400] = "";
    CUmodule module;
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log};
    open_module_context();
    CU(calls.cuModuleLoadDataEx(&module, PTX("8.0", "sm_80") ".visible .entry f() { frobnicate.u32 %r1; ret; }\n", 2,
                                options, values),
       CUDA_ERROR_INVALID_PTX);
    CHECK(strstr(log, "frobnicate"));
    OK(calls.cuModuleLoadDataEx(&module, counting, 0, NULL, NULL));
}

DEVICE_TEST(a_module_comes_from_a_file)
{
    CUmodule module;
    char name[] = "/tmp/gemmtune-module-XXXXXX";
    open_module_context();
    CHECK(close(mkstemp(name)) == 0 && unlink(name) == 0);
    CU(calls.cuModuleLoad(&module, name), CUDA_ERROR_FILE_NOT_FOUND);
    FILE *file = fopen(name, "w");
    CHECK(file && fputs(counting, file) >= 0 && fclose(file) == 0);
    OK(calls.cuModuleLoad(&module, name));
    bump(module, 1);
    OK(cu->cuCtxSynchronize());
    unlink(name);
}

/* Functions. */

DEVICE_TEST(attributes_of_a_function_are_read_and_set)
{
    static const CUfunction_attribute most = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    int value, optin;
    CUfunction bounded, fixed;
    CUdeviceptr address;
    open_module_context();
    CUmodule module = load(kernels);
    OK(calls.cuModuleGetFunction(&bounded, module, "bounded"));
    OK(calls.cuModuleGetFunction(&fixed, module, "fixed"));
    OK(calls.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, bounded));
    CHECK_INT(value, 96);
    OK(calls.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, fixed));
    CHECK_INT(value, 4000);
    OK(cu->cuDeviceGetAttribute(&optin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0));
    address = memory(64);
    void *arguments[] = {&address};
    CU(cu->cuLaunchKernel(fixed, 1, 1, 1, 1, 1, 1, (unsigned)optin - 4000, NULL, arguments, NULL),
       CUDA_ERROR_INVALID_VALUE);
    OK(calls.cuFuncSetAttribute(fixed, most, optin - 4000));
    OK(calls.cuFuncGetAttribute(&value, most, fixed));
    CHECK_INT(value, optin - 4000);
    OK(cu->cuLaunchKernel(fixed, 1, 1, 1, 1, 1, 1, (unsigned)optin - 4000, NULL, arguments, NULL));
    CHECK_INT(word(address), 7);
    CU(calls.cuFuncSetAttribute(fixed, most, optin - 3999), CUDA_ERROR_INVALID_VALUE);
    CU(calls.cuFuncSetAttribute(fixed, CU_FUNC_ATTRIBUTE_NUM_REGS, 3), CUDA_ERROR_INVALID_VALUE);
    CU(calls.cuFuncGetAttribute(NULL, most, fixed), CUDA_ERROR_INVALID_VALUE);
    CU(calls.cuFuncGetAttribute(&value, (CUfunction_attribute)999, fixed), CUDA_ERROR_INVALID_VALUE);
}

DEVICE_TEST(a_function_knows_its_name_and_parameters)
{
    const char *name = NULL;
    size_t offset = 99, bytes = 99;
    CUfunction fill;
    open_module_context();
    CUmodule module = load(kernels);
    OK(calls.cuModuleGetFunction(&fill, module, "fill"));
    OK(calls.cuFuncGetName(&name, fill));
    CHECK_STR(name, "fill");
    OK(calls.cuFuncGetParamInfo(fill, 1, &offset, &bytes));
    CHECK(offset == 8 && bytes == 4);
    OK(calls.cuFuncGetParamInfo(fill, 0, &offset, NULL));
    CHECK_INT(offset, 0);
    CU(calls.cuFuncGetParamInfo(fill, 2, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
    CU(calls.cuFuncGetName(&name, NULL), CUDA_ERROR_INVALID_VALUE);
    CU(calls.cuFuncGetName(NULL, fill), CUDA_ERROR_INVALID_VALUE);
}

DEVICE_TEST(a_function_can_require_a_cluster)
{
    int clusters, value;
    CUfunction fill;
    open_module_context();
    OK(cu->cuDeviceGetAttribute(&clusters, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 0));
    if (!clusters)
        SKIP("a device without clusters");
    CUdeviceptr address = memory(4096);
    void *arguments[] = {&address, &(unsigned){1}};
    OK(calls.cuModuleGetFunction(&fill, load(kernels), "fill"));
    OK(calls.cuFuncSetAttribute(fill, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2));
    OK(calls.cuFuncSetAttribute(fill, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 1));
    OK(calls.cuFuncSetAttribute(fill, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 1));
    OK(calls.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, fill));
    CHECK_INT(value, 2);
    OK(cu->cuLaunchKernel(fill, 4, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL));
    CU(cu->cuLaunchKernel(fill, 3, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    OK(cu->cuCtxSynchronize());
}

/* Addresses. */

static void *address_of(const char *name, int version, CUdriverProcAddressQueryResult *status)
{
    void *function = (void *)1;
    OK(calls.cuGetProcAddress(name, &function, version, CU_GET_PROC_ADDRESS_DEFAULT, status));
    return function;
}

DEVICE_TEST(functions_are_found_by_name_and_version)
{
    CUdriverProcAddressQueryResult status;
    void *function;
    int version, answer = 0;
    open_calls();
    OK(cu->cuDriverGetVersion(&version));
    __typeof__(cuDriverGetVersion) *get_version =
        (__typeof__(cuDriverGetVersion) *)address_of("cuDriverGetVersion", 12000, &status);
    CHECK_INT(status, CU_GET_PROC_ADDRESS_SUCCESS);
    OK(get_version(&answer));
    CHECK_INT(answer, version);
    CHECK(address_of("cuMemAlloc", 12000, NULL) && address_of("cuCtxCreate", 12050, NULL));
    CHECK(address_of("cuCtxCreate", 12050, NULL) != address_of("cuCtxCreate", 11030, NULL));
    CHECK(!address_of("cuLibraryLoadData", 11080, &status));
    CHECK_INT(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    CHECK(!address_of("cuFrobnicate", 12000, &status));
    CHECK_INT(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    SOFT_ONLY; /* a real driver does not survive all of what follows */
    CU(calls.cuGetProcAddress("cuInit", &function, version + 10, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    CU(calls.cuGetProcAddress(NULL, &function, 12000, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    CU(calls.cuGetProcAddress("cuInit", NULL, 12000, 0, NULL), CUDA_ERROR_INVALID_VALUE);
}

DEVICE_TEST(every_function_of_the_project_is_found)
{
    open_calls();
    SOFT_ONLY; /* a driver's symbols and what it gives out may be two functions that do the same */
#define X(symbol)                                                                                            \
    if (strcmp(#symbol, "cuCtxGetDevice") != 0 && strcmp(#symbol, "cuCtxSynchronize") != 0 &&                \
        address_of(#symbol, 13000, NULL) != (void *)cu->symbol)                                              \
        check_fail(__FILE__, __LINE__, "%s is another function", #symbol);
    GT_DRIVER_SYMBOLS(X)
#undef X
#define X(symbol)                                                                                            \
    if (address_of(#symbol, 13000, NULL) != (void *)calls.symbol)                                            \
        check_fail(__FILE__, __LINE__, "%s is another function", #symbol);
    CALLS(X)
#undef X
    CHECK(address_of("cuCtxSynchronize", 12000, NULL) == (void *)cu->cuCtxSynchronize);
    CHECK(address_of("cuCtxSynchronize", 13000, NULL) == dlsym(cu->library, "cuCtxSynchronize_v2"));
}

/* A program that was made for CUDA 11.4: the functions as it sees them. */
DEVICE_TEST(an_older_program_creates_contexts_too)
{
    CUcontext own;
    open_calls();
    CUresult (*create)(CUcontext *, unsigned, CUdevice) =
        (CUresult(*)(CUcontext *, unsigned, CUdevice))address_of("cuCtxCreate", 11030, NULL);
    CUresult (*create_with)(CUcontext *, void *, int, unsigned, CUdevice) =
        (CUresult(*)(CUcontext *, void *, int, unsigned, CUdevice))address_of("cuCtxCreate", 11040, NULL);
    OK(create(&own, 0, 0));
    CHECK(current() == own);
    OK(calls.cuCtxDestroy(own));
    OK(create_with(&own, NULL, 0, 0, 0));
    CHECK(current() == own);
    OK(calls.cuCtxDestroy(own));
}

CHECK_MAIN
