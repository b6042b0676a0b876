/*
 * Texts for fuzz_ptx to start from, and words for its dictionary: fuzz_seeds FOLDER writes FOLDER/ptx/ and
 * FOLDER/words. The texts are the small ones of the tests, one for each table of the catalog with every instruction in
 * it whose operands the catalog describes, and NVRTC's output for every family.
 */
#include <errno.h>

#include "ptx_fixture.h"
#include "softgpu_fixture.h"

#define TEXT_MOST ((size_t)32 << 10) /* longer ones slow a fuzzer down more than they show it */
#define TRIES     6                  /* configurations of one family and class */

static const char *folder;
static int written;

static FILE *create(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(1);
    }
    return file;
}

static void write_text(const char *text, size_t bytes)
{
    char name[32];
    snprintf(name, sizeof name, "ptx/%03d.ptx", written++);
    FILE *file = create(name);
    fwrite(text, 1, bytes, file);
    fclose(file);
}

/* An operand of the kind that a shape's letter stands for. */
static const char *operand_of(char letter, int place)
{
    static const struct {
        char letter;
        const char *names[6];
    } kinds[] = {
        {'h', {"h1", "h2", "h3", "4", "h2", "h3"}},        {'H', {"h1", "h2", "h3", "h1", "h2", "h3"}},
        {'w', {"%r1", "%r2", "%r3", "5", "%r2", "%r3"}},   {'f', {"%f1", "%f2", "%f3", "%f1", "0f3F800000", "%f3"}},
        {'d', {"%rd1", "%rd2", "%rd3", "6", "%rd2", "7"}}, {'g', {"g1", "g2", "g3", "g1", "0d3FF0000000000000", "g3"}},
        {'p', {"%p1", "%p2", "%p3", "%p1", "%p2", "%p3"}}, {'i', {"1", "1", "1", "1", "1", "1"}},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].letter == letter)
            return kinds[i].names[place];
    return "_";
}

static void write_table(const sg_entry *entry)
{
    static char body[1 << 20], text[(1 << 20) + 1024];
    size_t at = 0;
    for (; entry->mnemonic; entry++) {
        if (entry->decode || at > sizeof body - 1024)
            continue;
        at += (size_t)sprintf(body + at, "%s", entry->mnemonic);
        for (int i = 0; entry->shape[i] && i < 6; i++)
            at += (size_t)sprintf(body + at, "%s %s", i ? "," : "", operand_of(entry->shape[i], i));
        at += (size_t)sprintf(body + at, ";\n");
    }
    if (at)
        write_text(text, (size_t)snprintf(text, sizeof text,
                                          PTX_HEAD ".visible .entry k()\n{\n.reg .b32 %%r<9>; .reg .b64 %%rd<9>;\n"
                                                   ".reg .f32 %%f<9>; .reg .pred %%p<9>; .reg .b16 h<9>;\n"
                                                   ".reg .f64 g<9>;\n%sret;\n}\n", body));
}

static void write_family(const gt_nvrtc *nvrtc, const gt_families *families, const gt_family *family,
                         const gt_gemm *gemm)
{
    gt_device device;
    gt_problem problem;
    gt_space space;
    gt_code code;
    char *source;
    if (gt_device_model(90, &device) != GT_OK || gt_problem_init(gemm, &problem) != GT_OK ||
        gt_space_init(family, &device, &problem, &space) != GT_OK)
        return;
    for (size_t i = 0; i < TRIES && space.rows; i++) {
        gt_kernel kernel;
        if (gt_space_kernel(&space, check_random() % space.rows, &device, &kernel) != GT_OK ||
            gt_render(family, &problem.class, GT_VARIANT_FAST, &kernel, &source) != GT_OK)
            continue;
        if (gt_nvrtc_compile(nvrtc, source, kernel.arch, &code, NULL) == GT_OK) {
            const bool small = strlen(code.ptx) < TEXT_MOST;
            if (small)
                write_text(code.ptx, strlen(code.ptx));
            gt_code_finish(&code);
            i = small ? TRIES : i; /* one is enough */
        }
        free(source);
    }
    gt_space_finish(&space);
}

static void write_families(void)
{
    static const struct {
        gt_type ab, c;
        gt_op op_a, op_b;
    } classes[] = {{GT_F32, GT_F32, GT_N, GT_N}, {GT_S32, GT_S32, GT_T, GT_T}, {GT_F16, GT_F32, GT_N, GT_T}};
    gt_nvrtc *nvrtc;
    gt_families families;
    if (gt_nvrtc_open(NULL, &nvrtc) != GT_OK || gt_families_init(NULL, &families) != GT_OK) {
        fprintf(stderr, "without the families: %s\n", gt_error_message());
        return;
    }
    for (size_t f = 0; f < families.count; f++)
        for (size_t c = 0; c < sizeof classes / sizeof classes[0]; c++) {
            const gt_gemm gemm = {.m = 256, .n = 256, .k = 256, .type_ab = classes[c].ab, .type_c = classes[c].c,
                                  .op_a = classes[c].op_a, .op_b = classes[c].op_b};
            write_family(nvrtc, &families, &families.list[f], &gemm);
        }
    gt_families_finish(&families);
    gt_nvrtc_close(nvrtc);
}

/* Mnemonics, and what follows dots in those that are decoded by parts. */
static void write_words(void)
{
    static const char *const others[] = {
        ".global", ".shared", ".shared::cta", ".shared::cluster", ".param", ".local", ".const", ".v2", ".v4", ".sync",
        ".aligned", ".row", ".col", ".m16n8k16", ".m8n8k4", ".m16n16k16", ".m64n64k16", ".x4", ".trans", ".wait",
        ".arrive", ".cluster", ".f16", ".bf16", ".tf32", ".f32", ".f64", ".s32", ".u32", ".b32", ".b64", ".u64",
        ".s64", ".b16", ".u8", ".s8", ".e4m3", ".pred", ".reg .b32 ", ".reg .pred ", ".branchtargets ", ".align ",
        ".entry ", ".func ", ".visible ", ".extern ", "%tid.x", "%ctaid.x", "%ntid.x", "%laneid", "@%p1 ", "@!%p1 ",
        "_", "{%r1, %r2}", "(v)", "[s+8]", "0f3F800000", "0d3FF0000000000000", ".expect_tx", ".try_wait", ".parity",
        ".init", ".bulk", ".tensor", ".commit_group", ".wait_group", ".mbarrier::complete_tx::bytes",
        ".multicast::cluster", ".bulk_group", ".2d", ".tile", ".add", ".cas", ".exch", ".max", ".relaxed", ".acquire",
        ".gpu", ".cta", ".volatile", ".rn", ".rz", ".rzi", ".ftz", ".sat",
    };
    FILE *file = create("words");
    for (const sg_entry *const *table = sg_catalog; *table; table++)
        for (const sg_entry *entry = *table; entry->mnemonic; entry++)
            fprintf(file, "\"%s\"\n", entry->mnemonic);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        fprintf(file, "\"%s\"\n", others[i]);
    fclose(file);
}

int main(int argc, char **argv)
{
    char path[4096];
    if (argc != 2) {
        fprintf(stderr, "usage: fuzz_seeds FOLDER\n");
        return 1;
    }
    folder = argv[1];
    snprintf(path, sizeof path, "%s/ptx", folder);
    if ((mkdir(folder, 0777) && errno != EEXIST) || (mkdir(path, 0777) && errno != EEXIST)) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return 1;
    }
    for (int i = 0; i < PTX_TEXTS; i++)
        write_text(ptx_texts[i], strlen(ptx_texts[i]));
    for (const sg_entry *const *table = sg_catalog; *table; table++)
        write_table(*table);
    write_families();
    write_words();
    printf("%d texts\n", written);
    return 0;
}
