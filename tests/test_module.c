/* What a kernel's code says of itself is held against its facts before anything is launched. */
#include <elf.h>

#include "../src/core/cubin.h"
#include "../src/core/module.h"
#include "driver_fixture.h"

#define SOURCE(attributes, shared)                                                                           \
    "extern \"C\" __global__ void " attributes " gemm(float *p) { __shared__ float s[" shared "];\n"         \
    "s[threadIdx.x % " shared "] = p[threadIdx.x]; __syncthreads(); p[threadIdx.x] = s[threadIdx.x / 2 % " shared "]; }"

static gt_kernel with_defaults(void)
{
    gt_kernel k = {.family = "mine", .params = {1, {{"bm", 8}}}};
    for (size_t i = 0; i < GT_FACT_COUNT; i++)
        *gt_fact(&k.facts, i) = gt_fact_rows[i].absent;
    k.facts.tile_m = k.facts.tile_n = 8;
    k.facts.threads = 64;
    return k;
}

static void check_loads(const gt_kernel *k, const gt_code *code)
{
    gt_module module;
    CHECK_OK(gt_module_load(cu, k, code, &module));
    gt_module_unload(cu, &module);
}

/* Refused with a line that names the kernel and this. */
static void check_corrupt(const gt_kernel *k, const gt_code *code, const char *what)
{
    gt_module module;
    CHECK_STATUS(gt_module_load(cu, k, code, &module), GT_ERROR_CORRUPT);
    if (!strstr(gt_error_message(), "kernel mine (bm=8)") || !strstr(gt_error_message(), what))
        check_fail(__FILE__, __LINE__, "%s", gt_error_message());
}

DEVICE_TEST(more_threads_than_the_code_allows_are_refused)
{
    gt_kernel k = with_defaults();
    gt_code code;
    open_context();
    compile(SOURCE("__launch_bounds__(96)", "64"), &code);
    check_loads(&k, &code);
    k.facts.threads = 96;
    check_loads(&k, &code);
    k.facts.threads = 97;
    check_corrupt(&k, &code, "threads of a block are at most 96 by its code, 97 by its facts");
    gt_code_finish(&code);
}

DEVICE_TEST(threads_and_clusters_that_the_code_insists_on_are_those)
{
    gt_kernel k = with_defaults();
    gt_code code;
    open_context();
    need_capability(90);
    compile(SOURCE("__block_size__((64, 1, 1), (2, 4, 1))", "64"), &code);
    k.facts.cluster_x = 2;
    k.facts.cluster_y = 4;
    CHECK_INT(gt_cubin_required_threads(code.cubin, code.cubin_bytes, "gemm"), 64);
    CHECK_INT(gt_cubin_required_threads(code.cubin, code.cubin_bytes, "gem"), 0);
    check_loads(&k, &code);
    k.facts.threads = 32;
    check_corrupt(&k, &code, "threads of a block are 64 by its code, 32");
    k.facts.threads = 64;
    k.facts.cluster_x = 1;
    check_corrupt(&k, &code, "cluster along tiles are 2 by its code, 1");
    k.facts.cluster_x = 2;
    k.facts.cluster_y = 2;
    check_corrupt(&k, &code, "cluster along K are 4 by its code, 2");
    gt_code_finish(&code);
}

DEVICE_TEST(a_kernel_that_is_said_to_have_epilogues_takes_their_arguments)
{
    gt_kernel k = with_defaults();
    gt_code code;
    open_context();
    compile("struct block { float *p; char rest[192]; };\n"
            "extern \"C\" __global__ void gemm(const __grid_constant__ block b) { b.p[0] = 1; }", &code);
    CHECK_INT(gt_cubin_parameter_bytes(code.cubin, code.cubin_bytes, "gemm"), GT_ARGS_BYTES);
    check_loads(&k, &code);
    k.facts.epilogue = 1;
    check_loads(&k, &code);
    gt_code_finish(&code);
    compile(SOURCE("", "64"), &code); /* as if its row in the database were another's */
    check_corrupt(&k, &code, "with those of epilogues, are 8 by its code, 200 by its facts");
    k.facts.epilogue = 0;
    check_loads(&k, &code);
    gt_code_finish(&code);
}

DEVICE_TEST(more_shared_memory_than_the_arrays_of_the_code_leave_is_refused)
{
    gt_kernel k = with_defaults();
    gt_code code;
    int limit;
    open_context();
    OK(cu->cuDeviceGetAttribute(&limit, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0));
    compile(SOURCE("", "1024"), &code);
    k.facts.smem_bytes = limit - 4096;
    check_loads(&k, &code);
    k.facts.smem_bytes++;
    check_corrupt(&k, &code, "shared memory");
    gt_code_finish(&code);
}

/* In memory that ends where the cubin does: to read beyond is seen by a sanitizer. */
static gt_code cut(const gt_code *whole, size_t bytes)
{
    gt_code code = {.cubin = malloc(bytes ? bytes : 1), .cubin_bytes = bytes, .ptx = whole->ptx,
                    .ptx_bytes = whole->ptx_bytes};
    memcpy(code.cubin, whole->cubin, bytes);
    return code;
}

DEVICE_TEST(a_cubin_that_is_cut_never_reaches_the_driver)
{
    const gt_kernel k = with_defaults();
    gt_code whole;
    open_context();
    compile(SOURCE("", "64"), &whole);
    for (size_t bytes = 0; bytes < whole.cubin_bytes; bytes += bytes < 64 ? 1 : 61) {
        gt_code code = cut(&whole, bytes);
        check_corrupt(&k, &code, bytes < 64 ? "shorter than an ELF header" : "ends before its");
        free(code.cubin);
    }
    check_loads(&k, &whole);
    gt_code_finish(&whole);
}

DEVICE_TEST(a_cubin_whose_tables_or_sections_lie_outside_is_refused)
{
    const gt_kernel k = with_defaults();
    gt_code whole;
    open_context();
    compile(SOURCE("", "64"), &whole);
    const Elf64_Ehdr *header = whole.cubin;
    const size_t section = header->e_shoff + sizeof(Elf64_Shdr), segment = header->e_phoff;
    const struct {
        size_t at, bytes;
        uint64_t value;
    } changes[] = {
        {0, 1, 'e'},
        {EI_CLASS, 1, ELFCLASS32},
        {offsetof(Elf64_Ehdr, e_shoff), 8, whole.cubin_bytes},
        {offsetof(Elf64_Ehdr, e_shoff), 8, UINT64_MAX - 63},
        {offsetof(Elf64_Ehdr, e_shnum), 2, 0xffff},
        {offsetof(Elf64_Ehdr, e_shnum), 2, 0},
        {offsetof(Elf64_Ehdr, e_shstrndx), 2, 0xffff},
        {offsetof(Elf64_Ehdr, e_phoff), 8, whole.cubin_bytes - 1},
        {offsetof(Elf64_Ehdr, e_phnum), 2, 0xffff},
        {section + offsetof(Elf64_Shdr, sh_offset), 8, whole.cubin_bytes + 1},
        {section + offsetof(Elf64_Shdr, sh_size), 8, UINT64_MAX},
        {segment + offsetof(Elf64_Phdr, p_filesz), 8, whole.cubin_bytes + 1},
    };
    CHECK(header->e_phnum > 0);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        gt_code code = cut(&whole, whole.cubin_bytes);
        memcpy((char *)code.cubin + changes[i].at, &changes[i].value, changes[i].bytes);
        check_corrupt(&k, &code, "the cubin of");
        free(code.cubin);
    }
    gt_code_finish(&whole);
}

CHECK_MAIN
