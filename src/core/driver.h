/*
 * The CUDA driver, opened at run time through one table of function pointers. Nothing links against CUDA: every
 * binary starts on a machine without it and says plainly what is missing.
 */
#ifndef GT_DRIVER_H
#define GT_DRIVER_H

#include <cuda.h>
#include <stdbool.h>

#include "status.h"

/* Every driver function this project calls. cuda.h maps some names to a version (cuMemAlloc to cuMemAlloc_v2):
 * the table's field and the symbol that is looked up follow it. */
#define GT_DRIVER_SYMBOLS(X)                                                                                 \
    X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString)                                    \
    X(cuDeviceGetCount) X(cuDeviceGet) X(cuDeviceGetName) X(cuDeviceGetAttribute) X(cuDeviceTotalMem)        \
    X(cuDeviceGetPCIBusId) X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease)                          \
    X(cuCtxSetCurrent) X(cuCtxGetCurrent) X(cuCtxGetDevice) X(cuCtxSynchronize)                              \
    X(cuMemAlloc) X(cuMemFree) X(cuMemGetInfo) X(cuMemcpyHtoD) X(cuMemcpyDtoH)                               \
    X(cuMemcpyHtoDAsync) X(cuMemcpyDtoHAsync)                                                                \
    X(cuMemsetD8) X(cuMemsetD32) X(cuMemsetD32Async) X(cuMemHostRegister) X(cuMemHostUnregister)             \
    X(cuMemHostGetDevicePointer)                                                                             \
    X(cuMemGetAllocationGranularity) X(cuMemAddressReserve) X(cuMemAddressFree)                              \
    X(cuMemCreate) X(cuMemRelease) X(cuMemMap) X(cuMemUnmap) X(cuMemSetAccess)                               \
    X(cuLibraryLoadData) X(cuLibraryUnload) X(cuLibraryGetKernel)                                            \
    X(cuKernelGetFunction) X(cuKernelSetAttribute) X(cuKernelGetAttribute)                                   \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor)                                                           \
    X(cuLaunchKernel) X(cuLaunchKernelEx)                                                                    \
    X(cuTensorMapEncodeTiled) X(cuTensorMapReplaceAddress)                                                   \
    X(cuStreamCreate) X(cuStreamDestroy) X(cuStreamSynchronize) X(cuStreamWaitEvent)                         \
    X(cuStreamBeginCapture) X(cuStreamEndCapture) X(cuStreamIsCapturing)                                     \
    X(cuThreadExchangeStreamCaptureMode)                                                                     \
    X(cuGraphInstantiate) X(cuGraphLaunch) X(cuGraphDestroy) X(cuGraphExecDestroy)                           \
    X(cuEventCreate) X(cuEventRecord) X(cuEventSynchronize) X(cuEventElapsedTime) X(cuEventDestroy)

typedef struct gt_driver {
    void *library;
    int version; /* 13000 for 13.0 */
    char release[32]; /* "13.0 580.159.04": the CUDA it is for and, where that can be told, its own number */
    char soft_name[48]; /* the software GPU as it was asked for, "soft:h200"; "" for a real driver */
    /* What the software GPU offers beyond the driver, see softgpu/softgpu.h; NULL on a real one, whose times are
     * measured. */
    const struct gtSoft *soft;
#define X(symbol) __typeof__(symbol) *symbol;
    GT_DRIVER_SYMBOLS(X)
#undef X
} gt_driver;

/*
 * Opens a driver and initialises it: a library's path, or "soft" or "soft:PROFILE" for the software GPU; NULL for
 * $GEMMTUNE_DRIVER, which may be any of these, else libcuda.so.1. GT_ERROR_NO_DRIVER with what is missing. *driver is
 * owned by the caller: gt_driver_close.
 */
gt_status gt_driver_open(const char *name, gt_driver **driver);

/* Whether a name asks for the software GPU; its profile, "" for the default one, in *profile if that is not NULL. */
bool gt_driver_is_soft(const char *name, const char **profile);

/* GT_ERROR_INVALID, with those there are, for a profile of the software GPU that does not exist. */
gt_status gt_driver_check_name(const char *name);

/* NULL is allowed. */
void gt_driver_close(gt_driver *driver);

/* GT_OK for CUDA_SUCCESS; else a failure that reads "what: CUDA_ERROR_...: description". */
gt_status gt_driver_check(const gt_driver *driver, CUresult result, const char *what);

#endif
