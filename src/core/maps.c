#include "maps.h"

/* What addresses and strides are a multiple of, elements along a side, bytes of a stride. */
#define MAP_ALIGN  16
#define MAP_SIDE   ((int64_t)1 << 32)
#define MAP_STRIDE ((int64_t)1 << 40)

static int64_t round_up(int64_t bytes, int64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* Describes one operand as it is stored. A map has no empty side, and a side of one has any stride: an operand that is
 * not read (alpha = 0, k = 0) is described as if it were one element. */
static gt_status describe(const char *name, gt_type type, int64_t rows, int64_t columns, int64_t ld, int64_t stride,
                          int64_t batch, const int64_t box[2], int64_t swizzle, gt_map *map)
{
    const gt_type_info *info = gt_type_find(type);
    rows = rows > 0 ? rows : 1;
    columns = columns > 0 ? columns : 1;
    if (rows > MAP_SIDE || columns > MAP_SIDE || batch > MAP_SIDE || ld >= MAP_STRIDE / info->bytes ||
        (batch > 1 && stride >= MAP_STRIDE / info->bytes))
        return gt_fail(GT_ERROR_INVALID,
                       "%s is larger than a tensor map describes: sides up to 2^32, strides below 2^40 bytes", name);
    const int64_t row = rows > 1 ? ld * info->bytes : round_up(columns * info->bytes, MAP_ALIGN);
    const int64_t matrix = batch > 1                 ? stride * info->bytes
                           : rows < MAP_STRIDE / row ? rows * row
                                                     : MAP_STRIDE - MAP_ALIGN;
    *map = (gt_map){
        .type = (CUtensorMapDataType)info->tensor_map,
        .swizzle = (CUtensorMapSwizzle)swizzle,
        .size = {(cuuint64_t)columns, (cuuint64_t)rows, (cuuint64_t)batch},
        .stride = {(cuuint64_t)row, (cuuint64_t)matrix},
        .box = {(cuuint32_t)box[1], (cuuint32_t)box[0], 1},
    };
    return GT_OK;
}

gt_status gt_maps_init(const gt_facts *f, const gt_problem *p, gt_maps *out)
{
    const gt_class *class = &p->class;
    const bool a_transposed = class->op_a == GT_T, b_transposed = class->op_b == GT_T;
    const struct {
        const char *name;
        gt_type type;
        int64_t rows, columns, ld, stride, box[2], swizzle;
    } operands[] = {
        {"A", class->type_ab, a_transposed ? p->k : p->m, a_transposed ? p->m : p->k, p->lda,
                          p->stride_a, {f->box_a_rows, f->box_a_columns}, f->swizzle_ab},
        {"B", class->type_ab, b_transposed ? p->n : p->k, b_transposed ? p->k : p->n, p->ldb,
                          p->stride_b, {f->box_b_rows, f->box_b_columns}, f->swizzle_ab},
        {"C", class->type_c, p->m, p->n, p->ldc, p->stride_c, {f->box_c_rows, f->box_c_columns},
                          f->swizzle_c},
    };
    gt_maps maps = {0};
    for (int i = 0; i < GT_MAPS; i++) {
        gt_map *map = &maps.list[maps.count];
        if (operands[i].box[0] == 0 || operands[i].box[1] == 0)
            continue;
        if (class->align < MAP_ALIGN)
            return gt_fail(GT_ERROR_INVALID, "a tensor map needs pointers and rows aligned to %d bytes, not %d",
                           MAP_ALIGN, class->align);
        const gt_status status =
            describe(operands[i].name, operands[i].type, operands[i].rows, operands[i].columns, operands[i].ld,
                     operands[i].stride, p->batch, operands[i].box, operands[i].swizzle, map);
        if (status != GT_OK)
            return status;
        map->operand = i;
        map->promotion = (CUtensorMapL2promotion)f->map_promotion;
        maps.count++;
    }
    *out = maps;
    return GT_OK;
}

/* A map's address must be memory, also where nothing of it is read: an operand that is not given takes C's. */
CUresult gt_maps_encode(const gt_driver *driver, const gt_maps *maps, const void *const addresses[GT_MAPS],
                        CUtensorMap *encoded)
{
    static const cuuint32_t every[3] = {1, 1, 1};
    CUresult result = CUDA_SUCCESS;
    for (int i = 0; i < maps->count && result == CUDA_SUCCESS; i++) {
        const gt_map *m = &maps->list[i];
        const void *address = addresses[m->operand] ? addresses[m->operand] : addresses[GT_MAPS - 1];
        result = driver->cuTensorMapEncodeTiled(&encoded[i], m->type, 3, (void *)address, m->size, m->stride, m->box,
                                                every, CU_TENSOR_MAP_INTERLEAVE_NONE, m->swizzle, m->promotion,
                                                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    }
    return result;
}
