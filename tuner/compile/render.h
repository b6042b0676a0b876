/* From a configuration to one self-contained source text. */
#ifndef GT_RENDER_H
#define GT_RENDER_H

#include "../search/space.h"

typedef enum gt_variant {
    GT_VARIANT_FAST,
    GT_VARIANT_CHECKED, /* for compute-sanitizer: every lane arrives at barriers, as its racecheck wants to see it */
} gt_variant;

/*
 * Renders a family's template for a problem class and a kernel's parameters and facts: "#define BM 128" for a
 * parameter, "#define GT_THREADS 256" for a fact. Fills in the kernel's source hash. The same class and kernel give
 * the same bytes. GT_ERROR_INVALID if the template does not mention a parameter. *source is owned by the caller: free().
 */
gt_status gt_render(const gt_family *family, const gt_class *class, gt_variant variant, gt_kernel *kernel,
                    char **source);

#endif
