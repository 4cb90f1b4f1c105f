# cython: language_level=3, freethreading_compatible=False
"""Contexts that no signal can leave half entered or half left.

Python runs the handlers of signals before the first instruction of a Python function, and after each
call. So an exception may begin in an `__exit__` that is written in Python before it has put anything
back, and a generator's `finally` is run only when the generator is collected: later, over whatever is in
force by then. Native `__enter__` and `__exit__` have no such gaps, and `with` has none around them. All
state that a context puts in force and back is handled here, or by `try` and `finally` around plain
assignments in one function.
"""

cimport cython

import functools


@cython.auto_pickle(False)
cdef class Within:
    """Within the context, attributes of an object have other values.

    A subclass may find the values when the context is entered: `find`. One object can be entered again
    while it is in force, and decorates functions.

    Args:
      owner: the object.
      names: of the attributes.
      values: for each of them, the one in the context.
      result: what `with ... as` gives.

    Attributes:
      after: called, if not None, when the attributes have been put back.
    """

    cdef public object owner
    cdef public tuple names
    cdef public tuple values
    cdef public object result
    cdef public object after
    cdef tuple _outer  # what to put back, and the same of the entry before, if this is entered again

    def __init__(self, owner, tuple names not None, tuple values=(), result=None, /):
        self.owner = owner
        self.names = names
        self.values = values
        self.result = result

    @property
    def is_entered(self):
        """Whether this is in force."""
        return self._outer is not None

    @classmethod
    def __class_getitem__(cls, result):
        """The class: what `with ... as` gives is for type checkers alone."""
        return cls

    def find(self):
        """The values, and what `with ... as` gives; may raise, as nothing has been changed yet."""
        return self.values, self.result

    def __enter__(self):
        cdef tuple names = self.names
        cdef tuple values
        cdef object result
        cdef object owner = self.owner
        cdef Py_ssize_t n = len(names), i
        if type(self) is Within:
            values, result = self.values, self.result
        else:
            values, result = self.find()
        if len(values) != n:
            raise ValueError(f"{n} attributes, but {len(values)} values")
        if n == 1:  # most are of one
            name = names[0]
            self._outer = (getattr(owner, name), self._outer)
            setattr(owner, name, values[0])
            return result
        self._outer = (tuple([getattr(owner, name) for name in names]), self._outer)
        for i in range(n):
            setattr(owner, names[i], values[i])
        return result

    def __exit__(self, kind, error, traceback):
        cdef tuple names = self.names
        cdef tuple saved = self._outer
        cdef Py_ssize_t n = len(names), i
        if saved is None:
            raise RuntimeError("a context is left that was not entered")
        self._outer = saved[1]
        if n == 1:
            setattr(self.owner, names[0], saved[0])
        else:
            for i in range(n):
                setattr(self.owner, names[i], (<tuple>saved[0])[i])
        if self.after is not None:
            self.after()

    def __call__(self, function):
        """`function`, each call of it within a context of its own."""
        @functools.wraps(function)
        def within(*args, **kwargs):
            with self.again():
                return function(*args, **kwargs)

        return within

    def again(self):
        """A context like this, not entered: threads may run a decorated function at once."""
        cdef Within other = type(self).__new__(type(self))
        other.owner, other.names = self.owner, self.names
        other.values, other.result, other.after = self.values, self.result, self.after
        attributes = getattr(self, "__dict__", None)
        if attributes:
            other.__dict__.update(attributes)
        return other


@cython.auto_pickle(False)
cdef class Setting:
    """Within the context, a variable of `contextvars` has another value."""

    cdef object _variable
    cdef object _value
    cdef tuple _tokens  # of the entry, and of those before it

    def __init__(self, variable, value, /):
        self._variable = variable
        self._value = value

    def __enter__(self):
        self._tokens = (self._variable.set(self._value), self._tokens)

    def __exit__(self, kind, error, traceback):
        token, self._tokens = self._tokens
        self._variable.reset(token)


@cython.auto_pickle(False)
cdef class Between:
    """A context between two calls: `begin()` and `end()`, native functions that no signal interrupts."""

    cdef object _begin
    cdef object _end

    def __init__(self, begin, end, /):
        self._begin = begin
        self._end = end

    def __enter__(self):
        self._begin()

    def __exit__(self, kind, error, traceback):
        self._end()


@cython.auto_pickle(False)
cdef class Owned:
    """Something foreign that is released once: by `release`, at the end of a context, or when it is dropped.

    Args:
      acquire: a native function whose result is it.
      free: a native function of it.
      *args, **kwargs: of `acquire`.

    Attributes:
      value: it; None once it is released.
    """

    cdef readonly object value
    cdef object _free

    def __init__(self, acquire, free, /, *args, **kwargs):
        self._free = free
        self.value = acquire(*args, **kwargs)

    def release(self):
        """Releases it, unless that was done."""
        value, self.value = self.value, None
        if value is not None:
            self._free(value)

    def __enter__(self):
        return self.value

    def __exit__(self, kind, error, traceback):
        self.release()

    def __del__(self):
        self.release()


def enter(self):
    """`__enter__` of an object: enters `self._new_context()`, and notes it in `self._contexts.entered`.

    `_contexts` is an object of the thread, whose `entered` is a tuple, innermost last. It is not a property:
    no code in Python may run when a context is left.
    """
    cdef Within context = <Within?>self._new_context()
    place = self._contexts
    entered = (*place.entered, context)
    context.__enter__()
    place.entered = entered
    return self


def entered(self):
    """`__enter__` of what was entered when it was made."""


def leave(self, kind, error, traceback):
    """`__exit__` of an object: leaves the context that the thread entered last by `enter`."""
    place = self._contexts
    *outer, context = place.entered
    place.entered = tuple(outer)
    (<Within?>context).__exit__(kind, error, traceback)
