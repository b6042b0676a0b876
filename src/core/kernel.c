#include "kernel.h"

#include <stdlib.h>
#include <string.h>

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
