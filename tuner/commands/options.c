#include "option_rows.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/core/driver.h"
#include "../../src/core/environment.h"
#include "../../src/core/status.h"
#include "../values.h"

_Static_assert(OPTION_COUNT < 64, "the given options fit a word");

static gt_status unknown_option(const char *word)
{
    const char *names[OPTION_COUNT + 1] = {0};
    char name[41];
    for (int i = 0; i < OPTION_COUNT; i++)
        names[i] = gt_option_rows[i].name;
    if (strncmp(word, "--", 2) != 0)
        return gt_fail(GT_ERROR_INVALID, "unknown option '%.40s'; see gemmtune --help", word);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    const char *near = gt_nearest(name, names);
    if (near)
        return gt_fail(GT_ERROR_INVALID, "unknown option '--%s'; did you mean '--%s'?", name, near);
    return gt_fail(GT_ERROR_INVALID, "unknown option '--%s'; see gemmtune --help", name);
}

static gt_status unknown_command(const char *word)
{
    const char *names[GT_COMMAND_COUNT + 1] = {0};
    for (int i = 0; i < GT_COMMAND_COUNT; i++)
        names[i] = gt_command_rows[i].name;
    const char *near = gt_nearest(word, names);
    if (near)
        return gt_fail(GT_ERROR_INVALID, "unknown command '%.40s'; did you mean '%s'?", word, near);
    return gt_fail(GT_ERROR_INVALID, "unknown command '%.40s'; see gemmtune --help", word);
}

/* The first word is the command, the second its operand; run's takes all that follow. */
static gt_status take_word(char *const *words, gt_options_cli *o)
{
    const char *word = *words;
    if (o->command_given && !gt_command_rows[o->command_id].operand)
        return gt_fail(GT_ERROR_INVALID, "%s takes no operand, but there is '%.40s'", o->command, word);
    if (o->command_given && (o->command_id == GT_COMMAND_SLURM || (o->operand && o->command_id == GT_COMMAND_MERGE))) {
        o->files[o->file_count++] = word;
        return GT_OK;
    }
    if (o->operand) {
        const char *name = gt_command_rows[o->command_id].operand;
        name += *name == '[';
        return gt_fail(GT_ERROR_INVALID, "%s takes one %.*s, but there is '%.40s' too", o->command,
                       (int)strcspn(name, "]"), name, word);
    }
    if (o->command_given) {
        o->operand = word;
        o->program = o->command_id == GT_COMMAND_RUN ? words : NULL;
        return GT_OK;
    }
    for (int i = 0; i < GT_COMMAND_COUNT; i++)
        if (strcmp(word, gt_command_rows[i].name) == 0) {
            o->command = gt_command_rows[i].name;
            o->command_id = (gt_command_id)i;
            o->command_given = true;
            return GT_OK;
        }
    return unknown_command(word);
}

/* Goes through the words. *given gets a bit for each option. */
static gt_status read_words(int argc, char **argv, gt_options_cli *o, uint64_t *given)
{
    struct option longs[OPTION_COUNT + 1] = {0};
    gt_status status = GT_OK;
    for (int i = 0; i < OPTION_COUNT; i++)
        longs[i] = (struct option){gt_option_rows[i].name, gt_option_rows[i].value ? required_argument : no_argument,
                                   NULL, gt_option_rows[i].letter ? gt_option_rows[i].letter : 256 + i};
    optind = 0; /* glibc: begin anew */
    opterr = 0;
    while (status == GT_OK && !o->program) {
        const int at = optind > 0 ? optind : 1;
        const int found = getopt_long(argc, argv, "-:vqo:hV", longs, NULL); /* "-": words in their order */
        if (found == -1)
            break;
        int option = 0;
        while (option < OPTION_COUNT && longs[option].val != found)
            option++;
        /* getopt_long takes any unique beginning of a name; a script that used one would break with the next
         * option, so only whole names count. */
        const bool is_long = at < argc && strncmp(argv[at], "--", 2) == 0;
        const char *name = option < OPTION_COUNT ? gt_option_rows[option].name : "";
        if (found == 1)
            status = take_word(argv + at, o);
        else if (found == ':')
            status = gt_fail(GT_ERROR_INVALID, "%.40s needs a value; see gemmtune --help", argv[at]);
        else if (found == '?' && is_long && optopt != 0)
            status = gt_fail(GT_ERROR_INVALID, "%.*s takes no value", (int)strcspn(argv[at], "="), argv[at]);
        else if (found == '?' || (is_long && strcspn(argv[at] + 2, "=") != strlen(name)))
            status = unknown_option(argv[at]);
        else if ((status = gt_setting_apply(option, optarg, o)) == GT_OK)
            *given |= UINT64_C(1) << option;
    }
    for (; status == GT_OK && !o->program && optind < argc; optind++) /* behind "--" */
        status = take_word(argv + optind, o);
    return status;
}

/* The software GPU does in seconds what a GPU does in milliseconds: less is tried, on sizes that fit a laptop. */
static void suit_software(gt_options_cli *o, uint64_t given, const char **shapes)
{
    const char *types = gt_command_rows[o->command_id].soft_types;
    if (!gt_driver_is_soft(o->driver ? o->driver : gt_environment(GT_ENV_DRIVER), NULL))
        return;
    if (!o->type_given && types)
        o->type_names = types;
    if (RUNS >> o->command_id & 1)
        *shapes = "64,128,101x61x91,16x256x256"; /* odd ones, as in shapes.c */
    if (o->command_id == GT_COMMAND_TUNE && !(given >> EFFORT & 1))
        o->effort = GT_EFFORT_QUICK;
    if (!(given >> TIMEOUT & 1))
        o->limit_s = 60;
}

/* A family that the command line names must be there. One that a folder has and cannot be read is told of by the
 * command itself. */
static gt_status check_family(const gt_options_cli *o)
{
    gt_families families;
    const gt_family *family;
    const char *name = o->command_id == GT_COMMAND_WHY        ? NULL
                       : o->operand                           ? o->operand
                       : (TUNE | LADDER) >> o->command_id & 1 ? o->family
                                                              : NULL;
    if (!name || gt_families_init(o->templates, &families) != GT_OK)
        return GT_OK;
    const gt_status status = gt_families_get(&families, name, &family);
    gt_families_finish(&families);
    return status;
}

/* One thing is forgotten at a time, and only sizes have a type and a layout. */
static gt_status check_forget(uint64_t given)
{
    static const int of_shapes[] = {TYPE, MATH, LAYOUT, BATCH, ALIGN};
    const bool shapes = given >> SHAPES & 1;
    if ((given >> KERNEL & 1) + (given >> FAMILY & 1) + shapes != 1)
        return gt_fail(GT_ERROR_INVALID, "forget takes one of --kernel, --family and --shapes");
    for (size_t i = 0; !shapes && i < sizeof of_shapes / sizeof of_shapes[0]; i++)
        if (given >> of_shapes[i] & 1)
            return gt_fail(GT_ERROR_INVALID, "forget takes --%s with --shapes only", gt_option_rows[of_shapes[i]].name);
    return GT_OK;
}

/* Without sizes of its own it takes the stored winners as they are. */
static gt_status check_verify(uint64_t given)
{
    static const int of_shapes[] = {BATCH, ALIGN};
    for (size_t i = 0; !(given >> SHAPES & 1) && i < sizeof of_shapes / sizeof of_shapes[0]; i++)
        if (given >> of_shapes[i] & 1)
            return gt_fail(GT_ERROR_INVALID, "verify takes --%s with --shapes only", gt_option_rows[of_shapes[i]].name);
    return GT_OK;
}

/* What programs asked for has sizes, layouts and alignment of its own; and any type, where none is named. */
static gt_status check_wanted(gt_options_cli *o, uint64_t given)
{
    static const int of_shapes[] = {SHAPES, RANDOM, LAYOUT, BATCH, ALIGN};
    for (size_t i = 0; o->wanted && i < sizeof of_shapes / sizeof of_shapes[0]; i++)
        if (given >> of_shapes[i] & 1)
            return gt_fail(GT_ERROR_INVALID, "--wanted and --%s: one of them", gt_option_rows[of_shapes[i]].name);
    if (o->command_id == GT_COMMAND_TUNE && o->top > 0 && !o->wanted)
        return gt_fail(GT_ERROR_INVALID, "tune takes --top with --wanted only");
    if (o->wanted && !o->type_given)
        o->type_names = "all";
    return GT_OK;
}

/* Of all types those whose elements --align does not break. */
static gt_status keep_aligned(gt_options_cli *o)
{
    gt_status status = GT_OK;
    size_t kept = 0;
    for (size_t i = 0; i < o->type_count; i++) {
        gt_problem problem;
        o->types = o->type_list[i];
        if ((status = gt_options_problem(o, &(gt_shape){1, 1, 1}, &problem)) == GT_OK)
            o->type_list[kept++] = o->types;
    }
    o->type_count = kept;
    return kept > 0 ? GT_OK : status;
}

/* The types and maths that were given, in whatever order they were. best shows what there is. */
static gt_status find_types(gt_options_cli *o)
{
    const char *const maths = o->math_names || o->command_id != GT_COMMAND_BEST ? o->math_names : "all";
    gt_status status = gt_type_list_parse(o->type_names, maths, o->type_list, &o->type_count, &o->all_types);
    if (status == GT_OK && o->all_types)
        status = keep_aligned(o);
    if (status != GT_OK)
        return status;
    o->types = o->type_list[0];
    if (o->type_count > 1 && !(LISTS >> o->command_id & 1))
        return gt_fail(GT_ERROR_INVALID, "%s takes one type, not %zu", o->command, o->type_count);
    return GT_OK;
}

static gt_status check_shapes(const gt_options_cli *given, const gt_types *types)
{
    gt_options_cli o = *given;
    gt_problem problem;
    o.types = types;
    /* First a size that is never wrong: what fails then is not the shape's fault. */
    gt_status status = gt_options_problem(&o, &(gt_shape){1, 1, 1}, &problem);
    for (size_t i = 0; status == GT_OK && i < o.shapes.count; i++) {
        const gt_shape *s = &o.shapes.list[i];
        if (gt_options_problem(&o, s, &problem) != GT_OK)
            status = gt_fail(GT_ERROR_INVALID, "shape %lldx%lldx%lld: %s", (long long)s->m, (long long)s->n,
                             (long long)s->k, gt_error_message());
    }
    return status;
}

/* Regret is measured on random shapes. */
static gt_status check_regret(gt_options_cli *o, uint64_t given)
{
    if (o->errors && (given & (1ull << REGRET | 1ull << UNTUNED)))
        return gt_fail(GT_ERROR_INVALID, "--errors: no --untuned or --regret beside it");
    if (o->regret == 0)
        return GT_OK;
    if (given & (1ull << SHAPES | 1ull << RANDOM | 1ull << UNTUNED))
        return gt_fail(GT_ERROR_INVALID, "--regret draws its shapes: no --shapes, --random or --untuned beside it");
    o->random = o->regret;
    return GT_OK;
}

/* What only shows once all words are read. */
static gt_status check(gt_options_cli *o, uint64_t given)
{
    const gt_command_row *row = &gt_command_rows[o->command_id];
    const char *shapes = row->shapes;
    for (int i = 0; i < OPTION_COUNT; i++)
        if ((given >> i & 1) && !(gt_option_rows[i].commands >> o->command_id & 1))
            return gt_fail(GT_ERROR_INVALID, "%s takes no --%s; see gemmtune %s --help", o->command,
                           gt_option_rows[i].name, o->command);
    if (o->help || o->version)
        return GT_OK;
    if (o->verbose && o->quiet)
        return gt_fail(GT_ERROR_INVALID, "--verbose and --quiet: one of them");
    if (o->all_devices && o->command_id != GT_COMMAND_TUNE)
        return gt_fail(GT_ERROR_INVALID, "--device all is for tune; %s takes one GPU: --device N", o->command);
    if (o->all_devices && o->shard.count > 0)
        return gt_fail(GT_ERROR_INVALID, "--device all and --shard: one of them");
    if (o->blas && o->dlsym)
        return gt_fail(GT_ERROR_INVALID, "--blas and --dlsym: one of them");
    if (o->command_id == GT_COMMAND_MERGE && o->file_count == 0)
        return gt_fail(GT_ERROR_INVALID, "merge needs two files or more: %s", row->example);
    if (row->operand && *row->operand != '[' && !o->operand)
        return gt_fail(GT_ERROR_INVALID, "%s needs a %s: %s", o->command, row->operand, row->example);
    if (o->command_id == GT_COMMAND_SPACE && o->all && !o->operand)
        return gt_fail(GT_ERROR_INVALID, "--all lists one family's configurations: gemmtune space FAMILY --all");
    if (o->command_id == GT_COMMAND_RUN || o->command_id == GT_COMMAND_MERGE || o->command_id == GT_COMMAND_WANTED ||
        o->command_id == GT_COMMAND_SLURM)
        return GT_OK;
    if (!o->type_given)
        o->type_names = row->types;
    if (o->command_id == GT_COMMAND_WHY && gt_setting_apply(SHAPES, o->operand, o) != GT_OK)
        return GT_ERROR_INVALID;
    if (o->command_id == GT_COMMAND_WHY && o->shapes.count != 1)
        return gt_fail(GT_ERROR_INVALID, "why takes one shape, not %zu", o->shapes.count);
    suit_software(o, given, &shapes);
    gt_status status = check_wanted(o, given);
    if (status == GT_OK)
        status = find_types(o);
    if (status == GT_OK)
        status = o->command_id == GT_COMMAND_FORGET ? check_forget(given) : check_family(o);
    if (status == GT_OK)
        status = check_regret(o, given);
    if (status == GT_OK && o->command_id == GT_COMMAND_VERIFY)
        status = check_verify(given);
    if (status != GT_OK)
        return status;
    const bool usual = shapes == row->shapes && o->random == 0 && !o->shapes_given;
    status = o->shapes_given || o->random > 0 ? GT_OK : gt_shapes_parse(shapes, &o->shapes);
    if (status == GT_OK && o->all_types && usual)
        status = gt_shapes_parse("short", &o->few);
    if (o->shapes.cover && !((TUNE | BENCH) >> o->command_id & 1))
        return gt_fail(GT_ERROR_INVALID, "%s takes no --shapes cover: that is for tune and bench", o->command);
    /* Who asks for one layout, batch, alignment or family, or for what programs want, gets that, and nothing beside it. */
    if (o->command_id == GT_COMMAND_TUNE && usual && !o->wanted &&
        !(given & (1ull << LAYOUT | 1ull << BATCH | 1ull << ALIGN | 1ull << FAMILY)))
        o->shapes.cover = o->few.cover = true;
    if (status == GT_OK && o->random > 0)
        status = gt_shapes_draw(o->random, o->seed, &o->shapes);
    for (size_t i = 0; status == GT_OK && i < o->type_count; i++)
        status = check_shapes(o, o->type_list[i]);
    return status;
}

/* The words with a blank between, those with odd characters in quotes: what a shell would take again. */
static char *join(int argc, char **argv)
{
    char *line = NULL;
    size_t size;
    FILE *stream = open_memstream(&line, &size);
    if (!stream)
        return NULL;
    for (int i = 0; i < argc; i++) {
        const bool odd = !*argv[i] || strpbrk(argv[i], " \t\n\"'\\$&|;<>()*?[]#~`!{}");
        fputs(i > 0 ? " " : "", stream);
        fputs(odd ? "'" : "", stream);
        for (const char *c = argv[i]; *c; c++)
            if (*c == '\'')
                fputs("'\\''", stream);
            else
                putc(*c, stream);
        fputs(odd ? "'" : "", stream);
    }
    return fclose(stream) == 0 ? line : (free(line), NULL);
}

gt_status gt_options_parse(int argc, char **argv, gt_options_cli *out)
{
    gt_options_cli o = {
        .command = "tune", .batch = 1, .align = 16,
        .effort = GT_EFFORT_NORMAL, .limit_s = 10, .seed = 1, .rounds = 1, .f32 = "strict", .shards = 4,
        .words = argv, .word_count = (size_t)argc, .line = join(argc, argv),
        .files = calloc((size_t)argc + 1, sizeof *o.files),
    };
    uint64_t given = 0;
    gt_status status = o.line && o.files ? read_words(argc, argv, &o, &given) : gt_fail_memory();
    if (status == GT_OK)
        status = check(&o, given);
    if (status == GT_OK)
        *out = o;
    else
        gt_options_finish(&o);
    return status;
}

void gt_options_finish(gt_options_cli *options)
{
    gt_shapes_finish(&options->shapes);
    gt_shapes_finish(&options->few);
    free(options->line);
    options->line = NULL;
    free(options->files);
    options->files = NULL;
}
