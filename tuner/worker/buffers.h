/* The operands of one problem of the tuned size on the device, guarded. */
#ifndef GT_BUFFERS_H
#define GT_BUFFERS_H

#include "runner.h"

typedef struct gt_buffers {
    const gt_driver *driver;
    CUstream stream;
    const gt_checks *checks;
    gt_problem problem;
    gt_guarded a, b, c;
    CUdeviceptr counters; /* a few words for counts */
    bool placed;
} gt_buffers;

/* The random streams of a problem's data, offsets to its seed. */
enum { GT_STREAM_A = 1, GT_STREAM_B = 2, GT_STREAM_C = 3, GT_STREAM_X = 4, GT_STREAM_Y = 5, GT_STREAM_PLACES = 6,
       GT_STREAM_SCALARS = 7, GT_STREAM_BIAS = 8 };

/* The seed of one stream, far from every other. */
uint64_t gt_stream_seed(uint64_t seed, int stream);

void gt_buffers_init(const gt_checks *checks, gt_buffers *buffers);

/* Makes room for a problem's operands and poisons it. Too little memory is over_resources: "... needs 12.0 GiB, 3.1 GiB
 * free"; no kernel has asked for it. */
bool gt_buffers_place(gt_buffers *buffers, const gt_problem *problem, gt_trial *trial);

/* Fills A and B with random data; what lies between rows and matrices stays poisoned. */
CUresult gt_buffers_fill(const gt_buffers *buffers, uint64_t seed);

/* Poisons C whole and, with random, then fills its elements. The same seed gives the same C. */
CUresult gt_buffers_reset_c(gt_buffers *buffers, bool random, uint64_t seed);

/* Whether everything around the operands is as it was: guards, padding of C, the runner's workspace. `where` ends
 * the failure's line. Waits for the stream: a launch that failed is noticed here at the latest. */
bool gt_buffers_intact(const gt_buffers *buffers, const gt_runner *runner, const char *where, gt_trial *trial);

#endif
