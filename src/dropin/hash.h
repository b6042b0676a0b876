/* The place of a key in a table of 2^bits places. */
#ifndef GT_HASH_H
#define GT_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* By a sum of products, which do not wait for each other. */
static inline size_t gt_hash(const void *key, size_t words, int bits)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < words; i++) {
        uint64_t word;
        memcpy(&word, (const char *)key + i * sizeof word, sizeof word);
        sum += word * (0x9e3779b97f4a7c15u * (2 * i + 1));
    }
    return (size_t)((sum ^ sum >> 32) * 0x9e3779b97f4a7c15u >> (64 - bits));
}

#endif
