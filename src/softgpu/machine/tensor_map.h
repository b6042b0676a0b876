/* What the 128 opaque bytes of a CUtensorMap hold here: cuTensorMapEncodeTiled writes them, tensor copies read them. */
#ifndef SG_TENSOR_MAP_H
#define SG_TENSOR_MAP_H

#include <stdint.h>

#define SG_TENSOR_MAP_MAGIC 0x70616d726f736e76u /* changes with the struct */
#define SG_TENSOR_RANK      5

/* What the elements are: the numbers of CUtensorMapDataType. */
typedef enum sg_tensor_kind {
    SG_TENSOR_U8,
    SG_TENSOR_U16,
    SG_TENSOR_U32,
    SG_TENSOR_S32,
    SG_TENSOR_U64,
    SG_TENSOR_S64,
    SG_TENSOR_F16,
    SG_TENSOR_F32,
    SG_TENSOR_F64,
    SG_TENSOR_BF16,
    SG_TENSOR_F32_FTZ,
    SG_TENSOR_TF32,
    SG_TENSOR_TF32_FTZ,
    SG_TENSOR_KINDS
} sg_tensor_kind;

typedef struct sg_tensor_map {
    uint64_t magic;
    uint64_t address;
    uint64_t strides[SG_TENSOR_RANK - 1]; /* bytes from one element to the next in dimensions 1 and up */
    uint64_t sizes[SG_TENSOR_RANK];       /* elements, up to 2^32; 1 beyond the rank */
    uint16_t box[SG_TENSOR_RANK];         /* elements; 1 beyond the rank */
    uint8_t steps[SG_TENSOR_RANK];        /* element strides, 1 to 8 */
    uint8_t rank, element_bytes;
    uint8_t swizzle;  /* CUtensorMapSwizzle: 0 none, 1, 2, 3 for 32, 64, 128 bytes */
    uint8_t fill_nan; /* outside the tensor: zeros, or NaN */
    uint8_t kind;
    uint8_t reserved[16];
} sg_tensor_map;

_Static_assert(sizeof(sg_tensor_map) == 128, "the size of a CUtensorMap");

#endif
