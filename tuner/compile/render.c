#include "render.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/core/status.h"

/* Whether a text holds a name as a whole word. */
static bool mentions(const char *text, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at += length) {
        const bool starts = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        if (starts && !(isalnum((unsigned char)at[length]) || at[length] == '_'))
            return true;
    }
    return false;
}

/* The name in capitals. */
static const char *capitals(const char *name, char text[GT_PARAM_NAME])
{
    size_t i = 0;
    for (; name[i]; i++)
        text[i] = (char)toupper((unsigned char)name[i]);
    text[i] = '\0';
    return text;
}

/* Only names and whole numbers get through: what reaches the compiler is ours. */
static gt_status define_params(FILE *text, const gt_family *family, const gt_params *params)
{
    char name[GT_PARAM_NAME];
    for (int64_t i = 0; i < params->count; i++) {
        if (!mentions(family->source, capitals(params->list[i].name, name)))
            return gt_fail(GT_ERROR_INVALID, "%s.cu does not know the parameter %s that its space offers", family->name,
                           name);
        fprintf(text, "#define %s %lld\n", name, (long long)params->list[i].value);
    }
    return GT_OK;
}

static void define_facts(FILE *text, const gt_facts *facts)
{
    char name[GT_PARAM_NAME];
    for (size_t i = 0; i < GT_FACT_COUNT; i++)
        if (gt_fact_rows[i].key)
            fprintf(text, "#define GT_%s %lld\n", capitals(gt_fact_rows[i].name, name),
                    (long long)gt_fact_value(facts, i));
}

static void define_types(FILE *text, const gt_types *types)
{
    const gt_type_info *a = gt_type_find(types->a), *b = gt_type_find(types->b);
    const gt_rounded *rounded = types->rounded;
    if (types->a == types->b)
        fprintf(text, "#define GT_AB %s\n", rounded ? rounded->cuda : a->cuda);
    else
        fprintf(text, "#define GT_AB gt_byte\n#define GT_A %s\n#define GT_B %s\n", a->cuda, b->cuda);
    fprintf(text, "#define GT_C %s\n#define GT_ACC %s\n", gt_type_find(types->c)->cuda,
            gt_type_find(types->accumulator)->cuda);
    fprintf(text, "#define GT_PTX_A \"%s\"\n#define GT_PTX_B \"%s\"\n", rounded ? rounded->name : a->name,
            rounded ? rounded->name : b->name);
    if (types->promoted > 0)
        fprintf(text, "#define GT_PROMOTED %d\n", types->promoted);
}

gt_status gt_render(const gt_family *family, const gt_class *class, gt_variant variant, gt_kernel *kernel,
                    char **source)
{
    const gt_types *types = gt_class_types(class);
    char *buffer = NULL, name[GT_TYPES_TEXT];
    size_t size = 0;
    FILE *text = open_memstream(&buffer, &size);
    if (!text)
        return gt_fail_memory();
    fprintf(text, "// gemmtune %s: %s %s, aligned to %d bytes\n", family->name, gt_types_text(types, name),
            gt_class_layout(class), class->align);
    define_types(text, types);
    fprintf(text, "#define GT_TRANS_A %d\n#define GT_TRANS_B %d\n#define GT_ALIGN %d\n", class->op_a == GT_T,
            class->op_b == GT_T, class->align);
    if (variant == GT_VARIANT_CHECKED)
        fputs("#define GT_CHECKED 1\n", text);
    gt_status status = define_params(text, family, &kernel->params);
    define_facts(text, &kernel->facts);
    fprintf(text, "\n%s", family->source);
    if (fclose(text) != 0 && status == GT_OK)
        status = gt_fail_memory();
    if (status != GT_OK) {
        free(buffer);
        return status;
    }
    gt_hash(buffer, size, kernel->source_hash);
    *source = buffer;
    return GT_OK;
}
