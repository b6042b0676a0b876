/* NVRTC, $TEST_NVRTC, on a machine that is short of memory while $TEST_SHORT is a file: no candidate of `naive` compiles. */
#include <dlfcn.h>
#include <nvrtc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *find(const char *name)
{
    static void *library;
    if (!library && !(library = dlopen(getenv("TEST_NVRTC"), RTLD_NOW)))
        abort();
    return dlsym(library, name);
}

#define PASS_ON(name, parameters, arguments)               \
    nvrtcResult name parameters                            \
    {                                                      \
        return ((__typeof__(name) *)find(#name))arguments; \
    }

PASS_ON(nvrtcVersion, (int *major, int *minor), (major, minor))
PASS_ON(nvrtcDestroyProgram, (nvrtcProgram *program), (program))
PASS_ON(nvrtcGetProgramLogSize, (nvrtcProgram program, size_t *bytes), (program, bytes))
PASS_ON(nvrtcGetProgramLog, (nvrtcProgram program, char *log), (program, log))
PASS_ON(nvrtcGetCUBINSize, (nvrtcProgram program, size_t *bytes), (program, bytes))
PASS_ON(nvrtcGetCUBIN, (nvrtcProgram program, char *code), (program, code))
PASS_ON(nvrtcGetPTXSize, (nvrtcProgram program, size_t *bytes), (program, bytes))
PASS_ON(nvrtcGetPTX, (nvrtcProgram program, char *code), (program, code))

const char *nvrtcGetErrorString(nvrtcResult result)
{
    return ((__typeof__(nvrtcGetErrorString) *)find("nvrtcGetErrorString"))(result);
}

static __thread int is_candidate; /* what this thread compiles */

nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *source, const char *name, int count,
                               const char *const *headers, const char *const *names)
{
    is_candidate = strstr(source, "// gemmtune naive:") != NULL;
    return ((__typeof__(nvrtcCreateProgram) *)find("nvrtcCreateProgram"))(program, source, name, count, headers, names);
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char *const *options)
{
    if (is_candidate && access(getenv("TEST_SHORT"), F_OK) == 0)
        return NVRTC_ERROR_OUT_OF_MEMORY;
    return ((__typeof__(nvrtcCompileProgram) *)find("nvrtcCompileProgram"))(program, count, options);
}
