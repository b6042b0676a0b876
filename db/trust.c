/* Who can write the database runs code on the reader's GPU, so it must be nobody but the reader and root. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

/* Owner and mode of one link of the chain from the file up to the root. A sticky folder (/tmp) lets others add files
 * but not replace ours: harmless further up, not where the file is, for a forged journal beside it would be played
 * into it. POSIX ACLs show in the group's bits. */
static gt_status check_link(const char *path, bool sticky_is_safe)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return gt_fail(GT_ERROR_IO, "%s: %s", path, strerror(errno));
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return gt_fail(GT_ERROR_UNTRUSTED,
                       "%s: owned by user %u, who is neither you nor root, and its kernels would run as you; copy the "
                       "database to a folder of your own",
                       path, (unsigned)st.st_uid);
    if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !(sticky_is_safe && (st.st_mode & S_ISVTX) != 0))
        return gt_fail(GT_ERROR_UNTRUSTED,
                       "%s: others can write it (mode %04o), and what they write would run as you; chmod go-w '%s', or "
                       "move the database to a folder of your own",
                       path, (unsigned)st.st_mode & 07777, path);
    return GT_OK;
}

gt_status gt_trust_check(const char *absolute)
{
    char path[PATH_MAX];
    struct stat st;
    /* One that does not exist yet is made with mode 0644, less the umask. */
    gt_status status = stat(absolute, &st) != 0 && errno == ENOENT ? GT_OK : check_link(absolute, false);
    memcpy(path, absolute, strlen(absolute) + 1);
    for (bool first = true; status == GT_OK && path[1] != '\0'; first = false) {
        char *slash = strrchr(path, '/');
        slash[slash == path] = '\0'; /* keeps the root's own */
        status = check_link(path, !first);
    }
    return status;
}
