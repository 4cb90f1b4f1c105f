"""Where the machine code of convolutions is: `convolve.h`. A module of its own, loaded when needed."""

from libc.stdint cimport uintptr_t


cdef extern from "convolve.h":
    void *jt_convolution(int kind, int type, int level)


def address(int kind, int type, int level):
    """Address of `int32 f(ptr call, ptr slots, int64 begin, int64 end)`.

    Args:
      kind: 0 of convolutions of images with windows, 1 of gradients of windows.
      type: 0 for float32, 1 for float64, 2 for 32-bit, 3 for 64-bit integers.
      level: instructions that may be used: 0 those that every processor has, 1 AVX2, 2 AVX-512. What
        the processor does not have is not used.
    """
    return <uintptr_t>jt_convolution(kind, type, level)
