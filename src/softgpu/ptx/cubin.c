#include "cubin.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#ifndef EM_CUDA
#define EM_CUDA 190
#endif

#define ENTRY 0x10             /* in a symbol's st_other: a kernel, not a device function */
#define RESERVED_SHARED 1024u  /* from sm_90 on part of .nv.shared.NAME */
#define MOST_KERNELS 4096

/* .nv.info is a list of records: form, attribute, then two bytes that are the value or the size of what follows. */
enum { FORM_NONE = 1, FORM_BYTE, FORM_HALF, FORM_SIZED };
enum {
    ATTRIBUTE_MAX_THREADS = 0x05,
    ATTRIBUTE_REQUIRED_THREADS = 0x10,
    ATTRIBUTE_FRAME_SIZE = 0x11,
    ATTRIBUTE_REGISTERS = 0x2f,
    ATTRIBUTE_CLUSTER = 0x3d,
    ATTRIBUTE_MAX_CLUSTER = 0x3f,
    ATTRIBUTE_BARRIERS = 0x4c,
};

_Static_assert(sizeof(Elf64_Ehdr) == SG_CUBIN_HEADER, "what sg_cubin_size reads");

/* A cubin's bytes with its tables, which lie inside them. Headers are copied out: nothing need be aligned. */
typedef struct elf_file {
    const uint8_t *data;
    size_t bytes;
    Elf64_Ehdr header;
    Elf64_Shdr names; /* of the sections */
    Elf64_Shdr symbols, symbol_names;
} elf_file;

static bool is_cubin(const Elf64_Ehdr *header)
{
    return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_ident[EI_CLASS] == ELFCLASS64 &&
           header->e_ident[EI_DATA] == ELFDATA2LSB && header->e_machine == EM_CUDA &&
           header->e_ehsize == sizeof *header && header->e_shentsize == sizeof(Elf64_Shdr);
}

size_t sg_cubin_size(const void *data)
{
    Elf64_Ehdr header;
    memcpy(&header, data, sizeof header);
    if (!is_cubin(&header) || header.e_shoff > (1u << 30) || header.e_phoff > (1u << 30))
        return 0;
    /* Both tables lie behind all sections. */
    const size_t sections = header.e_shoff + (size_t)header.e_shnum * sizeof(Elf64_Shdr);
    const size_t programs = header.e_phoff + (size_t)header.e_phnum * header.e_phentsize;
    return sections > programs ? sections : programs;
}

static bool inside(const elf_file *file, uint64_t offset, uint64_t bytes)
{
    return offset <= file->bytes && bytes <= file->bytes - offset;
}

/* False beyond the last section, and for one that does not lie inside the bytes. */
static bool get_section(const elf_file *file, size_t index, Elf64_Shdr *section)
{
    if (index >= file->header.e_shnum)
        return false;
    memcpy(section, file->data + file->header.e_shoff + index * sizeof *section, sizeof *section);
    return section->sh_type == SHT_NOBITS || inside(file, section->sh_offset, section->sh_size);
}

/* A string of a string table; NULL if it does not end inside it. */
static const char *get_string(const elf_file *file, const Elf64_Shdr *table, uint64_t offset)
{
    if (table->sh_type != SHT_STRTAB || offset >= table->sh_size)
        return NULL;
    const char *text = (const char *)file->data + table->sh_offset + offset;
    return memchr(text, 0, table->sh_size - offset) ? text : NULL;
}

static bool get_symbol(const elf_file *file, uint64_t index, Elf64_Sym *symbol, const char **name)
{
    if (index >= file->symbols.sh_size / sizeof *symbol)
        return false;
    memcpy(symbol, file->data + file->symbols.sh_offset + index * sizeof *symbol, sizeof *symbol);
    *name = get_string(file, &file->symbol_names, symbol->st_name);
    return *name != NULL;
}

static bool open_file(const void *data, size_t bytes, elf_file *file)
{
    Elf64_Shdr section;
    file->data = data;
    file->bytes = bytes;
    if (bytes < sizeof file->header)
        return false;
    memcpy(&file->header, data, sizeof file->header);
    if (!is_cubin(&file->header) ||
        !inside(file, file->header.e_shoff, (uint64_t)file->header.e_shnum * sizeof(Elf64_Shdr)) ||
        !get_section(file, file->header.e_shstrndx, &file->names))
        return false;
    for (size_t i = 0; i < file->header.e_shnum; i++) {
        if (!get_section(file, i, &section))
            return false;
        if (section.sh_type == SHT_SYMTAB && get_section(file, section.sh_link, &file->symbol_names)) {
            file->symbols = section;
            return true;
        }
    }
    return false;
}

static sg_cubin_kernel *find(const sg_cubin *cubin, const char *name)
{
    for (size_t i = 0; i < cubin->count; i++)
        if (strcmp(cubin->kernels[i].name, name) == 0)
            return &cubin->kernels[i];
    return NULL;
}

const sg_cubin_kernel *sg_cubin_find(const sg_cubin *cubin, const char *name)
{
    return find(cubin, name);
}

/* Every kernel is a function symbol marked as an entry. */
static bool list_kernels(const elf_file *file, sg_cubin *cubin)
{
    Elf64_Sym symbol;
    const char *name;
    for (uint64_t i = 0; i < file->symbols.sh_size / sizeof symbol; i++) {
        if (!get_symbol(file, i, &symbol, &name))
            return false;
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || !(symbol.st_other & ENTRY))
            continue;
        sg_cubin_kernel *more = realloc(cubin->kernels, (cubin->count + 1) * sizeof *more);
        if (!more)
            return false;
        cubin->kernels = more;
        more[cubin->count] = (sg_cubin_kernel){.name = strdup(name)};
        if (!more[cubin->count].name || ++cubin->count > MOST_KERNELS)
            return false;
    }
    return true;
}

/* One record of .nv.info. values: the words that follow it, or the short value; three at most are of interest. */
static void take_attribute(const elf_file *file, sg_cubin *cubin, sg_cubin_kernel *kernel, int attribute,
                           const uint32_t values[3], size_t count)
{
    Elf64_Sym symbol;
    const char *name;
    if (!kernel) { /* the section for the whole cubin: pairs of a symbol and a number */
        if (count < 2 || !get_symbol(file, values[0], &symbol, &name) || !(kernel = find(cubin, name)))
            return;
        if (attribute == ATTRIBUTE_REGISTERS)
            kernel->registers = values[1];
        else if (attribute == ATTRIBUTE_FRAME_SIZE)
            kernel->local_bytes = values[1];
        return;
    }
    if ((attribute == ATTRIBUTE_MAX_THREADS || attribute == ATTRIBUTE_REQUIRED_THREADS) && count >= 3)
        kernel->max_threads = values[0] * values[1] * values[2];
    else if (attribute == ATTRIBUTE_CLUSTER && count >= 3)
        memcpy(kernel->cluster, values, sizeof kernel->cluster);
    else if (attribute == ATTRIBUTE_MAX_CLUSTER && count >= 1)
        kernel->max_cluster = values[0];
    else if (attribute == ATTRIBUTE_BARRIERS && count >= 1)
        kernel->barriers = values[0];
}

static bool read_attributes(const elf_file *file, const Elf64_Shdr *section, sg_cubin *cubin, sg_cubin_kernel *kernel)
{
    const uint8_t *at = file->data + section->sh_offset, *end = at + section->sh_size;
    while (end - at >= 4) {
        uint32_t values[3] = {(uint32_t)at[2] | (uint32_t)at[3] << 8};
        size_t count = 1;
        const int form = at[0], attribute = at[1];
        at += 4;
        if (form < FORM_NONE || form > FORM_SIZED)
            return false;
        if (form == FORM_SIZED) {
            const size_t bytes = values[0];
            if (bytes > (size_t)(end - at))
                return false;
            count = bytes / 4 < 3 ? bytes / 4 : 3;
            memset(values, 0, sizeof values);
            memcpy(values, at, 4 * count);
            at += bytes;
        }
        take_attribute(file, cubin, kernel, attribute, values, count);
    }
    return true;
}

/* The kernel that a section's name belongs to: ".nv.info.gemm" with prefix ".nv.info.". */
static sg_cubin_kernel *kernel_of(const sg_cubin *cubin, const char *section, const char *prefix)
{
    const size_t length = strlen(prefix);
    return strncmp(section, prefix, length) == 0 ? find(cubin, section + length) : NULL;
}

static bool read_sections(const elf_file *file, sg_cubin *cubin)
{
    Elf64_Shdr section;
    sg_cubin_kernel *kernel;
    for (size_t i = 0; i < file->header.e_shnum; i++) {
        if (!get_section(file, i, &section))
            return false;
        const char *name = get_string(file, &file->names, section.sh_name);
        if (!name)
            return false;
        const bool whole = strcmp(name, ".nv.info") == 0;
        if (whole || (kernel = kernel_of(cubin, name, ".nv.info."))) {
            if (section.sh_type == SHT_NOBITS || !read_attributes(file, &section, cubin, whole ? NULL : kernel))
                return false;
        } else if ((kernel = kernel_of(cubin, name, ".nv.shared."))) {
            const uint32_t reserved = cubin->cc >= 90 ? RESERVED_SHARED : 0;
            kernel->static_shared = section.sh_size > reserved ? (uint32_t)section.sh_size - reserved : 0;
        } else if (section.sh_type == SHT_PROGBITS && (kernel = kernel_of(cubin, name, ".text."))) {
            kernel->loop = sg_sass_read(file->data + section.sh_offset, section.sh_size, cubin->cc);
        } else if (strcmp(name, ".nv.constant3") == 0) {
            for (size_t k = 0; k < cubin->count; k++)
                cubin->kernels[k].constant_bytes = (uint32_t)section.sh_size;
        }
    }
    return true;
}

bool sg_cubin_read(const void *data, size_t bytes, sg_cubin *out)
{
    elf_file file = {0};
    if (!open_file(data, bytes, &file))
        return false;
    /* The architecture moved up by a byte with version 8 of the ABI, CUDA 13's. */
    const int shift = file.header.e_ident[EI_ABIVERSION] >= 8 ? 8 : 0;
    sg_cubin cubin = {.cc = (int)(file.header.e_flags >> shift & 0xff)};
    if (!list_kernels(&file, &cubin) || !read_sections(&file, &cubin)) {
        sg_cubin_finish(&cubin);
        return false;
    }
    *out = cubin;
    return true;
}

void sg_cubin_finish(sg_cubin *cubin)
{
    for (size_t i = 0; i < cubin->count; i++)
        free(cubin->kernels[i].name);
    free(cubin->kernels);
    *cubin = (sg_cubin){0};
}
