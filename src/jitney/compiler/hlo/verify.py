"""The verifier: checks that programs of the tensor IR are well formed and well typed.

    verify(module)
        IRError: reshape.C1: cannot reshape float32[12] to float32[13] (node 7)

The constraints are stated in the docstrings of `ir`; `docs/hlo.md` lists their identifiers. The
type of each node is inferred again from its operands and fields, which also detects rewrites that
leave a stale type.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from jitney.compiler import library
from jitney.compiler.hlo import collectives, ir, traversal
from jitney.compiler.hlo.ir import TensorType
from jitney.compiler.scalar_functions import find
from jitney.core.types import dtypes

_Type: TypeAlias = TensorType | tuple[TensorType, ...]  # of a node
_BOOL, _INT32 = np.dtype(bool), np.dtype(np.int32)
_PLANES = (np.dtype(np.float32), np.dtype(np.float64))
_MODES = ("clip", "fill", "promise_in_bounds")
_MONOIDS = ("add", "mul", "max", "min", "and", "or", "xor")
_RUNNING = ("add", "mul", "max", "min", "logaddexp")
_SCATTERED = ("add", "sub", "mul", "min", "max")


class IRError(AssertionError):
    """A violation of a constraint of the tensor IR; the message starts with its identifier."""


def verify(module: ir.Module) -> None:
    """Raises IRError if `module`, or a region nested in it, violates a constraint."""
    _region(module.region, "module")


def verify_node(node: ir.Node) -> None:
    """Raises IRError if `node` violates a constraint; its operands are assumed to be valid."""
    checks = _checks[type(node)]
    try:
        inferred = checks(node)
    except IRError as error:
        raise IRError(f"{error} (node {node.id})") from None
    if inferred is not None and inferred != node.type:
        kind = _kind(node)
        raise IRError(
            f"{kind}.type: the type is {_types(node.type)}, but operands and fields imply "
            f"{_types(inferred)} (node {node.id})"
        )


# --- regions ------------------------------------------------------------------------------------


def _region(region: ir.Region, where: str) -> None:
    own = set(region.parameters)
    for i, p in enumerate(region.parameters):
        _need(_is_parameter(p, i), f"region.C1: parameter {i} of {where} does not have index {i}")
        _need(
            isinstance(p.type, TensorType), f"region.C1: parameter {i} of {where} is not a tensor"
        )
    for r in region.results:
        _need(
            isinstance(r.type, TensorType), f"region.C2: a result of {where} is a tuple of tensors"
        )
    for node in traversal.topological_order(traversal.roots(region)):
        if isinstance(node, ir.Parameter):
            _need(node in own, f"region.C3: {where} uses a parameter of another region")
            continue
        # Messages are formatted only on failure: formatting all would take most of the time.
        for x in traversal.operands(node):
            if x.id >= node.id:
                raise IRError(f"region.C4: node {node.id} of {where} uses the later node {x.id}")
            if isinstance(x.type, tuple) != isinstance(node, ir.Project):
                what = f"{_kind(node)} node {node.id} uses node {x.id} of type {_types(x.type)}"
                raise IRError(f"project.C1: {what}")
        verify_node(node)
        for name, inner in traversal.regions(node):
            _region(inner, f"{_kind(node)} {node.id} {name}")


def _is_parameter(node: ir.Node, index: int) -> bool:
    return isinstance(node, ir.Parameter) and node.index == index


def _signature(
    region: ir.Region, operand_types: Iterable[_Type], wanted: Iterable[_Type] | None, what: str
) -> None:
    """Checks the types of a region's parameters and, unless `wanted` is None, of its results."""
    parameters, operand_types = tuple(p.type for p in region.parameters), tuple(operand_types)
    _need(
        parameters == operand_types,
        f"{what} takes {_types(parameters)}, but the operands are {_types(operand_types)}",
    )
    if wanted is not None:
        results, wanted = tuple(r.type for r in region.results), tuple(wanted)
        _need(results == wanted, f"{what} returns {_types(results)}, expected {_types(wanted)}")


def _need(holds: bool, what: str) -> None:
    if not holds:
        raise IRError(what)


def _kind(node: ir.Node) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in type(node).__name__).lstrip("_")


def _types(types: _Type | Sequence[_Type]) -> str:
    return f"({', '.join(map(str, types))})" if isinstance(types, tuple) else str(types)


def _axes(axes: Sequence[int], rank: int, what: str, *, ascending: bool = True) -> None:
    fine = all(0 <= a < rank for a in axes) and len(set(axes)) == len(axes)
    _need(
        fine and (not ascending or list(axes) == sorted(axes)),
        f"{what}: invalid axes {tuple(axes)} for rank {rank}",
    )


def _scalar_integers(nodes: Sequence[ir.Node], n: int, what: str) -> None:
    _need(len(nodes) == n, f"{what}: got {len(nodes)} start indices for {n} axes")
    for s in nodes:
        fine = s.shape == () and dtypes.issubdtype(s.dtype, np.integer)
        _need(fine, f"{what}: a start index is {s.type}, expected an integer scalar")


# --- nodes: each function returns the type inferred for the node, or None -------------------------


def _constant(node: ir.Constant) -> TensorType:
    _need(_is_contiguous(node.value), "constant.C1: the array is not contiguous")
    _need(
        node.value.dtype.kind != "O", f"constant.C2: the value is a Python object, {node.value!r}"
    )
    return TensorType(node.value.shape, node.value.dtype)


def _is_contiguous(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.flags.c_contiguous


def _iota(node: ir.Iota) -> None:
    fine = 0 <= node.dim < len(node.shape)
    _need(fine, f"iota.C1: axis {node.dim} is out of range for {node.type}")
    _need(node.dtype.kind != "c", f"iota.C2: the dtype {node.dtype} is complex")


def _apply(node: ir.Apply) -> TensorType:
    fn, args = node.fn, node.args
    row = find(fn)
    if row is None:
        raise IRError(f"apply.C2: unknown function {fn}")
    _need(
        row.operands == len(args), f"apply.C2: {fn} takes {row.operands} operands, got {len(args)}"
    )
    operand_dtypes = [a.dtype for a in args]
    violated = None
    if not all([a.shape == args[0].shape for a in args]):
        violated = "apply.C1: the shapes of the operands differ"
    elif not row.accepts(operand_dtypes):
        violated = "apply.C3: unsupported operand dtypes"
    elif not _converts(node):
        violated = "apply.C4: unsupported conversion"
    if violated is not None:
        text = ", ".join([str(a.type) for a in args])
        raise IRError(f"{violated}: {fn} of {text} to {node.type}")
    return TensorType(args[0].shape, row.result(operand_dtypes) if row.result else node.dtype)


def _converts(node: ir.Apply) -> bool:
    """Returns whether a conversion to the node's dtype exists; true for other functions."""
    (x, *_) = node.args
    match node.fn:
        case "bitcast":
            return node.dtype.itemsize == x.dtype.itemsize
        case "convert":
            return "c" not in (node.dtype.kind, x.dtype.kind)
        case _:
            return True


def _broadcast(node: ir.Broadcast) -> TensorType:
    x = node.x
    _need(len(node.dims) == len(x.shape), f"broadcast.C1: got dims {node.dims} for {x.type}")
    _axes(node.dims, len(node.shape), "broadcast.C1")
    _need(
        all(n in (1, node.shape[d]) for n, d in zip(x.shape, node.dims, strict=True)),
        f"broadcast.C2: cannot broadcast {x.type} to {node.type} along dims {node.dims}",
    )
    return TensorType(node.shape, x.dtype)


def _reshape(node: ir.Reshape) -> TensorType:
    fine = math.prod(node.shape) == math.prod(node.x.shape)
    _need(fine, f"reshape.C1: cannot reshape {node.x.type} to {node.type}")
    return TensorType(node.shape, node.x.dtype)


def _transpose(node: ir.Transpose) -> TensorType:
    x = node.x
    _need(
        sorted(node.perm) == list(range(len(x.shape))),
        f"transpose.C1: {node.perm} is not a permutation of the axes of {x.type}",
    )
    return TensorType(tuple(x.shape[k] for k in node.perm), x.dtype)


def _slice(node: ir.Slice) -> TensorType:
    x = node.x
    fields = (node.starts, node.limits, node.strides)
    fine = all(len(f) == len(x.shape) for f in fields) and all(
        0 <= lo <= hi <= n and step >= 1 for lo, hi, step, n in zip(*fields, x.shape, strict=True)
    )
    _need(fine, f"slice.C1: invalid slice {node.starts}:{node.limits}:{node.strides} of {x.type}")
    shape = tuple(-(-(hi - lo) // step) for lo, hi, step in zip(*fields, strict=True))
    return TensorType(shape, x.dtype)


def _reverse(node: ir.Reverse) -> _Type:
    _axes(node.dims, len(node.x.shape), "reverse.C1")
    return node.x.type


def _pad(node: ir.Pad) -> TensorType:
    x, value = node.x, node.value
    fields = (node.low, node.high, node.interior)
    _need(
        all(len(f) == len(x.shape) for f in fields),
        f"pad.C2: low, high, interior {fields} do not match the rank of {x.type}",
    )
    _need(all(n >= 0 for n in node.interior), f"pad.C2: negative interior padding {node.interior}")
    _need(
        value.type == TensorType((), x.dtype),
        f"pad.C1: the padding value of {x.type} is {value.type}",
    )
    shape = tuple(
        lo + hi + n + max(n - 1, 0) * inner
        for lo, hi, inner, n in zip(*fields, x.shape, strict=True)
    )
    _need(
        all(n >= 0 for n in shape),
        f"pad.C3: padding {x.type} by {fields} results in a negative size",
    )
    return TensorType(shape, x.dtype)


def _concatenate(node: ir.Concatenate) -> TensorType:
    parts, dim = node.parts, node.dim
    _need(
        bool(parts) and 0 <= dim < len(parts[0].shape),
        f"concatenate.C2: axis {dim} is out of range, or there are no operands",
    )
    first = parts[0]
    _need(
        all(p.dtype == first.dtype for p in parts),
        "concatenate.C1: the dtypes of the operands differ",
    )

    def other_extents(p: ir.Node) -> tuple[int, ...]:
        return p.shape[:dim] + p.shape[dim + 1 :]

    same = all(
        len(p.shape) == len(first.shape) and other_extents(p) == other_extents(first) for p in parts
    )
    _need(
        same,
        f"concatenate.C3: sizes differ: {', '.join(str(p.type) for p in parts)} along axis {dim}",
    )
    total = sum(p.shape[dim] for p in parts)
    return TensorType((*first.shape[:dim], total, *first.shape[dim + 1 :]), first.dtype)


def _bitcast(node: ir.Bitcast) -> TensorType:
    x, dtype = node.x, node.dtype
    old, new = x.dtype.itemsize, dtype.itemsize
    _need(
        old != new,
        f"bitcast.C2: {x.type} and {dtype} have equal widths; use the elementwise bitcast",
    )
    if old > new:
        return TensorType((*x.shape, old // new), dtype)
    fine = bool(x.shape) and x.shape[-1] * old == new
    _need(fine, f"bitcast.C1: the last axis of {x.type} does not hold one {dtype}")
    return TensorType(x.shape[:-1], dtype)


def _fits(sizes: Sequence[int], shape: Sequence[int]) -> bool:
    return len(sizes) == len(shape) and all(
        0 <= size <= n for size, n in zip(sizes, shape, strict=True)
    )


def _dynamic_slice(node: ir.DynamicSlice) -> TensorType:
    x = node.x
    _scalar_integers(node.starts, len(x.shape), "dynamic_slice.C1")
    _need(_fits(node.sizes, x.shape), f"dynamic_slice.C2: sizes {node.sizes} do not fit {x.type}")
    return TensorType(node.sizes, x.dtype)


def _dynamic_update_slice(node: ir.DynamicUpdateSlice) -> _Type:
    x, update = node.x, node.update
    _scalar_integers(node.starts, len(x.shape), "dynamic_update_slice.C1")
    fine = update.dtype == x.dtype and _fits(update.shape, x.shape)
    _need(fine, f"dynamic_update_slice.C2: the update {update.type} does not fit {x.type}")
    return x.type


def _index_axes(
    op: str,
    x: ir.Node,
    indices: ir.Node,
    index_map: Sequence[int],
    dropped: Sequence[int],
    batching: tuple[Sequence[int], Sequence[int]],
) -> None:
    """Checks the dimension numbers that gathers and scatters have in common."""
    rank = len(x.shape)
    fine = dtypes.issubdtype(indices.dtype, np.integer) and len(indices.shape) >= 1
    _need(fine, f"{op}.C1: indices are {indices.type}, expected integers")
    fine = indices.shape[-1:] == (len(index_map),)
    _need(fine, f"{op}.C2: {len(index_map)} indexed axes for index vectors in {indices.type}")
    _axes(index_map, rank, f"{op}.C2", ascending=False)
    _axes(dropped, rank, f"{op}.C3", ascending=False)
    own, theirs = batching
    _axes(own, rank, f"{op}.C4", ascending=False)
    _axes(theirs, len(indices.shape) - 1, f"{op}.C4", ascending=False)
    fine = (
        len(own) == len(theirs)
        and not set(own) & {*index_map, *dropped}
        and all(x.shape[a] == indices.shape[b] for a, b in zip(own, theirs, strict=True))
    )
    _need(
        fine,
        f"{op}.C4: batching axes {tuple(own)} of {x.type}, {tuple(theirs)} of {indices.type} differ",
    )


def _gather(node: ir.Gather) -> TensorType:
    x, indices, dims, sizes = node.x, node.indices, node.dims, node.slice_sizes
    batching = (dims.operand_batching_dims, dims.start_indices_batching_dims)
    _index_axes("gather", x, indices, dims.start_index_map, dims.collapsed_slice_dims, batching)
    _need(_fits(sizes, x.shape), f"gather.C5: slice sizes {sizes} do not fit {x.type}")
    dropped = {*dims.collapsed_slice_dims, *dims.operand_batching_dims}
    _need(
        all(sizes[a] <= 1 for a in dropped),
        f"gather.C5: slice sizes {sizes} exceed 1 along dropped axes {dropped}",
    )
    window = [n for k, n in enumerate(sizes) if k not in dropped]
    rank = len(window) + len(indices.shape) - 1
    _need(
        len(dims.offset_dims) == len(window),
        f"gather.C6: offset_dims {dims.offset_dims} do not match windows {window}",
    )
    _axes(dims.offset_dims, rank, "gather.C6")
    _need(node.mode in _MODES, f"gather.C7: unknown mode {node.mode}")
    filled = node.mode == "fill"
    fine = (
        node.fill is not None and node.fill.shape == () and node.fill.dtype == x.dtype
        if filled
        else node.fill is None
    )
    _need(fine, f"gather.C7: invalid fill value {node.fill!r} in mode {node.mode}")
    w, b = iter(window), iter(indices.shape[:-1])
    shape = tuple(next(w) if k in dims.offset_dims else next(b) for k in range(rank))
    return TensorType(shape, x.dtype)


def _scatter(node: ir.Scatter) -> _Type:
    x, indices, updates, dims = node.x, node.indices, node.updates, node.dims
    batching = (dims.operand_batching_dims, dims.scatter_indices_batching_dims)
    index_map = dims.scatter_dims_to_operand_dims
    _index_axes("scatter", x, indices, index_map, dims.inserted_window_dims, batching)
    _need(
        updates.dtype == x.dtype,
        f"scatter.C5: updates {updates.type} and operand {x.type} have different dtypes",
    )
    dropped = {*dims.inserted_window_dims, *dims.operand_batching_dims}
    window = [n for k, n in enumerate(x.shape) if k not in dropped]
    _axes(dims.update_window_dims, len(updates.shape), "scatter.C6")
    own = [updates.shape[k] for k in dims.update_window_dims]
    _need(_fits(own, window), f"scatter.C6: windows of shape {own} do not fit {x.type}")
    batch = tuple(n for k, n in enumerate(updates.shape) if k not in dims.update_window_dims)
    _need(
        batch == indices.shape[:-1],
        f"scatter.C6: updates {updates.type} do not match indices {indices.type}",
    )
    _need(node.mode in _MODES, f"scatter.C7: unknown mode {node.mode}")
    if isinstance(node.combine, ir.Region):
        one = TensorType((), x.dtype)
        _signature(node.combine, (one, one), (one,), "scatter.C8: the combining region")
    else:
        _need(
            node.combine is None or node.combine in _SCATTERED,
            f"scatter.C8: unknown function {node.combine}",
        )
    return x.type


def _without(shape: Sequence[int], dims: Sequence[int]) -> tuple[int, ...]:
    return tuple(n for k, n in enumerate(shape) if k not in dims)


def _reduce(node: ir.Reduce) -> TensorType:
    x = node.x
    _axes(node.dims, len(x.shape), "reduce.C1")
    _need(node.fn in _MONOIDS, f"reduce.C2: unknown monoid {node.fn}")
    if node.fn in ("and", "or", "xor"):
        whole = x.dtype == _BOOL or dtypes.issubdtype(x.dtype, np.integer)
        _need(whole, f"reduce.C2: no monoid {node.fn} for {x.type}")
    return TensorType(_without(x.shape, node.dims), x.dtype)


def _arg_reduce(node: ir.ArgReduce) -> TensorType:
    x, dim = node.x, node.dim
    _need(
        0 <= dim < len(x.shape) and x.shape[dim] > 0,
        f"arg_reduce.C1: axis {dim} of {x.type} is empty or out of range",
    )
    _need(node.kind in ("max", "min"), f"arg_reduce.C2: unknown kind {node.kind}")
    _need(
        node.dtype.kind in "iu",
        f"arg_reduce.C3: the index dtype is {node.dtype}, expected an integer",
    )
    return TensorType(_without(x.shape, (dim,)), node.dtype)


def _reduce_region(node: ir.ReduceRegion) -> tuple[TensorType, ...]:
    xs, inits = node.xs, node.inits
    counts = f"{len(xs)} operands, but {len(inits)} initial values"
    _need(bool(xs) and len(xs) == len(inits), f"reduce_region.C1: {counts}")
    _need(all(x.shape == xs[0].shape for x in xs), "reduce_region.C1: the operands' shapes differ")
    _axes(node.dims, len(xs[0].shape), "reduce_region.C2")
    one = tuple(TensorType((), x.dtype) for x in xs)
    fine = tuple(i.type for i in inits) == one
    _need(fine, "reduce_region.C3: initial values are not scalars of the operands' dtypes")
    _signature(node.body, (*one, *one), one, "reduce_region.C4: the body")
    shape = _without(xs[0].shape, node.dims)
    return tuple(TensorType(shape, x.dtype) for x in xs)


def _cumulative(node: ir.Cumulative) -> _Type:
    _need(
        0 <= node.dim < len(node.x.shape),
        f"cumulative.C1: axis {node.dim} is out of range for {node.x.type}",
    )
    _need(node.fn in _RUNNING, f"cumulative.C2: unknown function {node.fn}")
    return node.x.type


def _dot(node: ir.Dot) -> TensorType:
    x, y, (cx, cy), (bx, by) = node.x, node.y, node.contract, node.batch
    _need(x.dtype == y.dtype, f"dot.C1: the dtypes of {x.type} and {y.type} differ")
    for operand, c, b in ((x, cx, bx), (y, cy, by)):
        _axes((*b, *c), len(operand.shape), "dot.C2", ascending=False)
    for mine, theirs in ((cx, cy), (bx, by)):
        same = [x.shape[k] for k in mine] == [y.shape[k] for k in theirs]
        _need(same, f"dot.C3: the sizes of axes {mine} of {x.type} and {theirs} of {y.type} differ")
    batch = tuple(x.shape[k] for k in bx)
    return TensorType(
        (*batch, *_without(x.shape, (*cx, *bx)), *_without(y.shape, (*cy, *by))), x.dtype
    )


def _dft(node: ir.Dft) -> tuple[TensorType, ...]:
    re, im = node.re, node.im
    _need(re.type == im.type, f"dft.C1: the types of the parts differ: {re.type}, {im.type}")
    _need(re.dtype in _PLANES, f"dft.C2: the parts are {re.dtype}, expected float32 or float64")
    _need(0 <= node.dim < len(re.shape), f"dft.C3: axis {node.dim} is out of range for {re.type}")
    extent = re.shape[node.dim]
    if node.of_real:
        plain = not (node.inverse or node.normalized or node.to_real)
        _need(plain, "dft.C4: a transform of real operands cannot be inverse")
        extent = extent // 2 + 1
    if node.to_real:
        _need(
            node.to_real // 2 + 1 == extent,
            f"dft.C5: got {extent} elements for {node.to_real} real results",
        )
        extent = node.to_real
    shape = (*re.shape[: node.dim], extent, *re.shape[node.dim + 1 :])
    return (TensorType(shape, re.dtype),) * (1 if node.to_real else 2)


def _convolution(node: ir.Convolution) -> TensorType:
    x, w, dims = node.x, node.w, node.dims
    _need(x.dtype == w.dtype, f"convolution.C1: the dtypes of {x.type} and {w.type} differ")
    for axes, shape in ((dims.x_axes, x.shape), (dims.w_axes, w.shape), (dims.out_axes, x.shape)):
        _axes(axes, len(shape), "convolution.C2", ascending=False)
        fine = len(axes) == dims.rank + 2 == len(shape)
        _need(fine, f"convolution.C2: the axes {axes} do not match the shape {shape}")
    sizes = (dims.low, dims.high, dims.x_dilation, dims.w_dilation)
    fine = all(len(each) == dims.rank for each in sizes)
    steps = (*dims.strides, *dims.x_dilation, *dims.w_dilation, dims.groups, dims.batch_groups)
    _need(fine and min(steps) >= 1, f"convolution.C3: invalid dimension numbers {dims}")
    batch, channels = x.shape[dims.x_axes[0]], x.shape[dims.x_axes[1]]
    features, per_group = w.shape[dims.w_axes[0]], w.shape[dims.w_axes[1]]
    fits = channels == per_group * dims.groups and features % (dims.groups * dims.batch_groups) == 0
    _need(
        fits and batch % dims.batch_groups == 0,
        f"convolution.C4: {x.type} and {w.type} do not fit {dims}",
    )
    return TensorType(dims.result_shape(x.shape, w.shape), x.dtype)


def _sort(node: ir.Sort) -> tuple[_Type, ...]:
    xs = node.xs
    _need(
        bool(xs) and all(x.shape == xs[0].shape for x in xs),
        "sort.C1: there are no operands, or their shapes differ",
    )
    _need(
        0 <= node.dim < len(xs[0].shape),
        f"sort.C2: axis {node.dim} is out of range for {xs[0].type}",
    )
    _need(1 <= node.num_keys <= len(xs), f"sort.C3: {node.num_keys} keys for {len(xs)} operands")
    return tuple(x.type for x in xs)


def _top_k(node: ir.TopK) -> tuple[TensorType, ...]:
    x, dim = node.x, node.dim
    _need(0 <= dim < len(x.shape), f"top_k.C1: axis {dim} is out of range for {x.type}")
    _need(
        0 <= node.k <= x.shape[dim],
        f"top_k.C2: k = {node.k} exceeds the size of axis {dim} of {x.type}",
    )
    shape = (*x.shape[:dim], node.k, *x.shape[dim + 1 :])
    return (TensorType(shape, x.dtype), TensorType(shape, _INT32))


def _cond(node: ir.Cond) -> tuple[_Type, ...]:
    _need(
        node.index.type == TensorType((), _INT32),
        f"cond.C1: the index is {node.index.type}, expected int32[]",
    )
    _need(bool(node.cases), "cond.C2: there are no branches")
    operand_types = [a.type for a in node.args]
    wanted = tuple(r.type for r in node.cases[0].results)
    for i, branch in enumerate(node.cases):
        _signature(branch, operand_types, wanted, f"cond.C3: branch {i}")
    return wanted


def _while(node: ir.While) -> tuple[_Type, ...]:
    carry = tuple(x.type for x in node.init)
    _signature(node.cond, carry, (TensorType((), _BOOL),), "while.C1: the condition")
    _signature(node.body, carry, carry, "while.C2: the body")
    return carry


def _library_call(node: ir.LibraryCall) -> tuple[TensorType, ...]:
    _need(library.is_declared(node.name), f"library_call.C1: unknown function {node.name}")
    _need(
        library.is_plain(node.params), f"library_call.C2: parameters {node.params} are not literals"
    )
    routine, types = library.Routine(node.name, node.params), [a.tensor_type for a in node.args]
    try:
        return library.result_types(routine, types)
    except (TypeError, ValueError) as error:
        raise IRError(f"library_call.C3: {routine} of {_types(types)}: {error}") from error


def _collective(node: ir.Collective) -> TensorType:
    try:
        return collectives.result_type(node.kind, node.axes, node.groups, node.params, node.args)
    except AssertionError as error:
        raise IRError(str(error)) from None


def _host_call(node: ir.HostCall) -> None:
    _need(
        callable(node.fn) and isinstance(node.type, tuple),
        "host_call.C1: the function is not callable, or the type is not a tuple",
    )


def _optimization_barrier(node: ir.OptimizationBarrier) -> tuple[_Type, ...]:
    return tuple(a.type for a in node.args)


def _sharding_constraint(node: ir.ShardingConstraint) -> _Type:
    placed, ndim = node.sharding, len(node.x.shape)
    _need(
        len(placed.dimensions) == len(placed.is_open) == ndim,
        f"sharding_constraint.C1: {placed} does not match the rank of {node.x.type}",
    )
    names = [name for axes in placed.dimensions for name in axes]
    names += [*placed.replicated, *placed.unreduced]
    _need(
        len({*names}) == len(names), f"sharding_constraint.C2: a mesh axis occurs twice in {placed}"
    )
    return node.x.type


def _project(node: ir.Project) -> TensorType:
    types = node.node.type
    fine = isinstance(types, tuple) and 0 <= node.index < len(types)
    _need(fine, f"project.C2: there is no result {node.index} in {_types(types)}")
    assert isinstance(types, tuple)
    return types[node.index]


def _parameter(node: ir.Parameter) -> None:
    return None


Check = Callable[[Any], Any]

_checks: dict[type, Check] = {
    ir.Parameter: _parameter, ir.Constant: _constant, ir.Iota: _iota, ir.Apply: _apply,
    ir.Broadcast: _broadcast, ir.Reshape: _reshape, ir.Transpose: _transpose, ir.Slice: _slice,
    ir.Reverse: _reverse, ir.Pad: _pad, ir.Concatenate: _concatenate, ir.Bitcast: _bitcast,
    ir.DynamicSlice: _dynamic_slice, ir.DynamicUpdateSlice: _dynamic_update_slice,
    ir.Gather: _gather, ir.Scatter: _scatter, ir.Reduce: _reduce, ir.ArgReduce: _arg_reduce,
    ir.ReduceRegion: _reduce_region, ir.Cumulative: _cumulative, ir.Dot: _dot, ir.Dft: _dft,
    ir.Sort: _sort,
    ir.Convolution: _convolution,
    ir.TopK: _top_k, ir.Cond: _cond, ir.While: _while,
    ir.LibraryCall: _library_call, ir.Collective: _collective, ir.HostCall: _host_call,
    ir.OptimizationBarrier: _optimization_barrier, ir.ShardingConstraint: _sharding_constraint,
    ir.Project: _project,
}  # fmt: skip


def check(kind: type[ir.Node]) -> Callable[[Check], Check]:
    """Registers the check of nodes of `kind`.

    The check is a function of a node. It returns the type that it infers for the node, or None if
    it infers none, and raises `IRError` if a constraint is violated.
    """

    def enter(function: Check) -> Check:
        _checks[kind] = function
        return function

    return enter
