/* What ceilings are measured with: the kernels do what their time is divided by. */
#include "../src/core/launch.h"
#include "../tuner/timer.h"
#include "../tuner/worker/ceiling.h"
#include "../tuner/compile/nvrtc.h"
#include "driver_fixture.h"

#define THREADS 256
#define SUMS    16
#define ROUNDS  32
#define TURNS   3

extern const char gt_embedded_ceiling_cu[];

static gt_device device;
static gt_code code;

/* ceiling.cu for one type of numbers, loaded. */
static void load(const char *number)
{
    char source[8192];
    gt_nvrtc *nvrtc;
    open_context();
    if (gt_nvrtc_open(NULL, &nvrtc) != GT_OK)
        SKIP(gt_error_message());
    CHECK_OK(gt_device_query(cu, 0, &device));
    const int length = snprintf(source, sizeof source, "#define NUMBER %s\n%s", number, gt_embedded_ceiling_cu);
    CHECK(length < (int)sizeof source);
    CHECK_OK(gt_nvrtc_compile(nvrtc, source, device.arch, &code, NULL));
    OK(gt_code_load(cu, &code, &library));
}

/* Times a text occurs in the PTX of one kernel. */
static int occurrences(const char *entry, const char *text)
{
    char head[64];
    snprintf(head, sizeof head, ".entry %s(", entry);
    const char *at = strstr(code.ptx, head);
    CHECK(at);
    const char *end = strstr(at, "\n}");
    int count = 0;
    while ((at = strstr(at, text)) && at < end) {
        count++;
        at += strlen(text);
    }
    return count;
}

static void run_stream(const char *name, void *x, void *y, uint32_t out[THREADS])
{
    CUdeviceptr memory_ = memory(THREADS * 4);
    int turns = TURNS;
    void *arguments[] = {&memory_, x, y, &turns};
    OK(cu->cuLaunchKernel(kernel(name), 1, 1, 1, THREADS, 1, 1, 0, NULL, arguments, NULL));
    OK(cu->cuMemcpyDtoH(out, memory_, THREADS * 4));
}

DEVICE_TEST(a_stream_of_floats_does_every_multiply_add_it_is_credited_with)
{
    float x = 0.875f, y = 0.25f, out[THREADS];
    load("float");
    for (int way = 0; way < 2; way++) {
        run_stream(way == 0 ? "stream_0" : "stream_1", &x, &y, (uint32_t *)out);
        CHECK_INT(occurrences(way == 0 ? "stream_0" : "stream_1", "fma.rn.f32"), SUMS * ROUNDS);
        for (int thread = 0; thread < THREADS; thread++) {
            float total = 0;
            for (int i = 0; i < SUMS; i++) {
                float sum = (float)(thread + i);
                for (int step = 0; step < ROUNDS * TURNS; step++)
                    sum = fmaf(sum, way == 0 ? x : 0.5f, y);
                total += sum;
            }
            CHECK_NEAR(out[thread], total, 0);
        }
    }
}

DEVICE_TEST(a_stream_of_integers_does_every_multiply_add_it_is_credited_with)
{
    uint32_t x = 3, y = 1, out[THREADS];
    load("int");
    for (int way = 0; way < 2; way++) {
        run_stream(way == 0 ? "stream_0" : "stream_1", &x, &y, out);
        /* One more is an index. */
        CHECK_INT(occurrences(way == 0 ? "stream_0" : "stream_1", "mad.lo.s32"), SUMS * ROUNDS + 1);
        for (int thread = 0; thread < THREADS; thread++) {
            uint32_t total = 0;
            for (int i = 0; i < SUMS; i++) {
                uint32_t sum = (uint32_t)(thread + i);
                for (int step = 0; step < ROUNDS * TURNS; step++)
                    sum = sum * (way == 0 ? x : 214013) + y;
                total += sum;
            }
            CHECK(out[thread] == total);
        }
    }
}

DEVICE_TEST(a_copy_copies_every_byte_and_none_beside)
{
    enum { BYTES = 4 * THREADS * 16 * 2, GUARD = 4096 };
    static unsigned char from[BYTES], to[BYTES + 2 * GUARD];
    load("float");
    for (int each = 1; each <= 4; each += 3) {
        const CUdeviceptr source = memory(BYTES), target = memory(sizeof to);
        CUdeviceptr inner = target + GUARD;
        void *arguments[] = {(void *)&source, &inner};
        for (size_t i = 0; i < sizeof from; i++)
            from[i] = (unsigned char)(check_random() | 1);
        OK(cu->cuMemcpyHtoD(source, from, BYTES));
        OK(cu->cuLaunchKernel(kernel(each == 1 ? "copy_1" : "copy_4"), BYTES / (THREADS * 16 * (unsigned)each), 1, 1,
                              THREADS, 1, 1, 0, NULL, arguments, NULL));
        OK(cu->cuMemcpyDtoH(to, target, sizeof to));
        CHECK(memcmp(to + GUARD, from, BYTES) == 0);
        for (size_t i = 0; i < GUARD; i++)
            CHECK(to[i] == 0 && to[GUARD + BYTES + i] == 0);
    }
}

/* Measures on the whole device, or as if it had one SM, a slow one, and a small cache. */
static gt_ceilings measure(const char *types, bool small)
{
    gt_meter meter;
    gt_ceilings ceilings = {-1, -1};
    CUstream stream;
    OK(cu->cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    CHECK_OK(gt_meter_init(cu, stream, &device, &meter));
    if (small) {
        device.sm_count = 1;
        device.threads_per_sm = 2 * THREADS;
        device.clock_khz = 1000;
        device.l2_bytes = 4096;
    }
    CHECK_OK(gt_ceilings_measure(&meter, &device, gt_types_parse(types, GT_MATH_STRICT), &code, &ceilings));
    gt_meter_finish(&meter);
    return ceilings;
}

DEVICE_TEST(measuring_gives_back_the_memory_it_takes)
{
    size_t before = 0, after = 0, total;
    load("float");
    OK(cu->cuMemGetInfo(&before, &total));
    const gt_ceilings ceilings = measure("f32", true);
    OK(cu->cuMemGetInfo(&after, &total));
    CHECK(ceilings.tflops > 0 && ceilings.tflops < 1000);
    CHECK(ceilings.copy_tbs > 0 && ceilings.copy_tbs < 1000);
    if (path()) /* a real driver keeps what it loads code into */
        CHECK_INT(after, before);
}

DEVICE_TEST(types_of_tensor_cores_have_a_copy_but_no_stream)
{
    load("float");
    const gt_ceilings ceilings = measure("f16_f32", true);
    CHECK(ceilings.tflops == 0 && ceilings.copy_tbs > 0);
}

DEVICE_TEST(what_a_gpu_is_measured_to_do_is_close_to_its_units_and_clock)
{
    if (path())
        SKIP("of a real GPU alone");
    load("float");
    const double started = gt_now(), peak = gt_device_peak_tflops(&device, gt_types_parse("f32", GT_MATH_STRICT));
    const gt_ceilings ceilings = measure("f32", false);
    printf("%s: %.2f of %.2f TFLOPS, copies %.3f TB/s, in %.0f ms\n", device.name, ceilings.tflops, peak,
           ceilings.copy_tbs, 1e3 * (gt_now() - started));
    CHECK(ceilings.tflops > 0.9 * peak && ceilings.tflops < 1.02 * peak);
    CHECK(ceilings.copy_tbs > 0.05 && ceilings.copy_tbs < 20);
    CHECK(gt_now() - started < 0.5);
}

TEST(shares_are_of_what_the_product_needs)
{
    const gt_gemm gemm = GT_GEMM(GT_F32, 1000, 2000, 500), half = {.m = 10, .n = 20, .k = 30, .type_ab = GT_F16};
    const gt_ceilings ceilings = {.tflops = 50, .copy_tbs = 4}, unknown = {0};
    gt_problem problem;
    CHECK_OK(gt_problem_init(&gemm, &problem));
    /* 2e9 operations in 100 us are 20 TFLOPS; 4 (0.5e6 + 1e6 + 2e6) bytes in 100 us are 0.14 TB/s. */
    CHECK_NEAR(gt_ceilings_peak_percent(&ceilings, &problem, 100), 40, 1e-9);
    CHECK_NEAR(gt_ceilings_copy_percent(&ceilings, &problem, 100), 3.5, 1e-9);
    CHECK_NEAR(gt_ceilings_peak_percent(&unknown, &problem, 100), 0, 0);
    CHECK_NEAR(gt_ceilings_copy_percent(&unknown, &problem, 100), 0, 0);
    CHECK_NEAR(gt_ceilings_copy_percent(&ceilings, &problem, 0), 0, 0);
    CHECK_OK(gt_problem_init(&half, &problem)); /* C is f32: 2 (300 + 600) + 4 * 200 bytes */
    CHECK_NEAR(gt_ceilings_copy_percent(&ceilings, &problem, 1), 100 * 2600e-6 / 4, 1e-9);
}

CHECK_MAIN
