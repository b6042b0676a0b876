#include "copies.h"

/* A block transposes a square of 64 x 64 elements, or copies a part of 4 lines with each of its warps; several, one after
 * the other, where there are more than BLOCKS_MOST. */
#define BLOCKS_MOST 65536
#define SQUARE      64
#define LINES       32  /* of a block, and the bytes that it copies of each */
#define LINE_BYTES  496

#define LINE 128 /* bytes that a line of a copy is a multiple of */

/* Threads of a block that copies, and of one that splits. */
#define COPY_THREADS  256
#define PARTS_THREADS 256

/* Operands that are split into two parts. */
#define PARTS_STEP    32   /* elements whose high parts stand together, with their low parts behind them */
#define PARTS_KNOWN   8    /* bytes about each line, for the product that reads it */
#define PARTS_WARPS   (PARTS_THREADS / 32)
#define PARTS_STRIP   32   /* lines across K that a block splits side by side */
#define PARTS_CLUSTER 8    /* blocks that share a line, at most */
#define PARTS_SHARE   512  /* elements of a line that are worth a block of their own */
#define PARTS_FEW     1024 /* lines so few that blocks always share them */

static bool is_stored_along_k(const gt_problem *p, gt_operand operand)
{
    return operand == GT_A ? p->class.op_a == GT_N : p->class.op_b == GT_T;
}

/* An operand split into two parts. False where its bytes pass 64 bits. */
static bool describe_parts(const gt_problem *p, gt_operand operand, int64_t how, gt_stored *copy, int64_t *total)
{
    const bool along_k = how & GT_COPY_ALONG_K || is_stored_along_k(p, operand);
    const gt_type_info *type = gt_type_find(GT_F16);
    const int64_t outer = operand == GT_A ? p->m : p->n, step = 2 * PARTS_STEP;
    int64_t k, rows, lines, known;
    if (__builtin_add_overflow(p->k, PARTS_STEP - 1, &k) || __builtin_mul_overflow(k / PARTS_STEP, outer, &rows) ||
        __builtin_mul_overflow(rows, step * type->bytes, &lines) ||
        __builtin_mul_overflow(outer, PARTS_KNOWN, &known) || __builtin_add_overflow(known, LINE - 1, &known) ||
        __builtin_add_overflow(lines, known / LINE * LINE, total))
        return false;
    const int64_t columns = along_k ? k / PARTS_STEP * step : step;
    *copy = (gt_stored){GT_F16, along_k ? outer : rows, columns, columns, *total / type->bytes};
    return true;
}

/* How many blocks of a cluster share a line whose elements are not contiguous along K. More than one where there are
 * few lines, or few for their length; and only from Hopper on, which has clusters and is where kernels launch
 * dependently. */
static unsigned share_parts(const gt_facts *facts, const gt_problem *p)
{
    const int64_t of_a = p->class.op_a == GT_T ? p->m : 0, of_b = p->class.op_b == GT_N ? p->n : 0;
    const int64_t lines = of_a > of_b ? of_a : of_b;
    unsigned blocks = 1;
    while (facts->dependent_launch && lines > 0 && blocks < PARTS_CLUSTER && p->k >= 2 * blocks * PARTS_SHARE &&
           lines <= (p->k / 2 > PARTS_FEW ? p->k / 2 : PARTS_FEW) / blocks / p->batch)
        blocks *= 2;
    return blocks;
}

/* Blocks that split all lines of an operand, of which `shared` share a strip. Of a batch there are as many as
 * kernel_templates/split_pass.cuh has lines for; of one matrix more, without lines, so that the product begins when all
 * others have: it is placed evenly then, which 4096^3 gains 1% by on an H200. */
static int64_t count_parts_blocks(const gt_problem *p, gt_operand operand, unsigned shared)
{
    const int64_t lines = operand == GT_A ? p->m : p->n;
    const int64_t warps = p->k > 8192 ? PARTS_WARPS : p->k > 1024 ? 4 : 1, of_block = PARTS_WARPS / warps;
    if (p->batch == 1)
        return lines / 2 + 1;
    return is_stored_along_k(p, operand) ? (lines - 1) / of_block + 1 : ((lines - 1) / PARTS_STRIP + 1) * shared;
}

/* An operand's copy. False where its bytes pass 64 bits. */
static bool describe(const gt_problem *p, gt_operand operand, int64_t how, gt_stored *copy, int64_t *total)
{
    const gt_stored from = gt_problem_stored(p, operand);
    const int64_t bytes = gt_type_find(from.type)->bytes, outer = operand == GT_A ? p->m : p->n;
    const bool along_k = how & GT_COPY_ALONG_K;
    const int64_t rows = how & GT_COPY_AS_STORED ? from.rows : along_k ? outer : p->k;
    const int64_t columns = how & GT_COPY_AS_STORED ? from.columns : along_k ? p->k : outer;
    int64_t line;
    if (__builtin_mul_overflow(columns, bytes, &line) || __builtin_add_overflow(line, LINE - 1, &line) ||
        __builtin_mul_overflow(line / LINE * LINE, rows, total))
        return false;
    const int64_t ld = line / LINE * LINE / bytes;
    *copy = (gt_stored){from.type, rows, columns, ld, rows * ld};
    return true;
}

static bool do_lines_stay(const gt_problem *p, gt_operand operand, int64_t how)
{
    return how & GT_COPY_AS_STORED || is_stored_along_k(p, operand) == !!(how & GT_COPY_ALONG_K);
}

/* Blocks that make a whole copy. */
static int64_t count_blocks(const gt_stored *copy, bool lines_stay)
{
    if (lines_stay)
        return (copy->rows / LINES + 1) * (copy->columns * gt_type_find(copy->type)->bytes / LINE_BYTES + 1);
    return (copy->rows / SQUARE + 1) * (copy->columns / SQUARE + 1);
}

gt_status gt_copies_init(const gt_facts *facts, const gt_problem *p, gt_copies *out)
{
    gt_copies copies = {0};
    const int64_t how = facts->repack & ~(int64_t)3;
    const bool parts = (how & ~(int64_t)GT_COPY_ALONG_K) == GT_COPY_SPLIT;
    copies.cluster = parts ? share_parts(facts, p) : 1;
    int64_t all = 0, blocks = 0;
    const bool whole = how == 0 || how == GT_COPY_AS_STORED || how == GT_COPY_ALONG_K;
    if (facts->repack > 0 && (facts->repack == how || !(whole || parts)))
        return gt_fail(GT_ERROR_INVALID, "repack is %lld, which is no way to copy operands", (long long)facts->repack);
    if (facts->repack > 0 && facts->products > 1)
        return gt_fail(GT_ERROR_INVALID, "repack with products %lld: operands are copied for blocks of one product alone",
                       (long long)facts->products);
    for (gt_operand i = GT_A; i <= GT_B; i++) {
        int64_t one;
        if (!(facts->repack >> i & 1))
            continue;
        if (parts && gt_problem_stored(p, i).type != GT_F32)
            return gt_fail(GT_ERROR_INVALID, "only f32 is split into two parts");
        gt_stored *const copy = &copies.copy[i];
        if (!(parts ? describe_parts : describe)(p, i, facts->repack, copy, &one) ||
            __builtin_add_overflow(all, one, &all))
            return gt_fail(GT_ERROR_INVALID, "the copies of A and B overflow 64 bits");
        copies.copied[i] = true;
        copies.lines_stay[i] = !parts && do_lines_stay(p, i, how);
        copies.bytes[i] = (size_t)one;
        blocks += parts ? count_parts_blocks(p, i, copies.cluster) : count_blocks(copy, copies.lines_stay[i]);
    }
    copies.threads = parts ? PARTS_THREADS : COPY_THREADS;
    copies.blocks = blocks < BLOCKS_MOST ? (unsigned)blocks : BLOCKS_MOST;
    copies.blocks += (copies.cluster - copies.blocks % copies.cluster) % copies.cluster;
    *out = copies;
    return GT_OK;
}

const void *gt_copies_find(const gt_copies *copies, gt_operand operand, unsigned batch, bool without_a,
                           const void *workspace)
{
    if (!copies->copied[operand])
        return NULL;
    return (const char *)workspace + (operand == GT_B && !without_a ? copies->bytes[GT_A] * batch : 0);
}
