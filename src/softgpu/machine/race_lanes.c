/*
 * Lanes of one warp. For everything else they count as ordered; here what one of them wrote in shared memory must not be
 * read or written over by another, nor what one has read be written over, before they have met: by bar.warp.sync, by a
 * barrier or an mbarrier. Anything else that lanes do together counts as meeting too, though it orders no memory. One
 * instruction's own lanes are not looked at, and words of which less is touched at once are forgotten. A strong access may
 * come to another strong one: such leave no mark.
 */
#include "race_state.h"
#include "rows.h"

/* A mark: the meeting before, the operation, the warp, the lane. 0: none. */
#define LANE_BITS    6
#define WARP_BITS    8
#define OP_BITS      24
#define MANY         ((1u << LANE_BITS) - 1) /* lanes */
#define LANE(mark)   ((uint32_t)(mark) & MANY)
#define OP(mark)     ((uint32_t)((mark) >> (LANE_BITS + WARP_BITS)) & ((1u << OP_BITS) - 1))
#define SINCE(mark)  ((mark) >> LANE_BITS & ~((((uint64_t)1 << OP_BITS) - 1) << WARP_BITS)) /* all but the operation */

static uint64_t mark_of(const sg_warp *w, const sg_op *op, int lane)
{
    const uint64_t meeting = sg_agent_of(w)->meeting, number = (uint64_t)(op - w->ops) & ((1u << OP_BITS) - 1);
    return ((meeting << OP_BITS | number) << WARP_BITS | w->index) << LANE_BITS | (uint64_t)lane;
}

/* Whether a mark is another lane's, by another instruction, since the lanes met. */
static bool is_unmet(uint64_t mark, uint64_t mine)
{
    return mark && SINCE(mark) == SINCE(mine) && OP(mark) != OP(mine) && LANE(mark) != LANE(mine);
}

static bool report(sg_warp *w, const sg_op *op, int lane, uint32_t at, bool writes, uint64_t mark, bool wrote)
{
    const uint32_t line = w->ops[OP(mark)].line;
    sg_fault_at(w, op, 1u << lane, SG_FAULT_RACE, at,
                "race: this %s of shared address 0x%x and the %s at line %u by another lane of the warp are not in "
                "order: nothing like bar.warp.sync lies between them",
                writes ? "write" : "read", at, wrote ? "write" : "read", line);
    w->machine->report->other_line = line;
    return false;
}

static bool touch_word(sg_warp *w, const sg_op *op, int lane, uint32_t at, bool writes, bool strong)
{
    sg_lane_mark *m = &w->block->race->marks[at / 4];
    const uint64_t mine = mark_of(w, op, lane);
    if (is_unmet(m->write, mine))
        return report(w, op, lane, at, writes, m->write, true);
    if (writes && is_unmet(m->read, mine))
        return report(w, op, lane, at, writes, m->read, false);
    if (writes)
        *m = (sg_lane_mark){.write = strong ? 0 : mine};
    else if (!strong)
        m->read = m->read && SINCE(m->read) == SINCE(mine) && LANE(m->read) != LANE(mine) ? mine | MANY : mine;
    return true;
}

bool sg_race_touch_lanes(sg_warp *w, const sg_op *op, uint32_t mask, const uint32_t *at, uint32_t size, bool writes,
                         bool strong)
{
    SG_FOR_MASK(l, mask)
    {
        if (size > w->block->shared_bytes || at[l] > w->block->shared_bytes - size)
            continue;
        for (uint32_t i = at[l]; i < at[l] + size; i += 4)
            if (size < 4)
                w->block->race->marks[i / 4] = (sg_lane_mark){0};
            else if (!touch_word(w, op, (int)l, i, writes, strong))
                return false;
    }
    return true;
}
