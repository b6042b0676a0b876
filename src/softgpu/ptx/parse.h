/* Inside the parser: the token ahead, and what module level and function bodies share. */
#ifndef SG_PARSE_H
#define SG_PARSE_H

#include "scope.h"

typedef struct sg_label {
    struct sg_label *next;
    const char *text;
    size_t length;
    uint32_t line;
    uint32_t scope;       /* number of the scope it stands in */
    uint32_t instruction; /* index of what follows it */
    sg_operand *targets;  /* of .branchtargets; NULL: a plain label */
} sg_label;

/* A label used before it may be known. */
typedef struct sg_reference {
    struct sg_reference *next;
    sg_operand *operand;
    const char *text;
    size_t length;
    uint32_t scope, line;
    bool in_table; /* of .branchtargets: plain labels only */
} sg_reference;

typedef struct sg_parser {
    sg_syntax *syntax;
    sg_lexer lexer;
    sg_token token; /* the one ahead */
    sg_scopes scopes;
    sg_function *function;    /* whose body is read */
    uint32_t function_count;
    sg_variable **variables_end; /* where the next variable of this scope is linked in */
    sg_label *labels;
    sg_reference *references;
    uint32_t scope, scope_count; /* number of the scope inside a body; all numbers given */
    uint32_t *scope_parents;
    size_t scope_room;
} sg_parser;

void sg_parser_next(sg_parser *p);

/* Whether the token ahead is this; accept and expect also take it, and expect fails if it is not. */
bool sg_parser_at(const sg_parser *p, char mark);
bool sg_parser_accept(sg_parser *p, char mark);
void sg_parser_expect(sg_parser *p, char mark);
bool sg_parser_at_dotted(const sg_parser *p, const char *text);
bool sg_parser_accept_dotted(sg_parser *p, const char *text);

_Noreturn void sg_parser_fail(sg_parser *p, sg_ptx_status status, const char *what);

/* The token's text, ended by a zero, in the arena. */
const char *sg_parser_text(sg_parser *p, const sg_token *token);

/* Takes a name; a number up to most. */
sg_token sg_parser_name(sg_parser *p);
uint64_t sg_parser_integer(sg_parser *p, uint64_t most);

/* .loc, .file, .section, .pragma: nothing that runs. False if the token ahead is none of them. */
bool sg_parser_skip(sg_parser *p);

/* Whether a word is a state space; the declarations that begin with it: ".shared .align 16 .b8 name[64], other;". */
bool sg_parse_is_space(const sg_token *token, sg_space *space);
void sg_parse_variables(sg_parser *p, sg_space space, bool external);

/* .align, vector and type before a name; and a variable from its name on. */
sg_type sg_parse_type(sg_parser *p, uint32_t *align, uint32_t *lanes);
sg_variable *sg_parse_variable(sg_parser *p, sg_space space, bool external, sg_type type, uint32_t align,
                               uint32_t lanes);

/* A body from its opening to its closing brace. */
void sg_parse_body(sg_parser *p);

#endif
