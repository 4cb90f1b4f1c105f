"""Splits complex values into real and imaginary parts, so that kernels need only real arithmetic.

    z = x * y   ->   re = real(x) * real(y) - imag(x) * imag(y)
                     im = real(x) * imag(y) + imag(x) * real(y)
                     z = complex(re, im)   if z is needed in memory

The result is in the split-complex, or planar, format. Inputs and outputs of the program, operands
and results of library calls and Python functions, and loop-invariant carries remain interleaved in
memory; kernels read them through `real` and `imag` and write them through `complex`. All other
values, including most carries of loops, are replaced by two real ones. A contraction of few
elements becomes a sum of products, whose real and imaginary parts are computed in one kernel.

Functions that cannot be expressed in real arithmetic call their reference implementations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any, TypeAlias, cast

import numpy as np

from jitney.compiler.hlo import convolutions, ir, traversal
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.contractions import is_small_dot
from jitney.compiler.scalar_functions import real_dtype
from jitney.compiler.scalar_functions.complex_functions import COMPLEX_FUNCTIONS
from jitney.core.util.record import record, replace

_BOOL = np.dtype(bool)

# Kinds of nodes whose result is split by applying the same node to the parts of the operands.
_LINEAR = (
    ir.Broadcast, ir.Reshape, ir.Transpose, ir.Slice, ir.Reverse, ir.Pad, ir.Concatenate,
    ir.DynamicSlice, ir.DynamicUpdateSlice,
)  # fmt: skip


@record(frozen=True)
class Split:
    """A complex value as two real nodes.

    Attributes:
      re, im: its real and imaginary parts.
      whole: the complex node, if it is in memory anyway, or None.
    """

    re: ir.Node
    im: ir.Node
    whole: ir.Node | None = None


_Value: TypeAlias = "ir.Node | Split"
_Pair: TypeAlias = tuple[ir.Node, ir.Node]
_Values: TypeAlias = MutableMapping[ir.Node, Any]


def is_needed(region: ir.Region) -> bool:
    """Returns whether `region`, or a region nested in it, has complex values."""
    for node in traversal.reachable(traversal.roots(region)).values():
        for type_ in node.type if isinstance(node.type, tuple) else (node.type,):
            if type_.dtype.kind == "c":
                return True
        if ir.fields_of(type(node)).regions:
            for _, inner in traversal.regions(node):
                if is_needed(inner):
                    return True
    return False


def run(module: ir.Module) -> ir.Module:
    """Returns `module` with complex values split into real and imaginary parts."""
    n = len(module.region.parameters)
    whole = [False] * max(n, len(module.region.results))
    region = _region(module.region, whole[:n], whole[: len(module.region.results)])
    return replace(module, region=region)


def _region(region: ir.Region, split: Sequence[bool], split_results: Sequence[bool]) -> ir.Region:
    """Returns `region` with parameters and results split as marked in `split`, `split_results`."""
    b = Builder()
    new: dict[ir.Node, Any] = {}
    parameters: list[ir.Parameter] = []

    def parameter(type_: ir.TensorType) -> ir.Node:
        parameters.append(b.parameter(len(parameters), type_))
        return parameters[-1]

    for p, is_split in zip(region.parameters, split, strict=True):
        if is_split:
            part = _part_type(p)
            new[p] = Split(parameter(part), parameter(part))
        else:
            new[p] = _value(b, parameter(p.tensor_type))
    traversal.rebuild_all(b, traversal.roots(region), new, lambda node: _made(b, node, new))
    results: list[ir.Node] = []
    for r, is_split in zip(region.results, split_results, strict=True):
        results += [new[r].re, new[r].im] if is_split else [_whole(b, new[r])]
    return ir.Region(tuple(parameters), tuple(results), tuple(b.ordered))


def _part_type(node: ir.Node) -> ir.TensorType:
    return ir.TensorType(node.shape, real_dtype(node.dtype))


def is_complex(node: ir.Node) -> bool:
    """Returns whether the elements of `node` are complex."""
    return node.dtype.kind == "c"


# --- values -------------------------------------------------------------------------------------


def _value(b: Builder, node: ir.Node) -> _Value:
    """Returns `node`, which is in memory, as a value, split if it is complex."""
    if isinstance(node.type, tuple) or not is_complex(node):
        return node
    return Split(b.apply("real", node), b.apply("imag", node), node)


def _whole(b: Builder, value: _Value) -> ir.Node:
    """Returns a value as a single node, which is complex if the value is split."""
    if not isinstance(value, Split):
        return value
    return b.apply("complex", value.re, value.im) if value.whole is None else value.whole


def _pair(b: Builder, value: _Value) -> _Pair:
    """Returns the real and imaginary parts of a value, which may be real."""
    if isinstance(value, Split):
        return value.re, value.im
    return value, b.full(value.shape, 0, value.dtype)


def _part(value: _Value, which: int) -> ir.Node:
    """Returns the real (0) or imaginary (1) part of a split value; other values are unchanged."""
    return (value.im if which else value.re) if isinstance(value, Split) else value


# --- nodes --------------------------------------------------------------------------------------


def _made(b: Builder, node: ir.Node, new: _Values) -> _Value | Sequence[_Value]:
    """Rebuilds `node` in `b`.

    Returns a node, a `Split`, or a list of them for several results.
    """
    match node:
        case ir.While():
            return _while(b, node, new)
        case ir.Cond():
            return _cond(b, node, new)
        case ir.OptimizationBarrier():
            return _optimization_barrier(b, node, new)
        case _:
            pass
    if isinstance(node.type, tuple):
        return [_value(b, x) for x in _as_it_is(b, node, new)]
    if not any([isinstance(new[x], Split) for x in traversal.operands(node)]) and not is_complex(
        node
    ):
        return _as_it_is(b, node, new)
    result: _Value | None = None
    match node:
        case ir.Constant():
            result = Split(b.constant(np.real(node.value)), b.constant(np.imag(node.value)))
        case ir.Apply():
            result = _apply(b, node, [new[a] for a in node.args])
        case ir.Gather():
            result = _gather(b, node, new)
        case ir.Dot():
            result = _dot(b, node, new[node.x], new[node.y])
        case ir.Convolution():
            x, w = (_pair(b, new[v]) for v in (node.x, node.w))
            result = Split(*convolutions.real_and_imaginary(b, x, w, node.dims))
        case ir.Reduce(fn="add") | ir.Cumulative(fn="add") | ir.Scatter(combine=None | "add"):
            result = _of_parts(b, node, new)
        case ir.Reduce():
            result = _folded(b, node, _pair(b, new[node.x]))
        case ir.Cumulative(fn="mul" | "max" | "min"):
            result = _run_along(b, node, _pair(b, new[node.x]))
        case _ if isinstance(node, _LINEAR):
            result = _of_parts(b, node, new)
        case _:
            pass
    return _value(b, _as_it_is(b, node, new)) if result is None else result


def _as_it_is(b: Builder, node: ir.Node, new: _Values) -> Any:
    return traversal.rebuild(b, node, lambda x: _whole(b, new[x]))


def _of_parts(b: Builder, node: ir.Node, new: _Values) -> Split:
    """Applies the operation to both parts separately."""
    re, im = (traversal.rebuild(b, node, lambda x, k=k: _part(new[x], k)) for k in (0, 1))
    return Split(re, im)


def _gather(b: Builder, node: ir.Gather, new: _Values) -> Split:
    parts: list[ir.Node] = []
    for which in (0, 1):
        fill = node.fill if node.fill is None else (np.imag, np.real)[not which](node.fill)
        x = _part(new[node.x], which)
        parts.append(b.gather(x, new[node.indices], node.dims, node.slice_sizes, node.mode, fill))
    return Split(parts[0], parts[1])


def _optimization_barrier(b: Builder, node: ir.OptimizationBarrier, new: _Values) -> list[_Value]:
    values = [new[x] for x in node.args]
    return _joined(b.optimization_barrier(_flattened(values)), values)


def _flattened(values: Sequence[_Value]) -> list[ir.Node]:
    """Returns the nodes of all values; a split value contributes two."""
    flat: list[ir.Node] = []
    for x in values:
        flat += [x.re, x.im] if isinstance(x, Split) else [x]
    return flat


def _joined(nodes: Sequence[ir.Node], like: Sequence[_Value]) -> list[_Value]:
    """Returns the values that consist of `nodes`; this is the inverse of `_flattened`.

    `like` contains values of which the same ones are split.
    """
    flat = iter(nodes)
    return [Split(next(flat), next(flat)) if isinstance(x, Split) else next(flat) for x in like]


# --- control ------------------------------------------------------------------------------------


def _while(b: Builder, node: ir.While, new: _Values) -> list[_Value]:
    body = node.body
    split = [
        is_complex(r) and r is not p for r, p in zip(body.results, body.parameters, strict=True)
    ]
    values = [new[x] for x in node.init]
    init = _flattened([x if s else _whole(b, x) for x, s in zip(values, split, strict=True)])
    outs = iter(b.while_(_region(node.cond, split, [False]), _region(body, split, split), init))
    return [Split(next(outs), next(outs)) if s else _value(b, next(outs)) for s in split]


def _cond(b: Builder, node: ir.Cond, new: _Values) -> list[_Value]:
    values = [new[x] for x in node.args]
    split = [isinstance(x, Split) for x in values]
    results = [is_complex(r) for r in node.cases[0].results]
    cases = [_region(branch, split, results) for branch in node.cases]
    outs = iter(b.cond(new[node.index], cases, _flattened(values)))
    return [Split(next(outs), next(outs)) if s else next(outs) for s in results]


# --- arithmetic -----------------------------------------------------------------------------------


def _apply(b: Builder, node: ir.Apply, args: Sequence[_Value]) -> _Value | None:
    """Returns a scalar function in terms of the parts of `args`, or None if that is impossible."""
    fn = node.fn
    if fn == "complex":
        re, im = args
        assert isinstance(re, ir.Node) and isinstance(im, ir.Node)
        return Split(re, im)
    if fn == "select":
        which = args[0]
        assert isinstance(which, ir.Node)
        parts = [b.apply(fn, which, _part(args[1], k), _part(args[2], k)) for k in (0, 1)]
        return Split(parts[0], parts[1])
    pairs = [_pair(b, x) for x in args]
    if fn in _FORMS:
        result = _FORMS[fn](b, *pairs)
        return Split(*result) if isinstance(result, tuple) else result
    if fn not in COMPLEX_FUNCTIONS:
        return None
    flat = [part for pair in pairs for part in pair]
    parts = [b.apply(name, *flat) for name in COMPLEX_FUNCTIONS[fn].parts]
    return Split(parts[0], parts[1]) if len(parts) == 2 else parts[0]


_Result: TypeAlias = ir.Node | _Pair
_Unary: TypeAlias = Callable[[Builder, _Pair], _Result]
_Binary: TypeAlias = Callable[[Builder, _Pair, _Pair], _Result]


def _mul(b: Builder, x: _Pair, y: _Pair) -> _Pair:
    re = b.apply("sub", b.apply("mul", x[0], y[0]), b.apply("mul", x[1], y[1]))
    return re, b.apply("add", b.apply("mul", x[0], y[1]), b.apply("mul", x[1], y[0]))


def _each(fn: str) -> Callable[..., _Pair]:
    def rule(b: Builder, *xs: _Pair) -> _Pair:
        return b.apply(fn, *[x[0] for x in xs]), b.apply(fn, *[x[1] for x in xs])

    return rule


def _compare(fn: str, joined_by: str) -> Callable[[Builder, _Pair, _Pair], ir.Node]:
    return lambda b, x, y: b.apply(joined_by, b.apply(fn, x[0], y[0]), b.apply(fn, x[1], y[1]))


def _extreme(order: str) -> Callable[[Builder, _Pair, _Pair], _Pair]:
    """Returns a function that selects the lexicographic minimum or maximum of two complex values.

    It compares (real, imaginary), and selects the first operand only if it is strictly beyond the
    second one.
    """

    def rule(b: Builder, x: _Pair, y: _Pair) -> _Pair:
        tie = b.apply("and", b.apply("eq", x[0], y[0]), b.apply(order, x[1], y[1]))
        first = b.apply("or", b.apply(order, x[0], y[0]), tie)
        return b.apply("select", first, x[0], y[0]), b.apply("select", first, x[1], y[1])

    return rule


_FORMS: dict[str, _Unary | _Binary] = {
    "add": _each("add"),
    "sub": _each("sub"),
    "neg": _each("neg"),
    "mul": _mul,
    "square": lambda b, x: _mul(b, x, x),
    "conj": lambda b, x: (x[0], b.apply("neg", x[1])),
    "real": lambda b, x: x[0],
    "imag": lambda b, x: x[1],
    "is_finite": lambda b, x: b.apply(
        "and", b.apply("is_finite", x[0]), b.apply("is_finite", x[1])
    ),
    "eq": _compare("eq", "and"),
    "ne": _compare("ne", "or"),
    "max": _extreme("gt"),
    "min": _extreme("lt"),
}


def _dot(b: Builder, node: ir.Dot, x: _Value, y: _Value) -> Split | None:
    """Returns a contraction of few elements as a sum of products, or None if it is larger."""
    (cx, cy), (bx, by) = node.contract, node.batch
    fx = [j for j in range(len(node.x.shape)) if j not in cx and j not in bx]
    fy = [j for j in range(len(node.y.shape)) if j not in cy and j not in by]
    contracted = [node.x.shape[j] for j in cx]
    if not is_small_dot(node):
        return None
    # Axes of the products: batch, free axes of x, free axes of y, contracted axes.
    shape = (*node.shape, *contracted)
    last = range(len(node.shape), len(shape))
    places_x = dict(zip((*bx, *fx, *cx), (*range(len(bx) + len(fx)), *last), strict=True))
    free_y = range(len(bx) + len(fx), len(node.shape))
    places_y = dict(zip((*by, *fy, *cy), (*range(len(by)), *free_y, *last), strict=True))
    u = [_spread(b, part, shape, places_x) for part in _pair(b, x)]
    v = [_spread(b, part, shape, places_y) for part in _pair(b, y)]
    re, im = _mul(b, (u[0], u[1]), (v[0], v[1]))
    return Split(b.reduce(re, "add", last), b.reduce(im, "add", last))


def _folded(b: Builder, node: ir.Reduce, x: _Pair) -> Split | None:
    """Computes a product, minimum or maximum in steps that fold the second half into the first."""
    n = math.prod([node.x.shape[d] for d in node.dims])
    if n == 0 or node.in_order or node.fn not in _FORMS:
        return None
    kept = [d for d in range(len(node.x.shape)) if d not in node.dims]
    shape = (*node.shape, n)
    re, im = (b.reshape(b.transpose(part, [*kept, *node.dims]), shape) for part in x)
    last = len(node.shape)
    parts = re, im
    while n > 1:
        half = n // 2
        first, second = _between(b, parts, last, 0, half), _between(b, parts, last, half, 2 * half)
        tail = _between(b, parts, last, 2 * half, n)
        parts = _one_after_another(b, _combined(b, node.fn, first, second), tail, last)
        n -= half
    return Split(b.reshape(parts[0], node.shape), b.reshape(parts[1], node.shape))


def _run_along(b: Builder, node: ir.Cumulative, x: _Pair) -> Split:
    """Returns running products, minima or maxima as a parallel prefix scan.

    The distance between combined elements doubles in each step (Hillis and Steele).
    """
    dim, n, apart = node.dim, node.shape[node.dim], 1
    while apart < n:
        first, second = _between(b, x, dim, 0, n - apart), _between(b, x, dim, apart, n)
        combined = _combined(b, node.fn, first, second)
        if node.reverse:
            x = _one_after_another(b, combined, _between(b, x, dim, n - apart, n), dim)
        else:
            x = _one_after_another(b, _between(b, x, dim, 0, apart), combined, dim)
        apart *= 2
    return Split(*x)


def _combined(b: Builder, fn: str, x: _Pair, y: _Pair) -> _Pair:
    form = cast("_Binary", _FORMS[fn])
    return cast("_Pair", form(b, x, y))


def _one_after_another(b: Builder, x: _Pair, y: _Pair, dim: int) -> _Pair:
    return b.concatenate((x[0], y[0]), dim), b.concatenate((x[1], y[1]), dim)


def _between(b: Builder, x: _Pair, dim: int, low: int, high: int) -> _Pair:
    """Returns elements low, ..., high - 1 along axis `dim`."""
    shape = x[0].shape
    starts, limits = [0] * len(shape), list(shape)
    starts[dim], limits[dim] = low, high
    ones = [1] * len(shape)
    return b.slice(x[0], starts, limits, ones), b.slice(x[1], starts, limits, ones)


def _spread(b: Builder, x: ir.Node, shape: Sequence[int], places: dict[int, int]) -> ir.Node:
    """Broadcasts `x` to `shape`: axis a becomes axis places[a]; `x` is repeated along others."""
    order = sorted(places, key=places.__getitem__)
    return b.broadcast(b.transpose(x, order), shape, [places[a] for a in order])
