/* Where the database lies. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <config.h>

#include "../src/core/environment.h"
#include "internal.h"

#define FILE_NAME "gemmtune/gemmtune.db"

const char *gt_store_system_path(void)
{
    const char *file = gt_environment(GT_ENV_SYSTEM_DATABASE);
    return file ? file : GT_SYSTEM_DATABASE;
}

gt_status gt_store_default_path(char *path, size_t size)
{
    const char *file = gt_environment(GT_ENV_DATABASE);
    const char *data = gt_environment(GT_ENV_DATA_HOME);
    const char *home = gt_environment(GT_ENV_HOME);
    char text[PATH_MAX];
    int length;
    if (file)
        length = snprintf(text, sizeof text, "%s", file);
    else if (data && data[0] == '/') /* the XDG specification: a relative one is ignored */
        length = snprintf(text, sizeof text, "%s/" FILE_NAME, data);
    else if (home)
        length = snprintf(text, sizeof text, "%s/.local/share/" FILE_NAME, home);
    else
        return gt_fail(GT_ERROR_INVALID, "no place for the database: set GEMMTUNE_DB, XDG_DATA_HOME or HOME");
    if (length < 0 || (size_t)length >= sizeof text || (size_t)length >= size)
        return gt_fail(GT_ERROR_INVALID, "the database's path is longer than %zu bytes",
                       size < sizeof text ? size : sizeof text);
    memcpy(path, text, (size_t)length + 1);
    return GT_OK;
}

/* Whether path lies in folder. */
static bool below(const char *path, const char *folder)
{
    const size_t length = folder ? strlen(folder) : 0;
    return length > 0 && strncmp(path, folder, length) == 0 && (path[length] == '/' || folder[length - 1] == '/');
}

/* Makes the folders above a file: the user's own are private, as the XDG specification asks; others, like the
 * system's, can be read by all. Never writable by a group, whatever the umask: readers would not trust them. */
static gt_status make_folders(char *path)
{
    const bool own = below(path, gt_environment(GT_ENV_HOME)) || below(path, gt_environment(GT_ENV_DATA_HOME));
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const int reason = mkdir(path, own ? 0700 : 0755) == 0 ? EEXIST : errno;
        struct stat st;
        if (reason != EEXIST && stat(path, &st) != 0) /* a read-only file system says so before it says that the folder exists */
            return gt_fail(GT_ERROR_IO, "%s: cannot make this folder: %s", path, strerror(reason));
        *slash = '/';
    }
    return GT_OK;
}

/* The absolute path of a file that does not exist yet. */
static gt_status resolve_new(const char *path, char absolute[PATH_MAX])
{
    char given[PATH_MAX], folder[PATH_MAX];
    if (strlen(path) >= sizeof given)
        return gt_fail(GT_ERROR_INVALID, "%.64s...: the path is too long", path);
    strcpy(given, path);
    gt_status status = make_folders(given);
    if (status != GT_OK)
        return status;
    char *slash = strrchr(given, '/');
    const char *name = slash ? slash + 1 : given;
    if (!*name)
        return gt_fail(GT_ERROR_INVALID, "%s: names a folder, not a file", path);
    if (slash)
        *slash = '\0';
    if (!realpath(!slash ? "." : slash == given ? "/" : given, folder))
        return gt_fail(GT_ERROR_IO, "%s: %s", path, strerror(errno));
    const int length = snprintf(absolute, PATH_MAX, "%s/%s", folder[1] ? folder : "", name);
    if (length < 0 || length >= PATH_MAX)
        return gt_fail(GT_ERROR_INVALID, "%.64s...: the path is too long", path);
    return GT_OK;
}

gt_status gt_place_resolve(const char *path, gt_store_mode mode, char absolute[PATH_MAX])
{
    struct stat st;
    if (!path || !*path)
        return gt_fail(GT_ERROR_INVALID, "the database's path is empty");
    if (!realpath(path, absolute)) {
        if (errno != ENOENT && errno != ENOTDIR)
            return gt_fail(GT_ERROR_IO, "%s: %s", path, strerror(errno));
        if (mode == GT_STORE_READ)
            return gt_fail(GT_ERROR_NO_DATABASE, "%s: no database here; run `gemmtune --db %s` to make one", path, path);
        return resolve_new(path, absolute);
    }
    if (stat(absolute, &st) != 0)
        return gt_fail(GT_ERROR_IO, "%s: %s", absolute, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return gt_fail(GT_ERROR_DATABASE, "%s: not a gemmtune database, not even a file", absolute);
    return GT_OK;
}

bool gt_store_on_network(const gt_store *store)
{
    /* From linux/magic.h and the file systems' own sources: NFS, SMB, CIFS, SMB2, AFS, 9P, Ceph, Lustre, GPFS. */
    static const uint32_t network[] = {0x6969,     0x517b,     0xff534d42, 0xfe534d42, 0x5346414f,
                                       0x01021997, 0x00c36400, 0x0bd00bd0, 0x47504653};
    struct statfs fs;
    if (statfs(store->path, &fs) != 0)
        return false;
    for (size_t i = 0; i < sizeof network / sizeof network[0]; i++)
        if ((uint32_t)fs.f_type == network[i])
            return true;
    return false;
}
