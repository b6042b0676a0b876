/* What every run compiles is kept for the next one, in a folder that nobody else can write. */
#include "../tuner/compile/kept.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

/* A compiler that counts: its code is the source it was given. */
static int compiled;
static char given[64];

static nvrtcResult create(nvrtcProgram *program, const char *source, const char *name, int headers,
                          const char *const *texts, const char *const *names)
{
    (void)program, (void)name, (void)headers, (void)texts, (void)names;
    snprintf(given, sizeof given, "%s", source);
    return NVRTC_SUCCESS;
}

static nvrtcResult compile(nvrtcProgram program, int count, const char *const *options)
{
    (void)program, (void)count, (void)options;
    compiled++;
    return strcmp(given, "nonsense") == 0 ? NVRTC_ERROR_COMPILATION : NVRTC_SUCCESS;
}

static nvrtcResult destroy(nvrtcProgram *program)
{
    (void)program;
    return NVRTC_SUCCESS;
}

static nvrtcResult size_of(nvrtcProgram program, size_t *size)
{
    (void)program;
    *size = strlen(given) + 1;
    return NVRTC_SUCCESS;
}

static nvrtcResult copy_of(nvrtcProgram program, char *to)
{
    (void)program;
    memcpy(to, given, strlen(given) + 1);
    return NVRTC_SUCCESS;
}

static const char *error_of(nvrtcResult result)
{
    (void)result;
    return "error";
}

static const gt_nvrtc counting = {
    .version = "13.0", .nvrtcCreateProgram = create, .nvrtcCompileProgram = compile, .nvrtcDestroyProgram = destroy,
    .nvrtcGetProgramLogSize = size_of, .nvrtcGetProgramLog = copy_of, .nvrtcGetCUBINSize = size_of,
    .nvrtcGetCUBIN = copy_of, .nvrtcGetPTXSize = size_of, .nvrtcGetPTX = copy_of, .nvrtcGetErrorString = error_of,
};

typedef struct fixture {
    char home[32], folder[64];
} fixture;

static fixture fixture_open(void)
{
    fixture f;
    snprintf(f.home, sizeof f.home, "/tmp/kept.XXXXXX");
    CHECK(mkdtemp(f.home));
    snprintf(f.folder, sizeof f.folder, "%s/gemmtune", f.home);
    setenv("XDG_CACHE_HOME", f.home, 1);
    compiled = 0;
    return f;
}

static int count_files(const fixture *f, char name[400])
{
    int count = 0;
    DIR *names = opendir(f->folder);
    for (struct dirent *entry; names && (entry = readdir(names));)
        if (entry->d_name[0] != '.') {
            snprintf(name, 400, "%s/%s", f->folder, entry->d_name);
            count++;
        }
    if (names)
        closedir(names);
    return count;
}

static void fixture_close(const fixture *f)
{
    char path[400];
    while (count_files(f, path) > 0)
        unlink(path);
    rmdir(f->folder);
    rmdir(f->home);
}

/* Compiles, and asks for the right code. */
static void compile_source(const gt_nvrtc *nvrtc, const char *source, const char *arch)
{
    gt_code code;
    CHECK_OK(gt_kept_compile(nvrtc, source, arch, &code));
    CHECK_INT(code.cubin_bytes, strlen(source) + 1);
    CHECK(memcmp(code.cubin, source, code.cubin_bytes) == 0);
    CHECK_STR(code.ptx, source);
    gt_code_finish(&code);
}

TEST(what_was_compiled_is_read_the_next_time)
{
    const fixture f = fixture_open();
    gt_nvrtc newer = counting;
    strcpy(newer.version, "13.1");
    compile_source(&counting, "one", "sm_90a");
    compile_source(&counting, "one", "sm_90a");
    CHECK_INT(compiled, 1);
    compile_source(&counting, "another", "sm_90a");
    compile_source(&counting, "one", "sm_80");
    compile_source(&newer, "one", "sm_90a");
    CHECK_INT(compiled, 4);
    fixture_close(&f);
}

TEST(what_does_not_compile_is_not_kept)
{
    const fixture f = fixture_open();
    gt_code code;
    char name[400];
    CHECK_STATUS(gt_kept_compile(&counting, "nonsense", "sm_90a", &code), GT_ERROR_COMPILE);
    CHECK_STATUS(gt_kept_compile(&counting, "nonsense", "sm_90a", &code), GT_ERROR_COMPILE);
    CHECK_INT(compiled, 2);
    CHECK_INT(count_files(&f, name), 0);
    fixture_close(&f);
}

TEST(a_damaged_file_is_compiled_anew_and_mended)
{
    const fixture f = fixture_open();
    char name[400];
    struct stat st;
    compile_source(&counting, "one", "sm_90a");
    CHECK_INT(count_files(&f, name), 1);
    CHECK(stat(name, &st) == 0);
    for (off_t at = 0; at < st.st_size; at++) {
        char byte;
        const int before = compiled, file = open(name, O_RDWR);
        CHECK(pread(file, &byte, 1, at) == 1);
        byte ^= 4;
        CHECK(pwrite(file, &byte, 1, at) == 1);
        close(file);
        compile_source(&counting, "one", "sm_90a");
        compile_source(&counting, "one", "sm_90a");
        CHECK_INT(compiled, before + 1);
    }
    CHECK(truncate(name, st.st_size - 1) == 0);
    compile_source(&counting, "one", "sm_90a");
    CHECK_INT(compiled, st.st_size + 2);
    fixture_close(&f);
}

TEST(what_others_can_write_is_neither_read_nor_written)
{
    const fixture f = fixture_open();
    char name[400];
    compile_source(&counting, "one", "sm_90a");
    CHECK_INT(count_files(&f, name), 1);
    CHECK(chmod(name, 0666) == 0);
    compile_source(&counting, "one", "sm_90a"); /* puts a file of its own in the place */
    compile_source(&counting, "one", "sm_90a");
    CHECK_INT(compiled, 2);
    CHECK(chmod(f.folder, 0777) == 0);
    compile_source(&counting, "one", "sm_90a");
    compile_source(&counting, "two", "sm_90a");
    CHECK_INT(compiled, 4);
    CHECK_INT(count_files(&f, name), 1);
    fixture_close(&f);
}

TEST(without_a_place_nothing_is_kept)
{
    const fixture f = fixture_open();
    setenv("XDG_CACHE_HOME", "/dev/null", 1);
    compile_source(&counting, "one", "sm_90a");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    compile_source(&counting, "one", "sm_90a");
    CHECK_INT(compiled, 2);
    fixture_close(&f);
}

TEST(files_that_were_used_last_stay)
{
    const fixture f = fixture_open();
    char source[32], name[400];
    for (int i = 0; i < 2 * GT_KEPT_MOST; i++) {
        snprintf(source, sizeof source, "%d", i);
        compile_source(&counting, "the first", "sm_90a");
        usleep(5000); /* the clock of files is coarse */
        compile_source(&counting, source, "sm_90a");
    }
    CHECK_INT(count_files(&f, name), GT_KEPT_MOST);
    CHECK_INT(compiled, 2 * GT_KEPT_MOST + 1);
    fixture_close(&f);
}

CHECK_MAIN
