/*
 * gemmtune: tuned matrix products from a database, without a compiler at run time.
 *
 *     gt_context *gt;
 *     gt_plan *plan;
 *     gt_open(NULL, &gt);
 *     gt_gemm p = GT_GEMM(GT_F32, m, n, k);
 *     gt_plan_gemm(gt, &p, &plan);
 *     gt_execute(plan, stream, &alpha, A, B, &beta, C);
 *     gt_plan_destroy(plan);
 *     gt_close(gt);
 *
 * C = alpha * op(A) * op(B) + beta * C, matrices row-major; with bias, relu or gelu on the way if asked. Every call
 * returns GT_OK (zero) or a negative gt_status; outputs are untouched on failure, and gt_error_message() says in one line
 * what went wrong.
 * The library never prints and never aborts. It needs the CUDA driver and SQLite, nothing else of CUDA.
 *
 * Device pointers are void *, streams are struct CUstream_st *: the driver's and the runtime's types both fit.
 */
#ifndef GEMMTUNE_H
#define GEMMTUNE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GT_VERSION_MAJOR 0
#define GT_VERSION_MINOR 1
#define GT_VERSION_PATCH 0

#if defined(__GNUC__)
#define GT_API __attribute__((visibility("default")))
#else
#define GT_API
#endif

typedef struct gt_context gt_context;
typedef struct gt_plan gt_plan;
struct CUstream_st;

typedef enum gt_status {
    GT_OK = 0,
    GT_ERROR_INVALID = -1,       /* an argument is out of range or missing */
    GT_ERROR_MEMORY = -2,        /* out of host memory */
    GT_ERROR_DEVICE_MEMORY = -3, /* out of device memory */
    GT_ERROR_NO_DRIVER = -4,     /* the CUDA driver is missing or too old */
    GT_ERROR_NO_DEVICE = -5,     /* no such GPU */
    GT_ERROR_DRIVER = -6,        /* a driver call failed */
    GT_ERROR_NO_COMPILER = -7,   /* NVRTC is missing or too old (tuner only) */
    GT_ERROR_COMPILE = -8,       /* a kernel did not compile (tuner only) */
    GT_ERROR_NO_DATABASE = -9,   /* the database file does not exist */
    GT_ERROR_DATABASE = -10,     /* not a gemmtune database, or damaged */
    GT_ERROR_VERSION = -11,      /* a database written by a newer gemmtune */
    GT_ERROR_BUSY = -12,         /* the database stayed locked */
    GT_ERROR_IO = -13,           /* a file could not be read or written: permission, full disk */
    GT_ERROR_UNTRUSTED = -14,    /* somebody else can write the database */
    GT_ERROR_CORRUPT = -15,      /* a stored kernel does not match its hash, or its code */
    GT_ERROR_NOT_TUNED = -16,    /* no stored kernel can run this problem on this GPU */
    GT_ERROR_ALIGNMENT = -17,    /* a pointer is less aligned than the plan was promised */
    GT_ERROR_UNSUPPORTED = -18,  /* the combination of types, math or epilogue is not offered */
} gt_status;

/*
 * Element types. Those of A, B and C decide the arithmetic: f32, s32, f64, f16 or bf16 into itself or f32, s8 into s32,
 * e4m3 and e5m2, also one of each, into bf16, f16 or f32. Integers are added and scaled modulo 2^32: sums of s8 are
 * exact while k is below 2^17.
 */
typedef enum gt_type {
    GT_F32 = 0,
    GT_S32 = 1,
    GT_F16 = 2,
    GT_BF16 = 3,
    GT_F64 = 4,
    GT_S8 = 5,
    GT_E4M3 = 6, /* 8-bit floats with 4 bits of exponent, no infinities, and with 5 */
    GT_E5M2 = 7,
} gt_type;

/* GT_N: the matrix as stored; GT_T: its transpose. */
typedef enum gt_op {
    GT_N = 0,
    GT_T = 1,
} gt_op;

/* How products and sums may be computed. */
typedef enum gt_math {
    GT_MATH_STRICT = 0, /* every product and sum in the accumulator's own precision; 8-bit floats: sums of up to 128
                           products in that of tensor cores, which keep 14 bits, and these added up in f32 */
    GT_MATH_TF32 = 1,   /* f32: operands rounded to 11 significant bits, for tensor cores */
    GT_MATH_FAST = 2,   /* 8-bit floats: all of a sum in the precision of tensor cores, 14 bits */
    GT_MATH_SPLIT = 3,  /* f32: tensor cores multiply operands in two parts of f16 each, 22 bits together, and f32 adds up
                           sums of 64 products at most. Where that would not do (NaN, infinities, sums that may pass the
                           largest number, elements too far below their row's largest) and where it is faster, strict */
} gt_math;

/*
 * What is done with a result before it is rounded to C's type and stored: a bias, one number of C's type for each of
 * the n columns and the same in all rows and products of a batch, is added; then relu, max(x, 0), which keeps NaN, or
 * gelu in the form with tanh, x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), where sums are in f32.
 */
typedef enum gt_epilogue {
    GT_EPILOGUE_NONE = 0,
    GT_EPILOGUE_BIAS = 1,
    GT_EPILOGUE_RELU = 2,
    GT_EPILOGUE_RELU_BIAS = 3,
    GT_EPILOGUE_GELU = 4,
    GT_EPILOGUE_GELU_BIAS = 5,
} gt_epilogue;

/*
 * One matrix product: op(A) is m x k, op(B) is k x n, C is m x n, each row-major.
 * Zero in a field below the sizes means its default: packed leading dimensions, one matrix, strides of one
 * whole matrix, pointers aligned to 16 bytes.
 */
typedef struct gt_gemm {
    int64_t m, n, k;
    int64_t lda, ldb, ldc; /* elements from one stored row to the next */
    int64_t batch;         /* number of products; 0 means 1 */
    int64_t stride_a, stride_b, stride_c; /* elements from one product's matrix to the next's; matrices of A, and of B, may
                                             overlap, those of C may not, nor lie between each other's rows */
    gt_op op_a, op_b;
    gt_type type_ab, type_c;
    gt_math math;
    gt_epilogue epilogue;
    double max_error;  /* largest accepted error of an element of op(A) op(B) relative to its sum of |a||b|: the fastest
                          kernel of any math of these types that is proved to stay within it, for this k; 0: of math */
    int deterministic; /* nonzero: only kernels that give the same bits each time */
    int align;         /* bytes every pointer will be a multiple of, or of its elements where those are larger: 1, 2,
                          4, 8 or 16; 0 means 16 */
    gt_type type_b;    /* of B where it is not type_ab: GT_E4M3 with GT_E5M2; 0 means type_ab */
    int beside;        /* nonzero: executions may have a D beside a C that is read */
} gt_gemm;

/* A packed product of one type: GT_GEMM(GT_F32, m, n, k). */
#ifdef __cplusplus
#define GT_GEMM(type, m_, n_, k_) gt_gemm_make((type), (m_), (n_), (k_))
static inline gt_gemm gt_gemm_make(gt_type type, int64_t m, int64_t n, int64_t k)
{
    gt_gemm gemm = gt_gemm();
    gemm.m = m;
    gemm.n = n;
    gemm.k = k;
    gemm.type_ab = gemm.type_c = type;
    return gemm;
}
#else
#define GT_GEMM(type, m_, n_, k_)                                                                            \
    {                                                                                                        \
        .m = (m_), .n = (n_), .k = (k_), .type_ab = (type), .type_c = (type)                                 \
    }
#endif

/* Options of gt_open. Zero everywhere is the default. */
typedef struct gt_options {
    const char *database; /* NULL: $GEMMTUNE_DB, else the user's; behind it $GEMMTUNE_SYSTEM_DB, else the
                             system's, for what that has not */
    const char *driver;   /* NULL: $GEMMTUNE_DRIVER, else libcuda.so.1; "soft", "soft:a100": the software GPU; else a
                             library to load as the CUDA driver */
    int device;           /* used only where the calling thread has no current context */
    void (*log)(void *data, const char *message); /* told of surprises that are not errors; may be NULL, must not
                                                     call the library */
    void *log_data;
} gt_options;

/* How a plan's kernel was chosen. */
typedef enum gt_choice {
    GT_CHOICE_EXACT = 0,     /* tuned for this very problem on this GPU model */
    GT_CHOICE_PREDICTED = 1, /* measured on this GPU model for other sizes, and expected to be the fastest here */
    GT_CHOICE_FALLBACK = 2,  /* measured on another GPU model of the same architecture */
} gt_choice;

/* What gt_plan_describe tells. Strings live as long as the plan. */
typedef struct gt_description {
    gt_choice choice;
    const char *family;    /* "simt" */
    const char *params;    /* "bm=128 bn=256 ..." */
    const char *reason;    /* one sentence: why this kernel */
    double expected_us;    /* measured (exact) or predicted time of one execution, and an epilogue's estimated one */
    int modelled;          /* nonzero: expected_us comes from the software GPU's model */
    int deterministic;     /* nonzero: the same inputs always give the same bits */
    size_t workspace;      /* bytes of device memory an execution works in: the plan's own, or a caller's */
    unsigned grid[3];
    unsigned threads;
    double baseline_us;    /* what cuBLAS needs for the same without an epilogue: its time in the same race (exact), or
                              less where it did better with a cold cache; else no less than this is expected from the
                              nearest size that it raced on; 0: it raced on none */
    gt_math math;          /* of the kernel: another than was asked for where max_error allows it or strict serves */
    double error_bound;    /* what the error of an element of op(A) op(B) is proved to be within, relative to its sum of
                              |a||b|; 0: exact. Where k times the largest |a| of its row and |b| of its column may pass
                              2^126, f32 in parts has k 2^-24; a subnormal result errs by a unit more */
    size_t counters;       /* bytes of counters that an execution needs, which have room in the workspace, too */
} gt_description;

/*
 * Opens the database and the driver. options may be NULL. Uses the calling thread's current CUDA context;
 * where there is none, retains the device's primary context and makes it current on this thread.
 * On success *context is owned by the caller: gt_close. Thread-safe.
 */
GT_API gt_status gt_open(const gt_options *options, gt_context **context);

/* Closes a context; plans made from it must have been destroyed. NULL is allowed. */
GT_API void gt_close(gt_context *context);

/*
 * Finds the best stored kernel for a problem, loads it and allocates its workspace: the slow path, some
 * milliseconds the first time, microseconds once the kernel is loaded. Streams may be captured meanwhile. *plan is owned by
 * the caller: gt_plan_destroy. Thread-safe.
 */
GT_API gt_status gt_plan_gemm(gt_context *context, const gt_gemm *gemm, gt_plan **plan);

/* Destroys a plan; its executions must have finished, and graphs that captured any must not be launched again. NULL is
 * allowed. */
GT_API void gt_plan_destroy(gt_plan *plan);

/* The operands of one execution, for gt_execute_ex. */
typedef struct gt_operands {
    const void *alpha, *beta; /* host values of the accumulator's type */
    const void *a, *b;
    void *c;
    void *d;          /* where results go, laid out as C, which is only read then, and not even that where beta is 0;
                         NULL: into C */
    const void *bias; /* n elements, if the plan's epilogue has it */
    void *workspace; /* device memory of the caller's, a multiple of 256 bytes; NULL: the plan's own */
    size_t workspace_bytes;
    void *counters; /* with a workspace: as many bytes as gt_plan_describe says, zeros, and zeros again afterwards; NULL:
                       counters lie in the workspace and are cleared in the stream first */
} gt_operands;

/*
 * Enqueues the product on a stream and returns: no lock, no allocation, no synchronisation, safe in graph
 * capture. alpha and beta point to host values of the accumulator's type (double for f64, int32_t for s32 and s8, float
 * for all others), read before the call returns. beta = 0 never reads C, alpha = 0 never reads A or B, empty sizes
 * succeed. C must not overlap A or B: if it does, C's elements are undefined, and still nothing outside C is written;
 * A and B may be the same matrix. Thread-safe; executions that may overlap in time need a plan each, or a workspace
 * each (gt_execute_ex), if gt_plan_describe tells of a workspace.
 */
GT_API gt_status gt_execute(const gt_plan *plan, struct CUstream_st *stream, const void *alpha, const void *a,
                            const void *b, const void *beta, void *c);

/*
 * The same with the operands in a struct: D = epilogue(alpha * op(A) * op(B) + beta * C + bias). D may be C or apart
 * from it; where C is read, that is GT_ERROR_UNSUPPORTED with a kernel that cannot, unless the plan was made with
 * gt_gemm.beside. In a workspace of the caller's one plan runs on many streams at the same time. The workspace needs
 * no preparation and has no meaning between executions; GT_ERROR_INVALID if it is smaller than gt_plan_describe says,
 * GT_ERROR_ALIGNMENT if it is no multiple of 256 bytes, or the counters of 4.
 */
GT_API gt_status gt_execute_ex(const gt_plan *plan, struct CUstream_st *stream, const gt_operands *operands);

/* Says what was chosen for a plan and why. */
GT_API gt_status gt_plan_describe(const gt_plan *plan, gt_description *description);

/* One line on the calling thread's last failure; "" before the first. Valid until its next failing call. */
GT_API const char *gt_error_message(void);

/* The name of a status, "GT_ERROR_NOT_TUNED"; never NULL. */
GT_API const char *gt_status_name(gt_status status);

/* The library's version, "0.1.0". */
GT_API const char *gt_version(void);

#ifdef __cplusplus
}
#endif

#endif
