/* A program without a BLAS, whose plugins have each its own: loads them one after the other, multiplies in each, and keeps or
 * unloads it. test_dropin_guest.py runs it with the front preloaded: `plugin_program keep|unload PLUGIN...`. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Nothing is loaded to the page of an address again: who still calls something there faults. */
static void take_page(uintptr_t address)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    mmap((void *)(address / page * page), page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

int main(int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        void *const plugin = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL), *const blas = plugin ? dlsym(plugin, "dgemm_") : NULL;
        int (*multiply)(void);
        if (!blas || !(*(void **)&multiply = dlsym(plugin, "multiply"))) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        if (!multiply()) {
            fprintf(stderr, "%s multiplies wrongly\n", argv[i]);
            return 1;
        }
        if (strcmp(argv[1], "unload") == 0) {
            dlclose(plugin);
            take_page((uintptr_t)multiply);
            take_page((uintptr_t)blas);
        }
    }
    return 0;
}
