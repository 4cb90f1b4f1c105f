"""`make_user_context`: settings of users that traced programs may depend on."""

from __future__ import annotations

import itertools
from contextlib import AbstractContextManager
from typing import Any

from jitney.core import config

_numbers = itertools.count()


class _UserState(config.State):
    """An option that is a user's: no variable of the environment gives its value."""

    def _from_environment(self) -> Any:
        return self.default


class UserContext:
    """A setting of a user. While it is another one, jitted functions are traced anew.

    Called with a value, it gives a context manager within which, in this thread, the setting has it.
    """

    def __init__(self, default_value: object = None) -> None:
        name = f"user_context_{next(_numbers)}"
        self._state = _UserState(name, default_value, lambda value: value, traced=True)
        config.add_traced_state(self._state)

    @property
    def value(self) -> Any:
        """The value in force here and now."""
        return self._state.value

    def get_global(self) -> Any:
        """Returns the value where no context manager is active."""
        return self._state.global_value

    def set_global(self, value: object) -> None:
        """Sets the value where no context manager is active."""
        self._state.set_global(value)

    def __call__(self, value: object) -> AbstractContextManager[None]:
        return self._state(value)


def make_user_context(default_value: object = None) -> UserContext:
    """Creates a setting that traced programs may depend on.

    A function that is jitted is traced anew for each value of the setting, so what it does may depend
    on it.

    Args:
      default_value: hashable, as all values of the setting must be.

    Returns: a function of a value that returns a context manager; its `value` is the one in force.

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
