// Memory for arrays that begins where lines of the cache do: vectors of 64 bytes lie in one line.
//
// NumPy's own begins 16 bytes after such a place as a rule, and a loop over it loads each vector from
// two lines.
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#ifdef __APPLE__
#include <malloc/malloc.h>
#define malloc_usable_size malloc_size
#else
#include <malloc.h>
#endif
#ifdef __linux__
#include <sys/mman.h>
#endif

#define JT_LINE 64
#define JT_HUGE (1u << 22)  // the size from which on large pages are faster
#define JT_MAPPED ((size_t)32 << 20)  // the size from which on `free` returns pages at once
#define JT_KEPT ((size_t)512 << 20)  // the total size up to which such blocks are kept
#define JT_SPARE 4  // the number of blocks that are kept

// Makes `free` keep blocks of less than JT_MAPPED bytes, if the allocator has an option for it.
static void jt_keep_freed_memory(void) {
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, (int)JT_MAPPED);
    mallopt(M_TRIM_THRESHOLD, (int)JT_KEPT);
#endif
}

// Large blocks that were released. The first access to fresh pages takes longer than most kernels, so
// these blocks are reused for the next array, or for the temporaries of a call.
static _Atomic(void *) jt_spare[JT_SPARE];
static _Atomic size_t jt_spare_bytes;

// Returns one of the spare blocks, of `size` to 2 * `size` bytes, or NULL if there is none.
static void *jt_find_spare(size_t size) {
    for (int k = 0; k < JT_SPARE; k++) {
        if (atomic_load_explicit(&jt_spare[k], memory_order_relaxed) == NULL)
            continue;
        void *spare = atomic_exchange(&jt_spare[k], NULL);
        if (spare == NULL)
            continue;
        size_t has = malloc_usable_size(spare);
        void *none = NULL;
        if (has >= size && has / 2 <= size) {
            atomic_fetch_sub(&jt_spare_bytes, has);
            return spare;
        }
        if (!atomic_compare_exchange_strong(&jt_spare[k], &none, spare)) {
            atomic_fetch_sub(&jt_spare_bytes, has);
            free(spare);
        }
    }
    return NULL;
}

// Adds `memory`, of `size` bytes, to the spare blocks; if there is no place, it
// replaces one of them, each in its turn.
static void jt_keep_spare(void *memory, size_t size) {
    static _Atomic unsigned next;
    size_t kept = atomic_fetch_add(&jt_spare_bytes, size) + size;
    for (int k = 0; k < JT_SPARE && kept <= JT_KEPT; k++) {
        void *none = NULL;
        if (atomic_compare_exchange_strong(&jt_spare[k], &none, memory))
            return;
    }
    for (int tries = 0; tries < JT_SPARE; tries++) {
        unsigned k = atomic_fetch_add(&next, 1) % JT_SPARE;
        void *old = atomic_exchange(&jt_spare[k], NULL);
        if (old == NULL)
            continue;
        kept = atomic_fetch_sub(&jt_spare_bytes, malloc_usable_size(old)) - malloc_usable_size(old);
        free(old);
        void *none = NULL;
        if (kept <= JT_KEPT && atomic_compare_exchange_strong(&jt_spare[k], &none, memory))
            return;
    }
    atomic_fetch_sub(&jt_spare_bytes, size);
    free(memory);
}

// Returns `size` bytes, to be released by `jt_give` or `free`, or NULL if there is no memory.
static void *jt_allocate(size_t size) {
    void *memory = size >= JT_MAPPED ? jt_find_spare(size) : NULL;
    if (memory != NULL)
        return memory;
    if (posix_memalign(&memory, JT_LINE, size ? size : 1))
        return NULL;
#ifdef MADV_HUGEPAGE
    if (size >= JT_HUGE) {
        size_t page = 4096, skipped = (page - (size_t)memory % page) % page;
        madvise((char *)memory + skipped, size - skipped, MADV_HUGEPAGE);
    }
#endif
    return memory;
}

// Returns `size` bytes for the temporaries of a call, to be released by `jt_give`, or NULL if there is
// no memory.
static inline void *jt_take(size_t size) {
    return size < JT_MAPPED ? malloc(size) : jt_allocate(size);
}

static inline void jt_give(void *memory) {
    if (memory != NULL) {
        size_t size = malloc_usable_size(memory);
        if (size >= JT_MAPPED && size <= JT_KEPT) {
            jt_keep_spare(memory, size);
            return;
        }
    }
    free(memory);
}
