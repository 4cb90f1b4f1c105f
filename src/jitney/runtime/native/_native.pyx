# cython: language_level=3, boundscheck=False, wraparound=False, freethreading_compatible=False
"""What has to be fast from Python: storage of arrays, their operators, calls of compiled functions.

`NativeArray` holds an array's data and type and does arithmetic on arrays of one type; `FastFunction`
calls a compiled program whose signature it has seen before. Both hand everything else to the Python
code that is set by `configure`.

Calls are in parts of this module, so that they reach arrays without a step in between:
`program.pxi` (compiled programs) and `fast_calls.pxi` (known signatures).
"""

cimport cython
cimport numpy as cnp
from cpython.object cimport PyObject
from cpython.buffer cimport PyObject_GetBuffer
from cpython.long cimport PyLong_AsLongLongAndOverflow
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int32_t, int64_t, uint32_t, uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

import numpy as np

cnp.import_array()

cdef extern from "threads.h":
    int32_t jt_parallel_for(void *kernel, void *slots, int64_t n, int64_t grain) nogil
    int32_t jt_in_order(void *kernel, void *slots, int64_t n, int64_t grain) nogil
    void jt_set_threads(int n)

cdef extern from "blas_threads.h":
    ctypedef int (*jt_blas_setter)(int)
    void jt_blas_enter()
    void jt_blas_leave()
    void jt_blas_add(jt_blas_setter set)

cdef extern from "calls.h":
    void jt_hide_call(object base, object type)

cdef extern from "select.h":
    int jt_select(void *m, void *x, void *y, void *out, Py_ssize_t n, int size, int step_x,
                  int step_y) nogil

cdef extern from "threefry.h":
    void jt_threefry(uint32_t *k0, uint32_t *k1, size_t step, uint32_t *x0, uint32_t *x1,
                     size_t n) nogil

cdef extern from "factorize.h":
    enum: JT_MATRIX_TYPES
    void *jt_factorizations[][JT_MATRIX_TYPES]
    void jt_set_lapack(int dtype, int routine, void *address)
    int32_t jt_over_batch(void *f, void **slots, int64_t n, int64_t grain, int32_t alone) nogil

cdef extern from "memory.h":
    void *jt_allocate(size_t size) nogil

cdef extern from "<malloc.h>" nogil:
    int mallopt(int param, int value)
    int M_MMAP_THRESHOLD
    int M_TRIM_THRESHOLD

cdef extern from "numpy/arrayobject.h":
    object PyArray_Empty(int nd, cnp.npy_intp *dims, cnp.PyArray_Descr *descr, int fortran)
    void PyArray_CLEARFLAGS(cnp.ndarray arr, int flags)
    object PyArray_NewFromDescr(type subtype, cnp.PyArray_Descr *descr, int nd, cnp.npy_intp *dims,
                                cnp.npy_intp *strides, void *data, int flags, PyObject *obj)

# Bytes below which NumPy keeps freed memory at hand, and lines of the cache matter little.
cdef enum:
    SMALL = 1024

@cython.final
@cython.freelist(64)
cdef class _Memory:
    """The base of an array: what its data lies in, and is freed with."""

    cdef void *start

    def __dealloc__(self):
        free(self.start)


cdef object _new_array(int nd, cnp.npy_intp *dims, object descr):
    """An array without contents, at the beginning of a line of the cache if it is not small."""
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
        raise MemoryError(f"no memory for an array of {nbytes} bytes")
    Py_INCREF(descr)
    array = PyArray_NewFromDescr(
        cnp.ndarray, <cnp.PyArray_Descr *>descr, nd, dims, NULL, memory.start,
        cnp.NPY_ARRAY_CARRAY, NULL,
    )
    cnp.set_array_base(array, memory)
    return array


def empty(tuple shape, descr):
    """An array of `shape` and dtype `descr` without contents, where vectors lie in lines of the cache."""
    cdef cnp.npy_intp dims[64]
    cdef int k
    if len(shape) > 64:
        raise ValueError(f"NumPy's arrays have at most 64 axes; an array was to have {len(shape)}")
    for k in range(len(shape)):
        dims[k] = shape[k]
    return _new_array(<int>len(shape), dims, descr)


cdef object _state = None  # the thread-local trace state
cdef object _eval_trace = None
cdef object _array_type = None  # the class of arrays made here
cdef object _epoch = None  # function: epoch of the configuration
cdef dict _slow_operators = {}
cdef bint _values_are_checked = False  # whether NaN and infinities ever were to be errors
cdef enum:
    SHARED_FROM = 131072  # elements from which the runtime's threads share a function of NumPy's
cdef object _set_errors = None  # the context variable of NumPy's error handling, and its quiet value
cdef object _quiet = None


def configure(state, eval_trace, array_type, epoch):
    """Sets the Python objects that native code works with."""
    global _state, _eval_trace, _array_type, _epoch
    _state, _eval_trace, _array_type, _epoch = state, eval_trace, array_type, epoch


def set_operator(name, function):
    """Sets the Python function for an operator where native code does not do it."""
    _slow_operators[name] = function


def parallel_for_address():
    """Address of `int32 parallel_for(kernel, slots, n, grain)`."""
    return <uintptr_t>&jt_parallel_for


def in_order_address():
    """Address of `int32 in_order(kernel, slots, n, grain)`: the same by one thread, and in order."""
    return <uintptr_t>&jt_in_order


def blas_guard_addresses():
    """Addresses of `void enter(void)` and `void leave(void)`, between which BLAS has one thread."""
    return <uintptr_t>&jt_blas_enter, <uintptr_t>&jt_blas_leave


def blas_enter():
    """Keeps BLAS to one thread until as many calls of `blas_leave`."""
    jt_blas_enter()


def blas_leave():
    """The counterpart of `blas_enter`."""
    jt_blas_leave()


def blas_add(uintptr_t setter):
    """Makes a library known by the address of `int set_num_threads(int)`, which returns the number before."""
    jt_blas_add(<jt_blas_setter>setter)


def set_threads(int n):
    """How many threads large kernels are divided among."""
    jt_set_threads(n)


def keep_freed_memory():
    """Lets the allocator keep freed blocks of up to 32 MB instead of giving their pages back.

    The first touch of a fresh page costs more than most kernels spend on it.
    """
    mallopt(M_MMAP_THRESHOLD, 32 << 20)
    mallopt(M_TRIM_THRESHOLD, 512 << 20)


# --- arrays -------------------------------------------------------------------------------------


cdef class NativeArray:
    """Data and type of an array.

    Attributes:
      _value: a read-only ndarray.
      aval: its ShapedArray.
      placement: where the user put it; None where nobody said.
    """

    cdef public object _value
    cdef public object aval
    cdef public object placement
    cdef object __weakref__

    def __init__(self, value, aval):
        self._value = value
        self.aval = aval

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        # NumPy drops what is raised here and tries `__array__`: no code of Python's runs as a rule, in
        # which a handler of a signal could raise.
        value = self._value
        if (
            type(value) is not cnp.ndarray
            or not isinstance(self.aval.dtype, cnp.dtype)
            or cnp.PyArray_NDIM(<cnp.ndarray>value) != len(self.aval.shape)
        ):
            value = self._numpy()
        try:
            PyObject_GetBuffer(value, buffer, flags)
        except ValueError as error:
            raise BufferError(f"an array of {self.aval} gives no buffer: {error}") from None

    def __releasebuffer__(self, Py_buffer *buffer):
        pass

    def __add__(self, other):
        return _binary(self, other, "add", np_add)

    def __sub__(self, other):
        return _binary(self, other, "sub", np_subtract)

    def __mul__(self, other):
        return _binary(self, other, "mul", np_multiply)

    def __radd__(self, other):
        if type(other) is float or type(other) is int:
            return _with_number(self, other, "__radd__", np_add, True)
        return _slow_operators["__radd__"](self, other)

    def __rsub__(self, other):
        if type(other) is float or type(other) is int:
            return _with_number(self, other, "__rsub__", np_subtract, True)
        return _slow_operators["__rsub__"](self, other)

    def __rmul__(self, other):
        if type(other) is float or type(other) is int:
            return _with_number(self, other, "__rmul__", np_multiply, True)
        return _slow_operators["__rmul__"](self, other)


cdef object np_add = np.add
cdef object np_subtract = np.subtract
cdef object np_multiply = np.multiply


cdef inline NativeArray wrap(object value, object aval):
    cdef NativeArray result = NativeArray.__new__(_array_type, value, aval)
    result._value = value
    result.aval = aval
    return result


cdef object _binary(NativeArray x, object other, str name, object ufunc):
    cdef object value
    cdef NativeArray y
    if type(other) is float or type(other) is int:
        return _with_number(x, other, "__" + name + "__", ufunc, False)
    if type(other) is type(x):
        y = <NativeArray>other
        # Arithmetic of NumPy on two arrays of one type is ours, but for booleans and subclasses.
        if (
            y.aval is x.aval
            and type(x._value) is cnp.ndarray
            and type(y._value) is cnp.ndarray
            and _is_plain(<cnp.ndarray>x._value)
            and _state.trace is _eval_trace
            and _quiet is not None
            and not _values_are_checked
        ):
            token = _set_errors.set(_quiet)
            try:
                value = ufunc(x._value, y._value)
            finally:
                _set_errors.reset(token)
            if type(value) is not cnp.ndarray:
                value = np.asarray(value)
            PyArray_CLEARFLAGS(<cnp.ndarray>value, cnp.NPY_ARRAY_WRITEABLE)
            return wrap(value, x.aval)
    return _slow_operators["__" + name + "__"](x, other)


cdef inline bint _fits_int32(object number):
    cdef int overflow = 0
    cdef long long value = PyLong_AsLongLongAndOverflow(number, &overflow)
    return not overflow and -0x80000000LL <= value <= 0x7FFFFFFFLL


cdef object _with_number(NativeArray x, object number, str operator, object ufunc, bint reflected):
    """Arithmetic of an array and a Python number, which takes the array's type: as NumPy has it, too.

    Elements of 64 bits are left to Python, which minds `jax_enable_x64`; large arrays as well, which the
    runtime's threads share there, and numbers that the type cannot hold.
    """
    cdef cnp.ndarray a
    cdef int kind
    if (
        type(x._value) is cnp.ndarray
        and _state.trace is _eval_trace
        and _quiet is not None
        and not _values_are_checked
    ):
        a = <cnp.ndarray>x._value
        kind = cnp.PyArray_TYPE(a)
        if (
            _is_plain(a)
            and cnp.PyArray_ITEMSIZE(a) <= 4
            and cnp.PyArray_SIZE(a) < SHARED_FROM
            and (_fits_int32(number) if type(number) is int else kind == cnp.NPY_FLOAT)
        ):
            token = _set_errors.set(_quiet)
            try:
                value = ufunc(number, a) if reflected else ufunc(a, number)
            except OverflowError:
                return _slow_operators[operator](x, number)
            finally:
                _set_errors.reset(token)
            if type(value) is not cnp.ndarray:
                value = np.asarray(value)
            PyArray_CLEARFLAGS(<cnp.ndarray>value, cnp.NPY_ARRAY_WRITEABLE)
            return wrap(value, x.aval)
    return _slow_operators[operator](x, number)


cdef inline bint _is_plain(cnp.ndarray a):
    """Whether elements are of a built-in number type but bool, and uint64, which carries keys."""
    cdef int kind = cnp.PyArray_TYPE(a)
    return cnp.NPY_BOOL < kind <= cnp.NPY_DOUBLE and kind != cnp.NPY_UINT64


def check_values():
    """From now on Python does all arithmetic: it looks for NaN and infinity where that is asked for."""
    global _values_are_checked
    _values_are_checked = True


def use_error_state(variable, quiet):
    """Sets the context variable of NumPy's error handling and the value that silences it."""
    global _set_errors, _quiet
    _set_errors, _quiet = variable, quiet


def select(cnp.ndarray mask, cnp.ndarray on_true, cnp.ndarray on_false):
    """`on_true` where `mask` (booleans), else `on_false`; None if NumPy has to do it.

    Values have the shape of the mask or are repeated (broadcast) scalars; all of one dtype.
    """
    cdef Py_ssize_t n = cnp.PyArray_SIZE(mask)
    cdef int size = <int>cnp.PyArray_ITEMSIZE(on_true)
    cdef int step_x = _step(on_true, mask)
    cdef int step_y = _step(on_false, mask)
    cdef cnp.ndarray out
    if step_x < 0 or step_y < 0 or not cnp.PyArray_IS_C_CONTIGUOUS(mask) or size > 8:
        return None
    out = _new_array(cnp.PyArray_NDIM(mask), cnp.PyArray_DIMS(mask), on_true.dtype)
    cdef int done = jt_select(
        cnp.PyArray_DATA(mask), cnp.PyArray_DATA(on_true), cnp.PyArray_DATA(on_false),
        cnp.PyArray_DATA(out), n, size, step_x, step_y,
    )
    if done < 0:
        _raise_current()
    return out if done else None


cdef class _Loop:
    """A loop whose body is a Python function, and what that raised."""

    cdef object body
    cdef object error


cdef int32_t _run_part(void *slots, int64_t begin, int64_t end) noexcept with gil:
    cdef _Loop loop = <_Loop><PyObject *>slots
    if loop.error is None:
        try:
            loop.body(begin, end)
            return JT_SUCCEEDED
        except BaseException as error:  # raised again in the thread that asked
            loop.error = error
    return 0


def parallel_for(body, int64_t n, int64_t grain):
    """body(begin, end) over chunks of `grain` that make up [0, n), on the runtime's threads.

    The body pays where it gives up Python's lock for most of its time, as functions of NumPy do on
    large arrays. It runs in contexts of other threads: it has to set context variables itself.
    """
    cdef _Loop loop = _Loop.__new__(_Loop)
    loop.body = body
    cdef void *slots = <void *>loop
    cdef int32_t status
    with nogil:
        status = jt_parallel_for(<void *>&_run_part, slots, n, grain)
    if loop.error is not None and PyErr_Occurred() == NULL:
        raise loop.error
    if status != JT_SUCCEEDED:
        _raise_current()


def threefry(cnp.ndarray k0, cnp.ndarray k1, cnp.ndarray x0, cnp.ndarray x1):
    """Hashes the words (x0, x1) in place: contiguous, of dtype uint32, and of one size, or keys of one."""
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


cdef enum:
    MAX_OPERANDS = 8  # of a factorisation: sizes, operands and results


def set_lapack(int dtype, int routine, address):
    """Sets the address of a routine of LAPACK's or BLAS's; the numbers are those of factorize.h."""
    jt_set_lapack(dtype, routine, <void *><uintptr_t>address)


def factorization_address(int which, int dtype):
    """Address of a function of factorize.h: `int32 f(ptr slots, int64 begin, int64 end)`."""
    return <uintptr_t>jt_factorizations[which][dtype]


def over_batch_address():
    """Address of `int32 over_batch(f, slots, n, grain, alone)`, which calls such a function."""
    return <uintptr_t>&jt_over_batch


def factorize(int which, int dtype, tuple arrays, int64_t batch, int64_t grain, bint alone):
    """Calls a function of factorize.h on contiguous arrays: sizes, operands, results.

    Args:
      which, dtype: numbers of the function and of the dtype.
      arrays: those whose addresses become its slots.
      batch: how many matrices there are.
      grain: how many are enough for a thread.
      alone: whether LAPACK keeps to one thread.
    """
    cdef void *slots[MAX_OPERANDS]
    cdef int32_t status
    cdef int k
    assert len(arrays) <= MAX_OPERANDS
    for k in range(len(arrays)):
        assert cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray?>arrays[k])
        slots[k] = cnp.PyArray_DATA(<cnp.ndarray>arrays[k])
    cdef void *f = jt_factorizations[which][dtype]
    with nogil:
        status = jt_over_batch(f, slots, batch, grain, alone)
    if status != JT_SUCCEEDED:
        _raise_current()


cdef int _step(cnp.ndarray x, cnp.ndarray mask):
    """1 for contiguous data of the mask's size, 0 for one repeated element, -1 for the rest."""
    cdef int k
    if cnp.PyArray_SIZE(x) == cnp.PyArray_SIZE(mask) and cnp.PyArray_IS_C_CONTIGUOUS(x):
        return 1
    for k in range(cnp.PyArray_NDIM(x)):
        if cnp.PyArray_STRIDE(x, k) != 0 and cnp.PyArray_DIM(x, k) != 1:
            return -1
    return 0


include "program.pxi"
include "fast_calls.pxi"
