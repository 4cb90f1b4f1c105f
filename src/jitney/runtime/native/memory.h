// Memory for arrays that begins where lines of the cache do: vectors of 64 bytes lie in one line.
//
// NumPy's own begins 16 bytes after such a place as a rule, and a loop over it loads each vector from
// two lines.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#define JT_LINE 64
#define JT_HUGE (1u << 22)  // bytes from which on large pages pay

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
