/* PTX text: what is read from it, and what is said of text that is not right. */
#include "softgpu_fixture.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define BODY(text) HEAD ".visible .entry k(.param .u64 to)\n{\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .f32 %f<9>;\n.reg .pred %p<9>;\n" text "\nret;\n}\n"

/* Status of a module; its message stays in `message`. */
static char message[SG_MESSAGE_LENGTH];

static sg_ptx_status load(const char *text, size_t bytes)
{
    sg_memory *memory = soft_memory();
    sg_module *module = NULL;
    const sg_ptx_status status = sg_module_create(text, bytes, 90, memory, &module, message);
    if (status == SG_PTX_OK)
        sg_module_destroy(module);
    CHECK_INT(sg_memory_used(memory), 0); /* nothing stays behind */
    sg_memory_destroy(memory);
    return status;
}

TEST(text_that_is_wrong_is_refused_with_its_line_and_mnemonic)
{
    static const struct {
        const char *text;
        sg_ptx_status status;
        const char *says;
    } cases[] = {
        {"", SG_PTX_SYNTAX, "expected .version"},
        {"\x7f" "ELF", SG_PTX_SYNTAX, "line 1"},
        {".version 99.0\n.target sm_80\n", SG_PTX_TARGET, "too new"},
        {".version 8.0\n.target sm_100\n", SG_PTX_TARGET, "sm_100"},
        {".version 8.0\n.target sm_80\n.address_size 32\n", SG_PTX_UNSUPPORTED, "line 4"},
        {BODY("frobnicate.b32 %r1, %r2;"), SG_PTX_UNSUPPORTED, "line 10: frobnicate.b32"},
        {BODY("add.s33 %r1, %r2, %r3;"), SG_PTX_UNSUPPORTED, "add.s33"},
        {BODY("add.s32 %r1, %r2;"), SG_PTX_SYNTAX, "wrong number of operands"},
        {BODY("add.s32 %r1, %r2, %rd3;"), SG_PTX_SYNTAX, "add.s32"},
        {BODY("add.s32 %r1, %r2, %r9;"), SG_PTX_UNSUPPORTED, "add.s32"},
        {BODY("add.s32 5, %r2, %r3;"), SG_PTX_SYNTAX, "destination"},
        {BODY("@%r1 add.s32 %r1, %r2, %r3;"), SG_PTX_SYNTAX, "predicate"},
        {BODY("bra NOWHERE;"), SG_PTX_SYNTAX, "label not known"},
        {BODY("ld.global.v3.f32 {%f1, %f2, %f3}, [%rd1];"), SG_PTX_UNSUPPORTED, "ld.global.v3.f32"},
        {BODY("ld.global.v2.f32 {%f1, %f2, %f3}, [%rd1];"), SG_PTX_SYNTAX, "vector"},
        {BODY("ld.global.frog.f32 %f1, [%rd1];"), SG_PTX_UNSUPPORTED, "modifier"},
        {BODY("st.const.f32 [%rd1], %f1;"), SG_PTX_SYNTAX, "constant"},
        {BODY("tcgen05.fence::before_thread_sync;"), SG_PTX_UNSUPPORTED, "tcgen05"},
        {BODY("call foo;"), SG_PTX_UNSUPPORTED, "call"},
        {BODY("add.s32 %r1, %r2, 99999999999999999999999;"), SG_PTX_SYNTAX, "not PTX"},
        {BODY("cp.async.ca.shared.global [%r1], [%rd1], 5;"), SG_PTX_SYNTAX, "4, 8 or 16"},
        {BODY("mov.u32 %r1, %nothing;"), SG_PTX_UNSUPPORTED, "mov.u32"},
        {BODY(".reg .b32 x; .reg .b32 x;"), SG_PTX_SYNTAX, "twice"},
        {HEAD ".visible .entry k()\n{\n", SG_PTX_SYNTAX, "without its end"},
        {HEAD ".global .b32 x[4] = {1, 2, 3, 4, 5};\n", SG_PTX_SYNTAX, "initial"},
        {HEAD ".global .align 3 .b32 x;\n", SG_PTX_SYNTAX, "power of two"},
        {HEAD ".global .b32 x[4294967296][4294967296];\n", SG_PTX_SYNTAX, "large"},
        {HEAD ".visible .entry k(.param .b8 x[40000])\n{\nret;\n}\n", SG_PTX_SYNTAX, "32764"},
        {HEAD ".alias a, b;\n", SG_PTX_UNSUPPORTED, "alias"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const sg_ptx_status status = load(cases[i].text, strlen(cases[i].text));
        if (status != cases[i].status || !strstr(message, cases[i].says))
            check_fail(__FILE__, __LINE__, "case %zu: status %d, '%s'; expected %d, '%s'", i, status, message,
                       cases[i].status, cases[i].says);
        CHECK(strstr(message, "line"));
    }
}

TEST(deep_nesting_ends_in_an_error)
{
    char *text = malloc(1 << 20);
    for (int form = 0; form < 3; form++) {
        size_t at = (size_t)sprintf(text, HEAD ".visible .entry k()\n{\n");
        if (form)
            at += (size_t)sprintf(text + at, "mov.b32 ");
        memset(text + at, form == 0 ? '{' : form == 1 ? '[' : '!', 900000);
        CHECK_INT(load(text, at + 900000), SG_PTX_SYNTAX);
    }
    free(text);
}

TEST(names_are_scoped_by_braces)
{
    /* Inline assembly declares the same register and label again and again. */
    CHECK_INT(load(BODY("{ .reg .pred p; L: setp.eq.s32 p, %r1, 0; @p bra L; }\n"
                        "{ .reg .pred p; L: setp.eq.s32 p, %r2, 0; @p bra L; @!p bra M; }\n"
                        "{ .reg .b32 %r<4>; .reg .b64 p; mov.u64 p, 1; { mov.u32 %r3, 1; } }\nM:"), strlen(
                   BODY("{ .reg .pred p; L: setp.eq.s32 p, %r1, 0; @p bra L; }\n"
                        "{ .reg .pred p; L: setp.eq.s32 p, %r2, 0; @p bra L; @!p bra M; }\n"
                        "{ .reg .b32 %r<4>; .reg .b64 p; mov.u64 p, 1; { mov.u32 %r3, 1; } }\nM:"))),
              SG_PTX_OK);
    CHECK_INT(load(BODY("{ .reg .b32 inner; } mov.u32 inner, 1;"), strlen(BODY("{ .reg .b32 inner; } mov.u32 inner, 1;"))),
              SG_PTX_SYNTAX);
    CHECK_INT(load(BODY("{ L: } bra L;"), strlen(BODY("{ L: } bra L;"))), SG_PTX_SYNTAX);
}

TEST(a_kernel_says_what_its_launch_must_match)
{
    sg_memory *memory = soft_memory();
    sg_module *module = soft_module(
        memory, HEAD ".extern .shared .align 128 .b8 dynamic[];\n"
                     ".visible .entry first(.param .u32 a, .param .align 8 .b8 b[24], .param .u16 c)\n"
                     ".maxntid 64, 2, 1\n.minnctapersm 3\n.reqnctapercluster 2, 1, 1\n{\n"
                     ".shared .align 16 .b8 s[40]; .shared .align 4 .b32 t; .local .align 8 .b8 l[20];\n"
                     ".reg .b32 r; mov.u32 r, dynamic; mov.u32 r, t; ret;\n}\n"
                     ".visible .entry second() { ret; }\n");
    const sg_kernel_facts *facts = sg_kernel_describe(sg_module_kernel(module, "first"));
    CHECK_STR(facts->name, "first");
    CHECK_INT(facts->param_count, 3);
    CHECK_INT(facts->param_offsets[1], 8);
    CHECK_INT(facts->param_offsets[2], 32);
    CHECK_INT(facts->param_bytes[1], 24);
    CHECK_INT(facts->params_bytes, 34);
    CHECK_INT(facts->static_shared, 44);
    CHECK_INT(facts->local_bytes, 32);
    CHECK_INT(facts->max_threads, 128);
    CHECK_INT(facts->min_blocks, 3);
    CHECK_INT(facts->cluster[0], 2);
    CHECK(sg_module_kernel(module, "second") && !sg_module_kernel(module, "third"));
    sg_module_destroy(module);
    sg_memory_destroy(memory);
}

TEST(variables_have_their_initial_values)
{
    sg_memory *memory = soft_memory();
    sg_module *module = soft_module(memory, HEAD ".visible .global .align 4 .b32 a[4] = {1, -2, 0x10};\n"
                                                 ".const .align 8 .f64 b[2] = {0d3FF0000000000000, 2.5};\n"
                                                 ".global .f32 c = 1.5;\n.global .align 1 .b8 d[3] = {104, 105};\n"
                                                 ".global .u64 e[2] = {generic(a)+4, c};\n");
    uint64_t a, b, c, d, e, bytes;
    CHECK(sg_module_variable(module, "a", &a, &bytes));
    CHECK_INT(bytes, 16);
    CHECK_INT(((const int32_t *)(uintptr_t)a)[1], -2);
    CHECK_INT(((const int32_t *)(uintptr_t)a)[2], 16);
    CHECK_INT(((const int32_t *)(uintptr_t)a)[3], 0);
    CHECK(sg_module_variable(module, "b", &b, &bytes));
    CHECK_NEAR(((const double *)(uintptr_t)b)[1], 2.5, 0);
    CHECK(sg_module_variable(module, "c", &c, &bytes));
    CHECK_NEAR(*(const float *)(uintptr_t)c, 1.5, 0);
    CHECK(sg_module_variable(module, "d", &d, &bytes));
    CHECK_STR((const char *)(uintptr_t)d, "hi");
    CHECK(sg_module_variable(module, "e", &e, &bytes));
    CHECK(((const uint64_t *)(uintptr_t)e)[0] == a + 4 && ((const uint64_t *)(uintptr_t)e)[1] == c);
    CHECK(!sg_module_variable(module, "f", &a, &bytes));
    sg_module_destroy(module);
    sg_memory_destroy(memory);
}

/* Text that was once right: bytes changed, cut out, doubled; pieces of one put into another. */
static size_t mutate(char *text, size_t bytes, size_t room)
{
    for (int changes = 1 + (int)(check_random() % 2); changes > 0 && bytes > 8; changes--) {
        const size_t at = check_random() % bytes, length = 1 + check_random() % 40;
        switch (check_random() % 12) {
        case 0: text[at] = (char)check_random(); break;
        case 1: text[at] = "{}[]()<>;,.:%@!+-_|"[check_random() % 19]; break;
        case 2: bytes = at; break;
        case 3:
            if (at + length < bytes) {
                memmove(text + at, text + at + length, bytes - at - length);
                bytes -= length;
            }
            break;
        case 4:
        case 5: { /* a longer piece twice */
            const size_t from = check_random() % bytes, count = length < bytes - from ? length : bytes - from;
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
                    text[i] = (char)('0' + check_random() % 10);
                    break;
                }
        }
    }
    return bytes;
}

/* What still loads is run, too: a broken kernel may fault, not harm. */
static void run_anything(sg_memory *memory, const sg_module *module)
{
    static const char *const names[] = {"k", "gemm"};
    for (int i = 0; i < 2; i++) {
        const sg_kernel *kernel = sg_module_kernel(module, names[i]);
        if (!kernel)
            continue;
        uint8_t *params = calloc(sg_kernel_describe(kernel)->params_bytes + 1, 1);
        static const uint8_t data[4096];
        const uint64_t somewhere = soft_upload(memory, data, sizeof data);
        for (uint32_t at = 0; at + 8 <= sg_kernel_describe(kernel)->params_bytes && at < 24; at += 8)
            memcpy(params + at, &somewhere, 8);
        for (uint32_t at = 24; at + 8 <= sg_kernel_describe(kernel)->params_bytes; at += 8)
            params[at] = 33;
        const sg_grid grid = {.kernel = kernel, .grid = {1, 1, 1}, .block = {check_random() % 2 ? 64 : 48, 1, 1}, .cluster = {1, 1, 1},
                              .dynamic_shared = 4096, .params = params, .memory = memory, .sm_count = 1,
                              .blocks_per_sm = 1, .check_races = true, .budget = 1 << 22};
        if (sg_kernel_describe(kernel)->static_shared < 1 << 20 && sg_kernel_describe(kernel)->local_bytes < 1 << 20)
            sg_grid_run(&grid, NULL, NULL);
        free(params);
    }
}

static const char rich[] = BODY(
    "{ .reg .pred p; .reg .b16 h<4>; .shared .align 16 .b8 s[512]; .local .align 8 .b8 loc[32];\n"
    "mov.u32 %r1, %tid.x; mov.u32 %r2, s; shl.b32 %r3, %r1, 2; and.b32 %r3, %r3, 252; add.s32 %r3, %r3, %r2;\n"
    "st.shared.u32 [%r3], %r1; bar.sync 0; ld.shared.v2.u32 {%r4, %r5}, [s+8]; setp.lt.u32 p, %r1, 7;\n"
    "@p bra L; mov.b32 {h0, h1}, %r4; mov.b32 %r4, {h1, h0}; L: shfl.sync.down.b32 %r5|p, %r4, 1, 31, -1;\n"
    "mov.u64 %rd1, loc; cvta.local.u64 %rd2, %rd1; st.u32 [%rd2+4], %r5; ld.local.u32 %r6, [loc+4];\n"
    "cvt.rn.f32.u32 %f1, %r6; fma.rn.f32 %f2, %f1, 0f3F800000, 1.5; atom.shared.add.u32 %r7, [s], 1;\n"
    "vote.sync.ballot.b32 %r8, p, -1; bfe.u32 %r8, %r8, 3, 5; mul.wide.u32 %rd3, %r8, 12; popc.b64 %r1, %rd3; }\n"
    "T: .branchtargets A, B; and.b32 %r1, %r1, 1; brx.idx %r1, T; A: nanosleep.u32 10; B:");

static const char richer[] = BODY(
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

static const char calls[] =
    HEAD ".func (.param .b32 back) twice(.param .b32 a, .param .b64 b)\n{\n.reg .b32 %r<4>; .reg .pred p;\n"
         "ld.param.u32 %r1, [a]; setp.gt.s32 p, %r1, 9; @p bra L; add.s32 %r1, %r1, %r1; L: st.param.b32 [back+0], %r1; ret;\n}\n"
         ".func outer(.param .b32 c)\n{\n.reg .b32 %r<4>;\n{ .param .b32 q0; .param .b64 q1; .param .b32 q2;\n"
         "ld.param.u32 %r2, [c]; st.param.b32 [q0+0], %r2; call.uni (q2), twice, (q0, q1); ld.param.b32 %r3, [q2+0]; }\nret;\n}\n"
         ".visible .entry k(.param .u64 to)\n{\n.reg .b32 %r<5>; .reg .pred p;\nmov.u32 %r1, %tid.x; setp.lt.u32 p, %r1, 7;\n"
         "{ .param .b32 p0; .param .b64 p1; .param .b32 v;\nst.param.b32 [p0+0], %r1; @p call (v), twice, (p0, p1);\n"
         "call.uni outer, (p0); ld.param.b32 %r2, [v+0]; }\nret;\n}\n";

TEST(mutated_text_never_does_harm)
{
    const char *seconds = getenv("FUZZ_SECONDS");
    const double limit = seconds ? atof(seconds) : 2;
    struct timespec start, now;
    static char text[1 << 17];
    size_t loaded = 0, tried = 0;
    const char *const texts[] = {rich, richer, calls};
    for (int i = 0; i < 3; i++)
        if (load(texts[i], strlen(texts[i])) != SG_PTX_OK)
            check_fail(__FILE__, __LINE__, "%s", message);
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        const char *from = texts[check_random() % 3];
        strcpy(text, from);
        const size_t bytes = mutate(text, strlen(from), sizeof text);
        sg_memory *memory = soft_memory();
        sg_module *module;
        if (sg_module_create(text, bytes, 90, memory, &module, message) == SG_PTX_OK) {
            run_anything(memory, module);
            sg_module_destroy(module);
            loaded++;
        } else {
            CHECK(message[0]);
        }
        sg_memory_destroy(memory);
        tried++;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)(now.tv_sec - start.tv_sec) + 1e-9 * (double)(now.tv_nsec - start.tv_nsec) < limit);
    printf("%zu texts, %zu of them loaded and ran\n", tried, loaded);
}

CHECK_MAIN
