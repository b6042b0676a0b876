#include "lex.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

/* The C library's classes depend on the locale. */
static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}

static bool is_name(char c)
{
    return is_name_start(c) || is_digit(c);
}

static int hex_digit(char c)
{
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

/* Past blanks and comments. */
static void skip_space(sg_lexer *l)
{
    while (l->at < l->end) {
        const char c = *l->at, next = l->at + 1 < l->end ? l->at[1] : 0;
        if (c == '\n') {
            l->line++;
            l->at++;
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v' || (c == 0 && l->at + 1 == l->end)) {
            l->at++;
        } else if (c == '/' && next == '/') {
            while (l->at < l->end && *l->at != '\n')
                l->at++;
        } else if (c == '/' && next == '*') {
            for (l->at += 2; l->at < l->end && !(l->at[0] == '*' && l->at + 1 < l->end && l->at[1] == '/'); l->at++)
                l->line += *l->at == '\n';
            l->at = l->end - l->at < 2 ? l->end : l->at + 2;
        } else {
            break;
        }
    }
}

/* 0f and 0d literals: so many hexadecimal digits, the number's bits. */
static bool lex_bits(sg_lexer *l, int digits, sg_token *token)
{
    const char *at = l->at + 2;
    for (int i = 0; i < digits; i++, at++) {
        if (at >= l->end || hex_digit(*at) > 15)
            return false;
        token->integer = token->integer << 4 | (uint64_t)hex_digit(*at);
    }
    token->kind = SG_TOKEN_FLOAT;
    token->single = digits == 8;
    l->at = at;
    return true;
}

static bool lex_decimal_float(sg_lexer *l, const char *end, sg_token *token)
{
    char text[64], *rest;
    const size_t length = (size_t)(end - l->at);
    if (length >= sizeof text)
        return false;
    memcpy(text, l->at, length);
    text[length] = 0;
    /* Not in the program's own locale, which may write a decimal comma. In C's there is nothing to allocate or free. */
    const double value = strtod_l(text, &rest, newlocale(LC_ALL_MASK, "C", (locale_t)0));
    if (*rest)
        return false;
    memcpy(&token->integer, &value, sizeof value);
    token->kind = SG_TOKEN_FLOAT;
    l->at = end;
    return true;
}

static bool lex_integer(sg_lexer *l, sg_token *token)
{
    const char *at = l->at;
    int base = 10;
    if (*at == '0' && at + 1 < l->end) {
        const char kind = at[1] | 0x20;
        base = kind == 'x' ? 16 : kind == 'b' ? 2 : is_digit(at[1]) ? 8 : 10;
        at += base == 16 || base == 2 ? 2 : 0;
    }
    const char *first = at;
    for (; at < l->end && hex_digit(*at) < base; at++) {
        if (token->integer > (UINT64_MAX - (uint64_t)hex_digit(*at)) / (uint64_t)base)
            return false;
        token->integer = token->integer * (uint64_t)base + (uint64_t)hex_digit(*at);
    }
    if (at == first)
        return false;
    if (at < l->end && *at == 'U')
        at++;
    token->kind = SG_TOKEN_INTEGER;
    l->at = at;
    return true;
}

static bool lex_number(sg_lexer *l, sg_token *token)
{
    const char kind = l->at + 1 < l->end && *l->at == '0' ? (char)(l->at[1] | 0x20) : 0;
    if (kind == 'f')
        return lex_bits(l, 8, token);
    if (kind == 'd')
        return lex_bits(l, 16, token);
    const char *at = l->at;
    while (at < l->end && is_digit(*at))
        at++;
    if (kind != 'x' && at < l->end && (*at == '.' || *at == 'e' || *at == 'E')) {
        if (*at == '.')
            for (at++; at < l->end && is_digit(*at);)
                at++;
        if (at < l->end && (*at == 'e' || *at == 'E')) {
            at += at + 1 < l->end && (at[1] == '+' || at[1] == '-') ? 2 : 1;
            while (at < l->end && is_digit(*at))
                at++;
        }
        return lex_decimal_float(l, at, token);
    }
    return lex_integer(l, token) && !(l->at < l->end && is_name(*l->at));
}

/* A name or what follows a dot, with its parts joined by "::". */
static void lex_name(sg_lexer *l)
{
    for (;;) {
        while (l->at < l->end && is_name(*l->at))
            l->at++;
        if (l->end - l->at < 3 || l->at[0] != ':' || l->at[1] != ':' || !is_name(l->at[2]))
            return;
        l->at += 2;
    }
}

sg_token sg_lex(sg_lexer *l)
{
    skip_space(l);
    sg_token token = {.kind = SG_TOKEN_END, .line = l->line, .text = l->at};
    if (l->at >= l->end)
        return token;
    const char c = *l->at;
    token.kind = SG_TOKEN_BAD;
    if (is_name_start(c)) {
        token.kind = SG_TOKEN_NAME;
        lex_name(l);
    } else if (c == '.' && l->at + 1 < l->end && is_name(l->at[1])) {
        token.kind = SG_TOKEN_DOTTED;
        token.text = ++l->at;
        lex_name(l);
    } else if (is_digit(c)) {
        if (!lex_number(l, &token))
            token.kind = SG_TOKEN_BAD;
    } else if (c == '"') {
        const char *at = l->at + 1;
        while (at < l->end && *at != '"' && *at != '\n')
            at++;
        if (at < l->end && *at == '"') {
            token.kind = SG_TOKEN_STRING;
            l->at = at + 1;
        }
    } else if (strchr(",;:(){}[]<>@!+-*/=|&^~", c) && c) {
        token.kind = SG_TOKEN_MARK;
        token.mark = c;
        l->at++;
    }
    token.length = (size_t)(l->at - token.text);
    return token;
}
