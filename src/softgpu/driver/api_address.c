/* cuGetProcAddress: which function a name means to a program that was written for a version of CUDA. */
#include <cuda.h>
#include <string.h>


/* Not in cuda.h any more: see api_older.c. */
extern CUresult CUDAAPI cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device);
extern CUresult CUDAAPI cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *params, int count, unsigned flags,
                                       CUdevice device);

typedef struct entry {
    const char *name;
    int since; /* the version of CUDA whose programs mean this function: cudaTypedefs.h has them */
    void (*function)(void);
} entry;

/* cuda.h replaces a name by that of its newest version, but not where it is made into a string. */
#define AS(name, since, function) {#name, since, (void (*)(void))function}
#define ROW(name, since)          {#name, since, (void (*)(void))name}

/* Of one name the newer before the older. */
static const entry entries[] = {
    ROW(cuInit, 2000), ROW(cuDriverGetVersion, 2020), ROW(cuGetErrorName, 6000), ROW(cuGetErrorString, 6000),
    ROW(cuGetProcAddress, 12000),
    ROW(cuDeviceGet, 2000), ROW(cuDeviceGetAttribute, 2000), ROW(cuDeviceGetCount, 2000), ROW(cuDeviceGetName, 2000),
    ROW(cuDeviceGetPCIBusId, 4010), ROW(cuDeviceTotalMem, 3020),
    ROW(cuDevicePrimaryCtxGetState, 7000), ROW(cuDevicePrimaryCtxRelease, 7000), ROW(cuDevicePrimaryCtxReset, 7000),
    ROW(cuDevicePrimaryCtxRetain, 7000),
    ROW(cuCtxCreate, 12050), AS(cuCtxCreate, 11040, cuCtxCreate_v3), AS(cuCtxCreate, 3020, cuCtxCreate_v2),
    ROW(cuCtxDestroy, 2000), ROW(cuCtxPopCurrent, 2000), ROW(cuCtxPushCurrent, 2000),
    ROW(cuCtxGetApiVersion, 3020), ROW(cuCtxGetCurrent, 4000), ROW(cuCtxSetCurrent, 4000), ROW(cuCtxGetFlags, 7000),
    AS(cuCtxGetDevice, 13000, cuCtxGetDevice_v2), ROW(cuCtxGetDevice, 2000),
    AS(cuCtxSynchronize, 13000, cuCtxSynchronize_v2), ROW(cuCtxSynchronize, 2000),
    ROW(cuMemAlloc, 3020), ROW(cuMemFree, 3020), ROW(cuMemGetAddressRange, 3020), ROW(cuMemGetInfo, 3020),
    ROW(cuMemcpyDtoD, 3020), ROW(cuMemcpyDtoDAsync, 3020), ROW(cuMemcpyDtoH, 3020), ROW(cuMemcpyDtoHAsync, 3020),
    ROW(cuMemcpyHtoD, 3020), ROW(cuMemcpyHtoDAsync, 3020),
    ROW(cuMemsetD8, 3020), ROW(cuMemsetD8Async, 3020), ROW(cuMemsetD16, 3020), ROW(cuMemsetD16Async, 3020),
    ROW(cuMemsetD32, 3020), ROW(cuMemsetD32Async, 3020),
    ROW(cuMemHostRegister, 6050), ROW(cuMemHostUnregister, 4000), ROW(cuMemHostGetDevicePointer, 3020),
    ROW(cuMemGetAllocationGranularity, 10020), ROW(cuMemAddressReserve, 10020), ROW(cuMemAddressFree, 10020),
    ROW(cuMemCreate, 10020), ROW(cuMemRelease, 10020), ROW(cuMemMap, 10020), ROW(cuMemUnmap, 10020),
    ROW(cuMemSetAccess, 10020),
    ROW(cuModuleLoad, 2000), ROW(cuModuleLoadData, 2000), ROW(cuModuleLoadDataEx, 2010), ROW(cuModuleUnload, 2000),
    ROW(cuModuleGetFunction, 2000), ROW(cuModuleGetGlobal, 3020), ROW(cuModuleGetLoadingMode, 11070),
    ROW(cuLibraryLoadData, 12000), ROW(cuLibraryUnload, 12000), ROW(cuLibraryGetKernel, 12000),
    ROW(cuLibraryGetGlobal, 12000),
    ROW(cuKernelGetFunction, 12000), ROW(cuKernelGetAttribute, 12000), ROW(cuKernelSetAttribute, 12000),
    ROW(cuFuncGetAttribute, 2020), ROW(cuFuncSetAttribute, 9000), ROW(cuFuncSetCacheConfig, 3000),
    ROW(cuFuncGetName, 12030), ROW(cuFuncGetParamInfo, 12040),
    ROW(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050),
    ROW(cuLaunchKernel, 4000), ROW(cuLaunchKernelEx, 11060), ROW(cuLaunchCooperativeKernel, 9000),
    ROW(cuStreamCreate, 2000), ROW(cuStreamCreateWithPriority, 5050), ROW(cuStreamDestroy, 2000),
    ROW(cuStreamQuery, 2000), ROW(cuStreamSynchronize, 2000), ROW(cuStreamWaitEvent, 3020),
    ROW(cuStreamBeginCapture, 10010), ROW(cuStreamEndCapture, 10000), ROW(cuStreamIsCapturing, 10000),
    ROW(cuThreadExchangeStreamCaptureMode, 10010),
    ROW(cuEventCreate, 2000), ROW(cuEventDestroy, 2000), ROW(cuEventElapsedTime, 2000), ROW(cuEventQuery, 2000),
    ROW(cuEventRecord, 2000), ROW(cuEventSynchronize, 2000),
    ROW(cuGraphInstantiate, 12000), ROW(cuGraphInstantiateWithFlags, 11040), ROW(cuGraphLaunch, 10000),
    ROW(cuGraphDestroy, 10000), ROW(cuGraphExecDestroy, 10000), ROW(cuGraphGetNodes, 10000),
    ROW(cuGraphNodeGetType, 10000), ROW(cuGraphKernelNodeGetParams, 12000),
    ROW(cuUserObjectCreate, 11030), ROW(cuUserObjectRelease, 11030), ROW(cuGraphRetainUserObject, 11030),
    ROW(cuTensorMapEncodeTiled, 12000), ROW(cuTensorMapReplaceAddress, 12000),
};

CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags,
                                  CUdriverProcAddressQueryResult *status)
{
    const cuuint64_t known = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    int newest;
    if (!symbol || !function || flags > known || cuDriverGetVersion(&newest) != CUDA_SUCCESS || version > newest)
        return CUDA_ERROR_INVALID_VALUE;
    *function = NULL;
    for (size_t i = 0; i < sizeof entries / sizeof entries[0] && !*function; i++) {
        if (strcmp(entries[i].name, symbol) != 0)
            continue;
        found = version >= entries[i].since ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
        if (found == CU_GET_PROC_ADDRESS_SUCCESS)
            *function = (void *)entries[i].function;
    }
    if (status)
        *status = found;
    return CUDA_SUCCESS;
}
