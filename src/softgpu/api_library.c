/* Code: libraries, modules and their kernels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach.h"
#include "limits.h"
#include "state.h"

/* The real driver may put an image off until a kernel of it is asked for; here it is read at once. */

#define UNKNOWN_REGISTERS 32 /* of kernels loaded as PTX, which no assembler has seen */

void sg_library_free(sg_library *library)
{
    for (sg_function *next, *f = library->functions; f; f = next) {
        next = f->next;
        sg_handle_destroy(SG_FUNCTION, f->handle);
        free(f);
    }
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

static CUresult load(const void *code, sg_library **out)
{
    sg_library *library = calloc(1, sizeof *library);
    if (!library)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result;
    if (strncmp(code, "\177ELF", 4) == 0)
        result = load_cubin(code, library);
    else if (looks_like_ptx(code))
        result = load_ptx(code, strlen(code), library);
    else
        result = fail(CUDA_ERROR_INVALID_IMAGE, "neither a cubin nor PTX");
    if (result == CUDA_SUCCESS)
        *out = library;
    else
        sg_library_free(library);
    return result;
}

/* The one kind of options that matters: where to put the compiler's errors. */
static void put_log(const CUjit_option *options, void **values, unsigned count, const char *line)
{
    char *buffer = NULL;
    size_t *bytes = NULL;
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
            buffer = values[i];
        else if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            bytes = (size_t *)&values[i];
    }
    if (!bytes)
        return;
    const unsigned room = (unsigned)*bytes; /* the option's value is an unsigned int in a pointer's place */
    if (buffer && room > 0) {
        snprintf(buffer, room, "%s", line);
        *bytes = strlen(buffer) + 1;
    }
}

CUresult CUDAAPI cuLibraryLoadData(CUlibrary *out, const void *code, CUjit_option *options, void **values,
                                   unsigned count, CUlibraryOption *library_options, void **library_values,
                                   unsigned library_count)
{
    CUresult result = sg_enter(SG_NEEDS_INIT);
    sg_library *library = NULL;
    if (result == CUDA_SUCCESS && (!out || !code || (count > 0 && (!options || !values)) ||
                                   (library_count > 0 && !library_options)))
        result = CUDA_ERROR_INVALID_VALUE;
    (void)library_values;
    if (result == CUDA_SUCCESS) {
        result = load(code, &library);
        put_log(options, values, count, result == CUDA_SUCCESS ? "" : sg.report);
    }
    if (result == CUDA_SUCCESS && !(*out = sg_handle_create(SG_LIBRARY, library))) {
        sg_library_free(library);
        result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    return sg_leave(result);
}

CUresult CUDAAPI cuLibraryUnload(CUlibrary handle)
{
    CUresult result = sg_enter(SG_NEEDS_INIT);
    if (result == CUDA_SUCCESS) {
        sg_library *library = sg_handle_destroy(SG_LIBRARY, handle);
        if (library)
            sg_library_free(library);
        else
            result = CUDA_ERROR_INVALID_HANDLE;
    }
    return sg_leave(result);
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
    return true;
}

static CUresult get_kernel(sg_library *library, const char *name, CUkernel *out)
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
    if (!there || !(function->handle = sg_handle_create(SG_FUNCTION, function))) {
        free(function);
        return there ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_NOT_FOUND;
    }
    function->next = library->functions;
    library->functions = function;
    *out = function->handle;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLibraryGetKernel(CUkernel *kernel, CUlibrary handle, const char *name)
{
    CUresult result = sg_enter(SG_NEEDS_INIT);
    sg_library *library = result == CUDA_SUCCESS ? sg_handle_find(SG_LIBRARY, handle) : NULL;
    if (result == CUDA_SUCCESS && !library)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS && (!kernel || !name))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = get_kernel(library, name, kernel);
    return sg_leave(result);
}

CUresult CUDAAPI cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes, CUlibrary handle, const char *name)
{
    CUresult result = sg_enter(SG_NEEDS_WORK);
    const sg_library *library = result == CUDA_SUCCESS ? sg_handle_find(SG_LIBRARY, handle) : NULL;
    uint64_t place = 0, size = 0;
    if (result == CUDA_SUCCESS && !library)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS && (!name || (!address && !bytes)))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && !sg_module_variable(library->module, name, &place, &size))
        result = CUDA_ERROR_NOT_FOUND;
    if (result == CUDA_SUCCESS && address)
        *address = place;
    if (result == CUDA_SUCCESS && bytes)
        *bytes = size;
    return sg_leave(result);
}
