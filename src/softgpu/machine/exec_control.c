/* Branches, the end of threads, and what only asks for patience. */
#include "../ptx/decode.h"
#include "race.h"
#include "rows.h"

/* op->kind of setmaxnreg. */
enum { TAKES = SG_KIND_OWN, GIVES_BACK };

static void branch(sg_warp *w, const sg_op *op, uint32_t mask)
{
    if (mask == w->active && !w->split_count)
        w->pc = (uint32_t)op->imm;
    else
        sg_split_branch(w, mask, (uint32_t)op->imm);
}

/* brx.idx: one branch for each target that a lane wants. */
static void branch_table(sg_warp *w, const sg_op *op, uint32_t mask)
{
    const uint32_t *index = sg_row32(w, op->a);
    const uint32_t next = w->pc;
    SG_FOR_MASK(l, mask) if (index[l] >= (uint64_t)op->imm)
    {
        sg_fault_at(w, op, 1u << l, SG_FAULT_INSTRUCTION, 0, "index %u of a table of %lld", index[l],
                    (long long)op->imm);
        return;
    }
    /* All parts but the last are parked: each branch below sees the rest of the lanes as its active ones. */
    uint32_t rest = mask, active = w->active;
    while (rest) {
        const uint32_t target = op->list[index[__builtin_ctz(rest)]];
        uint32_t same = 0;
        SG_FOR_MASK(l, rest) same |= op->list[index[l]] == target ? 1u << l : 0;
        rest &= ~same;
        if (rest || active != mask) {
            w->splits[w->split_count++] = (sg_split){target, same, -1, false};
            active &= ~same;
        } else {
            w->active = active;
            w->pc = next;
            sg_split_branch(w, same, target);
            return;
        }
    }
    /* Lanes that the guard left out go on behind the instruction. */
    w->active = active;
    w->pc = next;
    sg_split_branch(w, active, next);
}

static void leave(sg_warp *w, const sg_op *op, uint32_t mask)
{
    (void)op;
    sg_split_exit(w, mask);
    sg_barriers_settle(w->block);
}

static void trap(sg_warp *w, const sg_op *op, uint32_t mask)
{
    sg_fault_at(w, op, mask, SG_FAULT_TRAP, 0, "the kernel stopped itself");
}

static void sleep_a_while(sg_warp *w, const sg_op *op, uint32_t mask)
{
    (void)op;
    if (mask == w->active)
        sg_split_yield(w);
}

static void nothing(sg_warp *w, const sg_op *op, uint32_t mask)
{
    (void)w, (void)op, (void)mask;
}

static void decode_bra(sg_decoder *d)
{
    sg_part(d, "uni");
    sg_parts_done(d);
    sg_operands(d, 1, 1);
    const sg_operand *target = sg_operand_at(d, 0);
    if (target->kind != SG_OPERAND_LABEL)
        sg_decode_bad(d, "label not known");
    sg_op *op = sg_emit(d, branch, branch, SG_PIPE_CONTROL);
    op->kind = SG_KIND_BRANCH;
    op->imm = (int64_t)target->value;
}

#define TARGETS_MOST (1u << 20) /* of all tables of a kernel */

static void decode_brx(sg_decoder *d)
{
    const bool index = sg_part(d, "idx");
    sg_part(d, "uni");
    sg_parts_done(d);
    sg_operands(d, 2, 2);
    const sg_operand *table = sg_operand_at(d, 1);
    if (!index || table->kind != SG_OPERAND_TARGETS)
        sg_decode_bad(d, "expected a table of labels");
    const uint32_t row = sg_source(d, sg_operand_at(d, 0), 4, false);
    if ((d->target_count += table->count) > TARGETS_MOST)
        sg_decode_unsupported(d, "too many branch targets");
    uint32_t *list = sg_list(d, table->count + 1);
    for (uint32_t i = 0; i < table->count; i++) {
        if (table->items[i].kind != SG_OPERAND_LABEL)
            sg_decode_bad(d, "label not known");
        list[i] = (uint32_t)table->items[i].value;
    }
    sg_op *op = sg_emit(d, branch_table, branch_table, SG_PIPE_CONTROL);
    op->kind = SG_KIND_TABLE;
    op->a = row;
    op->imm = table->count;
    op->list = list;
}

static void decode_leave(sg_decoder *d)
{
    const sg_function *f = d->function;
    sg_part(d, "uni");
    sg_parts_done(d);
    sg_operands(d, 0, 0);
    const bool returns = d->in->mnemonic[0] == 'r' || d->in == &f->instructions[f->instruction_count - 1];
    if (d->depth && returns) { /* to the end of what stands in place of the call */
        sg_op *op = sg_emit(d, branch, branch, SG_PIPE_CONTROL);
        op->kind = SG_KIND_BRANCH;
        op->imm = (int64_t)f->instruction_count;
        return;
    }
    sg_emit(d, leave, leave, SG_PIPE_CONTROL);
}

#define CALLS_DEEP 8
#define CALL_OPS   (1u << 20) /* of a kernel with all that it calls */

/* call (results), name, (parameters): the function's operations stand here, each time anew. */
static void decode_call(sg_decoder *d)
{
    const sg_operand *name = NULL;
    sg_part(d, "uni");
    sg_parts_done(d);
    for (uint32_t i = 0; i < d->in->count && i < 2; i++)
        if (d->in->operands[i].kind == SG_OPERAND_NAME)
            name = &d->in->operands[i];
    if (!name)
        sg_decode_unsupported(d, "call of a function that is not named");
    if (strcmp(name->name, "__assertfail") == 0) {
        sg_emit(d, trap, trap, SG_PIPE_CONTROL);
        return;
    }
    if (strcmp(name->name, "vprintf") == 0) { /* nobody listens */
        sg_emit(d, nothing, nothing, SG_PIPE_CONTROL);
        return;
    }
    sg_function *callee = sg_function_find(d->syntax, name->name);
    if (!callee || callee->is_entry)
        sg_decode_unsupported(d, "call of a function that is not there");
    if (d->depth == CALLS_DEEP || d->kernel->op_count > CALL_OPS)
        sg_decode_unsupported(d, "calls too deep, or of a function by itself");
    const uint32_t guard = d->guard;
    size_t around = 0;
    if (guard) { /* lanes that do not call go around */
        around = d->kernel->op_count;
        sg_emit(d, branch, branch, SG_PIPE_CONTROL)->guard = guard ^ 1;
        d->guard = 0;
    }
    sg_decode_call(d, callee);
    if (guard)
        d->kernel->ops[around].imm = (int64_t)d->kernel->op_count - 1; /* the label at its end */
}

static void decode_trap(sg_decoder *d)
{
    sg_operands(d, 0, 0);
    sg_emit(d, trap, trap, SG_PIPE_CONTROL);
}

static void decode_sleep(sg_decoder *d)
{
    sg_part(d, "u32");
    sg_parts_done(d);
    sg_operands(d, 1, 1);
    sg_source(d, sg_operand_at(d, 0), 4, false);
    sg_emit(d, sleep_a_while, sleep_a_while, SG_PIPE_CONTROL);
}

/* Hints, and orders that a machine which runs one thing at a time keeps anyhow. */
static void decode_nothing(sg_decoder *d)
{
    sg_emit(d, nothing, nothing, SG_PIPE_CONTROL);
}

/* setmaxnreg: op->imm registers a thread. Who wants more waits until other warps of the block have given back enough. */
static void set_registers(sg_warp *w, const sg_op *op, uint32_t mask)
{
    const int64_t more = (op->imm - (int64_t)w->registers) * SG_LANES;
    (void)mask;
    if (!w->registers || (op->kind == GIVES_BACK ? more > 0 : more < 0))
        return;
    if (more > w->block->registers_left) {
        w->pc = (uint32_t)(op - w->ops);
        sg_split_yield(w);
        return;
    }
    w->block->registers_left -= more;
    w->registers = (uint32_t)op->imm;
    w->machine->progress++;
}

static void decode_setmaxnreg(sg_decoder *d)
{
    static const char *const words[] = {"inc", "sync", "aligned", "u32", NULL};
    const bool back = sg_part(d, "dec");
    for (int i = 0; words[i]; i++)
        sg_part(d, words[i]);
    sg_parts_done(d);
    sg_operands(d, 1, 1);
    const int64_t registers = sg_immediate(d, sg_operand_at(d, 0));
    if (registers < 24 || registers > 256 || registers % 8 != 0)
        sg_decode_bad(d, "registers are given in eights, from 24 to 256");
    sg_op *op = sg_emit(d, set_registers, set_registers, SG_PIPE_CONTROL);
    op->imm = registers;
    op->kind = back ? GIVES_BACK : TAKES;
}

/* Grids run one after the other: all that came before is done. Only the checker of races wants to know who asked. */
static void wait_for_grids(sg_warp *w, const sg_op *op, uint32_t mask)
{
    (void)op, (void)mask;
    if (w->block->race)
        sg_race_wait_for_grids(w);
}

static void decode_griddepcontrol(sg_decoder *d)
{
    if (sg_part(d, "wait"))
        sg_emit(d, wait_for_grids, wait_for_grids, SG_PIPE_CONTROL);
    else
        decode_nothing(d);
}

const sg_entry sg_entries_control[] = {
    SG_DECODE("bra", decode_bra),
    SG_DECODE("brx", decode_brx),
    SG_DECODE("exit", decode_leave),
    SG_DECODE("ret", decode_leave),
    SG_DECODE("call", decode_call),
    SG_DECODE("trap", decode_trap),
    SG_DECODE("brkpt", decode_trap),
    SG_DECODE("nanosleep", decode_sleep),
    SG_DECODE("setmaxnreg", decode_setmaxnreg),
    SG_DECODE("griddepcontrol", decode_griddepcontrol),
    SG_DECODE("pmevent", decode_nothing),
    SG_END,
};
