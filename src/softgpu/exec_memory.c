/*
 * Loads and stores. All addresses of a warp are checked at once; when they lie in one allocation (or in the block's
 * shared memory), are aligned and, for loads, were written, they move in one loop. Everything else, and what is wrong,
 * is found lane by lane.
 */
#include "decode.h"
#include "rows.h"
#include "wgmma.h"

#define ALWAYS inline __attribute__((always_inline))

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

/* Counts and races see what lanes do, sorted by space. False after a fault. */
static bool watch(sg_warp *w, const sg_op *op, uint32_t mask, const uint64_t *at, uint32_t size, bool write,
                  sg_space space)
{
    uint32_t shared[SG_LANES], in_shared = 0, in_global = 0;
    SG_FOR_MASK(l, mask)
    {
        shared[l] = (uint32_t)at[l];
        const bool windowed = space == SG_SPACE_GENERIC && SG_WINDOW(at[l]) == SG_WINDOW_SHARED;
        if (space == SG_SPACE_SHARED || windowed)
            in_shared |= 1u << l;
        else if (space == SG_SPACE_GLOBAL || (space == SG_SPACE_GENERIC && !SG_WINDOW(at[l])))
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

/* Whether the lanes' bytes lie one behind the other. */
static ALWAYS bool in_a_line(const uint64_t *at, uint32_t size)
{
    uint64_t elsewhere = 0;
    SG_FOR_LANES elsewhere |= at[l] - at[0] - (uint64_t)l * size;
    return elsewhere == 0;
}

static ALWAYS bool all_written(const sg_span *span, const uint64_t *at, uint32_t size, bool line)
{
    bool written = true;
    if (!span->written)
        return true;
    if (line && size >= 4 && ((at[0] - span->base) & 7) == 0) {
        const uint8_t *map = span->written + ((at[0] - span->base) >> 3);
        uint64_t all = UINT64_MAX;
        for (uint32_t i = 0; i < size / 2; i++) { /* 32 lanes of size bytes, 64 bytes a word */
            uint64_t bits;
            memcpy(&bits, map + 8 * i, 8);
            all &= bits;
        }
        return all == UINT64_MAX;
    }
    for (int l = 0; l < SG_LANES; l++)
        written &= bits_set(span->written, at[l] - span->base, size);
    return written;
}

/* Four words each of four lanes: four rows at a time, turned. */
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

/* From checked places into rows. */
static ALWAYS void gather(const sg_warp *w, const sg_op *op, uint32_t mask, const uint8_t *const *from, int bytes,
                          int count)
{
    void *rows[4];
    for (int i = 0; i < count; i++)
        rows[i] = element_row(w, op, i, count);
    if (mask == SG_ALL && bytes == 4 && count == 4) {
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

/* Whether all lanes lie in the allocation that was last seen here, aligned. */
static ALWAYS const sg_span *one_span(const sg_warp *w, const sg_op *op, const uint64_t *at, uint32_t size)
{
    const sg_span *span = w->machine->spans[op->slot];
    if (!span || span->bytes < size)
        return NULL;
    const uint64_t base = span->base, last = span->bytes - size;
    uint64_t bits = 0, outside = 0;
    SG_FOR_LANES
    {
        bits |= at[l];
        outside |= at[l] - base > last;
    }
    return outside || (bits & (size - 1)) ? NULL : span;
}

static ALWAYS void load_global(sg_warp *w, const sg_op *op, uint32_t mask, int bytes, int count, sg_space space)
{
    _Alignas(SG_ROW_BYTES) uint64_t at[SG_LANES];
    const uint32_t size = (uint32_t)(bytes * count);
    take_addresses(w, op, mask, at);
    if (w->watched && !watch(w, op, mask, at, size, false, space))
        return;
    const sg_span *span = one_span(w, op, at, size);
    const bool line = span && mask == SG_ALL && in_a_line(at, size);
    if (!span || !all_written(span, at, size, line)) {
        move_each(w, op, mask, at, bytes, count, false, space);
        return;
    }
    if (line && count == 1 && bytes >= 4)
        memcpy(sg_row(w, op->d), (const void *)(uintptr_t)at[0], SG_LANES * size);
    else
        gather(w, op, mask, (const uint8_t *const *)at, bytes, count);
}

_Static_assert(sizeof(uint64_t) == sizeof(void *), "addresses are pointers");

static ALWAYS void store_global(sg_warp *w, const sg_op *op, uint32_t mask, int bytes, int count, sg_space space)
{
    _Alignas(SG_ROW_BYTES) uint64_t at[SG_LANES];
    const uint32_t size = (uint32_t)(bytes * count);
    take_addresses(w, op, mask, at);
    if (w->watched && !watch(w, op, mask, at, size, true, space))
        return;
    const sg_span *span = one_span(w, op, at, size);
    if (!span) {
        move_each(w, op, mask, at, bytes, count, true, space);
        return;
    }
    if (span->written)
        SG_FOR_MASK(l, mask) set_bits(span->written, at[l] - span->base, size);
    scatter(w, op, mask, (uint8_t *const *)at, bytes, count);
}

/* Whether all lanes lie in the block's own shared memory, aligned. */
static ALWAYS bool in_own_shared(const sg_warp *w, const uint32_t *at, uint32_t size)
{
    const uint32_t bytes = w->block->shared_bytes;
    if (bytes < size)
        return false;
    uint32_t bits = 0, outside = 0;
    SG_FOR_LANES
    {
        bits |= at[l];
        outside |= at[l] > bytes - size;
    }
    return !outside && !(bits & (size - 1));
}

static void move_each_shared(sg_warp *w, const sg_op *op, uint32_t mask, const uint32_t *at, int bytes, int count,
                             bool write)
{
    uint64_t wide[SG_LANES];
    SG_FOR_LANES wide[l] = at[l];
    move_each(w, op, mask, wide, bytes, count, write, SG_SPACE_SHARED);
}

/* Whether the shadow of every lane's bytes, so far behind them, says that they were written. */
static ALWAYS bool all_shadowed(const uint8_t *const *from, ptrdiff_t behind, uint32_t size)
{
    if (size == 16) {
        four all = {SG_ALL, SG_ALL, SG_ALL, SG_ALL};
        for (int l = 0; l < SG_LANES; l++) {
            four some;
            memcpy(&some, from[l] + behind, 16);
            all &= some;
        }
        return (all[0] & all[1] & all[2] & all[3]) == SG_ALL;
    }
    uint64_t all = UINT64_MAX;
    for (int l = 0; l < SG_LANES; l++) {
        uint64_t some = UINT64_MAX;
        memcpy(&some, from[l] + behind, size);
        all &= some;
    }
    return all == UINT64_MAX;
}

static ALWAYS void load_shared(sg_warp *w, const sg_op *op, uint32_t mask, int bytes, int count)
{
    _Alignas(SG_ROW_BYTES) uint32_t at[SG_LANES];
    const uint32_t size = (uint32_t)(bytes * count);
    const uint8_t *shared = w->block->shared, *shadow = w->block->shadow;
    take_shared_addresses(w, op, mask, at);
    if (!in_own_shared(w, at, size)) {
        move_each_shared(w, op, mask, at, bytes, count, false);
        return;
    }
    if (w->watched) {
        sg_watch_shared(w, op, mask, at, size, false);
        if (w->machine->fault)
            return;
    }
    const uint8_t *from[SG_LANES];
    SG_FOR_LANES from[l] = shared + at[l];
    if (!all_shadowed(from, shadow - shared, size)) {
        move_each_shared(w, op, mask, at, bytes, count, false); /* names the lane */
        return;
    }
    gather(w, op, mask, from, bytes, count);
}

static ALWAYS void store_shared(sg_warp *w, const sg_op *op, uint32_t mask, int bytes, int count)
{
    _Alignas(SG_ROW_BYTES) uint32_t at[SG_LANES];
    const uint32_t size = (uint32_t)(bytes * count);
    uint8_t *shared = w->block->shared, *shadow = w->block->shadow;
    take_shared_addresses(w, op, mask, at);
    if (!in_own_shared(w, at, size)) {
        move_each_shared(w, op, mask, at, bytes, count, true);
        return;
    }
    if (w->watched) {
        sg_watch_shared(w, op, mask, at, size, true);
        if (w->machine->fault)
            return;
    }
    if (w->block->reading)
        SG_FOR_MASK(l, mask) if (!sg_wgmma_lets_write(w, op, (int)l, w->block, at[l], size)) return;
    uint8_t *to[SG_LANES];
    SG_FOR_LANES to[l] = shared + at[l];
    SG_FOR_MASK(l, mask) memset(to[l] + (shadow - shared), SG_SHADOW_WRITTEN, size);
    scatter(w, op, mask, to, bytes, count);
}

/* Local memory, parameters and generic addresses that are not all global or all shared. */
static void move_slow(sg_warp *w, const sg_op *op, uint32_t mask, int bytes, int count, bool write, sg_space space)
{
    uint64_t at[SG_LANES];
    take_addresses(w, op, mask, at);
    move_each(w, op, mask, at, bytes, count, write, space);
}

/* One function for each width, count, direction and space. */
#define MEMORY(bytes, count)                                                                                 \
    static void load_global_##bytes##_##count(sg_warp *w, const sg_op *op, uint32_t mask)                    \
    {                                                                                                        \
        load_global(w, op, mask, bytes, count, SG_SPACE_GLOBAL);                                             \
    }                                                                                                        \
    static void store_global_##bytes##_##count(sg_warp *w, const sg_op *op, uint32_t mask)                   \
    {                                                                                                        \
        store_global(w, op, mask, bytes, count, SG_SPACE_GLOBAL);                                            \
    }                                                                                                        \
    static void load_shared_##bytes##_##count(sg_warp *w, const sg_op *op, uint32_t mask)                    \
    {                                                                                                        \
        load_shared(w, op, mask, bytes, count);                                                              \
    }                                                                                                        \
    static void store_shared_##bytes##_##count(sg_warp *w, const sg_op *op, uint32_t mask)                   \
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
        move_slow(w, op, mask, bytes, count, false, SG_SPACE_PARAM);                                         \
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
static sg_run *const stores[][4][3] = {
    [SG_SPACE_GENERIC] = TABLE(store_generic),
    [SG_SPACE_GLOBAL] = TABLE(store_global),
    [SG_SPACE_SHARED] = TABLE(store_shared),
    [SG_SPACE_LOCAL] = TABLE(store_local),
    [SG_SPACE_PARAM] = {{NULL}},
};

/* Sign extension after a load of s8 or s16, and results in wider registers. */
SG_ROW_1(extend_s8, s32, s8, a)
SG_ROW_1(extend_s16, s32, s16, a)
SG_ROW_1(widen_u, u64, u32, a)
SG_ROW_1(widen_s, s64, s32, a)
SG_ROW_1(narrow, u32, u64, a)

/* Parameters of a function that is called lie in local memory. */
static sg_space space_of(sg_space named, const sg_address *address)
{
    const bool called = named == SG_SPACE_PARAM && address->space == SG_SPACE_LOCAL;
    return named == SG_SPACE_GENERIC || called ? address->space : named;
}

static sg_space take_space(sg_decoder *d)
{
    static const char *const names[] = {"global",          "const", "shared", "shared::cta", "shared::cluster",
                                        "local",           "param", "param::entry", "param::func", NULL};
    static const sg_space spaces[] = {SG_SPACE_GLOBAL, SG_SPACE_CONST,  SG_SPACE_SHARED,
                                      SG_SPACE_SHARED, SG_SPACE_SHARED, SG_SPACE_LOCAL,
                                      SG_SPACE_PARAM,  SG_SPACE_PARAM,  SG_SPACE_PARAM};
    const int which = sg_part_of(d, names);
    return which < 0 ? SG_SPACE_GENERIC : spaces[which];
}

/* Modifiers that change nothing on a machine without caches that runs one warp at a time. */
static void ignore_modifiers(sg_decoder *d)
{
    static const char *const hints[] = {
        "ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "weak", "volatile", "relaxed", "acquire", "release", "acq_rel",
        "mmio", "cta", "cluster", "gpu", "sys", "unified", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first",
        "L1::evict_last", "L1::no_allocate", "L2::64B", "L2::128B", "L2::256B", "L2::evict_first", "L2::evict_last",
        "L2::evict_normal", NULL};
    for (int i = 0; hints[i]; i++)
        sg_part(d, hints[i]);
}

static int log2_of(uint32_t x)
{
    return __builtin_ctz(x);
}

static uint32_t take_count(sg_decoder *d)
{
    return sg_part(d, "v2") ? 2 : sg_part(d, "v4") ? 4 : 1;
}

static sg_run *find_handler(sg_decoder *d, sg_run *const table[][4][3], sg_space space, sg_type type, uint32_t count)
{
    const uint32_t bytes = sg_type_bytes(type);
    if (type == SG_NONE || type == SG_PRED || bytes > 8 || type >= SG_F32X2)
        sg_decode_unsupported(d, "type not known");
    sg_run *run = table[space][log2_of(bytes)][log2_of(count)];
    if (!run)
        sg_decode_unsupported(d, "vector of this length, or a space that cannot be written");
    return run;
}

static const sg_operand *item(sg_decoder *d, const sg_operand *operand, uint32_t i, uint32_t count)
{
    if (count == 1 && operand->kind != SG_OPERAND_VECTOR)
        return operand;
    if (operand->kind != SG_OPERAND_VECTOR || operand->count != count)
        sg_decode_bad(d, "expected a vector of another length");
    return &operand->items[i];
}

static void set_address(sg_decoder *d, sg_op *op, const sg_address *address, uint32_t count, uint32_t *list)
{
    op->a = address->row;
    op->imm = address->offset;
    op->kind = sg_address_kind(address);
    op->slot = sg_slot(d);
    if (count == 1)
        op->d = list[0];
    else
        op->list = list;
}

/* The row that memory fills, and what turns it into the register's contents. */
typedef struct landing {
    uint32_t row, target;
    uint32_t bytes; /* of the target */
} landing;

static landing prepare_landing(sg_decoder *d, const sg_operand *operand, sg_type type)
{
    const uint32_t bytes = sg_type_bytes(type), has = operand->kind == SG_OPERAND_SINK ? (bytes < 2 ? 2 : bytes)
                                                                                       : sg_register_bytes(d, operand);
    if (has < 2 || has > 8 || has < bytes)
        sg_decode_bad(d, "destination of the wrong kind");
    landing l = {.target = sg_destination(d, operand, has), .bytes = has};
    const bool same_row = (has == 8) == (bytes == 8);
    l.row = same_row ? l.target : sg_temporary(d, bytes);
    return l;
}

static void finish_landing(sg_decoder *d, const landing *l, sg_type type)
{
    const bool is_signed = type == SG_S8 || type == SG_S16 || type == SG_S32;
    if (type == SG_S8 || type == SG_S16) {
        sg_op *op = type == SG_S8 ? sg_emit(d, extend_s8_full, extend_s8_masked, SG_PIPE_NONE)
                                  : sg_emit(d, extend_s16_full, extend_s16_masked, SG_PIPE_NONE);
        op->d = op->a = l->row;
    }
    if (l->row != l->target) {
        sg_op *op = is_signed ? sg_emit(d, widen_s_full, widen_s_masked, SG_PIPE_NONE)
                              : sg_emit(d, widen_u_full, widen_u_masked, SG_PIPE_NONE);
        op->d = l->target;
        op->a = l->row;
    }
}

static void decode_ld(sg_decoder *d)
{
    const sg_space named = take_space(d);
    const uint32_t count = take_count(d);
    ignore_modifiers(d);
    const sg_type type = sg_part_type(d);
    const bool hint = sg_part(d, "L2::cache_hint");
    sg_parts_done(d);
    sg_operands(d, 2, hint ? 3 : 2);
    const sg_operand *to = sg_operand_at(d, 0);
    const sg_address address = sg_address_of(d, sg_operand_at(d, 1));
    const sg_space space = space_of(named, &address);
    sg_run *run = find_handler(d, loads, space, type, count);
    landing landings[4];
    uint32_t *list = sg_list(d, 4);
    for (uint32_t i = 0; i < count; i++) {
        landings[i] = prepare_landing(d, item(d, to, i, count), type);
        list[i] = landings[i].row;
    }
    sg_op *op = sg_emit(d, run, run, SG_PIPE_MEMORY);
    set_address(d, op, &address, count, list);
    for (uint32_t i = 0; i < count; i++)
        finish_landing(d, &landings[i], type);
}

static void decode_st(sg_decoder *d)
{
    const sg_space named = take_space(d);
    const uint32_t count = take_count(d);
    ignore_modifiers(d);
    const sg_type type = sg_part_type(d);
    const bool hint = sg_part(d, "L2::cache_hint");
    const uint32_t bytes = sg_type_bytes(type);
    sg_parts_done(d);
    sg_operands(d, 2, hint ? 3 : 2);
    const sg_address address = sg_address_of(d, sg_operand_at(d, 0));
    const sg_operand *from = sg_operand_at(d, 1);
    const sg_space space = space_of(named, &address);
    if (space == SG_SPACE_CONST)
        sg_decode_bad(d, "constant memory is not written");
    sg_run *run = find_handler(d, stores, space, type, count);
    const bool real = type == SG_F32 || type == SG_F64;
    uint32_t *list = sg_list(d, 4);
    for (uint32_t i = 0; i < count; i++) {
        const sg_operand *operand = item(d, from, i, count);
        uint32_t has = sg_register_bytes(d, operand);
        if (operand->kind == SG_OPERAND_REGISTER && (has < 2 || has < bytes))
            sg_decode_bad(d, "register of the wrong kind");
        if (!has)
            has = bytes < 2 ? 2 : bytes;
        list[i] = sg_source(d, operand, has, real);
        if (has == 8 && bytes < 8) { /* the low part of a wider register */
            const uint32_t low = sg_temporary(d, 4);
            sg_op *op = sg_emit(d, narrow_full, narrow_masked, SG_PIPE_NONE);
            op->d = low;
            op->a = list[i];
            list[i] = low;
        }
    }
    sg_op *op = sg_emit(d, run, run, SG_PIPE_MEMORY);
    set_address(d, op, &address, count, list);
}

/* Hints about caches: the address is not even looked at. */
static void nothing(sg_warp *w, const sg_op *op, uint32_t mask)
{
    (void)w, (void)op, (void)mask;
}

static void decode_hint(sg_decoder *d)
{
    sg_emit(d, nothing, nothing, SG_PIPE_MEMORY);
}

const sg_entry sg_entries_memory[] = {
    SG_DECODE("ld", decode_ld),
    SG_DECODE("ldu", decode_ld),
    SG_DECODE("st", decode_st),
    SG_DECODE("prefetch", decode_hint),
    SG_DECODE("prefetchu", decode_hint),
    SG_DECODE("applypriority", decode_hint),
    SG_DECODE("discard", decode_hint),
    SG_DECODE("createpolicy", decode_hint),
    SG_END,
};
