#include "chart.h"

#include <math.h>

/* The picture's own units; on a phone they are about pixels. */
#define WIDTH  400
#define HEIGHT 240
#define LEFT   50
#define RIGHT  392
#define TOP    8
#define BOTTOM 204

void gt_html_text(FILE *out, const char *text)
{
    for (const char *c = text ? text : "\xe2\x80\x93"; *c; c++)
        switch (*c) {
        case '&': fputs("&amp;", out); break;
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '"': fputs("&quot;", out); break;
        case '\'': fputs("&#39;", out); break;
        default: putc(*c, out);
        }
}

void gt_axis_take(gt_axis *axis, double value)
{
    if (!(value > 0) || !isfinite(value))
        return;
    axis->low = axis->low > 0 && axis->low < value ? axis->low : value;
    axis->high = axis->high > value ? axis->high : value;
}

static double place(const gt_axis *axis, double value, double low, double high)
{
    return low + (high - low) * log(value / axis->low) / log(axis->high / axis->low);
}

static double place_x(const gt_chart *c, double value)
{
    return place(&c->x, value, LEFT, RIGHT);
}

static double place_y(const gt_chart *c, double value)
{
    return place(&c->y, value, BOTTOM, TOP);
}

static bool inside(const gt_axis *axis, double value)
{
    return value >= axis->low && value <= axis->high;
}

static gt_axis widen(gt_axis axis)
{
    const double room = axis.low > 0 ? pow(axis.high / axis.low, 0.06) * 1.05 : 1;
    return axis.low > 0 ? (gt_axis){axis.low / room, axis.high * room, axis.label} : (gt_axis){0.1, 10, axis.label};
}

static void draw_mark(const gt_chart *c, double value, bool upright)
{
    if (upright) {
        const double at = place_y(c, value);
        fprintf(c->out, "<path class=g d='M%d %.1fH%d'/><text x=%d y=%.1f text-anchor=end>%g</text>", LEFT, at, RIGHT,
                LEFT - 4, at + 3.5, value);
    } else {
        const double at = place_x(c, value);
        fprintf(c->out, "<path class=g d='M%.1f %dV%d'/><text x=%.1f y=%d text-anchor=%s>%g</text>", at, TOP, BOTTOM,
                fmin(at, WIDTH), BOTTOM + 13, at > RIGHT - 16 ? "end" : "middle", value);
    }
}

/* Marks at powers of ten, with more between them on a short axis and some left out on a very long one. */
static void draw_marks(const gt_chart *c, const gt_axis *axis, bool upright)
{
    static const struct {
        double decades; /* on the axis, at most */
        int count;
        double steps[18];
    } between[] = {{0.3, 18, {1, 1.1, 1.2, 1.3, 1.5, 1.7, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 9.5}},
                   {0.9, 8, {1, 1.2, 1.5, 2, 3, 5, 7, 8.5}},
                   {2.2, 3, {1, 2, 5}},
                   {HUGE_VAL, 1, {1}}};
    const double decades = log10(axis->high / axis->low);
    const int every = decades > 6 ? (int)ceil(decades / 6) : 1;
    int row = 0;
    while (decades > between[row].decades)
        row++;
    for (int power = (int)floor(log10(axis->low)); power <= (int)ceil(log10(axis->high)); power++)
        for (int i = 0; i < between[row].count && power % every == 0; i++) {
            const double value = between[row].steps[i] * pow(10, power);
            if (inside(axis, value))
                draw_mark(c, value, upright);
        }
}

gt_chart gt_chart_begin(FILE *out, const char *caption, gt_axis x, gt_axis y)
{
    const gt_chart chart = {out, widen(x), widen(y)};
    fputs("<figure><figcaption>", out);
    gt_html_text(out, caption);
    fprintf(out, "</figcaption><svg viewBox='0 0 %d %d' role=img aria-label=\"", WIDTH, HEIGHT);
    gt_html_text(out, caption);
    fputs("\">", out);
    draw_marks(&chart, &chart.x, false);
    draw_marks(&chart, &chart.y, true);
    fprintf(out, "<text x=%d y=%d text-anchor=end>", RIGHT, HEIGHT - 6);
    gt_html_text(out, x.label);
    fputs(" \xe2\x86\x92</text><text x=4 y=", out);
    fprintf(out, "%d>\xe2\x86\x91 ", HEIGHT - 6);
    gt_html_text(out, y.label);
    fputs("</text>\n", out);
    return chart;
}

void gt_chart_end(const gt_chart *chart)
{
    fputs("</svg></figure>\n", chart->out);
}

static double clamp(const gt_axis *axis, double value)
{
    return fmin(fmax(value, axis->low), axis->high);
}

void gt_chart_band(const gt_chart *c, double low, double high)
{
    const double top = place_y(c, clamp(&c->y, high)), bottom = place_y(c, clamp(&c->y, low));
    fprintf(c->out, "<rect class=b x=%d y=%.1f width=%d height=%.1f />\n", LEFT, top, RIGHT - LEFT, bottom - top);
}

/* A line in logarithms, clipped to the axes. */
void gt_chart_line(const gt_chart *c, const char *class, double x0, double y0, double x1, double y1)
{
    double from = 0, to = 1;
    const double a[] = {log(x0), log(y0)}, d[] = {log(x1 / x0), log(y1 / y0)};
    const gt_axis *axes[] = {&c->x, &c->y};
    for (int i = 0; i < 2; i++) {
        const double low = log(axes[i]->low), high = log(axes[i]->high);
        if (d[i] == 0 && (a[i] < low || a[i] > high))
            return;
        if (d[i] == 0)
            continue;
        from = fmax(from, fmin((low - a[i]) / d[i], (high - a[i]) / d[i]));
        to = fmin(to, fmax((low - a[i]) / d[i], (high - a[i]) / d[i]));
    }
    if (!(from < to))
        return;
    fprintf(c->out, "<path class=%s d='M%.1f %.1fL%.1f %.1f'/>\n", class, place_x(c, exp(a[0] + from * d[0])),
            place_y(c, exp(a[1] + from * d[1])), place_x(c, exp(a[0] + to * d[0])), place_y(c, exp(a[1] + to * d[1])));
}

void gt_chart_dot(const gt_chart *c, const char *class, double x, double y, const char *title)
{
    if (!inside(&c->x, x) || !inside(&c->y, y))
        return;
    fprintf(c->out, "<circle class=%s cx=%.1f cy=%.1f r=3.2><title>", class, place_x(c, x), place_y(c, y));
    gt_html_text(c->out, title);
    fputs("</title></circle>\n", c->out);
}
