#include "attach.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../ptx/cubin.h"

#define MOST 256

typedef struct attachment {
    size_t cubin_bytes; /* 0: free */
    uint64_t hash;
    uint64_t age;
    unsigned char header[SG_CUBIN_HEADER];
    char *ptx;
    size_t ptx_bytes;
} attachment;

static attachment attachments[MOST];
static uint64_t count;

/* FNV-1a, eight bytes at a time. */
static uint64_t hash_bytes(const unsigned char *bytes, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u, word;
    for (; length >= sizeof word; bytes += sizeof word, length -= sizeof word) {
        memcpy(&word, bytes, sizeof word);
        hash = (hash ^ word) * 0x100000001b3u;
        hash ^= hash >> 32;
    }
    for (; length > 0; bytes++, length--)
        hash = (hash ^ *bytes) * 0x100000001b3u;
    return hash;
}

static attachment *find(const void *cubin, size_t bytes)
{
    uint64_t hash = 0;
    bool hashed = false;
    for (size_t i = 0; i < MOST; i++) {
        attachment *a = &attachments[i];
        if (a->cubin_bytes != bytes || memcmp(a->header, cubin, sizeof a->header) != 0)
            continue;
        if (!hashed)
            hash = hash_bytes(cubin, bytes);
        hashed = true;
        if (a->hash == hash)
            return a;
    }
    return NULL;
}

bool sg_attach(const void *cubin, size_t cubin_bytes, const char *ptx, size_t ptx_bytes)
{
    attachment *place = find(cubin, cubin_bytes);
    char *copy = malloc(ptx_bytes);
    if (!copy)
        return false;
    memcpy(copy, ptx, ptx_bytes);
    for (size_t i = 0; !place && i < MOST; i++)
        if (attachments[i].cubin_bytes == 0)
            place = &attachments[i];
    if (!place) {
        place = &attachments[0];
        for (size_t i = 1; i < MOST; i++)
            if (attachments[i].age < place->age)
                place = &attachments[i];
    }
    free(place->ptx);
    *place = (attachment){.cubin_bytes = cubin_bytes, .hash = hash_bytes(cubin, cubin_bytes), .age = ++count,
                          .ptx = copy, .ptx_bytes = ptx_bytes};
    memcpy(place->header, cubin, sizeof place->header);
    return true;
}

const char *sg_attached(const void *cubin, size_t cubin_bytes, size_t *ptx_bytes)
{
    const attachment *a = find(cubin, cubin_bytes);
    if (a)
        *ptx_bytes = a->ptx_bytes;
    return a ? a->ptx : NULL;
}

void sg_attach_finish(void)
{
    for (size_t i = 0; i < MOST; i++)
        free(attachments[i].ptx);
    memset(attachments, 0, sizeof attachments);
}
