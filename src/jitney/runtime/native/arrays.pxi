# Arrays and their operators; a part of `_native.pyx`.

cdef class NativeArray:
    """An array: its type, its placement, and the buffer that holds its data.

    Attributes:
      aval: its ShapedArray.
      placement: its sharding if it is committed, else None.
    """

    cdef Buffer buffer
    cdef public object aval
    cdef public object placement
    cdef object __weakref__

    def __init__(self, value, aval):
        self.buffer = _new_buffer(value, _device_of_new())
        self.aval = aval

    @property
    def _value(self):
        """The data, a read-only ndarray; reading it waits until the data are computed.

        Raises:
          RuntimeError: if the array was deleted or donated.
          BaseException: the error of the call that should have computed the data.
        """
        if _is_at_hand(self.buffer):
            return self.buffer.data
        value = _wait(self.buffer)
        if value is None:
            from jitney.core.diagnostics.errors import deleted_array_error

            raise deleted_array_error(self.aval, self.buffer.given_to)
        return value

    @property
    def _buffers(self):
        """The buffer of each device that holds the array."""
        return (self.buffer,)

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        # NumPy ignores errors that are raised here and calls `__array__`, which must then raise the
        # exception of a signal handler that has interrupted the wait for the data.
        value = self.buffer.data
        if self.buffer.ready is not None:
            self.buffer.ready.dropped = None  # the error of an earlier use, which has raised it
        if (
            not _is_at_hand(self.buffer)
            or not isinstance(self.aval.dtype, cnp.dtype)
            or cnp.PyArray_NDIM(<cnp.ndarray>value) != len(self.aval.shape)
            # The data are a window of an array on devices of several processes.
            or (self.placement is not None and value.shape != self.aval.shape)
        ):
            try:
                value = self._numpy()
            except BaseException as error:
                if self.buffer.ready is not None:
                    self.buffer.ready.dropped = error
                raise
        try:
            PyObject_GetBuffer(value, buffer, flags)
        except ValueError as error:
            raise BufferError(f"cannot export a buffer of an array of type {self.aval}: {error}") from None

    def __releasebuffer__(self, Py_buffer *buffer):
        pass

    def __add__(self, other):
        return _arithmetic(self, other, "__add__", np_add, False)

    def __sub__(self, other):
        return _arithmetic(self, other, "__sub__", np_subtract, False)

    def __mul__(self, other):
        return _arithmetic(self, other, "__mul__", np_multiply, False)

    def __radd__(self, other):
        return _arithmetic(self, other, "__radd__", np_add, True)

    def __rsub__(self, other):
        return _arithmetic(self, other, "__rsub__", np_subtract, True)

    def __rmul__(self, other):
        return _arithmetic(self, other, "__rmul__", np_multiply, True)


cdef Py_ssize_t _arrays_made = 0  # by all threads; differences estimate the work of a call


cdef inline NativeArray _new_array_of(Buffer buffer, object aval):
    global _arrays_made
    cdef NativeArray array = NativeArray.__new__(_array_type)
    array.buffer = buffer
    array.aval = aval
    _arrays_made += 1
    return array


def array_from_numpy(value, aval):
    """Returns an array that shares the memory of `value`, an ndarray or a NumPy scalar.

    The memory must not be written to afterwards.
    """
    if type(value) is not cnp.ndarray:
        value = np.asarray(value)
    PyArray_CLEARFLAGS(<cnp.ndarray>value, cnp.NPY_ARRAY_WRITEABLE)
    return _new_array_of(_new_buffer(value, _device_of_new()), aval)


def placed_array(cnp.ndarray value not None, aval, placement, device):
    """Returns an array with a placement that shares the memory of `value`.

    The memory must not be written to afterwards.

    Args:
      value: the whole array, or this process's window of it.
      aval: its type.
      placement: its sharding.
      device: the first device of the sharding that belongs to this process.
    """
    cdef NativeArray array
    PyArray_CLEARFLAGS(value, cnp.NPY_ARRAY_WRITEABLE)
    array = _new_array_of(_new_buffer(value, device), aval)
    array.placement = placement
    return array


cdef inline Buffer _awaited(NativeArray x):
    """Returns the buffer of an array, waiting until its data are computed or deleted."""
    if x.buffer.ready is not None:
        _wait(x.buffer)
    return x.buffer


def host_data(x):
    """Returns the data of an array without a placement, waiting for them; None for other values.

    The result is also None while there is a context mesh, on which results are placed.
    """
    if (
        type(x) is _array_type
        and not _context_meshes
        and (<NativeArray>x).placement is None
        and _is_at_hand(_awaited(<NativeArray>x))
    ):
        return (<NativeArray>x).buffer.data
    return None


def eager_data(x):
    """Returns `host_data(x)` outside of any trace, and None within a trace."""
    if (
        type(x) is _array_type
        and not _context_meshes
        and (<NativeArray>x).placement is None
        and _is_at_hand(_awaited(<NativeArray>x))
        and _state.trace is _eval_trace
        and not (_keys_are_watched and not _is_plain(<cnp.ndarray>(<NativeArray>x).buffer.data))
    ):
        return (<NativeArray>x).buffer.data
    return None


# --- arithmetic ---------------------------------------------------------------------------------

cdef object np_add = np.add
cdef object np_subtract = np.subtract
cdef object np_multiply = np.multiply

cdef dict _slow_operators = {}
cdef bint _keys_are_watched = False  # whether key reuse checks were ever enabled
cdef long _context_meshes = 0  # the number of context meshes (`set_mesh`) in all threads
cdef bint _values_are_checked = False  # whether checks for NaN or infinities were ever enabled
cdef bint _is_wide = False  # whether x64 was ever enabled

cdef enum:
    SHARED_FROM = 131072  # elements from which the runtime's threads share the work of a NumPy function


def set_operator(name, function):
    """Sets the Python function that implements an operator when native code cannot."""
    _slow_operators[name] = function


def check_values():
    """Leaves all arithmetic to Python from now on, to check for NaN and apply transfer guards."""
    global _values_are_checked
    _values_are_checked = True


def use_wide_scalars():
    """Leaves promotion of weak types to Python from now on, as arrays may be narrower than numbers."""
    global _is_wide
    _is_wide = True


def set_context_meshes(long number):
    """Sets the number of context meshes; while there is one, arrays without a mesh take no shortcut."""
    global _context_meshes
    _context_meshes = number


def watch_keys():
    """Disables shortcuts for keys from now on, so that operations can track their use."""
    global _keys_are_watched
    _keys_are_watched = True


cdef object _arithmetic(
    NativeArray x, object other, str operator, object ufunc, bint is_reflected
):
    """Applies a NumPy function to an array and an array of the same type and placement, or a number.

    In all other cases, it calls the operator's Python function; see `_operand`.
    """
    cdef object value, token, operand
    cdef NativeArray placed
    _awaited(x)
    if type(other) is type(x):
        _awaited(<NativeArray>other)
    operand = _operand(x, other)
    if operand is not None:
        token = _set_errors.set(_quiet)
        try:
            if is_reflected:
                value = ufunc(operand, x.buffer.data)
            else:
                value = ufunc(x.buffer.data, operand)
        finally:
            _set_errors.reset(token)
        if type(value) is not cnp.ndarray:
            value = np.asarray(value)
        PyArray_CLEARFLAGS(<cnp.ndarray>value, cnp.NPY_ARRAY_WRITEABLE)
        if x.placement is None:
            return _new_array_of(_new_buffer(value, _device_of_new()), x.aval)
        placed = _new_array_of(_new_buffer(value, x.buffer.device), x.aval)
        placed.placement = x.placement
        return placed
    return _slow_operators[operator](x, other)


cdef inline object _operand(NativeArray x, object other):
    """Returns `other` as an operand for NumPy, together with `x`; None if NumPy must not be used.

    NumPy is used for two arrays of the same type, except booleans and subclasses, and for an array and
    a number that its type can represent. Arrays of 64-bit elements with numbers are left to Python,
    which respects `jax_enable_x64`; so are large arrays with numbers, on which the runtime's threads
    share the work.
    """
    cdef Buffer mine = x.buffer, its
    cdef cnp.ndarray a
    if (
        not _is_at_hand(mine)
        or not _is_plain(<cnp.ndarray>mine.data)
        or _state.trace is not _eval_trace
        or _quiet is None
        or _values_are_checked
        or (_context_meshes and x.placement is None)
        or (x.placement is not None and _is_sum(x.aval))
    ):
        return None
    if type(other) is type(x):
        its = (<NativeArray>other).buffer
        if (
            (<NativeArray>other).aval is x.aval
            and _is_at_hand(its)
            and (<NativeArray>other).placement is x.placement
        ):
            return its.data
        return None
    a = <cnp.ndarray>mine.data
    if cnp.PyArray_ITEMSIZE(a) > 4 or cnp.PyArray_SIZE(a) >= SHARED_FROM:
        return None
    if _is_wide and x.aval.weak_type:
        return None
    if type(other) is float:
        return other if cnp.PyArray_TYPE(a) == cnp.NPY_FLOAT else None
    if type(other) is int:
        return other if _holds(a, other) else None
    return None


cdef bint _is_sum(aval):
    """Returns whether values of a type are unreduced sums over devices, which few operations accept."""
    sharding = aval._sharding
    return sharding is not None and bool(sharding.spec.unreduced)


cdef inline bint _holds(cnp.ndarray a, object number):
    """Returns whether int32 can hold an integer, and so can `a` if its dtype is an integer dtype."""
    cdef int overflow = 0
    cdef int bits = 8 * <int>cnp.PyArray_ITEMSIZE(a)
    cdef long long value = PyLong_AsLongLongAndOverflow(number, &overflow)
    if overflow or not -0x80000000LL <= value <= 0x7FFFFFFFLL:
        return False
    if cnp.PyArray_ISUNSIGNED(a):
        return 0 <= value < 1LL << bits
    return cnp.PyArray_ISFLOAT(a) or -(1LL << (bits - 1)) <= value < 1LL << (bits - 1)


cdef inline bint _is_plain(cnp.ndarray a):
    """Returns whether the dtype is a built-in number type other than bool and uint64 (used for keys)."""
    cdef int kind = cnp.PyArray_TYPE(a)
    return cnp.NPY_BOOL < kind <= cnp.NPY_DOUBLE and kind != cnp.NPY_UINT64
