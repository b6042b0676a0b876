/*
 * A library with cuBLASLt's name and symbol versions: descriptors have the attributes of versions 12 and 13 and their
 * defaults, and keep what they are set to. As without a GPU, no product can be computed.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { SUCCESS = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 7 };
enum { ATTRIBUTES = 42 };

/* Bytes of each attribute; 0: there is none. */
typedef struct kind {
    unsigned char bytes[ATTRIBUTES];
} kind;

static const kind operations = {{4, 4, 4, 4, 4, 4, 4, 4, 8, 0, 8, 8, 8, 8, 8, 4, 0, 8, 8, 8,
                                 8, 8, 4, 8, 8, 1, 4, 4, 4, 8, 8, 4, 4, 4, 4, 4, 8, 4, 8, 8, 8, 4}};
static const kind layouts = {{4, 4, 8, 8, 8, 4, 8, 8, 4}};

typedef struct object {
    const kind *kind;
    int64_t values[ATTRIBUTES];
} object;

static int make(object **out, const kind *of)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return NOT_INITIALIZED;
    (*out)->kind = of;
    return SUCCESS;
}

static int set(object *o, int attribute, const void *value, size_t bytes)
{
    if (attribute < 0 || attribute >= ATTRIBUTES || bytes == 0 || o->kind->bytes[attribute] != bytes)
        return INVALID_VALUE;
    memcpy(&o->values[attribute], value, bytes);
    return SUCCESS;
}

static int get(const object *o, int attribute, void *value, size_t bytes, size_t *written)
{
    if (attribute < 0 || attribute >= ATTRIBUTES || o->kind->bytes[attribute] == 0 || o->kind->bytes[attribute] > bytes)
        return INVALID_VALUE;
    memcpy(value, &o->values[attribute], o->kind->bytes[attribute]);
    *written = o->kind->bytes[attribute];
    return SUCCESS;
}

EXPORT int cublasLtMatmulDescCreate(object **out, int compute, int scale)
{
    const int status = make(out, &operations);
    if (status == SUCCESS) {
        (*out)->values[0] = compute;
        (*out)->values[1] = scale;
        (*out)->values[6] = 2;           /* the whole matrix */
        (*out)->values[7] = 1;           /* no epilogue */
        (*out)->values[26] = UINT32_MAX; /* a bias of D's type */
        (*out)->values[41] = 0x8000;     /* batch invariance is not set */
    }
    return status;
}

EXPORT int cublasLtMatrixLayoutCreate(object **out, int type, uint64_t rows, uint64_t columns, int64_t ld)
{
    const int status = make(out, &layouts);
    if (status == SUCCESS)
        memcpy((*out)->values, (int64_t[]){type, 0, (int64_t)rows, (int64_t)columns, ld, 1}, 6 * sizeof(int64_t));
    return status;
}

#define FUNCTIONS(what)                                                                                      \
    EXPORT int what##SetAttribute(object *o, int attribute, const void *value, size_t bytes)                 \
    {                                                                                                        \
        return set(o, attribute, value, bytes);                                                              \
    }                                                                                                        \
    EXPORT int what##GetAttribute(const object *o, int attribute, void *value, size_t bytes, size_t *written) \
    {                                                                                                        \
        return get(o, attribute, value, bytes, written);                                                     \
    }                                                                                                        \
    EXPORT int what##Destroy(object *o)                                                                      \
    {                                                                                                        \
        free(o);                                                                                             \
        return SUCCESS;                                                                                      \
    }
FUNCTIONS(cublasLtMatmulDesc)
FUNCTIONS(cublasLtMatrixLayout)

EXPORT int cublasLtMatmul(void *handle, object *operation, const void *alpha, const void *a, object *layout_a,
                          const void *b, object *layout_b, const void *beta, const void *c, object *layout_c, void *d,
                          object *layout_d, const void *algorithm, void *workspace, size_t bytes, void *stream)
{
    (void)handle, (void)operation, (void)alpha, (void)a, (void)layout_a, (void)b, (void)layout_b, (void)beta;
    (void)c, (void)layout_c, (void)d, (void)layout_d, (void)algorithm, (void)workspace, (void)bytes, (void)stream;
    return NOT_INITIALIZED;
}
