"""Where the machine code of products of narrow numbers is: `multiply.h`. Loaded when needed."""

from libc.stdint cimport uintptr_t


cdef extern from "multiply.h":
    void *jt_tile_function(int which)


def address(int which):
    """Address of `int32 f(ptr call, ptr slots, int64 begin, int64 end)`; 0 without tile registers.

    Args:
      which: 0 lays out rows, 1 columns; 2 multiplies.
    """
    return <uintptr_t>jt_tile_function(which)
