"""Random programs of the tensor IR, with random shardings: numbers are such that sums are exact."""

import random

import numpy as np

from jitney.compiler.dims import ConvolutionDims, GatherDims, ScatterDims
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.ir import TensorType

MESHES = [
    {"x": 1}, {"x": 2}, {"x": 3}, {"x": 4}, {"x": 2, "y": 2}, {"x": 2, "y": 3}, {"y": 2, "x": 4},
    {"x": 2, "y": 2, "z": 2}, {"x": 8}, {"x": 1, "y": 5},
]  # fmt: skip
EXTENTS = [1, 2, 3, 4, 6, 8, 12, 16]
FLOAT, INT = np.dtype(np.float32), np.dtype(np.int32)


class Program:
    """Nodes that were built so far, and how to add one."""

    def __init__(self, draw: random.Random):
        self.draw, self.b, self.pool, self.params = draw, Builder(), [], []
        for index in range(draw.randint(1, 3)):
            shape = tuple(draw.choice(EXTENTS) for _ in range(draw.randint(1, 3)))
            self.params.append(self.b.parameter(index, TensorType(shape, FLOAT)))
        self.pool += self.params

    def any(self, rank=0):
        found = [x for x in self.pool if len(x.shape) >= rank and x.dtype == FLOAT]
        return self.draw.choice(found or self.params)

    def like(self, shape):
        """A tensor of `shape`: one that there is, or a parameter's elements, broadcast."""
        found = [x for x in self.pool if x.shape == shape and x.dtype == FLOAT]
        if found and self.draw.random() < 0.7:
            return self.draw.choice(found)
        iota = self.b.iota(np.float32, shape, 0) if shape else self.b.constant(np.float32(2))
        return self.small(self.b.apply("add", iota, self.b.full(shape, 1, FLOAT)))

    def small(self, x):
        """`x`, whole numbers between -8 and 8, no -0.0: sums and products are exact in any order."""
        b = self.b
        low, high = b.full(x.shape, -8, FLOAT), b.full(x.shape, 8, FLOAT)
        clipped = b.apply("max", low, b.apply("min", high, x))
        return b.apply("add", clipped, b.full(x.shape, 0, FLOAT))

    def step(self):
        kinds = [name for name in dir(self) if name.startswith("make_")]
        made = getattr(self, self.draw.choice(kinds))()
        self.pool += [self.small(x) if x.dtype == FLOAT else x for x in made]

    def axis(self, x):
        return self.draw.randrange(len(x.shape))

    def make_elementwise(self):
        x = self.any()
        return [self.b.apply(self.draw.choice(["add", "mul", "max"]), x, self.like(x.shape))]

    def make_broadcast(self):
        x, n = self.any(), self.draw.choice(EXTENTS)
        dim = self.draw.randint(0, len(x.shape))
        dims = [k + (k >= dim) for k in range(len(x.shape))]
        return [self.b.broadcast(x, (*x.shape[:dim], n, *x.shape[dim:]), dims)]

    def make_transpose(self):
        x = self.any()
        perm = [*range(len(x.shape))]
        self.draw.shuffle(perm)
        return [self.b.transpose(x, perm)]

    def make_reshape(self):
        x = self.any(2)
        size = x.tensor_type.size
        n = self.draw.choice([n for n in range(1, size + 1) if size % n == 0])
        if len(x.shape) > 1 and self.draw.random() < 0.5:
            return [self.b.reshape(x, (x.shape[0] * x.shape[1], *x.shape[2:]))]
        return [self.b.reshape(x, (n, size // n))]

    def make_reduce(self):
        x = self.any(1)
        if not x.shape:
            return []
        dims = self.draw.sample(range(len(x.shape)), self.draw.randint(1, len(x.shape)))
        return [self.b.reduce(x, self.draw.choice(["add", "max", "min"]), dims)]

    def make_slice(self):
        x = self.any(1)
        if not x.shape:
            return []
        starts, limits, strides = [], [], []
        for n in x.shape:
            keep = self.draw.random() < 0.3
            starts.append(0 if keep else self.draw.randrange(n))
            limits.append(n if keep else self.draw.randint(starts[-1] + 1, n))
            strides.append(1 if keep else self.draw.choice([1, 1, 2, 3]))
        return [self.b.slice(x, starts, limits, strides)]

    def make_pad(self):
        x = self.any(1)
        low = [self.draw.choice([0, 0, 1, 2, n, -(n // 2)]) for n in x.shape]
        high = [self.draw.choice([0, 1, n, 7, -(n // 4)]) for n in x.shape]
        interior = [self.draw.choice([0, 0, 0, 1]) for _ in x.shape]
        value = self.b.constant(np.float32(self.draw.choice([0, 3])))
        return [self.b.pad(x, value, low, high, interior)]

    def make_concatenate(self):
        x = self.any(1)
        if not x.shape:
            return []
        dim = self.axis(x)
        if self.draw.random() < 0.5:  # a roll, or nearly
            n, cut = x.shape[dim], self.draw.randint(0, x.shape[dim])
            again = self.draw.choice([cut, cut, n])

            def part(lo, hi):
                starts, limits = [0] * len(x.shape), [*x.shape]
                starts[dim], limits[dim] = lo, hi
                return self.b.slice(x, starts, limits, [1] * len(x.shape))

            return [self.b.concatenate([part(cut, n), part(0, again)], dim)]
        return [self.b.concatenate([x, self.like(x.shape), x], dim)]

    def make_reverse(self):
        x = self.any(1)
        return [self.b.reverse(x, [self.axis(x)])] if x.shape else []

    def make_dot(self):
        x = self.any(1)
        if not x.shape:
            return []
        k = self.axis(x)
        found = [y for y in self.pool if y.dtype == FLOAT and x.shape[k] in y.shape]
        y = self.draw.choice(found)
        j = y.shape.index(x.shape[k])
        pairs = [
            (i, h) for i, n in enumerate(x.shape) for h, m in enumerate(y.shape)
            if n == m and i != k and h != j
        ]  # fmt: skip
        batch = [self.draw.choice(pairs)] if pairs and self.draw.random() < 0.5 else []
        return [self.b.dot(x, y, ((k,), (j,)), tuple(zip(*batch, strict=True)) or ((), ()))]

    def make_ordered(self):
        x = self.any(1)
        if not x.shape:
            return []
        b, dim = self.b, self.axis(x)
        match self.draw.choice(["sort", "top", "arg", "cumulative"]):
            case "sort":
                return b.sort([x, self.like(x.shape)], dim, 1, True)
            case "top":
                return b.top_k(x, self.draw.randint(1, x.shape[dim]), dim)
            case "arg":
                return [b.arg_reduce(x, "max", dim, np.int32)]
            case _:
                return [b.cumulative(x, "add", dim, self.draw.random() < 0.5)]

    def make_dynamic(self):
        x = self.any(1)
        starts = [self.b.constant(np.int32(self.draw.randrange(-1, n + 1))) for n in x.shape]
        sizes = [self.draw.choice([n, n, 1, self.draw.randint(1, n)]) for n in x.shape]
        block = self.b.dynamic_slice(x, starts, sizes)
        return [
            block,
            self.b.dynamic_update_slice(x, self.like(block.shape), starts),
        ]

    def make_indexed(self):
        x, n = self.any(2), self.draw.choice([2, 4, 6])
        if len(x.shape) != 2:
            return []
        b, mode = self.b, self.draw.choice(["clip", "fill"])
        rows = [self.draw.randrange(-1, x.shape[0] + 1) for _ in range(n)]
        indices = b.constant(np.asarray(rows, np.int32).reshape(n, 1))
        taken = b.gather(x, indices, GatherDims((1,), (0,), (0,)), (1, x.shape[1]), mode, 0)
        dims = ScatterDims((1,), (0,), (0,))
        return [taken, b.scatter(x, indices, self.like(taken.shape), dims, "add", mode)]

    def make_convolution(self):
        x = self.any(3)
        if len(x.shape) != 3 or x.tensor_type.size > 600:
            return []
        reach = self.draw.randint(1, 3)
        w = self.like((self.draw.choice([1, 2, 4]), x.shape[1], reach))
        stride, low, high = (
            self.draw.randint(1, 2),
            self.draw.randint(0, 2),
            self.draw.randint(0, 2),
        )
        axes = (0, 1, 2)
        dims = ConvolutionDims(axes, axes, axes, (stride,), (low,), (high,), (1,), (1,))
        if 0 in dims.result_shape(x.shape, w.shape):
            return []
        return [self.b.convolution(x, w, dims)]

    def make_loop(self):
        x = self.any(1)
        y = self.like(x.shape)

        def step(b, i, total, carry):
            changed = b.reverse(carry, [0]) if carry.shape else carry
            low, high = b.full(x.shape, -8, FLOAT), b.full(x.shape, 8, FLOAT)
            added = b.apply("max", low, b.apply("min", high, b.apply("add", total, changed)))
            return [added, changed]

        return self.b.for_(self.draw.randint(0, 3), [x, y], step)

    def make_branch(self):
        x = self.any(1)
        types = [x.tensor_type, x.tensor_type]
        cases = [
            self.b.region(types, lambda b, x, y: [b.apply("add", x, y)]),
            self.b.region(types, lambda b, x, y: [b.reverse(y, [0]) if y.shape else y]),
        ]
        index = self.b.constant(np.int32(self.draw.randint(-1, 2)))
        return self.b.cond(index, cases, [x, self.like(x.shape)])


def random_spec(draw, shape, mesh):
    """A spec that divides `shape` evenly."""
    names, spec = [n for n in mesh if mesh[n] > 1], []
    draw.shuffle(names)
    for n in shape:
        own, parts = [], 1
        while names and n % (parts * mesh[names[-1]]) == 0 and draw.random() < 0.7:
            parts *= mesh[names[-1]]
            own.append(names.pop())
        spec.append(tuple(own))
    return tuple(spec)


def random_case(draw):
    """A module, its operands, their specs, a mesh, and specs of results or None."""
    program = Program(draw)
    for _ in range(draw.randint(1, 8)):
        program.step()
    results = [x for x in program.pool[-4:] if x.tensor_type.size]
    module = program.b.module("f", program.params, results)
    mesh = draw.choice(MESHES)
    specs = [random_spec(draw, p.shape, mesh) for p in program.params]
    outs = [random_spec(draw, r.shape, mesh) for r in results] if draw.random() < 0.5 else None
    numbers = np.random.default_rng(draw.randrange(1 << 30))
    inputs = [numbers.integers(-8, 9, p.shape).astype(np.float32) for p in program.params]
    return module, inputs, specs, mesh, outs
