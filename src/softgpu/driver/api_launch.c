/* Launches: from arguments to a grid within all limits. */
#include <string.h>

#include "../model/limits.h"
#include "capture.h"

static const uint32_t most_grid[3] = {0x7fffffff, 65535, 65535}, most_block[3] = {1024, 1024, 64};

static CUresult check_sizes(const sg_launch *launch, const sg_function *f)
{
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        if (launch->grid[i] < 1 || launch->grid[i] > most_grid[i] || launch->block[i] < 1 ||
            launch->block[i] > most_block[i])
            return CUDA_ERROR_INVALID_VALUE;
        threads *= launch->block[i];
    }
    if (threads > (uint64_t)sg.profile->threads_per_block ||
        (f->assembled.max_threads > 0 && threads > f->assembled.max_threads) ||
        launch->dynamic_shared > (uint32_t)f->max_dynamic_shared)
        return CUDA_ERROR_INVALID_VALUE;
    return threads > (uint64_t)sg_most_threads(sg.profile, (int)f->assembled.registers)
               ? CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
               : CUDA_SUCCESS;
}

/* The cluster: the launch's, else the kernel's own, of which no side is missing; where both name one they agree. */
static CUresult check_cluster(sg_launch *launch, const sg_function *f, bool asked)
{
    const uint32_t *own = f->cluster;
    const uint64_t most = f->assembled.max_cluster > 0 ? f->assembled.max_cluster
                          : f->nonportable_cluster     ? (uint64_t)sg.profile->cluster_max_nonportable
                                                       : (uint64_t)sg.profile->cluster_max;
    uint64_t size = 1;
    for (int i = 0; i < 3; i++) {
        if (!asked)
            launch->cluster[i] = own[0] > 0 ? own[i] : 1;
        if (launch->cluster[i] < 1 || (own[i] > 0) != (own[0] > 0) || (own[0] > 0 && launch->cluster[i] != own[i]) ||
            launch->grid[i] % launch->cluster[i] != 0)
            return CUDA_ERROR_INVALID_CLUSTER_SIZE;
        size *= launch->cluster[i];
    }
    return size > 1 && size > most ? CUDA_ERROR_INVALID_CLUSTER_SIZE : CUDA_SUCCESS;
}

/* All blocks of a cooperative launch run at the same time. */
static CUresult check_cooperative(const sg_launch *launch, const sg_function *f)
{
    const uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    const int threads = (int)(launch->block[0] * launch->block[1] * launch->block[2]);
    const int fit = sg_blocks_per_sm(sg.profile, threads, (int)f->assembled.registers,
                                     (int)(f->assembled.static_shared + launch->dynamic_shared));
    return blocks > (uint64_t)fit * (uint64_t)sg.profile->sm_count ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
                                                                   : CUDA_SUCCESS;
}

/* One buffer with all arguments, instead of a pointer to each. */
static CUresult find_buffer(void **extra, const void **buffer, size_t *bytes)
{
    *buffer = NULL;
    *bytes = 0;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
            *buffer = extra[1];
        else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1])
            *bytes = *(const size_t *)extra[1];
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    return *buffer || *bytes == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult take_arguments(const sg_kernel_facts *facts, void **arguments, void **extra, sg_launch *launch)
{
    const void *buffer = NULL;
    size_t bytes = 0;
    CUresult result = extra ? find_buffer(extra, &buffer, &bytes) : CUDA_SUCCESS;
    if (result != CUDA_SUCCESS || (arguments && extra) || (!arguments && !extra && facts->param_count > 0))
        return CUDA_ERROR_INVALID_VALUE;
    if (bytes > facts->params_bytes)
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    for (size_t i = 0; arguments && i < facts->param_count; i++)
        if (!arguments[i])
            return CUDA_ERROR_INVALID_VALUE;
    if (!sg_launch_alloc(launch, facts->params_bytes, (uint32_t)facts->param_count))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (bytes > 0)
        memcpy(launch->params, buffer, bytes);
    for (size_t i = 0; i < facts->param_count; i++) {
        launch->param_pointers[i] = launch->params + facts->param_offsets[i];
        if (arguments)
            memcpy(launch->param_pointers[i], arguments[i], facts->param_bytes[i]);
    }
    return CUDA_SUCCESS;
}

/* The attributes of a launch that change what runs here. The others say how, and are taken as said. */
static CUresult take_attributes(const CUlaunchConfig *config, sg_launch *launch, bool *clustered, bool *cooperative)
{
    if (config->numAttrs > 0 && !config->attrs)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttribute *a = &config->attrs[i];
        if ((unsigned)a->id > CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING)
            return CUDA_ERROR_INVALID_VALUE;
        if (a->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
            launch->cluster[0] = a->value.clusterDim.x;
            launch->cluster[1] = a->value.clusterDim.y;
            launch->cluster[2] = a->value.clusterDim.z;
            *clustered = true;
        } else if (a->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
            *cooperative = a->value.cooperative != 0;
        } else if (a->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
            launch->dependent = a->value.programmaticStreamSerializationAllowed != 0;
        }
    }
    return CUDA_SUCCESS;
}

static CUresult prepare(const CUlaunchConfig *config, CUfunction handle, void **arguments, void **extra,
                        sg_launch *launch)
{
    const sg_function *function = sg_handle_find(SG_FUNCTION, handle);
    bool clustered = false, cooperative = false;
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    *launch = (sg_launch){
        .kernel = function->handle,
        .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
        .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
        .dynamic_shared = config->sharedMemBytes,
    };
    CUresult result = take_attributes(config, launch, &clustered, &cooperative);
    if (result == CUDA_SUCCESS)
        result = check_sizes(launch, function);
    if (result == CUDA_SUCCESS)
        result = check_cluster(launch, function, clustered);
    if (result == CUDA_SUCCESS && cooperative)
        result = check_cooperative(launch, function);
    return result == CUDA_SUCCESS ? take_arguments(function->facts, arguments, extra, launch) : result;
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **arguments, void **extra)
{
    CUresult result = sg_enter(SG_NEEDS_WORK);
    sg_work work = {.kind = SG_WORK_LAUNCH};
    if (result == CUDA_SUCCESS && !config)
        result = CUDA_ERROR_INVALID_VALUE;
    sg_stream *stream = result == CUDA_SUCCESS ? sg_stream_find(config->hStream) : NULL;
    if (result == CUDA_SUCCESS && !stream)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS && (result = prepare(config, function, arguments, extra, &work.launch)) == CUDA_SUCCESS)
        result = sg_stream_give(stream, &work);
    else if (stream && stream->capturing)
        stream->invalidated = true; /* a launch that is refused spoils a capture, as on the real one */
    return sg_leave(result);
}

CUresult CUDAAPI cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                           unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                           CUstream stream, void **arguments)
{
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
    const CUlaunchConfig config = {
        .gridDimX = grid_x, .gridDimY = grid_y, .gridDimZ = grid_z,
        .blockDimX = block_x, .blockDimY = block_y, .blockDimZ = block_z,
        .sharedMemBytes = shared, .hStream = stream, .attrs = &attribute, .numAttrs = 1,
    };
    return cuLaunchKernelEx(&config, function, arguments, NULL);
}

CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, CUstream stream,
                                void **arguments, void **extra)
{
    const CUlaunchConfig config = {
        .gridDimX = grid_x, .gridDimY = grid_y, .gridDimZ = grid_z,
        .blockDimX = block_x, .blockDimY = block_y, .blockDimZ = block_z,
        .sharedMemBytes = shared, .hStream = stream,
    };
    return cuLaunchKernelEx(&config, function, arguments, extra);
}
