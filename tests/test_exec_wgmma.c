/*
 * wgmma against the CPU: every type, both ways of each operand that there are, all swizzles, and what is wrong to do
 * while a product is under way. The host makes the bytes of shared memory, and the kernel puts them there.
 */
#include "matrix_fixture.h"

enum { M = 64, THREADS = 128, N_MOST = 256, K_MOST = 128, IMAGE = 64 << 10 };

typedef struct trial {
    const element *a, *b, *d;
    int n;
    int span_a, span_b; /* bytes of a swizzled line: 32, 64, 128; 16: no swizzle; 0: A in registers */
    bool trans_a, trans_b;
    bool adds; /* to what D held */
    int scale_a, scale_b;
    bool saturates;
} trial;

static const trial trials[] = {
    {&f16, &f16, &f32, 64, 128, 128, false, false, true, 1, 1, false},
    {&f16, &f16, &f32, 256, 128, 128, false, false, false, 1, 1, false},
    {&f16, &f16, &f16, 72, 64, 64, false, false, true, 1, -1, false},
    {&bf16, &bf16, &f32, 8, 32, 32, false, false, true, -1, 1, false},
    {&bf16, &bf16, &f32, 24, 16, 16, false, false, true, -1, -1, false},
    {&f16, &f16, &f32, 128, 128, 128, true, true, true, 1, 1, false},
    {&bf16, &bf16, &f32, 192, 64, 128, true, true, false, 1, 1, false},
    {&f16, &f16, &f16, 96, 32, 64, true, false, true, 1, 1, false},
    {&bf16, &bf16, &f32, 32, 16, 32, true, true, true, 1, -1, false},
    {&f16, &f16, &f32, 16, 128, 16, false, true, true, 1, 1, false},
    {&bf16, &bf16, &f32, 128, 0, 128, false, true, true, 1, 1, false},
    {&f16, &f16, &f32, 40, 0, 64, false, false, true, -1, 1, false},
    {&tf32, &tf32, &f32, 88, 128, 128, false, false, true, 1, 1, false},
    {&tf32, &tf32, &f32, 8, 0, 32, false, false, true, 1, -1, false},
    {&e4m3, &e4m3, &f32, 64, 128, 128, false, false, true, 1, 1, false},
    {&e5m2, &e4m3, &f16, 32, 64, 32, false, false, true, 1, 1, false},
    {&e4m3, &e5m2, &f32, 16, 0, 16, false, false, true, -1, 1, false},
    {&s8, &s8, &s32, 128, 128, 128, false, false, true, 1, 1, false},
    {&u8, &s8, &s32, 32, 64, 64, false, false, true, 1, 1, true},
    {&s8, &u8, &s32, 64, 0, 128, false, false, false, 1, 1, false},
};

/* How an operand of mn rows (or columns) and k elements lies, and what its descriptor says. All in bytes. */
typedef struct layout {
    int mn, k, span;
    bool transposed;
    int width;                  /* of an element */
    int leading, stride, step; /* step: from one instruction's K to the next one's */
} layout;

static layout lay(const element *e, int mn, int k, int span, bool transposed)
{
    layout l = {mn, k, span, transposed, (int)e->bytes, 0, 0, 0};
    if (span == 16) { /* eight rows of sixteen bytes lie together; then along K, then along M or N */
        l.leading = 128;
        l.stride = (transposed ? k / 8 : k * l.width / 16) * 128;
        l.step = 2 * l.leading;
    } else if (transposed) {
        l.leading = k * span;
        l.stride = 8 * span;
        l.step = 16 * span;
    } else {
        l.leading = 16;
        l.stride = 8 * span;
        l.step = 32;
    }
    return l;
}

/* Where an element's bytes begin: lines of the span's length, as a tensor copy with that swizzle leaves them. */
static int offset_of(const layout *l, int mn, int k)
{
    if (l->span == 16 && l->transposed)
        return mn / 8 * l->stride + k / 8 * l->leading + k % 8 * 16 + mn % 8 * 2;
    if (l->span == 16)
        return mn / 8 * l->stride + k * l->width / 16 * l->leading + mn % 8 * 16 + k * l->width % 16;
    const int each = l->span / l->width; /* elements of a line */
    const int at = l->transposed ? mn / each * l->leading + k * l->span + mn % each * l->width
                                 : mn * l->span + k * l->width;
    return at ^ (at >> 7 & (l->span / 16 - 1)) << 4;
}

static unsigned long long descriptor_of(const layout *l, int start)
{
    const unsigned long long swizzle = l->span == 128 ? 1 : l->span == 64 ? 2 : l->span == 32 ? 3 : 0;
    return (unsigned long long)start >> 4 | (unsigned long long)l->leading >> 4 << 16 |
           (unsigned long long)l->stride >> 4 << 32 | swizzle << 62;
}

static int depth(const trial *t)
{
    return 32 / (int)t->a->bytes;
}

/* K of the whole product: what fits into a line of the narrower operand. */
static int whole_depth(const trial *t)
{
    const int a = t->span_a == 0 || t->trans_a || t->span_a == 16 ? 128 : t->span_a,
              b = t->trans_b || t->span_b == 16 ? 128 : t->span_b;
    return (a < b ? a : b) / (int)t->a->bytes;
}

/* One instruction for each K, all in one group; a second copy of D's registers shows that D is what is added to. */
static void write_trial(const trial *t, const layout *a, const layout *b, text *source)
{
    const int count = t->n / (t->d == &f16 ? 4 : 2), steps = b->k / depth(t), regs = t->span_a ? 0 : 4;
    const bool halves = t->a->bytes == 2;
    add(source, "extern \"C\" __global__ void __launch_bounds__(128) k(const uint4 *image, const unsigned *registers,\n"
                "    unsigned long long first_a, unsigned long long first_b, %s *out, int wait)\n{\n", t->d->c_type);
    add(source, "extern __shared__ __align__(1024) unsigned char raw[];\n"
                "const int t = threadIdx.x; %s d[%d]; unsigned a[%d][4];\n", t->d->c_type, count, steps);
    add(source, "const unsigned base = (unsigned)__cvta_generic_to_shared(raw) + 1023 & ~1023u;\n"
                "for (int i = t; i < %d; i += 128) { const uint4 x = image[i];\n"
                "    asm volatile(\"st.shared.v4.b32 [%%0], {%%1, %%2, %%3, %%4};\" :: \"r\"(base + 16 * i), \"r\"(x.x),\n"
                "                 \"r\"(x.y), \"r\"(x.z), \"r\"(x.w) : \"memory\"); }\n", IMAGE / 16);
    add(source, "for (int i = 0; i < %d; i++) d[i] = out[i * 128 + t];\n", count);
    add(source, "for (int i = 0; i < %d; i++) a[i / 4][i %% 4] = registers[i * 128 + t];\n", 4 * steps);
    add(source, "asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n__syncthreads();\n"
                "asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n#pragma unroll\n"
                "for (int s = 0; s < %d; s++)\n    asm volatile(\"{ .reg .pred p; setp.ne.b32 p, %%%d, 0; ", steps, count);
    add(source, "wgmma.mma_async.sync.aligned.m64n%dk%d%s.%s.%s.%s ", t->n, depth(t), t->saturates ? ".satfinite" : "",
        t->d->name, t->a->name, t->b->name);
    add_list(source, 0, count);
    add(source, ", ");
    if (regs)
        add_list(source, count + 2, 4);
    else
        add(source, "%%%d", count + 2);
    add(source, ", %%%d, p", count + 1);
    if (t->d != &s32)
        add(source, ", %d, %d", t->scale_a, t->scale_b);
    if (halves && !regs)
        add(source, ", %d", t->trans_a);
    if (halves)
        add(source, ", %d", t->trans_b);
    add(source, "; }\" : ");
    add_operands(source, "+", t->d->constraint, "d", count);
    add(source, "\n        : \"r\"((int)(s > 0 || %d)), \"l\"(first_b + (base + s * %d >> 4))", t->adds, b->step);
    if (regs)
        add(source, ", \"r\"(a[s][0]), \"r\"(a[s][1]), \"r\"(a[s][2]), \"r\"(a[s][3]));\n");
    else
        add(source, ", \"l\"(first_a + (base + s * %d >> 4)));\n", a->step);
    add(source, "asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");\n"
                "if (wait %% 3) asm volatile(\"wgmma.wait_group.sync.aligned 0;\" ::: \"memory\");\n"
                "if (wait == 2) __syncthreads();\n"
                "if (wait %% 2 == 0) asm volatile(\"st.shared.b32 [%%0], %%1;\" :: \"r\"(base + 4 * t), \"r\"(t) : \"memory\");\n");
    add(source, "for (int i = 0; i < %d; i++) out[i * 128 + t] = d[i];\n}\n", count);
}

/* Element i of a thread's D: eight columns at a time. */
static void place_d(int thread, int i, int *row, int *column)
{
    *row = thread / 32 * 16 + thread % 32 / 4 + (i / 2 % 2 ? 8 : 0);
    *column = i / 4 * 8 + thread % 4 * 2 + i % 2;
}

/* Register r of thread t is at [r * 128 + t]. */
static void put_sums(const trial *t, const int *matrix, uint8_t *out)
{
    const int each = t->d == &f16 ? 2 : 1;
    for (int thread = 0; thread < THREADS; thread++)
        for (int i = 0; i < t->n / 2; i++) {
            int row, column;
            place_d(thread, i, &row, &column);
            const uint64_t bits = bits_of(t->d, matrix[row * t->n + column]);
            memcpy(out + (size_t)(i / each * THREADS + thread) * 4 + (size_t)(i % each) * 2, &bits, t->d->bytes);
        }
}

/* A's registers: four a step, rows first, as in mma.sync. */
static void put_registers(const trial *t, const int *a, int k, uint8_t *out)
{
    const int each = 4 / (int)t->a->bytes;
    for (int step = 0; step < k / depth(t); step++)
        for (int r = 0; r < 4; r++)
            for (int thread = 0; thread < THREADS; thread++)
                for (int e = 0; e < each; e++) {
                    const int row = thread / 32 * 16 + thread % 32 / 4 + (r % 2 ? 8 : 0);
                    const int column = step * depth(t) + r / 2 * 4 * each + thread % 4 * each + e;
                    const uint64_t bits = bits_of(t->a, a[row * k + column]);
                    memcpy(out + (size_t)((step * 4 + r) * THREADS + thread) * 4 + (size_t)e * t->a->bytes, &bits,
                           t->a->bytes);
                }
}

static int left[M * K_MOST], right[K_MOST * N_MOST], before[M * N_MOST], after[M * N_MOST];

/* One instruction's K after the other: sums saturate after each. */
static void multiply(const trial *t, int k)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < t->n; j++) {
            int64_t sum = t->adds ? before[i * t->n + j] : 0;
            for (int q = 0; q < k; q++) {
                sum += (int64_t)left[i * k + q] * right[q * t->n + j] * t->scale_a * t->scale_b;
                if (t->saturates && q % depth(t) == depth(t) - 1)
                    sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
            }
            after[i * t->n + j] = (int)(uint32_t)(uint64_t)sum;
        }
}

/* Fills the matrices, makes shared memory of them, runs; wait as the kernel takes it. got: D's registers. */
static void run_trial(const trial *t, int wait, uint8_t *got, size_t bytes)
{
    static uint8_t image[IMAGE], registers[16 * 4 * THREADS * 4];
    const int k = whole_depth(t);
    const layout a = lay(t->a, M, k, t->span_a ? t->span_a : 128, t->trans_a);
    const layout b = lay(t->b, t->n, k, t->span_b, t->trans_b);
    text source = {.length = 0};
    fill(t->a, M * k, left);
    fill(t->b, k * t->n, right);
    fill(t->d == &f16 ? &bf16 : t->d, M * t->n, before);
    if (t->saturates)
        fill_ends(M * t->n, before);
    memset(image, 0, sizeof image);
    memset(registers, 0, sizeof registers);
    for (int q = 0; q < k; q++) {
        for (int i = 0; i < M && t->span_a; i++)
            memcpy(image + offset_of(&a, i, q), &(uint64_t){bits_of(t->a, left[i * k + q])}, t->a->bytes);
        for (int j = 0; j < t->n; j++)
            memcpy(image + IMAGE / 2 + offset_of(&b, j, q), &(uint64_t){bits_of(t->b, right[q * t->n + j])}, t->b->bytes);
    }
    put_registers(t, left, k, registers);
    put_sums(t, before, got);
    write_trial(t, &a, &b, &source);
    load_source(source.bytes);
    OK(cu->cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, IMAGE + 1024, (CUkernel)kernel("k"),
                                0));
    unsigned long long first_a = descriptor_of(&a, 0), first_b = descriptor_of(&b, IMAGE / 2);
    CUdeviceptr from = upload(image, sizeof image), regs = upload(registers, sizeof registers), out = upload(got, bytes);
    launch("k", 1, THREADS, 1, IMAGE + 1024, (void *[]){&from, &regs, &first_a, &first_b, &out, &wait});
    if (cu->cuMemcpyDtoH(got, out, bytes) != CUDA_SUCCESS)
        return;
    OK(cu->cuMemFree(from));
    OK(cu->cuMemFree(regs));
    OK(cu->cuMemFree(out));
    unload();
}

DEVICE_TEST(a_warpgroup_multiplies_every_type_and_layout)
{
    static uint8_t got[M * N_MOST * 4], expected[M * N_MOST * 4];
    open_context();
    need_capability(90);
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) {
        const trial *t = &trials[i];
        const size_t bytes = (size_t)(M * t->n) * t->d->bytes;
        run_trial(t, 1, got, bytes);
        multiply(t, whole_depth(t));
        put_sums(t, after, expected);
        if (memcmp(got, expected, bytes) != 0)
            check_fail(__FILE__, __LINE__, "trial %zu, m64n%d, %s by %s, is wrong", i, t->n, t->a->name, t->b->name);
    }
}

static void expect_report(const char *part)
{
    char line[512] = "";
    CU(cu->cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
    CHECK_INT(cu->soft->report(line, sizeof line), 0);
    if (!strstr(line, part))
        check_fail(__FILE__, __LINE__, "the report is '%s', without '%s'", line, part);
}

DEVICE_TEST(what_a_product_under_way_reads_is_not_overwritten)
{
    static uint8_t got[M * N_MOST * 4];
    SOFT_ONLY;
    open_context();
    need_capability(90);
    run_trial(&trials[0], 2, got, M * 64 * 4); /* all wait, then write */
    OK(cu->cuCtxSynchronize());
    run_trial(&trials[0], 0, got, M * 64 * 4); /* writes without waiting */
    expect_report("which a wgmma reads");
}

DEVICE_TEST(registers_of_a_product_under_way_are_not_touched)
{
    static uint8_t got[M * N_MOST * 4];
    SOFT_ONLY;
    open_context();
    need_capability(90);
    run_trial(&trials[10], 1, got, M * 128 * 4); /* all wait, then store the sums */
    OK(cu->cuCtxSynchronize());
    run_trial(&trials[10], 3, got, M * 128 * 4); /* stores them without waiting */
    expect_report("a register of a wgmma");
}

/*
 * A whole product: one thread feeds tiles of 64 by 64 through a ring of two stages, a warpgroup multiplies. A is M by K
 * and B is N by K, both with K contiguous. PENDING groups are left under way when a stage is given back.
 */
static const char pipeline[] =
    "struct __align__(64) tensor { unsigned long long words[16]; };\n"
    "__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }\n"
    "__device__ void wait(unsigned bar, int parity)\n"
    "{\n"
    "    asm volatile(\"{ .reg .pred p; L: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra L; }\"\n"
    "                 :: \"r\"(bar), \"r\"(parity) : \"memory\");\n"
    "}\n"
    "__device__ void bring(unsigned to, const tensor &map, int x, int y, unsigned bar)\n"
    "{\n"
    "    asm volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes \"\n"
    "                 \"[%0], [%1, {%2, %3}], [%4];\" :: \"r\"(to), \"l\"(&map), \"r\"(x), \"r\"(y), \"r\"(bar) : \"memory\");\n"
    "}\n"
    "__device__ unsigned long long describe(unsigned address)\n"
    "{\n"
    "    return (unsigned long long)(address >> 4) | 64ull << 32 | 1ull << 62;\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(256) gemm(const __grid_constant__ tensor map_a,\n"
    "    const __grid_constant__ tensor map_b, float *c, int m, int n, int k)\n"
    "{\n"
    "    extern __shared__ __align__(1024) unsigned char raw[];\n"
    "    __shared__ unsigned long long full[2], empty[2];\n"
    "    const unsigned base = at(raw) + 1023 & ~1023u;\n"
    "    const int steps = (k + 63) / 64, m0 = blockIdx.y * 64, n0 = blockIdx.x * 64;\n"
    "    if (threadIdx.x == 0)\n"
    "        for (int s = 0; s < 2; s++) {\n"
    "            asm volatile(\"mbarrier.init.shared::cta.b64 [%0], 1;\" :: \"r\"(at(&full[s])) : \"memory\");\n"
    "            asm volatile(\"mbarrier.init.shared::cta.b64 [%0], 128;\" :: \"r\"(at(&empty[s])) : \"memory\");\n"
    "        }\n"
    "    asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n"
    "    __syncthreads();\n"
    "    if (threadIdx.x < 128) {\n"
    "        asm volatile(\"setmaxnreg.dec.sync.aligned.u32 24;\");\n"
    "        for (int i = 0; i < steps && threadIdx.x == 0; i++) {\n"
    "            const int s = i % 2;\n"
    "            if (i >= 2) wait(at(&empty[s]), i / 2 - 1 & 1);\n"
    "            asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 16384;\" :: \"r\"(at(&full[s])) : \"memory\");\n"
    "            bring(base + s * 16384, map_a, i * 64, m0, at(&full[s]));\n"
    "            bring(base + s * 16384 + 8192, map_b, i * 64, n0, at(&full[s]));\n"
    "        }\n"
    "        return;\n"
    "    }\n"
    "    asm volatile(\"setmaxnreg.inc.sync.aligned.u32 240;\");\n"
    "    const int t = threadIdx.x - 128;\n"
    "    float d[32];\n"
    "    for (int i = 0; i < steps; i++) {\n"
    "        const int s = i % 2;\n"
    "        wait(at(&full[s]), i / 2 & 1);\n"
    "        asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n"
    "        #pragma unroll\n"
    "        for (int q = 0; q < 4; q++)\n"
    "            asm volatile(\"{ .reg .pred p; setp.ne.b32 p, %34, 0;\"\n"
    "                \" wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 \" LIST \", %32, %33, p, 1, 1, 0, 0; }\"\n"
    "                : OUTPUTS : \"l\"(describe(base + s * 16384 + q * 32)), \"l\"(describe(base + s * 16384 + 8192 + q * 32)),\n"
    "                  \"r\"((int)(i > 0 || q > 0)));\n"
    "        asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");\n"
    "        asm volatile(\"wgmma.wait_group.sync.aligned %0;\" :: \"n\"(PENDING) : \"memory\");\n"
    "        asm volatile(\"mbarrier.arrive.shared::cta.b64 _, [%0];\" :: \"r\"(at(&empty[s])) : \"memory\");\n"
    "    }\n"
    "    asm volatile(\"wgmma.wait_group.sync.aligned 0;\" ::: \"memory\");\n"
    "    for (int i = 0; i < 32; i++) {\n"
    "        const int row = m0 + t / 32 * 16 + t % 32 / 4 + (i / 2 % 2 ? 8 : 0), column = n0 + i / 4 * 8 + t % 4 * 2 + i % 2;\n"
    "        if (row < m && column < n) c[row * n + column] = d[i];\n"
    "    }\n"
    "}\n";

static void map_tiles(CUdeviceptr address, int rows, int k, int ld, CUtensorMap *map)
{
    OK(cu->cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, (void *)(uintptr_t)address,
                                  (cuuint64_t[]){(cuuint64_t)k, (cuuint64_t)rows}, (cuuint64_t[]){(cuuint64_t)ld * 2},
                                  (cuuint32_t[]){64, 64}, (cuuint32_t[]){1, 1}, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                  CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
}

enum { ROWS = 100, COLUMNS = 70, DEPTH = 410, LD = 416 };

/* Runs it; c is what came out, as far as anything did. */
static void run_pipeline(int pending, int *a, int *b, float *c)
{
    static uint16_t bytes[2][ROWS * LD];
    text source = {.length = 0};
    CUtensorMap map_a, map_b;
    int m = ROWS, n = COLUMNS, k = DEPTH;
    open_context();
    need_capability(90);
    add(&source, "#define PENDING %d\n#define LIST \"", pending);
    add_list(&source, 0, 32);
    add(&source, "\"\n#define OUTPUTS ");
    add_operands(&source, "+", "f", "d", 32);
    add(&source, "\n%s", pipeline);
    for (int i = 0; i < ROWS * DEPTH; i++) {
        a[i] = random_value(&bf16);
        bytes[0][i / DEPTH * LD + i % DEPTH] = (uint16_t)bits_of(&bf16, a[i]);
    }
    for (int i = 0; i < COLUMNS * DEPTH; i++) {
        b[i] = random_value(&bf16);
        bytes[1][i / DEPTH * LD + i % DEPTH] = (uint16_t)bits_of(&bf16, b[i]);
    }
    load_source(source.bytes);
    map_tiles(upload(bytes[0], sizeof bytes[0]), ROWS, DEPTH, LD, &map_a);
    map_tiles(upload(bytes[1], sizeof bytes[1]), COLUMNS, DEPTH, LD, &map_b);
    CUdeviceptr out = memory(ROWS * COLUMNS * 4);
    void *arguments[] = {&map_a, &map_b, &out, &m, &n, &k};
    OK(cu->cuLaunchKernel(kernel("gemm"), (COLUMNS + 63) / 64, (ROWS + 63) / 64, 1, 256, 1, 1, 32768 + 1024, NULL,
                          arguments, NULL));
    if (cu->cuCtxSynchronize() == CUDA_SUCCESS)
        OK(cu->cuMemcpyDtoH(c, out, ROWS * COLUMNS * 4));
}

static int wide_a[ROWS * DEPTH], wide_b[COLUMNS * DEPTH];
static float wide_c[ROWS * COLUMNS];

DEVICE_TEST(tensor_copies_feed_a_warpgroup_through_a_ring)
{
    run_pipeline(0, wide_a, wide_b, wide_c);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            int sum = 0;
            for (int q = 0; q < DEPTH; q++)
                sum += wide_a[i * DEPTH + q] * wide_b[j * DEPTH + q];
            CHECK_INT((int)wide_c[i * COLUMNS + j], sum);
        }
}

DEVICE_TEST(a_stage_is_not_given_back_while_it_is_read)
{
    SOFT_ONLY;
    run_pipeline(1, wide_a, wide_b, wide_c);
    expect_report("which a wgmma reads");
}

CHECK_MAIN
