#include "traits.h"

#include <math.h>

#include "copies.h"
#include "types.h"

#define CARRIED      0.5  /* of what a copy to shared memory costs, for a piece that a thread has in registers on its way */
#define ISSUED_ALONE 30.0 /* instructions of four steps that are neither multiply-adds nor loads */
#define ISSUED_WARPS 1.6  /* times that products by mma.sync of less than f64 take, as warps read fragments between them */
#define ISSUED_TILE  0.3  /* instructions for each row and column of a thread's tile in a step */
#define ISSUED_SUM   1.5  /* instructions for each sum of a vector, to become a result */
#define ISSUED_READ  0.5  /* and for each element of A, of which four are read at once */
#define WRITTEN      0.5  /* of what the copy engine writes there, that instructions of warp groups wait for */

/* Registers of a thread that keeps columns, beside these and two for each sum: its own, and for each row at a time A and
 * its address, which takes more where A lies along K. Of 190 kernels that ptxas of CUDA 13.0 made for sm_90a, 159 spill
 * what this says, or up to 8 words more or less; of 61 that read more than four spilled words it finds 42. */
#define OWN_REGISTERS   16.0
#define ROW_REGISTERS   5.0
#define ALONG_REGISTERS 3.0

#define SECTOR 32 /* bytes */

double gt_trait(const gt_kernel *kernel, const char *name, double absent)
{
    int64_t value;
    return gt_params_find(&kernel->params, name, &value) && value > 0 ? (double)value : absent;
}

gt_multiplier gt_traits_multiplier(const gt_kernel *kernel)
{
    int64_t swap;
    if (gt_params_find(&kernel->params, "swap", &swap))
        return GT_BY_WARP_GROUPS;
    return gt_trait(kernel, "fragments", 0) > 0 ? GT_BY_WARPS : GT_BY_THREADS;
}

bool gt_traits_boxes(const gt_kernel *kernel)
{
    return kernel->facts.box_a_rows > 0 && gt_traits_multiplier(kernel) == GT_BY_WARP_GROUPS;
}

double gt_traits_align(const gt_kernel *kernel, const gt_problem *p)
{
    const double align = (double)p->class.align;
    return kernel->align > 0 ? fmin((double)kernel->align, align) : align;
}

double gt_traits_step(const gt_kernel *kernel, const gt_problem *p)
{
    const double lanes = gt_trait(kernel, "lanes_k", 0), unroll = gt_trait(kernel, "unroll", 0);
    const double wide = 16.0 / gt_type_find(p->class.type_b)->bytes;
    if (unroll > 0)
        return unroll * gt_trait(kernel, "warps_k", 1) * (p->class.op_b == GT_T ? 32 * wide : fmax(lanes, 1));
    if (lanes > 0)
        return 4 * lanes * gt_trait(kernel, "warps_k", 1);
    return gt_trait(kernel, "bk", 16);
}

gt_operand gt_traits_stream(const gt_kernel *kernel)
{
    return gt_trait(kernel, "side", 0) > 0 ? GT_A : GT_B;
}

bool gt_traits_along(const gt_problem *p, gt_operand operand)
{
    return operand == GT_A ? p->class.op_a == GT_N : p->class.op_b == GT_T;
}

bool gt_traits_transposed(const gt_kernel *kernel, const gt_problem *p, gt_operand operand)
{
    return gt_traits_along(p, operand) && gt_trait(kernel, "wm", 0) > 0 && gt_trait(kernel, "tm", 0) > 0;
}

bool gt_traits_read_along(const gt_kernel *kernel, const gt_problem *p, gt_operand operand)
{
    const bool copied = kernel->facts.repack >> operand & 1, turned = kernel->facts.repack & GT_COPY_ALONG_K;
    return (copied && turned) || gt_traits_along(p, operand);
}

bool gt_traits_through_registers(const gt_kernel *kernel, const gt_problem *p)
{
    int64_t swap;
    return gt_params_find(&kernel->params, "swap", &swap) && gt_type_find(p->class.type_a)->bytes != 2 &&
           !gt_traits_read_along(kernel, p, swap ? GT_B : GT_A);
}

bool gt_traits_held(const gt_kernel *kernel)
{
    return gt_trait(kernel, "unroll", 0) > 0;
}

/* Whether rows of B that begin anywhere are read in whole vectors: by kernels that have B in registers. */
static bool is_shifted(const gt_kernel *kernel, gt_operand operand)
{
    return operand == GT_B && gt_traits_held(kernel) && gt_trait(kernel, "lanes_k", 0) > 0;
}

double gt_traits_beyond(const gt_kernel *kernel, const gt_problem *p)
{
    const bool anywhere = is_shifted(kernel, GT_B) && p->class.op_b == GT_N && gt_traits_align(kernel, p) < 16;
    return anywhere ? 16.0 / gt_type_find(p->class.type_b)->bytes : 0;
}

/* How threads that multiply tiles of their own load them: 0 through registers, 1 by copies to shared memory, 2 by such,
 * but through registers what is transposed. False where others load, or instructions multiply. */
static bool find_load(const gt_kernel *kernel, int64_t *load)
{
    return gt_trait(kernel, "tm", 0) > 0 && gt_params_find(&kernel->params, "load", load);
}

/* Whether threads have an operand in registers on its way to shared memory. */
static bool is_carried(const gt_kernel *kernel, const gt_problem *p, gt_operand operand)
{
    int64_t load;
    return find_load(kernel, &load) && (load == 0 || (load == 2 && gt_traits_transposed(kernel, p, operand)));
}

bool gt_traits_elements(const gt_kernel *kernel, const gt_problem *p)
{
    if (gt_traits_multiplier(kernel) == GT_BY_WARPS)
        return gt_trait(kernel, "load", 0) == 2;
    return gt_trait(kernel, "lanes_k", 0) > 0 && gt_trait(kernel, "stages", 0) > 0 && gt_traits_align(kernel, p) < 4;
}

double gt_traits_pieces(const gt_kernel *kernel, const gt_problem *p, gt_operand operand)
{
    const bool carried = is_carried(kernel, p, operand), copied = kernel->facts.repack >> operand & 1;
    const bool elements = gt_traits_transposed(kernel, p, operand) && !carried;
    const bool own = is_shifted(kernel, operand) || gt_traits_elements(kernel, p) || gt_traits_keeps_columns(kernel);
    const double piece = elements ? gt_type_find(p->class.type_a)->bytes : fmin(gt_traits_align(kernel, p), 16);
    return copied || own ? 0 : (1 / piece - 1.0 / 16) * (carried ? CARRIED : 1);
}

/* Loads of a lane in four steps where lanes lie over K: both sides of its tile, by vectors of up to four elements; of the side
 * that blocks keep in shared memory as many as of the stream if that lies along K, else all four steps together. */
static double loaded(const gt_kernel *kernel, const gt_problem *p, double tm, double tn)
{
    const gt_operand stream = gt_traits_stream(kernel);
    const double few = stream == GT_A ? tn : tm, many = stream == GT_A ? tm : tn;
    const double vectors = fmax(4 * gt_type_find(p->class.type_a)->bytes / gt_traits_align(kernel, p), 1);
    return few * (gt_traits_along(p, stream) ? vectors : 1) + many * vectors;
}

double gt_traits_issued(const gt_kernel *kernel, const gt_problem *p)
{
    const double tm = gt_trait(kernel, "tm", 0), tn = gt_trait(kernel, "tn", 0);
    if (gt_traits_keeps_columns(kernel))
        return 1 + ISSUED_READ / gt_traits_vector(kernel, p) + ISSUED_SUM / gt_traits_step(kernel, p);
    if (tm <= 0 || tn <= 0)
        return gt_traits_multiplier(kernel) == GT_BY_WARPS && p->class.type_a != GT_F64 ? ISSUED_WARPS : 1;
    if (gt_trait(kernel, "lanes_k", 0) > 0)
        return 1 + (loaded(kernel, p, tm, tn) + ISSUED_ALONE) / (4 * tm * tn);
    return gt_trait(kernel, "wm", 0) > 0 ? 1 + ISSUED_TILE * (tm + tn) / (tm * tn) : 1;
}

double gt_traits_shared(const gt_kernel *kernel)
{
    const double m = (double)kernel->facts.tile_m, n = (double)kernel->facts.tile_n;
    const double wm = gt_trait(kernel, "wm", 0), wn = gt_trait(kernel, "wn", 0);
    int64_t swap;
    if (wm > 0 && wn > 0)
        return m / wm * (n / wn) * (wm + wn) + m + n;
    if (gt_params_find(&kernel->params, "swap", &swap))
        return (swap ? n : m) / 64 * (64 + (swap ? m : n)) + WRITTEN * (m + n);
    return 0;
}

double gt_traits_warps(const gt_kernel *kernel)
{
    const double all = ceil((double)kernel->facts.threads / 32);
    const double wm = gt_trait(kernel, "wm", 0), wn = gt_trait(kernel, "wn", 0);
    const double consumers =
        wm > 0 && wn > 0
            ? (double)kernel->facts.tile_m / wm * ((double)kernel->facts.tile_n / wn) * gt_trait(kernel, "slices", 1)
            : all;
    return fmin(consumers, all);
}

double gt_traits_rows(const gt_kernel *kernel)
{
    return gt_trait(kernel, "tm", 1) * gt_trait(kernel, "down", 0);
}

bool gt_traits_stores_vectors(const gt_kernel *kernel)
{
    return gt_traits_rows(kernel) > 0;
}

bool gt_traits_keeps_columns(const gt_kernel *kernel)
{
    return gt_trait(kernel, "wide", 0) > 0;
}

double gt_traits_vector(const gt_kernel *kernel, const gt_problem *p)
{
    return fmax(gt_trait(kernel, "wide", 0) / gt_type_find(p->class.type_c)->bytes, 1);
}

double gt_traits_apart(const gt_kernel *kernel, const gt_problem *p)
{
    const double down = gt_trait(kernel, "down", 1);
    return gt_traits_align(kernel, p) < 16 ? fmax(down, (double)SECTOR / gt_type_find(p->class.type_c)->bytes) : down;
}

double gt_traits_spilled(const gt_kernel *kernel, const gt_problem *p)
{
    const double words = fmax(gt_type_find(gt_class_types(&p->class)->accumulator)->bytes / 4.0, 1);
    const double tm = gt_trait(kernel, "tm", 1), sums = gt_traits_vector(kernel, p) * words;
    const double row = ROW_REGISTERS + (gt_traits_along(p, GT_A) ? ALONG_REGISTERS : 0);
    const double needed = gt_traits_step(kernel, p) * sums + tm * (2 * sums + row) + OWN_REGISTERS;
    return gt_traits_keeps_columns(kernel) ? fmax(needed - kernel->registers, 0) : 0;
}

bool gt_traits_stops_with_k(const gt_kernel *kernel)
{
    int64_t load;
    return find_load(kernel, &load);
}
