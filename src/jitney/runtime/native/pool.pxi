# Pools of threads, which share work of NumPy and LAPACK; a part of `_native.pyx`.

@cython.final
cdef class ThreadPool:
    """The threads of a device, which share the loops of its programs.

    Args:
      threads: the number of threads that work on a loop, including the calling one. They are started by
        the first loop.

    Raises:
      ValueError: if `threads` is less than 1.
    """

    cdef jt_pool *pool
    cdef readonly int threads

    def __cinit__(self, int threads):
        if threads < 1:
            raise ValueError(f"ThreadPool: expected at least one thread, got {threads}")
        self.threads = threads
        self.pool = jt_pool_new(threads)
        if self.pool == NULL:
            raise MemoryError()

    def __dealloc__(self):
        if self.pool != NULL:
            jt_pool_free(self.pool)

    def parallel_for(self, body, int64_t n, int64_t grain):
        """Calls body(begin, end) for chunks of size `grain` that cover [0, n).

        This is faster than a single call only if the body releases the GIL for most of its time, as NumPy
        functions do on large arrays. The body runs in the contexts of other threads, so it has to set
        context variables itself.
        """
        cdef jt_call call
        cdef int32_t status
        cdef void *slots = <void *>body
        jt_call_begin(&call, self.pool)
        with nogil:
            status = jt_parallel_for(&call, jt_call_body, slots, n, grain)
        if status != JT_SUCCEEDED:
            jt_raise(&call)

    def select(self, cnp.ndarray mask, cnp.ndarray on_true, cnp.ndarray on_false):
        """Returns `on_true` where `mask` is True, and `on_false` elsewhere; None if NumPy has to do it.

        The two arrays have the same dtype, and have the shape of the mask or are broadcast scalars.
        """
        cdef Py_ssize_t n = cnp.PyArray_SIZE(mask)
        cdef int size = <int>cnp.PyArray_ITEMSIZE(on_true)
        cdef int step_x = _step(on_true, mask)
        cdef int step_y = _step(on_false, mask)
        cdef cnp.ndarray out
        cdef jt_call call
        if step_x < 0 or step_y < 0 or not cnp.PyArray_IS_C_CONTIGUOUS(mask) or size > 8:
            return None
        out = _new_array(cnp.PyArray_NDIM(mask), cnp.PyArray_DIMS(mask), on_true.dtype)
        jt_call_begin(&call, self.pool)
        cdef int done = jt_select(
            &call, cnp.PyArray_DATA(mask), cnp.PyArray_DATA(on_true), cnp.PyArray_DATA(on_false),
            cnp.PyArray_DATA(out), n, size, step_x, step_y,
        )
        if done < 0:
            jt_raise(&call)
        return out if done else None

    def run_over_batch(
        self, uintptr_t function, tuple arrays, int64_t batch, int64_t grain, bint alone
    ):
        """Calls a library function on contiguous arrays: options, operands, results, workspace.

        Args:
          function: address of `int32 f(call, ptr slots, int64 begin, int64 end)`.
          arrays: the arrays whose addresses are the slots.
          batch: the number of items.
          grain: the number of items per task of a thread.
          alone: whether BLAS is restricted to one thread.
        """
        cdef void *slots[MAX_SLOTS]
        cdef int32_t status
        cdef int k
        cdef jt_call call
        assert len(arrays) <= MAX_SLOTS
        for k in range(len(arrays)):
            assert cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray?>arrays[k])
            slots[k] = cnp.PyArray_DATA(<cnp.ndarray>arrays[k])
        jt_call_begin(&call, self.pool)
        with nogil:
            status = jt_over_batch(&call, <void *>function, slots, batch, grain, alone)
        if status != JT_SUCCEEDED:
            jt_raise(&call)


cdef enum:
    MAX_SLOTS = 160  # the options, operands, results and workspaces of a library function


cdef int _step(cnp.ndarray x, cnp.ndarray mask):
    """Returns 1 for contiguous data of the mask's size, 0 for one repeated element, else -1."""
    cdef int k
    if cnp.PyArray_SIZE(x) == cnp.PyArray_SIZE(mask) and cnp.PyArray_IS_C_CONTIGUOUS(x):
        return 1
    for k in range(cnp.PyArray_NDIM(x)):
        if cnp.PyArray_STRIDE(x, k) != 0 and cnp.PyArray_DIM(x, k) != 1:
            return -1
    return 0


def parallel_for_address():
    """Returns the address of `int32 parallel_for(call, kernel, slots, n, grain)`."""
    return <uintptr_t>&jt_parallel_for


def in_order_address():
    """Returns the address of `int32 in_order(call, kernel, slots, n, grain)`, which uses one thread."""
    return <uintptr_t>&jt_in_order


def sort_address(int which):
    """Returns the address of a function of sort.h, `int32 f(call, ptr slots, int64 begin, int64 end)`."""
    return <uintptr_t>jt_sorts[which]


def over_batch_address():
    """Returns the address of `int32 over_batch(call, f, slots, n, grain, alone)`, which calls `f`."""
    return <uintptr_t>&jt_over_batch
