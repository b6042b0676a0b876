/* What a test tells the pretended cuBLASLt, and what that one saw: the symbol fake_cublaslt. */
#ifndef FAKE_CUBLASLT_H
#define FAKE_CUBLASLT_H

typedef struct fake_control {
    int offers;   /* that the heuristics give; the second cannot run, the third wants too much workspace */
    int refusing; /* bits: these fail when they are run */
    int lying;    /* bits: these give a wrong result */
    int wavering; /* bits: these give another last bit every second time */
    int runs;
    int ran;      /* bits: these were run */
    int last;     /* the last one that was run */
    int fast;     /* what FAST_ACCUM was set to last; -1: it never was */
    int objects;  /* descriptors that are not destroyed yet */
} fake_control;

#endif
