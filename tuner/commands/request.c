/* What options ask for, once they are read: problems, an engine, a device. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "../../src/core/driver.h"
#include "../values.h"
#include "cover.h"
#include "options.h"

gt_status gt_options_problem(const gt_options_cli *options, const gt_shape *shape, gt_problem *problem)
{
    const gt_gemm gemm = {
        .m = shape->m, .n = shape->n, .k = shape->k, .batch = options->batch, .op_a = options->op_a,
        .op_b = options->op_b, .type_ab = options->types->a, .type_b = options->types->b,
        .type_c = options->types->c, .math = options->types->math, .align = options->align,
    };
    bool swapped;
    return gt_problem_fold(&gemm, problem, &swapped);
}

/* Where there are all types the less usual ones have fewer shapes. */
static const gt_shapes *shapes_of(const gt_options_cli *options, const gt_types *types)
{
    return options->few.count > 0 && !gt_types_are_usual(types) ? &options->few : &options->shapes;
}

gt_status gt_options_problems(const gt_options_cli *given, gt_problem **out, size_t *out_count)
{
    gt_options_cli options = *given;
    gt_status status = GT_OK;
    size_t room = 0, count = 0;
    for (size_t i = 0; i < given->type_count; i++)
        room += shapes_of(given, given->type_list[i])->count + GT_COVER_MOST;
    gt_problem *problems = calloc(room + 1, sizeof *problems);
    if (!problems)
        return gt_fail_memory();
    for (size_t i = 0; i < given->type_count; i++) {
        const gt_shapes *shapes = shapes_of(given, given->type_list[i]);
        options.types = given->type_list[i];
        for (size_t j = 0; status == GT_OK && j < shapes->count; j++)
            status = gt_options_problem(&options, &shapes->list[j], &problems[count++]);
        if (status == GT_OK && shapes->cover)
            status = gt_cover_problems(options.types, !given->all_types, problems, &count);
    }
    if (status != GT_OK) {
        free(problems);
        return status;
    }
    *out = problems;
    *out_count = count;
    return GT_OK;
}

void gt_options_shape(const gt_options_cli *options, const gt_problem *problem, char text[GT_OPTIONS_SHAPE])
{
    int length = snprintf(text, GT_OPTIONS_SHAPE, "%lldx%lldx%lld", (long long)problem->m, (long long)problem->n,
                          (long long)problem->k);
    if (!options->shapes.cover)
        return;
    if (problem->class.op_a != options->op_a || problem->class.op_b != options->op_b)
        length += snprintf(text + length, GT_OPTIONS_SHAPE - (size_t)length, " %s", gt_class_layout(&problem->class));
    if (problem->batch != options->batch)
        length += snprintf(text + length, GT_OPTIONS_SHAPE - (size_t)length, " batch %lld", (long long)problem->batch);
    if (problem->class.align != options->align)
        snprintf(text + length, GT_OPTIONS_SHAPE - (size_t)length, " align %d", problem->class.align);
}

const char *gt_options_db(const char *database, char text[GT_OPTIONS_DB])
{
    snprintf(text, GT_OPTIONS_DB, "%s%s", database ? " --db " : "", database ? database : "");
    return text;
}

size_t gt_options_group(const gt_problem *problems, size_t count)
{
    size_t end = 0;
    while (end < count && gt_class_types(&problems[end].class) == gt_class_types(&problems[0].class))
        end++;
    return end;
}

/* A seed for checks, so that the next run draws others. Of 32 bits, so that it is soon typed. */
static uint64_t fresh_seed(void)
{
    uint32_t bits = 0;
    if (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits)
        return 1;
    return bits;
}

/* Who races. cuBLAS autotunes for as long as it likes: only a bench, which is there to compare, waits for that. */
static unsigned choose_baselines(const gt_options_cli *o)
{
    return o->no_cublas                         ? 0
           : o->command_id == GT_COMMAND_BENCH ? GT_BASELINES_ALL
                                               : GT_BASELINES_ALL & ~GT_BASELINE_BIT(GT_BASELINE_AUTOTUNE);
}

gt_engine_options gt_options_engine(const gt_options_cli *o)
{
    return (gt_engine_options){
        .database = o->database, .driver = o->driver, .device = o->device, .nvrtc = o->nvrtc, .templates = o->templates,
        .family = o->family, .effort = o->effort, .types = o->type_list,
        .type_count = o->command_id == GT_COMMAND_LADDER ? 0 : o->type_count, /* its rungs have types of their own */
        .behind = o->command_id == GT_COMMAND_BENCH,
        .stored = o->command_id == GT_COMMAND_VERIFY || o->command_id == GT_COMMAND_REVALIDATE || o->wanted,
        .variant = o->checked ? GT_VARIANT_CHECKED : GT_VARIANT_FAST, .seed = o->seed,
        .check_seed = o->seed_given ? o->seed : fresh_seed(), .threads = o->threads,
        .limit_s = o->limit_s, .baselines = choose_baselines(o), .line = o->line,
    };
}

static gt_status query_and_close(gt_driver *driver, int ordinal, gt_device *device)
{
    const gt_status status = gt_device_query(driver, ordinal, device);
    gt_driver_close(driver);
    return status;
}

gt_status gt_options_gpu(const gt_options_cli *options, gt_device *device)
{
    gt_driver *driver;
    const gt_status status = gt_driver_open(options->driver, &driver);
    return status == GT_OK ? query_and_close(driver, options->device, device) : status;
}

gt_status gt_options_device(const gt_options_cli *options, gt_device *device)
{
    gt_driver *driver;
    if (options->arch)
        return gt_arch_parse(options->arch, device);
    if (gt_driver_open(options->driver, &driver) != GT_OK)
        return gt_device_model(90, device);
    return query_and_close(driver, options->device, device);
}
