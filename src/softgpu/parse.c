/* A module: its directives, variables and functions' heads. */
#include "parse.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define VARIABLE_MOST ((uint64_t)1 << 32) /* bytes */

static const struct {
    const char *text;
    uint32_t bytes;
} types[] = {
#define X(name, text, bytes) {text, bytes},
    SG_TYPES(X)
#undef X
};

uint32_t sg_type_bytes(sg_type type)
{
    return types[type].bytes;
}

sg_type sg_type_find(const char *text, size_t length)
{
    for (int i = 1; i < SG_TYPE_COUNT; i++)
        if (strlen(types[i].text) == length && memcmp(types[i].text, text, length) == 0)
            return (sg_type)i;
    return SG_NONE;
}

void sg_syntax_fail(sg_syntax *syntax, sg_ptx_status status, uint32_t line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int head = snprintf(syntax->message, SG_MESSAGE_LENGTH, "PTX line %" PRIu32 ": ", line);
    vsnprintf(syntax->message + head, (size_t)(SG_MESSAGE_LENGTH - head), format, arguments);
    va_end(arguments);
    syntax->status = status;
    longjmp(syntax->failed, 1);
}

void *sg_syntax_alloc(sg_syntax *syntax, size_t bytes)
{
    void *memory = sg_arena_alloc(syntax->arena, bytes);
    if (!memory)
        sg_syntax_fail(syntax, SG_PTX_MEMORY, 0, "out of memory");
    return memory;
}

void sg_parser_fail(sg_parser *p, sg_ptx_status status, const char *what)
{
    /* Only what prints goes into the message. */
    char text[64];
    size_t length = p->token.length < sizeof text - 1 ? p->token.length : sizeof text - 1;
    for (size_t i = 0; i < length; i++)
        text[i] = p->token.text[i] > ' ' && p->token.text[i] < 127 ? p->token.text[i] : '?';
    text[length] = 0;
    if (p->token.kind == SG_TOKEN_END)
        sg_syntax_fail(p->syntax, status, p->token.line, "%s at the end of the text", what);
    sg_syntax_fail(p->syntax, status, p->token.line, "%s at '%s%s'", what, p->token.kind == SG_TOKEN_DOTTED ? "." : "",
                   text);
}

void sg_parser_next(sg_parser *p)
{
    p->token = sg_lex(&p->lexer);
    if (p->token.kind == SG_TOKEN_BAD)
        sg_parser_fail(p, SG_PTX_SYNTAX, "not PTX");
}

bool sg_parser_at(const sg_parser *p, char mark)
{
    return p->token.kind == SG_TOKEN_MARK && p->token.mark == mark;
}

bool sg_parser_accept(sg_parser *p, char mark)
{
    if (!sg_parser_at(p, mark))
        return false;
    sg_parser_next(p);
    return true;
}

void sg_parser_expect(sg_parser *p, char mark)
{
    char what[] = "expected ' '";
    what[10] = mark;
    if (!sg_parser_accept(p, mark))
        sg_parser_fail(p, SG_PTX_SYNTAX, what);
}

bool sg_parser_at_dotted(const sg_parser *p, const char *text)
{
    return p->token.kind == SG_TOKEN_DOTTED && p->token.length == strlen(text) &&
           memcmp(p->token.text, text, p->token.length) == 0;
}

const char *sg_parser_text(sg_parser *p, const sg_token *token)
{
    char *text = sg_syntax_alloc(p->syntax, token->length + 1);
    return memcpy(text, token->text, token->length);
}

uint64_t sg_parser_integer(sg_parser *p, uint64_t most)
{
    if (p->token.kind != SG_TOKEN_INTEGER || p->token.integer > most)
        sg_parser_fail(p, SG_PTX_SYNTAX, "expected a number within bounds");
    const uint64_t value = p->token.integer;
    sg_parser_next(p);
    return value;
}

static bool accept_dotted(sg_parser *p, const char *text)
{
    if (!sg_parser_at_dotted(p, text))
        return false;
    sg_parser_next(p);
    return true;
}

static sg_token take_name(sg_parser *p)
{
    const sg_token token = p->token;
    if (token.kind != SG_TOKEN_NAME)
        sg_parser_fail(p, SG_PTX_SYNTAX, "expected a name");
    sg_parser_next(p);
    return token;
}

bool sg_parse_is_space(const sg_token *token, sg_space *space)
{
    static const struct {
        const char *text;
        sg_space space;
    } spaces[] = {{"global", SG_SPACE_GLOBAL}, {"const", SG_SPACE_CONST}, {"shared", SG_SPACE_SHARED},
                  {"local", SG_SPACE_LOCAL},   {"param", SG_SPACE_PARAM}};
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

static sg_variable *parse_variable(sg_parser *p, sg_space space, bool external, sg_type type, uint32_t align,
                                   uint32_t lanes)
{
    const sg_token token = take_name(p);
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
static sg_type parse_type(sg_parser *p, uint32_t *align, uint32_t *lanes)
{
    *align = 0;
    *lanes = 1;
    for (;;) {
        if (accept_dotted(p, "align")) {
            *align = (uint32_t)sg_parser_integer(p, 4096);
            if (!*align || (*align & (*align - 1)))
                sg_parser_fail(p, SG_PTX_SYNTAX, "alignment that is no power of two");
        } else if (accept_dotted(p, "v2")) {
            *lanes = 2;
        } else if (accept_dotted(p, "v4")) {
            *lanes = 4;
        } else if (accept_dotted(p, "ptr")) {
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
    const sg_type type = parse_type(p, &align, &lanes);
    do
        parse_variable(p, space, external, type, align, lanes);
    while (sg_parser_accept(p, ','));
    sg_parser_expect(p, ';');
}

static void skip_integers(sg_parser *p)
{
    while (p->token.kind == SG_TOKEN_INTEGER)
        sg_parser_next(p);
}

bool sg_parse_ignored(sg_parser *p)
{
    if (accept_dotted(p, "pragma")) {
        while (p->token.kind == SG_TOKEN_STRING || sg_parser_at(p, ','))
            sg_parser_next(p);
        sg_parser_expect(p, ';');
    } else if (accept_dotted(p, "loc")) {
        skip_integers(p);
        while (sg_parser_accept(p, ',')) { /* function_name $L+4, inlined_at 1 2 3 */
            take_name(p);
            if (p->token.kind == SG_TOKEN_NAME)
                sg_parser_next(p);
            if (sg_parser_accept(p, '+'))
                sg_parser_integer(p, UINT64_MAX);
            skip_integers(p);
        }
    } else if (accept_dotted(p, "file")) {
        skip_integers(p);
        if (p->token.kind == SG_TOKEN_STRING)
            sg_parser_next(p);
        while (sg_parser_accept(p, ','))
            skip_integers(p);
    } else if (accept_dotted(p, "section")) {
        while (!sg_parser_at(p, '{') && p->token.kind != SG_TOKEN_END)
            sg_parser_next(p);
        while (!sg_parser_at(p, '}') && p->token.kind != SG_TOKEN_END)
            sg_parser_next(p);
        sg_parser_expect(p, '}');
    } else {
        return false;
    }
    return true;
}

/* (.param .u64 a, .param .b32 b): offsets are the parameter block's. */
static void parse_params(sg_parser *p)
{
    uint64_t offset = 0;
    if (!sg_parser_accept(p, '('))
        return;
    if (sg_parser_accept(p, ')'))
        return;
    do {
        uint32_t align, lanes;
        const bool reg = accept_dotted(p, "reg");
        if (!reg && !accept_dotted(p, "param"))
            sg_parser_fail(p, SG_PTX_SYNTAX, "expected .param");
        const sg_type type = parse_type(p, &align, &lanes);
        /* .ptr .global .align 16 may follow the type */
        while (p->token.kind == SG_TOKEN_DOTTED) {
            sg_space space;
            if (accept_dotted(p, "align"))
                sg_parser_integer(p, 4096);
            else if (sg_parser_at_dotted(p, "ptr") || sg_parse_is_space(&p->token, &space))
                sg_parser_next(p);
            else
                sg_parser_fail(p, SG_PTX_UNSUPPORTED, "parameter attribute");
        }
        sg_variable *v = parse_variable(p, SG_SPACE_PARAM, false, type, align, lanes);
        offset = (offset + v->align - 1) & ~(uint64_t)(v->align - 1);
        v->address = offset;
        offset += v->bytes;
        if (offset > 32764)
            sg_parser_fail(p, SG_PTX_SYNTAX, "more than 32764 bytes of parameters");
    } while (sg_parser_accept(p, ','));
    sg_parser_expect(p, ')');
}

/* Up to three numbers; a missing one is 1. */
static void parse_three(sg_parser *p, uint32_t three[3])
{
    three[1] = three[2] = 1;
    for (int i = 0; i < 3; i++) {
        three[i] = (uint32_t)sg_parser_integer(p, INT32_MAX);
        if (!sg_parser_accept(p, ','))
            return;
    }
}

static void parse_function_directives(sg_parser *p, sg_function *f)
{
    uint32_t three[3];
    while (p->token.kind == SG_TOKEN_DOTTED) {
        if (accept_dotted(p, "maxntid") || accept_dotted(p, "reqntid")) {
            parse_three(p, three);
            const uint64_t product = (uint64_t)three[0] * three[1];
            if (product > UINT32_MAX || product * three[2] > UINT32_MAX)
                sg_parser_fail(p, SG_PTX_SYNTAX, "too many threads before here");
            f->max_threads = (uint32_t)(product * three[2]);
        } else if (accept_dotted(p, "minnctapersm")) {
            f->min_blocks = (uint32_t)sg_parser_integer(p, INT32_MAX);
        } else if (accept_dotted(p, "reqnctapercluster")) {
            parse_three(p, f->cluster);
        } else if (accept_dotted(p, "maxclusterrank") || accept_dotted(p, "maxnreg") ||
                   accept_dotted(p, "maxnctapersm")) {
            sg_parser_integer(p, INT32_MAX);
        } else if (!accept_dotted(p, "explicitcluster") && !accept_dotted(p, "noreturn") &&
                   !accept_dotted(p, "blocksareclusters") && !sg_parse_ignored(p)) {
            sg_parser_fail(p, SG_PTX_UNSUPPORTED, "directive");
        }
    }
}

static sg_function **function_bucket(const sg_syntax *syntax, const char *name)
{
    return &syntax->by_name[sg_text_hash(name, strlen(name)) % SG_FUNCTION_BUCKETS];
}

sg_function *sg_function_find(const sg_syntax *syntax, const char *name)
{
    sg_function *f = *function_bucket(syntax, name);
    while (f && strcmp(f->name, name) != 0)
        f = f->bucket;
    return f;
}

static void add_function(sg_syntax *syntax, sg_function *f)
{
    if (f->has_body) {
        if (sg_function_find(syntax, f->name))
            sg_syntax_fail(syntax, SG_PTX_SYNTAX, f->line, "%s is defined twice", f->name);
        sg_function **bucket = function_bucket(syntax, f->name);
        f->bucket = *bucket;
        *bucket = f;
    }
    *syntax->functions_end = f;
    syntax->functions_end = &f->next;
}

static void parse_function(sg_parser *p, bool is_entry)
{
    sg_function *f = sg_syntax_alloc(p->syntax, sizeof *f);
    sg_variable **outer_end = p->variables_end;
    *f = (sg_function){.is_entry = is_entry, .line = p->token.line, .number = ++p->function_count};
    if (!sg_scope_open(&p->scopes))
        sg_parser_fail(p, SG_PTX_SYNTAX, "scopes nested too deep");
    p->function = f;
    p->variables_end = &f->params;
    if (!is_entry && sg_parser_at(p, '('))
        parse_params(p); /* what a function returns */
    const sg_token name = take_name(p);
    f->name = sg_parser_text(p, &name);
    f->results = f->params;
    f->params = NULL;
    p->variables_end = &f->params;
    parse_params(p);
    parse_function_directives(p, f);
    if (sg_parser_at(p, '{')) {
        p->variables_end = &f->variables;
        f->has_body = true;
        sg_parse_body(p);
    } else {
        sg_parser_accept(p, ';'); /* a declaration */
    }
    sg_scope_close(&p->scopes);
    p->function = NULL;
    p->variables_end = outer_end;
    add_function(p->syntax, f);
    if (!sg_scope_find(&p->scopes, NULL, &name))
        sg_scope_add(&p->scopes, &name, SG_NAME_FUNCTION);
}

/* .version 9.0 .target sm_90a, texmode .address_size 64 */
static bool parse_head(sg_parser *p)
{
    if (accept_dotted(p, "version")) {
        double version;
        if (p->token.kind != SG_TOKEN_FLOAT || p->token.single)
            sg_parser_fail(p, SG_PTX_SYNTAX, "expected a version");
        memcpy(&version, &p->token.integer, sizeof version);
        p->syntax->version = version > 0 && version < 100 ? (int)(version * 10 + 0.5) : 0;
        sg_parser_next(p);
    } else if (accept_dotted(p, "target")) {
        do {
            const sg_token name = take_name(p);
            int cc = 0;
            if (name.length > 3 && memcmp(name.text, "sm_", 3) == 0)
                for (size_t i = 3; i < name.length && i < 7 && name.text[i] >= '0' && name.text[i] <= '9'; i++)
                    cc = cc * 10 + name.text[i] - '0';
            p->syntax->target = cc ? cc : p->syntax->target;
        } while (sg_parser_accept(p, ','));
    } else if (accept_dotted(p, "address_size")) {
        if (sg_parser_integer(p, 64) != 64)
            sg_parser_fail(p, SG_PTX_UNSUPPORTED, "32-bit addresses");
    } else {
        return false;
    }
    return true;
}

void sg_parse(sg_syntax *syntax, const char *text, size_t bytes)
{
    sg_parser *p = sg_syntax_alloc(syntax, sizeof *p);
    sg_space space;
    p->syntax = p->scopes.syntax = syntax;
    p->lexer = (sg_lexer){.at = text, .end = text + bytes, .line = 1};
    p->variables_end = &syntax->variables;
    syntax->functions_end = &syntax->functions;
    syntax->by_name = sg_syntax_alloc(syntax, SG_FUNCTION_BUCKETS * sizeof syntax->by_name[0]);
    sg_parser_next(p);
    if (!sg_parser_at_dotted(p, "version"))
        sg_parser_fail(p, SG_PTX_SYNTAX, "expected .version");
    while (p->token.kind != SG_TOKEN_END) {
        bool external = false;
        if (parse_head(p) || sg_parse_ignored(p) || sg_parser_accept(p, ';'))
            continue;
        while (sg_parser_at_dotted(p, "visible") || sg_parser_at_dotted(p, "extern") ||
               sg_parser_at_dotted(p, "weak") || sg_parser_at_dotted(p, "common")) {
            external |= sg_parser_at_dotted(p, "extern");
            sg_parser_next(p);
        }
        if (accept_dotted(p, "entry"))
            parse_function(p, true);
        else if (accept_dotted(p, "func"))
            parse_function(p, false);
        else if (sg_parse_is_space(&p->token, &space) && space != SG_SPACE_PARAM && space != SG_SPACE_LOCAL)
            sg_parse_variables(p, space, external);
        else
            sg_parser_fail(p, p->token.kind == SG_TOKEN_DOTTED ? SG_PTX_UNSUPPORTED : SG_PTX_SYNTAX, "directive");
    }
}
