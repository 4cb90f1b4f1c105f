"""`jax.sharding.no_collectives`: a context in which devices do not communicate along mesh axes.

The checks cover operations on arrays whose types are sharded along Explicit axes, and collectives
in `shard_map`, both when they are recorded and when they are evaluated. Along Auto axes, the
compiler inserts communication as necessary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.recording import recording_interceptors
from jitney.core.recording.recording_interceptors import RecordingInterceptor
from jitney.core.sharding_in_types.forbidden_axes import no_collectives as no_collectives
from jitney.core.tracing import communication
from jitney.core.tracing.communication import COMMUNICATION
from jitney.core.tracing.trace import intercept_evaluation
from jitney.core.types.avals import AbstractValue, get_aval
from jitney.runtime.execution.eager import EvalTrace

if TYPE_CHECKING:
    from jitney.core.sharding_in_types.varying import Operation
    from jitney.core.tracing.primitive import Primitive
    from jitney.core.typing import Value


class ForbiddenCollectiveError(Exception):
    """An operation would communicate along an axis for which `no_collectives` forbids it."""


def _check(
    primitive: Operation,
    avals: Sequence[AbstractValue],
    params: dict[str, Any],
    outs: Sequence[AbstractValue],
) -> None:
    """Raises ForbiddenCollectiveError if an operation communicates along a forbidden axis."""
    forbidden = no_collectives.value
    if not forbidden or primitive.called is not None:
        return
    rule = primitive.rules.get(COMMUNICATION.name, communication.of_types)
    for axes, what in rule(avals, outs, params):
        if axes & forbidden:
            raise _error(str(primitive), axes & forbidden, what)


def _error(name: str, axes: frozenset[Any], what: str) -> ForbiddenCollectiveError:
    listed = ", ".join(sorted(map(repr, axes)))
    return ForbiddenCollectiveError(
        f"{name}: within jax.sharding.no_collectives, devices must not communicate along {listed}, "
        f"but the operation {what}. Keep the result sharded or unreduced (`out_sharding`), or "
        "call the operation outside of the context"
    )


class _ChecksWhileRecording(RecordingInterceptor):
    """An interceptor that checks operations as they are recorded."""

    def check_equation(
        self,
        primitive: Operation,
        avals: Sequence[AbstractValue],
        params: dict[str, Any],
        outs: Sequence[AbstractValue],
    ) -> None:
        _check(primitive, avals, params, outs)


_CHECKS = _ChecksWhileRecording()


class ForbiddenCollectives(EvalTrace):
    """A trace that checks operations as they are evaluated."""

    __slots__ = ()

    def process_primitive(
        self,
        primitive: Primitive,
        args: Sequence[Value],
        params: dict[str, Any],
        built_in: bool = False,
    ) -> object:
        results = super().process_primitive(primitive, args, params, built_in)
        if no_collectives.value:
            outs = results if primitive.multiple_results else [results]
            _check(primitive, [*map(get_aval, args)], params, [*map(get_aval, outs)])
        return results


def _install(forbidden: frozenset[Any]) -> None:
    if forbidden:
        recording_interceptors.features.install(_CHECKS)
        intercept_evaluation(ForbiddenCollectives)


no_collectives.listen(_install)
