/* The beginning of a software GPU that offers less than this version's. */
#include "../../src/softgpu/softgpu.h"

const gtSoft *gtSoftTable(void)
{
    static const gtSoft table = {.bytes = sizeof table - sizeof table.counts};
    return &table;
}
