/* The software GPU's device memory on its own: allocations, reservations, pages, and what of them was written. */
#include "../src/softgpu/machine/memory.h"
#include "check.h"

#define BYTES 3000

TEST(marks_tell_which_bytes_were_written)
{
    static bool expected[BYTES];
    sg_memory *memory = sg_memory_create(1 << 20);
    const uint64_t base = sg_memory_alloc(memory, BYTES);
    const sg_span *span = sg_memory_find(memory, base);
    CHECK(base && base % 256 == 0 && span && span->base == base && span->bytes == BYTES);
    for (int i = 0; i < 20000; i++) {
        const uint64_t first = check_random() % BYTES, wanted = check_random() % (i % 8 ? 20 : BYTES);
        const uint64_t count = wanted < BYTES - first ? wanted : BYTES - first;
        if (i % 100 == 0) {
            sg_span_mark(span, base + first, count);
            memset(expected + first, 1, count);
        }
        CHECK(sg_span_written(span, base + first, count) == !memchr(expected + first, 0, count));
    }
    sg_memory_destroy(memory);
}

TEST(copied_bytes_are_written_as_their_source_is)
{
    sg_memory *memory = sg_memory_create(1 << 20);
    const uint64_t a = sg_memory_alloc(memory, 100), b = sg_memory_alloc(memory, 100);
    const sg_span *from = sg_memory_find(memory, a), *to = sg_memory_find(memory, b);
    sg_span_mark(from, a + 10, 5);
    sg_span_mark(to, b, 100);
    sg_span_copy_marks(to, b + 20, from, a + 8, 10);
    CHECK(!sg_span_written(to, b + 20, 1) && !sg_span_written(to, b + 27, 1));
    CHECK(sg_span_written(to, b, 20) && sg_span_written(to, b + 22, 5) && sg_span_written(to, b + 30, 70));
    sg_memory_destroy(memory);
}

TEST(allocations_lie_apart_and_are_found)
{
    enum { MOST = 200 };
    struct {
        uint64_t base, bytes;
    } live[MOST];
    size_t count = 0;
    sg_memory *memory = sg_memory_create(64 << 20);
    for (int i = 0; i < 5000; i++) {
        if (count < MOST && check_random() % 2) {
            const uint64_t bytes = 1 + check_random() % 100000, base = sg_memory_alloc(memory, bytes);
            CHECK(base);
            for (size_t k = 0; k < count; k++)
                CHECK(base + bytes <= live[k].base || live[k].base + live[k].bytes <= base);
            *(char *)(uintptr_t)(base + bytes - 1) = 1;
            live[count].base = base;
            live[count++].bytes = bytes;
        } else if (count > 0) {
            const size_t k = check_random() % count;
            const sg_span *span = sg_memory_find(memory, live[k].base + check_random() % live[k].bytes);
            CHECK(span && span->base == live[k].base && span->bytes == live[k].bytes);
            CHECK(!sg_memory_find(memory, live[k].base - 1) && !sg_memory_find(memory, live[k].base + live[k].bytes));
            CHECK(!sg_memory_find_range(memory, live[k].base, live[k].bytes + 1));
            CHECK(!sg_memory_free(memory, live[k].base + 1) && sg_memory_free(memory, live[k].base));
            CHECK(!sg_memory_find(memory, live[k].base));
            live[k] = live[--count];
        }
    }
    sg_memory_destroy(memory);
}

TEST(memory_ends_at_its_limit)
{
    sg_memory *memory = sg_memory_create(1 << 20);
    const uint64_t own = sg_memory_alloc(memory, 1000), users = sg_memory_alloc_user(memory, 1, 2000);
    CHECK(own && users);
    CHECK_INT(sg_memory_used(memory), 3000);
    CHECK_INT(sg_memory_available(memory), (1 << 20) - 3000);
    CHECK(!sg_memory_alloc(memory, 0) && !sg_memory_alloc(memory, (1 << 20) - 2999));
    CHECK(sg_memory_alloc(memory, (1 << 20) - 3000) && !sg_memory_alloc(memory, 1));
    sg_memory_free_user(memory, 1);
    CHECK(sg_memory_find(memory, own) && !sg_memory_find(memory, users));
    sg_memory_destroy(memory);
}

TEST(allocations_stay_out_of_reservations)
{
    enum { MOST = 30, KEPT = 10 };
    uint64_t at[MOST], bytes[MOST];
    sg_memory *memory = sg_memory_create(64 << 20);
    for (int i = 0; i < 3000; i++) {
        const int k = i < MOST ? i : KEPT + (int)(check_random() % (MOST - KEPT));
        const uint64_t alignment = SG_GRANULE << check_random() % 6;
        if (i >= MOST)
            sg_memory_unreserve(memory, at[k]);
        bytes[k] = SG_GRANULE * (1 + check_random() % 2500);
        at[k] = sg_memory_reserve(memory, bytes[k], alignment);
        CHECK(at[k] && at[k] % alignment == 0 && !sg_memory_find(memory, at[k]));
        const uint64_t base = sg_memory_alloc_user(memory, 1, 100000);
        CHECK(base);
        for (int j = 0; j < (i < MOST ? i : MOST); j++) {
            CHECK(j == k || at[k] + bytes[k] <= at[j] || at[j] + bytes[j] <= at[k]);
            CHECK(base + 100000 <= at[j] || at[j] + bytes[j] <= base);
        }
        CHECK(i % 64 == 0 || sg_memory_free(memory, base));
        if (i % 600 == 599)
            sg_memory_free_user(memory, 1);
    }
    CHECK(!sg_memory_reserve(memory, (uint64_t)1 << 50, SG_GRANULE));
    CHECK(!sg_memory_reserve(memory, SG_GRANULE, (uint64_t)1 << 63));
    sg_memory_destroy(memory);
}

TEST(pages_are_the_same_at_two_addresses)
{
    uint64_t pages, fresh;
    sg_memory *memory = sg_memory_create(2 * SG_GRANULE);
    const uint64_t a = sg_memory_reserve(memory, 2 * SG_GRANULE, SG_GRANULE), b = a + SG_GRANULE;
    CHECK(sg_memory_take_pages(memory, SG_GRANULE, &pages));
    CHECK(sg_memory_map(memory, a, pages, SG_GRANULE) && sg_memory_map(memory, b, pages, SG_GRANULE));
    CHECK_INT(sg_memory_used(memory), SG_GRANULE);
    *(char *)(uintptr_t)(a + 1000) = 7;
    sg_span_mark(sg_memory_find(memory, a), a + 1000, 1);
    CHECK_INT(*(char *)(uintptr_t)(b + 1000), 7);
    CHECK(sg_span_written(sg_memory_find(memory, b), b + 1000, 1));
    CHECK(!sg_span_written(sg_memory_find(memory, b), b + 1001, 1));
    CHECK(sg_memory_find_range(memory, a + 5, 2 * SG_GRANULE - 5) == sg_memory_find(memory, a));
    CHECK(!sg_memory_find_range(memory, a + 5, 2 * SG_GRANULE - 4));
    sg_memory_unmap(memory, a);
    CHECK(!sg_memory_find(memory, a) && !sg_memory_find_range(memory, a, 2 * SG_GRANULE));
    sg_memory_unmap(memory, b);
    sg_memory_give_pages(memory, pages, SG_GRANULE);
    CHECK_INT(sg_memory_used(memory), 0);
    CHECK(sg_memory_take_pages(memory, SG_GRANULE, &fresh) && sg_memory_map(memory, a, fresh, SG_GRANULE));
    CHECK_INT(*(char *)(uintptr_t)(a + 1000), 0);
    CHECK(!sg_span_written(sg_memory_find(memory, a), a + 1000, 1));
    CHECK(!sg_memory_take_pages(memory, 2 * SG_GRANULE, &pages)); /* beyond the limit */
    sg_memory_destroy(memory);
}

TEST(an_allocation_where_pages_were_mapped_is_unwritten)
{
    uint64_t pages, base = 0;
    sg_memory *memory = sg_memory_create(4 * SG_GRANULE);
    const uint64_t a = sg_memory_reserve(memory, SG_GRANULE, SG_GRANULE);
    CHECK(sg_memory_take_pages(memory, SG_GRANULE, &pages) && sg_memory_map(memory, a, pages, SG_GRANULE));
    *(char *)(uintptr_t)a = 7;
    sg_span_mark(sg_memory_find(memory, a), a, 1);
    sg_memory_unmap(memory, a);
    sg_memory_unreserve(memory, a);
    CHECK(sg_memory_reserve(memory, (uint64_t)1 << 40, SG_GRANULE)); /* so that the rest soon comes back */
    for (int i = 0; i < 40 && (a < base || a - base >= SG_GRANULE); i++) {
        CHECK(!base || sg_memory_free(memory, base));
        CHECK((base = sg_memory_alloc(memory, SG_GRANULE)));
    }
    CHECK(a >= base && a - base < SG_GRANULE);
    CHECK(*(char *)(uintptr_t)a == 0 && !sg_span_written(sg_memory_find(memory, a), a, 1));
    sg_span_mark(sg_memory_find(memory, a), a, 1);
    CHECK(sg_memory_free(memory, base));
    sg_memory_destroy(memory);
}

CHECK_MAIN
