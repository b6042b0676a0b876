/* Families from space to product: rendered, compiled, run on the executor and compared bit for bit. */
#include "softgpu_fixture.h"

typedef struct product {
    int64_t m, n, k, pad, batch;
    int alpha, beta;
} product;

static const product products[] = {
    {37, 53, 29, 0, 1, 1, 0}, {65, 33, 70, 4, 3, 3, -2}, {130, 129, 9, 8, 1, -1, 1}, {5, 3, 0, 0, 1, 2, 3}, {1, 1, 131, 4, 2, 2, 0},
};

/* Small integers in any element type. */
static void put(void *matrix, gt_type type, int64_t at, int value)
{
    if (type == GT_F32)
        ((float *)matrix)[at] = (float)value;
    else if (type == GT_S32)
        ((int32_t *)matrix)[at] = value;
    else
        ((uint16_t *)matrix)[at] = (uint16_t)(value == 0 ? 0 : (value < 0 ? 0x8000 : 0) |
                                              (value == 1 || value == -1   ? 0x3c00
                                               : value == 2 || value == -2 ? 0x4000
                                                                           : 0x4200));
}

static int64_t get(const void *matrix, gt_type type, int64_t at)
{
    return type == GT_F32 ? (int64_t)((const float *)matrix)[at] : ((const int32_t *)matrix)[at];
}

static int64_t up(int64_t x, int64_t multiple)
{
    return (x + multiple - 1) / multiple * multiple;
}

typedef struct operand {
    int64_t rows, columns, ld, stride;
    gt_type type;
    int *values;
    uint64_t device;
} operand;

/* Elements in [-3, 3]. What lies between the rows is left unwritten on the device. */
static void make_operand(sg_memory *memory, operand *x, int64_t batch, bool written)
{
    const int64_t bytes = x->type == GT_F16 ? 2 : 4, count = x->stride * batch;
    x->values = calloc((size_t)count + 1, sizeof x->values[0]);
    x->device = soft_upload(memory, NULL, (size_t)(count * bytes));
    const sg_span *span = sg_memory_find(memory, x->device);
    for (int64_t b = 0; b < batch; b++)
        for (int64_t i = 0; i < x->rows; i++)
            for (int64_t j = 0; j < x->columns; j++) {
                const int64_t at = b * x->stride + i * x->ld + j;
                x->values[at] = (int)(check_random() % 7) - 3;
                if (written) {
                    put((void *)(uintptr_t)x->device, x->type, at, x->values[at]);
                    sg_span_mark(span, x->device + (uint64_t)(at * bytes), (uint64_t)bytes);
                }
            }
}

static operand layout(int64_t rows, int64_t columns, int64_t pad, int align, gt_type type)
{
    const int64_t bytes = type == GT_F16 ? 2 : 4, unit = align > bytes ? align / bytes : 1;
    const int64_t ld = up((columns ? columns : 1) + pad, unit);
    return (operand){.rows = rows, .columns = columns, .ld = ld, .stride = up(ld * (rows ? rows : 1), unit), .type = type};
}

/* One product with one kernel, bit for bit; check_races too. */
static void run_product(sg_memory *memory, const sg_module *module, const gt_kernel *kernel, const gt_gemm *class,
                        const product *p, bool races)
{
    const gt_type ab = class->type_ab, c_type = class->type_c;
    operand a = class->op_a == GT_N ? layout(p->m, p->k, p->pad, class->align, ab) : layout(p->k, p->m, p->pad, class->align, ab);
    operand b = class->op_b == GT_N ? layout(p->k, p->n, p->pad, class->align, ab) : layout(p->n, p->k, p->pad, class->align, ab);
    operand c = layout(p->m, p->n, p->pad, class->align, c_type);
    gt_gemm gemm = *class;
    gt_problem problem;
    gt_launch launch;
    gt_args args;
    gemm.m = p->m, gemm.n = p->n, gemm.k = p->k, gemm.batch = p->batch;
    gemm.lda = a.ld, gemm.ldb = b.ld, gemm.ldc = c.ld;
    gemm.stride_a = a.stride, gemm.stride_b = b.stride, gemm.stride_c = c.stride;
    CHECK_OK(gt_problem_init(&gemm, &problem));
    CHECK_OK(gt_launch_init(kernel, &problem, &launch));
    make_operand(memory, &a, p->batch, true);
    make_operand(memory, &b, p->batch, true);
    make_operand(memory, &c, p->batch, p->beta != 0);
    gt_args_init(&problem, &args);
    args.a = (void *)(uintptr_t)a.device, args.b = (void *)(uintptr_t)b.device, args.c = (void *)(uintptr_t)c.device;
    if (ab == GT_S32)
        args.alpha.s32 = p->alpha, args.beta.s32 = p->beta;
    else
        args.alpha.f32 = (float)p->alpha, args.beta.f32 = (float)p->beta;
    uint8_t *zeros = calloc(launch.counter_bytes + 1, 1);
    const uint64_t counters = soft_upload(memory, zeros, launch.counter_bytes);
    const uint64_t workspace = soft_upload(memory, NULL, launch.workspace_bytes);
    args.counters = (unsigned *)(uintptr_t)counters, args.workspace = (void *)(uintptr_t)workspace;

    sg_grid grid = soft_grid(module, GT_ENTRY, memory, &args, launch.grid[0], launch.threads);
    grid.grid[1] = launch.grid[1], grid.grid[2] = launch.grid[2];
    grid.dynamic_shared = launch.smem_bytes;
    grid.check_races = races;
    sg_report report;
    if (sg_grid_run(&grid, &report, NULL) != SG_FAULT_NONE)
        check_fail(__FILE__, __LINE__, "%s %s %s %lldx%lldx%lld: %s", kernel->family, kernel->params,
                   gt_problem_layout(&problem), (long long)p->m, (long long)p->n, (long long)p->k, report.message);
    for (int64_t q = 0; q < p->batch; q++)
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++) {
                int64_t sum = 0;
                for (int64_t s = 0; s < p->k; s++)
                    sum += a.values[q * a.stride + (class->op_a == GT_N ? i * a.ld + s : s * a.ld + i)] *
                           b.values[q * b.stride + (class->op_b == GT_N ? s * b.ld + j : j * b.ld + s)];
                const int64_t at = q * c.stride + i * c.ld + j;
                const int64_t expected = p->alpha * sum + (p->beta ? p->beta * c.values[at] : 0);
                const int64_t got = get((const void *)(uintptr_t)c.device, c_type, at);
                if (got != expected)
                    check_fail(__FILE__, __LINE__, "%s %s %s %lldx%lldx%lld: (%lld, %lld) of %lld is %lld, not %lld",
                               kernel->family, kernel->params, gt_problem_layout(&problem), (long long)p->m,
                               (long long)p->n, (long long)p->k, (long long)i, (long long)j, (long long)q, (long long)got,
                               (long long)expected);
            }
    operand *const operands[] = {&a, &b, &c};
    for (int i = 0; i < 3; i++) {
        free(operands[i]->values);
        CHECK(sg_memory_free(memory, operands[i]->device));
    }
    free(zeros);
    CHECK(sg_memory_free(memory, counters) && sg_memory_free(memory, workspace));
}

/* All products of one class of problems with a few configurations of one family. */
static size_t run_class(const gt_nvrtc *nvrtc, const gt_families *families, const gt_family *family, const gt_gemm *class)
{
    sg_memory *memory = soft_memory();
    gt_kernel kernel;
    sg_module *module;
    const bool any = soft_family(nvrtc, families, family, class, check_random() >> 1, memory, &kernel, &module);
    if (any) {
        for (size_t i = 0; i < sizeof products / sizeof products[0]; i++)
            run_product(memory, module, &kernel, class, &products[i], i == 1);
        sg_module_destroy(module);
    }
    sg_memory_destroy(memory);
    return any;
}

TEST(every_family_multiplies_right_in_every_layout)
{
    static const struct {
        gt_type ab, c;
        gt_op op_a, op_b;
        int align;
    } classes[] = {{GT_F32, GT_F32, GT_N, GT_N, 16}, {GT_F32, GT_F32, GT_T, GT_N, 4}, {GT_F32, GT_F32, GT_N, GT_T, 8},
                   {GT_S32, GT_S32, GT_T, GT_T, 16}, {GT_F16, GT_F32, GT_N, GT_N, 4}, {GT_F16, GT_F32, GT_T, GT_T, 16},
                   {GT_F16, GT_F32, GT_N, GT_T, 8}};
    gt_nvrtc *nvrtc = soft_nvrtc();
    gt_families families;
    CHECK_OK(gt_families_init(NULL, &families));
    size_t ran = 0;
    for (size_t f = 0; f < families.count; f++)
        for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
            /* The size decides what the space offers; small enough for K to be split now and then. */
            const gt_gemm class = {.m = 256, .n = 256, .k = 1024, .type_ab = classes[i].ab, .type_c = classes[i].c,
                                   .op_a = classes[i].op_a, .op_b = classes[i].op_b, .align = classes[i].align};
            ran += run_class(nvrtc, &families, &families.list[f], &class);
        }
    printf("%zu kernels\n", ran);
    CHECK(ran >= 4 * families.count - 2);
    gt_families_finish(&families);
    gt_nvrtc_close(nvrtc);
}

CHECK_MAIN
