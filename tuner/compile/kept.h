/* Code that every run needs, kept in a folder of the user's: $XDG_CACHE_HOME/gemmtune, else ~/.cache/gemmtune. */
#ifndef GT_KEPT_H
#define GT_KEPT_H

#include "nvrtc.h"

/* Files that the folder may hold: those that were used last stay. */
#define GT_KEPT_MOST 32

/* As gt_nvrtc_compile, but what was compiled before, by any process of this user and an NVRTC of this version, is read.
 * A folder or a file that others can write, or that is damaged, is passed over; where nothing can be kept nothing is. */
gt_status gt_kept_compile(const gt_nvrtc *nvrtc, const char *source, const char *arch, gt_code *code);

#endif
