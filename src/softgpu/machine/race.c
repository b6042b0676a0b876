/* Accesses: what each byte remembers, and which of its accesses are in no order. */
#include "race.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "race_sets.h"
#include "race_state.h"
#include "rows.h"

#define PAGE         4096      /* bytes of a region of global memory */
#define REGIONS_MOST (1 << 14) /* 64 MiB of global memory, with 256 MiB of cells; more of it is not watched */

/* Regions. */

/* NULL where the memory is not watched. */
static sg_region *find_page(struct sg_races *races, uint64_t address)
{
    const uint64_t base = address & ~(uint64_t)(PAGE - 1);
    if (races->last && races->last->base == base)
        return races->last;
    sg_region **list = &races->regions[(base / PAGE * 0x9e3779b97f4a7c15u >> 32) % SG_REGIONS];
    for (sg_region *region = *list; region; region = region->next)
        if (region->base == base)
            return races->last = region;
    if (races->region_count == REGIONS_MOST)
        return NULL;
    sg_region *region = calloc(1, sizeof *region);
    sg_cell *cells = calloc(PAGE / 4, sizeof *cells);
    if (!region || !cells) {
        free(region);
        free(cells);
        races->lost = true;
        return NULL;
    }
    *region = (sg_region){.next = *list, .base = base, .bytes = PAGE, .shift = 2, .cells = cells};
    races->region_count++;
    return races->last = *list = region;
}

/* From words to bytes. */
static bool refine(sg_region *region)
{
    sg_cell *cells = malloc((region->bytes + 1) * sizeof *cells);
    if (!cells)
        return false;
    for (uint32_t i = 0; i < region->bytes; i++)
        cells[i] = region->cells[i / 4];
    free(region->cells);
    region->cells = cells;
    region->shift = 0;
    return true;
}

/* Checks. */

/* One access: who, when, how. */
typedef struct access {
    sg_warp *w;
    const sg_op *op;
    int lane;
    const sg_agent *me;
    uint32_t how;
    uint64_t address;
    bool shared, writes;
} access;

/* Whether an access of the async proxy comes to what an ordinary one did. */
static bool crosses(const access *x, uint32_t how)
{
    return x->how & SG_HOW_ASYNC && !(how & SG_HOW_ASYNC) && (x->shared || how & SG_HOW_WRITES);
}

static bool is_known(const struct sg_races *races, const sg_vector *known, uint32_t warp, uint32_t clock, uint32_t how)
{
    const sg_moment moment = sg_vector_find(known, warp, races->stride);
    return (how & SG_HOW_WRITES ? moment.writes : moment.reads) >= clock;
}

static bool is_ordered(const struct sg_races *races, const access *x, uint32_t warp, uint32_t clock, uint32_t how)
{
    const sg_known *known = &x->me->known;
    if (crosses(x, how))
        return is_known(races, &known->async[x->shared ? SG_ASYNC_SHARED : SG_ASYNC_GLOBAL], warp, clock, how);
    return warp == x->me->number || is_known(races, &known->all, warp, clock, how);
}

/* Both strong, in scopes that hold both. */
static bool is_allowed(const struct sg_races *races, const access *x, uint32_t warp, uint32_t how)
{
    const sg_scope between = sg_race_between(races, warp, x->me->number);
    return how & x->how & SG_HOW_STRONG && SG_HOW_SCOPE(how) >= between && SG_HOW_SCOPE(x->how) >= between;
}

static bool report(const struct sg_races *races, const access *x, uint32_t warp, uint32_t clock, uint32_t how)
{
    const uint32_t *block = races->blocks[(warp - 1) / races->stride];
    const uint32_t line = x->w->ops[SG_HOW_OP(how)].line;
    const bool fence = crosses(x, how) && is_known(races, &x->me->known.all, warp, clock, how);
    sg_fault_at(x->w, x->op, 1u << x->lane, SG_FAULT_RACE, x->address,
                "race: this %s of %s address 0x%" PRIx64 " %s the %s at line %u by warp %u of block (%u,%u,%u)%s",
                x->writes ? "write" : "read", x->shared ? "shared" : "global", x->address,
                fence ? "needs fence.proxy.async behind" : "and", how & SG_HOW_WRITES ? "write" : "read", line,
                (warp - 1) % races->stride, block[0], block[1], block[2], fence ? "" : " are not in order");
    x->w->machine->report->other_line = line;
    return false;
}

/* A read: the last write comes before, and writes whose order does not matter to each other. */
static bool check_read(const struct sg_races *races, const access *x, const sg_cell *cell)
{
    if (cell->writer && !is_ordered(races, x, cell->writer, cell->clock, cell->how) &&
        !is_allowed(races, x, cell->writer, cell->how))
        return report(races, x, cell->writer, cell->clock, cell->how);
    for (uint32_t set = cell->others; set && sg_sets_at(races->sets, set)->writes;) {
        const sg_member *m = sg_sets_at(races->sets, set);
        if (m->how & SG_HOW_WRITES && !is_ordered(races, x, m->warp, m->clock, m->how) &&
            !is_allowed(races, x, m->warp, m->how))
            return report(races, x, m->warp, m->clock, m->how);
        set = m->rest;
    }
    return true;
}

static uint32_t add(struct sg_races *races, uint32_t set, uint32_t warp, uint32_t clock, uint32_t how)
{
    return sg_sets_add(races->sets, set, warp, clock, how, how & SG_HOW_WRITES);
}

/* The set with this read; what comes before it need not be kept. */
static uint32_t with_read(struct sg_races *races, const access *x, uint32_t set)
{
    const sg_member *head = set ? sg_sets_at(races->sets, set) : NULL;
    if (head && head->warp == x->me->number && head->clock == x->me->clock && !(head->how & SG_HOW_WRITES))
        return set;
    uint32_t kept = 0;
    bool same = true;
    for (uint32_t i = set; i && same;) {
        const sg_member *m = sg_sets_at(races->sets, i);
        if (m->warp == x->me->number && m->clock == x->me->clock && !(m->how & SG_HOW_WRITES))
            return set;
        same = !is_ordered(races, x, m->warp, m->clock, m->how);
        i = m->rest;
    }
    for (uint32_t i = set; i && !same;) {
        const sg_member m = *sg_sets_at(races->sets, i);
        if (!is_ordered(races, x, m.warp, m.clock, m.how))
            kept = add(races, kept, m.warp, m.clock, m.how);
        i = m.rest;
    }
    return add(races, same ? set : kept, x->me->number, x->me->clock, x->how);
}

/* Whether a write follows an atomic of its own warp, which followed another's strong write there as every atomic does: as
 * the last block of a tile to arrive sets its counter back. */
static bool is_followed(const struct sg_races *races, const access *x, const sg_cell *cell, uint32_t warp, uint32_t how)
{
    const sg_scope between = sg_race_between(races, warp, x->me->number);
    return cell->writer == x->me->number && cell->how & SG_HOW_CHANGES && SG_HOW_SCOPE(cell->how) >= between &&
           how & SG_HOW_STRONG && how & SG_HOW_WRITES && SG_HOW_SCOPE(how) >= between;
}

/* A write: everything before comes before it, or is strong as it is, and then is remembered. */
static bool check_write(struct sg_races *races, const access *x, const sg_cell *cell, uint32_t *others)
{
    *others = 0;
    if (cell->writer && !is_ordered(races, x, cell->writer, cell->clock, cell->how)) {
        if (!is_allowed(races, x, cell->writer, cell->how))
            return report(races, x, cell->writer, cell->clock, cell->how);
        *others = add(races, *others, cell->writer, cell->clock, cell->how);
    }
    for (uint32_t set = cell->others; set;) {
        const sg_member m = *sg_sets_at(races->sets, set);
        if (!is_ordered(races, x, m.warp, m.clock, m.how)) {
            if (!is_allowed(races, x, m.warp, m.how) && !is_followed(races, x, cell, m.warp, m.how))
                return report(races, x, m.warp, m.clock, m.how);
            *others = add(races, *others, m.warp, m.clock, m.how);
        }
        set = m.rest;
    }
    return true;
}

/* Neighbouring cells are mostly alike, and so is what the same access has met before: its answer is kept. */
static bool touch_cells(struct sg_races *races, const access *x, sg_region *region, uint32_t first, uint32_t end)
{
    bool same = races->seen_warp == x->me->number && races->seen_clock == x->me->clock && races->seen_how == x->how;
    for (sg_cell *cell = &region->cells[first], *last = &region->cells[end]; cell < last; cell++) {
        if (!same || memcmp(cell, &races->seen, sizeof *cell) != 0) {
            uint32_t answer = 0;
            if (x->writes ? !check_write(races, x, cell, &answer) : !check_read(races, x, cell))
                return false;
            races->answer = x->writes ? answer : with_read(races, x, cell->others);
            races->seen = *cell;
            races->seen_warp = x->me->number;
            races->seen_clock = x->me->clock;
            races->seen_how = x->how;
            same = true;
        }
        if (x->writes)
            *cell = (sg_cell){x->me->number, x->me->clock, x->how, races->answer};
        else
            cell->others = races->answer;
    }
    return true;
}

/* Sets grow until there is no room: then reads that nobody wrote over so far are forgotten. */
static void forget_sets(struct sg_races *races, const sg_cluster *running)
{
    for (size_t i = 0; i < SG_REGIONS; i++)
        for (sg_region *region = races->regions[i]; region; region = region->next)
            for (uint32_t k = 0; k < region->bytes >> region->shift; k++)
                region->cells[k].others = 0;
    for (; running; running = running->next)
        for (uint32_t b = 0; b < running->block_count; b++) {
            sg_region *region = &running->blocks[b].race->shared;
            for (uint32_t k = 0; k < region->bytes >> region->shift; k++)
                region->cells[k].others = 0;
        }
    sg_sets_forget(races->sets);
    races->seen_warp = 0;
}

static bool touch_region(struct sg_races *races, access *x, sg_region *region, uint32_t at, uint32_t size)
{
    if (region->shift && ((at | size) & 3) && !refine(region)) {
        races->lost = true;
        return true;
    }
    return touch_cells(races, x, region, at >> region->shift, (at + size) >> region->shift);
}

/* Another block's shared memory is there from its beginning to its end. */
static bool check_alive(const struct sg_races *races, const access *x, const sg_block *block)
{
    const uint32_t beginning = block->race->base + races->warps;
    if (sg_vector_find(&x->me->known.all, beginning, races->stride).reads > 0 && block->alive)
        return true;
    sg_fault_at(x->w, x->op, 1u << x->lane, SG_FAULT_RACE, x->address,
                "race: %s of shared address 0x%" PRIx64 " of block (%u,%u,%u), which %s", x->writes ? "write" : "read",
                x->address, block->id[0], block->id[1], block->id[2],
                block->alive ? "nothing says has begun" : "has ended");
    return false;
}

/* Where bytes are. NULL: they are not watched, or *failed. */
static sg_region *find_region(struct sg_races *races, access *x, uint32_t size, sg_space space, uint32_t *at,
                              bool *failed)
{
    const bool windowed = space == SG_SPACE_GENERIC && SG_WINDOW(x->address) == SG_WINDOW_SHARED;
    *failed = false;
    if (space == SG_SPACE_SHARED || windowed) {
        sg_block *block = sg_shared_block(x->w->block, x->address & (((uint64_t)1 << 56) - 1), at);
        x->shared = true;
        if (!block || size > block->shared_bytes || *at > block->shared_bytes - size)
            return NULL;
        *failed = block != x->w->block && !check_alive(races, x, block);
        return *failed ? NULL : &block->race->shared;
    }
    if (SG_WINDOW(x->address))
        return NULL;
    if (x->w->machine->grid->dependent && !x->me->known.waited) {
        sg_fault_at(x->w, x->op, 1u << x->lane, SG_FAULT_RACE, x->address,
                    "global memory before griddepcontrol.wait, in a grid launched before earlier ones are done");
        *failed = true;
        return NULL;
    }
    *at = (uint32_t)(x->address % PAGE);
    return find_page(races, x->address);
}

/* Lanes make an access, each a part of it. */
static void note_lanes(const sg_warp *w, uint32_t lanes)
{
    sg_agent_of(w)->lanes |= lanes;
    sg_agent_of(w)->same &= lanes;
}

static access describe(sg_warp *w, const sg_op *op, sg_touch kind, sg_words words)
{
    const bool writes = kind != SG_TOUCH_READ;
    struct sg_races *races = w->machine->races;
    if (sg_sets_full(races->sets))
        forget_sets(races, *w->machine->running);
    return (access){.w = w,
                    .op = op,
                    .me = sg_agent_of(w),
                    .writes = writes,
                    .how = ((uint32_t)(op - w->ops) & 0xffffff) | (words.strong ? SG_HOW_STRONG : 0) |
                           (uint32_t)words.scope << 25 | (writes ? SG_HOW_WRITES : 0) |
                           (words.async ? SG_HOW_ASYNC : 0) | (kind == SG_TOUCH_CHANGE ? SG_HOW_CHANGES : 0)};
}

/* A lane's bytes, which may lie in several regions. */
static bool touch_lane(access *x, int lane, uint64_t address, uint32_t size, sg_touch kind, sg_space space,
                       const sg_words *words)
{
    struct sg_races *races = x->w->machine->races;
    x->lane = lane;
    x->shared = false;
    sg_agent_touch(x->w); /* the lane before may have released */
    for (uint32_t done = 0, piece; done < size && !races->lost; done += piece) {
        uint32_t at;
        bool failed;
        x->address = address + done;
        piece = size - done;
        sg_region *region = find_region(races, x, piece, space, &at, &failed);
        if (failed)
            return false;
        piece = !region || x->shared || piece < PAGE - at ? piece : PAGE - at;
        if (region && !touch_region(races, x, region, at, piece))
            return false;
        if (region && words && (words->strong || (x->writes && region->places)))
            sg_race_synchronise(x->w, region, at, piece, kind, *words);
    }
    return true;
}

bool sg_race_touch(sg_warp *w, const sg_op *op, int lane, uint64_t address, uint32_t size, sg_touch kind,
                   sg_space space)
{
    const sg_words words = w->machine->kernel->words[op - w->ops];
    access x = describe(w, op, kind, words);
    return touch_lane(&x, lane, address, size, kind, space, &words);
}

bool sg_race_touch_global(sg_warp *w, const sg_op *op, uint32_t mask, const uint64_t *at, uint32_t size, sg_touch kind)
{
    const sg_words words = w->machine->kernel->words[op - w->ops];
    access x = describe(w, op, kind, words);
    const bool plain = !words.strong && !x.writes;
    uint64_t last = 0;
    note_lanes(w, mask);
    SG_FOR_MASK(l, mask)
    {
        if (plain && at[l] == last)
            continue; /* lanes side by side often read the same */
        last = at[l];
        if (!touch_lane(&x, (int)l, last, size, kind, SG_SPACE_GLOBAL, &words))
            return false;
    }
    return true;
}

bool sg_race_touch_shared(sg_warp *w, const sg_op *op, uint32_t mask, const uint32_t *at, uint32_t size, sg_touch kind)
{
    const sg_words words = w->machine->kernel->words[op - w->ops];
    struct sg_races *races = w->machine->races;
    sg_region *own = &w->block->race->shared;
    access x = describe(w, op, kind, words);
    const bool plain = !words.strong && (!x.writes || !own->places);
    uint32_t last = UINT32_MAX;
    if (!words.async && !sg_race_touch_lanes(w, op, mask, at, size, x.writes, words.strong))
        return false;
    note_lanes(w, mask);
    sg_agent_touch(w);
    SG_FOR_MASK(l, mask)
    {
        if (at[l] == last)
            continue; /* lanes side by side often read the same */
        last = at[l];
        const bool inside = plain && size <= w->block->shared_bytes && last <= w->block->shared_bytes - size;
        x.lane = (int)l;
        x.address = last;
        x.shared = true;
        if (inside ? !races->lost && !touch_region(races, &x, own, last, size)
                   : !touch_lane(&x, (int)l, last, size, kind, SG_SPACE_SHARED, &words))
            return false;
    }
    return true;
}

/* Arrivals and waits change nothing that matters to each other; only that it was set up must come before. They are not
 * remembered: warps ask very often. */
bool sg_race_mbarrier_find(sg_warp *w, const sg_op *op, int lane, uint64_t address)
{
    struct sg_races *races = w->machine->races;
    const bool async = w->machine->kernel->words[op - w->ops].async; /* a copy, which counts it down */
    access x = {.w = w, .op = op, .lane = lane, .me = sg_agent_of(w), .how = async ? SG_HOW_ASYNC : 0,
                .address = address, .shared = true};
    uint32_t at;
    const sg_block *block = sg_shared_block(w->block, address, &at);
    if (races->lost || !block || at >= block->shared_bytes)
        return true;
    const sg_region *region = &block->race->shared;
    const sg_cell *cell = &region->cells[at >> region->shift];
    if (block != w->block && !check_alive(races, &x, block))
        return false;
    return !cell->writer || is_ordered(races, &x, cell->writer, cell->clock, cell->how) ||
           report(races, &x, cell->writer, cell->clock, cell->how);
}
