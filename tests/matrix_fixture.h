/* For tests of tensor cores: elements by their bits, and sources that are written from tables. */
#ifndef MATRIX_FIXTURE_H
#define MATRIX_FIXTURE_H

#include <stdarg.h>

#include "driver_fixture.h"

/* What an element type is: its bits, and how registers of it are declared. */
typedef struct element {
    const char *name;
    size_t bytes;
    const char *c_type, *constraint; /* of a register */
    int least, most;                 /* test values, all exact in the type */
} element;

static const element f16 = {"f16", 2, "unsigned", "r", -8, 8}, bf16 = {"bf16", 2, "unsigned", "r", -8, 8},
                     tf32 = {"tf32", 4, "unsigned", "r", -40, 40}, f32 = {"f32", 4, "float", "f", -500, 500},
                     f64 = {"f64", 8, "double", "d", -9000, 9000}, s8 = {"s8", 1, "unsigned", "r", -128, 127},
                     u8 = {"u8", 1, "unsigned", "r", 0, 255}, s32 = {"s32", 4, "unsigned", "r", -100000, 100000},
                     e4m3 = {"e4m3", 1, "unsigned", "r", -8, 8}, e5m2 = {"e5m2", 1, "unsigned", "r", -8, 8};

/* Small integers in the narrow types: of an f32's significand their own few bits are left. */
static inline uint64_t bits_of(const element *e, int value)
{
    uint64_t bits = 0;
    const float narrow = (float)value;
    const double wide = value;
    uint32_t single;
    memcpy(&single, &narrow, 4);
    if (e == &f64)
        memcpy(&bits, &wide, 8);
    else if (e == &f16)
        bits = value ? (single >> 16 & 0x8000) | ((single & 0x7fffffff) - 0x38000000) >> 13 : 0;
    else if (e == &e5m2)
        bits = bits_of(&f16, value) >> 8;
    else if (e == &e4m3)
        bits = value ? (single >> 24 & 0x80) | (((single & 0x7fffffff) >> 20) - (120 << 3)) : 0;
    else if (e == &bf16)
        bits = single >> 16;
    else if (e == &tf32 || e == &f32)
        bits = single;
    else
        bits = (uint32_t)value & (e->bytes == 1 ? 0xff : 0xffffffff);
    return bits;
}

static inline int random_value(const element *e)
{
    return e->least + (int)(check_random() % (unsigned)(e->most - e->least + 1));
}

/* A source text that grows. */
typedef struct text {
    char bytes[32768];
    size_t length;
} text;

__attribute__((format(printf, 2, 3))) static inline void add(text *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    t->length += (size_t)vsnprintf(t->bytes + t->length, sizeof t->bytes - t->length, format, arguments);
    va_end(arguments);
    CHECK(t->length < sizeof t->bytes);
}

/* {%first, ...} */
static inline void add_list(text *t, int first, int count)
{
    add(t, "{");
    for (int i = 0; i < count; i++)
        add(t, "%s%%%d", i ? ", " : "", first + i);
    add(t, "}");
}

static inline void add_operands(text *t, const char *prefix, const char *constraint, const char *name, int count)
{
    for (int i = 0; i < count; i++)
        add(t, "%s\"%s%s\"(%s[%d])", i ? ", " : "", prefix, constraint, name, i);
}

static inline void fill(const element *e, int count, int *values)
{
    for (int i = 0; i < count; i++)
        values[i] = random_value(e);
}

/* Accumulators that begin at the ends of their range. */
static inline void fill_ends(int count, int *values)
{
    for (int i = 0; i < count; i++)
        values[i] = i % 3 == 0 ? INT32_MAX - i : i % 3 == 1 ? INT32_MIN + i : i;
}

static inline void unload(void)
{
    OK(cu->cuLibraryUnload(library));
    library = NULL;
}

#endif
