"""The class of options: a global value, with overrides that are scoped to a context and a thread.

`trace_epoch()` returns an integer that identifies the current values of all options that affect
tracing. Equal settings have equal epochs, so caches hit again when a setting is restored.
`call_epoch()` covers, in addition, the options that affect calls of traced functions. The options
themselves are in `config`.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

from jitney.core.contexts import Within
from jitney.core.util import forking

if TYPE_CHECKING:
    from jitney.core.settings.inert_options import Values


class Local(threading.local):
    """The overrides of this thread; None if there are none, which fast paths check."""

    values: dict[str, Any] | None = None
    epochs: tuple[int, int] | None = None


local = Local()
_epoch_numbers = itertools.count()
_epochs: dict[tuple[Any, ...], int] = {}
_global_epochs = (0, 0)  # for tracing, for calls
# Environment variables with invalid values -> the reason; `environment.check` raises errors for
# them.
refused: dict[str, str] = {}
_traced_states: tuple[State, ...] = ()
_called_states: tuple[State, ...] = ()


# The description of options that JAX has and this package accepts.
INEFFECTIVE = "Has no effect; accepted for compatibility with programs that set it."


class State:
    """An option.

    Attributes:
      name: such as "jax_enable_x64".
      global_value: its value where no override is active.
      traced: whether it affects tracing.
      called: whether it affects calls of traced functions.
      effective: whether it affects anything; other options are only checked and stored.
      frozen: the message of the RuntimeError raised when it is set; None if it can be set.
      listeners: functions that are called with every value it is set to, in any thread.
    """

    def __init__(
        self,
        name: str,
        default: object,
        parse: Callable[[Any], Any],
        *,
        traced: bool = False,
        called: bool = False,
        context: bool = False,
        effective: bool = True,
        help: str = "",  # noqa: A002
    ) -> None:
        self.name = name
        self.default = default
        self.parse = parse
        self.traced = traced
        self.called = called
        self.context = context
        self.effective = effective
        self.__doc__ = help or ("" if effective else INEFFECTIVE)
        self.__name__ = name[4:] if name.startswith("jax_") else name
        self.listeners: list[Callable[[Any], None]] = []
        self.frozen: str | None = None
        self.global_value: Any = self._from_environment()

    def listen(self, listener: Callable[[Any], None]) -> None:
        """Calls `listener` with the global value, and with every value that is set later."""
        self.listeners.append(listener)
        listener(self.global_value)

    def _from_environment(self) -> object:
        upper = self.name.upper()
        for variable in (upper.replace("JAX_", "JITNEY_", 1), upper):
            text = os.environ.get(variable)
            if text is not None:
                try:
                    return self.parse(_from_text(text, self.default))
                except ValueError as error:
                    refused[variable] = str(error)
        return self.default

    @property
    def value(self) -> Any:
        """The value in effect in this thread."""
        overrides = local.values
        if overrides is None:
            return self.global_value
        return overrides.get(self.name, self.global_value)

    def __call__(self, new_value: object = True) -> Overriding:
        """Returns a context in which the option has the value `new_value` in this thread."""
        return Overriding((self, new_value))

    def get_global(self) -> Any:
        """Returns the global value."""
        return self.global_value

    def set_global(self, value: object) -> None:
        """Sets the global value.

        Raises:
          RuntimeError: if the option cannot be set any longer.
          ValueError: if the value is not valid.
        """
        global _global_epochs
        if self.frozen is not None:
            raise RuntimeError(self.frozen)
        with forking.settings:
            self.global_value = self.parse(value)
        for listener in self.listeners:
            listener(self.global_value)
        if self.traced or self.called:
            _global_epochs = _epochs_of({})

    def __bool__(self) -> bool:
        raise TypeError(
            f"the option {self.name} has no truth value; read its value as jax.config.{self.name}"
        )

    def __repr__(self) -> str:
        return f"<option {self.name}={self.value!r}>"


class Overriding(Within):
    """A context in which options have other values in this thread; values are parsed on entry.

    Args:
      *pairs: pairs of an option and its value.
    """

    def __init__(self, *pairs: tuple[State, object]) -> None:
        super().__init__(local, ("values", "epochs"))
        self.pairs = pairs

    def changes(self) -> Sequence[tuple[State, object]]:
        """Returns the options and their values; subclasses may compute them on entry."""
        return self.pairs

    def find(self) -> tuple[tuple[object, ...], object]:
        overrides = dict(local.values or {})
        epochs = local.epochs
        changes = self.changes()
        for state, value in changes:
            parsed = overrides[state.name] = state.parse(value)
            for listener in state.listeners:
                listener(parsed)
        if any([state.traced or state.called for state, _ in changes]):
            epochs = _epochs_of(overrides)
        return (overrides, epochs), self.result


def _from_text(text: str, default: object) -> object:
    """Returns the text of an environment variable, converted to the type of `default`."""
    if isinstance(default, bool):
        lowered = text.lower()
        if lowered in ("y", "yes", "t", "true", "on", "1"):
            return True
        if lowered in ("n", "no", "f", "false", "off", "0", ""):
            return False
        raise ValueError(
            f"{text!r} is not a boolean; use 1, true, yes or on, or else 0, false, no or off."
        )
    if isinstance(default, int | float):
        try:
            return type(default)(text)
        except ValueError:
            kind = "an integer" if isinstance(default, int) else "a number"
            raise ValueError(f"{text!r} is not {kind}.") from None
    return text


def _epochs_of(overrides: dict[str, Any]) -> tuple[int, int]:
    traced = tuple(overrides.get(s.name, s.global_value) for s in _traced_states)
    called = tuple(overrides.get(s.name, s.global_value) for s in _called_states)
    with forking.settings:
        for key in (traced, (traced, called)):
            if key not in _epochs:
                _epochs[key] = next(_epoch_numbers)
        return _epochs[traced], _epochs[traced, called]


def trace_epoch() -> int:
    """Returns an integer that identifies the values of all options that affect tracing."""
    epochs = local.epochs
    return _global_epochs[0] if epochs is None else epochs[0]


def call_epoch() -> int:
    """Returns an integer that identifies the values of all options that affect calls."""
    epochs = local.epochs
    return _global_epochs[1] if epochs is None else epochs[1]


def settings_of_epoch(epoch: int) -> dict[str, object]:
    """Returns the options that a `trace_epoch` identifies, by name; empty if it was discarded."""
    with forking.settings:
        matches = [values for values, number in _epochs.items() if number == epoch]
    names = [s.name for s in _traced_states]
    return dict(zip(names, matches[0], strict=True)) if matches else {}


def watch_in_epochs(states: Iterable[State]) -> None:
    """Sets the options whose values epochs identify."""
    global _global_epochs, _traced_states, _called_states
    options = tuple(states)
    _traced_states = tuple([s for s in options if s.traced])
    _called_states = tuple([s for s in options if s.called])
    _global_epochs = _epochs_of({})


def add_traced_state(state: State) -> None:
    """Adds an option that affects tracing; programs traced before stay valid."""
    global _global_epochs, _traced_states
    with forking.settings:
        _traced_states = (*_traced_states, state)
        for key in list(_epochs):
            number = _epochs.pop(key)
            # Keys are the values of the traced options, alone or paired with those of the called
            # ones.
            traced, called = (key[0], key[1:]) if _is_pair(key) else (key, ())
            longer = (*traced, state.default)
            _epochs[(longer, *called) if called else longer] = number
    _global_epochs = _epochs_of({})
    if local.epochs is not None:
        local.epochs = _epochs_of(local.values or {})


def _is_pair(key: tuple[Any, ...]) -> bool:
    return len(key) == 2 and isinstance(key[0], tuple)


def renew_epochs() -> None:
    """Gives all settings new epochs, so that entries cached under old ones are not found."""
    global _global_epochs
    with forking.settings:
        _epochs.clear()
    _global_epochs = _epochs_of({})
    if local.epochs is not None:
        local.epochs = _epochs_of(local.values or {})


# --- kinds of values ------------------------------------------------------------------------------


def boolean(value: object) -> bool:
    """Parses a value by its truth."""
    return bool(value)


def anything(value: object) -> object:
    """Accepts any value unchanged."""
    return value


def integer(value: SupportsIndex) -> int:
    """Returns an integer; raises ValueError for other values."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ValueError(f"new value must be an int, got {value!r} of type {type(value)}.")
    return int(value)


class OneOf:
    """A parser for an option with a fixed set of values.

    Attributes:
      choices: the valid values.
    """

    def __init__(self, choices: tuple[object, ...]) -> None:
        self.choices = choices

    def __call__(self, value: object) -> object:
        """Returns the value; raises ValueError if it is not among the choices."""
        if value not in self.choices:
            raise ValueError(
                f"this option takes one of {list(self.choices)}, but got {value!r} of type "
                f"{type(value)}"
            )
        return value


def one_of(*choices: object) -> OneOf:
    """Returns a parser for an option with the given choices."""
    return OneOf(choices)


def parser(values: Values) -> Callable[[Any], object]:
    """Returns a parser for values of a type, or for a choice of values."""
    if isinstance(values, tuple):
        return one_of(*values)
    if values is bool:
        return boolean
    if values is object:
        return anything
    kind = values
    accepted = (int, float) if kind is float else kind

    def parse(value: object) -> object:
        if value is not None and not isinstance(value, accepted):
            raise ValueError(
                f"this option takes None or a {kind.__name__}, but got {value!r} of type "
                f"{type(value)}"
            )
        return value

    return parse
