/* A software GPU without its driver: device memory, modules from PTX or CUDA source, and matrix products on them. */
#ifndef SOFTGPU_FIXTURE_H
#define SOFTGPU_FIXTURE_H

#include "../src/core/launch.h"
#include "../src/softgpu/machine/exec.h"
#include "../src/softgpu/machine/module.h"
#include "../tuner/compile/compile.h"
#include "check.h"

#define SOFT_BYTES ((uint64_t)256 << 20)

static inline sg_memory *soft_memory(void)
{
    sg_memory *memory = sg_memory_create(SOFT_BYTES);
    CHECK(memory);
    return memory;
}

/* Device memory with the contents of host memory, or, with NULL, unwritten. */
static inline uint64_t soft_upload(sg_memory *memory, const void *data, size_t bytes)
{
    const uint64_t address = sg_memory_alloc(memory, bytes ? bytes : 1);
    CHECK(address);
    if (data && bytes) {
        memcpy((void *)(uintptr_t)address, data, bytes);
        sg_span_mark(sg_memory_find(memory, address), address, bytes);
    }
    return address;
}

static inline sg_module *soft_module(sg_memory *memory, const char *ptx)
{
    char message[SG_MESSAGE_LENGTH];
    sg_module *module = NULL;
    check_keep(ptx);
    if (sg_module_create(ptx, strlen(ptx), 90, memory, &module, message) != SG_PTX_OK)
        check_fail(__FILE__, __LINE__, "%s", message);
    return module;
}

static inline gt_nvrtc *soft_nvrtc(void)
{
    gt_nvrtc *nvrtc;
    if (gt_nvrtc_open(NULL, &nvrtc) != GT_OK)
        SKIP(gt_error_message());
    return nvrtc;
}

/* A module from CUDA source. */
static inline sg_module *soft_compile(const gt_nvrtc *nvrtc, sg_memory *memory, const char *source, const char *arch)
{
    gt_code code;
    CHECK_OK(gt_nvrtc_compile(nvrtc, source, arch, &code, NULL));
    sg_module *module = soft_module(memory, code.ptx);
    gt_code_finish(&code);
    return module;
}

/* A grid of one kernel with everything set but its sizes. */
static inline sg_grid soft_grid(const sg_module *module, const char *name, sg_memory *memory, const void *params,
                                unsigned blocks, unsigned threads)
{
    const sg_kernel *kernel = sg_module_kernel(module, name);
    CHECK(kernel);
    return (sg_grid){.kernel = kernel, .grid = {blocks, 1, 1}, .block = {threads, 1, 1}, .cluster = {1, 1, 1},
                     .params = params, .memory = memory, .sm_count = 132, .blocks_per_sm = 2};
}

#endif
