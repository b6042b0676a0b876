/* plan_program SIZE...: what the library plans for a cube of f32, a line for each: how it was chosen, and what. Lines
 * of the library's log come first. */
#include <gemmtune.h>
#include <stdio.h>
#include <stdlib.h>

static void tell(void *data, const char *message)
{
    (void)data;
    printf("log: %s\n", message);
}

int main(int argc, char **argv)
{
    static const char *const choices[] = {"exact", "predicted", "fallback"};
    const gt_options options = {.log = tell};
    gt_context *context;
    if (gt_open(&options, &context) != GT_OK)
        return fprintf(stderr, "%s\n", gt_error_message()), 1;
    for (int i = 1; i < argc; i++) {
        const long size = atol(argv[i]);
        const gt_gemm gemm = GT_GEMM(GT_F32, size, size, size);
        gt_description description;
        gt_plan *plan;
        if (gt_plan_gemm(context, &gemm, &plan) != GT_OK || gt_plan_describe(plan, &description) != GT_OK)
            return fprintf(stderr, "%s\n", gt_error_message()), 1;
        printf("%s %s\n", choices[description.choice], description.params);
        gt_plan_destroy(plan);
    }
    gt_close(context);
    return 0;
}
