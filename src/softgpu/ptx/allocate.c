/*
 * Rows for registers. PTX has a register for every value, a thousand in an unrolled kernel: with a row each, a warp's
 * registers would not fit into a core's cache. Values that are not alive at the same time share a row: liveness over
 * the basic blocks, then one pass over the intervals in the order in which they begin.
 *
 * Lanes are independent here, too: a lane writes only its own part of a row, so what holds for one thread holds for a
 * warp whose lanes went different ways.
 */
#include <string.h>

#include "decode.h"

/* Beyond these every register gets its own row: bits of one set for all blocks; words looked at until nothing changes,
 * which takes a few passes of ordinary code and as many as there are blocks where all branches lead back. */
#define BITS_MOST ((size_t)1 << 28)
#define WORK_MOST ((size_t)1 << 29)

typedef struct interval {
    uint32_t first, last; /* instructions */
    uint32_t next;        /* register + 1, of those that begin or end at the same place */
    bool seen;
} interval;

typedef struct block {
    uint32_t begin, end; /* instructions */
    uint64_t *in, *out, *uses, *kills;
} block;

typedef struct liveness {
    sg_decoder *d;
    sg_function *f;
    size_t words; /* of one set */
    size_t work;  /* words looked at */
    block *blocks;
    uint32_t block_count, *block_of; /* by instruction */
    interval *intervals;             /* by register */
} liveness;

typedef void visitor(liveness *v, uint32_t instruction, uint32_t reg, bool kills);

static bool starts_with(const char *text, const char *opcode)
{
    const size_t length = strlen(opcode);
    return strncmp(text, opcode, length) == 0 && (text[length] == '.' || !text[length]);
}

/* Whether the first operand is read. (Where it is an address, its registers are anyhow.) */
static bool first_is_source(const char *mnemonic)
{
    static const char *const opcodes[] = {"bar",  "barrier",    "nanosleep", "brx", "bra",
                                          "call", "setmaxnreg", "st",        "red"};
    for (size_t i = 0; i < sizeof opcodes / sizeof opcodes[0]; i++)
        if (starts_with(mnemonic, opcodes[i]))
            return true;
    return false;
}

static void visit_operand(liveness *v, uint32_t i, const sg_operand *operand, bool kills, visitor *visit)
{
    if (operand->kind == SG_OPERAND_REGISTER && v->f->registers[operand->reg].type != SG_PRED)
        visit(v, i, operand->reg, kills);
    if (operand->kind == SG_OPERAND_TARGETS)
        return;
    for (uint32_t k = 0; k < operand->count; k++)
        visit_operand(v, i, &operand->items[k], kills && operand->kind != SG_OPERAND_ADDRESS, visit);
}

/* All registers of an instruction: what is read, then what is written. A guarded write leaves the old value to some;
 * wgmma adds to it. */
static void visit_instruction(liveness *v, uint32_t i, visitor *visit)
{
    const sg_instruction *in = &v->f->instructions[i];
    const bool writes = !first_is_source(in->mnemonic), whole = in->guard < 0 && !starts_with(in->mnemonic, "wgmma");
    for (uint32_t k = writes ? 1 : 0; k < in->count; k++)
        visit_operand(v, i, &in->operands[k], false, visit);
    if (writes && in->count)
        visit_operand(v, i, &in->operands[0], whole, visit);
}

static void set_bit(uint64_t *set, uint32_t bit)
{
    set[bit / 64] |= (uint64_t)1 << bit % 64;
}

static bool has_bit(const uint64_t *set, uint32_t bit)
{
    return set[bit / 64] >> bit % 64 & 1;
}

/* A read that comes before the block's own write needs the value from outside. */
static void note_use(liveness *v, uint32_t i, uint32_t reg, bool kills)
{
    block *b = &v->blocks[v->block_of[i]];
    if (kills)
        set_bit(b->kills, reg);
    else if (!has_bit(b->kills, reg))
        set_bit(b->uses, reg);
}

static void extend(liveness *v, uint32_t i, uint32_t reg)
{
    interval *x = &v->intervals[reg];
    if (!x->seen)
        *x = (interval){.first = i, .last = i, .seen = true};
    x->first = i < x->first ? i : x->first;
    x->last = i > x->last ? i : x->last;
}

static void note_mention(liveness *v, uint32_t i, uint32_t reg, bool kills)
{
    (void)kills;
    extend(v, i, reg);
}

static bool is_branch(const sg_instruction *in)
{
    return starts_with(in->mnemonic, "bra") || starts_with(in->mnemonic, "brx");
}

static bool ends_block(const sg_instruction *in)
{
    return is_branch(in) || starts_with(in->mnemonic, "exit") || starts_with(in->mnemonic, "ret");
}

static void find_blocks(liveness *v)
{
    const uint32_t count = (uint32_t)v->f->instruction_count;
    for (int pass = 0; pass < 2; pass++) {
        v->block_count = 0;
        for (uint32_t i = 0; i < count; i++) {
            if (i == 0 || v->f->instructions[i].is_target || ends_block(&v->f->instructions[i - 1])) {
                if (pass)
                    v->blocks[v->block_count].begin = i;
                v->block_count++;
            }
            if (pass) {
                v->block_of[i] = v->block_count - 1;
                v->blocks[v->block_count - 1].end = i + 1;
            }
        }
        if (!pass)
            v->blocks = sg_syntax_alloc(v->d->syntax, (v->block_count + 1) * sizeof v->blocks[0]);
    }
}

/* Adds what is alive at the beginning of a successor. */
static void join(liveness *v, uint64_t *out, uint64_t instruction)
{
    if (instruction >= v->f->instruction_count)
        return;
    const uint64_t *in = v->blocks[v->block_of[instruction]].in;
    v->work += v->words;
    for (size_t k = 0; k < v->words; k++)
        out[k] |= in[k];
}

static void join_targets(liveness *v, uint64_t *out, const sg_operand *operand)
{
    if (operand->kind == SG_OPERAND_LABEL)
        join(v, out, operand->value);
    for (uint32_t k = 0; operand->kind == SG_OPERAND_TARGETS && k < operand->count; k++)
        if (operand->items[k].kind == SG_OPERAND_LABEL)
            join(v, out, operand->items[k].value);
}

static bool update(liveness *v, block *b)
{
    const sg_instruction *last = &v->f->instructions[b->end - 1];
    bool changed = false;
    if (is_branch(last))
        for (uint32_t k = 0; k < last->count; k++)
            join_targets(v, b->out, &last->operands[k]);
    if (!ends_block(last) || last->guard >= 0)
        join(v, b->out, b->end);
    v->work += v->words;
    for (size_t k = 0; k < v->words; k++) {
        const uint64_t in = b->uses[k] | (b->out[k] & ~b->kills[k]);
        changed |= in != b->in[k];
        b->in[k] = in;
    }
    return changed;
}

/* Every interval covers all places where its register is alive. False if that takes too long. */
static bool find_intervals(liveness *v)
{
    const uint32_t count = (uint32_t)v->f->instruction_count;
    for (uint32_t i = 0; i < count; i++)
        visit_instruction(v, i, note_use);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = v->block_count; b-- > 0;) {
            changed |= update(v, &v->blocks[b]);
            if (v->work > WORK_MOST)
                return false;
        }
    }
    for (uint32_t i = 0; i < count; i++)
        visit_instruction(v, i, note_mention);
    for (uint32_t b = 0; b < v->block_count; b++)
        for (size_t k = 0; k < v->words; k++) {
            for (uint64_t set = v->blocks[b].in[k]; set; set &= set - 1)
                extend(v, v->blocks[b].begin, (uint32_t)(k * 64) + (uint32_t)__builtin_ctzll(set));
            for (uint64_t set = v->blocks[b].out[k]; set; set &= set - 1)
                extend(v, v->blocks[b].end - 1, (uint32_t)(k * 64) + (uint32_t)__builtin_ctzll(set));
        }
    return true;
}

/* A row is free again behind the last instruction of its value: results never share a row with operands. */
static void assign_rows(liveness *v)
{
    sg_decoder *d = v->d;
    const uint32_t count = (uint32_t)v->f->instruction_count, registers = (uint32_t)v->f->register_count;
    uint32_t *begins = sg_list(d, count + 1), *ends = sg_list(d, count + 1);
    uint32_t *free_rows[2] = {sg_list(d, registers + 1), sg_list(d, registers + 1)}, free_count[2] = {0, 0};
    uint32_t *next_end = sg_list(d, registers + 1);
    for (uint32_t r = registers; r-- > 0;)
        if (v->intervals[r].seen) {
            v->intervals[r].next = begins[v->intervals[r].first];
            begins[v->intervals[r].first] = r + 1;
        }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t r = begins[i]; r; r = v->intervals[r - 1].next) {
            const uint32_t bytes = sg_type_bytes(v->f->registers[r - 1].type);
            const int wide = bytes == 8;
            d->rows[r - 1] = 1 + (free_count[wide] ? free_rows[wide][--free_count[wide]] : sg_temporary(d, bytes));
            next_end[r - 1] = ends[v->intervals[r - 1].last];
            ends[v->intervals[r - 1].last] = r;
        }
        for (uint32_t r = ends[i]; r; r = next_end[r - 1]) {
            const int wide = sg_type_bytes(v->f->registers[r - 1].type) == 8;
            free_rows[wide][free_count[wide]++] = d->rows[r - 1] - 1;
        }
    }
}

void sg_allocate_rows(sg_decoder *d)
{
    liveness v = {.d = d, .f = d->function};
    v.block_of = sg_list(d, (uint32_t)v.f->instruction_count + 1);
    find_blocks(&v);
    v.words = (v.f->register_count + 63) / 64;
    if (!v.words || v.block_count > BITS_MOST / 64 / v.words)
        return;
    uint64_t *sets = sg_syntax_alloc(d->syntax, 4 * v.block_count * v.words * sizeof(uint64_t));
    for (uint32_t b = 0; b < v.block_count; b++, sets += 4 * v.words) {
        v.blocks[b].in = sets;
        v.blocks[b].out = sets + v.words;
        v.blocks[b].uses = sets + 2 * v.words;
        v.blocks[b].kills = sets + 3 * v.words;
    }
    v.intervals = sg_syntax_alloc(d->syntax, v.f->register_count * sizeof v.intervals[0]);
    if (find_intervals(&v))
        assign_rows(&v);
}
