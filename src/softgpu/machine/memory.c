#include "memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guard.h"

/*
 * Two reservations of address space. `data` has no access rights but where an allocation lies. `marks` holds one bit
 * for each byte of data, at the same place divided by eight, and costs memory only where somebody wrote. Allocations
 * take whole units, so that neither a page of data nor a page of marks is shared, and leave a unit free behind them.
 */
struct sg_memory {
    uint8_t *data, *marks;
    uint64_t reserved, unit; /* bytes of data; of eight pages */
    uint64_t limit, host;    /* the device's memory; the host's */
    uint64_t used;           /* as asked for */
    uint64_t next;           /* offset from which the next free place is looked for: addresses come back late */
    sg_span **spans;         /* by address */
    size_t count, capacity;
    const sg_span *last; /* the last one found; a hint that many threads may set */
};

static uint64_t units(const sg_memory *memory, uint64_t bytes)
{
    return (bytes + memory->unit - 1) / memory->unit * memory->unit;
}

static void *reserve(uint64_t bytes, int rights)
{
    void *place = mmap(NULL, bytes, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return place == MAP_FAILED ? NULL : place;
}

sg_memory *sg_memory_create(uint64_t limit)
{
    sg_memory *memory = calloc(1, sizeof *memory);
    if (!memory)
        return NULL;
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    memory->unit = 8 * page;
    memory->limit = limit;
    memory->host = (uint64_t)sysconf(_SC_PHYS_PAGES) * page;
    /* Room for gaps and for addresses that are not used again at once; less where the host has less. */
    for (uint64_t bytes = units(memory, 4 * limit); bytes >= memory->unit; bytes = units(memory, bytes / 2)) {
        memory->data = reserve(bytes, PROT_NONE);
        memory->marks = memory->data ? reserve(bytes / 8, PROT_READ | PROT_WRITE) : NULL;
        if (memory->marks) {
            madvise(memory->marks, bytes / 8, MADV_DONTDUMP);
            memory->reserved = bytes;
            return memory;
        }
        if (memory->data)
            munmap(memory->data, bytes);
        if (bytes == memory->unit)
            break;
    }
    free(memory);
    return NULL;
}

void sg_memory_destroy(sg_memory *memory)
{
    if (!memory)
        return;
    for (size_t i = 0; i < memory->count; i++) {
        sg_guards_destroy(memory->spans[i]->guards);
        free(memory->spans[i]);
    }
    free(memory->spans);
    munmap(memory->data, memory->reserved);
    munmap(memory->marks, memory->reserved / 8);
    free(memory);
}

/* Index of the first span that begins after address. */
static size_t upper(const sg_memory *memory, uint64_t address)
{
    size_t low = 0, high = memory->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (memory->spans[middle]->base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The first place at or after `from` with room for bytes and a free unit on either side; its index among the spans.
 * False if there is none. */
static bool find_place(const sg_memory *memory, uint64_t from, uint64_t bytes, uint64_t *offset, size_t *index)
{
    const uint64_t base = (uint64_t)(uintptr_t)memory->data;
    size_t i = upper(memory, base + from);
    uint64_t at = from;
    if (i > 0) {
        const uint64_t end = memory->spans[i - 1]->base - base + units(memory, memory->spans[i - 1]->bytes);
        at = at > end ? at : end;
    }
    for (;; i++) {
        at += memory->unit;
        const uint64_t end = i < memory->count ? memory->spans[i]->base - base : memory->reserved;
        if (at + bytes + memory->unit <= end) {
            *offset = at;
            *index = i;
            return true;
        }
        if (i == memory->count)
            return false;
        at = end + units(memory, memory->spans[i]->bytes);
    }
}

static bool make_room(sg_memory *memory)
{
    if (memory->count < memory->capacity)
        return true;
    const size_t capacity = memory->capacity ? 2 * memory->capacity : 64;
    sg_span **spans = realloc(memory->spans, capacity * sizeof *spans);
    if (!spans)
        return false;
    memory->spans = spans;
    memory->capacity = capacity;
    return true;
}

static uint64_t allocate(sg_memory *memory, uint64_t bytes, uint32_t owner)
{
    uint64_t offset;
    size_t index;
    if (bytes == 0 || bytes > sg_memory_available(memory) || !make_room(memory))
        return 0;
    const uint64_t whole = units(memory, bytes);
    if (!find_place(memory, memory->next, whole, &offset, &index) && !find_place(memory, 0, whole, &offset, &index))
        return 0;
    sg_span *span = malloc(sizeof *span);
    if (!span)
        return 0;
    if (mprotect(memory->data + offset, whole, PROT_READ | PROT_WRITE) != 0) {
        free(span);
        return 0;
    }
    *span = (sg_span){(uint64_t)(uintptr_t)(memory->data + offset), bytes, memory->marks + offset / 8, owner, NULL};
    memmove(memory->spans + index + 1, memory->spans + index, (memory->count - index) * sizeof *memory->spans);
    memory->spans[index] = span;
    memory->count++;
    memory->used += bytes;
    memory->next = offset + whole;
    return span->base;
}

uint64_t sg_memory_alloc(sg_memory *memory, uint64_t bytes)
{
    return allocate(memory, bytes, 0);
}

uint64_t sg_memory_alloc_user(sg_memory *memory, uint32_t owner, uint64_t bytes)
{
    return allocate(memory, bytes, owner);
}

/* Gives a span's pages back to the host and takes its rights away. */
static void discard(sg_memory *memory, sg_span *span)
{
    const uint64_t offset = span->base - (uint64_t)(uintptr_t)memory->data, whole = units(memory, span->bytes);
    mmap(memory->data + offset, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    madvise(memory->marks + offset / 8, whole / 8, MADV_DONTNEED);
    memory->used -= span->bytes;
    sg_guards_destroy(span->guards);
    free(span);
}

bool sg_memory_free(sg_memory *memory, uint64_t address)
{
    const size_t index = upper(memory, address);
    if (index == 0 || memory->spans[index - 1]->base != address)
        return false;
    memory->last = NULL;
    discard(memory, memory->spans[index - 1]);
    memmove(memory->spans + index - 1, memory->spans + index, (memory->count - index) * sizeof *memory->spans);
    memory->count--;
    return true;
}

void sg_memory_free_user(sg_memory *memory, uint32_t owner)
{
    size_t kept = 0;
    memory->last = NULL;
    for (size_t i = 0; i < memory->count; i++) {
        if (memory->spans[i]->owner == owner)
            discard(memory, memory->spans[i]);
        else
            memory->spans[kept++] = memory->spans[i];
    }
    memory->count = kept;
}

const sg_span *sg_memory_find(const sg_memory *memory, uint64_t address)
{
    const sg_span *last = __atomic_load_n(&memory->last, __ATOMIC_RELAXED);
    if (last && address - last->base < last->bytes)
        return last;
    const size_t index = upper(memory, address);
    if (index == 0 || address - memory->spans[index - 1]->base >= memory->spans[index - 1]->bytes)
        return NULL;
    __atomic_store_n(&((sg_memory *)memory)->last, memory->spans[index - 1], __ATOMIC_RELAXED);
    return memory->spans[index - 1];
}

const sg_span *sg_memory_find_range(const sg_memory *memory, uint64_t address, uint64_t count)
{
    const sg_span *span = sg_memory_find(memory, address);
    return span && count <= span->bytes - (address - span->base) ? span : NULL;
}

bool sg_memory_protect(sg_memory *memory, uint64_t address, uint64_t bytes, bool allowed)
{
    const size_t index = upper(memory, address);
    sg_span *span = index ? memory->spans[index - 1] : NULL;
    return span && sg_guards_change(&span->guards, span, address, bytes, allowed);
}

/* Bits first to last of one byte, both included. */
static uint8_t bits(unsigned first, unsigned last)
{
    return (uint8_t)(0xffu << first & 0xffu >> (7 - last));
}

/* Blocks that run side by side may share a byte of marks. Once set it is only read. */
static void set_bits(uint8_t *byte, uint8_t mask)
{
    if ((__atomic_load_n(byte, __ATOMIC_RELAXED) & mask) != mask)
        __atomic_fetch_or(byte, mask, __ATOMIC_RELAXED);
}

void sg_span_mark(const sg_span *span, uint64_t address, uint64_t count)
{
    if (!span->written || count == 0)
        return;
    const uint64_t first = address - span->base, last = first + count - 1;
    uint8_t *from = span->written + first / 8, *to = span->written + last / 8;
    if (from == to) {
        set_bits(from, bits(first % 8, last % 8));
        return;
    }
    set_bits(from, bits(first % 8, 7));
    set_bits(to, bits(0, last % 8));
    memset(from + 1, 0xff, (size_t)(to - from - 1));
}

bool sg_span_written(const sg_span *span, uint64_t address, uint64_t count)
{
    if (!span->written || count == 0)
        return true;
    const uint64_t first = address - span->base, last = first + count - 1;
    const uint8_t *from = span->written + first / 8, *to = span->written + last / 8;
    const uint8_t head = bits(first % 8, from == to ? last % 8 : 7), tail = bits(0, last % 8);
    if ((*from & head) != head || (from != to && (*to & tail) != tail))
        return false;
    for (const uint8_t *at = from + 1; at < to; at++)
        if (*at != 0xff)
            return false;
    return true;
}

void sg_span_copy_marks(const sg_span *to, uint64_t to_address, const sg_span *from, uint64_t from_address,
                        uint64_t count)
{
    if (!to->written)
        return;
    if (sg_span_written(from, from_address, count)) {
        sg_span_mark(to, to_address, count);
        return;
    }
    /* Backwards where the areas overlap and forwards would overwrite what is still to be read. */
    const bool backwards = to_address > from_address;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t at = backwards ? count - 1 - i : i, bit = to_address + at - to->base;
        if (sg_span_written(from, from_address + at, 1))
            to->written[bit / 8] |= (uint8_t)(1u << bit % 8);
        else
            to->written[bit / 8] &= (uint8_t)~(1u << bit % 8);
    }
}

uint64_t sg_memory_used(const sg_memory *memory)
{
    return memory->used;
}

uint64_t sg_memory_limit(const sg_memory *memory)
{
    return memory->limit;
}

uint64_t sg_memory_available(const sg_memory *memory)
{
    const uint64_t most = memory->limit < memory->host ? memory->limit : memory->host;
    return memory->used < most ? most - memory->used : 0;
}
