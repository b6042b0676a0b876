#include "protocol.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "../timer.h"

/* How long a wait goes without looking at the interruption flag: a signal may come just before poll(). */
#define SLICE_S 0.1

/* Where two looks are so far apart, this process did not run, and those that it waits for may not have run either: Ctrl-Z
 * stops them all. Of such a time one slice counts. */
#define STOPPED_S (10 * SLICE_S)

/* For the rest of a message whose header has come: its sender may wait for a core between the two. */
#define REST_S 10.0

static bool send_all(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        const ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        bytes += sent;
        count -= (size_t)sent;
    }
    return true;
}

bool gt_message_send(int fd, gt_message_kind kind, const struct iovec *parts, int count)
{
    gt_message_header header = {.magic = GT_MESSAGE_MAGIC, .kind = kind};
    for (int i = 0; i < count; i++)
        header.bytes += parts[i].iov_len;
    if (header.bytes > GT_MESSAGE_MOST || !send_all(fd, (const char *)&header, sizeof header))
        return false;
    for (int i = 0; i < count; i++)
        if (!send_all(fd, parts[i].iov_base, parts[i].iov_len))
            return false;
    return true;
}

/* What is there already is received, however late it is. *deadline moves on by the time for which this process was stopped. */
static gt_receipt wait_readable(int fd, double *deadline, const volatile sig_atomic_t *interrupted)
{
    double looked = gt_now();
    for (;;) {
        if (interrupted && *interrupted)
            return GT_RECEIVE_INTERRUPTED;
        const double left = *deadline - looked;
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        const int ready = poll(&wait, 1, (int)ceil(fmax(0, fmin(left, SLICE_S)) * 1e3));
        if (ready > 0)
            return GT_RECEIVED; /* bytes, or the end: recv() tells */
        if (ready < 0 && errno != EINTR && errno != EAGAIN)
            return GT_RECEIVE_END;
        if (left <= 0)
            return GT_RECEIVE_LATE;
        const double now = gt_now();
        if (now - looked > STOPPED_S)
            *deadline += now - looked - SLICE_S;
        looked = now;
    }
}

static gt_receipt receive_all(int fd, double *deadline, const volatile sig_atomic_t *interrupted, char *bytes,
                              size_t count)
{
    while (count > 0) {
        gt_receipt receipt = wait_readable(fd, deadline, interrupted);
        if (receipt != GT_RECEIVED)
            return receipt;
        const ssize_t got = recv(fd, bytes, count, MSG_DONTWAIT);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0)
            return GT_RECEIVE_END;
        bytes += got;
        count -= (size_t)got;
    }
    return GT_RECEIVED;
}

gt_receipt gt_message_await(int fd, double *deadline, const volatile sig_atomic_t *interrupted, gt_message *message)
{
    gt_message_header header;
    gt_receipt receipt = receive_all(fd, deadline, interrupted, (char *)&header, sizeof header);
    if (receipt != GT_RECEIVED)
        return receipt;
    if (header.magic != GT_MESSAGE_MAGIC || header.kind < GT_MESSAGE_INIT || header.kind > GT_MESSAGE_FAULT ||
        header.bytes > GT_MESSAGE_MOST)
        return GT_RECEIVE_BAD;
    gt_message m = {.kind = header.kind, .bytes = (size_t)header.bytes, .payload = malloc((size_t)header.bytes + 1)};
    if (!m.payload)
        return GT_RECEIVE_BAD;
    double rest = fmax(*deadline, gt_now() + REST_S);
    receipt = receive_all(fd, &rest, interrupted, m.payload, m.bytes);
    if (receipt != GT_RECEIVED) {
        gt_message_finish(&m);
        return receipt;
    }
    *message = m;
    return GT_RECEIVED;
}

gt_receipt gt_message_receive(int fd, double deadline, const volatile sig_atomic_t *interrupted, gt_message *message)
{
    return gt_message_await(fd, &deadline, interrupted, message);
}

void gt_message_finish(gt_message *message)
{
    free(message->payload);
    *message = (gt_message){0};
}

const void *gt_message_take(const gt_message *message, size_t bytes, size_t *at)
{
    if (bytes > message->bytes - *at)
        return NULL;
    const void *taken = message->payload + *at;
    *at += bytes;
    return taken;
}

bool gt_message_take_struct(const gt_message *message, void *to, size_t bytes, size_t *at)
{
    const void *found = gt_message_take(message, bytes, at);
    if (found)
        memcpy(to, found, bytes);
    return found;
}

bool gt_message_take_blob(const gt_message *message, uint64_t bytes, size_t *at, void **blob)
{
    *blob = NULL;
    if (bytes == 0)
        return true;
    const void *from = bytes <= SIZE_MAX ? gt_message_take(message, (size_t)bytes, at) : NULL;
    if (!from || !(*blob = malloc((size_t)bytes)))
        return false;
    memcpy(*blob, from, (size_t)bytes);
    return true;
}

bool gt_message_take_code(const gt_message *message, uint64_t cubin_bytes, uint64_t ptx_bytes, size_t *at,
                          gt_code *code)
{
    void *ptx = NULL;
    *code = (gt_code){.cubin_bytes = (size_t)cubin_bytes, .ptx_bytes = (size_t)ptx_bytes};
    const bool whole = gt_message_take_blob(message, cubin_bytes, at, &code->cubin) &&
                       gt_message_take_blob(message, ptx_bytes, at, &ptx);
    code->ptx = ptx;
    return whole;
}
