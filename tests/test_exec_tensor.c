/* Matrix instructions and the copy engine: fragments, tensor maps, clusters, bulk stores. */
#include "../src/softgpu/machine/tensor_map.h"
#include "softgpu_fixture.h"

/* ldmatrix and mma.sync as CUTLASS puts them together: A row by row, B once along K and once along N. */
static const char tensor_core[] =
    "typedef unsigned short half_bits;\n"
    "extern \"C\" __global__ void k(const half_bits *a, const half_bits *b, float *c)\n"
    "{\n"
    "    __shared__ __align__(16) half_bits as[16][16], bt[8][16], bs[16][8];\n"
    "    const int l = threadIdx.x;\n"
    "    for (int i = l; i < 256; i += 32) as[i / 16][i % 16] = a[i];\n"
    "    for (int i = l; i < 128; i += 32) bs[i / 8][i % 8] = bt[i % 8][i / 8] = b[i];\n"
    "    __syncwarp();\n"
    "    unsigned x[4], y[2], z[2];\n"
    "    asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\" : \"=r\"(x[0]), \"=r\"(x[1]), \"=r\"(x[2]), \"=r\"(x[3])\n"
    "                 : \"r\"((unsigned)__cvta_generic_to_shared(&as[l % 16][l / 16 * 8])));\n"
    "    asm volatile(\"ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];\" : \"=r\"(y[0]), \"=r\"(y[1])\n"
    "                 : \"r\"((unsigned)__cvta_generic_to_shared(&bt[l % 8][l / 8 % 2 * 8])));\n"
    "    asm volatile(\"ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];\" : \"=r\"(z[0]), \"=r\"(z[1])\n"
    "                 : \"r\"((unsigned)__cvta_generic_to_shared(&bs[l % 16][0])));\n"
    "    float d[4] = {1, 2, 3, 4};\n"
    "    asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.\" TYPE \".\" TYPE \".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\"\n"
    "                 : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3]) : \"r\"(x[0]), \"r\"(x[1]), \"r\"(x[2]), \"r\"(x[3]), \"r\"(y[0]), \"r\"(y[1]));\n"
    "    for (int i = 0; i < 4; i++)\n"
    "        c[(l / 4 + i / 2 * 8) * 8 + l % 4 * 2 + i % 2] = d[i] - (i + 1) + (y[0] == z[0] && y[1] == z[1] ? 0 : 1000);\n"
    "}\n";

TEST(ldmatrix_and_mma_fit_together)
{
    gt_nvrtc *nvrtc = soft_nvrtc();
    for (int bf16 = 0; bf16 < 2; bf16++) {
        sg_memory *memory = soft_memory();
        char source[sizeof tensor_core + 64];
        sprintf(source, "#define TYPE \"%s\"\n%s", bf16 ? "bf16" : "f16", tensor_core);
        sg_module *module = soft_compile(nvrtc, memory, source, "sm_80");
        uint16_t a[256], b[128];
        int x[256], y[128];
        for (int i = 0; i < 256; i++) {
            x[i] = (int)(check_random() % 3);
            a[i] = (uint16_t)(x[i] == 0 ? 0 : x[i] == 2 ? 0x4000 : bf16 ? 0x3f80 : 0x3c00); /* 2.0 is 0x4000 in both */
            y[i % 128] = (int)(check_random() % 3);
            b[i % 128] = (uint16_t)(y[i % 128] == 0 ? 0 : y[i % 128] == 2 ? 0x4000 : bf16 ? 0x3f80 : 0x3c00);
        }
        const uint64_t params[] = {soft_upload(memory, a, sizeof a), soft_upload(memory, b, sizeof b),
                                   soft_upload(memory, NULL, 128 * 4)};
        sg_grid grid = soft_grid(module, "k", memory, params, 1, 32);
        sg_report report;
        sg_counts counts;
        grid.count = true;
        if (sg_grid_run(&grid, &report, &counts) != SG_FAULT_NONE)
            check_fail(__FILE__, __LINE__, "%s", report.message);
        CHECK_INT(counts.tensor, 1);
        CHECK_INT(counts.tensor_flops, 2 * 16 * 8 * 16);
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 8; j++) {
                int sum = 0;
                for (int p = 0; p < 16; p++)
                    sum += x[i * 16 + p] * y[p * 8 + j];
                CHECK_INT((int)((const float *)(uintptr_t)params[2])[i * 8 + j], sum);
            }
        sg_module_destroy(module);
        sg_memory_destroy(memory);
    }
    gt_nvrtc_close(nvrtc);
}

/* Two blocks of a cluster: each brings half of a swizzled box to both, reads the other's memory, and stores in bulk. */
static const char clustered[] =
    "struct __align__(64) map { char bytes[128]; };\n"
    "__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }\n"
    "__device__ void cluster_sync() { asm volatile(\"barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\" ::: \"memory\"); }\n"
    "extern \"C\" __global__ void __cluster_dims__(2, 1, 1) k(const __grid_constant__ map m, float *out, int x, int y)\n"
    "{\n"
    "    extern __shared__ __align__(1024) unsigned char box[];\n"
    "    __shared__ __align__(16) float back[256];\n"
    "    __shared__ unsigned long long bar;\n"
    "    unsigned rank, remote;\n"
    "    asm(\"mov.u32 %0, %%cluster_ctarank;\" : \"=r\"(rank));\n"
    "    const int t = threadIdx.x;\n"
    "    if (t == 0) asm volatile(\"mbarrier.init.shared::cta.b64 [%0], 1; fence.mbarrier_init.release.cluster;\" ::\"r\"(at(&bar)) : \"memory\");\n"
    "    cluster_sync();\n"
    "    if (t == 0) {\n"
    "        asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\" ::\"r\"(at(&bar)), \"r\"(EXPECTED) : \"memory\");\n"
    "        asm volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;\"\n"
    "                     ::\"r\"(at(box) + rank * 2048), \"l\"(&m), \"r\"(x), \"r\"(y + (int)rank * 16), \"r\"(at(&bar)), \"h\"((unsigned short)3) : \"memory\");\n"
    "    }\n"
    "#if WAIT\n"
    "    asm volatile(\"{ .reg .pred p; L: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra L; }\" ::\"r\"(at(&bar)) : \"memory\");\n"
    "#endif\n"
    "    for (int i = t; i < 1024; i += 256) {\n"
    "        const unsigned offset = i * 4, swizzled = offset ^ (offset >> 7 & 7) << 4;\n"
    "        out[rank * 1024 + i] = *(float *)(box + swizzled);\n"
    "    }\n"
    "    back[t] = t + rank * 1000;\n"
    "    cluster_sync();\n"
    "    asm(\"mapa.shared::cluster.u32 %0, %1, %2;\" : \"=r\"(remote) : \"r\"(at(back + t)), \"r\"(rank ^ 1));\n"
    "    float there;\n"
    "    asm volatile(\"ld.shared::cluster.f32 %0, [%1];\" : \"=f\"(there) : \"r\"(remote) : \"memory\");\n"
    "    cluster_sync();\n"
    "    back[t] = there;\n"
    "    asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n"
    "    __syncthreads();\n"
    "    if (t == 0) {\n"
    "        asm volatile(\"cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024; cp.async.bulk.commit_group;\" ::\"l\"(out + 2048 + rank * 256), \"r\"(at(back)) : \"memory\");\n"
    "        asm volatile(\"cp.async.bulk.wait_group.read 0;\" ::: \"memory\");\n"
    "    }\n"
    "}\n";

/* A tensor of 40 x 40 floats with rows of 48; a box of 32 x 16 at (x, y). */
static sg_fault run_clustered(const gt_nvrtc *nvrtc, int expected, int wait, int x, int y, sg_report *report)
{
    sg_memory *memory = soft_memory();
    char source[sizeof clustered + 64];
    float tensor[40 * 48];
    sprintf(source, "#define EXPECTED %d\n#define WAIT %d\n%s", expected, wait, clustered);
    sg_module *module = soft_compile(nvrtc, memory, source, "sm_90");
    for (int i = 0; i < 40 * 48; i++)
        tensor[i] = (float)(i + 1);
    struct {
        sg_tensor_map map;
        uint64_t out;
        int x, y;
    } params = {.map = {.magic = SG_TENSOR_MAP_MAGIC, .strides = {48 * 4}, .sizes = {40, 40, 1, 1, 1},
                        .box = {32, 16, 1, 1, 1}, .steps = {1, 1, 1, 1, 1}, .rank = 2, .element_bytes = 4, .swizzle = 3},
                .x = x, .y = y};
    params.map.address = soft_upload(memory, tensor, sizeof tensor);
    params.out = soft_upload(memory, NULL, 4 * (2048 + 512));
    sg_grid grid = soft_grid(module, "k", memory, &params, 2, 256);
    CHECK_INT(sg_kernel_describe(grid.kernel)->cluster[0], 2);
    grid.cluster[0] = 2;
    grid.dynamic_shared = 4096;
    grid.check_races = true;
    const sg_fault fault = sg_grid_run(&grid, report, NULL);
    const float *out = (const float *)(uintptr_t)params.out;
    for (int rank = 0; rank < 2 && !fault; rank++) {
        for (int i = 0; i < 1024; i++) {
            const int row = y + i / 32, column = x + i % 32;
            const bool inside = row >= 0 && row < 40 && column >= 0 && column < 40;
            CHECK_NEAR(out[rank * 1024 + i], inside ? (double)tensor[row * 48 + column] : 0, 0);
        }
        for (int t = 0; t < 256; t++)
            CHECK_NEAR(out[2048 + rank * 256 + t], t + (rank ^ 1) * 1000, 0);
    }
    sg_module_destroy(module);
    sg_memory_destroy(memory);
    return fault;
}

TEST(tensor_copies_clusters_and_bulk_stores_work_and_their_misuse_is_seen)
{
    gt_nvrtc *nvrtc = soft_nvrtc();
    sg_report report;
    const struct {
        int expected, wait, x, y;
        sg_fault fault;
    } cases[] = {{4096, 1, 0, 0, SG_FAULT_NONE},     {4096, 1, 20, 30, SG_FAULT_NONE}, {4096, 1, -8, -3, SG_FAULT_NONE},
                 {8192, 1, 0, 0, SG_FAULT_DEADLOCK}, {2048, 1, 0, 0, SG_FAULT_UNWRITTEN}, {4096, 0, 0, 0, SG_FAULT_UNWRITTEN}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const sg_fault fault = run_clustered(nvrtc, cases[i].expected, cases[i].wait, cases[i].x, cases[i].y, &report);
        if (fault != cases[i].fault)
            check_fail(__FILE__, __LINE__, "case %zu: fault %d, %s", i, fault, report.message);
    }
    gt_nvrtc_close(nvrtc);
}

CHECK_MAIN
