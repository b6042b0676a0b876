/* Plans beyond one product on one stream: tensor maps, workspaces of the caller's, many problems in one context. */
#include <math.h>
#include <pthread.h>

#include "plan_fixture.h"

TEST(two_threads_run_one_plan_on_two_streams_with_workspaces_of_their_own)
{
    gt_context *gt = tuned("partial_sums", "--shapes 64x64x200");
    const gt_gemm gemm = GT_GEMM(GT_F32, SIDE, SIDE, DEPTH);
    const int times = driver->soft ? 30 : 10000;
    gt_plan *plan;
    pthread_t threads[2];
    CHECK_OK(gt_plan_gemm(gt, &gemm, &plan));
    job jobs[] = {make_job(plan, 1, times), make_job(plan, 2, times)};
    CHECK(jobs[0].workspace_bytes > 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, run_job, &jobs[i]) == 0);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        CHECK(!jobs[i].wrong);
        finish_job(&jobs[i]);
    }
    printf("%d times each\n", times);
    gt_plan_destroy(plan);
    gt_close(gt);
}

TEST(plans_are_made_and_destroyed_while_a_stream_is_captured)
{
    gt_context *gt = tuned("partial_sums", "--shapes 64x64x200");
    const gt_gemm gemm = GT_GEMM(GT_F32, SIDE, SIDE, DEPTH);
    const float one = 1, zero = 0;
    gt_plan *before, *plan;
    CUstream stream;
    CUgraph graph;
    CUgraphExec instance;
    CHECK_OK(gt_plan_gemm(gt, &gemm, &before));
    job j = make_job(before, 1, 1);
    CHECK(driver->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    CHECK(driver->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
    CHECK_OK(gt_plan_gemm(gt, &gemm, &plan));
    CHECK_OK(gt_execute(plan, stream, &one, (void *)j.a, (void *)j.b, &zero, (void *)j.c));
    gt_plan_destroy(before);
    CHECK(driver->cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
    CHECK(driver->cuGraphInstantiate(&instance, graph, 0) == CUDA_SUCCESS);
    CHECK(driver->cuGraphLaunch(instance, stream) == CUDA_SUCCESS);
    CHECK(driver->cuStreamSynchronize(stream) == CUDA_SUCCESS);
    CHECK(driver->cuMemcpyDtoH(j.got, j.c, SIDE * SIDE * sizeof(float)) == CUDA_SUCCESS);
    CHECK(memcmp(j.got, j.wanted, SIDE * SIDE * sizeof(float)) == 0);
    CHECK(driver->cuGraphExecDestroy(instance) == CUDA_SUCCESS && driver->cuGraphDestroy(graph) == CUDA_SUCCESS);
    CHECK(driver->cuStreamDestroy(stream) == CUDA_SUCCESS);
    finish_job(&j);
    gt_plan_destroy(plan);
    gt_close(gt);
}

TEST(counters_of_the_callers_are_not_cleared_but_left_as_they_were)
{
    gt_context *gt = tuned("partial_sums", "--shapes 64x64x200");
    const gt_gemm gemm = GT_GEMM(GT_F32, SIDE, SIDE, DEPTH);
    const float one = 1, zero = 0;
    const unsigned full = 0xffffffff;
    gt_description d;
    gt_plan *plan;
    unsigned counters[64] = {0};
    CHECK_OK(gt_plan_gemm(gt, &gemm, &plan));
    CHECK_OK(gt_plan_describe(plan, &d));
    CHECK(d.counters > 0 && d.counters <= sizeof counters);
    job j = make_job(plan, 3, 1);
    const CUdeviceptr own = upload((const float *)counters, sizeof counters / sizeof(float));
    const gt_operands operands = {.alpha = &one, .beta = &zero, .a = (void *)j.a, .b = (void *)j.b, .c = (void *)j.c,
                                  .workspace = (void *)j.workspace, .workspace_bytes = j.workspace_bytes,
                                  .counters = (void *)own};
    for (int i = 0; i < 2; i++) {
        CHECK(driver->cuMemsetD8(j.c, 0xff, SIDE * SIDE * sizeof(float)) == CUDA_SUCCESS);
        CHECK_OK(gt_execute_ex(plan, NULL, &operands));
        CHECK(driver->cuMemcpyDtoH(j.got, j.c, SIDE * SIDE * sizeof(float)) == CUDA_SUCCESS);
        CHECK(memcmp(j.got, j.wanted, SIDE * SIDE * sizeof(float)) == 0);
    }
    CHECK(driver->cuMemcpyDtoH(counters, own, sizeof counters) == CUDA_SUCCESS);
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++)
        CHECK(counters[i] == 0);
    CHECK(driver->cuMemcpyDtoH(counters, j.workspace, sizeof(unsigned)) == CUDA_SUCCESS);
    CHECK(counters[0] == full); /* those of the workspace are not touched */
    CHECK(driver->cuMemFree(own) == CUDA_SUCCESS);
    finish_job(&j);
    gt_plan_destroy(plan);
    gt_close(gt);
}

TEST(a_workspace_that_does_not_fit_is_refused)
{
    gt_context *gt = tuned("partial_sums", "--shapes 64x64x200");
    const gt_gemm gemm = GT_GEMM(GT_F32, SIDE, SIDE, DEPTH);
    const float one = 1;
    gt_plan *plan;
    CHECK_OK(gt_plan_gemm(gt, &gemm, &plan));
    job j = make_job(plan, 3, 1);
    gt_operands operands = {.alpha = &one, .beta = &one, .a = (void *)j.a, .b = (void *)j.b, .c = (void *)j.c,
                            .workspace = (void *)j.workspace, .workspace_bytes = j.workspace_bytes - 1};
    CHECK_STATUS(gt_execute_ex(plan, NULL, &operands), GT_ERROR_INVALID);
    CHECK(strstr(gt_error_message(), "workspace_bytes"));
    operands.workspace = (void *)(j.workspace + 64);
    operands.workspace_bytes = j.workspace_bytes;
    CHECK_STATUS(gt_execute_ex(plan, NULL, &operands), GT_ERROR_ALIGNMENT);
    operands.workspace = (void *)j.workspace;
    operands.counters = (void *)(j.workspace + 2);
    CHECK_STATUS(gt_execute_ex(plan, NULL, &operands), GT_ERROR_ALIGNMENT);
    CHECK(strstr(gt_error_message(), "counters (") && strstr(gt_error_message(), "is not a multiple of 4 bytes"));
    CHECK_STATUS(gt_execute_ex(plan, NULL, NULL), GT_ERROR_INVALID);
    operands.workspace = NULL; /* the plan's own */
    CHECK_OK(gt_execute_ex(plan, NULL, &operands));
    CHECK(driver->cuCtxSynchronize() == CUDA_SUCCESS);
    finish_job(&j);
    gt_plan_destroy(plan);
    gt_close(gt);
}

/* A GPU whose memory is short: what it was asked for, what it gave, and what is still there. */
static struct {
    size_t most; /* that it gives at once */
    int asked, given;
} memory;

static CUresult CUDAAPI allocate_little(CUdeviceptr *address, size_t bytes)
{
    memory.asked++;
    if (bytes > memory.most)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memory.given++;
    return driver->cuMemAlloc(address, bytes);
}

static CUresult CUDAAPI take_back(CUdeviceptr address)
{
    memory.given--;
    return driver->cuMemFree(address);
}

static CUresult CUDAAPI create_no_stream(CUstream *stream, unsigned flags)
{
    (void)stream, (void)flags;
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static void run_short_of_memory(gt_context *gt, size_t most)
{
    memory.most = most;
    memory.asked = memory.given = 0;
    gt->driver->cuMemAlloc = allocate_little;
    gt->driver->cuMemFree = take_back;
}

/* 256 tiles of a kernel that was made with four parts of K, of a kilobyte each, and runs in any number of them. */
TEST(where_memory_is_short_a_kernel_runs_in_fewer_parts)
{
    gt_context *gt = tuned("any_parts", "--shapes 256x256x40");
    const gt_gemm gemm = GT_GEMM(GT_F32, 256, 256, 40);
    gt_plan *plan;
    gt_description d;
    CHECK_OK(gt_plan_gemm(gt, &gemm, &plan));
    CHECK_OK(gt_plan_describe(plan, &d));
    CHECK(d.choice == GT_CHOICE_EXACT && d.workspace > 1 << 20);
    gt_plan_destroy(plan);
    alarm(60);
    run_short_of_memory(gt, 1 << 19);
    CHECK_OK(gt_plan_gemm(gt, &gemm, &plan));
    CHECK_OK(gt_plan_describe(plan, &d));
    CHECK(d.choice == GT_CHOICE_PREDICTED && d.workspace <= 1 << 19);
    CHECK_INT(memory.given, d.workspace > 0);
    alarm(0);
    gt_plan_destroy(plan);
    gt_close(gt);
}

TEST(no_plan_that_memory_is_too_short_for_is_tried_for_ever)
{
    gt_context *gt = tuned("partial_sums", "--shapes 256x256x40");
    const gt_gemm gemm = GT_GEMM(GT_F32, 256, 256, 40);
    gt_plan *plan;
    alarm(60);
    run_short_of_memory(gt, 0);
    CHECK_STATUS(gt_plan_gemm(gt, &gemm, &plan), GT_ERROR_DEVICE_MEMORY);
    CHECK(strstr(gt_error_message(), "no device memory for a workspace of ") &&
          strstr(gt_error_message(), "; no kernel for this problem needs less"));
    CHECK(memory.asked == 1 && memory.given == 0);
    run_short_of_memory(gt, SIZE_MAX);
    gt->driver->cuStreamCreate = create_no_stream; /* there is room, but none to clear it */
    CHECK_STATUS(gt_plan_gemm(gt, &gemm, &plan), GT_ERROR_DEVICE_MEMORY);
    CHECK_INT(memory.given, 0);
    alarm(0);
    gt_close(gt);
}

TEST(where_an_operand_lies_decides_which_plan_was_made_before_does_not)
{
    gt_context *gt = tuned("tensor_map", "--batch 2 --shapes 32x32x32");
    gt_gemm packed = GT_GEMM(GT_F32, 32, 32, 32), apart;
    gt_plan *plan;
    packed.batch = 2;
    apart = packed;
    apart.stride_a = (int64_t)1 << 38; /* 2^40 bytes: more than a tensor map can say */
    CHECK_STATUS(gt_plan_gemm(gt, &apart, &plan), GT_ERROR_NOT_TUNED);
    CHECK_OK(gt_plan_gemm(gt, &packed, &plan));
    CHECK_STATUS(gt_plan_gemm(gt, &apart, &plan), GT_ERROR_NOT_TUNED);
    gt_plan_destroy(plan);
    gt_close(gt);
}

TEST(choices_are_found_again_and_the_oldest_unused_go)
{
    gt_context *gt = tuned("partial_sums", "--shapes 64x64x200");
    gt_gemm gemm = GT_GEMM(GT_F32, SIDE, SIDE, DEPTH);
    gt_plan *kept, *plan;
    CHECK_OK(gt_plan_gemm(gt, &gemm, &kept));
    for (int i = 0; i < 3 * GT_CHOICE_LIMIT; i++) {
        gemm.m = 1 + i % (2 * GT_CHOICE_LIMIT);
        CHECK_OK(gt_plan_gemm(gt, &gemm, &plan));
        gt_plan_destroy(plan);
        CHECK(gt->choices.count <= GT_CHOICE_LIMIT + 1 && gt->choices.unused <= GT_CHOICE_LIMIT);
    }
    const gt_chosen *used = kept->chosen;
    gemm.m = SIDE;
    CHECK_OK(gt_plan_gemm(gt, &gemm, &plan));
    CHECK(plan->chosen == used && used->users == 2); /* what a plan uses stays, however old */
    gt_plan_destroy(plan);
    gt_plan_destroy(kept);
    CHECK_INT(gt->choices.unused, GT_CHOICE_LIMIT);
    gt_close(gt);
}

/* From a space to a result. Rows of A and B are odd, and A begins at an odd element: less than C's are aligned to. */
static void check_types(const char *name)
{
    enum { M = 7, N = 41, K = 65, WIDTH = 8 };
    char more[100];
    snprintf(more, sizeof more, "--type %s --effort quick --shapes 7x41x65", name);
    gt_context *gt = tuned("naive", more);
    const gt_types *types = gt_types_parse(name, GT_MATH_STRICT);
    const gt_type_info *type_a = gt_type_find(types->a), *type_b = gt_type_find(types->b),
                       *type_c = gt_type_find(types->c);
    gt_gemm gemm = GT_GEMM(types->a, M, N, K);
    const float one = 1, zero = 0;
    char a[(1 + M * K) * WIDTH] = {0}, b[K * N * WIDTH] = {0}, c[(1 + M * N) * WIDTH];
    gt_plan *plan;
    CUdeviceptr on[3];
    for (int i = 0; i < M * K; i++)
        type_a->store(a, 1 + i, (double)number(i, 1));
    for (int i = 0; i < K * N; i++)
        type_b->store(b, i, (double)number(i, 2));
    gemm.type_b = types->b;
    gemm.type_c = types->c;
    gemm.align = 3;
    CHECK_STATUS(gt_plan_gemm(gt, &gemm, &plan), GT_ERROR_INVALID);
    gemm.align = 1; /* whatever the elements */
    CHECK_OK(gt_plan_gemm(gt, &gemm, &plan));
    const size_t bytes[] = {sizeof a, sizeof b, sizeof c};
    for (int i = 0; i < 3; i++)
        CHECK(driver->cuMemAlloc(&on[i], bytes[i]) == CUDA_SUCCESS);
    CHECK(driver->cuMemcpyHtoD(on[0], a, sizeof a) == CUDA_SUCCESS);
    CHECK(driver->cuMemcpyHtoD(on[1], b, sizeof b) == CUDA_SUCCESS);
    const CUdeviceptr on_a = on[0] + (unsigned)type_a->bytes;
    CHECK_STATUS(gt_execute(plan, NULL, &one, (void *)on_a, (void *)on[1], &zero, (void *)(on[2] + (unsigned)type_a->bytes)),
                 GT_ERROR_ALIGNMENT);
    CHECK(strstr(gt_error_message(), "is not a multiple of its elements'"));
    CHECK_OK(gt_execute(plan, NULL, &one, (void *)on_a, (void *)on[1], &zero, (void *)on[2]));
    CHECK(driver->cuMemcpyDtoH(c, on[2], M * N * (size_t)type_c->bytes) == CUDA_SUCCESS);
    for (int i = 0; i < M * N; i++) {
        double wanted = 0, rounded = 0;
        for (int p = 0; p < K; p++)
            wanted += (double)(number(i / N * K + p, 1) * number(p * N + i % N, 2));
        type_c->store(&rounded, 0, wanted);
        CHECK(type_c->load(c, i) == type_c->load(&rounded, 0));
    }
    for (int i = 0; i < 3; i++)
        CHECK(driver->cuMemFree(on[i]) == CUDA_SUCCESS);
    gt_plan_destroy(plan);
    gt_close(gt);
}

TEST(products_of_small_types_are_planned_and_executed)
{
    check_types("bf16_f32");
    check_types("e5m2_e4m3");
}

/* Verification has run it with padded rows, in batches, with tails and with null operands; here the library does. */
TEST(a_kernel_takes_tensor_maps_in_every_layout_and_batch)
{
    static const char *const layouts[] = {"nn", "nt", "tn", "tt"};
    int there = 0;
    for (int layout = 0; layout < 4; layout++) {
        char more[100];
        if (driver && driver->soft && layout / 2 == layout % 2)
            continue; /* each operand both ways: enough for what takes ten seconds a layout */
        snprintf(more, sizeof more, "--layout %s --batch 3 --shapes 40x36x68", layouts[layout]);
        if (driver && driver->cuDeviceGetAttribute(&there, CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, 0) ==
                          CUDA_SUCCESS && !there)
            SKIP("a device without tensor maps");
        gt_context *gt = tuned("tensor_map", more);
        gt_gemm gemm = GT_GEMM(GT_F32, 40, 36, 68);
        const float two = 2, zero = 0, one = 1;
        float a[3 * 40 * 68], b[3 * 68 * 36], c[3 * 40 * 36] = {0}, wanted[3 * 40 * 36] = {0};
        gt_plan *plan;
        gt_description d;
        gemm.batch = 3;
        gemm.op_a = layout / 2 ? GT_T : GT_N;
        gemm.op_b = layout % 2 ? GT_T : GT_N;
        for (int i = 0; i < 3 * 40 * 68; i++)
            a[i] = number(i, 5);
        for (int i = 0; i < 3 * 68 * 36; i++)
            b[i] = number(i, 6);
        for (int z = 0; z < 3; z++)
            for (int i = 0; i < 40; i++)
                for (int j = 0; j < 36; j++)
                    for (int p = 0; p < 68; p++)
                        wanted[z * 1440 + i * 36 + j] += 2 * a[z * 2720 + (layout / 2 ? p * 40 + i : i * 68 + p)] *
                                                         b[z * 2448 + (layout % 2 ? j * 68 + p : p * 36 + j)];
        const CUdeviceptr on_a = upload(a, 3 * 40 * 68), on_b = upload(b, 3 * 68 * 36), on_c = upload(c, 3 * 40 * 36);
        CHECK_OK(gt_plan_gemm(gt, &gemm, &plan));
        CHECK_OK(gt_plan_describe(plan, &d));
        CHECK_STR(d.family, "tensor_map");
        CHECK_OK(gt_execute(plan, NULL, &two, (void *)on_a, (void *)on_b, &zero, (void *)on_c));
        CHECK_OK(gt_execute(plan, NULL, &zero, NULL, NULL, &one, (void *)on_c));
        CHECK(driver->cuMemcpyDtoH(c, on_c, sizeof c) == CUDA_SUCCESS);
        CHECK(memcmp(c, wanted, sizeof c) == 0);
        gt_plan_destroy(plan);
        CHECK(driver->cuMemFree(on_a) == CUDA_SUCCESS && driver->cuMemFree(on_b) == CUDA_SUCCESS &&
              driver->cuMemFree(on_c) == CUDA_SUCCESS);
        gt_close(gt);
    }
}

/* What a product with an epilogue is to be: small whole numbers, so that all but gelu is exact. */
typedef struct finished {
    int64_t m, n, k;
    gt_epilogue epilogue;
    int beta;
    bool beside;
} finished;

static double wanted_at(const finished *f, int64_t i, int64_t j)
{
    double x = f->beta * (double)number(i * f->n + j, 3) + (f->epilogue & GT_EPILOGUE_BIAS ? (double)number(j, 4) : 0);
    for (int64_t p = 0; p < f->k; p++)
        x += 2 * (double)(number(i * f->k + p, 1) * number(p * f->n + j, 2));
    if (f->epilogue & GT_EPILOGUE_RELU)
        return x < 0 ? 0 : x;
    return f->epilogue & GT_EPILOGUE_GELU ? x / 2 * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))) : x;
}

static CUdeviceptr upload_numbers(int64_t count, int salt)
{
    float *host = calloc((size_t)count + 1, sizeof *host); /* one more: an operand may be empty */
    for (int64_t i = 0; i < count; i++)
        host[i] = number(i, salt);
    const CUdeviceptr device = upload(host, (size_t)count + 1);
    free(host);
    return device;
}

/* Plans and executes; the status of the execution. D and C are checked where that is GT_OK. */
static gt_status finish_product(gt_context *gt, const finished *f)
{
    const float two = 2, beta = (float)f->beta;
    const int64_t count = f->m * f->n;
    const CUdeviceptr a = upload_numbers(f->m * f->k, 1), b = upload_numbers(f->k * f->n, 2),
                      c = upload_numbers(count, 3), bias = upload_numbers(f->n, 4), d = upload_numbers(count, 5);
    const CUdeviceptr all[] = {a, b, c, bias, d};
    gt_gemm gemm = GT_GEMM(GT_F32, f->m, f->n, f->k);
    gt_plan *plan;
    gemm.epilogue = f->epilogue;
    CHECK_OK(gt_plan_gemm(gt, &gemm, &plan));
    gt_operands operands = {.alpha = &two, .beta = &beta, .a = (void *)a, .b = (void *)b, .c = (void *)c,
                            .d = f->beside ? (void *)d : NULL, .bias = (void *)(bias + 1)};
    const bool biased = f->epilogue & GT_EPILOGUE_BIAS;
    if (biased)
        CHECK_STATUS(gt_execute_ex(plan, NULL, &operands), GT_ERROR_ALIGNMENT);
    operands.bias = NULL;
    if (biased)
        CHECK_STATUS(gt_execute_ex(plan, NULL, &operands), GT_ERROR_INVALID);
    operands.bias = (void *)bias;
    const gt_status status = gt_execute_ex(plan, NULL, &operands);
    float *got = malloc((size_t)count * sizeof *got);
    CHECK(driver->cuMemcpyDtoH(got, f->beside ? d : c, (size_t)count * sizeof *got) == CUDA_SUCCESS);
    for (int64_t i = 0; status == GT_OK && i < count; i++)
        CHECK(fabs((double)got[i] - wanted_at(f, i / f->n, i % f->n)) <= (f->epilogue & GT_EPILOGUE_GELU ? 1e-3 : 0));
    CHECK(driver->cuMemcpyDtoH(got, c, (size_t)count * sizeof *got) == CUDA_SUCCESS);
    for (int64_t i = 0; f->beside && i < count; i++)
        CHECK(got[i] == number(i, 3)); /* only read */
    free(got);
    gt_plan_destroy(plan);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        CHECK(driver->cuMemFree(all[i]) == CUDA_SUCCESS);
    return status;
}

TEST(epilogues_are_applied_and_results_go_beside_c)
{
    gt_context *gt = tuned("batched", "--effort quick --budget 1s --shapes 7x41x65");
    const finished list[] = {
        {7, 41, 65, GT_EPILOGUE_RELU_BIAS, -3, true}, {7, 41, 65, GT_EPILOGUE_GELU_BIAS, 0, false},
        {7, 41, 65, GT_EPILOGUE_NONE, -3, true},      {7, 41, 65, GT_EPILOGUE_BIAS, 0, true},
        {41, 1, 65, GT_EPILOGUE_BIAS, 2, false},      {9, 5, 0, GT_EPILOGUE_GELU, 1, false},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        CHECK_OK(finish_product(gt, &list[i]));
    gt_gemm gemm = GT_GEMM(GT_F32, 7, 41, 65);
    gt_plan *plan;
    gt_description plain, with;
    CHECK_OK(gt_plan_gemm(gt, &gemm, &plan));
    CHECK_OK(gt_plan_describe(plan, &plain));
    gt_plan_destroy(plan);
    gemm.epilogue = GT_EPILOGUE_GELU_BIAS;
    CHECK_OK(gt_plan_gemm(gt, &gemm, &plan));
    CHECK_OK(gt_plan_describe(plan, &with));
    CHECK(with.expected_us > plain.expected_us);
    gt_plan_destroy(plan);
    gemm = (gt_gemm)GT_GEMM(GT_S8, 8, 8, 8);
    gemm.type_c = GT_S32;
    gemm.epilogue = GT_EPILOGUE_GELU;
    CHECK_STATUS(gt_plan_gemm(gt, &gemm, &plan), GT_ERROR_UNSUPPORTED);
    gemm.epilogue = (gt_epilogue)6;
    CHECK_STATUS(gt_plan_gemm(gt, &gemm, &plan), GT_ERROR_UNSUPPORTED);
    gt_close(gt);
}

/* As of a database from before there were any. */
TEST(kernels_without_epilogues_serve_plain_products_and_nothing_else)
{
    gt_context *gt = tuned("naive", "--effort quick --budget 1s --shapes 7x41x65");
    gt_gemm gemm = GT_GEMM(GT_F32, 7, 41, 65);
    gt_plan *plan;
    CHECK_OK(finish_product(gt, &(finished){7, 41, 65, GT_EPILOGUE_NONE, -3, false}));
    CHECK_OK(finish_product(gt, &(finished){7, 41, 65, GT_EPILOGUE_NONE, 0, true}));
    CHECK_STATUS(finish_product(gt, &(finished){7, 41, 65, GT_EPILOGUE_NONE, 1, true}), GT_ERROR_UNSUPPORTED);
    CHECK(strstr(gt_error_message(), "gt_gemm.beside"));
    gemm.epilogue = GT_EPILOGUE_BIAS;
    CHECK_STATUS(gt_plan_gemm(gt, &gemm, &plan), GT_ERROR_NOT_TUNED);
    CHECK(strstr(gt_error_message(), "no kernel with epilogues for"));
    gemm.epilogue = GT_EPILOGUE_NONE;
    gemm.beside = 1;
    CHECK_STATUS(gt_plan_gemm(gt, &gemm, &plan), GT_ERROR_NOT_TUNED);
    gt_close(gt);
}

CHECK_MAIN
