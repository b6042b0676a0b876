/* Command lines as tests write them down. */
#ifndef OPTIONS_FIXTURE_H
#define OPTIONS_FIXTURE_H

#include "../tuner/commands/options.h"
#include "check.h"

#define WORDS(...) ((const char *const[]){"gemmtune", __VA_ARGS__, NULL})

/* getopt takes what main gets: words that may be moved. */
static inline gt_status parse(const char *const *words, gt_options_cli *options)
{
    char *argv[32] = {0};
    int argc = 0;
    for (; words[argc]; argc++)
        argv[argc] = (char *)words[argc];
    return gt_options_parse(argc, argv, options);
}

static inline void check_refused(const char *const *words, const char *message)
{
    gt_options_cli options = {.batch = 77};
    CHECK_STATUS(parse(words, &options), GT_ERROR_INVALID);
    CHECK_INT(options.batch, 77);
    CHECK_STR(gt_error_message(), message);
}

#endif
