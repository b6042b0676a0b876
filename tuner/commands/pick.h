/* One configuration, as a person asks for it: a family, one shape, some parameters. */
#ifndef GT_PICK_H
#define GT_PICK_H

#include "options.h"
#include "../search/space.h"

typedef struct gt_pick {
    const gt_family *family;
    gt_device device;
    gt_problem problem;
    gt_kernel kernel; /* the first configuration that has all parameters of --params */
} gt_pick;

/* Reads the command's operand, --shapes and --params. GT_ERROR_INVALID names what does not fit, and what
 * would: the command line makes no sense. */
gt_status gt_pick_init(const gt_options_cli *options, const gt_families *families, gt_pick *pick);

#endif
