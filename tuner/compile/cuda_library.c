#include "cuda_library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>

#include "../../src/core/environment.h"

void *gt_library_open(const char *name)
{
    static const char *const suffixes[] = {".so.13", ".so.12", ".so"};
    const char *const home = gt_environment(GT_ENV_CUDA_HOME);
    const struct {
        const char *folder, *sub;
    } places[] = {
        {"", ""}, {home, "/lib64/"}, {home, "/lib/"}, {"/usr/local/cuda", "/lib64/"}, {"/usr/local/cuda", "/lib/"}};
    for (size_t place = 0; place < sizeof places / sizeof places[0]; place++)
        for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
            char path[1024];
            if (!places[place].folder)
                continue;
            const int length = snprintf(path, sizeof path, "%s%slib%s%s", places[place].folder, places[place].sub, name,
                                        suffixes[i]);
            void *library = length < (int)sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
            if (library)
                return library;
        }
    return NULL;
}

const char *gt_library_path(void *library)
{
    struct link_map *map;
    return dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map->l_name && *map->l_name ? map->l_name : "unknown place";
}
