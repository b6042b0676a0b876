/*
 * Which products a program asks for, kept for `gemmtune wanted` and `gemmtune tune --wanted`: calls are counted with the
 * answers, in memory, and added to the database every few seconds, by a thread of this file's, and at the end.
 */
#ifndef GT_CAPTURE_H
#define GT_CAPTURE_H

#include <stdbool.h>

#include "library.h"
#include "symbols.h"

/* Reads, once, whether anything is to be stored. True if products are counted and nothing is answered. */
bool gt_capture_read_environment(void);

/* Counted from now on are products in a CUDA context, the current one, by its id. Under a lock of the caller's; a context
 * that cannot be counted in is left out. */
void gt_capture_begin(uint64_t context, const gt_library *library);

/* The first GPU that products are counted on; NULL if there is none. */
const gt_counted_gpu *gt_capture_gpu(void);

#define GT_CAPTURE_TEXT 1280 /* a failure's message, and what is around it */

/* Stores what is not stored yet, for the last time, and says in `text` what was saved and what to do next. */
void gt_capture_end(char text[GT_CAPTURE_TEXT]);

#endif
