"""Where the machine code of Fourier transforms is: `fourier.h`. A module of its own, loaded when needed."""

from libc.stdint cimport uintptr_t


cdef extern from "fourier.h":
    void *jt_fourier_function(int kind, int type, int level)


def address(int kind, int type, int level):
    """Address of `int32 f(ptr call, ptr slots, int64 begin, int64 end)`.

    Args:
      kind: 0 of lines, 1 of lines as matrices, 2 of lines as convolutions.
      type: 0 for float32, 1 for float64.
      level: instructions that may be used: 0 those that every processor has, 1 AVX2, 2 AVX-512. What
        the processor does not have is not used.
    """
    return <uintptr_t>jt_fourier_function(kind, type, level)
