/* Every instruction that the machine knows: a table from each file of handlers. */
#include "rows.h"

const sg_entry *const sg_catalog[] = {
    sg_entries_integer, sg_entries_float,  sg_entries_half, sg_entries_compare, sg_entries_move,
    sg_entries_control, sg_entries_memory, sg_entries_atomic, sg_entries_barrier, sg_entries_lanes,
    sg_entries_async,   sg_entries_matrix, sg_entries_fragment, sg_entries_convert, sg_entries_mbarrier,
    sg_entries_remote,  sg_entries_wgmma,  sg_entries_narrow, NULL,
};
