/* PTX texts for tests of the parser and the decoder: whole ones, broken ones, and what to do with those that load. */
#ifndef PTX_FIXTURE_H
#define PTX_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "../src/softgpu/machine/exec.h"
#include "../src/softgpu/machine/module.h"
#include "../src/softgpu/machine/tensor_map.h"
#include "../src/softgpu/ptx/program.h"

#define PTX_HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define PTX_BODY(text)                                                                                       \
    PTX_HEAD ".visible .entry k(.param .u64 to)\n{\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .f32 %f<9>;\n"  \
             ".reg .pred %p<9>;\n" text "\nret;\n}\n"

/* Correct kernels with a little of everything. */
static const char ptx_rich[] = PTX_BODY(
    "{ .reg .pred p; .reg .b16 h<4>; .shared .align 16 .b8 s[512]; .local .align 8 .b8 loc[32];\n"
    "mov.u32 %r1, %tid.x; mov.u32 %r2, s; shl.b32 %r3, %r1, 2; and.b32 %r3, %r3, 252; add.s32 %r3, %r3, %r2;\n"
    "st.shared.u32 [%r3], %r1; bar.sync 0; ld.shared.v2.u32 {%r4, %r5}, [s+8]; setp.lt.u32 p, %r1, 7;\n"
    "@p bra L; mov.b32 {h0, h1}, %r4; mov.b32 %r4, {h1, h0}; L: shfl.sync.down.b32 %r5|p, %r4, 1, 31, -1;\n"
    "mov.u64 %rd1, loc; cvta.local.u64 %rd2, %rd1; st.u32 [%rd2+4], %r5; ld.local.u32 %r6, [loc+4];\n"
    "cvt.rn.f32.u32 %f1, %r6; fma.rn.f32 %f2, %f1, 0f3F800000, 1.5; atom.shared.add.u32 %r7, [s], 1;\n"
    "vote.sync.ballot.b32 %r8, p, -1; bfe.u32 %r8, %r8, 3, 5; mul.wide.u32 %rd3, %r8, 12; popc.b64 %r1, %rd3; }\n"
    "T: .branchtargets A, B; and.b32 %r1, %r1, 1; brx.idx %r1, T; A: nanosleep.u32 10; B:");

static const char ptx_richer[] = PTX_BODY(
    "{ .reg .pred p; .reg .b16 h; .reg .f64 fd<4>; .shared .align 128 .b8 s[2048]; .reg .b64 token;\n"
    "mov.u32 %r1, %tid.x; mov.u32 %r2, s; and.b32 %r3, %r1, 15; mad.lo.s32 %r3, %r3, 32, %r2; mov.b32 %r4, 1;\n"
    "setp.eq.u32 p, %r1, 0; @p mbarrier.init.shared.b64 [s+1024], 1; bar.sync 0, 64;\n"
    "st.shared.v4.b32 [%r3], {%r4, %r4, %r4, %r4}; st.shared.v4.b32 [%r3+16], {%r4, %r4, %r4, %r4}; bar.warp.sync -1;\n"
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r5, %r6, %r7, %r8}, [%r3];\n"
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r5, %r6, %r7, %r8}, {%r5, %r6}, {%f1, %f2, %f3, %f4};\n"
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {fd0, fd1}, {fd2}, {fd3}, {fd0, fd1};\n"
    "wmma.load.a.sync.aligned.m16n16k16.row.shared.bf16 {%r5, %r6, %r7, %r8}, [s], 16;\n"
    "wmma.store.d.sync.aligned.m16n16k16.col.shared.f32 [s], {%f1, %f2, %f3, %f4, %f1, %f2, %f3, %f4}, 16;\n"
    "ld.param.u64 %rd1, [to]; cp.async.ca.shared.global [%r3], [%rd1], 16, 0; cp.async.commit_group; cp.async.wait_group 0;\n"
    "@p mbarrier.arrive.expect_tx.shared.b64 token, [s+1024], 64; @!p bra W;\n"
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s+1088], [%rd1], 64, [s+1024];\n"
    "W: mbarrier.try_wait.parity.shared.b64 p, [s+1024], 0; @!p bra W;\n"
    "mapa.shared::cluster.u32 %r4, %r3, 0; ld.shared::cluster.u32 %r5, [%r4]; barrier.cluster.arrive; barrier.cluster.wait;\n"
    "cvt.rn.f16.f32 h, %f1; cvt.rzi.s64.f64 %rd2, fd0; atom.global.cas.b32 %r6, [%rd1], 0, 1; red.shared.add.f32 [s], 1.0; }\n");

static const char ptx_calls[] =
    PTX_HEAD ".func (.param .b32 back) twice(.param .b32 a, .param .b64 b)\n{\n.reg .b32 %r<4>; .reg .pred p;\n"
         "ld.param.u32 %r1, [a]; setp.gt.s32 p, %r1, 9; @p bra L; add.s32 %r1, %r1, %r1; L: st.param.b32 [back+0], %r1; ret;\n}\n"
         ".func outer(.param .b32 c)\n{\n.reg .b32 %r<4>;\n{ .param .b32 q0; .param .b64 q1; .param .b32 q2;\n"
         "ld.param.u32 %r2, [c]; st.param.b32 [q0+0], %r2; call.uni (q2), twice, (q0, q1); ld.param.b32 %r3, [q2+0]; }\nret;\n}\n"
         ".visible .entry k(.param .u64 to)\n{\n.reg .b32 %r<5>; .reg .pred p;\nmov.u32 %r1, %tid.x; setp.lt.u32 p, %r1, 7;\n"
         "{ .param .b32 p0; .param .b64 p1; .param .b32 v;\nst.param.b32 [p0+0], %r1; @p call (v), twice, (p0, p1);\n"
         "call.uni outer, (p0); ld.param.b32 %r2, [v+0]; }\nret;\n}\n";

static const char *const ptx_texts[] = {ptx_rich, ptx_richer, ptx_calls};
enum { PTX_TEXTS = sizeof ptx_texts / sizeof ptx_texts[0] };

/* The next number of a sequence. */
static inline uint64_t ptx_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    uint64_t z = (*state ^ *state >> 32) * 0xd6e8feb86659fd93u;
    return z ^ z >> 32;
}

/* Text that was once right: bytes changed, cut out, doubled, other numbers. Returns its new length, at most room. */
static inline size_t ptx_mutate(char *text, size_t bytes, size_t room, uint64_t *state)
{
    for (int changes = 1 + (int)(ptx_random(state) % 2); changes > 0 && bytes > 8; changes--) {
        const size_t at = ptx_random(state) % bytes, length = 1 + ptx_random(state) % 40;
        switch (ptx_random(state) % 12) {
        case 0: text[at] = (char)ptx_random(state); break;
        case 1: text[at] = "{}[]()<>;,.:%@!+-_|"[ptx_random(state) % 19]; break;
        case 2: bytes = at; break;
        case 3:
            if (at + length < bytes) {
                memmove(text + at, text + at + length, bytes - at - length);
                bytes -= length;
            }
            break;
        case 4:
        case 5: { /* a longer piece twice */
            const size_t from = ptx_random(state) % bytes, count = length < bytes - from ? length : bytes - from;
            if (bytes + count < room) {
                char piece[64];
                memcpy(piece, text + from, count);
                memmove(text + at + count, text + at, bytes - at);
                memcpy(text + at, piece, count);
                bytes += count;
            }
            break;
        }
        default: /* another digit for a digit: registers, offsets, sizes */
            for (size_t i = at; i < bytes && i < at + 60; i++)
                if (text[i] >= '0' && text[i] <= '9') {
                    text[i] = (char)('0' + ptx_random(state) % 10);
                    break;
                }
        }
    }
    return bytes;
}

/* Parameters as a family has them: tensor maps, five pointers, sizes and leading dimensions of a small product. */
static inline uint8_t *ptx_params(const sg_kernel_facts *facts, uint64_t somewhere)
{
    enum { POINTERS = 40 };
    const sg_tensor_map map = {.magic = SG_TENSOR_MAP_MAGIC, .address = somewhere, .strides = {128}, .rank = 2,
                               .sizes = {32, 40, 1, 1, 1}, .box = {32, 8, 1, 1, 1}, .steps = {1, 1, 1, 1, 1},
                               .element_bytes = 4, .swizzle = 3};
    const uint64_t size = 16;
    uint8_t *params = calloc(facts->params_bytes + 1, 1);
    for (size_t i = 0; params && i < facts->param_count; i++)
        for (uint32_t at = 0, bytes = facts->param_bytes[i]; at < bytes; at += 8) {
            uint8_t *to = params + facts->param_offsets[i] + at;
            const uint32_t left = bytes - at < 8 ? bytes - at : 8;
            if (i + 1 < facts->param_count && bytes == sizeof map) /* the last one is the argument block */
                memcpy(to, (const uint8_t *)&map + at, left);
            else
                memcpy(to, left == 8 && at < POINTERS ? &somewhere : &size, left);
        }
    return params;
}

/* What still loads is run, too: a broken kernel may fault, not harm. Of every entry one cluster, within a budget. */
static inline void ptx_run_entries(sg_memory *memory, const sg_module *module, uint32_t threads)
{
    enum { BYTES = 16384 };
    for (const sg_kernel *kernel = module->kernels; kernel; kernel = kernel->next) {
        const sg_kernel_facts *facts = sg_kernel_describe(kernel);
        const uint64_t somewhere = sg_memory_alloc(memory, BYTES);
        uint8_t *params = ptx_params(facts, somewhere);
        if (somewhere && params && facts->static_shared < 1 << 20 && facts->local_bytes < 1 << 16) {
            sg_span_mark(sg_memory_find(memory, somewhere), somewhere, BYTES);
            sg_grid grid = {.kernel = kernel, .grid = {1, 1, 1}, .block = {threads, 1, 1}, .cluster = {1, 1, 1},
                            .dynamic_shared = BYTES, .params = params, .memory = memory, .sm_count = 1,
                            .blocks_per_sm = 1, .check_races = true, .count = true, .budget = 1 << 22};
            if (facts->max_threads && facts->max_threads <= 512)
                grid.block[0] = facts->max_threads;
            if (facts->cluster[0] > 1 && facts->cluster[0] <= 4)
                grid.cluster[0] = grid.grid[0] = facts->cluster[0];
            sg_counts counts;
            sg_grid_run(&grid, NULL, &counts);
        }
        free(params);
        if (somewhere)
            sg_memory_free(memory, somewhere);
    }
}

#endif
