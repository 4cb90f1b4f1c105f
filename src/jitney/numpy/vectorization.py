"""`vectorize`: functions of scalars or small arrays, applied to larger arrays by broadcasting."""

# Arguments from users are checked, whatever the annotations say.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from jitney.core.array import Array
from jitney.core.messages import messages
from jitney.core.settings import config
from jitney.core.source.user_warnings import warn
from jitney.core.typing import PyTree
from jitney.numpy import promotion
from jitney.primitives.array.broadcasting import broadcast_shapes, expand_dims
from jitney.primitives.array.shape import shape_of, squeeze
from jitney.primitives.elementwise.convert import as_value

if TYPE_CHECKING:
    from jitney.core.typing import Value

# Of type Any, since results of users' functions are of any type.
_TUPLE: tuple[type[Any], ...] = (tuple,)

R = TypeVar("R")

__all__ = ["vectorize"]

CoreDims = tuple[str, ...]

_NAME = r"\w+"
_DIMS = rf"(?:{_NAME}(?:,{_NAME})*)?"
_ARGUMENT = rf"\({_DIMS}\)"
_LIST = rf"{_ARGUMENT}(?:,{_ARGUMENT})*"
_SIGNATURE = rf"{_LIST}->{_LIST}"  # compiled at the first use, to keep imports fast


def parse_signature(signature: str) -> tuple[list[CoreDims], list[CoreDims]]:
    """Returns the names of the core dimensions of operands and of results.

    Raises:
      ValueError: if the signature is not of the form "(m,n),(n)->(m)".
    """
    if not re.fullmatch(_SIGNATURE, signature):
        raise ValueError(
            "jnp.vectorize: `signature` must name core dimensions as in '(m,n),(n)->(m)', but it is "
            f"{signature!r}"
        )
    sides = [
        [tuple(re.findall(_NAME, argument)) for argument in re.findall(_ARGUMENT, side)]
        for side in signature.split("->")
    ]
    return sides[0], sides[1]


def match_sizes(shape: Sequence[int], dims: CoreDims, sizes: dict[str, int], error: str) -> None:
    """Adds the sizes of the core dimensions `dims`, the last axes of `shape`, to `sizes`."""
    if not dims:
        return
    if len(shape) < len(dims):
        raise ValueError(
            f"jnp.vectorize: an array must have an axis for each of the core dimensions {dims}, but "
            f"it has shape {tuple(shape)} {error}"
        )
    for name, n in zip(dims, shape[-len(dims) :], strict=True):
        known = int(name) if name.isdigit() else sizes.get(name)
        if known is not None and known != n:
            raise ValueError(
                f"jnp.vectorize: core dimension {name!r} must have the same size everywhere, but "
                f"it has {n} here and {known} elsewhere {error}"
            )
        sizes[name] = n


def vectorize(
    pyfunc: Callable[..., Any],
    *,
    excluded: Collection[int | str] = frozenset(),
    signature: str | None = None,
) -> Callable[..., Any]:
    """Returns a function that applies `pyfunc` to arrays with leading axes, which are broadcast.

    Args:
      pyfunc: a function of scalars, or of arrays of the shapes in `signature`.
      excluded: positions and names of arguments that are passed unchanged.
      signature: the core dimensions of the operands and results of `pyfunc`, such as
        "(m,n),(n)->(m)"; by default all are scalars.

    Returns: a function of arrays.

    Raises:
      ValueError: if `excluded` contains negative positions; or, raised by the returned function, if
        the signature is invalid or the shapes of the arguments do not match it.
      TypeError: if `excluded` contains anything but integers and strings; or, raised by the
        returned function, if the number of operands or results does not match the signature.

    Example:
      >>> def distance(x, y):
      ...     return jnp.sqrt(jnp.sum((x - y) ** 2))
      >>> points = jnp.array([[3.0, 4.0], [0.0, 1.0]])
      >>> jnp.vectorize(distance, signature="(n),(n)->()")(jnp.zeros(2), points)
      Array([5., 1.], dtype=float32)
    """
    _check_excluded(excluded)
    excluded = frozenset(excluded)

    @functools.wraps(pyfunc)
    def wrapped(*args: PyTree, **kwargs: PyTree) -> object:
        from jitney.api.batching.vmap import vmap

        error = f"(excluded={excluded!r}, signature={signature!r})"
        function, operands = only_arrays(pyfunc, args, kwargs, excluded)
        if signature is None:
            inputs, outputs = [()] * len(operands), None
        else:
            inputs, outputs = parse_signature(signature)
        none = _absent_operands(operands, inputs, signature)
        if none:
            function = _with_none(function, none, len(operands))
            inputs = [d for k, d in enumerate(inputs) if k not in none]
            operands = [x for k, x in enumerate(operands) if k not in none]
        if len(inputs) != len(operands):
            raise TypeError(
                f"jnp.vectorize: the signature has {messages.counted(len(inputs), 'operand')}, but "
                f"{messages.there_are(len(operands))} {error}"
            )
        promotion.check_arraylike("vectorize", *operands)
        values = [as_value(x) for x in operands]
        sizes: dict[str, int] = {}
        for x, dims in zip(values, inputs, strict=True):
            match_sizes(x.shape, dims, sizes, error)
        leading = [x.shape[: x.ndim - len(d)] for x, d in zip(values, inputs, strict=True)]
        _check_ranks([s for s in leading if s], [x.shape for x in values])
        common = broadcast_shapes(*leading) if leading else ()
        checked = checking_results(function, outputs, sizes, error)
        return _mapped(checked, values, leading, common, vmap)

    return wrapped


def _check_excluded(excluded: Collection[int | str]) -> None:
    """Raises TypeError or ValueError unless `excluded` contains positions and names."""
    if any(not isinstance(k, int | str) for k in excluded):
        raise TypeError(
            "jnp.vectorize: `excluded` must be positions and names of arguments, integers and "
            f"strings, but it is {excluded!r}"
        )
    if any(isinstance(k, int) and k < 0 for k in excluded):
        raise ValueError(
            f"jnp.vectorize: positions in `excluded` must be 0 or more, but it is {excluded!r}"
        )


def _absent_operands(
    operands: Sequence[Any], inputs: Sequence[Sequence[str]], signature: str | None
) -> set[int]:
    """Returns the positions of operands that are None, which must not have core dimensions."""
    none = {k for k, x in enumerate(operands) if x is None}
    misplaced = {k for k in none if k < len(inputs) and inputs[k]}
    if misplaced:
        raise ValueError(
            f"jnp.vectorize: arguments {sorted(misplaced)} are None, but they have core dimensions "
            f"in {signature=}"
        )
    return none


def _check_ranks(leading: list[tuple[int, ...]], shapes: list[tuple[int, ...]]) -> None:
    """Warns or raises, as `jax_numpy_rank_promotion` specifies, if mapped ranks differ."""
    mode = config.numpy_rank_promotion_mode()
    if mode == "allow" or len({len(s) for s in leading}) <= 1:
        return
    message = (
        f"jnp.vectorize: operands with shapes {shapes} require rank promotion, and "
        f"jax_numpy_rank_promotion is {mode!r}"
    )
    if mode == "raise":
        raise ValueError(message)
    warn(message)


def _mapped(
    function: Callable[..., Any],
    values: list[Any],
    leading: list[tuple[int, ...]],
    common: tuple[int, ...],
    vmap: Callable[..., Any],
) -> object:
    """Maps `function` over axes of sizes `common`, of which the last is the innermost."""
    rank = len(common)
    # Axes of size 1 are not mapped over; axes along which no operand is mapped are inserted
    # afterwards.
    squeezed: list[Any] = []
    has_axis: list[list[bool]] = []
    for x, shape in zip(values, leading, strict=True):
        missing = rank - len(shape)
        ones = [k for k, n in enumerate(shape) if n == 1]
        squeezed.append(squeeze(x, ones) if ones else x)
        flags = [False] * missing + [n != 1 for n in shape]
        has_axis.append(flags)
    unmapped: list[int] = []
    for k in reversed(range(rank)):
        flags = [f[k] for f in has_axis]
        if any(flags):
            function = vmap(function, in_axes=tuple(0 if flag else None for flag in flags))
        else:
            unmapped.append(k)
    out = function(*squeezed)
    if not unmapped:
        return out
    dims = tuple(sorted(unmapped))
    if isinstance(out, _TUPLE):
        return tuple([expand_dims(as_value(y), dims) for y in out])
    return expand_dims(as_value(out), dims)


def only_arrays(
    function: Callable[..., R],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    excluded: Collection[int | str],
) -> tuple[Callable[..., R], list[Value]]:
    """Returns a function of the arguments that are not excluded, and a list of these arguments."""
    fixed_args = {k: x for k, x in enumerate(args) if k in excluded}
    fixed_kwargs = {k: x for k, x in kwargs.items() if k in excluded}
    positions = [k for k in range(len(args)) if k not in excluded]
    names = [k for k in kwargs if k not in excluded]
    count = len(args)

    def call(*free: Array) -> R:
        full: list[Any] = [None] * count
        for k, x in fixed_args.items():
            full[k] = x
        for k, x in zip(positions, free[: len(positions)], strict=True):
            full[k] = x
        by_name = dict(zip(names, free[len(positions) :], strict=True))
        return function(*full, **fixed_kwargs, **by_name)

    return call, [args[k] for k in positions] + [kwargs[k] for k in names]


def _with_none(function: Callable[..., R], none: Collection[int], count: int) -> Callable[..., R]:
    """Returns `function` with None inserted at the positions `none` of its `count` arguments."""

    def call(*free: Array) -> R:
        operands = iter(free)
        return function(*[None if k in none else next(operands) for k in range(count)])

    return call


def checking_results(
    function: Callable[..., Any],
    outputs: list[CoreDims] | None,
    sizes: dict[str, int],
    error: str,
) -> Callable[..., object]:
    """Returns `function` with a check of the shapes of its results."""

    def call(*args: Array) -> object:
        out = function(*args)
        results = out if isinstance(out, _TUPLE) else (out,)
        if outputs is None:
            return out
        if len(outputs) > 1 and not isinstance(out, _TUPLE):
            raise TypeError(
                f"jnp.vectorize: `pyfunc` must return a tuple of {len(outputs)} results, as the "
                f"signature says, but it returned {out}"
            )
        if len(results) != len(outputs):
            raise TypeError(
                f"jnp.vectorize: `pyfunc` must return {len(outputs)} results, as the signature "
                f"says, but it returned {len(results)}"
            )
        known = dict(sizes)
        for x, dims in zip(results, outputs, strict=True):
            if len(shape_of(x)) != len(dims):
                raise ValueError(
                    f"jnp.vectorize: a result must have only the core dimensions {dims}, but it "
                    f"has shape {shape_of(x)} {error}"
                )
            match_sizes(shape_of(x), dims, known, error)
        return out

    return call


vectorize.__module__ = "jax.numpy"
