#include "type_list.h"

#include <stdio.h>
#include <string.h>

/* The next word of a list; *list moves behind it, to NULL behind the last. */
static const char *next_word(const char **list, char word[41])
{
    const char *end = *list + strcspn(*list, ",");
    snprintf(word, 41, "%.*s", (int)(end - *list), *list);
    *list = *end ? end + 1 : NULL;
    return word;
}

/* "strict tf32 fast split", for messages. Returns text. */
static const char *list_maths(char text[GT_TYPES_TEXT])
{
    size_t length = 0;
    gt_math math;
    for (int i = 0; gt_math_parse(gt_math_name((gt_math)i), &math) && length < GT_TYPES_TEXT; i++)
        length += (size_t)snprintf(text + length, GT_TYPES_TEXT - length, "%s%s", i > 0 ? " " : "", gt_math_name(math));
    return text;
}

#define STRICT    (1u << GT_MATH_STRICT)
#define ALL_MATHS (~0u)

/* The set of a list of math modes, a bit each. */
static gt_status find_maths(const char *list, unsigned *maths)
{
    *maths = 0;
    while (list) {
        char word[41], names[GT_TYPES_TEXT];
        gt_math math;
        if (strcmp(next_word(&list, word), "all") == 0)
            *maths = ALL_MATHS;
        else if (gt_math_parse(word, &math))
            *maths |= 1u << math;
        else
            return gt_fail(GT_ERROR_INVALID, "unknown math '%s'; there are: %s and all", word, list_maths(names));
    }
    return GT_OK;
}

/* The types that most programs use, in the order in which they are tuned. The first run takes the whole list of shapes
 * for these and a shorter one for the others, so that an H200 has all of them in less than 25 minutes. */
static const char *const usual[] = {"f32", "f32 split", "bf16", "f16", "f32 tf32", "f64", "s8", "e4m3"};
#define USUAL (sizeof usual / sizeof usual[0])

/* The place among the usual types; USUAL for others. */
static size_t find_usual(const gt_types *types)
{
    char text[GT_TYPES_TEXT];
    size_t i = 0;
    gt_types_text(types, text);
    while (i < USUAL && strcmp(usual[i], text) != 0)
        i++;
    return i;
}

bool gt_types_are_usual(const gt_types *types)
{
    return find_usual(types) < USUAL;
}

/* A list that is being made. */
typedef struct making {
    const gt_types **list;
    size_t count;
} making;

static gt_status add(making *m, const gt_types *types)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->list[i] == types)
            return GT_OK;
    if (m->count == GT_TYPES_MOST)
        return gt_fail(GT_ERROR_INVALID, "--type takes up to %d types", GT_TYPES_MOST);
    m->list[m->count++] = types;
    return GT_OK;
}

/* All types under these maths, the usual ones first. */
static gt_status add_all(making *m, unsigned maths)
{
    gt_status status = GT_OK;
    for (size_t place = 0; place <= USUAL; place++)
        for (size_t i = 0; status == GT_OK && gt_types_at(i); i++) {
            const gt_types *types = gt_types_at(i);
            if (find_usual(types) == place && (maths >> types->math & 1))
                status = add(m, types);
        }
    return status;
}

/* A type under those of the maths that it has. */
static gt_status add_named(making *m, const char *name, unsigned maths, const char *math_names)
{
    char has[GT_TYPES_TEXT];
    gt_math math;
    bool found = false;
    gt_status status = GT_OK;
    for (size_t i = 0; status == GT_OK && gt_types_at(i); i++) {
        const gt_types *types = gt_types_at(i);
        if (strcmp(types->name, name) == 0 && (maths >> types->math & 1)) {
            status = add(m, types);
            found = true;
        }
    }
    if (found || status != GT_OK)
        return status;
    if (gt_types_parse(name, GT_MATH_STRICT))
        return gt_fail(GT_ERROR_INVALID, "--math %s does not fit %s, which has: %s", math_names, name,
                       gt_types_maths(name, has));
    if (gt_math_parse(name, &math))
        return gt_fail(GT_ERROR_INVALID, "%s is no type but a math mode: --math %s", name, name);
    return gt_fail(GT_ERROR_INVALID, "unknown type '%s'; there are: %s and all", name, gt_types_names());
}

gt_status gt_type_list_parse(const char *types, const char *maths, const gt_types *list[GT_TYPES_MOST], size_t *count,
                             bool *all)
{
    making m = {.list = list};
    unsigned set = STRICT;
    bool any = false;
    gt_status status = maths ? find_maths(maths, &set) : GT_OK;
    for (const char *rest = types; status == GT_OK && rest;) {
        char word[41];
        if (strcmp(next_word(&rest, word), "all") != 0) {
            status = add_named(&m, word, set, maths);
        } else {
            any = true;
            status = add_all(&m, maths ? set : ALL_MATHS);
        }
    }
    if (status == GT_OK && m.count == 0)
        status = gt_fail(GT_ERROR_INVALID, "no type has math %s", maths);
    if (status != GT_OK)
        return status;
    *count = m.count;
    *all = any;
    return GT_OK;
}
