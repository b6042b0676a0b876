/*
 * A kernel as it runs: micro-operations on rows. A row is one register of all 32 lanes of a warp: 128 bytes for
 * registers of up to 32 bits, 256 for 64 bits. Immediates and the addresses of variables are constant rows that all
 * warps share, special registers are rows that a warp fills when it starts: handlers know no operand kinds.
 */
#ifndef SG_PROGRAM_H
#define SG_PROGRAM_H

#include "syntax.h"

#define SG_LANES     32
#define SG_ALL       UINT32_MAX
#define SG_ROW_BYTES 128

typedef struct sg_warp sg_warp;
typedef struct sg_op sg_op;
typedef struct sg_words sg_words;

/* Runs one operation for the lanes of mask. */
typedef void sg_run(sg_warp *warp, const sg_op *op, uint32_t mask);

/* What a warp instruction keeps busy: the names are sg_counts'. */
typedef enum sg_pipe {
    SG_PIPE_ALU,
    SG_PIPE_FMA,
    SG_PIPE_IMAD, /* of integers, on the same pipe */
    SG_PIPE_HALF,
    SG_PIPE_SFU,
    SG_PIPE_F64,
    SG_PIPE_TENSOR,
    SG_PIPE_CONTROL,
    SG_PIPE_MEMORY,
    SG_PIPE_TRIP, /* memory, and the warp waits until all of it is there: fences, atomics with a result */
    SG_PIPE_NONE, /* not an instruction: a label */
} sg_pipe;

/* Row references: bytes from the base, twice, plus 1 for constants. Predicate references: index, twice, plus 1 if
 * negated. Predicate 0 is always true. */
struct sg_op {
    sg_run *full, *masked; /* for all 32 lanes; for some */
    uint32_t d, a, b, c, e;
    uint32_t guard; /* predicate reference */
    uint32_t line;
    uint16_t slot;  /* memory: the last allocation seen here */
    uint8_t pipe;
    uint8_t kind;   /* the handler's */
    int64_t imm;    /* offset, target, or what the handler makes of it */
    uint32_t *list; /* further references, as many as the handler knows */
};

/* Values of op->kind in branches, whose targets are known only when all is decoded. Other handlers use what they like
 * above them. */
enum { SG_KIND_PLAIN, SG_KIND_BRANCH, SG_KIND_TABLE, SG_KIND_OWN };

/* A special register that this kernel reads, and its row. */
typedef struct sg_special_use {
    const struct sg_special *special;
    uint32_t row; /* bytes */
} sg_special_use;

struct sg_kernel {
    struct sg_kernel *next;
    sg_kernel_facts facts;
    sg_op *ops;
    const char **mnemonics; /* one for each op */
    sg_words *words;        /* what each says of order: the machine's */
    bool async, talks;      /* some are the async proxy's; some tell other blocks, or ask them */
    size_t op_count, op_room;
    uint8_t *constants;
    uint32_t register_bytes, predicate_count; /* of one warp */
    uint32_t dynamic_base; /* where dynamic shared memory begins */
    uint32_t slots;
    uint32_t held_count;   /* registers of asynchronous products, numbered from 1 */
    sg_special_use specials[64];
    size_t special_count;
    const struct sg_special *sampled[8]; /* special registers that are read anew each time */
    size_t sampled_count;
};

struct sg_module {
    sg_arena arena;
    struct sg_memory *memory; /* that has its variables */
    sg_variable *variables;
    sg_kernel *kernels;
};

/*
 * The catalog: what each mnemonic is. Whole mnemonics with their handlers and the shape of their operands, destination
 * first, a letter each:
 *     h w d   rows of 16, 32, 64 bits     H f g   the same for f16, f32, f64 immediates
 *     p       predicate                   i       immediate, into op->imm
 * or, for opcodes with many modifiers, the opcode alone with a function that decodes the rest.
 */
typedef struct sg_decoder sg_decoder;
typedef struct sg_entry {
    const char *mnemonic;
    sg_run *full, *masked;
    const char *shape;
    sg_pipe pipe;
    void (*decode)(sg_decoder *decoder);
} sg_entry;

/* Special registers. fill writes a warp's row when it starts; sample, where there is one, whenever it is read. */
typedef struct sg_special {
    const char *name;
    uint32_t bytes; /* 4 or 8 */
    uint32_t (*value)(const sg_warp *warp, int lane);
    uint64_t (*sample)(const sg_warp *warp);
    bool of_block; /* another one in each block, the same in all its lanes, of 4 bytes; others stay while a grid runs */
} sg_special;

/*
 * What the machine has, which the decoder only names: tables of entries, NULL behind, each of which ends with an entry
 * without mnemonic; what stands at every label, where lanes that went different ways meet; what asks whether registers
 * are an asynchronous product's that is under way (op->list: op->imm numbers); the special register of a name, or NULL.
 */
extern const sg_entry *const sg_catalog[];
sg_run sg_run_join, sg_run_ask;
const sg_special *sg_special_find(const char *name);

/* Decodes an entry function into a kernel of the module; failures jump to syntax->failed. */
void sg_decode(sg_syntax *syntax, sg_function *function, sg_module *module);

#endif
