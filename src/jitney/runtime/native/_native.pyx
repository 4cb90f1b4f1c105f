# cython: language_level=3, boundscheck=False, wraparound=False, freethreading_compatible=False
"""What has to be fast from Python: storage of arrays, their operators, calls of compiled functions.

`NativeArray` holds an array's data and type and does arithmetic on arrays of one type; `FastFunction`
calls a compiled program whose signature it has seen before. Both hand everything else to the Python
code that is set by `configure`.
"""

cimport cython
cimport numpy as cnp
from cpython.object cimport PyObject
from cpython.buffer cimport PyObject_GetBuffer
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

import numpy as np

cnp.import_array()

cdef extern from "threads.h":
    void jt_parallel_for(void *kernel, void *slots, int64_t n, int64_t grain) nogil
    void jt_set_threads(int n)

cdef extern from "calls.h":
    void jt_hide_call(object base, object type)

cdef extern from "elementwise.h":
    ctypedef void (*jt_loop)(char **, const Py_ssize_t *, const Py_ssize_t *, void *)
    ctypedef struct jt_elementwise:
        jt_loop loop
        void *data
        int count
        char *operands[4]
        Py_ssize_t steps[4]
    void jt_run_elementwise(jt_elementwise *e, int64_t n) nogil

cdef extern from "select.h":
    int jt_select(void *m, void *x, void *y, void *out, Py_ssize_t n, int size, int step_x,
                  int step_y) nogil

cdef extern from "memory.h":
    object jt_new_array(int rank, cnp.npy_intp *extents, cnp.PyArray_Descr *dtype, size_t nbytes)

cdef extern from "<malloc.h>" nogil:
    int mallopt(int param, int value)
    int M_MMAP_THRESHOLD
    int M_TRIM_THRESHOLD

cdef extern from "numpy/arrayobject.h":
    object PyArray_Empty(int nd, cnp.npy_intp *dims, cnp.PyArray_Descr *descr, int fortran)
    void PyArray_CLEARFLAGS(cnp.ndarray arr, int flags)

# Bytes below which NumPy keeps freed memory at hand, and lines of the cache matter little.
cdef enum:
    SMALL = 1024

cdef object _new_array(int nd, cnp.npy_intp *dims, object descr):
    """An array without contents, at the beginning of a line of the cache if it is not small."""
    cdef Py_ssize_t nbytes = (<cnp.dtype>descr).itemsize
    cdef int k
    for k in range(nd):
        nbytes *= dims[k]
    Py_INCREF(descr)  # PyArray_Empty takes a reference
    if nbytes < SMALL:
        return PyArray_Empty(nd, dims, <cnp.PyArray_Descr *>descr, 0)
    return jt_new_array(nd, dims, <cnp.PyArray_Descr *>descr, nbytes)


def empty(tuple shape, descr):
    """An array of `shape` and dtype `descr` without contents, where vectors lie in lines of the cache."""
    cdef cnp.npy_intp dims[64]
    cdef int k
    for k in range(len(shape)):
        dims[k] = shape[k]
    return _new_array(<int>len(shape), dims, descr)


ctypedef int32_t (*Entry)(void **inputs, void **outputs, void *arena) noexcept nogil

cdef object _state = None  # the thread-local trace state
cdef object _eval_trace = None
cdef object _array_type = None  # the class of arrays made here
cdef object _epoch = None  # function: epoch of the configuration
cdef object _raise_pending = None
cdef dict _slow_operators = {}
cdef object _set_errors = None  # the context variable of NumPy's error handling, and its quiet value
cdef object _quiet = None


def configure(state, eval_trace, array_type, epoch, raise_pending):
    """Sets the Python objects that native code works with."""
    global _state, _eval_trace, _array_type, _epoch, _raise_pending
    _state, _eval_trace, _array_type = state, eval_trace, array_type
    _epoch, _raise_pending = epoch, raise_pending


def set_operator(name, function):
    """Sets the Python function for an operator where the operands are not two arrays of one type."""
    _slow_operators[name] = function


def parallel_for_address():
    """Address of `void parallel_for(kernel, slots, n, grain)`."""
    return <uintptr_t>&jt_parallel_for


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
        return _slow_operators["__radd__"](self, other)

    def __rsub__(self, other):
        return _slow_operators["__rsub__"](self, other)

    def __rmul__(self, other):
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


cdef inline bint _is_plain(cnp.ndarray a):
    """Whether elements are of a built-in number type but bool, and uint64, which carries keys."""
    cdef int kind = cnp.PyArray_TYPE(a)
    return cnp.NPY_BOOL < kind <= cnp.NPY_DOUBLE and kind != cnp.NPY_UINT64


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
    if not jt_select(cnp.PyArray_DATA(mask), cnp.PyArray_DATA(on_true), cnp.PyArray_DATA(on_false),
                     cnp.PyArray_DATA(out), n, size, step_x, step_y):
        return None
    return out


def apply_ufunc(cnp.ufunc f, tuple xs):
    """f(*xs) by the runtime's threads; None if NumPy has to do it.

    Operands are contiguous arrays of one shape, or repeated scalars, of types that `f` has a loop for.
    """
    cdef jt_elementwise e
    cdef cnp.ndarray x, out
    cdef cnp.ndarray largest = None
    cdef int k, i, step
    cdef bint found
    if f.nout != 1 or f.nin != len(xs) or f.nin > 3:
        return None
    for k in range(f.nin):
        if type(xs[k]) is not cnp.ndarray:
            return None
        x = xs[k]
        # Loops over floats need no interpreter; those over integers may raise errors.
        if not cnp.PyArray_ISBEHAVED_RO(x) or not (
            cnp.PyTypeNum_ISFLOAT(cnp.PyArray_TYPE(x)) or cnp.PyTypeNum_ISCOMPLEX(cnp.PyArray_TYPE(x))
        ):
            return None
        if largest is None or cnp.PyArray_SIZE(x) > cnp.PyArray_SIZE(largest):
            largest = x
    for i in range(f.ntypes):
        found = True
        for k in range(f.nin):
            found = found and f.types[i * f.nargs + k] == cnp.PyArray_TYPE(<cnp.ndarray>xs[k])
        if found:
            break
    else:
        return None
    for k in range(f.nin):
        x = xs[k]
        step = _step(x, largest)
        # Shapes that broadcast against each other may have one size.
        if step < 0 or (step and not cnp.PyArray_SAMESHAPE(x, largest)):
            return None
        if cnp.PyArray_NDIM(x) > cnp.PyArray_NDIM(largest):
            return None
        e.operands[k] = cnp.PyArray_BYTES(x)
        e.steps[k] = step * cnp.PyArray_ITEMSIZE(x)
    out = _new_array(
        cnp.PyArray_NDIM(largest), cnp.PyArray_DIMS(largest),
        cnp.PyArray_DescrFromType(f.types[i * f.nargs + f.nin]),
    )
    e.operands[f.nin] = cnp.PyArray_BYTES(out)
    e.steps[f.nin] = cnp.PyArray_ITEMSIZE(out)
    e.count = f.nargs
    e.loop = <jt_loop>f.functions[i]
    e.data = f.data[i]
    with nogil:
        jt_run_elementwise(&e, cnp.PyArray_SIZE(largest))
    return out


cdef int _step(cnp.ndarray x, cnp.ndarray mask):
    """1 for contiguous data of the mask's size, 0 for one repeated element, -1 for the rest."""
    cdef int k
    if cnp.PyArray_SIZE(x) == cnp.PyArray_SIZE(mask) and cnp.PyArray_IS_C_CONTIGUOUS(x):
        return 1
    for k in range(cnp.PyArray_NDIM(x)):
        if cnp.PyArray_STRIDE(x, k) != 0 and cnp.PyArray_DIM(x, k) != 1:
            return -1
    return 0


# --- calls --------------------------------------------------------------------------------------

# Patterns of arguments: an aval stands for an array of that type, (code, ...) for the rest.
cdef enum:
    P_NONE = 0
    P_TUPLE = 1
    P_LIST = 2
    P_DICT = 3
    P_STATIC = 4
    P_INT = 5
    P_FLOAT = 6
    P_BOOL = 7
    P_NDARRAY = 8
    P_NAMEDTUPLE = 9
    P_NODE = 10
    P_SCALAR = 11

CODES = {
    "none": P_NONE, "tuple": P_TUPLE, "list": P_LIST, "dict": P_DICT, "static": P_STATIC,
    "int": P_INT, "float": P_FLOAT, "bool": P_BOOL, "ndarray": P_NDARRAY,
    "namedtuple": P_NAMEDTUPLE, "node": P_NODE, "scalar": P_SCALAR,
}



cdef class Program:
    """What calling a compiled program takes.

    Attributes:
      out_types: (dtype, shape, aval) of each result.
      unflatten: None for one bare result, else a function of the list of results.
    """

    cdef Entry entry
    cdef int n_inputs
    cdef int n_outputs
    cdef Py_ssize_t arena_bytes
    cdef bint release
    cdef public tuple out_avals
    cdef list descrs
    cdef list shapes
    cdef object keep_alive

    def __init__(self, entry, n_inputs, out_types, out_avals, arena_bytes, release, keep_alive):
        self.entry = <Entry><uintptr_t>entry
        self.n_inputs = n_inputs
        self.n_outputs = len(out_types)
        self.descrs = [d for d, _ in out_types]
        self.shapes = [s for _, s in out_types]
        self.out_avals = tuple(out_avals)
        self.arena_bytes = arena_bytes
        self.release = release
        self.keep_alive = keep_alive

    def run(self, list inputs):
        """Results on contiguous ndarrays of the right types, as a list of arrays."""
        cdef void **pointers = <void **>malloc((self.n_inputs + 1) * sizeof(void *))
        cdef int i
        try:
            for i in range(self.n_inputs):
                pointers[i] = cnp.PyArray_DATA(<cnp.ndarray>inputs[i])
            return self.call(pointers)
        finally:
            free(pointers)

    cdef list call(self, void **inputs):
        cdef void *few[8]
        cdef void **outputs = few
        cdef void *arena = NULL
        cdef void *aligned = NULL
        cdef int i, k, nd, status
        cdef cnp.npy_intp dims[64]
        cdef tuple shape
        cdef cnp.ndarray value
        cdef list results = []
        cdef object descr
        if self.n_outputs > 8:
            outputs = <void **>malloc(self.n_outputs * sizeof(void *))
        try:
            for i in range(self.n_outputs):
                shape = <tuple>self.shapes[i]
                nd = <int>len(shape)
                for k in range(nd):
                    dims[k] = shape[k]
                descr = self.descrs[i]
                value = _new_array(nd, dims, descr)
                outputs[i] = cnp.PyArray_DATA(value)
                results.append(value)
            if self.arena_bytes:
                arena = malloc(self.arena_bytes + 64)
                if arena == NULL:
                    raise MemoryError(f"no memory for {self.arena_bytes} bytes of temporaries")
                aligned = <void *>((<uintptr_t>arena + 63) & ~<uintptr_t>63)
            if self.release:
                with nogil:
                    status = self.entry(inputs, outputs, aligned)
            else:
                status = self.entry(inputs, outputs, aligned)
        finally:
            if outputs != few:
                free(outputs)
            if arena != NULL:
                free(arena)
        if status:
            _raise_pending()
        for i in range(self.n_outputs):
            PyArray_CLEARFLAGS(<cnp.ndarray>results[i], cnp.NPY_ARRAY_WRITEABLE)
            results[i] = wrap(results[i], self.out_avals[i])
        return results


cdef class _Entry:
    """One known signature."""

    cdef object epoch
    cdef tuple patterns  # of positional arguments, then of keyword arguments
    cdef tuple names  # of keyword arguments, sorted
    cdef Program program
    cdef object unflatten  # None for a bare result
    cdef tuple donated  # positions of flat arguments that are given up
    cdef bint wants_leaves


cdef struct Arguments:
    void **pointers
    int n
    char *scratch  # 8 bytes for each scalar
    int scalars
    int capacity


cdef bint match(object pattern, object arg, Arguments *a, list leaves) except -1:
    """Whether `arg` is as `pattern` says; its leaves' data go to `a`.

    The leaves themselves go to `leaves`, if that is a list: containers of users may have made them
    just now, and nobody else keeps them.
    """
    cdef tuple p
    cdef int code, i
    cdef cnp.ndarray value
    cdef NativeArray array
    cdef char *place
    cdef long long whole
    cdef dict mapping
    if type(arg) is _array_type:
        array = <NativeArray>arg
        if array.aval is not pattern or type(array._value) is not cnp.ndarray:
            return False
        value = <cnp.ndarray>array._value
        if not cnp.PyArray_IS_C_CONTIGUOUS(value) or a.n >= a.capacity:
            return False
        a.pointers[a.n] = cnp.PyArray_DATA(value)
        a.n += 1
        if leaves is not None:
            leaves.append(arg)
        return True
    if type(pattern) is not tuple:
        return False
    p = <tuple>pattern
    code = p[0]
    if code == P_STATIC:
        if type(arg) is not type(p[1]):
            return False
        try:
            return hash(arg) == p[2] and (arg is p[1] or bool(arg == p[1]))
        except Exception:  # the Python code says what is wrong with it
            return False
    if code == P_NONE:
        return arg is None
    if code == P_TUPLE or code == P_LIST:
        if type(arg) is not (tuple if code == P_TUPLE else list) or len(arg) != len(p) - 1:
            return False
        for i in range(1, len(p)):
            if not match(p[i], arg[i - 1], a, leaves):
                return False
        return True
    if code == P_NAMEDTUPLE:
        if type(arg) is not p[1] or len(<tuple>arg) != len(p) - 2:
            return False
        for i in range(2, len(p)):
            if not match(p[i], (<tuple>arg)[i - 2], a, leaves):
                return False
        return True
    if code == P_NODE:
        if type(arg) is not p[1]:
            return False
        try:
            children, data = p[2](arg)
            if len(children) != len(p) - 4 or not (data is p[3] or data == p[3]):
                return False
        except Exception:  # the Python code says what is wrong with it
            return False
        for i in range(4, len(p)):
            if not match(p[i], children[i - 4], a, leaves):
                return False
        return True
    if code == P_DICT:
        if type(arg) is not dict:
            return False
        mapping = <dict>arg
        if len(mapping) != len(p) - 2:
            return False
        for i in range(2, len(p)):
            key = (<tuple>p[1])[i - 2]
            if key not in mapping or not match(p[i], mapping[key], a, leaves):
                return False
        return True
    if a.n >= a.capacity:
        return False
    if leaves is not None:
        leaves.append(arg)
    if code == P_NDARRAY:
        if type(arg) is not cnp.ndarray:
            return False
        value = <cnp.ndarray>arg
        if value.dtype is not p[1] or not cnp.PyArray_IS_C_CONTIGUOUS(value):
            return False
        if (<object>value).shape != p[2]:
            return False
        a.pointers[a.n] = cnp.PyArray_DATA(value)
        a.n += 1
        return True
    place = a.scratch + 8 * a.scalars
    if code == P_SCALAR:
        if type(arg) is not p[1]:
            return False
        cnp.PyArray_ScalarAsCtype(arg, place)
    elif code == P_FLOAT:
        if type(arg) is not float:
            return False
        if p[1] == 4:
            (<float *>place)[0] = <float><double>arg
        else:
            (<double *>place)[0] = <double>arg
    elif code == P_BOOL:
        if type(arg) is not bool:
            return False
        place[0] = 1 if arg is True else 0
    else:
        if type(arg) is not int:
            return False
        try:
            whole = arg
        except OverflowError:
            return False
        if p[1] == 4:
            if not -(1 << 31) <= whole < (1LL << 31):
                return False
            (<int32_t *>place)[0] = <int32_t>whole
        else:
            (<int64_t *>place)[0] = whole
    a.pointers[a.n] = place
    a.n += 1
    a.scalars += 1
    return True


cdef bint _has_twice(list leaves):
    """Whether an array is there more than once."""
    cdef list arrays = [<uintptr_t><PyObject *>x for x in leaves if type(x) is _array_type]
    return len(set(arrays)) != len(arrays)


cdef class FastFunction:
    """A compiled function: finds the program for a signature it has seen, and runs it."""

    cdef list _entries
    cdef dict __dict__
    cdef object __weakref__

    def __cinit__(self, *args, **kwargs):
        self._entries = []

    def clear_fast_path(self):
        """Forgets the signatures of earlier calls."""
        self._entries = []

    def remember(
        self, epoch, tuple patterns, tuple names, Program program, unflatten, tuple donated,
        bint has_nodes,
    ):
        """Enters a signature.

        Args:
          epoch: of the settings under which it holds.
          patterns: one for each argument, keyword arguments last and by name.
          names: of keyword arguments.
          program: what to run.
          unflatten: makes the result of the flat results; None for one array.
          donated: positions of flat arguments whose arrays are deleted afterwards.
          has_nodes: whether there are patterns of containers of users.
        """
        cdef _Entry entry = _Entry.__new__(_Entry)
        entry.epoch = epoch
        entry.patterns = patterns
        entry.names = names
        entry.program = program
        entry.unflatten = unflatten
        entry.donated = donated
        entry.wants_leaves = has_nodes or len(donated) > 0
        # A new list: another thread may be going through the old one.
        self._entries = [entry, *self._entries[:7]]

    def __call__(self, *args, **kwargs):
        cdef _Entry entry
        cdef void *few[16]
        cdef char numbers[128]
        cdef Arguments a
        cdef list results, leaves
        cdef bint same
        cdef int i, n
        cdef tuple given = <tuple>args
        cdef dict named = <dict>kwargs
        cdef list entries = self._entries
        n = <int>len(given)
        if entries and _state.trace is _eval_trace:
            epoch = _epoch()
            for entry in entries:
                if (
                    entry.epoch != epoch
                    or len(entry.patterns) != n + len(named)
                    or len(entry.names) != len(named)
                ):
                    continue
                leaves = [] if entry.wants_leaves else None
                a.n = 0
                a.scalars = 0
                a.capacity = entry.program.n_inputs
                a.pointers = few
                a.scratch = numbers
                if a.capacity > 16:
                    a.pointers = <void **>malloc(a.capacity * sizeof(void *))
                    a.scratch = <char *>malloc(a.capacity * 8)
                try:
                    same = True
                    for i in range(n):
                        if not match(entry.patterns[i], given[i], &a, leaves):
                            same = False
                            break
                    if same and named:
                        for i in range(n, <int>len(entry.patterns)):
                            key = entry.names[i - n]
                            if key not in named or not match(
                                entry.patterns[i], named[key], &a, leaves
                            ):
                                same = False
                                break
                    if same and entry.donated and _has_twice(leaves):
                        same = False  # perhaps what is donated: the Python code says so
                    if same and a.n == entry.program.n_inputs:
                        results = entry.program.call(a.pointers)
                        for position in entry.donated:
                            if type(leaves[position]) is _array_type:
                                leaves[position].delete()
                        if entry.unflatten is None:
                            return results[0]
                        return entry.unflatten(results)
                finally:
                    if a.capacity > 16:
                        free(a.pointers)
                        free(a.scratch)
        return self.call_slowly(args, kwargs)


def hide_calls(kind):
    """Keeps calls of `kind`, a subclass of FastFunction, out of tracebacks.

    They must leave by way of Python code that keeps itself out: `errors.api_boundary`.
    """
    jt_hide_call(FastFunction, kind)
