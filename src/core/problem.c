#include "problem.h"

#include <stdio.h>
#include <string.h>

#include "status.h"

gt_stored gt_problem_stored(const gt_problem *p, gt_operand operand)
{
    const gt_class *class = &p->class;
    switch (operand) {
    case GT_A:
        return class->op_a == GT_N ? (gt_stored){class->type_a, p->m, p->k, p->lda, p->stride_a}
                                   : (gt_stored){class->type_a, p->k, p->m, p->lda, p->stride_a};
    case GT_B:
        return class->op_b == GT_N ? (gt_stored){class->type_b, p->k, p->n, p->ldb, p->stride_b}
                                   : (gt_stored){class->type_b, p->n, p->k, p->ldb, p->stride_b};
    default:
        return (gt_stored){class->type_c, p->m, p->n, p->ldc, p->stride_c};
    }
}

/* Fills in and checks one operand's ld and stride. Matrices of a batch may overlap in A and B, but not in C. A stride
 * of 0 stands for the default, so that A and B cannot be repeated by it. */
static gt_status finish_operand(gt_operand operand, int64_t batch, gt_stored *o)
{
    static const char names[] = "abc";
    const char name = names[operand];
    int64_t extent, span;
    if (o->ld == 0)
        o->ld = o->columns > 0 ? o->columns : 1;
    if (o->ld < o->columns)
        return gt_fail(GT_ERROR_INVALID, "ld%c is %lld, smaller than the row of %lld elements", name,
                       (long long)o->ld, (long long)o->columns);
    if (__builtin_mul_overflow(o->rows > 0 ? o->rows : 1, o->ld, &extent))
        return gt_fail(GT_ERROR_INVALID, "%lld rows with ld%c %lld overflow 64 bits", (long long)o->rows, name,
                       (long long)o->ld);
    if (o->stride == 0)
        o->stride = extent;
    if (o->stride < 0)
        return gt_fail(GT_ERROR_INVALID, "stride_%c is negative (%lld)", name, (long long)o->stride);
    if (operand == GT_C && batch > 1 && o->stride < (o->rows - 1) * o->ld + o->columns)
        return gt_fail(GT_ERROR_INVALID, "stride_%c is %lld, and a matrix of C takes %lld elements: results must neither "
                       "overlap nor lie between each other's rows", name, (long long)o->stride,
                       (long long)((o->rows - 1) * o->ld + o->columns));
    if (__builtin_mul_overflow(batch > 1 ? batch - 1 : 0, o->stride, &span) ||
        __builtin_add_overflow(span, extent, &span) ||
        __builtin_mul_overflow(span, (int64_t)gt_type_find(o->type)->bytes, &span))
        return gt_fail(GT_ERROR_INVALID, "%lld matrices with stride_%c %lld overflow 64 bits", (long long)batch, name,
                       (long long)o->stride);
    return GT_OK;
}

/* The largest power of two up to `limit` that divides `bytes`. */
static int alignment_of(int64_t bytes, int limit)
{
    while (limit > 1 && bytes % limit != 0)
        limit /= 2;
    return limit;
}

gt_status gt_problem_init(const gt_gemm *gemm, gt_problem *problem)
{
    const struct {
        const char *name;
        int64_t value;
    } sizes[] = {{"m", gemm->m},         {"n", gemm->n},     {"k", gemm->k},    {"batch", gemm->batch},
                 {"lda", gemm->lda},     {"ldb", gemm->ldb}, {"ldc", gemm->ldc}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (sizes[i].value < 0)
            return gt_fail(GT_ERROR_INVALID, "%s is negative (%lld)", sizes[i].name, (long long)sizes[i].value);
    if ((unsigned)gemm->op_a > GT_T || (unsigned)gemm->op_b > GT_T)
        return gt_fail(GT_ERROR_INVALID, "op_a and op_b must be GT_N or GT_T");
    char maths[GT_TYPES_TEXT];
    const gt_type type_b = gemm->type_b ? gemm->type_b : gemm->type_ab;
    const gt_types *strict = gt_types_find(gemm->type_ab, type_b, gemm->type_c, GT_MATH_STRICT);
    if (!strict)
        return gt_fail(GT_ERROR_UNSUPPORTED, "type_ab %d and type_b %d with type_c %d are not offered; there are: %s",
                       (int)gemm->type_ab, (int)type_b, (int)gemm->type_c, gt_types_names());
    if (!gt_types_find(gemm->type_ab, type_b, gemm->type_c, gemm->math))
        return gt_fail(GT_ERROR_UNSUPPORTED, "math %d (%s) does not fit %s, which has: %s", (int)gemm->math,
                       gt_math_name(gemm->math), strict->name, gt_types_maths(strict->name, maths));
    if ((unsigned)gemm->epilogue > GT_EPILOGUE_GELU_BIAS)
        return gt_fail(GT_ERROR_UNSUPPORTED, "epilogue %d is not offered", (int)gemm->epilogue);
    if (gemm->epilogue & GT_EPILOGUE_GELU && strict->accumulator != GT_F32)
        return gt_fail(GT_ERROR_UNSUPPORTED, "gelu is not offered for %s, whose sums are not in f32", strict->name);
    if (gemm->align < 0 || gemm->align > 16 || (gemm->align & (gemm->align - 1)) != 0)
        return gt_fail(GT_ERROR_INVALID, "align is %d; it must be 1, 2, 4, 8 or 16 (0 means 16)", gemm->align);

    gt_problem p = {
        .class = {.type_a = gemm->type_ab, .type_b = type_b, .type_c = gemm->type_c, .math = gemm->math,
                  .epilogue = GT_EPILOGUE_NONE, .op_a = gemm->op_a, .op_b = gemm->op_b,
                  .align = gemm->align ? gemm->align : 16},
        .m = gemm->m, .n = gemm->n, .k = gemm->k, .batch = gemm->batch > 0 ? gemm->batch : 1,
        .lda = gemm->lda, .ldb = gemm->ldb, .ldc = gemm->ldc,
        .stride_a = gemm->stride_a, .stride_b = gemm->stride_b, .stride_c = gemm->stride_c,
    };
    gt_class *const class = &p.class;
    const struct {
        int64_t *ld, *stride;
    } fields[GT_OPERANDS] = {{&p.lda, &p.stride_a}, {&p.ldb, &p.stride_b}, {&p.ldc, &p.stride_c}};
    if (class->align < gt_class_element(class))
        return gt_fail(GT_ERROR_INVALID, "align is %d bytes, smaller than an element", class->align);
    for (gt_operand i = GT_A; i < GT_OPERANDS; i++) {
        gt_stored o = gt_problem_stored(&p, i);
        gt_status status = finish_operand(i, p.batch, &o);
        if (status != GT_OK)
            return status;
        *fields[i].ld = o.ld;
        *fields[i].stride = o.stride;
        const int bytes = gt_type_find(o.type)->bytes;
        if (o.rows == 0 || o.columns == 0) /* k is 0, or C is empty: no address is ever made of these */
            continue;
        if (o.rows > 1)
            class->align = alignment_of(o.ld * bytes, class->align);
        if (p.batch > 1)
            class->align = alignment_of(o.stride * bytes, class->align);
    }
    *problem = p;
    return GT_OK;
}

gt_status gt_problem_fold(const gt_gemm *gemm, gt_problem *problem, bool *swapped)
{
    gt_problem p;
    gt_status status = gt_problem_init(gemm, &p);
    if (status != GT_OK)
        return status;
    gt_gemm same = gt_class_gemm(&p.class, p.m, p.n, p.k);
    const bool swap = p.n == 1 && p.m > 1 && p.ldc == 1 && p.class.type_a == p.class.type_b &&
                      !(gemm->epilogue & GT_EPILOGUE_BIAS);
    same.align = gemm->align; /* only that of pointers: rows may be better aligned in the new form */
    same.batch = p.batch;
    same.lda = p.lda;
    same.ldb = p.ldb;
    same.ldc = p.ldc;
    same.stride_a = p.stride_a;
    same.stride_b = p.stride_b;
    same.stride_c = p.stride_c;
    if (swap) {
        same.m = 1;
        same.n = p.m;
        same.op_a = p.class.op_b == GT_N ? GT_T : GT_N;
        same.op_b = p.class.op_a == GT_N ? GT_T : GT_N;
        same.lda = p.ldb;
        same.ldb = p.lda;
        same.ldc = p.m;
        same.stride_a = p.stride_b;
        same.stride_b = p.stride_a;
    }
    if (same.m == 1 && same.op_a == GT_T && same.lda == 1) {
        same.op_a = GT_N;
        same.lda = 0;
    }
    if (same.n == 1 && same.op_b == GT_N && same.ldb == 1) {
        same.op_b = GT_T;
        same.ldb = 0;
    }
    if ((status = gt_problem_init(&same, problem)) == GT_OK)
        *swapped = swap;
    return status;
}

static const char *const layouts[2][2] = {[GT_N] = {[GT_N] = "nn", [GT_T] = "nt"},
                                          [GT_T] = {[GT_N] = "tn", [GT_T] = "tt"}};

const char *gt_class_layout(const gt_class *class)
{
    return layouts[class->op_a][class->op_b];
}

gt_status gt_layout_parse(const char *text, gt_op *op_a, gt_op *op_b)
{
    for (int a = GT_N; a <= GT_T; a++)
        for (int b = GT_N; b <= GT_T; b++)
            if (strcmp(text, layouts[a][b]) == 0) {
                *op_a = (gt_op)a;
                *op_b = (gt_op)b;
                return GT_OK;
            }
    return gt_fail(GT_ERROR_INVALID, "unknown layout '%s'; there are: nn nt tn tt", text);
}

const gt_types *gt_class_types(const gt_class *class)
{
    return gt_types_find(class->type_a, class->type_b, class->type_c, class->math);
}

int gt_class_element(const gt_class *class)
{
    const int a = gt_type_find(class->type_a)->bytes, b = gt_type_find(class->type_b)->bytes,
              c = gt_type_find(class->type_c)->bytes, ab = a < b ? a : b;
    return ab < c ? ab : c;
}

int gt_class_pointer(const gt_class *class, gt_type type)
{
    const int element = gt_type_find(type)->bytes;
    return class->align > element ? class->align : element;
}

gt_gemm gt_class_gemm(const gt_class *class, int64_t m, int64_t n, int64_t k)
{
    return (gt_gemm){
        .m = m, .n = n, .k = k, .op_a = class->op_a, .op_b = class->op_b, .type_ab = class->type_a,
        .type_b = class->type_b, .type_c = class->type_c, .math = class->math, .epilogue = class->epilogue,
        .align = class->align,
    };
}

bool gt_class_serves(const gt_class *rendered, const gt_class *asked)
{
    return gt_class_types(rendered) == gt_class_types(asked) && rendered->epilogue == asked->epilogue &&
           rendered->op_a == asked->op_a && rendered->op_b == asked->op_b && rendered->align <= asked->align;
}

bool gt_class_same(const gt_class *a, const gt_class *b)
{
    return gt_class_serves(a, b) && a->align == b->align;
}

static const char *const epilogues[] = {[GT_EPILOGUE_NONE] = "none"};

const char *gt_epilogue_name(gt_epilogue epilogue)
{
    return (size_t)epilogue < sizeof epilogues / sizeof epilogues[0] ? epilogues[epilogue] : "unknown";
}

void gt_problem_name(const gt_problem *p, char name[GT_PROBLEM_NAME_LENGTH])
{
    char types[GT_TYPES_TEXT];
    int length = snprintf(name, GT_PROBLEM_NAME_LENGTH, "%s %s %lldx%lldx%lld",
                          gt_types_text(gt_class_types(&p->class), types), gt_class_layout(&p->class), (long long)p->m,
                          (long long)p->n, (long long)p->k);
    if (p->batch != 1)
        length +=
            snprintf(name + length, (size_t)(GT_PROBLEM_NAME_LENGTH - length), " batch %lld", (long long)p->batch);
    if (p->class.align != 16)
        snprintf(name + length, (size_t)(GT_PROBLEM_NAME_LENGTH - length), " align %d", p->class.align);
}

const char *gt_problem_words(const gt_problem *p, char words[GT_PROBLEM_WORDS])
{
    char math[32] = "", batch[32] = "", align[32] = "";
    if (p->class.math != GT_MATH_STRICT)
        snprintf(math, sizeof math, " --math %s", gt_math_name(p->class.math));
    if (p->batch != 1)
        snprintf(batch, sizeof batch, " --batch %lld", (long long)p->batch);
    if (p->class.align != 16)
        snprintf(align, sizeof align, " --align %d", p->class.align);
    snprintf(words, GT_PROBLEM_WORDS, "--type %s%s --layout %s --shapes %lldx%lldx%lld%s%s", gt_class_types(&p->class)->name,
             math, gt_class_layout(&p->class), (long long)p->m, (long long)p->n, (long long)(p->k ? p->k : 1), batch, align);
    return words;
}

size_t gt_problem_bytes(const gt_problem *p, gt_operand operand)
{
    const gt_stored o = gt_problem_stored(p, operand);
    if (o.rows == 0 || o.columns == 0)
        return 0;
    return (size_t)((p->batch - 1) * o.stride + (o.rows - 1) * o.ld + o.columns) * (size_t)gt_type_find(o.type)->bytes;
}

double gt_problem_flops(const gt_problem *p)
{
    return 2.0 * (double)p->m * (double)p->n * (double)p->k * (double)p->batch;
}

bool gt_problem_same_size(const gt_problem *a, const gt_problem *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k && a->batch == b->batch;
}

bool gt_problem_same(const gt_problem *a, const gt_problem *b)
{
    return gt_class_same(&a->class, &b->class) && gt_problem_same_size(a, b) && a->lda == b->lda && a->ldb == b->ldb &&
           a->ldc == b->ldc && a->stride_a == b->stride_a && a->stride_b == b->stride_b && a->stride_c == b->stride_c;
}

uint64_t gt_problem_hash(const gt_problem *p)
{
    const gt_class *c = &p->class;
    const int64_t fields[] = {c->type_a, c->type_b, c->type_c, c->math, c->epilogue, c->op_a, c->op_b, c->align, p->m,
                              p->n,      p->k,      p->batch};
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a, eight bytes a step */
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        hash = (hash ^ (uint64_t)fields[i]) * 0x100000001b3u;
    return hash ^ hash >> 32;
}
