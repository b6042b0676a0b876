/* What the software GPU offers beyond the driver's functions. */
#include <stdio.h>
#include <string.h>

#include "../model/sample.h"
#include "../ptx/cubin.h"
#include "../softgpu.h"
#include "attach.h"
#include "state.h"

static int choose(const char *choice)
{
    sg_enter(SG_NEEDS_NOTHING);
    return sg_leave(choice ? sg_choose(choice) : CUDA_ERROR_INVALID_VALUE);
}

static int attach_ptx(const void *cubin, size_t cubin_bytes, const char *ptx, size_t ptx_bytes)
{
    if (!cubin || !ptx || ptx_bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    /* Later the cubin comes without its size: what its header says must be true now. */
    const size_t bytes = cubin_bytes >= SG_CUBIN_HEADER ? sg_cubin_size(cubin) : 0;
    if (bytes == 0 || bytes > cubin_bytes)
        return CUDA_ERROR_INVALID_IMAGE;
    sg_enter(SG_NEEDS_NOTHING);
    return sg_leave(sg_attach(cubin, bytes, ptx, ptx_bytes) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

static int report(char *line, size_t bytes)
{
    if (!line || bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    sg_enter(SG_NEEDS_NOTHING);
    snprintf(line, bytes, "%s", sg.report);
    return sg_leave(CUDA_SUCCESS);
}

static int sample(int on)
{
    if (on < SG_SAMPLE_ALL || on > SG_SAMPLE_UNTIMED)
        return CUDA_ERROR_INVALID_VALUE;
    sg_sample((sg_sampling)on);
    return CUDA_SUCCESS;
}

static void races(int on)
{
    sg_asked.check_races = on != 0;
}

static int protect(unsigned long long address, unsigned long long bytes, int allowed)
{
    CUresult result = sg_enter(SG_NEEDS_INIT);
    if (result == CUDA_SUCCESS && (bytes == 0 || !sg_memory_find_range(sg.memory, address, bytes)))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && !sg_memory_protect(sg.memory, address, bytes, allowed != 0))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    return sg_leave(result);
}

static void order(unsigned long long seed)
{
    sg_asked.order = seed;
}

static gtSoftLaunch tell(const sg_launch_record *r)
{
    const sg_counts *c = &r->counts;
    return (gtSoftLaunch){
        .lane_instructions = c->lane_instructions, .warp_instructions = c->warp_instructions,
        .fma = c->fma, .alu = c->alu, .half = c->half, .sfu = c->sfu, .f64 = c->f64, .tensor = c->tensor,
        .control = c->control, .memory = c->memory,
        .shared_loads = c->shared_loads, .shared_stores = c->shared_stores, .shared_wavefronts = c->shared_wavefronts,
        .global_loads = c->global_loads, .global_stores = c->global_stores, .global_sectors = c->global_sectors,
        .global_bytes = c->global_bytes, .async_bytes = c->async_bytes, .barriers = c->barriers,
        .tensor_flops = c->tensor_flops,
        .blocks = r->shape.blocks, .threads = r->shape.threads, .registers = r->shape.registers,
        .shared_bytes = (int32_t)r->shape.shared_bytes, .blocks_per_sm = r->shape.blocks_per_sm, .counted = r->counted,
        .waves = r->cost.waves, .us = r->cost.us,
        .issue_us = r->cost.issue, .fma_us = r->cost.fma, .alu_us = r->cost.alu, .half_us = r->cost.half,
        .sfu_us = r->cost.sfu, .f64_us = r->cost.f64, .tensor_us = r->cost.tensor, .shared_us = r->cost.shared,
        .l1_us = r->cost.l1, .latency_us = r->cost.latency, .l2_us = r->cost.l2, .memory_us = r->cost.memory,
        .launch_us = r->cost.launch,
        .stored_bytes = c->shared_bytes, .direct_sectors = c->direct_sectors, .direct_most = c->direct_most,
        .direct_rounds = c->direct_rounds, .bare_copies = c->bare_copies, .round_trips = c->round_trips, .ran = r->ran,
    };
}

static int counts(gtSoftLaunch *launch, size_t bytes)
{
    if (!launch || bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    sg_enter(SG_NEEDS_NOTHING);
    const bool launched = sg.launched;
    const gtSoftLaunch told = tell(&sg.last);
    sg_leave(CUDA_SUCCESS);
    if (!launched)
        return CUDA_ERROR_NOT_READY;
    memcpy(launch, &told, bytes < sizeof told ? bytes : sizeof told);
    return CUDA_SUCCESS;
}

const gtSoft *gtSoftTable(void)
{
    static const gtSoft table = {.bytes = sizeof table, .choose = choose, .attach_ptx = attach_ptx, .report = report,
                                 .sample = sample, .counts = counts, .races = races, .protect = protect,
                                 .order = order};
    return &table;
}
