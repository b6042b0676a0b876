/* Bytes of an allocation that kernels may not touch, though they lie in it. */
#ifndef SG_GUARD_H
#define SG_GUARD_H

#include "memory.h"

/* Forbids bytes of a span, or allows them again. *guards is NULL while all of it is allowed. False if out of memory:
 * nothing has changed then. */
bool sg_guards_change(sg_guards **guards, const sg_span *span, uint64_t address, uint64_t bytes, bool allowed);
void sg_guards_destroy(sg_guards *guards);

/* Whether kernels may touch size bytes of the span from address on. *part is what lies around them without a forbidden
 * byte, as a span of its own; NULL where they are too few for one. */
bool sg_guards_allow(const sg_span *span, uint64_t address, uint64_t size, const sg_span **part);

#endif
