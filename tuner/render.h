/* From a configuration to one self-contained source text. */
#ifndef GT_RENDER_H
#define GT_RENDER_H

#include "space.h"

/*
 * Renders a family's template for a problem and the tunables in params ("bm=128 bn=256"), and gives the text's
 * hash. The same problem class (types, layout, alignment) and params give the same bytes. GT_ERROR_INVALID if the
 * template does not mention a tunable. *source is owned by the caller: free().
 */
gt_status gt_render(const gt_family *family, const gt_problem *problem, const char *params,
                    char **source, char hash[GT_HASH_LENGTH]);

#endif
