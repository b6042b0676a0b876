/* What a worker and its parent say to each other. */
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "../tuner/timer.h"
#include "../tuner/worker/protocol.h"
#include "check.h"

/* A pair of connected sockets, closed by the test. */
static void make_pair(int pair[2])
{
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
}

TEST(messages_arrive_whole_however_they_are_cut)
{
    static char sent[3 << 20];
    int pair[2];
    gt_message message;
    for (size_t i = 0; i < sizeof sent; i++)
        sent[i] = (char)check_random();
    make_pair(pair);
    const pid_t child = fork();
    if (child == 0) {
        const struct iovec parts[] = {
            {sent, 1}, {sent + 1, 1000000}, {NULL, 0}, {sent + 1000001, sizeof sent - 1000001}};
        _exit(gt_message_send(pair[1], GT_MESSAGE_TRY, parts, 4) ? 0 : 1);
    }
    CHECK(child > 0);
    CHECK_INT(gt_message_receive(pair[0], gt_now() + 10, NULL, &message), GT_RECEIVED);
    CHECK_INT(message.kind, GT_MESSAGE_TRY);
    CHECK_INT(message.bytes, sizeof sent);
    CHECK(memcmp(message.payload, sent, sizeof sent) == 0);
    gt_message_finish(&message);
    close(pair[1]);
    CHECK_INT(gt_message_receive(pair[0], gt_now() + 10, NULL, &message), GT_RECEIVE_END);
    close(pair[0]);
}

TEST(messages_that_are_none_are_refused)
{
    const gt_message_header bad[] = {{0, GT_MESSAGE_READY, 0},
                                     {GT_MESSAGE_MAGIC, 0, 0},
                                     {GT_MESSAGE_MAGIC, 99, 0},
                                     {GT_MESSAGE_MAGIC, GT_MESSAGE_READY, GT_MESSAGE_MOST + 1},
                                     {GT_MESSAGE_MAGIC, GT_MESSAGE_READY, UINT64_MAX}};
    int pair[2];
    gt_message message;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        make_pair(pair);
        CHECK(write(pair[1], &bad[i], sizeof bad[i]) == sizeof bad[i]);
        CHECK_INT(gt_message_receive(pair[0], gt_now() + 1, NULL, &message), GT_RECEIVE_BAD);
        close(pair[0]);
        close(pair[1]);
    }
}

TEST(waiting_ends_at_its_deadline_and_sending_to_nobody_fails)
{
    int pair[2];
    gt_message message;
    make_pair(pair);
    const double started = gt_now();
    CHECK_INT(gt_message_receive(pair[0], gt_now() + 0.15, NULL, &message), GT_RECEIVE_LATE);
    CHECK(gt_now() - started >= 0.15 && gt_now() - started < 1);
    CHECK(write(pair[1], "half", 4) == 4); /* a message that never comes to its end is late too */
    CHECK_INT(gt_message_receive(pair[0], gt_now() + 0.1, NULL, &message), GT_RECEIVE_LATE);
    close(pair[0]);
    CHECK(!gt_message_send(pair[1], GT_MESSAGE_READY, NULL, 0));
    close(pair[1]);
}

TEST(a_message_that_has_begun_may_end_later)
{
    static const gt_message_header header = {.magic = GT_MESSAGE_MAGIC, .kind = GT_MESSAGE_READY, .bytes = 4};
    int pair[2], status;
    gt_message message;
    make_pair(pair);
    CHECK(write(pair[1], &header, sizeof header) == sizeof header);
    const pid_t child = fork();
    if (child == 0) {
        gt_rest(0.3);
        _exit(write(pair[1], "rest", 4) != 4);
    }
    CHECK_INT(gt_message_receive(pair[0], gt_now() + 0.1, NULL, &message), GT_RECEIVED);
    CHECK(message.bytes == 4 && memcmp(message.payload, "rest", 4) == 0);
    gt_message_finish(&message);
    waitpid(child, &status, 0);
    close(pair[0]);
    close(pair[1]);
}

TEST(what_has_come_is_received_however_late_it_is)
{
    int pair[2];
    gt_message message;
    make_pair(pair);
    CHECK(gt_message_send(pair[1], GT_MESSAGE_READY, NULL, 0));
    CHECK_INT(gt_message_receive(pair[0], gt_now() - 1, NULL, &message), GT_RECEIVED);
    gt_message_finish(&message);
    close(pair[0]);
    close(pair[1]);
}

/* Ctrl-Z, and fg after a while. */
TEST(time_for_which_everybody_was_stopped_does_not_count)
{
    int pair[2], status;
    gt_message message;
    make_pair(pair);
    const pid_t parent = getpid(), child = fork();
    if (child == 0) {
        gt_rest(0.1);
        kill(parent, SIGSTOP);
        gt_rest(3);
        kill(parent, SIGCONT);
        gt_rest(0.2); /* what it has to do */
        _exit(gt_message_send(pair[1], GT_MESSAGE_READY, NULL, 0) ? 0 : 1);
    }
    CHECK(child > 0);
    const double began = gt_now();
    double deadline = began + 2;
    CHECK_INT(gt_message_await(pair[0], &deadline, NULL, &message), GT_RECEIVED);
    gt_message_finish(&message);
    CHECK(deadline > began + 4 && deadline < gt_now() + 2); /* of the next message, too */
    CHECK_INT(gt_message_await(pair[0], &deadline, NULL, &message), GT_RECEIVE_LATE);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    close(pair[0]);
    close(pair[1]);
}

TEST(taking_more_than_a_message_holds_gives_nothing)
{
    char bytes[8] = "1234567";
    const gt_message message = {.bytes = 8, .payload = bytes};
    size_t at = 0;
    CHECK(gt_message_take(&message, 3, &at) == bytes);
    CHECK(gt_message_take(&message, 6, &at) == NULL);
    CHECK(gt_message_take(&message, SIZE_MAX, &at) == NULL);
    CHECK(gt_message_take(&message, 5, &at) == bytes + 3);
    CHECK(gt_message_take(&message, 1, &at) == NULL);
}

CHECK_MAIN
