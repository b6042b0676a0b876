/* Memory: allocations, fills, copies. */
#include "capture.h"

CUresult CUDAAPI cuMemAlloc(CUdeviceptr *address, size_t bytes)
{
    CUresult result = sg_enter(SG_NEEDS_WORK);
    if (result == CUDA_SUCCESS && (!address || bytes == 0))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = sg_refuse_unsafe();
    if (result == CUDA_SUCCESS) {
        const uint64_t place = sg_memory_alloc_user(sg.memory, sg_current()->number, bytes);
        if (place)
            *address = place;
        else
            result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    return sg_leave(result);
}

/* A program may free what it allocated, not a module's variables. */
static CUresult free_allocation(CUdeviceptr address)
{
    const sg_span *span = sg_memory_find(sg.memory, address);
    if (address == 0)
        return CUDA_SUCCESS;
    return span && span->owner && sg_memory_free(sg.memory, address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuMemFree(CUdeviceptr address)
{
    CUresult result = sg_enter(SG_NEEDS_WORK);
    if (result == CUDA_SUCCESS)
        result = sg_refuse_unsafe();
    if (result == CUDA_SUCCESS)
        result = free_allocation(address);
    return sg_leave(result);
}

CUresult CUDAAPI cuMemGetInfo(size_t *available, size_t *total)
{
    const CUresult result = sg_enter(SG_NEEDS_WORK);
    if (result == CUDA_SUCCESS && available)
        *available = sg_memory_available(sg.memory);
    if (result == CUDA_SUCCESS && total)
        *total = sg_memory_limit(sg.memory);
    return sg_leave(result);
}

CUresult CUDAAPI cuMemGetAddressRange(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
    CUresult result = sg_enter(SG_NEEDS_WORK);
    const sg_span *span = result == CUDA_SUCCESS ? sg_memory_find(sg.memory, address) : NULL;
    if (result == CUDA_SUCCESS && !span)
        result = CUDA_ERROR_NOT_FOUND;
    if (span && base)
        *base = span->base;
    if (span && bytes)
        *bytes = span->bytes;
    return sg_leave(result);
}

/* Pages that stay where they are: the processor that copies here needs no such promise. Kernels cannot reach them. */
static CUresult promise(const void *memory, size_t bytes)
{
    CUresult result = sg_enter(SG_NEEDS_WORK);
    if (result == CUDA_SUCCESS && (!memory || bytes == 0))
        result = CUDA_ERROR_INVALID_VALUE;
    return sg_leave(result);
}

CUresult CUDAAPI cuMemHostRegister(void *memory, size_t bytes, unsigned flags)
{
    (void)flags;
    return promise(memory, bytes);
}

CUresult CUDAAPI cuMemHostUnregister(void *memory)
{
    return promise(memory, 1);
}

CUresult CUDAAPI cuMemHostGetDevicePointer(CUdeviceptr *address, void *memory, unsigned flags)
{
    const CUresult result = promise(memory, 1);
    (void)address, (void)flags;
    return result == CUDA_SUCCESS ? CUDA_ERROR_NOT_SUPPORTED : result;
}

/* Enters and gives work to a stream; nothing at all is always well. */
static CUresult give(CUstream handle, sg_work work, uint64_t amount)
{
    CUresult result = sg_enter(SG_NEEDS_WORK);
    sg_stream *stream = result == CUDA_SUCCESS ? sg_stream_find(handle) : NULL;
    if (result == CUDA_SUCCESS && !stream)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS && amount > 0)
        result = sg_stream_give(stream, &work);
    return sg_leave(result);
}

static CUresult fill(CUdeviceptr address, uint32_t value, uint32_t width, size_t count, CUstream stream)
{
    return give(stream, (sg_work){.kind = SG_WORK_FILL, .fill = {address, count, value, width}}, count);
}

CUresult CUDAAPI cuMemsetD8(CUdeviceptr address, unsigned char value, size_t count)
{
    return fill(address, value, 1, count, NULL);
}

CUresult CUDAAPI cuMemsetD16(CUdeviceptr address, unsigned short value, size_t count)
{
    return fill(address, value, 2, count, NULL);
}

CUresult CUDAAPI cuMemsetD32(CUdeviceptr address, unsigned value, size_t count)
{
    return fill(address, value, 4, count, NULL);
}

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t count, CUstream stream)
{
    return fill(address, value, 1, count, stream);
}

CUresult CUDAAPI cuMemsetD16Async(CUdeviceptr address, unsigned short value, size_t count, CUstream stream)
{
    return fill(address, value, 2, count, stream);
}

CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr address, unsigned value, size_t count, CUstream stream)
{
    return fill(address, value, 4, count, stream);
}

static sg_work to_device(CUdeviceptr to, const void *from, size_t bytes)
{
    return (sg_work){.kind = SG_WORK_COPY, .copy = {to, (uintptr_t)from, bytes, true, false}};
}

static sg_work to_host(void *to, CUdeviceptr from, size_t bytes)
{
    return (sg_work){.kind = SG_WORK_COPY, .copy = {(uintptr_t)to, from, bytes, false, true}};
}

static sg_work inside(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return (sg_work){.kind = SG_WORK_COPY, .copy = {to, from, bytes, true, true}};
}

/* The host waits for the copy: no capture allows that. */
static CUresult copy_now(sg_work work)
{
    CUresult result = sg_enter(SG_NEEDS_WORK);
    if (result == CUDA_SUCCESS)
        result = sg_refuse_default();
    if (result == CUDA_SUCCESS)
        result = sg_refuse_unsafe();
    if (result == CUDA_SUCCESS && work.copy.bytes > 0)
        result = sg_stream_give(sg_stream_find(NULL), &work);
    return sg_leave(result);
}

CUresult CUDAAPI cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes)
{
    return copy_now(to_device(to, from, bytes));
}

CUresult CUDAAPI cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
    return copy_now(to_host(to, from, bytes));
}

CUresult CUDAAPI cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return give(NULL, inside(to, from, bytes), bytes);
}

CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    return give(stream, to_device(to, from, bytes), bytes);
}

CUresult CUDAAPI cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return give(stream, to_host(to, from, bytes), bytes);
}

CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return give(stream, inside(to, from, bytes), bytes);
}
