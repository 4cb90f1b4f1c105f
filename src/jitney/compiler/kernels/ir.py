"""The kernel IR: one loop nest over an iteration domain, with a straight-line scalar body.

    kernel    ::= Kernel(extents, reduced, params, body, outputs, in_order, loop)
    loop      ::= While(carries, condition, next_values, trips)
    carry     ::= Carry(start, finish, index, dtype, varies)
    statement ::= Const(value) | IndexValue(index) | Load(param, index) | Call(fn, args)
                | Carried(carry)
    output    ::= Store(param, index, value, where) | Reduce(param, index, fn, value, factor)
    index     ::= Affine(offset, coefficients, terms)

A body is a list of statements, which is executed at every point of the domain. A statement is
identified by its position in the list, and refers only to earlier statements. Parallel axes come
first; the last `reduced` axes are reduced: a `Reduce` combines its value over them, and writes one
element for each point of the parallel axes. A `Store` writes at every point, or at the points at
which the statement `where` is true; kernels with stores have no reduced axes. Loads, calls and
outputs record the tensor IR node that they compute, for tools that show the origin of code; nothing
else depends on it.

An index is a linear position in a buffer, in elements: an offset, plus the sum of coefficients
times loop indices, plus the sum of terms, which are values of integer statements times factors.
Terms make loads and stores indirect. If the addresses of stores depend on values, points are
processed in order, and a point can load elements that earlier points have stored.

A kernel with a `loop` (a loop kernel) runs a complete `while` loop at every point, with its carries
in registers. Each iteration evaluates `condition`. While it is true, the stores are executed, and
each carry is set to the value of its statement in `next_values`. After the loop, the carries are
written to their buffers. Such a kernel has at most one axis, whose points are independent loops;
they are executed as lanes of vectors, as on SIMT processors. A vector of lanes iterates until the
condition is false in all of its lanes, so a lane whose own condition has become false must keep its
carries, and must not store.

Constraints (the verifier's identifiers):
    K1  statements refer to earlier statements only
    K2  an index has one coefficient per axis
    K3  indices of reductions have equal terms at every point, and coefficient 0 along reduced axes
    K4  stores and reductions are not mixed, and a kernel with stores has no reduced axes
    K5  terms are integer statements
    K6  the condition of a store is a predicate
    K7  factors have the dtype of their values, and only sums have factors

Further constraints of kernels with a loop (`kernels/while_analysis.py` checks L2, L3 and a part of L6):
    L1  the condition is a predicate, and the next value of every carry has its dtype
    L2  if the condition differs between lanes, the carries of a lane are frozen once it is false
    L3  the next value of a carry that is uniform across lanes is uniform as well
    L4  there is at most one axis, nothing is reduced, and stores have no condition
    L5  carried statements refer to carries of the loop, and have their types
    L6  lanes write to different elements, at positions that do not depend on values that differ
        between lanes, and read no buffer that they store to; carries that differ between lanes have
        an element for each lane, and others have one
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from jitney.compiler.cost import COSTS
from jitney.core.util.record import record

if TYPE_CHECKING:
    from jitney.compiler.hlo import ir as hlo


def is_half(dtype: np.dtype) -> bool:
    """Returns whether `dtype` is a 16-bit float."""
    return dtype.itemsize == 2 and dtype.kind in "fV"


def accumulator(dtype: np.dtype) -> np.dtype:
    """Returns the dtype in which sums of `dtype` are accumulated: float32 for 16-bit floats."""
    return np.dtype(np.float32) if is_half(dtype) else dtype


@record(frozen=True)
class Affine:
    """The index offset + sum(coefficients[k] * i_k) + sum(factor * value of statement)."""

    offset: int
    coefficients: tuple[int, ...]
    terms: tuple[tuple[int, int], ...] = ()

    def bounds(self, extents: Sequence[int]) -> tuple[int, int]:
        """Returns the range of the index, without its terms, over a domain of sizes `extents`."""
        low = high = self.offset
        for c, n in zip(self.coefficients, extents, strict=True):
            low, high = low + min(c * (n - 1), 0), high + max(c * (n - 1), 0)
        return low, high


@record(frozen=True, eq=False)
class Const:
    """A scalar constant, as a 0-dimensional array."""

    value: np.ndarray

    @property
    def dtype(self) -> np.dtype:
        return self.value.dtype


@record(frozen=True, eq=False)
class IndexValue:
    """An index as a value of dtype `dtype`."""

    index: Affine
    dtype: np.dtype


@record(frozen=True, eq=False)
class Load:
    """A load of the element of `params[param]` at `index`; `node` is the node that it computes."""

    param: int
    index: Affine
    dtype: np.dtype
    node: hlo.Node | None = None


@record(frozen=True, eq=False)
class Call:
    """A call of the scalar function `fn` on earlier statements; its result has dtype `dtype`."""

    fn: str
    args: tuple[int, ...]
    dtype: np.dtype
    node: hlo.Node | None = None


@record(frozen=True, eq=False)
class Carried:
    """The current value of carry number `carry` of the loop; it `varies` if lanes differ."""

    carry: int
    dtype: np.dtype
    varies: bool


Statement: TypeAlias = Const | IndexValue | Load | Call | Carried


@record(frozen=True, eq=False)
class Store:
    """A store of statement `value` to `params[param]` at `index`, if `where` is None or true."""

    param: int
    index: Affine
    value: int
    where: int | None = None
    node: hlo.Node | None = None


@record(frozen=True, eq=False)
class Reduce:
    """A reduction of statement `value` over the reduced axes by monoid `fn`, written at `index`.

    The value can have a wider dtype than the buffer; the result is then rounded once. With a
    `factor`, it is a sum of products of the two statements (a contraction). The products are not
    rounded individually if the processor has fused multiply-add.
    """

    param: int
    index: Affine
    fn: str
    value: int
    factor: int | None = None
    node: hlo.Node | None = None


@record(frozen=True)
class Carry:
    """A loop-carried scalar, and the elements of buffers that hold it before and after the loop.

    Attributes:
      start: the parameter from which the initial value is loaded.
      finish: the parameter to which the final value is stored.
      index: the index in both.
      dtype: the dtype of the scalar; 16-bit floats can be carried as float32 (`kernels/wide.py`).
      varies: whether lanes have different values.
    """

    start: int
    finish: int
    index: Affine
    dtype: np.dtype
    varies: bool


@record(frozen=True)
class While:
    """A loop around the body of a kernel, at every point of the domain.

    Attributes:
      carries: the loop-carried scalars.
      condition: the statement that is true while the loop continues.
      next_values: the statement of the next value of each carry.
      trips: the trip count, or None if it is unknown.
    """

    carries: tuple[Carry, ...]
    condition: int
    next_values: tuple[int, ...]
    trips: int | None = None


@record(frozen=True, eq=False)
class Kernel:
    """A loop nest. See the docstring of the module.

    Attributes:
      extents: the size of each axis, parallel ones first.
      reduced: how many of the last axes are reduced.
      params: the element types of its buffers, both inputs and outputs.
      body: the statements.
      outputs: the stores or reductions.
      in_order: whether reductions combine their elements in the order of their indices.
      loop: the loop at each point, or None if the body runs once.
    """

    extents: tuple[int, ...]
    reduced: int
    params: tuple[np.dtype, ...]
    body: tuple[Statement, ...]
    outputs: tuple[Store | Reduce, ...]
    in_order: bool = False
    loop: While | None = None

    @property
    def parallel(self) -> tuple[int, ...]:
        """The sizes of the axes that are not reduced."""
        return self.extents[: len(self.extents) - self.reduced]

    @property
    def points(self) -> int:
        """The number of times that the body runs; an unknown trip count of the loop is assumed."""
        trips = 1 if self.loop is None else self.loop.trips
        n = COSTS.loop_trips if trips is None else max(trips, 1)
        for extent in self.extents:
            n *= extent
        return n


def statement_key(s: Statement) -> tuple[object, ...]:
    """Returns a key that is equal for statements that compute the same value."""
    match s:
        case Const():
            return ("const", s.dtype, s.value.tobytes())
        case IndexValue():
            return ("index", s.index, s.dtype)
        case Load():
            return ("load", s.param, s.index, s.dtype)
        case Call():
            return ("call", s.fn, s.args, s.dtype)
        case Carried():
            return ("carried", s.carry, s.dtype, s.varies)


def kernel_key(kernel: Kernel) -> tuple[object, ...]:
    """Returns a key that is equal for kernels that compute the same results."""
    return (
        kernel.extents, kernel.reduced, kernel.params, kernel.in_order, kernel.loop,
        tuple([statement_key(s) for s in kernel.body]),
        tuple([output_key(o) for o in kernel.outputs]),
    )  # fmt: skip


def output_key(o: Store | Reduce) -> tuple[object, ...]:
    """Returns a key that is equal for outputs that write the same elements."""
    if isinstance(o, Reduce):
        return (o.param, o.index, o.value, o.fn, o.factor)
    return (o.param, o.index, o.value, o.where)


def invariants(kernel: Kernel) -> list[bool]:
    """Returns, for each statement, whether its value is the same at every point of the domain.

    In a kernel with a loop, these are the statements that are uniform across lanes.
    """
    fixed: list[bool] = []
    for s in kernel.body:
        match s:
            case Const():
                fixed.append(True)
            case Call():
                fixed.append(all(fixed[a] for a in s.args))
            case Carried():
                fixed.append(not s.varies)
            case _:
                same = not any(s.index.coefficients)
                fixed.append(same and all(fixed[t] for t, _ in s.index.terms))
    return fixed


def visits_once(kernel: Kernel, index: Affine) -> bool:
    """Returns whether `index` is known to be a different element at each point of the domain.

    The test treats the loop indices as digits of a mixed-radix number system: each coefficient must
    exceed the sum of the contributions of all smaller digits. Terms must be the same at every
    point.
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
