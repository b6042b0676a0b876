/* gemmtune [tune]: finds the fastest kernel for each shape and stores it. */
#include "side_by_side.h"
#include "tune_device.h"

int gt_cmd_tune(const gt_options_cli *options)
{
    return options->all_devices ? gt_tune_side_by_side(options) : gt_tune_device(options, NULL);
}
