/* Names and what they stand for, scope in scope: inline assembly declares the same names again and again. */
#ifndef SG_SCOPE_H
#define SG_SCOPE_H

#include "lex.h"
#include "syntax.h"

#define SG_SCOPE_DEPTH   64
#define SG_SCOPE_BUCKETS 4096

typedef enum sg_name_kind {
    SG_NAME_REGISTER, /* index */
    SG_NAME_RANGE,    /* .reg .b32 %r<count>: %r0 to %r(count - 1); registers come to be when they are mentioned */
    SG_NAME_VARIABLE,
    SG_NAME_FUNCTION,
} sg_name_kind;

typedef struct sg_name {
    struct sg_name *bucket, *scope; /* the next ones */
    const char *text;
    size_t length;
    sg_name_kind kind;
    sg_type type;
    int depth;
    uint32_t index, count;
    sg_variable *variable;
} sg_name;

typedef struct sg_scopes {
    sg_syntax *syntax;
    int depth;
    sg_name *buckets[SG_SCOPE_BUCKETS];
    sg_name *members[SG_SCOPE_DEPTH];
} sg_scopes;

/* False if scopes are nested too deep. */
bool sg_scope_open(sg_scopes *scopes);
void sg_scope_close(sg_scopes *scopes);

/* A new name in the innermost scope; NULL if it is already there. */
sg_name *sg_scope_add(sg_scopes *scopes, const sg_token *token, sg_name_kind kind);

/* The innermost meaning of a name; NULL if it has none. A register of a range is made on its first mention. */
sg_name *sg_scope_find(sg_scopes *scopes, sg_function *function, const sg_token *token);

#endif
