/*
 * Every family multiplies right: configurations sampled from every space, for all types and math that the family
 * offers, rendered and compiled as the tuner does it and run through the driver: f32 in all layouts, others in one that
 * is drawn, and of the 8-bit floats, which are many, one in six. 107 of them on an H200; in the
 * environment CHECK_FAMILIES=N asks for N, CHECK_FAMILY=NAME for one family, CHECK_TYPE=NAME for one type, in all
 * layouts. The seed is fixed and printed; CHECK_SEED=N gives another. With CHECK_VERIFIED=1 each goes through the
 * tuner's own checks instead, one in four through all of them and others through the quick ones: none may refuse it.
 */
#include "../tuner/compile/compile.h"
#include "../tuner/worker/verify.h"
#include "params_fixture.h"
#include "product_fixture.h"

#define SEED    20261115u
#define SAMPLES 64
#define LEAST   1 /* configurations of a group; more of them in turn, until there are enough */

/* What the space is asked for. Tall tiles, wide ones, K that is worth splitting, small ones of any size. */
static const struct {
    int64_t m, n, k, batch;
} sizes[] = {{2048, 2048, 2048, 1}, {256, 256, 1024, 1}, {64, 512, 8192, 1}, {1008, 48, 304, 1}, {16, 4096, 512, 1},
             {24, 40, 48, 500}, {33, 17, 21, 500}, {200, 300, 100, 7}, {1, 3000, 700, 1}, {500, 700, 3, 1},
             {300, 500, 11, 1}};

static const int alignments[] = {16, 4, 8, 2, 1};

/* A family, types, a layout: what must be seen at least once. */
typedef struct group {
    const gt_family *family;
    const gt_types *types;
    gt_op op_a, op_b;
    size_t taken;
    bool on_ladder;
} group;

/* A compiled candidate's own. */
typedef struct sample {
    gt_gemm class;
} sample;

extern const char gt_embedded_checks_cu[];

static struct {
    gt_driver *driver;
    gt_device device;
    gt_nvrtc *nvrtc;
    gt_checks checks;
    gt_verifier verifier;
    gt_families families;
    group groups[1024];
    size_t group_count;
} shared;

static void open_all(void)
{
    CUcontext context;
    if (gt_driver_open(NULL, &shared.driver) != GT_OK || gt_nvrtc_open(NULL, &shared.nvrtc) != GT_OK)
        SKIP(gt_error_message());
    CHECK_OK(gt_device_query(shared.driver, 0, &shared.device));
    CHECK(shared.driver->cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
    CHECK(shared.driver->cuCtxSetCurrent(context) == CUDA_SUCCESS);
    CHECK_OK(gt_families_init(NULL, &shared.families));
}

/* A class of problems of a group: random size and alignment, down to one element's. */
static gt_gemm draw_class(const group *g)
{
    const size_t size = check_random() % (sizeof sizes / sizeof sizes[0]);
    const int align = alignments[check_random() % (sizeof alignments / sizeof alignments[0])];
    const int ab = gt_type_find(g->types->a)->bytes, c = gt_type_find(g->types->c)->bytes, least = ab < c ? ab : c;
    return (gt_gemm){.m = sizes[size].m, .n = sizes[size].n, .k = sizes[size].k,
                     .batch = sizes[size].batch, .op_a = g->op_a, .op_b = g->op_b,
                     .type_ab = g->types->a, .type_b = g->types->b, .type_c = g->types->c, .math = g->types->math,
                     .align = align > least ? align : least};
}

/* Submits one configuration of a group; false if the space is empty for the class that was drawn. */
static bool submit(gt_compiler *compiler, group *g)
{
    gt_problem problem;
    gt_space space;
    sample *s = calloc(1, sizeof *s);
    CHECK(s);
    s->class = draw_class(g);
    CHECK_OK(gt_problem_init(&s->class, &problem));
    problem.class.align = s->class.align; /* as if leading dimensions were odd */
    CHECK_OK(gt_space_init(g->family, &shared.device, &problem, &space));
    const bool any = space.rows > 0;
    g->on_ladder = gt_space_column(&space, "rung") >= 0;
    if (any) {
        gt_kernel kernel;
        char *source;
        CHECK_OK(gt_space_kernel(&space, check_random() % space.rows, &shared.device, &kernel));
        if (check_random() % 2) /* persistent blocks that are as many as a GPU holds have a tile each at most */
            gt_kernel_deal(&kernel, 1 + (int64_t)(check_random() % 2));
        CHECK_OK(gt_render(g->family, &problem.class, GT_VARIANT_FAST, &kernel, &source));
        CHECK_OK(gt_compiler_submit(compiler, &kernel, source, s));
        g->taken++;
    } else {
        free(s);
    }
    gt_space_finish(&space);
    return any;
}

/* Whether the family's code is seen with f32 already: other types are converted there. */
static bool is_converted(const group *g)
{
    const gt_types *f32 = gt_types_parse("f32", GT_MATH_STRICT);
    for (size_t i = 0; i < shared.group_count; i++)
        if (shared.groups[i].family == g->family && shared.groups[i].types == f32 && g->types != f32)
            return true;
    return false;
}

/* All groups that have a configuration for some class; each has submitted one. Of types that are converted a few are drawn,
 * and of 8-bit floats, whose mixes are many. */
static void find_groups(gt_compiler *compiler)
{
    const char *only = getenv("CHECK_FAMILY"), *type = getenv("CHECK_TYPE");
    for (size_t f = 0; f < shared.families.count; f++)
        for (size_t i = 0; gt_types_at(i); i++) {
            const unsigned drawn = (unsigned)(check_random() % 4);
            const uint64_t chance = check_random();
            for (unsigned layout = 0; layout < 4; layout++) {
                group g = {.family = &shared.families.list[f], .types = gt_types_at(i),
                           .op_a = layout & 2 ? GT_T : GT_N, .op_b = layout & 1 ? GT_T : GT_N};
                const bool left_out = g.types->unit == GT_UNIT_TENSOR_F8 ? chance % 18 != 0 : is_converted(&g) && chance % 12 != 0;
                if ((only && strcmp(only, g.family->name) != 0) || (type && strcmp(type, g.types->name) != 0) ||
                    (!type && ((i > 0 && layout != drawn) || left_out)))
                    continue;
                for (int tries = 0; !g.taken && tries < 20; tries++)
                    submit(compiler, &g);
                CHECK(shared.group_count < sizeof shared.groups / sizeof shared.groups[0]);
                if (g.taken)
                    shared.groups[shared.group_count++] = g;
            }
        }
    for (size_t f = 0; f < shared.families.count; f++) {
        bool seen = false;
        for (size_t i = 0; i < shared.group_count; i++)
            seen |= shared.groups[i].family == &shared.families.list[f];
        /* What Hopper has better, others have alone. */
        const bool for_others = strcmp(shared.families.list[f].name, "split_mma") == 0;
        if (!seen && !only && !type && (for_others ? shared.device.cc == 80 : shared.device.cc >= 90))
            check_fail(__FILE__, __LINE__, "%s has no configuration at all", shared.families.list[f].name);
    }
}

/* Some of a tile of K. */
static int64_t tail(int64_t bk)
{
    return 1 + (int64_t)(check_random() % (uint64_t)(bk > 1 ? bk - 1 : 1));
}

static const gt_types *types_of(const gt_gemm *class)
{
    return gt_types_find(class->type_ab, class->type_b ? class->type_b : class->type_ab, class->type_c, class->math);
}

/*
 * The products of one configuration: tails in every dimension and K longer than all stages, less than a tile, one row,
 * one column, no K, alpha or beta zero, batches, rows with and without a pad. A write between rows is seen where they
 * are guarded and beta is 0 (else it might be the NaN that it read there), or where its read of C is a fault. Then
 * one with an epilogue, if it has any.
 */
static void run_products(const gt_compiled *compiled, const gt_gemm *class)
{
    const gt_kernel *kernel = &compiled->kernel;
    const int64_t tm = kernel->facts.tile_m, tn = kernel->facts.tile_n;
    int64_t bk = 16, stages = 2;
    gt_module module;
    gt_params_find(&kernel->params, "bk", &bk);
    gt_params_find(&kernel->params, "stages", &stages);
    const product products[] = {
        {tm + 1 + (int64_t)(check_random() % 5), tn + 3, (stages + 1) * bk + tail(bk), 1, 3, 0, 5, true},
        {tm + 2, tn + 1, bk, 1, 2, 3, 1, false},
        {7, 13, bk + tail(bk), 3, 2, -2, 1, false},
        {1, tn + 1, 2 * bk, 2, -1, 0, 0, false},
        {tm + 1, 1, 3, 1, 2, 1, 3, true},
        {9, 11, 0, 2, 2, 3, 1, true},
        {6, 10, 17, 1, 0, 0, 2, true},
        {6, 10, 17, 2, 0, -1, 0, false},
    };
    if (gt_module_load(shared.driver, kernel, &compiled->code, &module) != GT_OK)
        check_fail(__FILE__, __LINE__, "%s %s for %s: %s", kernel->family, text_of(&kernel->params), kernel->arch,
                   gt_error_message());
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++) {
        gt_kernel launched = *kernel;
        if (kernel->facts.any_split && i % 2 == 0)
            gt_kernel_split(&launched, kernel->facts.cluster_y * (int64_t)(1 + check_random() % 5));
        product_run(shared.driver, &module, &launched, class, &products[i]);
    }
    const bool gelu = types_of(class)->accumulator == GT_F32;
    const product finished[] = {
        {tm + 1, tn + 2, kernel->facts.split_k * bk + tail(bk), 1, -2, 0, 3, true,
         gelu ? GT_EPILOGUE_GELU_BIAS : GT_EPILOGUE_RELU_BIAS, false},
        {5, tn + 1, bk + tail(bk), 2, 2, 3, 1, true, GT_EPILOGUE_RELU_BIAS, true},
    };
    if (kernel->facts.epilogue)
        product_run(shared.driver, &module, kernel, class, &finished[check_random() % 2]);
    gt_module_unload(shared.driver, &module);
}

static void open_verifier(void)
{
    CUstream stream;
    gt_code code;
    CHECK_OK(gt_nvrtc_compile(shared.nvrtc, gt_embedded_checks_cu, shared.device.arch, &code, NULL));
    CHECK(shared.driver->cuStreamCreate(&stream, CU_STREAM_DEFAULT) == CUDA_SUCCESS);
    CHECK_OK(gt_checks_init(shared.driver, stream, &code, &shared.checks));
    gt_verifier_init(&shared.checks, &shared.verifier);
    gt_code_finish(&code);
}

/* The tuner's checks of one configuration. */
static void verify(const gt_compiled *compiled, const gt_gemm *class)
{
    const gt_kernel *kernel = &compiled->kernel;
    gt_problem problem;
    gt_trial trial = {0};
    gt_kernel_runner runner = {0};
    const gt_extent extent = check_random() % 4 != 0 ? GT_EXTENT_FEW : GT_EXTENT_ALL;
    CHECK_OK(gt_problem_init(class, &problem));
    problem.class.align = class->align;
    if (!gt_verify_prepare(&shared.verifier, &problem.class, kernel, check_random(), extent, &trial) ||
        !gt_kernel_runner_init(shared.driver, &shared.device, shared.checks.stream, kernel, &compiled->code, &runner,
                               &trial) ||
        !gt_verify_run(&shared.verifier, &runner.runner, &trial) ||
        !gt_verify_judge(&shared.verifier, kernel, &trial))
        check_fail(__FILE__, __LINE__, "%s %s for %s, %s %s, align %d: refused, %s", kernel->family,
                   text_of(&kernel->params), kernel->arch, gt_class_types(&problem.class)->name,
                   gt_class_layout(&problem.class), class->align, trial.detail);
    gt_kernel_runner_finish(&runner);
}

/*
 * Submits further configurations, group by group, until there are enough of all and of each group; returns how many
 * there are. Spaces of families that only the ladder climbs are small: a few of them, and only if asked for more.
 */
static size_t submit_more(gt_compiler *compiler, size_t wanted, bool more)
{
    size_t count = shared.group_count;
    for (size_t round = 1, before = 0; before != count; round++) {
        before = count;
        for (size_t i = 0; i < shared.group_count; i++) {
            group *g = &shared.groups[i];
            const bool in_turn =
                g->on_ladder ? more && round < LEAST : (round < LEAST && !is_converted(g)) || count < wanted;
            for (int tries = 0; in_turn && tries < 20 && g->taken == round; tries++)
                count += submit(compiler, g);
        }
    }
    return count;
}

TEST(sampled_configurations_of_every_family_multiply_right)
{
    const char *more = getenv("CHECK_FAMILIES");
    const size_t wanted = more ? strtoul(more, NULL, 10) : SAMPLES;
    size_t ran = 0;
    gt_compiler *compiler;
    gt_compiled compiled;
    open_all();
    if (!getenv("CHECK_SEED"))
        check.random = SEED + (unsigned)shared.device.cc;
    printf("seed %llu\n", (unsigned long long)check.random);
    const bool verified = getenv("CHECK_VERIFIED") != NULL;
    if (verified)
        open_verifier();
    CHECK_OK(gt_compiler_create(shared.nvrtc, 2, &compiler));
    find_groups(compiler);
    const size_t submitted = submit_more(compiler, wanted, more != NULL);
    while (gt_compiler_next(compiler, &compiled)) {
        sample *s = compiled.tag;
        if (compiled.status != GT_OK)
            check_fail(__FILE__, __LINE__, "%s %s for %s: %s", compiled.kernel.family,
                       text_of(&compiled.kernel.params), compiled.kernel.arch, compiled.detail);
        CHECK(compiled.code.cubin_bytes > 0 && strstr(compiled.code.ptx, ".entry " GT_ENTRY));
        if (verified)
            verify(&compiled, &s->class);
        else
            run_products(&compiled, &s->class);
        gt_code_finish(&compiled.code);
        free(s);
        ran++;
    }
    printf("%zu configurations of %zu families in %zu groups, on %s\n", ran, shared.families.count, shared.group_count,
           shared.device.name);
    CHECK_INT(ran, submitted);
    CHECK(ran >= wanted);
    gt_compiler_destroy(compiler);
    gt_families_finish(&shared.families);
    gt_nvrtc_close(shared.nvrtc);
}

/* The outer product of all 8-bit floats of one type and all of the other, by naive: each must be the number it is. */
static void check_codes(const gt_types *types)
{
    enum { CODES = 256 };
    gt_gemm gemm = {.m = CODES, .n = CODES, .k = 1, .type_ab = types->a, .type_b = types->b, .type_c = types->c};
    const gt_type_info *a = gt_type_find(types->a), *b = gt_type_find(types->b);
    const gt_family *naive = NULL;
    uint8_t codes[CODES];
    float *c = malloc(CODES * CODES * sizeof *c);
    char *source, name[GT_TYPES_TEXT];
    gt_problem problem;
    gt_space space;
    gt_kernel kernel;
    gt_code code;
    gt_module module;
    gt_launch launch;
    CUdeviceptr on, on_c;
    for (size_t f = 0; f < shared.families.count; f++)
        if (strcmp(shared.families.list[f].name, "naive") == 0)
            naive = &shared.families.list[f];
    CHECK(naive && c);
    CHECK_OK(gt_problem_init(&gemm, &problem));
    CHECK_OK(gt_space_init(naive, &shared.device, &problem, &space));
    CHECK_OK(gt_space_kernel(&space, 0, &shared.device, &kernel));
    gt_space_finish(&space);
    CHECK_OK(gt_render(naive, &problem.class, GT_VARIANT_FAST, &kernel, &source));
    CHECK_OK(gt_nvrtc_compile(shared.nvrtc, source, shared.device.arch, &code, NULL));
    CHECK_OK(gt_module_load(shared.driver, &kernel, &code, &module));
    CHECK_OK(gt_launch_init(NULL, &kernel, &problem, &launch));
    for (int i = 0; i < CODES; i++)
        codes[i] = (uint8_t)i;
    CHECK(shared.driver->cuMemAlloc(&on, CODES) == CUDA_SUCCESS);
    CHECK(shared.driver->cuMemAlloc(&on_c, CODES * CODES * sizeof *c) == CUDA_SUCCESS);
    CHECK(shared.driver->cuMemcpyHtoD(on, codes, CODES) == CUDA_SUCCESS);
    const gt_launch_operands operands = {.a = (const void *)(uintptr_t)on, .b = (const void *)(uintptr_t)on,
                                         .c = (void *)(uintptr_t)on_c, .alpha = gt_scalar_make(types, 1)};
    product_launch(shared.driver, &module, &launch, &operands, gt_types_text(types, name));
    CHECK(shared.driver->cuMemcpyDtoH(c, on_c, CODES * CODES * sizeof *c) == CUDA_SUCCESS);
    for (int i = 0; i < CODES; i++)
        for (int j = 0; j < CODES; j++) {
            const double wanted = a->load(codes, i) * b->load(codes, j), got = (double)c[i * CODES + j];
            if (!(got == wanted || (isnan(got) && isnan(wanted))))
                check_fail(__FILE__, __LINE__, "%s for %s: %02x by %02x is %g, not %g", name, kernel.arch, i, j, got,
                           wanted);
        }
    CHECK(shared.driver->cuMemFree(on) == CUDA_SUCCESS && shared.driver->cuMemFree(on_c) == CUDA_SUCCESS);
    gt_module_unload(shared.driver, &module);
    gt_code_finish(&code);
    free(source);
    free(c);
}

TEST(every_8_bit_float_is_the_number_that_it_is)
{
    static const char *const names[] = {"e4m3_f32", "e5m2_f32", "e4m3_e5m2_f32", "e5m2_e4m3_f32"};
    open_all();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        check_codes(gt_types_parse(names[i], GT_MATH_STRICT));
    gt_families_finish(&shared.families);
    gt_nvrtc_close(shared.nvrtc);
}

CHECK_MAIN
