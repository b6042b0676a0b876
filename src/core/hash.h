/* SHA-256, for keys and against damage. */
#ifndef GT_HASH_H
#define GT_HASH_H

#include <stddef.h>

#define GT_HASH_LENGTH 65 /* in hexadecimal, and the end */

void gt_hash(const void *bytes, size_t count, char hash[GT_HASH_LENGTH]);

#endif
