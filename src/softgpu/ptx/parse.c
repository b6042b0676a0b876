/* A module: its directives and functions' heads. */
#include "parse.h"

#include <string.h>

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
        const bool reg = sg_parser_accept_dotted(p, "reg");
        if (!reg && !sg_parser_accept_dotted(p, "param"))
            sg_parser_fail(p, SG_PTX_SYNTAX, "expected .param");
        const sg_type type = sg_parse_type(p, &align, &lanes);
        /* .ptr .global .align 16 may follow the type */
        while (p->token.kind == SG_TOKEN_DOTTED) {
            sg_space space;
            if (sg_parser_accept_dotted(p, "align"))
                sg_parser_integer(p, 4096);
            else if (sg_parser_at_dotted(p, "ptr") || sg_parse_is_space(&p->token, &space))
                sg_parser_next(p);
            else
                sg_parser_fail(p, SG_PTX_UNSUPPORTED, "parameter attribute");
        }
        sg_variable *v = sg_parse_variable(p, SG_SPACE_PARAM, false, type, align, lanes);
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
        if (sg_parser_accept_dotted(p, "maxntid") || sg_parser_accept_dotted(p, "reqntid")) {
            parse_three(p, three);
            const uint64_t product = (uint64_t)three[0] * three[1];
            if (product > UINT32_MAX || product * three[2] > UINT32_MAX)
                sg_parser_fail(p, SG_PTX_SYNTAX, "too many threads before here");
            f->max_threads = (uint32_t)(product * three[2]);
        } else if (sg_parser_accept_dotted(p, "minnctapersm")) {
            f->min_blocks = (uint32_t)sg_parser_integer(p, INT32_MAX);
        } else if (sg_parser_accept_dotted(p, "reqnctapercluster")) {
            parse_three(p, f->cluster);
        } else if (sg_parser_accept_dotted(p, "maxclusterrank") || sg_parser_accept_dotted(p, "maxnreg") ||
                   sg_parser_accept_dotted(p, "maxnctapersm")) {
            sg_parser_integer(p, INT32_MAX);
        } else if (!sg_parser_accept_dotted(p, "explicitcluster") && !sg_parser_accept_dotted(p, "noreturn") &&
                   !sg_parser_accept_dotted(p, "blocksareclusters") && !sg_parser_skip(p)) {
            sg_parser_fail(p, SG_PTX_UNSUPPORTED, "directive");
        }
    }
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
    const sg_token name = sg_parser_name(p);
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
    sg_function_add(p->syntax, f);
    if (!sg_scope_find(&p->scopes, NULL, &name))
        sg_scope_add(&p->scopes, &name, SG_NAME_FUNCTION);
}

/* .version 9.0 .target sm_90a, texmode .address_size 64 */
static bool parse_head(sg_parser *p)
{
    if (sg_parser_accept_dotted(p, "version")) {
        double version;
        if (p->token.kind != SG_TOKEN_FLOAT || p->token.single)
            sg_parser_fail(p, SG_PTX_SYNTAX, "expected a version");
        memcpy(&version, &p->token.integer, sizeof version);
        p->syntax->version = version > 0 && version < 100 ? (int)(version * 10 + 0.5) : 0;
        sg_parser_next(p);
    } else if (sg_parser_accept_dotted(p, "target")) {
        do {
            const sg_token name = sg_parser_name(p);
            int cc = 0;
            if (name.length > 3 && memcmp(name.text, "sm_", 3) == 0)
                for (size_t i = 3; i < name.length && i < 7 && name.text[i] >= '0' && name.text[i] <= '9'; i++)
                    cc = cc * 10 + name.text[i] - '0';
            p->syntax->target = cc ? cc : p->syntax->target;
        } while (sg_parser_accept(p, ','));
    } else if (sg_parser_accept_dotted(p, "address_size")) {
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
        if (parse_head(p) || sg_parser_skip(p) || sg_parser_accept(p, ';'))
            continue;
        while (sg_parser_at_dotted(p, "visible") || sg_parser_at_dotted(p, "extern") ||
               sg_parser_at_dotted(p, "weak") || sg_parser_at_dotted(p, "common")) {
            external |= sg_parser_at_dotted(p, "extern");
            sg_parser_next(p);
        }
        if (sg_parser_accept_dotted(p, "entry"))
            parse_function(p, true);
        else if (sg_parser_accept_dotted(p, "func"))
            parse_function(p, false);
        else if (sg_parse_is_space(&p->token, &space) && space != SG_SPACE_PARAM && space != SG_SPACE_LOCAL)
            sg_parse_variables(p, space, external);
        else
            sg_parser_fail(p, p->token.kind == SG_TOKEN_DOTTED ? SG_PTX_UNSUPPORTED : SG_PTX_SYNTAX, "directive");
    }
}
