"""Where the machine code of products of narrow numbers is: `multiply.h`. Loaded when needed."""

from libc.stdint cimport uintptr_t


cdef extern from "multiply.h":
    int jt_product_sets(int size)
    void *jt_block_function(int which, int set)


def sets(int size):
    """The sets of instructions for elements of `size` bytes: 1 dot products of AVX-512, 2 AMX, 3 both."""
    return jt_product_sets(size)


def address(int which, int set_):
    """Address of `int32 f(ptr call, ptr slots, int64 begin, int64 end)`; 0 if there is none.

    Args:
      which: 0 lays out rows, 1 columns; 2 multiplies.
      set_: of `sets`, the one that multiplies.
    """
    return <uintptr_t>jt_block_function(which, set_)
