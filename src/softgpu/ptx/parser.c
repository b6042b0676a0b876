/* The token ahead, and what may stand anywhere and means nothing. */
#include "parse.h"

#include <string.h>

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

bool sg_parser_accept_dotted(sg_parser *p, const char *text)
{
    if (!sg_parser_at_dotted(p, text))
        return false;
    sg_parser_next(p);
    return true;
}

sg_token sg_parser_name(sg_parser *p)
{
    const sg_token token = p->token;
    if (token.kind != SG_TOKEN_NAME)
        sg_parser_fail(p, SG_PTX_SYNTAX, "expected a name");
    sg_parser_next(p);
    return token;
}

static void skip_integers(sg_parser *p)
{
    while (p->token.kind == SG_TOKEN_INTEGER)
        sg_parser_next(p);
}

bool sg_parser_skip(sg_parser *p)
{
    if (sg_parser_accept_dotted(p, "pragma")) {
        while (p->token.kind == SG_TOKEN_STRING || sg_parser_at(p, ','))
            sg_parser_next(p);
        sg_parser_expect(p, ';');
    } else if (sg_parser_accept_dotted(p, "loc")) {
        skip_integers(p);
        while (sg_parser_accept(p, ',')) { /* function_name $L+4, inlined_at 1 2 3 */
            sg_parser_name(p);
            if (p->token.kind == SG_TOKEN_NAME)
                sg_parser_next(p);
            if (sg_parser_accept(p, '+'))
                sg_parser_integer(p, UINT64_MAX);
            skip_integers(p);
        }
    } else if (sg_parser_accept_dotted(p, "file")) {
        skip_integers(p);
        if (p->token.kind == SG_TOKEN_STRING)
            sg_parser_next(p);
        while (sg_parser_accept(p, ','))
            skip_integers(p);
    } else if (sg_parser_accept_dotted(p, "section")) {
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
