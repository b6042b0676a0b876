/*
 * What the parser makes of PTX text: variables, and functions whose instructions have their names resolved. Everything
 * lives in the module's arena.
 */
#ifndef SG_SYNTAX_H
#define SG_SYNTAX_H

#include <setjmp.h>
#include <stdbool.h>

#include "arena.h"
#include "ptx.h"

/* Type suffixes. Untyped bits count as unsigned where it matters. */
#define SG_TYPES(X)                                                                                          \
    X(NONE, "", 0) X(PRED, "pred", 0) X(B8, "b8", 1) X(B16, "b16", 2) X(B32, "b32", 4) X(B64, "b64", 8)      \
    X(B128, "b128", 16) X(U8, "u8", 1) X(U16, "u16", 2) X(U32, "u32", 4) X(U64, "u64", 8) X(S8, "s8", 1)     \
    X(S16, "s16", 2) X(S32, "s32", 4) X(S64, "s64", 8) X(F16, "f16", 2) X(F16X2, "f16x2", 4)                 \
    X(BF16, "bf16", 2) X(BF16X2, "bf16x2", 4) X(TF32, "tf32", 4) X(F32, "f32", 4) X(F64, "f64", 8)           \
    X(F32X2, "f32x2", 8) X(E4M3X2, "e4m3x2", 2) X(E5M2X2, "e5m2x2", 2)                \
    X(E4M3, "e4m3", 1) X(E5M2, "e5m2", 1)

typedef enum sg_type {
#define X(name, text, bytes) SG_##name,
    SG_TYPES(X)
#undef X
    SG_TYPE_COUNT
} sg_type;

/* Bytes of a type; SG_NONE for a suffix that is no type. */
uint32_t sg_type_bytes(sg_type type);
sg_type sg_type_find(const char *text, size_t length);

typedef enum sg_space {
    SG_SPACE_GENERIC,
    SG_SPACE_GLOBAL,
    SG_SPACE_CONST,
    SG_SPACE_SHARED,
    SG_SPACE_LOCAL,
    SG_SPACE_PARAM,
} sg_space;

typedef struct sg_variable {
    struct sg_variable *next; /* of the module, or of the function */
    const char *name;
    sg_space space;
    sg_type type;
    uint32_t align;
    uint64_t bytes;  /* 0: an external array of shared memory, sized by the launch */
    uint8_t *values; /* the first value_bytes of its initial value; zeros follow */
    size_t value_bytes, value_room;
    struct sg_relocation *relocations;
    uint64_t address; /* in its space; for GLOBAL and CONST the device address */
    uint32_t seen;    /* module-wide shared variables: number of the last function that placed it */
} sg_variable;

/* An address inside a variable's initial value. */
typedef struct sg_relocation {
    struct sg_relocation *next;
    const sg_variable *target;
    uint64_t at, addend;
} sg_relocation;

typedef struct sg_register {
    sg_type type;
} sg_register;

typedef enum sg_operand_kind {
    SG_OPERAND_REGISTER, /* index into the function's registers */
    SG_OPERAND_INTEGER,
    SG_OPERAND_FLOAT,
    SG_OPERAND_VARIABLE, /* its address, plus offset */
    SG_OPERAND_LABEL,    /* index of an instruction */
    SG_OPERAND_TARGETS,  /* of brx.idx: items are labels */
    SG_OPERAND_SPECIAL,  /* %tid.x: name */
    SG_OPERAND_SINK,     /* _ */
    SG_OPERAND_VECTOR,   /* {a, b}: items */
    SG_OPERAND_ADDRESS,  /* [base+offset] or [base, {...}]: items */
    SG_OPERAND_PAIR,     /* p|q: items */
    SG_OPERAND_LIST,     /* (a, b), of a call: items */
    SG_OPERAND_NAME,     /* of a function */
} sg_operand_kind;

typedef struct sg_operand {
    sg_operand_kind kind;
    bool negated; /* !p */
    bool single;  /* FLOAT: written as 0f; value has 32 bits */
    uint32_t reg, count;
    uint64_t value; /* INTEGER, FLOAT bits; ADDRESS and VARIABLE: offset; LABEL: instruction */
    const sg_variable *variable;
    const char *name;
    struct sg_operand *items;
} sg_operand;

typedef struct sg_instruction {
    const char *mnemonic; /* whole: "ld.global.v4.f32" */
    uint32_t line;
    int32_t guard; /* predicate register; -1: none */
    bool guard_negated;
    bool is_target; /* a label stands before it */
    uint32_t count;
    sg_operand *operands;
} sg_instruction;

typedef struct sg_function {
    struct sg_function *next, *bucket; /* of the module; of those with a body, by name */
    const char *name;
    bool is_entry, has_body;
    uint32_t line, number;
    sg_register *registers;
    size_t register_count, register_room;
    sg_instruction *instructions;
    size_t instruction_count, instruction_room;
    sg_variable *params, *results, *variables; /* in order of declaration */
    uint32_t max_threads, min_blocks, cluster[3];
} sg_function;

#define SG_FUNCTION_BUCKETS 1024

typedef struct sg_syntax {
    sg_arena *arena;
    sg_variable *variables;
    sg_function *functions, **functions_end;
    sg_function **by_name; /* SG_FUNCTION_BUCKETS of them */
    const struct sg_entry **catalog; /* the decoder's */
    int version, target; /* 90 for 9.0; 80 for sm_80 */
    sg_ptx_status status;
    char *message; /* SG_MESSAGE_LENGTH */
    jmp_buf failed;
} sg_syntax;

/* Ends parsing or decoding of the module: notes status, line and message, and jumps to syntax->failed. */
_Noreturn void sg_syntax_fail(sg_syntax *syntax, sg_ptx_status status, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The function of that name that has a body; NULL if there is none. Two of a name do not return. */
sg_function *sg_function_find(const sg_syntax *syntax, const char *name);
void sg_function_add(sg_syntax *syntax, sg_function *function);

/* The index of a new register. */
uint32_t sg_function_register(sg_syntax *syntax, sg_function *function, sg_type type);

uint32_t sg_text_hash(const char *text, size_t length);

/* Zeroed memory of the arena; does not return if there is none. */
void *sg_syntax_alloc(sg_syntax *syntax, size_t bytes);

/* Parses a module's text. syntax->arena, message and failed are set by the caller; failures jump. */
void sg_parse(sg_syntax *syntax, const char *text, size_t bytes);

#endif
