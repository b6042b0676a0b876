/* What the GPU can do at most: asked of the store, else measured in the worker. */
#include <stdio.h>
#include <stdlib.h>

#include "../../src/core/status.h"
#include "../compile/kept.h"
#include "engine.h"

extern const char gt_embedded_ceiling_cu[];

static gt_status compile(const gt_engine *engine, const gt_types *types, gt_code *code)
{
    char *source = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&source, &size);
    if (!stream)
        return gt_fail_memory();
    if (gt_ceilings_have_stream(types))
        fprintf(stream, "#define NUMBER %s\n", gt_type_find(types->accumulator)->cuda);
    fputs(gt_embedded_ceiling_cu, stream);
    gt_status status = fclose(stream) == 0 ? GT_OK : gt_fail_memory();
    if (status == GT_OK)
        status = gt_kept_compile(engine->nvrtc, source, engine->device.arch, code);
    free(source);
    return status;
}

/* A GPU that does not let itself be measured can be tuned all the same: only an interruption is passed on. */
static gt_status measure(gt_engine *engine, const gt_types *types, gt_ceilings *measured)
{
    gt_code code = {0};
    gt_status status = compile(engine, types, &code);
    if (status == GT_OK)
        status = gt_worker_ceilings(engine->worker, types, &code, measured);
    gt_code_finish(&code);
    return status == GT_ERROR_BUSY ? status : GT_OK;
}

gt_status gt_engine_find_limits(gt_engine *engine, const gt_types *types, gt_limits *out)
{
    const double units = gt_device_peak_tflops(&engine->device, types);
    gt_ceilings known = {0}, measured = {0};
    gt_status status = gt_store_find_peak(engine->store, &engine->device, types, &known.tflops);
    if (status == GT_OK)
        status = gt_store_find_bandwidth(engine->store, &engine->device, &known.copy_tbs);
    const bool missing = known.copy_tbs == 0 || (known.tflops == 0 && gt_ceilings_have_stream(types));
    if (status == GT_OK && missing && !engine->driver->soft)
        status = measure(engine, types, &measured);
    if (status == GT_OK && engine->run && units > 0)
        status = gt_store_put_peak(engine->store, engine->gpu, types, units, "units x clock");
    if (status == GT_OK && measured.tflops > 0 && engine->run)
        status = gt_store_put_peak(engine->store, engine->gpu, types, measured.tflops, "measured");
    if (status == GT_OK && measured.copy_tbs > 0 && engine->run)
        status = gt_store_put_bandwidth(engine->store, engine->gpu, measured.copy_tbs);
    if (status != GT_OK)
        return status;
    if (measured.tflops > 0)
        known.tflops = measured.tflops;
    if (measured.copy_tbs > 0)
        known.copy_tbs = measured.copy_tbs;
    *out = (gt_limits){.types = types, .ceilings = known, .measured = known.tflops > 0};
    if (!out->measured)
        out->ceilings.tflops = units;
    return GT_OK;
}

const gt_limits *gt_limits_find(const gt_limits *limits, size_t count, const gt_problem *problem)
{
    const gt_types *types = gt_class_types(&problem->class);
    size_t i = 0;
    while (i + 1 < count && limits[i].types != types)
        i++;
    return &limits[i];
}

/* Whether types before these are computed by the same unit: one of them stands for all. */
static bool is_told(const gt_limits *limits, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (limits[i].types->unit == limits[index].types->unit &&
            limits[i].ceilings.tflops == limits[index].ceilings.tflops)
            return true;
    return false;
}

void gt_limits_describe(const gt_limits *limits, size_t count, char *line, size_t size)
{
    size_t length = 0;
    for (size_t i = 0; i < count && length < size; i++) {
        char types[GT_TYPES_TEXT];
        if (is_told(limits, i))
            continue;
        length += (size_t)snprintf(line + length, size - length, "%s%s %.1f TFLOPS (%s)", i > 0 ? ", " : "",
                                   gt_types_text(limits[i].types, types), limits[i].ceilings.tflops,
                                   limits[i].measured ? "measured" : "units x clock");
    }
    if (count > 0 && limits[0].ceilings.copy_tbs > 0 && length < size)
        snprintf(line + length, size - length, ", copies %.2f TB/s", limits[0].ceilings.copy_tbs);
}
