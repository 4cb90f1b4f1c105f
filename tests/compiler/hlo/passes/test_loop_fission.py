"""Loops divided into parts: which parts there are, and that the bits are those of the whole loop."""

import re

import numpy as np
import pytest
from tests.compiler.programs import Chooser, program
from tests.compiler.running import check

import jitney
import jitney.numpy as jnp
from jitney import lax, random
from jitney.compiler.cost import COSTS
from jitney.compiler.hlo.passes import loop_fission
from jitney.core.util.record import replace

KEY = random.PRNGKey(3)
UNARY = (
    jnp.exp, jnp.expm1, jnp.log, jnp.log1p, jnp.sin, jnp.cos, jnp.tan, jnp.arcsin, jnp.arctan, jnp.sinh,
    jnp.cosh, jnp.tanh, jnp.arctanh, jnp.sqrt, jnp.cbrt, lax.rsqrt, lax.logistic, lax.erf, lax.erfc,
    lax.erf_inv, lax.lgamma, lax.digamma, jnp.exp2,
)  # fmt: skip


def loops_of(text):
    return len(re.findall(r"= while ", text))


def whole(function, *args, monkeypatch):
    """Results of `function` compiled with its loops in one piece."""
    with monkeypatch.context() as patch:
        patch.setattr(loop_fission, "_find_fission", lambda loop: None)
        jitney.clear_caches()
        found = jitney.tree.map(np.asarray, jitney.jit(function)(*args))
    jitney.clear_caches()
    return found


def assert_same(found, expected):
    """Fails unless all leaves are equal, NaN to NaN."""

    def one(x, y):
        x, y = np.asarray(x), np.asarray(y)
        assert x.dtype == y.dtype
        wide = x.dtype if x.dtype.kind in "biu" else np.float64
        np.testing.assert_array_equal(x.astype(wide), y.astype(wide))

    jitney.tree.map(one, found, expected)


def walk_of(steps, observe=None):
    def step(state, _):
        x, key = state
        key, drawn = random.split(key)
        x = x - 0.1 * x + 0.2 * random.normal(drawn, x.shape)
        return (x, key), x if observe is None else observe(x)

    return lambda x: lax.scan(step, (x, KEY), None, length=steps)


def forced(reverse):
    def step(x, t):
        x = x + 0.1 * (jnp.sin(t) * jnp.exp(-t) - x)
        return x, x

    return lambda x: lax.scan(step, x, jnp.linspace(0.0, 5.0, 60), reverse=reverse)


def counted(x):
    return lax.fori_loop(0, 70, lambda i, x: x * 0.9 + jnp.cos(0.1 * i) ** 2 * jnp.tanh(0.3 * i), x)


def three_levels(x):
    """a needs itself, b needs a, c needs b."""

    def step(state, _):
        a, b, c = state
        a = 3.9 * a * (1 - a)
        b = 0.5 * b + jnp.sin(jnp.exp(a)) * jnp.cos(a)
        c = 0.5 * c + jnp.cos(jnp.exp(b)) * jnp.sin(b)
        return (a, b, c), (c, a)

    return lax.scan(step, (x, x, x), None, length=50)


def folded_in(x):
    return lax.fori_loop(0, 64, lambda i, x: x + random.uniform(random.fold_in(KEY, i)), x)


def with_inner_loop(x):
    def step(state, _):
        x, key = state
        key, drawn = random.split(key)
        p = random.normal(drawn, (3,))
        x = lax.fori_loop(0, 4, lambda _, x: 0.9 * x + 0.1 * jnp.sum(p), x)
        return (x, key), p

    return lax.scan(step, (x, KEY), None, length=40)


PROGRAMS = {
    "random_walk": (walk_of(100), 2),
    "random_walk_observed": (walk_of(100, lambda x: jnp.exp(jnp.sin(x))), 2),
    "forced": (forced(False), 1),
    "forced_reverse": (forced(True), 1),
    "counted": (counted, 1),
    "three_levels": (three_levels, 3),
    "folded_in": (folded_in, 1),
    "with_inner_loop": (with_inner_loop, 3),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_parts_and_bits(name, monkeypatch):
    function, loops = PROGRAMS[name]
    x = jnp.float32(0.3)
    text = jitney.jit(function).lower(x).as_text("optimized")
    assert loops_of(text) == loops
    assert "erf_inv" not in "".join(re.findall(r"body=.*?\n  \}", text, re.DOTALL))
    expected = whole(function, x, monkeypatch=monkeypatch)
    found = jitney.jit(function)(x)
    assert_same(found, expected)
    with jitney.disable_jit():
        eager = function(x)
    jitney.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), found, eager
    )


def test_several_elements_a_turn(monkeypatch):
    x = jnp.arange(3.0)
    expected = whole(walk_of(50), x, monkeypatch=monkeypatch)
    found = jitney.jit(walk_of(50))(x)
    assert_same(found, expected)


@pytest.mark.parametrize("name", ["random_walk", "forced_reverse", "three_levels"])
def test_under_transformations(name, monkeypatch):
    function = PROGRAMS[name][0]

    def total(x):  # of last elements: the order within large sums is free
        return sum(
            leaf.ravel()[-1] for leaf in jitney.tree.leaves(function(x)) if leaf.dtype == x.dtype
        )

    for g in (jitney.grad(total), lambda x: jitney.jvp(total, (x,), (x,)), jitney.vmap(total)):
        x = jnp.array([0.2, 0.4]) if g.__name__ == "total" else jnp.float32(0.3)
        expected = whole(g, x, monkeypatch=monkeypatch)
        assert_same(jitney.jit(g)(x), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("fn", UNARY, ids=lambda fn: fn.__name__)
def test_functions_give_the_same_bits_for_one_element_and_for_many(fn, dtype, monkeypatch):
    def step(state, _):
        x, total = state
        x = (x * jnp.asarray(1.37, dtype)) % jnp.asarray(0.99, dtype)
        values = fn(x) + fn(x * x) + fn(-x)
        return (x, total * jnp.asarray(0.5, dtype) + values), fn(x - 0.5)

    def run(x):
        return lax.scan(step, (x, x), None, length=100)

    with jitney.enable_x64(dtype == "float64"):
        x = jnp.asarray(0.7, dtype)
        expected = whole(run, x, monkeypatch=monkeypatch)
        assert_same(jitney.jit(run)(x), expected)


def test_loops_that_stay_whole():
    def optimized(function, *args):
        return jitney.jit(function).lower(*args).as_text("optimized")

    x = jnp.float32(0.3)
    few = optimized(walk_of(8), x)
    assert loops_of(few) == 1 and "erf_inv" in few[few.index("body=") :]

    def chained(x):  # each draw needs the state
        return lax.fori_loop(0, 50, lambda i, x: jnp.sin(jnp.exp(x)) + jnp.cos(jnp.sin(x)), x)

    assert loops_of(optimized(chained, x)) == 1

    def printing(i, x):
        jitney.debug.callback(lambda i: None, i, ordered=True)
        return x * 0.9 + jnp.cos(0.1 * i) * jnp.tanh(0.3 * i) * jnp.sin(0.2 * i)

    text = optimized(lambda x: lax.fori_loop(0, 50, printing, x), x)
    assert loops_of(text) == 1 and "tanh" in text[text.index("body=") :]

    def wide(i, x):  # vectors are full in each iteration
        return x * 0.9 + jnp.cos(jnp.arange(64.0) + i) * jnp.tanh(jnp.arange(64.0) * i)

    text = optimized(lambda x: lax.fori_loop(0, 50, wide, x), jnp.zeros(64))
    assert "tanh" in text[text.index("body=") :]


def test_memory_is_bounded():
    def random_walk(steps):
        def step(_, state):
            x, key = state
            key, drawn = random.split(key)
            return x + random.normal(drawn), key

        compiled = (
            jitney.jit(lambda x: lax.fori_loop(0, steps, step, (x, KEY))[0]).lower(1.0).compile()
        )
        return compiled.memory_analysis().temp_size_in_bytes

    assert 1000 * 12 <= random_walk(1000) < 1000 * 16
    assert random_walk(10**9) < 10_000


@pytest.mark.slow  # compiles 180 programs, divided and not
def test_random_programs(monkeypatch):
    eager = replace(COSTS, fission_gain=0.5, transfer=0, fission_trips=1)
    monkeypatch.setattr(loop_fission, "COSTS", eager)
    divided = []
    build = loop_fission._divided

    def noted(b, loop, division):
        divided.append(division)
        return build(b, loop, division)

    monkeypatch.setattr(loop_fission, "_divided", noted)
    for seed in range(180):
        module, inputs, inexact = program(Chooser(5000 + seed), 24)
        check(module, inputs, inexact)
    assert len(divided) > 50 and any(d.early for d in divided) and any(d.filled for d in divided)
