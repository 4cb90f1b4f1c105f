# Calls whose signature is known; a part of `_native.pyx`.
#
# Comparing arguments with a signature may run users' code: `__hash__` and `__eq__` of static arguments
# and of keys, and functions that flatten containers. This code may change the containers that are being
# traversed. Therefore, a reference is held to every object while it is inspected, and lengths are
# compared again at each element.

# Patterns of arguments: an aval stands for an uncommitted array of that type, and (code, ...) for all
# other arguments.
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
    P_PLACED = 12
    P_EXACT = 13
    P_BITS = 14

CODES = {
    "none": P_NONE, "tuple": P_TUPLE, "list": P_LIST, "dict": P_DICT, "static": P_STATIC,
    "int": P_INT, "float": P_FLOAT, "bool": P_BOOL, "ndarray": P_NDARRAY,
    "namedtuple": P_NAMEDTUPLE, "node": P_NODE, "scalar": P_SCALAR, "placed": P_PLACED,
    "exact": P_EXACT, "bits": P_BITS,
}

cdef enum:
    FEW_INPUTS = 16  # the addresses of so many inputs need no heap memory

cdef object _absent = object()


cdef class _Entry:
    """One known signature."""

    cdef long epoch
    cdef tuple patterns  # of positional arguments, then of keyword arguments
    cdef tuple names  # of keyword arguments, sorted
    cdef Program program
    cdef object unflatten  # None for a single array
    cdef tuple donated  # positions of the flat arguments that are donated
    cdef object name  # of the function, if arguments are donated


cdef struct Arguments:
    void **pointers  # of the program's inputs
    PyObject **held  # the ndarrays that they point into, with a reference each
    char *scratch  # 8 bytes for each scalar
    PyObject *pending  # a list of the calls that compute inputs; NULL if all data are computed
    int n
    int n_held
    int scalars
    bint has_ndarrays  # whether there are ndarrays, which the caller may write to after the call
    int capacity
    # For calls of few inputs:
    void *few_pointers[FEW_INPUTS]
    PyObject *few_held[FEW_INPUTS]
    char few_numbers[8 * FEW_INPUTS]


cdef int _begin(Arguments *a, int capacity) except -1:
    """Allocates room for the data of `capacity` inputs; `_end` must follow."""
    a.n = a.n_held = a.scalars = 0
    a.has_ndarrays = False
    a.capacity = capacity
    a.pending = NULL
    a.pointers, a.held, a.scratch = a.few_pointers, a.few_held, a.few_numbers
    if capacity > FEW_INPUTS:
        a.pointers = <void **>malloc(capacity * (2 * sizeof(void *) + 8))
        if a.pointers == NULL:
            raise MemoryError()
        a.held = <PyObject **>(a.pointers + capacity)
        a.scratch = <char *>(a.held + capacity)
    return 0


cdef inline void _end(Arguments *a) noexcept:
    """Releases everything that `a` holds."""
    cdef int i
    for i in range(a.n_held):
        Py_DECREF(<object>a.held[i])
    Py_XDECREF(a.pending)
    if a.pointers != a.few_pointers:
        free(a.pointers)


cdef inline void _take(Arguments *a, cnp.ndarray value) noexcept:
    """Makes `value`, which is contiguous, the next input."""
    Py_INCREF(value)
    a.held[a.n_held] = <PyObject *>value
    a.n_held += 1
    a.pointers[a.n] = cnp.PyArray_DATA(value)
    a.n += 1


cdef int _note_pending(Arguments *a, Call call) except -1:
    """Records a call that computes an input."""
    cdef list calls
    if a.pending == NULL:
        calls = []
        Py_INCREF(calls)
        a.pending = <PyObject *>calls
    calls = <list>a.pending
    if call not in calls:
        calls.append(call)
    return 0


cdef bint _is_placed_as(object pattern, NativeArray array) except -1:
    """Returns whether an array has the type and the placement of `pattern`."""
    if type(pattern) is not tuple or (<tuple>pattern)[0] != P_PLACED:
        return False
    if array.aval is not (<tuple>pattern)[1]:
        return False
    placement = (<tuple>pattern)[2]
    return array.placement is placement or bool(array.placement == placement)


cdef bint match(object pattern, object arg, Arguments *a, list leaves) except -1:
    """Returns whether `arg` matches `pattern`; appends the data of its leaves to `a`, which holds them.

    The leaves themselves are appended to `leaves`, if it is a list.
    """
    cdef tuple p, children
    cdef int code, i
    cdef cnp.ndarray value
    cdef NativeArray array
    cdef Buffer buffer
    cdef Call ready
    cdef char *place
    cdef long long whole
    cdef double number
    cdef dict mapping
    if type(arg) is _array_type:
        array = <NativeArray>arg
        if array.placement is not None:
            if not _is_placed_as(pattern, array):
                return False
        elif array.aval is not pattern:
            return False
        buffer = array.buffer
        ready = buffer.ready
        if ready is not None and not _has_arrived(buffer):
            if not ready.is_enqueued:
                return False
            _note_pending(a, ready)
        if type(buffer.data) is not cnp.ndarray or a.n >= a.capacity:
            return False
        _take(a, cnp.PyArray_GETCONTIGUOUS(<cnp.ndarray>buffer.data))
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
    if code == P_EXACT:
        if type(arg) is not p[1]:
            return False
        return arg is p[2] or bool(arg == p[2])
    if code == P_BITS:
        if type(arg) is not float:
            return False
        number = arg
        memcpy(&whole, &number, sizeof(whole))
        return whole == <long long>p[1]
    if code == P_NONE:
        return arg is None
    if code == P_TUPLE:
        if type(arg) is not tuple or len(<tuple>arg) != len(p) - 1:
            return False
        for i in range(1, len(p)):
            if not match(p[i], (<tuple>arg)[i - 1], a, leaves):
                return False
        return True
    if code == P_LIST:
        if type(arg) is not list:
            return False
        for i in range(1, len(p)):
            if len(<list>arg) != len(p) - 1 or not match(p[i], (<list>arg)[i - 1], a, leaves):
                return False
        return len(<list>arg) == len(p) - 1
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
            found, data = p[2](arg)
            children = tuple(found)
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
            child = mapping.get((<tuple>p[1])[i - 2], _absent)
            if child is _absent or not match(p[i], child, a, leaves):
                return False
        return len(mapping) == len(p) - 2
    if a.n >= a.capacity:
        return False
    if leaves is not None:
        leaves.append(arg)
    if code == P_NDARRAY:
        if type(arg) is not cnp.ndarray:
            return False
        value = <cnp.ndarray>arg
        if value.dtype is not p[1] or (<object>value).shape != p[2]:
            return False
        if len(p) == 4:  # the dtype differs from the program's
            value = value.astype(p[3])
        else:
            a.has_ndarrays = True
        _take(a, cnp.PyArray_GETCONTIGUOUS(value))
        return True
    place = a.scratch + 8 * a.scalars
    if code == P_SCALAR:
        if type(arg) is not p[1]:
            return False
        if len(p) == 3:  # the dtype differs from the program's, or has more than 8 bytes
            _take(a, np.asarray(arg, p[2]))
            return True
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
    """Returns whether `leaves` contains an array more than once."""
    if len(leaves) < 2:
        return False
    cdef list arrays = [<uintptr_t><PyObject *>x for x in leaves if type(x) is _array_type]
    return len(set(arrays)) != len(arrays)


cdef list _donors(list leaves, tuple donated):
    """Returns the buffers of the leaves at the positions `donated`, and None for the other leaves."""
    cdef list donors = [None] * len(leaves)
    for position in donated:
        if type(leaves[position]) is _array_type:
            donors[position] = (<NativeArray>leaves[position]).buffer
    return donors


cdef extern from "Python.h":
    ctypedef struct PyFrameObject:
        pass
    ctypedef struct PyCodeObject:
        pass
    PyFrameObject *PyEval_GetFrame()
    PyCodeObject *PyFrame_GetCode(PyFrameObject *frame)
    int PyFrame_GetLasti(PyFrameObject *frame)


cdef object _place_of_call(object name):
    """Returns (`name`, code of the innermost Python frame, offset in it): the place of a call."""
    cdef PyFrameObject *frame = PyEval_GetFrame()
    if frame == NULL:
        return None
    cdef PyObject *owned = <PyObject *>PyFrame_GetCode(frame)
    code = <object>owned
    Py_DECREF(code)  # which is held by the variable
    return name, code, PyFrame_GetLasti(frame)


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
        self, epoch, tuple patterns, tuple names, Program program, unflatten, tuple donated
    ):
        """Adds a signature.

        Args:
          epoch: the epoch of the settings under which the signature is valid.
          patterns: one for each argument; keyword arguments are last, and sorted by name.
          names: the names of keyword arguments.
          program: the program to run.
          unflatten: makes the result from the flat results; None for one array.
          donated: the positions of the flat arguments that are donated.
        """
        cdef _Entry entry = _Entry.__new__(_Entry)
        entry.epoch = epoch
        entry.patterns = patterns
        entry.names = names
        entry.program = program
        entry.unflatten = unflatten
        entry.donated = donated
        entry.name = getattr(self, "__name__", "") if donated else None
        # A new list, as another thread may be iterating over the old one.
        self._entries = [entry, *self._entries[:7]]

    cdef object run_known(self, tuple given, dict named):
        """Returns the result of a call whose signature is known; `_absent` for other calls."""
        cdef _Entry entry
        cdef Program program
        cdef Arguments a
        cdef list results, leaves, donors
        cdef bint same
        cdef long epoch = _epoch()
        cdef int i, n = <int>len(given)
        for entry in self._entries:
            if (
                entry.epoch != epoch
                or len(entry.patterns) != n + len(named)
                or len(entry.names) != len(named)
            ):
                continue
            leaves = [] if entry.donated else None
            _begin(&a, entry.program.n_inputs)
            try:
                same = True
                for i in range(n):
                    if not match(entry.patterns[i], given[i], &a, leaves):
                        same = False
                        break
                if same and named:
                    for i in range(n, <int>len(entry.patterns)):
                        value = named.get(entry.names[i - n], _absent)
                        if value is _absent or not match(entry.patterns[i], value, &a, leaves):
                            same = False
                            break
                if same and entry.donated and _has_twice(leaves):
                    same = False  # a donated array may occur twice; the Python code raises the error
                if same and a.n == entry.program.n_inputs:
                    donors = _donors(leaves, entry.donated) if entry.donated else None
                    if donors is not None:
                        given_to = _place_of_call(entry.name)
                        for donor in donors:
                            if donor is not None:
                                (<Buffer>donor).given_to = given_to
                    program = entry.program
                    if a.pending != NULL or (
                        program.nanoseconds >= _deferred_from
                        and program.is_deferrable
                        and not a.has_ndarrays
                    ):
                        results = _run_later(program, &a, donors, self)
                    else:
                        results = program.run(a.pointers, donors)
                    if entry.unflatten is None:
                        return results[0]
                    return entry.unflatten(results)
            finally:
                _end(&a)
        return _absent

    def __call__(self, *args, **kwargs):
        if self._entries and _state.trace is _eval_trace:
            result = self.run_known(args, kwargs)
            if result is not _absent:
                return result
        return self.call_slowly(args, kwargs)


cdef class RepeatedFunction(FastFunction):
    """A function that is evaluated until its calls repeat, and then has a compiled program for them.

    Calls go to `plain`, without a Python frame in between. For a call outside of any trace without a known
    program, `look` is called first. It returns None, a tuple with the result, or an object with which
    `after` is called after the call, together with the number of arrays that were made.

    Attributes:
      plain: the function.
      rest: the number of calls before the next call of `look`.
    """

    cdef readonly object plain
    cdef public Py_ssize_t rest

    def __cinit__(self, plain, *args, **kwargs):
        self.plain = plain

    def __call__(self, *args, **kwargs):
        cdef Py_ssize_t before
        if _state.trace is not _eval_trace:
            return self.plain(*args, **kwargs)
        if self._entries:
            result = self.run_known(args, kwargs)
            if result is not _absent:
                return result
        if self.rest > 0:
            self.rest -= 1
            return self.plain(*args, **kwargs)
        seen = self.look(args, kwargs)
        if seen is None:
            return self.plain(*args, **kwargs)
        if type(seen) is tuple:  # computed by a program
            return (<tuple>seen)[0]
        before = _arrays_made
        result = self.plain(*args, **kwargs)
        self.after(seen, _arrays_made - before, result, args, kwargs)
        return result


def hide_calls(kind):
    """Keeps calls of `kind`, a subclass of FastFunction, out of tracebacks.

    Their errors must pass through Python code that hides itself (`tracebacks.api_boundary`). Errors of a
    RepeatedFunction appear to come from its `plain`.
    """
    jt_hide_call(FastFunction, RepeatedFunction, kind)


def set_on_error(function):
    """Sets a function of (error, RepeatedFunction, arguments) to call when a RepeatedFunction fails."""
    jt_set_on_error(function)
