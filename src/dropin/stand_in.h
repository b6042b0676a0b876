/* What a program that finds cuBLAS's functions by dlsym gets in their place. */
#ifndef GT_STAND_IN_H
#define GT_STAND_IN_H

/* The function of the front's for one that dlsym found under a name; the same one where that is none of cuBLAS's, or is
 * not answered. Exported, in version "gemmtune". */
void *gt_cublas_stand_in(const char *name, void *found);

#endif
