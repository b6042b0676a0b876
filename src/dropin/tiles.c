#include "tiles.h"

#define PANEL_BYTES (8e6) /* of C that are worth a panel of their own: as long on their way as a launch, many times over */
#define MOST_PANELS 8
#define ROUND       128 /* sizes of panels: what tiles of kernels divide */
#define LEAST       64  /* rows or columns of a tile */
#define PLACE_ALIGN 256 /* bytes */

static int64_t divide(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

size_t gt_tile_bytes(int64_t rows, int64_t columns, size_t element)
{
    const size_t more = GT_TILE_ALIGN / element;
    const size_t bytes = ((size_t)rows + more) * ((size_t)columns + more) * element;
    return (bytes + PLACE_ALIGN - 1) & -(size_t)PLACE_ALIGN;
}

int gt_tile_places(const gt_tiles *t, int64_t count)
{
    return count < t->places ? (int)count : t->places;
}

/* No less than such tiles take. In floating point: what is asked for may be more than any memory. */
static double bytes(int64_t rows, int64_t columns, size_t element, int places)
{
    const double more = GT_TILE_ALIGN / (double)element;
    return places * (((double)rows + more) * ((double)columns + more) * (double)element + PLACE_ALIGN - 1);
}

static bool fits(int64_t m, int64_t n, int64_t k, size_t element, size_t limit, size_t line, const gt_tiles *t)
{
    const int64_t rows = divide(m, t->m), columns = divide(n, t->n), depth = divide(k, t->k);
    const int64_t most = (int64_t)(line / element);
    return t->m <= most && t->n <= most && t->k <= most &&
           bytes(t->m, t->k, element, gt_tile_places(t, rows * depth)) +
                   bytes(t->k, t->n, element, gt_tile_places(t, depth * columns)) +
                   bytes(t->m, t->n, element, gt_tile_places(t, rows * columns)) <=
               (double)limit;
}

bool gt_tiles_choose(int64_t m, int64_t n, int64_t k, size_t element, size_t limit, size_t line, gt_tiles *out)
{
    gt_tiles t = {.m = m, .n = n, .k = k, .places = GT_TILE_PLACES};
    const double wanted = (double)m * (double)n * (double)element / PANEL_BYTES;
    const int64_t panels = wanted < 1 ? 1 : wanted < MOST_PANELS ? (int64_t)wanted : MOST_PANELS;
    int64_t *const longer = m >= n ? &t.m : &t.n;
    const int64_t panel = divide(divide(*longer, panels), ROUND) * ROUND;
    if (panels > 1 && panel < *longer)
        *longer = panel;
    while (!fits(m, n, k, element, limit, line, &t)) {
        if (t.places > 2) {
            t.places /= 2;
            continue;
        }
        int64_t *largest = t.m >= t.n ? &t.m : &t.n;
        largest = *largest >= t.k ? largest : &t.k;
        if (*largest <= LEAST)
            return false;
        *largest = divide(divide(*largest, 2), LEAST) * LEAST;
    }
    *out = t;
    return true;
}
