/* How problems ended, for people: a line each as they end, a table of all, why candidates were rejected. */
#ifndef GT_TUNED_H
#define GT_TUNED_H

#include "../engine/tune.h"
#include "options.h"

void gt_tuned_line(const gt_tuning *tuning, const gt_tuned *tuned);

/* On standard output. limits has what the GPU can do with each of the options' types. */
void gt_tuned_print(const gt_engine *engine, const gt_options_cli *options, const gt_limits *limits,
                    const gt_tuned *tuned, size_t count);

/* What became of the cover list, which has a place in the table only where it was asked for by name. */
void gt_tuned_note_cover(const gt_options_cli *options, const gt_tuned *tuned, size_t count);

/* Why candidates were rejected. A family none of whose candidates passed is told of with its first reason: somebody
 * may have just written it. That is a note, unless it left a problem without a winner. */
void gt_tuned_explain(const gt_rejections *rejections, const gt_options_cli *options, const gt_tuned *tuned,
                      size_t count);

#endif
