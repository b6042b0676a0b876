/* One GPU: the facts that spaces, models and the database are keyed by. */
#ifndef GT_DEVICE_H
#define GT_DEVICE_H

#include "driver.h"
#include "types.h"

typedef struct gt_device {
    int ordinal;
    char name[128]; /* the model, "NVIDIA H200" */
    char soft[48];  /* the software GPU's name, "soft:h200"; "" for a real one */
    char bus_id[16];
    int cc;         /* compute capability, 90 for 9.0 */
    char arch[16];  /* what kernels are compiled for: "sm_90a" */
    int sm_count;
    int clock_khz; /* highest SM clock */
    int64_t memory_bytes, l2_bytes;
    int smem_limit;    /* bytes one block may ask for */
    int smem_per_sm;   /* bytes */
    int smem_reserved; /* bytes the system takes of each block's share */
    int registers_per_sm, threads_per_sm, blocks_per_sm;
} gt_device;

/* Number of GPUs the driver shows. */
gt_status gt_device_count(const gt_driver *driver, int *count);

/* Reads the facts of one GPU. GT_ERROR_NO_DEVICE names the range where ordinal is outside it. */
gt_status gt_device_query(const gt_driver *driver, int ordinal, gt_device *device);

/* The same by a device's handle: the driver documents no relation between that and the ordinal. */
gt_status gt_device_of(const gt_driver *driver, CUdevice handle, gt_device *device);

#define GT_DEVICE_OPTION 48

/* What `gemmtune --device` takes for it, "0" or "soft:h200": for advice. */
const char *gt_device_option(const gt_device *device, char text[GT_DEVICE_OPTION]);

/* The facts that follow from compute capability alone, for compiling without a GPU: arch, limits. cc 75 to 129. */
gt_status gt_device_model(int cc, gt_device *device);

/* Blocks of a kernel that one SM holds at once; 0 if not even one fits. registers 0 means not known. */
int gt_device_occupancy(const gt_device *device, int threads, int registers, int smem_bytes);

/* The most the GPU could do on products of these types, in TFLOPS, from its units and clock; 0 if not known. */
double gt_device_peak_tflops(const gt_device *device, const gt_types *types);

/* The same by multiply-adds of its threads alone, as if it had no tensor cores. */
double gt_device_fma_tflops(const gt_device *device, const gt_types *types);

#endif
