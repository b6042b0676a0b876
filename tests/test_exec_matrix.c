/*
 * Products of small matrices by a warp, against the CPU: mma.sync with the layouts that PTX documents, wmma with any
 * layout in memory, and the ways of matrices between registers and shared memory. Sources are written from tables.
 */
#include "matrix_fixture.h"

enum { LANES = 32, ELEMENTS_MOST = 32 * 32 };

/* mma.sync. */

typedef struct product {
    int m, n, k;
    const element *a, *b, *c, *d;
    int capability;
    bool saturates;
} product;

static const product products[] = {
    {16, 8, 8, &f16, &f16, &f32, &f32, 75, false},    {16, 8, 8, &f16, &f16, &f16, &f16, 75, false},
    {16, 8, 16, &f16, &f16, &f32, &f32, 80, false},   {16, 8, 16, &f16, &f16, &f16, &f16, 80, false},
    {16, 8, 8, &bf16, &bf16, &f32, &f32, 80, false},  {16, 8, 16, &bf16, &bf16, &f32, &f32, 80, false},
    {16, 8, 4, &tf32, &tf32, &f32, &f32, 80, false},  {16, 8, 8, &tf32, &tf32, &f32, &f32, 80, false},
    {8, 8, 16, &s8, &s8, &s32, &s32, 75, false},      {8, 8, 16, &u8, &u8, &s32, &s32, 75, false},
    {16, 8, 16, &s8, &s8, &s32, &s32, 80, false},     {16, 8, 16, &u8, &s8, &s32, &s32, 80, false},
    {16, 8, 32, &s8, &u8, &s32, &s32, 80, false},     {16, 8, 32, &u8, &u8, &s32, &s32, 80, false},
    {16, 8, 32, &s8, &s8, &s32, &s32, 80, true},      {8, 8, 16, &s8, &s8, &s32, &s32, 75, true},
    {16, 8, 32, &e4m3, &e4m3, &f32, &f32, 89, false}, {16, 8, 32, &e5m2, &e4m3, &f32, &f32, 89, false},
    {8, 8, 4, &f64, &f64, &f64, &f64, 80, false},     {16, 8, 4, &f64, &f64, &f64, &f64, 90, false},
    {16, 8, 8, &f64, &f64, &f64, &f64, 90, false},    {16, 8, 16, &f64, &f64, &f64, &f64, 90, false},
};

static int per_register(const element *e)
{
    return e->bytes >= 4 ? 1 : (int)(4 / e->bytes);
}

static int registers(const element *e, int rows, int columns)
{
    return rows * columns / LANES / per_register(e);
}

/* Element i of a lane: groups of four lanes go down the rows, and for B along the columns. */
static void place_a(const product *p, int lane, int i, int *row, int *column)
{
    const int each = per_register(p->a), reg = i / each;
    *row = lane / 4 + (p->m == 16 && reg % 2 ? 8 : 0);
    *column = lane % 4 * each + i % each + 4 * each * (p->m == 16 ? reg / 2 : reg);
}

static void place_b(const product *p, int lane, int i, int *row, int *column)
{
    const int each = per_register(p->b), reg = i / each;
    *row = lane % 4 * each + i % each + 4 * each * reg;
    *column = lane / 4;
}

static void place_c(const product *p, int lane, int i, int *row, int *column)
{
    (void)p;
    *row = lane / 4 + (i >= 2 ? 8 : 0);
    *column = lane % 4 * 2 + i % 2;
}

typedef void placing(const product *p, int lane, int i, int *row, int *column);

/* Between a matrix of values and registers: register r of lane l is at [r * 32 + l]. Values not filled in are 0. */
static void to_registers(const product *p, placing *place, const element *e, int count, const int *matrix, int columns,
                         uint8_t *out)
{
    const size_t width = e->bytes == 8 ? 8 : 4;
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < count * per_register(e); i++) {
            int row, column;
            place(p, lane, i, &row, &column);
            const uint64_t bits = bits_of(e, matrix[row * columns + column]);
            const size_t reg = (size_t)(i / per_register(e)), part = (size_t)(i % per_register(e));
            memcpy(out + (reg * LANES + (size_t)lane) * width + part * e->bytes, &bits, e->bytes);
        }
}

static void write_product(const product *p, text *t)
{
    const int a = registers(p->a, p->m, p->k), b = registers(p->b, p->k, p->n), c = registers(p->c, p->m, p->n),
              d = registers(p->d, p->m, p->n);
    add(t, "extern \"C\" __global__ void k(const %s *ga, const %s *gb, const %s *gc, %s *gd)\n{\n", p->a->c_type,
        p->b->c_type, p->c->c_type, p->d->c_type);
    add(t, "%s a[%d]; %s b[%d]; %s c[%d]; %s d[%d]; const int l = threadIdx.x;\n", p->a->c_type, a, p->b->c_type, b,
        p->c->c_type, c, p->d->c_type, d);
    add(t, "for (int i = 0; i < %d; i++) a[i] = ga[i * 32 + l];\nfor (int i = 0; i < %d; i++) b[i] = gb[i * 32 + l];\n",
        a, b);
    add(t, "for (int i = 0; i < %d; i++) c[i] = gc[i * 32 + l];\nasm volatile(\"mma.sync.aligned.m%dn%dk%d.row.col%s",
        c, p->m, p->n, p->k, p->saturates ? ".satfinite" : "");
    add(t, ".%s.%s.%s.%s ", p->d->name, p->a->name, p->b->name, p->c->name);
    add_list(t, 0, d);
    add(t, ", ");
    add_list(t, d, a);
    add(t, ", ");
    add_list(t, d + a, b);
    add(t, ", ");
    add_list(t, d + a + b, c);
    add(t, ";\" : ");
    add_operands(t, "=", p->d->constraint, "d", d);
    add(t, " : ");
    add_operands(t, "", p->a->constraint, "a", a);
    add(t, ", ");
    add_operands(t, "", p->b->constraint, "b", b);
    add(t, ", ");
    add_operands(t, "", p->c->constraint, "c", c);
    add(t, ");\nfor (int i = 0; i < %d; i++) gd[i * 32 + l] = d[i];\n}\n", d);
}

/* Sums of integers that every accumulator holds exactly, but s32's, which wrap or saturate. */
static void multiply(const product *p, const int *a, const int *b, const int *c, int *d)
{
    for (int i = 0; i < p->m; i++)
        for (int j = 0; j < p->n; j++) {
            int64_t sum = c[i * p->n + j];
            for (int q = 0; q < p->k; q++)
                sum += (int64_t)a[i * p->k + q] * b[q * p->n + j];
            if (p->saturates)
                sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
            d[i * p->n + j] = (int)(uint32_t)(uint64_t)sum;
        }
}

DEVICE_TEST(mma_multiplies_every_shape_and_type)
{
    static int a[ELEMENTS_MOST], b[ELEMENTS_MOST], c[ELEMENTS_MOST], d[ELEMENTS_MOST];
    static uint8_t ra[8192], rb[8192], rc[8192], expected[8192], got[8192];
    open_context();
    need_capability(80);
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++) {
        const product *p = &products[i];
        const int ca = registers(p->a, p->m, p->k), cb = registers(p->b, p->k, p->n), cc = registers(p->c, p->m, p->n);
        const size_t bytes = (size_t)(cc * LANES) * (p->d->bytes == 8 ? 8 : 4);
        text t = {.length = 0};
        if (p->capability > capability())
            continue;
        fill(p->a, p->m * p->k, a);
        fill(p->b, p->k * p->n, b);
        fill(p->c == &f16 ? p->a : p->c, p->m * p->n, c);
        if (p->c == &s32 && i % 2 == 0)
            fill_ends(p->m * p->n, c);
        multiply(p, a, b, c, d);
        to_registers(p, place_a, p->a, ca, a, p->k, ra);
        to_registers(p, place_b, p->b, cb, b, p->n, rb);
        to_registers(p, place_c, p->c, cc, c, p->n, rc);
        to_registers(p, place_c, p->d, cc, d, p->n, expected);
        write_product(p, &t);
        load_source(t.bytes);
        CUdeviceptr da = upload(ra, sizeof ra), db = upload(rb, sizeof rb), dc = upload(rc, sizeof rc),
                    dd = memory(sizeof got);
        launch("k", 1, 32, 1, 0, (void *[]){&da, &db, &dc, &dd});
        OK(cu->cuMemcpyDtoH(got, dd, bytes));
        if (memcmp(got, expected, bytes) != 0)
            check_fail(__FILE__, __LINE__, "m%dn%dk%d %s %s %s is wrong", p->m, p->n, p->k, p->a->name, p->b->name,
                       p->d->name);
        unload();
    }
}

/* 32 products of 1.5 2^-5 are lost beside 512, whose 14 bits end with 2^-4, keep a bit each beside 256, and are exact
 * alone. As Ada's tensor cores have them; Hopper converts to f16 here, and its wgmma is as short. */
static const char short_sums[] =
    "extern \"C\" __global__ void k(const float *c, float *out)\n"
    "{\n"
    "    const unsigned a = 0x14141414, b = 0x38383838;\n"
    "    float d[4] = {*c, *c, *c, *c};\n"
    "    asm volatile(\"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%5, %5}, \"\n"
    "                 \"{%0, %1, %2, %3};\" : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3]) : \"r\"(a), \"r\"(b));\n"
    "    for (int i = 0; i < 4; i++)\n"
    "        out[i * 32 + threadIdx.x] = d[i];\n"
    "}\n";

DEVICE_TEST(sums_of_8_bit_floats_keep_fourteen_bits)
{
    static const float before[] = {512, 256, 0, -512, INFINITY}, after[] = {512, 257, 1.5f, -512, INFINITY};
    open_context();
    need_capability(89);
    if (!cu->soft)
        SKIP("what a GPU does there depends on its architecture");
    load_source(short_sums);
    for (int i = 0; i < 5; i++) {
        float got[4 * LANES];
        CUdeviceptr c = upload(&before[i], sizeof before[i]), out = memory(sizeof got);
        launch("k", 1, 32, 1, 0, (void *[]){&c, &out});
        OK(cu->cuMemcpyDtoH(got, out, sizeof got));
        for (int j = 0; j < 4 * LANES; j++)
            CHECK(got[j] == after[i]);
    }
    unload();
}

/* wmma. */

typedef struct fragments {
    int m, n, k;
    const element *a, *c, *d;
    int count_a, count_b, count_c, count_d; /* registers */
    const char *types;                      /* of wmma.mma */
} fragments;

static const fragments shapes[] = {
    {16, 16, 16, &f16, &f32, &f32, 8, 8, 8, 8, "f32.f32"},  {32, 8, 16, &f16, &f32, &f32, 8, 8, 8, 8, "f32.f32"},
    {8, 32, 16, &f16, &f32, &f32, 8, 8, 8, 8, "f32.f32"},   {16, 16, 16, &f16, &f16, &f16, 8, 8, 4, 4, "f16.f16"},
    {32, 8, 16, &f16, &f16, &f16, 8, 8, 4, 4, "f16.f16"},   {16, 16, 16, &f16, &f16, &f32, 8, 8, 4, 8, "f32.f16"},
    {8, 32, 16, &f16, &f32, &f16, 8, 8, 8, 4, "f16.f32"},
    {16, 16, 16, &bf16, &f32, &f32, 4, 4, 8, 8, "f32.bf16.bf16.f32"},
    {32, 8, 16, &bf16, &f32, &f32, 8, 2, 8, 8, "f32.bf16.bf16.f32"},
    {8, 32, 16, &bf16, &f32, &f32, 2, 8, 8, 8, "f32.bf16.bf16.f32"},
    {16, 16, 8, &tf32, &f32, &f32, 4, 4, 8, 8, "f32.tf32.tf32.f32"},
    {16, 16, 16, &s8, &s32, &s32, 2, 2, 8, 8, "s32.s8.s8.s32"},
    {32, 8, 16, &u8, &s32, &s32, 4, 1, 8, 8, "s32.u8.u8.s32"},
    {8, 32, 16, &s8, &s32, &s32, 1, 4, 8, 8, "s32.s8.s8.s32.satfinite"},
    {8, 8, 4, &f64, &f64, &f64, 1, 1, 2, 2, "f64.f64.f64.f64"},
};

enum { PITCH = 48 }; /* elements from line to line of every matrix */

static void write_move(const fragments *s, text *t, const char *way, bool column, const char *space, const element *e,
                       const char *name, int count)
{
    const bool store = way[0] == 's';
    add(t, "asm volatile(\"wmma.%s.sync.aligned.%s.m%dn%dk%d%s.%s ", way, column ? "col" : "row", s->m, s->n, s->k,
        space, e->name);
    if (store) {
        add(t, "[%%0], ");
        add_list(t, 2, count);
        add(t, ", %%1;\" :: \"l\"(g%s), \"r\"(%d), ", name, PITCH);
        add_operands(t, "", e->constraint, name, count);
    } else {
        add_list(t, 0, count);
        add(t, ", [%%%d], %%%d;\" : ", count, count + 1);
        add_operands(t, "=", e->constraint, name, count);
        add(t, " : \"%s\"(%s%s), \"r\"(%d)", strcmp(space, ".shared") == 0 ? "r" : "l",
            strcmp(space, ".shared") == 0 ? "s" : "g", name, PITCH);
    }
    add(t, " : \"memory\");\n");
}

/* The operands lie row by row or column by column, in global, in shared, or in memory that nobody names. */
static void write_fragments(const fragments *s, text *t, const bool *columns, int space)
{
    static const char *const spaces[] = {".global", ".shared", ""};
    const char *mma = columns[0] ? (columns[1] ? "col.col" : "col.row") : columns[1] ? "row.col" : "row.row";
    add(t, "extern \"C\" __global__ void k(const char *ga, const char *gb, const char *gc, char *gd)\n{\n");
    add(t, "%s a[%d], b[%d]; %s c[%d]; %s d[%d];\n", s->a->c_type, s->count_a, s->count_b, s->c->c_type, s->count_c,
        s->d->c_type, s->count_d);
    add(t, "__shared__ __align__(32) char ha[%d], hb[%d];\nfor (int i = threadIdx.x; i < %d; i += 32)\n",
        32 * PITCH * 8, 32 * PITCH * 8, 32 * PITCH * (int)s->a->bytes);
    add(t, "    ha[i] = ga[i], hb[i] = gb[i];\n__syncwarp();\n");
    add(t, "const unsigned sa = (unsigned)__cvta_generic_to_shared(ha);\n");
    add(t, "const unsigned sb = (unsigned)__cvta_generic_to_shared(hb);\n(void)sa, (void)sb;\n");
    write_move(s, t, "load.a", columns[0], spaces[space], s->a, "a", s->count_a);
    write_move(s, t, "load.b", columns[1], spaces[space], s->a, "b", s->count_b);
    write_move(s, t, "load.c", columns[2], ".global", s->c, "c", s->count_c);
    add(t, "asm volatile(\"wmma.mma.sync.aligned.%s.m%dn%dk%d.%s ", mma, s->m, s->n, s->k, s->types);
    add_list(t, 0, s->count_d);
    add(t, ", ");
    add_list(t, s->count_d, s->count_a);
    add(t, ", ");
    add_list(t, s->count_d + s->count_a, s->count_b);
    add(t, ", ");
    add_list(t, s->count_d + s->count_a + s->count_b, s->count_c);
    add(t, ";\" : ");
    add_operands(t, "=", s->d->constraint, "d", s->count_d);
    add(t, " : ");
    add_operands(t, "", s->a->constraint, "a", s->count_a);
    add(t, ", ");
    add_operands(t, "", s->a->constraint, "b", s->count_b);
    add(t, ", ");
    add_operands(t, "", s->c->constraint, "c", s->count_c);
    add(t, ");\n");
    write_move(s, t, "store.d", !columns[2], space == 2 ? "" : ".global", s->d, "d", s->count_d);
    add(t, "}\n");
}

/* A matrix in memory, its lines apart. */
static CUdeviceptr lay_out(const element *e, const int *matrix, int rows, int columns, bool by_column)
{
    static uint8_t bytes[32 * PITCH * 8];
    memset(bytes, 0, sizeof bytes);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            const uint64_t bits = bits_of(e, matrix[i * columns + j]);
            memcpy(bytes + (size_t)(by_column ? j * PITCH + i : i * PITCH + j) * e->bytes, &bits, e->bytes);
        }
    return upload(bytes, sizeof bytes);
}

static void check_fragments(const fragments *s, const bool *columns, int space)
{
    static int a[ELEMENTS_MOST], b[ELEMENTS_MOST], c[ELEMENTS_MOST], d[ELEMENTS_MOST];
    static uint8_t got[32 * PITCH * 8];
    const product p = {s->m, s->n, s->k, s->a, s->a, s->c, s->d, 80, strstr(s->types, "satfinite") != NULL};
    text t = {.length = 0};
    fill(s->a, s->m * s->k, a);
    fill(s->a, s->k * s->n, b);
    fill(s->c == &f16 || s->d == &f16 ? s->a : s->c, s->m * s->n, c);
    if (p.saturates)
        fill_ends(s->m * s->n, c);
    multiply(&p, a, b, c, d);
    write_fragments(s, &t, columns, space);
    load_source(t.bytes);
    CUdeviceptr da = lay_out(s->a, a, s->m, s->k, columns[0]), db = lay_out(s->a, b, s->k, s->n, columns[1]),
                dc = lay_out(s->c, c, s->m, s->n, columns[2]), dd = memory(sizeof got);
    launch("k", 1, 32, 1, 0, (void *[]){&da, &db, &dc, &dd});
    OK(cu->cuMemcpyDtoH(got, dd, sizeof got));
    for (int i = 0; i < s->m; i++)
        for (int j = 0; j < s->n; j++) {
            const uint64_t expected = bits_of(s->d, d[i * s->n + j]);
            const size_t at = (size_t)(columns[2] ? i * PITCH + j : j * PITCH + i) * s->d->bytes;
            if (memcmp(got + at, &expected, s->d->bytes) != 0)
                check_fail(__FILE__, __LINE__, "m%dn%dk%d %s: (%d, %d) is wrong", s->m, s->n, s->k, s->types, i, j);
        }
    unload();
    for (int i = 0; i < 4; i++)
        OK(cu->cuMemFree((CUdeviceptr[]){da, db, dc, dd}[i]));
}

DEVICE_TEST(wmma_multiplies_every_shape_and_type)
{
    open_context();
    need_capability(80);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const bool columns[] = {i & 1, i >> 1 & 1, i >> 2 & 1};
        check_fragments(&shapes[i], columns, (int)(i % 3));
    }
}

DEVICE_TEST(wmma_takes_every_layout)
{
    open_context();
    need_capability(80);
    for (int i = 0; i < 8; i++) {
        const bool columns[] = {i & 1, i >> 1 & 1, i >> 2 & 1};
        check_fragments(&shapes[1], columns, i % 3);
    }
}

/* ldmatrix and stmatrix: up to four matrices of 8 by 8 halves, whose rows lie where the lanes say. */
static const char moves[] =
    "extern \"C\" __global__ void k(const unsigned short *in, const int *rows, unsigned *out)\n"
    "{\n"
    "    __shared__ __align__(16) unsigned short tile[64][8], back[64][8];\n"
    "    const int l = threadIdx.x;\n"
    "    for (int i = l; i < 512; i += 32) tile[i / 8][i % 8] = in[i], back[i / 8][i % 8] = 0;\n"
    "    __syncwarp();\n"
    "    unsigned r[4] = {0, 0, 0, 0};\n"
    "    const unsigned from = (unsigned)__cvta_generic_to_shared(tile[rows[l]]);\n"
    "    const unsigned to = (unsigned)__cvta_generic_to_shared(back[rows[l]]);\n"
    "    asm volatile(\"ldmatrix.sync.aligned.m8n8.\" COUNT TRANS \".shared.b16 \" LOADED \", [%4];\"\n"
    "                 : \"+r\"(r[0]), \"+r\"(r[1]), \"+r\"(r[2]), \"+r\"(r[3]) : \"r\"(from) : \"memory\");\n"
    "    for (int i = 0; i < 4; i++) out[i * 32 + l] = r[i];\n"
    "#if STORES\n"
    "    for (int i = 0; i < 4; i++) r[i] = 2 * i << 16 | 2 * i + 1 | l << 8 | l << 24;\n"
    "    asm volatile(\"stmatrix.sync.aligned.m8n8.\" COUNT TRANS \".shared.b16 [%4], \" LOADED \";\"\n"
    "                 :: \"r\"(r[0]), \"r\"(r[1]), \"r\"(r[2]), \"r\"(r[3]), \"r\"(to) : \"memory\");\n"
    "#endif\n"
    "    __syncwarp();\n"
    "    for (int i = l; i < 256; i += 32) out[128 + i] = back[i / 4][i % 4 * 2] | back[i / 4][i % 4 * 2 + 1] << 16;\n"
    "}\n";

static void check_moves(int count, bool transposed, bool stores)
{
    static const char *const lists[] = {NULL, "{%0}", "{%0, %1}", NULL, "{%0, %1, %2, %3}"};
    static char source[sizeof moves + 200];
    uint16_t in[64][8], back[64][8];
    uint32_t out[128 + 256];
    int rows[LANES], taken[64] = {0};
    for (int i = 0; i < 64 * 8; i++)
        in[i / 8][i % 8] = (uint16_t)(1000 + i);
    for (int l = 0; l < LANES; l++) {
        do
            rows[l] = (int)(check_random() % 64);
        while (taken[rows[l]]++);
    }
    sprintf(source, "#define COUNT \"x%d\"\n#define TRANS \"%s\"\n#define LOADED \"%s\"\n#define STORES %d\n%s", count,
            transposed ? ".trans" : "", lists[count], stores, moves);
    load_source(source);
    CUdeviceptr from = upload(in, sizeof in), places = upload(rows, sizeof rows), to = memory(sizeof out);
    launch("k", 1, 32, 1, 0, (void *[]){&from, &places, &to});
    OK(cu->cuMemcpyDtoH(out, to, sizeof out));
    memcpy(back, out + 128, sizeof back);
    for (int i = 0; i < count; i++)
        for (int l = 0; l < LANES; l++)
            for (int half = 0; half < 2; half++) {
                const int row = transposed ? l % 4 * 2 + half : l / 4, column = transposed ? l / 4 : l % 4 * 2 + half;
                CHECK_INT(out[i * LANES + l] >> 16 * half & 0xffff, in[rows[8 * i + row]][column]);
                if (stores)
                    CHECK_INT(back[rows[8 * i + row]][column], 2 * i + (half ? 0 : 1) + l * 256);
            }
    unload();
}

DEVICE_TEST(matrices_are_loaded_and_stored_by_rows_and_by_columns)
{
    open_context();
    need_capability(75);
    for (int count = 1; count <= 4; count *= 2)
        for (int transposed = 0; transposed < 2; transposed++)
            check_moves(count, transposed, capability() >= 90);
}

CHECK_MAIN
