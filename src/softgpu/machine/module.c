#include "module.h"

#include <stdlib.h>
#include <string.h>

#include "../ptx/program.h"
#include "words.h"

#define VERSION_MOST 92 /* PTX 9.2: the newest that the tables were made from */

/* Device memory for global and constant variables; all of it counts as written. */
static void place_globals(sg_syntax *syntax, sg_module *module)
{
    for (sg_variable *v = syntax->variables; v; v = v->next) {
        if (v->space != SG_SPACE_GLOBAL && v->space != SG_SPACE_CONST)
            continue;
        v->address = sg_memory_alloc(module->memory, v->bytes);
        if (!v->address)
            sg_syntax_fail(syntax, SG_PTX_MEMORY, 0, "no device memory for variable %.100s", v->name);
        if (v->values)
            memcpy((void *)(uintptr_t)v->address, v->values, v->value_bytes); /* the memory was all zeros */
        const sg_span *span = sg_memory_find(module->memory, v->address);
        if (span && span->written)
            sg_span_mark(span, v->address, v->bytes);
    }
    for (sg_variable *v = syntax->variables; v; v = v->next)
        for (const sg_relocation *r = v->relocations; r; r = r->next) {
            const uint64_t value = r->target->address + r->addend;
            memcpy((uint8_t *)(uintptr_t)v->address + r->at, &value, sizeof value);
        }
}

static void build(sg_syntax *syntax, sg_module *module, const char *text, size_t bytes, int cc)
{
    sg_parse(syntax, text, bytes);
    module->variables = syntax->variables;
    if (syntax->version > VERSION_MOST)
        sg_syntax_fail(syntax, SG_PTX_TARGET, 1, "PTX version %d.%d is too new", syntax->version / 10,
                       syntax->version % 10);
    if (syntax->target > cc)
        sg_syntax_fail(syntax, SG_PTX_TARGET, 1, "made for sm_%d, the device is sm_%d", syntax->target, cc);
    place_globals(syntax, module);
    for (sg_function *f = syntax->functions; f; f = f->next)
        if (f->is_entry && f->has_body)
            sg_decode(syntax, f, module);
    for (sg_kernel *kernel = module->kernels; kernel; kernel = kernel->next)
        if (!sg_words_read(&module->arena, kernel))
            sg_syntax_fail(syntax, SG_PTX_MEMORY, 0, "out of memory");
}

sg_ptx_status sg_module_create(const char *text, size_t bytes, int cc, sg_memory *memory, sg_module **result,
                               char message[SG_MESSAGE_LENGTH])
{
    sg_module *volatile module = calloc(1, sizeof *module);
    sg_syntax syntax = {.message = message};
    message[0] = 0;
    if (!module) {
        strcpy(message, "out of memory");
        return SG_PTX_MEMORY;
    }
    module->memory = memory;
    syntax.arena = &module->arena;
    if (setjmp(syntax.failed) == 0) {
        build(&syntax, module, text, bytes, cc);
        *result = module;
        return SG_PTX_OK;
    }
    sg_module_destroy(module);
    return syntax.status;
}

void sg_module_destroy(sg_module *module)
{
    if (!module)
        return;
    for (const sg_variable *v = module->variables; v; v = v->next)
        if ((v->space == SG_SPACE_GLOBAL || v->space == SG_SPACE_CONST) && v->address)
            sg_memory_free(module->memory, v->address);
    sg_arena_finish(&module->arena);
    free(module);
}

const sg_kernel *sg_module_kernel(const sg_module *module, const char *name)
{
    for (const sg_kernel *kernel = module->kernels; kernel; kernel = kernel->next)
        if (strcmp(kernel->facts.name, name) == 0)
            return kernel;
    return NULL;
}

bool sg_module_variable(const sg_module *module, const char *name, uint64_t *address, uint64_t *bytes)
{
    for (const sg_variable *v = module->variables; v; v = v->next)
        if ((v->space == SG_SPACE_GLOBAL || v->space == SG_SPACE_CONST) && strcmp(v->name, name) == 0) {
            *address = v->address;
            *bytes = v->bytes;
            return true;
        }
    return false;
}

const sg_kernel_facts *sg_kernel_describe(const sg_kernel *kernel)
{
    return &kernel->facts;
}
