# Memory of devices, and the ndarrays in it; a part of `_native.pyx`.

from cpython.object cimport PyTypeObject

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject *x)
    PyTypeObject *Py_TYPE(PyObject *x)

cdef extern from "numpy/arrayobject.h":
    PyObject *PyArray_BASE(cnp.ndarray array)

# Below this size in bytes, NumPy reuses freed memory, and alignment to cache lines matters little.
cdef enum:
    SMALL = 1024

@cython.final
@cython.freelist(64)
cdef class _Memory:
    """The base object of an ndarray, which owns its memory and frees it."""

    cdef void *start

    def __dealloc__(self):
        jt_give(self.start)


cdef object _new_array(int nd, cnp.npy_intp *dims, object descr):
    """Returns an uninitialized ndarray, aligned to a cache line unless it is small."""
    cdef Py_ssize_t nbytes = (<cnp.dtype>descr).itemsize
    cdef int k
    for k in range(nd):
        nbytes *= dims[k]
    if nbytes < SMALL:
        Py_INCREF(descr)  # PyArray_Empty takes a reference, as PyArray_NewFromDescr does
        return PyArray_Empty(nd, dims, <cnp.PyArray_Descr *>descr, 0)
    cdef _Memory memory = _Memory.__new__(_Memory)
    memory.start = jt_allocate(nbytes)
    if memory.start == NULL:
        raise MemoryError(f"no memory for an array of {nbytes:,} bytes")
    Py_INCREF(descr)
    array = PyArray_NewFromDescr(
        cnp.ndarray, <cnp.PyArray_Descr *>descr, nd, dims, NULL, memory.start,
        cnp.NPY_ARRAY_CARRAY, NULL,
    )
    cnp.set_array_base(array, memory)
    return array


def empty(tuple shape, descr):
    """Returns an uninitialized ndarray of `shape` and dtype `descr`, aligned for vectors."""
    cdef cnp.npy_intp dims[64]
    cdef int k
    if len(shape) > 64:
        raise ValueError(f"expected at most 64 axes, the limit of NumPy, but got {len(shape)}")
    for k in range(len(shape)):
        dims[k] = shape[k]
    return _new_array(<int>len(shape), dims, descr)


@cython.final
@cython.no_gc  # refers to no array
@cython.freelist(64)
cdef class Buffer:
    """Memory of one device that holds an array, or a part of an array.

    Arrays do not share buffers, though buffers may share memory: each is deleted separately.

    Attributes:
      device: the device that owns the memory.
      given_to: (name of the function, code of its caller, offset of the call in that) if the memory
        was donated; else None.
    """

    cdef object data  # a read-only ndarray; None once it is deleted
    cdef Call ready  # the call that computes the data; None if they are computed
    cdef readonly object device
    cdef public object given_to

    @property
    def is_deleted(self):
        """Returns whether the data were deleted, or donated to a call."""
        return self.data is None

    @property
    def is_ready(self):
        """Returns whether the data are computed or deleted."""
        return self.ready is None or self.ready.is_done() or self.data is None

    def delete(self):
        """Deletes the data; calls that read them keep them alive until they end."""
        self.data = None
        self.ready = None

    def wait(self):
        """Waits for the data and returns them as an ndarray; None if they were deleted.

        Raises:
          BaseException: the error of the call that should have computed the data.
        """
        return _wait(self)


cdef inline Buffer _new_buffer(object data, object device):
    """Returns a buffer of computed data, a read-only ndarray."""
    cdef Buffer buffer = Buffer.__new__(Buffer)
    buffer.data = data
    buffer.device = device
    return buffer


cdef inline bint _is_at_hand(Buffer buffer) except -1:
    """Returns whether the data are computed and accessible to NumPy without waiting."""
    return type(buffer.data) is cnp.ndarray and (buffer.ready is None or _has_arrived(buffer))


cdef object _wait(Buffer buffer):
    cdef Call call = buffer.ready
    if call is not None:
        call.check()
        buffer.ready = None
    return buffer.data


cdef bint _is_spare(Buffer buffer, int known) noexcept:
    """Returns whether the memory of a buffer has no other user: it belongs to the buffer's ndarray, which
    has no views, and `known` references to the ndarray are accounted for."""
    cdef PyObject *data
    cdef PyObject *base
    if buffer is None or buffer.data is None or type(buffer.data) is not cnp.ndarray:
        return False
    if buffer.ready is not None:
        known += buffer.ready.references_to(buffer.data)
    data = <PyObject *>buffer.data
    if Py_REFCNT(data) != known or not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>data):
        return False
    if cnp.PyArray_CHKFLAGS(<cnp.ndarray>data, cnp.NPY_ARRAY_OWNDATA):
        return True
    base = PyArray_BASE(<cnp.ndarray>data)
    return base != NULL and Py_TYPE(base) == <PyTypeObject *>_Memory and Py_REFCNT(base) == 1
