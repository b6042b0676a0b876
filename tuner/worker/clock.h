/* The GPU's clock and driver, through NVML where it is there. */
#ifndef GT_CLOCK_H
#define GT_CLOCK_H

#include <stddef.h>

#include "../../src/core/device.h"

typedef struct gt_clock gt_clock;

/* Opens NVML for the GPU at this PCI address ("0000:3b:00.0"). NULL if there is no NVML or it does not know the GPU:
 * the calls below accept that. */
gt_clock *gt_clock_open(const char *bus_id);
void gt_clock_close(gt_clock *clock);

#define GT_THROTTLED 0.75 /* samples below this share of the highest clock do not count: nvbench's rule */

/* The SM clock now and the highest it can be, in MHz; 0: not known. */
double gt_clock_mhz(const gt_clock *clock);
double gt_clock_max_mhz(const gt_clock *clock);

/* The SM clock of a GPU under a light load, in MHz: its memory is filled for a moment. Locked clocks show here, and in
 * no attribute of the device. The highest clock where it cannot be read. */
double gt_clock_awake_mhz(const gt_driver *driver, const gt_device *device);

/* The release of NVIDIA's driver, "580.159.04"; "" if not known. */
void gt_clock_driver(const gt_clock *clock, char *release, size_t size);

#endif
