/* For the functions that decode one opcode: its modifiers, its operands, the operations they become. */
#ifndef SG_DECODE_H
#define SG_DECODE_H

#include "program.h"

#define SG_PARTS 24

struct sg_decoder {
    sg_syntax *syntax;
    sg_function *function;
    sg_kernel *kernel;
    const sg_instruction *in;
    int part_count; /* "ld.global.f32": 3 */
    struct {
        const char *text;
        size_t length;
        bool used;
    } parts[SG_PARTS];
    uint32_t guard;
    uint32_t *rows;            /* by register: its reference + 1; 0: not yet mentioned */
    uint32_t *held;            /* by register: its number among those of asynchronous products; 0: none of them */
    const sg_entry **catalog;  /* hash table */
    uint32_t *starts;          /* by instruction: its first op */
    uint32_t constant_bytes, constant_room;
    uint32_t *constant_index;  /* hash table of constant rows */
    uint32_t constant_buckets, constant_count;
    uint32_t sink;             /* a row nobody reads; 0: none yet */
    uint64_t target_count;     /* of the branch tables so far */
    uint32_t depth;            /* of calls: functions are decoded anew into each place that calls them */
    uint32_t number;           /* of the kernel's function */
};

/* Not known, and not well formed: both name line and mnemonic. */
_Noreturn void sg_decode_unsupported(sg_decoder *d, const char *what);
_Noreturn void sg_decode_bad(sg_decoder *d, const char *what);

/* Takes the mnemonic apart, before anybody asks for its modifiers. */
void sg_parts_split(sg_decoder *d);

/* Whether the mnemonic has this modifier; it then counts as understood. */
bool sg_part(sg_decoder *d, const char *text);

/* The index in a list of modifiers of the one that the mnemonic has; -1 if none. The list ends with NULL. */
int sg_part_of(sg_decoder *d, const char *const *texts);

/* The next modifier not yet understood that is a type; SG_NONE if there is none. */
sg_type sg_part_type(sg_decoder *d);

/* Fails if there is a modifier that nobody asked for. */
void sg_parts_done(sg_decoder *d);

/* Operand i; fails if there are not that many. sg_operands fails unless the count lies between. */
const sg_operand *sg_operand_at(sg_decoder *d, uint32_t i);
void sg_operands(sg_decoder *d, uint32_t least, uint32_t most);

/* A new operation with this instruction's line and guard. */
sg_op *sg_emit(sg_decoder *d, sg_run *full, sg_run *masked, sg_pipe pipe);

/* References. bytes is the width of the register class: 2, 4, 8; real: immediates are floating point. */
uint32_t sg_source(sg_decoder *d, const sg_operand *operand, uint32_t bytes, bool real);
uint32_t sg_destination(sg_decoder *d, const sg_operand *operand, uint32_t bytes);
uint32_t sg_predicate(sg_decoder *d, const sg_operand *operand);
uint32_t sg_predicate_destination(sg_decoder *d, const sg_operand *operand);
uint32_t sg_register_row(sg_decoder *d, uint32_t reg); /* also of predicates */
uint32_t sg_register_bytes(sg_decoder *d, const sg_operand *operand); /* 0: not a register; 1: a predicate */
uint32_t sg_constant(sg_decoder *d, uint64_t value, uint32_t bytes);
uint32_t sg_temporary(sg_decoder *d, uint32_t bytes);
int64_t sg_immediate(sg_decoder *d, const sg_operand *operand);

/* The items of a vector, or one operand alone, as a list of count references. */
uint32_t *sg_list(sg_decoder *d, uint32_t count);

/* [base+offset]: a 64-bit row, or a 32-bit one with *wide false, and an offset. space: of the variable if the base is
 * one, else SG_SPACE_GENERIC. */
typedef struct sg_address {
    uint32_t row;
    bool wide;
    int64_t offset;
    sg_space space;
} sg_address;
sg_address sg_address_of(sg_decoder *d, const sg_operand *operand);

/* op->kind of an operation whose address sg_lane_address computes. */
enum { SG_KIND_NARROW = SG_KIND_OWN, SG_KIND_WIDE };
uint8_t sg_address_kind(const sg_address *address);

/* A number for the operation's own memory of the last allocation it met. */
uint16_t sg_slot(sg_decoder *d);

/* Gives the function's registers their rows, before anything is decoded. */
void sg_allocate_rows(sg_decoder *d);

/* held.c: numbers the registers of the function's asynchronous products; the number of one, 0 where it has none; asks
 * before this instruction whether those that it mentions are under way. */
void sg_held_find(sg_decoder *d);
uint32_t sg_held_number(const sg_decoder *d, const sg_operand *operand);
void sg_held_ask(sg_decoder *d);

/* The operations of a called function in place of the call. */
void sg_decode_call(sg_decoder *d, sg_function *callee);

#endif
