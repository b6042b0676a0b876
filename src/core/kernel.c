#include "kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FACT_LINE 64 /* a name, '=', a 64-bit number, the end of a line */

/* Where the kernel has such a parameter. */
static void set_param(gt_kernel *kernel, const char *name, int64_t value)
{
    for (int64_t i = 0; i < kernel->params.count; i++)
        if (strcmp(kernel->params.list[i].name, name) == 0)
            kernel->params.list[i].value = value;
}

void gt_kernel_split(gt_kernel *kernel, int64_t parts)
{
    gt_facts *f = &kernel->facts;
    f->ws_tile = f->ws_tile / (f->split_k / f->cluster_y) * (parts / f->cluster_y);
    f->split_k = parts;
    set_param(kernel, "split_k", parts);
    if (parts > f->cluster_y) /* a counter and sums for each tile: a block has one */
        f->blocks = 0;
    set_param(kernel, "blocks", f->blocks);
}

void gt_kernel_deal(gt_kernel *kernel, int64_t clusters)
{
    if (kernel->facts.blocks == 0)
        return;
    kernel->facts.blocks = kernel->facts.cluster_x * clusters;
    set_param(kernel, "blocks", kernel->facts.blocks);
}

bool gt_kernel_same(const gt_kernel *a, const gt_kernel *b)
{
    bool same = strcmp(a->source_hash, b->source_hash) == 0 && strcmp(a->nvrtc, b->nvrtc) == 0 &&
                strcmp(a->arch, b->arch) == 0;
    for (size_t i = 0; i < GT_FACT_COUNT; i++)
        same = same && (!gt_fact_rows[i].key || gt_fact_value(&a->facts, i) == gt_fact_value(&b->facts, i));
    return same;
}

void gt_code_finish(gt_code *code)
{
    free(code->cubin);
    free(code->ptx);
    *code = (gt_code){0};
}

gt_status gt_code_copy(const gt_code *code, gt_code *out)
{
    gt_code copy = {.cubin_bytes = code->cubin_bytes, .ptx_bytes = code->ptx_bytes};
    copy.cubin = malloc(code->cubin_bytes + 1);
    copy.ptx = code->ptx ? malloc(code->ptx_bytes + 1) : NULL;
    if (!copy.cubin || (code->ptx && !copy.ptx)) {
        gt_code_finish(&copy);
        return gt_fail_memory();
    }
    memcpy(copy.cubin, code->cubin, code->cubin_bytes);
    if (code->ptx)
        memcpy(copy.ptx, code->ptx, code->ptx_bytes);
    *out = copy;
    return GT_OK;
}

const char *gt_class_text(const gt_class *class, char text[GT_CLASS_LENGTH])
{
    const gt_types *types = gt_class_types(class);
    snprintf(text, GT_CLASS_LENGTH, "%s %s %s %s %d", types ? types->name : "unknown", gt_math_name(class->math),
             gt_epilogue_name(class->epilogue), gt_class_layout(class), class->align);
    return text;
}

bool gt_class_parse(const char *text, gt_class *out)
{
    char types[GT_CLASS_LENGTH], math[GT_CLASS_LENGTH], epilogue[GT_CLASS_LENGTH], layout[GT_CLASS_LENGTH];
    char again[GT_CLASS_LENGTH];
    gt_class class = {0};
    if (strlen(text) >= GT_CLASS_LENGTH ||
        sscanf(text, "%s %s %s %s %d", types, math, epilogue, layout, &class.align) != 5)
        return false;
    const gt_types *found = gt_math_parse(math, &class.math) ? gt_types_parse(types, class.math) : NULL;
    if (!found || gt_layout_parse(layout, &class.op_a, &class.op_b) != GT_OK || class.align < 1 || class.align > 16 ||
        (class.align & (class.align - 1)) != 0)
        return false;
    class.type_a = found->a;
    class.type_b = found->b;
    class.type_c = found->c;
    while (strcmp(gt_epilogue_name(class.epilogue), epilogue) != 0 &&
           strcmp(gt_epilogue_name(class.epilogue), "unknown") != 0)
        class.epilogue++;
    /* One class, one text: what is spelled in any other way was not written here. */
    if (strstr(text, "unknown") || strcmp(gt_class_text(&class, again), text) != 0)
        return false;
    *out = class;
    return true;
}

void gt_kernel_seal(const gt_kernel *kernel, const gt_class *class, const char *cubin_hash, const char *ptx_hash,
                    char seal[GT_HASH_LENGTH])
{
    char text[1024 + GT_FACT_COUNT * FACT_LINE], name[GT_CLASS_LENGTH];
    int length = snprintf(text, sizeof text,
                          "class=%s\nfamily=%.*s\nsource=%.*s\nnvrtc=%.*s\narch=%.*s\ncubin=%.*s\nptx=%.*s\n",
                          gt_class_text(class, name), GT_FAMILY_LENGTH, kernel->family, GT_HASH_LENGTH,
                          kernel->source_hash, (int)sizeof kernel->nvrtc, kernel->nvrtc, (int)sizeof kernel->arch,
                          kernel->arch, GT_HASH_LENGTH, cubin_hash, GT_HASH_LENGTH, ptx_hash);
    for (size_t i = 0; i < GT_FACT_COUNT; i++)
        if (gt_fact_value(&kernel->facts, i) != gt_fact_rows[i].absent)
            length += snprintf(text + length, FACT_LINE, "%s=%lld\n", gt_fact_rows[i].name,
                               (long long)gt_fact_value(&kernel->facts, i));
    gt_hash(text, (size_t)length, seal);
}
