/* Variables: their types, extents and initial values. */
#include "parse.h"

#include <string.h>

#define VARIABLE_MOST ((uint64_t)1 << 32) /* bytes */

bool sg_parse_is_space(const sg_token *token, sg_space *space)
{
    static const struct {
        const char *text;
        sg_space space;
    } spaces[] = {{"global", SG_SPACE_GLOBAL},
                  {"const", SG_SPACE_CONST},
                  {"shared", SG_SPACE_SHARED},
                  {"local", SG_SPACE_LOCAL},
                  {"param", SG_SPACE_PARAM}};
    for (size_t i = 0; token->kind == SG_TOKEN_DOTTED && i < sizeof spaces / sizeof spaces[0]; i++)
        if (strlen(spaces[i].text) == token->length && memcmp(spaces[i].text, token->text, token->length) == 0) {
            *space = spaces[i].space;
            return true;
        }
    return false;
}

/* Writes one number of an initial value. */
static void put_value(sg_parser *p, sg_variable *v, uint64_t at, bool negative)
{
    const uint32_t width = sg_type_bytes(v->type);
    uint64_t bits = p->token.integer;
    if (p->token.kind == SG_TOKEN_FLOAT) {
        if (v->type == SG_F32 && !p->token.single) {
            double wide;
            memcpy(&wide, &bits, 8);
            const float narrow = (float)(negative ? -wide : wide);
            uint32_t low;
            memcpy(&low, &narrow, 4);
            bits = low;
        } else if (negative) {
            bits ^= (uint64_t)1 << (p->token.single ? 31 : 63);
        }
    } else if (negative) {
        bits = 0 - bits;
    }
    if (at + width > v->bytes)
        sg_parser_fail(p, SG_PTX_SYNTAX, "more initial values than the variable has room for");
    /* Room for what is written only: an array of gigabytes may have one value. */
    while (at + width > v->value_room)
        if (!(v->values = sg_arena_grow(p->syntax->arena, v->values, v->value_room, 1, &v->value_room)))
            sg_parser_fail(p, SG_PTX_MEMORY, "out of memory");
    memcpy(v->values + at, &bits, width);
    v->value_bytes = at + width;
    sg_parser_next(p);
}

/* generic(name)+4 or name: an address in an initial value. */
static void put_address(sg_parser *p, sg_variable *v, uint64_t at)
{
    const bool generic = p->token.length == 7 && memcmp(p->token.text, "generic", 7) == 0;
    if (generic) {
        sg_parser_next(p);
        sg_parser_expect(p, '(');
    }
    const sg_name *target = sg_scope_find(&p->scopes, NULL, &p->token);
    if (!target || target->kind != SG_NAME_VARIABLE || sg_type_bytes(v->type) != 8 || at + 8 > v->bytes)
        sg_parser_fail(p, SG_PTX_UNSUPPORTED, "initial value");
    sg_parser_next(p);
    if (generic)
        sg_parser_expect(p, ')');
    sg_relocation *relocation = sg_syntax_alloc(p->syntax, sizeof *relocation);
    *relocation = (sg_relocation){.next = v->relocations, .target = target->variable, .at = at};
    if (sg_parser_accept(p, '+'))
        relocation->addend = sg_parser_integer(p, UINT32_MAX);
    v->relocations = relocation;
}

/* Braces are flattened: a row that is written short would need the array's shape. */
static void parse_values(sg_parser *p, sg_variable *v)
{
    uint64_t at = 0;
    int depth = 0;
    if (!v->bytes || v->space == SG_SPACE_SHARED || v->space == SG_SPACE_LOCAL)
        sg_parser_fail(p, SG_PTX_SYNTAX, "initial value of a variable that cannot have one");
    do {
        while (sg_parser_accept(p, '{'))
            depth++;
        const bool negative = sg_parser_accept(p, '-');
        if (p->token.kind == SG_TOKEN_INTEGER || p->token.kind == SG_TOKEN_FLOAT)
            put_value(p, v, at, negative);
        else if (p->token.kind == SG_TOKEN_NAME)
            put_address(p, v, at);
        else
            sg_parser_fail(p, SG_PTX_SYNTAX, "expected an initial value");
        at += sg_type_bytes(v->type);
        while (depth > 0 && sg_parser_accept(p, '}'))
            depth--;
    } while (depth > 0 && sg_parser_accept(p, ','));
    if (depth)
        sg_parser_fail(p, SG_PTX_SYNTAX, "expected '}'");
}

/* The sizes after a name, multiplied; false if it is no array. Sets *open where one is left out. */
static uint64_t parse_extent(sg_parser *p, uint64_t bytes, bool *open)
{
    while (sg_parser_accept(p, '[')) {
        if (sg_parser_accept(p, ']')) {
            *open = true;
            continue;
        }
        const uint64_t extent = sg_parser_integer(p, VARIABLE_MOST);
        if (__builtin_mul_overflow(bytes, extent, &bytes) || bytes > VARIABLE_MOST)
            sg_parser_fail(p, SG_PTX_SYNTAX, "variable too large");
        sg_parser_expect(p, ']');
    }
    return bytes;
}

sg_variable *sg_parse_variable(sg_parser *p, sg_space space, bool external, sg_type type, uint32_t align,
                               uint32_t lanes)
{
    const sg_token token = sg_parser_name(p);
    sg_variable *v = sg_syntax_alloc(p->syntax, sizeof *v);
    bool open = false;
    *v = (sg_variable){.name = sg_parser_text(p, &token), .space = space, .type = type};
    v->align = align ? align : sg_type_bytes(type) * lanes;
    v->bytes = parse_extent(p, (uint64_t)sg_type_bytes(type) * lanes, &open);
    if (open)
        v->bytes = 0;
    if (sg_parser_accept(p, '='))
        parse_values(p, v);
    if (!v->bytes && !(space == SG_SPACE_SHARED && external))
        sg_parser_fail(p, SG_PTX_SYNTAX, "variable without a size");
    sg_name *name = sg_scope_add(&p->scopes, &token, SG_NAME_VARIABLE);
    if (!name) {
        /* extern, then defined: the same variable twice. */
        name = sg_scope_find(&p->scopes, NULL, &token);
        if (!name || name->kind != SG_NAME_VARIABLE || space == SG_SPACE_PARAM)
            sg_parser_fail(p, SG_PTX_SYNTAX, "name declared twice before here");
    }
    name->variable = v;
    *p->variables_end = v;
    p->variables_end = &v->next;
    return v;
}

/* .align, vector and type before a name. */
sg_type sg_parse_type(sg_parser *p, uint32_t *align, uint32_t *lanes)
{
    *align = 0;
    *lanes = 1;
    for (;;) {
        if (sg_parser_accept_dotted(p, "align")) {
            *align = (uint32_t)sg_parser_integer(p, 4096);
            if (!*align || (*align & (*align - 1)))
                sg_parser_fail(p, SG_PTX_SYNTAX, "alignment that is no power of two");
        } else if (sg_parser_accept_dotted(p, "v2")) {
            *lanes = 2;
        } else if (sg_parser_accept_dotted(p, "v4")) {
            *lanes = 4;
        } else if (sg_parser_accept_dotted(p, "ptr")) {
            sg_space space;
            if (sg_parse_is_space(&p->token, &space))
                sg_parser_next(p);
        } else {
            break;
        }
    }
    const sg_type type = p->token.kind == SG_TOKEN_DOTTED ? sg_type_find(p->token.text, p->token.length) : SG_NONE;
    if (!sg_type_bytes(type))
        sg_parser_fail(p, SG_PTX_UNSUPPORTED, "type");
    sg_parser_next(p);
    return type;
}

void sg_parse_variables(sg_parser *p, sg_space space, bool external)
{
    uint32_t align, lanes;
    sg_parser_next(p); /* the space's word */
    const sg_type type = sg_parse_type(p, &align, &lanes);
    do
        sg_parse_variable(p, space, external, type, align, lanes);
    while (sg_parser_accept(p, ','));
    sg_parser_expect(p, ';');
}
