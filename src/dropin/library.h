/* What is called of the library, which is loaded with the first product: it brings SQLite along. */
#ifndef GT_LIBRARY_H
#define GT_LIBRARY_H

#include "../gemmtune.h"
#include "../runtime/rates.h"
#include "../runtime/wanted.h"

#define GT_LIBRARY_SYMBOLS(X)                                                                                \
    X(gt_open) X(gt_plan_gemm) X(gt_plan_describe) X(gt_plan_destroy) X(gt_execute_ex) X(gt_error_message)   \
    X(gt_counted_open) X(gt_counted_store) X(gt_rates_load) X(gt_rates_store)

typedef struct gt_library {
#define X(symbol) __typeof__(symbol) *symbol;
    GT_LIBRARY_SYMBOLS(X)
#undef X
} gt_library;

/* Loads it, once. NULL where that fails: gt_tally_why was told. Thread-safe. */
const gt_library *gt_library_load(void);

#endif
