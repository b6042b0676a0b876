/*
 * The store: one SQLite file with every attempt ever made. Many processes may write it; readers need no write
 * access. Every put is one transaction, durable when it returns.
 */
#ifndef GT_STORE_H
#define GT_STORE_H

#include "../src/estimate/coefficients.h"
#include "../src/core/device.h"
#include "../src/core/kernel.h"
#include "../src/core/problem.h"
#include "trial.h"

typedef struct gt_store gt_store;

typedef enum gt_store_mode {
    GT_STORE_READ,  /* the file must exist; nothing is written, but an interrupted transaction is rolled back where
                       allowed */
    GT_STORE_WRITE, /* created and migrated where needed */
    GT_STORE_ADD,   /* the same inside an application: it waits no longer for others than a reader does */
} gt_store_mode;

/*
 * Opens a store; path NULL is the default place. Failures, each with one line that names the file and what to do:
 * GT_ERROR_NO_DATABASE (READ and missing), GT_ERROR_DATABASE (no database, of another program, damaged),
 * GT_ERROR_VERSION (newer schema), GT_ERROR_UNTRUSTED (somebody other than the user and root can write the file or
 * its folder), GT_ERROR_BUSY, GT_ERROR_IO. *store is owned by the caller: gt_store_close. One thread at a time.
 */
gt_status gt_store_open(const char *path, gt_store_mode mode, gt_store **store);

/* Whether there is a store to read: for those who write only what belongs to something that is there. It fails as opening
 * would. */
gt_status gt_store_find(const char *path);

/* NULL is allowed. */
void gt_store_close(gt_store *store);

/* The file's absolute path; valid until the store is closed. */
const char *gt_store_path(const gt_store *store);

/* The default file: $GEMMTUNE_DB, else $XDG_DATA_HOME/gemmtune/gemmtune.db, else the same under ~/.local/share.
 * Folders are made by gt_store_open in WRITE mode. GT_ERROR_INVALID if path is too small. */
gt_status gt_store_default_path(char *path, size_t size);

/* The system-wide file that stands behind the user's: $GEMMTUNE_SYSTEM_DB, else what the build says (-Dsystem_db). */
const char *gt_store_system_path(void);

/* Whether a store is on a network file system, where locks may not be what they seem: worth a warning before tuning.
 * False if that cannot be told. */
bool gt_store_on_network(const gt_store *store);

/* Find or make a row; the id is for the puts below. */
gt_status gt_store_gpu(gt_store *store, const gt_device *device, int64_t *id);
gt_status gt_store_problem(gt_store *store, const gt_problem *problem, int64_t *id);

/* Finds a problem's row and makes none. */
gt_status gt_store_find_problem(gt_store *store, const gt_problem *problem, bool *found, int64_t *id);

/* What a run was: written at its start, closed at its end. */
typedef struct gt_run {
    const char *program;   /* version of gemmtune */
    const char *driver;    /* "13.0" */
    const char *nvrtc;     /* "13.0" */
    const char *host;
    const char *arguments; /* the command line */
    uint64_t seed;
} gt_run;

/* Under what a run proved and timed kernels. Another driver or compiler may change both, another gemmtune what is
 * checked. */
typedef struct gt_conditions {
    char driver[32], nvrtc[32], program[32];
    double clock_mhz; /* of the SMs; what a trial ran at, and for now the highest that the GPU has; 0: not known */
} gt_conditions;

/* Those of a run, "" each where there is no such run; the clock is its trials'. */
gt_status gt_store_find_conditions(gt_store *store, int64_t run, gt_conditions *conditions);

/* What differs from the ones of now, "driver 12.9, now 13.0"; "" if nothing. What is empty in either is not compared, and
 * a lower clock then proves nothing: load lowers it. Returns text. */
#define GT_CONDITIONS_TEXT 96
const char *gt_conditions_compare(const gt_conditions *then, const gt_conditions *now, char text[GT_CONDITIONS_TEXT]);

gt_status gt_store_run_begin(gt_store *store, const gt_run *run, int64_t *id);
/* end is "done", "budget", "interrupted" or "failed". */
gt_status gt_store_run_end(gt_store *store, int64_t run, const char *end);

/* Puts one trial, with its kernel's row if it is new or damaged; code is stored where it is not NULL and not there yet.
 * A new kernel's class, what it was rendered for, is that of the problem. GT_ERROR_INVALID where a kernel of another
 * class cannot have run this problem. */
gt_status gt_store_put_trial(gt_store *store, int64_t run, int64_t gpu, int64_t problem, const gt_kernel *kernel,
                             const gt_code *code, const gt_trial *trial);

/* Puts the code of a kernel that was tried on a problem without it. */
gt_status gt_store_put_code(gt_store *store, int64_t problem, const gt_kernel *kernel, const gt_code *code);

/* Bytes of a kernel's code; 0 where there is none. */
gt_status gt_store_find_code_bytes(gt_store *store, int64_t kernel, int64_t *bytes);

/* Drops the code of kernels, but for those that were tried on other GPUs too; all else that is known of them stays. Then
 * the file is made as small as it can be, unless somebody else uses it. *dropped says how many there were. */
gt_status gt_store_drop_code(gt_store *store, int64_t gpu, const int64_t *kernels, size_t count, size_t *dropped);

/* A baseline's time on the same problem in the same run: name is "cublas" or "cublaslt", version its own. */
gt_status gt_store_put_baseline(gt_store *store, int64_t run, int64_t gpu, int64_t problem, const char *name,
                                const char *version, const gt_trial *trial);

/* The most a GPU could do with these types; source is "units x clock", which never replaces a measured one, or
 * "measured". */
gt_status gt_store_put_peak(gt_store *store, int64_t gpu, const gt_types *types, double tflops, const char *source);

/* How fast a GPU copies its memory, measured: 10^12 bytes a second, read and written together. */
gt_status gt_store_put_bandwidth(gt_store *store, int64_t gpu, double copy_tbs);

/* What was measured of a GPU model by the two above; 0 if nobody did. */
gt_status gt_store_find_peak(gt_store *store, const gt_device *device, const gt_types *types, double *tflops);
gt_status gt_store_find_bandwidth(gt_store *store, const gt_device *device, double *copy_tbs);

/* The coefficients of estimates that were fitted on a GPU model for products of some types, family by family. Those that
 * make no sense are left out and counted. *list is owned by the caller: free(). A put replaces what was there. */
gt_status gt_store_put_fitted(gt_store *store, int64_t gpu, const gt_types *types, const gt_fitted *list, size_t count);
gt_status gt_store_find_fitted(gt_store *store, const gt_device *device, const gt_types *types, gt_fitted **list,
                               size_t *count, size_t *left_out);

/* Whether there is any problem of these types. */
gt_status gt_store_has_types(gt_store *store, const gt_types *types, bool *has);

/* What programs measured of a machine with such a GPU, by name: kept beside the coefficients, for it is used as they are.
 * The newest one of any GPU is found; *value stays where there is none. */
gt_status gt_store_put_rate(gt_store *store, int64_t gpu, const char *name, double value);
gt_status gt_store_find_rate(gt_store *store, const char *name, double *value);

/* A search of a problem came to its end; search is the hash of all that it depends on. */
gt_status gt_store_put_searched(gt_store *store, int64_t run, int64_t gpu, int64_t problem, const char *search);
gt_status gt_store_find_searched(gt_store *store, int64_t gpu, int64_t problem, const char *search, bool *found);

/* Whether a kernel was already tried on a problem with this very source, compiler and architecture, and how it went:
 * the newest screening. *found is false if not. A failure to compile counts on every problem, and so does one that
 * convicts the code; one that it was cleared of counts no more. */
gt_status gt_store_find_trial(gt_store *store, int64_t gpu, int64_t problem, const gt_kernel *kernel, bool *found,
                              gt_trial *trial);

/* The best of the baselines' newest times on a problem, in microseconds; 0 if there is none. */
gt_status gt_store_find_baseline(gt_store *store, int64_t gpu, int64_t problem, double *us);

/* One kernel with one measurement of it. */
typedef struct gt_measured {
    int64_t kernel_id;
    const gt_kernel *kernel;
    gt_problem problem; /* class and sizes; not the leading dimensions */
    gt_trial trial;
    bool same_gpu;      /* measured on this GPU model; else on another of the same architecture */
    bool winner;        /* the newest winner of a race on that problem */
    int64_t run;        /* that measured it */
    bool unbeaten;      /* the kernel won the last race that it ran in there on this model; if others did too, it could not
                           run in theirs, or files were merged */
    double baseline_us; /* the best of the baselines' newest times there, on that GPU, by which of the two figures, warm or
                           cold, they are better: programs run between the two; 0: none */
    double estimate_us; /* of the kernel there, by the coefficients of its family; 0: not made */
    double screen_us;   /* what it took there when it was screened, where `trial` is of a race; 0: not known */
} gt_measured;

/* The time by which kernels are compared: every kernel was screened, in milliseconds. Races are of the best, and so long
 * that power limits the clock: on an H200 kernels of more than 60 us take up to 1.18 of their time in a screening there. */
double gt_measured_us(const gt_measured *measured);

/* A list of them, and the kernels that they point to. */
typedef struct gt_measurements {
    gt_measured *list;
    size_t count;
    gt_kernel *kernels;
    gt_fitted *fitted; /* coefficients of estimates; families that have none take the shipped ones */
    size_t fitted_count, misfits; /* misfits: families whose coefficients make no sense, which take them too */
    size_t damaged;   /* kernels, or measurements of them, that were left out because their rows are damaged */
    char damage[512]; /* one line on the first of them */
} gt_measurements;

/*
 * All measurements of all kernels that have code and are not convicted, on GPUs of the device's architecture, for
 * problems of the classes whose kernels serve this one. Newest first; one row for each kernel and problem. Measured
 * times are preferred to modelled ones: the latter are returned only where no measured one exists. *measurements:
 * gt_measurements_finish.
 */
gt_status gt_store_find_measured(gt_store *store, const gt_device *device, const gt_class *class,
                                 gt_measurements *measurements);

/* Of them those of one problem: its very sizes, batch and class. That takes 0.3 ms where all take 5 to 20, in a database of
 * some thousand trials. */
gt_status gt_store_find_measured_on(gt_store *store, const gt_device *device, const gt_problem *problem,
                                    gt_measurements *measurements);
void gt_measurements_finish(gt_measurements *measurements);

/* Takes what was measured on a problem's sizes out of a list; returns the best time of it, 0 for none. */
double gt_measurements_leave_out(gt_measurements *measurements, const gt_problem *problem);

/* Takes a kernel out of a list. */
void gt_measurements_drop_kernel(gt_measurements *measurements, int64_t kernel_id);

/* A kernel's code, checked against its hash, and its row against its seal: GT_ERROR_CORRUPT names the kernel.
 * GT_ERROR_NOT_TUNED: there is none, or no longer: another file may have been copied over this one, and the id be another's
 * than `kernel`, which is what the caller knows of it; NULL: any. Never of a file that others can write:
 * GT_ERROR_UNTRUSTED. *code: gt_code_finish. */
gt_status gt_store_find_code(gt_store *store, int64_t kernel_id, const gt_kernel *kernel, gt_code *code);

/* Whether a status of gt_store_find_code is about that kernel alone, and others may still be had: its code is damaged, or
 * another process has dropped it since it was listed. */
bool gt_store_lacks_code(gt_status status);

/*
 * Convictions. A trial that ends in wrong_result, out_of_bounds, crash or timeout says that the code is wrong: no
 * kernel of the same source, compiler and architecture is offered any more, on any size and GPU, by
 * gt_store_find_measured or the view best_configs, whatever other trials say. Put a trial of stage GT_STAGE_VERIFY
 * that is ok, with the same problem and seed, to clear it: after that very check passed, and fresh ones, too.
 */
typedef struct gt_convicted {
    int64_t kernel_id;
    gt_kernel kernel;
    gt_problem problem; /* it failed on: class and sizes, not the leading dimensions */
    gt_trial trial;     /* the failure: outcome, detail, and always the seed of its data */
    bool same_gpu;      /* it failed on this GPU model; else on another of the same architecture */
    bool has_code;      /* gt_store_find_code has it */
} gt_convicted;

typedef struct gt_convictions {
    gt_convicted *list;
    size_t count;
} gt_convictions;

/* The kernels of a device's architecture that are out of service, one row for each check that they failed and have to
 * pass, newest first. *convictions: gt_convictions_finish. */
gt_status gt_store_find_convicted(gt_store *store, const gt_device *device, gt_convictions *convictions);
void gt_convictions_finish(gt_convictions *convictions);

/* Takes the code out of a list that is out of service by another store's trials. */
gt_status gt_measurements_drop_convicted(gt_measurements *measured, gt_store *other, const gt_device *device);

#define GT_FORGET_PREFIX 4 /* hexadecimal digits, at least */

/* What to forget: one of these; the others are 0 or NULL. */
typedef struct gt_forget {
    int64_t kernel_id;         /* a kernel, and those of the same code */
    const char *source_hash;   /* the same, by the beginning of its hash */
    const char *family;        /* all kernels of a family */
    const gt_problem *problem; /* by class and sizes: all that was tried on it, and whatever failed on it for good */
} gt_forget;

/*
 * Drops kernels with their trials, or a problem's trials and baselines with the kernels that were tried on nothing
 * else, so that the next tuning tries them afresh: searches that saw any of it count as not done. With a kernel its
 * failures are forgotten. *kernels and *trials: how many rows went; none is no failure. GT_ERROR_INVALID if not one
 * thing is named, or by fewer than GT_FORGET_PREFIX digits.
 */
gt_status gt_store_forget(gt_store *store, const gt_forget *what, int64_t *kernels, int64_t *trials);

/* How many rows a merge brought; of those that were there already none is counted. */
typedef struct gt_merged {
    int64_t runs, problems, trials, baselines;
} gt_merged;

/*
 * Takes in all that another file holds, in one transaction: all of it or, where this fails, nothing. Rows keep their
 * times and the runs they belong to; what is here already stays, so a second time changes nothing, and in whatever
 * order files are merged, all answers are the same. A failure in any of them convicts. GT_ERROR_INVALID: the same file;
 * a file that gt_store_open refuses, is damaged anywhere, has a kernel that does not match its seal or its code's hash,
 * or changes meanwhile is refused with a line that names it.
 */
gt_status gt_store_merge(gt_store *store, const char *from, gt_merged *merged);

/* A problem that a program asked for through one function, and what became of its calls. */
typedef struct gt_wanted {
    gt_problem problem;
    const char *symbol; /* "cublasSgemm_v2" */
    const char *fate;   /* "answered", else why not */
    bool tunable;       /* whether tuning may change that */
    int64_t calls;
    double us;       /* one call without gemmtune, more than 0 */
    double saved_us; /* of that, by stored times */
} gt_wanted;

/* How many rows of them a database keeps: those that were seen last. */
#define GT_WANTED_MOST 20000

/* Adds calls to those that are stored, in one transaction; times become the new ones. */
gt_status gt_store_put_wanted(gt_store *store, int64_t gpu, const char *program, const gt_wanted *list, size_t count);

/* A problem that programs asked for. */
typedef struct gt_asked {
    gt_problem problem;
    double us; /* of all its calls, without gemmtune */
} gt_asked;

/* The problems that were asked for on a GPU model and that tuning may help, those first whose calls take longest. Owned:
 * free(). */
gt_status gt_store_find_wanted(gt_store *store, const gt_device *device, gt_asked **asked, size_t *count);

/* SQL: what people call the GPU model `g`, with what tells it from others of its name. */
#define GT_GPU_LABEL                                                                                         \
    "g.name || CASE WHEN (SELECT count(*) FROM gpu o WHERE o.name = g.name) > 1 THEN"                        \
    " printf(', %d SMs, %.0f GiB', g.sm_count, g.memory_bytes / 1073741824.0) ELSE '' END"

/* Runs a query and hands each row to a callback as text (NULL for SQL's NULL); a non-zero return stops it. For
 * `gemmtune best` and the tests. parameters are bound in order as text, a NULL entry ends them; may be NULL. */
typedef int gt_store_row(void *data, int columns, const char *const *names, const char *const *values);
gt_status gt_store_query(gt_store *store, const char *sql, const char *const *parameters, gt_store_row *row,
                         void *data);

#endif
