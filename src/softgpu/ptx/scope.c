#include "scope.h"

#include <string.h>

bool sg_scope_open(sg_scopes *scopes)
{
    if (scopes->depth + 1 >= SG_SCOPE_DEPTH)
        return false;
    scopes->members[++scopes->depth] = NULL;
    return true;
}

void sg_scope_close(sg_scopes *scopes)
{
    for (sg_name *name = scopes->members[scopes->depth]; name; name = name->scope) {
        sg_name **link = &scopes->buckets[sg_text_hash(name->text, name->length) % SG_SCOPE_BUCKETS];
        while (*link != name)
            link = &(*link)->bucket;
        *link = name->bucket;
    }
    scopes->depth--;
}

/* The innermost entry of just this text. */
static sg_name *find_exact(const sg_scopes *scopes, const char *text, size_t length)
{
    sg_name *best = NULL;
    for (sg_name *name = scopes->buckets[sg_text_hash(text, length) % SG_SCOPE_BUCKETS]; name; name = name->bucket)
        if (name->length == length && memcmp(name->text, text, length) == 0 && (!best || name->depth > best->depth))
            best = name;
    return best;
}

static sg_name *insert(sg_scopes *scopes, const sg_token *token, sg_name_kind kind, int depth)
{
    sg_name *name = sg_syntax_alloc(scopes->syntax, sizeof *name);
    sg_name **bucket = &scopes->buckets[sg_text_hash(token->text, token->length) % SG_SCOPE_BUCKETS];
    *name = (sg_name){.bucket = *bucket, .scope = scopes->members[depth], .text = token->text,
                      .length = token->length, .kind = kind, .depth = depth};
    *bucket = name;
    scopes->members[depth] = name;
    return name;
}

sg_name *sg_scope_add(sg_scopes *scopes, const sg_token *token, sg_name_kind kind)
{
    const sg_name *old = find_exact(scopes, token->text, token->length);
    if (old && old->depth == scopes->depth)
        return NULL;
    return insert(scopes, token, kind, scopes->depth);
}

/* The range that name's text is a member of: "%r" for %r57. */
static sg_name *find_range(const sg_scopes *scopes, const sg_token *token)
{
    size_t stem = token->length;
    while (stem > 0 && token->text[stem - 1] >= '0' && token->text[stem - 1] <= '9')
        stem--;
    const size_t digits = token->length - stem;
    if (digits == 0 || digits > 9 || stem == 0 || (digits > 1 && token->text[stem] == '0'))
        return NULL;
    uint32_t index = 0;
    for (size_t i = stem; i < token->length; i++)
        index = index * 10 + (uint32_t)(token->text[i] - '0');
    sg_name *range = find_exact(scopes, token->text, stem);
    return range && range->kind == SG_NAME_RANGE && index < range->count ? range : NULL;
}

sg_name *sg_scope_find(sg_scopes *scopes, sg_function *function, const sg_token *token)
{
    sg_name *name = find_exact(scopes, token->text, token->length);
    sg_name *range = function ? find_range(scopes, token) : NULL;
    if (range && (!name || range->depth > name->depth)) {
        name = insert(scopes, token, SG_NAME_REGISTER, range->depth);
        name->type = range->type;
        name->index = sg_function_register(scopes->syntax, function, range->type);
    }
    return name && name->kind != SG_NAME_RANGE ? name : NULL;
}
