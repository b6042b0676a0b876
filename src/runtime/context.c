/* gt_open and gt_close: the databases, the driver and the GPU behind a context. */
#include "plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/environment.h"

void gt_context_tell(const gt_context *context, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    if (!context->log)
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    context->log(context->log_data, line);
}

static gt_status add_source(gt_context *context, const char *path)
{
    gt_status status = gt_store_open(path, GT_STORE_READ, &context->sources[context->source_count].store);
    if (status == GT_OK)
        context->source_count++;
    return status;
}

/* Names the device that would have been used: the driver is not open yet. */
static gt_status fail_no_database(const gt_options *options, const char *path)
{
    const char *driver = options->driver ? options->driver : gt_environment(GT_ENV_DRIVER);
    char device[16];
    snprintf(device, sizeof device, "%d", options->device);
    return gt_fail(GT_ERROR_NO_DATABASE, "no database at %s: run `gemmtune --device %s%s%s` to make one", path,
                   gt_driver_is_soft(driver, NULL) ? driver : device, options->database ? " --db " : "",
                   options->database ? path : "");
}

static gt_status keep_db_option(gt_context *context, const char *path)
{
    static const char option[] = " --db ";
    const size_t size = path ? sizeof option + strlen(path) : 1;
    if (!(context->db_option = malloc(size)))
        return gt_fail_memory();
    snprintf(context->db_option, size, "%s%s", path ? option : "", path ? path : "");
    return GT_OK;
}

/* Opens the database that was asked for; else the user's with the system's behind it. */
static gt_status open_sources(gt_context *context, const gt_options *options)
{
    char path[4096];
    const char *wanted = options->database;
    gt_status user, behind;
    if (wanted) {
        user = add_source(context, wanted);
        return user == GT_ERROR_NO_DATABASE ? fail_no_database(options, wanted) : user;
    }
    user = gt_store_default_path(path, sizeof path);
    const bool has_home = user == GT_OK;
    if (has_home && (user = add_source(context, path)) != GT_OK && user != GT_ERROR_NO_DATABASE)
        return user;
    behind = add_source(context, gt_store_system_path());
    if (behind != GT_OK && behind != GT_ERROR_NO_DATABASE) {
        if (context->source_count == 0)
            return behind;
        gt_context_tell(context, "the system's database is not used: %s", gt_error_message());
    }
    return context->source_count > 0 ? GT_OK : fail_no_database(options, has_home ? path : gt_store_system_path());
}

/* Takes the current context, or makes the device's primary one current, and reads the device's facts. */
static gt_status open_device(gt_context *context, int ordinal)
{
    const gt_driver *driver = context->driver;
    gt_status status = gt_driver_check(driver, driver->cuCtxGetCurrent(&context->cuda), "cuCtxGetCurrent");
    if (status == GT_OK && context->cuda) {
        status = gt_driver_check(driver, driver->cuCtxGetDevice(&context->handle), "cuCtxGetDevice");
        return status == GT_OK ? gt_device_of(driver, context->handle, &context->device) : status;
    }
    if (status == GT_OK)
        status = gt_device_query(driver, ordinal, &context->device);
    if (status != GT_OK)
        return status;
    status = gt_driver_check(driver, driver->cuDeviceGet(&context->handle, ordinal), "cuDeviceGet");
    if (status == GT_OK)
        status = gt_driver_check(driver, driver->cuDevicePrimaryCtxRetain(&context->cuda, context->handle),
                                 "cuDevicePrimaryCtxRetain");
    if (status != GT_OK)
        return status;
    context->retained = true;
    return gt_driver_check(driver, driver->cuCtxSetCurrent(context->cuda), "cuCtxSetCurrent");
}

gt_status gt_open(const gt_options *options, gt_context **out)
{
    static const gt_options defaults;
    if (!out)
        return gt_fail(GT_ERROR_INVALID, "context is NULL");
    if (!options)
        options = &defaults;
    gt_context *context = calloc(1, sizeof *context);
    if (!context)
        return gt_fail_memory();
    if (pthread_mutex_init(&context->lock, NULL) != 0) {
        free(context);
        return gt_fail_memory();
    }
    context->log = options->log;
    context->log_data = options->log_data;
    gt_status status = keep_db_option(context, options->database);
    if (status == GT_OK)
        status = open_sources(context, options);
    if (status == GT_OK)
        status = gt_driver_open(options->driver, &context->driver);
    context->choices.driver = context->driver;
    if (status == GT_OK)
        status = open_device(context, options->device);
    if (status != GT_OK) {
        gt_close(context);
        return status;
    }
    *out = context;
    return GT_OK;
}

void gt_close(gt_context *context)
{
    CUcontext current = NULL;
    if (!context)
        return;
    gt_choices_finish(&context->choices);
    for (size_t i = 0; i < context->source_count; i++) {
        for (size_t j = 0; j < GT_READINGS; j++)
            gt_measurements_finish(&context->sources[i].readings[j].measured);
        gt_store_close(context->sources[i].store);
    }
    if (context->retained) {
        /* Released, it may be gone: this thread must not be left standing on it. */
        if (context->driver->cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context->cuda)
            context->driver->cuCtxSetCurrent(NULL);
        context->driver->cuDevicePrimaryCtxRelease(context->handle);
    }
    gt_driver_close(context->driver);
    pthread_mutex_destroy(&context->lock);
    free(context->db_option);
    free(context);
}

gt_status gt_context_enter(const gt_context *context, CUcontext *out)
{
    const gt_driver *driver = context->driver;
    CUcontext current = NULL;
    CUdevice handle;
    gt_status status = gt_driver_check(driver, driver->cuCtxGetCurrent(&current), "cuCtxGetCurrent");
    if (status == GT_OK && !current) {
        current = context->cuda;
        status = gt_driver_check(driver, driver->cuCtxSetCurrent(current), "cuCtxSetCurrent");
    }
    if (status == GT_OK)
        status = gt_driver_check(driver, driver->cuCtxGetDevice(&handle), "cuCtxGetDevice");
    if (status != GT_OK)
        return status;
    if (handle != context->handle)
        return gt_fail(GT_ERROR_INVALID, "this thread's CUDA context is on another GPU than device %d, which gt_open "
                       "found: open a gt_context for each GPU", context->device.ordinal);
    *out = current;
    return GT_OK;
}
