#include "cublaslt.h"

#include <string.h>

#include "cublas_abi.h"
#include "front.h"

enum { A, B, C, D };

/* Attributes of an operation and of a layout, and values of theirs: numbers of NVIDIA's header. */
enum { COMPUTE_TYPE = 0, SCALE_TYPE = 1, POINTER_MODE = 2, OP_A = 3, OP_B = 4, OP_C = 5, FILL = 6,
       EPILOGUE = 7, BIAS = 8, BIAS_STRIDE = 10, SM_TARGET = 15, BIAS_TYPE = 26, EMULATION = 38, INVARIANCE = 41 };
enum { TYPE = 0, ORDER = 1, ROWS = 2, COLUMNS = 3, LEADING = 4, BATCH = 5, STRIDE = 6, PLANE = 7, BATCH_MODE = 8 };
enum { ORDER_COLUMN = 0, ORDER_ROW = 1, FILL_FULL = 2 };

/* Epilogues that the library has. Only products whose sums are in f32 have them in cuBLASLt. */
static const struct {
    int value;
    gt_epilogue epilogue;
} epilogues[] = {{1, GT_EPILOGUE_NONE},      {2, GT_EPILOGUE_RELU},  {4, GT_EPILOGUE_BIAS},
                 {6, GT_EPILOGUE_RELU_BIAS}, {32, GT_EPILOGUE_GELU}, {36, GT_EPILOGUE_GELU_BIAS}};

/* Of eight bytes, and zero in a plain product: pointers to factors and results that only 8-bit floats have, and to counters by
 * which kernels wait for parts of each other's matrices; strides between the scalars of a batch. */
static const int zeros[] = {17, 18, 19, 20, 21, 29, 30, 36, 39, 40};

typedef int get_attribute(void *object, int attribute, void *value, size_t size, size_t *written);

/* Attributes are read until one cannot be: then the program's own library has the status for it. */
typedef struct reader {
    get_attribute *get;
    void *object;
    bool failed;
} reader;

static void read_value(reader *r, int attribute, void *value, size_t size)
{
    size_t written = 0;
    if (!r->failed && (r->get(r->object, attribute, value, size, &written) != GT_CUBLAS_SUCCESS || written != size))
        r->failed = true;
}

static int32_t read_int(reader *r, int attribute)
{
    int32_t value = 0;
    read_value(r, attribute, &value, sizeof value);
    return value;
}

static int64_t read_long(reader *r, int attribute)
{
    int64_t value = 0;
    read_value(r, attribute, &value, sizeof value);
    return value;
}

/* Whether an attribute is zero, or not known to an older library. */
static bool is_zero(const reader *r, int attribute, size_t size)
{
    char value[16] = {0};
    static const char zero[16];
    size_t written = 0;
    return r->get(r->object, attribute, value, size, &written) != GT_CUBLAS_SUCCESS || memcmp(value, zero, size) == 0;
}

/* Libraries before 13.8 know of none. */
static int read_invariance(const reader *r)
{
    int32_t value = 0;
    size_t written = 0;
    return r->get(r->object, INVARIANCE, &value, sizeof value, &written) == GT_CUBLAS_SUCCESS ? value
                                                                                              : GT_CUBLAS_INVARIANCE_UNSET;
}

typedef struct matrix {
    int type, order, batch;
    int64_t rows, columns, ld, stride;
} matrix;

/* False where the layout is none, or says what has no name here. */
static bool read_matrix(get_attribute *get, void *layout, matrix *m)
{
    reader r = {.get = get, .object = layout, .failed = !layout};
    m->type = read_int(&r, TYPE);
    m->order = read_int(&r, ORDER);
    m->rows = read_long(&r, ROWS);
    m->columns = read_long(&r, COLUMNS);
    m->ld = read_long(&r, LEADING);
    m->batch = read_int(&r, BATCH);
    m->stride = read_long(&r, STRIDE);
    return !r.failed && (m->order == ORDER_COLUMN || m->order == ORDER_ROW) && m->rows > 0 && m->columns > 0 &&
           is_zero(&r, PLANE, sizeof(int64_t)) && is_zero(&r, BATCH_MODE, sizeof(int32_t));
}

typedef struct operation {
    int compute, scale, op_a, op_b;
    gt_epilogue epilogue;
    const void *bias;
    int bias_type; /* -1: that of D */
    gt_cublas_state state;
} operation;

/* The bias of an epilogue. All matrices of a batch are to have the same. */
static void read_bias(reader *r, operation *o)
{
    read_value(r, BIAS, &o->bias, sizeof o->bias);
    o->bias_type = read_int(r, BIAS_TYPE);
    if (!r->failed && (!o->bias || read_long(r, BIAS_STRIDE) != 0))
        o->state.epilogue = true;
}

static void read_epilogue(reader *r, operation *o)
{
    const int value = read_int(r, EPILOGUE);
    size_t i = 0;
    while (i < sizeof epilogues / sizeof epilogues[0] && epilogues[i].value != value)
        i++;
    o->state.epilogue = i == sizeof epilogues / sizeof epilogues[0];
    o->epilogue = o->state.epilogue ? GT_EPILOGUE_NONE : epilogues[i].epilogue;
}

/* What most operations differ in; false where one is none. */
static bool read_operation(get_attribute *get, const gt_lt_call *call, operation *o)
{
    reader r = {.get = get, .object = call->operation};
    *o = (operation){.compute = read_int(&r, COMPUTE_TYPE), .op_a = read_int(&r, OP_A), .op_b = read_int(&r, OP_B),
                     .state = {.stream = call->stream}};
    read_epilogue(&r, o);
    return !r.failed;
}

/* All else. False where it says what has no name here. */
static bool read_rest(get_attribute *get, const gt_lt_call *call, operation *o)
{
    reader r = {.get = get, .object = call->operation};
    o->scale = read_int(&r, SCALE_TYPE);
    o->state.pointer_mode = read_int(&r, POINTER_MODE);
    o->state.invariance = read_invariance(&r);
    if (o->epilogue & GT_EPILOGUE_BIAS)
        read_bias(&r, o);
    bool plain = read_int(&r, FILL) == FILL_FULL && !r.failed && is_zero(&r, OP_C, sizeof(int32_t)) &&
                 is_zero(&r, SM_TARGET, sizeof(int32_t)) && is_zero(&r, EMULATION, sizeof(void *));
    for (size_t i = 0; plain && i < sizeof zeros / sizeof zeros[0]; i++)
        plain = is_zero(&r, zeros[i], sizeof(int64_t));
    return plain;
}

/* Scalars are of the type that sums have, as gt_execute takes them. */
static bool is_usual_scale(const operation *o)
{
    switch (o->compute) {
    case GT_CUBLAS_COMPUTE_16F:
        return o->scale == GT_CUDA_16F;
    case GT_CUBLAS_COMPUTE_64F:
    case GT_CUBLAS_COMPUTE_64F_PEDANTIC:
        return o->scale == GT_CUDA_64F;
    case GT_CUBLAS_COMPUTE_32I:
    case GT_CUBLAS_COMPUTE_32I_PEDANTIC:
        return o->scale == GT_CUDA_32I;
    default:
        return o->scale == GT_CUDA_32F;
    }
}

/* Whether beta, in host memory, is zero: then C is not read, and may be NULL. Negative zero is one too. */
static bool is_beta_zero(const operation *o, const void *beta)
{
    const double value = o->scale == GT_CUDA_64F   ? *(const double *)beta
                         : o->scale == GT_CUDA_32F ? *(const float *)beta
                         : o->scale == GT_CUDA_32I ? *(const int32_t *)beta
                                                   : *(const uint16_t *)beta & 0x7fff;
    return value == 0;
}

/* A matrix of rows is one of columns, transposed. */
static void make_column_major(matrix *m, int *op)
{
    const int64_t rows = m->rows;
    if (m->order == ORDER_COLUMN)
        return;
    m->rows = m->columns;
    m->columns = rows;
    *op = *op == GT_CUBLAS_OP_N ? GT_CUBLAS_OP_T : GT_CUBLAS_OP_N;
}

/* Whether the library has the epilogue for a result. A bias belongs to rows of D: to those of a column-major one. */
static bool is_epilogue_offered(const operation *o, const matrix *d)
{
    const bool biased = o->epilogue & GT_EPILOGUE_BIAS;
    return o->epilogue == GT_EPILOGUE_NONE ||
           (o->scale == GT_CUDA_32F &&
            (!biased || (d->order == ORDER_COLUMN && (o->bias_type == -1 || o->bias_type == d->type))));
}

static bool is_same(const matrix *x, const matrix *y)
{
    return x->type == y->type && x->order == y->order && x->rows == y->rows && x->columns == y->columns &&
           x->ld == y->ld && x->batch == y->batch && (x->batch == 1 || x->stride == y->stride);
}

/* The call of cuBLAS that asks for the same. False where sizes do not fit together: cuBLASLt has a status for that. */
static bool translate(const gt_lt_call *call, const operation *o, const matrix list[4], gt_cublas_call *out)
{
    matrix a = list[A], b = list[B], d = list[D];
    int op_a = o->op_a, op_b = o->op_b, op_d = GT_CUBLAS_OP_N;
    const void *first = call->data[A], *second = call->data[B];
    make_column_major(&a, &op_a);
    make_column_major(&b, &op_b);
    make_column_major(&d, &op_d);
    if (op_d != GT_CUBLAS_OP_N) { /* all transposed: the operands change places, and their ops */
        const matrix m = a;
        const int op = op_a;
        a = b;
        b = m;
        op_a = op_b == GT_CUBLAS_OP_N ? GT_CUBLAS_OP_T : GT_CUBLAS_OP_N;
        op_b = op == GT_CUBLAS_OP_N ? GT_CUBLAS_OP_T : GT_CUBLAS_OP_N;
        first = call->data[B];
        second = call->data[A];
    }
    const bool flip_a = op_a != GT_CUBLAS_OP_N, flip_b = op_b != GT_CUBLAS_OP_N;
    *out = (gt_cublas_call){
        .symbol = GT_SYMBOL_cublasLtMatmul, .handle = call->handle, .op_a = op_a, .op_b = op_b, .m = d.rows,
        .n = d.columns, .k = flip_a ? a.rows : a.columns, .alpha = call->alpha, .beta = call->beta, .a = first,
        .b = second, .c = (void *)call->data[D], .bias = o->bias, .epilogue = o->epilogue, .type_a = a.type,
        .type_b = b.type, .type_c = d.type, .lda = a.ld, .ldb = b.ld, .ldc = d.ld, .stride_a = a.stride,
        .stride_b = b.stride, .stride_c = d.stride, .batch = d.batch,
        .compute = o->compute, .algorithm = GT_CUBLAS_ALGORITHM_DEFAULT,
    };
    return (flip_a ? a.columns : a.rows) == out->m && (flip_b ? b.rows : b.columns) == out->n &&
           (flip_b ? b.columns : b.rows) == out->k && a.batch == d.batch && b.batch == d.batch;
}

/* Functions of the program's own cuBLASLt. */
typedef struct getters {
    get_attribute *of_operation, *of_layout;
} getters;

/* The call of cuBLAS that asks for the same: GT_FATE_ANSWERED, or why there is none. */
static gt_fate decode(const getters *get, const gt_lt_call *call, operation *o, gt_cublas_call *out)
{
    matrix list[4];
    if (!read_rest(get->of_operation, call, o))
        return GT_FATE_MODE;
    for (int i = A; i <= D; i++)
        if (!read_matrix(get->of_layout, call->layouts[i], &list[i]))
            return GT_FATE_MODE;
    if (!is_usual_scale(o) || list[C].type != list[D].type)
        return GT_FATE_MODE;
    const bool same = is_same(&list[C], &list[D]), host = o->state.pointer_mode == GT_CUBLAS_HOST_SCALARS;
    const bool apart = !(same && call->data[C] == call->data[D]) && host && !is_beta_zero(o, call->beta);
    if ((apart && !same) || !is_epilogue_offered(o, &list[D]))
        return GT_FATE_EPILOGUE;
    if (!translate(call, o, list, out))
        return GT_FATE_ARGUMENTS;
    if (apart) {
        out->c = (void *)call->data[C];
        out->d = (void *)call->data[D];
    }
    out->align = gt_cublas_align(out);
    return GT_FATE_ANSWERED;
}

/* What tells one call from another whose result is where its C was. A layout is eight words in NVIDIA's header: compared
 * as such it takes a tenth of the time that its attributes take to be read. */
typedef struct key {
    uint64_t layouts[4][8];
    void *handle;
    int compute, op_a, op_b;
    gt_epilogue epilogue;
    uint64_t align; /* lower bits of all pointers */
} key;

_Static_assert(sizeof(key) == 8 * GT_MEMO_WORDS, "no bytes between fields");

/* False where there is none. */
static bool make_key(const gt_lt_call *call, const operation *o, key *out)
{
    out->handle = call->handle;
    out->compute = o->compute;
    out->op_a = o->op_a;
    out->op_b = o->op_b;
    out->epilogue = o->epilogue;
    out->align = ((uintptr_t)call->data[A] | (uintptr_t)call->data[B] | (uintptr_t)call->data[D]) & 15;
    for (int i = A; i <= D; i++) {
        if (!call->layouts[i])
            return false;
        memcpy(out->layouts[i], call->layouts[i], sizeof out->layouts[i]);
    }
    return call->data[C] == call->data[D];
}

bool gt_lt_answer(gt_cublas_library *library, const gt_lt_call *call)
{
    gt_answer *answers[GT_MEMO_ANSWERS] = {0};
    gt_cublas_call plain;
    operation o;
    key own;
    if (gt_cublas_is_left() || !gt_front_is_on())
        return false;
    const getters get = {
        (get_attribute *)gt_cublas_find(library, "cublasLtMatmulDescGetAttribute", &library->get_operation),
        (get_attribute *)gt_cublas_find(library, "cublasLtMatrixLayoutGetAttribute", &library->get_layout),
    };
    gt_fate fate = GT_FATE_ARGUMENTS;
    if (get.of_operation && get.of_layout && call->handle && call->operation && call->alpha && call->beta &&
        call->data[D] && read_operation(get.of_operation, call, &o)) {
        const bool has_key = make_key(call, &o, &own);
        if (has_key && gt_memo_forwards(&own, GT_MEMO_WORDS))
            return false;
        fate = decode(&get, call, &o, &plain);
        if (fate == GT_FATE_ANSWERED)
            fate = gt_cublas_run(&plain, &o.state, answers);
        if (has_key)
            gt_memo_keep(&own, GT_MEMO_WORDS, fate, answers);
    }
    gt_tally_count(fate);
    return fate == GT_FATE_ANSWERED;
}
