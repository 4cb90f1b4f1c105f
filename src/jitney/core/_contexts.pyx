# cython: language_level=3, freethreading_compatible=False
"""Contexts that no signal can interrupt halfway through entry or exit.

Python runs signal handlers before the first instruction of a Python function, and after each call. A
handler can therefore raise an exception in an `__exit__` written in Python before it has restored
anything. A generator's `finally` may run only when the generator is collected, and then overwrites
settings made in the meantime. Native `__enter__` and `__exit__` methods have no such gaps, nor does the
`with` statement around them. All state that a context sets and restores is handled here, or by `try`
and `finally` around plain assignments in one function.
"""

cimport cython

import functools


@cython.auto_pickle(False)
cdef class Within:
    """A context in which attributes of an object have other values.

    A subclass can compute the values when the context is entered, by overriding `find`. A context can
    be entered again while it is active, and can be used as a decorator.

    Args:
      owner: the object.
      names: the names of the attributes.
      values: the value of each attribute within the context.
      result: the value of `with ... as`.

    Attributes:
      after: called, if not None, when the attributes have been restored.
    """

    cdef public object owner
    cdef public tuple names
    cdef public tuple values
    cdef public object result
    cdef public object after
    cdef tuple _outer  # the values to restore, and the `_outer` of an enclosing entry of this context

    def __init__(self, owner, tuple names not None, tuple values=(), result=None, /):
        self.owner = owner
        self.names = names
        self.values = values
        self.result = result

    @property
    def is_entered(self):
        """Whether the context is active."""
        return self._outer is not None

    @classmethod
    def __class_getitem__(cls, result):
        """Returns the class: the type of the result of `with ... as` is for type checkers only."""
        return cls

    def find(self):
        """Returns (values, result); may raise an error, as nothing has been changed yet."""
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
            raise ValueError(f"expected one value for each of {n} attributes, got {len(values)}")
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
            raise RuntimeError("cannot exit a context that was not entered")
        self._outer = saved[1]
        if n == 1:
            setattr(self.owner, names[0], saved[0])
        else:
            for i in range(n):
                setattr(self.owner, names[i], (<tuple>saved[0])[i])
        if self.after is not None:
            self.after()

    def __call__(self, function):
        """Returns `function` as a function whose calls each run within a new context."""
        @functools.wraps(function)
        def within(*args, **kwargs):
            with self.again():
                return function(*args, **kwargs)

        return within

    def again(self):
        """Returns a copy that is not entered, as several threads may run a decorated function."""
        cdef Within other = type(self).__new__(type(self))
        other.owner, other.names = self.owner, self.names
        other.values, other.result, other.after = self.values, self.result, self.after
        attributes = getattr(self, "__dict__", None)
        if attributes:
            other.__dict__.update(attributes)
        return other


@cython.auto_pickle(False)
cdef class Setting:
    """A context in which a `contextvars` variable has another value."""

    cdef object _variable
    cdef object _value
    cdef tuple _tokens  # the tokens of this entry and of enclosing ones

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
    """A foreign resource that is released once: by `release`, when a context exits, or when dropped.

    Args:
      acquire: a native function that returns the resource.
      free: a native function that releases it.
      *args, **kwargs: the arguments of `acquire`.

    Attributes:
      value: the resource; None once it is released.
    """

    cdef readonly object value
    cdef object _free

    def __init__(self, acquire, free, /, *args, **kwargs):
        self._free = free
        self.value = acquire(*args, **kwargs)

    def release(self):
        """Releases the resource, unless it has been released."""
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
    """Implements `__enter__`: enters `self._new_context()` and records it in `self._contexts.entered`.

    `_contexts` is a thread-local object; its attribute `entered` is a tuple of contexts, innermost last.
    It is not a property, because no Python code may run when a context exits.
    """
    cdef Within context = <Within?>self._new_context()
    place = self._contexts
    entered = (*place.entered, context)
    context.__enter__()
    place.entered = entered
    return self


def entered(self):
    """Implements `__enter__` of an object that was entered when it was created."""


def leave(self, kind, error, traceback):
    """Implements `__exit__`: leaves the context that the thread last entered with `enter`."""
    place = self._contexts
    *outer, context = place.entered
    place.entered = tuple(outer)
    (<Within?>context).__exit__(kind, error, traceback)
