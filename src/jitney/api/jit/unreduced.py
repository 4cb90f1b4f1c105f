"""Calls of programs whose results are unreduced along mesh axes.

In addition to each sum, such a call computes the addend of each device. `primitives.parallel.terms`
builds the program, and `runtime.arrays.terms` attaches the addends to the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.sharding.mesh import AxisType, Mesh
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding_in_types import explicit
from jitney.primitives.parallel import terms as programs
from jitney.runtime.arrays import terms
from jitney.runtime.arrays.array import ArrayImpl, array_from_numpy, host_array
from jitney.runtime.execution import dispatch
from jitney.runtime.execution.assignment import RequestedShardings, assign

if TYPE_CHECKING:
    from jitney.core.program.jaxpr import ClosedJaxpr
    from jitney.core.sharding.sharding import Sharding
    from jitney.runtime.execution.assignment import Assignment


def call(
    closed: ClosedJaxpr, leaves: Sequence[Any], assignment: Assignment, name: str
) -> list[ArrayImpl] | None:
    """Runs `closed` with per-device addends; returns None if there is nothing unreduced.

    The addends are attached to unreduced results. The result is None, too, if the devices belong to
    several processes, where each device holds only its own addend.
    """
    mesh, requests = assignment.mesh, assignment.requests
    if assignment.spans_processes or not isinstance(mesh, Mesh):
        return None
    if not programs.concerns(closed) and not any(map(terms.names_of_terms, requests.results)):
        return None
    donated = assignment.donated or (False,) * len(leaves)
    are_terms = tuple([
        not is_donated and _has_terms(x, aval)
        for x, aval, is_donated in zip(leaves, closed.in_avals, donated, strict=True)
    ])  # fmt: skip
    wanted = [
        sharding if isinstance(sharding, NamedSharding) else None for sharding in requests.results
    ]
    program, has = programs.program_of(closed, are_terms, tuple(wanted))
    if not (any(has) or any(are_terms)):
        return None
    operands = [_terms_of(x) if g else x for x, g in zip(leaves, are_terms, strict=True)]
    in_places = requests.operands or (None,) * len(leaves)
    results = requests.results or (None,) * len(has)
    shardings: list[Sharding | None] = [
        sharding or explicit.place_of(aval, mesh)
        for sharding, aval in zip(results, closed.out_avals, strict=True)
    ]
    term_places = [
        terms.place_of_terms(sharding)
        for sharding, has_terms in zip(shardings, has, strict=True)
        if has_terms and isinstance(sharding, NamedSharding)
    ]
    of_terms = RequestedShardings(
        tuple([None if g else sharding for sharding, g in zip(in_places, are_terms, strict=True)]),
        (*shardings, *term_places),
        requests.within,
    )
    results_and_terms = dispatch.run(
        program, operands, assign(operands, assignment.donated, requests=of_terms), name=name
    )
    outs, result_terms = results_and_terms[: len(has)], iter(results_and_terms[len(has) :])
    for x, has_terms in zip(outs, has, strict=True):
        if has_terms:
            terms.attach(x, host_array(next(result_terms)))
    return outs


def _has_terms(x: object, aval: Any) -> bool:
    if type(x) is not ArrayImpl or terms.of_array(x) is None:
        return False
    names = terms.names_of_terms(explicit.sharding_of(aval))
    return bool(names) and terms.names_of_terms(x.placement) == names


def _terms_of(x: ArrayImpl) -> ArrayImpl:
    """Returns the addends of `x` as one array, on the devices that hold them."""
    data, sharding = terms.of_array(x), x.placement
    assert data is not None
    assert isinstance(sharding, NamedSharding)
    term_place = terms.place_of_terms(sharding)
    mesh = term_place.mesh.update(axis_types=(AxisType.Auto,) * len(term_place.mesh.axis_names))
    whole = x.aval.update(shape=data.shape, sharding=None)
    return array_from_numpy(data, whole).placed(term_place.update(mesh=mesh))
