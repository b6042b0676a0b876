#include "warp.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void sg_thread_of(const sg_warp *w, int lane, uint32_t thread[3])
{
    const uint32_t *size = w->machine->grid->block;
    const uint32_t linear = w->index * SG_LANES + (uint32_t)lane;
    thread[0] = linear % size[0];
    thread[1] = linear / size[0] % size[1];
    thread[2] = linear / size[0] / size[1];
}

void sg_fault_at(sg_warp *w, const sg_op *op, uint32_t mask, sg_fault fault, uint64_t address, const char *format, ...)
{
    sg_machine *machine = w->machine;
    sg_report *report = machine->report;
    const int lane = mask ? __builtin_ctz(mask) : 0;
    va_list arguments;
    sg_stop(w, SG_WARP_WAITING);
    if (machine->fault)
        return; /* the first one counts */
    machine->fault = fault;
    report->fault = fault;
    report->line = op->line;
    report->address = address;
    memcpy(report->block, w->block->id, sizeof report->block);
    sg_thread_of(w, lane, report->thread);
    int length = snprintf(report->message, sizeof report->message,
                          "%.80s: block (%" PRIu32 ",%" PRIu32 ",%" PRIu32 ") thread (%" PRIu32 ",%" PRIu32 ",%" PRIu32
                          ") PTX line %" PRIu32 " %.80s: ",
                          machine->kernel->facts.name, report->block[0], report->block[1], report->block[2],
                          report->thread[0], report->thread[1], report->thread[2], op->line,
                          machine->kernel->mnemonics[op - w->ops]);
    va_start(arguments, format);
    vsnprintf(report->message + length, sizeof report->message - (size_t)length, format, arguments);
    va_end(arguments);
}
