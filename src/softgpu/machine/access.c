/*
 * The bytes that one lane means: bounds, alignment, whether they were written, and what is said when something is
 * wrong. Loads and stores come here only when not all lanes are well; atomics, copies and matrices always.
 */
#include <inttypes.h>

#include "../ptx/decode.h"
#include "guard.h"
#include "rows.h"
#include "undo.h"

uint64_t sg_lane_address(const sg_warp *w, const sg_op *op, uint32_t row, int lane)
{
    return op->kind == SG_KIND_NARROW ? (uint32_t)(sg_row32(w, row)[lane] + (uint32_t)op->imm)
                              : sg_row64(w, row)[lane] + (uint64_t)op->imm;
}

/* The allocation that holds bytes that a kernel may touch; NULL after a fault. */
static const sg_span *find_span(sg_warp *w, const sg_op *op, int lane, uint64_t address, uint32_t size, bool write)
{
    const sg_span *span = SG_WINDOW(address) ? NULL : sg_memory_find(w->machine->grid->memory, address), *part = span;
    if (!span) {
        sg_fault_at(w, op, 1u << lane, SG_FAULT_ADDRESS, address,
                    "%s of %u bytes at 0x%" PRIx64 ", which lies in no allocation", write ? "write" : "read", size,
                    address);
        return NULL;
    }
    const uint64_t at = address - span->base;
    const bool inside = size <= span->bytes - at;
    if (!inside || (span->guards && !sg_guards_allow(span, address, size, &part))) {
        sg_fault_at(w, op, 1u << lane, SG_FAULT_ADDRESS, address,
                    "%s of %u bytes at 0x%" PRIx64 ", byte %" PRIu64 " of an allocation of %" PRIu64 "%s",
                    write ? "write" : "read", size, address, at, span->bytes,
                    inside ? ", outside of what the host lets kernels touch" : "");
        return NULL;
    }
    w->machine->spans[op->slot] = part;
    return span;
}

uint8_t *sg_global_at(sg_warp *w, const sg_op *op, int lane, uint64_t address, uint32_t size, bool write)
{
    const sg_span *span = w->machine->spans[op->slot];
    if (address & (size - 1)) {
        sg_fault_at(w, op, 1u << lane, SG_FAULT_MISALIGNED, address, "address 0x%" PRIx64 " is not aligned to %u bytes",
                    address, size);
        return NULL;
    }
    if (!span || span->bytes < size || address < span->base || address - span->base > span->bytes - size)
        span = find_span(w, op, lane, address, size, write);
    if (!span)
        return NULL;
    const uint64_t at = address - span->base;
    if (write) {
        if (w->machine->grid->undo)
            sg_undo_keep(w->machine->grid->undo, address, size);
        if (span->written)
            sg_span_mark(span, address, size);
    } else if (span->written && !sg_span_written(span, address, size)) {
        sg_fault_at(w, op, 1u << lane, SG_FAULT_UNWRITTEN, address,
                    "read of %u bytes at 0x%" PRIx64 ", byte %" PRIu64 " of an allocation of %" PRIu64
                    ", which nobody has written",
                    size, address, at, span->bytes);
        return NULL;
    }
    return (uint8_t *)(uintptr_t)address;
}

sg_block *sg_shared_block(sg_block *block, uint64_t address, uint32_t *offset)
{
    const uint64_t rank = address >> SG_RANK_SHIFT;
    *offset = (uint32_t)(address & ((1u << SG_RANK_SHIFT) - 1));
    if (rank == 0)
        return block;
    return rank <= block->cluster->block_count ? &block->cluster->blocks[rank - 1] : NULL;
}

bool sg_may_write(sg_warp *w, const sg_op *op, int lane, const sg_block *block, uint32_t at, uint32_t size)
{
    if (memchr(block->shadow + at, SG_SHADOW_FLYING, size)) {
        sg_fault_at(w, op, 1u << lane, SG_FAULT_UNWRITTEN, at,
                    "write of %u bytes at shared address 0x%x, which an asynchronous copy in flight writes", size, at);
        return false;
    }
    for (uint32_t i = at / 16; block->reading && i <= (at + size - 1) / 16; i++)
        if (block->reading[i]) {
            sg_fault_at(w, op, 1u << lane, SG_FAULT_RACE, at,
                        "write of %u bytes at shared address 0x%x, which a wgmma reads that nobody has waited for",
                        size, at);
            return false;
        }
    return true;
}

uint8_t *sg_shared_at(sg_warp *w, const sg_op *op, int lane, uint64_t address, uint32_t size, bool write)
{
    uint32_t at;
    sg_block *block = sg_shared_block(w->block, address, &at);
    if (!block || size > block->shared_bytes || at > block->shared_bytes - size) {
        sg_fault_at(w, op, 1u << lane, SG_FAULT_ADDRESS, address,
                    "%s of %u bytes at shared address 0x%" PRIx64 " of a block that has %u bytes",
                    write ? "write" : "read", size, address, w->block->shared_bytes);
        return NULL;
    }
    if (at & (size - 1)) {
        sg_fault_at(w, op, 1u << lane, SG_FAULT_MISALIGNED, address,
                    "shared address 0x%" PRIx64 " is not aligned to %u bytes", address, size);
        return NULL;
    }
    if (write) {
        if (!sg_may_write(w, op, lane, block, at, size))
            return NULL;
        memset(block->shadow + at, SG_SHADOW_WRITTEN, size);
        return block->shared + at;
    }
    const uint8_t *shadow = block->shadow + at;
    if (shadow[0] == SG_SHADOW_WRITTEN && memcmp(shadow, shadow + 1, size - 1) == 0)
        return block->shared + at; /* all alike */
    for (uint32_t i = 0; i < size; i++)
        if (block->shadow[at + i] != SG_SHADOW_WRITTEN) {
            sg_fault_at(w, op, 1u << lane, SG_FAULT_UNWRITTEN, address,
                        block->shadow[at + i] == SG_SHADOW_FLYING ? "read of %u bytes at shared address 0x%" PRIx64
                                                                    ", which an asynchronous copy in flight writes"
                                                                  : "read of %u bytes at shared address 0x%" PRIx64
                                                                    ", which nobody has written",
                        size, address);
            return NULL;
        }
    return block->shared + at;
}

static uint8_t *local_at(sg_warp *w, const sg_op *op, int lane, uint64_t address, uint32_t size)
{
    const uint32_t bytes = w->machine->kernel->facts.local_bytes;
    if (size > bytes || address > bytes - size) {
        sg_fault_at(w, op, 1u << lane, SG_FAULT_ADDRESS, address,
                    "%u bytes at local address 0x%" PRIx64 " of a thread that has %u bytes", size, address, bytes);
        return NULL;
    }
    if (address & (size - 1)) {
        sg_fault_at(w, op, 1u << lane, SG_FAULT_MISALIGNED, address,
                    "local address 0x%" PRIx64 " is not aligned to %u bytes", address, size);
        return NULL;
    }
    return w->local + (size_t)lane * bytes + address;
}

/* Parameters are never written. */
static uint8_t *param_at(sg_warp *w, const sg_op *op, int lane, uint64_t address, uint32_t size, bool write)
{
    const uint32_t bytes = w->machine->kernel->facts.params_bytes;
    if (write || size > bytes || address > bytes - size) {
        sg_fault_at(w, op, 1u << lane, SG_FAULT_ADDRESS, address, "%u bytes at parameter address 0x%" PRIx64, size,
                    address);
        return NULL;
    }
    return (uint8_t *)w->machine->grid->params + address;
}

uint8_t *sg_generic_at(sg_warp *w, const sg_op *op, int lane, uint64_t address, uint32_t size, bool write)
{
    const uint64_t inside = address & (((uint64_t)1 << 56) - 1);
    switch (SG_WINDOW(address)) {
    case SG_WINDOW_SHARED:
        return sg_shared_at(w, op, lane, inside, size, write);
    case SG_WINDOW_LOCAL:
        return local_at(w, op, lane, inside, size);
    case SG_WINDOW_PARAM:
        return param_at(w, op, lane, inside, size, write);
    default:
        return sg_global_at(w, op, lane, address, size, write);
    }
}

uint8_t *sg_bytes_at(sg_warp *w, const sg_op *op, int lane, uint64_t address, uint32_t size, bool write, bool shared)
{
    /* Powers of two in their places, so that the single accesses above can say what is wrong. */
    uint64_t at = address;
    for (uint32_t left = size, piece; left; left -= piece, at += piece) {
        const uint32_t aligned = at & 15 ? (uint32_t)(at & (0 - at)) & 15 : 16;
        piece = left >= aligned ? aligned : 1u << (31 - __builtin_clz(left));
        if (!(shared ? sg_shared_at : sg_generic_at)(w, op, lane, at, piece, write))
            return NULL;
    }
    uint32_t offset;
    const bool windowed = shared || SG_WINDOW(address) == SG_WINDOW_SHARED;
    if (!windowed)
        return SG_WINDOW(address) ? sg_generic_at(w, op, lane, address, 1, write) : (uint8_t *)(uintptr_t)address;
    return sg_shared_block(w->block, address & (((uint64_t)1 << 56) - 1), &offset)->shared + offset;
}

uint8_t *sg_space_at(sg_warp *w, const sg_op *op, int lane, uint64_t address, uint32_t size, bool write, sg_space space)
{
    switch (space) {
    case SG_SPACE_SHARED:
        return sg_shared_at(w, op, lane, address, size, write);
    case SG_SPACE_LOCAL:
        return local_at(w, op, lane, address, size);
    case SG_SPACE_PARAM:
        return param_at(w, op, lane, address, size, write);
    case SG_SPACE_GENERIC:
        return sg_generic_at(w, op, lane, address, size, write);
    default:
        return sg_global_at(w, op, lane, address, size, write);
    }
}
