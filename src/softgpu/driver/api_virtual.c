/*
 * Virtual memory: addresses are reserved, physical memory is created, the one is mapped to the other and made
 * accessible. None of it belongs to a context: it needs none, outlives all, and works on after a kernel broke one.
 * Results are those that an H200's driver (CUDA 13.0) gave, where its documentation does not ask for another.
 */
#include <stdlib.h>

#include "state.h"

typedef struct reservation {
    uint64_t address, bytes;
    struct reservation *next;
} reservation;

typedef struct physical {
    uint64_t pages, bytes;
    size_t uses; /* its mappings, and 1 until it is released */
} physical;

typedef struct mapping {
    uint64_t address; /* as many bytes as its memory has */
    physical *memory;
    bool accessible;
    struct mapping *next;
} mapping;

static reservation *reservations;
static mapping *mappings; /* by address, apart from each other */

static bool is_whole(uint64_t bytes)
{
    return bytes > 0 && bytes % SG_GRANULE == 0;
}

static uint64_t end_of(const mapping *m)
{
    return m->address + m->memory->bytes;
}

/* The link to the first mapping that ends behind address. */
static mapping **find_mapping(uint64_t address)
{
    mapping **link = &mappings;
    while (*link && end_of(*link) <= address)
        link = &(*link)->next;
    return link;
}

/* Whether one reservation has all of a range, which begins where a granule does. */
static bool is_reserved(uint64_t address, uint64_t bytes)
{
    for (const reservation *r = reservations; r; r = r->next)
        if (address >= r->address && address - r->address < r->bytes)
            return address % SG_GRANULE == 0 && bytes <= r->bytes - (address - r->address);
    return false;
}

static void end_use(physical *memory)
{
    if (--memory->uses > 0)
        return;
    sg_memory_give_pages(sg.memory, memory->pages, memory->bytes);
    free(memory);
}

static bool make_accessible(mapping *m, bool accessible)
{
    if (m->accessible == accessible)
        return true;
    if (!accessible)
        sg_memory_unmap(sg.memory, m->address);
    else if (!sg_memory_map(sg.memory, m->address, m->memory->pages, m->memory->bytes))
        return false;
    m->accessible = accessible;
    return true;
}

static void unmap(mapping **link)
{
    mapping *m = *link;
    *link = m->next;
    make_accessible(m, false);
    end_use(m->memory);
    free(m);
}

void sg_virtual_finish(void)
{
    void *handle;
    while (mappings)
        unmap(&mappings);
    for (size_t at = 0; (handle = sg_handle_next(SG_PHYSICAL, &at));)
        end_use(sg_handle_destroy(SG_PHYSICAL, handle));
    for (reservation *r; (r = reservations);) {
        reservations = r->next;
        sg_memory_unreserve(sg.memory, r->address);
        free(r);
    }
}

/* What the memory is to be like does not change the answer, and is not looked at. */
CUresult CUDAAPI cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                               CUmemAllocationGranularity_flags option)
{
    CUresult result = sg_enter(SG_NEEDS_INIT);
    if (result == CUDA_SUCCESS && (!granularity || !prop || (unsigned)option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *granularity = SG_GRANULE;
    return sg_leave(result);
}

static CUresult reserve(uint64_t bytes, uint64_t alignment, CUdeviceptr *address)
{
    reservation *r = malloc(sizeof *r);
    const uint64_t place = r ? sg_memory_reserve(sg.memory, bytes, alignment) : 0;
    if (!place) {
        free(r);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *r = (reservation){place, bytes, reservations};
    reservations = r;
    *address = place;
    return CUDA_SUCCESS;
}

/* Where the program would like it is a hint, which is not taken. */
CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr *address, size_t bytes, size_t alignment, CUdeviceptr hint,
                                     unsigned long long flags)
{
    CUresult result = sg_enter(SG_NEEDS_INIT);
    if (result == CUDA_SUCCESS && (!address || !is_whole(bytes) || (alignment & (alignment - 1)) != 0 ||
                                   hint % SG_GRANULE != 0 || flags != 0))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = reserve(bytes, alignment > SG_GRANULE ? alignment : SG_GRANULE, address);
    return sg_leave(result);
}

static CUresult free_reservation(uint64_t address, uint64_t bytes)
{
    reservation **link = &reservations, *r;
    while (*link && (*link)->address != address)
        link = &(*link)->next;
    r = *link;
    const mapping *m = *find_mapping(address);
    if (!r || r->bytes != bytes || (m && m->address < address + bytes))
        return CUDA_ERROR_INVALID_VALUE;
    sg_memory_unreserve(sg.memory, address);
    *link = r->next;
    free(r);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAddressFree(CUdeviceptr address, size_t bytes)
{
    CUresult result = sg_enter(SG_NEEDS_INIT);
    if (result == CUDA_SUCCESS)
        result = free_reservation(address, bytes);
    return sg_leave(result);
}

/* The device's memory, for this process alone. */
static CUresult check_prop(const CUmemAllocationProp *prop)
{
    if (prop->type != CU_MEM_ALLOCATION_TYPE_PINNED || prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    if (!sg_is_device(prop->location.id))
        return CUDA_ERROR_INVALID_DEVICE;
    return prop->requestedHandleTypes ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

static CUresult create(uint64_t bytes, CUmemGenericAllocationHandle *out)
{
    physical *memory = malloc(sizeof *memory);
    if (!memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *memory = (physical){.bytes = bytes, .uses = 1};
    if (!sg_memory_take_pages(sg.memory, bytes, &memory->pages)) {
        free(memory);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    void *handle = sg_handle_create(SG_PHYSICAL, SG_NOBODY, memory);
    if (!handle) {
        end_use(memory);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = (uintptr_t)handle;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes, const CUmemAllocationProp *prop,
                             unsigned long long flags)
{
    CUresult result = sg_enter(SG_NEEDS_INIT);
    if (result == CUDA_SUCCESS && (!handle || !is_whole(bytes) || !prop || flags != 0))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = check_prop(prop);
    if (result == CUDA_SUCCESS)
        result = create(bytes, handle);
    return sg_leave(result);
}

CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle)
{
    CUresult result = sg_enter(SG_NEEDS_INIT);
    physical *memory = result == CUDA_SUCCESS ? sg_handle_destroy(SG_PHYSICAL, (void *)(uintptr_t)handle) : NULL;
    if (memory)
        end_use(memory);
    else if (result == CUDA_SUCCESS)
        result = CUDA_ERROR_INVALID_VALUE;
    return sg_leave(result);
}

static CUresult map(uint64_t address, physical *memory)
{
    mapping **link = find_mapping(address);
    if (!is_reserved(address, memory->bytes) || (*link && (*link)->address < address + memory->bytes))
        return CUDA_ERROR_INVALID_VALUE;
    mapping *m = malloc(sizeof *m);
    if (!m)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *m = (mapping){address, memory, false, *link};
    *link = m;
    memory->uses++;
    return CUDA_SUCCESS;
}

/* Parts of physical memory cannot be mapped: the real driver does not do that either. */
CUresult CUDAAPI cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                          unsigned long long flags)
{
    CUresult result = sg_enter(SG_NEEDS_INIT);
    physical *memory = result == CUDA_SUCCESS ? sg_handle_find(SG_PHYSICAL, (void *)(uintptr_t)handle) : NULL;
    if (result == CUDA_SUCCESS && (!memory || bytes == 0 || flags != 0))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && (offset != 0 || bytes != memory->bytes))
        result = CUDA_ERROR_NOT_SUPPORTED;
    if (result == CUDA_SUCCESS)
        result = map(address, memory);
    return sg_leave(result);
}

/* All mappings of a range of one reservation; it may have parts where nothing is mapped, but none of a mapping. */
static CUresult unmap_range(uint64_t address, uint64_t bytes)
{
    mapping **first = find_mapping(address);
    if (!is_whole(bytes) || !is_reserved(address, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    for (const mapping *m = *first; m && m->address < address + bytes; m = m->next)
        if (m->address < address || end_of(m) > address + bytes)
            return CUDA_ERROR_INVALID_VALUE;
    while (*first && (*first)->address < address + bytes)
        unmap(first);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemUnmap(CUdeviceptr address, size_t bytes)
{
    CUresult result = sg_enter(SG_NEEDS_INIT);
    if (result == CUDA_SUCCESS)
        result = unmap_range(address, bytes);
    return sg_leave(result);
}

/* For the device alone; that it may only read is not modelled. */
static CUresult check_access(const CUmemAccessDesc *desc)
{
    if (desc->location.type != CU_MEM_LOCATION_TYPE_DEVICE || !sg_is_device(desc->location.id))
        return CUDA_ERROR_INVALID_VALUE;
    if (desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READ)
        return CUDA_ERROR_NOT_SUPPORTED;
    return desc->flags == CU_MEM_ACCESS_FLAGS_PROT_NONE || desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

/* Of whole mappings that fill the range. */
static CUresult set_access(uint64_t address, uint64_t bytes, bool accessible)
{
    mapping *first = *find_mapping(address), *m;
    uint64_t covered = 0;
    for (m = first; m && covered < bytes && m->address == address + covered; m = m->next)
        covered += m->memory->bytes;
    if (bytes == 0 || covered != bytes)
        return CUDA_ERROR_INVALID_VALUE;
    for (m = first; m && m->address < address + bytes; m = m->next)
        if (!make_accessible(m, accessible))
            return CUDA_ERROR_OUT_OF_MEMORY;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *desc, size_t count)
{
    CUresult result = sg_enter(SG_NEEDS_INIT);
    if (result == CUDA_SUCCESS && (!desc || count == 0))
        result = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = check_access(&desc[i]);
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = set_access(address, bytes, desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE);
    return sg_leave(result);
}
