/*
 * Divergence. Lanes of a warp that went different ways are splits, each with its own place in the program. The one
 * with the lowest place runs; where a split comes to a label at which others stand, they become one again. Code is laid
 * out in the order it is reached, so the ones behind catch up.
 */
#include "warp.h"

static bool runnable(const sg_split *split)
{
    return split->barrier < 0;
}

static void park(sg_warp *w, uint32_t pc, uint32_t mask, int8_t barrier, bool yielded)
{
    if (!mask)
        return;
    for (int i = 0; i < w->split_count; i++)
        if (w->splits[i].pc == pc && w->splits[i].barrier == barrier && w->splits[i].yielded == yielded) {
            w->splits[i].mask |= mask;
            return;
        }
    w->splits[w->split_count++] = (sg_split){pc, mask, barrier, yielded};
}

/* Takes up the lowest split that may run, and all that stand at the same place. */
static bool take_lowest(sg_warp *w)
{
    int best = -1;
    for (int i = 0; i < w->split_count; i++)
        if (runnable(&w->splits[i]) && !w->splits[i].yielded && (best < 0 || w->splits[i].pc < w->splits[best].pc))
            best = i;
    if (best < 0)
        return false;
    w->pc = w->splits[best].pc;
    w->active = 0;
    for (int i = 0; i < w->split_count;)
        if (w->splits[i].pc == w->pc && runnable(&w->splits[i])) {
            w->active |= w->splits[i].mask;
            w->splits[i] = w->splits[--w->split_count];
        } else {
            i++;
        }
    return true;
}

/* No split runs: the next one, or the warp stops. */
static void resume(sg_warp *w)
{
    w->active = 0;
    if (take_lowest(w))
        return;
    if (!w->split_count) {
        sg_stop(w, SG_WARP_DONE);
        return;
    }
    bool yielded = false;
    for (int i = 0; i < w->split_count; i++) {
        yielded |= w->splits[i].yielded;
        w->splits[i].yielded = false;
    }
    if (yielded && take_lowest(w))
        sg_stop(w, SG_WARP_YIELDED);
    else
        sg_stop(w, SG_WARP_WAITING);
}

/* If another split is behind, it goes first; if it stands at the same place, they go together. */
static void reconsider(sg_warp *w)
{
    park(w, w->pc, w->active, -1, false);
    w->active = 0;
    take_lowest(w);
}

void sg_run_join(sg_warp *w, const sg_op *op, uint32_t mask)
{
    (void)mask;
    if (w->split_count) {
        const uint32_t here = (uint32_t)(op - w->ops);
        w->pc = here;
        reconsider(w);
        w->pc += w->pc == here; /* past the label */
    }
}

void sg_split_branch(sg_warp *w, uint32_t mask, uint32_t target)
{
    const uint32_t rest = w->active & ~mask;
    if (rest) {
        park(w, w->pc, rest, -1, false);
        w->active = mask;
    }
    w->pc = target;
    if (w->split_count)
        reconsider(w);
}

void sg_split_wait(sg_warp *w, uint32_t mask, int8_t barrier)
{
    park(w, w->pc, mask, barrier, false);
    w->active &= ~mask;
    if (!w->active)
        resume(w);
}

void sg_split_yield(sg_warp *w)
{
    park(w, w->pc, w->active, -1, true);
    resume(w);
}

void sg_split_exit(sg_warp *w, uint32_t mask)
{
    w->active &= ~mask;
    w->alive &= ~mask;
    w->block->alive -= (uint32_t)__builtin_popcount(mask);
    w->machine->progress++;
    if (!w->active)
        resume(w);
}

void sg_split_release(sg_warp *w, int8_t barrier)
{
    for (int i = 0; i < w->split_count; i++)
        if (w->splits[i].barrier == barrier)
            w->splits[i].barrier = -1;
    if (w->state == SG_WARP_WAITING && take_lowest(w))
        w->state = SG_WARP_READY;
}

void sg_stop(sg_warp *w, sg_warp_state state)
{
    w->state = state;
    w->unspent = w->fuel > 0 ? w->fuel : 0;
    w->fuel = 0;
}
