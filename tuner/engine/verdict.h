/* Verdicts on stored kernels: how one is found by a check with the data of one seed, and put on record. */
#ifndef GT_VERDICT_H
#define GT_VERDICT_H

#include "engine.h"

/*
 * Verifies a stored kernel on these terms; *trial is a trial of GT_STAGE_VERIFY. A crash or a timeout may be the
 * machine's fault, so it is checked a second time, with more time: a crash convicts only if that check runs to a
 * verdict, and after a timeout the second outcome counts. Returns other than GT_OK as gt_worker_try does: then nothing
 * is known of the kernel.
 */
gt_status gt_verdict_find(gt_engine *engine, const gt_problem *problem, const gt_contestant *contestant,
                          const gt_try_terms *terms, gt_trial *trial);

/* Puts a verdict on record, durable when this returns: one that convicts takes the kernel out of service, one that is
 * ok clears it of the same check. The engine writes from then on. */
gt_status gt_verdict_put(gt_engine *engine, const gt_problem *problem, const gt_kernel *kernel, const gt_trial *trial);

#endif
