"""Scatters as kernels, and loops that update arrays where they are."""

import numpy as np
import pytest
from tests.compiler.running import TARGETS, code_for, compiled, run_plan
from tests.helpers.oracle import of_jax

import jitney
import jitney.numpy as ours
from jitney.compiler.hlo import interpret
from jitney.compiler.hlo.ir import TensorType
from jitney.compiler.hlo.parse import parse_module
from jitney.compiler.kernels import interpret as kernel_interpreter, schedule
from jitney.compiler.kernels.parse import parse_kernel
from jitney.compiler.kernels.text import print_kernel
from jitney.compiler.plan import ir as plans

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 5)).astype(np.float32)
ROWS = np.array([1, 3, 1, 7, -1, -9], np.int32)  # twice the same, and out of bounds
Y = RNG.normal(size=(6, 5)).astype(np.float32)


def _updates(jnp, dtype, method, mode):
    x, y = jnp.asarray(X * 3).astype(dtype), jnp.asarray(Y * 3).astype(dtype)

    def at(f):
        return lambda x, rows, y: getattr(f(x, rows)[0], method)(f(x, rows)[1](y), mode=mode)

    rows = jnp.asarray(ROWS)
    cases = {
        "rows": at(lambda x, i: (x.at[i], lambda y: y)),
        "elements": at(lambda x, i: (x.at[i, 1], lambda y: y[:, 0])),
        "pairs": at(lambda x, i: (x.at[i, i[::-1]], lambda y: y[:, 0])),
        "one row": at(lambda x, i: (x.at[i[0]], lambda y: y[0])),
        "one element": at(lambda x, i: (x.at[i[3], 2], lambda y: y[0, 0])),
        "a column's part": at(lambda x, i: (x.at[1:3, i[0]], lambda y: y[0, :2])),
        "columns": at(lambda x, i: (x.at[:, i[:2]], lambda y: y[:, :2])),
        "nothing": at(lambda x, i: (x.at[i[:0]], lambda y: y[:0])),
    }
    return cases, (x, rows, y)


@pytest.mark.parametrize("mode", [None, "clip", "drop"])
@pytest.mark.parametrize("method", ["set", "add", "multiply", "min", "max"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint32", "bool", "bfloat16"])
def test_updates(dtype, method, mode):
    if dtype == "bool" and method not in ("set", "max"):
        pytest.skip("not an update of booleans")

    def results(j):
        functions, args = _updates(j.numpy, dtype, method, mode)
        return {name: j.jit(f)(*args) for name, f in functions.items()}

    expected = of_jax(results, x64=True)
    with jitney.enable_x64():
        got, own = _updates(ours, dtype, method, mode)
        for name in expected:
            want = expected[name].array
            found = jitney.jit(got[name])(*own)
            assert np.asarray(found).dtype == want.dtype
            np.testing.assert_array_equal(np.asarray(found), want, err_msg=name)
            if dtype in ("float32", "float64", "int8", "uint32"):
                assert "_call " not in jitney.jit(got[name]).lower(*own).as_text("kernels"), name


def _loops(np_, lax):
    x = np_.asarray(X)
    n = x.shape[0]

    def rows_from_rows(i, x):  # reads one row, writes another
        return x.at[i % n].set(x[(i + 1) % n] * 0.5 + 1)

    def recurrence(i, v):
        return v.at[i].set(v[i - 1] * 0.9 + v[i])

    def accumulated(i, x):
        return x.at[np_.asarray(ROWS)].add(x[i] * 0.1)

    def read_afterwards(i, s):
        x, total = s
        return x.at[i].multiply(2.0), total + x.sum()

    def each_from_the_other(i, s):
        a, b = s
        return a.at[i].set(b[i] * 2 + a[i]), b.at[i].set(a[i] - b[i])

    def old_one_kept(i, s):
        a, _ = s
        return a.at[i].set(i * 1.0), a

    def place_in_the_array(i, s):
        where, x = s
        return where.at[i].set((where[i] + 1) % n), x.at[where[i]].add(1.0)

    def row_of_another(i, s):
        v, x = s
        return v.at[0].add(1.0), x.at[i].set(v)

    def nested(i, x):
        return lax.fori_loop(0, 5, lambda j, x: x.at[i, j].set(x[i, j - 1] + x[i, j]), x)

    def nested_and_read(i, s):
        x, total = s
        new = lax.fori_loop(0, 5, lambda j, x: x.at[i, j].add(1.0), x)
        return new, total + x[i, 0]

    def chosen(i, x):
        return lax.cond(i % 2 == 0, lambda x: x.at[i].set(0.0), lambda x: x, x)

    def old_one_through_an_inner_loop(i, s):
        a, _ = s
        inner = lax.fori_loop(0, 2, lambda j, t: (t[0], t[1] + t[0][0]), (a, zero))
        return a.at[i].set(inner[1] + i), inner[0]

    v, places = x[:, 0], np_.asarray([0, 2, 4, 1, 3, 5], dtype="int32")
    zero = np_.float32(0)
    return {
        "rows_from_rows": (rows_from_rows, x),
        "recurrence": (recurrence, v),
        "accumulated": (accumulated, x),
        "read_afterwards": (read_afterwards, (x, zero)),
        "each_from_the_other": (each_from_the_other, (v, x[:, 1])),
        "old_one_kept": (old_one_kept, (v, x[:, 1])),
        "old_one_through_an_inner_loop": (old_one_through_an_inner_loop, (v, x[:, 1])),
        "place_in_the_array": (place_in_the_array, (places, v)),
        "row_of_another": (row_of_another, (x[0], x)),
        "nested": (nested, x),
        "nested_and_read": (nested_and_read, (x, zero)),
        "chosen": (chosen, x),
    }


LOOPS = _loops(ours, jitney.lax)
COPIED = {
    "old_one_kept",
    "old_one_through_an_inner_loop",
    "row_of_another",
    "nested_and_read",
    "chosen",
}


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("batched", [False, True])
def test_loops_update_in_place(name, batched, monkeypatch):
    monkeypatch.setenv("JITNEY_CHECK", "1")
    if batched and name == "place_in_the_array":
        return

    def results(package):
        step, start = _loops(package.numpy, package.lax)[name]

        def run(s):
            return package.lax.fori_loop(0, 5, step, s)

        if batched:
            start = package.tree.map(lambda a: package.numpy.stack([a, 2 * a]), start)
            run = package.vmap(run)
        return package.tree.leaves(package.jit(run)(start))

    for a, b in zip(results(jitney), of_jax(results), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", sorted(LOOPS.keys() - COPIED))
def test_no_turn_copies_the_array(name):
    step, start = LOOPS[name]
    big = jitney.tree.map(lambda a: ours.tile(a, (1,) * (a.ndim - 1) + (100,)), start)
    text = jitney.jit(lambda s: jitney.lax.fori_loop(0, 5, step, s)).lower(big).as_text("kernels")
    _, _, loop = text.partition("while")
    iterations = loop.split("\nkernel", 1)[0]
    assert "swap" not in iterations
    sizes = {leaf.nbytes for leaf in jitney.tree.leaves(big) if leaf.ndim}
    assert not any(f"({size} bytes)" in iterations for size in sizes), iterations


def test_recurrences_are_loops_of_scalars():
    step, start = LOOPS["recurrence"]
    text = jitney.jit(lambda s: jitney.lax.fori_loop(1, 6, step, s)).lower(start).as_text("kernels")
    assert "while" not in text.split("\n}")[0]


@pytest.mark.parametrize("mode", ["clip", "fill"])
@pytest.mark.parametrize(
    ("dtype", "n", "indices"),
    [
        ("uint64", 7, (0, 6, 7, 2**31, 2**63 - 1, 2**63, 2**64 - 3)),
        ("uint8", 250, (0, 127, 128, 249, 250, 255)),
        ("uint16", 50_000, (0, 2**15, 49_999, 50_000)),
    ],
)
def test_an_unsigned_index_that_no_signed_one_holds(dtype, n, indices, mode):
    attributes = (
        "update_window_dims=() inserted_window_dims=(0,) scatter_dims_to_operand_dims=(0,) "
        f"combine=max mode={mode} unique=False"
    )
    source = (
        f"module f(p0: {dtype}[1,1], p1: uint8[{n}], p2: uint8[1]) {{\n"
        f"  %3 = scatter p1, p0, p2 {attributes} : uint8[{n}]\n"
        "  return %3\n}"
    )
    module = parse_module(source)
    for index in indices:
        inputs = [np.full((1, 1), index, dtype), np.arange(n).astype(np.uint8) % 7]
        inputs.append(np.full(1, 9, np.uint8))
        expected = inputs[1].copy()
        if index < n or mode == "clip":
            expected[min(index, n - 1)] = 9
        np.testing.assert_array_equal(compiled(module, inputs)[0], expected)
        np.testing.assert_array_equal(interpret.run(module, inputs)[0], expected)


@pytest.mark.parametrize("mode", ["drop", "clip"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int64", "uint64", "int4"])
@pytest.mark.parametrize("n", [5, 100, 200, 300])
def test_positions_of_every_type(n, dtype, mode):
    """Also where a type has no numbers for some positions, and some of its numbers are none."""
    positions = [0, 1, 4, 7, -1, -8, 99, 127, -128, 199, 255, 2**31, -(2**62), 2**63]
    with jitney.enable_x64():
        info = ours.iinfo(dtype)
        fitting = [p for p in positions if info.min <= p <= info.max]
        at = ours.asarray(np.array(fitting, "int64" if info.min < 0 else "uint64")).astype(dtype)
        x, updates = np.zeros(n), 2.0 ** np.arange(len(fitting))
        numbers = jitney.lax.ScatterDimensionNumbers((), (0,), (0,))

        def f(x, at, updates):
            return jitney.lax.scatter_add(x, at[:, None], updates, numbers, mode=mode)

        want = np.zeros(n)
        for p, update in zip(fitting, updates, strict=True):
            if mode == "clip":
                want[min(max(int(p), 0), n - 1)] += update
            elif 0 <= p < n:
                want[int(p)] += update
        np.testing.assert_array_equal(jitney.jit(f)(x, at, updates), want)
        np.testing.assert_array_equal(f(x, at, updates), want)


def test_cheap_positions_and_updates_are_part_of_the_kernel():
    def f(x, i, v):
        return x.at[i, i + 1].add(v * 2)

    x, i, v = np.zeros((30, 40), np.float32), np.arange(20), np.ones(20, np.float32)
    plan = jitney.jit(f).lower(x, i, v).as_text("kernels")
    assert plan.count("launch") == 1
    expensive = jitney.jit(lambda x, i, v: x.at[i, i].add(ours.exp(v))).lower(x, i, v)
    assert expensive.as_text("kernels").count("launch") == 2


def _chained(jnp, lax, v, i):
    return jnp.zeros(9).at[i].add(v).at[i[::-1]].multiply(v)


def _within(jnp, lax, v, i):
    return jnp.sin(jnp.zeros(9).at[i].add(v)).sum()


def _slice(jnp, lax, v, i):
    return lax.dynamic_update_slice(jnp.exp(v), v[:2], (i[0],))


def _read_later(jnp, lax, v, i):
    x = jnp.exp(v)
    return x.at[i].add(x.sum()), x


def _read_as_another_shape(jnp, lax, v, i):
    x = jnp.exp(v)
    return x.at[i].add(x.reshape(2, 2).sum(0)[0])


def _of_an_operand(jnp, lax, v, i):
    return v.at[i].add(1.0)


def _in_a_loop(jnp, lax, v, i):
    def step(k, x):
        return jnp.zeros(4).at[i].add(x[::-1]).at[k].add(1.0)

    return lax.fori_loop(0, 3, step, v)


COPIES = {
    _chained: 0, _within: 0, _slice: 0, _read_later: 1, _read_as_another_shape: 1, _of_an_operand: 1,
    _in_a_loop: None,
}  # fmt: skip


@pytest.mark.parametrize("f", COPIES)
def test_operands_that_nothing_else_needs_are_updated_where_they_are(f):
    v = np.random.default_rng(1).normal(size=4).astype(np.float32)
    i = np.array([2, 0, 2, 3], np.int32)
    got = jitney.jit(lambda v, i: f(ours, jitney.lax, v, i))
    want = of_jax(lambda j: f(j.numpy, j.lax, j.numpy.asarray(v), j.numpy.asarray(i)))
    for x, y in zip(*map(jitney.tree.leaves, (got(v, i), want)), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6)
    if COPIES[f] is not None:
        assert got.lower(v, i).as_text("kernels").count("copy ") == COPIES[f]


BATCHED = """
kernel k(p0: float32, p1: int32, p2: float32) for i < 3, for j < 50 {
  %0 = load p0[i*50 + j] : float32
  %1 = load p1[i*50 + j] : int32
  %2 = bitcast %1 : uint32
  %3 = uint32 LIMIT
  %4 = min %2, %3 : uint32
  %5 = convert %4 : int64
  %6 = le %2, %3 : bool
  %7 = load p2[i*20 + %5] : float32
  %8 = add %7, %0 : float32
  store p2[i*20 + %5] <- %8 where %6
}"""


def test_batches_of_scatters_are_independent_if_their_windows_cannot_meet():
    apart, meeting = (parse_kernel(BATCHED.replace("LIMIT", n).strip()) for n in ("19", "20"))
    assert schedule.is_independent(apart, 0) and not schedule.is_independent(apart, 1)
    assert not schedule.is_independent(meeting, 0)
    unbounded = BATCHED.replace("LIMIT", "19").replace("i*20 + %5", "i*20 + %1").strip()
    assert not schedule.is_independent(parse_kernel(unbounded), 0)


def test_threads_work_on_batches_of_scatters():
    rows, n = 8, 1 << 15
    at = RNG.integers(-5, 105, (rows, n)).astype(np.int32)
    values = RNG.integers(-9, 9, (rows, n)).astype(np.float32)

    def summed(at, values):
        return ours.zeros(100).at[at].add(values, mode="drop")

    f = jitney.jit(jitney.vmap(summed))
    assert "in_order" not in f.lower(at, values).as_text("llvm")
    wanted = np.zeros((rows, 105))
    for row in range(rows):
        np.add.at(wanted[row], np.where(at[row] < 0, at[row] + 100, at[row]), values[row])
    np.testing.assert_array_equal(f(at, values), wanted[:, :100])


GUARDED = {
    "by lane": """
kernel k(p0: float32, p1: int32, p2: float32) for i < 3, for j < 37 {
  %0 = load p0[i*37 + j] : float32
  %1 = float32 0.5
  %2 = lt %0, %1 : bool
  store p2[i*37 + j] <- %0 where %2
}""",
    "by row": """
kernel k(p0: float32, p1: int32, p2: float32) for i < 3, for j < 37 {
  %0 = load p0[i*37 + j] : float32
  %1 = load p1[i] : int32
  %2 = int32 17
  %3 = le %1, %2 : bool
  store p2[i*37 + j] <- %0 where %3
}""",
    "in order": """
kernel k(p0: float32, p1: int32, p2: float32) for i < 3, for j < 37 {
  %0 = load p0[i*37 + j] : float32
  %1 = load p1[j] : int32
  %2 = int32 1
  %3 = gt %1, %2 : bool
  %4 = load p2[%1] : float32
  %5 = add %4, %0 : float32
  store p2[%1] <- %5 where %3
}""",
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", GUARDED)
def test_stores_under_a_condition(name, target):
    text = GUARDED[name].strip()
    kernel = parse_kernel(text)
    assert print_kernel(kernel, "k") == text
    x = RNG.random((3, 37)).astype(np.float32)
    places = np.arange(37, dtype=np.int32)[::-1] // 2
    buffers = [plans.Buffer("input", x.nbytes, 0), plans.Buffer("input", places.nbytes, 1)]
    out = plans.Buffer("output", x.nbytes, 0)
    zeros = plans.Buffer("constant", x.nbytes, value=np.zeros_like(x))
    steps = [plans.Copy(out, zeros), plans.Launch(kernel, (*buffers, out))]
    types = [TensorType(a.shape, a.dtype) for a in (x, places)]
    plan = plans.Plan("f", steps, tuple(types), (types[0],), 0, [zeros.value])
    want = np.zeros(x.size, np.float32)
    kernel_interpreter.run(kernel, [x.reshape(-1), places, want])
    assert 0 < np.count_nonzero(want) < x.size
    with code_for(target):
        (got,) = run_plan(plan, [x, places])
    np.testing.assert_array_equal(got.reshape(-1), want)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("dtype", "first"), [("int8", -100), ("int32", -20), ("uint8", 90)])
def test_places_in_few_bits_keep_their_signs(dtype, first, target):
    """Rows that numbers name: those of a signed type may be negative, counted from the row 120."""
    offset = 120 if first < 0 else 0
    text = f"""
kernel k(p0: {dtype}, p1: float32, p2: float32) for i < 2, for j < 37 {{
  %0 = load p0[i*37 + j] : {dtype}
  %1 = load p1[%0 + {offset}] : float32
  store p2[i*37 + j] <- %1
}}""".replace(" + 0]", "]")
    kernel = parse_kernel(text.strip())
    places = (first + np.arange(74)).astype(dtype)
    x = RNG.random(200).astype(np.float32)
    inputs = [plans.Buffer("input", a.nbytes, k) for k, a in enumerate((places, x))]
    types = [TensorType(a.shape, a.dtype) for a in (places, x)]
    results = TensorType((74,), x.dtype)
    step = plans.Launch(kernel, (*inputs, plans.Buffer("output", 74 * 4, 0)))
    with code_for(target):
        (got,) = run_plan(plans.Plan("f", [step], tuple(types), (results,), 0), [places, x])
    np.testing.assert_array_equal(got, x[places.astype(int) + offset])
