"""Builds kernels from `while` loops of the tensor IR, with the carries in registers.

`build_while` converts a `While` node into a kernel with a loop (`kernels/ir.py`) if all values of an
iteration amount to few scalars per lane; small arrays are scalarized. It returns None for all other
loops. This combines scalar replacement of the carried arrays, full unrolling of the loops over
their elements, and vectorization over instances of the loop.
"""

from __future__ import annotations

import itertools
import math
from collections import ChainMap
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import ir as hlo, loop_analysis, traversal
from jitney.compiler.kernels import build
from jitney.compiler.kernels.build import (
    Index,
    KernelBuilder,
    NotExpressibleError,
    Steps,
    clamped_start,
    shifted,
)
from jitney.compiler.kernels.ir import Affine, Carried, Carry, Kernel, While
from jitney.compiler.kernels.while_analysis import dependent_lanes
from jitney.compiler.llvm.values import kind_of
from jitney.core.util.record import record

_BOOL = np.dtype(bool)


class NotScalarizedError(NotExpressibleError):
    """A loop that cannot be expressed as a kernel with a loop."""


class WhileBuilder(KernelBuilder):
    """A builder of the body of a kernel with a loop, which scalarizes arrays.

    Args:
      extents: () or (number of lanes,).
      loaded: returns whether a node is read from a buffer.
      carried: maps parameters that are carried in registers to the numbers of their first scalars.
    """

    def __init__(
        self,
        extents: Sequence[int],
        loaded: Callable[[hlo.Node], bool],
        carried: dict[hlo.Node, int],
    ) -> None:
        super().__init__(extents, 0, loaded)
        self.carried = carried

    def forget_nodes(self) -> None:
        """Prepares for the nodes of another region; equal statements are still shared."""
        self._value_of.clear()

    def constant_of(self, index: Affine) -> int:
        """Returns the value of `index`, which must be the same in every lane and iteration."""
        if index.terms or any(index.coefficients):
            raise NotScalarizedError("a position depends on the lane or on computed values")
        return index.offset

    def carried_scalar(self, node: hlo.Node, index: Index) -> int:
        """Returns the statement for an element of a carried parameter."""
        shape = node.shape
        lanes = self.is_laned(shape)
        indices, sizes = index, shape
        if lanes:
            if index[0] != self.axis(0):
                raise NotScalarizedError("a lane reads elements of another lane")
            indices, sizes = index[1:], shape[1:]
        flat = 0
        for i, n in zip(indices, sizes, strict=True):
            flat = flat * n + (self.constant_of(i) if n != 1 else 0)
        number = self.carried[node] + flat
        return self.add(
            ("carried", number),
            lambda: Carried(number, node.dtype, lanes),
        )

    def is_laned(self, shape: Sequence[int]) -> bool:
        """Returns whether the first axis of a carried array is the axis of the lanes."""
        return bool(self.rank) and len(shape) > 0

    def position(self, index: Affine, dtype: np.dtype) -> int:
        if not any(index.coefficients) and not index.terms:
            return self.number(np.asarray(index.offset).astype(dtype), dtype)
        return super().position(index, dtype)

    def add(self, key: Hashable, make: Callable[[], Any]) -> int:
        if len(self.body) > COSTS.loop_statements:
            raise NotScalarizedError("too many statements")
        return super().add(key, make)


def _parameter(k: WhileBuilder, node: hlo.Parameter, index: Index) -> Steps:
    return k.carried_scalar(node, index)
    yield  # makes it a generator


def _dot(k: WhileBuilder, node: hlo.Dot, index: Index) -> Steps:
    (cx, cy), (bx, by) = node.contract, node.batch
    fx = [j for j in range(len(node.x.shape)) if j not in cx and j not in bx]
    fy = [j for j in range(len(node.y.shape)) if j not in cy and j not in by]
    n_batch, n_x = len(bx), len(fx)
    place_x = {a: index[j] for j, a in enumerate((*bx, *fx))}
    place_y = {a: index[j] for j, a in enumerate(by)}
    place_y |= {a: index[j] for j, a in enumerate(fy, start=n_batch + n_x)}
    products: list[int] = []
    for at in itertools.product(*[range(node.x.shape[j]) for j in cx]):
        of_x = place_x | dict(zip(cx, map(k.fixed, at), strict=True))
        of_y = place_y | dict(zip(cy, map(k.fixed, at), strict=True))
        u = yield node.x, tuple([of_x[j] for j in range(len(node.x.shape))])
        v = yield node.y, tuple([of_y[j] for j in range(len(node.y.shape))])
        products.append(k.call("mul", (u, v), node.dtype))
    if not products:
        raise NotScalarizedError("the contraction has no terms")
    return _balanced_sum(k, products, node.dtype)


def _balanced_sum(k: WhileBuilder, terms: list[int], dtype: np.dtype) -> int:
    """Returns the sum of the terms as a balanced tree of additions; it is never -0.

    A tree minimizes the number of additions after any one term. That term may be the one on which
    the critical path of an iteration depends, such as the latest stage of a Runge-Kutta step.
    """
    *terms, last = terms
    terms.append(k.call("add", (last, k.number(0, dtype)), dtype) if dtype.kind == "f" else last)
    while len(terms) > 1:
        pairs = [terms[i : i + 2] for i in range(0, len(terms), 2)]
        terms = [k.call("add", tuple(p), dtype) if len(p) == 2 else p[0] for p in pairs]
    return terms[0]


def _concatenate(k: WhileBuilder, node: hlo.Concatenate, index: Index) -> Steps:
    at = k.constant_of(index[node.dim])
    for part in node.parts:
        n = part.shape[node.dim]
        if at < n:
            inner = list(index)
            inner[node.dim] = k.fixed(at)
            return (yield part, tuple(inner))
        at -= n
    raise AssertionError("a position past the end")


def _pad(k: WhileBuilder, node: hlo.Pad, index: Index) -> Steps:
    inner: list[Affine] = []
    for i, n, low, high, between in zip(
        index, node.x.shape, node.low, node.high, node.interior, strict=True
    ):
        if not low and not high and not between:
            inner.append(i)
            continue
        place, remainder = divmod(k.constant_of(i) - low, between + 1)
        if remainder or not 0 <= place < n:
            return (yield node.value, ())
        inner.append(k.fixed(place))
    return (yield node.x, tuple(inner))


def _update(k: WhileBuilder, node: hlo.DynamicUpdateSlice, index: Index) -> Steps:
    inside: int | None = None
    inner: list[Affine] = []
    for i, s, n, size in zip(index, node.starts, node.x.shape, node.update.shape, strict=True):
        if n == size:
            inner.append(i)
            continue
        if size != 1:
            raise NotScalarizedError("an update writes several elements of a carried array")
        start = clamped_start(k, (yield s, ()), n - size)
        here = k.number(k.constant_of(i), k.body[start].dtype)
        hit = k.call("eq", (start, here), _BOOL)
        inside = hit if inside is None else k.call("and", (inside, hit), _BOOL)
        inner.append(k.fixed(0))
    new = yield node.update, tuple(inner)
    if inside is None:
        return new
    old = yield node.x, index
    return k.call("select", (inside, new, old), node.dtype)


def _bitcast(k: WhileBuilder, node: hlo.Bitcast, index: Index) -> Steps:
    """Assembles words from parts, or extracts parts of words, in little-endian order."""
    old, new = node.x.dtype, node.dtype
    if old.kind not in "iu" or new.kind not in "iu":
        raise NotScalarizedError("a bitcast between operands of other kinds than integers")
    old_bits, new_bits = 8 * old.itemsize, 8 * new.itemsize
    narrow, wide = [np.dtype(f"uint{n}") for n in sorted((old_bits, new_bits))]
    if old_bits > new_bits:
        word = k.convert((yield node.x, index[:-1]), wide)
        shift = k.number(k.constant_of(index[-1]) * new_bits, wide)
        part = k.call("shift_right_logical", (word, shift), wide)
        return k.convert(k.convert(part, narrow), new)
    total: int | None = None
    for j in range(new_bits // old_bits):
        part = k.convert((yield node.x, (*index, k.fixed(j))), narrow)
        shift = k.number(j * old_bits, wide)
        part = k.call("shift_left", (k.convert(part, wide), shift), wide)
        total = part if total is None else k.call("or", (total, part), wide)
    assert total is not None
    return k.convert(total, new)


def _project(k: WhileBuilder, node: hlo.Project, index: Index) -> Steps:
    if not isinstance(node.node, hlo.OptimizationBarrier):
        raise NotScalarizedError("the node has several results")
    return (yield node.node.args[node.index], index)


_RULES: dict[type[hlo.Node], Any] = {
    hlo.Parameter: _parameter,
    hlo.Dot: _dot,
    hlo.Concatenate: _concatenate,
    hlo.Pad: _pad,
    hlo.DynamicUpdateSlice: _update,
    hlo.Project: _project,
    hlo.Bitcast: _bitcast,
}
# A view of both tables: nodes can be added to the first one later.
WhileBuilder.rules = ChainMap(_RULES, build.KernelBuilder.rules)


# --- from While nodes to kernels -----------------------------------------------------------------


# The buffer of a carry, in place of a node: loop-invariant, initial, final, or updated in place.
Slot: TypeAlias = tuple[Literal["loaded", "start", "finish", "stored"], int]


@record
class BuiltWhile:
    """A kernel with a loop, and the contents of its buffers.

    Attributes:
      kernel: the kernel.
      params: for each of its parameters, a node, or ("loaded", i), ("start", i), ("finish", i) or
        ("stored", i), where i is the number of a carry.
    """

    kernel: Kernel
    params: Sequence[hlo.Node | Slot]

    @property
    def carries(self) -> tuple[Carry, ...]:
        """The carries of the kernel's loop."""
        assert self.kernel.loop is not None, "it was built from a loop"
        return self.kernel.loop.carries


def build_while(
    node: hlo.While,
    in_place: set[int],
    is_native: Callable[[hlo.Node], bool],
    finish: Callable[[Kernel], Kernel | None],
) -> BuiltWhile | None:
    """Returns the kernel of `node`, or None if there is none.

    Args:
      node: a loop.
      in_place: the carries of which an iteration updates a part in place.
      is_native: returns whether kernels can compute an elementwise node, view or reduction.
      finish: returns the kernel in the form to compile, or None if it is too large for LLVM.
    """
    for region in (node.cond, node.body):
        for inner in traversal.topological_order(region.results):
            if isinstance(inner, hlo.OptimizationBarrier | hlo.Project):
                continue
            if isinstance(inner, hlo.Parameter | hlo.Constant):
                if kind_of(inner.dtype) is None:
                    return None
                continue
            if type(inner) not in WhileBuilder.rules or not is_native(inner):
                return None
        if region.ordered:
            return None
    for lanes in _lane_choices(node, in_place):
        try:
            built = _build(node, in_place, lanes)
        except NotExpressibleError:
            continue
        finished = finish(built.kernel)
        if finished is not None:
            return BuiltWhile(finished, built.params)
    return None


def _changing(node: hlo.While, in_place: set[int]) -> list[int]:
    return [
        i
        for i, (r, p) in enumerate(zip(node.body.results, node.body.parameters, strict=True))
        if r is not p and i not in in_place
    ]


def _lane_choices(node: hlo.While, in_place: set[int]) -> list[tuple[int, ...]]:
    """Returns the iteration domains to try, in order.

    If all carries together are small, the first one has no axes. The next one has a single axis,
    the common first axis of the carries.
    """
    shapes = [node.body.parameters[i].shape for i in _changing(node, in_place)]
    choices: list[tuple[int, ...]] = []
    if sum(math.prod(s) for s in shapes) <= COSTS.max_carried:
        choices.append(())
    leading = {s[0] for s in shapes if s}
    if len(leading) == 1 and sum(math.prod(s[1:]) for s in shapes) <= COSTS.max_carried:
        (n,) = leading
        if n > 1:
            choices.append((n,))
    return choices


def _build(node: hlo.While, in_place: set[int], extents: tuple[int, ...]) -> BuiltWhile:
    changing = _changing(node, in_place)
    k = _builder_of(node, in_place, changing, extents)
    condition = _condition(k, node.cond.results[0])
    k.forget_nodes()  # nodes of the body can have the same ids as those of the condition
    next_values: list[int] = []
    carries: list[Carry] = []
    for i in changing:
        for carry, value in _carries_of(k, i, node.body.parameters[i], node.body.results[i]):
            carries.append(carry)
            next_values.append(value)
    for i in sorted(in_place):
        update = node.body.results[i]
        assert isinstance(update, hlo.DynamicUpdateSlice)
        _store_update(k, update, ("stored", i))
    dtypes = [_dtype_of(p, node) for p in k.params]
    counted = loop_analysis.count_trips(node)
    trips = None if counted is None else counted.count
    loop = While(tuple(carries), condition, tuple(next_values), trips)
    kernel = Kernel(extents, 0, tuple(dtypes), tuple(k.body), tuple(k.outputs), loop=loop)
    conflict = dependent_lanes(kernel, loop)
    if conflict is not None:
        raise NotScalarizedError(conflict[1])
    return BuiltWhile(kernel, k.params)


def _builder_of(
    node: hlo.While, in_place: set[int], changing: Sequence[int], extents: tuple[int, ...]
) -> WhileBuilder:
    """Returns a builder for the condition and the body, in which some carries are in registers."""
    first: dict[int, int] = {}
    count = 0
    for i in changing:
        shape = node.body.parameters[i].shape
        first[i] = count
        count += math.prod(shape[1:] if extents and shape else shape)
    carried: dict[hlo.Node, int] = {}
    numbers: dict[hlo.Node, int] = {}
    for region in (node.cond, node.body):
        for i, p in enumerate(region.parameters):
            numbers[p] = i
            if i in first:
                carried[p] = first[i]

    def loaded(n: hlo.Node) -> bool:
        if isinstance(n, hlo.Parameter):
            if numbers[n] in in_place and extents:
                raise NotScalarizedError(
                    "lanes may read elements that other lanes have updated in place"
                )
            return n not in carried
        return isinstance(n, hlo.Constant) and n.tensor_type.size != 1

    k = WhileBuilder(extents, loaded, carried)
    # The parameters of both regions share the buffers of the carries; equal initial arrays share a
    # buffer.
    same: dict[hlo.Node, int] = {}
    original = k.param

    def param(n: Any, /) -> int:
        if not isinstance(n, hlo.Parameter):
            return original(n)
        number = numbers[n]
        if number in in_place:  # an iteration reads it before writing
            return original(("stored", number))
        return original(("loaded", same.setdefault(node.init[number], number)))

    k.param = param
    return k


def _carries_of(
    k: WhileBuilder, i: int, parameter: hlo.Node, result: hlo.Node
) -> Iterator[tuple[Carry, int]]:
    """Yields each element of carry i in a lane, and the statement of its next value."""
    laned = k.is_laned(parameter.shape)
    inner = parameter.shape[1:] if laned else parameter.shape
    for at in itertools.product(*[range(n) for n in inner]):
        index = (*([k.axis(0)] if laned else []), *map(k.fixed, at))
        value = k.value(result, index)
        carry = Carry(
            k.param(("start", i)),
            k.param(("finish", i)),
            k.linear(parameter.shape, index),
            parameter.dtype,
            laned,
        )
        yield carry, value


def _dtype_of(param: hlo.Node | Slot, node: hlo.While) -> np.dtype:
    if isinstance(param, tuple):
        return node.body.parameters[param[1]].dtype
    return param.dtype


def _condition(k: WhileBuilder, flag: hlo.Node) -> int:
    if k.rank and isinstance(flag, hlo.Reduce) and flag.fn == "or" and flag.x.shape == k.extents:
        return k.value(flag.x, (k.axis(0),))  # "any" over lanes is evaluated per block of lanes
    return k.value(flag, ())


def _store_update(k: WhileBuilder, node: hlo.DynamicUpdateSlice, buffer: Any) -> None:
    """Adds stores of the elements of an in-place update."""
    shape = node.update.shape
    lane_axes = [j for j, n in enumerate(shape) if k.rank and n == k.extents[0]]
    axis = lane_axes[0] if lane_axes else None
    sizes = [1 if j == axis else n for j, n in enumerate(shape)]
    if math.prod(sizes) > COSTS.max_carried or (k.rank and axis is None):
        raise NotScalarizedError("an update in place is too large")
    starts = [
        None if n == size else clamped_start(k, k.value(s, ()), n - size)
        for s, n, size in zip(node.starts, node.x.shape, shape, strict=True)
    ]
    if axis is not None and starts[axis] is not None:
        raise NotScalarizedError("lanes may write to the same elements in different iterations")
    for at in itertools.product(*[range(n) for n in sizes]):
        index = [k.axis(0) if j == axis else k.fixed(a) for j, a in enumerate(at)]
        value = k.value(node.update, tuple(index))
        moved = [i if s is None else shifted(k, i, s) for i, s in zip(index, starts, strict=True)]
        k.node = node
        k.store(buffer, k.linear(node.x.shape, tuple(moved)), value)
