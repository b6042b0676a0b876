/* The text of a template: a file of a user's folder, and the headers that a text includes in their places. */
#ifndef GT_TEMPLATE_H
#define GT_TEMPLATE_H

#include "../../src/core/problem.h"

/* GT_ERROR_IO, GT_ERROR_INVALID name the file. *text: free(). */
gt_status gt_template_read(const char *path, char **text);

/* Puts headers into the places where they are first included, and theirs into them: those of the folder, where it is not
 * NULL, before built-in ones. Any other #include stays as it is. Of a text from a folder the compiler is told which lines are of
 * which file: `name` is its own. *complete: free(). */
gt_status gt_template_complete(const char *source, const char *folder, const char *name, char **complete);

#endif
