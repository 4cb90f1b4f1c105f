"""The kernel IR: one loop nest over an iteration domain, with a straight-line scalar body.

    kernel    ::= Kernel(sizes, reduced, params, body, outputs, in_order)
    statement ::= Const(value) | IndexValue(index) | Load(param, index) | Call(fn, args)
    output    ::= Store(param, index, value, where) | Reduce(param, index, fn, value, factor)
    index     ::= Affine(offset, coefficients, terms)

A body is a list of statements; a statement is known by its position in the list, and refers only to
earlier ones. It is computed at every point of the domain. Parallel axes come first; the last `reduced`
axes are reduced: a `Reduce` combines its value over them and writes one element for each point of the
parallel axes, a `Store` writes at every point, or where a statement is true (kernels with stores have
no reduced axes). Loads, calls and outputs know the node that they are part of, for tools that show
where code comes from; nothing else depends on it.

An index is a linear position in a buffer, counted in elements: offset + sum of coefficients times
loop indices + sum of terms (value of an integer statement times a factor). Terms make loads and
stores indirect. Where stores are at places that depend on values, points are worked on in order, and
what one stores the next may load.

Constraints (the verifier's identifiers):
    K1  statements refer to earlier statements only
    K2  coefficients: one per axis
    K3  terms of reductions are the same at every point; they have coefficient 0 along reduced axes
    K4  stores and reductions are not mixed, and a kernel of stores has no reduced axes
    K5  terms are integer statements
    K6  the condition of a store is a predicate
    K7  factors are of the dtype of their values, and of sums
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from jitney.core.record import record

if TYPE_CHECKING:
    from jitney.compiler.hlo import ir as hlo


def is_half(dtype: np.dtype) -> bool:
    """Returns whether `dtype` is a float of 16 bits."""
    return dtype.itemsize == 2 and dtype.kind in "fV"


def accumulator(dtype: np.dtype) -> np.dtype:
    """The dtype in which sums of `dtype` are carried: 16-bit floats are rounded once, at the end."""
    return np.dtype(np.float32) if is_half(dtype) else dtype


@record(frozen=True)
class Affine:
    """offset + sum(coefficients[k] * i_k) + sum(factor * value of statement)."""

    offset: int
    coefficients: tuple[int, ...]
    terms: tuple[tuple[int, int], ...] = ()

    def bounds(self, extents: Sequence[int]) -> tuple[int, int]:
        """Returns the least and the greatest value over axes of `extents`, without the terms."""
        low = high = self.offset
        for c, n in zip(self.coefficients, extents, strict=True):
            low, high = low + min(c * (n - 1), 0), high + max(c * (n - 1), 0)
        return low, high


@record(frozen=True, eq=False)
class Const:
    """A scalar constant: a 0-dimensional array."""

    value: np.ndarray

    @property
    def dtype(self) -> np.dtype:
        return self.value.dtype


@record(frozen=True, eq=False)
class IndexValue:
    """An index as a value of `dtype`."""

    index: Affine
    dtype: np.dtype


@record(frozen=True, eq=False)
class Load:
    """The element of `params[param]` at `index`, an operand of `node`."""

    param: int
    index: Affine
    dtype: np.dtype
    node: hlo.Node | None = None


@record(frozen=True, eq=False)
class Call:
    """The scalar function `fn` of earlier statements; `convert` and `bitcast` go to `dtype`."""

    fn: str
    args: tuple[int, ...]
    dtype: np.dtype
    node: hlo.Node | None = None


Statement: TypeAlias = Const | IndexValue | Load | Call


@record(frozen=True, eq=False)
class Store:
    """Writes statement `value` to `params[param]` at `index`, where statement `where` is true."""

    param: int
    index: Affine
    value: int
    where: int | None = None
    node: hlo.Node | None = None


@record(frozen=True, eq=False)
class Reduce:
    """Combines statement `value` over the reduced axes by the monoid `fn`; writes it at `index`.

    The value may be of a wider dtype than the buffer: the result is rounded once. With a `factor`, sums
    are of products of the two statements, which are not rounded themselves where the processor has an
    instruction for that: contractions.
    """

    param: int
    index: Affine
    fn: str
    value: int
    factor: int | None = None
    node: hlo.Node | None = None


@record(frozen=True, eq=False)
class Kernel:
    """A loop nest. See the module's docstring.

    Attributes:
      sizes: size of each axis, parallel ones first.
      reduced: how many of the last axes are reduced.
      params: element types of the buffers it is given, inputs and outputs.
      body: statements.
      outputs: what it writes.
      in_order: whether reductions take their elements in the order of indices.
    """

    extents: tuple[int, ...]
    reduced: int
    params: tuple[np.dtype, ...]
    body: tuple[Statement, ...]
    outputs: tuple[Store | Reduce, ...]
    in_order: bool = False

    @property
    def parallel(self) -> tuple[int, ...]:
        """Sizes of the axes that are not reduced."""
        return self.extents[: len(self.extents) - self.reduced]

    @property
    def points(self) -> int:
        """How often the body is computed."""
        n = 1
        for extent in self.extents:
            n *= extent
        return n


def statement_key(s: Statement) -> tuple[object, ...]:
    """Equal for statements that compute the same."""
    match s:
        case Const():
            return ("number", s.dtype, s.value.tobytes())
        case IndexValue():
            return ("position", s.index, s.dtype)
        case Load():
            return ("load", s.param, s.index, s.dtype)
        case Call():
            return ("call", s.fn, s.args, s.dtype)


def kernel_key(kernel: Kernel) -> tuple[object, ...]:
    """Equal for kernels that compute the same."""
    return (
        kernel.extents, kernel.reduced, kernel.params, kernel.in_order,
        tuple([statement_key(s) for s in kernel.body]),
        tuple([output_key(o) for o in kernel.outputs]),
    )  # fmt: skip


def output_key(o: Store | Reduce) -> tuple[object, ...]:
    """Equal for outputs that write the same."""
    if isinstance(o, Reduce):
        return (o.param, o.index, o.value, o.fn, o.factor)
    return (o.param, o.index, o.value, o.where)


def invariants(kernel: Kernel) -> list[bool]:
    """For each statement, whether it is the same at every point of the domain."""
    fixed: list[bool] = []
    for s in kernel.body:
        match s:
            case Const():
                fixed.append(True)
            case Call():
                fixed.append(all(fixed[a] for a in s.args))
            case _:
                same = not any(s.index.coefficients)
                fixed.append(same and all(fixed[t] for t, _ in s.index.terms))
    return fixed


def visits_once(kernel: Kernel, index: Affine) -> bool:
    """Return whether no two points of the domain have the same element at `index`; False if unknown.

    Coefficients are those of a number system whose digits are the indices: each exceeds what all
    smaller ones add up to. Terms have to be the same at every point.
    """
    if index.terms:
        fixed = invariants(kernel)
        if not all(fixed[t] for t, _ in index.terms):
            return False
    strides = [
        (abs(c), n) for c, n in zip(index.coefficients, kernel.extents, strict=True) if n > 1
    ]
    reach = 0
    for c, n in sorted(strides):
        if c <= reach:
            return False
        reach += c * (n - 1)
    return True
