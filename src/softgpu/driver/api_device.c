/* The driver, its one device and what that is like. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

#define VERSION 13000
#define BUS_ID  "0000:00:00.0"

static char chosen[64]; /* by sg_choose */

/* A profile's key, and after a comma what else: "h200,races". NULL if there is no such thing. */
static const sg_profile *read_choice(const char *choice, bool *races)
{
    const char *comma = strchr(choice, ',');
    char key[32];
    snprintf(key, sizeof key, "%.*s", comma ? (int)(comma - choice) : (int)strlen(choice), choice);
    *races = comma && strcmp(comma, ",races") == 0;
    return comma && !*races ? NULL : sg_profile_find(key);
}

/* The environment is read here, and nowhere else. */
static const sg_profile *choose_profile(bool *races)
{
    const char *named = secure_getenv("GEMMTUNE_SOFT");
    return read_choice(chosen[0] ? chosen : named ? named : "", races);
}

CUresult sg_choose(const char *choice)
{
    bool races;
    const sg_profile *profile = read_choice(choice, &races);
    if (!profile || strlen(choice) >= sizeof chosen)
        return CUDA_ERROR_INVALID_VALUE;
    if (sg.profile && choice[0] && (profile != sg.profile || races != sg.check_races))
        return CUDA_ERROR_ILLEGAL_STATE;
    if (!sg.profile)
        strcpy(chosen, choice);
    return CUDA_SUCCESS;
}

static CUresult initialise(void)
{
    const sg_profile *profile = choose_profile(&sg.check_races);
    if (!profile)
        return CUDA_ERROR_NO_DEVICE;
    sg_memory *memory = sg_memory_create(profile->memory_bytes);
    sg.primary.handle = memory ? sg_handle_create(SG_CONTEXT, SG_NOBODY, &sg.primary) : NULL;
    if (!sg.primary.handle) {
        sg_memory_destroy(memory);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    sg.primary.number = ++sg.contexts;
    sg.memory = memory;
    sg.profile = profile;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuInit(unsigned flags)
{
    sg_enter(SG_NEEDS_NOTHING);
    return sg_leave(flags != 0 ? CUDA_ERROR_INVALID_VALUE : sg.profile ? CUDA_SUCCESS : initialise());
}

CUresult CUDAAPI cuDriverGetVersion(int *version)
{
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = VERSION;
    return CUDA_SUCCESS;
}

/* Enters; there is one device, number 0. */
static CUresult enter_device(CUdevice device, const void *out)
{
    const CUresult result = sg_enter(SG_NEEDS_INIT);
    if (result != CUDA_SUCCESS)
        return result;
    return !out ? CUDA_ERROR_INVALID_VALUE : device != 0 ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    const CUresult result = enter_device(0, count);
    if (result == CUDA_SUCCESS)
        *count = 1;
    return sg_leave(result);
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
    const CUresult result = enter_device(ordinal, device);
    if (result == CUDA_SUCCESS)
        *device = 0;
    return sg_leave(result);
}

/* Cut to fit, as the driver does. */
static CUresult put_text(char *to, int length, const char *text)
{
    if (length < 1)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(to, (size_t)length, "%s", text);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetName(char *name, int length, CUdevice device)
{
    CUresult result = enter_device(device, name);
    if (result == CUDA_SUCCESS)
        result = put_text(name, length, sg.profile->name);
    return sg_leave(result);
}

CUresult CUDAAPI cuDeviceGetPCIBusId(char *bus_id, int length, CUdevice device)
{
    CUresult result = enter_device(device, bus_id);
    if (result == CUDA_SUCCESS)
        result = length < (int)sizeof BUS_ID ? CUDA_ERROR_INVALID_VALUE : put_text(bus_id, length, BUS_ID);
    return sg_leave(result);
}

CUresult CUDAAPI cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
    const CUresult result = enter_device(device, bytes);
    if (result == CUDA_SUCCESS)
        *bytes = sg.profile->memory_bytes;
    return sg_leave(result);
}

/* What is not listed the software GPU does not have: 0. */
static int attribute_of(const sg_profile *p, CUdevice_attribute attribute)
{
    const struct {
        CUdevice_attribute attribute;
        int value;
    } attributes[] = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, p->cc / 10},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, p->cc % 10},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, p->sm_count},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, p->clock_khz},
        {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, p->memory_clock_khz},
        {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, p->bus_bits},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, p->l2_bytes},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, p->smem_per_block},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, p->smem_per_block_optin},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, p->smem_per_sm},
        {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, p->smem_reserved},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, p->registers_per_block},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, p->registers_per_sm},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, p->threads_per_block},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, p->threads_per_sm},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, p->blocks_per_sm},
        {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, p->cluster_max > 0},
        {CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, p->cc >= 90},
        {CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, p->f32_lanes / p->f64_lanes},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 0x7fffffff},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
        {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
        {CU_DEVICE_ATTRIBUTE_MAX_PITCH, 0x7fffffff},
        {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
        {CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, 512},
        {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
        {CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 1},
        {CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 1},
        {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
        {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
    };
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++)
        if (attributes[i].attribute == attribute)
            return attributes[i].value;
    return 0;
}

CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    CUresult result = enter_device(device, value);
    if (result == CUDA_SUCCESS && ((int)attribute < 1 || attribute >= CU_DEVICE_ATTRIBUTE_MAX))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *value = attribute_of(sg.profile, attribute);
    return sg_leave(result);
}
