/* The driver, its devices and what they are like. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

#define VERSION 13000
#define BUS_ID  "0000:%02x:00.0" /* of a device's number */

static char chosen[64]; /* by sg_choose */

typedef struct choice {
    const sg_profile *profile;
    bool races;
    int devices;
} choice;

/* A profile's key, and after commas what else: "h200,races", "h200,gpus=2". Its profile is NULL if there is no such
 * thing. */
static choice read_choice(const char *text)
{
    choice c = {.devices = 1};
    char key[32];
    size_t length = strcspn(text, ",");
    snprintf(key, sizeof key, "%.*s", (int)length, text);
    while (text[length]) {
        text += length + 1;
        length = strcspn(text, ",");
        int end = 0;
        if (length == 5 && strncmp(text, "races", 5) == 0)
            c.races = true;
        else if (sscanf(text, "gpus=%2d%n", &c.devices, &end) != 1 || (size_t)end != length || c.devices < 1 ||
                 c.devices > GT_SOFT_MOST_DEVICES)
            return (choice){0};
    }
    c.profile = sg_profile_find(key);
    return c;
}

/* The environment is read here, and nowhere else. A program that is linked with this library starts it before libgemmtune
 * does, and both go by one variable. */
static choice find_choice(void)
{
    const char *named = secure_getenv("GEMMTUNE_SOFT"), *driver = secure_getenv("GEMMTUNE_DRIVER");
    if (!named && driver && strncmp(driver, "soft:", 5) == 0)
        named = driver + 5;
    return read_choice(chosen[0] ? chosen : named ? named : "");
}

CUresult sg_choose(const char *text)
{
    const choice c = read_choice(text);
    if (!c.profile || strlen(text) >= sizeof chosen)
        return CUDA_ERROR_INVALID_VALUE;
    if (sg.profile && text[0] &&
        (c.profile != sg.profile || c.races != sg.check_races || c.devices != sg.device_count))
        return CUDA_ERROR_ILLEGAL_STATE;
    if (!sg.profile)
        strcpy(chosen, text);
    return CUDA_SUCCESS;
}

static CUresult initialise(void)
{
    const choice c = find_choice();
    if (!c.profile)
        return CUDA_ERROR_NO_DEVICE;
    sg_memory *memory = sg_memory_create(c.profile->memory_bytes);
    int made = 0;
    while (memory && made < c.devices &&
           (sg.primary[made].handle = sg_handle_create(SG_CONTEXT, SG_NOBODY, &sg.primary[made]))) {
        sg.primary[made].device = made;
        sg.primary[made++].number = ++sg.contexts;
    }
    if (made < c.devices) {
        while (made > 0)
            sg_handle_destroy(SG_CONTEXT, sg.primary[--made].handle);
        sg_memory_destroy(memory);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    sg.memory = memory;
    sg.check_races = c.races;
    sg.device_count = c.devices;
    sg.profile = c.profile;
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

/* Enters with a device's number. */
static CUresult enter_device(CUdevice device, const void *out)
{
    const CUresult result = sg_enter(SG_NEEDS_INIT);
    if (result != CUDA_SUCCESS)
        return result;
    return !out ? CUDA_ERROR_INVALID_VALUE : !sg_is_device(device) ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    const CUresult result = enter_device(0, count);
    if (result == CUDA_SUCCESS)
        *count = sg.device_count;
    return sg_leave(result);
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
    const CUresult result = enter_device(ordinal, device);
    if (result == CUDA_SUCCESS)
        *device = ordinal;
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
    char text[sizeof "0000:00:00.0"];
    snprintf(text, sizeof text, BUS_ID, (unsigned)device & 0xff);
    CUresult result = enter_device(device, bus_id);
    if (result == CUDA_SUCCESS)
        result = length < (int)sizeof text ? CUDA_ERROR_INVALID_VALUE : put_text(bus_id, length, text);
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
