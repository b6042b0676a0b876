/* A GPU that products are counted on, as the files that store something of it see it. */
#ifndef GT_COUNTED_H
#define GT_COUNTED_H

#include "../core/device.h"

struct gt_counted_gpu {
    gt_device device;
};

#endif
