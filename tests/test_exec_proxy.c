/* The async proxy, which copies in bulk and multiplies, behind ordinary loads and stores of the same memory: where a
 * fence between the proxies must stand. Whoever has waited for a copy or a product needs none. */
#include "order_fixture.h"

#define NEEDS "needs fence.proxy.async"

/* The address of a thread's word in %a in global memory, in %u in shared memory; memory in %d, 1 KiB of shared memory in
 * %s, and two mbarriers: %m for copies, %e for all threads. */
#define HEAD                                                                                                           \
    ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 to) {\n"                            \
    ".shared .align 128 .b8 s[4096]; .shared .align 8 .b8 m[16];"                                                      \
    " .reg .b64 %d, %a, %o, %x, %y; .reg .b32 %t, %b, %v, %s, %m, %e, %u, %n, %r; .reg .f32 %f<4>;"                    \
    " .reg .pred lead, other, first, p;"                                                                               \
    " ld.param.u64 %d, [to]; mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4; add.s64 %a, %d, %o; mov.u32 %s, s;"           \
    " mov.u32 %m, m; add.u32 %e, %m, 8; mad.lo.u32 %u, %t, 4, %s; setp.eq.u32 lead, %t, 0; setp.eq.u32 other, %t, 32;" \
    " mov.u32 %b, %ctaid.x; setp.eq.u32 first, %b, 0; mov.u32 %n, %ntid.x;"                                            \
    " @lead mbarrier.init.shared.b64 [%m], 1; @lead mbarrier.init.shared.b64 [%e], %n;"                                \
    " @lead fence.mbarrier_init.release.cluster; bar.sync 0;\n"
#define TAIL "\nret; }\n"

/* One thread copies in, all wait; one thread copies out and waits. */
#define COPY                                                                                                           \
    "@lead mbarrier.arrive.expect_tx.shared.b64 _, [%m], 256; @lead cp.async.bulk.shared::cluster.global"              \
    ".mbarrier::complete_tx::bytes [%s], [%d], 256, [%m];"
#define WAIT(name, phase) name ": mbarrier.try_wait.parity.shared.b64 p, [%m], " phase "; @!p bra " name ";"
#define MEET              "mbarrier.arrive.shared.b64 _, [%e]; E: mbarrier.try_wait.parity.shared.b64 p, [%e], 0; @!p bra E;"
#define STORE                                                                                                          \
    "@lead cp.async.bulk.global.shared::cta.bulk_group [%d], [%s], 256; @lead cp.async.bulk.commit_group;"             \
    " @lead cp.async.bulk.wait_group 0;"

enum { THREADS = 64, FIRST = 7, SECOND = 9 };

static const lines none = {0, 0}, both = {FIRST, SECOND};

typedef struct idiom {
    const char *what, *code;
    const lines *race;
    const char *says;
} idiom;

static void judge(const idiom *idioms, size_t count, const char *before, const char *after, uint32_t threads)
{
    for (size_t i = 0; i < count; i++) {
        char ptx[4096];
        snprintf(ptx, sizeof ptx, "%s%s%s%s", HEAD, before, idioms[i].code, after);
        judge_order(ptx, idioms[i].what, 1, threads, 1, *idioms[i].race, idioms[i].says);
    }
}

#define JUDGE(idioms, before, after, threads) judge(idioms, sizeof idioms / sizeof idioms[0], before, after, threads)

TEST(a_buffer_that_was_read_is_filled_again_behind_a_fence_of_the_proxies_or_an_mbarrier)
{
    static const idiom idioms[] = {
        {"every reader fences, then all meet", "fence.proxy.async; bar.sync 0;", &none, NULL},
        {"every reader fences shared memory", "fence.proxy.async.shared::cta; bar.sync 0;", &none, NULL},
        {"the thread that copies fences", "bar.sync 0; @lead fence.proxy.async;", &none, NULL},
        {"readers arrive at an mbarrier", MEET, &none, NULL},
        {"one thread arrives for its warp",
         "bar.warp.sync -1; @lead mbarrier.arrive.shared.b64 _, [%e], 32; @other mbarrier.arrive.shared.b64 _, [%e], 32;"
         " E: mbarrier.try_wait.parity.shared.b64 p, [%e], 0; @!p bra E;",
         &none, NULL},
        {"one thread arrives before it has met the others of its warp",
         "@lead mbarrier.arrive.shared.b64 _, [%e], 32; @other mbarrier.arrive.shared.b64 _, [%e], 32;"
         " E: mbarrier.try_wait.parity.shared.b64 p, [%e], 0; @!p bra E;",
         &both, NULL},
        {"a barrier of the block alone", "bar.sync 0;", &both, NEEDS},
        {"a fence of global memory", "fence.proxy.async.global; bar.sync 0;", &both, NEEDS},
        {"a fence of memory", "fence.acq_rel.gpu; bar.sync 0;", &both, NEEDS},
        {"a fence of another proxy", "fence.proxy.alias; bar.sync 0;", &both, NEEDS},
        {"another thread fences behind the barrier", "bar.sync 0; @other fence.proxy.async;", &both, NEEDS},
        {"a fence and no barrier", "fence.proxy.async;", &both, NULL},
        {"nothing at all", "", &both, NULL},
    };
    JUDGE(idioms, COPY WAIT("F", "0") "\nld.shared.u32 %v, [%u];\n", "\n" COPY "\n" WAIT("G", "1") TAIL, THREADS);
}

TEST(one_warp_alone_needs_the_fence_too)
{
    static const idiom idioms[] = {
        {"a fence", "fence.proxy.async.shared::cta; bar.warp.sync -1;", &none, NULL},
        {"the warp's barrier alone", "bar.warp.sync -1;", &both, NEEDS},
    };
    JUDGE(idioms, COPY WAIT("F", "0") "\nld.shared.u32 %v, [%u];\n", "\n" COPY "\n" WAIT("G", "1") TAIL, 32);
}

/* As above with an ordinary store: an mbarrier does not stand for the fence. */
#define OF_STORES(after_barrier)                                                                                       \
    {"every writer fences, then all meet", "fence.proxy.async; bar.sync 0;", &none, NULL},                             \
        {"writers fence, then arrive at an mbarrier", "fence.proxy.async.shared::cta; " MEET, &none, NULL},            \
        {"the fence stands behind the barrier", "bar.sync 0; " after_barrier, &none, NULL},                            \
        {"a barrier of the block alone", "bar.sync 0;", &both, NEEDS},                                                 \
        {"an mbarrier alone", MEET, &both, NEEDS},                                                                     \
        {"a fence of global memory", "fence.proxy.async.global; bar.sync 0;", &both, NEEDS},                           \
    {                                                                                                                  \
        "one warp of two fences", "@!lead bra X; fence.proxy.async; X: bar.sync 0;", &both, NEEDS                      \
    }

TEST(what_was_stored_is_copied_out_behind_a_fence_of_the_proxies)
{
    static const idiom idioms[] = {OF_STORES("@lead fence.proxy.async;")};
    JUDGE(idioms, "\nst.shared.u32 [%u], %t;\n", "\n" STORE TAIL, THREADS);
}

TEST(what_was_stored_is_overwritten_by_a_copy_behind_a_fence_of_the_proxies)
{
    static const idiom idioms[] = {OF_STORES("@lead fence.proxy.async;")};
    JUDGE(idioms, "\nst.shared.u32 [%u], %t;\n", "\n" COPY "\n" WAIT("F", "0") TAIL, THREADS);
}

/* A is 64 by 16 and B 16 by 8, f16, without a swizzle: cores of 128 bytes, 256 bytes for eight rows. */
#define MULTIPLY                                                                                                       \
    "cvt.u64.u32 %x, %s; shr.u64 %x, %x, 4; and.b64 %x, %x, 0x3fff; or.b64 %x, %x, 0x1000080000;"                      \
    " add.s64 %y, %x, 128; wgmma.fence.sync.aligned;"                                                                  \
    " wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %x, %y, 0, 1, 1, 0, 0;"                  \
    " wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
#define STORE_ALL                                                                                                      \
    "mov.u32 %v, 0; L: shl.b32 %n, %v, 9; add.u32 %n, %n, %u; st.shared.u32 [%n], 0; add.u32 %v, %v, 1;"               \
    " setp.lt.u32 p, %v, 5; @p bra L;"

TEST(what_was_stored_is_multiplied_behind_a_fence_of_the_proxies)
{
    static const idiom idioms[] = {OF_STORES("fence.proxy.async;")};
    JUDGE(idioms, "\n" STORE_ALL "\n", "\n" MULTIPLY " bar.sync 0; st.shared.u32 [%u], 1;" TAIL, 128);
}

TEST(what_a_copy_brought_or_took_away_is_touched_as_soon_as_it_is_waited_for)
{
    static const idiom idioms[] = {
        {"read and copied out again", COPY WAIT("F", "0") " ld.shared.u32 %v, [%u]; " STORE, &none, NULL},
        {"overwritten", COPY WAIT("F", "0") " bar.sync 0; st.shared.u32 [%u], 1;", &none, NULL},
        {"overwritten when it is away", COPY WAIT("F", "0") STORE " bar.sync 0; st.shared.u32 [%u], 1;", &none, NULL},
        {"read in global memory", COPY WAIT("F", "0") STORE " bar.sync 0; ld.global.u32 %v, [%a];", &none, NULL},
    };
    JUDGE(idioms, "\n", TAIL, THREADS);
}

TEST(what_was_stored_in_global_memory_is_copied_behind_a_fence_of_the_proxies)
{
    static const idiom idioms[] = {
        {"every writer fences, then all meet", "fence.proxy.async; bar.sync 0;", &none, NULL},
        {"every writer fences global memory", "fence.proxy.async.global; bar.sync 0;", &none, NULL},
        {"a barrier alone", "bar.sync 0;", &both, NEEDS},
        {"a fence of shared memory", "fence.proxy.async.shared::cta; bar.sync 0;", &both, NEEDS},
        {"an mbarrier", MEET, &both, NEEDS},
    };
    JUDGE(idioms, "\nst.global.u32 [%a], %t;\n", "\n" COPY "\n" WAIT("F", "0") TAIL, THREADS);
}

TEST(what_was_read_in_global_memory_is_written_by_a_copy_behind_a_barrier)
{
    static const idiom idioms[] = {{"a barrier alone", "bar.sync 0;", &none, NULL}, {"nothing", "", &both, NULL}};
    JUDGE(idioms, "fence.proxy.async; st.shared.u32 [%u], %t; fence.proxy.async; bar.sync 0;\nld.global.u32 %v, [%a];\n",
          "\n" STORE TAIL, THREADS);
}

/* The first block stores, the second copies. */
#define TELL    "bar.sync 0; @lead st.release.gpu.global.u32 [%d+4096], 1; ret; LOOK:"
#define ACQUIRE "W: ld.acquire.gpu.global.u32 %v, [%d+4096]; setp.eq.u32 p, %v, 0; @p bra W;"

TEST(a_fence_of_the_proxies_in_either_block_orders_a_copy_behind_a_store)
{
    static const idiom idioms[] = {
        {"the writer fences", "fence.proxy.async; " TELL ACQUIRE, &none, NULL},
        {"the reader fences", TELL ACQUIRE " fence.proxy.async.global;", &none, NULL},
        {"nobody fences", TELL ACQUIRE, &both, NEEDS},
    };
    for (size_t i = 0; i < sizeof idioms / sizeof idioms[0]; i++) {
        char ptx[4096];
        snprintf(ptx, sizeof ptx, "%s%s%s%s", HEAD, "@!first bra LOOK;\nst.global.u32 [%a], %t;\n", idioms[i].code,
                 "\n" COPY "\n" WAIT("F", "0") TAIL);
        judge_order(ptx, idioms[i].what, 2, THREADS, 1, *idioms[i].race, idioms[i].says);
    }
}

/* The second block of a cluster reads its shared memory, then the first copies its own there. */
#define CLUSTER "barrier.cluster.arrive; barrier.cluster.wait;"
#define COPY_OVER                                                                                                      \
    "mapa.shared::cluster.u32 %v, %s, 1; mapa.shared::cluster.u32 %r, %m, 1; @!first bra N;\n"                         \
    "@lead cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%v], [%s], 256, [%r]; bra M;"       \
    " N: @lead mbarrier.arrive.expect_tx.shared.b64 _, [%m], 256; " WAIT("F", "0") " M: " CLUSTER

TEST(blocks_of_a_cluster_copy_over_what_another_has_read_behind_a_fence_of_the_proxies_or_an_mbarrier)
{
    static const idiom idioms[] = {
        {"readers fence, then the blocks meet", "fence.proxy.async; " CLUSTER, &none, NULL},
        {"readers arrive at the other block's mbarrier",
         "mapa.shared::cluster.u32 %v, %e, 0; @!first mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%v];"
         " @!first bra R; E: mbarrier.try_wait.parity.acquire.cluster.shared.b64 p, [%e], 0; @!p bra E; R:",
         &none, NULL},
        {"the blocks meet", CLUSTER, &both, NEEDS},
    };
    for (size_t i = 0; i < sizeof idioms / sizeof idioms[0]; i++) {
        char ptx[4096];
        snprintf(ptx, sizeof ptx, "%s%s%s %s", HEAD,
                 "st.shared.u32 [%u], %t; fence.proxy.async; " CLUSTER "\n@!first ld.shared.u32 %v, [%u];\n",
                 idioms[i].code, COPY_OVER TAIL);
        judge_order(ptx, idioms[i].what, 2, THREADS, 2, *idioms[i].race, idioms[i].says);
    }
}

CHECK_MAIN
