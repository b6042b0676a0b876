/*
 * Coefficients of the estimate's terms: those fitted on this machine, or else those that are shipped.
 */
#ifndef GT_COEFFICIENTS_H
#define GT_COEFFICIENTS_H

#include "estimate.h"

/* The coefficients that a family has for problems of a class where none were fitted on this machine. Without a class: those
 * for most types. */
const gt_terms *gt_coefficients_shipped(const char *family, const gt_class *class);

/* Whether coefficients make sense: a file may say anything. */
bool gt_coefficients_check(const gt_terms *coefficients);

/* The coefficients of one family, for products of some types. */
typedef struct gt_fitted {
    char family[GT_FAMILY_LENGTH];
    gt_terms coefficients;
} gt_fitted;

/* Those of a family in a list of `count`, else the shipped ones; NULL where nobody has fitted any. */
const gt_terms *gt_coefficients_known(const gt_fitted *list, size_t count, const char *family, const gt_class *class);

/* The same, and what the terms are meant to be where nobody has fitted any. */
const gt_terms *gt_coefficients_find(const gt_fitted *list, size_t count, const char *family, const gt_class *class);

#endif
