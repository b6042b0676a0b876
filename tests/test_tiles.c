/* How products of host memory are cut into tiles. */
#include "../src/dropin/tiles.h"

#include "check.h"

#define LINE ((size_t)4 << 20)

static int64_t divide(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Bytes of all places that tiles need. */
static size_t places(int64_t m, int64_t n, int64_t k, size_t element, const gt_tiles *t)
{
    const int64_t rows = divide(m, t->m), columns = divide(n, t->n), depth = divide(k, t->k);
    return (size_t)gt_tile_places(t, rows * depth) * gt_tile_bytes(t->m, t->k, element) +
           (size_t)gt_tile_places(t, depth * columns) * gt_tile_bytes(t->k, t->n, element) +
           (size_t)gt_tile_places(t, rows * columns) * gt_tile_bytes(t->m, t->n, element);
}

TEST(what_is_small_is_one_tile_and_what_is_large_has_panels_of_its_longer_side)
{
    gt_tiles t;
    CHECK(gt_tiles_choose(1024, 1000, 4096, 4, 1u << 30, LINE, &t));
    CHECK(t.m == 1024 && t.n == 1000 && t.k == 4096);
    CHECK(gt_tiles_choose(4096, 4096, 4096, 4, 1u << 30, LINE, &t));
    CHECK(t.m == 512 && t.n == 4096 && t.k == 4096);
    CHECK(gt_tiles_choose(100, 100000, 64, 4, 1u << 30, LINE, &t));
    CHECK(t.m == 100 && t.n < 100000 && t.k == 64);
}

TEST(tiles_of_any_product_fit_what_they_are_given)
{
    for (int i = 0; i < 20000; i++) {
        int64_t size[3];
        for (int j = 0; j < 3; j++)
            size[j] = 1 + (int64_t)(check_random() % ((uint64_t)1 << (1 + check_random() % 34)));
        const size_t element = check_random() % 2 ? 4 : 8, limit = (size_t)1 << (16 + check_random() % 24);
        gt_tiles t;
        if (!gt_tiles_choose(size[0], size[1], size[2], element, limit, LINE, &t)) {
            CHECK(limit < 6 * gt_tile_bytes(64, 64, element));
            continue;
        }
        CHECK(t.m > 0 && t.n > 0 && t.k > 0 && t.m <= size[0] && t.n <= size[1] && t.k <= size[2]);
        CHECK((size_t)t.m * element <= LINE && (size_t)t.n * element <= LINE && (size_t)t.k * element <= LINE);
        CHECK(places(size[0], size[1], size[2], element, &t) <= limit);
    }
}

CHECK_MAIN
