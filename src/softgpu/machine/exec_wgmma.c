/*
 * Products of a warpgroup: wgmma. B, and A where it is not in registers, lie in shared memory as descriptors say; each
 * of the four warps has 16 rows of A and D. A product is worked out when it is issued, but what it reads in shared
 * memory counts as in use until a wait says that it is done: whoever writes there before is told. So is who mentions its
 * registers.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "narrow.h"
#include "race.h"
#include "rows.h"
#include "short_sums.h"
#include "wgmma.h"

#define ROWS       16 /* of a warp */
#define DEPTH_MOST 32

/* A matrix descriptor: where sixteen bytes of an operand lie. */
typedef struct descriptor {
    uint32_t start, leading, stride; /* bytes */
    uint32_t span;                   /* sixteens of a swizzled line: 2, 4, 8; 1: no swizzle */
} descriptor;

static bool read_descriptor(sg_warp *w, const sg_op *op, uint64_t bits, descriptor *m)
{
    static const uint32_t spans[] = {1, 8, 4, 2};
    *m = (descriptor){.start = (uint32_t)(bits & 0x3fff) << 4,
                      .leading = (uint32_t)(bits >> 16 & 0x3fff) << 4,
                      .stride = (uint32_t)(bits >> 32 & 0x3fff) << 4,
                      .span = spans[bits >> 62]};
    if ((bits >> 49 & 7) == 0)
        return true;
    sg_fault_at(w, op, 1, SG_FAULT_INSTRUCTION, 0, "descriptor 0x%" PRIx64 " with a base offset, which is not known",
                bits);
    return false;
}

/* K contiguous: row i has 32 bytes, of which j is the half; eight rows form a core matrix. M or N contiguous: j is the
 * place along K, i counts groups of eight elements. The swizzle follows the address. */
static uint32_t sixteen_at(const descriptor *m, bool transposed, uint32_t i, uint32_t j)
{
    const uint32_t line = 16 * m->span;
    uint32_t at = m->start;
    if (!transposed)
        at += i % 8 * line + i / 8 * m->stride + j * (m->span == 1 ? m->leading : 16);
    else if (m->span == 1)
        at += i * m->stride + j % 8 * 16 + j / 8 * m->leading;
    else
        at += i % m->span * 16 + i / m->span * m->leading + j % 8 * line + j / 8 * m->stride;
    return at ^ (at >> 7 & (m->span - 1)) << 4;
}

/* One operand of a warp in shared memory: rows of A, or columns of B, and all of K. */
typedef struct operand {
    descriptor m;
    bool transposed;
    uint32_t first, count; /* rows or columns */
} operand;

static uint32_t outer_count(const operand *x)
{
    return x->transposed ? x->count / 8 : x->count;
}

static uint32_t outer_first(const operand *x)
{
    return x->transposed ? x->first / 8 : x->first;
}

static uint32_t inner_count(const operand *x, uint32_t k)
{
    return x->transposed ? k : 2;
}

/* A product under way. */
typedef struct flight {
    operand operands[2];
    uint32_t count, group, k;
    const sg_wgmma_plan *plan;
} flight;

struct sg_wgmma {
    uint32_t groups; /* committed */
    size_t count, room;
    flight *flights;
    uint8_t *held; /* by a register's number: whether a product under way has it */
};

/* One more, or one less, who reads an operand. */
static void use(sg_block *block, const operand *x, uint32_t k, int change)
{
    for (uint32_t i = 0; i < outer_count(x); i++)
        for (uint32_t j = 0; j < inner_count(x, k); j++) {
            const uint32_t at = sixteen_at(&x->m, x->transposed, outer_first(x) + i, j);
            block->reading[at / 16] = (uint16_t)(block->reading[at / 16] + change);
        }
}

/* Products under way may share registers: what one gives back another may still have. */
static void hold(struct sg_wgmma *p, const flight *f, bool held)
{
    for (uint32_t i = 0; i < f->plan->count_held; i++)
        p->held[f->plan->held[i]] = held;
}

static struct sg_wgmma *products_of(sg_warp *w)
{
    if (!w->products)
        w->products = calloc(1, sizeof *w->products);
    if (w->products && !w->products->held)
        w->products->held = calloc(w->machine->kernel->held_count + 1, 1);
    if (!w->block->reading)
        w->block->reading = calloc(w->block->shared_bytes / 16 + 1, sizeof w->block->reading[0]);
    return w->block->reading && w->products && w->products->held ? w->products : NULL;
}

static bool take_off(sg_warp *w, const sg_op *op, const flight *new)
{
    struct sg_wgmma *p = products_of(w);
    if (p && p->count == p->room) {
        const size_t room = p->room ? 2 * p->room : 16;
        flight *flights = realloc(p->flights, room * sizeof *flights);
        if (flights) {
            p->flights = flights;
            p->room = room;
        }
    }
    if (!p || p->count == p->room) {
        sg_fault_at(w, op, 1, SG_FAULT_MEMORY, 0, "no memory for a product under way");
        return false;
    }
    p->flights[p->count] = *new;
    p->flights[p->count++].group = p->groups;
    for (uint32_t i = 0; i < new->count; i++)
        use(w->block, &new->operands[i], new->k, 1);
    hold(p, new, true);
    return true;
}

/* What belongs to no group yet is not waited for. */
void sg_wgmma_wait(sg_warp *w, const sg_op *op, uint32_t mask)
{
    struct sg_wgmma *p = w->products;
    size_t kept = 0;
    (void)mask;
    if (!p)
        return;
    for (size_t i = 0; i < p->count; i++) {
        const flight *f = &p->flights[i];
        hold(p, f, false);
        if ((int64_t)f->group + op->imm >= (int64_t)p->groups) {
            p->flights[kept++] = *f;
            continue;
        }
        for (uint32_t x = 0; x < f->count; x++)
            use(w->block, &f->operands[x], f->k, -1);
    }
    p->count = kept;
    for (size_t i = 0; i < kept; i++)
        hold(p, &p->flights[i], true);
}

void sg_run_ask(sg_warp *w, const sg_op *op, uint32_t mask)
{
    const struct sg_wgmma *p = w->products;
    for (int64_t i = 0; p && p->count > 0 && i < op->imm; i++)
        if (p->held[op->list[i]]) {
            sg_fault_at(w, op, mask, SG_FAULT_RACE, 0, "a register of a wgmma that nobody has waited for");
            return;
        }
}

void sg_wgmma_commit(sg_warp *w, const sg_op *op, uint32_t mask)
{
    (void)op, (void)mask;
    if (products_of(w))
        w->products->groups++;
}

void sg_wgmma_fence(sg_warp *w, const sg_op *op, uint32_t mask)
{
    (void)op, (void)mask;
    w->wgmma_fenced = true;
}

void sg_wgmma_reset(sg_block *block)
{
    if (!block->reading)
        return;
    memset(block->reading, 0, (block->shared_bytes / 16 + 1) * sizeof block->reading[0]);
    for (uint32_t i = 0; i < block->warp_count; i++)
        if (block->warps[i].products) {
            block->warps[i].products->count = block->warps[i].products->groups = 0;
            memset(block->warps[i].products->held, 0, block->machine->kernel->held_count + 1);
        }
}

void sg_wgmma_finish(sg_block *block)
{
    for (uint32_t i = 0; block->warps && i < block->warp_count; i++) {
        if (block->warps[i].products)
            free(block->warps[i].products->flights);
        free(block->warps[i].products ? block->warps[i].products->held : NULL);
        free(block->warps[i].products);
    }
    free(block->reading);
}

/* Sixteen bytes to read; NULL after a fault. */
static const uint8_t *sixteen(sg_warp *w, const sg_op *op, uint32_t at)
{
    const sg_block *block = w->block;
    uint64_t shadow[2] = {0};
    if (at + 16 <= block->shared_bytes)
        memcpy(shadow, block->shadow + at, 16);
    if ((shadow[0] & shadow[1]) != UINT64_MAX)
        return sg_shared_at(w, op, 0, at, 16, false); /* says what is wrong */
    return !block->race || sg_race_touch(w, op, 0, at, 16, SG_TOUCH_READ, SG_SPACE_SHARED) ? block->shared + at : NULL;
}

/* The numbers of an operand, each row or column with stride `along` in the matrix, K with stride `deep`. */
static bool fetch(sg_warp *w, const sg_op *op, const operand *x, sg_type type, uint32_t k, float *matrix,
                  uint32_t along, uint32_t deep)
{
    const uint32_t each = 16 / sg_type_bytes(type);
    for (uint32_t i = 0; i < outer_count(x); i++)
        for (uint32_t j = 0; j < inner_count(x, k); j++) {
            const uint32_t at = sixteen_at(&x->m, x->transposed, outer_first(x) + i, j);
            const uint8_t *bytes = sixteen(w, op, at);
            float values[16];
            if (!bytes)
                return false;
            sg_from_narrow(bytes, type, values);
            for (uint32_t e = 0; e < each; e++)
                matrix[x->transposed ? (i * 8 + e) * along + j * deep : i * along + (j * each + e) * deep] = values[e];
        }
    return true;
}

/* A's registers are mma.sync's: four of 32 bits, rows first. */
static void fetch_registers(const sg_warp *w, const sg_wgmma_plan *p, float *matrix)
{
    const uint32_t each = 4 / sg_type_bytes(p->type_a);
    for (uint32_t r = 0; r < 4; r++)
        for (uint32_t l = 0; l < SG_LANES; l++) {
            float values[16];
            uint32_t words[4] = {sg_row32(w, p->a[r])[l]};
            sg_from_narrow((const uint8_t *)words, p->type_a, values);
            for (uint32_t e = 0; e < each; e++)
                matrix[(l / 4 + 8 * (r % 2)) * p->k + l % 4 * each + r / 2 * 4 * each + e] = values[e];
        }
}

typedef struct matrices {
    float a[ROWS * DEPTH_MOST], b[DEPTH_MOST * SG_WGMMA_COLUMNS], c[ROWS * SG_WGMMA_COLUMNS];
} matrices;

/* The sum of two numbers, cut: where rounding made it larger (Knuth's two-sum tells what is left), the next one toward
 * zero. */
static inline float add_cut(float a, float b)
{
    const float sum = a + b, of_b = sum - a, rest = (a - (sum - of_b)) + (b - of_b);
    return sg_float_of(sg_bits_of(sum) - (sum * rest < 0));
}

/* Products are exact in f32, so that fusing them changes nothing; sums are in the order of K. Four rows and eight
 * columns at a time stay in registers. What an instruction adds to a sum is cut, as tensor cores do. */
SG_VECTOR static void multiply(const sg_wgmma_plan *p, matrices *m)
{
    const uint32_t n = p->n, k = p->k;
    for (uint32_t i = 0; i < ROWS; i += 4)
        for (uint32_t j = 0; j < n; j += 8) {
            float sums[4][8] = {0};
            for (uint32_t q = 0; q < k; q++) {
                const float *line = m->b + q * n + j, *x = m->a + i * k + q;
                for (uint32_t e = 0; e < 8; e++) {
                    sums[0][e] = __builtin_fmaf(x[0], line[e], sums[0][e]);
                    sums[1][e] = __builtin_fmaf(x[k], line[e], sums[1][e]);
                    sums[2][e] = __builtin_fmaf(x[2 * k], line[e], sums[2][e]);
                    sums[3][e] = __builtin_fmaf(x[3 * k], line[e], sums[3][e]);
                }
            }
            for (uint32_t r = 0; r < 4; r++)
                for (uint32_t e = 0; e < 8; e++)
                    m->c[(i + r) * n + j + e] = add_cut(m->c[(i + r) * n + j + e], sums[r][e]);
        }
}

/* Of 8-bit floats. */
SG_VECTOR static void multiply_short(const sg_wgmma_plan *p, matrices *m)
{
    for (uint32_t i = 0; i < ROWS; i++)
        for (uint32_t j = 0; j < p->n; j += SG_SHORT_COLUMNS)
            sg_short_sums(m->a + i * p->k, m->b + j, p->n, p->k, m->c + i * p->n + j);
}

/* D: for every eight columns four elements of a lane, two columns beside each other, then the same eight rows below.
 * Elements e and e + 1 of all lanes are eight rows of eight columns, which begin here. */
static float *block_of(float *c, uint32_t n, uint32_t e)
{
    return c + e / 2 % 2 * 8 * n + e / 4 * 8;
}

static void take_sums(const sg_warp *w, const sg_wgmma_plan *p, bool counts, float *c)
{
    if (!counts || p->type_d == SG_S32) {
        memset(c, 0, ROWS * p->n * sizeof *c);
        return;
    }
    for (uint32_t e = 0; e < p->n / 2; e += 2) {
        float *block = block_of(c, p->n, e), pair[2][SG_LANES];
        if (p->type_d == SG_F16) {
            const uint32_t *row = sg_row32(w, p->d[e / 2]);
            SG_FOR_LANES pair[0][l] = sg_from_f16(row[l] & 0xffff);
            SG_FOR_LANES pair[1][l] = sg_from_f16(row[l] >> 16);
        } else {
            memcpy(pair[0], sg_row(w, p->d[e]), sizeof pair[0]);
            memcpy(pair[1], sg_row(w, p->d[e + 1]), sizeof pair[1]);
        }
        for (uint32_t l = 0; l < SG_LANES; l++) {
            block[l / 4 * p->n + l % 4 * 2] = pair[0][l];
            block[l / 4 * p->n + l % 4 * 2 + 1] = pair[1][l];
        }
    }
}

static uint32_t integer_sum(uint32_t old, float product, bool saturates)
{
    int64_t sum = (int64_t)(int32_t)old + (int64_t)product;
    if (saturates)
        sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    return (uint32_t)sum;
}

static void put_sums(const sg_warp *w, const sg_wgmma_plan *p, bool counts, float *c)
{
    for (uint32_t e = 0; e < p->n / 2; e += 2) {
        const float *block = block_of(c, p->n, e);
        float pair[2][SG_LANES];
        for (uint32_t l = 0; l < SG_LANES; l++) {
            pair[0][l] = block[l / 4 * p->n + l % 4 * 2];
            pair[1][l] = block[l / 4 * p->n + l % 4 * 2 + 1];
        }
        if (p->type_d == SG_F16) {
            uint32_t *row = sg_row32(w, p->d[e / 2]);
            SG_FOR_LANES row[l] = sg_to_f16(pair[0][l]) | sg_to_f16(pair[1][l]) << 16;
            continue;
        }
        for (uint32_t i = 0; i < 2; i++) {
            uint32_t *row = sg_row32(w, p->d[e + i]);
            if (p->type_d == SG_F32)
                memcpy(row, pair[i], sizeof pair[i]);
            else
                SG_FOR_LANES row[l] = integer_sum(counts ? row[l] : 0, pair[i][l], p->saturates);
        }
    }
}

void sg_wgmma_multiply(sg_warp *w, const sg_op *op, uint32_t mask)
{
    const sg_wgmma_plan *p = (const sg_wgmma_plan *)op->list;
    const uint32_t first = w->index % 4 * ROWS;
    const bool counts = sg_mask_of(w, p->scale_d) & 1;
    matrices m;
    flight f = {.k = p->k, .plan = p};
    if (mask != SG_ALL || w->index / 4 * 4 + 4 > w->block->warp_count) {
        sg_fault_at(w, op, mask, SG_FAULT_INSTRUCTION, 0, "needs all lanes of a warpgroup's four warps");
        return;
    }
    if (!w->wgmma_fenced) { /* later ones are needed where registers were touched, which nobody follows here */
        sg_fault_at(w, op, mask, SG_FAULT_INSTRUCTION, 0, "no wgmma.fence before the first product");
        return;
    }
    if (w->block->race)
        sg_race_meet(w);
    operand *b = &f.operands[f.count++], *a = p->in_registers ? NULL : &f.operands[f.count++];
    *b = (operand){.transposed = p->trans_b, .count = p->n};
    if (!read_descriptor(w, op, sg_row64(w, p->b)[0], &b->m) ||
        !fetch(w, op, b, p->type_b, p->k, m.b, 1, p->n))
        return;
    if (a) {
        *a = (operand){.transposed = p->trans_a, .first = first, .count = ROWS};
        if (!read_descriptor(w, op, sg_row64(w, p->a[0])[0], &a->m) ||
            !fetch(w, op, a, p->type_a, p->k, m.a, p->k, 1))
            return;
    } else {
        fetch_registers(w, p, m.a);
    }
    for (uint32_t i = 0; p->negative && i < ROWS * p->k; i++)
        m.a[i] = -m.a[i];
    take_sums(w, p, counts, m.c);
    (p->type_a == SG_E4M3 || p->type_a == SG_E5M2 ? multiply_short : multiply)(p, &m);
    put_sums(w, p, counts, m.c);
    if (w->machine->counts)
        w->machine->counts->tensor_flops += 2ull * ROWS * p->n * p->k;
    take_off(w, op, &f);
}
