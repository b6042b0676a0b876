/* The command line. */
#ifndef GT_OPTIONS_H
#define GT_OPTIONS_H

#include <limits.h>
#include <stdbool.h>

#include "../../src/core/device.h"
#include "../../src/core/problem.h"
#include "../engine/engine.h"
#include "../engine/shard.h"
#include "shapes.h"
#include "type_list.h"

/* The subcommands, in the order of the help. */
typedef enum gt_command_id {
    GT_COMMAND_TUNE,
    GT_COMMAND_BEST,
    GT_COMMAND_LADDER,
    GT_COMMAND_BENCH,
    GT_COMMAND_SPACE,
    GT_COMMAND_RENDER,
    GT_COMMAND_PROFILE,
    GT_COMMAND_VERIFY,
    GT_COMMAND_FORGET,
    GT_COMMAND_DOCTOR,
    GT_COMMAND_RUN,
    GT_COMMAND_MERGE,
    GT_COMMAND_FIT,
    GT_COMMAND_WANTED,
    GT_COMMAND_WHY,
    GT_COMMAND_REPORT,
    GT_COMMAND_REVALIDATE,
    GT_COMMAND_SLURM,
} gt_command_id;

#define GT_COMMAND_COUNT 18

typedef struct gt_command_row {
    const char *name;
    const char *operand; /* "FAMILY", "[FAMILY]" where it may be left out; NULL: takes none */
    const char *shapes;  /* the list where --shapes is not given */
    const char *types;   /* and where --type is not */
    const char *soft_types; /* on the software GPU; NULL: the same */
    const char *summary; /* one sentence for the help */
    const char *example;
} gt_command_row;

typedef struct gt_option_row {
    const char *name;  /* without the dashes */
    const char *value; /* "FILE"; NULL: a switch */
    int letter;        /* 'q' for -q; 0: none */
    const char *help;
    unsigned commands; /* one bit for each command that takes it, 1u << GT_COMMAND_TUNE */
    bool rare;         /* left to the manual where the help of a command would not fit a screen */
} gt_option_row;

extern const gt_command_row gt_command_rows[GT_COMMAND_COUNT];
extern const gt_option_row gt_option_rows[]; /* ends with a NULL name */

/* What the command line said, with defaults filled in. */
typedef struct gt_options_cli {
    const char *command;  /* "tune" where none is given */
    gt_command_id command_id;
    bool command_given;
    bool help, version;   /* --help, --version: nothing else is checked then but names */
    const char *database; /* --db FILE; NULL: the default place */
    const char *nvrtc;    /* --nvrtc FILE */
    const char *templates; /* --templates DIR */
    const char *driver;   /* NULL: the CUDA driver; the software GPU's library for --device soft */
    int device;           /* --device N */
    bool all_devices;     /* --device all */
    bool device_given;
    const char *family;   /* --family NAME; NULL: all that fit */
    const char *kernel;   /* forget --kernel ID */
    const char *arch;     /* --arch sm_80: space and render without a GPU; NULL: the device's */
    const char *params;   /* render --params "bm=128 bn=128"; NULL: the space's first row */
    const gt_types *types; /* --type f32 and --math tf32; the first of them where there are several */
    const gt_types *type_list[GT_TYPES_MOST]; /* --type f32,f16 --math strict,tf32: each pair that there is once */
    size_t type_count;
    const char *type_names, *math_names; /* as they were given; math_names NULL: not at all */
    bool all_types;       /* --type all: those that a command finds nothing for are left out */
    gt_op op_a, op_b;     /* --layout nn */
    bool type_given, layout_given;
    int64_t batch;        /* --batch N */
    int align;            /* --align BYTES; 16 */
    gt_shapes shapes;     /* --shapes LIST; the command's default list where none was given */
    gt_shapes few;        /* a shorter list for types that are less usual, where there are all; else empty */
    bool shapes_given;
    int random;           /* --random N: so many of them are drawn; 0: none */
    gt_shard shard;       /* --shard I/N */
    gt_effort effort;     /* --effort quick|normal|full */
    double budget_s;      /* --budget 10m; 0: none */
    double limit_s;       /* --timeout 10s: one candidate */
    uint64_t seed;        /* --seed N */
    bool seed_given;
    int threads;          /* --jobs N: compiling threads; 0: as many as cores */
    bool json, quiet, verbose, all, no_cublas; /* --json --quiet --verbose --all --no-cublas */
    bool checked;         /* verify --checked */
    int rounds;           /* verify --rounds N */
    bool untuned;         /* bench --untuned */
    bool errors;          /* bench --errors */
    int regret;           /* bench --regret N; 0: no */
    const char *trials;   /* fit --trials FILE; NULL: those of the database */
    const char *save;     /* fit --save FILE: writes them there; NULL: nowhere */
    bool wanted;          /* tune --wanted: what programs asked for, by `gemmtune run` */
    int top;              /* --top N of them; 0: all */
    bool capture_only;    /* run --capture-only */
    int margin;           /* run --margin PERCENT */
    const char *f32;      /* run --f32 strict|split|tf32 */
    bool blas;            /* run --blas: products of host memory, in place of cuBLAS's */
    bool dlsym;           /* run --dlsym */
    const char *output;   /* report --output FILE; NULL: standard output */
    const char *operand;  /* the word after the command: space FAMILY, render FAMILY; else NULL */
    int shards;           /* slurm --shards N */
    const char *gpus;     /* slurm --gpus LIST; NULL: any */
    bool dry_run;         /* slurm --dry-run */
    const char **files;   /* merge INTO FROM: the words behind the operand; slurm -- WORDS; owned */
    size_t file_count;
    char *const *program; /* run PROGRAM ARGUMENTS: these words, a NULL behind them; else NULL */
    void (*on_pipe)(int), (*on_large_file)(int); /* SIGPIPE and SIGXFSZ as they came to this program */
    char *const *words;   /* the command line, and as one text, for the run's row */
    size_t word_count;
    char *line;
} gt_options_cli;

/* Fills options from the command line. GT_ERROR_INVALID names the option, what it takes and, for a near miss, what
 * was probably meant. *options: gt_options_finish. */
gt_status gt_options_parse(int argc, char **argv, gt_options_cli *options);
void gt_options_finish(gt_options_cli *options);

/* The GPU that --device names; fails where there is none. */
gt_status gt_options_gpu(const gt_options_cli *options, gt_device *device);

/* What space and render work for: --arch, else the GPU, else (device->ordinal is -1) Hopper, sm_90a. */
gt_status gt_options_device(const gt_options_cli *options, gt_device *device);

/* The problem of one shape under these options (types, layout, batch, align). */
gt_status gt_options_problem(const gt_options_cli *options, const gt_shape *shape, gt_problem *problem);

/* Every problem under these options: type by type, each with its list of shapes. Owned: free(). */
gt_status gt_options_problems(const gt_options_cli *options, gt_problem **problems, size_t *count);

/* How many problems, from the first on, have the first one's types. */
size_t gt_options_group(const gt_problem *problems, size_t count);

#define GT_OPTIONS_SHAPE 128

/* A problem in a table: "1024x512x64"; "1024x512x64 nt batch 8 align 4" where the options do not say that already. */
void gt_options_shape(const gt_options_cli *options, const gt_problem *problem, char text[GT_OPTIONS_SHAPE]);

#define GT_OPTIONS_DB (PATH_MAX + 8)

/* " --db FILE" for a command that a message names, where a database was named; else "". Returns text. */
const char *gt_options_db(const char *database, char text[GT_OPTIONS_DB]);

/* What the engine takes of them. It points into options. */
gt_engine_options gt_options_engine(const gt_options_cli *options);

/* Every subcommand: 0 on success, 1 on failure (it printed why), 2 is for a bad command line. */
typedef int gt_command(const gt_options_cli *options);
gt_command gt_cmd_tune, gt_cmd_best, gt_cmd_ladder, gt_cmd_bench, gt_cmd_space, gt_cmd_render,
    gt_cmd_profile, gt_cmd_verify, gt_cmd_forget, gt_cmd_doctor, gt_cmd_run, gt_cmd_merge, gt_cmd_fit,
    gt_cmd_wanted, gt_cmd_why, gt_cmd_report, gt_cmd_revalidate, gt_cmd_slurm;

#endif
