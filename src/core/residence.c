#include "residence.h"

#include <math.h>

#include "traits.h"

#define IN_L2 0.8 /* of L2, that operands may fill and stay there */

/* What operands have at least, of L2, where it matters in which half they are: both have a copy of less. And what the blocks
 * that would begin elsewhere read of them, of L2, where waiting is worth the 0.3 to 0.7 us that it costs. On an H200, in bf16,
 * dependent and not: 8x10424x1728, 36 MB, in 82 blocks 12.4 and 8.2 us, in 110 11.9 and 9.3; 9632x24x2360, 46 MB, in 19
 * clusters of four 16.5 and 11.0, with another kernel between 22.1 and 22.6; 16x13408x792, 21 MB, in 70 blocks 6.7 and 5.7, in
 * 105 5.5 and 5.4, in 27 clusters of four, which leave room for three, 5.1 and 6.1; 72x10976x1520, 34 MB, in 126 blocks 13.6
 * and 14.3. */
#define DIVIDED       0.25
#define WORTH_WAITING 0.08

int gt_residence_blocks(const gt_device *device, const gt_kernel *kernel)
{
    return gt_device_occupancy(device, (int)kernel->facts.threads, kernel->registers, (int)kernel->facts.smem_bytes);
}

double gt_residence_sms(const gt_device *device, const gt_kernel *kernel, bool one_each)
{
    const double sms = fmax(device->sm_count, 1);
    const int64_t cluster = kernel->facts.cluster_x * kernel->facts.cluster_y;
    const double room = one_each && cluster >= 4 ? 10.0 / 11 : cluster >= 8 ? 32.0 / 33 : 1;
    return fmax(floor(sms * room), 1);
}

double gt_residence_launched(const gt_kernel *kernel, const gt_launch *launch)
{
    return (double)launch->grid[0] * launch->grid[1] *
           ceil((double)launch->problem.batch / (double)kernel->facts.products);
}

bool gt_residence_stays(const gt_device *device, double bytes)
{
    return bytes < IN_L2 * (double)device->l2_bytes;
}

static double operand_bytes(const gt_problem *problem)
{
    return (double)(gt_problem_bytes(problem, GT_A) + gt_problem_bytes(problem, GT_B));
}

bool gt_residence_halved(const gt_device *device, const gt_problem *problem)
{
    const double bytes = operand_bytes(problem);
    return gt_residence_stays(device, bytes) && 2 * bytes > (double)device->l2_bytes;
}

/* Blocks that find room at the same time. */
static double places_of(const gt_device *device, const gt_kernel *kernel, double launched)
{
    const int blocks = gt_residence_blocks(device, kernel);
    return blocks * gt_residence_sms(device, kernel, blocks == 1 || launched <= device->sm_count);
}

double gt_residence_moved(const gt_device *device, const gt_kernel *kernel, const gt_launch *launch)
{
    const double launched = gt_residence_launched(kernel, launch), places = places_of(device, kernel, launched);
    return launched <= places ? fmin(1, fmod(places, launched) / launched) : 0;
}

bool gt_residence_waits(const gt_device *device, const gt_kernel *kernel, const gt_launch *launch)
{
    const double launched = gt_residence_launched(kernel, launch), bytes = operand_bytes(&launch->problem);
    const double l2 = (double)device->l2_bytes;
    /* Two launches side by side read more at a time than one: 64x6144x3072 in 64 blocks takes 9.8 us, and 12.2 where they
     * wait. Operands that are copied first lie where the copies' blocks were. */
    return bytes > DIVIDED * l2 && gt_residence_stays(device, bytes) && gt_traits_boxes(kernel) &&
           launch->copies.blocks == 0 && 2 * launched > places_of(device, kernel, launched) &&
           gt_residence_moved(device, kernel, launch) * bytes > WORTH_WAITING * l2;
}
