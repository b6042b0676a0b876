/* What a test tells the pretended cuBLAS, and what that one saw: the symbol fake_cublas. */
#ifndef FAKE_CUBLAS_H
#define FAKE_CUBLAS_H

typedef struct fake_cublas_control {
    int release;  /* 130100 */
    int refusing; /* not 0: autotuning is not supported */
    int lying;    /* not 0: what was autotuned gives a wrong result */
    int tuned;    /* how often it was autotuned: the first call of a size, which leaves something else in C */
    int runs;     /* products of an algorithm that was autotuned before */
} fake_cublas_control;

#endif
