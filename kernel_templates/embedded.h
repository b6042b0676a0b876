/* Templates and spaces as embed.py put them into the program. */
#ifndef GT_EMBEDDED_H
#define GT_EMBEDDED_H

struct gt_embedded_family {
    const char *name, *source, *space;
};

extern const struct gt_embedded_family gt_embedded_families[]; /* ends with a NULL name */
extern const char gt_embedded_gemm_cuh[];

#endif
