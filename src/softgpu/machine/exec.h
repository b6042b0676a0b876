/* Runs a kernel's grid on the CPU, checks every access, and counts what a GPU would have to do. */
#ifndef SG_EXEC_H
#define SG_EXEC_H

#include "../ptx/ptx.h"
#include "memory.h"

typedef struct sg_grid {
    const sg_kernel *kernel;
    uint32_t grid[3], block[3], cluster[3]; /* cluster 1,1,1: none */
    uint32_t dynamic_shared;                /* bytes */
    const void *params;                     /* params_bytes of it */
    sg_memory *memory;
    int sm_count, blocks_per_sm; /* for resident blocks and %nsmid */
    uint32_t registers;          /* of a thread at the start, where setmaxnreg counts; 0: not known, it does nothing */
    bool check_races;            /* two unordered accesses to the same bytes, one of them a write: see race.h */
    bool dependent;                  /* launched before earlier grids are done: a race if a block does not wait for them */
    bool count;                  /* fill in counts */
    const uint64_t *chosen;      /* clusters to run, by number, in this order; NULL: all */
    uint64_t chosen_count;
    uint64_t order;              /* clusters start and take turns as drawn from this seed; 0: by their numbers */
    struct sg_undo *undo;        /* is told before global memory is written; NULL: nobody asks. Needs count */
    uint64_t budget;             /* lane instructions after which a grid without end is a deadlock; 0: default */
} sg_grid;

typedef enum sg_fault {
    SG_FAULT_NONE = 0,
    SG_FAULT_ADDRESS,      /* outside every allocation, or beyond shared or local memory: CUDA_ERROR_ILLEGAL_ADDRESS */
    SG_FAULT_MISALIGNED,   /* CUDA_ERROR_MISALIGNED_ADDRESS */
    SG_FAULT_UNWRITTEN,    /* a read of memory nobody wrote, in shared or global memory */
    SG_FAULT_RACE,         /* with check_races */
    SG_FAULT_DEADLOCK,     /* nobody can go on: CUDA_ERROR_LAUNCH_TIMEOUT */
    SG_FAULT_BARRIER,      /* misuse of a barrier or mbarrier */
    SG_FAULT_TRAP,         /* trap, or brkpt: CUDA_ERROR_LAUNCH_FAILED / ASSERT */
    SG_FAULT_INSTRUCTION,  /* an instruction used in a way the ISA forbids: CUDA_ERROR_ILLEGAL_INSTRUCTION */
    SG_FAULT_MEMORY,       /* out of host memory */
} sg_fault;

/* Where and why a grid stopped. */
typedef struct sg_report {
    sg_fault fault;
    uint32_t block[3], thread[3];
    uint32_t line, other_line; /* in the PTX; other_line: of the second access of a race, else 0 */
    uint64_t address;
    char message[SG_MESSAGE_LENGTH]; /* one line: kernel, block, thread, PTX line, mnemonic, address, what is wrong */
} sg_report;

/* Warp instructions by pipe and memory traffic of the whole grid. */
typedef struct sg_counts {
    uint64_t lane_instructions, warp_instructions;
    uint64_t fma, alu, half, sfu, f64, tensor, control, memory; /* warp instructions by pipe */
    uint64_t products; /* those of fma that are of f32 */
    uint64_t shared_loads, shared_stores, shared_wavefronts;
    uint64_t shared_bytes; /* written */
    uint64_t global_loads, global_stores, global_sectors; /* sectors of 32 bytes */
    uint64_t direct_sectors; /* those of them that were written, or read for use and not into shared memory */
    uint64_t direct_rounds;  /* times that a warp read from global memory and went on with it */
    uint64_t bare_copies;    /* times that it read from there into shared memory with nothing to do meanwhile */
    uint64_t round_trips;    /* times that it waited until all it had written was there, or for an atomic's result */
    uint64_t global_bytes, async_copies, async_bytes, barriers, tensor_flops;
    uint64_t direct_most; /* direct_sectors of the block that has the most: not a sum, unlike all others */
} sg_counts;

/* Runs a grid to its end or its first fault; report and counts may be NULL. Only SG_FAULT_NONE means that all blocks
 * finished. Safe from many threads with different grids. */
sg_fault sg_grid_run(const sg_grid *grid, sg_report *report, sg_counts *counts);

#endif
