#include "cover.h"

#include "type_list.h"

/* How matrices lie in memory: sizes as in the table, or one, two or four less, so that rows are not aligned to 16 bytes. */
#define ALIGNED 1u
#define EVEN    2u /* sizes less two: rows are a multiple of two elements */
#define ODD     4u /* sizes less one */
#define FOURS   8u /* sizes less four, of 16-bit types */
#define BOTH    (ALIGNED | ODD)
#define ALL     (BOTH | EVEN | FOURS)

/* Sizes up to this one are never made smaller: they are what the row is about. */
#define KEPT 8

/* Sizes are multiples of 16, so that rows of any type are aligned, or of 8 or 4 in rows of larger types alone. Products with
 * vectors have two layouts, dot products one: see gt_problem_fold. The columns are what f32 takes of a row in every layout,
 * what types of tensor cores take, whose kernels for aligned rows are others than those for any: 16-bit ones, and any that is
 * named; and what the other usual types take among all. */
static const struct {
    int64_t m, n, k, batch;
    unsigned f32, half, usual;
} table[] = {
    {640, 512, 768, 1, BOTH | EVEN, ALL, BOTH},
    {2304, 2048, 1792, 1, BOTH, BOTH | FOURS, BOTH},
    {32, 3072, 3072, 1, BOTH, ALL, BOTH},
    {192, 192, 192, 1, BOTH | EVEN, BOTH | EVEN, BOTH},
    {3072, 2048, 64, 1, ODD, BOTH, BOTH}, /* short K */
    {96, 112, 16384, 1, ODD, BOTH, BOTH}, /* deep K */
    {1, 6144, 6144, 1, BOTH, BOTH, BOTH},
    {64, 64, 64, 2048, ALIGNED, BOTH, BOTH},
    {3072, 32, 3072, 1, BOTH, ALL, BOTH},
    {48, 48, 48, 1, BOTH, BOTH, ODD},
    {16, 16, 16, 16384, BOTH, BOTH, 0},
    {384, 384, 384, 24, ODD, BOTH, 0},
    {160, 32, 256, 96, BOTH, BOTH, 0},
    {4608, 4096, 3584, 1, 0, ALIGNED, 0}, /* the largest tiles of tensor cores */
    {8192, 1024, 1408, 1, 0, ALIGNED, 0},
    {2328, 2056, 1800, 1, 0, ALIGNED, 0}, /* rows begin within sectors: boxes take twice as long */
    {424, 2408, 1016, 1, 0, ALIGNED, 0},
    {24, 4104, 2392, 1, 0, ALIGNED, 0},
    {4104, 24, 2392, 1, 0, ALIGNED, 0},
    {64, 12288, 6144, 1, 0, ALIGNED, 0}, /* few rows, and more of the other operand than L2 holds */
    {12288, 64, 6144, 1, 0, ALIGNED, 0},
    {376, 792, 11152, 1, 0, ALIGNED, 0},
    {4456, 504, 2040, 1, 0, ALIGNED, 0}, /* as many tiles as clusters of eight have blocks */
    {8192, 320, 6144, 1, 0, ALIGNED, 0}, /* few columns, and K deep: each line of A is read by few tiles */
    {320, 8192, 6144, 1, 0, ALIGNED, 0},
    {32, 4096, 48, 1, 0, BOTH | EVEN, 0}, /* few rows and a short K */
    {4096, 24, 24, 1, 0, BOTH, 0},
    {4, 3072, 3072, 1, BOTH, BOTH, 0},
    {3072, 4, 3072, 1, BOTH, BOTH, 0},
    {8192, 8, 8, 1, ALIGNED, ALIGNED, 0}, /* nothing but C */
    {1, 768, 768, 1, BOTH, BOTH, 0},
    {1, 1, 131072, 1, BOTH, BOTH, 0},
    {1, 1, 2048, 1, ALIGNED, ALIGNED, 0},
    {1, 2800, 3600, 1, BOTH, BOTH, 0}, /* in L2, and no whole number of tiles for each SM */
    {1, 1536, 1280, 1, BOTH, EVEN, 0},
    {1, 9216, 1152, 1, BOTH, BOTH, 0},
    {1, 9212, 1148, 1, ALIGNED, 0, 0}, /* rows begin within sectors */
    {1, 12288, 48, 1, BOTH, BOTH, 0},
    {1, 48, 12288, 1, BOTH, BOTH, 0},
    {384, 320, 1, 1, ODD, ODD, 0}, /* outer products, of which hardly any have aligned rows */
    {1536, 768, 1, 1, ODD, BOTH, 0},
    {4096, 5120, 3, 1, ODD, ODD, 0},
    {8192, 4096, 80, 1, ODD, 0, 0}, /* K is short and C larger than L2, */
    {1024, 8192, 8, 1, ODD, BOTH, 0}, /* or C is not so large and K shorter, */
    {1304, 856, 8, 1, 0, ALIGNED, 0},
    {1536, 512, 48, 1, BOTH, BOTH, 0}, /* or C is small */
    {7680, 480, 24, 1, ODD, BOTH, 0},  /* or it has one side of some hundreds */
    {12288, 832, 80, 1, 0, ALIGNED, 0},
    {320, 12288, 96, 1, 0, ALIGNED, 0},
    {8192, 64, 160, 1, BOTH, BOTH, 0}, /* few rows or columns, by their number and by K */
    {64, 8192, 160, 1, BOTH, BOTH, 0},
    {6144, 64, 3072, 1, ALIGNED, ALIGNED, 0},
    {64, 6144, 3072, 1, ALIGNED, ALIGNED, 0},
    {2048, 16, 6144, 1, BOTH, BOTH, 0},
    {16, 2048, 6144, 1, ALIGNED, BOTH, 0},
    {8, 2048, 6144, 1, BOTH, 0, 0},
    {32, 16, 768, 1, BOTH, BOTH, 0},
    {64, 64, 1280, 1, ALIGNED, ALIGNED, 0},
    {1152, 1152, 352, 1, BOTH, BOTH, 0},
    {3072, 768, 192, 1, BOTH, ALIGNED, 0},
    {256, 4096, 1024, 1, ODD, BOTH, 0},
    {8192, 288, 1024, 1, ODD, ALIGNED, 0}, /* tiles of 96 and 192 leave less empty than those of powers of two */
    {288, 8192, 1024, 1, ODD, ALIGNED, 0},
    {2048, 640, 3072, 1, ODD, ALIGNED, 0}, /* deep K and few of the largest tiles */
    {112, 112, 112, 64, ODD, BOTH, 0},
    {40, 40, 40, 4096, BOTH, BOTH, 0},
    {24, 24, 24, 8192, ODD, 0, 0},
    {56, 24, 16, 4096, BOTH, ODD, 0},
    {32, 96, 8, 4096, ODD, 0, 0},
    {8, 2048, 160, 64, ALIGNED, ALIGNED, 0},
};

#define TABLE (sizeof table / sizeof table[0])

static const struct {
    unsigned rows;
    int64_t less;
} lies[] = {{ALIGNED, 0}, {ODD, 1}, {EVEN, 2}, {FOURS, 4}};

#define LIES     (sizeof lies / sizeof lies[0])
#define VARIANTS (4 * LIES) /* by layout */

/* All variants of every row, and the three that come first. */
_Static_assert(VARIANTS * TABLE + 3 <= GT_COVER_MOST, "no room for the cover list");

static int64_t shrink(int64_t size, int64_t less)
{
    return size > KEPT ? size - less : size;
}

static gt_gemm make(size_t row, const gt_types *types, int64_t less, gt_op op_a, gt_op op_b)
{
    return (gt_gemm){
        .m = shrink(table[row].m, less), .n = shrink(table[row].n, less), .k = shrink(table[row].k, less),
        .batch = table[row].batch, .op_a = op_a, .op_b = op_b, .type_ab = types->a, .type_b = types->b,
        .type_c = types->c, .math = types->math,
    };
}

/* Whether a problem is in the list already: some layouts of vectors are one. */
static bool is_known(const gt_problem *problems, size_t count, const gt_problem *problem)
{
    for (size_t i = 0; i < count; i++)
        if (gt_problem_same(&problems[i], problem))
            return true;
    return false;
}

static bool is_f32(const gt_types *types)
{
    return types == gt_types_find(GT_F32, GT_F32, GT_F32, GT_MATH_STRICT);
}

static bool is_half(const gt_types *types)
{
    return gt_types_are_usual(types) && gt_type_find(types->a)->bytes == 2;
}

bool gt_cover_is_whole(const gt_types *types, bool named)
{
    return named || is_f32(types) || is_half(types);
}

/* Which variants of a row a type has in a layout. Less usual types have their default list in nn, with odd sizes, and need
 * only odd ones elsewhere, whose kernels run any alignment. */
static unsigned rows_of(size_t row, const gt_types *types, bool named, bool nn)
{
    if (is_f32(types))
        return table[row].f32;
    if (named || is_half(types))
        return table[row].half;
    if (gt_types_are_usual(types))
        return table[row].usual;
    return row == 0 && !nn ? ODD : 0;
}

/* Adds a row's problem, unless the list has it. */
static gt_status add(size_t row, const gt_types *types, int64_t less, gt_op op_a, gt_op op_b, gt_problem *problems,
                     size_t *count)
{
    const gt_gemm gemm = make(row, types, less, op_a, op_b);
    bool swapped;
    const gt_status status = gt_problem_fold(&gemm, &problems[*count], &swapped);
    if (status == GT_OK && !is_known(problems, *count, &problems[*count]))
        ++*count;
    return status;
}

gt_status gt_cover_problems(const gt_types *types, bool named, gt_problem *problems, size_t *count)
{
    gt_status status = GT_OK;
    /* A budget may end the run early: the odd variants, whose kernels serve any problem of their layout, come first;
     * then row by row, in every layout. */
    for (int layout = 1; status == GT_OK && layout < 4; layout++)
        status = add(0, types, 1, layout / 2 ? GT_T : GT_N, layout % 2 ? GT_T : GT_N, problems, count);
    for (size_t row = 0; row < TABLE; row++)
        for (size_t variant = 0; status == GT_OK && variant < VARIANTS; variant++) {
            const gt_op op_a = variant / LIES / 2 ? GT_T : GT_N, op_b = variant / LIES % 2 ? GT_T : GT_N;
            const int64_t less = lies[variant % LIES].less;
            const bool other = less == 0 || less * gt_type_find(types->a)->bytes % 16 != 0; /* not aligned after all */
            if (other && rows_of(row, types, named, op_a == GT_N && op_b == GT_N) & lies[variant % LIES].rows)
                status = add(row, types, less, op_a, op_b, problems, count);
        }
    return status;
}

int gt_cover_row(const gt_problem *problem)
{
    for (size_t row = 0; row < TABLE; row++)
        for (size_t i = 0; i < LIES; i++)
            if (problem->m == shrink(table[row].m, lies[i].less) && problem->n == shrink(table[row].n, lies[i].less) &&
                problem->k == shrink(table[row].k, lies[i].less) && problem->batch == table[row].batch)
                return (int)row;
    return -1;
}

bool gt_cover_serves_all(const gt_problem *problem)
{
    return gt_cover_row(problem) == 0 && problem->class.align == gt_class_element(&problem->class);
}
