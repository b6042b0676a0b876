#include "library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tally.h"

static struct {
    pthread_once_t once;
    bool is_loaded;
    gt_library symbols;
} library = {.once = PTHREAD_ONCE_INIT};

/* The library beside this one: installed, in the same folder; built, in the one above. Where it is there and cannot be loaded,
 * the loader knows why: a program's own SQLite may be too old, or its files too many. */
static void *open_library(void)
{
    static const char *const places[] = {"/", "/../"};
    char path[4096];
    Dl_info self;
    void *opened = NULL;
    if (dladdr(&library, &self) && strrchr(self.dli_fname, '/'))
        for (size_t i = 0; !opened && i < sizeof places / sizeof places[0]; i++) {
            const int folder = (int)(strrchr(self.dli_fname, '/') - self.dli_fname);
            snprintf(path, sizeof path, "%.*s%s%s", folder, self.dli_fname, places[i], GT_LIBRARY);
            opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
            if (!opened && access(path, F_OK) == 0)
                gt_tally_why(dlerror());
        }
    return opened ? opened : dlopen(GT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
}

static void load(void)
{
    void *const opened = open_library();
    gt_library *const found = &library.symbols;
    if (!opened) {
        gt_tally_why(GT_LIBRARY " is not beside the preloaded library");
        return;
    }
#define X(symbol) found->symbol = (__typeof__(found->symbol))dlsym(opened, #symbol);
    GT_LIBRARY_SYMBOLS(X)
#undef X
#define X(symbol) &&found->symbol
    library.is_loaded = true GT_LIBRARY_SYMBOLS(X);
#undef X
    if (!library.is_loaded)
        gt_tally_why(GT_LIBRARY " is of another version");
}

const gt_library *gt_library_load(void)
{
    pthread_once(&library.once, load);
    return library.is_loaded ? &library.symbols : NULL;
}
