/*
 * Trials as text, a line each, so that a table of them can stand in a repository: a line that begins with "device" and
 * says whose they are, then
 *   f32 strict none nn 16 <tab> 640x512x768x1 <tab> 17.1 <tab> simt <tab> 64 <tab> tile_m=64 ... <tab> bm=64 ...
 * class, sizes and batch, microseconds, family, registers, launch facts that do not have their default, parameters. A
 * kernel that was rendered for rows of less alignment has align=4 or the like behind its facts.
 */
#ifndef GT_TRIALS_H
#define GT_TRIALS_H

#include <stdio.h>

#include "../../db/store.h"

/* Lists of measurements, one for each type and layout, of one device. */
typedef struct gt_trials {
    gt_device device;
    gt_measurements *lists;
    size_t count;
} gt_trials;

/* Reads a table. GT_ERROR_INVALID names the line. trials: gt_trials_finish, also after a failure. */
gt_status gt_trials_read(const char *path, gt_trials *trials);
void gt_trials_finish(gt_trials *trials);

/* Writes the line of a device, and the lines of a list. False where the stream failed. */
bool gt_trials_write_device(FILE *stream, const gt_device *device);
bool gt_trials_write(FILE *stream, const gt_measurements *list);

#endif
