/*
 * Device memory of the software GPU. A device address is a host address inside one large reservation, so that kernels
 * need no translation; every access is held against the live allocations, which lie apart with nothing between them.
 * Programs may also reserve addresses and map memory there themselves.
 */
#ifndef SG_MEMORY_H
#define SG_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SG_GRANULE ((uint64_t)2 << 20) /* bytes, of what programs reserve and map: an H200's */

typedef struct sg_memory sg_memory;
typedef struct sg_guards sg_guards;

/* One live allocation, a module's global variable, or pages mapped at reserved addresses. */
typedef struct sg_span {
    uint64_t base, bytes;
    uint8_t *written; /* one bit a byte: whether anybody wrote it; NULL: all of it (constant data) */
    uint32_t owner;   /* the context in which the program asked for it, and may free it; 0: a module's, or mapped */
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

/*
 * Addresses without memory, which allocations do not use until they are given back; 0 if there is no room. bytes and
 * alignment are multiples of SG_GRANULE, alignment a power of two. Nothing is mapped there when they are given back.
 */
uint64_t sg_memory_reserve(sg_memory *memory, uint64_t bytes, uint64_t alignment);
void sg_memory_unreserve(sg_memory *memory, uint64_t address);

/* Memory without an address, counted as an allocation is: all zero, nothing of it written. *pages names it. False if
 * the limit or the host's memory is reached. */
bool sg_memory_take_pages(sg_memory *memory, uint64_t bytes, uint64_t *pages);
void sg_memory_give_pages(sg_memory *memory, uint64_t pages, uint64_t bytes);

/*
 * Gives all of a range of pages an address, as an allocation, where nothing is mapped in a reservation; takes it from
 * them again. The same pages may have several. They keep what is in them and what of it was written. False if out of
 * memory.
 */
bool sg_memory_map(sg_memory *memory, uint64_t address, uint64_t pages, uint64_t bytes);
void sg_memory_unmap(sg_memory *memory, uint64_t address);

/* The live allocation that holds address; NULL if there is none. Valid until it is freed. Safe from many threads as
 * long as nobody allocates or frees. */
const sg_span *sg_memory_find(const sg_memory *memory, uint64_t address);

/* The live allocation that holds address, if it and those that follow without a gap hold all of count bytes; NULL if
 * they do not. Only mapped pages follow each other so. */
const sg_span *sg_memory_find_range(const sg_memory *memory, uint64_t address, uint64_t count);

/* Forbids kernels to touch bytes that sg_memory_find_range finds, or allows it again. False if out of memory. */
bool sg_memory_protect(sg_memory *memory, uint64_t address, uint64_t bytes, bool allowed);

/* Marks bytes as written; tells whether all of them are. address lies inside the span, and count bytes from there on in
 * it or in those that follow without a gap: their marks follow so, too. Safe from many threads. */
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
