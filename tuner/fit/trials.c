#include "trials.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/core/status.h"

#define FIELDS 7 /* of a line */
#define LINE   4096 /* bytes; those of the repository have up to 473 */
#define ALIGN  "align" /* among facts: what the kernel was rendered for, where it is less than the class says */

bool gt_trials_write_device(FILE *stream, const gt_device *d)
{
    return fprintf(stream, "device cc=%d sm_count=%d clock_khz=%d l2_bytes=%lld memory_bytes=%lld name=%s\n", d->cc,
                   d->sm_count, d->clock_khz, (long long)d->l2_bytes, (long long)d->memory_bytes, d->name) > 0;
}

bool gt_trials_write(FILE *stream, const gt_measurements *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const gt_measured *row = &list->list[i];
        const gt_problem *p = &row->problem;
        char class[GT_CLASS_LENGTH], params[GT_PARAMS_TEXT];
        bool first = true;
        fprintf(stream, "%s\t%lldx%lldx%lldx%lld\t%.4g\t%s\t%d\t", gt_class_text(&p->class, class), (long long)p->m,
                (long long)p->n, (long long)p->k, (long long)p->batch, gt_measured_us(row), row->kernel->family,
                row->kernel->registers);
        for (size_t f = 0; f < GT_FACT_COUNT; f++) {
            const int64_t value = gt_fact_value(&row->kernel->facts, f);
            if (value == gt_fact_rows[f].absent)
                continue;
            fprintf(stream, "%s%s=%lld", first ? "" : " ", gt_fact_rows[f].name, (long long)value);
            first = false;
        }
        if (row->kernel->align > 0 && row->kernel->align < p->class.align)
            fprintf(stream, " " ALIGN "=%lld", (long long)row->kernel->align);
        fprintf(stream, "\t%s\n", gt_params_text(&row->kernel->params, params));
    }
    return !ferror(stream);
}

/* The next name=number of a text; false at its end, or where it is something else (*bad). */
static bool next_pair(char **text, char **name, int64_t *value, bool *bad)
{
    char *word = strsep(text, " "), *equals = word ? strchr(word, '=') : NULL, *end;
    if (!word || !*word)
        return false;
    *bad = !equals;
    if (*bad)
        return false;
    *equals = '\0';
    errno = 0;
    *value = strtoll(equals + 1, &end, 10);
    *bad = end == equals + 1 || *end || errno != 0;
    *name = word;
    return !*bad;
}

static bool read_device(char *line, gt_device *device)
{
    char *name = strstr(line, " name="), *key;
    int64_t value, cc = 0, numbers[4] = {0};
    static const char *const keys[] = {"sm_count", "clock_khz", "l2_bytes", "memory_bytes"};
    bool bad = false;
    if (!name || strlen(name + 6) >= sizeof device->name)
        return false;
    *name = '\0';
    for (line += strlen("device "); next_pair(&line, &key, &value, &bad);) {
        if (strcmp(key, "cc") == 0)
            cc = value;
        for (size_t i = 0; i < 4; i++)
            if (strcmp(key, keys[i]) == 0)
                numbers[i] = value;
    }
    if (bad || cc < 75 || cc > 129 || gt_device_model((int)cc, device) != GT_OK || numbers[0] < 1 || numbers[0] > 4096 ||
        numbers[1] < 1 || numbers[1] > 10000000)
        return false;
    device->sm_count = (int)numbers[0];
    device->clock_khz = (int)numbers[1];
    device->l2_bytes = numbers[2];
    device->memory_bytes = numbers[3];
    strcpy(device->name, name + 6);
    return true;
}

static bool read_kernel(char *const *fields, const char *arch, gt_kernel *kernel)
{
    char *facts = fields[5], *params = fields[6], *name, *end;
    int64_t value;
    bool bad = false;
    const long registers = strtol(fields[4], &end, 10);
    *kernel = (gt_kernel){.registers = (int)registers};
    if (strlen(fields[3]) >= sizeof kernel->family || *end || registers < 0 || registers > GT_REGISTERS_MOST)
        return false;
    strcpy(kernel->family, fields[3]);
    snprintf(kernel->arch, sizeof kernel->arch, "%s", arch);
    for (size_t i = 0; i < GT_FACT_COUNT; i++)
        *gt_fact(&kernel->facts, i) = gt_fact_rows[i].absent;
    while (next_pair(&facts, &name, &value, &bad)) {
        size_t i = 0;
        if (strcmp(name, ALIGN) == 0) {
            if (value < 1 || value > 16)
                return false;
            kernel->align = value;
            continue;
        }
        while (i < GT_FACT_COUNT && strcmp(gt_fact_rows[i].name, name) != 0)
            i++;
        if (i == GT_FACT_COUNT)
            return false;
        *gt_fact(&kernel->facts, i) = value;
    }
    while (!bad && next_pair(&params, &name, &value, &bad))
        if (gt_params_add(&kernel->params, name, value) != GT_OK)
            return false;
    return !bad && gt_facts_check(&kernel->facts) == GT_OK;
}

static bool read_problem(const char *class_text, const char *sizes, gt_problem *problem)
{
    gt_class class;
    long long m, n, k, batch;
    int end = 0;
    if (!gt_class_parse(class_text, &class) ||
        sscanf(sizes, "%lldx%lldx%lldx%lld%n", &m, &n, &k, &batch, &end) != 4 || sizes[end])
        return false;
    gt_gemm gemm = gt_class_gemm(&class, m, n, k);
    gemm.batch = batch;
    if (gt_problem_init(&gemm, problem) != GT_OK)
        return false;
    problem->class = class; /* alignment is that of the rows it was tuned with, not of packed ones */
    return true;
}

/* The list of a problem's type and layout. */
static gt_status find_list(gt_trials *trials, const gt_class *class, gt_measurements **out)
{
    for (size_t i = 0; i < trials->count; i++) {
        const gt_class *other = &trials->lists[i].list[0].problem.class;
        if (gt_class_types(other) == gt_class_types(class) && other->op_a == class->op_a && other->op_b == class->op_b) {
            *out = &trials->lists[i];
            return GT_OK;
        }
    }
    gt_measurements *more = realloc(trials->lists, (trials->count + 1) * sizeof *more);
    if (!more)
        return gt_fail_memory();
    trials->lists = more;
    more[trials->count] = (gt_measurements){0};
    *out = &more[trials->count++];
    return GT_OK;
}

static bool same_kernel(const gt_measured *a, const gt_kernel *kernel, const gt_class *class)
{
    return memcmp(&a->kernel->facts, &kernel->facts, sizeof kernel->facts) == 0 && a->kernel->align == kernel->align &&
           strcmp(a->kernel->family, kernel->family) == 0 && gt_params_same(&a->kernel->params, &kernel->params) &&
           gt_class_same(&a->problem.class, class);
}

static gt_status add(gt_trials *trials, const gt_problem *problem, const gt_kernel *kernel, double us)
{
    gt_measurements *list = NULL;
    gt_status status = find_list(trials, &problem->class, &list);
    if (status != GT_OK)
        return status;
    gt_measured *more = realloc(list->list, (list->count + 1) * sizeof *more);
    if (!more)
        return gt_fail_memory();
    list->list = more;
    gt_measured row = {.problem = *problem, .same_gpu = true,
                       .trial = {.outcome = GT_TRIAL_OK, .us = us, .margin = -1}};
    for (size_t i = 0; i < list->count && !row.kernel; i++)
        if (same_kernel(&more[i], kernel, &problem->class)) {
            row.kernel_id = more[i].kernel_id;
            row.kernel = more[i].kernel;
        }
    if (!row.kernel) {
        gt_kernel *own = malloc(sizeof *own);
        if (!own)
            return gt_fail_memory();
        *own = *kernel;
        row.kernel = own;
        row.kernel_id = (int64_t)list->count + 1; /* the first row's, which frees it */
    }
    more[list->count++] = row;
    return GT_OK;
}

static gt_status read_line(char *line, gt_trials *trials, bool *good)
{
    char *fields[FIELDS];
    gt_problem problem;
    gt_kernel kernel;
    *good = true;
    if (*line == '#' || !*line)
        return GT_OK;
    if (strncmp(line, "device ", 7) == 0) {
        *good = read_device(line, &trials->device);
        return GT_OK;
    }
    for (int i = 0; i < FIELDS; i++)
        fields[i] = strsep(&line, "\t");
    *good = fields[FIELDS - 1] && !line && trials->device.sm_count > 0;
    if (!*good)
        return GT_OK;
    const double us = strtod(fields[2], NULL);
    *good = us > 0 && us < 1e12 && read_problem(fields[0], fields[1], &problem) &&
            read_kernel(fields, trials->device.arch, &kernel);
    return *good ? add(trials, &problem, &kernel, us) : GT_OK;
}

gt_status gt_trials_read(const char *path, gt_trials *trials)
{
    char line[LINE];
    size_t number = 0;
    gt_status status = GT_OK;
    *trials = (gt_trials){0};
    FILE *file = fopen(path, "r");
    if (!file)
        return gt_fail(GT_ERROR_INVALID, "cannot read the trials '%s': %s", path, strerror(errno));
    while (status == GT_OK && fgets(line, sizeof line, file)) {
        char *const end = strchr(line, '\n');
        bool good = end || feof(file);
        number++;
        if (end)
            *end = '\0';
        if (good)
            status = read_line(line, trials, &good);
        if (status == GT_OK && !good)
            status = gt_fail(GT_ERROR_INVALID, "%s, line %zu: no trial", path, number);
    }
    if (status == GT_OK && ferror(file))
        status = gt_fail(GT_ERROR_INVALID, "cannot read the trials '%s': %s", path, strerror(errno));
    else if (status == GT_OK && trials->count == 0)
        status = gt_fail(GT_ERROR_INVALID, "%s: no trials", path);
    fclose(file);
    return status;
}

void gt_trials_finish(gt_trials *trials)
{
    for (size_t i = 0; i < trials->count; i++) {
        gt_measurements *list = &trials->lists[i];
        for (size_t j = 0; j < list->count; j++)
            if (list->list[j].kernel_id == (int64_t)j + 1)
                free((gt_kernel *)list->list[j].kernel);
        free(list->list);
    }
    free(trials->lists);
    *trials = (gt_trials){0};
}
