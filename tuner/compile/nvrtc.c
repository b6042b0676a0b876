#include "nvrtc.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/core/environment.h"
#include "../../src/core/status.h"

#define STRING_(x) #x
#define STRING(x)  STRING_(x)

/* Where NVRTC may lie: a pattern, under the folder an environment variable names or as it stands. */
static const struct {
    int variable; /* a gt_variable, or -1 */
    const char *pattern;
} places[] = {
    {GT_ENV_CUDA_HOME, "/lib64/libnvrtc.so"},
    {GT_ENV_CUDA_HOME, "/lib64/libnvrtc.so.1[0-9]"},
    {-1, "/usr/local/cuda/lib64/libnvrtc.so"},
    {-1, "/usr/local/cuda/lib64/libnvrtc.so.1[0-9]"},
    {-1, "/usr/local/cuda-1[2-9]*/lib64/libnvrtc.so"},
    {-1, "/opt/cuda/lib64/libnvrtc.so"},
    {-1, "/usr/lib/*/libnvrtc.so.1[2-9]*"},
    {GT_ENV_PYTHON, "/lib/python3*/site-packages/nvidia/cu1[3-9]/lib/libnvrtc.so.1[3-9]"},
    {GT_ENV_PYTHON, "/lib/python3*/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.1[2-9]"},
    {GT_ENV_HOME, "/.local/lib/python3*/site-packages/nvidia/cu1[3-9]/lib/libnvrtc.so.1[3-9]"},
    {-1, "/usr/local/lib/python3*/*-packages/nvidia/cu1[3-9]/lib/libnvrtc.so.1[3-9]"},
};

static const char *const loader_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

/* What the loader says of the first file that is there and cannot be loaded. */
#define REASON_LENGTH 512

static void *open_place(size_t i, char reason[REASON_LENGTH])
{
    char pattern[1024];
    const char *root = places[i].variable < 0 ? "" : gt_environment((gt_variable)places[i].variable);
    void *library = NULL;
    glob_t found;
    if (!root)
        return NULL;
    snprintf(pattern, sizeof pattern, "%s%s", root, places[i].pattern);
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t j = 0; !library && j < found.gl_pathc; j++)
            if (!(library = dlopen(found.gl_pathv[j], RTLD_NOW | RTLD_LOCAL)) && !*reason)
                snprintf(reason, REASON_LENGTH, "%s", dlerror());
        globfree(&found);
    }
    return library;
}

static void *find_library(char reason[REASON_LENGTH])
{
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof places / sizeof places[0]; i++)
        library = open_place(i, reason);
    for (size_t i = 0; !library && i < sizeof loader_names / sizeof loader_names[0]; i++)
        library = dlopen(loader_names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

static gt_status fail_open(const char *path, const char *reason)
{
    if (path)
        return gt_fail(GT_ERROR_NO_COMPILER, "cannot load NVRTC '%s': %s", path, dlerror());
    if (*reason)
        return gt_fail(GT_ERROR_NO_COMPILER, "NVRTC cannot be loaded: %s; name another one with --nvrtc", reason);
    return gt_fail(GT_ERROR_NO_COMPILER, "NVRTC (libnvrtc.so) not found in $CUDA_HOME, /usr/local/cuda, the loader's path or "
                                         "Python's packages: install the CUDA toolkit, or `pip install "
                                         "nvidia-cuda-nvrtc`, or name it with --nvrtc or $GEMMTUNE_NVRTC");
}

gt_status gt_nvrtc_open(const char *path, gt_nvrtc **out)
{
    char reason[REASON_LENGTH] = "";
    gt_status status = GT_OK;
    struct link_map *map;
    int major, minor;
    gt_nvrtc *nvrtc = calloc(1, sizeof *nvrtc);
    if (!nvrtc)
        return gt_fail_memory();
    if (!path)
        path = gt_environment(GT_ENV_NVRTC);
    nvrtc->library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : find_library(reason);
    if (!nvrtc->library) {
        status = fail_open(path, reason);
        goto fail;
    }
#define X(symbol)                                                                                            \
    nvrtc->symbol = (__typeof__(nvrtc->symbol))dlsym(nvrtc->library, STRING(symbol));                        \
    if (!nvrtc->symbol) {                                                                                    \
        status = gt_fail(GT_ERROR_NO_COMPILER, "this NVRTC has no %s: 12.0 or newer is needed", STRING(symbol)); \
        goto fail;                                                                                           \
    }
    GT_NVRTC_SYMBOLS(X)
#undef X
    if (nvrtc->nvrtcVersion(&major, &minor) != NVRTC_SUCCESS) {
        status = gt_fail(GT_ERROR_NO_COMPILER, "NVRTC does not tell its version");
        goto fail;
    }
    snprintf(nvrtc->version, sizeof nvrtc->version, "%d.%d", major, minor);
    nvrtc->caches = major > 12 || (major == 12 && minor >= 9);
    if (dlinfo(nvrtc->library, RTLD_DI_LINKMAP, &map) == 0)
        snprintf(nvrtc->path, sizeof nvrtc->path, "%s", map->l_name);
    *out = nvrtc;
    return GT_OK;
fail:
    gt_nvrtc_close(nvrtc);
    return status;
}

void gt_nvrtc_close(gt_nvrtc *nvrtc)
{
    if (!nvrtc)
        return;
    /* The library stays loaded: what its C++ runtime allocated would be lost with it. */
    free(nvrtc);
}

/* The driver's cache, in the user's home, is for code that programs come back to. A run compiles thousands of kernels once
 * and stores those worth keeping: they would push other programs' code out, and looking for them loads the driver and
 * begins CUDA in the process that compiles. */
static const char no_cache[] = "--no-cache";

void gt_nvrtc_begin(const gt_nvrtc *nvrtc)
{
    const char *const options[] = {no_cache};
    sigset_t both, before;
    nvrtcProgram program;
    sigemptyset(&both);
    sigaddset(&both, SIGINT);
    sigaddset(&both, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &both, &before);
    if (nvrtc->nvrtcCreateProgram(&program, "", "nothing.cu", 0, NULL, NULL) == NVRTC_SUCCESS) {
        nvrtc->nvrtcCompileProgram(program, nvrtc->caches, options);
        nvrtc->nvrtcDestroyProgram(&program);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static char *read_log(const gt_nvrtc *nvrtc, nvrtcProgram program)
{
    size_t size = 0;
    char *log = NULL;
    if (nvrtc->nvrtcGetProgramLogSize(program, &size) == NVRTC_SUCCESS && size > 0 && (log = calloc(1, size + 1)))
        nvrtc->nvrtcGetProgramLog(program, log);
    return log;
}

/* The first line of a log that speaks of an error, else the first line. */
static void first_error(const char *log, char *line, size_t size)
{
    const char *at = strstr(log, "error");
    while (at && at > log && at[-1] != '\n')
        at--;
    at = at ? at : log;
    snprintf(line, size, "%.*s", (int)strcspn(at, "\n"), at);
}

/* Whatever else fails than the compilation of a source is no fault of the source: NVRTC is out of memory, or broken. */
static gt_status fail(const gt_nvrtc *nvrtc, nvrtcResult result)
{
    return gt_fail(GT_ERROR_NO_COMPILER, "NVRTC failed: %s", nvrtc->nvrtcGetErrorString(result));
}

static gt_status take_code(const gt_nvrtc *nvrtc, nvrtcProgram program, gt_code *out)
{
    gt_code code = {0};
    nvrtcResult result = nvrtc->nvrtcGetCUBINSize(program, &code.cubin_bytes);
    if (result == NVRTC_SUCCESS)
        result = nvrtc->nvrtcGetPTXSize(program, &code.ptx_bytes);
    if (result != NVRTC_SUCCESS)
        return fail(nvrtc, result);
    if (code.cubin_bytes == 0)
        return gt_fail(GT_ERROR_NO_COMPILER, "NVRTC gave no code");
    code.cubin = malloc(code.cubin_bytes);
    code.ptx = malloc(code.ptx_bytes + 1);
    if (!code.cubin || !code.ptx) {
        gt_code_finish(&code);
        return gt_fail_memory();
    }
    result = nvrtc->nvrtcGetCUBIN(program, code.cubin);
    if (result == NVRTC_SUCCESS)
        result = nvrtc->nvrtcGetPTX(program, code.ptx);
    if (result != NVRTC_SUCCESS) {
        gt_code_finish(&code);
        return fail(nvrtc, result);
    }
    *out = code;
    return GT_OK;
}

/* The assembler's optimisation level that a source asks for with "#define PTXAS 1"; 3 unless it does. Rendered values
 * stand before a template's own defaults. */
static int assembler_level(const char *source)
{
    static const char mark[] = "#define PTXAS ";
    const char *at = strstr(source, mark);
    return at && at[sizeof mark - 1] >= '1' && at[sizeof mark - 1] <= '3' ? at[sizeof mark - 1] - '0' : 3;
}

gt_status gt_nvrtc_compile(const gt_nvrtc *nvrtc, const char *source, const char *arch, gt_code *code, char **log)
{
    char target[48], level[32], line[400];
    snprintf(target, sizeof target, "--gpu-architecture=%s", arch);
    snprintf(level, sizeof level, "--ptxas-options=-O%d", assembler_level(source));
    const char *const options[] = {target, "--std=c++17", level, no_cache};
    const int count = (int)(sizeof options / sizeof options[0]) - !nvrtc->caches;
    nvrtcProgram program;
    gt_status status;
    nvrtcResult result = nvrtc->nvrtcCreateProgram(&program, source, "kernel.cu", 0, NULL, NULL);
    if (result != NVRTC_SUCCESS)
        return fail(nvrtc, result);
    result = nvrtc->nvrtcCompileProgram(program, count, options);
    char *text = read_log(nvrtc, program);
    if (result == NVRTC_SUCCESS) {
        status = take_code(nvrtc, program, code);
    } else if (result != NVRTC_ERROR_COMPILATION) {
        status = fail(nvrtc, result);
    } else {
        first_error(text && *text ? text : nvrtc->nvrtcGetErrorString(result), line, sizeof line);
        status = gt_fail(GT_ERROR_COMPILE, "%s", line);
    }
    if (log)
        *log = text;
    else
        free(text);
    nvrtc->nvrtcDestroyProgram(&program);
    return status;
}
