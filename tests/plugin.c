/* A library that a program loads, linked with a BLAS of its own. INTEGER is how wide that one's integers are. */
#include <stddef.h>
#include <stdint.h>

void dgemm_(const char *, const char *, const INTEGER *, const INTEGER *, const INTEGER *, const double *, const double *,
            const INTEGER *, const double *, const INTEGER *, const double *, double *, const INTEGER *, size_t, size_t);
int multiply(void);

/* Whether [1 3; 2 4] [1 3; 2 4] is right. Behind each integer lies another: who reads too much of one sees that. */
__attribute__((visibility("default"))) int multiply(void)
{
    static const INTEGER two[] = {2, -1};
    static const double one = 1, zero = 0, a[] = {1, 2, 3, 4};
    double c[4] = {0};
    dgemm_("N", "N", two, two, two, &one, a, two, a, two, &zero, c, two, 1, 1);
    return c[0] == 7 && c[1] == 10 && c[2] == 15 && c[3] == 22;
}
