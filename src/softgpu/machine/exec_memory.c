/*
 * Loads and stores of a warp. All addresses are checked at once; when they lie in one allocation (or in the block's
 * shared memory), are aligned and, for loads, were written, they move in one loop. Everything else, and what is wrong,
 * is found lane by lane. decode_memory.c makes such operations of PTX.
 */
#include "../ptx/decode.h"
#include "race.h"
#include "rows.h"

#define ALWAYS inline __attribute__((always_inline))

#define STEP_MOST (1u << 24)
#define AROUND 16 /* words of a map of written bytes that are looked at together: 1024 bytes */

/* Addresses of all lanes; those that are not meant get the first one's. */
static ALWAYS void take_addresses(sg_warp *w, const sg_op *op, uint32_t mask, uint64_t *at)
{
    if (op->kind == SG_KIND_NARROW) {
        const uint32_t *row = sg_row32(w, op->a), offset = (uint32_t)op->imm;
        SG_FOR_LANES at[l] = (uint32_t)(row[l] + offset);
    } else {
        const uint64_t *row = sg_row64(w, op->a), offset = (uint64_t)op->imm;
        SG_FOR_LANES at[l] = row[l] + offset;
    }
    if (mask != SG_ALL) {
        const uint64_t first = at[__builtin_ctz(mask)];
        SG_FOR_LANES at[l] = mask >> l & 1 ? at[l] : first;
    }
}

/* The same for shared memory, in 32 bits; what does not fit becomes an address that no block has. */
static ALWAYS void take_shared_addresses(sg_warp *w, const sg_op *op, uint32_t mask, uint32_t *at)
{
    if (op->kind == SG_KIND_NARROW) {
        const uint32_t *row = sg_row32(w, op->a), offset = (uint32_t)op->imm;
        SG_FOR_LANES at[l] = row[l] + offset;
    } else {
        const uint64_t *row = sg_row64(w, op->a), offset = (uint64_t)op->imm;
        SG_FOR_LANES
        {
            const uint64_t wide = row[l] + offset;
            at[l] = wide >> 32 ? UINT32_MAX : (uint32_t)wide;
        }
    }
    if (mask != SG_ALL) {
        const uint32_t first = at[__builtin_ctz(mask)];
        SG_FOR_LANES at[l] = mask >> l & 1 ? at[l] : first;
    }
}

/* How lanes lie: whether all are in so many bytes from a base, aligned; and whether each is a step behind the one before. */
typedef struct spread {
    bool inside, even;
    uint32_t step; /* where they are even */
} spread;

/* An address less the base, and what is left of it to the last that there may be, have their highest bit where they would
 * be negative: allocations are smaller. */
#define SURVEY(name, address, is_even)                                                                       \
    static ALWAYS spread name(const address *at, address base, address bytes, uint32_t size)                 \
    {                                                                                                        \
        const address last = bytes - size;                                                                   \
        address bits = 0, outside = 0;                                                                       \
        SG_FOR_LANES                                                                                         \
        {                                                                                                    \
            const address far = at[l] - base;                                                                \
            outside |= far | (last - far);                                                                   \
            bits |= at[l];                                                                                   \
        }                                                                                                    \
        const bool inside = bytes >= size && !(outside >> (8 * sizeof(address) - 1));                        \
        return (spread){inside && !(bits & (size - 1)), is_even(at, STEP_MOST), (uint32_t)(at[1] - at[0])};  \
    }
SURVEY(survey, uint64_t, sg_even)
SURVEY(survey_shared, uint32_t, sg_even_shared)

/* Whether all lanes mean the same bytes; whether they lie one behind the other. */
static ALWAYS bool is_one(spread s)
{
    return s.even && s.step == 0;
}

static ALWAYS bool is_line(spread s, uint32_t size)
{
    return s.even && s.step == size;
}

/* Counts and races see what lanes do; at generic addresses sorted by space. False after a fault. */
static bool watch(sg_warp *w, const sg_op *op, uint32_t mask, const uint64_t *at, uint32_t size, bool write,
                  sg_space space)
{
    uint32_t shared[SG_LANES], in_shared = 0, in_global = space == SG_SPACE_GLOBAL ? mask : 0;
    SG_FOR_MASK(l, space == SG_SPACE_GENERIC ? mask : 0)
    {
        shared[l] = (uint32_t)at[l];
        if (SG_WINDOW(at[l]) == SG_WINDOW_SHARED)
            in_shared |= 1u << l;
        else if (!SG_WINDOW(at[l]))
            in_global |= 1u << l;
    }
    if (in_shared)
        sg_watch_shared(w, op, in_shared, shared, size, write);
    if (in_global)
        sg_watch_global(w, op, in_global, at, size, write);
    return !w->machine->fault;
}

/* A vector's elements between memory and rows. */
static ALWAYS void *element_row(const sg_warp *w, const sg_op *op, int i, int count)
{
    return sg_row(w, count == 1 ? op->d : op->list[i]);
}

static ALWAYS void take_element(void *row, uint32_t l, const uint8_t *from, int bytes)
{
    if (bytes == 8) {
        memcpy((uint64_t *)row + l, from, 8);
    } else {
        uint32_t value = 0;
        memcpy(&value, from, (size_t)bytes);
        ((uint32_t *)row)[l] = value;
    }
}

static ALWAYS void put_element(uint8_t *to, const void *row, uint32_t l, int bytes)
{
    memcpy(to, (const uint8_t *)row + l * (bytes == 8 ? 8u : 4u), (size_t)bytes);
}

/* Lane by lane. */
static void move_each(sg_warp *w, const sg_op *op, uint32_t mask, const uint64_t *at, int bytes, int count, bool write,
                      sg_space space)
{
    const uint32_t size = (uint32_t)(bytes * count);
    SG_FOR_MASK(l, mask)
    {
        uint8_t *bytes_at = sg_space_at(w, op, (int)l, at[l], size, write, space);
        if (!bytes_at)
            return;
        if (write)
            sg_late_write(w, op, at[l], bytes_at, size, space);
        for (int i = 0; i < count; i++)
            if (write)
                put_element(bytes_at + i * bytes, element_row(w, op, i, count), l, bytes);
            else
                take_element(element_row(w, op, i, count), l, bytes_at + i * bytes, bytes);
    }
}

/* Bits of an allocation's map that stand for size bytes; size is a power of two and the address a multiple of it. */
static ALWAYS bool bits_set(const uint8_t *map, uint64_t at, uint32_t size)
{
    const uint8_t *byte = map + (at >> 3);
    if (size >= 8)
        return byte[0] == 255 && (size == 8 || byte[1] == 255);
    return (byte[0] >> (at & 7) & ((1u << size) - 1)) == (1u << size) - 1;
}

static ALWAYS void set_bits(uint8_t *map, uint64_t at, uint32_t size)
{
    uint8_t *byte = map + (at >> 3);
    if (size >= 8)
        memset(byte, 255, size / 8);
    else
        byte[0] = (uint8_t)(byte[0] | ((1u << size) - 1) << (at & 7));
}

/* Whether all of some words of an allocation's map are set that stand for the bytes from the first lane's to the last's,
 * where these are few. */
static ALWAYS bool around_written(const sg_span *span, const uint64_t *at, spread s, uint32_t size)
{
    int64_t first = (int64_t)at[0], last = (int64_t)at[SG_LANES - 1]; /* vectors compare signed numbers */
    if (!s.even)
        SG_FOR_LANES
        {
            const int64_t one = (int64_t)at[l];
            first = one < first ? one : first;
            last = one > last ? one : last;
        }
    const uint64_t from = ((uint64_t)first - span->base) >> 6, to = ((uint64_t)last + size - 1 - span->base) >> 6;
    uint64_t all = UINT64_MAX;
    if (to - from >= AROUND || (to + 1) << 6 > span->bytes)
        return false;
    for (uint64_t i = from; i <= to; i++) {
        uint64_t bits;
        memcpy(&bits, span->written + 8 * i, 8);
        all &= bits;
    }
    return all == UINT64_MAX;
}

static ALWAYS bool all_written(const sg_span *span, const uint64_t *at, spread s, uint32_t size)
{
    bool written = true;
    if (!span->written)
        return true;
    if (is_one(s))
        return bits_set(span->written, at[0] - span->base, size);
    if (is_line(s, size) && size >= 4 && ((at[0] - span->base) & 7) == 0) {
        const uint8_t *map = span->written + ((at[0] - span->base) >> 3);
        uint64_t all = UINT64_MAX;
        for (uint32_t i = 0; i < size / 2; i++) { /* 32 lanes of size bytes, 64 bytes a word */
            uint64_t bits;
            memcpy(&bits, map + 8 * i, 8);
            all &= bits;
        }
        return all == UINT64_MAX;
    }
    if (around_written(span, at, s, size))
        return true;
    for (int l = 0; l < SG_LANES; l++)
        written &= bits_set(span->written, at[l] - span->base, size);
    return written;
}

/* Four words each of four lanes: four rows at a time, transposed. */
typedef uint32_t four __attribute__((vector_size(16)));

/* Elements of two vectors one behind the other. GCC has clang's builtin since version 12 only. */
#ifdef __clang__
#define PICK(x, y, i, j, k, l) __builtin_shufflevector(x, y, i, j, k, l)
#else
#define PICK(x, y, i, j, k, l) __builtin_shuffle(x, y, (four){i, j, k, l})
#endif

static ALWAYS void gather_fours(void *const *rows, const uint8_t *const *from)
{
    for (int l = 0; l < SG_LANES; l += 4) {
        four a, b, c, d;
        memcpy(&a, from[l], 16);
        memcpy(&b, from[l + 1], 16);
        memcpy(&c, from[l + 2], 16);
        memcpy(&d, from[l + 3], 16);
        const four ab0 = PICK(a, b, 0, 4, 1, 5), ab1 = PICK(a, b, 2, 6, 3, 7);
        const four cd0 = PICK(c, d, 0, 4, 1, 5), cd1 = PICK(c, d, 2, 6, 3, 7);
        ((four *)rows[0])[l / 4] = PICK(ab0, cd0, 0, 1, 4, 5);
        ((four *)rows[1])[l / 4] = PICK(ab0, cd0, 2, 3, 6, 7);
        ((four *)rows[2])[l / 4] = PICK(ab1, cd1, 0, 1, 4, 5);
        ((four *)rows[3])[l / 4] = PICK(ab1, cd1, 2, 3, 6, 7);
    }
}

/* What all lanes read at one place. */
static ALWAYS void give_all(sg_warp *w, void *row, uint32_t mask, const uint8_t *from, int bytes)
{
    const uint32_t *lanes = sg_lanes(w, mask);
    uint64_t value = 0;
    memcpy(&value, from, (size_t)bytes);
    if (bytes == 8)
        SG_FOR_LANES ((uint64_t *)row)[l] = lanes[l] ? value : ((uint64_t *)row)[l];
    else
        SG_FOR_LANES ((uint32_t *)row)[l] = lanes[l] ? (uint32_t)value : ((uint32_t *)row)[l];
}

/* From checked places into rows. */
static ALWAYS void gather(sg_warp *w, const sg_op *op, uint32_t mask, const uint8_t *const *from, spread s, int bytes,
                          int count)
{
    void *rows[4];
    for (int i = 0; i < count; i++)
        rows[i] = element_row(w, op, i, count);
    if (is_one(s)) {
        for (int i = 0; i < count; i++)
            give_all(w, rows[i], mask, from[0] + i * bytes, bytes);
    } else if (mask == SG_ALL && count == 1 && bytes >= 4 && is_line(s, (uint32_t)bytes)) {
        memcpy(rows[0], from[0], SG_LANES * (size_t)bytes);
    } else if (mask == SG_ALL && bytes == 4 && count == 4) {
        gather_fours(rows, from);
    } else if (mask == SG_ALL) {
        for (uint32_t l = 0; l < SG_LANES; l++)
            for (int i = 0; i < count; i++)
                take_element(rows[i], l, from[l] + i * bytes, bytes);
    } else {
        SG_FOR_MASK(l, mask)
        for (int i = 0; i < count; i++)
            take_element(rows[i], l, from[l] + i * bytes, bytes);
    }
}

static ALWAYS void scatter(const sg_warp *w, const sg_op *op, uint32_t mask, uint8_t *const *to, int bytes, int count)
{
    const void *rows[4];
    for (int i = 0; i < count; i++)
        rows[i] = element_row(w, op, i, count);
    SG_FOR_MASK(l, mask)
    for (int i = 0; i < count; i++)
        put_element(to[l] + i * bytes, rows[i], l, bytes);
}

static ALWAYS void load_global(sg_warp *w, const sg_op *op, uint32_t mask, int bytes, int count, sg_space space)
{
    _Alignas(SG_ROW_BYTES) uint64_t at[SG_LANES];
    const uint32_t size = (uint32_t)(bytes * count);
    take_addresses(w, op, mask, at);
    if (w->watched && !watch(w, op, mask, at, size, false, space))
        return;
    const sg_span *span = w->machine->spans[op->slot]; /* that was last seen here */
    const spread s = span ? survey(at, span->base, span->bytes, size) : (spread){0};
    if (s.inside && all_written(span, at, s, size))
        gather(w, op, mask, (const uint8_t *const *)at, s, bytes, count);
    else
        move_each(w, op, mask, at, bytes, count, false, space);
}

_Static_assert(sizeof(uint64_t) == sizeof(void *), "addresses are pointers");

/* A load that finds the same values at the same addresses as the warp's last one is a poll: other warps go first. */
void sg_run_poll(sg_warp *w, const sg_op *op, uint32_t mask)
{
    uint64_t at[SG_LANES], seen = w->pc;
    take_addresses(w, op, mask, at);
    load_global(w, op, mask, 4, 1, SG_SPACE_GLOBAL);
    SG_FOR_MASK(l, mask)
    {
        seen = (seen ^ at[l]) * 0x9e3779b97f4a7c15u;
        seen = (seen >> 32 ^ seen ^ sg_row32(w, op->d)[l]) * 0x9e3779b97f4a7c15u;
    }
    if (seen == w->polled && !w->machine->fault)
        sg_split_yield(w);
    w->polled = seen;
}

static ALWAYS void store_global(sg_warp *w, const sg_op *op, uint32_t mask, int bytes, int count, sg_space space)
{
    _Alignas(SG_ROW_BYTES) uint64_t at[SG_LANES];
    const uint32_t size = (uint32_t)(bytes * count);
    take_addresses(w, op, mask, at);
    if (w->watched && !watch(w, op, mask, at, size, true, space))
        return;
    const sg_span *span = w->machine->spans[op->slot];
    if (!span || !survey(at, span->base, span->bytes, size).inside) {
        move_each(w, op, mask, at, bytes, count, true, space);
        return;
    }
    if (span->written)
        SG_FOR_MASK(l, mask) set_bits(span->written, at[l] - span->base, size);
    if (w->machine->late_global)
        SG_FOR_MASK(l, mask) sg_late_write(w, op, at[l], (const uint8_t *)at[l], size, SG_SPACE_GLOBAL);
    scatter(w, op, mask, (uint8_t *const *)at, bytes, count);
}

static void move_each_shared(sg_warp *w, const sg_op *op, uint32_t mask, const uint32_t *at, int bytes, int count,
                             bool write)
{
    uint64_t wide[SG_LANES];
    SG_FOR_LANES wide[l] = at[l];
    if (w->block->race && !sg_race_touch_shared(w, op, mask, at, (uint32_t)(bytes * count),
                                                write ? SG_TOUCH_WRITE : SG_TOUCH_READ))
        return;
    move_each(w, op, mask, wide, bytes, count, write, SG_SPACE_SHARED);
}

/* Whether the shadow of every lane's bytes, so far behind them, says that they were written. */
static ALWAYS bool all_shadowed(const uint8_t *const *from, spread s, ptrdiff_t behind, uint32_t size)
{
    const int count = is_one(s) ? 1 : SG_LANES;
    if (size == 16) {
        four all = {SG_ALL, SG_ALL, SG_ALL, SG_ALL};
        for (int l = 0; l < count; l++) {
            four some;
            memcpy(&some, from[l] + behind, 16);
            all &= some;
        }
        return (all[0] & all[1] & all[2] & all[3]) == SG_ALL;
    }
    uint64_t all = UINT64_MAX;
    for (int l = 0; l < count; l++) {
        uint64_t some = UINT64_MAX;
        memcpy(&some, from[l] + behind, size);
        all &= some;
    }
    return all == UINT64_MAX;
}

/* Whether copies in flight write some of these places. Copies have four bytes or more. */
static ALWAYS bool any_flying(uint8_t *const *to, ptrdiff_t behind, uint32_t size)
{
    bool any = false;
    for (uint32_t b = 0; b < size; b += 4)
        SG_FOR_LANES any |= to[l][behind + b] == SG_SHADOW_FLYING;
    return any;
}

static ALWAYS void load_shared(sg_warp *w, const sg_op *op, uint32_t mask, int bytes, int count)
{
    _Alignas(SG_ROW_BYTES) uint32_t at[SG_LANES];
    const uint32_t size = (uint32_t)(bytes * count);
    const uint8_t *shared = w->block->shared, *shadow = w->block->shadow, *from[SG_LANES];
    take_shared_addresses(w, op, mask, at);
    const spread s = survey_shared(at, 0, w->block->shared_bytes, size);
    if (!s.inside) {
        move_each_shared(w, op, mask, at, bytes, count, false);
        return;
    }
    if (w->watched) {
        sg_watch_shared(w, op, mask, at, size, false);
        if (w->machine->fault)
            return;
    }
    SG_FOR_LANES from[l] = shared + at[l];
    if (all_shadowed(from, s, shadow - shared, size))
        gather(w, op, mask, from, s, bytes, count);
    else
        move_each_shared(w, op, mask, at, bytes, count, false); /* names the lane */
}

static ALWAYS void store_shared(sg_warp *w, const sg_op *op, uint32_t mask, int bytes, int count)
{
    _Alignas(SG_ROW_BYTES) uint32_t at[SG_LANES];
    const uint32_t size = (uint32_t)(bytes * count);
    uint8_t *shared = w->block->shared, *shadow = w->block->shadow, *to[SG_LANES];
    take_shared_addresses(w, op, mask, at);
    if (!survey_shared(at, 0, w->block->shared_bytes, size).inside) {
        move_each_shared(w, op, mask, at, bytes, count, true);
        return;
    }
    if (w->watched) {
        sg_watch_shared(w, op, mask, at, size, true);
        if (w->machine->fault)
            return;
    }
    SG_FOR_LANES to[l] = shared + at[l];
    if (w->block->reading || any_flying(to, shadow - shared, size))
        SG_FOR_MASK(l, mask) if (!sg_may_write(w, op, (int)l, w->block, at[l], size)) return;
    SG_FOR_MASK(l, mask) memset(to[l] + (shadow - shared), SG_SHADOW_WRITTEN, size);
    scatter(w, op, mask, to, bytes, count);
}

/* Local memory. */
static void move_slow(sg_warp *w, const sg_op *op, uint32_t mask, int bytes, int count, bool write, sg_space space)
{
    uint64_t at[SG_LANES];
    take_addresses(w, op, mask, at);
    move_each(w, op, mask, at, bytes, count, write, space);
}

/* Parameters, which mostly all lanes ask for at one address. */
static ALWAYS void load_param(sg_warp *w, const sg_op *op, uint32_t mask, int bytes, int count)
{
    uint64_t at[SG_LANES];
    take_addresses(w, op, mask, at);
    if (!sg_even(at, 0)) {
        move_each(w, op, mask, at, bytes, count, false, SG_SPACE_PARAM);
        return;
    }
    const uint8_t *from =
        sg_space_at(w, op, __builtin_ctz(mask), at[0], (uint32_t)(bytes * count), false, SG_SPACE_PARAM);
    for (int i = 0; from && i < count; i++)
        give_all(w, element_row(w, op, i, count), mask, from + i * bytes, bytes);
}

/* One function for each width, count, direction and space. */
#define MEMORY(bytes, count)                                                                                 \
    SG_VECTOR static void load_global_##bytes##_##count(sg_warp *w, const sg_op *op, uint32_t mask)          \
    {                                                                                                        \
        load_global(w, op, mask, bytes, count, SG_SPACE_GLOBAL);                                             \
    }                                                                                                        \
    SG_VECTOR static void store_global_##bytes##_##count(sg_warp *w, const sg_op *op, uint32_t mask)         \
    {                                                                                                        \
        store_global(w, op, mask, bytes, count, SG_SPACE_GLOBAL);                                            \
    }                                                                                                        \
    SG_VECTOR static void load_shared_##bytes##_##count(sg_warp *w, const sg_op *op, uint32_t mask)          \
    {                                                                                                        \
        load_shared(w, op, mask, bytes, count);                                                              \
    }                                                                                                        \
    SG_VECTOR static void store_shared_##bytes##_##count(sg_warp *w, const sg_op *op, uint32_t mask)         \
    {                                                                                                        \
        store_shared(w, op, mask, bytes, count);                                                             \
    }                                                                                                        \
    static void load_generic_##bytes##_##count(sg_warp *w, const sg_op *op, uint32_t mask)                   \
    {                                                                                                        \
        load_global(w, op, mask, bytes, count, SG_SPACE_GENERIC);                                            \
    }                                                                                                        \
    static void store_generic_##bytes##_##count(sg_warp *w, const sg_op *op, uint32_t mask)                  \
    {                                                                                                        \
        store_global(w, op, mask, bytes, count, SG_SPACE_GENERIC);                                           \
    }                                                                                                        \
    static void load_local_##bytes##_##count(sg_warp *w, const sg_op *op, uint32_t mask)                     \
    {                                                                                                        \
        move_slow(w, op, mask, bytes, count, false, SG_SPACE_LOCAL);                                         \
    }                                                                                                        \
    static void store_local_##bytes##_##count(sg_warp *w, const sg_op *op, uint32_t mask)                    \
    {                                                                                                        \
        move_slow(w, op, mask, bytes, count, true, SG_SPACE_LOCAL);                                          \
    }                                                                                                        \
    static void load_param_##bytes##_##count(sg_warp *w, const sg_op *op, uint32_t mask)                     \
    {                                                                                                        \
        load_param(w, op, mask, bytes, count);                                                               \
    }
#define COUNTS(bytes) MEMORY(bytes, 1) MEMORY(bytes, 2) MEMORY(bytes, 4)
COUNTS(1)
COUNTS(2)
COUNTS(4)
MEMORY(8, 1)
MEMORY(8, 2)

#define ROW(name, bytes) {name##_##bytes##_1, name##_##bytes##_2, name##_##bytes##_4}
#define TABLE(name)      {ROW(name, 1), ROW(name, 2), ROW(name, 4), {name##_8_1, name##_8_2, NULL}}
/* [space][log2 bytes][log2 count] */
static sg_run *const loads[][4][3] = {
    [SG_SPACE_GENERIC] = TABLE(load_generic), [SG_SPACE_GLOBAL] = TABLE(load_global),
    [SG_SPACE_CONST] = TABLE(load_global),    [SG_SPACE_SHARED] = TABLE(load_shared),
    [SG_SPACE_LOCAL] = TABLE(load_local),     [SG_SPACE_PARAM] = TABLE(load_param),
};
/* Constants and parameters are not written. */
static sg_run *const stores[][4][3] = {
    [SG_SPACE_GENERIC] = TABLE(store_generic),
    [SG_SPACE_GLOBAL] = TABLE(store_global),
    [SG_SPACE_SHARED] = TABLE(store_shared),
    [SG_SPACE_LOCAL] = TABLE(store_local),
    [SG_SPACE_PARAM] = {{NULL}},
};

sg_run *sg_memory_run(sg_space space, uint32_t bytes, uint32_t count, bool write)
{
    return (write ? stores : loads)[space][__builtin_ctz(bytes)][__builtin_ctz(count)];
}
