#include "maps.h"

/* What addresses and strides are a multiple of, elements along a side (a coordinate has a sign), bytes of a stride. */
#define MAP_ALIGN  16
#define MAP_SIDE   ((int64_t)1 << 31)
#define MAP_STRIDE ((int64_t)1 << 40)

#define BY_LINE 4 /* for a swizzle: what the length of lines makes it */

/* The swizzle of boxes whose lines have so many elements. */
static gt_status find_swizzle(int64_t swizzle, int64_t columns, gt_type type, CUtensorMapSwizzle *out)
{
    const int64_t line = columns * gt_type_find(type)->bytes;
    *out = (CUtensorMapSwizzle)swizzle;
    if (swizzle != BY_LINE)
        return GT_OK;
    for (int i = 0; i < BY_LINE; i++)
        if (line == MAP_ALIGN << i) {
            *out = (CUtensorMapSwizzle)i;
            return GT_OK;
        }
    return gt_fail(GT_ERROR_INVALID, "no swizzle has lines of %lld bytes", (long long)line);
}

/* Describes one operand as it is stored. A map has no empty side, and a side of one has any stride: an operand without
 * elements (k = 0), whose leading dimension may be any number, is described as if it were one element. */
static gt_status describe(const gt_problem *p, gt_operand operand, gt_stored o, const int64_t box[2], int64_t swizzle,
                          gt_map *map)
{
    const gt_type_info *info = gt_type_find(o.type);
    const gt_rounded *rounded = operand == GT_C ? NULL : gt_class_types(&p->class)->rounded;
    const bool empty = o.rows == 0 || o.columns == 0;
    const int64_t rows = empty ? 1 : o.rows, columns = empty ? 1 : o.columns, batch = empty ? 1 : p->batch;
    if (rows > MAP_SIDE || columns > MAP_SIDE || batch > MAP_SIDE ||
        (rows > 1 && o.ld >= MAP_STRIDE / info->bytes) || (batch > 1 && o.stride >= MAP_STRIDE / info->bytes))
        return gt_fail(GT_ERROR_INVALID,
                       "%c is larger than a tensor map describes: sides up to 2^31, strides below 2^40 bytes",
                       "ABC"[operand]);
    CUtensorMapSwizzle swizzled;
    const gt_status status = find_swizzle(swizzle, box[1], o.type, &swizzled);
    if (status != GT_OK)
        return status;
    const int64_t row = rows > 1 ? o.ld * info->bytes : (columns * info->bytes + MAP_ALIGN - 1) / MAP_ALIGN * MAP_ALIGN;
    const int64_t matrix = batch > 1                 ? o.stride * info->bytes
                           : rows < MAP_STRIDE / row ? rows * row
                                                     : MAP_STRIDE - MAP_ALIGN;
    *map = (gt_map){
        .operand = operand,
        .type = (CUtensorMapDataType)(rounded ? rounded->tensor_map : info->tensor_map),
        .swizzle = swizzled,
        .size = {(cuuint64_t)columns, (cuuint64_t)rows, (cuuint64_t)batch},
        .stride = {(cuuint64_t)row, (cuuint64_t)matrix},
        .box = {(cuuint32_t)box[1], (cuuint32_t)box[0], 1},
    };
    return GT_OK;
}

static bool has_aligned_rows(const gt_problem *p, const gt_stored *o)
{
    const int64_t bytes = gt_type_find(o->type)->bytes;
    return (o->rows <= 1 || o->ld * bytes % MAP_ALIGN == 0) && (p->batch <= 1 || o->stride * bytes % MAP_ALIGN == 0);
}

gt_status gt_maps_init(const gt_facts *f, const gt_problem *p, const gt_copies *copies, gt_maps *out)
{
    const struct {
        int64_t box[2], swizzle;
    } asked[GT_OPERANDS] = {
        {{f->box_a_rows, f->box_a_columns}, f->swizzle_ab},
        {{f->box_b_rows, f->box_b_columns}, f->swizzle_ab},
        {{f->box_c_rows, f->box_c_columns}, f->swizzle_c},
    };
    gt_maps maps = {0};
    for (gt_operand i = GT_A; i < GT_OPERANDS; i++) {
        gt_map *map = &maps.list[maps.count];
        if (asked[i].box[0] == 0 || asked[i].box[1] == 0)
            continue;
        if (!copies->copied[i] && p->class.align < MAP_ALIGN)
            return gt_fail(GT_ERROR_INVALID, "a tensor map needs pointers and rows aligned to %d bytes, not %d",
                           MAP_ALIGN, p->class.align);
        const gt_stored o = copies->copied[i] ? copies->copy[i] : gt_problem_stored(p, i);
        const gt_status status = describe(p, i, o, asked[i].box, asked[i].swizzle, map);
        if (status != GT_OK)
            return status;
        map->promotion = (CUtensorMapL2promotion)f->map_promotion;
        maps.count++;
        const gt_stored stored = gt_problem_stored(p, i);
        maps.readable[i] = copies->lines_stay[i] && has_aligned_rows(p, &stored) &&
                           describe(p, i, stored, asked[i].box, asked[i].swizzle, &maps.stored[i]) == GT_OK;
        maps.stored[i].promotion = map->promotion;
    }
    *out = maps;
    return GT_OK;
}

bool gt_maps_read_stored(const gt_maps *maps, gt_operand operand, const void *address)
{
    return maps->readable[operand] && address && (uintptr_t)address % MAP_ALIGN == 0;
}

/* A map's address must be memory and aligned, also where nothing of it is read: an operand that is not given takes one
 * near C's. */
CUresult gt_maps_encode(const gt_driver *driver, const gt_maps *maps, const void *const addresses[GT_OPERANDS],
                        const bool stored[GT_OPERANDS], CUtensorMap *encoded)
{
    static const cuuint32_t every[3] = {1, 1, 1};
    CUresult result = CUDA_SUCCESS;
    for (int i = 0; i < maps->count && result == CUDA_SUCCESS; i++) {
        const gt_operand operand = maps->list[i].operand;
        const gt_map *m = stored[operand] ? &maps->stored[operand] : &maps->list[i];
        const uintptr_t near_c = (uintptr_t)addresses[GT_C] / MAP_ALIGN * MAP_ALIGN;
        const void *address = addresses[operand] ? addresses[operand] : (const void *)near_c;
        result = driver->cuTensorMapEncodeTiled(&encoded[i], m->type, 3, (void *)address, m->size, m->stride, m->box,
                                                every, CU_TENSOR_MAP_INTERLEAVE_NONE, m->swizzle, m->promotion,
                                                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    }
    return result;
}
