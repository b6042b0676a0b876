/* NVRTC, opened at run time. */
#ifndef GT_NVRTC_H
#define GT_NVRTC_H

#include <nvrtc.h>

#include "../../src/core/kernel.h"

#define GT_NVRTC_SYMBOLS(X)                                                                                  \
    X(nvrtcVersion) X(nvrtcGetErrorString) X(nvrtcCreateProgram) X(nvrtcDestroyProgram)                      \
    X(nvrtcCompileProgram) X(nvrtcGetProgramLogSize) X(nvrtcGetProgramLog)                                   \
    X(nvrtcGetCUBINSize) X(nvrtcGetCUBIN) X(nvrtcGetPTXSize) X(nvrtcGetPTX)

typedef struct gt_nvrtc {
    void *library;
    char version[16]; /* "13.0" */
    char path[512];   /* the file it was loaded from */
    bool caches;      /* 12.9 and newer keep what they compile in the driver's cache unless told not to */
#define X(symbol) __typeof__(symbol) *symbol;
    GT_NVRTC_SYMBOLS(X)
#undef X
} gt_nvrtc;

/* Opens the NVRTC at path, else the one that $GEMMTUNE_NVRTC names, and no other; without either it looks in $CUDA_HOME, the
 * usual toolkit folders, the loader's path, the pip wheel's folder. GT_ERROR_NO_COMPILER says where it looked. *nvrtc: gt_nvrtc_close. */
gt_status gt_nvrtc_open(const char *path, gt_nvrtc **nvrtc);
void gt_nvrtc_close(gt_nvrtc *nvrtc);

/* Compiles nothing. NVRTC's first compilation takes the process's handlers of SIGINT and SIGTERM, and gives them back at its
 * end: a signal meanwhile would end the process, from whatever thread. So it comes before other threads compile; takes 30 ms. */
void gt_nvrtc_begin(const gt_nvrtc *nvrtc);

/* Compiles one source for an architecture. GT_ERROR_COMPILE with the first error line as message; GT_ERROR_NO_COMPILER
 * or GT_ERROR_MEMORY where NVRTC or the machine fails, which says nothing of the source. The whole
 * log in *log where log is not NULL (owned: free()). Thread-safe. *code: gt_code_finish. */
gt_status gt_nvrtc_compile(const gt_nvrtc *nvrtc, const char *source, const char *arch, gt_code *code, char **log);

#endif
