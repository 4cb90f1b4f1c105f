"""User annotations on the equations that are recorded within a context.

An annotation states where an equation is computed (`compute_on`), or gives the compiler attributes
(`set_xla_metadata`). Annotations do not affect values. As they are part of equations, jitted
functions are retraced when they change.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

from jitney.core.recording.recording_interceptors import RecordingInterceptor, features
from jitney.core.settings import config

if TYPE_CHECKING:
    from jitney.core.program.jaxpr import JaxprEqnContext


class Notes(NamedTuple):
    """The annotations of an equation.

    Attributes:
      compute_type: where the equation is computed, such as "device_host"; None if unspecified.
      xla_metadata: (name, value) pairs, sorted.
    """

    compute_type: str | None = None
    xla_metadata: tuple[tuple[str, Any], ...] = ()


_NONE = Notes()


class _Notes(config.State):
    def _from_environment(self) -> Notes:
        return _NONE


_current = _Notes("notes on equations", _NONE, lambda notes: notes, traced=True)


@functools.cache
def _counts() -> None:
    """Adds the annotations to the settings that traces depend on, once they are first used."""
    config.add_traced_state(_current)
    features.install(_Noting())


class _Noting(RecordingInterceptor):
    """An interceptor that attaches the annotations to equations."""

    def context(self, context: JaxprEqnContext) -> JaxprEqnContext:
        compute_type, pairs = current()
        return context._replace(compute_type=compute_type, xla_metadata=dict(pairs) or None)


def current() -> Notes:
    """Returns the annotations in effect in this thread."""
    return _current.value


class noting(config.Overriding):  # lower case, as it is used like a function: `with noting(...)`
    """A context that overrides some fields of the annotations."""

    def __init__(self, **fields: object) -> None:
        super().__init__()
        self._fields = fields

    def fields(self) -> dict[str, object]:
        """Returns the overridden fields and values; subclasses may compute them on entry."""
        return self._fields

    def changes(self) -> list[tuple[config.State, object]]:
        _counts()
        return [(_current, current()._replace(**self.fields()))]
