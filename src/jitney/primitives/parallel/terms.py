"""Programs that compute the partial sums of unreduced values, and not only their sums.

A value that is unreduced along mesh axes consists of a partial sum on each device. Programs compute
only the sum unless the partial sums are read. This module creates a second program for unreduced
results, in which such a value is an array of the partial sums of all devices, with a leading axis
for each of these mesh axes, in mesh order. Reductions of sharded values (`reduce_sum`,
`dot_general`, `reshard`, `shard_map`) create partial sums; linear operations are batched over the
leading axes. All other operations get the sums.

These programs have no shardings in types (`untyped`): type checking is complete, and the results
have the shardings that their types required.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from jitney.core.program.evaluate import evaluate_by
from jitney.core.program.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, jaxprs_in_params
from jitney.core.program.memo import memoize_by_identity
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.sharding.mesh import AbstractMesh, Mesh
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec, names_of
from jitney.core.sharding_in_types import explicit
from jitney.core.types.avals import AbstractValue
from jitney.core.typing import ArrayLike
from jitney.core.util.record import record
from jitney.primitives import calculus, rules
from jitney.primitives.array import broadcasting, shape as shapes
from jitney.primitives.parallel import shard_map, spmd, untyped
from jitney.runtime.arrays.terms import Names, names_of_terms, owners
from jitney.transforms.batch import AxisData, batch_flat, move_to


@record(frozen=True)
class Terms:
    """The partial sums of all devices.

    Attributes:
      value: an array with a leading axis for each name.
      names: the mesh axes, in mesh order.
    """

    value: Any
    names: Names


Found: TypeAlias = "list[Any] | None"
Rule: TypeAlias = Callable[[JaxprEqn, list[Any]], "Found"]


@memoize_by_identity
def concerns(closed: ClosedJaxpr) -> bool:
    """Returns whether there is a program of partial sums for `closed`.

    There is one if operands or results are unreduced, unless loops or branches contain unreduced
    values, because these compute only sums.
    """
    avals = (*closed.in_avals, *closed.out_avals)
    return any(map(_names, avals)) and not _within(closed.jaxpr)


def _within(jaxpr: Jaxpr) -> bool:
    """Returns whether inner programs other than calls and `shard_map` have unreduced values."""
    for eqn in jaxpr.eqns:
        for program in jaxprs_in_params(eqn.params):
            inner = program.jaxpr
            if eqn.primitive.name == "shard_map":
                continue
            if (eqn.primitive.name != "jit" and _has_any(inner)) or _within(inner):
                return True
    return False


def _has_any(jaxpr: Jaxpr) -> bool:
    variables = [*jaxpr.invars, *[v for eqn in jaxpr.eqns for v in eqn.outvars]]
    if any([_names(v.aval) for v in variables]):
        return True
    inner = [program for eqn in jaxpr.eqns for program in jaxprs_in_params(eqn.params)]
    return any([_has_any(p.jaxpr) for p in inner])


@memoize_by_identity
def program_of(
    closed: ClosedJaxpr,
    has_operand_terms: tuple[bool, ...],
    wanted: tuple[NamedSharding | None, ...],
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    """Returns the program that computes partial sums in addition to the results.

    Args:
      closed: the program of sums.
      has_operand_terms: whether each operand is replaced by its partial sums.
      wanted: for each result the requested sharding, or None; empty if all are None.

    Returns: (program, has): `has` marks the results with partial sums, which are additional results
      at the end of the program.
    """
    has: list[bool] = []
    none = (None,) * len(closed.jaxpr.outvars)

    def program(*operands: ArrayLike) -> list[ArrayLike]:
        pairs = zip(operands, closed.jaxpr.invars, has_operand_terms, strict=True)
        args = [Terms(x, _names(v.aval)) if is_terms else x for x, v, is_terms in pairs]
        outs = evaluate_by(_of_equation, closed.jaxpr, closed.consts, args)
        outs = [
            _put(x, atom.aval, sharding)
            for x, atom, sharding in zip(outs, closed.jaxpr.outvars, wanted or none, strict=True)
        ]
        has[:] = [isinstance(x, Terms) for x in outs]
        return [*map(_summed, outs), *[x.value for x in outs if isinstance(x, Terms)]]

    avals: list[Any] = []
    for v, is_terms in zip(closed.jaxpr.invars, has_operand_terms, strict=True):
        aval = explicit.typed(v.aval, None)
        sharding = explicit.sharding_of(v.aval)
        if is_terms and sharding is not None:
            sizes = [sharding.mesh.shape[name] for name in _names(v.aval)]
            aval = aval.update(shape=(*sizes, *v.aval.shape))
        avals.append(aval)
    with explicit.as_written():
        jaxpr, _, consts = trace_to_jaxpr(program, avals, closed.jaxpr.debug_info)
    return ClosedJaxpr(jaxpr, consts), tuple(has)


def _put(
    x: ArrayLike | Terms, aval: AbstractValue, sharding: NamedSharding | None
) -> ArrayLike | Terms:
    """Converts the result `x` of type `aval` to partial sums if only `sharding` is unreduced."""
    names, own = names_of_terms(sharding), explicit.sharding_of(aval)
    if sharding is None or isinstance(x, Terms) or own is None or own.spec.unreduced or not names:
        return x
    same = own.mesh.shape_tuple == sharding.mesh.shape_tuple
    return _spread(x, names, sharding.mesh, _entries(aval)) if same else x


def _of_equation(eqn: JaxprEqn, operands: list[Any]) -> Sequence[ArrayLike | Terms]:
    name = eqn.primitive.name
    if name == "jit":
        inner = eqn.params["jaxpr"]
        return evaluate_by(_of_equation, inner.jaxpr, inner.consts, operands)
    if name == "shard_map" or any([_names(v.aval) for v in eqn.outvars]):
        results = _RULES.get(name, _mapped)(eqn, operands)
        if results is not None:
            return results
    return untyped.bind(eqn, list(map(_summed, operands)))


def _summed(x: ArrayLike | Terms) -> ArrayLike:
    if not isinstance(x, Terms):
        return x
    return calculus.reduce_sum(x.value, axes=tuple(range(len(x.names))))


def _names(aval: AbstractValue) -> Names:
    return names_of_terms(explicit.sharding_of(aval))


def _entries(aval: AbstractValue) -> list[Names]:
    return list(explicit.entries_of(explicit.sharding_of(aval), len(aval.shape)))


# --- rules ----------------------------------------------------------------------------------------


def _mapped(eqn: JaxprEqn, operands: list[Any]) -> Found:
    """Applies a linear operation to partial sums.

    Returns None if the rule does not apply: if no operand is given as partial sums, or if operands
    or results are unreduced along different mesh axes.
    """
    names = _names(eqn.outvars[0].aval)
    sharding = explicit.sharding_of(eqn.outvars[0].aval)
    if sharding is None or any([_names(v.aval) != names for v in eqn.outvars]):
        return None
    if not any([isinstance(x, Terms) for x in operands]):
        return None
    values: list[Any] = []
    dims: list[int | None] = []
    for x, atom in zip(operands, eqn.invars, strict=True):
        own = _names(atom.aval)
        if own not in ((), names):
            return None
        if own and not isinstance(x, Terms):
            x = _held_by_first(x, own, sharding.mesh)
        values.append(x.value if isinstance(x, Terms) else x)
        dims.append(0 if own else None)

    def level(k: int, *args: object) -> list[ArrayLike]:
        if k == len(names):
            return untyped.bind(eqn, args)
        size = sharding.mesh.shape[names[k]]
        outs, at = batch_flat(lambda *xs: level(k + 1, *xs), AxisData(None, size), args, dims)
        return [move_to(x, d, 0, size) for x, d in zip(outs, at, strict=True)]

    return [Terms(x, names) for x in level(0, *values)]


def _held_by_first(x: ArrayLike, names: Names, mesh: Mesh | AbstractMesh) -> Terms:
    """Returns partial sums of `x`, where the first device has `x` and the others zeros."""
    ndim = len(rules.shape_of(x))
    return _spread(x, names, mesh, [()] * ndim)


def _spread(
    x: ArrayLike, names: Names, mesh: Mesh | AbstractMesh, entries: Sequence[Names]
) -> Terms:
    """Returns partial sums of the array `x`, which is sharded along the mesh axes `entries`.

    Each element of `x` is in the partial sum of one device, as `runtime.arrays.terms.owners`
    determines; it is zero in those of the other devices.
    """
    shape = rules.shape_of(x)
    whole = (*[mesh.shape[name] for name in names], *shape)
    value = broadcasting.broadcast_to(x, whole)
    zero = broadcasting.broadcast_to(rules.const(x, 0), whole)
    for has in owners(names, mesh, entries, shape):
        value = calculus.select_n(broadcasting.broadcast_to(has, whole), zero, value)
    return Terms(value, names)


def _apart(
    x: ArrayLike, aval: AbstractValue, axes: Sequence[int], names: Names
) -> ArrayLike | None:
    """Splits `x` into shards along `axes`; returns None unless `names` shard exactly these axes."""
    sharding = explicit.sharding_of(aval)
    entries = [entry if k in axes else () for k, entry in enumerate(_entries(aval))]
    if sharding is None or sorted([n for e in entries for n in e], key=str) != sorted(
        names, key=str
    ):
        return None
    sizes = [(name, sharding.mesh.shape[name]) for name in names]
    return spmd.divided(x, PartitionSpec(*entries), sizes)


def _reduce_sum(eqn: JaxprEqn, operands: list[Any]) -> Found:
    (atom,), (x,) = eqn.invars, operands
    names, axes = _names(eqn.outvars[0].aval), eqn.params["axes"]
    if _names(atom.aval):
        return _mapped(eqn, operands)
    parts = _apart(x, atom.aval, axes, names)
    if parts is None:
        return None
    inner = tuple([axis + len(names) for axis in axes])
    return [Terms(calculus.reduce_sum(parts, axes=inner), names)]


def _dot_general(eqn: JaxprEqn, operands: list[Any]) -> Found:
    names, (x, y) = _names(eqn.outvars[0].aval), operands
    if any([_names(atom.aval) for atom in eqn.invars]):
        return _mapped(eqn, operands)
    (cx, cy), (bx, by) = eqn.params["dimension_numbers"]
    left = _apart(x, eqn.invars[0].aval, cx, names)
    right = _apart(y, eqn.invars[1].aval, cy, names)
    if left is None or right is None:
        return None
    n = len(names)
    front = tuple(range(n))

    def after(axes: Sequence[int]) -> tuple[int, ...]:
        return tuple([axis + n for axis in axes])

    numbers = ((after(cx), after(cy)), ((*front, *after(bx)), (*front, *after(by))))
    params: dict[str, Any] = {**eqn.params, "dimension_numbers": numbers, "out_sharding": None}
    return [Terms(calculus.dot_general(left, right, **params), names)]


def _reshard(eqn: JaxprEqn, operands: list[Any]) -> Found:
    (atom,), (x,), (out,) = eqn.invars, operands, eqn.outvars
    names, sharding = _names(out.aval), explicit.sharding_of(out.aval)
    own = explicit.sharding_of(atom.aval)
    if isinstance(x, Terms):
        return [x] if x.names == names else None
    if sharding is None or own is None or own.spec.unreduced:
        return None
    if own.mesh.shape_tuple != sharding.mesh.shape_tuple:
        return None
    return [_spread(x, names, sharding.mesh, _entries(atom.aval))]


def _shard_map(eqn: JaxprEqn, operands: list[Any]) -> Found:
    """Evaluates a `shard_map`: partial sums become results with extra leading mesh axes.

    Returns None if no operand or result is unreduced.
    """
    params, n = eqn.params, len(operands)
    region = shard_map.region_of(params)
    sums = [_sums_in(spec, region) for spec in (*params["in_specs"], *params["out_specs"])]
    if not any(sums):
        return None
    values: list[Any] = []
    for x, own in zip(operands, sums[:n], strict=True):
        if not own:
            x = _summed(x)
        elif not isinstance(x, Terms):
            x = _held_by_first(x, own, region.mesh)
        values.append(x.value if isinstance(x, Terms) else x)
    specs = [*params["in_specs"], *params["out_specs"]]
    specs = [
        PartitionSpec(*own, *[names_of(e) or None for e in spec])
        for spec, own in zip(specs, sums, strict=True)
    ]
    inner = params["jaxpr"]

    def on_one_device(*parts: ArrayLike) -> list[ArrayLike]:
        args = [
            shapes.squeeze(x, tuple(range(len(own)))) if own else x
            for x, own in zip(parts, sums[:n], strict=True)
        ]
        outs = untyped.evaluate(inner, (), *args)
        return [
            broadcasting.expand_dims(x, tuple(range(len(own)))) if own else x
            for x, own in zip(outs, sums[n:], strict=True)
        ]

    outs, axes = spmd.on_parts(on_one_device, region.axes, tuple(specs[:n]), values)
    sizes = dict(region.axes)
    outs = [spmd.joined(*each, sizes) for each in zip(outs, axes, specs[n:], strict=True)]
    return [Terms(x, own) if own else x for x, own in zip(outs, sums[n:], strict=True)]


def _sums_in(spec: PartitionSpec, region: shard_map.Region) -> Names:
    return tuple([name for name in region.mesh.axis_names if name in spec.unreduced])


_RULES: dict[str, Rule] = {
    "reduce_sum": _reduce_sum,
    "dot_general": _dot_general,
    "reshard": _reshard,
    "shard_map": _shard_map,
}
