/* The functions with sizes of type INTEGER, whose names end in SUFFIX: included by cublas_symbols.c for each kind. */

FUNCTION(cublasSgemm_v2, void *handle, int op_a, int op_b, INTEGER m, INTEGER n, INTEGER k, const float *alpha,
         const float *a, INTEGER lda, const float *b, INTEGER ldb, const float *beta, float *c, INTEGER ldc)
{
    const gt_cublas_call call = {
        .symbol = NUMBER(cublasSgemm_v2), .handle = handle, .op_a = op_a, .op_b = op_b, .m = m, .n = n, .k = k,
        .alpha = alpha, .a = a, .b = b, .beta = beta, .c = c, .lda = lda, .ldb = ldb, .ldc = ldc,
        .type_a = GT_CUDA_32F, .type_b = GT_CUDA_32F, .type_c = GT_CUDA_32F, .compute = GT_CUBLAS_COMPUTE_32F,
        .batch = 1, .algorithm = GT_CUBLAS_ALGORITHM_DEFAULT,
    };
    if (gt_cublas_answer(&library, &call))
        return GT_CUBLAS_SUCCESS;
    FORWARD(cublasSgemm_v2, handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

FUNCTION(cublasSgemmStridedBatched, void *handle, int op_a, int op_b, INTEGER m, INTEGER n, INTEGER k,
         const float *alpha, const float *a, INTEGER lda, long long stride_a, const float *b, INTEGER ldb,
         long long stride_b, const float *beta, float *c, INTEGER ldc, long long stride_c, INTEGER batch)
{
    const gt_cublas_call call = {
        .symbol = NUMBER(cublasSgemmStridedBatched), .handle = handle, .op_a = op_a, .op_b = op_b, .m = m, .n = n, .k = k,
        .alpha = alpha, .a = a, .b = b, .beta = beta, .c = c, .lda = lda, .ldb = ldb, .ldc = ldc,
        .type_a = GT_CUDA_32F, .type_b = GT_CUDA_32F, .type_c = GT_CUDA_32F, .compute = GT_CUBLAS_COMPUTE_32F,
        .stride_a = stride_a, .stride_b = stride_b, .stride_c = stride_c, .batch = batch,
        .algorithm = GT_CUBLAS_ALGORITHM_DEFAULT,
    };
    if (gt_cublas_answer(&library, &call))
        return GT_CUBLAS_SUCCESS;
    FORWARD(cublasSgemmStridedBatched, handle, op_a, op_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c,
            ldc, stride_c, batch);
}

FUNCTION(cublasDgemm_v2, void *handle, int op_a, int op_b, INTEGER m, INTEGER n, INTEGER k, const double *alpha,
         const double *a, INTEGER lda, const double *b, INTEGER ldb, const double *beta, double *c, INTEGER ldc)
{
    const gt_cublas_call call = {
        .symbol = NUMBER(cublasDgemm_v2), .handle = handle, .op_a = op_a, .op_b = op_b, .m = m, .n = n, .k = k,
        .alpha = alpha, .a = a, .b = b, .beta = beta, .c = c, .lda = lda, .ldb = ldb, .ldc = ldc,
        .type_a = GT_CUDA_64F, .type_b = GT_CUDA_64F, .type_c = GT_CUDA_64F, .compute = GT_CUBLAS_COMPUTE_64F,
        .batch = 1, .algorithm = GT_CUBLAS_ALGORITHM_DEFAULT,
    };
    if (gt_cublas_answer(&library, &call))
        return GT_CUBLAS_SUCCESS;
    FORWARD(cublasDgemm_v2, handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

FUNCTION(cublasDgemmStridedBatched, void *handle, int op_a, int op_b, INTEGER m, INTEGER n, INTEGER k,
         const double *alpha, const double *a, INTEGER lda, long long stride_a, const double *b, INTEGER ldb,
         long long stride_b, const double *beta, double *c, INTEGER ldc, long long stride_c, INTEGER batch)
{
    const gt_cublas_call call = {
        .symbol = NUMBER(cublasDgemmStridedBatched), .handle = handle, .op_a = op_a, .op_b = op_b, .m = m, .n = n, .k = k,
        .alpha = alpha, .a = a, .b = b, .beta = beta, .c = c, .lda = lda, .ldb = ldb, .ldc = ldc,
        .type_a = GT_CUDA_64F, .type_b = GT_CUDA_64F, .type_c = GT_CUDA_64F, .compute = GT_CUBLAS_COMPUTE_64F,
        .stride_a = stride_a, .stride_b = stride_b, .stride_c = stride_c, .batch = batch,
        .algorithm = GT_CUBLAS_ALGORITHM_DEFAULT,
    };
    if (gt_cublas_answer(&library, &call))
        return GT_CUBLAS_SUCCESS;
    FORWARD(cublasDgemmStridedBatched, handle, op_a, op_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c,
            ldc, stride_c, batch);
}

FUNCTION(cublasGemmEx, void *handle, int op_a, int op_b, INTEGER m, INTEGER n, INTEGER k, const void *alpha,
         const void *a, int type_a, INTEGER lda, const void *b, int type_b, INTEGER ldb, const void *beta, void *c,
         int type_c, INTEGER ldc, int compute, int algorithm)
{
    const gt_cublas_call call = {
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
    const gt_cublas_call call = {
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
