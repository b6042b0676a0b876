/* How kernels may add up products, on the host: multiply-adds, and tensor cores as they have been measured to work. */
#ifndef TENSOR_FIXTURE_H
#define TENSOR_FIXTURE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct arithmetic {
    const char *name;
    int group;     /* products of one step of a tensor core; 0: multiply-adds in the accumulator's type */
    int fraction;  /* bits behind the binary point that a step's terms keep, the largest of them being 1.something */
    int result;    /* bits that its result keeps */
    int promoted;  /* products after which the sum is added to another in f32, which is rounded; 0: never */
    int product;   /* significant bits that products are cut to first; 0: all */
    bool forgets;  /* the last product */
} arithmetic;

/* Cut toward zero to a multiple of 2^exponent. */
static inline double cut_to(double x, int exponent)
{
    return ldexp(trunc(ldexp(x, -exponent)), exponent);
}

static inline int exponent_of(double x)
{
    return x == 0 ? -2000 : ilogb(x);
}

static inline double tensor_step(const arithmetic *how, const double *terms, int count, double sum)
{
    int largest = exponent_of(sum);
    for (int i = 0; i < count; i++)
        largest = exponent_of(terms[i]) > largest ? exponent_of(terms[i]) : largest;
    if (largest == -2000)
        return sum;
    double total = cut_to(sum, largest - how->fraction);
    for (int i = 0; i < count; i++)
        total += cut_to(terms[i], largest - how->fraction);
    return total == 0 ? 0 : cut_to(total, exponent_of(total) - how->result);
}

/* The sum of k products of x and y; numbers that are not finite go their way. */
static inline double add_up(const arithmetic *how, const double *x, const double *y, int64_t k)
{
    double sum = 0, promoted = 0, terms[64];
    int count = 0;
    for (int64_t p = 0; p < k; p++) {
        double term = x[p] * y[p];
        const bool last = p + 1 == k;
        if (how->product > 0 && term != 0 && isfinite(term))
            term = cut_to(term, exponent_of(term) + 1 - how->product);
        if (how->forgets && last)
            term = 0;
        if (how->group == 0 || !isfinite(term) || !isfinite(sum)) {
            sum = how->group == 0 ? (double)(float)(sum + term) : sum + term;
            continue;
        }
        terms[count++] = term;
        if (count == how->group || last) {
            sum = tensor_step(how, terms, count, sum);
            count = 0;
        }
        if (how->promoted > 0 && (p + 1) % how->promoted == 0 && isfinite(sum)) {
            promoted = (float)(promoted + sum);
            sum = 0;
        }
    }
    return (float)(promoted + sum);
}

#endif
