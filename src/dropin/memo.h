/*
 * What a thread's calls were forwarded for, so that the next one like them is forwarded at once: in a tenth of the time
 * that it takes to read all of a handle's state and to look the problem up. A call that is forwarded is right whatever has
 * changed since, so only what would be found again is remembered, and is looked at anew now and then.
 */
#ifndef GT_MEMO_H
#define GT_MEMO_H

#include "answers.h"
#include "cublas.h"

/* Answers that a call was looked up under: to what it may be, and to what it is. */
#define GT_MEMO_ANSWERS 2

/* Counts a call and says so if it is to be forwarded like one before. The math mode is known, and no other state. */
bool gt_memo_forwards(const gt_cublas_call *call);

/* A call was not answered. The answers that it was counted under are NULL where there is none. */
void gt_memo_keep(const gt_cublas_call *call, gt_fate fate, gt_answer *const answers[GT_MEMO_ANSWERS]);

#endif
