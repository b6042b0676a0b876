/*
 * The search of one problem: which configurations to try, in which order. First those that are expected to be fastest,
 * one of each shape of tile; then, round after round, the neighbours of the best measured ones. `full` is every
 * configuration.
 */
#ifndef GT_SEARCH_H
#define GT_SEARCH_H

#include "../../db/trial.h"
#include "../../src/estimate/coefficients.h"
#include "space.h"

typedef enum gt_effort {
    GT_EFFORT_QUICK,
    GT_EFFORT_NORMAL,
    GT_EFFORT_FULL, /* every configuration of every space */
    GT_EFFORT_COVER, /* less than quick: what won on problems like this one, and a few more of the same families */
    GT_EFFORT_FIRST, /* the estimate's first choice, beside what serves the problem already */
    GT_EFFORT_TWIN, /* what won in types that are multiplied alike, and the estimate's first choice of that family */
} gt_effort;

#define GT_EFFORT_COUNT 6

typedef struct gt_candidate {
    const gt_space *space;
    size_t row;
    gt_kernel kernel;
    double estimate_us;
    bool tried;
    bool now; /* in this search; else the trial is an earlier run's */
    gt_trial trial;
} gt_candidate;

typedef struct gt_search gt_search;

/* A kernel that did well on another problem and is tried here first, or what this space has that is most like it. */
typedef struct gt_seed {
    char family[GT_FAMILY_LENGTH];
    gt_params params;
} gt_seed;

typedef struct gt_search_options {
    gt_effort effort;
    uint64_t seed;        /* shuffles what the model cannot tell apart */
    const char *family;   /* only this one; NULL: every family that is no rung of the ladder */
    const gt_seed *seeds; /* may be NULL */
    size_t seed_count;
    const gt_seed *served; /* what won on this size in a math that serves this one, tried before all others; or NULL */
    bool only_seeds;       /* nothing else is tried */
    double most_us;        /* what is expected to take longer is not tried; 0: anything may be */
    const gt_fitted *fitted; /* coefficients of the estimate for these types; may be NULL: the shipped ones */
    size_t fitted_count;
} gt_search_options;

/* GT_ERROR_UNSUPPORTED if no family offers anything for the problem. families must outlive *search. Owned:
 * gt_search_destroy. */
gt_status gt_search_create(const gt_families *families, const gt_device *device, const gt_problem *problem,
                           const gt_search_options *options, gt_search **search);
void gt_search_destroy(gt_search *search);

/* The next round of candidates, in the order to try them; *count 0 when the search is over. The caller fills in each
 * one's trial and sets tried. Pointers are valid until the search is destroyed. */
gt_status gt_search_round(gt_search *search, gt_candidate ***round, size_t *count);

/* Candidates that passed, fastest first by what decides a race, at most limit; returns how many. */
size_t gt_search_best(const gt_search *search, gt_candidate **best, size_t limit);

/* Who races: the fastest of those that passed, as many as are close; and the one of the fewest clocks of the SMs, where their
 * clock is known. Screening takes each at the clock that the GPU has at the moment, which on an H200 makes f64 3000x700x1300
 * 106.0 us at 1740 MHz behind 105.5 at 1965: raced in turns these take 100.4 and 104. Times cannot be compared by clocks
 * alone, as memory does not follow the SMs' clock, and what draws more power lowers it. Returns how many. */
#define GT_FINALISTS 5
size_t gt_search_finalists(const gt_search *search, gt_candidate *finalists[GT_FINALISTS]);

/* Whether it passed, and nothing tried so far with the same shape of tile was faster. */
bool gt_search_leads(const gt_search *search, const gt_candidate *candidate);

/* From the space of this number on, the first one none of whose configurations can be launched: the first of them, and
 * why not that one. Returns the number behind it; 0 if there is none. */
size_t gt_search_refused(const gt_search *search, size_t from, gt_kernel *kernel, char reason[GT_DETAIL_LENGTH]);

/* Configurations in all spaces together. */
size_t gt_search_size(const gt_search *search);

#endif
