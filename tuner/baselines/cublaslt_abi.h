/* What is needed of cublasLt.h, by hand: building must not ask for it. Values have been the same since cuBLAS 11,
 * or since they came; a test holds them against the header where that is there. */
#ifndef GT_CUBLASLT_ABI_H
#define GT_CUBLASLT_ABI_H

#include <stddef.h>
#include <stdint.h>

enum { GT_LT_SUCCESS = 0, GT_LT_NOT_SUPPORTED = 15 };           /* cublasStatus_t */
enum { GT_LT_N = 0, GT_LT_T = 1 };                              /* cublasOperation_t */
enum { GT_LT_32F = 0, GT_LT_16F = 2 };                          /* cudaDataType_t */
enum { GT_LT_COMPUTE_32F = 68 };                                /* cublasComputeType_t: strict, no TF32 */
enum { GT_LT_TRANSPOSE_A = 3, GT_LT_TRANSPOSE_B = 4, GT_LT_FAST_ACCUM = 25 }; /* cublasLtMatmulDescAttributes_t */
enum { GT_LT_BATCH = 5, GT_LT_STRIDE = 6 };                     /* cublasLtMatrixLayoutAttribute_t */
enum { GT_LT_WORKSPACE = 1 };                                   /* cublasLtMatmulPreferenceAttributes_t */

typedef struct gt_lt_algorithm {
    uint64_t opaque[8];
} gt_lt_algorithm;

/* One answer of the heuristics. */
typedef struct gt_lt_offer {
    gt_lt_algorithm algorithm;
    size_t workspace_bytes;
    int state; /* GT_LT_SUCCESS: this one can run */
    float waves;
    int reserved[4];
} gt_lt_offer;

#endif
