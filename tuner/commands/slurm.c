/* gemmtune slurm: prints the script that tunes on a cluster. Scheduling is Slurm's. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../db/store.h"
#include "../../src/core/driver.h"
#include "../../src/core/status.h"
#include "options.h"
#include "output.h"

extern const char gt_embedded_job_sh[];

/* A word as a shell takes it, whatever is in it. */
static void put_word(const char *word)
{
    putchar('\'');
    for (const char *c = word; *c; c++)
        if (*c == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*c);
    putchar('\'');
}

/* Whether a word, or a list in it, names standard input as a list of shapes. */
static bool names_input(const char *word)
{
    static const char ends[] = ", \t\n";
    for (const char *at = word; (at = strstr(at, "@-")); at++)
        if ((at == word || at[-1] == '=' || strchr(ends, at[-1])) && (!at[2] || strchr(ends, at[2])))
            return true;
    return false;
}

/* What tune takes and a task cannot do, or what the script itself says. */
static gt_status check_tune(const gt_options_cli *tune)
{
    const struct {
        bool given;
        const char *why;
    } refused[] = {
        {tune->help || tune->version, "--help and --version tune nothing: leave them out behind --"},
        {tune->all_devices, "slurm gives each task one GPU: leave --device all out behind --"},
        {tune->database || tune->shard.count > 0, "slurm sets --shard and --db itself: leave them out behind --"},
        {tune->wanted, "a task's own database does not have what programs asked for: leave --wanted out behind --"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if (refused[i].given)
            return gt_fail(GT_ERROR_INVALID, "%s", refused[i].why);
    return GT_OK;
}

/* The words behind "--" must be tune's. */
static gt_status check_words(const gt_options_cli *options, gt_options_cli *tune)
{
    for (size_t i = 0; i < options->file_count; i++)
        if (names_input(options->files[i]))
            return gt_fail(GT_ERROR_INVALID, "a task has no list on its standard input: name a file in place of @-");
    char **words = calloc(options->file_count + 3, sizeof *words);
    if (!words)
        return gt_fail_memory();
    words[0] = (char[]){"gemmtune"};
    words[1] = (char[]){"tune"};
    for (size_t i = 0; i < options->file_count; i++)
        words[i + 2] = (char *)options->files[i];
    gt_status status = gt_options_parse((int)options->file_count + 2, words, tune);
    free(words);
    if (status == GT_OK && (status = check_tune(tune)) != GT_OK)
        gt_options_finish(tune);
    return status;
}

/* Where the result goes, so that it does not matter where jobs run. */
static gt_status find_database(const gt_options_cli *options, char path[PATH_MAX])
{
    char given[PATH_MAX], folder[PATH_MAX];
    gt_status status = GT_OK;
    if (options->database)
        snprintf(given, sizeof given, "%s", options->database);
    else
        status = gt_store_default_path(given, sizeof given);
    if (status != GT_OK)
        return status;
    if (given[0] == '/' || !getcwd(folder, sizeof folder))
        folder[0] = '\0';
    if (snprintf(path, PATH_MAX, "%s%s%s", folder, folder[0] ? "/" : "", given) >= PATH_MAX)
        return gt_fail(GT_ERROR_INVALID, "the database's path is too long");
    return GT_OK;
}

/* Slurm's names of GPU types, "h200,a100": nothing that a shell or sbatch takes for more. */
static gt_status check_models(const char *list)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.,";
    if (strspn(list, letters) != strlen(list) || strspn(list, ",") == strlen(list))
        return gt_fail(GT_ERROR_INVALID, "--gpus takes Slurm's names of GPU types, h200,a100, not '%.40s'", list);
    return GT_OK;
}

static void put_models(const char *list)
{
    fputs("models=(", stdout);
    for (const char *c = list; *c; c++)
        putchar(*c == ',' ? ' ' : *c);
    puts(")");
}

static void explain(const gt_options_cli *options, const char *models, const char *database)
{
    printf("The script, run once (bash tune.sh), submits for each GPU model (%s):\n"
           "  an array of %d tasks with one GPU each. A task tunes its part of the problems on a local disk, and\n"
           "  saves a copy every minute and when it is stopped in\n  %s.shards;\n"
           "  preempted or out of time it is requeued and goes on;\n"
           "  a job behind it that merges the copies, races winners that never met, tunes what a lost task left out,\n"
           "  verifies all winners, and puts the result in its place by a rename:\n"
           "  %s\n"
           "Partition, account and time limit are sbatch's: SBATCH_PARTITION, SBATCH_ACCOUNT, SBATCH_TIMELIMIT.\n",
           models, options->shards, database, database);
}

int gt_cmd_slurm(const gt_options_cli *options)
{
    char database[PATH_MAX], program[PATH_MAX];
    gt_options_cli tune;
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    gt_status status = check_words(options, &tune);
    if (status != GT_OK)
        return gt_print_usage_failure();
    const bool soft = gt_driver_is_soft(tune.driver, NULL);
    const char *models = options->gpus ? options->gpus : soft ? "none" : "any";
    program[length > 0 ? length : 0] = '\0';
    if ((status = check_models(models)) == GT_OK)
        status = find_database(options, database);
    if (status == GT_OK && options->dry_run) {
        explain(options, models, database);
    } else if (status == GT_OK) {
        printf("#!/bin/bash\n# Tunes on a Slurm cluster: bash tune.sh. Made by gemmtune %s.\n", gt_version());
        put_models(models);
        printf("shards=%d\ngemmtune=", options->shards);
        put_word(program[0] ? program : "gemmtune");
        fputs("\ndatabase=", stdout);
        put_word(database);
        fputs("\ntune=(", stdout);
        for (size_t i = 0; i < options->file_count; i++) {
            put_word(options->files[i]);
            putchar(' ');
        }
        fputs(")\ndevice=(", stdout);
        if (soft) {
            fputs("--device ", stdout);
            put_word(tune.driver);
        }
        printf(")\n%s", gt_embedded_job_sh);
    }
    gt_options_finish(&tune);
    return status == GT_OK ? 0 : status == GT_ERROR_INVALID ? gt_print_usage_failure() : gt_print_failure();
}
