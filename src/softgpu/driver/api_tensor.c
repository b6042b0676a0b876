/* Tensor maps: what a tensor copy is told about the tensor in global memory and the box it brings. */
#include <string.h>

#include "../machine/tensor_map.h"
#include "state.h"

#define BASE_ALIGNMENT 16
#define SIZE_MOST      ((uint64_t)1 << 32)
#define STRIDE_END     ((uint64_t)1 << 40)
#define BOX_MOST       256
#define STEP_MOST      8

_Static_assert(sizeof(sg_tensor_map) == sizeof(CUtensorMap), "one is kept in the other");

/* By kind: bytes, and whether there is a NaN. Packed elements of 4 and 6 bits need a newer device. */
static const struct {
    uint8_t bytes;
    bool is_float;
} elements[SG_TENSOR_KINDS] = {
    [SG_TENSOR_U8] = {1, false},      [SG_TENSOR_U16] = {2, false}, [SG_TENSOR_U32] = {4, false},
    [SG_TENSOR_S32] = {4, false},     [SG_TENSOR_U64] = {8, false}, [SG_TENSOR_S64] = {8, false},
    [SG_TENSOR_F16] = {2, true},      [SG_TENSOR_F32] = {4, true},  [SG_TENSOR_F64] = {8, true},
    [SG_TENSOR_BF16] = {2, true},     [SG_TENSOR_F32_FTZ] = {4, true}, [SG_TENSOR_TF32] = {4, true},
    [SG_TENSOR_TF32_FTZ] = {4, true},
};

_Static_assert((int)SG_TENSOR_U16 == CU_TENSOR_MAP_DATA_TYPE_UINT16 &&
                   (int)SG_TENSOR_BF16 == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 &&
                   (int)SG_TENSOR_TF32_FTZ == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ,
               "kinds are numbered as the driver numbers them");

/* The bytes of a line within which a swizzle moves sixteens; what is not listed needs a newer device. */
static const uint32_t spans[] = {
    [CU_TENSOR_MAP_SWIZZLE_NONE] = BOX_MOST * 8, [CU_TENSOR_MAP_SWIZZLE_32B] = 32,
    [CU_TENSOR_MAP_SWIZZLE_64B] = 64,            [CU_TENSOR_MAP_SWIZZLE_128B] = 128,
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static bool is_aligned(const void *address, uintptr_t alignment)
{
    return ((uintptr_t)address & (alignment - 1)) == 0;
}

/* The modes, as far as they do not depend on the tensor. */
static CUresult check_modes(CUtensorMapDataType type, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                            CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
    const bool fills = fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
    if ((size_t)type >= COUNT(elements) || (size_t)swizzle >= COUNT(spans) ||
        (unsigned)interleave > CU_TENSOR_MAP_INTERLEAVE_32B ||
        (unsigned)promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B ||
        (fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE && !fills) || (fills && !elements[type].is_float))
        return CUDA_ERROR_INVALID_VALUE;
    return interleave == CU_TENSOR_MAP_INTERLEAVE_NONE ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

/* One dimension into the map; false if it breaks a rule. Without interleaving the innermost step counts for nothing. */
static bool put_dimension(sg_tensor_map *map, uint32_t d, uint64_t size, uint32_t box, uint32_t step)
{
    if (size < 1 || size > SIZE_MOST || box < 1 || box > BOX_MOST || step < 1 || step > STEP_MOST)
        return false;
    map->sizes[d] = size;
    map->box[d] = (uint16_t)box;
    map->steps[d] = d ? (uint8_t)step : 1;
    return true;
}

static bool put_stride(sg_tensor_map *map, uint32_t d, uint64_t stride)
{
    map->strides[d] = stride;
    return stride % BASE_ALIGNMENT == 0 && stride < STRIDE_END;
}

CUresult CUDAAPI cuTensorMapEncodeTiled(CUtensorMap *result_map, CUtensorMapDataType type, cuuint32_t rank,
                                        void *address, const cuuint64_t *sizes, const cuuint64_t *strides,
                                        const cuuint32_t *box, const cuuint32_t *steps,
                                        CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                        CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
    sg_tensor_map map = {.magic = SG_TENSOR_MAP_MAGIC, .address = (uintptr_t)address, .rank = (uint8_t)rank};
    CUresult result = sg_enter(SG_NEEDS_CONTEXT);
    if (result == CUDA_SUCCESS && sg.profile->cc < 90)
        result = CUDA_ERROR_NOT_SUPPORTED;
    if (result == CUDA_SUCCESS &&
        (!result_map || !is_aligned(address, BASE_ALIGNMENT) || rank < 1 ||
         rank > SG_TENSOR_RANK || !sizes || (rank > 1 && !strides) || !box || !steps))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = check_modes(type, interleave, swizzle, promotion, fill);
    if (result != CUDA_SUCCESS)
        return sg_leave(result);
    bool right = true;
    for (uint32_t d = 0; d < SG_TENSOR_RANK; d++) {
        const bool used = d < rank;
        right &= put_dimension(&map, d, used ? sizes[d] : 1, used ? box[d] : 1, used ? steps[d] : 1);
        right &= !used || d == 0 || put_stride(&map, d - 1, strides[d - 1]);
    }
    const uint32_t line = map.box[0] * elements[type].bytes;
    if (!right || line % 16 || line > spans[swizzle])
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    map.element_bytes = elements[type].bytes;
    map.swizzle = (uint8_t)swizzle;
    map.fill_nan = fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
    map.kind = (uint8_t)type;
    memcpy(result_map, &map, sizeof map);
    return sg_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuTensorMapReplaceAddress(CUtensorMap *tensor_map, void *address)
{
    sg_tensor_map map;
    CUresult result = sg_enter(SG_NEEDS_CONTEXT);
    if (result == CUDA_SUCCESS && sg.profile->cc < 90)
        result = CUDA_ERROR_NOT_SUPPORTED;
    if (result == CUDA_SUCCESS &&
        (!tensor_map || !is_aligned(address, BASE_ALIGNMENT)))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return sg_leave(result);
    memcpy(&map, tensor_map, sizeof map);
    if (map.magic != SG_TENSOR_MAP_MAGIC)
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    map.address = (uintptr_t)address;
    memcpy(tensor_map, &map, sizeof map);
    return sg_leave(CUDA_SUCCESS);
}
