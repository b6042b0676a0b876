/* PTX text to tokens. */
#ifndef SG_LEX_H
#define SG_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum sg_token_kind {
    SG_TOKEN_END,
    SG_TOKEN_NAME,      /* gemm, %r1, $L__BB0_2, _ */
    SG_TOKEN_DOTTED,    /* .entry, .shared::cluster; text without the dot */
    SG_TOKEN_INTEGER,
    SG_TOKEN_FLOAT,     /* 0f3F800000, 0d3FF0000000000000, 1.5 */
    SG_TOKEN_STRING,
    SG_TOKEN_MARK,      /* one character of punctuation */
    SG_TOKEN_BAD,       /* a byte or a number that is none of these */
} sg_token_kind;

typedef struct sg_token {
    sg_token_kind kind;
    uint32_t line;
    const char *text; /* into the source; not ended by a zero */
    size_t length;
    uint64_t integer; /* INTEGER: its value; FLOAT: the bits of the double */
    bool single;      /* FLOAT: written as 0f...; integer has the 32 bits */
    char mark;        /* MARK: the character; else 0 */
} sg_token;

typedef struct sg_lexer {
    const char *at, *end;
    uint32_t line;
} sg_lexer;

sg_token sg_lex(sg_lexer *lexer);

#endif
