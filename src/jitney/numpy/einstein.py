"""Sums of products in Einstein notation: `einsum`, `einsum_path`.

`opt_einsum` determines the order of contractions; each contraction becomes one `dot_general`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from jitney.core.messages import messages
from jitney.core.symbolic.expressions import DimExpr
from jitney.core.types import dtypes
from jitney.core.typing import Array, ArrayLike, DTypeLike
from jitney.numpy import promotion
from jitney.numpy.out_sharding import call_with_sharding
from jitney.primitives.array import placement, resharding
from jitney.primitives.array.broadcasting import broadcast_in_dim, broadcast_to, expand_dims
from jitney.primitives.array.creation import broadcasted_iota
from jitney.primitives.array.shape import shape_of, squeeze, transpose
from jitney.primitives.elementwise import convert
from jitney.primitives.elementwise.compare import eq
from jitney.primitives.elementwise.select import select
from jitney.primitives.linalg.dot import dot_general
from jitney.primitives.reduction import reduce

if TYPE_CHECKING:
    from jitney.core.sharding.named import NamedSharding
    from jitney.core.sharding.partition_spec import PartitionSpec
    from jitney.core.sharding.sharding import Sharding
    from jitney.core.typing import Value
    from jitney.primitives.linalg.precision import PrecisionLike

__all__ = ["einsum", "einsum_path"]

_BOOL = np.dtype(bool)
_UINT32 = np.dtype(np.uint32)

Optimize: TypeAlias = "bool | str | Sequence[tuple[int, ...]]"
"""The order of contractions: False for left to right, True for the optimum, a strategy or a path."""


def einsum(
    subscripts: str | ArrayLike,
    /,
    *operands: ArrayLike | Sequence[Any],
    out: None = None,
    optimize: Optimize = "auto",
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    _dot_general: Callable[..., Array] = dot_general,
    out_sharding: Sharding | PartitionSpec | None = None,
) -> Array:
    """Evaluates a sum of products in Einstein notation, in an order that `opt_einsum` determines.

    Args:
      subscripts: the names of the axes of each operand and of the result, such as "ij,jk->ik"; axes
        whose names are missing from the result are summed over. If lists of axes are passed
        instead, this is the first operand.
      *operands: the arrays; without subscripts, each array is followed by the list of its axes.
      out: must be None.
      optimize: how to determine the order: a strategy of `opt_einsum` ("auto" searches exhaustively
        for up to four operands, and uses cheaper algorithms for more), a path, True for "optimal",
        which takes exponential time, or False to contract pairs from left to right.
      precision: the precision of the contractions.
      preferred_element_type: the dtype of the accumulation and the result; the common dtype by
        default.
      out_sharding: the sharding of the result; a PartitionSpec refers to the context mesh.

    Returns: an array whose axes are those named for the result.

    Raises:
      ValueError: if the subscripts do not match the operands.

    Example:
      >>> a = jnp.arange(6).reshape(2, 3)
      >>> jnp.einsum("ij,kj->ik", a, a)
      Array([[ 5, 14],
             [14, 50]], dtype=int32)
      >>> jnp.einsum("ii", jnp.eye(3))
      Array(3., dtype=float32)
    """
    promotion.check_no_out("einsum", out)
    # Imported at the first use: few programs need it.
    import opt_einsum

    arrays, args = _arguments(subscripts, operands)
    promotion.check_arraylike("einsum", *arrays)
    try:
        plan: Any = opt_einsum.contract_path(
            *args, einsum_call=True, use_blas=True, optimize=_strategy(optimize, len(arrays))
        )
    except ValueError:
        wrong = _what_is_wrong(subscripts, [shape_of(x) for x in arrays])
        if not wrong:
            raise
        raise ValueError(f"jnp.einsum: {wrong}") from None
    _, contractions = plan  # with `einsum_call`, a pair instead of a PathInfo
    steps = [(tuple(c[0]), c[2]) for c in contractions]
    place = None
    if out_sharding is not None:
        place = resharding.as_named(out_sharding, "einsum")
    if place is not None and len(steps) > 1:
        # `place` is the sharding of the result; those of intermediate results are not specified.

        def contracted(*xs: Array) -> Array:
            values = [*xs]
            return _einsum(values, steps, precision, preferred_element_type, _dot_general, None)

        return call_with_sharding(
            place, "einsum", contracted, *[convert.as_value(x) for x in arrays]
        )
    return _einsum(arrays, steps, precision, preferred_element_type, _dot_general, place)


def _what_is_wrong(subscripts: object, shapes: Sequence[tuple[int, ...]]) -> str:
    """Returns the reason why the subscripts do not match the operands; "" if it is not known."""
    if not isinstance(subscripts, str) or "." in subscripts:
        return ""
    inputs, _, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(shapes):
        return (
            f"'{inputs}' names {messages.counted(len(terms), 'operand')}, but "
            f"{messages.there_are(len(shapes))}"
        )
    seen: dict[str, tuple[int, int]] = {}
    for k, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        if len(term) != len(shape):
            axes = messages.counted(len(term), "axis")
            return f"'{term}' names {axes}, but operand {k} has shape {shape}"
        for label, size in zip(term, shape, strict=True):
            first, known = seen.setdefault(label, (k, size))
            if known == 1:
                seen[label] = k, size
            elif size not in (1, known):
                return (
                    f"label '{label}' must have the same size everywhere, but its sizes in operand "
                    f"{first} ({known}) and in operand {k} ({size}) differ"
                )
    missing = [label for label in output if label not in seen]
    return f"label '{missing[0]}' of the result does not occur in any operand" if missing else ""


def _arguments(
    subscripts: str | ArrayLike, operands: tuple[Any, ...]
) -> tuple[list[Value], tuple[object, ...]]:
    """Returns the arrays, and the arguments with arrays replaced by their shapes."""
    if isinstance(subscripts, str):
        return list(operands), (subscripts, *[_Shape(shape_of(x)) for x in operands])
    pairs = (subscripts, *operands)
    arrays = list(pairs[: len(pairs) // 2 * 2 : 2])
    args = [
        _Shape(shape_of(x)) if k % 2 == 0 and k // 2 < len(arrays) else x
        for k, x in enumerate(pairs)
    ]
    return arrays, tuple(args)


def _strategy(optimize: Optimize, count: int) -> Optimize:
    """Returns the `optimize` argument of `opt_einsum`; names of strategies and paths are unchanged.

    "auto" chooses an algorithm by the number of operands, so that the search is not exponential.
    True requests the optimum, however long the search takes.
    """
    if optimize is True:
        return "optimal"
    if optimize is False:
        return [tuple(range(count))] if count <= 2 else [(0, 1)] * (count - 1)
    return optimize


class _Shape:
    """The shape of an operand, which is all that `opt_einsum` reads of it."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        # The order of contractions is valid for all sizes; it is chosen for typical ones.
        self.shape = tuple([_USUAL_EXTENT if isinstance(n, DimExpr) else n for n in shape])
        self.ndim = len(shape)


_USUAL_EXTENT = 64  # stands for symbolic sizes when costs are compared


def einsum_path(
    subscripts: str | ArrayLike,
    /,
    *operands: ArrayLike | Sequence[Any],
    optimize: Optimize = "auto",
) -> tuple[Collection[tuple[int, ...]], object]:
    """Determines the order in which `einsum` contracts its operands, without computing anything.

    Args:
      subscripts: see `einsum`.
      *operands: see `einsum`.
      optimize: how to determine the order; see `einsum`.

    Returns: the order, as a list of tuples of positions, and a description of it, both as
      `opt_einsum.contract_path` returns them.

    Example:
      >>> a, b, c = jnp.ones((2, 9)), jnp.ones((9, 9)), jnp.ones((9, 3))
      >>> jnp.einsum_path("ij,jk,kl->il", a, b, c)[0]
      [(0, 1), (0, 1)]
    """
    import opt_einsum

    arrays, _ = _arguments(subscripts, operands)
    path: Any = opt_einsum.contract_path(
        subscripts, *operands, optimize=_strategy(optimize, len(arrays))
    )
    return path


def _einsum(
    arrays: list[Any],
    steps: list[tuple[tuple[int, ...], str]],
    precision: PrecisionLike,
    preferred: DTypeLike | None,
    dot: Callable[..., Array],
    place: NamedSharding | None,
) -> Array:
    common = dtypes.common_type(tuple([promotion.type_of(x) for x in arrays]))
    dtype, weak = common
    if preferred is not None:
        dtype, weak = convert.user_dtype(preferred, "einsum"), False
    values = [convert.as_value(x) for x in arrays]  # contractions may mix dtypes
    if len(values) == 1:
        values = [convert.convert(values[0], dtype, weak)]
    for number, (positions, equation) in enumerate(steps):
        inputs, result = equation.split("->")
        terms = inputs.split(",")
        if len(positions) > 2:
            raise NotImplementedError(
                f"jnp.einsum: each step of the path must have one or two operands, but {equation!r} "
                f"has {len(positions)}; pass another `optimize`, or omit it"
            )
        taken = [values.pop(k) for k in positions]
        summed = [not set(term) <= set(result).union(*terms[:k], *terms[k + 1 :])
                  for k, term in enumerate(terms)]  # fmt: skip
        taken = [
            convert.convert(x, *common) if s else x for x, s in zip(taken, summed, strict=True)
        ]
        if len(taken) == 1:
            out = _of_one(taken[0], terms[0], result, place)
        else:
            target = place if number == len(steps) - 1 else None
            out = _of_two(taken, terms, result, precision, dtype, dot, target)
        values.append(out)
    product = convert.convert(values[0], dtype, weak)
    return product if place is None else placement.placed(product, None, place)


# --- single operands ------------------------------------------------------------------------------


def _sum(x: Array, axes: tuple[int, ...], place: NamedSharding | None = None) -> Array:
    if not axes:
        return x
    if x.dtype == _BOOL:
        return reduce.reduce_or(x, axes)
    return reduce.reduce_sum(x, axes, out_sharding=place)


def _simplify(
    x: Array, names: str, keep: str, place: NamedSharding | None = None
) -> tuple[Array, str]:
    """Takes diagonals of `x` along axes that share a name, and sums over axes not in `keep`.

    The result of a sum has the sharding `place`.
    """
    gone = {k for k, name in enumerate(names) if name not in keep}
    for name in dict.fromkeys(names):
        places = [k for k, other in enumerate(names) if other == name]
        for k in places[1:]:
            x = _masked_diagonal(x, places[0], k)
            gone.add(k)
    x = _sum(x, tuple(sorted(gone)), place)
    return x, "".join([name for k, name in enumerate(names) if k not in gone])


def _masked_diagonal(x: Array, first: int, second: int) -> Array:
    """Returns `x` with zeros where the indices along the two axes differ."""
    n, m = x.shape[first], x.shape[second]
    if n != m:
        raise ValueError(f"jnp.einsum: axes with the same label have sizes {n} and {m}")
    rows, columns = (broadcasted_iota(_UINT32, (n, n), k) for k in (0, 1))
    same = broadcast_in_dim(eq(rows, columns), x.shape, (first, second))
    zero = convert.scalar_operand(0, x.dtype, x.weak_type)
    return select(same, x, broadcast_to(zero, x.shape))


def _of_one(x: Array, names: str, result: str, place: NamedSharding | None) -> Array:
    remaining = "".join([c for c in dict.fromkeys(names) if c in result])
    target = None if place is None else _ordered(place, result, remaining)
    x, names = _simplify(x, names, result, target)
    return transpose(x, tuple([names.index(c) for c in result]))


# --- pairs ----------------------------------------------------------------------------------------


def _of_two(
    operands: list[Any],
    terms: list[str],
    result: str,
    precision: PrecisionLike,
    dtype: np.dtype,
    dot: Callable[..., Array],
    place: NamedSharding | None,
) -> Array:
    (a, b), (a_names, b_names) = operands, terms
    sizes: dict[str, int] = {}
    for x, names in ((a, a_names), (b, b_names)):
        for name, n in zip(names, x.shape, strict=True):
            sizes[name] = max(sizes.get(name, 1), n)
    a, a_names = _without_stretched(a, a_names, sizes)
    b, b_names = _without_stretched(b, b_names, sizes)
    a, a_names = _simplify(a, a_names, b_names + result)
    b, b_names = _simplify(b, b_names, a_names + result)
    shared = [c for c in a_names if c in b_names]
    batch = [c for c in shared if c in result]
    contract = [c for c in shared if c not in result]
    rest_a = "".join([c for c in a_names if c not in shared])
    rest_b = "".join([c for c in b_names if c not in shared])
    # The operand that came first in the list is popped last.
    names = "".join(batch) + rest_b + rest_a
    if names == result:
        a, b, a_names, b_names = b, a, b_names, a_names
    else:
        names = "".join(batch) + rest_a + rest_b
    numbers = (
        (tuple(map(a_names.index, contract)), tuple(map(b_names.index, contract))),
        (tuple(map(a_names.index, batch)), tuple(map(b_names.index, batch))),
    )
    options: dict[str, Any] = {}
    if place is not None:
        options["out_sharding"] = _ordered(place, result, names)
    out = dot(a, b, numbers, precision, preferred_element_type=dtype, **options)
    out = transpose(out, tuple([names.index(c) for c in result if c in names]))
    missing = tuple([k for k, c in enumerate(result) if c not in names])
    if missing:
        out = broadcast_to(expand_dims(out, missing), tuple([sizes[c] for c in result]))
    return out


def _ordered(place: NamedSharding, result: str, names: str) -> NamedSharding:
    """Permutes `place`, a sharding of the axes `result`, into the order of the axes `names`."""
    entries = dict(zip(result, place.spec, strict=False))
    partitions = tuple([entries.get(c) for c in names])
    return place.update(spec=place.spec.update(partitions=partitions))


def _without_stretched(x: Array, names: str, sizes: dict[str, int]) -> tuple[Array, str]:
    """Removes the axes of size 1 along which `x` would be broadcast."""
    axes = [k for k, c in enumerate(names) if x.shape[k] == 1 != sizes[c]]
    if not axes:
        return x, names
    return squeeze(x, axes), "".join([c for k, c in enumerate(names) if k not in axes])


for _name in __all__:
    globals()[_name].__module__ = "jax.numpy"
