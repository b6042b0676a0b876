#include "progress.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../src/core/environment.h"
#include "timer.h"

#define TERMINAL_PERIOD 0.1  /* seconds between two drawings of the bar */
#define PLAIN_PERIOD    10.0 /* and between two lines in a log */
#define LEAST_BAR       8    /* columns; narrower ones say nothing */
#define MOST_BAR        24
#define CLEAR_LINE      "\r\033[K"

struct gt_progress {
    bool quiet, terminal, utf8;
    bool drawn; /* a bar stands on the terminal's last line */
    double last; /* when something was last drawn */
    char line[1024];
};

/* Whether the terminal's character set has block characters. */
static bool speaks_utf8(void)
{
    locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (!locale)
        return false;
    const bool utf8 = strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
    freelocale(locale);
    return utf8;
}

gt_progress *gt_progress_create(bool quiet)
{
    const char *term = gt_environment(GT_ENV_TERM);
    gt_progress *progress = calloc(1, sizeof *progress);
    if (!progress)
        return NULL;
    progress->quiet = quiet;
    progress->terminal = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
    progress->utf8 = speaks_utf8();
    progress->last = progress->terminal ? 0 : gt_now();
    return progress;
}

static void clear(gt_progress *progress)
{
    if (progress->drawn)
        fputs(CLEAR_LINE, stderr);
    progress->drawn = false;
}

void gt_progress_destroy(gt_progress *progress)
{
    if (!progress)
        return;
    clear(progress);
    fflush(stderr);
    free(progress);
}

static int terminal_width(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* Seconds left if the rest goes as it went so far, and never more than the budget has; -1 if not known. */
static double time_left(const gt_progress_state *s)
{
    const double within = s->total > 0 ? (double)s->done / s->total : 0;
    const double share = s->steps > 0 ? (s->step + within) / s->steps : 0;
    double left = share > 0 && s->elapsed > 0 ? s->elapsed * (1 - share) / share : -1;
    if (s->budget > 0 && (left < 0 || left > s->budget - s->elapsed))
        left = s->budget - s->elapsed;
    return left < 0 && s->budget > 0 ? 0 : left;
}

static void format_time(double seconds, char text[32])
{
    const long whole = lround(fmin(seconds, 359999)); /* 99:59:59 */
    if (whole >= 3600)
        snprintf(text, 32, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
    else
        snprintf(text, 32, "%ld:%02ld", whole / 60, whole % 60);
}

/* The parts of the line, each with its blanks before it. All are ASCII: one byte is one column. */
typedef struct parts {
    char head[192], count[64], best[64], winner[320], failed[64], left[64];
} parts;

static void make_parts(const gt_progress_state *s, parts *p)
{
    const double left = time_left(s);
    char time[32];
    *p = (parts){0};
    snprintf(p->head, sizeof p->head, "[%d/%d] %s", s->step + 1, s->steps, s->what ? s->what : "");
    snprintf(p->count, sizeof p->count, "  %d/%d", s->done, s->total);
    if (s->best_tflops > 0)
        snprintf(p->best, sizeof p->best, "  best %.*f TFLOPS", s->best_tflops < 10 ? 2 : 1, s->best_tflops);
    if (s->best_tflops > 0 && s->best)
        snprintf(p->winner, sizeof p->winner, " %s", s->best);
    if (s->failed > 0)
        snprintf(p->failed, sizeof p->failed, "  %d rejected", s->failed);
    if (left >= 0) {
        format_time(left, time);
        snprintf(p->left, sizeof p->left, "  %s left", time);
    }
}

static void put_bar(FILE *out, bool utf8, int columns, const gt_progress_state *s)
{
    const double share = s->total > 0 ? fmin(1, fmax(0, (double)s->done / s->total)) : 0;
    const int full = (int)lround(share * columns);
    fputs("  ", out);
    for (int i = 0; i < columns; i++)
        fputs(i < full ? (utf8 ? "\u2588" : "#") : (utf8 ? "\u2591" : "-"), out);
}

/* Composes the line for a width: what matters least goes first where there is too little room. width 0: a log. */
static void compose(gt_progress *progress, const gt_progress_state *s, int width)
{
    parts p;
    make_parts(s, &p);
    char *const droppable[] = {p.failed, p.winner, p.best, /* then the bar, */ p.left, p.count};
    enum { BEFORE_BAR = 3, DROPPABLE = sizeof droppable / sizeof droppable[0] };
    size_t dropped = 0;
    int room;
    do {
        const int used = (int)(strlen(p.head) + strlen(p.count) + strlen(p.best) + strlen(p.winner) +
                               strlen(p.failed) + strlen(p.left));
        room = width - 1 - used; /* the last column stays free: some terminals wrap there */
        if (width == 0 || room >= (dropped < BEFORE_BAR ? 2 + LEAST_BAR : 0) || dropped == DROPPABLE)
            break;
        *droppable[dropped++] = '\0';
    } while (true);
    if (width > 0 && room < 0)
        p.head[width > 1 ? (size_t)width - 1 : 0] = '\0';

    FILE *out = fmemopen(progress->line, sizeof progress->line, "w");
    if (!out) {
        progress->line[0] = '\0';
        return;
    }
    fputs(p.head, out);
    if (room >= 2 + LEAST_BAR)
        put_bar(out, progress->utf8, room - 2 < MOST_BAR ? room - 2 : MOST_BAR, s);
    fprintf(out, "%s%s%s%s%s", p.count, p.best, p.winner, p.failed, p.left);
    fclose(out);
}

void gt_progress_update(gt_progress *progress, const gt_progress_state *state)
{
    if (!progress || progress->quiet)
        return;
    const double time = gt_now();
    if (time - progress->last < (progress->terminal ? TERMINAL_PERIOD : PLAIN_PERIOD))
        return;
    progress->last = time;
    compose(progress, state, progress->terminal ? terminal_width() : 0);
    if (progress->terminal)
        fprintf(stderr, CLEAR_LINE "%s", progress->line);
    else
        fprintf(stderr, "%s\n", progress->line);
    progress->drawn = progress->terminal;
    fflush(stderr);
}

void gt_progress_line(gt_progress *progress, const char *format, ...)
{
    va_list arguments;
    if (!progress || progress->quiet)
        return;
    const bool redraw = progress->drawn;
    clear(progress);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    putc('\n', stderr);
    if (redraw)
        fputs(progress->line, stderr);
    progress->drawn = redraw;
    fflush(stderr);
}
