/* Whole kernels of ordinary CUDA C++: divergence, calls, atomics, shuffles, blocks that wait for each other. */
#include <math.h>

#include "../kernel_templates/embedded.h"
#include "../tuner/random.h"
#include "softgpu_fixture.h"

/* 256 threads that leave one word each. */
static const char odd[] =
    "__constant__ int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};\n"
    "__device__ unsigned total;\n"
    "__device__ int twist(int x)\n"
    "{\n"
    "    switch (x % 7) {\n"
    "    case 0: return x * 3 + 1;\n"
    "    case 1: return x - 5;\n"
    "    case 2: return table[x & 7];\n"
    "    case 3: return x ^ 0x55;\n"
    "    case 4: return x << 2;\n"
    "    case 5: return -x;\n"
    "    default: return x / 3;\n"
    "    }\n"
    "}\n"
    "__device__ int work(int t)\n"
    "{\n"
    "    int local[8], steps = 0;\n"
    "    for (int i = 0; i < 8; i++) local[(i * 3 + t) & 7] = twist(t + i);\n"
    "    for (unsigned x = t + 1; x != 1; steps++) x = x & 1 ? 3 * x + 1 : x / 2;\n"
    "    for (int i = 0; i < t % 5; i++) steps += local[(t + i) & 7];\n"
    "    return steps;\n"
    "}\n"
    "extern \"C\" __global__ void k(int *out)\n"
    "{\n"
    "    __shared__ int bins[8];\n"
    "    __shared__ unsigned char bytes[256];\n"
    "    const int t = threadIdx.x;\n"
    "    if (t < 8) bins[t] = 0;\n"
    "    bytes[t] = (unsigned char)(t * 7);\n"
    "    __syncthreads();\n"
    "    int mine = work(t);\n"
    "    atomicAdd(&bins[mine & 7], 1);\n"
    "    atomicMax(&total, (unsigned)t);\n"
    "    int *where = t & 1 ? bins : out + 256; /* a generic address, of either space */\n"
    "    atomicAdd(where + (t & 7), t & 1 ? 0 : 1);\n"
    "    const int sum = __reduce_add_sync(~0u, mine);\n"
    "    const unsigned vote = __ballot_sync(~0u, mine & 1);\n"
    "    int scan = mine;\n"
    "    for (int d = 1; d < 32; d *= 2) { const int other = __shfl_up_sync(~0u, scan, d); if (t % 32 >= d) scan += other; }\n"
    "    const int any = __syncthreads_count(mine > 10);\n"
    "    const short half = (short)(mine * 1000);\n"
    "    out[t] = sum + (int)vote + scan + any + half + bytes[(t * 5) & 255] + bins[t & 7] + (int)total;\n"
    "}\n";

static int odd_twist(int x)
{
    static const int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
    const int results[] = {x * 3 + 1, x - 5, table[x & 7], x ^ 0x55, x << 2, -x, x / 3};
    return results[x % 7];
}

static int odd_work(int t)
{
    int local[8], steps = 0;
    for (int i = 0; i < 8; i++)
        local[(i * 3 + t) & 7] = odd_twist(t + i);
    for (unsigned x = (unsigned)t + 1; x != 1; steps++)
        x = x & 1 ? 3 * x + 1 : x / 2;
    for (int i = 0; i < t % 5; i++)
        steps += local[(t + i) & 7];
    return steps;
}

TEST(ordinary_code_with_divergence_atomics_and_shuffles_runs_right)
{
    gt_nvrtc *nvrtc = soft_nvrtc();
    sg_memory *memory = soft_memory();
    sg_module *module = soft_compile(nvrtc, memory, odd, "sm_80");
    static const int zeros[264];
    const uint64_t out = soft_upload(memory, zeros, sizeof zeros);
    const sg_grid grid = soft_grid(module, "k", memory, &out, 1, 256);
    sg_report report;
    if (sg_grid_run(&grid, &report, NULL) != SG_FAULT_NONE)
        check_fail(__FILE__, __LINE__, "%s", report.message);
    const int *result = (const int *)(uintptr_t)out;
    int work[256], bins[8] = {0}, many = 0;
    for (int t = 0; t < 256; t++) {
        work[t] = odd_work(t);
        bins[work[t] & 7]++;
        many += work[t] > 10;
    }
    for (int t = 0; t < 256; t++) {
        int sum = 0, scan = 0;
        unsigned vote = 0;
        for (int l = 0; l < 32; l++) {
            sum += work[t / 32 * 32 + l];
            scan += l <= t % 32 ? work[t / 32 * 32 + l] : 0;
            vote |= (unsigned)(work[t / 32 * 32 + l] & 1) << l;
        }
        const int bytes = (unsigned char)((t * 5 & 255) * 7), half = (short)(work[t] * 1000);
        CHECK_INT(result[t], (int)((unsigned)sum + vote + (unsigned)(scan + many + half + bytes + bins[t & 7] + 255)));
    }
    CHECK_INT(result[256], 32);
    CHECK_INT(result[257], 0);
    sg_module_destroy(module);
    sg_memory_destroy(memory);
    gt_nvrtc_close(nvrtc);
}

/* Functions that the compiler does not inline, its own among them, called by some lanes only. */
static const char calling[] =
    "__noinline__ __device__ int collatz(unsigned x) { int n = 0; for (; x != 1; n++) x = x & 1 ? 3 * x + 1 : x / 2; return n; }\n"
    "__noinline__ __device__ double mixed(double x, int n, const int *table) { return x * n + table[n & 3] + collatz(n + 1); }\n"
    "extern \"C\" __global__ void k(double *out)\n"
    "{\n"
    "    const int t = threadIdx.x;\n"
    "    int table[4] = {t, t + 1, t + 2, t + 3};\n"
    "    double x = sin(t * 1e6) + pow(1.0 + t, 1.25);\n"
    "    if (t % 3 == 1) x += mixed(0.5, t, table);\n"
    "    if (t > 1000) asm volatile(\"trap;\");\n"
    "    out[t] = x;\n"
    "}\n";

TEST(functions_that_are_called_return)
{
    gt_nvrtc *nvrtc = soft_nvrtc();
    sg_memory *memory = soft_memory();
    gt_code code;
    CHECK_OK(gt_nvrtc_compile(nvrtc, calling, "sm_80", &code, NULL));
    CHECK(strstr(code.ptx, "call.uni"));
    sg_module *module = soft_module(memory, code.ptx);
    const uint64_t out = soft_upload(memory, NULL, 96 * 8);
    const sg_grid grid = soft_grid(module, "k", memory, &out, 1, 96);
    sg_report report;
    if (sg_grid_run(&grid, &report, NULL) != SG_FAULT_NONE)
        check_fail(__FILE__, __LINE__, "%s", report.message);
    for (int t = 0; t < 96; t++) {
        double expected = sin(t * 1e6) + pow(1.0 + t, 1.25);
        int steps = 0;
        for (unsigned x = (unsigned)t + 1; x != 1; steps++)
            x = x & 1 ? 3 * x + 1 : x / 2;
        if (t % 3 == 1)
            expected += 0.5 * t + (t + (t & 3)) + steps;
        CHECK_NEAR(((const double *)(uintptr_t)out)[t], expected, 1e-12 * fabs(expected));
    }
    gt_code_finish(&code);
    sg_module_destroy(module);
    sg_memory_destroy(memory);
    gt_nvrtc_close(nvrtc);
}

/* The kernels that verification itself uses. */
extern const char gt_embedded_checks_cu[];

TEST(the_kernels_of_verification_run)
{
    enum { ROWS = 37, COLUMNS = 70, LD = 80 };
    gt_nvrtc *nvrtc = soft_nvrtc();
    sg_memory *memory = soft_memory();
    sg_module *module = soft_compile(nvrtc, memory, gt_embedded_checks_cu, "sm_90a");
    sg_report report;
    struct matrix {
        uint64_t data;
        int64_t rows, columns, ld;
    } matrix = {soft_upload(memory, NULL, ROWS * LD * 4), ROWS, COLUMNS, LD};
    const struct {
        struct matrix m;
        int64_t batch, stride;
        uint64_t seed;
    } fill = {matrix, 1, ROWS * LD, 42};
    sg_grid grid = soft_grid(module, "fill_f32", memory, &fill, 5, 256);
    CHECK_INT(sg_grid_run(&grid, &report, NULL), SG_FAULT_NONE);
    const float *data = (const float *)(uintptr_t)matrix.data;
    double square = 0;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            square += (double)data[i * LD + j] * data[i * LD + j];
    CHECK_NEAR(square / (ROWS * COLUMNS), 1, 0.15); /* of variance 1 */

    static const double zeros[COLUMNS];
    struct {
        struct matrix m;
        uint64_t v, out;
        int64_t chunk;
        int squares;
    } multiply = {matrix, 0, soft_upload(memory, zeros, sizeof zeros), 40, 0};
    grid = soft_grid(module, "rows_f32", memory, &multiply, (ROWS * 32 + 255) / 256, 256);
    grid.grid[1] = 2;
    CHECK_INT(sg_grid_run(&grid, &report, NULL), SG_FAULT_NONE);
    for (int i = 0; i < ROWS; i++) {
        double sum = 0;
        for (int j = 0; j < COLUMNS; j++)
            sum += data[i * LD + j];
        CHECK_NEAR(((const double *)(uintptr_t)multiply.out)[i], sum, 1e-12 * COLUMNS);
    }
    multiply.out = soft_upload(memory, zeros, sizeof zeros);
    grid = soft_grid(module, "columns_f32", memory, &multiply, 1, 256);
    CHECK_INT(sg_grid_run(&grid, &report, NULL), SG_FAULT_NONE);
    double column = 0;
    for (int i = 0; i < ROWS; i++)
        column += data[i * LD + 7];
    CHECK_NEAR(((const double *)(uintptr_t)multiply.out)[7], column, 1e-12 * ROWS);

    /* The gap between the rows is not written: to count there is to read what nobody wrote. */
    const unsigned zero = 0;
    const struct {
        uint64_t region;
        int64_t rows, width, pitch;
        unsigned pattern;
        uint64_t changed;
    } count = {matrix.data + COLUMNS * 4, 3, 4, LD * 2, 0xffff, soft_upload(memory, &zero, 4)};
    grid = soft_grid(module, "count_changed", memory, &count, 1, 32);
    CHECK_INT(sg_grid_run(&grid, &report, NULL), SG_FAULT_UNWRITTEN);
    CHECK(report.address >= count.region && strstr(report.message, "count_changed"));
    sg_module_destroy(module);
    sg_memory_destroy(memory);
    gt_nvrtc_close(nvrtc);
}

/* They draw and read elements of every type as the host does. */
TEST(the_kernels_of_verification_draw_and_read_as_the_host)
{
    enum { COUNT = 4096 };
    gt_nvrtc *nvrtc = soft_nvrtc();
    sg_memory *memory = soft_memory();
    sg_module *module = soft_compile(nvrtc, memory, gt_embedded_checks_cu, "sm_75");
    static int64_t places[2 * COUNT];
    sg_report report;
    for (int i = 0; i < COUNT; i++)
        places[2 * i + 1] = i;
    for (gt_type type = 0; gt_type_find(type); type++) {
        const gt_type_info *info = gt_type_find(type);
        const size_t bytes = (size_t)info->bytes;
        char name[32], *drawn = calloc(COUNT, bytes);
        struct matrix {
            uint64_t data;
            int64_t rows, columns, ld;
        } matrix = {soft_upload(memory, NULL, COUNT * bytes), 1, COUNT, COUNT};
        const struct {
            struct matrix m;
            int64_t batch, stride;
            uint64_t seed;
        } fill = {matrix, 1, COUNT, 7};
        snprintf(name, sizeof name, "fill_%s", info->name);
        sg_grid grid = soft_grid(module, name, memory, &fill, 4, 256);
        CHECK_INT(sg_grid_run(&grid, &report, NULL), SG_FAULT_NONE);
        for (int i = 0; i < COUNT; i++)
            info->draw(drawn, i, gt_random_bits(7, (uint64_t)i));
        if (type != GT_S32) /* whose sums are not to wrap here */
            CHECK(memcmp((const char *)(uintptr_t)matrix.data, drawn, COUNT * bytes) == 0);
        for (size_t i = 0; i < COUNT * bytes; i++) /* any bits at all */
            drawn[i] = (char)(bytes == 1 ? i : check_random());
        matrix.data = soft_upload(memory, drawn, COUNT * bytes);
        const struct {
            struct matrix m;
            uint64_t places;
            int64_t count;
            uint64_t out;
        } gather = {matrix, soft_upload(memory, places, sizeof places), COUNT, soft_upload(memory, NULL, COUNT * 8)};
        snprintf(name, sizeof name, "gather_%s", info->name);
        grid = soft_grid(module, name, memory, &gather, COUNT / 256, 256);
        CHECK_INT(sg_grid_run(&grid, &report, NULL), SG_FAULT_NONE);
        for (int i = 0; i < COUNT; i++) {
            const double got = ((const double *)(uintptr_t)gather.out)[i], wanted = info->load(drawn, i);
            if (!(got == wanted || (isnan(got) && isnan(wanted))))
                check_fail(__FILE__, __LINE__, "element %d of %s is %g, not %g", i, info->name, got, wanted);
        }
        free(drawn);
    }
    sg_module_destroy(module);
    sg_memory_destroy(memory);
    gt_nvrtc_close(nvrtc);
}

/* Blocks that wait for each other: all are resident, so they come to an end. */
static const char grid_barrier[] =
    "extern \"C\" __global__ void k(unsigned *counter, unsigned *out)\n"
    "{\n"
    "    for (unsigned round = 1; round <= 3; round++) {\n"
    "        __syncthreads();\n"
    "        if (threadIdx.x == 0) {\n"
    "            __threadfence();\n"
    "            atomicAdd(counter, 1);\n"
    "            while (*(volatile unsigned *)counter < round * gridDim.x) ;\n"
    "        }\n"
    "        __syncthreads();\n"
    "    }\n"
    "    out[blockIdx.x * blockDim.x + threadIdx.x] = *(volatile unsigned *)counter;\n"
    "}\n";

TEST(resident_blocks_may_wait_for_each_other)
{
    gt_nvrtc *nvrtc = soft_nvrtc();
    sg_memory *memory = soft_memory();
    sg_module *module = soft_compile(nvrtc, memory, grid_barrier, "sm_80");
    const unsigned zero = 0;
    const uint64_t params[] = {soft_upload(memory, &zero, 4), soft_upload(memory, NULL, 4 * 64 * 8)};
    sg_grid grid = soft_grid(module, "k", memory, params, 8, 64);
    sg_report report;
    grid.sm_count = 4;
    if (sg_grid_run(&grid, &report, NULL) != SG_FAULT_NONE)
        check_fail(__FILE__, __LINE__, "%s", report.message);
    CHECK_INT(((const unsigned *)(uintptr_t)params[1])[100], 24);
    /* One block too few, and they wait for ever, as they would on a GPU. */
    *(unsigned *)(uintptr_t)params[0] = 0;
    grid.sm_count = 7;
    grid.blocks_per_sm = 1;
    grid.budget = (uint64_t)1 << 28;
    CHECK_INT(sg_grid_run(&grid, &report, NULL), SG_FAULT_DEADLOCK);
    sg_module_destroy(module);
    sg_memory_destroy(memory);
    gt_nvrtc_close(nvrtc);
}

/* Two blocks that hand a number to each other, again and again. */
static const char ping_pong[] =
    "extern \"C\" __global__ void k(unsigned *ball)\n"
    "{\n"
    "    for (unsigned turn = blockIdx.x; turn < 2000; turn += 2) {\n"
    "        while (*(volatile unsigned *)ball != turn) ;\n"
    "        *(volatile unsigned *)ball = turn + 1;\n"
    "    }\n"
    "}\n";

TEST(a_block_that_waits_for_another_takes_few_turns_in_vain)
{
    gt_nvrtc *nvrtc = soft_nvrtc();
    sg_memory *memory = soft_memory();
    sg_module *module = soft_compile(nvrtc, memory, ping_pong, "sm_80");
    const unsigned zero = 0;
    const uint64_t ball = soft_upload(memory, &zero, 4);
    sg_grid grid = soft_grid(module, "k", memory, &ball, 2, 1);
    grid.budget = (uint64_t)1 << 22; /* 64 operations of a warp for each of the 2000 turns */
    sg_report report;
    if (sg_grid_run(&grid, &report, NULL) != SG_FAULT_NONE)
        check_fail(__FILE__, __LINE__, "%s", report.message);
    CHECK_INT(*(const unsigned *)(uintptr_t)ball, 2000);
    sg_module_destroy(module);
    sg_memory_destroy(memory);
    gt_nvrtc_close(nvrtc);
}

TEST(a_loop_without_end_stops_when_its_budget_is_spent)
{
    enum { OPERATIONS = 4096 };
    sg_memory *memory = soft_memory();
    sg_module *module = soft_module(memory, ".version 8.0\n.target sm_80\n.address_size 64\n"
                                            ".visible .entry k()\n{\n.reg .b32 r;\nL: add.s32 r, r, 1;\nbra L;\n}\n");
    sg_grid grid = soft_grid(module, "k", memory, NULL, 4, 1024);
    grid.budget = OPERATIONS * 32;
    grid.count = true;
    sg_report report;
    sg_counts counts;
    CHECK_INT(sg_grid_run(&grid, &report, &counts), SG_FAULT_DEADLOCK);
    CHECK(strstr(report.message, "the grid does not end") && counts.warp_instructions <= OPERATIONS);
    sg_module_destroy(module);
    sg_memory_destroy(memory);
}

TEST(a_register_that_nobody_has_written_is_not_a_number)
{
    sg_memory *memory = soft_memory();
    sg_module *module = soft_module(memory, ".version 8.0\n.target sm_80\n.address_size 64\n"
                                            ".visible .entry k(.param .u64 to)\n{\n.reg .b64 a;\n.reg .f32 sum;\n"
                                            "ld.param.u64 a, [to];\nadd.f32 sum, sum, 0f3f800000;\n"
                                            "st.global.f32 [a], sum;\n}\n");
    const uint64_t to = soft_upload(memory, NULL, 4);
    sg_grid grid = soft_grid(module, "k", memory, &to, 1, 1);
    sg_report report;
    if (sg_grid_run(&grid, &report, NULL) != SG_FAULT_NONE)
        check_fail(__FILE__, __LINE__, "%s", report.message);
    CHECK(isnan(*(const float *)(uintptr_t)to));
    sg_module_destroy(module);
    sg_memory_destroy(memory);
}

/* The 16-bit types of the templates, for an architecture that has no instruction for bf16. */
TEST(sixteen_bits_are_rounded_to_nearest_even_and_multiply_as_floats)
{
    static const char convert[] = "struct outputs { unsigned short f16, bf16; float twice_f16, twice_bf16; };\n"
                                  "extern \"C\" __global__ void k(const float *in, outputs *out)\n"
                                  "{\n"
                                  "    const gt_half h(in[threadIdx.x]), two(2);\n"
                                  "    const gt_bf16 b(in[threadIdx.x]), both(2);\n"
                                  "    out[threadIdx.x] = {h.bits, b.bits, h * two, b * both};\n"
                                  "}\n";
    typedef struct outputs {
        uint16_t f16, bf16;
        float twice_f16, twice_bf16;
    } outputs;
    const struct {
        uint32_t in;
        outputs out;
    } cases[] = {
        {0x3f800000, {0x3c00, 0x3f80, 2, 2}},
        {0x80000000, {0x8000, 0x8000, 0, 0}},
        {0xc0490fdb, {0xc248, 0xc049, -6.28125f, -6.28125f}},
        {0x3f808000, {0x3c04, 0x3f80, 2.0078125f, 2}},        /* a tie, to even: down */
        {0x3f818000, {0x3c0c, 0x3f82, 2.0234375f, 2.03125f}}, /* and up */
        {0x3f808001, {0x3c04, 0x3f81, 2.0078125f, 2.015625f}},
        {0x7f7fffff, {0x7c00, 0x7f80, INFINITY, INFINITY}}, /* too large for both */
        {0xff800000, {0xfc00, 0xff80, -INFINITY, -INFINITY}},
        {0x7f800001, {0x7fff, 0x7fff, NAN, NAN}}, /* a NaN whose payload is cut off */
        {0x33800000, {0x0001, 0x3380, 0x1p-23f, 0x1p-23f}}, /* the least of f16 */
        {0x00010000, {0x0000, 0x0001, 0, 0x1p-132f}},       /* and of bf16 */
    };
    enum { COUNT = sizeof cases / sizeof cases[0] };
    const struct gt_embedded_header *header = gt_embedded_headers;
    while (strcmp(header->name, "gemm.cuh") != 0)
        header++;
    gt_nvrtc *nvrtc = soft_nvrtc();
    sg_memory *memory = soft_memory();
    /* What comes before the first header that it includes, types among it. */
    const char *included = strstr(header->text, "#include");
    char *source = NULL;
    CHECK(included);
    CHECK(asprintf(&source, "%.*s%s#endif\n", (int)(included - header->text), header->text, convert) > 0);
    sg_module *module = soft_compile(nvrtc, memory, source, "sm_75");
    uint32_t in[COUNT];
    for (int i = 0; i < COUNT; i++)
        in[i] = cases[i].in;
    const uint64_t params[] = {soft_upload(memory, in, sizeof in), soft_upload(memory, NULL, COUNT * sizeof(outputs))};
    const sg_grid grid = soft_grid(module, "k", memory, params, 1, COUNT);
    sg_report report;
    if (sg_grid_run(&grid, &report, NULL) != SG_FAULT_NONE)
        check_fail(__FILE__, __LINE__, "%s", report.message);
    for (int i = 0; i < COUNT; i++) {
        const outputs *out = (const outputs *)(uintptr_t)params[1] + i, *right = &cases[i].out;
        CHECK_INT(out->f16, right->f16);
        CHECK_INT(out->bf16, right->bf16);
        CHECK(out->twice_f16 == right->twice_f16 || (isnan(out->twice_f16) && isnan(right->twice_f16)));
        CHECK(out->twice_bf16 == right->twice_bf16 || (isnan(out->twice_bf16) && isnan(right->twice_bf16)));
    }
    free(source);
    sg_module_destroy(module);
    sg_memory_destroy(memory);
    gt_nvrtc_close(nvrtc);
}

CHECK_MAIN
