#include "far.h"

#include <math.h>
#include <stdlib.h>

#include "../random.h"
#include "compare.h"

/*
 * All operands of a product lie in one chunk of memory, which is mapped again and again, APART bytes from one place to
 * the next. Rows or matrices are that much further apart than they would be if packed, so that each is found at a place
 * of its own and in the chunk where it would be packed: there the host sees all of them, at the first place.
 *
 * APART is an odd number of chunks, and nothing is mapped between: what is left of an offset that was cut to 32 bits, in
 * elements or in bytes, leads to no place, or to another one's operands. FAR times that are 2^31 elements of any type.
 */
#define CHUNK         ((size_t)1 << 22)
#define OPERAND_BYTES ((size_t)1 << 20) /* from one operand to the next in the chunk */
#define APART         (257 * CHUNK)
#define FAR           16
#define BEFORE        (FAR * APART) /* addresses before the first place where nothing is either */

#define MATRICES 3 /* of an operand; where a block has tiles of several products, no more than so many, two more than those */
#define PRODUCTS_MOST 14
#define ROWS 6 /* of one: a copy of four at once goes on to the next four */
#define WIDE 19 /* elements of a row that may be long: vectors and their rest */
#define DEEP_ROWS 16 /* that have enough elements along K to be far apart themselves */

/* Of rows that are tiles and steps of K apart: a side of so many lines is met, and some more beyond the first tile, step
 * or square of a copy. */
#define LINES_LEAST 64
#define LINES_MOST  256
#define MORE        3

/* Places that there are in any case, and of rows so many along K that a block begins again. */
#define PLACES     260
#define TURNS_MOST 1024
_Static_assert(PLACES >= LINES_MOST + MORE && PLACES > (DEEP_ROWS - 1) * FAR &&
               PLACES > (MATRICES - 1 + PRODUCTS_MOST - 1) * FAR, "every row, and every matrix, has a place");

/* Powers of two that elements are apart: too many for two parts, and for three. */
#define UNEVEN_POWERS 48
#define DEEP_POWERS   120

/* One product, as the host and as the device sees it. */
typedef struct gt_far_product {
    gt_case packed;
    gt_problem far;
    char *data[GT_OPERANDS];
    char *after; /* C as it came back */
} product;

static void drop_products(gt_far *far)
{
    for (size_t i = 0; i < far->count; i++) {
        for (gt_operand o = GT_A; o < GT_OPERANDS; o++)
            free(far->products[i].data[o]);
        free(far->products[i].after);
    }
    free(far->products);
    far->products = NULL;
    far->count = 0;
}

/* Frees the memory on the device. */
static void unmap(const gt_driver *driver, gt_far *far)
{
    for (int i = 0; i < far->mapped; i++)
        driver->cuMemUnmap(far->first + (CUdeviceptr)i * APART, CHUNK);
    if (far->first)
        driver->cuMemRelease(far->memory);
    if (far->reserved)
        driver->cuMemAddressFree(far->reserved, far->bytes);
    far->reserved = far->first = 0;
    far->mapped = 0;
}

/* Makes the memory; quick where it is there already. */
static CUresult prepare(const gt_driver *driver, gt_far *far, int places)
{
    CUmemAllocationProp property = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    size_t granule = 1;
    if (far->mapped >= places)
        return CUDA_SUCCESS;
    unmap(driver, far);
    far->bytes = BEFORE + (size_t)(places - 1) * APART + CHUNK;
    CUresult result = driver->cuCtxGetDevice(&property.location.id);
    if (result == CUDA_SUCCESS)
        result = driver->cuMemGetAllocationGranularity(&granule, &property, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    if (result == CUDA_SUCCESS && CHUNK % granule != 0)
        result = CUDA_ERROR_NOT_SUPPORTED;
    if (result == CUDA_SUCCESS)
        result = driver->cuMemAddressReserve(&far->reserved, far->bytes, 0, 0, 0);
    if (result == CUDA_SUCCESS && (result = driver->cuMemCreate(&far->memory, CHUNK, &property, 0)) == CUDA_SUCCESS)
        far->first = far->reserved + BEFORE;
    const CUmemAccessDesc access = {.location = property.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    for (int i = 0; i < places && result == CUDA_SUCCESS; i++) {
        const CUdeviceptr at = far->first + (CUdeviceptr)i * APART;
        if ((result = driver->cuMemMap(at, CHUNK, 0, far->memory, 0)) != CUDA_SUCCESS)
            break;
        far->mapped++;
        result = driver->cuMemSetAccess(at, CHUNK, &access, 1);
    }
    if (result != CUDA_SUCCESS)
        unmap(driver, far);
    return result;
}

static CUdeviceptr operand_at(const gt_far *far, const gt_class *class, gt_operand operand)
{
    const gt_type types[GT_OPERANDS] = {class->type_a, class->type_b, class->type_c};
    return far->first + (CUdeviceptr)operand * OPERAND_BYTES + (CUdeviceptr)gt_class_pointer(class, types[operand]);
}

/* Where the host sees results: in C, or behind all operands. */
static CUdeviceptr results_at(const gt_far *far, const gt_class *class, const gt_case *packed)
{
    return operand_at(far, class, GT_C) + (packed->beside ? OPERAND_BYTES : 0);
}

/* What lies far apart. */
typedef enum apart {
    APART_ROWS,   /* rows of a few elements, ROWS of them */
    APART_LINES,  /* rows that less lies between: so many that the second tile and step of K are far away */
    APART_WHOLE,  /* the same of whole tiles, C not read: kernels have a way of their own for these */
    APART_TURNS,  /* a few rows of C, and so many along K that a block's threads begin again */
    APART_UNEVEN, /* rows where operands may be in parts, of elements that are too far apart for two of them */
    APART_DEEP,   /* and for three */
    APART_DEEP_ROWS, /* the same of a few rows that lie further apart, 2^31 elements from one to the next */
    APART_MATRICES, /* small matrices */
    APART_UNEVEN_MATRICES,
    APART_DEEP_MATRICES,
    APART_TILES, /* matrices of a whole tile, C not read */
    APART_FINISHED_ROWS, /* rows and matrices whose results have an epilogue, where kernels have one */
    APART_FINISHED_MATRICES,
    APART_RESULTS, /* rows whose results go to a matrix of their own, far from C */
    APART_KINDS,
} apart;

static const struct {
    bool near, matrices;
    int powers; /* of two, over which elements are spread where operands may be in parts; 0: they are not */
    gt_epilogue epilogue;
    bool beside;
} kinds[APART_KINDS] = {
    [APART_LINES] = {.near = true},
    [APART_WHOLE] = {.near = true},
    [APART_TURNS] = {.near = true},
    [APART_UNEVEN] = {.near = true, .powers = UNEVEN_POWERS},
    [APART_DEEP] = {.near = true, .powers = DEEP_POWERS},
    [APART_DEEP_ROWS] = {.powers = DEEP_POWERS},
    [APART_MATRICES] = {.matrices = true},
    [APART_UNEVEN_MATRICES] = {.matrices = true, .powers = UNEVEN_POWERS},
    [APART_DEEP_MATRICES] = {.matrices = true, .powers = DEEP_POWERS},
    [APART_TILES] = {.matrices = true},
    [APART_FINISHED_ROWS] = {.epilogue = GT_EPILOGUE_RELU},
    [APART_FINISHED_MATRICES] = {.matrices = true, .epilogue = GT_EPILOGUE_RELU},
    [APART_RESULTS] = {.beside = true},
};

/* Rows of a side, as many as a tile or step has and some more. */
static int64_t lines_beyond(int64_t tile)
{
    return (tile < LINES_LEAST ? LINES_LEAST : tile < LINES_MOST ? tile : LINES_MOST) + MORE;
}

/* Whether an operand has a row for each step of K. */
static bool is_k_down(const gt_class *class)
{
    return class->op_b == GT_N || class->op_a == GT_T;
}

/* Steps of K with which every part of it begins again, if operands have rows along it. */
static int64_t turns_of(const gt_class *class, const gt_kernel *kernel)
{
    return is_k_down(class) ? gt_cases_turn(kernel) * kernel->facts.split_k : 0;
}

/* A side along which no operand has rows is as long as vectors and their rest need. Blocks that are dealt steps of K have
 * two in a row only where there are more of these than blocks: four tiles, of a long K, where that is enough. */
static void choose_sizes(const gt_class *class, const gt_kernel *kernel, apart kind, int64_t size[3])
{
    const bool n_down = class->op_b == GT_T, k_down = is_k_down(class);
    const gt_facts *f = &kernel->facts;
    const int64_t step = gt_cases_step(kernel);
    const bool dealt = gt_facts_stream_k(f) && 4 * (LINES_MOST / step) > f->blocks;
    const int64_t lines[] = {lines_beyond(f->tile_m), n_down || dealt ? lines_beyond(f->tile_n) : WIDE,
                             k_down ? lines_beyond(dealt ? LINES_MOST : step) : WIDE};
    const int64_t sizes[][3] = {
        [APART_ROWS] = {ROWS, n_down ? ROWS : WIDE, k_down ? ROWS : WIDE},
        [APART_LINES] = {lines[0], lines[1], lines[2]},
        [APART_WHOLE] = {lines[0], f->tile_n < LINES_MOST ? f->tile_n : LINES_MOST, WIDE},
        [APART_TURNS] = {ROWS, n_down ? ROWS : WIDE, turns_of(class, kernel) + MORE},
        [APART_UNEVEN] = {lines[0], lines[1], lines[2]},
        [APART_DEEP] = {lines[0], lines[1], lines[2]},
        [APART_DEEP_ROWS] = {ROWS, n_down ? ROWS : WIDE, k_down ? DEEP_ROWS : 2 * DEEP_ROWS},
        [APART_MATRICES] = {5, 6, 7},
        [APART_UNEVEN_MATRICES] = {5, 6, 40},
        [APART_DEEP_MATRICES] = {5, 6, 40},
        [APART_TILES] = {f->tile_m, f->tile_n, 16},
        [APART_FINISHED_ROWS] = {ROWS, n_down ? ROWS : WIDE, k_down ? ROWS : WIDE},
        [APART_FINISHED_MATRICES] = {5, 6, 7},
        [APART_RESULTS] = {ROWS, n_down ? ROWS : WIDE, k_down ? ROWS : WIDE},
    };
    for (int i = 0; i < 3; i++)
        size[i] = sizes[kind][i];
}

/* Elements from row to row of an operand: those of a row, aligned as the class is and no better. */
static int64_t aligned_ld(const gt_class *class, const gt_problem *packed, gt_operand operand)
{
    const gt_stored o = gt_problem_stored(packed, operand);
    const int bytes = gt_type_find(o.type)->bytes;
    const int64_t unit = class->align > bytes ? class->align / bytes : 1;
    return ((o.columns + unit - 1) / unit | 1) * unit;
}

/* Matrices of a kind: more than a block has, so that the next one's lie far away. */
static int64_t matrices_of(const gt_kernel *kernel, apart kind)
{
    const int64_t shared = kind == APART_TILES || kernel->facts.products > PRODUCTS_MOST ? 1 : kernel->facts.products;
    return kinds[kind].matrices ? MATRICES - 1 + shared : 1;
}

/* Both views of a product: packed, and with places between its rows or matrices. */
static gt_status place_product(const gt_class *class, const int64_t size[3], apart kind, int64_t batch, product *p)
{
    const bool matrices = kinds[kind].matrices;
    const size_t more = (kinds[kind].near ? 1 : FAR) * APART;
    gt_gemm gemm = gt_class_gemm(class, size[0], size[1], size[2]);
    struct {
        int64_t *ld, *stride;
    } const fields[GT_OPERANDS] = {
        {&gemm.lda, &gemm.stride_a}, {&gemm.ldb, &gemm.stride_b}, {&gemm.ldc, &gemm.stride_c}};
    gemm.batch = batch;
    gt_status status = gt_problem_init(&gemm, &p->packed.problem);
    if (status != GT_OK)
        return status;
    for (gt_operand o = GT_A; o < GT_OPERANDS; o++) {
        *fields[o].ld = aligned_ld(class, &p->packed.problem, o);
        *fields[o].stride = *fields[o].ld * gt_problem_stored(&p->packed.problem, o).rows;
    }
    if ((status = gt_problem_init(&gemm, &p->packed.problem)) != GT_OK)
        return status;
    for (gt_operand o = GT_A; o < GT_OPERANDS; o++) {
        const gt_stored stored = gt_problem_stored(&p->packed.problem, o);
        const int64_t between = (int64_t)(more / (size_t)gt_type_find(stored.type)->bytes);
        *fields[o].ld += matrices ? 0 : between;
        *fields[o].stride += matrices ? between : 0;
    }
    if (!matrices)
        gemm.stride_a = gemm.stride_b = gemm.stride_c = 0;
    return gt_problem_init(&gemm, &p->far);
}

static gt_status make_product(const gt_class *class, const gt_kernel *kernel, apart kind, uint64_t seed, product *p)
{
    int64_t size[3];
    choose_sizes(class, kernel, kind, size);
    const gt_status status = place_product(class, size, kind, matrices_of(kernel, kind), p);
    if (status != GT_OK)
        return status;
    const bool exact = gt_class_types(class)->exact;
    const int powers = kinds[kind].powers;
    p->packed.values = powers > 0 ? GT_VALUES_UNEVEN : GT_VALUES_NORMAL;
    p->packed.epilogue = kinds[kind].epilogue;
    p->packed.beside = kinds[kind].beside;
    p->packed.alpha = exact ? -3 : -1.25;
    p->packed.beta = kind == APART_WHOLE || kind == APART_TILES ? 0 : exact ? -3 : 0.75;
    for (gt_operand o = GT_A; o < GT_OPERANDS; o++) {
        const gt_type_info *type = gt_type_find(gt_problem_stored(&p->packed.problem, o).type);
        const size_t bytes = gt_problem_bytes(&p->packed.problem, o);
        if (!(p->data[o] = malloc(bytes)))
            return gt_fail_memory();
        for (int64_t i = 0; i < (int64_t)bytes / type->bytes; i++) {
            const uint64_t bits = gt_random_bits(seed + o, (uint64_t)i);
            type->draw(p->data[o], i, bits);
            if (powers > 0 && o != GT_C)
                type->store(p->data[o], i, ldexp(type->load(p->data[o], i), -(int)(bits % (uint64_t)powers)));
        }
    }
    p->after = malloc(gt_problem_bytes(&p->packed.problem, GT_C));
    return p->after ? GT_OK : gt_fail_memory();
}

/* Bytes from one row or matrix of C to the next. */
static int64_t away(const product *p)
{
    return (p->far.batch > 1 ? p->far.stride_c : p->far.ldc) * gt_type_find(p->far.class.type_c)->bytes;
}

static bool run_product(const gt_far *far, const gt_checks *checks, const gt_class *class, const product *p,
                        gt_runner *runner, gt_trial *trial)
{
    const gt_driver *driver = checks->driver;
    const gt_types *types = gt_class_types(class);
    CUdeviceptr at[GT_OPERANDS];
    CUresult result = CUDA_SUCCESS;
    for (gt_operand o = GT_A; o < GT_OPERANDS && result == CUDA_SUCCESS; o++) {
        at[o] = operand_at(far, class, o);
        result = driver->cuMemcpyHtoD(at[o], p->data[o], gt_problem_bytes(&p->packed.problem, o));
    }
    const CUdeviceptr results = results_at(far, class, &p->packed);
    if (result == CUDA_SUCCESS && p->packed.beside)
        result = driver->cuMemcpyHtoD(results, p->data[GT_C], gt_problem_bytes(&p->packed.problem, GT_C));
    if (!gt_trial_check(trial, driver, result, "uploading operands that lie far apart") ||
        !runner->prepare(runner, &p->far, trial))
        return false;
    const gt_launch_operands operands = {.a = (void *)at[GT_A], .b = (void *)at[GT_B], .c = (void *)at[GT_C],
                                         .d = p->packed.beside ? (void *)(results + FAR * APART) : NULL,
                                         .epilogue = p->packed.epilogue,
                                         .alpha = gt_scalar_make(types, p->packed.alpha),
                                         .beta = gt_scalar_make(types, p->packed.beta)};
    result = runner->launch(runner, &operands);
    if (result == CUDA_SUCCESS)
        result = driver->cuStreamSynchronize(checks->stream);
    if (result == CUDA_SUCCESS)
        result = driver->cuMemcpyDtoH(p->after, results, gt_problem_bytes(&p->packed.problem, GT_C));
    return gt_trial_check(trial, driver, result, "running (rows or matrices far apart)");
}

static bool judge_product(const product *p, gt_trial *trial)
{
    gt_reference reference;
    gt_errors errors = {0};
    if (gt_reference_init(&p->packed.problem, p->data[GT_A], p->data[GT_B], &reference) != GT_OK)
        return gt_trial_fail(trial, GT_TRIAL_NOT_TRIED, "%s", gt_error_message());
    bool good = true;
    for (int64_t i = 0; good && i < p->far.batch; i++)
        good = gt_compare_product(&p->packed, &reference, i, p->data[GT_C], NULL, p->after, &errors, trial);
    gt_reference_finish(&reference);
    if (!good)
        gt_trial_add(trial, ", %s 2^%d bytes apart", p->far.batch > 1 ? "matrices" : "rows", ilogb((double)away(p)));
    return good;
}

/* Places that a product's rows or matrices have. */
static int places_of(const product *p)
{
    size_t most = 0;
    for (gt_operand o = GT_A; o < GT_OPERANDS; o++) {
        const size_t bytes = gt_problem_bytes(&p->far, o);
        most = bytes > most ? bytes : most;
    }
    return (int)(most / APART) + 1 + (p->packed.beside ? FAR : 0);
}

/* Whether the operands of a product lie beside each other in the chunk, and all its rows at places. */
static bool fits(const gt_far *far, const product *p)
{
    bool all = places_of(p) <= far->mapped;
    for (gt_operand o = GT_A; o < GT_OPERANDS; o++)
        all &= gt_problem_bytes(&p->packed.problem, o) + 16 <= OPERAND_BYTES;
    return all;
}

/* Whether a kernel is to run a product of a kind. What a tile's lines show needs no more turns. */
static bool is_wanted(const gt_class *class, const gt_kernel *kernel, apart kind)
{
    const int64_t turns = turns_of(class, kernel);
    if (kind == APART_TURNS)
        return turns > LINES_LEAST && turns <= TURNS_MOST;
    return (kinds[kind].powers == 0 || gt_class_types(class)->parts > 0) &&
           ((!kinds[kind].epilogue && !kinds[kind].beside) || kernel->facts.epilogue);
}

gt_status gt_far_draw(gt_far *far, const gt_class *class, const gt_kernel *kernel, uint64_t seed)
{
    gt_status status = GT_OK;
    drop_products(far);
    far->wanted = PLACES;
    if (!(far->products = calloc(APART_KINDS, sizeof *far->products)))
        return gt_fail_memory();
    for (apart kind = APART_ROWS; status == GT_OK && kind < APART_KINDS; kind++)
        if (is_wanted(class, kernel, kind)) {
            product *made = &far->products[far->count++];
            status = make_product(class, kernel, kind, seed + 16 * (uint64_t)kind, made);
            if (status == GT_OK && places_of(made) > far->wanted)
                far->wanted = places_of(made);
        }
    return status;
}

bool gt_far_run(gt_far *far, const gt_checks *checks, const gt_class *class, gt_runner *runner, gt_trial *trial)
{
    bool good = true;
    if (prepare(checks->driver, far, far->wanted) != CUDA_SUCCESS && prepare(checks->driver, far, PLACES) != CUDA_SUCCESS)
        return true;
    for (size_t i = 0; good && i < far->count; i++)
        good = !fits(far, &far->products[i]) || run_product(far, checks, class, &far->products[i], runner, trial);
    return good;
}

bool gt_far_judge(const gt_far *far, gt_trial *trial)
{
    bool good = true;
    for (size_t i = 0; good && far->mapped > 0 && i < far->count; i++)
        good = !fits(far, &far->products[i]) || judge_product(&far->products[i], trial);
    return good;
}
