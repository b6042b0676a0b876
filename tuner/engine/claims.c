#include "claims.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define PROBLEMS (INT64_C(1) << 40) /* bytes for each GPU: far more than a database has problems */

int gt_claims_open(const char *database)
{
    char path[PATH_MAX];
    const int length = snprintf(path, sizeof path, "%s-claims", database);
    if (length < 0 || (size_t)length >= sizeof path)
        return -1;
    return open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
}

static int set_lock(int claims, int64_t gpu, int64_t problem, short type)
{
    struct flock lock = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = gpu % (1 << 20) * PROBLEMS + problem % PROBLEMS, .l_len = 1};
    return fcntl(claims, F_OFD_SETLK, &lock);
}

bool gt_claims_take(int claims, int64_t gpu, int64_t problem)
{
    if (claims < 0 || set_lock(claims, gpu, problem, F_WRLCK) == 0)
        return true;
    return errno != EAGAIN && errno != EACCES; /* a file system without locks grants everything */
}

void gt_claims_drop(int claims, int64_t gpu, int64_t problem)
{
    if (claims >= 0)
        set_lock(claims, gpu, problem, F_UNLCK);
}
