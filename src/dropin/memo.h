/*
 * What a thread's calls were forwarded for, so that the next one like them is forwarded at once: in a fifth of the time
 * that it takes to ask for a handle's state and to look the problem up. A call that is forwarded is right whatever has
 * changed since; so a key need not say everything about a call, and is looked at anew now and then.
 */
#ifndef GT_MEMO_H
#define GT_MEMO_H

#include <stdint.h>

#include "answers.h"

#define GT_MEMO_WORDS 36 /* of a key, at most */

/* Answers that a call was looked up under: to what it may be, and to what it is. */
#define GT_MEMO_ANSWERS 2

/* Counts a call and says so if it is to be forwarded like one before. */
bool gt_memo_forwards(const void *key, size_t words);

/* A call was forwarded. The answers that it was counted under are NULL where there is none. */
void gt_memo_keep(const void *key, size_t words, gt_fate fate, gt_answer *const answers[GT_MEMO_ANSWERS]);

#endif
