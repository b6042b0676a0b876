/* What a GPU would have to do: instructions by pipe, passes through the banks of shared memory, sectors of DRAM. */
#include <stddef.h>

#include "race.h"
#include "rows.h"
#include "undo.h"

#define BANKS        32
#define SECTOR_BYTES 32

/*
 * What a warp did since it last read global memory into registers: READ, plus one for each multiplication since. If the
 * data then goes to shared memory the read was a copy; with OVERLAPPED multiplications, more than addresses take, it
 * cost no time of its own. Otherwise the data is used directly.
 */
enum { NOTHING, READ, USED, OVERLAPPED = READ + 16 };

void sg_count_operation(sg_warp *w, const sg_op *op, uint32_t mask)
{
    static const uint8_t places[] = {
        [SG_PIPE_ALU] = offsetof(sg_counts, alu),         [SG_PIPE_FMA] = offsetof(sg_counts, fma),
        [SG_PIPE_HALF] = offsetof(sg_counts, half),       [SG_PIPE_SFU] = offsetof(sg_counts, sfu),
        [SG_PIPE_F64] = offsetof(sg_counts, f64),         [SG_PIPE_TENSOR] = offsetof(sg_counts, tensor),
        [SG_PIPE_CONTROL] = offsetof(sg_counts, control), [SG_PIPE_MEMORY] = offsetof(sg_counts, memory),
        [SG_PIPE_IMAD] = offsetof(sg_counts, fma),        [SG_PIPE_TRIP] = offsetof(sg_counts, memory),
    };
    sg_counts *c = w->machine->counts;
    if (op->pipe == SG_PIPE_NONE)
        return;
    c->warp_instructions++;
    c->lane_instructions += (uint32_t)__builtin_popcount(mask);
    ++*(uint64_t *)((uint8_t *)c + places[op->pipe]);
    c->round_trips += op->pipe == SG_PIPE_TRIP && mask;
    c->products += op->pipe == SG_PIPE_FMA;
    const bool multiplies = op->pipe == SG_PIPE_FMA || op->pipe == SG_PIPE_IMAD || op->pipe == SG_PIPE_HALF ||
                            op->pipe == SG_PIPE_F64;
    if (w->brings >= READ && (multiplies || op->pipe == SG_PIPE_TENSOR))
        w->brings = multiplies && w->brings < OVERLAPPED ? w->brings + 1 : OVERLAPPED;
}

/*
 * Passes that the lanes of mask need: the most different words that one bank has to give. Lanes with the same address
 * are one; of the others each pass takes as many as do not meet in a bank.
 */
static uint32_t wavefronts(const uint32_t *at, uint32_t mask, uint32_t words)
{
    uint32_t taken[BANKS][SG_LANES], depth[BANKS] = {0}, most = 0;
    uint32_t last = UINT32_MAX;
    SG_FOR_MASK(l, mask)
    {
        const uint32_t first = at[l] / 4;
        if (first == last)
            continue; /* neighbours often read the same */
        last = first;
        for (uint32_t word = first; word < first + words; word++) {
            const uint32_t bank = word % BANKS, n = depth[bank];
            uint32_t k = n;
            while (k > 0 && taken[bank][k - 1] != word)
                k--;
            if (!k && n < SG_LANES) {
                taken[bank][n] = word;
                depth[bank] = n + 1;
                most = n + 1 > most ? n + 1 : most;
            }
        }
    }
    return most;
}

/* Whether each lane of mask reads what the lane `away` reads, its neighbour or the next but one, if that one reads. */
static bool paired(const uint32_t *at, uint32_t mask, uint32_t away)
{
    SG_FOR_MASK(l, mask)
    if (mask >> (l ^ away) & 1 && at[l] != at[l ^ away])
        return false;
    return true;
}

/* 8 bytes a lane go in two halves of the warp, 16 bytes in four quarters: one register of all lanes a pass. A read that
 * pairs of neighbours share, or of lanes next but one, goes twice as fast: so NVIDIA's engineers say of compute capability
 * 7, and so do times of an H200. */
static void count_shared(sg_counts *c, uint32_t mask, const uint32_t *at, uint32_t size, bool write)
{
    uint32_t parts = size <= 4 ? 1 : size <= 8 ? 2 : 4;
    if (parts > 1 && !write && (paired(at, mask, 1) || paired(at, mask, 2)))
        parts /= 2;
    const uint32_t lanes = SG_LANES / parts;
    c->shared_bytes += write ? size * (uint32_t)__builtin_popcount(mask) : 0;
    for (uint32_t i = 0; i < parts; i++) {
        const uint32_t part = parts == 1 ? mask : mask & (((1u << lanes) - 1) << i * lanes);
        if (part)
            c->shared_wavefronts += wavefronts(at, part, size < 4 ? 1 : size / 4);
    }
}

void sg_watch_shared(sg_warp *w, const sg_op *op, uint32_t mask, const uint32_t *at, uint32_t size, bool write)
{
    sg_counts *c = w->machine->counts;
    if (c) {
        count_shared(c, mask, at, size, write);
        c->shared_loads += !write;
        c->shared_stores += write && !w->copying;
        c->bare_copies += write && !w->copying && w->brings >= READ && w->brings < OVERLAPPED;
        if (write && !w->copying)
            w->brings = NOTHING;
    }
    if (w->block->race)
        sg_race_touch_shared(w, op, mask, at, size, write ? SG_TOUCH_WRITE : SG_TOUCH_READ);
}

void sg_count_bytes(sg_machine *machine, uint64_t address, uint64_t bytes)
{
    if (!bytes)
        return;
    machine->counts->global_bytes += bytes;
    machine->counts->global_sectors += (address + bytes - 1) / SECTOR_BYTES - address / SECTOR_BYTES + 1;
}

/* Sectors that lanes touch. */
static uint32_t count_sectors(uint32_t mask, const uint64_t *at, uint32_t size)
{
    uint64_t seen[2 * SG_LANES], most = 0; /* of those seen */
    uint32_t count = 0;
    if (mask == SG_ALL && sg_even(at, SECTOR_BYTES)) /* none is passed over */
        return (uint32_t)((at[SG_LANES - 1] + size - 1) / SECTOR_BYTES - at[0] / SECTOR_BYTES + 1);
    SG_FOR_MASK(l, mask)
    for (uint64_t sector = at[l] / SECTOR_BYTES; sector <= (at[l] + size - 1) / SECTOR_BYTES; sector++) {
        uint32_t k = sector > most ? 0 : count; /* neighbours come one after the other: the last is the likeliest */
        while (k > 0 && seen[k - 1] != sector)
            k--;
        if (!k && count < 2 * SG_LANES)
            seen[count++] = sector;
        most = sector > most ? sector : most;
    }
    return count;
}

void sg_watch_global(sg_warp *w, const sg_op *op, uint32_t mask, const uint64_t *at, uint32_t size, bool write)
{
    sg_counts *c = w->machine->counts;
    /* Of copies only some bytes are read: their start says which. */
    if (w->block->race && !w->copying &&
        !sg_race_touch_global(w, op, mask, at, size, write ? SG_TOUCH_WRITE : SG_TOUCH_READ))
        return;
    if (!c)
        return;
    if (write && w->machine->grid->undo)
        SG_FOR_MASK(l, mask) sg_undo_keep(w->machine->grid->undo, at[l], size);
    *(write ? &c->global_stores : &c->global_loads) += 1;
    c->global_bytes += (uint64_t)size * (uint32_t)__builtin_popcount(mask);
    const uint32_t count = count_sectors(mask, at, size);
    c->global_sectors += count;
    c->async_copies += w->copying;
    if (w->copying)
        return;
    const uint32_t used = w->brings >= USED ? w->brought : 0, direct = used + (write ? count : 0);
    c->direct_rounds += w->brings >= USED;
    c->direct_sectors += direct;
    w->block->direct += direct;
    c->direct_most = w->block->direct > c->direct_most ? w->block->direct : c->direct_most;
    w->brought = write ? 0 : count + (w->brings == READ ? w->brought : 0);
    w->brings = write ? NOTHING : READ;
}
