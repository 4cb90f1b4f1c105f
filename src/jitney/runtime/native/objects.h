// Object files into memory: what a linker and a loader do, for the code that LLVM writes for programs.
//
// An image is two runs of pages, one of code and stubs, one of constants and addresses. After
// relocation the first can be executed and neither can be written. All of an object is checked before
// it is followed: a damaged file gives an error.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    void *memory;
    size_t size;
} jt_image;

// Returns the address of a symbol outside of the object, or 0 if there is none.
typedef uint64_t (*jt_resolver)(void *context, const char *name);
// Is called with the functions that the object defines.
typedef void (*jt_definer)(void *context, const char *name, uint64_t address);

#if defined(__linux__) && defined(__x86_64__)
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef SHT_X86_64_UNWIND /* missing in musl's elf.h */
#define SHT_X86_64_UNWIND 0x70000001
#endif

#define JT_STUB 16  // jmp *[next 8 bytes]; the address
#define JT_MOST_SECTIONS 4096

typedef struct {
    const uint8_t *data;
    size_t size;
    const Elf64_Ehdr *header;
    const Elf64_Shdr *sections;
    const Elf64_Sym *symbols;
    size_t symbol_count;
    const char *names;
    size_t names_size;
    uint8_t *places[JT_MOST_SECTIONS];  // addresses of sections in memory, or NULL
    uint8_t *stubs, *addresses;         // for each symbol, a stub and its address
} jt_object;

static int jt_inside(const jt_object *o, uint64_t offset, uint64_t size) {
    return offset <= o->size && size <= o->size - offset;
}

static const char *jt_parse(jt_object *o) {
    const Elf64_Ehdr *h = o->header = (const Elf64_Ehdr *)o->data;
    if (o->size < sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) ||
        h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_type != ET_REL || h->e_machine != EM_X86_64)
        return "no object file for this processor";
    if (h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shnum > JT_MOST_SECTIONS || h->e_shoff % 8 ||
        !jt_inside(o, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr)))
        return "the table of sections is damaged";
    o->sections = (const Elf64_Shdr *)(o->data + h->e_shoff);
    for (int i = 0; i < h->e_shnum; i++) {
        const Elf64_Shdr *s = &o->sections[i];
        if (s->sh_type != SHT_NOBITS && s->sh_type != SHT_NULL && !jt_inside(o, s->sh_offset, s->sh_size))
            return "a section lies outside of the file";
        if (s->sh_addralign & (s->sh_addralign - 1) || s->sh_addralign > 4096 || s->sh_size > (1u << 30))
            return "a section has an impossible size or alignment";
        if (s->sh_type == SHT_SYMTAB) {
            if (s->sh_link >= h->e_shnum || s->sh_offset % 8)
                return "the table of symbols is damaged";
            const Elf64_Shdr *names = &o->sections[s->sh_link];
            if (!jt_inside(o, names->sh_offset, names->sh_size))
                return "the names of symbols are damaged";
            o->symbols = (const Elf64_Sym *)(o->data + s->sh_offset);
            o->symbol_count = s->sh_size / sizeof(Elf64_Sym);
            o->names = (const char *)o->data + names->sh_offset;
            o->names_size = names->sh_size;
        }
    }
    if (o->symbols == NULL || o->names_size == 0 || o->names[o->names_size - 1] != 0)
        return "there are no symbols";
    return NULL;
}

// Whether a section is part of the image: tables for unwinding are not, as nothing is thrown.
static int jt_is_loaded(const jt_object *o, int i) {
    const Elf64_Shdr *s = &o->sections[i];
    return (s->sh_flags & SHF_ALLOC) && s->sh_size && s->sh_type != SHT_X86_64_UNWIND;
}

// Assigns places from `at` on to the sections of code, or to all others; returns the end of the last
// one.
static size_t jt_place(jt_object *o, int code, uint8_t *base, size_t at) {
    for (int i = 0; i < o->header->e_shnum; i++) {
        const Elf64_Shdr *s = &o->sections[i];
        int is_code = (s->sh_flags & SHF_EXECINSTR) != 0;
        if (!jt_is_loaded(o, i) || is_code != code)
            continue;
        size_t alignment = s->sh_addralign > 64 ? s->sh_addralign : 64;
        at = (at + alignment - 1) & ~(alignment - 1);
        if (base != NULL) {
            o->places[i] = base + at;
            if (s->sh_type != SHT_NOBITS)
                memcpy(base + at, o->data + s->sh_offset, s->sh_size);
        }
        at += s->sh_size;
    }
    return (at + 63) & ~(size_t)63;
}

static const char *jt_symbol_name(const jt_object *o, const Elf64_Sym *s) {
    return s->st_name < o->names_size ? o->names + s->st_name : "";
}

// Returns the address of a symbol, or 0 if it is not known.
static uint64_t jt_symbol(const jt_object *o, size_t k) {
    const Elf64_Sym *s = &o->symbols[k];
    if (s->st_shndx == SHN_UNDEF || s->st_shndx >= o->header->e_shnum)
        return *(uint64_t *)(o->addresses + 8 * k);
    if (o->places[s->st_shndx] == NULL || s->st_value > o->sections[s->st_shndx].sh_size)
        return 0;
    return (uint64_t)(o->places[s->st_shndx] + s->st_value);
}

static const char *jt_relocate(jt_object *o, const Elf64_Shdr *table) {
    if (table->sh_info >= o->header->e_shnum || table->sh_offset % 8)
        return "a table of relocations is damaged";
    uint8_t *section = o->places[table->sh_info];
    if (section == NULL)
        return NULL;
    size_t size = o->sections[table->sh_info].sh_size;
    const Elf64_Rela *all = (const Elf64_Rela *)(o->data + table->sh_offset);
    for (size_t j = 0; j < table->sh_size / sizeof *all; j++) {
        size_t k = ELF64_R_SYM(all[j].r_info);
        int kind = ELF64_R_TYPE(all[j].r_info), wide = kind == R_X86_64_64 || kind == R_X86_64_PC64;
        if (k >= o->symbol_count || all[j].r_offset > size || size - all[j].r_offset < (wide ? 8 : 4))
            return "a relocation is damaged";
        uint8_t *at = section + all[j].r_offset;
        uint64_t target = jt_symbol(o, k);
        int is_outside = o->symbols[k].st_shndx == SHN_UNDEF;
        if (target == 0)
            return "a symbol is not known";
        if (kind == R_X86_64_GOTPCREL || kind == R_X86_64_GOTPCRELX || kind == R_X86_64_REX_GOTPCRELX) {
            memcpy(o->addresses + 8 * k, &target, 8);
            target = (uint64_t)(o->addresses + 8 * k);
        } else if (kind == R_X86_64_PLT32 && is_outside) {
            target = (uint64_t)(o->stubs + JT_STUB * k);
        }
        uint64_t value = target + (uint64_t)all[j].r_addend;
        if (kind == R_X86_64_64) {
            memcpy(at, &value, 8);
            continue;
        }
        if (kind != R_X86_64_PC32 && kind != R_X86_64_PLT32 && kind != R_X86_64_PC64 &&
            kind != R_X86_64_GOTPCREL && kind != R_X86_64_GOTPCRELX && kind != R_X86_64_REX_GOTPCRELX)
            return "a relocation is of a kind that is not known";
        int64_t distance = (int64_t)(value - (uint64_t)at);
        if (wide) {
            memcpy(at, &distance, 8);
            continue;
        }
        int32_t near = (int32_t)distance;
        if (near != distance)
            return "a relocation goes too far";
        memcpy(at, &near, 4);
    }
    return NULL;
}

// Loads the object `data` into `image`. Returns NULL, or the text of an error.
static const char *jt_load(const void *data, size_t size, void *context, jt_resolver resolve,
                           jt_definer define, jt_image *image) {
    static _Thread_local jt_object object;
    jt_object *o = &object;
    memset(o, 0, sizeof *o);
    o->data = data;
    o->size = size;
    const char *problem = jt_parse(o);
    if (problem != NULL)
        return problem;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t code = jt_place(o, 1, NULL, 0);
    size_t first = (code + JT_STUB * o->symbol_count + page - 1) & ~(page - 1);
    size_t rest = jt_place(o, 0, NULL, first);
    image->size = (rest + 8 * o->symbol_count + page - 1) & ~(page - 1);
    uint8_t *base = mmap(NULL, image->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return "there is no memory for the code";
    image->memory = base;
    jt_place(o, 1, base, 0);
    jt_place(o, 0, base, first);
    o->stubs = base + code;
    o->addresses = base + rest;
    for (size_t k = 1; k < o->symbol_count; k++) {
        const Elf64_Sym *s = &o->symbols[k];
        if (s->st_shndx != SHN_UNDEF)
            continue;
        uint64_t target = resolve(context, jt_symbol_name(o, s));
        static const uint8_t jump[6] = {0xff, 0x25, 0, 0, 0, 0};
        memcpy(o->addresses + 8 * k, &target, 8);
        memcpy(o->stubs + JT_STUB * k, jump, 6);
        memcpy(o->stubs + JT_STUB * k + 6, &target, 8);
    }
    for (int i = 0; problem == NULL && i < o->header->e_shnum; i++)
        if (o->sections[i].sh_type == SHT_RELA)
            problem = jt_relocate(o, &o->sections[i]);
    if (problem == NULL && (mprotect(base, first, PROT_READ | PROT_EXEC) ||
                            mprotect(base + first, image->size - first, PROT_READ)))
        problem = "the code's pages cannot be protected";
    if (problem != NULL) {
        munmap(base, image->size);
        image->memory = NULL;
        return problem;
    }
    for (size_t k = 1; k < o->symbol_count; k++) {
        const Elf64_Sym *s = &o->symbols[k];
        if (s->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(s->st_info) == STT_FUNC &&
            ELF64_ST_BIND(s->st_info) == STB_GLOBAL)
            define(context, jt_symbol_name(o, s), jt_symbol(o, k));
    }
    return NULL;
}

static void jt_unload(jt_image *image) {
    if (image->memory != NULL)
        munmap(image->memory, image->size);
    image->memory = NULL;
}

static int jt_can_load(void) { return 1; }
#else
static const char *jt_load(const void *data, size_t size, void *context, jt_resolver resolve,
                           jt_definer define, jt_image *image) {
    return "no loader for this system";
}
static void jt_unload(jt_image *image) {}
static int jt_can_load(void) { return 0; }
#endif
