/* What the GPU can do at most: asked of the store, else measured in the worker. */
#include <stdio.h>
#include <stdlib.h>

#include "../src/core/status.h"
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
        status = gt_nvrtc_compile(engine->nvrtc, source, engine->device.arch, code, NULL);
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

gt_status gt_engine_find_ceilings(gt_engine *engine)
{
    const gt_types *types = engine->options.types;
    gt_ceilings known = {0}, measured = {0};
    gt_status status = gt_store_find_peak(engine->store, &engine->device, types->name, &known.tflops);
    if (status == GT_OK)
        status = gt_store_find_bandwidth(engine->store, &engine->device, &known.copy_tbs);
    const bool missing = known.copy_tbs == 0 || (known.tflops == 0 && gt_ceilings_have_stream(types));
    if (status == GT_OK && missing && !engine->driver->soft)
        status = measure(engine, types, &measured);
    if (status == GT_OK && measured.tflops > 0 && engine->run)
        status = gt_store_put_peak(engine->store, engine->gpu, types->name, measured.tflops, "measured");
    if (status == GT_OK && measured.copy_tbs > 0 && engine->run)
        status = gt_store_put_bandwidth(engine->store, engine->gpu, measured.copy_tbs);
    if (status != GT_OK)
        return status;
    engine->ceilings.tflops = measured.tflops > 0 ? measured.tflops : known.tflops;
    engine->ceilings.copy_tbs = measured.copy_tbs > 0 ? measured.copy_tbs : known.copy_tbs;
    engine->peak_measured = engine->ceilings.tflops > 0;
    if (!engine->peak_measured)
        engine->ceilings.tflops = gt_device_peak_tflops(&engine->device, types);
    return GT_OK;
}

void gt_engine_describe_ceilings(const gt_engine *engine, char *line, size_t size)
{
    const gt_ceilings *c = &engine->ceilings;
    char copy[64] = "";
    if (c->copy_tbs > 0)
        snprintf(copy, sizeof copy, ", copies %.2f TB/s", c->copy_tbs);
    snprintf(line, size, "%s %.1f TFLOPS (%s)%s", engine->options.types->name, c->tflops,
             engine->peak_measured ? "measured" : "units x clock", copy);
}
