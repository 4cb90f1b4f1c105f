// Memory for arrays that begins where lines of the cache do: vectors of 64 bytes lie in one line.
//
// NumPy's own begins 16 bytes after such a place as a rule, and a loop over it loads each vector from
// two lines.
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#define JT_LINE 64
#define JT_HUGE (1u << 22)  // bytes from which on large pages pay
#define JT_MAPPED ((size_t)32 << 20)  // bytes from which on `free` gives pages back at once
#define JT_KEPT ((size_t)512 << 20)  // bytes up to which one block of temporaries is kept

// `size` bytes that `free` frees; NULL if there are none.
static void *jt_allocate(size_t size) {
    void *memory = NULL;
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

// The last large block of temporaries that a call has given back. A call that begins when none runs
// finds it: the first touch of fresh pages would cost more than most kernels spend on them.
static _Atomic(void *) jt_spare;

// `size` bytes for the temporaries of a call, which `jt_give` takes back; NULL if there are none.
static inline void *jt_take(size_t size) {
    if (size < JT_MAPPED)
        return malloc(size);
    void *spare = atomic_exchange(&jt_spare, NULL);
    if (spare != NULL) {
        size_t has = malloc_usable_size(spare);
        if (has >= size && has / 2 <= size)
            return spare;
        free(spare);
    }
    return jt_allocate(size);
}

static inline void jt_give(void *memory) {
    if (memory != NULL) {
        size_t size = malloc_usable_size(memory);
        if (size >= JT_MAPPED && size <= JT_KEPT)
            memory = atomic_exchange(&jt_spare, memory);
    }
    free(memory);
}
