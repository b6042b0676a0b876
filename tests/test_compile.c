/* Candidates go into the compiler's threads and come out again: as code, or with their error, or not at all. */
#include "../tuner/compile/compile.h"
#include "../tuner/compile/render.h"
#include "../tuner/search/search.h"
#include "check.h"

static gt_nvrtc *nvrtc_or_skip(void)
{
    gt_nvrtc *nvrtc;
    if (gt_nvrtc_open(NULL, &nvrtc) != GT_OK)
        SKIP(gt_error_message());
    return nvrtc;
}

TEST(what_does_not_compile_comes_back_with_the_first_error)
{
    gt_nvrtc *nvrtc = nvrtc_or_skip();
    gt_compiler *compiler;
    gt_compiled compiled;
    gt_kernel kernel = {.arch = "sm_80"};
    CHECK_OK(gt_compiler_create(nvrtc, 2, &compiler));
    CHECK_OK(gt_compiler_submit(compiler, &kernel, strdup("extern \"C\" __global__ void gemm() { nonsense; }\n"), NULL));
    CHECK_OK(gt_compiler_submit(compiler, &kernel, strdup("extern \"C\" __global__ void gemm() {}\n"), &kernel));
    CHECK(gt_compiler_next(compiler, &compiled));
    CHECK_STATUS(compiled.status, GT_ERROR_COMPILE);
    CHECK(strstr(compiled.detail, "nonsense"));
    CHECK(gt_compiler_next(compiler, &compiled)); /* in the order of submission */
    CHECK_OK(compiled.status);
    CHECK(compiled.tag == &kernel);
    gt_code_finish(&compiled.code);
    CHECK(!gt_compiler_next(compiler, &compiled));
    gt_compiler_destroy(compiler);
    gt_nvrtc_close(nvrtc);
}

TEST(a_dependent_launch_that_does_not_wait_is_refused)
{
    gt_nvrtc *nvrtc = nvrtc_or_skip();
    gt_compiler *compiler;
    gt_compiled compiled;
    gt_kernel kernel = {.family = "mine", .arch = "sm_90a", .facts.dependent_launch = 1};
    CHECK_OK(gt_compiler_create(nvrtc, 1, &compiler));
    CHECK_OK(gt_compiler_submit(compiler, &kernel, strdup("extern \"C\" __global__ void gemm() {}\n"), NULL));
    CHECK_OK(gt_compiler_submit(compiler, &kernel, strdup("extern \"C\" __global__ void gemm()\n"
                                                          "{ asm volatile(\"griddepcontrol.wait;\"); }\n"), NULL));
    CHECK(gt_compiler_next(compiler, &compiled));
    CHECK_STATUS(compiled.status, GT_ERROR_COMPILE);
    CHECK(strstr(compiled.detail, "mine.sql") && !compiled.code.cubin);
    CHECK(gt_compiler_next(compiler, &compiled));
    CHECK_OK(compiled.status);
    gt_code_finish(&compiled.code);
    gt_compiler_destroy(compiler);
    gt_nvrtc_close(nvrtc);
}

TEST(a_kernel_that_cannot_be_found_or_keeps_variables_is_refused)
{
    static const struct {
        const char *source, *says;
    } wrong[] = {
        {"extern \"C\" __global__ void mine() {}\n", "extern \"C\" __global__ void gemm"},
        {"__global__ void gemm() {}\n", "extern \"C\" __global__ void gemm"},
        {"__device__ unsigned ticket;\nextern \"C\" __global__ void gemm() { atomicAdd(&ticket, 1); }\n", "ticket:"},
        {"__device__ float rooms[300];\nextern \"C\" __global__ void gemm() { rooms[threadIdx.x] = 1; }\n", "rooms:"},
        {"extern \"C\" __global__ void gemm(int *c) { static int calls; c[0] = calls++; }\n", "calls"},
    };
    static const char right[] = "__device__ const float table[3] = {1, 2, 3};\n__constant__ int constants[3];\n"
                                "constexpr int COUNT = 3, NONE = 0, LENGTHS[COUNT] = {1, 2, 3};\n"
                                "extern \"C\" __global__ void gemm(float *c)\n"
                                "{ c[0] = table[threadIdx.x] + LENGTHS[threadIdx.x] + COUNT + NONE + constants[threadIdx.x]; }\n";
    gt_nvrtc *nvrtc = nvrtc_or_skip();
    gt_compiler *compiler;
    gt_compiled compiled;
    gt_kernel kernel = {.family = "mine", .arch = "sm_90a"};
    CHECK_OK(gt_compiler_create(nvrtc, 1, &compiler));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK_OK(gt_compiler_submit(compiler, &kernel, strdup(wrong[i].source), NULL));
        CHECK(gt_compiler_next(compiler, &compiled));
        CHECK_STATUS(compiled.status, GT_ERROR_COMPILE);
        CHECK(strstr(compiled.detail, "mine.cu") && strstr(compiled.detail, wrong[i].says) && !compiled.code.cubin);
    }
    CHECK_OK(gt_compiler_submit(compiler, &kernel, strdup(right), NULL));
    CHECK(gt_compiler_next(compiler, &compiled));
    CHECK_OK(compiled.status);
    gt_code_finish(&compiled.code);
    gt_compiler_destroy(compiler);
    gt_nvrtc_close(nvrtc);
}

/* The order of multiply-adds is the author's at the first level only: the code is another. */
TEST(a_source_chooses_the_assemblers_level)
{
    static const char body[] = "extern \"C\" __global__ void gemm(float *a) { float s[32];\n"
                               "for (int i = 0; i < 32; i++) s[i] = a[i];\n"
                               "for (int k = 0; k < 99; k++)\n#pragma unroll\n"
                               "for (int i = 0; i < 32; i++) s[i] += s[(i + 5) % 32] * a[i + k];\n"
                               "for (int i = 0; i < 32; i++) a[i] = s[i]; }\n";
    gt_nvrtc *nvrtc = nvrtc_or_skip();
    gt_code plain, third, first;
    char source[sizeof body + 32];
    CHECK_OK(gt_nvrtc_compile(nvrtc, body, "sm_80", &plain, NULL));
    snprintf(source, sizeof source, "#define PTXAS 3\n%s", body);
    CHECK_OK(gt_nvrtc_compile(nvrtc, source, "sm_80", &third, NULL));
    snprintf(source, sizeof source, "#define PTXAS 1\n%s", body);
    CHECK_OK(gt_nvrtc_compile(nvrtc, source, "sm_80", &first, NULL));
    CHECK(plain.cubin_bytes == third.cubin_bytes && memcmp(plain.cubin, third.cubin, plain.cubin_bytes) == 0);
    CHECK(plain.cubin_bytes != first.cubin_bytes || memcmp(plain.cubin, first.cubin, plain.cubin_bytes) != 0);
    gt_code_finish(&plain);
    gt_code_finish(&third);
    gt_code_finish(&first);
    gt_nvrtc_close(nvrtc);
}

/* Each family that a search begins with, rendered for this generation of GPUs and given to the compiler; returns how many. */
static int submit_families(gt_compiler *compiler, const gt_families *families, int cc, gt_type type)
{
    gt_device device;
    gt_problem problem;
    gt_search *search;
    gt_candidate **round;
    size_t count;
    int submitted = 0;
    const gt_gemm gemm = GT_GEMM(type, 1024, 1024, 1024);
    CHECK_OK(gt_device_model(cc, &device));
    device.sm_count = 100;
    device.clock_khz = 1500000;
    device.l2_bytes = 40 << 20;
    CHECK_OK(gt_problem_init(&gemm, &problem));
    CHECK_OK(gt_search_create(families, &device, &problem, &(gt_search_options){.effort = GT_EFFORT_NORMAL}, &search));
    CHECK_OK(gt_search_round(search, &round, &count));
    CHECK(count > 0);
    for (size_t i = 0; i < count; i++) {
        char *source;
        size_t before = 0;
        while (round[before]->space != round[i]->space)
            before++;
        if (before < i)
            continue;
        CHECK_OK(gt_render(round[i]->space->family, &problem.class, GT_VARIANT_FAST, &round[i]->kernel, &source));
        CHECK_OK(gt_compiler_submit(compiler, &round[i]->kernel, source, NULL));
        submitted++;
    }
    gt_search_destroy(search);
    return submitted;
}

TEST(what_a_search_begins_with_compiles_for_every_generation_of_gpus)
{
    static const int generations[] = {75, 80, 86, 89, 90, 100, 120};
    gt_nvrtc *nvrtc = nvrtc_or_skip();
    gt_compiler *compiler;
    gt_compiled compiled;
    gt_families families;
    int submitted = 0;
    CHECK_OK(gt_families_init(NULL, &families));
    CHECK_OK(gt_compiler_create(nvrtc, 2, &compiler));
    for (size_t i = 0; i < sizeof generations / sizeof generations[0]; i++)
        submitted += submit_families(compiler, &families, generations[i], GT_F16);
    for (; gt_compiler_next(compiler, &compiled); submitted--) {
        if (compiled.status != GT_OK)
            printf("%s for %s: %s\n", compiled.kernel.family, compiled.kernel.arch, compiled.detail);
        CHECK_OK(compiled.status);
        gt_code_finish(&compiled.code);
    }
    CHECK_INT(submitted, 0);
    gt_compiler_destroy(compiler);
    gt_families_finish(&families);
    gt_nvrtc_close(nvrtc);
}

#define JOBS 50

/* Queues kernels that take a while to compile, with numbers for hashes. */
static void submit_jobs(gt_compiler *compiler, void *tag)
{
    gt_kernel kernel = {.arch = "sm_80"};
    for (int i = 0; i < JOBS; i++) {
        snprintf(kernel.source_hash, sizeof kernel.source_hash, "%d", i);
        CHECK_OK(gt_compiler_submit(compiler, &kernel, strdup("extern \"C\" __global__ void gemm() {}\n"), tag));
    }
}

/* Takes what is finished; gives how many there were, and the last one. */
static int take_jobs(gt_compiler *compiler, gt_compiled *last)
{
    int taken = 0;
    for (; gt_compiler_next(compiler, last); taken++)
        gt_code_finish(&last->code);
    return taken;
}

TEST(dropped_work_does_not_come_back)
{
    gt_nvrtc *nvrtc = nvrtc_or_skip();
    gt_compiler *compiler;
    gt_compiled compiled;
    CHECK_OK(gt_compiler_create(nvrtc, 1, &compiler));
    submit_jobs(compiler, NULL);
    gt_compiler_drop(compiler, NULL);
    CHECK(take_jobs(compiler, &compiled) < JOBS);
    gt_compiler_destroy(compiler);
    gt_nvrtc_close(nvrtc);
}

TEST(what_others_wait_for_is_not_dropped)
{
    gt_nvrtc *nvrtc = nvrtc_or_skip();
    gt_compiler *compiler;
    gt_compiled compiled;
    int mine;
    CHECK_OK(gt_compiler_create(nvrtc, 1, &compiler));
    submit_jobs(compiler, &mine);
    CHECK(gt_compiler_share(compiler, "49") && !gt_compiler_share(compiler, "50"));
    gt_compiler_drop(compiler, &mine);
    CHECK(take_jobs(compiler, &compiled) < JOBS);
    CHECK_STR(compiled.kernel.source_hash, "49");
    CHECK(!gt_compiler_share(compiler, "49"));
    gt_compiler_destroy(compiler);
    gt_nvrtc_close(nvrtc);
}

static int options_told; /* how often the compiler was told to keep nothing, since the last look */

static nvrtcResult note_options(nvrtcProgram program, int count, const char *const *options)
{
    (void)program;
    for (int i = 0; i < count; i++)
        options_told += strcmp(options[i], "--no-cache") == 0;
    return NVRTC_ERROR_COMPILATION;
}

/* Candidates would push other programs' code out of the driver's cache. Versions without a cache refuse the option. */
TEST(a_compiler_that_keeps_code_is_told_not_to)
{
    gt_nvrtc *nvrtc = nvrtc_or_skip();
    for (int caches = 0; caches <= 1; caches++) {
        gt_nvrtc noting = *nvrtc;
        gt_code code;
        noting.nvrtcCompileProgram = note_options;
        noting.caches = caches;
        options_told = 0;
        gt_nvrtc_begin(&noting);
        CHECK_STATUS(gt_nvrtc_compile(&noting, "", "sm_80", &code, NULL), GT_ERROR_COMPILE);
        CHECK_INT(options_told, 2 * caches);
    }
    CHECK_INT(nvrtc->caches, atof(nvrtc->version) >= 12.9);
    gt_nvrtc_close(nvrtc);
}

TEST(a_missing_compiler_is_named)
{
    gt_nvrtc *nvrtc;
    CHECK_STATUS(gt_nvrtc_open("/nowhere/libnvrtc.so", &nvrtc), GT_ERROR_NO_COMPILER);
    CHECK(strstr(gt_error_message(), "/nowhere/libnvrtc.so"));
}

/* Compiles the first configuration of a family's space with one fact changed. */
static gt_status compile_changed(const gt_nvrtc *nvrtc, const char *name, int64_t threads, int64_t smem, int64_t ws_tile)
{
    gt_families families;
    gt_device device;
    gt_problem problem;
    gt_space space;
    gt_kernel kernel;
    gt_code code = {0};
    char *source;
    const gt_gemm gemm = GT_GEMM(GT_F32, 512, 512, 512);
    CHECK_OK(gt_families_init(NULL, &families));
    CHECK_OK(gt_device_model(90, &device));
    device.sm_count = 132;
    CHECK_OK(gt_problem_init(&gemm, &problem));
    CHECK_OK(gt_space_init(gt_families_find(&families, name), &device, &problem, &space));
    CHECK_OK(gt_space_kernel(&space, 0, &device, &kernel));
    kernel.facts.threads += threads;
    kernel.facts.smem_bytes += smem;
    kernel.facts.ws_tile += ws_tile;
    CHECK_OK(gt_render(gt_families_find(&families, name), &problem.class, GT_VARIANT_FAST, &kernel, &source));
    const gt_status status = gt_nvrtc_compile(nvrtc, source, device.arch, &code, NULL);
    free(source);
    gt_code_finish(&code);
    gt_space_finish(&space);
    gt_families_finish(&families);
    return status;
}

TEST(a_space_whose_formula_is_not_its_templates_does_not_compile)
{
    static const char *const families[] = {"simt", "simt_ws", "simt_cluster"};
    gt_nvrtc *nvrtc = nvrtc_or_skip();
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        CHECK_OK(compile_changed(nvrtc, families[i], 0, 0, 0));
        CHECK_STATUS(compile_changed(nvrtc, families[i], 32, 0, 0), GT_ERROR_COMPILE);
        CHECK(strstr(gt_error_message(), "THREADS"));
        CHECK_STATUS(compile_changed(nvrtc, families[i], 0, -16, 0), GT_ERROR_COMPILE);
        CHECK(strstr(gt_error_message(), "SMEM_BYTES"));
        CHECK_STATUS(compile_changed(nvrtc, families[i], 0, 0, 4), GT_ERROR_COMPILE);
        CHECK(strstr(gt_error_message(), "WS_TILE"));
    }
    CHECK_STATUS(compile_changed(nvrtc, "naive", 1, 0, 0), GT_ERROR_COMPILE);
    gt_nvrtc_close(nvrtc);
}

CHECK_MAIN
