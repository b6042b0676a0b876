/* The functions that are answered, by number: what calls are counted under. */
#ifndef GT_SYMBOLS_H
#define GT_SYMBOLS_H

#define GT_SYMBOL_LIST(X)                                                                                    \
    X(cublasSgemm_v2) X(cublasSgemm_v2_64) X(cublasSgemmStridedBatched) X(cublasSgemmStridedBatched_64)      \
    X(cublasDgemm_v2) X(cublasDgemm_v2_64) X(cublasDgemmStridedBatched) X(cublasDgemmStridedBatched_64)      \
    X(cublasHgemm) X(cublasHgemm_64) X(cublasHgemmStridedBatched) X(cublasHgemmStridedBatched_64)            \
    X(cublasGemmEx) X(cublasGemmEx_64) X(cublasGemmStridedBatchedEx) X(cublasGemmStridedBatchedEx_64)        \
    X(cublasLtMatmul)                                                                                        \
    X(sgemm_) X(scipy_sgemm_) X(sgemm_64_) X(scipy_sgemm_64_)                                                \
    X(dgemm_) X(scipy_dgemm_) X(dgemm_64_) X(scipy_dgemm_64_)                                                \
    X(cblas_sgemm) X(scipy_cblas_sgemm) X(cblas_sgemm64_) X(scipy_cblas_sgemm64_) X(cblas_sgemm_64)          \
    X(cblas_dgemm) X(scipy_cblas_dgemm) X(cblas_dgemm64_) X(scipy_cblas_dgemm64_) X(cblas_dgemm_64)

typedef enum gt_symbol {
#define X(name) GT_SYMBOL_##name,
    GT_SYMBOL_LIST(X)
#undef X
    GT_SYMBOL_COUNT,
} gt_symbol;

const char *gt_symbol_name(gt_symbol symbol);

#endif
