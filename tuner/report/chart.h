/* Charts of a report: SVG inside HTML, with logarithmic axes, readable on a phone and in both colour schemes. */
#ifndef GT_CHART_H
#define GT_CHART_H

#include <stdbool.h>
#include <stdio.h>

/* From low to high, both above 0. */
typedef struct gt_axis {
    double low, high;
    const char *label;
} gt_axis;

typedef struct gt_chart {
    FILE *out;
    gt_axis x, y;
} gt_chart;

/* Makes room for a value on an axis that begins empty, {0, 0, label}; values that have no logarithm are passed over. */
void gt_axis_take(gt_axis *axis, double value);

/* A figure with its caption and empty axes, a little wider than what they took. */
gt_chart gt_chart_begin(FILE *out, const char *caption, gt_axis x, gt_axis y);
void gt_chart_end(const gt_chart *chart);

/* A stripe between two heights; a line; a point with a text that shows when one points at it. Points outside the axes
 * are left out, lines end there. */
void gt_chart_band(const gt_chart *chart, double low, double high);
void gt_chart_line(const gt_chart *chart, const char *class, double x0, double y0, double x1, double y1);
void gt_chart_dot(const gt_chart *chart, const char *class, double x, double y, const char *title);

/* Text with &, < and quotes as HTML wants them; NULL is a dash. */
void gt_html_text(FILE *out, const char *text);

#endif
