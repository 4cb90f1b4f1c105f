"""Host calls: each once, in order, in loops and branches too; their errors; control flow; threads."""

import threading

import numpy as np
import pytest
from tests.compiler.running import check, compiled

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.compiler.hlo import interpret
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.ir import TensorType

F32, I32 = np.dtype(np.float32), np.dtype(np.int32)
S, V = TensorType((), I32), TensorType((8,), F32)


def module(types, body):
    b = Builder()
    params = [b.parameter(i, t) for i, t in enumerate(types)]
    return b.module("f", params, body(b, *params))


class Log:
    """A host function that writes down what it is called with."""

    def __init__(self):
        self.seen = []

    def __call__(self, name):
        def write(x):
            self.seen.append((name, np.asarray(x).tolist()))
            return (np.asarray(x) + 1,)

        return write


def one(b, x):
    return b.constant(np.int32(1))


def counted(b, n, body, *init):
    """A loop of `n` iterations."""
    types = [S, *(x.type for x in init)]
    cond = b.region(types, lambda b, i, *_: [b.apply("lt", i, b.constant(np.int32(n)))])

    def step(b, i, *xs):
        return [b.apply("add", i, b.constant(np.int32(1))), *body(b, i, *xs)]

    return b.while_(cond, b.region(types, step), [b.constant(np.int32(0)), *init])[1:]


def runs(m, *inputs):
    """(results, log of the compiled program), which are those of the interpreter."""
    want = interpret.run(m, [np.asarray(x) for x in inputs])
    got = compiled(m, [np.asarray(x) for x in inputs])
    for g, w in zip(got, want, strict=True):
        np.testing.assert_array_equal(g, w)
    return got


def test_ordered_calls_run_though_nothing_needs_them():
    log = Log()

    def body(b, x):
        # The first depends on much, the second on nothing: they stay in order.
        y = x
        for _ in range(5):
            y = b.reduce(b.broadcast(b.apply("neg", y), (4,), ()), "max", [0])
        b.host_call("first", log("first"), [y], [S], ordered=True)
        b.host_call("second", log("second"), [x], [S], ordered=True)
        b.host_call("pure", log("pure"), [x], [S])
        return [x]

    m = module([S], body)
    compiled(m, [np.asarray(3, np.int32)])
    assert log.seen == [("first", -3), ("second", 3)]


def test_ordered_calls_in_loops_and_branches():
    log = Log()

    def branch(name):
        def body(b, i, x):
            b.host_call(name, log(name), [i], [S], ordered=True)
            return [b.apply("neg", x)]

        return body

    def body(b, x):
        def step(b, i, x):
            b.host_call("step", log("step"), [x], [S], ordered=True)
            branches = [b.region([S, S], branch(name)) for name in ("even", "odd")]
            odd = b.apply("and", i, one(b, i))
            return b.cond(odd, branches, [i, x])

        counted(b, 3, step, x)  # no result is used
        b.host_call("last", log("last"), [x], [S], ordered=True)
        return []

    compiled(module([S], body), [np.asarray(7, np.int32)])
    assert log.seen == [
        ("step", 7), ("even", 0), ("step", -7), ("odd", 1), ("step", 7), ("even", 2), ("last", 7),
    ]  # fmt: skip


def test_products_around_a_call_in_a_loop_call_once():
    """The passes that iteration narrow matrices and hoist products build an iteration's nodes anew."""
    calls = []

    def seen(v):
        calls.append(v.tolist())
        return v

    def run(w, rows, v):
        def step(i, v):
            v = jitney.experimental.io_callback(seen, v, v, ordered=True)
            return (w @ v) @ w * 0.01 + rows[i] @ w[:3]

        return lax.fori_loop(0, 4, step, v)

    w, rows, v = jnp.ones((20, 3)), jnp.ones((4, 3)), jnp.ones(3)
    found = jitney.jit(run)(w, rows, v)
    assert len(calls) == 4
    compiled_calls, calls[:] = [*calls], []
    with jitney.disable_jit():
        expected = run(w, rows, v)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_allclose(compiled_calls, calls, rtol=1e-5)


def test_an_error_of_a_host_function_is_raised_and_ends_the_program():
    log = Log()

    def fail(x):
        if x == 2:
            raise OSError("no more")
        return (x,)

    def body(b, x):
        def step(b, i, x):
            (y,) = b.host_call("fail", fail, [i], [S], ordered=True)
            return [b.apply("add", x, y)]

        (x,) = counted(b, 5, step, x)
        b.host_call("after", log("after"), [x], [S], ordered=True)
        return [x]

    m = module([S], body)
    for _ in range(2):
        with pytest.raises(OSError, match="no more"):
            compiled(m, [np.asarray(0, np.int32)])
    assert log.seen == []


@pytest.mark.parametrize("iterations", [0, 1, 2, 5])
def test_loop_carries_change_places(iterations):
    def body(b, x, y, z):
        return counted(b, iterations, lambda b, i, x, y, z: [y, z, b.apply("add", x, y)], x, y, z)

    v = np.arange(8, dtype=np.float32)
    runs(module([V, V, V], body), v, v * 2, v - 3)


def test_loop_results_that_are_its_inputs():
    def body(b, x, y):
        a, c = counted(b, 3, lambda b, i, x, y: [x, x], x, y)
        return [a, c, x, a, b.reshape(c, (2, 4))]

    v = np.arange(8, dtype=np.float32)
    runs(module([V, V], body), v, v * 2)


def test_a_loop_within_a_loop_reads_what_is_outside():
    def body(b, x, y):
        def inner(b, i, x, y):
            return [b.apply("add", x, y), y]

        def outer(b, i, x, y):
            z = b.apply("mul", x, y)
            a, c = counted(b, 2, inner, z, y)
            return [b.apply("sub", a, z), b.apply("add", c, y)]

        return counted(b, 3, outer, x, y)

    v = np.arange(8, dtype=np.float32)
    runs(module([V, V], body), v, v - 3)


@pytest.mark.parametrize("index", [-5, 0, 1, 2, 3, 2**31 - 1])
def test_branches_are_chosen_by_the_clamped_index(index):
    def body(b, i, x):
        cases = [
            b.region([V], lambda b, x: [b.apply("neg", x), x]),
            b.region([V], lambda b, x: [x, x]),
            b.region([V], lambda b, x: [b.constant(np.ones(8, np.float32)), b.apply("abs", x)]),
        ]
        return b.cond(i, cases, [x])

    runs(module([S, V], body), np.int32(index), np.arange(8, dtype=np.float32) - 4)


def test_results_that_are_parameters_constants_and_each_other():
    def body(b, x, i):
        c = b.constant(np.arange(8, dtype=np.float32))
        y = b.apply("neg", x)
        return [
            x, c, y, y, b.reshape(y, (2, 4)), b.reshape(x, (4, 2)), b.bitcast(x, np.int32), c,
            b.bitcast(c, np.uint8), b.reshape(c, (8, 1)), b.constant(np.float32(2)), i, i,
            b.bitcast(i, np.int8),
        ]  # fmt: skip

    runs(module([V, S], body), np.arange(8, dtype=np.float32), np.int32(77))


def test_deep_chains():
    def body(b, x):
        for k in range(5000):
            x = b.apply("max", b.apply("neg", x), b.full((8,), k % 3, F32))
        return [x]

    check(module([V], body), [np.arange(8, dtype=np.float32)])


def test_deep_chains_of_views_with_several_uses():
    t = TensorType((4, 4), F32)

    def body(b, x):
        kept = []
        for k in range(800):
            x = b.reverse(b.transpose(x, (1, 0)), [k % 2])
            if k % 20 == 0:
                kept.append(b.reduce(x, "max", [0]))
        return [x, *kept]

    check(module([t], body), [np.arange(16, dtype=np.float32).reshape(4, 4)])


def test_diamonds_of_views_do_not_grow_without_bound():
    def body(b, x, i, j):
        for k in range(30):
            n = x.shape[0] - 1 - k % 3
            x = b.apply("add", b.dynamic_slice(x, [i], [n]), b.dynamic_slice(x, [j], [n]))
        return [x]

    x = np.arange(100, dtype=np.int32)
    m = module([TensorType((100,), I32), S, S], body)
    check(m, [x, np.asarray(0, np.int32), np.asarray(1, np.int32)])


def test_many_results():
    m = module([V], lambda b, x: [b.apply("add", x, b.full((8,), k, F32)) for k in range(40)])
    check(m, [np.arange(8, dtype=np.float32)])


def test_arrays_of_many_axes():
    for rank in (33, 64):
        t = TensorType((1,) * (rank - 1) + (3,), I32)
        check(module([t], lambda b, x: [b.apply("neg", x)]), [np.ones(t.shape, np.int32)])


def test_programs_run_and_compile_in_many_threads():
    v = np.arange(50_000, dtype=np.float32)
    t = TensorType(v.shape, F32)
    wrong = []

    def work(n):
        def body(b, x):
            y = b.apply("add", b.apply("sin", x), b.full(v.shape, n % 4, F32))
            (s,) = b.sort([b.slice(y, [0], [100], [1])], 0, 1, True)
            return [y, b.reduce(y, "max", [0]), s]

        m = module([t], body)
        want = interpret.run(m, [v])
        for _ in range(3):
            got = compiled(m, [v])
            wrong.extend(
                (n, i)
                for i, (g, w) in enumerate(zip(got, want, strict=True))
                if not np.allclose(g, w, atol=1e-6)
            )

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_constants_are_those_of_the_trace():
    for size in (3, 3000):
        values = np.ones(size, np.float32)
        add = jitney.jit(lambda x, values=values: x + values)
        assert add(1.0)[0] == 2
        values[:] = 5
        assert add(1.0)[0] == 2


def test_results_do_not_share_memory_with_the_users_arrays():
    values = np.ones(4, np.float32)
    same, view = jitney.jit(lambda x: (x, x.reshape(2, 2)))(values)
    values[0] = 7
    assert same[0] == 1
    assert view[0, 0] == 1


@pytest.mark.parametrize("size", [5, 100, 1000])
def test_a_loop_until_no_element_asks_for_more(size):
    """Elements that ask for no more iterations change for as long as others do."""
    x = np.arange(size, dtype=np.float32)
    top = size + 20

    def loop(x):
        return lax.while_loop(
            lambda c: jnp.any(c[1] < top), lambda c: (c[0] + 1, c[1] + 1), (jnp.int32(0), x)
        )

    iterations, y = jitney.jit(loop)(x)
    assert iterations == top
    np.testing.assert_array_equal(y, x + top)


def test_a_loop_for_each_element():
    def newton(a):
        return lax.while_loop(
            lambda c: abs(c[0] * c[0] - a) > 1e-3,
            lambda c: ((c[0] + a / c[0]) / 2, c[1] + 1),
            (a, 0),
        )

    a = np.arange(1, 300, dtype=np.float32)
    root, iterations = jitney.jit(jitney.vmap(newton))(a)
    np.testing.assert_allclose(root, np.sqrt(a), rtol=1e-3)
    for k in (0, 7, 298):
        assert iterations[k] == newton(jnp.float32(a[k]))[1]


@pytest.mark.parametrize("iterations", [0, 1, 2, 7])
def test_forces_of_the_turn_before(iterations):
    def force(q):
        apart = q[None, :] - q[:, None]
        return jnp.sum(jnp.sin(apart) * jnp.exp(-(apart**2)), axis=1)

    def leapfrog(n, q, v):
        def step(s):
            i, q, v = s
            v = v + 0.1 * force(q)
            q = q + 0.2 * v
            return i + 1, q, v + 0.1 * force(q)

        return lax.while_loop(lambda s: s[0] < n, step, (0, q, v))[1:]

    q, v = jnp.linspace(-1.0, 2.0, 5), jnp.ones(5)
    lowered = jitney.jit(leapfrog).lower(iterations, q, v)
    loop = lowered.as_text("optimized").split("body=")[1]
    assert loop.count("sin") == 1  # not one for each call of `force`
    found = jitney.jit(leapfrog)(iterations, q, v)
    with jitney.disable_jit():
        expected = leapfrog(iterations, q, v)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)
