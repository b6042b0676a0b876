/* gemmtune: finds the fastest matrix-product kernels for a GPU and stores them. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../src/core/status.h"
#include "commands/options.h"
#include "commands/output.h"
#include "values.h"
#include "worker/child.h"

static gt_command *const commands[GT_COMMAND_COUNT] = {
    [GT_COMMAND_TUNE] = gt_cmd_tune,     [GT_COMMAND_BEST] = gt_cmd_best,   [GT_COMMAND_LADDER] = gt_cmd_ladder,
    [GT_COMMAND_BENCH] = gt_cmd_bench,   [GT_COMMAND_SPACE] = gt_cmd_space, [GT_COMMAND_RENDER] = gt_cmd_render,
    [GT_COMMAND_PROFILE] = gt_cmd_profile, [GT_COMMAND_VERIFY] = gt_cmd_verify, [GT_COMMAND_FORGET] = gt_cmd_forget,
    [GT_COMMAND_DOCTOR] = gt_cmd_doctor, [GT_COMMAND_RUN] = gt_cmd_run,         [GT_COMMAND_MERGE] = gt_cmd_merge,
    [GT_COMMAND_FIT] = gt_cmd_fit,       [GT_COMMAND_WANTED] = gt_cmd_wanted,
    [GT_COMMAND_WHY] = gt_cmd_why,         [GT_COMMAND_REPORT] = gt_cmd_report,
    [GT_COMMAND_REVALIDATE] = gt_cmd_revalidate, [GT_COMMAND_SLURM] = gt_cmd_slurm,
};

#define SCREEN 24 /* lines, of 80 columns */

/* Everything on one screen; every command's own help has an example. */
static void print_help(void)
{
    puts("gemmtune finds the fastest matrix-product kernels for your GPU and stores them.\n\n"
         "Usage: gemmtune [COMMAND] [options]\n");
    for (int i = 0; i < GT_COMMAND_COUNT; i++) {
        const gt_command_row *row = &gt_command_rows[i];
        const int used = printf("  %s %s", row->name, row->operand ? row->operand : "");
        printf("%*s%s%s\n", 18 - used, "", row->summary, i == GT_COMMAND_TUNE ? " Default." : "");
    }
    puts("\ngemmtune COMMAND --help: its options and an example; --version: the version.");
}

/* --help itself is not told to somebody who has just used it. */
static bool is_told(const gt_option_row *option, gt_command_id id)
{
    return (option->commands >> id & 1) && option->letter != 'V' && option->letter != 'h';
}

static void print_command_help(gt_command_id id)
{
    const gt_command_row *row = &gt_command_rows[id];
    char left[160] = ""; /* to the manual */
    int count = 3; /* lines: usage, summary, example */
    for (const gt_option_row *option = gt_option_rows; option->name; option++)
        count += is_told(option, id);
    count += count > SCREEN; /* the line that names what is left */
    printf("Usage: gemmtune %s [options]%s%s\n%s\n", row->name, row->operand ? " " : "",
           row->operand ? row->operand : "", row->summary);
    for (const gt_option_row *option = gt_option_rows; option->name; option++) {
        char letter[8] = "    ", name[40];
        if (!is_told(option, id))
            continue;
        if (option->rare && count > SCREEN) {
            count--;
            snprintf(left + strlen(left), sizeof left - strlen(left), "%s --%s", *left ? "," : "", option->name);
            continue;
        }
        if (option->letter)
            snprintf(letter, sizeof letter, "-%c, ", option->letter);
        snprintf(name, sizeof name, "--%s %s", option->name, option->value ? option->value : "");
        printf("  %s%-17s  %s", letter, name, option->help);
        if (strcmp(option->name, "type") == 0) /* each command has its own default */
            printf(" (%s%s%s)", row->types, row->soft_types ? "; soft: " : "", row->soft_types ? row->soft_types : "");
        putchar('\n');
    }
    if (*left)
        printf("The manual has more:%s (man gemmtune)\n", left);
    printf("Example: %s\n", row->example);
}

/* A file opened later must not land on a stream that was closed at the start: a message would be written into the
 * database. The place holders refuse what the stream is for, so that a lost result is a failure. */
static void keep_standard_streams(void)
{
    static const int modes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", modes[fd]); /* takes the lowest free number, which is fd */
}

/* Whether the reader of standard output went away (`| head`): its choice, nobody's failure. */
static bool reader_left(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP));
}

/* A result that could not be written is a failure of the whole command. */
static int finish_output(int code)
{
    errno = 0;
    const bool broken = fflush(stdout) != 0 || ferror(stdout);
    const int reason = errno;
    if (!broken || reader_left())
        return code;
    gt_fail(GT_ERROR_IO, "cannot write the output: %s", reason ? strerror(reason) : "the disk or device refused it");
    return gt_print_failure();
}

/* `gemmtune worker FD`: the tuner's own child; -1 if this is no such call. */
static int worker_descriptor(int argc, char **argv)
{
    int64_t fd;
    if (argc != 3 || strcmp(argv[1], "worker") != 0 || gt_integer_parse("worker", argv[2], 0, 1 << 20, &fd) != GT_OK)
        return -1;
    return (int)fd;
}

int main(int argc, char **argv)
{
    keep_standard_streams();
    void (*const on_pipe)(int) = signal(SIGPIPE, SIG_IGN);       /* a dead worker or reader is an error of write() */
    void (*const on_large_file)(int) = signal(SIGXFSZ, SIG_IGN); /* and so is a file that may not grow */
    const int fd = worker_descriptor(argc, argv);
    if (fd >= 0)
        return gt_worker_main(fd);

    gt_options_cli options;
    gt_status status = gt_options_parse(argc, argv, &options);
    if (status != GT_OK)
        return status == GT_ERROR_INVALID ? gt_print_usage_failure() : gt_print_failure();
    int code = 0;
    options.on_pipe = on_pipe;
    options.on_large_file = on_large_file;
    if (options.version)
        printf("gemmtune %s\n", gt_version());
    else if (options.help && options.command_given)
        print_command_help(options.command_id);
    else if (options.help)
        print_help();
    else
        code = commands[options.command_id](&options);
    gt_options_finish(&options);
    return finish_output(code);
}
