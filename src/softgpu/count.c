/* What a GPU would have to do: instructions by pipe, passes through the banks of shared memory, sectors of DRAM. */
#include "rows.h"

#define BANKS        32
#define SECTOR_BYTES 32

void sg_count_operation(sg_machine *machine, const sg_op *op, uint32_t mask)
{
    sg_counts *c = machine->counts;
    uint64_t *const pipes[] = {[SG_PIPE_ALU] = &c->alu,       [SG_PIPE_FMA] = &c->fma,         [SG_PIPE_HALF] = &c->half,
                               [SG_PIPE_SFU] = &c->sfu,       [SG_PIPE_F64] = &c->f64,         [SG_PIPE_TENSOR] = &c->tensor,
                               [SG_PIPE_CONTROL] = &c->control, [SG_PIPE_MEMORY] = &c->memory};
    if (op->pipe == SG_PIPE_NONE)
        return;
    c->warp_instructions++;
    c->lane_instructions += (uint32_t)__builtin_popcount(mask);
    (*pipes[op->pipe])++;
}

/* Passes that the lanes of mask need: the most different words that one bank has to give. */
static uint32_t wavefronts(const uint32_t *at, uint32_t mask, uint32_t words)
{
    uint32_t seen[BANKS][SG_LANES], count[BANKS] = {0}, most = 0;
    SG_FOR_MASK(l, mask)
    for (uint32_t i = 0; i < words; i++) {
        const uint32_t word = at[l] / 4 + i, bank = word % BANKS;
        uint32_t k = 0;
        while (k < count[bank] && seen[bank][k] != word)
            k++;
        if (k == count[bank] && count[bank] < SG_LANES) {
            seen[bank][count[bank]++] = word;
            most = count[bank] > most ? count[bank] : most;
        }
    }
    return most;
}

/* 8 bytes a lane go in two halves of the warp, 16 bytes in four quarters. */
static void count_shared(sg_counts *c, uint32_t mask, const uint32_t *at, uint32_t size, bool write)
{
    const uint32_t parts = size <= 4 ? 1 : size <= 8 ? 2 : 4, lanes = SG_LANES / parts;
    *(write ? &c->shared_stores : &c->shared_loads) += 1;
    for (uint32_t i = 0; i < parts; i++) {
        const uint32_t part = parts == 1 ? mask : mask & (((1u << lanes) - 1) << i * lanes);
        if (part)
            c->shared_wavefronts += wavefronts(at, part, size < 4 ? 1 : size / 4);
    }
}

void sg_watch_shared(sg_warp *w, const sg_op *op, uint32_t mask, const uint32_t *at, uint32_t size, bool write)
{
    if (w->machine->counts)
        count_shared(w->machine->counts, mask, at, size, write);
    if (w->block->race)
        SG_FOR_MASK(l, mask)
        if (!sg_race_access(w, op, (int)l, at[l], size, write))
            return;
}

void sg_watch_global(sg_warp *w, const sg_op *op, uint32_t mask, const uint64_t *at, uint32_t size, bool write)
{
    sg_counts *c = w->machine->counts;
    uint64_t seen[2 * SG_LANES];
    uint32_t count = 0;
    (void)op;
    if (!c)
        return;
    *(write ? &c->global_stores : &c->global_loads) += 1;
    c->global_bytes += (uint64_t)size * (uint32_t)__builtin_popcount(mask);
    SG_FOR_MASK(l, mask)
    for (uint64_t sector = at[l] / SECTOR_BYTES; sector <= (at[l] + size - 1) / SECTOR_BYTES; sector++) {
        uint32_t k = count; /* neighbours come one after the other: the last is the likeliest */
        while (k > 0 && seen[k - 1] != sector)
            k--;
        if (!k && count < 2 * SG_LANES)
            seen[count++] = sector;
    }
    c->global_sectors += count;
}
