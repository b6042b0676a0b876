/*
 * Handles of the API's objects. A handle is a number with the object's kind, place and turn in it, never a pointer:
 * whatever a program passes is either found or not, and a destroyed handle is not found again.
 */
#ifndef SG_HANDLE_H
#define SG_HANDLE_H

#include <stddef.h>
#include <stdint.h>

typedef enum sg_kind {
    SG_STREAM = 1,
    SG_EVENT,
    SG_LIBRARY,
    SG_MODULE,
    SG_FUNCTION, /* CUkernel and CUfunction */
    SG_GRAPH,
    SG_GRAPH_EXEC,
    SG_GRAPH_NODE,
    SG_CONTEXT,
    SG_PHYSICAL, /* memory without an address */
    SG_USER_OBJECT,
} sg_kind;

#define SG_NOBODY 0 /* owns what belongs to no context */

/* owner: the number of the context that the object goes with. NULL if out of memory. The object stays the caller's. */
void *sg_handle_create(sg_kind kind, uint32_t owner, void *object);

/* The object; NULL if the handle is not one of that kind that lives. */
void *sg_handle_find(sg_kind kind, const void *handle);

/* Ends a handle and gives its object; NULL as sg_handle_find. */
void *sg_handle_destroy(sg_kind kind, const void *handle);

/* The next living handle of a kind; *cursor starts at 0. NULL at the end. */
void *sg_handle_next(sg_kind kind, size_t *cursor);
uint32_t sg_handle_owner(sg_kind kind, const void *handle);

/* Frees the table; no handle lives after it. */
void sg_handle_finish(void);

#endif
