#include "kept.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../src/core/environment.h"
#include "../../src/core/hash.h"
#include "../../src/core/status.h"

/* A file: the head, and behind it the cubin and the PTX, which its hash is of. */
#define HEAD        "gemmtune code 1 %64s %zu %zu\n"
#define HEAD_LENGTH 160
#define MOST_BYTES  ((size_t)64 << 20)

static bool is_own(int file, mode_t kind)
{
    struct stat st;
    return fstat(file, &st) == 0 && (st.st_mode & S_IFMT) == kind && st.st_uid == geteuid() &&
           (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* The folder, made where it is missing; -1 if there is none, or not of the user's alone. */
static int open_folder(void)
{
    const char *cache = gt_environment(GT_ENV_CACHE_HOME), *home = gt_environment(GT_ENV_HOME);
    char path[4096];
    int length = 0;
    if (cache && cache[0] == '/') /* the XDG specification: a relative one is ignored */
        length = snprintf(path, sizeof path, "%s", cache);
    else if (home && home[0] == '/')
        length = snprintf(path, sizeof path, "%s/.cache", home);
    if (length <= 0 || (size_t)length + sizeof "/gemmtune" > sizeof path)
        return -1;
    mkdir(path, 0700);
    strcpy(path + length, "/gemmtune");
    mkdir(path, 0700);
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0 && is_own(folder, S_IFDIR))
        return folder;
    if (folder >= 0)
        close(folder);
    return -1;
}

/* The name of what a source becomes: a hash. */
static bool name_of(const gt_nvrtc *nvrtc, const char *source, const char *arch, char name[GT_HASH_LENGTH])
{
    char *text;
    const int length = asprintf(&text, "%s %s\n%s", nvrtc->version, arch, source);
    if (length < 0)
        return false;
    gt_hash(text, (size_t)length, name);
    free(text);
    return true;
}

static bool read_code(FILE *stream, gt_code *out)
{
    char head[HEAD_LENGTH], wanted[GT_HASH_LENGTH], hash[GT_HASH_LENGTH], *all;
    gt_code code = {0};
    if (!fgets(head, sizeof head, stream) || sscanf(head, HEAD, wanted, &code.cubin_bytes, &code.ptx_bytes) != 3 ||
        code.cubin_bytes > MOST_BYTES || code.ptx_bytes > MOST_BYTES)
        return false;
    const size_t bytes = code.cubin_bytes + code.ptx_bytes;
    if (!(all = calloc(1, bytes + 1)))
        return false;
    bool good = fread(all, 1, bytes, stream) == bytes && getc(stream) == EOF;
    gt_hash(all, bytes, hash);
    good = good && strcmp(hash, wanted) == 0 && (code.ptx = malloc(code.ptx_bytes + 1));
    if (good) {
        memcpy(code.ptx, all + code.cubin_bytes, code.ptx_bytes + 1);
        code.cubin = all;
        *out = code;
    } else {
        free(all);
    }
    return good;
}

static bool find(int folder, const char *name, gt_code *code)
{
    const int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    FILE *stream = file >= 0 && is_own(file, S_IFREG) ? fdopen(file, "r") : NULL;
    const bool found = stream && read_code(stream, code);
    if (found)
        futimens(file, NULL); /* used now */
    if (stream)
        fclose(stream);
    else if (file >= 0)
        close(file);
    return found;
}

static bool write_code(FILE *stream, const gt_code *code)
{
    const size_t bytes = code->cubin_bytes + code->ptx_bytes;
    char hash[GT_HASH_LENGTH], *all = malloc(bytes);
    if (!all)
        return false;
    memcpy(all, code->cubin, code->cubin_bytes);
    memcpy(all + code->cubin_bytes, code->ptx, code->ptx_bytes);
    gt_hash(all, bytes, hash);
    const bool good = fprintf(stream, HEAD, hash, code->cubin_bytes, code->ptx_bytes) > 0 &&
                      fwrite(all, 1, bytes, stream) == bytes;
    free(all);
    return good;
}

/* Written beside its place and then put there, whole: others may read or write the same at the same time. */
static bool put(int folder, const char *name, const gt_code *code)
{
    char beside[GT_HASH_LENGTH + 32];
    snprintf(beside, sizeof beside, "%s.%ld", name, (long)getpid());
    const int file = openat(folder, beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    FILE *stream = file >= 0 ? fdopen(file, "w") : NULL;
    if (!stream) {
        if (file >= 0)
            close(file);
        return false;
    }
    const bool written = write_code(stream, code);
    const bool good = fclose(stream) == 0 && written && renameat(folder, beside, folder, name) == 0;
    if (!good)
        unlinkat(folder, beside, 0);
    return good;
}

/* Removes the file that was not used for longest where there are more than GT_KEPT_MOST. */
static void make_room(int folder)
{
    char oldest[GT_HASH_LENGTH + 32] = "";
    struct timespec least = {0};
    size_t count = 0;
    const int again = dup(folder);
    DIR *names = again >= 0 ? fdopendir(again) : NULL;
    if (!names) {
        if (again >= 0)
            close(again);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(names));) {
        struct stat st;
        if (strlen(entry->d_name) >= sizeof oldest || fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(st.st_mode))
            continue;
        const bool older = st.st_mtim.tv_sec != least.tv_sec ? st.st_mtim.tv_sec < least.tv_sec
                                                              : st.st_mtim.tv_nsec < least.tv_nsec;
        if (count++ == 0 || older) {
            least = st.st_mtim;
            strcpy(oldest, entry->d_name);
        }
    }
    closedir(names);
    if (count > GT_KEPT_MOST)
        unlinkat(folder, oldest, 0);
}

gt_status gt_kept_compile(const gt_nvrtc *nvrtc, const char *source, const char *arch, gt_code *code)
{
    char name[GT_HASH_LENGTH];
    const int folder = name_of(nvrtc, source, arch, name) ? open_folder() : -1;
    gt_status status = GT_OK;
    if (folder < 0 || !find(folder, name, code)) {
        status = gt_nvrtc_compile(nvrtc, source, arch, code, NULL);
        if (status == GT_OK && folder >= 0 && put(folder, name, code))
            make_room(folder);
    }
    if (folder >= 0)
        close(folder);
    return status;
}
