/* ld and st: spaces, vectors, and registers wider than what memory holds. */
#include "../ptx/decode.h"
#include "rows.h"

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

/* Whether threads may wait for each other by this load. */
static bool take_strong(sg_decoder *d)
{
    static const char *const words[] = {"volatile", "relaxed", "acquire", NULL};
    return sg_part_of(d, words) >= 0;
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

static uint32_t take_count(sg_decoder *d)
{
    return sg_part(d, "v2") ? 2 : sg_part(d, "v4") ? 4 : 1;
}

static sg_run *find_handler(sg_decoder *d, sg_space space, sg_type type, uint32_t count, bool write)
{
    const uint32_t bytes = sg_type_bytes(type);
    if (type == SG_NONE || type == SG_PRED || bytes > 8 || type >= SG_F32X2)
        sg_decode_unsupported(d, "type not known");
    sg_run *run = sg_memory_run(space, bytes, count, write);
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
    const bool strong = take_strong(d);
    ignore_modifiers(d);
    const sg_type type = sg_part_type(d);
    const bool hint = sg_part(d, "L2::cache_hint");
    sg_parts_done(d);
    sg_operands(d, 2, hint ? 3 : 2);
    const sg_operand *to = sg_operand_at(d, 0);
    const sg_address address = sg_address_of(d, sg_operand_at(d, 1));
    const sg_space space = space_of(named, &address);
    const bool polls = strong && space == SG_SPACE_GLOBAL && count == 1 && sg_type_bytes(type) == 4;
    sg_run *run = polls ? sg_run_poll : find_handler(d, space, type, count, false);
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
    sg_run *run = find_handler(d, space, type, count, true);
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
    if (strstr(d->in->mnemonic, ".release"))
        sg_emit(d, sg_late_release, sg_late_release, SG_PIPE_NONE);
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
