#include "copies.h"

/* A block for each square of 64 x 64, or for every so many of them where there are more. */
#define BLOCKS_MOST 65536
#define SQUARE      64

#define LINE 128 /* bytes that a line is a multiple of */

/* Of a block that copies, and of one that splits. */
#define COPY_THREADS  256
#define PARTS_THREADS 256

/* Of operands in two parts: elements that high parts are followed by their low ones after, bytes that are known of a
 * line, lines of a block; blocks of a cluster at most, what each should have of K, and up to how many lines always so. */
#define PARTS_STEP    32
#define PARTS_KNOWN   8
#define PARTS_LINES   2
#define PARTS_CLUSTER 8
#define PARTS_SHARE   512
#define PARTS_FEW     1024

/* An operand in two parts. False where its bytes pass 64 bits. */
static bool describe_parts(const gt_problem *p, gt_operand operand, gt_stored *copy, int64_t *total)
{
    const gt_type_info *type = gt_type_find(GT_F16);
    const int64_t rows = operand == GT_A ? p->m : p->n;
    int64_t columns, lines, known;
    if (__builtin_add_overflow(p->k, PARTS_STEP - 1, &columns) ||
        __builtin_mul_overflow(columns / PARTS_STEP, 2 * PARTS_STEP, &columns) ||
        __builtin_mul_overflow(columns * type->bytes, rows, &lines) ||
        __builtin_mul_overflow(rows, PARTS_KNOWN, &known) || __builtin_add_overflow(known, LINE - 1, &known) ||
        __builtin_add_overflow(lines, known / LINE * LINE, total))
        return false;
    *copy = (gt_stored){GT_F16, rows, columns, columns, *total / type->bytes};
    return true;
}

/* Blocks of a cluster that share a line that is stored across K: where lines are few, or few for their length, and from
 * Hopper on, which dependent launches are for, too. */
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

gt_status gt_copies_init(const gt_facts *facts, const gt_problem *p, gt_copies *out)
{
    gt_copies copies = {0};
    const int64_t how = facts->repack & ~(int64_t)3;
    const bool parts = how == (GT_COPY_SPLIT | GT_COPY_ALONG_K);
    int64_t all = 0, squares = 0;
    const bool whole = how == 0 || how == GT_COPY_AS_STORED || how == GT_COPY_ALONG_K;
    if (facts->repack > 0 && (facts->repack == how || !(whole || parts)))
        return gt_fail(GT_ERROR_INVALID, "repack is %lld, which is no way to copy operands", (long long)facts->repack);
    for (gt_operand i = GT_A; i <= GT_B; i++) {
        int64_t one;
        if (!(facts->repack >> i & 1))
            continue;
        if (parts && gt_problem_stored(p, i).type != GT_F32)
            return gt_fail(GT_ERROR_INVALID, "only f32 is split into two parts");
        gt_stored *const copy = &copies.copy[i];
        if (!(parts ? describe_parts(p, i, copy, &one) : describe(p, i, facts->repack, copy, &one)) ||
            __builtin_add_overflow(all, one, &all))
            return gt_fail(GT_ERROR_INVALID, "the copies of A and B overflow 64 bits");
        copies.copied[i] = true;
        copies.bytes[i] = (size_t)one;
        squares += parts ? copy->rows / PARTS_LINES + 1 : (copy->rows / SQUARE + 1) * (copy->columns / SQUARE + 1);
    }
    copies.threads = parts ? PARTS_THREADS : COPY_THREADS;
    copies.cluster = parts ? share_parts(facts, p) : 1;
    copies.blocks = squares < BLOCKS_MOST ? (unsigned)squares : BLOCKS_MOST;
    copies.blocks += (copies.cluster - copies.blocks % copies.cluster) % copies.cluster;
    *out = copies;
    return GT_OK;
}

const void *gt_copies_find(const gt_copies *copies, gt_operand operand, unsigned batch, const void *workspace)
{
    if (!copies->copied[operand])
        return NULL;
    return (const char *)workspace + (operand == GT_B ? copies->bytes[GT_A] * batch : 0);
}
