"""Random small programs of the tensor IR, and inputs for them.

    module, inputs = program(Chooser)         where Chooser.integer(low, high) makes all decisions

Values are such that results do not depend on rounding: floats are small multiples of 1/4, sums and
products are of clamped whole numbers, so their order does not matter. Nodes that are inexact (exp and
its kin) are results only.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.ir import Node, TensorType

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
BOOL, INT32, FLOAT32, COMPLEX64 = (np.dtype(d) for d in (bool, np.int32, np.float32, np.complex64))
SIGNED = [np.dtype(f"int{n}") for n in (8, 16, 32, 64)]
UNSIGNED = [np.dtype(f"uint{n}") for n in (8, 16, 32, 64)]
INTEGERS = SIGNED + UNSIGNED
FLOATS = [np.dtype(np.float16), BFLOAT16, FLOAT32, np.dtype(np.float64)]
DTYPES = [BOOL, *INTEGERS, *FLOATS, COMPLEX64]
EXTENTS = (1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 7, 8, 8, 9, 16, 17, 33, 64, 70, 130)
HUGE = (3e9, -3e9, 1e20, -1e30, 127.5, -129.0, 255.9, 40000.0, 1e-7, 1e-40, 2.0**63, 65519.0)
INEXACT = (
    "exp", "log", "sin", "cos", "tanh", "logistic", "sqrt", "rsqrt", "cbrt", "erf", "log1p", "expm1",
)  # fmt: skip


class Chooser:
    """Decisions drawn from a random number generator."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return self._random.randint(low, high)

    def pick(self, choices: Any) -> Any:
        return choices[self.integer(0, len(choices) - 1)]

    def chance(self, percent: int) -> bool:
        return self.integer(0, 99) >= 100 - percent


class Drawn(Chooser):
    """Decisions drawn by Hypothesis, which can make failing programs smaller."""

    def __init__(self, draw: Any) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))


def is_float(dtype: np.dtype) -> bool:
    return dtype in FLOATS


def random_shape(c: Chooser, most: int = 600, rank: int = 3) -> tuple[int, ...]:
    shape: list[int] = []
    for _ in range(c.pick((0, 1, 1, 2, 2, 3)[: rank + 3])):
        fitting = [n for n in EXTENTS if n * math.prod(shape) <= most]
        shape.append(0 if c.chance(3) else c.pick(fitting))
    return tuple(shape)


def part(c: Chooser, n: int) -> int:
    """A part of `n` elements, seldom none."""
    return c.integer(0 if c.chance(5) else min(n, 1), n)


def random_array(c: Chooser, t: TensorType, seed: int | None = None) -> np.ndarray:
    """Values of any integer, small multiples of 1/4, now and then NaN and infinity."""
    rng = np.random.default_rng(c.integer(0, 2**16) if seed is None else seed)
    dtype = t.dtype
    if dtype == BOOL:
        return np.asarray(rng.integers(0, 2, t.shape)).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        small = rng.integers(max(info.min, -5), 6, t.shape).astype(dtype)
        wide = rng.integers(info.min, info.max, t.shape, dtype, endpoint=True)
        return np.where(rng.random(t.shape) < 0.7, small, wide)
    x = rng.integers(-16, 17, t.shape) / 4
    if dtype == COMPLEX64:
        return np.asarray(x + 1j * rng.integers(-8, 9, t.shape) / 4).astype(dtype)
    special = rng.choice([np.nan, np.inf, -np.inf, 0.0, *HUGE], t.shape)
    with np.errstate(all="ignore"):
        return np.asarray(np.where(rng.random(t.shape) < 0.08, special, x)).astype(dtype)


@dataclass
class Pool:
    """Nodes to choose operands from. Inexact ones are kept apart."""

    b: Builder
    c: Chooser
    exact: list[Node]
    depth: int
    inexact: list[Node] = field(default_factory=list)

    def any(self) -> Node:
        """A node: more often a recent one."""
        if self.c.chance(50):
            return self.exact[-self.c.integer(1, min(3, len(self.exact)))]
        return self.c.pick(self.exact)

    def like(self, t: Any) -> Node:
        """A node of type `t`, if need be converted, reshaped or made up."""
        b, c = self.b, self.c
        found = [n for n in self.exact if n.type == t]
        if found:
            return c.pick(found)
        same = [n for n in self.exact if n.type.size == t.size]
        if same:
            return convert(b, b.reshape(c.pick(same), t.shape), t.dtype)
        return b.broadcast(self.scalar(t.dtype), t.shape, ())

    def scalar(self, dtype: np.dtype) -> Node:
        found = [n for n in self.exact if n.type == TensorType((), dtype)]
        if found and self.c.chance(60):
            return self.c.pick(found)
        return self.b.constant(random_array(self.c, TensorType((), dtype)))

    def index(self) -> Node:
        return self.scalar(self.c.pick(INTEGERS))


def convert(b: Builder, x: Node, dtype: np.dtype) -> Node:
    return b.convert(x, dtype)


def tamed(p: Pool, x: Node, most: int) -> Node:
    """`x` as whole numbers of at most `most`: what sums and products are exact for."""
    if not is_float(x.dtype):
        return x
    low, high = (p.b.full(x.shape, v, x.dtype) for v in (-most, most))
    return p.b.apply("round_even", p.b.apply("clamp", low, x, high))


# --- kinds of nodes: each rule returns a new node, or None if it does not apply -----------------------


def _apply(p: Pool) -> Node | None:
    b, c = p.b, p.c
    x = p.any()
    dtype = x.dtype
    unary = {"b": ["not"], "c": ["neg", "real", "imag", "conj"]}.get(
        dtype.kind,
        ["neg", "abs", "floor", "ceil", "sign", "is_finite", "round_even", "round_away"]
        if is_float(dtype) else ["neg", "abs", "not", "sign", "population_count", "clz", "square"],
    )  # fmt: skip
    binary = {"b": ["and", "or", "xor", "eq", "ne"], "c": ["add", "sub", "eq", "ne"]}.get(
        dtype.kind,
        ["add", "sub", "max", "min", "lt", "le", "gt", "ge", "eq", "ne", "le_to"]
        if is_float(dtype)
        else ["add", "sub", "mul", "div", "rem", "max", "min", "and", "or", "xor", "lt", "le", "gt",
              "ge", "eq", "ne", "shift_left", "shift_right_logical", "shift_right_arithmetic"],
    )  # fmt: skip
    which = c.integer(0, 5)
    if which == 0:
        return b.apply(c.pick(unary), x)
    if which <= 3:
        fn = c.pick(binary)
        if fn == "le_to":  # tells -0.0 from 0.0, which max and min need not
            x = b.apply("add", b.apply("abs", x), b.full(x.shape, 1, dtype))
        return b.apply(fn, x, p.like(x.type))
    if which == 4:
        return b.apply("select", p.like(TensorType(x.shape, BOOL)), x, p.like(x.type))
    if dtype.kind in "bc":
        return None
    return b.apply("clamp", p.like(x.type), x, p.like(x.type))


def _convert(p: Pool) -> Node:
    return p.b.convert(p.any(), p.c.pick(DTYPES))


def _inexact(p: Pool) -> Node | None:
    x = p.any()
    if not is_float(x.dtype):
        return None
    made = p.b.apply(p.c.pick(INEXACT), tamed(p, x, 8))
    p.inexact.append(made)
    return None


def _bitcast(p: Pool) -> Node | None:
    x = p.any()
    if x.dtype.kind not in "iu":
        return None
    new = p.c.pick(INTEGERS)
    if new.itemsize > x.dtype.itemsize:
        ratio = new.itemsize // x.dtype.itemsize
        if not x.shape or x.shape[-1] != ratio:
            return None
    return p.b.bitcast(x, new)


def _broadcast(p: Pool) -> Node:
    c, x = p.c, p.any()
    shape, dims = [], []
    for n in x.shape:
        while c.chance(25) and math.prod(shape) < 60:
            shape.append(c.pick((1, 1, 2, 2, 3, 3, 0)))
        dims.append(len(shape))
        grows = n == 1 and c.chance(50) and math.prod(shape) < 200
        shape.append(c.pick((2, 5, 9)) if grows else n)
    while c.chance(30) and math.prod(shape) < 60:
        shape.append(c.pick((1, 2, 17)))
    return p.b.broadcast(x, shape, dims)


def _reshape(p: Pool) -> Node:
    c, x = p.c, p.any()
    size = x.type.size
    shape: list[int] = []
    if size:
        left = size
        for _ in range(c.integer(0, 2)):
            n = c.pick([d for d in range(1, left + 1) if left % d == 0][:20])
            shape.append(n)
            left //= n
        shape.append(left)
        if left == 1 and c.chance(50):
            shape.pop()
    else:
        shape = list(c.pick([(0,), (0, 3), (2, 0)]))
    return p.b.reshape(x, shape)


def _transpose(p: Pool) -> Node:
    x = p.any()
    perm = list(range(len(x.shape)))
    for k in range(len(perm) - 1):
        j = p.c.integer(k, len(perm) - 1)
        perm[k], perm[j] = perm[j], perm[k]
    return p.b.transpose(x, perm)


def _slice(p: Pool) -> Node:
    c, x = p.c, p.any()
    starts = [n - part(c, n) for n in x.shape]
    limits = [s + part(c, n - s) for s, n in zip(starts, x.shape, strict=True)]
    return p.b.slice(x, starts, limits, [c.pick((1, 1, 2, 3)) for _ in starts])


def _reverse(p: Pool) -> Node:
    x = p.any()
    return p.b.reverse(x, [k for k in range(len(x.shape)) if p.c.chance(60)])


def _pad(p: Pool) -> Node | None:
    c, x = p.c, p.any()
    low, high, interior = [], [], []
    for n in x.shape:
        interior.append(c.pick((0, 0, 1, 2)))
        spread = n + max(n - 1, 0) * interior[-1]
        low.append(c.integer(-min(spread, 3), 3))
        high.append(c.integer(max(-3, -(spread + low[-1])), 3))
    return p.b.pad(x, p.scalar(x.dtype), low, high, interior)


def _concatenate(p: Pool) -> Node | None:
    c, x = p.c, p.any()
    if not x.shape:
        return None
    dim = c.integer(0, len(x.shape) - 1)
    parts = [x]
    for _ in range(c.integer(1, 2)):
        shape = list(x.shape)
        shape[dim] = c.pick((x.shape[dim], 0, 1, 3))
        parts.append(p.like(TensorType(tuple(shape), x.dtype)))
    return p.b.concatenate(parts, dim)


def _dynamic_slice(p: Pool) -> Node:
    x = p.any()
    sizes = [part(p.c, n) for n in x.shape]
    return p.b.dynamic_slice(x, [p.index() for _ in sizes], sizes)


def _dynamic_update_slice(p: Pool) -> Node:
    x = p.any()
    shape = tuple(part(p.c, n) for n in x.shape)
    update = p.like(TensorType(shape, x.dtype))
    return p.b.dynamic_update_slice(x, update, [p.index() for _ in shape])


def _indices(p: Pool, x: Node) -> tuple[Node, tuple[int, ...], bool]:
    """(indices, which axes they move, whether axis 0 is a batching axis)"""
    c = p.c
    rank = len(x.shape)
    batched = rank > 1 and c.chance(25)
    axes = [k for k in range(int(batched), rank) if c.chance(70)]
    if c.chance(30):
        axes.reverse()
    batch = (x.shape[0],) if batched else ()
    batch += tuple(c.pick((1, 1, 2, 2, 5, 5, 9, 9, 0)) for _ in range(c.integer(0, 2 - batched)))
    t = TensorType((*batch, len(axes)), c.pick(INTEGERS))
    near = p.b.constant(
        np.random.default_rng(c.integer(0, 99)).integers(0, 9, t.shape).astype(t.dtype)
    )
    return (p.like(t) if c.chance(50) else near), tuple(axes), batched


def _gather(p: Pool) -> Node | None:
    c, x = p.c, p.any()
    indices, axes, batched = _indices(p, x)
    sizes = [
        part(c, n) if c.chance(30) else min(n, 1) if k in axes else n for k, n in enumerate(x.shape)
    ]
    if batched:
        sizes[0] = min(x.shape[0], 1)
    collapsed = tuple(k for k in axes if sizes[k] == 1 and c.chance(80))
    window = [k for k in range(len(sizes)) if k not in collapsed and not (batched and k == 0)]
    rank = len(window) + len(indices.shape) - 1
    offsets = sorted(random_subset(c, rank, len(window)))
    dims = ir.GatherDims(
        tuple(offsets),
        tuple(sorted(collapsed)),
        axes,
        (0,) if batched else (),
        (0,) if batched else (),
    )
    mode = c.pick(("clip", "fill", "clip" if 0 in x.shape else "promise_in_bounds"))
    if mode == "promise_in_bounds":  # what is out of bounds is not specified
        mode = "clip"
    return p.b.gather(x, indices, dims, sizes, mode, random_array(c, TensorType((), x.dtype)))


def random_subset(c: Chooser, n: int, size: int) -> list[int]:
    left = list(range(n))
    return [left.pop(c.integer(0, len(left) - 1)) for _ in range(size)]


def _scatter(p: Pool) -> Node | None:
    c, b, x = p.c, p.b, p.any()
    indices, axes, batched = _indices(p, x)
    inserted = tuple(sorted(k for k in axes if x.shape[k] >= 1 and c.chance(80)))
    window = [k for k in range(len(x.shape)) if k not in inserted and not (batched and k == 0)]
    sizes = [part(c, x.shape[k]) if k in axes else x.shape[k] for k in window]
    rank = len(window) + len(indices.shape) - 1
    places = sorted(random_subset(c, rank, len(window)))
    w, i = iter(sizes), iter(indices.shape[:-1])
    shape = tuple(next(w) if k in places else next(i) for k in range(rank))
    dims = ir.ScatterDims(
        tuple(places), inserted, axes, (0,) if batched else (), (0,) if batched else ()
    )
    updates = tamed(p, p.like(TensorType(shape, x.dtype)), 2)
    combine: Any = c.pick([None, "add", "max", "min"]) if x.dtype.kind not in "bc" else None
    if combine == "add":
        x = tamed(p, x, 4)
    if combine is not None and c.chance(20):
        t = TensorType((), x.dtype)
        combine = b.region([t, t], lambda b, old, new: [b.apply(combine, old, new)])
    return b.scatter(x, indices, updates, dims, combine, c.pick(("clip", "fill")), False)


def _axes(c: Chooser, rank: int) -> list[int]:
    return [k for k in range(rank) if c.chance(60)] or list(range(rank))


def _reduce(p: Pool) -> Node | None:
    c, x = p.c, p.any()
    kind = x.dtype.kind
    fns = {"b": ["and", "or", "max", "min", "xor"], "c": ["add"]}.get(
        kind, ["add", "max", "min", "mul"] if is_float(x.dtype)
        else ["add", "max", "min", "mul", "and", "or", "xor"],
    )  # fmt: skip
    fn = c.pick(fns)
    dims = _axes(c, len(x.shape))
    if fn == "add":
        x = tamed(p, x, 4)
    if fn == "mul":
        x = tamed(p, x, 1)
    return p.b.reduce(x, fn, dims)


def _arg_reduce(p: Pool) -> Node | None:
    c, x = p.c, p.any()
    if x.dtype.kind == "c" or not any(x.shape):
        return None
    dim = c.pick([k for k, n in enumerate(x.shape) if n])
    return p.b.arg_reduce(x, c.pick(("max", "min")), dim, c.pick((np.int32, np.int64, np.uint8)))


def _reduce_region(p: Pool) -> Node | None:
    c, b, x = p.c, p.b, p.any()
    if x.dtype.kind not in "iu" or not x.shape:
        return None
    t = TensorType((), x.dtype)
    body = b.region(
        [t, t, t, t],
        lambda b, a, m, x, y: [b.apply("add", a, x), b.apply("max", m, b.apply("xor", x, y))],
    )
    y = p.like(x.type)
    return c.pick(b.reduce_region([x, y], [p.scalar(x.dtype)] * 2, _axes(c, len(x.shape)), body))


def _cumulative(p: Pool) -> Node | None:
    c, x = p.c, p.any()
    if not x.shape or x.dtype.kind in "bc":
        return None
    fn = c.pick(("add", "max", "min", "mul"))
    x = tamed(p, x, {"add": 2, "mul": 1}.get(fn, 16))
    return p.b.cumulative(x, fn, c.integer(0, len(x.shape) - 1), c.chance(40))


def _dot(p: Pool) -> Node | None:
    c, x = p.c, p.any()
    rank = len(x.shape)
    axes = random_subset(c, rank, c.integer(0, rank))
    n_batch = c.integer(0, min(1, len(axes)))
    bx, cx = axes[:n_batch], axes[n_batch:]
    free = [c.pick((1, 2, 2, 3, 8, 8, 0)) for _ in range(c.integer(0, 1))]
    order = [*(x.shape[k] for k in bx), *(x.shape[k] for k in cx), *free]
    where = random_subset(c, len(order), len(order))  # where[j]: axis of y that holds order[j]
    shape = [0] * len(order)
    for n, k in zip(order, where, strict=True):
        shape[k] = n
    if math.prod(x.shape) * math.prod(free) > 5000:
        return None
    y = tamed(p, p.like(TensorType(tuple(shape), x.dtype)), 3)
    by, cy = where[:n_batch], where[n_batch : len(axes)]
    return p.b.dot(tamed(p, x, 3), y, (cx, cy), (bx, by))


def _convolution(p: Pool) -> Node | None:
    c, x = p.c, p.any()
    rank = len(x.shape) - 2
    if rank < 0 or x.tensor_type.size > 500:
        return None
    x_axes, w_axes, out_axes = (tuple(random_subset(c, rank + 2, rank + 2)) for _ in range(3))
    batch, channels = x.shape[x_axes[0]], x.shape[x_axes[1]]
    groups = c.pick([n for n in (1, 2, 3) if channels % n == 0])
    batch_groups = c.pick([n for n in (1, 2) if batch % n == 0]) if groups == 1 else 1

    def steps(*values: int) -> tuple[int, ...]:
        return tuple([c.pick(values) for _ in range(rank)])

    window = steps(1, 2, 3)
    shape = [0] * (rank + 2)
    features = c.pick((1, 2, 9)) * groups * batch_groups
    for axis, n in zip(w_axes, (features, channels // groups, *window), strict=True):
        shape[axis] = n
    dims = ir.ConvolutionDims(
        x_axes, w_axes, out_axes, steps(1, 1, 2), steps(0, 1, 2, -1), steps(0, 1, 3, -1),
        steps(1, 1, 2), steps(1, 1, 2), groups, batch_groups,
    )  # fmt: skip
    out = dims.result_shape(x.shape, tuple(shape))
    if min(out) < 0 or math.prod(out) * channels * math.prod(window) > 5000:
        return None
    w = tamed(p, p.like(TensorType(tuple(shape), x.dtype)), 3)
    return p.b.convolution(tamed(p, x, 3), w, dims)


def _sort(p: Pool) -> Node | None:
    c, x = p.c, p.any()
    if not x.shape or x.dtype.kind == "c":
        return None
    xs = [x, *(p.like(TensorType(x.shape, c.pick(DTYPES))) for _ in range(c.integer(0, 1)))]
    xs = xs if xs[-1].dtype.kind != "c" else [x]
    return c.pick(p.b.sort(xs, c.integer(0, len(x.shape) - 1), c.integer(1, len(xs)), True))


def _top_k(p: Pool) -> Node | None:
    c, x = p.c, p.any()
    if not x.shape or x.dtype.kind == "c" or x.dtype == BOOL:
        return None
    # Top k tells -0.0 from 0.0, which max and min need not.
    x = p.b.apply("add", x, p.b.full(x.shape, 1, x.dtype)) if is_float(x.dtype) else x
    dim = c.integer(0, len(x.shape) - 1)
    return c.pick(p.b.top_k(x, c.integer(0, x.shape[dim]), dim))


def _iota(p: Pool) -> Node | None:
    shape = random_shape(p.c)
    return p.b.iota(p.c.pick(DTYPES[1:]), shape, p.c.integer(0, len(shape) - 1)) if shape else None


def _constant(p: Pool) -> Node:
    return p.b.constant(random_array(p.c, TensorType(random_shape(p.c, 40), p.c.pick(DTYPES))))


def _optimization_barrier(p: Pool) -> Node:
    return p.c.pick(p.b.optimization_barrier([p.any(), p.any()]))


def _sharding_constraint(p: Pool) -> Node:
    x = p.any()
    axes = [("x",), ("y", "z"), *[()] * len(x.shape)][: len(x.shape)]
    is_open = tuple([p.c.pick([True, False]) for _ in axes])
    more = p.c.pick([{}, {"replicated": ("t",)}, {"unreduced": ("t", "u")}])
    return p.b.sharding_constraint(x, ir.TensorSharding(tuple(axes), is_open, **more))


def inner_region(
    p: Pool, types: list[TensorType], wanted: list[TensorType], steps: int
) -> ir.Region:
    def body(b: Builder, *params: Node) -> list[Node]:
        pool = Pool(b, p.c, list(params) or [b.constant(np.int32(1))], p.depth - 1)
        grow(pool, steps)
        return [pool.like(t) for t in wanted]

    return p.b.region(types, body)


def _cond(p: Pool) -> Node | None:
    if not p.depth:
        return None
    c = p.c
    args = [p.any() for _ in range(c.integer(1, 3))]
    wanted = [p.any().type for _ in range(c.integer(1, 3))]
    types = [a.type for a in args]
    branches = [inner_region(p, types, wanted, c.integer(0, 3)) for _ in range(c.integer(1, 3))]
    return c.pick(p.b.cond(p.scalar(INT32), branches, args))


def _while(p: Pool) -> Node | None:
    if not p.depth:
        return None
    c = p.c
    iterations = c.integer(0, 4)
    counter = p.b.constant(np.int32(0))
    init = [counter, *(p.any() for _ in range(c.integer(1, 3)))]
    types = [x.type for x in init]
    cond = p.b.region(types, lambda b, i, *_: [b.apply("lt", i, b.constant(np.int32(iterations)))])

    def body(b: Builder, *params: Node) -> list[Node]:
        pool = Pool(b, c, list(params), p.depth - 1)
        grow(pool, c.integer(0, 4))
        rest = [
            pool.like(t) if c.chance(80) else x for t, x in zip(types[1:], params[1:], strict=True)
        ]
        return [b.apply("add", params[0], b.constant(np.int32(1))), *rest]

    return c.pick(p.b.while_(cond, p.b.region(types, body), init))


def _while_any(p: Pool) -> Node | None:
    """Iterations as long as any element asks for one; elements that do not may be kept as they are."""
    c, b = p.c, p.b
    shape = (c.pick((1, 3, 8, 17, 40, 100, 130)),)
    start = convert(b, p.like(TensorType(shape, c.pick(SIGNED))), INT32)
    bounded = b.apply("clamp", b.full(shape, -3, INT32), start, b.full(shape, 5, INT32))
    t = TensorType(shape, c.pick(DTYPES))
    init = [bounded, p.like(t), p.like(TensorType(c.pick((shape, (), (2,))), FLOAT32))]
    end = c.integer(-3, 6)
    keeps = [c.chance(70) for _ in init]

    def asks(b: Builder, v: Node) -> Node:
        return b.apply("lt", v, b.full(shape, end, INT32))

    def body(b: Builder, *params: Node) -> list[Node]:
        pool = Pool(b, c, list(params), 0)
        grow(pool, c.integer(0, 3))
        new = [
            b.apply("add", params[0], b.full(shape, 1, INT32)),
            *(pool.like(x.type) for x in params[1:]),
        ]
        return [
            b.apply("select", asks(b, params[0]), y, x) if keep and x.shape == shape else y
            for x, y, keep in zip(params, new, keeps, strict=True)
        ]

    types = [x.type for x in init]
    cond = b.region(types, lambda b, v, *_: [b.reduce(asks(b, v), "or", [0])])
    return c.pick(b.while_(cond, b.region(types, body), init))


def _scan(p: Pool) -> Node | None:
    """A loop that reads one row of an array in each step, and writes one of another."""
    c, b = p.c, p.b
    iterations = c.integer(1, 5)
    lanes = c.pick(((), (3,), (40,), (130,)))
    row = TensorType(lanes, c.pick(DTYPES))
    rows = p.like(TensorType((iterations, *lanes), row.dtype))
    out = p.like(TensorType((iterations + c.integer(0, 2), *lanes), row.dtype))
    init = [b.constant(np.int32(0)), rows, out, p.like(row)]
    types = [x.type for x in init]
    along = c.chance(20) and bool(lanes)  # writes move along the rows, not across them

    def body(b: Builder, i: Node, rows: Node, out: Node, x: Node) -> list[Node]:
        zeros = [b.constant(np.int32(0))] * len(lanes)
        read = b.reshape(b.dynamic_slice(rows, [i, *zeros], (1, *lanes)), lanes)
        pool = Pool(b, c, [read, x], 0)
        grow(pool, c.integer(0, 3))
        new, y = pool.like(row), pool.like(row)
        starts = [*zeros, i] if along else [i, *zeros]
        part = b.slice(y, [0], [max(lanes[0] - 3, 1)], [1]) if along else y
        update = b.reshape(part, (1, *part.shape))
        after = b.dynamic_update_slice(out, update, starts)
        return [b.apply("add", i, b.constant(np.int32(1))), rows, after, new]

    cond = b.region(types, lambda b, i, *_: [b.apply("lt", i, b.constant(np.int32(iterations)))])
    return c.pick(b.while_(cond, b.region(types, body), init)[2:])


def _chains(p: Pool) -> Node | None:
    """A counted loop with several carries, each of which needs some of those before it.

    They read rows of an array, and fill others from either end.
    """
    c, b = p.c, p.b
    iterations = c.integer(1, 20)
    shapes = [c.pick(((), (), (1,), (2,), (3,), (2, 2), (9,))) for _ in range(c.integer(1, 4))]
    real = [d for d in DTYPES if d != COMPLEX64]  # whose products grow past what is exact
    states = [TensorType(shape, c.pick(real)) for shape in shapes]
    needs = [[j for j in range(i) if c.chance(50)] for i in range(len(states))]
    row = TensorType(c.pick(((), (2,), (3,))), c.pick(DTYPES))
    rows = p.like(TensorType((iterations, *row.shape), row.dtype))
    fixed = p.like(c.pick(states))
    filled = [TensorType((iterations, *t.shape), t.dtype) for t in (c.pick(states), c.pick(states))]
    back = [c.chance(30) for _ in filled]
    one = np.int32(1)

    def place(b: Builder, i: Node, backward: bool) -> Node:
        return b.apply("sub", b.constant(np.int32(iterations - 1)), i) if backward else i

    def body(b: Builder, i: Node, rows: Node, fixed: Node, *rest: Node) -> list[Node]:
        xs, outs = rest[: len(states)], rest[len(states) :]
        zero = b.constant(np.int32(0))
        at = [place(b, i, back[0]), *[zero] * len(row.shape)]
        read = b.reshape(b.dynamic_slice(rows, at, (1, *row.shape)), row.shape)
        pools: list[Pool] = []
        for x, needed in zip(xs, needs, strict=True):
            seen = [x, *[xs[j] for j in needed], *[pools[j].any() for j in needed]]
            extra = [i] if c.chance(30) else [read] if c.chance(50) else [fixed]
            pools.append(Pool(b, c, [*seen, *extra], 0))
            grow(pools[-1], c.integer(1, 5))
        after = [pool.like(t) for pool, t in zip(pools, states, strict=True)]
        for k, (out, t) in enumerate(zip(outs, filled, strict=True)):
            value = c.pick(pools).like(TensorType((1, *t.shape[1:]), t.dtype))
            at = [place(b, i, back[k]), *[zero] * (len(t.shape) - 1)]
            after.append(b.dynamic_update_slice(out, value, at))
        return [b.apply("add", i, b.constant(one)), rows, fixed, *after]

    init = [b.constant(np.int32(0)), rows, fixed, *map(p.like, states), *map(p.like, filled)]
    types = [x.type for x in init]
    cond = b.region(types, lambda b, i, *_: [b.apply("lt", i, b.constant(np.int32(iterations)))])
    results = b.while_(cond, b.region(types, body), init)[3:]
    for x in results:
        if x.type.size <= 3000:
            p.exact.append(x)
    return c.pick(results)


RULES = [
    _apply, _apply, _apply, _convert, _inexact, _bitcast, _broadcast, _reshape, _transpose, _slice,
    _reverse, _pad, _concatenate, _dynamic_slice, _dynamic_update_slice, _gather, _scatter, _reduce,
    _reduce, _arg_reduce, _reduce_region, _cumulative, _dot, _convolution, _sort, _top_k,
    _iota, _constant, _optimization_barrier, _sharding_constraint, _cond, _while, _while_any, _scan,
    _chains,
]  # fmt: skip


def grow(p: Pool, steps: int) -> None:
    """Adds about `steps` nodes."""
    for _ in range(steps):
        node = p.c.pick(RULES)(p)
        if node is not None and node.type.size <= 3000:
            p.exact.append(node)


def program(c: Chooser, steps: int = 10) -> tuple[ir.Module, list[np.ndarray], list[bool]]:
    """(a program, inputs, which results are inexact)"""
    b = Builder()
    types = [TensorType(random_shape(c), c.pick(DTYPES)) for _ in range(c.integer(1, 3))]
    types.append(TensorType((), c.pick(INTEGERS)))
    params = [b.parameter(i, t) for i, t in enumerate(types)]
    p = Pool(b, c, list(params), 2)
    grow(p, steps)
    used = {x for node in traversal.topological_order(p.exact) for x in traversal.operands(node)}
    ends = [node for node in p.exact if node not in used]
    results = [p.any() for _ in range(c.integer(0, 2))] + ends[-8:]
    exact = len(results)
    results += p.inexact
    module = b.module("f", params, results)
    return module, [random_array(c, t) for t in types], [i >= exact for i in range(len(results))]


@st.composite
def programs(draw: Any, steps: int = 8) -> tuple[ir.Module, list[np.ndarray], list[bool]]:
    """Hypothesis strategy of `program`."""
    return program(Drawn(draw), steps)
