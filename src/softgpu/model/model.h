/* How long a GPU would take: a time from what a launch did, for ranking. Never measured. */
#ifndef SG_MODEL_H
#define SG_MODEL_H

#include "../machine/exec.h"
#include "../ptx/sass.h"
#include "profile.h"

/* What the time depends on beside the counts. */
typedef struct sg_shape {
    uint64_t blocks;
    uint32_t threads;      /* of a block */
    int registers;
    uint32_t shared_bytes; /* of a block, static and dynamic */
    int blocks_per_sm;     /* that fit; 1 at least */
    uint64_t footprint;    /* bytes of memory that the launch reaches, each once */
    double cold;           /* share of them that is not in L2 */
    sg_sass_loop loop;     /* all zero where it is not known */
} sg_shape;

/* Microseconds. Each part is what the launch would take if nothing else bounded it. */
typedef struct sg_cost {
    double us;
    double issue, fma, alu, half, sfu, f64, tensor, shared, l1; /* of the busiest SM */
    double latency, l2, memory, launch;
    double waves;
} sg_cost;

/* A launch, for those who ask afterwards. */
typedef struct sg_launch_record {
    sg_counts counts;
    sg_shape shape;
    sg_cost cost;
    uint64_t ran; /* blocks that were counted; fewer than there are where the launch was sampled */
    bool counted; /* false: the counts are an equal launch's before it */
} sg_launch_record;

sg_cost sg_model_launch(const sg_profile *profile, const sg_shape *shape, const sg_counts *counts);

/* A fill or a copy inside the device's memory; a copy from or to the host. */
double sg_model_fill_us(const sg_profile *profile, uint64_t bytes);
double sg_model_transfer_us(uint64_t bytes);

#endif
