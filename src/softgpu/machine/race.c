/*
 * Races in shared memory: two accesses to one cell of 16 bits, one of them a write, by warps that nothing put in order.
 * Each warp has a clock of its own and knows of every other warp up to which moment its doings come before (a vector
 * clock). Barriers, mbarriers and atomics carry that knowledge from warp to warp. Lanes of one warp count as ordered.
 */
#include <stdlib.h>

#include "rows.h"

#define WARPS     32
#define MEETINGS  512 /* places where knowledge is exchanged; a power of two */
#define CLOCK_END UINT16_MAX
#define CELL      2 /* bytes: 16-bit elements side by side may be two warps' */

/* A cell's accesses since the last write; of another generation: none. */
typedef struct cell {
    uint32_t generation;
    uint32_t readers; /* warps */
    uint32_t write_line, read_line;
    uint16_t write_clock;
    uint8_t writer; /* warp + 1; 0: none */
    uint16_t read_clock[WARPS];
} cell;

typedef struct meeting {
    uint64_t key; /* + 1; 0: free */
    uint16_t known[WARPS];
} meeting;

struct sg_race {
    uint32_t generation, cell_count;
    uint16_t known[WARPS][WARPS]; /* [warp][of warp] */
    meeting meetings[MEETINGS];
    cell cells[];
};

struct sg_race *sg_race_create(uint32_t shared_bytes)
{
    const uint32_t count = (shared_bytes + CELL - 1) / CELL;
    struct sg_race *race = calloc(1, sizeof *race + (size_t)count * sizeof race->cells[0]);
    if (race)
        race->cell_count = count;
    return race;
}

void sg_race_destroy(struct sg_race *race)
{
    free(race);
}

void sg_race_reset(struct sg_race *race)
{
    race->generation++;
    memset(race->known, 0, sizeof race->known);
    memset(race->meetings, 0, sizeof race->meetings);
    for (int i = 0; i < WARPS; i++)
        race->known[i][i] = 1;
}

static void join(uint16_t *to, const uint16_t *from)
{
    for (int i = 0; i < WARPS; i++)
        to[i] = to[i] > from[i] ? to[i] : from[i];
}

/* NULL if the table is full: knowledge is lost, and races may be seen that are none; 512 objects are enough for all. */
static meeting *find_meeting(struct sg_race *race, uint64_t key)
{
    for (uint64_t i = 0, at = key * 0x9e3779b97f4a7c15u >> 32; i < MEETINGS; i++, at++) {
        meeting *m = &race->meetings[at % MEETINGS];
        if (!m->key)
            m->key = key + 1;
        if (m->key == key + 1)
            return m;
    }
    return NULL;
}

void sg_race_release(sg_warp *w, uint64_t place)
{
    struct sg_race *race = w->block->race;
    meeting *m = find_meeting(race, place);
    if (m)
        join(m->known, race->known[w->index]);
    if (race->known[w->index][w->index] < CLOCK_END)
        race->known[w->index][w->index]++;
    else
        sg_race_reset(race); /* after 65,535 exchanges: start over */
}

void sg_race_acquire(sg_warp *w, uint64_t place)
{
    struct sg_race *race = w->block->race;
    const meeting *m = find_meeting(race, place);
    if (m)
        join(race->known[w->index], m->known);
}

void sg_race_forget(sg_block *block, uint64_t place)
{
    meeting *m = find_meeting(block->race, place);
    if (m)
        memset(m->known, 0, sizeof m->known);
}

static bool report(sg_warp *w, const sg_op *op, int lane, uint32_t at, const cell *x, bool write, bool with_write)
{
    const uint32_t other = with_write ? x->write_line : x->read_line;
    sg_fault_at(w, op, 1u << lane, SG_FAULT_RACE, at,
                "race: this %s of shared address 0x%x and the %s at line %u are not ordered by any barrier",
                write ? "write" : "read", at, with_write ? "write" : "read", other);
    w->machine->report->other_line = other;
    return false;
}

bool sg_race_access(sg_warp *w, const sg_op *op, int lane, uint32_t at, uint32_t size, bool write)
{
    struct sg_race *race = w->block->race;
    const uint16_t *known = race->known[w->index];
    for (uint32_t i = at / CELL; i <= (at + size - 1) / CELL; i++) {
        if (i >= race->cell_count)
            return true; /* of another block, or beyond the end: others see to that */
        cell *x = &race->cells[i];
        if (x->generation != race->generation) {
            x->generation = race->generation;
            x->readers = x->writer = 0;
        }
        if (x->writer && x->writer - 1u != w->index && x->write_clock > known[x->writer - 1])
            return report(w, op, lane, at, x, write, true);
        if (write) {
            SG_FOR_MASK(r, x->readers & ~(1u << w->index))
            if (x->read_clock[r] > known[r])
                return report(w, op, lane, at, x, write, false);
            x->readers = 0;
            x->writer = (uint8_t)(w->index + 1);
            x->write_clock = known[w->index];
            x->write_line = op->line;
        } else {
            x->readers |= 1u << w->index;
            x->read_clock[w->index] = known[w->index];
            x->read_line = op->line;
        }
    }
    return true;
}
