#include "session.h"

#include <math.h>
#include <unistd.h>

gt_status gt_session_open(gt_session *s, const gt_message_init *init, const char *driver, const gt_code *checks)
{
    CUdevice device;
    CUresult result;
    gt_status status = gt_driver_open(driver, &s->driver);
    if (status != GT_OK)
        return status;
    if ((status = gt_device_query(s->driver, init->device, &s->device)) != GT_OK)
        return status;
    if ((result = s->driver->cuDeviceGet(&device, init->device)) != CUDA_SUCCESS ||
        (result = s->driver->cuDevicePrimaryCtxRetain(&s->context, device)) != CUDA_SUCCESS ||
        (result = s->driver->cuCtxSetCurrent(s->context)) != CUDA_SUCCESS)
        return gt_driver_check(s->driver, result, "opening the GPU");
    /* A stream that waits for the default one: plain copies between host and device are in order with it. */
    if ((result = s->driver->cuStreamCreate(&s->stream, CU_STREAM_DEFAULT)) != CUDA_SUCCESS)
        return gt_driver_check(s->driver, result, "cuStreamCreate");
    if ((status = gt_checks_init(s->driver, s->stream, checks, &s->checks)) != GT_OK ||
        (status = gt_meter_init(s->driver, s->stream, &s->device, &s->meter)) != GT_OK)
        return status;
    gt_buffers_init(&s->checks, &s->buffers);
    gt_buffers_init(&s->checks, &s->timed);
    gt_verifier_init(&s->checks, &s->verifier);
    gt_residual_init(&s->checks, &s->buffers, &s->residual);
    gt_sampled_init(&s->checks, &s->timed, &s->sampled);
    s->entrance = (gt_entrance){.driver = s->driver, .stream = s->stream, .meter = &s->meter,
                                .residual = &s->residual,
                                .other_driver = driver != NULL || s->driver->soft != NULL};
    return GT_OK;
}

_Noreturn void gt_session_leave(int code)
{
    _exit(code);
}

void gt_session_answer(const gt_session *s, gt_message_kind kind, const struct iovec *parts, int count)
{
    if (!gt_message_send(s->fd, kind, parts, count))
        gt_session_leave(1);
}

static void await_go(const gt_session *s)
{
    gt_message message = {0};
    if (gt_message_receive(s->fd, INFINITY, NULL, &message) != GT_RECEIVED || message.kind != GT_MESSAGE_GO)
        gt_session_leave(1);
    gt_message_finish(&message);
}

void gt_session_report(gt_session *s, gt_phase phase, size_t index)
{
    gt_message_phase message = {.phase = phase, .index = (uint32_t)index};
    gt_session_answer(s, GT_MESSAGE_PHASE, &(struct iovec){&message, sizeof message}, 1);
    if (s->away && gt_phase_needs_gpu(phase))
        await_go(s);
    s->away = !gt_phase_needs_gpu(phase);
}

_Noreturn void gt_session_give_up(const gt_session *s, size_t index, const gt_trial *trial)
{
    gt_message_fault fault = {.index = index, .trial = *trial};
    gt_session_answer(s, GT_MESSAGE_FAULT, &(struct iovec){&fault, sizeof fault}, 1);
    gt_session_leave(0);
}

void gt_session_recover(gt_session *s, size_t index, const gt_trial *trial)
{
    if (trial->outcome == GT_TRIAL_OK)
        return;
    if (s->driver->cuCtxSynchronize() != CUDA_SUCCESS)
        gt_session_give_up(s, index, trial);
    gt_residual_spoilt(&s->residual);
}
