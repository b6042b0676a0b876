/* PTX text: what is read from it, and what is said of text that is not right. */
#include <locale.h>

#include "ptx_fixture.h"
#include "softgpu_fixture.h"

/* Status of a module; its message stays in `message`. */
static char message[SG_MESSAGE_LENGTH];

static sg_ptx_status load(const char *text, size_t bytes)
{
    sg_memory *memory = soft_memory();
    sg_module *module = NULL;
    const sg_ptx_status status = sg_module_create(text, bytes, 90, memory, &module, message);
    if (status == SG_PTX_OK)
        sg_module_destroy(module);
    CHECK_INT(sg_memory_used(memory), 0); /* nothing stays behind */
    sg_memory_destroy(memory);
    return status;
}

TEST(text_that_is_wrong_is_refused_with_its_line_and_mnemonic)
{
    static const struct {
        const char *text;
        sg_ptx_status status;
        const char *says;
    } cases[] = {
        {"", SG_PTX_SYNTAX, "expected .version"},
        {"\x7f" "ELF", SG_PTX_SYNTAX, "line 1"},
        {".version 99.0\n.target sm_80\n", SG_PTX_TARGET, "too new"},
        {".version 8.0\n.target sm_100\n", SG_PTX_TARGET, "sm_100"},
        {".version 8.0\n.target sm_80\n.address_size 32\n", SG_PTX_UNSUPPORTED, "line 4"},
        {PTX_BODY("frobnicate.b32 %r1, %r2;"), SG_PTX_UNSUPPORTED, "line 10: frobnicate.b32"},
        {PTX_BODY("add.s33 %r1, %r2, %r3;"), SG_PTX_UNSUPPORTED, "add.s33"},
        {PTX_BODY("add.s32 %r1, %r2;"), SG_PTX_SYNTAX, "wrong number of operands"},
        {PTX_BODY("add.s32 %r1, %r2, %rd3;"), SG_PTX_SYNTAX, "add.s32"},
        {PTX_BODY("add.s32 %r1, %r2, %r9;"), SG_PTX_UNSUPPORTED, "add.s32"},
        {PTX_BODY("add.s32 5, %r2, %r3;"), SG_PTX_SYNTAX, "destination"},
        {PTX_BODY("@%r1 add.s32 %r1, %r2, %r3;"), SG_PTX_SYNTAX, "predicate"},
        {PTX_BODY("bra NOWHERE;"), SG_PTX_SYNTAX, "label not known"},
        {PTX_BODY("L: add.s32 %r1, %r2, %r3;\nL: bra L;"), SG_PTX_SYNTAX, "line 11: label declared twice"},
        {PTX_HEAD ".func f() { ret; }\n.func f() { ret; }\n", SG_PTX_SYNTAX, "f is defined twice"},
        {PTX_BODY("ld.global.v3.f32 {%f1, %f2, %f3}, [%rd1];"), SG_PTX_UNSUPPORTED, "ld.global.v3.f32"},
        {PTX_BODY("ld.global.v2.f32 {%f1, %f2, %f3}, [%rd1];"), SG_PTX_SYNTAX, "vector"},
        {PTX_BODY("ld.global.frog.f32 %f1, [%rd1];"), SG_PTX_UNSUPPORTED, "modifier"},
        {PTX_BODY("st.const.f32 [%rd1], %f1;"), SG_PTX_SYNTAX, "constant"},
        {PTX_BODY("tcgen05.fence::before_thread_sync;"), SG_PTX_UNSUPPORTED, "tcgen05"},
        {PTX_BODY("call foo;"), SG_PTX_UNSUPPORTED, "call"},
        {PTX_BODY("add.s32 %r1, %r2, 99999999999999999999999;"), SG_PTX_SYNTAX, "not PTX"},
        {PTX_BODY("cp.async.ca.shared.global [%r1], [%rd1], 5;"), SG_PTX_SYNTAX, "4, 8 or 16"},
        {PTX_BODY("mov.u32 %r1, %nothing;"), SG_PTX_UNSUPPORTED, "mov.u32"},
        {PTX_BODY(".reg .b32 x; .reg .b32 x;"), SG_PTX_SYNTAX, "twice"},
        {PTX_HEAD ".visible .entry k()\n{\n", SG_PTX_SYNTAX, "without its end"},
        {PTX_HEAD ".global .b32 x[4] = {1, 2, 3, 4, 5};\n", SG_PTX_SYNTAX, "initial"},
        {PTX_HEAD ".global .align 3 .b32 x;\n", SG_PTX_SYNTAX, "power of two"},
        {PTX_HEAD ".global .b32 x[4294967296][4294967296];\n", SG_PTX_SYNTAX, "large"},
        {PTX_HEAD ".visible .entry k(.param .b8 x[40000])\n{\nret;\n}\n", SG_PTX_SYNTAX, "32764"},
        {PTX_HEAD ".alias a, b;\n", SG_PTX_UNSUPPORTED, "alias"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const sg_ptx_status status = load(cases[i].text, strlen(cases[i].text));
        if (status != cases[i].status || !strstr(message, cases[i].says))
            check_fail(__FILE__, __LINE__, "case %zu: status %d, '%s'; expected %d, '%s'", i, status, message,
                       cases[i].status, cases[i].says);
        CHECK(strstr(message, "line"));
    }
}

TEST(deep_nesting_ends_in_an_error)
{
    static char text[1 << 20];
    for (int form = 0; form < 3; form++) {
        size_t at = (size_t)sprintf(text, PTX_HEAD ".visible .entry k()\n{\n");
        if (form)
            at += (size_t)sprintf(text + at, "mov.b32 ");
        memset(text + at, form == 0 ? '{' : form == 1 ? '[' : '!', 900000);
        CHECK_INT(load(text, at + 900000), SG_PTX_SYNTAX);
    }
}

/* Long texts of one kind, for each thing that a search through all the others would make quadratic. */
typedef struct long_text {
    const char *what, *before, *each, *after; /* in each piece # is its number, ^ the next one's */
    int count;
    sg_ptx_status status;
} long_text;

static const long_text long_texts[] = {
    {"functions", "", ".func f#() { ret; }\n", "", 30000, SG_PTX_OK},
    {"calls", "", ".func f#() { ret; }\n.visible .entry k#() { call f#, (); ret; }\n", "", 20000, SG_PTX_OK},
    {"labels", ".visible .entry k() {\n", "L#: bra L#;\n", "ret; }\n", 100000, SG_PTX_OK},
    {"labels of one name", ".visible .entry k() {\n", "{ L: bra L; }\n", "ret; }\n", 100000, SG_PTX_OK},
    {"registers", ".visible .entry k() { .reg .b32 r<100000>;\n", "add.s32 r#, r#, 1;\n", "ret; }\n", 100000, SG_PTX_OK},
    {"constants", ".visible .entry k() { .reg .b32 r;\n", "mov.b32 r, #;\n", "ret; }\n", 100000, SG_PTX_OK},
    {"tables", ".visible .entry k() { .reg .b32 r;\nA: T: .branchtargets A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A;\n",
     "brx.idx r, T;\n", "ret; }\n", 70000, SG_PTX_UNSUPPORTED},
    {"a large array with one value", ".global .b8 x[4000000000] = {1};\n", "", "", 1, SG_PTX_MEMORY},
};

static void put_piece(FILE *out, const char *piece, int number)
{
    for (; *piece; piece++)
        *piece == '#' || *piece == '^' ? fprintf(out, "%d", number + (*piece == '^')) : fputc(*piece, out);
}

static void check_long(const long_text *t)
{
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    CHECK(out);
    fputs(PTX_HEAD, out);
    fputs(t->before, out);
    for (int i = 0; i < t->count; i++)
        put_piece(out, t->each, i);
    fputs(t->after, out);
    CHECK(fclose(out) == 0);
    const clock_t start = clock();
    const sg_ptx_status status = load(text, bytes);
    const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (status != t->status || seconds > 5)
        check_fail(__FILE__, __LINE__, "%s: status %d, %s, %.1f s", t->what, status, message, seconds);
    free(text);
}

TEST(long_texts_are_read_in_time)
{
    enum { REGISTERS = 60000 };
    for (size_t i = 0; i < sizeof long_texts / sizeof long_texts[0]; i++)
        check_long(&long_texts[i]);
    /* All branches lead back: what is alive at the first label is found out block by block. */
    char *before;
    size_t bytes;
    FILE *out = open_memstream(&before, &bytes);
    CHECK(out);
    fprintf(out, ".visible .entry k() { .reg .b32 r<%d>; bra L3000;\nL0:\n", REGISTERS);
    for (int i = 1; i < REGISTERS; i++)
        fprintf(out, "add.s32 r0, r0, r%d;\n", i);
    fputs("ret;\n", out);
    CHECK(fclose(out) == 0);
    const long_text back = {"branches that lead back", before, "L^: bra L#;\n", "}\n", 3000, SG_PTX_OK};
    check_long(&back);
    free(before);
}

TEST(names_are_scoped_by_braces)
{
    /* Inline assembly declares the same register and label again and again. */
    CHECK_INT(load(PTX_BODY("{ .reg .pred p; L: setp.eq.s32 p, %r1, 0; @p bra L; }\n"
                        "{ .reg .pred p; L: setp.eq.s32 p, %r2, 0; @p bra L; @!p bra M; }\n"
                        "{ .reg .b32 %r<4>; .reg .b64 p; mov.u64 p, 1; { mov.u32 %r3, 1; } }\nM:"), strlen(
                   PTX_BODY("{ .reg .pred p; L: setp.eq.s32 p, %r1, 0; @p bra L; }\n"
                        "{ .reg .pred p; L: setp.eq.s32 p, %r2, 0; @p bra L; @!p bra M; }\n"
                        "{ .reg .b32 %r<4>; .reg .b64 p; mov.u64 p, 1; { mov.u32 %r3, 1; } }\nM:"))),
              SG_PTX_OK);
    CHECK_INT(load(PTX_BODY("{ .reg .b32 inner; } mov.u32 inner, 1;"), strlen(PTX_BODY("{ .reg .b32 inner; } mov.u32 inner, 1;"))),
              SG_PTX_SYNTAX);
    CHECK_INT(load(PTX_BODY("{ L: } bra L;"), strlen(PTX_BODY("{ L: } bra L;"))), SG_PTX_SYNTAX);
}

TEST(a_kernel_says_what_its_launch_must_match)
{
    sg_memory *memory = soft_memory();
    sg_module *module = soft_module(
        memory, PTX_HEAD ".extern .shared .align 128 .b8 dynamic[];\n"
                     ".visible .entry first(.param .u32 a, .param .align 8 .b8 b[24], .param .u16 c)\n"
                     ".maxntid 64, 2, 1\n.minnctapersm 3\n.reqnctapercluster 2, 1, 1\n{\n"
                     ".shared .align 16 .b8 s[40]; .shared .align 4 .b32 t; .local .align 8 .b8 l[20];\n"
                     ".reg .b32 r; mov.u32 r, dynamic; mov.u32 r, t; ret;\n}\n"
                     ".visible .entry second() { ret; }\n");
    const sg_kernel_facts *facts = sg_kernel_describe(sg_module_kernel(module, "first"));
    CHECK_STR(facts->name, "first");
    CHECK_INT(facts->param_count, 3);
    CHECK_INT(facts->param_offsets[1], 8);
    CHECK_INT(facts->param_offsets[2], 32);
    CHECK_INT(facts->param_bytes[1], 24);
    CHECK_INT(facts->params_bytes, 34);
    CHECK_INT(facts->static_shared, 44);
    CHECK_INT(facts->local_bytes, 32);
    CHECK_INT(facts->max_threads, 128);
    CHECK_INT(facts->min_blocks, 3);
    CHECK_INT(facts->cluster[0], 2);
    CHECK(sg_module_kernel(module, "second") && !sg_module_kernel(module, "third"));
    sg_module_destroy(module);
    sg_memory_destroy(memory);
}

TEST(a_program_whose_numbers_have_a_decimal_comma_changes_nothing)
{
    static const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "es_ES.UTF-8", "pt_BR.UTF-8", "ru_RU.UTF-8"};
    static const char text[] = PTX_HEAD ".visible .global .f32 a = 1.5;\n";
    bool comma = false;
    for (size_t i = 0; !comma && i < sizeof locales / sizeof locales[0]; i++)
        comma = setlocale(LC_NUMERIC, locales[i]) != NULL;
    if (!comma)
        SKIP("no locale with a decimal comma is installed");
    const sg_ptx_status status = load(text, strlen(text));
    setlocale(LC_NUMERIC, "C");
    CHECK_INT(status, SG_PTX_OK);
}

TEST(variables_have_their_initial_values)
{
    sg_memory *memory = soft_memory();
    sg_module *module = soft_module(memory, PTX_HEAD ".visible .global .align 4 .b32 a[4] = {1, -2, 0x10};\n"
                                                 ".const .align 8 .f64 b[2] = {0d3FF0000000000000, 2.5};\n"
                                                 ".global .f32 c = 1.5;\n.global .align 1 .b8 d[3] = {104, 105};\n"
                                                 ".global .u64 e[2] = {generic(a)+4, c};\n");
    uint64_t a, b, c, d, e, bytes;
    CHECK(sg_module_variable(module, "a", &a, &bytes));
    CHECK_INT(bytes, 16);
    CHECK_INT(((const int32_t *)(uintptr_t)a)[1], -2);
    CHECK_INT(((const int32_t *)(uintptr_t)a)[2], 16);
    CHECK_INT(((const int32_t *)(uintptr_t)a)[3], 0);
    CHECK(sg_module_variable(module, "b", &b, &bytes));
    CHECK_NEAR(((const double *)(uintptr_t)b)[1], 2.5, 0);
    CHECK(sg_module_variable(module, "c", &c, &bytes));
    CHECK_NEAR(*(const float *)(uintptr_t)c, 1.5, 0);
    CHECK(sg_module_variable(module, "d", &d, &bytes));
    CHECK_STR((const char *)(uintptr_t)d, "hi");
    CHECK(sg_module_variable(module, "e", &e, &bytes));
    CHECK(((const uint64_t *)(uintptr_t)e)[0] == a + 4 && ((const uint64_t *)(uintptr_t)e)[1] == c);
    CHECK(!sg_module_variable(module, "f", &a, &bytes));
    sg_module_destroy(module);
    sg_memory_destroy(memory);
}

TEST(mutated_text_never_does_harm)
{
    const char *seconds = getenv("FUZZ_SECONDS");
    const double limit = seconds ? atof(seconds) : 2;
    struct timespec start, now;
    static char text[1 << 17];
    size_t loaded = 0, tried = 0;
    uint64_t state = check_random();
    for (int i = 0; i < PTX_TEXTS; i++)
        if (load(ptx_texts[i], strlen(ptx_texts[i])) != SG_PTX_OK)
            check_fail(__FILE__, __LINE__, "%s", message);
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        const char *from = ptx_texts[check_random() % PTX_TEXTS];
        strcpy(text, from);
        const size_t bytes = ptx_mutate(text, strlen(from), sizeof text, &state);
        sg_memory *memory = soft_memory();
        sg_module *module;
        if (sg_module_create(text, bytes, 90, memory, &module, message) == SG_PTX_OK) {
            ptx_run_entries(memory, module, check_random() % 2 ? 64 : 48);
            sg_module_destroy(module);
            loaded++;
        } else {
            CHECK(message[0]);
        }
        sg_memory_destroy(memory);
        tried++;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)(now.tv_sec - start.tv_sec) + 1e-9 * (double)(now.tv_nsec - start.tv_nsec) < limit);
    printf("%zu texts, %zu of them loaded and ran\n", tried, loaded);
}

CHECK_MAIN
