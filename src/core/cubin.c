#include "cubin.h"

#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Records of a section .nv.info.KERNEL: a byte for the form, one for the attribute, and two that are, in the form
 * FORM_SIZED, the number of bytes that follow. */
#define FORM_SIZED                4
#define ATTRIBUTE_REQUIRED_THREADS 0x10 /* three words: x, y, z */
#define ATTRIBUTE_PARAMETERS       0x0a /* two words: a symbol; offset and, in the upper half, bytes */

/* Headers are copied out: nothing need be aligned. */
typedef struct elf_file {
    const unsigned char *data;
    size_t bytes;
    Elf64_Ehdr header;
} elf_file;

static bool inside(const elf_file *file, uint64_t offset, uint64_t bytes)
{
    return offset <= file->bytes && bytes <= file->bytes - offset;
}

static Elf64_Shdr section_at(const elf_file *file, size_t index)
{
    Elf64_Shdr section;
    memcpy(&section, file->data + file->header.e_shoff + index * sizeof section, sizeof section);
    return section;
}

static bool holds_bytes(const Elf64_Shdr *section)
{
    return section->sh_type != SHT_NULL && section->sh_type != SHT_NOBITS;
}

static const char *find_fault(const void *cubin, size_t bytes, elf_file *file)
{
    *file = (elf_file){.data = cubin, .bytes = bytes};
    if (bytes < sizeof file->header)
        return "is shorter than an ELF header";
    memcpy(&file->header, cubin, sizeof file->header);
    const Elf64_Ehdr *header = &file->header;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return "is no ELF file";
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_shentsize != sizeof(Elf64_Shdr) || (header->e_phnum > 0 && header->e_phentsize != sizeof(Elf64_Phdr)))
        return "is no 64-bit ELF file";
    if (!inside(file, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr)) ||
        !inside(file, header->e_phoff, (uint64_t)header->e_phnum * sizeof(Elf64_Phdr)))
        return "ends before its tables do";
    if (header->e_shnum == 0 || header->e_shstrndx >= header->e_shnum)
        return "has no sections";
    for (size_t i = 0; i < header->e_shnum; i++) {
        const Elf64_Shdr section = section_at(file, i);
        if (holds_bytes(&section) && !inside(file, section.sh_offset, section.sh_size))
            return "ends before its sections do";
    }
    for (size_t i = 0; i < header->e_phnum; i++) {
        Elf64_Phdr segment;
        memcpy(&segment, file->data + header->e_phoff + i * sizeof segment, sizeof segment);
        if (segment.p_filesz > 0 && !inside(file, segment.p_offset, segment.p_filesz))
            return "ends before its segments do";
    }
    return NULL;
}

gt_status gt_cubin_check(const void *cubin, size_t bytes)
{
    elf_file file;
    const char *fault = find_fault(cubin, bytes, &file);
    return fault ? gt_fail(GT_ERROR_CORRUPT, "the cubin of %zu bytes %s", bytes, fault) : GT_OK;
}

/* The words of the first record with an attribute in such a section; false if there is none. */
static bool find_record(const unsigned char *at, size_t bytes, int attribute, uint32_t *words, size_t count)
{
    const unsigned char *end = at + bytes;
    while (end - at >= 4) {
        const int form = at[0], found = at[1];
        const size_t size = form == FORM_SIZED ? (size_t)(at[2] | at[3] << 8) : 0;
        at += 4;
        if (size > (size_t)(end - at))
            return false;
        if (found == attribute && size >= count * sizeof *words) {
            memcpy(words, at, count * sizeof *words);
            return true;
        }
        at += size;
    }
    return false;
}

/* The same in the section of one kernel of a cubin. */
static bool find_attribute(const void *cubin, size_t bytes, const char *kernel, int attribute, uint32_t *words,
                           size_t count)
{
    elf_file file;
    char wanted[128];
    if (find_fault(cubin, bytes, &file))
        return false;
    const size_t length = (size_t)snprintf(wanted, sizeof wanted, ".nv.info.%s", kernel) + 1;
    const Elf64_Shdr names = section_at(&file, file.header.e_shstrndx);
    for (size_t i = 0; i < file.header.e_shnum && holds_bytes(&names); i++) {
        const Elf64_Shdr section = section_at(&file, i);
        if (!holds_bytes(&section) || section.sh_name > names.sh_size || length > names.sh_size - section.sh_name ||
            memcmp(file.data + names.sh_offset + section.sh_name, wanted, length) != 0)
            continue;
        if (find_record(file.data + section.sh_offset, section.sh_size, attribute, words, count))
            return true;
    }
    return false;
}

int64_t gt_cubin_required_threads(const void *cubin, size_t bytes, const char *kernel)
{
    uint32_t words[3];
    return find_attribute(cubin, bytes, kernel, ATTRIBUTE_REQUIRED_THREADS, words, 3)
               ? (int64_t)words[0] * words[1] * words[2]
               : 0;
}

int64_t gt_cubin_parameter_bytes(const void *cubin, size_t bytes, const char *kernel)
{
    uint32_t words[2];
    return find_attribute(cubin, bytes, kernel, ATTRIBUTE_PARAMETERS, words, 2) ? words[1] >> 16 : 0;
}
