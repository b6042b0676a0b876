/*
 * mbarrier: objects in shared memory that count arrivals and bytes. The 64 bits are opaque to programs; here they are
 * the phase, the arrivals that are still missing, the arrivals of a phase, and the bytes that are still to come.
 */
#include "../ptx/decode.h"
#include "race.h"
#include "rows.h"

#define COUNT_BITS 20
#define COUNT_MOST ((1u << COUNT_BITS) - 1)
#define BYTES_MOST ((int64_t)1 << 21)

typedef struct state {
    uint32_t phase, missing, expected;
    int64_t bytes;
} state;

static state unpack(uint64_t word)
{
    return (state){.phase = (uint32_t)(word >> 63),
                   .missing = (uint32_t)word & COUNT_MOST,
                   .expected = (uint32_t)(word >> COUNT_BITS) & COUNT_MOST,
                   .bytes = (int64_t)(word << 1) >> (2 * COUNT_BITS + 1)};
}

static uint64_t pack(const state *s)
{
    return (uint64_t)s->phase << 63 | ((uint64_t)s->bytes << 2 * COUNT_BITS & ~((uint64_t)1 << 63)) |
           (uint64_t)s->expected << COUNT_BITS | s->missing;
}

/* Reads a valid object; NULL after a fault. */
static uint8_t *find(sg_warp *w, const sg_op *op, int lane, uint64_t address, state *s)
{
    uint8_t *at = sg_shared_at(w, op, lane, address, 8, false);
    uint64_t word;
    if (!at || (w->block->race && !sg_race_mbarrier_find(w, op, lane, address)))
        return NULL;
    memcpy(&word, at, 8);
    *s = unpack(word);
    if (!s->expected) {
        sg_fault_at(w, op, 1u << lane, SG_FAULT_BARRIER, address,
                    "mbarrier at shared address 0x%llx is not initialised", (unsigned long long)address);
        return NULL;
    }
    return at;
}

bool sg_mbarrier_change(sg_warp *w, const sg_op *op, int lane, uint64_t address, uint32_t arrivals, int64_t bytes)
{
    state s;
    uint8_t *at = find(w, op, lane, address, &s);
    if (!at)
        return false;
    if (arrivals && arrivals != UINT32_MAX && w->ended == address) {
        sg_fault_at(w, op, 1u << lane, SG_FAULT_BARRIER, address,
                    "the phase of the mbarrier at shared address 0x%llx, of %u arrivals, ended between those of a "
                    "warp's lanes",
                    (unsigned long long)address, s.expected);
        return false;
    }
    if (arrivals == UINT32_MAX) { /* one more is expected in this phase */
        s.missing++;
    } else if (arrivals > s.missing) {
        sg_fault_at(w, op, 1u << lane, SG_FAULT_BARRIER, address,
                    "%u arrivals at the mbarrier at shared address 0x%llx, which misses %u of %u", arrivals,
                    (unsigned long long)address, s.missing, s.expected);
        return false;
    } else {
        s.missing -= arrivals;
    }
    if (w->block->race && arrivals && arrivals != UINT32_MAX)
        sg_race_mbarrier_arrive(w, w->arriving, address, sg_race_relaxed(w, op));
    if (arrivals)
        sg_late_arrive(w, op);
    s.bytes += bytes;
    if (s.bytes >= BYTES_MOST || s.bytes < -BYTES_MOST) {
        sg_fault_at(w, op, 1u << lane, SG_FAULT_BARRIER, address, "more bytes than an mbarrier can count");
        return false;
    }
    if (!s.missing && !s.bytes) {
        s.phase ^= 1;
        s.missing = s.expected;
        w->ended = address;
        w->machine->progress++;
        if (w->block->race)
            sg_race_mbarrier_over(w, address);
    }
    const uint64_t word = pack(&s);
    memcpy(at, &word, 8);
    return true;
}

/* op: a address (imm its offset), b count or bytes, d state, c predicate; list: which */
typedef enum action { INIT, INVALIDATE, ARRIVE, ARRIVE_DROP, EXPECT, COMPLETE, TEST, TRY, PENDING } action;

typedef struct plan {
    uint32_t action;
    uint32_t expects;   /* arrive.expect_tx: b is bytes */
    uint32_t has_state; /* the old state goes to d */
    uint32_t parity;    /* of the waits: b is a parity, not a state */
    uint32_t generic;   /* the address */
} plan;

/* Only addresses in shared memory are right; of a generic one the window is taken away. */
static uint64_t shared_address(const sg_warp *w, const sg_op *op, int lane)
{
    const uint64_t address = sg_lane_address(w, op, op->a, lane);
    return SG_WINDOW(address) == SG_WINDOW_SHARED ? address & UINT32_MAX : address;
}

/* The bytes of an object that begins or ends; NULL after a fault. */
static uint8_t *find_room(sg_warp *w, const sg_op *op, int lane)
{
    const uint64_t address = shared_address(w, op, lane);
    uint8_t *at = sg_shared_at(w, op, lane, address, 8, true);
    return at && w->block->race && !sg_race_touch(w, op, lane, address, 8, SG_TOUCH_WRITE, SG_SPACE_SHARED) ? NULL : at;
}

static void initialise(sg_warp *w, const sg_op *op, uint32_t mask)
{
    const uint32_t *count = sg_row32(w, op->b);
    SG_FOR_MASK(l, mask)
    {
        if (!count[l] || count[l] > COUNT_MOST) {
            sg_fault_at(w, op, 1u << l, SG_FAULT_BARRIER, 0, "mbarrier for %u arrivals", count[l]);
            return;
        }
        uint8_t *at = find_room(w, op, (int)l);
        if (!at)
            return;
        const state s = {.missing = count[l], .expected = count[l]};
        const uint64_t word = pack(&s);
        memcpy(at, &word, 8);
    }
}

static void invalidate(sg_warp *w, const sg_op *op, uint32_t mask)
{
    SG_FOR_MASK(l, mask)
    {
        uint8_t *at = find_room(w, op, (int)l);
        if (!at)
            return;
        memset(at, 0, 8);
    }
}

static void arrive(sg_warp *w, const sg_op *op, uint32_t mask)
{
    const plan *p = (const plan *)op->list;
    const uint32_t *value = sg_row32(w, op->b);
    w->ended = SG_NO_MBARRIER;
    w->arriving = mask;
    SG_FOR_MASK(l, mask)
    {
        const uint64_t address = shared_address(w, op, (int)l);
        state s;
        if (!find(w, op, (int)l, address, &s))
            return;
        if (p->has_state)
            sg_row64(w, op->d)[l] = pack(&s);
        if (p->action == ARRIVE_DROP) {
            uint8_t *at = find(w, op, (int)l, address, &s);
            s.expected -= s.expected > 1;
            const uint64_t word = pack(&s);
            memcpy(at, &word, 8);
        }
        const bool arrives = p->action == ARRIVE || p->action == ARRIVE_DROP;
        const int64_t bytes = p->expects || p->action == EXPECT ? (int64_t)value[l]
                              : p->action == COMPLETE          ? -(int64_t)value[l]
                                                               : 0;
        if (!sg_mbarrier_change(w, op, (int)l, address, !arrives ? 0 : p->expects ? 1 : value[l], bytes))
            return;
    }
}

/* Waits do not wait: they tell, and programs loop. One that was told no lets others go first. */
static void test(sg_warp *w, const sg_op *op, uint32_t mask)
{
    const plan *p = (const plan *)op->list;
    uint32_t done = 0;
    uint64_t at = 0;
    state s = {0}; /* of the mbarrier there: lanes that follow mostly wait for the same one */
    bool left = false;
    SG_FOR_MASK(l, mask)
    {
        const uint64_t address = shared_address(w, op, (int)l);
        if (!s.expected || address != at) {
            if (!find(w, op, (int)l, address, &s))
                return;
            at = address;
            left = false;
        }
        const uint32_t phase = p->parity ? sg_row32(w, op->b)[l] & 1 : (uint32_t)(sg_row64(w, op->b)[l] >> 63);
        done |= s.phase != phase ? 1u << l : 0;
        if (w->block->race && s.phase != phase && !left && !sg_race_relaxed(w, op)) {
            sg_race_mbarrier_leave(w, at);
            left = true;
        }
    }
    sg_set_mask(w, op->c, mask, done);
    if (done != mask)
        sg_split_yield(w);
}

static void pending(sg_warp *w, const sg_op *op, uint32_t mask)
{
    SG_FOR_MASK(l, mask) sg_row32(w, op->d)[l] = unpack(sg_row64(w, op->a)[l]).missing;
}

static void ignore_words(sg_decoder *d)
{
    static const char *const words[] = {"release", "relaxed", "acquire", "cta", "cluster", "shared", "shared::cta",
                                        "shared::cluster", "b64", "noComplete", NULL};
    for (int i = 0; words[i]; i++)
        sg_part(d, words[i]);
}

static sg_op *emit(sg_decoder *d, sg_run *run, const sg_operand *operand, const plan *p)
{
    const sg_address address = sg_address_of(d, operand);
    plan *copy = (plan *)sg_list(d, sizeof *p / sizeof(uint32_t));
    *copy = *p;
    sg_op *op = sg_emit(d, run, run, SG_PIPE_MEMORY);
    op->a = address.row;
    op->imm = address.offset;
    op->kind = sg_address_kind(&address);
    op->list = (uint32_t *)copy;
    return op;
}

static void decode_wait(sg_decoder *d, plan *p)
{
    p->parity = sg_part(d, "parity");
    sg_parts_done(d);
    sg_operands(d, 3, p->action == TRY ? 4 : 3); /* a time limit may follow */
    const uint32_t result = sg_predicate_destination(d, sg_operand_at(d, 0));
    const uint32_t phase = sg_source(d, sg_operand_at(d, 2), p->parity ? 4 : 8, false);
    sg_op *op = emit(d, test, sg_operand_at(d, 1), p);
    op->b = phase;
    op->c = result;
}

static void decode_arrive(sg_decoder *d, plan *p)
{
    const bool shape = p->action == ARRIVE || p->action == ARRIVE_DROP;
    p->expects = shape && sg_part(d, "expect_tx");
    sg_parts_done(d);
    sg_operands(d, p->expects || !shape ? 2 : 1, 3);
    /* state, [address]{, count}; without a state for expect_tx and complete_tx, and for another block's */
    const bool has_target = sg_operand_at(d, 0)->kind != SG_OPERAND_ADDRESS;
    p->has_state = has_target && sg_operand_at(d, 0)->kind != SG_OPERAND_SINK;
    const uint32_t first = has_target ? 1 : 0;
    const uint32_t row = p->has_state ? sg_destination(d, sg_operand_at(d, 0), 8) : 0;
    const uint32_t value = d->in->count > first + 1 ? sg_source(d, sg_operand_at(d, first + 1), 4, false)
                                                    : sg_constant(d, 1, 4);
    sg_op *op = emit(d, arrive, sg_operand_at(d, first), p);
    op->b = value;
    op->d = row;
}

static void decode_mbarrier(sg_decoder *d)
{
    static const char *const names[] = {"init",        "inval",     "arrive",   "arrive_drop", "expect_tx",
                                        "complete_tx", "test_wait", "try_wait", "pending_count", NULL};
    plan p = {.action = (uint32_t)sg_part_of(d, names)};
    ignore_words(d);
    switch ((int)p.action) {
    case INIT: {
        sg_parts_done(d);
        sg_operands(d, 2, 2);
        const uint32_t count = sg_source(d, sg_operand_at(d, 1), 4, false);
        emit(d, initialise, sg_operand_at(d, 0), &p)->b = count;
        break;
    }
    case INVALIDATE:
        sg_parts_done(d);
        sg_operands(d, 1, 1);
        emit(d, invalidate, sg_operand_at(d, 0), &p);
        break;
    case ARRIVE:
    case ARRIVE_DROP:
    case EXPECT:
    case COMPLETE:
        decode_arrive(d, &p);
        break;
    case TEST:
    case TRY:
        decode_wait(d, &p);
        break;
    case PENDING: {
        sg_parts_done(d);
        sg_operands(d, 2, 2);
        const uint32_t row = sg_destination(d, sg_operand_at(d, 0), 4),
                       word = sg_source(d, sg_operand_at(d, 1), 8, false);
        sg_op *op = sg_emit(d, pending, pending, SG_PIPE_ALU);
        op->d = row;
        op->a = word;
        break;
    }
    default:
        sg_decode_unsupported(d, "form not known");
    }
}

const sg_entry sg_entries_mbarrier[] = {
    SG_DECODE("mbarrier", decode_mbarrier),
    SG_END,
};
