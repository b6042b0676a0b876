#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blas.h"
#include "visit.h"

/* A symbol of a library that is loaded, and of those it was linked with; NULL if it has none but this library's. */
static void *look_into(const char *path, const char *name)
{
    static const char here;
    Dl_info self, other;
    void *library = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
    void *symbol = library ? dlsym(library, name) : NULL;
    if (library)
        dlclose(library); /* it stays: the program has it */
    return symbol && dladdr(&here, &self) && dladdr(symbol, &other) && other.dli_fbase != self.dli_fbase ? symbol : NULL;
}

static int list_object(struct dl_phdr_info *object, size_t size, void *data)
{
    (void)size;
    if (object->dlpi_name && object->dlpi_name[0])
        fprintf(data, "%s%c", object->dlpi_name, '\0');
    return 0;
}

/* In any library: Python gives each a scope of its own. Their names are listed first, for the list is under a lock of
 * the loader's, which must not be held while libraries are looked into. */
static void *look_everywhere(const char *name)
{
    char *paths = NULL;
    size_t length = 0;
    void *symbol = NULL;
    FILE *stream = open_memstream(&paths, &length);
    if (!stream)
        return NULL;
    dl_iterate_phdr(list_object, stream);
    if (fclose(stream) == 0)
        for (const char *path = paths; !symbol && path < paths + length; path += strlen(path) + 1)
            symbol = look_into(path, name);
    free(paths);
    return symbol;
}

/* Whether a library's file says that its integers have 64 bits, where its symbols do not: "libblas64.so.3", MKL's
 * "libmkl_intel_ilp64.so", but not "libmkl_intel_lp64.so" or a machine's "x86_64". */
static bool is_named_wide(const char *path)
{
    static const char *const others[] = {"_lp64", "x86_64"};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t found = 0, explained = 0;
    for (const char *at = name; (at = strstr(at, "64")); at += 2)
        found++;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        for (const char *at = name; (at = strstr(at, others[i])); at += strlen(others[i]))
            explained++;
    return found > explained;
}

/* The loaded object that an address is in. */
typedef struct object {
    uintptr_t address, first, size; /* size is 0 if there is none */
} object;

static int find_object(struct dl_phdr_info *info, size_t size, void *data)
{
    object *const found = data;
    uintptr_t first = UINTPTR_MAX, end = 0;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *const part = &info->dlpi_phdr[i];
        const uintptr_t begin = info->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD)
            continue;
        first = begin < first ? begin : first;
        end = begin + part->p_memsz > end ? begin + part->p_memsz : end;
    }
    if (found->address < first || found->address >= end)
        return 0;
    found->first = first;
    found->size = end - first;
    return 1;
}

/* In what the caller was linked with; else the next in the loader's order; else anywhere. */
static void *look_for(const char *name, const void *caller)
{
    Dl_info info;
    void *symbol = dladdr(caller, &info) ? look_into(info.dli_fname, name) : NULL;
    if (!symbol)
        symbol = dlsym(RTLD_NEXT, name);
    if (!symbol)
        symbol = look_everywhere(name);
    if (!symbol) {
        dprintf(STDERR_FILENO, "gemmtune: no BLAS of the program's has %s\n", name);
        abort();
    }
    return symbol;
}

/* A program may unload what called a BLAS, and the BLAS with it; its function is called again. */
static gt_blas_binding bind(const gt_blas_function *function, const void *caller)
{
    object from = {.address = (uintptr_t)caller};
    gt_blas_binding binding = {.real = look_for(gt_symbol_name(function->symbol), caller)};
    Dl_info info;
    if (dladdr(binding.real, &info)) {
        binding.foreign = function->plain && is_named_wide(info.dli_fname);
        dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_NODELETE | RTLD_LAZY);
    }
    dl_iterate_phdr(find_object, &from);
    binding.first = from.first;
    binding.size = from.size;
    return binding;
}

/* Remembers a binding; NULL if another thread has the list, perhaps in a process that this one was forked from. */
static const gt_blas_binding *remember(gt_blas_function *function, const void *caller, gt_blas_binding made)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (pthread_mutex_trylock(&lock) != 0)
        return NULL;
    const gt_blas_binding *found = gt_blas_bound(function, caller); /* another thread may have been faster */
    const size_t count = atomic_load_explicit(&function->count, memory_order_relaxed);
    if (!found) {
        if (made.size == 0 || count == GT_BLAS_CALLERS - 1) { /* from no object, or one too many: from anywhere */
            made.first = 0;
            made.size = UINTPTR_MAX;
        }
        function->bindings[count] = made;
        found = &function->bindings[count];
        atomic_store_explicit(&function->count, count + 1, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return found;
}

const gt_blas_binding *gt_blas_find(gt_blas_function *function, const void *caller)
{
    static _Thread_local __attribute__((tls_model("initial-exec"))) gt_blas_binding own; /* for one call */
    gt_visit visit;
    gt_visit_begin(&visit);
    own = bind(function, caller);
    const gt_blas_binding *const found = remember(function, caller, own);
    gt_visit_end(&visit);
    return found ? found : &own;
}
