#include "child.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "job.h"

/* INIT: opens the GPU and answers. false: it cannot be opened. */
static bool begin(gt_session *s, const gt_message *message)
{
    gt_message_init init;
    size_t at = 0;
    void *driver = NULL;
    gt_code checks = {0};
    if (!gt_message_take_struct(message, &init, sizeof init, &at))
        return false;
    if (!gt_message_take_blob(message, init.driver_bytes, &at, &driver) ||
        !gt_message_take_code(message, init.cubin_bytes, init.ptx_bytes, &at, &checks) || at != message->bytes ||
        (driver && ((char *)driver)[init.driver_bytes - 1] != 0))
        return false;
    const gt_status status = gt_session_open(s, &init, driver, &checks);
    free(driver);
    gt_code_finish(&checks);
    if (status == GT_OK) {
        gt_session_answer(s, GT_MESSAGE_READY, NULL, 0);
        return true;
    }
    gt_message_failed failed = {.status = status};
    snprintf(failed.line, sizeof failed.line, "%s", gt_error_message());
    gt_session_answer(s, GT_MESSAGE_FAILED, &(struct iovec){&failed, sizeof failed}, 1);
    return false;
}

/* CEILING: measures and answers. A failure ends the process: the context may be broken. */
static bool measure_ceilings(gt_session *s, const gt_message *message)
{
    gt_message_ceiling job;
    gt_ceilings ceilings = {0};
    gt_code code = {0};
    size_t at = 0;
    if (!gt_message_take_struct(message, &job, sizeof job, &at))
        return false;
    const gt_types *types = gt_class_types(&job.class);
    if (!types || !gt_message_take_code(message, job.cubin_bytes, job.ptx_bytes, &at, &code) || at != message->bytes)
        return false;
    const gt_status status = gt_ceilings_measure(&s->meter, &s->device, types, &code, &ceilings);
    gt_code_finish(&code);
    if (status == GT_OK)
        gt_session_answer(s, GT_MESSAGE_CEILINGS, &(struct iovec){&ceilings, sizeof ceilings}, 1);
    return status == GT_OK;
}

/* ACCURACY: runs a kernel, and cuBLAS, on the same data and answers. false: the context is broken. */
static bool measure_accuracy(gt_session *s, const gt_message *message)
{
    gt_message_accuracy job;
    gt_message_accuracies found = {0};
    gt_kernel_runner runner = {0};
    gt_accuracy_case made = {0};
    gt_code code = {0};
    size_t at = 0;
    if (!gt_message_take_struct(message, &job, sizeof job, &at))
        return false;
    if (!gt_class_types(&job.problem.class) || job.kind >= GT_DATA_KINDS ||
        !gt_message_take_code(message, job.contestant.cubin_bytes, job.contestant.ptx_bytes, &at, &code) ||
        at != message->bytes)
        return false;
    s->sampled.ready = false; /* gt_accuracy_prepare takes its buffers */
    if (!gt_accuracy_prepare(&s->timed, &job.problem, (gt_data_kind)job.kind, job.seed, &made, &found.kernel.trial)) {
        found.cublas.trial = found.kernel.trial;
    } else {
        gt_runner *const cublas = job.baseline ? gt_entrance_cublas(&s->entrance, &found.cublas.trial) : NULL;
        if (!job.baseline)
            gt_trial_fail(&found.cublas.trial, GT_TRIAL_LAUNCH_ERROR, "not asked for");
        if (gt_kernel_runner_init(s->driver, &s->device, s->stream, &job.contestant.kernel, &code, &runner,
                                  &found.kernel.trial))
            gt_accuracy_measure(&made, &runner.runner, &found.kernel);
        if (cublas)
            gt_accuracy_measure(&made, cublas, &found.cublas);
    }
    gt_session_answer(s, GT_MESSAGE_ACCURACIES, &(struct iovec){&found, sizeof found}, 1);
    gt_kernel_runner_finish(&runner);
    gt_accuracy_finish(&made);
    gt_code_finish(&code);
    return s->driver->cuCtxSynchronize() == CUDA_SUCCESS;
}

int gt_worker_main(int fd)
{
    static const int tuners[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    gt_session s = {.fd = fd};
    gt_message message = {0};
    sigset_t none;
    /* A signal to the whole group is the tuner's to act on. This process ends with its parent: by the signal asked for
     * here (which comes when the thread that started it ends), or by the socket's end. */
    for (size_t i = 0; i < sizeof tuners / sizeof tuners[0]; i++)
        signal(tuners[i], SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    fcntl(fd, F_SETFD, FD_CLOEXEC);

    while (gt_message_receive(fd, INFINITY, NULL, &message) == GT_RECEIVED) {
        bool good = false;
        if (message.kind == GT_MESSAGE_INIT && !s.driver)
            good = begin(&s, &message);
        else if ((message.kind == GT_MESSAGE_TRY || message.kind == GT_MESSAGE_RACE) && s.context)
            good = gt_job_run(&s, &message);
        else if (message.kind == GT_MESSAGE_CEILING && s.context)
            good = measure_ceilings(&s, &message);
        else if (message.kind == GT_MESSAGE_ACCURACY && s.context)
            good = measure_accuracy(&s, &message);
        gt_message_finish(&message);
        if (!good)
            gt_session_leave(1);
    }
    gt_session_leave(0);
}
