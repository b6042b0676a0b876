/* NVIDIA's libraries that may or may not be there: found at run time. */
#ifndef GT_LIBRARY_H
#define GT_LIBRARY_H

/* Opens lib<name>.so, the newest version that is known first, on the loader's path, in $CUDA_HOME and in the usual
 * toolkit folder. NULL if it is in none of them; the caller's to dlclose(). */
void *gt_library_open(const char *name);

/* The file an open library was loaded from; "unknown place" if that cannot be told. Valid while it is open. */
const char *gt_library_path(void *library);

#endif
