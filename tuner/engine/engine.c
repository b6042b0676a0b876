#include "engine.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../src/core/status.h"
#include "../compile/cache.h"
#include "../compile/kept.h"
#include "../timer.h"
#include "claims.h"
#include "lanes.h"

extern const char gt_embedded_checks_cu[];

/* Set by a signal, read between candidates: the one thing a handler may touch. */
static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    if (interrupted) /* asked twice: go at once; every acknowledged result is safe */
        _exit(130);
    interrupted = 1;
}

bool gt_engine_interrupted(void)
{
    return interrupted != 0;
}

void gt_engine_catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

double gt_engine_elapsed(const gt_engine *engine)
{
    return gt_now() - engine->started;
}

static gt_status begin_run(gt_engine *engine)
{
    char host[256] = "";
    const gt_engine_options *options = &engine->options;
    gethostname(host, sizeof host - 1);
    const gt_run run = {
        .program = gt_version(),
        .driver = engine->driver->release,
        .nvrtc = engine->nvrtc->version,
        .host = host,
        .arguments = options->line,
        .seed = options->check_seed,
    };
    gt_status status = gt_store_gpu(engine->store, &engine->device, &engine->gpu);
    return status == GT_OK ? gt_store_run_begin(engine->store, &run, &engine->run) : status;
}

/* A problem that was searched with the same families, effort, compiler and architecture need not be searched again. */
static gt_status hash_search(gt_engine *engine)
{
    const gt_engine_options *options = &engine->options;
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return gt_fail_memory();
    fprintf(stream, "0 %s %s %s %s", options->family ? options->family : "*", gt_version(),
            engine->nvrtc->version, engine->device.arch);
    for (size_t i = 0; i < engine->families.count; i++)
        fprintf(stream, "\n%s\n%s\n%s", engine->families.list[i].name, engine->families.list[i].source,
                engine->families.list[i].space);
    if (fclose(stream) != 0) {
        free(text);
        return gt_fail_memory();
    }
    for (int effort = 0; effort < GT_EFFORT_COUNT; effort++) {
        text[0] = (char)('0' + effort);
        gt_hash(text, size, engine->search[effort]);
    }
    free(text);
    return GT_OK;
}

gt_status gt_engine_create_worker(const gt_engine *engine, gt_worker **worker)
{
    const gt_worker_options options = {
        .device = engine->options.device,
        .driver = engine->options.driver,
        .limit_s = engine->options.limit_s,
        .checks = &engine->checks,
        .interrupted = &interrupted,
    };
    return gt_worker_create(&options, worker);
}

/* Opens the system's database, which most machines do not have. It stands behind the user's, or in its place where
 * there is none. A system's database that cannot be read is an error only in that case; `gemmtune doctor` tells why. */
static gt_status open_behind(gt_engine *engine)
{
    const gt_status status =
        gt_store_open(gt_store_system_path(), GT_STORE_READ, engine->store ? &engine->behind : &engine->store);
    return engine->store || status == GT_ERROR_NO_DATABASE ? GT_OK : status;
}

static gt_status open_store(gt_engine *engine, gt_store_mode mode)
{
    const char *wanted = engine->options.database;
    char path[PATH_MAX], device[GT_DEVICE_OPTION];
    const gt_status status = gt_store_open(wanted, mode, &engine->store);
    if (engine->options.behind && !wanted && (status == GT_OK || status == GT_ERROR_NO_DATABASE)) {
        const gt_status behind = open_behind(engine);
        if (behind != GT_OK || engine->store)
            return behind;
    }
    if (status != GT_ERROR_NO_DATABASE || (!wanted && gt_store_default_path(path, sizeof path) != GT_OK))
        return status;
    return gt_fail(status, "no database at %s: run `gemmtune --device %s%s%s` to make one", wanted ? wanted : path,
                   gt_device_option(&engine->device, device), wanted ? " --db " : "", wanted ? wanted : "");
}

gt_status gt_engine_begin_writing(gt_engine *engine)
{
    gt_store *store;
    if (engine->run != 0)
        return GT_OK;
    const gt_status status = gt_store_open(gt_store_path(engine->store), GT_STORE_WRITE, &store);
    if (status != GT_OK)
        return status;
    gt_store_close(engine->store);
    engine->store = store;
    return begin_run(engine);
}

/* The kernels of the checks, for the types of this run. */
static gt_status compile_checks(gt_engine *engine)
{
    const gt_engine_options *options = &engine->options;
    char *source = NULL;
    size_t size;
    bool wanted[GT_TYPE_LIMIT] = {false}, paired[GT_TYPE_LIMIT][GT_TYPE_LIMIT] = {{false}};
    FILE *stream = open_memstream(&source, &size);
    if (!stream)
        return gt_fail_memory();
    gt_status status = GT_OK;
    for (size_t i = 0; status == GT_OK && i < options->type_count; i++) {
        const gt_types *types = options->types[i];
        bool has = true;
        if (options->stored)
            status = gt_store_has_types(engine->store, types, &has);
        if (has)
            wanted[types->a] = wanted[types->b] = wanted[types->c] = true;
    }
    if (options->type_count > 0) {
        fputs("#define SOME_TYPES", stream);
        for (gt_type type = 0; gt_type_find(type); type++)
            if (wanted[type])
                fprintf(stream, " KERNELS(%s)", gt_type_find(type)->name);
        for (size_t i = 0; i < options->type_count; i++) {
            const gt_type a = options->types[i]->a, b = options->types[i]->b;
            if (a != b && wanted[a] && wanted[b] && !paired[a][b])
                fprintf(stream, " SAMPLE(%s, %s)", gt_type_find(a)->name, gt_type_find(b)->name);
            paired[a][b] = true;
        }
        fputs("\n", stream);
    }
    fputs(gt_embedded_checks_cu, stream);
    if (fclose(stream) != 0 && status == GT_OK)
        status = gt_fail_memory();
    if (status == GT_OK)
        status = gt_kept_compile(engine->nvrtc, source, engine->device.arch, &engine->checks);
    free(source);
    return status;
}

gt_status gt_engine_open(const gt_engine_options *options, gt_engine_use use, gt_engine *engine)
{
    *engine = (gt_engine){.options = *options, .claims = -1, .started = gt_now()};
    gt_engine_catch_signals();
    gt_status status = gt_driver_open(options->driver, &engine->driver);
    if (status == GT_OK)
        status = gt_device_query(engine->driver, options->device, &engine->device);
    if (status == GT_OK)
        status = gt_nvrtc_open(options->nvrtc, &engine->nvrtc);
    if (status == GT_OK)
        gt_nvrtc_begin(engine->nvrtc);
    if (status == GT_OK)
        status = gt_families_init(options->templates, &engine->families);
    if (status == GT_OK && options->family) {
        const gt_family *family;
        status = gt_families_get(&engine->families, options->family, &family);
    }
    if (status == GT_OK && use != GT_ENGINE_NO_STORE)
        status = open_store(engine, use == GT_ENGINE_WRITE ? GT_STORE_WRITE : GT_STORE_READ);
    if (status == GT_OK)
        status = gt_cache_create(&engine->cache);
    if (status == GT_OK)
        status = gt_compiler_create(engine->nvrtc, options->threads, &engine->compiler);
    if (status == GT_OK)
        status = compile_checks(engine);
    if (status == GT_OK)
        status = gt_engine_create_worker(engine, &engine->worker);
    if (status == GT_OK && use == GT_ENGINE_WRITE)
        status = hash_search(engine);
    if (status == GT_OK && use == GT_ENGINE_WRITE)
        status = begin_run(engine);
    if (status == GT_OK && use == GT_ENGINE_WRITE)
        engine->claims = gt_claims_open(gt_store_path(engine->store));
    return status;
}

void gt_engine_close(gt_engine *engine, const char *end)
{
    gt_lanes_end(engine);
    gt_worker_destroy(engine->worker);
    gt_compiler_destroy(engine->compiler);
    gt_cache_destroy(engine->cache);
    gt_code_finish(&engine->checks);
    if (engine->store && engine->run)
        gt_store_run_end(engine->store, engine->run, end);
    gt_store_close(engine->store);
    gt_store_close(engine->behind);
    if (engine->claims >= 0)
        close(engine->claims);
    gt_families_finish(&engine->families);
    gt_nvrtc_close(engine->nvrtc);
    gt_driver_close(engine->driver);
    *engine = (gt_engine){.claims = -1};
}

gt_status gt_engine_prepare(gt_engine *engine, const gt_class *class, gt_kernel *kernel, bool wanted)
{
    char *source;
    const gt_family *family;
    gt_status status = gt_families_get(&engine->families, kernel->family, &family);
    if (status == GT_OK)
        status = gt_render(family, class, engine->options.variant, kernel, &source);
    if (status != GT_OK)
        return status;
    snprintf(kernel->nvrtc, sizeof kernel->nvrtc, "%s", engine->nvrtc->version);
    if (!wanted || gt_cache_find(engine->cache, kernel->source_hash) ||
        gt_compiler_share(engine->compiler, kernel->source_hash)) {
        free(source);
        return GT_OK;
    }
    return gt_compiler_submit(engine->compiler, kernel, source, engine);
}

void gt_engine_give_turn(const gt_engine *engine)
{
    if (engine->turn)
        pthread_mutex_unlock(engine->turn);
}

void gt_engine_take_turn(const gt_engine *engine)
{
    if (engine->turn)
        pthread_mutex_lock(engine->turn);
}

/* Takes in all finished compilations, then looks a source up. */
static const gt_cached *find_code(gt_engine *engine, const char *source_hash)
{
    gt_compiled compiled;
    while (gt_compiler_finished(engine->compiler, &compiled))
        gt_cache_put(engine->cache, &compiled);
    return gt_cache_find(engine->cache, source_hash);
}

gt_status gt_engine_code(gt_engine *engine, const gt_class *class, gt_kernel *kernel, const gt_code **code)
{
    const gt_cached *cached;
    gt_status status = GT_OK;
    if (!kernel->source_hash[0]) /* else it was rendered before */
        status = gt_engine_prepare(engine, class, kernel, false);
    while (status == GT_OK && !(cached = find_code(engine, kernel->source_hash))) {
        gt_engine_give_turn(engine);
        const bool waited = gt_compiler_wait(engine->compiler, kernel->source_hash);
        gt_engine_take_turn(engine);
        if (!waited)
            status = gt_engine_prepare(engine, class, kernel, true);
    }
    if (status != GT_OK)
        return status;
    if (cached->status != GT_OK) {
        status = gt_fail(cached->status, "%s", cached->detail);
        if (status != GT_ERROR_COMPILE) /* not the source's failure: it may compile another time */
            gt_cache_forget(engine->cache, kernel->source_hash);
        return status;
    }
    *code = &cached->code;
    return GT_OK;
}
