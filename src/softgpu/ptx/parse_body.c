/* A function's body: scopes, registers, labels, instructions and their operands. */
#include "parse.h"

#include <string.h>

#define OPERANDS_MOST 16  /* of one instruction */
#define ITEMS_MOST    256 /* of a vector: wgmma has 128 */
#define NESTING_MOST  4   /* of operands */
#define TARGETS_MOST  65536

static sg_operand parse_operand(sg_parser *p, int nesting);

/* "ld.global.v4.f32": a name and all dotted words that stand right behind it. */
static const char *parse_mnemonic(sg_parser *p, uint32_t *line)
{
    const char *start = p->token.text, *end = start + p->token.length;
    *line = p->token.line;
    sg_parser_next(p);
    while (p->token.kind == SG_TOKEN_DOTTED && p->token.text == end + 1) {
        end = p->token.text + p->token.length;
        sg_parser_next(p);
    }
    const sg_token whole = {.text = start, .length = (size_t)(end - start)};
    return sg_parser_text(p, &whole);
}

/* Items up to the closing mark. */
static void parse_items(sg_parser *p, sg_operand *operand, char end, int nesting)
{
    sg_operand items[ITEMS_MOST];
    uint32_t count = 0;
    if (!sg_parser_at(p, end))
        do {
            if (count == ITEMS_MOST)
                sg_parser_fail(p, SG_PTX_SYNTAX, "too many operands");
            items[count++] = parse_operand(p, nesting);
        } while (sg_parser_accept(p, ','));
    sg_parser_expect(p, end);
    operand->count = count;
    operand->items = sg_syntax_alloc(p->syntax, (count ? count : 1) * sizeof items[0]);
    memcpy(operand->items, items, count * sizeof items[0]);
}

/* +4, -4, +-4 after a base. */
static uint64_t parse_offset(sg_parser *p)
{
    uint64_t offset = 0;
    while (sg_parser_at(p, '+') || sg_parser_at(p, '-')) {
        bool negative = sg_parser_at(p, '-');
        sg_parser_next(p);
        if (sg_parser_accept(p, '-'))
            negative = !negative;
        const uint64_t step = sg_parser_integer(p, UINT64_MAX);
        offset += negative ? 0 - step : step;
    }
    return offset;
}

static sg_operand parse_number(sg_parser *p)
{
    const bool negative = sg_parser_accept(p, '-');
    const bool inverted = !negative && sg_parser_accept(p, '~');
    sg_operand operand = {.kind = SG_OPERAND_INTEGER, .value = p->token.integer, .single = p->token.single};
    if (p->token.kind == SG_TOKEN_FLOAT) {
        operand.kind = SG_OPERAND_FLOAT;
        if (negative)
            operand.value ^= (uint64_t)1 << (operand.single ? 31 : 63);
    } else if (p->token.kind == SG_TOKEN_INTEGER) {
        if (negative)
            operand.value = 0 - operand.value;
        if (inverted)
            operand.value = ~operand.value;
    } else {
        sg_parser_fail(p, SG_PTX_SYNTAX, "expected an operand");
    }
    sg_parser_next(p);
    return operand;
}

static sg_operand parse_name(sg_parser *p)
{
    const sg_token token = p->token;
    sg_operand operand = {.kind = SG_OPERAND_NAME};
    sg_parser_next(p);
    const sg_name *name = sg_scope_find(&p->scopes, p->function, &token);
    if (token.length == 1 && token.text[0] == '_') {
        operand.kind = SG_OPERAND_SINK;
    } else if (name && name->kind == SG_NAME_REGISTER) {
        operand.kind = SG_OPERAND_REGISTER;
        operand.reg = name->index;
    } else if (name && name->kind == SG_NAME_VARIABLE) {
        operand.kind = SG_OPERAND_VARIABLE;
        operand.variable = name->variable;
        operand.value = parse_offset(p);
    } else if (token.text[0] == '%' || (token.length == 7 && memcmp(token.text, "WARP_SZ", 7) == 0)) {
        sg_token whole = token;
        operand.kind = SG_OPERAND_SPECIAL;
        if (p->token.kind == SG_TOKEN_DOTTED && p->token.text == token.text + token.length + 1) {
            whole.length += 1 + p->token.length;
            sg_parser_next(p);
        }
        operand.name = sg_parser_text(p, &whole);
    } else {
        operand.name = sg_parser_text(p, &token); /* a label, or a function */
    }
    return operand;
}

static sg_operand parse_operand(sg_parser *p, int nesting)
{
    sg_operand operand = {.kind = SG_OPERAND_VECTOR};
    if (nesting > NESTING_MOST)
        sg_parser_fail(p, SG_PTX_SYNTAX, "operands nested too deep");
    if (sg_parser_accept(p, '{')) {
        parse_items(p, &operand, '}', nesting + 1);
    } else if (sg_parser_accept(p, '(')) {
        operand.kind = SG_OPERAND_LIST;
        parse_items(p, &operand, ')', nesting + 1);
    } else if (sg_parser_accept(p, '[')) {
        operand.kind = SG_OPERAND_ADDRESS;
        parse_items(p, &operand, ']', nesting + 1);
    } else if (sg_parser_accept(p, '!')) {
        operand = parse_operand(p, nesting + 1);
        operand.negated = true;
    } else if (p->token.kind == SG_TOKEN_NAME) {
        operand = parse_name(p);
        if (operand.kind == SG_OPERAND_REGISTER && (sg_parser_at(p, '+') || sg_parser_at(p, '-')))
            operand.value = parse_offset(p); /* inside an address only: the decoder sees to it */
    } else {
        operand = parse_number(p);
    }
    if (sg_parser_at(p, '|')) {
        sg_operand *items = sg_syntax_alloc(p->syntax, 2 * sizeof *items);
        sg_parser_next(p);
        items[0] = operand;
        items[1] = parse_operand(p, nesting + 1);
        operand = (sg_operand){.kind = SG_OPERAND_PAIR, .count = 2, .items = items};
    }
    return operand;
}

static sg_instruction *add_instruction(sg_parser *p)
{
    sg_function *f = p->function;
    if (f->instruction_count == f->instruction_room) {
        f->instructions = sg_arena_grow(p->syntax->arena, f->instructions, f->instruction_count,
                                        sizeof f->instructions[0], &f->instruction_room);
        if (!f->instructions)
            sg_parser_fail(p, SG_PTX_MEMORY, "out of memory");
    }
    return &f->instructions[f->instruction_count++];
}

/* What is still a bare name may be a label; all operands that stay are in the arena by now. */
static void refer_names(sg_parser *p, sg_operand *operands, uint32_t count, uint32_t line, bool in_table)
{
    for (uint32_t i = 0; i < count; i++)
        if (operands[i].kind == SG_OPERAND_NAME) {
            sg_reference *reference = sg_syntax_alloc(p->syntax, sizeof *reference);
            *reference = (sg_reference){p->references, &operands[i], operands[i].name, strlen(operands[i].name),
                                        p->scope,      line,         in_table};
            p->references = reference;
        }
}

/* @p and the instruction up to its semicolon. The mnemonic may have been read: it looked like a label. */
static void parse_instruction(sg_parser *p)
{
    sg_operand operands[OPERANDS_MOST];
    sg_instruction instruction = {.guard = -1};
    if (sg_parser_accept(p, '@')) {
        instruction.guard_negated = sg_parser_accept(p, '!');
        const sg_name *name =
            p->token.kind == SG_TOKEN_NAME ? sg_scope_find(&p->scopes, p->function, &p->token) : NULL;
        if (!name || name->kind != SG_NAME_REGISTER || name->type != SG_PRED)
            sg_parser_fail(p, SG_PTX_SYNTAX, "expected a predicate");
        instruction.guard = (int32_t)name->index;
        sg_parser_next(p);
    }
    if (p->token.kind != SG_TOKEN_NAME)
        sg_parser_fail(p, SG_PTX_SYNTAX, "expected an instruction");
    instruction.mnemonic = parse_mnemonic(p, &instruction.line);
    while (!sg_parser_at(p, ';')) {
        if (instruction.count == OPERANDS_MOST)
            sg_parser_fail(p, SG_PTX_SYNTAX, "too many operands");
        operands[instruction.count++] = parse_operand(p, 0);
        if (!sg_parser_accept(p, ','))
            break;
    }
    sg_parser_expect(p, ';');
    instruction.operands = sg_syntax_alloc(p->syntax, (instruction.count ? instruction.count : 1) * sizeof operands[0]);
    memcpy(instruction.operands, operands, instruction.count * sizeof operands[0]);
    refer_names(p, instruction.operands, instruction.count, instruction.line, false);
    *add_instruction(p) = instruction;
}

/* .reg .b32 %r<100>, x; */
static void parse_registers(sg_parser *p)
{
    sg_parser_next(p);
    const sg_type type = p->token.kind == SG_TOKEN_DOTTED ? sg_type_find(p->token.text, p->token.length) : SG_NONE;
    if (type == SG_NONE || sg_type_bytes(type) > 16)
        sg_parser_fail(p, SG_PTX_UNSUPPORTED, "register type");
    sg_parser_next(p);
    do {
        const sg_token token = p->token;
        if (token.kind != SG_TOKEN_NAME)
            sg_parser_fail(p, SG_PTX_SYNTAX, "expected a register's name");
        sg_parser_next(p);
        const bool range = sg_parser_accept(p, '<');
        sg_name *name = sg_scope_add(&p->scopes, &token, range ? SG_NAME_RANGE : SG_NAME_REGISTER);
        if (!name)
            sg_parser_fail(p, SG_PTX_SYNTAX, "register declared twice before here");
        name->type = type;
        if (range) {
            name->count = (uint32_t)sg_parser_integer(p, INT32_MAX);
            sg_parser_expect(p, '>');
        } else {
            name->index = sg_function_register(p->syntax, p->function, type);
        }
    } while (sg_parser_accept(p, ','));
    sg_parser_expect(p, ';');
}

static void open_scope(sg_parser *p)
{
    sg_parser_expect(p, '{');
    if (!sg_scope_open(&p->scopes))
        sg_parser_fail(p, SG_PTX_SYNTAX, "scopes nested too deep");
    if (p->scope_count + 1 >= p->scope_room) {
        p->scope_parents = sg_arena_grow(p->syntax->arena, p->scope_parents, p->scope_room,
                                         sizeof p->scope_parents[0], &p->scope_room);
        if (!p->scope_parents)
            sg_parser_fail(p, SG_PTX_MEMORY, "out of memory");
    }
    p->scope_parents[++p->scope_count] = p->scope;
    p->scope = p->scope_count;
}

static void close_scope(sg_parser *p)
{
    sg_parser_expect(p, '}');
    sg_scope_close(&p->scopes);
    p->scope = p->scope_parents[p->scope];
}

/* A label, and behind it perhaps the table of brx.idx. */
static void parse_label(sg_parser *p, const sg_token *token)
{
    sg_label *label = sg_syntax_alloc(p->syntax, sizeof *label);
    *label = (sg_label){.next = p->labels, .text = token->text, .length = token->length, .line = token->line,
                        .scope = p->scope, .instruction = (uint32_t)p->function->instruction_count};
    p->labels = label;
    if (!sg_parser_at_dotted(p, "branchtargets"))
        return;
    sg_parser_next(p);
    sg_operand *targets = NULL;
    size_t count = 0, room = 0;
    do {
        if (count == room && (count >= TARGETS_MOST ||
                              !(targets = sg_arena_grow(p->syntax->arena, targets, count, sizeof *targets, &room))))
            sg_parser_fail(p, SG_PTX_SYNTAX, "too many targets");
        if (p->token.kind != SG_TOKEN_NAME)
            sg_parser_fail(p, SG_PTX_SYNTAX, "expected a label");
        targets[count++] = (sg_operand){.kind = SG_OPERAND_NAME, .name = sg_parser_text(p, &p->token)};
        sg_parser_next(p);
    } while (sg_parser_accept(p, ','));
    refer_names(p, targets, (uint32_t)count, p->token.line, true);
    label->targets = sg_syntax_alloc(p->syntax, sizeof *label->targets);
    *label->targets = (sg_operand){.kind = SG_OPERAND_TARGETS, .items = targets, .count = (uint32_t)count};
    sg_parser_expect(p, ';');
}

/* Whether a colon follows the name ahead. */
static bool at_label(const sg_parser *p)
{
    sg_lexer ahead = p->lexer;
    if (p->token.kind != SG_TOKEN_NAME)
        return false;
    const sg_token next = sg_lex(&ahead);
    return next.kind == SG_TOKEN_MARK && next.mark == ':';
}

static void parse_statement(sg_parser *p)
{
    sg_space space;
    if (sg_parser_at_dotted(p, "reg")) {
        parse_registers(p);
    } else if (sg_parse_is_space(&p->token, &space)) {
        sg_parse_variables(p, space, false);
    } else if (p->token.kind == SG_TOKEN_DOTTED) {
        if (!sg_parser_skip(p))
            sg_parser_fail(p, SG_PTX_UNSUPPORTED, "directive");
    } else if (at_label(p)) {
        const sg_token token = p->token;
        sg_parser_next(p);
        sg_parser_expect(p, ':');
        parse_label(p, &token);
    } else if (!sg_parser_accept(p, ';')) {
        parse_instruction(p);
    }
}

/* Labels by name and scope: inline assembly has the same name in a thousand scopes. */
typedef struct label_table {
    sg_label **buckets;
    uint32_t mask;
} label_table;

static sg_label **label_bucket(const label_table *table, const char *text, size_t length, uint32_t scope)
{
    return &table->buckets[(sg_text_hash(text, length) + scope * 2654435761u) & table->mask];
}

static const sg_label *find_label(const label_table *table, const char *text, size_t length, uint32_t scope)
{
    const sg_label *label = *label_bucket(table, text, length, scope);
    while (label && !(label->scope == scope && label->length == length && memcmp(label->text, text, length) == 0))
        label = label->next;
    return label;
}

static label_table tabulate_labels(sg_parser *p)
{
    label_table table = {.mask = 255};
    size_t count = 0;
    for (const sg_label *label = p->labels; label; label = label->next)
        count++;
    while (table.mask < count && table.mask < UINT32_MAX / 2)
        table.mask = table.mask * 2 + 1;
    table.buckets = sg_syntax_alloc(p->syntax, ((size_t)table.mask + 1) * sizeof table.buckets[0]);
    for (sg_label *label = p->labels, *next; label; label = next) {
        const sg_label *twin = find_label(&table, label->text, label->length, label->scope);
        if (twin)
            sg_syntax_fail(p->syntax, SG_PTX_SYNTAX, twin->line, "label declared twice");
        sg_label **bucket = label_bucket(&table, label->text, label->length, label->scope);
        next = label->next;
        label->next = *bucket;
        *bucket = label;
    }
    return table;
}

static void resolve_labels(sg_parser *p)
{
    const label_table table = tabulate_labels(p);
    for (const sg_reference *r = p->references; r; r = r->next) {
        const sg_label *found = NULL;
        for (uint32_t scope = r->scope; scope && !found; scope = p->scope_parents[scope])
            found = find_label(&table, r->text, r->length, scope);
        if (!found)
            continue; /* a function's name; the decoder knows where that is right */
        if (found->targets) {
            if (!r->in_table)
                *r->operand = *found->targets;
        } else {
            r->operand->kind = SG_OPERAND_LABEL;
            r->operand->value = found->instruction;
            if (found->instruction < p->function->instruction_count)
                p->function->instructions[found->instruction].is_target = true;
        }
    }
}

void sg_parse_body(sg_parser *p)
{
    p->labels = NULL;
    p->references = NULL;
    p->scope = p->scope_count = 0;
    open_scope(p);
    while (p->scope) {
        if (p->token.kind == SG_TOKEN_END)
            sg_parser_fail(p, SG_PTX_SYNTAX, "body without its end");
        if (sg_parser_at(p, '{'))
            open_scope(p);
        else if (sg_parser_at(p, '}'))
            close_scope(p);
        else
            parse_statement(p);
    }
    resolve_labels(p);
    const uint32_t line = p->token.line;
    *add_instruction(p) = (sg_instruction){.mnemonic = "exit", .line = line, .guard = -1, .is_target = true};
}
