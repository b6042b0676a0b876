/* Verdicts on stored kernels: how one is found by a check with the data of one seed, and put on record. */
#ifndef GT_VERDICT_H
#define GT_VERDICT_H

#include "engine.h"

/*
 * Verifies a stored kernel on these terms; *trial is a trial of GT_STAGE_VERIFY. What a machine can do to right code is no verdict on it: after a crash the GPU must still be able to run the check, and what
 * came too late must do so again with more time. Otherwise *trial is what the second try came to. Returns other than
 * GT_OK as gt_worker_try does: then nothing is known.
 */
gt_status gt_verdict_find(gt_engine *engine, const gt_problem *problem, const gt_contestant *contestant,
                          const gt_try_terms *terms, gt_trial *trial);

/* Puts a verdict on record, durable when this returns: one that convicts takes the kernel out of service, one that is
 * ok clears it of the same check. The engine writes from then on. */
gt_status gt_verdict_put(gt_engine *engine, const gt_problem *problem, const gt_kernel *kernel, const gt_trial *trial);

#endif
