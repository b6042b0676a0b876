/* Who learns of whom: barriers, fences, and strong accesses to the same place. */
#include <stdlib.h>
#include <string.h>

#include "race_state.h"

static struct sg_races *races_of(const sg_warp *w)
{
    return w->machine->races;
}

static void join_vector(struct sg_races *races, sg_vector *to, const sg_vector *from)
{
    if (!sg_vector_join(to, from, races->stride))
        races->lost = true;
}

static void join(struct sg_races *races, sg_known *to, const sg_known *from)
{
    join_vector(races, &to->all, &from->all);
    for (int i = 0; i < SG_ASYNCS; i++)
        join_vector(races, &to->async[i], &from->async[i]);
    to->waited |= from->waited;
}

void sg_known_clear(sg_known *known)
{
    sg_vector_clear(&known->all);
    for (int i = 0; i < SG_ASYNCS; i++)
        sg_vector_clear(&known->async[i]);
    known->waited = false;
}

void sg_sequence_clear(sg_sequence *sequence)
{
    sg_known_clear(&sequence->before);
    sg_known_clear(&sequence->found);
}

sg_scope sg_race_between(const struct sg_races *races, uint32_t a, uint32_t b)
{
    const uint32_t first = (a - 1) / races->stride, second = (b - 1) / races->stride;
    return first == second                                                   ? SG_SCOPE_BLOCK
           : first / races->cluster_blocks == second / races->cluster_blocks ? SG_SCOPE_CLUSTER
                                                                             : SG_SCOPE_GRID;
}

bool sg_race_relaxed(const sg_warp *w, const sg_op *op)
{
    return w->machine->kernel->words[op - w->ops].relaxed;
}

static void tell(sg_warp *w, sg_known *to)
{
    join(races_of(w), to, &sg_agent_of(w)->known);
    sg_agent_of(w)->touched = false;
}

static sg_moment earlier(sg_moment a, sg_moment b)
{
    return (sg_moment){a.reads < b.reads ? a.reads : b.reads, a.writes < b.writes ? a.writes : b.writes};
}

/* What it knows, of its own accesses those until a moment. To be joined only: what it shares stays the warp's. */
static sg_known known_until(const sg_warp *w, sg_moment last)
{
    sg_known known = sg_agent_of(w)->known;
    known.all.own[w->index] = earlier(known.all.own[w->index], last);
    for (int i = 0; i < SG_ASYNCS; i++)
        known.async[i].own[w->index] = earlier(known.async[i].own[w->index], last);
    return known;
}

/* Of its own writes only those before its last fence. */
static void tell_relaxed(sg_warp *w, sg_known *to)
{
    const sg_known known = known_until(w, (sg_moment){UINT32_MAX, sg_agent_of(w)->told});
    join(races_of(w), to, &known);
    sg_agent_of(w)->touched = false;
}

void sg_race_meet(sg_warp *w)
{
    sg_agent *me = sg_agent_of(w);
    me->meeting++;
    me->met = me->clock;
    me->lanes = 0;
    me->same = UINT32_MAX;
    me->touched = false;
}

static void join_sequence(struct sg_races *races, sg_sequence *to, const sg_sequence *from)
{
    join(races, &to->before, &from->before);
    join(races, &to->found, &from->found);
}

void sg_race_arrive(sg_warp *w, int8_t barrier)
{
    tell(w, &w->block->race->barriers[barrier]);
    join_sequence(races_of(w), &w->block->race->sequences[barrier], &sg_agent_of(w)->sequence);
}

void sg_race_leave(sg_warp *w, int8_t barrier)
{
    sg_race_meet(w);
    join(races_of(w), &sg_agent_of(w)->known, &w->block->race->barriers[barrier]);
    join_sequence(races_of(w), &sg_agent_of(w)->sequence, &w->block->race->sequences[barrier]);
}

void sg_race_forget(sg_block *block, int8_t barrier)
{
    sg_known_clear(&block->race->barriers[barrier]);
    sg_sequence_clear(&block->race->sequences[barrier]);
}

void sg_race_cluster_arrive(sg_warp *w, const sg_op *op)
{
    sg_known *to = &w->block->cluster->blocks[0].race->arrived;
    if (sg_race_relaxed(w, op))
        tell_relaxed(w, to);
    else
        tell(w, to);
}

void sg_race_cluster_over(sg_cluster *cluster)
{
    struct sg_race *first = cluster->blocks[0].race;
    join(cluster->machine->races, &first->passed, &first->arrived);
    sg_known_clear(&first->arrived);
}

void sg_race_cluster_leave(sg_warp *w)
{
    sg_race_meet(w);
    join(races_of(w), &sg_agent_of(w)->known, &w->block->cluster->blocks[0].race->passed);
}

void sg_race_wait_for_grids(sg_warp *w)
{
    sg_agent_of(w)->known.waited = true;
}

void sg_race_fence(sg_warp *w, const sg_op *op)
{
    struct sg_races *races = races_of(w);
    const sg_words words = w->machine->kernel->words[op - w->ops];
    sg_agent *me = sg_agent_of(w);
    for (int i = 0; i < SG_ASYNCS; i++)
        if (w->machine->kernel->async && words.proxies >> i & 1)
            join_vector(races, &me->known.async[i], &me->known.all);
    me->touched = false;
    if (!words.fences)
        return;
    for (int scope = 0; scope <= words.scope; scope++) {
        join(races, &me->known, &me->heard[scope]);
        sg_known_clear(&me->heard[scope]);
    }
    if (words.sequential) {
        join(races, &me->known, &me->sequence.found);
        join(races, &me->sequence.before, &me->known);
    }
    sg_known_clear(&me->fenced[words.scope]);
    join(races, &me->fenced[words.scope], &me->known);
    if (words.scope >= SG_SCOPE_CLUSTER)
        me->told = me->clock;
}

/* Places. */

static sg_place *find_place(struct sg_races *races, sg_region *region, uint32_t at, bool create)
{
    if (!region->places && create && !(region->places = calloc(SG_PLACES, sizeof region->places[0])))
        races->lost = true;
    if (!region->places)
        return NULL;
    sg_place **list = &region->places[at / 4 % SG_PLACES];
    for (sg_place *place = *list; place; place = place->next)
        if (place->at == at)
            return place;
    sg_place *place = create ? calloc(1, sizeof *place) : NULL;
    if (create && !place)
        races->lost = true;
    if (place) {
        place->at = at;
        place->next = *list;
        *list = place;
    }
    return place;
}

static void empty_place(sg_place *place)
{
    for (int i = 0; i < SG_SCOPES; i++)
        sg_known_clear(&place->slots[i].known);
    sg_known_clear(&place->sequenced);
    place->writer = 0;
}

void sg_region_forget_places(sg_region *region)
{
    for (int i = 0; region->places && i < SG_PLACES; i++)
        for (sg_place *place = region->places[i], *next; place; place = next) {
            next = place->next;
            empty_place(place);
            free(place);
        }
    free(region->places);
    region->places = NULL;
}

/* Leaves what a release of some scope tells. Another block's of a scope that does not hold this one is of no use to
 * anybody who reads the place now. */
static void release(struct sg_races *races, sg_slot *slot, sg_scope scope, const sg_known *known, uint32_t base)
{
    if (slot->known.all.base && sg_race_between(races, slot->base, base) > scope)
        sg_known_clear(&slot->known);
    join(races, &slot->known, known);
    slot->base = base;
}

static void learn(sg_warp *w, const sg_place *place, sg_words words)
{
    struct sg_races *races = races_of(w);
    sg_agent *me = sg_agent_of(w);
    for (int scope = 0; scope < SG_SCOPES; scope++) {
        const sg_slot *slot = &place->slots[scope];
        if (!slot->known.all.base)
            continue;
        const sg_scope between = sg_race_between(races, slot->base, me->number);
        if (scope < (int)between)
            continue;
        const bool acquired = words.acquires && words.scope >= between;
        join(races, acquired ? &me->known : &me->heard[between], &slot->known);
    }
    if (words.scope == SG_SCOPE_GRID)
        join(races, &me->sequence.found, &place->sequenced);
}

void sg_race_synchronise(sg_warp *w, sg_region *region, uint32_t at, uint32_t size, sg_touch touch, sg_words words)
{
    struct sg_races *races = races_of(w);
    sg_agent *me = sg_agent_of(w);
    if (!words.strong) { /* a weak write ends what could be learned there */
        for (uint32_t i = at & ~3u; region->places && i < at + size; i += 4) {
            sg_place *place = find_place(races, region, i, false);
            if (place)
                empty_place(place);
        }
        return;
    }
    bool tells = touch != SG_TOUCH_READ && words.releases;
    for (int scope = 0; scope < SG_SCOPES; scope++)
        tells |= touch != SG_TOUCH_READ && me->fenced[scope].all.base;
    tells |= touch != SG_TOUCH_READ && me->sequence.before.all.base;
    sg_place *place = find_place(races, region, at, tells);
    if (!place)
        return;
    if (touch != SG_TOUCH_WRITE)
        learn(w, place, words);
    if (touch == SG_TOUCH_READ)
        return;
    if (touch == SG_TOUCH_WRITE && place->writer != me->number)
        empty_place(place); /* the value is another one; its own releases before still count */
    place->writer = me->number;
    for (int scope = 0; scope < SG_SCOPES; scope++)
        if (me->fenced[scope].all.base)
            release(races, &place->slots[scope], scope, &me->fenced[scope], me->number);
    if (words.scope == SG_SCOPE_GRID)
        join(races, &place->sequenced, &me->sequence.before);
    if (words.releases) {
        release(races, &place->slots[words.scope], words.scope, &me->known, me->number);
        me->touched = false;
    }
}

/* mbarriers. */

static sg_place *find_mbarrier(const sg_warp *w, uint64_t address)
{
    uint32_t at;
    const sg_block *block = sg_shared_block(w->block, address, &at);
    return block ? find_place(races_of(w), &block->race->shared, at, true) : NULL;
}

/* Some lanes tell nothing of what they did together with others who do not come along, since they met those. Where they
 * also did something without them, which they may tell of, all counts as theirs. */
void sg_race_mbarrier_arrive(sg_warp *w, uint32_t lanes, uint64_t address, bool relaxed)
{
    struct sg_races *races = races_of(w);
    sg_agent *me = sg_agent_of(w);
    sg_place *place = find_mbarrier(w, address);
    if (!place)
        return;
    sg_known *to = &place->slots[0].known;
    const bool unmet = me->lanes & ~lanes && me->same == me->lanes;
    const uint32_t last = unmet ? me->met : me->clock;
    const sg_known known = known_until(w, (sg_moment){last, relaxed && me->told < last ? me->told : last});
    if (w->machine->kernel->async && !sg_vector_join_reads(&to->async[SG_ASYNC_SHARED], &known.all, races->stride))
        races->lost = true;
    join(races, to, &known);
    me->touched = false;
}

void sg_race_mbarrier_copy(sg_warp *w, uint64_t address)
{
    sg_place *place = find_mbarrier(w, address);
    if (place)
        tell(w, &place->slots[0].known);
}

void sg_race_mbarrier_over(sg_warp *w, uint64_t address)
{
    sg_place *place = find_mbarrier(w, address);
    if (!place)
        return;
    join(races_of(w), &place->slots[1].known, &place->slots[0].known);
    sg_known_clear(&place->slots[0].known);
}

void sg_race_mbarrier_leave(sg_warp *w, uint64_t address)
{
    const sg_place *place = find_mbarrier(w, address);
    sg_race_meet(w);
    if (place)
        join(races_of(w), &sg_agent_of(w)->known, &place->slots[1].known);
}
