/*
 * Device memory of the software GPU. A device address is a host address inside one large reservation, so that kernels
 * need no translation; every access is held against the live allocations, which lie apart with nothing between them.
 */
#ifndef SG_MEMORY_H
#define SG_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sg_memory sg_memory;
typedef struct sg_guards sg_guards;

/* One live allocation, or a module's global variable. */
typedef struct sg_span {
    uint64_t base, bytes;
    uint8_t *written; /* one bit a byte: whether anybody wrote it; NULL: all of it (constant data) */
    uint32_t owner;   /* the context in which the program asked for it, and may free it; 0: a module's */
    sg_guards *guards; /* bytes of it that kernels may not touch; NULL: none */
} sg_span;

/* limit: bytes that allocations may take together. NULL if out of memory. */
sg_memory *sg_memory_create(uint64_t limit);
void sg_memory_destroy(sg_memory *memory);

/* 256-byte aligned, all zero, nothing of it written; 0 if the limit or the host's memory is reached. */
uint64_t sg_memory_alloc(sg_memory *memory, uint64_t bytes);

/* The same for the program, in a context's name: sg_memory_free_user frees all of an owner's. */
uint64_t sg_memory_alloc_user(sg_memory *memory, uint32_t owner, uint64_t bytes);

/* False if address is not the start of a live allocation. */
bool sg_memory_free(sg_memory *memory, uint64_t address);
void sg_memory_free_user(sg_memory *memory, uint32_t owner);

/* The live allocation that holds address; NULL if there is none. Valid until it is freed. Safe from many threads as
 * long as nobody allocates or frees. */
const sg_span *sg_memory_find(const sg_memory *memory, uint64_t address);

/* The live allocation that holds all of count bytes from address on; NULL if there is none. */
const sg_span *sg_memory_find_range(const sg_memory *memory, uint64_t address, uint64_t count);

/* Forbids kernels to touch bytes of one live allocation, or allows it again. False if out of memory. */
bool sg_memory_protect(sg_memory *memory, uint64_t address, uint64_t bytes, bool allowed);

/* Marks bytes as written; tells whether all of them are. address and count lie inside the span. Safe from many
 * threads. */
void sg_span_mark(const sg_span *span, uint64_t address, uint64_t count);
bool sg_span_written(const sg_span *span, uint64_t address, uint64_t count);

/* Copies what is written and what is not along with count bytes that were copied. */
void sg_span_copy_marks(const sg_span *to, uint64_t to_address, const sg_span *from, uint64_t from_address,
                        uint64_t count);

/* Bytes in live allocations, the limit, and what one more allocation could take on this host. */
uint64_t sg_memory_used(const sg_memory *memory);
uint64_t sg_memory_limit(const sg_memory *memory);
uint64_t sg_memory_available(const sg_memory *memory);

#endif
