#include "memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guard.h"
#include "pages.h"

/* Addresses beyond four times the device's memory, for programs that reserve more than they have memory for. */
#define SPARE ((uint64_t)1 << 40)

typedef struct reservation {
    uint64_t offset, bytes;
} reservation;

/*
 * Two ranges of the host's addresses. `data` has no access rights but where an allocation lies. `marks` holds one bit
 * for each byte of data, at the same place divided by eight, and costs memory only where somebody wrote. Allocations
 * take whole units, so that neither a page of data nor a page of marks is shared, and leave a unit free behind them.
 * A program's reservation is a part of data that allocations leave alone; pages that are mapped there are spans too,
 * their marks mapped beside them, and have no free unit between them.
 */
struct sg_memory {
    uint8_t *data, *marks;
    uint64_t reserved, unit; /* bytes of data; of eight pages */
    uint64_t limit, host;    /* the device's memory; the host's */
    uint64_t used;           /* as asked for */
    uint64_t next;           /* offset from which the next free place is looked for: addresses come back late */
    sg_span **spans;         /* by address */
    size_t count, capacity;
    reservation *reservations;
    size_t reservation_count;
    sg_pages pages;
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

/* Addresses without rights, aligned to a granule: an aligned address is then an aligned offset too, whose marks begin a
 * page. */
static uint8_t *reserve_data(uint64_t bytes)
{
    uint8_t *place = reserve(bytes + SG_GRANULE, PROT_NONE);
    if (!place)
        return NULL;
    const uint64_t before = (0 - (uint64_t)(uintptr_t)place) % SG_GRANULE;
    if (before > 0)
        munmap(place, before);
    munmap(place + before + bytes, SG_GRANULE - before);
    return place + before;
}

sg_memory *sg_memory_create(uint64_t limit)
{
    sg_memory *memory = calloc(1, sizeof *memory);
    if (!memory)
        return NULL;
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    memory->unit = 8 * page;
    memory->limit = limit;
    memory->pages.file = -1;
    memory->host = (uint64_t)sysconf(_SC_PHYS_PAGES) * page;
    /* Room for gaps and for addresses that are not used again at once; less where the host has less. */
    for (uint64_t bytes = units(memory, 4 * limit + SPARE); bytes >= memory->unit; bytes = units(memory, bytes / 2)) {
        memory->data = reserve_data(bytes);
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
    free(memory->reservations);
    sg_pages_finish(&memory->pages);
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

/* The first place at or after `from` with room for bytes and a free unit on either side, in a reservation or not; its
 * index among the spans. False if there is none. */
static bool find_gap(const sg_memory *memory, uint64_t from, uint64_t bytes, uint64_t *offset, size_t *index)
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

/* The reservation that has some of these bytes or of the unit on either side; NULL if none has. */
static reservation *find_reservation(const sg_memory *memory, uint64_t offset, uint64_t bytes)
{
    for (size_t i = 0; i < memory->reservation_count; i++) {
        reservation *r = &memory->reservations[i];
        if (offset < r->offset + r->bytes + memory->unit && r->offset < offset + bytes + memory->unit)
            return r;
    }
    return NULL;
}

/* As find_gap, outside of all reservations. */
static bool find_place(const sg_memory *memory, uint64_t from, uint64_t bytes, uint64_t *offset, size_t *index)
{
    const reservation *touched;
    for (; find_gap(memory, from, bytes, offset, index); from = touched->offset + touched->bytes)
        if (!(touched = find_reservation(memory, *offset, bytes)))
            return true;
    return false;
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

static void insert(sg_memory *memory, size_t index, sg_span *span)
{
    memmove(memory->spans + index + 1, memory->spans + index, (memory->count - index) * sizeof *memory->spans);
    memory->spans[index] = span;
    memory->count++;
}

static sg_span *take_out(sg_memory *memory, size_t index)
{
    sg_span *span = memory->spans[index];
    memory->last = NULL;
    memory->count--;
    memmove(memory->spans + index, memory->spans + index + 1, (memory->count - index) * sizeof *memory->spans);
    return span;
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
    insert(memory, index, span);
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
    discard(memory, take_out(memory, index - 1));
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

uint64_t sg_memory_reserve(sg_memory *memory, uint64_t bytes, uint64_t alignment)
{
    const uint64_t base = (uint64_t)(uintptr_t)memory->data;
    uint64_t offset;
    size_t index;
    if (bytes > memory->reserved || alignment > memory->reserved)
        return 0;
    const uint64_t room = units(memory, bytes + alignment);
    reservation *all = realloc(memory->reservations, (memory->reservation_count + 1) * sizeof *all);
    if (!all)
        return 0;
    memory->reservations = all;
    if (!find_place(memory, memory->next, room, &offset, &index) && !find_place(memory, 0, room, &offset, &index))
        return 0;
    const uint64_t address = (base + offset + alignment - 1) / alignment * alignment;
    all[memory->reservation_count++] = (reservation){address - base, bytes};
    memory->next = address - base + bytes;
    return address;
}

void sg_memory_unreserve(sg_memory *memory, uint64_t address)
{
    reservation *r = find_reservation(memory, address - (uint64_t)(uintptr_t)memory->data, 1);
    if (r)
        *r = memory->reservations[--memory->reservation_count];
}

bool sg_memory_take_pages(sg_memory *memory, uint64_t bytes, uint64_t *pages)
{
    if (bytes > sg_memory_available(memory) || !sg_pages_take(&memory->pages, bytes + bytes / 8, pages))
        return false;
    memory->used += bytes;
    return true;
}

void sg_memory_give_pages(sg_memory *memory, uint64_t pages, uint64_t bytes)
{
    sg_pages_give(&memory->pages, pages, bytes + bytes / 8);
    memory->used -= bytes;
}

/* Both parts of a mapping are again as if nothing had been there. */
static void hide(sg_memory *memory, uint64_t offset, uint64_t bytes)
{
    sg_pages_hide(memory->data + offset, bytes, PROT_NONE);
    sg_pages_hide(memory->marks + offset / 8, bytes / 8, PROT_READ | PROT_WRITE);
    madvise(memory->marks + offset / 8, bytes / 8, MADV_DONTDUMP);
}

bool sg_memory_map(sg_memory *memory, uint64_t address, uint64_t pages, uint64_t bytes)
{
    const uint64_t offset = address - (uint64_t)(uintptr_t)memory->data;
    sg_span *span = make_room(memory) ? malloc(sizeof *span) : NULL;
    if (!span)
        return false;
    if (!sg_pages_show(&memory->pages, pages, memory->data + offset, bytes) ||
        !sg_pages_show(&memory->pages, pages + bytes, memory->marks + offset / 8, bytes / 8)) {
        hide(memory, offset, bytes);
        free(span);
        return false;
    }
    *span = (sg_span){.base = address, .bytes = bytes, .written = memory->marks + offset / 8};
    insert(memory, upper(memory, address), span);
    return true;
}

void sg_memory_unmap(sg_memory *memory, uint64_t address)
{
    sg_span *span = take_out(memory, upper(memory, address) - 1);
    hide(memory, address - (uint64_t)(uintptr_t)memory->data, span->bytes);
    sg_guards_destroy(span->guards);
    free(span);
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
    uint64_t inside = span ? span->bytes - (address - span->base) : 0;
    if (!span || count <= inside)
        return span;
    for (size_t i = upper(memory, address); i < memory->count && memory->spans[i]->base == address + inside; i++) {
        inside += memory->spans[i]->bytes;
        if (count <= inside)
            return span;
    }
    return NULL;
}

bool sg_memory_protect(sg_memory *memory, uint64_t address, uint64_t bytes, bool allowed)
{
    while (bytes > 0) {
        const size_t index = upper(memory, address);
        sg_span *span = index ? memory->spans[index - 1] : NULL;
        const uint64_t inside = span ? span->bytes - (address - span->base) : 0, part = bytes < inside ? bytes : inside;
        if (!span || !sg_guards_change(&span->guards, span, address, part, allowed))
            return false;
        address += part;
        bytes -= part;
    }
    return true;
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
