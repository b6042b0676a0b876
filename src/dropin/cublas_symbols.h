/* The functions with sizes of type INTEGER, whose names end in SUFFIX: included by cublas_symbols.c for each kind. */

/* A product of one type, and many of them. */
#define TYPED(gemm, batched, element, type, compute_type)                                                    \
    FUNCTION(gemm, void *handle, int op_a, int op_b, INTEGER m, INTEGER n, INTEGER k, const element *alpha,  \
             const element *a, INTEGER lda, const element *b, INTEGER ldb, const element *beta, element *c,  \
             INTEGER ldc)                                                                                    \
    {                                                                                                        \
        gt_cublas_call call = {                                                                              \
            .symbol = NUMBER(gemm), .handle = handle, .op_a = op_a, .op_b = op_b, .m = m, .n = n, .k = k,    \
            .alpha = alpha, .a = a, .b = b, .beta = beta, .c = c, .lda = lda, .ldb = ldb, .ldc = ldc,        \
            .type_a = type, .type_b = type, .type_c = type, .compute = compute_type, .batch = 1,             \
            .algorithm = GT_CUBLAS_ALGORITHM_DEFAULT,                                                        \
        };                                                                                                   \
        if (gt_cublas_answer(&library, &call))                                                               \
            return GT_CUBLAS_SUCCESS;                                                                        \
        FORWARD(gemm, handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                     \
    }                                                                                                        \
    FUNCTION(batched, void *handle, int op_a, int op_b, INTEGER m, INTEGER n, INTEGER k,                     \
             const element *alpha, const element *a, INTEGER lda, long long stride_a, const element *b,      \
             INTEGER ldb, long long stride_b, const element *beta, element *c, INTEGER ldc,                  \
             long long stride_c, INTEGER batch)                                                              \
    {                                                                                                        \
        gt_cublas_call call = {                                                                              \
            .symbol = NUMBER(batched), .handle = handle, .op_a = op_a, .op_b = op_b, .m = m, .n = n, .k = k, \
            .alpha = alpha, .a = a, .b = b, .beta = beta, .c = c, .lda = lda, .ldb = ldb, .ldc = ldc,        \
            .type_a = type, .type_b = type, .type_c = type, .compute = compute_type, .batch = batch,         \
            .stride_a = stride_a, .stride_b = stride_b, .stride_c = stride_c,                                \
            .algorithm = GT_CUBLAS_ALGORITHM_DEFAULT,                                                        \
        };                                                                                                   \
        if (gt_cublas_answer(&library, &call))                                                               \
            return GT_CUBLAS_SUCCESS;                                                                        \
        FORWARD(batched, handle, op_a, op_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c,    \
                ldc, stride_c, batch);                                                                       \
    }

TYPED(cublasSgemm_v2, cublasSgemmStridedBatched, float, GT_CUDA_32F, GT_CUBLAS_COMPUTE_32F)
TYPED(cublasDgemm_v2, cublasDgemmStridedBatched, double, GT_CUDA_64F, GT_CUBLAS_COMPUTE_64F)
TYPED(cublasHgemm, cublasHgemmStridedBatched, uint16_t, GT_CUDA_16F, GT_CUBLAS_COMPUTE_16F)

#undef TYPED

FUNCTION(cublasGemmEx, void *handle, int op_a, int op_b, INTEGER m, INTEGER n, INTEGER k, const void *alpha,
         const void *a, int type_a, INTEGER lda, const void *b, int type_b, INTEGER ldb, const void *beta, void *c,
         int type_c, INTEGER ldc, int compute, int algorithm)
{
    gt_cublas_call call = {
        .symbol = NUMBER(cublasGemmEx), .handle = handle, .op_a = op_a, .op_b = op_b, .m = m, .n = n, .k = k,
        .alpha = alpha, .a = a, .b = b, .beta = beta, .c = c, .lda = lda, .ldb = ldb, .ldc = ldc,
        .type_a = type_a, .type_b = type_b, .type_c = type_c, .compute = compute, .algorithm = algorithm,
        .batch = 1,
    };
    if (gt_cublas_answer(&library, &call))
        return GT_CUBLAS_SUCCESS;
    FORWARD(cublasGemmEx, handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc,
            compute, algorithm);
}

FUNCTION(cublasGemmStridedBatchedEx, void *handle, int op_a, int op_b, INTEGER m, INTEGER n, INTEGER k,
         const void *alpha, const void *a, int type_a, INTEGER lda, long long stride_a, const void *b, int type_b,
         INTEGER ldb, long long stride_b, const void *beta, void *c, int type_c, INTEGER ldc, long long stride_c,
         INTEGER batch, int compute, int algorithm)
{
    gt_cublas_call call = {
        .symbol = NUMBER(cublasGemmStridedBatchedEx), .handle = handle, .op_a = op_a, .op_b = op_b, .m = m, .n = n, .k = k,
        .alpha = alpha, .a = a, .b = b, .beta = beta, .c = c, .lda = lda, .ldb = ldb, .ldc = ldc,
        .type_a = type_a, .type_b = type_b, .type_c = type_c, .compute = compute, .algorithm = algorithm,
        .stride_a = stride_a, .stride_b = stride_b, .stride_c = stride_c, .batch = batch,
    };
    if (gt_cublas_answer(&library, &call))
        return GT_CUBLAS_SUCCESS;
    FORWARD(cublasGemmStridedBatchedEx, handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, stride_a, b, type_b, ldb,
            stride_b, beta, c, type_c, ldc, stride_c, batch, compute, algorithm);
}
