#include "words.h"

#include <string.h>

typedef struct word {
    const char *name;
    sg_words means;
} word;

#define GRID SG_SCOPE_GRID

static const word words[] = {
    {"relaxed", {.strong = 1, .relaxed = 1}},
    {"volatile", {.strong = 1}},
    {"mmio", {.strong = 1}},
    {"acquire", {.strong = 1, .acquires = 1}},
    {"release", {.strong = 1, .releases = 1}},
    {"acq_rel", {.strong = 1, .acquires = 1, .releases = 1}},
    {"sc", {.strong = 1, .acquires = 1, .releases = 1}},
    {"reduce", {.strong = 1}},
};

static const struct {
    const char *name;
    sg_scope scope;
} scopes[] = {{"cta", SG_SCOPE_BLOCK}, {"cluster", SG_SCOPE_CLUSTER}, {"gpu", GRID}, {"sys", GRID}, {"gl", GRID}};

static bool is(const char *part, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(part, name, length) == 0;
}

static void read_part(const char *part, size_t length, sg_words *w)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (is(part, length, words[i].name)) {
            w->strong |= words[i].means.strong;
            w->relaxed |= words[i].means.relaxed;
            w->acquires |= words[i].means.acquires;
            w->releases |= words[i].means.releases;
        }
    for (size_t i = 0; i < sizeof scopes / sizeof scopes[0]; i++)
        if (is(part, length, scopes[i].name))
            w->scope = (uint8_t)scopes[i].scope;
}

static bool begins(const char *mnemonic, const char *with)
{
    return strncmp(mnemonic, with, strlen(with)) == 0;
}

/* Who makes the accesses, and for which memory a fence orders those who may. */
static void read_proxies(const char *mnemonic, sg_words *w)
{
    static const char *const async[] = {"cp.async.bulk.", "cp.reduce.async.bulk.", "wgmma.mma_async."};
    for (size_t i = 0; i < sizeof async / sizeof async[0]; i++)
        w->async |= begins(mnemonic, async[i]);
    if (begins(mnemonic, "fence.mbarrier_init"))
        w->proxies = 1 << SG_ASYNC_SHARED; /* copies count on mbarriers behind it, too: CUTLASS has no other fence there */
    if (begins(mnemonic, "fence.proxy.async") || begins(mnemonic, "membar.proxy.async"))
        w->proxies = strstr(mnemonic, "shared")   ? 1 << SG_ASYNC_SHARED
                     : strstr(mnemonic, "global") ? 1 << SG_ASYNC_GLOBAL
                                                  : 1 << SG_ASYNC_SHARED | 1 << SG_ASYNC_GLOBAL;
}

static sg_words read_all(const char *mnemonic)
{
    sg_words w = {.scope = GRID};
    const size_t first = strcspn(mnemonic, ".");
    const bool proxy = strstr(mnemonic, ".proxy") != NULL;
    w.fences = (is(mnemonic, first, "fence") && !proxy) || is(mnemonic, first, "membar");
    w.strong = is(mnemonic, first, "atom") || is(mnemonic, first, "red");
    for (const char *at = mnemonic + first; *at == '.';) {
        const size_t length = strcspn(at + 1, ".");
        read_part(at + 1, length, &w);
        at += 1 + length;
    }
    w.sequential = w.fences && w.scope == GRID && (begins(mnemonic, "membar") || strstr(mnemonic, ".sc"));
    w.stores = !w.strong && (begins(mnemonic, "wmma.store.") ||
                             (begins(mnemonic, "st.") && !begins(mnemonic, "st.async.")));
    read_proxies(mnemonic, &w);
    return w;
}

bool sg_words_read(sg_arena *arena, sg_kernel *kernel)
{
    kernel->words = sg_arena_alloc(arena, (kernel->op_count + 1) * sizeof kernel->words[0]);
    for (size_t i = 0; kernel->words && i < kernel->op_count; i++) {
        const char *mnemonic = kernel->mnemonics[i] ? kernel->mnemonics[i] : "";
        sg_words *w = &kernel->words[i];
        *w = read_all(mnemonic);
        kernel->async |= w->async;
        kernel->talks |= w->strong && !w->fences && !strstr(mnemonic, ".shared") && !begins(mnemonic, "barrier");
    }
    return kernel->words != NULL;
}
