#include "sass.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * Instructions of 16 bytes, compute capability 7.0 and later. NVIDIA describes none of it; what is used here is what
 * its disassembler prints beside the bits: the operation in bits 0 to 11 (the upper three say what its operands are),
 * predicates in bits 12 to 15 and, of branches, 87 to 90; a branch's target from bit 34 on; registers that are read
 * in bits 24 to 31, 32 to 39 and 64 to 71; how wide an access is in bits 73 to 75; the clocks until the warp's next
 * instruction in bits 105 to 108; from 122 on, for each register that is read, whether it is kept for the next one.
 */
#define BYTES     16
#define OPERATION 0xfffu
#define OPCODE    0x1ffu /* without the kinds of operands */
#define FFMA      0x023u
#define REGISTERS 1u     /* kinds of operands: none but registers */
#define BRANCH    0x947u
#define LDS       0x984u
#define ALWAYS    7u     /* the predicate that is true */
#define NEVER     15u

/*
 * Registers lie in two banks, even and odd, and each gives a scheduler one operand a clock; one that was kept at the
 * same place is not read again. On an H200, with rewritten registers, a multiply-add takes a clock with one operand
 * kept and the others in different banks; 1.1 with both others in the same; 1.4 with the sums of a row in one bank; 2
 * with nothing kept. So a bank does not hold up each multiply-add for itself: reads of a few of them even out.
 */
#define BANKS     2
#define PLACES    3
#define TOGETHER  3      /* of 2, 3 and 4 what fits the times of whole kernels best, by little */
#define NOTHING   255u   /* the register that is always 0, and is not read */

/* What a way through a loop has met since it last multiplied. */
enum { READS_GLOBAL = 1, WRITES_SHARED = 2, READS_SHARED = 4, KINDS = 8 };

static const struct {
    uint16_t operation;
    uint8_t kind;
} memory_operations[] = {
    {0x381, READS_GLOBAL}, {0x981, READS_GLOBAL},   /* LDG */
    {0xfae, READS_GLOBAL},                          /* LDGSTS */
    {0x388, WRITES_SHARED}, {0x988, WRITES_SHARED}, /* STS */
    {LDS, READS_SHARED},
};

typedef struct code {
    const uint8_t *bytes;
    int64_t count; /* instructions */
    int cc;
    uint8_t *begins; /* whether a part begins here: instructions that run one after the other */
} code;

static uint64_t half(const code *c, int64_t at, int which)
{
    uint64_t bits;
    memcpy(&bits, c->bytes + at * BYTES + which * 8, sizeof bits);
    return bits;
}

static bool is_math(const code *c, int64_t at)
{
    return (half(c, at, 0) & OPCODE) == FFMA;
}

static unsigned kind_of(const code *c, int64_t at)
{
    for (size_t i = 0; i < sizeof memory_operations / sizeof memory_operations[0]; i++)
        if (memory_operations[i].operation == (half(c, at, 0) & OPERATION))
            return memory_operations[i].kind;
    return 0;
}

/* Clocks in which what is loaded from shared memory goes to a warp's registers: about 128 bytes a clock, whether lanes
 * read the same word or not. No register tile of 8 x 4 took less on an H200 than 1.4 clocks of an SM's lanes a multiply-add. */
static uint32_t loads_of(const code *c, int64_t at)
{
    static const uint8_t words[8] = {1, 1, 1, 1, 1, 2, 4, 4};
    const uint64_t low = half(c, at, 0);
    if ((low & OPERATION) != LDS || (low >> 12 & 15) == NEVER)
        return 0;
    return words[half(c, at, 1) >> 9 & 7];
}

/* How many operands a multiply-add reads from each bank. kept[] is what is there without reading; the assembler counts
 * on it until another one is kept at the same place, but not after an instruction of another kind. */
static void read_operands(const code *c, int64_t at, unsigned kept[PLACES], uint32_t reads[BANKS])
{
    const uint64_t low = half(c, at, 0), high = half(c, at, 1);
    const unsigned second = (low >> 9 & 7) == REGISTERS ? low >> 32 & 255 : NOTHING;
    const unsigned sources[PLACES] = {low >> 24 & 255, second, high & 255};
    for (int i = 0; i < PLACES; i++) {
        if (sources[i] != NOTHING && sources[i] != kept[i])
            reads[sources[i] % BANKS]++;
        if (high >> (58 + i) & 1)
            kept[i] = sources[i];
    }
}

/* Clocks by which multiply-adds of a part come later because two or three of their operands are in one bank. */
static uint32_t find_conflicts(const code *c, int64_t from, int64_t to)
{
    unsigned kept[PLACES] = {NOTHING, NOTHING, NOTHING};
    int64_t clock = from, ready[TOGETHER] = {0}, free_at[BANKS] = {0};
    for (int64_t at = from; at < to; at++, clock++) {
        uint32_t reads[BANKS] = {0};
        if (is_math(c, at))
            read_operands(c, at, kept, reads);
        else
            memset(kept, 0xff, sizeof kept);
        int64_t *const complete = &ready[at % TOGETHER]; /* until now: of the one that many before */
        clock = *complete > clock ? *complete : clock;
        *complete = clock + 1;
        for (int i = 0; i < BANKS; i++) {
            if (reads[i] == 0)
                continue;
            free_at[i] = (free_at[i] > clock ? free_at[i] : clock) + reads[i];
            *complete = free_at[i] > *complete ? free_at[i] : *complete;
        }
    }
    return (uint32_t)(clock - to);
}

/* Where a branch goes; -1 for what is none, or leads out of the code. */
static int64_t target(const code *c, int64_t at)
{
    const uint64_t low = half(c, at, 0), high = half(c, at, 1);
    if ((low & OPERATION) != BRANCH)
        return -1;
    int64_t words = (int64_t)((low >> 34 | high << 30) << 16) >> 16; /* 48 bits with a sign, of four bytes */
    if (c->cc >= 90)
        words = (int64_t)((uint64_t)words << 8 | (low >> 16 & 0xff)); /* the lowest byte has its own place */
    const int64_t to = at + 1 + words * 4 / BYTES;
    return to >= 0 && to < c->count ? to : -1;
}

static bool goes_on(const code *c, int64_t at)
{
    const uint64_t low = half(c, at, 0), high = half(c, at, 1);
    return (low & OPERATION) != BRANCH || (low >> 12 & 15) != ALWAYS || (high >> 23 & 15) != ALWAYS;
}

/* The loop with the most multiply-adds, of those with no other inside that has any: kernels that stay have one over the
 * tiles too. Of two that have as many the shorter where both begin in the same place, else the longer: the last tile may
 * have a loop of its own, which copies nothing. */
static void find_loop(const code *c, int64_t *first, int64_t *last)
{
    int64_t most = 0, inner = -1; /* where the last loop with multiply-adds begins, of those that have ended */
    *last = -1;
    for (int64_t at = 0; at < c->count; at++) {
        const int64_t head = target(c, at);
        if (head < 0 || head > at)
            continue;
        int64_t math = 0;
        for (int64_t i = head; i <= at; i++)
            math += is_math(c, i);
        if (math == 0 || inner > head)
            continue;
        inner = head;
        const bool shorter = at - head < *last - *first;
        if (math > most || (math == most && shorter == (head == *first))) {
            most = math;
            *first = head;
            *last = at;
        }
    }
}

/* The best way so far to a part that has met these kinds of accesses. */
typedef struct way {
    bool open;
    sg_sass_loop so_far;
} way;

/*
 * Of the ways to a place the one that has met the most kinds of accesses, for those that are met less often pass a copy
 * over in the last turns; of these the shortest, for the longer ones are for tails.
 */
static const way *preferred(const way ways[KINDS])
{
    const way *best = NULL;
    int most = -1;
    for (unsigned met = 0; met < KINDS; met++) {
        const int kinds = __builtin_popcount(met);
        if (ways[met].open && (kinds > most || (kinds == most && ways[met].so_far.slots < best->so_far.slots))) {
            best = &ways[met];
            most = kinds;
        }
    }
    return best;
}

static void offer(way *place, const way *candidate)
{
    if (candidate->open && (!place->open || candidate->so_far.slots < place->so_far.slots))
        *place = *candidate;
}

/* Ways go through a part and come out in `out`. */
static void pass_part(const code *c, int64_t from, int64_t to, const way in[KINDS], way out[KINDS])
{
    sg_sass_loop part = {0};
    unsigned met = 0;
    for (int64_t at = from; at < to; at++) {
        const uint32_t clocks = (uint32_t)(half(c, at, 1) >> 41 & 15);
        part.math += is_math(c, at);
        part.slots++;
        part.stalls += clocks > 1 ? clocks - 1 : 0;
        part.loads += loads_of(c, at);
        met |= kind_of(c, at);
    }
    part.pauses = part.math > 0 ? 0 : part.stalls;
    part.conflicts = part.math > 0 ? find_conflicts(c, from, to) : 0;
    const way *best = part.math > 0 ? preferred(in) : NULL;
    for (unsigned i = 0; i < KINDS; i++) {
        way after = part.math == 0 ? in[i] : best && i == 0 ? *best : (way){0};
        after.so_far.math += part.math;
        after.so_far.slots += part.slots;
        after.so_far.stalls += part.stalls;
        after.so_far.pauses += part.pauses;
        after.so_far.conflicts += part.conflicts;
        after.so_far.loads += part.loads;
        offer(&out[part.math > 0 ? 0 : i | met], &after);
    }
}

static sg_sass_loop walk(const code *c, int64_t first, int64_t last)
{
    way *const ways = calloc((size_t)(last - first + 1) * KINDS, sizeof *ways); /* to each part, where it begins */
    const way *end = NULL;
    way out[KINDS];
    if (ways)
        ways[0].open = true;
    for (int64_t from = first, to; ways && from <= last; from = to) {
        for (to = from + 1; to <= last && !c->begins[to]; to++)
            ;
        memset(out, 0, sizeof out);
        pass_part(c, from, to, &ways[(from - first) * KINDS], out);
        const int64_t jump = target(c, to - 1);
        for (unsigned met = 0; met < KINDS; met++) {
            if (jump > to - 1 && jump <= last)
                offer(&ways[(jump - first) * KINDS + met], &out[met]);
            if (to <= last && goes_on(c, to - 1))
                offer(&ways[(to - first) * KINDS + met], &out[met]);
        }
        if (to > last)
            end = preferred(out);
    }
    const sg_sass_loop loop = end ? end->so_far : (sg_sass_loop){0};
    free(ways);
    return loop;
}

sg_sass_loop sg_sass_read(const void *bytes, size_t length, int cc)
{
    code c = {bytes, (int64_t)(length / BYTES), cc, calloc(length / BYTES + 1, 1)};
    sg_sass_loop loop = {0};
    int64_t first = 0, last = -1;
    for (int64_t at = 0; c.begins && cc >= 70 && at < c.count; at++) {
        const int64_t to = target(&c, at);
        if (to >= 0)
            c.begins[to] = c.begins[at + 1] = true;
    }
    if (c.begins && cc >= 70)
        find_loop(&c, &first, &last);
    if (last >= first) {
        loop = walk(&c, first, last);
        loop.bytes = (uint32_t)((last - first + 1) * BYTES);
    }
    free(c.begins);
    return loop;
}
