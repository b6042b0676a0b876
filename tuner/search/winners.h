/* The winners of a run so far, and which of them a search begins with. */
#ifndef GT_WINNERS_H
#define GT_WINNERS_H

#include "search.h"

typedef struct gt_winner {
    gt_seed seed;
    gt_class class;
    int row; /* of the cover list; -1: of the list of sizes */
} gt_winner;

typedef struct gt_winners {
    gt_winner *list; /* each configuration of a row once */
    gt_seed *seeds;  /* room for as many: what was chosen last */
    size_t count, room;
} gt_winners;

/* Room for `most` of them. winners: gt_winners_finish, also after a failure. */
gt_status gt_winners_init(size_t most, gt_winners *winners);
void gt_winners_finish(gt_winners *winners);

/* Takes in a winner on a problem of a row, unless it is there. */
void gt_winners_add(gt_winners *winners, const gt_kernel *kernel, const gt_class *class, int row);

/* Chooses those of a row of the cover list, or of one class in any row; returns how many. winners->seeds has them until
 * the next choice. */
size_t gt_winners_of_row(gt_winners *winners, int row);
size_t gt_winners_of_class(gt_winners *winners, const gt_class *class);

/* Whether one of a row is of a class's alignment, and of its layout where that counts. */
bool gt_winners_has(const gt_winners *winners, int row, const gt_class *class, bool layout);

/* Chooses all of them, each configuration once. */
size_t gt_winners_all(gt_winners *winners);

/* The class of the types whose kernels take the same time as these: f16 and bf16, which tensor cores multiply alike, and e4m3
 * for e5m2. false: there is none. */
bool gt_class_twin(const gt_class *class, gt_class *twin);

#endif
