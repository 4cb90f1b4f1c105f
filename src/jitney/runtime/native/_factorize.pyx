"""Where the machine code of factorizations is: `factorize.h`. Loaded when needed."""

from libc.stdint cimport int32_t, int64_t, uintptr_t


cdef extern from "pool.h":
    ctypedef struct jt_call:
        pass
    ctypedef int32_t (*jt_kernel)(jt_call *, void *, int64_t, int64_t) noexcept nogil

cdef extern from "factorize.h":
    enum: JT_MATRIX_TYPES
    void *jt_factorizations[][JT_MATRIX_TYPES]
    int jt_highest_level
    int32_t (*jt_loop)(jt_call *, jt_kernel, void *, int64_t, int64_t) noexcept nogil
    void jt_set_lapack(int dtype, int routine, void *address)


def use_loop(uintptr_t address):
    """Sets the address of `int32 parallel_for(call, kernel, slots, n, grain)`, by which threads divide."""
    global jt_loop
    jt_loop = <int32_t (*)(jt_call *, jt_kernel, void *, int64_t, int64_t) noexcept nogil>address


def set_lapack(int dtype, int routine, uintptr_t address):
    """Sets the address of a routine of LAPACK's or BLAS's; the numbers are those of factorize.h."""
    jt_set_lapack(dtype, routine, <void *>address)


def limit_instructions(int level):
    """Keeps factorizations of our own to some instructions; the limit before. For tests.

    Args:
      level: 0 for those that every processor has, 1 for AVX2, 2 for AVX-512. What the processor does
        not have is not used.
    """
    global jt_highest_level
    before = jt_highest_level
    jt_highest_level = level
    return before


def address(int which, int dtype):
    """Address of a function of factorize.h: `int32 f(call, ptr slots, int64 begin, int64 end)`."""
    return <uintptr_t>jt_factorizations[which][dtype]
