#include "pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

bool sg_pages_take(sg_pages *pages, uint64_t bytes, uint64_t *at)
{
    if (pages->file < 0)
        pages->file = memfd_create("softgpu", MFD_CLOEXEC);
    if (pages->file < 0 || ftruncate(pages->file, (off_t)(pages->end + bytes)) != 0)
        return false;
    *at = pages->end;
    pages->end += bytes;
    return true;
}

void sg_pages_give(sg_pages *pages, uint64_t at, uint64_t bytes)
{
    fallocate(pages->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)bytes);
}

bool sg_pages_show(const sg_pages *pages, uint64_t at, void *place, uint64_t bytes)
{
    return mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, pages->file, (off_t)at) !=
           MAP_FAILED;
}

void sg_pages_hide(void *place, uint64_t bytes, int rights)
{
    mmap(place, bytes, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void sg_pages_finish(sg_pages *pages)
{
    if (pages->file >= 0)
        close(pages->file);
    pages->file = -1;
}
