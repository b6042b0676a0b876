/* Preloaded, makes every file system look like NFS to a program that asks. Built for 64-bit offsets like the program:
 * both names of the call then fill the same structure. */
#include <string.h>
#include <sys/vfs.h>

#define NFS 0x6969

static int answer(struct statfs64 *fs)
{
    memset(fs, 0, sizeof *fs);
    fs->f_type = NFS;
    return 0;
}

int statfs64(const char *path, struct statfs64 *fs)
{
    (void)path;
    return answer(fs);
}
