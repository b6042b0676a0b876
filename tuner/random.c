#include "random.h"

#include <math.h>

uint64_t gt_random_bits(uint64_t seed, uint64_t index)
{
    uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint64_t gt_draw_bits(gt_draws *draws)
{
    return gt_random_bits(draws->seed, draws->next++);
}

int64_t gt_draw_below(gt_draws *draws, int64_t limit)
{
    return (int64_t)(gt_draw_bits(draws) % (uint64_t)limit);
}

int64_t gt_draw_size(gt_draws *draws, double largest)
{
    return (int64_t)pow(largest, (double)(gt_draw_bits(draws) >> 11) * 0x1p-53);
}
