/* The tuner's jobs: a candidate is verified and timed, or contestants and baselines race. */
#ifndef GT_JOB_H
#define GT_JOB_H

#include "session.h"

/* Runs a TRY or a RACE and answers with its RESULT. false: the message makes no sense, or there is no memory. */
bool gt_job_run(gt_session *s, const gt_message *message);

#endif
