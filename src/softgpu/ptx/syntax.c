#include "syntax.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define REGISTERS_MOST (1u << 20)

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

uint32_t sg_text_hash(const char *text, size_t length)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)text[i]) * 16777619u;
    return hash ^ hash >> 15;
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

void sg_function_add(sg_syntax *syntax, sg_function *f)
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

uint32_t sg_function_register(sg_syntax *syntax, sg_function *function, sg_type type)
{
    if (function->register_count >= REGISTERS_MOST)
        sg_syntax_fail(syntax, SG_PTX_UNSUPPORTED, function->line, "%s has too many registers", function->name);
    if (function->register_count == function->register_room) {
        function->registers = sg_arena_grow(syntax->arena, function->registers, function->register_count,
                                            sizeof function->registers[0], &function->register_room);
        if (!function->registers)
            sg_syntax_fail(syntax, SG_PTX_MEMORY, function->line, "out of memory");
    }
    function->registers[function->register_count] = (sg_register){type};
    return (uint32_t)function->register_count++;
}
