"""`jax.sharding.no_collectives`: a context in which devices do not communicate along axes of a mesh.

Looked at are operations on arrays that types say are divided along Explicit axes, and collectives in
`shard_map`: as they are recorded, and as they are evaluated. Along Auto axes the compiler communicates
as it must.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jitney.core import explicit, recording_interceptors
from jitney.core.avals import AbstractValue, get_aval
from jitney.core.forbidden_axes import no_collectives as no_collectives
from jitney.core.recording_interceptors import RecordingInterceptor
from jitney.core.sharding.partition_spec import names_of
from jitney.core.trace import intercept_evaluation
from jitney.runtime.eager import EvalTrace

if TYPE_CHECKING:
    from jitney.core.primitive import Primitive
    from jitney.core.typing import Value
    from jitney.core.varying import Operation


class ForbiddenCollectiveError(Exception):
    """Devices would communicate along an axis where `no_collectives` forbids it."""


_COLLECTIVES = frozenset({
    "all_gather", "all_gather_invariant", "all_gather_reduced", "all_to_all", "pbroadcast", "pmax",
    "pmin", "ppermute", "psum", "psum_invariant", "ragged_all_to_all", "reduce_scatter",
    "unreduced_psum", "unreduced_reduce_scatter",
})  # fmt: skip
# They call programs, whose operations are looked at, or only move arrays.
_NOT_LOOKED_AT = frozenset({"cond", "device_put", "scan", "shard_map", "while"})


def _divided(avals: Sequence[AbstractValue]) -> tuple[set[Any], set[Any]]:
    """The axes that arrays of these types are divided along, and those where they are unreduced."""
    specs = [place.spec for place in map(explicit.sharding_of, avals) if place is not None]
    along = {name for spec in specs for entry in spec for name in names_of(entry)}
    return along, {name for spec in specs for name in spec.unreduced}


def _check(
    primitive: Operation,
    avals: Sequence[AbstractValue],
    params: dict[str, Any],
    outs: Sequence[AbstractValue],
) -> None:
    """Raises ForbiddenCollectiveError if an operation communicates where that is forbidden."""
    forbidden = no_collectives.value
    name = str(primitive)
    if not forbidden or primitive.called is not None or name in _NOT_LOOKED_AT:
        return
    if name in _COLLECTIVES:
        own = params["axes"] if "axes" in params else params["axis_name"]
        acts_on = forbidden & {*(own if isinstance(own, tuple | list) else (own,))}
        if acts_on:
            raise _error(name, acts_on, "acts on them")
        return
    before, terms_before = _divided(avals)
    after, terms = _divided(outs)
    lost = forbidden & ((before - after - terms) | (terms_before - terms))
    if lost:
        raise _error(name, lost, "has a result that is whole along them, and not unreduced")
    if name == "dot_general":
        (contracted, _), _ = params["dimension_numbers"]
        place = explicit.sharding_of(avals[0])
        entries = explicit.entries_of(place, len(getattr(avals[0], "shape", ())))
        summed = forbidden & {n for k in contracted for n in names_of(entries[k])} - terms
        if summed:
            raise _error(name, summed, "sums along them, and its result is not unreduced")
    if name == "reshard" and _moved(avals[0], outs[0]) & forbidden:
        raise _error(name, forbidden, "moves them to another axis of the array")


def _moved(before: AbstractValue, after: AbstractValue) -> frozenset[Any]:
    """The axes of the mesh that divide another axis of the array than before."""

    def places(aval: AbstractValue) -> dict[Any, int]:
        place = explicit.sharding_of(aval)
        entries = () if place is None else place.spec
        return {name: k for k, entry in enumerate(entries) for name in names_of(entry)}

    old, new = places(before), places(after)
    return frozenset([name for name in old if new.get(name, old[name]) != old[name]])


def _error(name: str, axes: frozenset[Any], why: str) -> ForbiddenCollectiveError:
    listed = ", ".join(sorted(map(repr, axes)))
    return ForbiddenCollectiveError(
        f"{name}: within jax.sharding.no_collectives devices do not communicate along "
        f"{listed}, but the operation {why}. Keep the result divided or unreduced "
        "(`out_sharding`), or leave the context"
    )


class _ChecksWhileRecording(RecordingInterceptor):
    """Checks what is recorded."""

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
    """Checks what is evaluated."""

    __slots__ = ()

    def process_primitive(
        self, primitive: Primitive, args: Sequence[Value], params: dict[str, Any], own: bool = False
    ) -> Any:
        results = super().process_primitive(primitive, args, params, own)
        if no_collectives.value:
            outs = results if primitive.multiple_results else [results]
            _check(primitive, [*map(get_aval, args)], params, [*map(get_aval, outs)])
        return results


def _install(forbidden: frozenset[Any]) -> None:
    if forbidden:
        recording_interceptors.install(_CHECKS)
        intercept_evaluation(ForbiddenCollectives)


no_collectives.listen(_install)
