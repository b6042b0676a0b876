/* gemmtune doctor: what tuning and loading need, what is here, and what to do about the rest. */
#include <dlfcn.h>
#include <errno.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../db/store.h"
#include "../../src/core/status.h"
#include "../compile/cuda_library.h"
#include "../compile/nvrtc.h"
#include "../engine/stale.h"
#include "../worker/clock.h"
#include "options.h"
#include "output.h"

#define OLDEST_CC 75
#define MOST_PATH 4096

typedef enum mark {
    OK,
    WARNING, /* works, but look at it */
    MISSING, /* tuning or loading does not work */
} mark;

static const struct {
    const char *name, *colour;
} marks[] = {[OK] = {"ok", "\033[32m"}, [WARNING] = {"warning", "\033[33m"}, [MISSING] = {"missing", "\033[31m"}};

typedef struct report {
    bool json, colour, ready;
    size_t checks;
    gt_device *gpus;
    double *clocks; /* that they run at now, MHz */
    size_t gpu_count;
    gt_conditions now; /* as far as they are known */
} report;

/* One finding. advice says what to do; NULL where the detail does already, or nothing is to be done. */
__attribute__((format(printf, 5, 6))) static void say(report *r, mark m, const char *topic, const char *advice,
                                                      const char *format, ...)
{
    char detail[1400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    r->ready = r->ready && m != MISSING;
    if (r->json) {
        printf("%s\n  {\"check\": \"%s\", \"mark\": \"%s\", \"detail\": ", r->checks > 0 ? "," : "", topic,
               marks[m].name);
        gt_json_text(stdout, detail);
        fputs(", \"advice\": ", stdout);
        gt_json_text(stdout, advice);
        putchar('}');
    } else {
        printf("%s%-7s%s  %-8s  ", r->colour ? marks[m].colour : "", marks[m].name, r->colour ? "\033[0m" : "", topic);
        gt_print_plain(stdout, detail);
        putchar('\n');
        if (advice)
            printf("%19s%s\n", "", advice);
    }
    r->checks++;
}

static void check_gpu(report *r, const gt_driver *driver, int ordinal)
{
    gt_device *d = &r->gpus[r->gpu_count];
    char topic[16];
    snprintf(topic, sizeof topic, "GPU %d", ordinal);
    if (gt_device_query(driver, ordinal, d) != GT_OK) {
        say(r, MISSING, topic, NULL, "%s", gt_error_message());
        return;
    }
    const double mhz = r->clocks[r->gpu_count++] = gt_clock_awake_mhz(driver, d);
    char slowed[32] = "";
    if (mhz < 0.98 * d->clock_khz / 1e3)
        snprintf(slowed, sizeof slowed, ", now %.0f", mhz);
    say(r, d->cc >= OLDEST_CC ? OK : MISSING, topic,
        d->cc >= OLDEST_CC ? NULL : "kernels need compute capability 7.5 (Turing) or newer: choose another --device",
        "%s, %s, %d SMs at %d MHz%s, %.1f GiB, L2 %.0f MiB, shared memory %d KiB a block, f32 peak %.1f TFLOPS", d->name,
        d->arch, d->sm_count, d->clock_khz / 1000, slowed, (double)d->memory_bytes / (1 << 30),
        (double)d->l2_bytes / (1 << 20), d->smem_limit >> 10,
        gt_device_peak_tflops(d, gt_types_parse("f32", GT_MATH_STRICT)));
}

/* Returns the driver's version, 0 if there is none. */
static int check_driver(report *r, const gt_options_cli *options)
{
    gt_driver *driver;
    int count = 0;
    if (gt_driver_open(options->driver, &driver) != GT_OK) {
        say(r, MISSING, "driver", "without a GPU, space, render and best still work", "%s", gt_error_message());
        return 0;
    }
    const int version = driver->version;
    snprintf(r->now.driver, sizeof r->now.driver, "%s", driver->release);
    say(r, OK, "driver", NULL, "CUDA %s, %s", driver->release, gt_library_path(driver->library));
    if (gt_device_count(driver, &count) != GT_OK)
        say(r, MISSING, "GPU", NULL, "%s", gt_error_message());
    else if (count == 0)
        say(r, MISSING, "GPU", "check nvidia-smi and CUDA_VISIBLE_DEVICES", "the driver shows none");
    r->gpus = calloc((size_t)count + 1, sizeof *r->gpus);
    r->clocks = calloc((size_t)count + 1, sizeof *r->clocks);
    for (int i = 0; r->gpus && r->clocks && i < count; i++)
        check_gpu(r, driver, i);
    gt_driver_close(driver);
    return version;
}

static void check_nvrtc(report *r, const gt_options_cli *options, int driver)
{
    gt_nvrtc *nvrtc;
    if (gt_nvrtc_open(options->nvrtc, &nvrtc) != GT_OK) {
        say(r, MISSING, "NVRTC", NULL, "%s", gt_error_message());
        return;
    }
    snprintf(r->now.nvrtc, sizeof r->now.nvrtc, "%s", nvrtc->version);
    /* A driver loads what any compiler of its own major version made. */
    const bool newer = driver > 0 && atoi(nvrtc->version) > driver / 1000;
    say(r, newer ? WARNING : OK, "NVRTC",
        newer ? "newer than the driver, which may refuse its kernels: update the driver, or --nvrtc an older one"
              : NULL,
        "%s, %s", nvrtc->version, nvrtc->path);
    gt_nvrtc_close(nvrtc);
}

/* Only baselines to race against: nothing else needs them. */
static void check_baseline(report *r, const char *name, const char *topic)
{
    void *library = gt_library_open(name);
    if (!library) {
        say(r, WARNING, topic,
            "results come without this comparison; the CUDA toolkit has it: set CUDA_HOME, or put its lib64 on "
            "LD_LIBRARY_PATH",
            "lib%s.so is not on the loader's path, in $CUDA_HOME nor in /usr/local/cuda", name);
        return;
    }
    say(r, OK, topic, NULL, "%s", gt_library_path(library));
    dlclose(library);
}

/* Whether a file that is not there yet could be made: the nearest folder that exists can be written. */
static bool can_create(const char *path)
{
    char copy[MOST_PATH];
    struct stat facts;
    snprintf(copy, sizeof copy, "%s", path);
    const char *folder = dirname(copy); /* cuts the copy where it is */
    while (stat(folder, &facts) != 0 && errno == ENOENT && strcmp(folder, "/") != 0 && strcmp(folder, ".") != 0)
        folder = dirname(copy);
    return access(folder, W_OK | X_OK) == 0;
}

/* The journal stands beside the file, so its folder must be writable too. */
static void check_write(report *r, const char *path)
{
    if (access(path, W_OK) == 0 && can_create(path))
        say(r, OK, "writing", NULL, "the file and its folder can be written");
    else
        say(r, MISSING, "writing", "programs can load from it, tuning needs a file of your own: --db FILE",
            "the file or its folder is read-only for this user");
}

static int say_contents(void *data, int columns, const char *const *names, const char *const *values)
{
    (void)columns, (void)names;
    say(data, OK, "contents", NULL, "trials %s, kernels %s, problems %s", values[0], values[1], values[2]);
    return 0;
}

static int say_tuned(void *data, int columns, const char *const *names, const char *const *values)
{
    (void)columns, (void)names;
    say(data, OK, "tuned", NULL, "%s: %s problem%s", values[0], values[1], strcmp(values[1], "1") == 0 ? "" : "s");
    return 0;
}

static int say_ceilings(void *data, int columns, const char *const *names, const char *const *values)
{
    (void)columns, (void)names;
    say(data, OK, "ceilings", NULL, "%s: %s%s%s%s", values[0], values[1], values[2] ? ", copies " : "",
        values[2] ? values[2] : "", values[2] ? " TB/s" : "");
    return 0;
}

/* One line for each reason. */
static void say_stale(report *r, const char *gpu, const gt_stales *stales)
{
    for (size_t i = 0; i < stales->count; i++) {
        size_t same = 0;
        bool said = false;
        for (size_t j = 0; j < stales->count; j++) {
            const bool is = strcmp(stales->list[i].why, stales->list[j].why) == 0;
            same += is;
            said = said || (is && j < i);
        }
        if (!said)
            say(r, WARNING, "stale", "gemmtune revalidate proves and times them again",
                "%zu winner%s on %s %s proved under %s", same, same == 1 ? "" : "s", gpu, same == 1 ? "was" : "were",
                stales->list[i].why);
    }
}

/* Winners for the GPUs of this machine that were proved under other conditions. */
static gt_status check_stale(report *r, const gt_options_cli *options, gt_store *store)
{
    const gt_types *types[GT_TYPES_MOST];
    gt_families families;
    size_t count = 0;
    gt_status status = gt_families_init(options->templates, &families);
    for (; count < GT_TYPES_MOST && gt_types_at(count); count++)
        types[count] = gt_types_at(count);
    for (size_t i = 0; status == GT_OK && i < r->gpu_count; i++) {
        gt_stale_terms terms = {.device = &r->gpus[i], .now = r->now, .families = &families, .types = types,
                                .type_count = count};
        gt_stales stales;
        bool known = false; /* two cards of one model */
        for (size_t j = 0; j < i; j++)
            known = known || strcmp(r->gpus[j].name, r->gpus[i].name) == 0;
        terms.now.clock_mhz = r->clocks[i];
        if (known || (status = gt_stales_find(store, &terms, &stales)) != GT_OK)
            continue;
        say_stale(r, r->gpus[i].name, &stales);
        gt_stales_finish(&stales);
    }
    gt_families_finish(&families);
    return status;
}

/* What stands behind the user's; most machines have none. */
static void check_system(report *r, const gt_options_cli *options)
{
    gt_store *store;
    const gt_status status =
        options->database ? GT_ERROR_NO_DATABASE : gt_store_open(gt_store_system_path(), GT_STORE_READ, &store);
    if (status == GT_ERROR_NO_DATABASE)
        return;
    if (status != GT_OK) {
        say(r, WARNING, "system", "the library goes on without it", "%s", gt_error_message());
        return;
    }
    say(r, OK, "system", NULL, "%s, behind the user's database", gt_store_path(store));
    gt_store_close(store);
}

static void check_database(report *r, const gt_options_cli *options)
{
    gt_store *store;
    char path[MOST_PATH];
    gt_status status = GT_OK;
    if (options->database)
        snprintf(path, sizeof path, "%s", options->database);
    else
        status = gt_store_default_path(path, sizeof path);
    if (status == GT_OK)
        status = gt_store_open(path, GT_STORE_READ, &store);
    if (status == GT_ERROR_NO_DATABASE && can_create(path))
        say(r, WARNING, "database", "the first tuning makes it: gemmtune", "%s does not exist yet", path);
    else if (status == GT_ERROR_NO_DATABASE)
        say(r, MISSING, "database", "choose another place: --db FILE or $GEMMTUNE_DB",
            "%s does not exist and cannot be made there", path);
    else if (status != GT_OK)
        say(r, MISSING, "database", NULL, "%s", gt_error_message());
    if (status != GT_OK)
        return;
    say(r, OK, "database", NULL, "%s", path);
    status = gt_store_query(store,
                            "SELECT (SELECT count(*) FROM trial), (SELECT count(*) FROM kernel),"
                            " (SELECT count(*) FROM problem)",
                            NULL, say_contents, r);
    if (status == GT_OK)
        status = gt_store_query(store, "SELECT " GT_GPU_LABEL ", count(*) FROM best_configs b JOIN gpu g ON g.id = b.gpu_id"
                                " GROUP BY g.id ORDER BY 1", NULL, say_tuned, r);
    if (status == GT_OK)
        status = gt_store_query(store,
                                "SELECT " GT_GPU_LABEL ", group_concat(printf('%s %.1f TFLOPS (%s)', p.type, p.tflops, p.source),"
                                " ', '), (SELECT printf('%.2f', copy_tbs) FROM bandwidth WHERE gpu = g.id)"
                                " FROM gpu g JOIN peak p ON p.gpu = g.id GROUP BY g.id ORDER BY 1",
                                NULL, say_ceilings, r);
    if (status == GT_OK)
        status = check_stale(r, options, store);
    if (status != GT_OK)
        say(r, MISSING, "contents", NULL, "%s", gt_error_message());
    gt_store_close(store);
    check_write(r, path);
}

static void print_gpus(const report *r)
{
    fputs("\n], \"gpus\": [", stdout);
    for (size_t i = 0; i < r->gpu_count; i++) {
        const gt_device *d = &r->gpus[i];
        printf("%s\n  {\"device\": %d, \"name\": ", i > 0 ? "," : "", d->ordinal);
        gt_json_text(stdout, d->name);
        printf(", \"cc\": %d, \"arch\": \"%s\", \"sm_count\": %d, \"clock_khz\": %d, \"memory_bytes\": %lld, "
               "\"l2_bytes\": %lld, \"smem_limit\": %d, \"peak_f32_tflops\": ",
               d->cc, d->arch, d->sm_count, d->clock_khz, (long long)d->memory_bytes, (long long)d->l2_bytes,
               d->smem_limit);
        gt_json_number(stdout, gt_device_peak_tflops(d, gt_types_parse("f32", GT_MATH_STRICT)));
        putchar('}');
    }
    printf("%s], \"ready\": %s}\n", r->gpu_count > 0 ? "\n" : "", r->ready ? "true" : "false");
}

int gt_cmd_doctor(const gt_options_cli *options)
{
    report r = {.json = options->json, .colour = gt_wants_colour(stdout), .ready = true};
    snprintf(r.now.program, sizeof r.now.program, "%s", gt_version());
    fputs(r.json ? "{\"checks\": [" : "", stdout);
    const int driver = check_driver(&r, options);
    check_nvrtc(&r, options, driver);
    check_baseline(&r, "cublas", "cuBLAS");
    check_baseline(&r, "cublasLt", "cuBLASLt");
    check_database(&r, options);
    check_system(&r, options);
    if (r.json)
        print_gpus(&r);
    else
        puts(r.ready ? "\nReady to tune." : "\nNot ready: see what is missing above.");
    free(r.gpus);
    free(r.clocks);
    return r.ready ? 0 : 1;
}
