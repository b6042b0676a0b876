#include "device.h"

#include <stdio.h>
#include <string.h>

/* Multiply-adds one SM finishes in a clock, by unit. Whitepapers of each architecture; dense tensor rates. Where tensor
 * cores lack a type, operands are converted and the units of f32 multiply them. */
#define RATES(f32_, s32_, fma_f64, f64, f16, bf16, tf32, s8, f8) \
    {[GT_UNIT_F32] = f32_,        [GT_UNIT_S32] = s32_,         [GT_UNIT_F64] = f64, \
     [GT_UNIT_TENSOR_F16] = f16, [GT_UNIT_TENSOR_BF16] = bf16, [GT_UNIT_TENSOR_TF32] = tf32, \
     [GT_UNIT_TENSOR_S8] = s8,   [GT_UNIT_TENSOR_F8] = f8,     [GT_UNIT_TENSOR_SPLIT] = (f16) / 3, \
     [GT_UNIT_FMA_F64] = fma_f64}
static const struct {
    int cc;
    int rates[GT_UNIT_COUNT];
    int smem_limit, smem_per_sm, threads_per_sm, blocks_per_sm; /* CUDA programming guide, technical specifications */
} architectures[] = {
    {75, RATES(64, 64, 2, 2, 512, 64, 64, 1024, 64), 64 << 10, 64 << 10, 1024, 16},
    {80, RATES(64, 64, 32, 64, 1024, 1024, 512, 2048, 64), 163 << 10, 164 << 10, 2048, 32},
    {86, RATES(128, 64, 2, 2, 512, 512, 256, 1024, 128), 99 << 10, 100 << 10, 1536, 16},
    {87, RATES(128, 64, 2, 2, 1024, 1024, 512, 2048, 128), 163 << 10, 164 << 10, 1536, 16},
    {89, RATES(128, 64, 2, 2, 512, 512, 256, 1024, 1024), 99 << 10, 100 << 10, 1536, 24},
    {90, RATES(128, 64, 64, 128, 2048, 2048, 1024, 4096, 4096), 227 << 10, 228 << 10, 2048, 32},
    {100, RATES(128, 64, 64, 64, 4096, 4096, 2048, 8192, 8192), 227 << 10, 228 << 10, 2048, 32},
    {103, RATES(128, 64, 2, 2, 4096, 4096, 2048, 256, 8192), 227 << 10, 228 << 10, 2048, 32},
    {110, RATES(128, 64, 2, 2, 4096, 4096, 2048, 8192, 8192), 227 << 10, 228 << 10, 1536, 24},
    {120, RATES(128, 128, 2, 2, 512, 512, 256, 1024, 1024), 99 << 10, 100 << 10, 1536, 24},
    {121, RATES(128, 128, 2, 2, 512, 512, 256, 1024, 1024), 99 << 10, 100 << 10, 1536, 24},
};

#define ARCHITECTURES (sizeof architectures / sizeof architectures[0])

/* Hopper and later keep their newest instructions behind the architecture's own target, "sm_90a". */
static void name_arch(int cc, char arch[16])
{
    snprintf(arch, 16, "sm_%d%s", cc, cc >= 90 ? "a" : "");
}

gt_status gt_device_count(const gt_driver *driver, int *count)
{
    return gt_driver_check(driver, driver->cuDeviceGetCount(count), "cuDeviceGetCount");
}

gt_status gt_device_query(const gt_driver *driver, int ordinal, gt_device *out)
{
    gt_device device = {.ordinal = ordinal};
    int count, major = 0, minor = 0, l2 = 0;
    size_t memory;
    CUdevice handle;
    gt_status status = gt_device_count(driver, &count);
    if (status != GT_OK)
        return status;
    if (ordinal < 0 || ordinal >= count)
        return gt_fail(GT_ERROR_NO_DEVICE, "no device %d: this machine has %d GPU%s (0 to %d)", ordinal, count,
                       count == 1 ? "" : "s", count - 1);
    const struct {
        CUdevice_attribute attribute;
        int *value;
    } wanted[] = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &device.sm_count},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, &device.clock_khz},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &l2},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &device.smem_limit},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, &device.smem_per_sm},
        {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, &device.smem_reserved},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, &device.registers_per_sm},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &device.threads_per_sm},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, &device.blocks_per_sm},
    };
    status = gt_driver_check(driver, driver->cuDeviceGet(&handle, ordinal), "cuDeviceGet");
    for (size_t i = 0; status == GT_OK && i < sizeof wanted / sizeof wanted[0]; i++)
        status = gt_driver_check(driver, driver->cuDeviceGetAttribute(wanted[i].value, wanted[i].attribute, handle),
                                 "cuDeviceGetAttribute");
    if (status == GT_OK)
        status = gt_driver_check(driver, driver->cuDeviceTotalMem(&memory, handle), "cuDeviceTotalMem");
    if (status == GT_OK)
        status = gt_driver_check(driver, driver->cuDeviceGetName(device.name, sizeof device.name, handle),
                                 "cuDeviceGetName");
    if (status == GT_OK)
        status = gt_driver_check(driver, driver->cuDeviceGetPCIBusId(device.bus_id, sizeof device.bus_id, handle),
                                 "cuDeviceGetPCIBusId");
    if (status != GT_OK)
        return status;
    memcpy(device.soft, driver->soft_name, sizeof device.soft);
    device.cc = major * 10 + minor;
    device.l2_bytes = l2;
    device.memory_bytes = (int64_t)memory;
    name_arch(device.cc, device.arch);
    *out = device;
    return GT_OK;
}

gt_status gt_device_of(const gt_driver *driver, CUdevice handle, gt_device *device)
{
    int count = 0;
    gt_status status = gt_device_count(driver, &count);
    for (int i = 0; status == GT_OK && i < count; i++) {
        CUdevice other;
        if (driver->cuDeviceGet(&other, i) == CUDA_SUCCESS && other == handle)
            return gt_device_query(driver, i, device);
    }
    return status != GT_OK ? status : gt_fail(GT_ERROR_NO_DEVICE, "the current CUDA context's device is gone");
}

const char *gt_device_option(const gt_device *device, char text[GT_DEVICE_OPTION])
{
    if (device->soft[0])
        snprintf(text, GT_DEVICE_OPTION, "%s", device->soft);
    else
        snprintf(text, GT_DEVICE_OPTION, "%d", device->ordinal < 0 ? 0 : device->ordinal);
    return text;
}

gt_status gt_device_model(int cc, gt_device *device)
{
    for (size_t i = 0; i < ARCHITECTURES; i++) {
        if (architectures[i].cc != cc)
            continue;
        *device = (gt_device){
            .ordinal = -1, .cc = cc, .sm_count = 1, .smem_reserved = 1024, .registers_per_sm = 65536,
            .smem_limit = architectures[i].smem_limit, .smem_per_sm = architectures[i].smem_per_sm,
            .threads_per_sm = architectures[i].threads_per_sm, .blocks_per_sm = architectures[i].blocks_per_sm,
        };
        snprintf(device->name, sizeof device->name, "compute capability %d.%d", cc / 10, cc % 10);
        name_arch(cc, device->arch);
        return GT_OK;
    }
    return gt_fail(GT_ERROR_INVALID, "unknown architecture sm_%d; there are: sm_75 to sm_121", cc);
}

static int at_most(int value, int limit)
{
    return value < limit ? value : limit;
}

int gt_device_occupancy(const gt_device *device, int threads, int registers, int smem_bytes)
{
    /* Registers are handed out to whole warps in units of 256, 8 a thread. */
    const int warps = (threads + 31) / 32, per_warp = (registers + 7) / 8 * 8 * 32;
    int blocks = at_most(device->blocks_per_sm, device->threads_per_sm / (warps * 32));
    if (per_warp > 0) /* each of the SM's four quarters holds whole warps */
        blocks = at_most(blocks, device->registers_per_sm / 4 / per_warp * 4 / warps);
    const int shared = smem_bytes + device->smem_reserved; /* Turing reserves none */
    return shared > 0 ? at_most(blocks, device->smem_per_sm / shared) : blocks;
}

static double units_tflops(const gt_device *device, gt_unit unit)
{
    for (size_t i = 0; i < ARCHITECTURES; i++)
        if (architectures[i].cc == device->cc)
            return 2.0 * architectures[i].rates[unit] * device->sm_count * device->clock_khz * 1e3 * 1e-12;
    return 0;
}

double gt_device_peak_tflops(const gt_device *device, const gt_types *types)
{
    return units_tflops(device, types->unit);
}

double gt_device_fma_tflops(const gt_device *device, const gt_types *types)
{
    return units_tflops(device, types->accumulator == GT_F32   ? GT_UNIT_F32
                                : types->accumulator == GT_F64 ? GT_UNIT_FMA_F64
                                                               : GT_UNIT_S32);
}
