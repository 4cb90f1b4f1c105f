# cython: language_level=3, boundscheck=False, wraparound=False, freethreading_compatible=False
"""The performance-critical core: storage of arrays, their operators, calls of compiled functions.

`NativeArray` holds an array's buffer and type, and does arithmetic on arrays of the same type.
`FastFunction` calls compiled programs whose signatures it has seen before. Both delegate everything
else to the Python code that `configure` sets.

The module consists of several files, which access each other's objects directly:

    pool.pxi         threads of a device, and the work that they share
    buffer.pxi       memory of a device
    arrays.pxi       arrays and their operators
    program.pxi      compiled programs
    queues.pxi       calls of programs, and the queues of devices
    fast_calls.pxi   calls of known signatures
"""

cimport cython
cimport numpy as cnp
from cpython.object cimport PyObject
from cpython.buffer cimport PyObject_GetBuffer
from cpython.long cimport PyLong_AsLongLongAndOverflow
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF
from libc.stdint cimport int32_t, int64_t, uint32_t, uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

import math

import numpy as np

cnp.import_array()

cdef extern from "call.h":
    enum: JT_SUCCEEDED
    struct jt_pool:
        pass
    ctypedef struct jt_call:
        unsigned int polls
        int interrupted
    ctypedef int32_t (*jt_kernel)(jt_call *, void *, int64_t, int64_t) noexcept nogil
    void jt_call_begin(jt_call *call, jt_pool *pool) nogil
    void jt_stop(jt_call *call) nogil
    bint jt_is_stopped(jt_call *call) nogil
    int jt_raise(jt_call *call) except -1
    void jt_forget_failure(jt_call *call)

cdef extern from "threads.h":
    jt_pool *jt_pool_new(int n) nogil
    void jt_pool_free(jt_pool *pool) nogil
    int32_t jt_parallel_for(jt_call *call, jt_kernel kernel, void *slots, int64_t n,
                            int64_t grain) nogil
    int32_t jt_in_order(jt_call *call, jt_kernel kernel, void *slots, int64_t n, int64_t grain) nogil

cdef extern from "blas_threads.h":
    ctypedef int (*jt_blas_setter)(int)
    void jt_blas_enter()
    void jt_blas_leave()
    void jt_blas_add(jt_blas_setter set)

cdef extern from "tracebacks.h":
    void jt_hide_call(object fast, object repeated, object type)
    void jt_set_on_error(object function)

cdef extern from "select.h":
    int jt_select(jt_call *call, void *m, void *x, void *y, void *out, Py_ssize_t n, int size,
                  int step_x, int step_y)

cdef extern from "threefry.h":
    void jt_threefry(uint32_t *k0, uint32_t *k1, size_t step, uint32_t *x0, uint32_t *x1,
                     size_t n) nogil

cdef extern from "batch.h":
    int32_t jt_over_batch(jt_call *call, void *f, void **slots, int64_t n, int64_t grain,
                          int32_t alone) nogil

cdef extern from "sort.h":
    void *jt_sorts[]

cdef extern from "host.h":
    void jt_set_host_function(object function)
    int32_t jt_call_host(jt_call *call, int64_t number, void **slots) nogil
    int32_t jt_call_body(jt_call *call, void *body, int64_t begin, int64_t end) noexcept nogil

cdef extern from "signals.h":
    unsigned long jt_main_thread
    int64_t jt_nanoseconds() nogil
    int32_t jt_poll(jt_call *call) nogil

cdef extern from "queue.h":
    ctypedef struct jt_task:
        int (*run)(jt_task *) noexcept nogil
        jt_task **needs
        int n_needs
    struct jt_queue:
        pass
    jt_queue *jt_queue_new() nogil
    void jt_queue_free(jt_queue *queue) nogil
    void jt_queue_push(jt_queue *queue, jt_task *task) nogil
    bint jt_queue_runs_here(jt_queue *queue) nogil
    bint jt_queue_wait(jt_queue *queue, jt_task *task) nogil
    bint jt_is_done(jt_task *task) nogil
    void jt_set_on_idle(int (*function)(void *) noexcept)
    void jt_unnote_idle()

cdef extern from "transpose.h":
    void jt_transpose_8(char *target, int64_t target_step, const char *source, int64_t source_step,
                        int64_t rows, int64_t columns) nogil
    void jt_transpose_16(char *target, int64_t target_step, const char *source, int64_t source_step,
                         int64_t rows, int64_t columns) nogil
    void jt_transpose_32(char *target, int64_t target_step, const char *source, int64_t source_step,
                         int64_t rows, int64_t columns) nogil
    void jt_transpose_64(char *target, int64_t target_step, const char *source, int64_t source_step,
                         int64_t rows, int64_t columns) nogil
    void jt_transpose_128(char *target, int64_t target_step, const char *source, int64_t source_step,
                          int64_t rows, int64_t columns) nogil

cdef extern from "memory.h":
    void jt_keep_freed_memory()
    void *jt_allocate(size_t size) nogil
    void *jt_take(size_t size) nogil
    void jt_give(void *memory) nogil

cdef extern from "numpy/arrayobject.h":
    object PyArray_Empty(int nd, cnp.npy_intp *dims, cnp.PyArray_Descr *descr, int fortran)
    void PyArray_CLEARFLAGS(cnp.ndarray arr, int flags)
    object PyArray_NewFromDescr(type subtype, cnp.PyArray_Descr *descr, int nd, cnp.npy_intp *dims,
                                cnp.npy_intp *strides, void *data, int flags, PyObject *obj)

cdef object _state = None  # the thread-local trace state
cdef object _eval_trace = None
cdef object _array_type = None  # the class of arrays made here
cdef object _epoch = None  # function: epoch of the configuration
cdef object _host_device = None  # the device of arrays made from NumPy arrays, if it is fixed
cdef object _find_device = None  # function that returns this device, if it is not fixed
cdef object _set_errors = None  # the context variable of NumPy's error handling, and its quiet value
cdef object _quiet = None


def configure(state, eval_trace, array_type, epoch, find_device):
    """Sets the Python objects that native code works with."""
    global _state, _eval_trace, _array_type, _epoch, _find_device
    _state, _eval_trace, _array_type, _epoch = state, eval_trace, array_type, epoch
    _find_device = find_device


def use_device(device):
    """Sets the device of new arrays; if None, it is determined anew for each array."""
    global _host_device
    _host_device = device


cdef inline object _device_of_new():
    """Returns the device of arrays without a placement."""
    return _find_device() if _host_device is None else _host_device


def blas_guard_addresses():
    """Returns the addresses of `void enter(void)` and `void leave(void)`; see the next two functions."""
    return <uintptr_t>&jt_blas_enter, <uintptr_t>&jt_blas_leave


def blas_enter():
    """Restricts BLAS to one thread until `blas_leave` has been called as often as this function."""
    jt_blas_enter()


def blas_leave():
    """The counterpart of `blas_enter`."""
    jt_blas_leave()


def blas_add(uintptr_t setter):
    """Registers a library by the address of its `int set_num_threads(int)`, which returns the old number."""
    jt_blas_add(<jt_blas_setter>setter)


def keep_freed_memory():
    """Lets the allocator keep freed blocks of up to 32 MB instead of giving their pages back.

    The first access to a new page costs more than most kernels spend on the page. Only glibc's
    allocator has this setting.
    """
    jt_keep_freed_memory()


def use_error_state(variable, quiet):
    """Sets the context variable of NumPy's error handling and the value that silences it."""
    global _set_errors, _quiet
    _set_errors, _quiet = variable, quiet


def threefry(cnp.ndarray k0, cnp.ndarray k1, cnp.ndarray x0, cnp.ndarray x1):
    """Hashes the words (x0, x1) in place; all are contiguous uint32 arrays of one size, or keys of size 1."""
    cdef Py_ssize_t n = cnp.PyArray_SIZE(x0)
    cdef size_t step = 0 if cnp.PyArray_SIZE(k0) == 1 else 1
    assert cnp.PyArray_SIZE(x1) == n and cnp.PyArray_SIZE(k0) == cnp.PyArray_SIZE(k1)
    assert not step or cnp.PyArray_SIZE(k0) == n
    for x in (k0, k1, x0, x1):
        assert cnp.PyArray_TYPE(x) == cnp.NPY_UINT32 and cnp.PyArray_ISCARRAY_RO(x)
    cdef uint32_t *a = <uint32_t *>cnp.PyArray_DATA(k0)
    cdef uint32_t *b = <uint32_t *>cnp.PyArray_DATA(k1)
    cdef uint32_t *c = <uint32_t *>cnp.PyArray_DATA(x0)
    cdef uint32_t *d = <uint32_t *>cnp.PyArray_DATA(x1)
    with nogil:
        jt_threefry(a, b, step, c, d, n)


include "pool.pxi"
include "buffer.pxi"
include "arrays.pxi"
include "program.pxi"
include "queues.pxi"
include "fast_calls.pxi"
