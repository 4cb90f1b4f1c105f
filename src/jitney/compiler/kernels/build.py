"""Builds kernels from groups of tensor IR nodes; views become index arithmetic.

A `KernelBuilder` is given the iteration domain and the nodes that are stored in buffers. To compute
a node at an index (one `Affine` per axis), it descends through elementwise nodes and views to
buffers, constants and positions, and emits statements. A node that is used twice at the same index
is computed once.

All points of the domain must read the same operand of a concatenation. If they do not, the builder
raises `CrossingError`, which states where to split the domain. For anything else that a kernel
cannot express, the builder raises `NotExpressibleError`, and the caller computes the node in
another way.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Generator, Hashable, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from jitney.compiler.hlo import ir as hlo
from jitney.compiler.kernels import ir
from jitney.compiler.kernels.ir import Affine, accumulator
from jitney.compiler.scalar_functions import real_dtype
from jitney.core.util.reshape_groups import reshape_groups

if TYPE_CHECKING:
    from jitney.core.typing import Value

Index = tuple[Affine, ...]

_INT32, _INT64, _BOOL = np.dtype(np.int32), np.dtype(np.int64), np.dtype(bool)
PARTS = ("real", "imag")  # functions that return a component of a complex number


def element_dtype(dtype: np.dtype) -> np.dtype:
    """Returns the dtype of loads and stores of `dtype`: for complex, that of its components."""
    return real_dtype(dtype) if dtype.kind == "c" else dtype


def row_major(shape: Sequence[int]) -> list[int]:
    """Returns the strides, in elements, of a contiguous array."""
    strides = [1] * len(shape)
    for k in range(len(shape) - 2, -1, -1):
        strides[k] = strides[k + 1] * shape[k + 1]
    return strides


def combine(parts: Sequence[Affine], factors: Sequence[int], offset: int, rank: int) -> Affine:
    """Returns the linear combination offset + sum(factor * part)."""
    coefficients = [0] * rank
    terms: dict[int, int] = {}
    for part, factor in zip(parts, factors, strict=True):
        if factor == 0:
            continue
        offset += factor * part.offset
        for k, c in enumerate(part.coefficients):
            coefficients[k] += factor * c
        for statement, f in part.terms:
            terms[statement] = terms.get(statement, 0) + factor * f
    return Affine(offset, tuple(coefficients), tuple(terms.items()))


def is_affine_reshape(node: hlo.Reshape) -> bool:
    """Returns whether a reshape only splits axes of its operand, and never merges axes."""
    groups = reshape_groups(node.x.shape, node.shape)
    return 0 not in node.shape and all([len(taken) == 1 for taken, _ in groups])


class NotExpressibleError(Exception):
    """A value that no kernel can express, so that it has to be computed in another way."""


class CrossingError(NotExpressibleError):
    """The domain spans several operands of a concatenation, or an array and its padding.

    Attributes:
      node: the concatenation or padding.
      axis, at: the axis of the domain to split, and the position.
    """

    def __init__(self, node: hlo.Node, axis: int, at: int) -> None:
        super().__init__(
            f"the domain crosses parts of {type(node).__name__} on axis {axis} at {at}"
        )
        self.node = node
        self.axis = axis
        self.at = at


class UnresolvedError(NotExpressibleError):
    """A kernel cannot compute `node` at the required index, so the node needs a buffer.

    The index is not an affine function of the loop indices, or the node has no rule.
    """

    def __init__(self, node: hlo.Node) -> None:
        super().__init__(type(node).__name__)
        self.node = node


class HasDtype(Protocol):
    """A node, or another object that stands for a buffer."""

    @property
    def dtype(self) -> np.dtype: ...


class KernelBuilder:
    """A builder of one kernel.

    Args:
      extents: the sizes of the axes of the domain, parallel axes first.
      reduced: the number of trailing axes that are reduced.
      has_buffer: returns whether a node is loaded from a buffer instead of computed.
      origin: the position of the domain's first point in the larger domain of which it is a part.

    Attributes:
      node: the node that is being computed, to which new statements and outputs are attributed.
    """

    rules: MutableMapping[type, _Rule]  # set below, after the definitions of the rules

    def __init__(
        self,
        extents: Sequence[int],
        reduced: int,
        has_buffer: Callable[[hlo.Node], bool],
        origin: Sequence[int] | None = None,
    ) -> None:
        self.extents = tuple(extents)
        self.origin = tuple(origin or [0] * len(self.extents))
        self.rank = len(self.extents)
        self.reduced = reduced
        self.has_buffer = has_buffer
        self.node: hlo.Node | None = None
        self.body: list[ir.Statement] = []
        self.outputs: list[ir.Store | ir.Reduce] = []
        self.params: list[hlo.Node] = []
        self._param_of: dict[Any, int] = {}
        self._value_of: dict[Any, int] = {}
        self._interned: dict[Any, int] = {}

    # --- indices ----------------------------------------------------------------------------------

    def axis(self, k: int, offset: int = 0, factor: int = 1) -> Affine:
        """Returns the index offset + factor * index of axis k of the domain."""
        coefficients = tuple([factor if j == k else 0 for j in range(self.rank)])
        return Affine(offset + factor * self.origin[k], coefficients)

    def fixed(self, offset: int) -> Affine:
        """Returns a constant index."""
        return Affine(offset, (0,) * self.rank)

    def identity(self, axes: Sequence[int] | None = None) -> Index:
        """Returns the index in which entry j is the loop index of axis `axes[j]` of the domain."""
        return tuple([self.axis(k) for k in (range(self.rank) if axes is None else axes)])

    def scaled(self, index: Affine, factor: int, offset: int) -> Affine:
        """Returns the index offset + factor * `index`."""
        return combine([index], [factor], offset, self.rank)

    def span(self, node: hlo.Node, index: Affine) -> tuple[int, int]:
        """Returns the range of `index`, an index into an axis of `node`, over the domain.

        Raises:
          UnresolvedError: if the index depends on values of statements.
        """
        if index.terms:
            raise UnresolvedError(node)
        reach = [c * (n - 1) for c, n in zip(index.coefficients, self.extents, strict=True)]
        return (
            index.offset + sum([r for r in reach if r < 0]),
            index.offset + sum([r for r in reach if r > 0]),
        )

    def crossing(self, node: hlo.Node, index: Affine, at: int) -> Exception:
        """Returns the error that states where `index` reaches position `at` of `node`.

        It is an `UnresolvedError` if the index varies along several axes, or along none.
        """
        moving = [k for k, c in enumerate(index.coefficients) if c and self.extents[k] > 1]
        if len(moving) != 1:
            return UnresolvedError(node)
        (k,) = moving
        c = index.coefficients[k]
        first = -((index.offset - at) // c) if c > 0 else (index.offset - at) // -c + 1
        return CrossingError(node, k, self.origin[k] + first)

    def divided(self, node: hlo.Node, index: Affine, by: int) -> tuple[Affine, Affine]:
        """Returns the quotient and remainder of `index`, a position in `node`, divided by `by` > 0.

        Raises:
          UnresolvedError: if they are not affine over the whole domain.
        """
        if any(factor % by for _, factor in index.terms):
            raise UnresolvedError(node)
        steps = [int(math.fmod(c, by)) for c in index.coefficients]
        reach = [c * (n - 1) for c, n in zip(steps, self.extents, strict=True)]
        whole = (index.offset + sum([r for r in reach if r < 0])) // by
        remainder = Affine(index.offset - whole * by, tuple(steps))
        if self.span(node, remainder)[1] >= by:
            raise UnresolvedError(node)
        coefficients = [(c - r) // by for c, r in zip(index.coefficients, steps, strict=True)]
        terms = tuple([(statement, factor // by) for statement, factor in index.terms])
        return Affine(whole, tuple(coefficients), terms), remainder

    def linear(self, shape: Sequence[int], index: Index) -> Affine:
        """Returns the linear position of `index` in a contiguous array of `shape`."""
        strides = [s if n != 1 else 0 for s, n in zip(row_major(shape), shape, strict=True)]
        return combine(index, strides, 0, self.rank)

    # --- statements -------------------------------------------------------------------------------

    def add(self, key: Hashable, make: Callable[[], ir.Statement]) -> int:
        """Returns the number of the statement with key `key`, which `make` creates on first use."""
        number = self._interned.get(key)
        if number is None:
            number = self._interned[key] = len(self.body)
            self.body.append(make())
        return number

    def number(self, value: Value | None, dtype: np.dtype) -> int:
        """Returns the statement with a constant as its value."""
        array = np.asarray(value, dtype)
        return self.add(("number", dtype, array.tobytes()), lambda: ir.Const(array.reshape(())))

    def call(self, fn: str, args: tuple[int, ...], dtype: np.dtype) -> int:
        """Returns the statement that applies a scalar function to the values of statements."""
        return self.add(("call", fn, args, dtype), lambda: ir.Call(fn, args, dtype, self.node))

    def convert(self, value: int, dtype: np.dtype) -> int:
        """Returns statement `value` converted to `dtype`."""
        if self.body[value].dtype == dtype:
            return value
        return self.call("convert", (value,), dtype)

    def position(self, index: Affine, dtype: np.dtype) -> int:
        """Returns the statement with an index as its value, converted to `dtype`."""
        if dtype.kind in "iu":
            return self.add(("position", index, dtype), lambda: ir.IndexValue(index, dtype))
        return self.convert(self.position(index, _INT32), dtype)

    def load(self, node: HasDtype, index: Affine) -> int:
        """Returns the statement that loads an element of the buffer of `node`."""
        param = self.param(node)
        return self.add(
            ("load", param, index), lambda: ir.Load(param, index, node.dtype, self.node)
        )

    def load_part(self, node: hlo.Node, index: Affine, which: int) -> int:
        """Returns the statement that loads the real (0) or imaginary (1) part of an element."""
        param, place = self.param(node), self.scaled(index, 2, which)
        dtype = element_dtype(node.dtype)
        return self.add(("load", param, place), lambda: ir.Load(param, place, dtype, self.node))

    def param(self, node: Any, /) -> int:
        """Returns the number of the buffer of `node` among the kernel's parameters."""
        number = self._param_of.get(node)
        if number is None:
            number = self._param_of[node] = len(self.params)
            self.params.append(node)
        return number

    # --- values of nodes ----------------------------------------------------------------------------

    def value(self, node: hlo.Node, index: Index) -> int:
        """Returns the statement that computes `node` at `index`."""
        self.node = node
        known = self._known(node, index)
        if known is not None:
            return known
        # Rules are generators that yield their operands instead of calling each other recursively,
        # since expressions can be deeper than Python's stack.
        asked = [(node, index)]
        rules = [self._rule(node)(self, node, index)]
        answer: int | None = None
        while rules:
            try:
                node, index = rules[-1].send(answer)  # type: ignore[arg-type]  # None starts it
            except StopIteration as done:
                rules.pop()
                node, index = asked.pop()
                answer = self._value_of[node.id, index] = done.value
                if asked:
                    self.node = asked[-1][0]
                continue
            answer = self._known(node, index)
            if answer is None:
                asked.append((node, index))
                self.node = node
                rules.append(self._rule(node)(self, node, index))
        assert answer is not None
        return answer

    def _rule(self, node: hlo.Node) -> _Rule:
        """Returns the rule for the kind of `node`."""
        rule = self.rules.get(type(node))
        if rule is None:
            raise UnresolvedError(node)
        return rule

    def _known(self, node: hlo.Node, index: Index) -> int | None:
        """Returns the statement for `node` at `index` if it exists or is a load, else None."""
        key = (node.id, index)
        statement = self._value_of.get(key)
        if statement is None and self.has_buffer(node):
            statement = self._value_of[key] = self.load(node, self.linear(node.shape, index))
        return statement

    # --- outputs ----------------------------------------------------------------------------------

    def store(self, buffer: Any, index: Affine, value: int, where: int | None = None) -> None:
        """Adds a store of `value` to the buffer `buffer`, conditional on the predicate `where`."""
        node = self._part_of(buffer)
        self.outputs.append(ir.Store(self.param(buffer), index, value, where, node))

    def store_parts(self, buffer: Any, index: Affine, parts: Sequence[int]) -> None:
        """Adds stores of the components of a complex value to the buffer `buffer`."""
        for which, value in enumerate(parts):
            self.store(buffer, self.scaled(index, 2, which), value)

    def reduce(
        self, buffer: Any, index: Affine, fn: str, value: int, factor: int | None = None
    ) -> None:
        """Adds a reduction of `value`, or of `value` * `factor`, into the buffer `buffer`."""
        node = self._part_of(buffer)
        self.outputs.append(ir.Reduce(self.param(buffer), index, fn, value, factor, node))

    def _part_of(self, buffer: object) -> hlo.Node | None:
        """Returns the node to which stores to a buffer are attributed."""
        return buffer if isinstance(buffer, hlo.Node) else self.node

    def kernel(self, dtype_of: Callable[[Any], np.dtype], in_order: bool = False) -> ir.Kernel:
        """Returns the kernel that consists of the statements and outputs added so far."""
        return ir.Kernel(
            self.extents,
            self.reduced,
            tuple([element_dtype(dtype_of(p)) for p in self.params]),
            tuple(self.body),
            tuple(self.outputs),
            in_order,
        )


# --- rules, which compute a node of some kind at an index -----------------------------------------

# A rule is a generator. It yields (node, index) for an operand, receives the statement that
# computes it there, and returns the statement that computes the node itself.
Steps = Generator[tuple[hlo.Node, Index], int, int]
_Rule = Callable[[Any, Any, Index], Steps]  # (builder, a node of the kind, an index)


def _constant(k: KernelBuilder, node: hlo.Constant, index: Index) -> Steps:
    return k.number(node.value.reshape(-1)[0], node.dtype)
    yield  # makes it a generator


def _iota(k: KernelBuilder, node: hlo.Iota, index: Index) -> Steps:
    return k.position(index[node.dim], node.dtype)
    yield  # makes it a generator


def _apply(k: KernelBuilder, node: hlo.Apply, index: Index) -> Steps:
    if node.fn in PARTS:
        (x,) = node.args
        return k.load_part(x, k.linear(x.shape, index), PARTS.index(node.fn))
    args: list[int] = []
    for a in node.args:
        args.append((yield a, index))
    return k.call(node.fn, tuple(args), node.dtype)


def _broadcast(k: KernelBuilder, node: hlo.Broadcast, index: Index) -> Steps:
    inner = [
        k.fixed(0) if n == 1 else index[d] for n, d in zip(node.x.shape, node.dims, strict=True)
    ]
    return (yield node.x, tuple(inner))


def _reshape(k: KernelBuilder, node: hlo.Reshape, index: Index) -> Steps:
    if k.has_buffer(node.x):  # the operand has the same elements in the same order
        return k.load(node.x, k.linear(node.shape, index))
    groups = reshape_groups(node.x.shape, node.shape)
    inner = [k.fixed(0)] * len(node.x.shape)
    for left, right in () if 0 in node.shape else groups:
        strides = row_major([node.shape[j] for j in right])
        place = combine([index[j] for j in right], strides, 0, k.rank)
        for axis in reversed(left[1:]):
            place, inner[axis] = k.divided(node, place, node.x.shape[axis])
        inner[left[0]] = place
    return (yield node.x, tuple(inner))


def _transpose(k: KernelBuilder, node: hlo.Transpose, index: Index) -> Steps:
    inner = [k.fixed(0)] * len(index)
    for j, axis in enumerate(node.perm):
        inner[axis] = index[j]
    return (yield node.x, tuple(inner))


def _slice(k: KernelBuilder, node: hlo.Slice, index: Index) -> Steps:
    inner = [
        k.scaled(i, step, start)
        for i, step, start in zip(index, node.strides, node.starts, strict=True)
    ]
    return (yield node.x, tuple(inner))


def _reverse(k: KernelBuilder, node: hlo.Reverse, index: Index) -> Steps:
    inner = [
        k.scaled(i, -1, node.shape[j] - 1) if j in node.dims else i for j, i in enumerate(index)
    ]
    return (yield node.x, tuple(inner))


def clamped_start(k: KernelBuilder, start: int, most: int) -> int:
    """Returns a start index as int64, clamped to [0, most]."""
    dtype = k.body[start].dtype
    if dtype.kind == "u":
        limit = min(most, int(np.iinfo(dtype).max))
        start = k.call("min", (start, k.number(limit, dtype)), dtype)
        return k.convert(start, _INT64)
    start = k.convert(start, _INT64)
    start = k.call("max", (start, k.number(0, _INT64)), _INT64)
    return k.call("min", (start, k.number(most, _INT64)), _INT64)


def checked_start(k: KernelBuilder, start: int, most: int) -> tuple[int, int]:
    """Returns a start index as int64, clamped to [0, most], and whether it was in bounds.

    A single comparison of unsigned integers is enough, since negative indices exceed any bound.
    """
    dtype = k.body[start].dtype
    if dtype.kind not in "iu" or (dtype.kind == "i" and most > np.iinfo(dtype).max):
        start, dtype = k.convert(start, _INT64), _INT64
    unsigned = np.dtype(f"u{dtype.itemsize}")
    unsigned_start = k.call("bitcast", (start,), unsigned)
    limit = k.number(min(most, int(np.iinfo(unsigned).max)), unsigned)
    clamped = k.call("min", (unsigned_start, limit), unsigned)
    return k.convert(clamped, _INT64), k.call("le", (unsigned_start, limit), _BOOL)


def shifted(k: KernelBuilder, index: Affine, start: int) -> Affine:
    """Returns `index` + the value of statement `start`."""
    return combine([index, Affine(0, (0,) * k.rank, ((start, 1),))], [1, 1], 0, k.rank)


def _dynamic_slice(k: KernelBuilder, node: hlo.DynamicSlice, index: Index) -> Steps:
    inner: list[Affine] = []
    for i, s, n, size in zip(index, node.starts, node.x.shape, node.sizes, strict=True):
        if n == size:
            inner.append(i)
        else:
            start = yield s, ()
            inner.append(shifted(k, i, clamped_start(k, start, n - size)))
    return (yield node.x, tuple(inner))


def _gather(k: KernelBuilder, node: hlo.Gather, index: Index) -> Steps:
    dims = node.dims
    batch = [i for j, i in enumerate(index) if j not in dims.offset_dims]
    window = iter([index[j] for j in dims.offset_dims])
    dropped = {*dims.collapsed_slice_dims, *dims.operand_batching_dims}
    inner = [k.fixed(0) if axis in dropped else next(window) for axis in range(len(node.x.shape))]
    for axis, position in zip(
        dims.operand_batching_dims, dims.start_indices_batching_dims, strict=True
    ):
        inner[axis] = batch[position]
    inside: int | None = None
    for j, axis in enumerate(dims.start_index_map):
        start = yield node.indices, (*batch, k.fixed(j))
        most = node.x.shape[axis] - node.slice_sizes[axis]
        if node.mode == "fill":
            clamped, fits = checked_start(k, start, most)
            inside = fits if inside is None else k.call("and", (inside, fits), _BOOL)
        else:
            clamped = clamped_start(k, start, most)
        inner[axis] = shifted(k, inner[axis], clamped)
    value = yield node.x, tuple(inner)
    if inside is None:
        return value
    fill = k.number(node.fill, node.dtype)
    return k.call("select", (inside, value, fill), node.dtype)


def _concatenate(k: KernelBuilder, node: hlo.Concatenate, index: Index) -> Steps:
    at = index[node.dim]
    first, last = k.span(node, at)
    start = 0
    for part in node.parts:
        end = start + part.shape[node.dim]
        if start <= first and last < end:
            inner = list(index)
            inner[node.dim] = k.scaled(at, 1, -start)
            return (yield part, tuple(inner))
        if first < end <= last:
            raise k.crossing(node, at, end)
        start = end
    raise AssertionError("the position is past the end of the concatenation")


def _pad(k: KernelBuilder, node: hlo.Pad, index: Index) -> Steps:
    inner: list[Affine] = []
    outside = False
    for i, n, low, between in zip(index, node.x.shape, node.low, node.interior, strict=True):
        if between:
            raise UnresolvedError(node)
        first, last = k.span(node, i)
        for edge in (low, low + n):
            if first < edge <= last:
                raise k.crossing(node, i, edge)
        outside |= not low <= first < low + n
        inner.append(k.scaled(i, 1, -low))
    if outside:
        return (yield node.value, ())
    return (yield node.x, tuple(inner))


def _reduce(k: KernelBuilder, node: hlo.Reduce, index: Index) -> Steps:
    """Unrolls a reduction of few elements; the result has the same bits as that of a kernel."""
    wide = accumulator(node.dtype)
    values: list[int] = []
    for at in itertools.product(*[range(node.x.shape[d]) for d in node.dims]):
        places = dict(zip(node.dims, at, strict=True))
        kept_indices = iter(index)
        inner = [
            k.fixed(places[j]) if j in places else next(kept_indices)
            for j in range(len(node.x.shape))
        ]
        values.append(k.convert((yield node.x, tuple(inner)), wide))
    if not values:
        raise UnresolvedError(node)
    return k.convert(combined_in_order(k, node.fn, values, wide), node.dtype)


def combined_in_order(k: KernelBuilder, fn: str, values: Sequence[int], dtype: np.dtype) -> int:
    """Combines statements by `fn` from left to right.

    Float sums include the term 0, so they are never -0. The 0 is added to the last element, so that
    it does not lengthen the chain of additions of the others.
    """
    *leading, last = values
    if fn == "add" and dtype.kind == "f":
        last = k.call("add", (last, k.number(0, dtype)), dtype)
    total: int | None = None
    for value in (*leading, last):
        total = value if total is None else k.call(fn, (total, value), dtype)
    assert total is not None
    return total


_rules: dict[type, _Rule] = {
    hlo.Constant: _constant,
    hlo.Iota: _iota,
    hlo.Apply: _apply,
    hlo.Broadcast: _broadcast,
    hlo.Reshape: _reshape,
    hlo.Transpose: _transpose,
    hlo.Slice: _slice,
    hlo.Reverse: _reverse,
    hlo.DynamicSlice: _dynamic_slice,
    hlo.Gather: _gather,
    hlo.Concatenate: _concatenate,
    hlo.Pad: _pad,
    hlo.Reduce: _reduce,
}
KernelBuilder.rules = _rules


def rule(kind: type[hlo.Node]) -> Callable[[_Rule], _Rule]:
    """Registers the rule by which kernels compute nodes of `kind`: (builder, node, index) -> steps.

    A rule is a generator. It yields (operand, index), receives the statement of that element, and
    returns the statement of its own element.
    """

    def enter(function: _Rule) -> _Rule:
        _rules[kind] = function
        return function

    return enter
