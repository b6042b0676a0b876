/* What instructions say of order, read from their names when a module is loaded. */
#ifndef SG_WORDS_H
#define SG_WORDS_H

#include "../ptx/program.h"

typedef enum sg_scope { SG_SCOPE_BLOCK, SG_SCOPE_CLUSTER, SG_SCOPE_GRID, SG_SCOPES } sg_scope;

/* Memory whose accesses by the async proxy a fence may order alone. */
enum { SG_ASYNC_SHARED, SG_ASYNC_GLOBAL, SG_ASYNCS };

struct sg_words {
    uint8_t strong, acquires, releases, fences, relaxed;
    uint8_t scope;
    uint8_t sequential; /* a fence of all fences' one order (fence.sc, membar), of the GPU or more */
    uint8_t stores;  /* plainly: weak, and no copy */
    uint8_t async;   /* its accesses are the async proxy's */
    uint8_t proxies; /* a fence between the proxies: 1 << SG_ASYNC_... */
};

/* Fills in the words of all operations of a kernel, and what follows from them. False if out of memory. */
bool sg_words_read(sg_arena *arena, sg_kernel *kernel);

#endif
