/* gemmtune render: the CUDA source of one configuration. */
#include <stdio.h>
#include <stdlib.h>

#include "output.h"
#include "pick.h"
#include "../compile/render.h"

int gt_cmd_render(const gt_options_cli *options)
{
    gt_families families = {0};
    gt_pick pick;
    char *source = NULL;
    gt_status status = gt_families_init(options->templates, &families);
    if (status == GT_OK && (status = gt_pick_init(options, &families, &pick)) == GT_ERROR_INVALID) {
        gt_families_finish(&families);
        return gt_print_usage_failure();
    }
    if (status == GT_OK)
        status = gt_render(pick.family, &pick.problem.class, GT_VARIANT_FAST, &pick.kernel, &source);
    if (status == GT_OK)
        fputs(source, stdout);
    free(source);
    gt_families_finish(&families);
    return status == GT_OK ? 0 : gt_print_failure();
}
