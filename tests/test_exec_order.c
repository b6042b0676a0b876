/* Order between blocks, as PTX has it: ways to hand data over, each right or with one thing missing. */
#include "order_fixture.h"

#define HEAD  ".version 8.0\n.target sm_90\n.address_size 64\n"
#define ENTRY ".visible .entry k(.param .u64 to)\n"
/* The address of a thread's word in %a, its number in %t, the block's in %b, memory in %d. */
#define SETUP                                                                                                          \
    "{ .reg .b64 %d, %a, %o; .reg .b32 %t, %b, %v, %r, %s; .reg .pred first, lead, p;"                                 \
    " ld.param.u64 %d, [to]; mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4; add.s64 %a, %d, %o;"                          \
    " mov.u32 %b, %ctaid.x; setp.eq.u32 first, %b, 0; setp.eq.u32 lead, %t, 0;\n"

enum { THREADS = 64, WRITTEN = 7, TOLD = 8, LOOKED = 10, READ = 11 };

static const lines none = {0, 0}, data = {WRITTEN, READ}, flag = {TOLD, LOOKED};

/* The first block writes and tells; the second looks and reads. */
#define TELL(code) HEAD ENTRY SETUP "@!first bra LOOK;\nst.global.u32 [%a], %t;\n" code "\nret; LOOK:\n"
#define LOOK(code) code "\nld.global.u32 %v, [%a];\nst.global.u32 [%a+2048], %v; ret; }\n"

#define RELEASE     "bar.sync 0; @lead st.release.gpu.global.u32 [%d+1024], 1;"
#define ACQUIRE     "W: ld.acquire.gpu.global.u32 %v, [%d+1024]; setp.eq.u32 p, %v, 0; @p bra W;"
#define WATCH(load) "W: " load " %v, [%d+1024]; setp.eq.u32 p, %v, 0; @p bra W; "

static const struct {
    const char *what, *tell, *look;
    const lines *race;
    bool late; /* without the checker, too: what is not told is not there */
} ways[] = {
    {"a release and an acquire", TELL(RELEASE), LOOK(ACQUIRE), &none},
    {"a fence and a relaxed store",
     TELL("bar.sync 0; @lead fence.acq_rel.gpu; @lead st.relaxed.gpu.global.u32 [%d+1024], 1;"), LOOK(ACQUIRE), &none},
    {"the oldest way, a fence and a volatile store",
     TELL("bar.sync 0; @lead membar.gl; @lead st.volatile.global.u32 [%d+1024], 1;"),
     LOOK(WATCH("ld.volatile.global.u32") "membar.gl;"), &none},
    {"a fence and a red", TELL("bar.sync 0; @lead fence.sc.sys; @lead red.global.add.u32 [%d+1024], 1;"), LOOK(ACQUIRE),
     &none},
    {"an atomic", TELL("bar.sync 0; @lead atom.acq_rel.gpu.global.add.u32 %v, [%d+1024], 1;"), LOOK(ACQUIRE), &none},
    {"an atomic that looks", TELL(RELEASE),
     LOOK("W: atom.acquire.gpu.global.or.b32 %v, [%d+1024], 0; setp.eq.u32 p, %v, 0; @p bra W;"), &none},
    {"a relaxed look and a fence", TELL(RELEASE), LOOK(WATCH("ld.relaxed.gpu.global.u32") "fence.acq_rel.gpu;"), &none},
    {"one thread looks for all", TELL(RELEASE), LOOK("@!lead bra M; " ACQUIRE " M: bar.sync 0;"), &none},
    {"a relaxed atomic behind the release", TELL(RELEASE " @lead red.relaxed.gpu.global.add.u32 [%d+1024], 1;"),
     LOOK(ACQUIRE), &none},
    {"a relaxed store of the same thread behind the release",
     TELL(RELEASE " @lead st.relaxed.gpu.global.u32 [%d+1024], 2;"), LOOK(ACQUIRE), &none},
    {"every thread releases for itself, by an atomic", TELL("red.release.gpu.global.add.u32 [%d+1024], 1;"),
     LOOK("W: ld.acquire.gpu.global.u32 %v, [%d+1024]; setp.ne.u32 p, %v, 64; @p bra W;"), &none},
    {"every thread fences, and one writes for all", TELL("membar.gl; bar.sync 0; @lead st.volatile.global.u32 [%d+1024], 1;"),
     LOOK("@!lead bra M; " WATCH("ld.volatile.global.u32") " M: bar.sync 0; fence.sc.gpu;"), &none},

    {"every thread fences, out of the one order", TELL("fence.acq_rel.gpu; bar.sync 0; @lead st.volatile.global.u32 [%d+1024], 1;"),
     LOOK("@!lead bra M; " WATCH("ld.volatile.global.u32") " M: bar.sync 0; fence.sc.gpu;"), &data},
    {"every thread fences, and one looks for all out of the one order",
     TELL("membar.gl; bar.sync 0; @lead st.volatile.global.u32 [%d+1024], 1;"),
     LOOK("@!lead bra M; " WATCH("ld.volatile.global.u32") " M: bar.sync 0; fence.acq_rel.gpu;"), &data},
    {"every thread fences, and the others fence before one looks for all",
     TELL("membar.gl; bar.sync 0; @lead st.volatile.global.u32 [%d+1024], 1;"),
     LOOK("membar.gl; @!lead bra M; " WATCH("ld.volatile.global.u32") " M: bar.sync 0;"), &data},
    {"no barrier before one thread releases for all", TELL("@lead st.release.gpu.global.u32 [%d+1024], 1;"),
     LOOK(ACQUIRE), &data, true},
    {"no fence before the store", TELL("bar.sync 0; @lead st.relaxed.gpu.global.u32 [%d+1024], 1;"), LOOK(ACQUIRE),
     &data, true},
    {"no fence before the red", TELL("bar.sync 0; @lead red.global.add.u32 [%d+1024], 1;"), LOOK(ACQUIRE), &data, true},
    {"a fence of the block", TELL("bar.sync 0; @lead fence.acq_rel.cta; @lead st.relaxed.gpu.global.u32 [%d+1024], 1;"),
     LOOK(ACQUIRE), &data, true},
    {"a fence of the old kind, of the block",
     TELL("bar.sync 0; @lead membar.cta; @lead st.volatile.global.u32 [%d+1024], 1;"), LOOK(ACQUIRE), &data, true},
    {"a fence of the other proxy",
     TELL("bar.sync 0; @lead fence.proxy.async; @lead st.relaxed.gpu.global.u32 [%d+1024], 1;"), LOOK(ACQUIRE), &data, true},
    {"a fence behind the store", TELL("bar.sync 0; @lead st.relaxed.gpu.global.u32 [%d+1024], 1; fence.acq_rel.gpu;"),
     LOOK(ACQUIRE), &data},
    {"a relaxed atomic", TELL("bar.sync 0; @lead atom.relaxed.gpu.global.add.u32 %v, [%d+1024], 1;"), LOOK(ACQUIRE),
     &data, true},
    {"an atomic that does not release", TELL("bar.sync 0; @lead atom.acquire.gpu.global.add.u32 %v, [%d+1024], 1;"),
     LOOK(ACQUIRE), &data, true},
    {"no acquire", TELL(RELEASE), LOOK(WATCH("ld.relaxed.gpu.global.u32")), &data},
    {"a volatile look alone", TELL(RELEASE), LOOK(WATCH("ld.volatile.global.u32")), &data},
    {"a fence of the block behind the look", TELL(RELEASE),
     LOOK(WATCH("ld.relaxed.gpu.global.u32") "fence.acq_rel.cta;"), &data},
    {"a fence before the look", TELL(RELEASE), LOOK("fence.acq_rel.gpu; " WATCH("ld.relaxed.gpu.global.u32")), &data},
    {"one thread looks, and the others do not wait for it", TELL(RELEASE), LOOK("@!lead bra M; " ACQUIRE " M:"), &data},
    {"nobody looks", TELL(RELEASE), LOOK(""), &data},
    {"another place is looked at", TELL(RELEASE " @lead st.release.gpu.global.u32 [%d+1028], 1;"),
     LOOK("W: ld.relaxed.gpu.global.u32 %v, [%d+1024]; ld.acquire.gpu.global.u32 %r, [%d+1032]; setp.eq.u32 p, %v, 0; "
          "@p bra W;"),
     &data},
    {"a plain flag", TELL("bar.sync 0; @lead st.global.u32 [%d+1024], 1;"), LOOK(ACQUIRE), &flag, true},
    {"a plain look", TELL(RELEASE), LOOK(WATCH("ld.global.u32")), &flag},
    {"a release within the block", TELL("bar.sync 0; @lead st.release.cta.global.u32 [%d+1024], 1;"), LOOK(ACQUIRE),
     &flag, true},
    {"a release within the cluster", TELL("bar.sync 0; @lead st.release.cluster.global.u32 [%d+1024], 1;"),
     LOOK(ACQUIRE), &flag, true},
    {"an acquire within the block", TELL(RELEASE), LOOK(WATCH("ld.acquire.cta.global.u32")), &flag},
};

TEST(data_are_handed_over_by_a_release_and_an_acquire_that_reach_each_other)
{
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        char ptx[4096];
        snprintf(ptx, sizeof ptx, "%s%s", ways[i].tell, ways[i].look);
        judge_order(ptx, ways[i].what, 2, THREADS, 1, *ways[i].race, NULL);
        if (ways[i].late || ways[i].race == &none)
            judge_values(ptx, ways[i].what, 2, THREADS, 1, (words){512, 1, THREADS}, ways[i].race == &none);
    }
}

/* Single kernels. */
static const struct {
    const char *what, *body;
    uint32_t blocks, cluster;
    lines race;
} kernels[] = {
    {"bytes side by side of two blocks",
     "cvt.u64.u32 %o, %b; add.s64 %a, %d, %o;\n@lead st.global.u8 [%a], %t; ret; }\n",
     2,
     1,
     {0, 0}},
    {"one byte of two blocks",
     "cvt.u64.u32 %o, %b; add.s64 %a, %d, 1;\n@lead st.global.u8 [%a], %t;\n@lead st.global.u8 [%a], %t; ret; }\n",
     2,
     1,
     {7, 8}},
    {"a byte of a word that another block wrote",
     "@first st.global.u32 [%a], %t;\n@!first ld.global.u8 %r, [%a+3]; ret; }\n",
     2,
     1,
     {6, 7}},
    {"two blocks add up", "red.global.add.u32 [%a], 1; ret; }\n", 2, 1, {0, 0}},
    {"two blocks add up, one of them for its cluster",
     "@first red.global.add.u32 [%a], 1;\n@!first red.relaxed.cluster.global.add.u32 [%a], 1; ret; }\n",
     2,
     1,
     {6, 7}},
    {"two blocks of a cluster add up for it", "red.relaxed.cluster.global.add.u32 [%a], 1; ret; }\n", 2, 2, {0, 0}},
    {"one of two sums is waited for",
     "@!first bra B;\nred.global.add.u32 [%d], 1;\nret; B: setp.eq.u32 p, %b, 1; @!p bra C;\n"
     "red.global.add.u32 [%d], 1; bar.sync 0; @lead st.release.gpu.global.u32 [%d+1024], 1; ret;\n"
     "C: ld.acquire.gpu.global.u32 %v, [%d+1024]; setp.eq.u32 p, %v, 0; @p bra C;\n"
     "ld.global.u32 %v, [%d]; ret; }\n",
     3,
     1,
     {7, 11}},
    {"the last of two to add up sets the sum back",
     "@!lead ret;\natom.global.add.u32 %v, [%d], 1; setp.eq.u32 p, %v, 1;\n@p st.global.u32 [%d], 0; ret; }\n",
     2,
     1,
     {0, 0}},
    {"one that does not add up sets the sum back",
     "@!lead ret;\n@first atom.global.add.u32 %v, [%d], 1;\n@!first st.global.u32 [%d], 0; ret; }\n",
     2,
     1,
     {7, 8}},
    {"the last of two to add up sets back what others look at",
     "@!lead ret;\n@first ld.relaxed.gpu.global.u32 %v, [%d];\n@first ret; atom.global.add.u32 %v, [%d], 1; setp.eq.u32 p, %v, 1;\n"
     "@p st.global.u32 [%d], 0; ret; }\n",
     3,
     1,
     {7, 9}},
    {"a word is read, then another block writes it",
     "@first ld.global.u32 %v, [%a];\n@!first st.global.u32 [%a], %t; ret; }\n",
     2,
     1,
     {6, 7}},
    {"barriers of a block order its global memory",
     "mul.wide.u32 %o, %b, 4096; add.s64 %d, %d, %o; add.s64 %a, %a, %o;\nst.global.u32 [%a], %t;\nbar.sync 0;\n"
     "xor.b32 %r, %t, 32; mul.wide.u32 %o, %r, 4; add.s64 %a, %d, %o; ld.global.u32 %v, [%a]; ret; }\n",
     2,
     1,
     {0, 0}},
    {"warps of a block without a barrier",
     "mul.wide.u32 %o, %b, 4096; add.s64 %d, %d, %o; add.s64 %a, %a, %o;\nst.global.u32 [%a], %t;\n\n"
     "xor.b32 %r, %t, 32; mul.wide.u32 %o, %r, 4; add.s64 %a, %d, %o; ld.global.u32 %v, [%a]; ret; }\n",
     2,
     1,
     {7, 9}},
    {"warps of a block with a barrier before both accesses only",
     "mul.wide.u32 %o, %b, 4096; add.s64 %d, %d, %o; add.s64 %a, %a, %o; bar.sync 0;\nst.global.u32 [%a], %t;\n\n"
     "xor.b32 %r, %t, 32; mul.wide.u32 %o, %r, 4; add.s64 %a, %d, %o; ld.global.u32 %v, [%a]; ret; }\n",
     2,
     1,
     {7, 9}},
};

TEST(accesses_of_the_same_bytes_race_unless_they_are_ordered_or_strong)
{
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        char ptx[4096];
        snprintf(ptx, sizeof ptx, "%s%s", HEAD ENTRY SETUP, kernels[i].body);
        judge_order(ptx, kernels[i].what, kernels[i].blocks, THREADS, kernels[i].cluster, kernels[i].race, NULL);
    }
}

/* A cluster of two: each block stores into the other's shared memory, which that one reads. */
#define CLUSTER(begin, end)                                                                                            \
    ".shared .align 8 .b8 s[512]; xor.b32 %r, %b, 1; mov.u32 %s, s; mapa.shared::cluster.u32 %r, %s, %r;"              \
    " mad.lo.u32 %r, %t, 4, %r; mad.lo.u32 %s, %t, 4, %s;\n" begin "\nst.shared::cluster.u32 [%r], %t;\n" end          \
    "\nld.shared.u32 %v, [%s]; mul.wide.u32 %o, %b, 256; add.s64 %a, %a, %o; st.global.u32 [%a+2048], %v; ret; }\n"
#define BEGUN   "barrier.cluster.arrive.relaxed; barrier.cluster.wait;"
#define MEET    "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;"
#define HALFWAY "barrier.cluster.arrive.relaxed; barrier.cluster.wait.acquire;"

static const struct {
    const char *what, *body;
    lines race;
    bool late;
} clusters[] = {
    {"barriers before and behind", CLUSTER(BEGUN, MEET), {0, 0}},
    {"a fence and a relaxed barrier", CLUSTER(BEGUN, "fence.acq_rel.cluster; " HALFWAY), {0, 0}},
    {"no barrier at the beginning", CLUSTER("", MEET), {8, 0}},
    {"a relaxed barrier behind the writes", CLUSTER(BEGUN, HALFWAY), {8, 10}, true},
    {"a fence of the block and a relaxed barrier", CLUSTER(BEGUN, "fence.acq_rel.cta; " HALFWAY), {8, 10}, true},
    {"a barrier of the block only", CLUSTER(BEGUN " " MEET " st.shared.u32 [%s], 0; " MEET, "bar.sync 0;"), {8, 10}, true},
    {"what was read may be overwritten behind a relaxed barrier",
     CLUSTER("st.shared.u32 [%s], %t; bar.sync 0; ld.shared.u32 %v, [%s]; " BEGUN, MEET),
     {0, 0}},
    {"what is still read may not",
     CLUSTER("st.shared.u32 [%s], %t; bar.sync 0; " BEGUN " ld.shared.u32 %v, [%s];", MEET),
     {7, 8}},
};

TEST(blocks_of_a_cluster_meet_before_and_behind_writes_into_each_other)
{
    for (size_t i = 0; i < sizeof clusters / sizeof clusters[0]; i++) {
        char ptx[4096];
        snprintf(ptx, sizeof ptx, "%s%s", HEAD ENTRY SETUP, clusters[i].body);
        const bool right = clusters[i].race.first == 0;
        judge_order(ptx, clusters[i].what, 2, THREADS, 2, clusters[i].race, NULL);
        if (clusters[i].late || right)
            judge_values(ptx, clusters[i].what, 2, THREADS, 2, (words){512, 2, THREADS}, right);
    }
}

/* The first block stores into the second one's shared memory and arrives at its mbarrier. */
#define ARRIVAL(arrive)                                                                                                \
    ".shared .align 8 .b8 s[512]; mov.u32 %s, s; mov.u32 %r, 1; mapa.shared::cluster.u32 %r, %s, %r;"                  \
    " @lead mbarrier.init.shared.b64 [%s+256], 32; mad.lo.u32 %v, %t, 4, %s; st.shared.u32 [%v], 99; " MEET            \
    " @!first bra LOOK; mad.lo.u32 %v, %t, 4, %r; st.shared::cluster.u32 [%v], %t; " arrive                            \
    " _, [%r+256]; barrier.cluster.arrive.relaxed; barrier.cluster.wait; ret; LOOK:"                                   \
    " mbarrier.try_wait.parity.acquire.cluster.shared.b64 p, [%s+256], 0; @!p bra LOOK; mad.lo.u32 %v, %t, 4, %s;"     \
    " ld.shared.u32 %v, [%v]; st.global.u32 [%a+2048], %v; barrier.cluster.arrive.relaxed; barrier.cluster.wait; ret; }\n"

TEST(a_relaxed_arrival_tells_nothing_without_a_fence)
{
    static const struct {
        const char *what, *body;
        bool right;
    } arrivals[] = {
        {"a release", ARRIVAL("mbarrier.arrive.release.cluster.shared::cluster.b64"), true},
        {"a fence and a relaxed arrival",
         ARRIVAL("fence.acq_rel.cluster; mbarrier.arrive.relaxed.cluster.shared::cluster.b64"), true},
        {"a relaxed arrival", ARRIVAL("mbarrier.arrive.relaxed.cluster.shared::cluster.b64"), false},
    };
    for (size_t i = 0; i < sizeof arrivals / sizeof arrivals[0]; i++) {
        char ptx[4096];
        snprintf(ptx, sizeof ptx, "%s%s", HEAD ENTRY SETUP, arrivals[i].body);
        judge_values(ptx, arrivals[i].what, 2, 32, 2, (words){512, 1, 32}, arrivals[i].right);
    }
}

TEST(a_block_sees_its_own_stores_at_once_and_all_see_them_at_the_end)
{
    static const struct {
        const char *what, *body;
    } own[] = {
        {"behind a barrier of the block",
         "@!first ret; st.global.u32 [%a], %t; bar.sync 0; ld.global.u32 %v, [%a]; st.global.u32 [%a+2048], %v;"
         " red.global.add.u32 [%d+1024], 1; ret; }\n"},
        {"in turns of waiting for the other",
         "@!first bra TELL; st.global.u32 [%a], %t; W: ld.acquire.gpu.global.u32 %v, [%d+1024]; setp.eq.u32 p, %v, 0;"
         " @p bra W; ld.global.u32 %v, [%a]; st.global.u32 [%a+2048], %v; ret;"
         " TELL: bar.sync 0; @lead st.release.gpu.global.u32 [%d+1024], 1; ret; }\n"},
        {"a strong store behind a weak one to the same place",
         "@!first bra W; @lead st.global.u32 [%d+1024], 0; @lead st.relaxed.gpu.global.u32 [%d+1024], 1; ret;"
         " W: ld.relaxed.gpu.global.u32 %v, [%d+1024]; setp.eq.u32 p, %v, 0; @p bra W; st.global.u32 [%a+2048], %t;"
         " ret; }\n"},
        {"a store over a store",
         "@!first ret; st.global.u32 [%a+2048], 7; st.global.u32 [%a+2048], 8; st.global.u32 [%a+2048], %t;"
         " ld.relaxed.gpu.global.u32 %v, [%d]; ret; }\n"},
    };
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        char ptx[4096];
        snprintf(ptx, sizeof ptx, "%s%s", HEAD ENTRY SETUP, own[i].body);
        judge_values(ptx, own[i].what, 2, THREADS, 1, (words){512, 1, THREADS}, true);
    }
}

/* A grid that is launched before those before it are done. */
TEST(who_waits_for_earlier_grids_tells_the_threads_that_it_meets)
{
    static const struct {
        const char *what, *body;
        lines race;
    } waits[] = {
        {"every thread waits", "griddepcontrol.wait;\nld.global.u32 %v, [%a]; ret; }\n", {0, 0}},
        {"one thread waits, and all meet", "@lead griddepcontrol.wait; bar.sync 0;\nld.global.u32 %v, [%a]; ret; }\n", {0, 0}},
        {"one thread waits", "@lead griddepcontrol.wait;\nld.global.u32 %v, [%a]; ret; }\n", {7, 0}},
        {"one thread waits behind the barrier",
         "bar.sync 0; @lead griddepcontrol.wait;\nld.global.u32 %v, [%a]; ret; }\n", {7, 0}},
        {"another block waits", "@first griddepcontrol.wait;\nld.global.u32 %v, [%a]; ret; }\n", {7, 0}},
    };
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
        char ptx[4096];
        snprintf(ptx, sizeof ptx, "%s%s", HEAD ENTRY SETUP, waits[i].body);
        judge_launch(ptx, waits[i].what, 2, THREADS, 1, waits[i].race, "before griddepcontrol.wait", true);
    }
}

/* The second block sets up an mbarrier; the first stores into its shared memory and arrives there. */
#define OBJECT(ready)                                                                                                  \
    ".shared .align 8 .b8 s[512]; mov.u32 %s, s; mov.u32 %r, 1; mapa.shared::cluster.u32 %r, %s, %r; @!lead ret;\n"    \
    "@!first mbarrier.init.shared.b64 [%s+256], 1;\n" ready "\n@!first bra LOOK;\n"                                    \
    "st.shared::cluster.u32 [%r], %t;\nmbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r+256];\nret; LOOK:\n" \
    "mbarrier.try_wait.parity.acquire.cluster.shared.b64 p, [%s+256], 0; @!p bra LOOK;\nld.shared.u32 %v, [%s]; ret; " \
    "}\n"

static const struct {
    const char *what, *body;
    lines race;
} objects[] = {
    {"a barrier of the cluster behind the init", OBJECT(MEET), {0, 0}},
    {"its own fence and a relaxed barrier", OBJECT("fence.mbarrier_init.release.cluster; " HALFWAY), {0, 0}},
    {"a relaxed barrier alone", OBJECT(HALFWAY), {7, 11}},
};

TEST(an_mbarrier_is_set_up_before_other_blocks_arrive_there)
{
    for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++) {
        char ptx[4096];
        snprintf(ptx, sizeof ptx, "%s%s", HEAD ENTRY SETUP, objects[i].body);
        judge_order(ptx, objects[i].what, 2, 32, 2, objects[i].race, NULL);
    }
}

CHECK_MAIN
