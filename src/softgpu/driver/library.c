/* Code that programs load, as a library or as a module of a context, and the kernels in it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../machine/module.h"
#include "attach.h"
#include "library.h"

/* The real driver may put an image off until a kernel of it is asked for; here it is read at once. */

#define UNKNOWN_REGISTERS 32 /* of kernels loaded as PTX, which no assembler has seen */

void sg_library_free(sg_library *library)
{
    for (sg_function *next, *f = library->functions; f; f = next) {
        next = f->next;
        sg_handle_destroy(SG_FUNCTION, f->handle);
        free(f);
    }
    sg_handle_destroy(library->kind, library->handle);
    sg_module_destroy(library->module);
    sg_cubin_finish(&library->cubin);
    free(library);
}

static const CUresult ptx_results[] = {
    [SG_PTX_OK] = CUDA_SUCCESS,
    [SG_PTX_SYNTAX] = CUDA_ERROR_INVALID_PTX,
    [SG_PTX_UNSUPPORTED] = CUDA_ERROR_INVALID_PTX,
    [SG_PTX_TARGET] = CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
    [SG_PTX_MEMORY] = CUDA_ERROR_OUT_OF_MEMORY,
};

static CUresult fail(CUresult result, const char *why)
{
    snprintf(sg.report, sizeof sg.report, "%s", why);
    return result;
}

static CUresult load_ptx(const char *text, size_t bytes, sg_library *library)
{
    char message[SG_MESSAGE_LENGTH] = "";
    const sg_ptx_status status =
        sg_module_create(text, bytes, sg.profile->cc, sg.memory, &library->module, message);
    const size_t known = sizeof ptx_results / sizeof ptx_results[0];
    return status == SG_PTX_OK ? CUDA_SUCCESS
                               : fail((size_t)status < known ? ptx_results[status] : CUDA_ERROR_INVALID_PTX, message);
}

/* A cubin of the same generation and no newer runs. */
static bool runs_here(int cc)
{
    return cc / 10 == sg.profile->cc / 10 && cc % 10 <= sg.profile->cc % 10;
}

static CUresult load_cubin(const void *code, sg_library *library)
{
    size_t ptx_bytes = 0;
    const size_t bytes = sg_cubin_size(code);
    if (bytes == 0)
        return fail(CUDA_ERROR_INVALID_IMAGE, "this is no cubin");
    const char *ptx = sg_attached(code, bytes, &ptx_bytes);
    if (!ptx)
        return fail(CUDA_ERROR_NO_BINARY_FOR_GPU, "no PTX was attached to this cubin");
    if (!sg_cubin_read(code, bytes, &library->cubin))
        return fail(CUDA_ERROR_INVALID_IMAGE, "the cubin is damaged");
    library->assembled = true;
    return runs_here(library->cubin.cc) ? load_ptx(ptx, ptx_bytes, library)
                                        : fail(CUDA_ERROR_NO_BINARY_FOR_GPU, "the cubin is for another architecture");
}

/* Whether a text begins as PTX does: comments, then .version. */
static bool looks_like_ptx(const char *text)
{
    for (;;) {
        text += strspn(text, " \t\r\n");
        if (strncmp(text, "//", 2) == 0) {
            text += strcspn(text, "\n");
        } else if (strncmp(text, "/*", 2) == 0) {
            const char *end = strstr(text + 2, "*/");
            if (!end)
                return false;
            text = end + 2;
        } else {
            return strncmp(text, ".version", 8) == 0;
        }
    }
}

static CUresult load(const void *code, sg_library *library)
{
    if (strncmp(code, "\177ELF", 4) == 0)
        return load_cubin(code, library);
    if (looks_like_ptx(code))
        return load_ptx(code, strlen(code), library);
    return fail(CUDA_ERROR_INVALID_IMAGE, "neither a cubin nor PTX");
}

/* The one kind of options that matters: where to put the compiler's errors. */
static void put_log(const sg_jit *jit, const char *line)
{
    char *buffer = NULL;
    size_t *bytes = NULL;
    for (unsigned i = 0; i < jit->count; i++) {
        if (jit->options[i] == CU_JIT_ERROR_LOG_BUFFER)
            buffer = jit->values[i];
        else if (jit->options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            bytes = (size_t *)&jit->values[i];
    }
    if (!bytes)
        return;
    const unsigned room = (unsigned)*bytes; /* the option's value is an unsigned int in a pointer's place */
    if (buffer && room > 0) {
        snprintf(buffer, room, "%s", line);
        *bytes = strlen(buffer) + 1;
    }
}

CUresult sg_library_create(sg_kind kind, uint32_t owner, const void *code, const sg_jit *jit, void **handle)
{
    if (!handle || !code || (jit->count > 0 && (!jit->options || !jit->values)))
        return CUDA_ERROR_INVALID_VALUE;
    sg_library *library = calloc(1, sizeof *library);
    if (!library)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = load(code, library);
    put_log(jit, result == CUDA_SUCCESS ? "" : sg.report);
    library->kind = kind;
    if (result == CUDA_SUCCESS && !(library->handle = sg_handle_create(kind, owner, library)))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS)
        *handle = library->handle;
    else
        sg_library_free(library);
    return result;
}

/* What is known of a kernel's needs. False if a cubin and its PTX do not agree that there is such a kernel. */
static bool describe(const sg_library *library, const char *name, sg_function *function)
{
    const sg_cubin_kernel *assembled = library->assembled ? sg_cubin_find(&library->cubin, name) : NULL;
    if (!(function->code = sg_module_kernel(library->module, name)) || (library->assembled && !assembled))
        return false;
    const sg_kernel_facts *facts = function->facts = sg_kernel_describe(function->code);
    if (assembled)
        function->assembled = *assembled;
    else
        function->assembled = (sg_cubin_kernel){
            .registers = UNKNOWN_REGISTERS, .local_bytes = facts->local_bytes, .static_shared = facts->static_shared,
            .max_threads = facts->max_threads, .cluster = {facts->cluster[0], facts->cluster[1], facts->cluster[2]},
        };
    const int left = sg.profile->smem_per_block - (int)function->assembled.static_shared;
    function->max_dynamic_shared = left > 0 ? left : 0;
    function->carveout = -1;
    memcpy(function->cluster, function->assembled.cluster, sizeof function->cluster);
    return true;
}

CUresult sg_library_function(sg_library *library, const char *name, CUkernel *out)
{
    for (const sg_function *f = library->functions; f; f = f->next) {
        if (strcmp(f->facts->name, name) == 0) {
            *out = f->handle;
            return CUDA_SUCCESS;
        }
    }
    sg_function *function = calloc(1, sizeof *function);
    if (!function)
        return CUDA_ERROR_OUT_OF_MEMORY;
    const bool there = describe(library, name, function);
    if (!there || !(function->handle = sg_handle_create(SG_FUNCTION, SG_NOBODY, function))) {
        free(function);
        return there ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_NOT_FOUND;
    }
    function->library = library;
    function->next = library->functions;
    library->functions = function;
    *out = function->handle;
    return CUDA_SUCCESS;
}

CUresult sg_library_variable(const sg_library *library, const char *name, CUdeviceptr *address, size_t *bytes)
{
    uint64_t place = 0, size = 0;
    if (!name || (!address && !bytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (!sg_module_variable(library->module, name, &place, &size))
        return CUDA_ERROR_NOT_FOUND;
    if (address)
        *address = place;
    if (bytes)
        *bytes = size;
    return CUDA_SUCCESS;
}
