/* From parsed instructions to micro-operations: the catalog, functions and their variables. */
#include "decode.h"

#include <string.h>

#define CATALOG_BUCKETS 4096

/* Open addressing; built anew for each module, so that there is no state between them. */
static void build_catalog(sg_decoder *d)
{
    d->catalog = d->syntax->catalog;
    if (d->catalog)
        return;
    d->catalog = d->syntax->catalog = sg_syntax_alloc(d->syntax, CATALOG_BUCKETS * sizeof d->catalog[0]);
    for (const sg_entry *const *table = sg_catalog; *table; table++)
        for (const sg_entry *entry = *table; entry->mnemonic; entry++) {
            uint32_t at = sg_text_hash(entry->mnemonic, strlen(entry->mnemonic));
            while (d->catalog[at % CATALOG_BUCKETS])
                at++;
            d->catalog[at % CATALOG_BUCKETS] = entry;
        }
}

/* The entry of a mnemonic in the catalog; NULL if there is none. */
static const sg_entry *find_in_catalog(const sg_decoder *d, const char *mnemonic, size_t length)
{
    for (uint32_t at = sg_text_hash(mnemonic, length); d->catalog[at % CATALOG_BUCKETS]; at++) {
        const sg_entry *entry = d->catalog[at % CATALOG_BUCKETS];
        if (strlen(entry->mnemonic) == length && memcmp(entry->mnemonic, mnemonic, length) == 0)
            return entry;
    }
    return NULL;
}

/* An entry with a shape: one operation, its operands in order. */
static void decode_shape(sg_decoder *d, const sg_entry *entry)
{
    static const struct {
        char letter;
        uint8_t bytes;
        bool real;
    } letters[] = {{'h', 2, false}, {'w', 4, false}, {'d', 8, false}, {'H', 2, true}, {'f', 4, true}, {'g', 8, true}};
    const uint32_t count = (uint32_t)strlen(entry->shape);
    uint32_t references[6] = {0};
    int64_t imm = 0;
    sg_operands(d, count, count);
    for (uint32_t i = 0; i < count; i++) {
        const sg_operand *operand = &d->in->operands[i];
        const char letter = entry->shape[i];
        if (letter == 'p')
            references[i] = i ? sg_predicate(d, operand) : sg_predicate_destination(d, operand);
        else if (letter == 'i')
            imm = sg_immediate(d, operand);
        for (size_t k = 0; k < sizeof letters / sizeof letters[0]; k++)
            if (letters[k].letter == letter)
                references[i] = i ? sg_source(d, operand, letters[k].bytes, letters[k].real)
                                  : sg_destination(d, operand, letters[k].bytes);
    }
    sg_op *op = sg_emit(d, entry->full, entry->masked, entry->pipe);
    op->d = references[0];
    op->a = references[1];
    op->b = references[2];
    op->c = references[3];
    op->e = references[4];
    op->imm = imm;
}

/* The whole mnemonic, else the most of it that has a function for the rest: "st.async" before "st". */
static const sg_entry *find_entry(sg_decoder *d)
{
    const char *mnemonic = d->in->mnemonic;
    size_t length = strlen(mnemonic);
    const sg_entry *entry = find_in_catalog(d, mnemonic, length);
    while (!entry && length > 0) {
        while (--length > 0 && mnemonic[length] != '.')
            continue;
        entry = length ? find_in_catalog(d, mnemonic, length) : NULL;
        if (entry && !entry->decode)
            entry = NULL;
    }
    if (!entry)
        sg_decode_unsupported(d, "instruction not known");
    return entry;
}

static void decode_instruction(sg_decoder *d)
{
    const sg_entry *entry = find_entry(d);
    d->guard = d->in->guard < 0 ? 0 : sg_register_row(d, (uint32_t)d->in->guard) | d->in->guard_negated;
    sg_parts_split(d);
    sg_held_ask(d);
    if (entry->decode)
        entry->decode(d);
    else
        decode_shape(d, entry);
}

/* Variables of a function and those of the module that it mentions: offsets in shared and local memory. */

static uint32_t place(sg_decoder *d, uint32_t *bytes, const sg_variable *v)
{
    const uint64_t at = ((uint64_t)*bytes + v->align - 1) & ~(uint64_t)(v->align - 1);
    if (at + v->bytes > INT32_MAX / 2)
        sg_syntax_fail(d->syntax, SG_PTX_SYNTAX, d->function->line, "%s: variables too large", v->name);
    *bytes = (uint32_t)(at + v->bytes);
    return (uint32_t)at;
}

static void visit_shared(sg_decoder *d, const sg_operand *operand, bool external, uint32_t *bytes)
{
    if (operand->kind == SG_OPERAND_VARIABLE && operand->variable->space == SG_SPACE_SHARED &&
        (operand->variable->bytes == 0) == external) {
        sg_variable *v = (sg_variable *)operand->variable;
        if (v->seen == d->number)
            return;
        if (d->depth)
            sg_decode_unsupported(d, "shared memory of its own in a called function");
        v->seen = d->number;
        if (external) {
            /* All of them begin at the same place: the first aligned to the strictest. */
            *bytes = (*bytes + v->align - 1) & ~(v->align - 1);
        } else {
            v->address = place(d, bytes, v);
        }
    }
    for (uint32_t i = 0; i < operand->count && operand->items && operand->kind != SG_OPERAND_TARGETS; i++)
        visit_shared(d, &operand->items[i], external, bytes);
}

static void set_external(const sg_operand *operand, uint32_t base)
{
    if (operand->kind == SG_OPERAND_VARIABLE && operand->variable->space == SG_SPACE_SHARED &&
        !operand->variable->bytes)
        ((sg_variable *)operand->variable)->address = base;
    for (uint32_t i = 0; i < operand->count && operand->items && operand->kind != SG_OPERAND_TARGETS; i++)
        set_external(&operand->items[i], base);
}

static void place_variables(sg_decoder *d)
{
    sg_function *f = d->function;
    sg_kernel_facts *facts = &d->kernel->facts;
    for (sg_variable *v = f->variables; v; v = v->next) {
        if (v->space == SG_SPACE_SHARED && v->bytes) {
            if (d->depth)
                sg_decode_unsupported(d, "shared memory of its own in a called function");
            v->seen = d->number;
            v->address = place(d, &facts->static_shared, v);
        } else if (v->space == SG_SPACE_LOCAL || v->space == SG_SPACE_PARAM) { /* what it passes to functions */
            v->space = SG_SPACE_LOCAL;
            v->address = place(d, &facts->local_bytes, v);
        } else if (v->space == SG_SPACE_GLOBAL || v->space == SG_SPACE_CONST) {
            sg_syntax_fail(d->syntax, SG_PTX_UNSUPPORTED, f->line, "%s: global variable in a function", v->name);
        }
    }
    for (size_t i = 0; i < f->instruction_count; i++)
        for (uint32_t k = 0; k < f->instructions[i].count; k++)
            visit_shared(d, &f->instructions[i].operands[k], false, &facts->static_shared);
    if (d->depth)
        return;
    uint32_t base = (facts->static_shared + 15) & ~15u;
    for (size_t i = 0; i < f->instruction_count; i++)
        for (uint32_t k = 0; k < f->instructions[i].count; k++)
            visit_shared(d, &f->instructions[i].operands[k], true, &base);
    for (size_t i = 0; i < f->instruction_count; i++)
        for (uint32_t k = 0; k < f->instructions[i].count; k++)
            set_external(&f->instructions[i].operands[k], base);
    d->kernel->dynamic_base = base;
}

static void describe(sg_decoder *d)
{
    sg_function *f = d->function;
    sg_kernel_facts *facts = &d->kernel->facts;
    uint32_t *offsets, *bytes;
    *facts = (sg_kernel_facts){.name = f->name, .max_threads = f->max_threads, .min_blocks = f->min_blocks};
    memcpy(facts->cluster, f->cluster, sizeof facts->cluster);
    for (const sg_variable *v = f->params; v; v = v->next)
        facts->param_count++;
    offsets = sg_list(d, (uint32_t)facts->param_count + 1);
    bytes = sg_list(d, (uint32_t)facts->param_count + 1);
    uint32_t i = 0;
    for (const sg_variable *v = f->params; v; v = v->next, i++) {
        offsets[i] = (uint32_t)v->address;
        bytes[i] = (uint32_t)v->bytes;
        facts->params_bytes = offsets[i] + bytes[i];
    }
    facts->param_offsets = offsets;
    facts->param_bytes = bytes;
}

/* All instructions of d->function, whose variables have their places. */
static void decode_body(sg_decoder *d)
{
    const sg_function *function = d->function;
    const size_t first = d->kernel->op_count;
    d->rows = sg_syntax_alloc(d->syntax, (function->register_count + 1) * sizeof d->rows[0]);
    d->starts = sg_syntax_alloc(d->syntax, (function->instruction_count + 1) * sizeof d->starts[0]);
    sg_allocate_rows(d);
    sg_held_find(d);
    for (size_t i = 0; i < function->instruction_count; i++) {
        d->in = &function->instructions[i];
        d->starts[i] = (uint32_t)d->kernel->op_count;
        d->guard = 0;
        if (d->in->is_target)
            sg_emit(d, sg_run_join, sg_run_join, SG_PIPE_NONE);
        decode_instruction(d);
    }
    d->starts[function->instruction_count] = (uint32_t)d->kernel->op_count;
    /* Branches know instructions; now that all have their place, they get operations. */
    for (size_t i = first; i < d->kernel->op_count; i++) {
        sg_op *op = &d->kernel->ops[i];
        if (op->kind == SG_KIND_BRANCH)
            op->imm = d->starts[op->imm];
        for (int64_t k = 0; op->kind == SG_KIND_TABLE && k < op->imm; k++)
            op->list[k] = d->starts[op->list[k]];
        if (op->kind == SG_KIND_BRANCH || op->kind == SG_KIND_TABLE)
            op->kind = SG_KIND_PLAIN;
    }
}

/* A function's parameters and results are the caller's variables of the same place in the list. */
static void bind(sg_decoder *d, sg_variable *formal, const sg_operand *list)
{
    uint32_t i = 0;
    for (; formal; formal = formal->next, i++) {
        const sg_operand *actual = list && i < list->count ? &list->items[i] : NULL;
        if (!actual || actual->kind != SG_OPERAND_VARIABLE || actual->variable->space != SG_SPACE_LOCAL ||
            actual->variable->bytes < formal->bytes)
            sg_decode_unsupported(d, "parameters that do not fit the function");
        formal->space = SG_SPACE_LOCAL;
        formal->address = actual->variable->address;
    }
    if (list && i != list->count)
        sg_decode_bad(d, "wrong number of parameters");
}

void sg_decode_call(sg_decoder *d, sg_function *callee)
{
    const sg_decoder caller = *d;
    const sg_operand *results = NULL, *params = NULL;
    for (uint32_t i = 0; i < d->in->count; i++)
        if (d->in->operands[i].kind == SG_OPERAND_LIST)
            *(i == 0 ? &results : &params) = &d->in->operands[i];
    bind(d, callee->results, results);
    bind(d, callee->params, params);
    d->depth++;
    d->function = callee;
    place_variables(d);
    decode_body(d);
    d->function = caller.function;
    d->in = caller.in;
    d->rows = caller.rows;
    d->held = caller.held;
    d->starts = caller.starts;
    d->depth = caller.depth;
    d->guard = 0;
    sg_emit(d, sg_run_join, sg_run_join, SG_PIPE_NONE); /* where its returns lead */
}

void sg_decode(sg_syntax *syntax, sg_function *function, sg_module *module)
{
    sg_decoder decoder = {.syntax = syntax, .function = function, .number = function->number}, *d = &decoder;
    d->kernel = sg_syntax_alloc(syntax, sizeof *d->kernel);
    d->kernel->predicate_count = 2; /* true, and one that is never read */
    build_catalog(d);
    describe(d);
    d->in = function->instructions;
    place_variables(d);
    decode_body(d);
    d->kernel->facts.local_bytes = (d->kernel->facts.local_bytes + 15) & ~15u;
    d->kernel->next = module->kernels;
    module->kernels = d->kernel;
}
