"""What users note on the equations that are recorded within a context: where they are computed
(`compute_on`), and attributes for the compiler (`set_xla_metadata`). Values do not depend on it.

Jitted functions are traced anew for other notes, as equations hold them.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

from jitney.core import config
from jitney.core.recording_interceptors import RecordingInterceptor, features

if TYPE_CHECKING:
    from jitney.core.jaxpr import JaxprEqnContext


class Notes(NamedTuple):
    """What is noted on equations.

    Attributes:
      compute_type: such as "device_host"; None if nothing is said.
      xla_metadata: (name, value) pairs, sorted.
    """

    compute_type: str | None = None
    xla_metadata: tuple[tuple[str, Any], ...] = ()


_NONE = Notes()


class _InForce(config.State):
    def _from_environment(self) -> Notes:
        return _NONE


_in_force = _InForce("notes on equations", _NONE, lambda notes: notes, traced=True)


@functools.cache
def _counts() -> None:
    """Has notes count among the settings that traces depend on, from their first use on."""
    config.add_traced_state(_in_force)
    features.install(_Noting())


class _Noting(RecordingInterceptor):
    """Puts the notes on equations."""

    def context(self, context: JaxprEqnContext) -> JaxprEqnContext:
        compute_type, pairs = current()
        return context._replace(compute_type=compute_type, xla_metadata=dict(pairs) or None)


def current() -> Notes:
    """Returns what is noted on equations here and now."""
    return _in_force.value


class noting(config.Overriding):  # reads as a function: `with noting(...)`
    """Within the context these fields of the notes are others."""

    def __init__(self, **fields: object) -> None:
        super().__init__()
        self._fields = fields

    def fields(self) -> dict[str, object]:
        """Returns the fields and their values; subclasses may find them on entry."""
        return self._fields

    def changes(self) -> list[tuple[config.State, object]]:
        _counts()
        return [(_in_force, current()._replace(**self.fields()))]
