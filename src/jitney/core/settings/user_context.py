"""`make_user_context`: user-defined settings on which traced programs may depend."""

from __future__ import annotations

import itertools
from contextlib import AbstractContextManager

from jitney.core.settings import config

_numbers = itertools.count()


class _UserState(config.State):
    """An option defined by a user, which no environment variable sets."""

    def _from_environment(self) -> object:
        return self.default


class UserContext:
    """A user-defined setting; jitted functions are retraced for each of its values.

    Called with a value, it returns a context manager that sets the value in this thread.
    """

    def __init__(self, default_value: object = None) -> None:
        name = f"user_context_{next(_numbers)}"
        self._state = _UserState(name, default_value, lambda value: value, traced=True)
        config.add_traced_state(self._state)

    @property
    def value(self) -> object:
        """The value in effect in this thread."""
        return self._state.value

    def get_global(self) -> object:
        """Returns the global value."""
        return self._state.global_value

    def set_global(self, value: object) -> None:
        """Sets the global value."""
        self._state.set_global(value)

    def __call__(self, value: object) -> AbstractContextManager[None]:
        return self._state(value)


def make_user_context(default_value: object = None) -> UserContext:
    """Creates a setting on which traced programs may depend.

    A jitted function is retraced for each value of the setting, so what it does may depend on it.

    Args:
      default_value: the initial value. All values of the setting must be hashable.

    Returns: a function that maps a value to a context manager; its attribute `value` is the current
      value.

    Example:
      >>> scale = jax.make_user_context(1.0)
      >>> scaled = jax.jit(lambda x: scale.value * x)
      >>> with scale(10.0):
      ...     print(scaled(2.0))
      20.0
      >>> print(scaled(2.0))
      2.0
    """
    hash(default_value)
    return UserContext(default_value)
