/* Operations on memory that read, change and write. */
#ifndef SG_ATOMIC_H
#define SG_ATOMIC_H

#include "../ptx/syntax.h"

typedef enum sg_atomic {
    SG_ATOMIC_ADD,
    SG_ATOMIC_EXCH,
    SG_ATOMIC_CAS,
    SG_ATOMIC_MIN,
    SG_ATOMIC_MAX,
    SG_ATOMIC_AND,
    SG_ATOMIC_OR,
    SG_ATOMIC_XOR,
    SG_ATOMIC_INC,
    SG_ATOMIC_DEC,
    SG_ATOMICS
} sg_atomic;

/* As PTX names them; NULL at the end. */
extern const char *const sg_atomic_names[SG_ATOMICS + 1];

/* Whether there is such an operation on such a type. */
bool sg_atomic_known(sg_atomic what, sg_type type);

/* The new value; c is CAS's alone. Values are a type's bits with zeros above. */
uint64_t sg_atomic_apply(uint64_t old, uint64_t b, uint64_t c, sg_atomic what, sg_type type);

#endif
