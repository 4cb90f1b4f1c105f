"""Algebraic simplification and constant folding: exact rewrite rules, applied to a fixed point.

The program is rebuilt, operands first. The rules for its kind are applied to each new node; a rule
returns a simpler node, or None if it does not apply. Two classic optimizations are side effects of
rebuilding: the builder interns nodes (hash-consing, Ershov 1958), which is common subexpression
elimination by value numbering, and unused nodes are never built, which is dead code elimination.
The cost is linear in the number of nodes and rules. A rule inspects the operands of its node, but
never its users.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jitney.compiler import blas
from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import collectives, interpret, ir, traversal
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.contractions import has_tiles, is_small_dot, operand_order
from jitney.compiler.hlo.float_bounds import bounds
from jitney.compiler.hlo.traversal import scalar_value
from jitney.compiler.scalar_functions import lookup
from jitney.core.util import float_errors
from jitney.core.util.record import replace

Rule = Callable[[Builder, Any], "ir.Node | None"]
Rules = Mapping[type, tuple[Rule, ...]]


def run(module: ir.Module, rules: Rules | None = None) -> ir.Module:
    """Returns `module` with the rules applied to it and to nested regions.

    Args:
      module: the program.
      rules: the rules to apply, by kind of node; all rules if None.
    """
    return replace(module, region=_region(module.region, _rules if rules is None else rules))


def _region(region: ir.Region, rules: Rules) -> ir.Region:
    def make(b: Builder, node: ir.Node, new: Mapping[ir.Node, Any]) -> ir.Node | list[ir.Node]:
        inner = traversal.with_regions(node, lambda region: _region(region, rules))
        rebuilt: ir.Node | list[ir.Node] = traversal.rebuild(b, inner, new.__getitem__)
        if isinstance(rebuilt, list):
            return [_simplified(b, x, rules) for x in rebuilt]
        return _simplified(b, rebuilt, rules)

    return traversal.rewrite(region, make)


def _simplified(b: Builder, node: ir.Node, rules: Rules) -> ir.Node:
    while True:
        for rule in rules.get(type(node), ()):
            better = rule(b, node)
            if better is not None and better is not node:
                node = better
                break
        else:
            return node


def rule_names() -> list[str]:
    """Returns the names of all rules."""
    return list(dict.fromkeys(rule.__name__ for rules in _rules.values() for rule in rules))


def rules_without(name: str) -> Rules:
    """Returns all rules except the one called `name`."""
    return {
        kind: tuple([rule for rule in rules if rule.__name__ != name])
        for kind, rules in _rules.items()
    }


def rule_alone(name: str) -> Rules:
    """Returns only the rule called `name`, for tests."""
    return {
        kind: tuple([rule for rule in rules if rule.__name__ == name])
        for kind, rules in _rules.items()
    }


# --- constants ----------------------------------------------------------------------------------


def _is_small_constant(node: ir.Node) -> bool:
    return isinstance(node, ir.Constant) and node.value.size <= COSTS.folded_elements


def _may_round_differently(node: ir.Node) -> bool:
    """Returns whether compiled code may round `node` differently from the reference.

    Constants are folded by the reference implementation.
    """
    if not isinstance(node, ir.Apply):
        return False
    function = lookup(node.fn)
    return function.code is not None and not function.is_exact


def fold_constants(b: Builder, node: ir.Node) -> ir.Node | None:
    """Evaluates an operation on small constants, if compiled code would yield the same result."""
    operands = traversal.operands(node)
    if not operands or not all(map(_is_small_constant, operands)):
        return None
    if node.tensor_type.size > COSTS.folded_elements or _may_round_differently(node):
        return None
    with float_errors.ignored():
        value = interpret.evaluate(
            node, {x: x.value for x in operands if isinstance(x, ir.Constant)}
        )
    return b.constant(
        np.asarray(value, order="C")
    )  # ascontiguousarray would add an axis to scalars


# --- elementwise --------------------------------------------------------------------------------


def neutral_operand(b: Builder, node: ir.Apply) -> ir.Node | None:
    """Removes operations with a neutral constant, such as x * 1, x + -0.0 and b & True.

    Logical operations on Booleans are also evaluated if their constant determines the result.
    """
    if len(node.args) != 2:
        return None
    x, y = node.args
    kind = node.dtype.kind
    for value, other, right in ((scalar_value(y), x, True), (scalar_value(x), y, False)):
        if value is None or other.dtype != node.dtype:
            continue
        if node.fn == "mul" and value == 1 and kind in "iufb":
            return other
        if (
            node.fn == "add"
            and value == 0
            and (kind in "iu" or (kind == "f" and np.signbit(value)))
        ):
            return other
        if (
            node.fn == "sub"
            and right
            and value == 0
            and (kind in "iu" or (kind == "f" and not np.signbit(value)))
        ):
            return other
        if node.fn == "div" and right and value == 1 and kind in "iuf":
            return other
        if kind == "b" and node.fn in ("and", "or"):
            neutral = node.fn == "and"
            return other if bool(value) == neutral else b.full(node.shape, not neutral, np.bool_)
    return None


def sum_with_zero(b: Builder, node: ir.Apply) -> ir.Node | None:
    """Rewrites x + 0.0 to x if x cannot be -0.0."""
    if node.fn != "add" or node.dtype.kind != "f":
        return None
    for x, zero in (node.args, node.args[::-1]):
        if scalar_value(zero) == 0 and bounds(x) is not None:
            return x
    return None


def bound_that_holds(b: Builder, node: ir.Apply) -> ir.Node | None:
    """Rewrites max(x, c) to x if x is known to be at least c, and min(x, c) correspondingly."""
    if node.fn not in ("max", "min") or node.dtype.kind != "f":
        return None
    for x, end in (node.args, node.args[::-1]):
        value = scalar_value(end)
        known = bounds(x)
        if value is None or known is None:
            continue
        if known.low >= value if node.fn == "max" else known.high <= value:
            return x
    return None


def division_by_power_of_two(b: Builder, node: ir.Apply) -> ir.Node | None:
    """Rewrites x / 2^k to x * 2^-k, which has the same result."""
    if node.fn != "div" or node.dtype.kind != "f":
        return None
    value = scalar_value(node.args[1])
    if value is None or not np.isfinite(value) or value == 0:
        return None
    mantissa, exponent = np.frexp(value)
    if abs(mantissa) != 0.5 or abs(int(exponent)) > 14:
        return None
    inverse = b.full(node.shape, 1 / value, node.dtype)
    return b.apply("mul", node.args[0], inverse)


def select_of_constant(b: Builder, node: ir.Apply) -> ir.Node | None:
    """Simplifies a select with a constant predicate or with equal operands."""
    if node.fn != "select":
        return None
    predicate, yes, no = node.args
    if yes is no:
        return yes
    value = scalar_value(predicate)
    return None if value is None else (yes if value else no)


def apply_to_scalars(b: Builder, node: ir.Apply) -> ir.Node | None:
    """Rewrites f(broadcast scalar, ...) to broadcast f(scalar, ...), so that f is computed once."""
    if not node.shape:
        return None
    inner: list[ir.Node] = []
    for x in node.args:
        if not isinstance(x, ir.Broadcast) or x.x.shape:
            return None
        inner.append(x.x)
    scalar = _apply_like(b, node, inner)
    return b.broadcast(fold_constants(b, scalar) or scalar, node.shape, ())


def _apply_like(b: Builder, node: ir.Apply, args: list[ir.Node]) -> ir.Node:
    if node.fn == "convert":
        return b.convert(args[0], node.dtype)
    if node.fn == "bitcast":
        return b.bitcast(args[0], node.dtype)
    return b.apply(node.fn, *args)


def _no_loss(old: np.dtype, new: np.dtype) -> bool:
    """Returns whether every value of `old` is representable in `new`."""
    if "V" in (old.kind, new.kind):
        return False
    if old.kind in "iu" and new.kind == "f":  # NumPy considers int64 to float64 a safe cast
        return old.itemsize < new.itemsize
    return np.can_cast(old, new)


def convert_of_convert(b: Builder, node: ir.Apply) -> ir.Node | None:
    """Rewrites convert(convert(x)) to convert(x) if the inner conversion is lossless.

    Conversions between integers through floats are excluded: out-of-range floats are clamped,
    whereas integers wrap around.
    """
    if node.fn != "convert":
        return None
    (x,) = node.args
    if not isinstance(x, ir.Apply) or x.fn != "convert":
        return None
    source = x.args[0]
    kinds = source.dtype.kind + x.dtype.kind + node.dtype.kind
    wraps = kinds[0] in "iu" and kinds[1] == "f" and kinds[2] in "iu"
    if kinds[0] == "b" or wraps or not _no_loss(source.dtype, x.dtype):
        return None
    return b.convert(source, node.dtype)


# --- views --------------------------------------------------------------------------------------


def broadcast_of_broadcast(b: Builder, node: ir.Broadcast) -> ir.Node | None:
    """Rewrites broadcast(broadcast(x)) to broadcast(x)."""
    inner = node.x
    if not isinstance(inner, ir.Broadcast):
        return None
    dims = tuple(node.dims[d] for d in inner.dims)
    if any(
        n == 1 and inner.shape[d] != 1 and node.shape[node.dims[d]] != inner.shape[d]
        for n, d in zip(inner.x.shape, inner.dims, strict=True)
    ):
        return None
    return b.broadcast(inner.x, node.shape, dims)


def reshape_of_scalar(b: Builder, node: ir.Reshape) -> ir.Node | None:
    """Rewrites reshape(broadcast scalar) to broadcast scalar."""
    x = node.x
    if isinstance(x, ir.Broadcast) and not x.x.shape:
        return b.broadcast(x.x, node.shape, ())
    return None


def transpose_of_scalar(b: Builder, node: ir.Transpose) -> ir.Node | None:
    """Rewrites transpose(broadcast scalar) to broadcast scalar."""
    x = node.x
    if isinstance(x, ir.Broadcast) and not x.x.shape:
        return b.broadcast(x.x, node.shape, ())
    return None


def slice_of_simple(b: Builder, node: ir.Slice) -> ir.Node | None:
    """Simplifies slices of broadcast scalars, of slices, and of concatenations.

    A slice of a concatenation is simplified if it is within one part.
    """
    x = node.x
    if isinstance(x, ir.Broadcast) and not x.x.shape:
        return b.broadcast(x.x, node.shape, ())
    if isinstance(x, ir.Slice):
        starts = tuple(
            s + lo * t for s, lo, t in zip(x.starts, node.starts, x.strides, strict=True)
        )
        strides = tuple(p * q for p, q in zip(x.strides, node.strides, strict=True))
        limits = tuple(
            start + (n - 1) * step + 1
            for start, n, step in zip(starts, node.shape, strides, strict=True)
        )
        return b.slice(x.x, starts, limits, strides)
    if isinstance(x, ir.Concatenate):
        start = 0
        for part in x.parts:
            end = start + part.shape[x.dim]
            if start <= node.starts[x.dim] and node.limits[x.dim] <= end:
                starts, limits = list(node.starts), list(node.limits)
                starts[x.dim] -= start
                limits[x.dim] -= start
                return b.slice(part, starts, limits, node.strides)
            start = end
    return None


# --- contractions -------------------------------------------------------------------------------


def dot_of_transpose(b: Builder, node: ir.Dot) -> ir.Node | None:
    """Folds transposes of operands into a contraction's dimension numbers.

    The axes of the result must keep their order. A transpose is kept if neither BLAS nor register
    tiles would support the layout without it (`decompose.with_layouts` adds such transposes).
    """
    if has_tiles(node):
        return None
    for side, x in enumerate((node.x, node.y)):
        if not isinstance(x, ir.Transpose):
            continue
        contract, batch = node.contract[side], node.batch[side]
        free = [j for j in range(len(x.shape)) if j not in contract and j not in batch]
        moved = [x.perm[j] for j in free]
        if moved != sorted(moved):
            continue
        new_contract = tuple(x.perm[j] for j in contract)
        new_batch = tuple(x.perm[j] for j in batch)
        if (
            node.dtype in blas.PRODUCTS
            and operand_order(len(x.shape), batch, contract) is not None
            and operand_order(len(x.shape), new_batch, new_contract) is None
            and not is_small_dot(node)
        ):
            continue
        if side == 0:
            contracts, batches = (new_contract, node.contract[1]), (new_batch, node.batch[1])
            return b.dot(x.x, node.y, contracts, batches, node.dtype)
        contracts, batches = (node.contract[0], new_contract), (node.batch[0], new_batch)
        return b.dot(node.x, x.x, contracts, batches, node.dtype)
    return None


def dot_of_one_product(b: Builder, node: ir.Dot) -> ir.Node | None:
    """Rewrites a contraction over axes of size 1 to an elementwise product, which can be fused.

    Sums start from 0, so a product of -0.0 becomes 0.0.
    """
    if node.dtype.kind not in "iuf" or any(node.x.shape[j] != 1 for j in node.contract[0]):
        return None
    n_batch = len(node.batch[0])
    factors: list[ir.Node] = []
    position = n_batch
    for side, x in enumerate((node.x, node.y)):
        contract, batch = node.contract[side], node.batch[side]
        free = [j for j in range(len(x.shape)) if j not in contract and j not in batch]
        ordered = b.transpose(x, [*batch, *free, *contract])
        kept = b.reshape(ordered, ordered.shape[: n_batch + len(free)])
        dims = [*range(n_batch), *range(position, position + len(free))]
        factors.append(b.broadcast(kept, node.shape, dims))
        position += len(free)
    product = b.apply("mul", *factors)
    if node.dtype.kind != "f":
        return product
    return b.apply("add", product, b.full(node.shape, 0, node.dtype))


def is_narrow(node: ir.Dot, side: int) -> bool:
    """Returns whether an operand of `node` is a tall matrix with rows too short to vectorize."""
    shape = (node.x, node.y)[side].shape
    if node.batch[0] or len(shape) != 2 or len(node.contract[side]) != 1:
        return False
    return shape[1] < COSTS.narrow_row <= shape[0]


def with_transposed(
    b: Builder, node: ir.Dot, side: int, matrix: ir.Node, other: ir.Node
) -> ir.Node:
    """Returns the product `node`, computed from the transpose of one of its operands.

    `matrix` is the transpose of the operand on `side`, and `other` is the other operand.
    """
    along, others = 1 - node.contract[side][0], node.contract[1 - side]
    if side == 0:
        return b.dot(matrix, other, ((along,), others), node.batch, node.dtype)
    return b.dot(other, matrix, (others, (along,)), node.batch, node.dtype)


def dot_of_narrow_constant(b: Builder, node: ir.Dot) -> ir.Node | None:
    """Transposes a constant matrix with short rows, so that kernels read along its long axis."""
    for side, x in enumerate((node.x, node.y)):
        if isinstance(x, ir.Constant) and is_narrow(node, side):
            matrix = b.constant(np.ascontiguousarray(x.value.T))
            return with_transposed(b, node, side, matrix, (node.x, node.y)[1 - side])
    return None


def transpose_of_dot(b: Builder, node: ir.Transpose) -> ir.Node | None:
    """Rewrites transpose(x @ y) to y @ x, for contractions without batch axes.

    The transpose must exchange the free axes of x with those of y.
    """
    x = node.x
    if not isinstance(x, ir.Dot) or x.batch[0]:
        return None
    of_x = len(x.x.shape) - len(x.contract[0])
    rank = len(x.shape)
    if node.perm != (*range(of_x, rank), *range(of_x)):
        return None
    return b.dot(x.y, x.x, (x.contract[1], x.contract[0]), ((), ()), x.dtype)


# --- scatters -----------------------------------------------------------------------------------


def scatter_of_one_window(b: Builder, node: ir.Scatter) -> ir.Node | None:
    """Rewrites a scatter of a single window, as in x.at[i].set(y), to an update of a slice.

    A window that the scatter would drop is replaced by the old elements.
    """
    dims, shape = node.dims, node.x.shape
    batch = node.indices.shape[:-1]
    if any(n != 1 for n in batch) or isinstance(node.combine, ir.Region):
        return None
    sizes = traversal.window_sizes(node)
    if dims.operand_batching_dims or any(n > m for n, m in zip(sizes, shape, strict=True)):
        return None
    wide = np.dtype(np.int64)
    starts = [b.constant(wide.type(0))] * len(shape)
    inside: ir.Node | None = None
    for j, axis in enumerate(dims.scatter_dims_to_operand_dims):
        lower, upper = [0] * len(batch) + [j], [1] * len(batch) + [j + 1]
        one = b.slice(node.indices, lower, upper, [1] * (len(batch) + 1))
        if one.dtype == np.uint64:  # values above the range of int64 are out of bounds
            one = b.apply("min", one, b.full(one.shape, np.iinfo(wide).max, one.dtype))
        start = starts[axis] = b.convert(b.reshape(one, ()), wide)
        most = b.constant(wide.type(shape[axis] - sizes[axis]))
        if node.mode != "clip":
            fits = b.apply(
                "and", b.apply("ge", start, b.constant(wide.type(0))), b.apply("le", start, most)
            )
            inside = fits if inside is None else b.apply("and", inside, fits)
    others = [k for k in range(len(node.updates.shape)) if k not in dims.update_window_dims]
    update = b.reshape(b.transpose(node.updates, [*others, *dims.update_window_dims]), sizes)
    old = b.dynamic_slice(node.x, starts, sizes)
    value = update if node.combine is None else b.apply(node.combine, old, update)
    if inside is not None:
        value = b.apply("select", b.broadcast(inside, sizes, ()), value, old)
    return b.dynamic_update_slice(node.x, value, starts)


# --- reductions ---------------------------------------------------------------------------------


def reduce_of_one(b: Builder, node: ir.Reduce) -> ir.Node | None:
    """Rewrites a reduction over axes of size 1 to a reshape.

    Sums start from 0, so -0.0 becomes 0.0.
    """
    if any(node.x.shape[d] != 1 for d in node.dims):
        return None
    out = b.reshape(node.x, node.shape)
    if node.fn != "add" or node.dtype.kind not in "fcV":
        return out
    source = node.x
    while isinstance(source, ir.Reshape | ir.Transpose):
        source = source.x
    if isinstance(source, ir.Reduce) and source.fn == "add":
        return out
    return b.apply("add", out, b.full(node.shape, 0, node.dtype))


# --- collectives and placement ------------------------------------------------------------------


def collective_of_one(b: Builder, node: ir.Collective) -> ir.Node | None:
    """Rewrites a collective in a group of one participant to its operand, or to zero."""
    if collectives.group_size(node.axes, node.groups) != 1:
        return None
    if collectives.is_operand(node.kind, node.params):
        return node.args[0]
    return b.full(node.shape, 0, node.dtype)


def drop_sharding_constraint(b: Builder, node: ir.ShardingConstraint) -> ir.Node:
    """Rewrites a sharding constraint to its operand, in programs that are not partitioned."""
    return node.x


_rules: dict[type, tuple[Rule, ...]] = {
    ir.Apply: (
        fold_constants,
        neutral_operand,
        sum_with_zero,
        bound_that_holds,
        division_by_power_of_two,
        select_of_constant,
        apply_to_scalars,
        convert_of_convert,
    ),
    ir.Broadcast: (broadcast_of_broadcast,),
    ir.Reshape: (fold_constants, reshape_of_scalar),
    ir.Transpose: (fold_constants, transpose_of_scalar, transpose_of_dot),
    ir.Slice: (fold_constants, slice_of_simple),
    ir.Dot: (dot_of_transpose, dot_of_one_product, dot_of_narrow_constant),
    ir.Reduce: (reduce_of_one,),
    ir.Scatter: (scatter_of_one_window,),
    ir.Collective: (collective_of_one,),
    ir.ShardingConstraint: (drop_sharding_constraint,),
}
