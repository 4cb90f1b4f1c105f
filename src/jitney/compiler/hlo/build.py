"""The builder: creates nodes of the tensor IR, infers their types, and interns them.

Interning (hash-consing) makes equal nodes of a builder the same object, so common subexpressions
never arise. The methods check most of the verifier's constraints and cite the same identifiers in
their messages, so that a wrong lowering rule fails where it builds the node.

Trivial simplifications that need only a comparison, such as dropping a reshape to the same shape or
a conversion to the same dtype, are applied at construction. All other rewrites are passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from jitney.compiler import library
from jitney.compiler.hlo import collectives, ir
from jitney.compiler.hlo.ir import Node, Region, TensorType
from jitney.compiler.scalar_functions import lookup, real_dtype
from jitney.core.types import dtypes
from jitney.core.util.thresholds import threshold

if TYPE_CHECKING:
    from jitney.core.typing import DTypeLike, Value

N = TypeVar("N", bound=Node)

_INT32 = np.dtype(np.int32)

_SMALL_CONSTANT = threshold(256, small=16)  # bytes; larger constants are interned by identity


class Builder:
    """Builds the nodes of one region."""

    def __init__(self) -> None:
        self._interned: dict[Any, Node] = {}
        self._n = 0
        self.ordered: list[Node] = []  # see Region
        self.origin: ir.Origin | None = None  # origin of the nodes that are being built
        self.converted_masks: dict[Node, Node] = {}  # see `primitives.elementwise.masks`

    # --- interning --------------------------------------------------------------------------------

    def _make(self, kind: type[Any], type_: Any, *fields: Any) -> ir.Node:
        """Returns the interned node with these fields.

        A node with no elements becomes a constant, so that nothing is computed for it.
        """
        if type(type_) is TensorType and 0 in type_.shape and kind is not ir.Parameter:
            return self.constant(np.empty(type_.shape, type_.dtype))
        key = (kind, type_, fields)
        node = self._interned.get(key)
        if node is None:
            node = self._interned[key] = kind(type_, self._n, *fields)
            node.origin = self.origin
            self._n += 1
        return node

    def _new(self, kind: type[N], type_: Any, *fields: Any) -> N:
        """Returns a new node without interning it.

        Nodes with regions or functions are created this way, since those are not compared.
        """
        node = kind(type_, self._n, *fields)
        node.origin = self.origin
        self._n += 1
        return node

    # --- leaves -----------------------------------------------------------------------------------

    def parameter(self, index: int, type_: TensorType) -> ir.Parameter:
        """Returns parameter number `index` of the region."""
        node = self._make(ir.Parameter, type_, index)
        assert isinstance(node, ir.Parameter)
        return node

    def constant(self, value: Value) -> Node:
        """Returns a constant node.

        An array that repeats one scalar, that is, whose strides are all 0, becomes a broadcast of
        that scalar.
        """
        array = np.asarray(value)
        type_ = TensorType(array.shape, array.dtype)
        if array.ndim and array.size > 1 and not any(array.strides):
            return self.broadcast(self.constant(array[(0,) * array.ndim]), array.shape, ())
        if array.nbytes <= _SMALL_CONSTANT:
            key = (ir.Constant, type_, array.tobytes())
            node = self._interned.get(key)
            if node is None:
                stored = np.array(array, order="C")
                stored.setflags(write=False)
                node = self._interned[key] = self._new(ir.Constant, type_, stored)
            return node
        stored = np.ascontiguousarray(array)
        key = (ir.Constant, type_, id(stored))
        node = self._interned.get(key)
        if node is None:  # the node keeps `stored`, and so its id, alive
            node = self._interned[key] = self._new(ir.Constant, type_, stored)
        return node

    def full(self, shape: Sequence[int], value: Value, dtype: DTypeLike) -> Node:
        """Returns a tensor filled with `value`, a Python or NumPy scalar."""
        dtype = np.dtype(dtype)
        scalar = np.asarray(value)
        scalar = scalar.astype(dtype) if scalar.dtype != dtype else scalar
        return self.broadcast(self.constant(scalar), tuple(shape), ())

    def iota(self, dtype: DTypeLike, shape: Sequence[int], dim: int) -> Node:
        """Returns a tensor in which each element is its own index along `dim`."""
        type_ = TensorType(tuple(shape), np.dtype(dtype))
        assert 0 <= dim < type_.rank, f"iota.C1: axis {dim} is out of range for {type_}"
        if type_.dtype.kind == "c":
            real = self.iota(real_dtype(type_.dtype), shape, dim)
            return self.convert(real, type_.dtype)
        return self._make(ir.Iota, type_, dim)

    # --- elementwise ------------------------------------------------------------------------------

    def apply(self, fn: str, *args: Node) -> Node:
        """Applies the scalar function `fn` elementwise to operands of equal shape."""
        types = [a.tensor_type for a in args]
        shape = types[0].shape
        for type_ in types:
            assert type_.shape == shape, f"apply.C1: {fn} of {', '.join(map(str, types))}"
        result = lookup(fn).result
        assert result is not None, f"apply.C4: {fn} needs a result dtype"
        dtype = result([type_.dtype for type_ in types])
        return self._make(ir.Apply, TensorType(shape, dtype), fn, args)

    def apply_again(self, fn: str, args: Sequence[Node], dtype: np.dtype) -> Node:
        """Returns a copy of an `Apply` node of the function `fn`, with operands `args`.

        `dtype` is the dtype of the copied node. It determines the result dtype of functions such as
        `convert`, for which the dtype does not follow from the operands.
        """
        if fn == "convert":
            return self.convert(args[0], dtype)
        return self.bitcast(args[0], dtype) if fn == "bitcast" else self.apply(fn, *args)

    def convert(self, x: Node, dtype: DTypeLike) -> Node:
        """Converts the values of `x` to `dtype`."""
        dtype = np.dtype(dtype)
        if x.dtype == dtype:
            return x
        if x.dtype.kind == "c" and dtype.kind != "c":
            return self.convert(self.apply("real", x), dtype)
        if dtype.kind == "c" and x.dtype.kind != "c":
            real = self.convert(x, real_dtype(dtype))
            return self.apply("complex", real, self.full(x.shape, 0, real.dtype))
        if dtype.kind == "c":
            part = real_dtype(dtype)
            return self.apply(
                "complex",
                self.convert(self.apply("real", x), part),
                self.convert(self.apply("imag", x), part),
            )
        return self._make(ir.Apply, TensorType(x.shape, dtype), "convert", (x,))

    def bitcast(self, x: Node, dtype: DTypeLike) -> Node:
        """Reinterprets the bytes of `x` as `dtype`."""
        dtype = np.dtype(dtype)
        old, new = x.dtype.itemsize, dtype.itemsize
        if x.dtype == dtype:
            return x
        if old == new:
            return self._make(ir.Apply, TensorType(x.shape, dtype), "bitcast", (x,))
        if old > new:
            return self._make(ir.Bitcast, TensorType((*x.shape, old // new), dtype), x)
        assert x.shape and x.shape[-1] * old == new, (
            f"bitcast.C1: the last axis of {x.type} does not hold one {dtype}"
        )
        return self._make(ir.Bitcast, TensorType(x.shape[:-1], dtype), x)

    def reduce_precision(self, x: Node, exponent_bits: int, mantissa_bits: int) -> Node:
        """Rounds `x` to a narrower float format (see `reference.reduce_precision`)."""
        info = dtypes.finfo(x.dtype)
        bits = x.dtype.itemsize * 8
        kind = np.dtype(f"uint{bits}")

        def full(value: int) -> Node:
            return self.full(x.shape, np.asarray(value, np.uint64).astype(kind), kind)

        word = self.bitcast(x, kind)
        sign = self.apply("and", word, full(1 << (bits - 1)))
        out = self.apply("and", word, full((1 << (bits - 1)) - 1))
        nmant, nexp = info.nmant, info.nexp
        if mantissa_bits < nmant:
            drop = nmant - mantissa_bits
            last = self.apply("and", self.apply("shift_right_logical", out, full(drop)), full(1))
            up = self.apply("add", self.apply("add", out, full((1 << (drop - 1)) - 1)), last)
            out = self.apply("and", up, full(~((1 << drop) - 1) & (2**bits - 1)))
        if exponent_bits < nexp:
            bias, new_bias = (1 << (nexp - 1)) - 1, (1 << (exponent_bits - 1)) - 1
            largest = ((bias + new_bias) << nmant) | ((1 << nmant) - 1)
            smallest = (bias - new_bias + 1) << nmant
            infinity = ((1 << nexp) - 1) << nmant
            too_large = self.apply("gt", out, full(largest))
            out = self.apply("select", too_large, full(infinity), out)
            too_small = self.apply("lt", out, full(smallest))
            out = self.apply("select", too_small, full(0), out)
        rounded = self.bitcast(self.apply("or", out, sign), x.dtype)
        return self.apply("select", self.apply("ne", x, x), x, rounded)

    # --- views ------------------------------------------------------------------------------------

    def broadcast(self, x: Node, shape: Sequence[int], dims: Sequence[int]) -> Node:
        """Broadcasts `x` to `shape`: axis k becomes axis dims[k]; axes of size 1 are repeated."""
        shape, dims = tuple(shape), tuple(dims)
        if x.shape == shape:
            return x
        assert list(dims) == sorted(set(dims)) and len(dims) == len(x.shape), (
            f"broadcast.C1: dims {dims} must be increasing, one for each axis of {x.type}"
        )
        assert all(n in (1, shape[d]) for n, d in zip(x.shape, dims, strict=True)), (
            f"broadcast.C2: cannot broadcast {x.type} to {shape} along dims {dims}"
        )
        return self._make(ir.Broadcast, TensorType(shape, x.dtype), x, dims)

    def reshape(self, x: Node, shape: Sequence[int]) -> Node:
        """Reshapes `x` to `shape`; the elements keep their row-major order."""
        shape = tuple(shape)
        if x.shape == shape:
            return x
        if isinstance(x, ir.Reshape):
            return self.reshape(x.x, shape)
        type_ = TensorType(shape, x.dtype)
        assert type_.size == x.tensor_type.size, f"reshape.C1: cannot reshape {x.type} to {shape}"
        return self._make(ir.Reshape, type_, x)

    def transpose(self, x: Node, perm: Sequence[int]) -> Node:
        """Permutes axes: axis k of the result is axis perm[k] of `x`."""
        perm = tuple(perm)
        assert sorted(perm) == list(range(len(x.shape))), (
            f"transpose.C1: {perm} is not a permutation of the axes of {x.type}"
        )
        if perm == tuple(range(len(perm))):
            return x
        if isinstance(x, ir.Transpose):
            return self.transpose(x.x, tuple(x.perm[k] for k in perm))
        shape = tuple(x.shape[k] for k in perm)
        return self._make(ir.Transpose, TensorType(shape, x.dtype), x, perm)

    def slice(
        self, x: Node, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int]
    ) -> Node:
        """Returns the elements at starts, starts + strides, ... below limits along each axis."""
        starts, limits, strides = tuple(starts), tuple(limits), tuple(strides)
        shape = tuple(
            max(-(-(hi - lo) // step), 0)
            for lo, hi, step in zip(starts, limits, strides, strict=True)
        )
        if shape == x.shape:
            return x
        assert all(
            0 <= lo <= hi <= n and step >= 1
            for lo, hi, step, n in zip(starts, limits, strides, x.shape, strict=True)
        ), f"slice.C1: invalid slice {starts}:{limits}:{strides} of {x.type}"
        return self._make(ir.Slice, TensorType(shape, x.dtype), x, starts, limits, strides)

    def reverse(self, x: Node, dims: Sequence[int]) -> Node:
        """Reverses the order of elements along `dims`."""
        dims = tuple(sorted(d for d in dims if x.shape[d] != 1))
        return x if not dims else self._make(ir.Reverse, x.type, x, dims)

    def pad(
        self, x: Node, value: Node, low: Sequence[int], high: Sequence[int], interior: Sequence[int]
    ) -> Node:
        """Pads `x` with `value` around and between its elements."""
        low, high, interior = tuple(low), tuple(high), tuple(interior)
        if not any(low) and not any(high) and not any(interior):
            return x
        shape = tuple(
            lo + hi + n + max(n - 1, 0) * inner
            for lo, hi, inner, n in zip(low, high, interior, x.shape, strict=True)
        )
        assert all(n >= 0 for n in shape) and value.shape == () and value.dtype == x.dtype, (
            f"pad.C1: cannot pad {x.type} with {value.type} by {low}, {high}, {interior}"
        )
        return self._make(ir.Pad, TensorType(shape, x.dtype), x, value, low, high, interior)

    def concatenate(self, parts: Sequence[Node], dim: int) -> Node:
        """Concatenates `parts` along `dim`."""
        kept = tuple(p for p in parts if p.shape[dim]) or (parts[0],)
        if len(kept) == 1:
            return kept[0]
        shape = list(kept[0].shape)
        shape[dim] = sum(p.shape[dim] for p in kept)
        assert all(p.dtype == kept[0].dtype for p in kept), (
            "concatenate.C1: the dtypes of the operands differ"
        )
        return self._make(ir.Concatenate, TensorType(tuple(shape), kept[0].dtype), kept, dim)

    # --- indexed ----------------------------------------------------------------------------------

    def dynamic_slice(self, x: Node, starts: Sequence[Node], sizes: Sequence[int]) -> Node:
        """Returns the block of shape `sizes` at `starts`.

        Starts are clamped so that the block is within `x`.
        """
        sizes = tuple(sizes)
        if sizes == x.shape:
            return x
        return self._make(ir.DynamicSlice, TensorType(sizes, x.dtype), x, tuple(starts), sizes)

    def dynamic_update_slice(self, x: Node, update: Node, starts: Sequence[Node]) -> Node:
        """Returns `x` with `update` written at `starts`.

        Starts are clamped so that the update is within `x`.
        """
        if update.shape == x.shape:
            return update
        if not update.tensor_type.size:
            return x
        return self._make(ir.DynamicUpdateSlice, x.type, x, update, tuple(starts))

    def row(self, x: Node, i: Node, axis: int = 0) -> Node:
        """Returns the slice of `x` at index `i` of `axis`, without that axis.

        `i` is clamped to the valid range.
        """
        sizes = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
        part = self.dynamic_slice(x, self._starts(x, i, axis), sizes)
        return self.reshape(part, (*x.shape[:axis], *x.shape[axis + 1 :]))

    def with_row(self, x: Node, i: Node, row: Node, axis: int = 0) -> Node:
        """Returns `x` with the slice at index `i` of `axis` replaced by `row`.

        `i` is clamped to the valid range.
        """
        starts = self._starts(x, i, axis)
        update = self.reshape(row, (*x.shape[:axis], 1, *x.shape[axis + 1 :]))
        return self.dynamic_update_slice(x, update, starts)

    def _starts(self, x: Node, i: Node, axis: int) -> list[Node]:
        zero = self.constant(i.dtype.type(0))
        return [i if k == axis else zero for k in range(len(x.shape))]

    def gather(
        self,
        x: Node,
        indices: Node,
        dims: ir.GatherDims,
        slice_sizes: Sequence[int],
        mode: ir.IndexMode,
        fill: Value | None = None,
    ) -> Node:
        """Gathers slices of `x` that start at the vectors along the last axis of `indices`."""
        slice_sizes = tuple(slice_sizes)
        dropped = {*dims.collapsed_slice_dims, *dims.operand_batching_dims}
        window = iter([n for k, n in enumerate(slice_sizes) if k not in dropped])
        batch = iter(indices.shape[:-1])
        rank = len(dims.offset_dims) + len(indices.shape) - 1
        shape = tuple(next(window if k in dims.offset_dims else batch) for k in range(rank))
        fill = None if mode != "fill" else np.asarray(fill, x.dtype)
        return self._new(
            ir.Gather, TensorType(shape, x.dtype), x, indices, dims, slice_sizes, mode, fill
        )

    def scatter(
        self,
        x: Node,
        indices: Node,
        updates: Node,
        dims: ir.ScatterDims,
        combine: str | Region | None,
        mode: ir.IndexMode,
        unique: bool = False,
    ) -> Node:
        """Returns `x` with the windows of `updates` combined into it at the index vectors."""
        return self._new(ir.Scatter, x.type, x, indices, updates, dims, combine, mode, unique)

    # --- reductions -------------------------------------------------------------------------------

    def reduce(self, x: Node, fn: ir.Monoid, dims: Sequence[int], in_order: bool = False) -> Node:
        """Reduces `x` over `dims` with the monoid `fn`."""
        dims = tuple(sorted(dims))
        if not dims:
            return x
        shape = tuple(n for k, n in enumerate(x.shape) if k not in dims)
        return self._make(ir.Reduce, TensorType(shape, x.dtype), x, fn, dims, in_order)

    def arg_reduce(self, x: Node, kind: str, dim: int, dtype: DTypeLike) -> Node:
        """Returns the index of the first extreme element along `dim`."""
        shape = x.shape[:dim] + x.shape[dim + 1 :]
        return self._make(ir.ArgReduce, TensorType(shape, np.dtype(dtype)), x, kind, dim)

    def reduce_region(
        self, xs: Sequence[Node], inits: Sequence[Node], dims: Sequence[int], body: Region
    ) -> list[Node]:
        """Reduces several tensors jointly, with a region as the combining function."""
        dims = tuple(sorted(dims))
        shape = tuple(n for k, n in enumerate(xs[0].shape) if k not in dims)
        types = tuple(TensorType(shape, x.dtype) for x in xs)
        return self._split(self._new(ir.ReduceRegion, types, tuple(xs), tuple(inits), dims, body))

    def cumulative(self, x: Node, fn: str, dim: int, reverse: bool) -> Node:
        """Returns the running reduction of `x` along `dim`."""
        return self._make(ir.Cumulative, x.type, x, fn, dim, reverse)

    # --- contraction and order --------------------------------------------------------------------

    def dot(
        self,
        x: Node,
        y: Node,
        contract: tuple[Sequence[int], Sequence[int]],
        batch: tuple[Sequence[int], Sequence[int]],
        dtype: DTypeLike | None = None,
    ) -> Node:
        """Contracts `x` with `y`.

        Operands are converted to `dtype`, the dtype of the result; the default is the operands'
        dtype.
        """
        dtype = np.dtype(x.dtype if dtype is None else dtype)
        x, y = self.convert(x, dtype), self.convert(y, dtype)
        cx, cy = tuple(contract[0]), tuple(contract[1])
        bx, by = tuple(batch[0]), tuple(batch[1])
        shape = (
            *(x.shape[k] for k in bx),
            *(n for k, n in enumerate(x.shape) if k not in cx and k not in bx),
            *(n for k, n in enumerate(y.shape) if k not in cy and k not in by),
        )
        return self._make(ir.Dot, TensorType(shape, dtype), x, y, (cx, cy), (bx, by))

    def dft(
        self,
        re: Node,
        im: Node,
        dim: int,
        inverse: bool = False,
        normalized: bool = False,
        of_real: bool = False,
        to_real: int = 0,
    ) -> list[Node]:
        """Returns the real and imaginary parts of the discrete Fourier transform along `dim`.

        See `ir.Dft`.
        """
        if 0 in re.shape or re.shape[dim] == 1:
            return [re] if to_real else [re, self.full(re.shape, 0, re.dtype) if of_real else im]
        extent = to_real or (re.shape[dim] // 2 + 1 if of_real else re.shape[dim])
        type_ = TensorType((*re.shape[:dim], extent, *re.shape[dim + 1 :]), re.dtype)
        types = (type_,) if to_real else (type_, type_)
        fields = re, im, dim, inverse, normalized, of_real, to_real
        return self._split(self._make(ir.Dft, types, *fields))

    def convolution(self, x: Node, w: Node, dims: ir.ConvolutionDims) -> Node:
        """Convolves `x` with the windows `w`; see `ir.Convolution`."""
        type_ = TensorType(dims.result_shape(x.shape, w.shape), x.dtype)
        return self._make(ir.Convolution, type_, x, w, dims)

    def sort(self, xs: Sequence[Node], dim: int, num_keys: int, stable: bool) -> list[Node]:
        """Sorts `xs` jointly along `dim`, by the first `num_keys` of them."""
        types = tuple(x.type for x in xs)
        return self._split(self._make(ir.Sort, types, tuple(xs), dim, num_keys, stable))

    def top_k(self, x: Node, k: int, dim: int) -> list[Node]:
        """Returns the `k` largest elements along `dim` and their indices."""
        shape = (*x.shape[:dim], k, *x.shape[dim + 1 :])
        types = (TensorType(shape, x.dtype), TensorType(shape, _INT32))
        return self._split(self._make(ir.TopK, types, x, k, dim))

    # --- control and host -------------------------------------------------------------------------

    def region(self, types: Sequence[TensorType], body: Callable[..., Sequence[Node]]) -> Region:
        """Returns the region that `body(builder, *parameters)` builds."""
        inner = type(self)()
        inner.origin = self.origin
        parameters = [inner.parameter(i, t) for i, t in enumerate(types)]
        results = body(inner, *parameters)
        return Region(tuple(parameters), tuple(results), tuple(inner.ordered))

    def cond(self, index: Node, cases: Sequence[Region], args: Sequence[Node]) -> list[Node]:
        """Returns the results of `cases[index]` applied to `args`; `index` is clamped."""
        types = tuple(r.type for r in cases[0].results)
        node = self._new(ir.Cond, types, index, tuple(cases), tuple(args))
        return self._effects(node, cases)

    def while_(self, cond: Region, body: Region, init: Sequence[Node]) -> list[Node]:
        """Returns the final carries of a loop that repeats `body` while `cond` is true."""
        types = tuple(x.type for x in init)
        node = self._new(ir.While, types, cond, body, tuple(init))
        return self._effects(node, (cond, body))

    def for_(
        self, count: int, init: Sequence[Node], step: Callable[..., Sequence[Node]]
    ) -> list[Node]:
        """Returns the final carries of a loop: carry = step(builder, i, *carry) for i < count.

        `i` is an int32 scalar.
        """

        def test(inner: Builder, i: Node, *_: Node) -> list[Node]:
            return [inner.apply("lt", i, inner.constant(np.int32(count)))]

        def body(inner: Builder, i: Node, *carry: Node) -> list[Node]:
            after = step(inner, i, *carry)
            return [inner.apply("add", i, inner.constant(np.int32(1))), *after]

        start = [self.constant(np.int32(0)), *init]
        types: list[Any] = [x.type for x in start]
        return self.while_(self.region(types, test), self.region(types, body), start)[1:]

    def _effects(self, node: Node, regions: Sequence[Region]) -> list[Node]:
        if any(region.ordered for region in regions):
            self.ordered.append(node)
        return self._split(node)

    def host_call(
        self,
        name: str,
        fn: Callable[..., Any],
        args: Sequence[Node],
        types: Sequence[TensorType],
        ordered: bool = False,
        in_place: bool = False,
        finish: Callable[..., None] | None = None,
    ) -> list[Node]:
        """Calls a Python function and returns its results; see `ir.HostCall`."""
        node = self._new(
            ir.HostCall, tuple(types), name, fn, tuple(args), ordered, in_place, finish
        )
        if ordered:
            self.ordered.append(node)
        return self._split(node)

    def library_call(self, name: str, params: library.Params, args: Sequence[Node]) -> list[Node]:
        """Calls the library function `name` and returns its results."""
        routine = library.Routine(name, params)
        types = library.result_types(routine, [a.tensor_type for a in args])
        return self._split(self._make(ir.LibraryCall, types, name, params, tuple(args)))

    def collective(
        self,
        kind: ir.CollectiveKind,
        axes: ir.MeshAxes,
        params: ir.Params,
        args: Sequence[Node],
        groups: ir.Groups | None = None,
    ) -> Node:
        """Returns this participant's result of a collective along mesh axes."""
        type_ = collectives.result_type(kind, axes, groups, params, args)
        return self._make(ir.Collective, type_, kind, axes, groups, params, tuple(args))

    def optimization_barrier(self, args: Sequence[Node]) -> list[Node]:
        """Returns `args` behind an optimization barrier."""
        return self._split(
            self._make(ir.OptimizationBarrier, tuple(a.type for a in args), tuple(args))
        )

    def sharding_constraint(self, x: Node, sharding: ir.TensorSharding) -> Node:
        """Returns `x`, constrained to `sharding`."""
        if isinstance(x, ir.ShardingConstraint) and x.sharding == sharding:
            return x
        return self._make(ir.ShardingConstraint, x.type, x, sharding)

    def _split(self, node: Node) -> list[Node]:
        assert isinstance(node.type, tuple)
        return [self._make(ir.Project, t, node, i) for i, t in enumerate(node.type)]

    def project(self, node: Node, index: int) -> Node:
        """Returns result number `index` of a node with several results."""
        assert isinstance(node.type, tuple)
        return self._make(ir.Project, node.type[index], node, index)

    # --- programs ---------------------------------------------------------------------------------

    def module(
        self, name: str, parameters: Sequence[ir.Parameter], results: Sequence[Node]
    ) -> ir.Module:
        """Returns the program that computes `results` from `parameters`."""
        region = Region(tuple(parameters), tuple(results), tuple(self.ordered))
        return ir.Module(name, region)
