"""The partitioner: all devices together compute what the whole program does; texts show how."""

import functools
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.compiler import golden_files as golden
from tests.compiler.hlo.partition.random_programs import random_case

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.compiler import pipeline
from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.loop_analysis import count_trips
from jitney.compiler.hlo.partition import interpret, panels, partitioner
from jitney.compiler.hlo.partition.layout import Mesh, join, split
from jitney.compiler.hlo.partition.text import bytes_text, print_partitioned
from jitney.compiler.hlo.partition.traffic import collectives_of, sent
from jitney.compiler.hlo.verify import verify
from jitney.compiler.tensor_type import TensorType
from jitney.core.util.record import replace
from jitney.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec

X, Y = ("x",), ("y",)
NUMBERS = np.random.default_rng(0)


def normal(*shape):
    return NUMBERS.standard_normal(shape, np.float32)


def identical(got, expected):
    for x, y in zip(got, expected, strict=True):
        assert (x.shape, x.dtype, x.tobytes()) == (y.shape, y.dtype, y.tobytes())


def partitioned(function, args, specs, mesh, outs=None):
    """The partitioned program; results of all devices are those of the whole program, to the bit."""
    function.__name__ = "f"
    module = jitney.jit(function).lower(*args).compiler_ir()
    program = pipeline.partition(module, specs, mesh, outs)
    verify(program.module)
    arrays = [np.asarray(x) for x in args]
    identical(interpret.run(program, arrays), pipeline.interpret(module, arrays))
    return program


@given(st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_random_programs(draw):
    module, inputs, specs, mesh, outs = random_case(draw)
    program = partitioner.partition(module, specs, mesh, outs)
    verify(program.module)
    identical(interpret.run(program, inputs), pipeline.interpret(module, inputs))


@given(st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_random_programs_in_panels(draw):
    module, inputs, specs, mesh, outs = random_case(draw)
    program = partitioner.partition(module, specs, mesh, outs)
    region = panels.in_panels(program.module.region, 16)
    program = replace(program, module=ir.Module(module.name, region))
    verify(program.module)
    identical(interpret.run(program, inputs), pipeline.interpret(module, inputs))


@pytest.mark.parametrize("mode", ["fill", "clip"])
@pytest.mark.parametrize("divided", [((), ("x",)), (("x",), ()), (("x",), ("y",))], ids=str)
def test_whole_rows_that_begin_outside(divided, mode):
    """Rows are taken at (row, column), where only column 0 has them within the matrix."""
    dims = lax.GatherDimensionNumbers(
        offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0, 1)
    )
    places = np.array([[0, 0], [5, 1], [9, 0], [7, -1]], np.int32)
    partitioned(
        lambda x, i: lax.gather(x, i, dims, (1, 16), mode=mode),
        (MATRIX, places), [divided, ((), ())], {"x": 4, "y": 2},
    )  # fmt: skip


def constrained(x, axes, unreduced=()):
    """`x` lying as `axes` says, each a tuple of axes of a mesh, or None where it says nothing."""
    types = (AxisType.Explicit if unreduced else AxisType.Auto,) * 2
    mesh = AbstractMesh((4, 2), ("x", "y"), axis_types=types)
    free = PartitionSpec.UNCONSTRAINED
    spec = PartitionSpec(
        *[free if names is None else names for names in axes], unreduced={*unreduced}
    )
    return lax.with_sharding_constraint(x, NamedSharding(mesh, spec))


W = np.arange(-8, 8, dtype=np.float32)
ROWS = np.array([7, 0, -1, 9], np.int32)
MATRIX = NUMBERS.integers(-4, 5, (8, 16)).astype(np.float32)
GOLDEN = {
    "row times column: partial sums": (
        lambda x, y: jnp.maximum(x @ y, 0), (MATRIX, MATRIX.T), [(X, Y), (Y, ())], {"x": 2, "y": 2}
    ),
    "who wants a part of a sum pays for a reduce-scatter": (
        lambda x, y, z: x @ y + z, (MATRIX, MATRIX.T, MATRIX[:, :8]), [((), X), (X, ()), (X, ())],
        {"x": 4},
    ),
    "a sum of partial sums is one": (
        lambda x, y: x @ y + (x * 2) @ y, (MATRIX, MATRIX.T), [((), X), (X, ())], {"x": 4}
    ),
    "the smaller operand moves": (
        lambda x, y: x @ y, (MATRIX, MATRIX[:2].T), [(X, ()), (X, ())], {"x": 4}
    ),
    "an axis changes its owner": (
        lambda x: jnp.sort(x * 2, 0), (MATRIX,), [(X, ())], {"x": 4}, [((), X)]
    ),
    "halos of a roll": (lambda x: jnp.roll(x, 1) + jnp.roll(x, -1) - 2 * x, (W,), [(X,)], {"x": 4}),
    "halos of a window": (
        lambda x: jnp.convolve(x, jnp.array([1.0, 2.0, 1.0]), mode="same"), (W,), [(X,)], {"x": 4}
    ),
    "padding and slices": (lambda x: jnp.pad(x, (3, 1))[4:12], (W[:12],), [(X,)], {"x": 4}),
    "one row": (lambda x: x[5] + x[-1], (MATRIX,), [(X, Y)], {"x": 4, "y": 2}),
    "reversed": (lambda x: x[::-1], (W,), [(X,)], {"x": 4}),
    "parts change places": (lambda x: x, (MATRIX,), [(X, Y)], {"x": 2, "y": 2}, [(Y, X)]),
    "a reshape keeps what it can": (
        lambda x: x.reshape(4, 2, 16).sum(2), (MATRIX,), [(("x", "y"), ())], {"x": 4, "y": 2}
    ),
    "a loop": (
        lambda x: lax.fori_loop(0, 3, lambda i, c: (c[0] + c[1].sum(), c[1][::-1]), (0.0, x)),
        (W,), [(X,)], {"x": 4},
    ),
    "rows at indices": (
        lambda x, i: jnp.take(x, i, 0, mode="fill"), (np.tile(MATRIX, (8, 1)), ROWS), [(X, Y), ((),)],
        {"x": 4, "y": 2},
    ),
    "updates of rows": (
        lambda x, i, y: x.at[i].add(y), (MATRIX, ROWS, MATRIX[:4]), [(X, Y), ((),), (X, Y)],
        {"x": 4, "y": 2},
    ),
    "running sums along a divided axis": (lambda x: jnp.cumsum(x), (W,), [(X,)], {"x": 4}),
    "the largest along a divided axis": (lambda x: jnp.argmax(x, 1), (MATRIX,), [((), X)], {"x": 4}),
    "rows of a loop": (
        lambda x: lax.fori_loop(0, 8, lambda i, c: c.at[i].set(c[i] + i), x),
        (MATRIX,), [(X, ())], {"x": 4},
    ),
    "a loop that maps": (
        lambda x, w: lax.map(lambda row: jnp.sin(row) @ w, x),
        (MATRIX, MATRIX[:2].T), [(X, ()), ((), ())], {"x": 4},
    ),
    "a loop's sum is divided as it is wanted": (
        lambda x, y: lax.fori_loop(0, 3, lambda i, total: total + (x + i).T @ y, jnp.zeros((16, 16))),
        (MATRIX, MATRIX), [(X, ()), (X, ())], {"x": 4}, [(X, ())],
    ),
    "what the user says is heeded": (
        lambda x: constrained(constrained(x, (X, ())) + 1, ((), None)), (MATRIX,), [((), X)],
        {"x": 2, "y": 2},
    ),
    "terms of a sum that the user wants unreduced": (
        lambda x, y: constrained(
            constrained(x @ y, ((), ()), X) + constrained(x * 2 @ y, ((), ()), X), ((), ())
        ),
        (MATRIX, MATRIX.T), [((), X), (X, ())], {"x": 4},
    ),
    "sorted along a divided axis": (lambda x: jnp.sort(x, 1), (MATRIX,), [(X, Y)], {"x": 2, "y": 2}),
}  # fmt: skip


@pytest.mark.parametrize("name", GOLDEN)
def test_texts(name):
    program = partitioned(*GOLDEN[name])
    golden.check("partition.txt", name, {"partitioned": print_partitioned(program)})


def whole(*shape):
    return NUMBERS.integers(-4, 5, shape).astype(np.float32)


A, B = whole(2, 32, 24), whole(2, 24, 12)
PANELS = {
    "an operand gathered along what is contracted": (
        lambda x, y: x @ y, (A[0], B[0]), [(X, ()), (X, ())], {"x": 4}, [(X, ())]
    ),
    "an operand gathered along an axis of the result": (
        lambda x, y: x @ y, (A[0], B[0]), [(X, ()), ((), X)], {"x": 4}, [(X, ())]
    ),
    "both operands gathered, in different numbers of parts": (
        lambda x, y: x @ y, (A[0], B[0]), [(X, Y), (X, Y)], {"x": 2, "y": 3}, [(X, Y)]
    ),
    "a batch of products, the first operand gathered": (
        lambda x, y: jnp.einsum("bmk,bkn->bnm", x, y), (A, B), [((), (), X), ((), (), X)],
        {"x": 4}, [((), X, ())],
    ),
    "in a loop": (
        lambda x, w: lax.fori_loop(0, 3, lambda i, x: x @ w, x), (whole(96, 24), whole(24, 24)),
        [(X, ()), (X, ())], {"x": 4},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PANELS)
def test_products_in_panels(name):
    function, args, specs, mesh, *outs = PANELS[name]
    program = partitioned(function, args, specs, mesh, *outs)
    region = panels.in_panels(program.module.region, 600)
    loops = replace(program, module=ir.Module("f", region))
    verify(loops.module)
    expected = np.asarray(jitney.jit(function)(*args))
    identical(interpret.run(loops, args), [expected])
    golden.check("partition.txt", name, {"partitioned": print_partitioned(loops)})


@pytest.mark.parametrize(
    ("function", "least"),
    [(lambda x, y: (x @ y, (x + 1) @ y), 16), (lambda x, y: x @ y, 1 << 20)],
    ids=["used again", "small"],
)
def test_what_is_used_again_or_small_stays_gathered(function, least):
    program = partitioned(function, (A[0], B[0]), [(X, ()), (X, ())], {"x": 4})
    region = panels.in_panels(program.module.region, least)
    order = traversal.topological_order(region.results)
    assert [node.kind for node in order if isinstance(node, ir.Collective)] == ["all_gather"]


def test_random_bits_and_masks_need_no_communication():
    def function(key, x):
        noise = jitney.random.bits(key, (8, 16), "uint32")
        return jnp.where(jnp.tril(jnp.ones((8, 16), bool)), noise, x)

    args = (jitney.random.key_data(jitney.random.key(1)), MATRIX.astype(np.uint32))
    program = partitioned(
        lambda key, x: function(jitney.random.wrap_key_data(key), x), args, [((),), (X, Y)],
        {"x": 2, "y": 4},
    )  # fmt: skip
    assert program.out_specs == ((X, Y),)
    assert not [node for node in collectives_of(program.module.region) if node.args]


def test_numbers_are_those_of_the_whole_program_where_no_sum_is_divided():
    def function(x, y):
        z = jnp.tanh(x) * jnp.roll(y, 3, 1)
        return jnp.pad(z, 4)[:, ::3], lax.cummax(z, 1), z.max(1), jnp.sort(z, 0)

    program = partitioned(
        function, (normal(8, 16), normal(8, 16)), [(X, Y), ((), X)], {"x": 2, "y": 2}
    )
    assert {node.kind for node in collectives_of(program.module.region)} >= {
        "permute",
        "all_to_all",
    }


def test_what_was_moved_is_not_moved_again():
    program = partitioned(
        lambda x: (jnp.sort(x), x[::2][:3], jnp.sort(x) * 2), (W,), [(X,)], {"x": 2}
    )
    assert [n.kind for n in collectives_of(program.module.region) if n.args] == ["all_gather"]


def test_parts_of_arrays():
    mesh = Mesh({"x": 2, "y": 3})
    x = np.arange(72).reshape(6, 12)
    for spec in [(X, Y), (("y", "x"), ()), ((), ("x", "y")), ((), ())]:
        parts = split(x, spec, mesh)
        assert {part.shape for part in parts} == {mesh.local(x.shape, spec)}
        assert np.array_equal(join(parts, spec, mesh), x)
    different = [part + (k == 5) for k, part in enumerate(split(x, (X, ()), mesh))]
    with pytest.raises(AssertionError, match=r"replicas of \(1, 0\) differ"):
        join(different, (X, ()), mesh)


@pytest.mark.parametrize(
    ("kind", "params", "expected"),
    [
        ("all_reduce", (("fn", "add"),), 2 * 64 * 3 / 4), ("all_gather", (("dim", 0),), 3 * 64),
        ("reduce_scatter", (("fn", "add"), ("dim", 0)), 48), ("broadcast", (("source", 1),), 48),
        ("permute", (("pairs", ((0, 1),)),), 64), ("axis_index", (), 0),
    ],
)  # fmt: skip
def test_bytes_that_a_device_sends(kind, params, expected):
    b = Builder()
    args = [] if kind == "axis_index" else [b.parameter(0, TensorType((16,), np.dtype(np.float32)))]
    assert sent(b.collective(kind, (("x", 4),), params, args)) == expected


def test_bytes_as_text():
    found = " ".join([bytes_text(n) for n in (0, 1500, 24e3, 999e3, 1e6, 1.234e11, 5e12, 7e15)])
    assert found == "0 B 1.50 kB 24.0 kB 999 kB 1.00 MB 123 GB 5.00 TB 7.00 PB"


def test_errors():
    module = jitney.jit(lambda x: x * 2).lower(MATRIX).compiler_ir()
    with pytest.raises(
        ValueError, match=r"3 devices along .* do not evenly divide an axis of 8 elements"
    ):
        partitioner.partition(module, [(X, ())], {"x": 3})
    with pytest.raises(ValueError, match="an axis of the mesh occurs twice in"):
        partitioner.partition(module, [(X, X)], {"x": 2})
    with pytest.raises(ValueError, match="a spec has length 1, but the tensor has shape"):
        partitioner.partition(module, [(X,)], {"x": 2})
    b = Builder()
    p = b.parameter(0, TensorType((4,), np.dtype(np.float32)))
    own = b.module("f", [p], [b.collective("all_reduce", (("i", 2),), (("fn", "add"),), [p])])
    with pytest.raises(ValueError, match="the program already contains a collective, all_reduce"):
        partitioner.partition(own, [(X,)], {"x": 2})


def mapping(x, w, reverse):
    """A scan that carries a count alone, and has a loop of its own."""

    def row(i, r):
        cells = lax.map(lambda cell: cell * 2 + i, r)
        return i + 3, (cells, w[i % 4] + r.sum())

    return lax.scan(row, 1, x, reverse=reverse)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("specs", "mesh"),
    [
        ([(X, ()), ((),)], {"x": 4}),
        ([(("x", "y"), ()), (X,)], {"x": 2, "y": 2}),
        ([(X, Y), (X,)], {"x": 4, "y": 2}),
        ([((), X), (X,)], {"x": 4}),
        ([(Y, X), ((),)], {"x": 2, "y": 8}),
    ],
)
def test_loops_that_map(reverse, specs, mesh):
    args = (MATRIX, W[:8])
    program = partitioned(lambda x, w: mapping(x, w, reverse), args, specs, mesh)
    rows = MATRIX.shape[0] // math.prod([mesh[name] for name in specs[0][0]])
    loops = [
        count_trips(node).count
        for node in traversal.topological_order(program.module.region.results)
        if isinstance(node, ir.While)
    ]
    assert loops == [rows]
    assert program.out_specs == ((), specs[0], (specs[0][0],))
    if not specs[0][1]:
        kinds = {x.kind for x in collectives_of(program.module.region)}
        assert kinds <= {"axis_index", "all_gather"}


def test_parts_of_values_that_are_gone():
    """The part of a value that is made for one use is not taken for that of the next."""
    region = partitioner._Region(Mesh({"x": 2}))
    for k in range(20):
        part = region.b.constant(np.full(4, k, np.float32))
        value = partitioner.Value((8,), ((),), make=lambda spec, part=part: part)
        assert region.at(value, (X,)) is part
        del value


@pytest.mark.parametrize("spec", [((), X), (X, ())])
def test_parts_that_are_joined(spec):
    """Whole ones and slices, along the divided axis and along the other one."""

    def joined(x):
        return jnp.concatenate([x * 2, x[2:6], x[:, ::-1]])

    def of_slices(x):
        return jnp.concatenate([x[:, 4:8], x, x[:, :12]], 1)

    for function in (joined, of_slices):
        partitioned(function, (MATRIX,), [spec], {"x": 4}, [spec])


def test_loops_that_do_not_map():
    def not_all_rows(x):
        return lax.fori_loop(0, 8, lambda i, c: c.at[i].set(c[i] * 2), x)

    def neighbours(x):
        return lax.map(lambda i: x[i] + x[(i + 1) % 8], jnp.arange(8))

    def both_ways(x):
        return lax.scan(lambda c, r: (c, x[7 - c] + r), 0, x)[1]

    def running_sums(x, of_old):
        """Sums of what a loop has made so far, with the row of the iteration or without it."""

        def step(carry):
            i, made, sums = carry
            row = lax.dynamic_slice(x, (i, 0), (1, 16), allow_negative_indices=False)
            new = lax.dynamic_update_slice(made, row, (i, 0), allow_negative_indices=False)
            total = (made if of_old else new).sum()[None]
            sums = lax.dynamic_update_slice(sums, total, (i,), allow_negative_indices=False)
            return i + 1, new, sums

        return lax.while_loop(lambda carry: carry[0] < 8, step, (0, 0 * x, jnp.zeros(8)))

    of_old, of_new = (functools.partial(running_sums, of_old=which) for which in (True, False))
    for function in (not_all_rows, neighbours, both_ways, of_old, of_new):
        partitioned(function, (MATRIX,), [(X, ())], {"x": 4})


def test_as_text_of_lowered_programs():
    auto = (jitney.sharding.AxisType.Auto,) * 2
    mesh = jitney.sharding.AbstractMesh((2, 4), ("x", "y"), auto)
    place = jitney.sharding.NamedSharding(mesh, jitney.sharding.PartitionSpec("x", "y"))
    args = [jitney.ShapeDtypeStruct((8, 16), jnp.float32, sharding=place), MATRIX]
    text = jitney.jit(lambda x, y: (x + y).sum()).lower(*args).as_text("partitioned")
    assert text.startswith("over x=2, y=4: 8 devices\n  p0: float32[4,4] is a shard [x, y]\n")
    assert "axes=(('x',2),('y',4)) params={fn='add'} : float32[]  # all-reduce, sends 7 B\n" in text
    assert text.endswith("1 collective, each device sends 7 B (loops counted once)")
    with pytest.raises(ValueError, match=r'as_text\("partitioned"\) needs an argument on a mesh'):
        jitney.jit(lambda x: x).lower(MATRIX).as_text("partitioned")


def test_as_text_heeds_shardings_of_jit():
    code = """
import jitney
mesh = jitney.make_mesh((2,), ("x",), axis_types=(jitney.sharding.AxisType.Auto,))
rows, columns = [jitney.NamedSharding(mesh, jitney.P(*spec)) for spec in ("x", (None, "x"))]
f = jitney.jit(lambda x: (x * 2, x + 1), in_shardings=rows, out_shardings=(columns, None))
lowered = f.lower(jitney.ShapeDtypeStruct((4, 4), float))
for text in lowered.as_text("partitioned"), lowered.compile().as_text():
    print([line.rpartition("shard ")[2] for line in text.splitlines() if "is a shard" in line])
"""
    environment = {**os.environ, "JAX_NUM_CPU_DEVICES": "2"}
    told = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert told.stdout.splitlines() == ["['[x, *]', '[*, x]', '[x, *]']"] * 2


def test_a_device_computes_the_bits_of_its_own_part_alone():
    key = jitney.random.key_data(jitney.random.key(1))

    def function(key, x):
        key = jitney.random.wrap_key_data(key)
        counted = jnp.tanh(jnp.arange(128).astype(jnp.float32) / 100).reshape(8, 1, 16)
        return jitney.random.bits(key, x.shape) + x, counted + 1.0

    x = MATRIX.astype(np.uint32)
    for spec in [(X, ()), ((), Y), (X, Y), ((), ("x", "y"))]:
        counted_spec = (spec[0], (), spec[1])
        program = partitioned(
            function, (key, x), [((),), spec], {"x": 2, "y": 4}, [spec, counted_spec]
        )
        text = print_partitioned(program)
        assert "[128]" not in text
        assert "[8,16]" not in text
        assert not [node for node in collectives_of(program.module.region) if node.args]


def test_long_ways_to_what_all_devices_have():
    def function(x):
        y = jnp.arange(16.0)
        for _ in range(1000):
            y = y * 1.5 - y
        return x + y

    program = partitioned(function, (W,), [(X,)], {"x": 2})
    assert "[16]" not in print_partitioned(program)


def test_carries_that_start_anywhere_are_divided_as_the_body_makes_them():
    """Zeros lie on all devices and take no traffic to divide: the loop need not gather what it adds."""
    x = (np.arange(64) % 5 - 2).astype(np.float32).reshape(16, 4)
    program = partitioned(
        lambda x: lax.fori_loop(0, 3, lambda i, c: c + x * i, jnp.zeros((16, 4))).sum(1),
        (x,), [(X, ())], {"x": 4},
    )  # fmt: skip
    text = print_partitioned(program)
    assert "body=(p0: int32[], p1: float32[4,4], p2: int32[], p3: float32[4,4])" in text
    assert "\n0 collectives" in text
