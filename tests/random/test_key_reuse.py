"""`jax_debug_key_reuse`: which uses of keys are errors, as in real jax."""

from __future__ import annotations

import pytest
from tests.helpers.oracle import of_jax

import jitney
from jitney import random
from jitney.core.program.key_reuse import KeyUse, use_of_program
from jitney.errors import KeyReuseError


def key_twice(first, second):
    def case(jax):
        key = jax.random.key(0)
        first(jax, key)
        second(jax, key)

    return case


def draw(jax, key):
    return jax.random.uniform(key)


def compiled(jax, key):
    return jax.jit(jax.random.uniform)(key)


def body(fun):
    return lambda jax: fun(jax, jax.lax, jax.random.key(0))


# What is an error says so here; real jax is asked as well.
CASES = {
    "draws": (key_twice(draw, draw), True),
    "bits": (key_twice(draw, lambda jax, k: jax.random.bits(k)), True),
    "split": (key_twice(lambda jax, k: jax.random.split(k), draw), True),
    "gamma": (key_twice(draw, lambda jax, k: jax.random.gamma(k, 1.0)), True),
    "fold_in": (key_twice(lambda jax, k: jax.random.fold_in(k, 1), draw), False),
    "clone": (key_twice(draw, lambda jax, k: draw(jax, jax.random.clone(k))), False),
    "looks": (key_twice(draw, lambda jax, k: (jax.random.key_data(k), k == k)), False),
    "calls": (key_twice(compiled, compiled), True),
    "closure": (
        key_twice(draw, lambda jax, k: jax.jit(lambda: jax.random.uniform(k))()), True,
    ),
    "rows": (lambda jax: [draw(jax, k) for k in jax.random.split(jax.random.key(0), 3)], False),
    "row_twice": (
        body(lambda jax, lax, k: (lambda ks: (draw(jax, ks[0]), draw(jax, ks[0])))(
            jax.random.split(k))), True,
    ),
    "rows_in_a_program": (
        lambda jax: jax.jit(lambda ks: draw(jax, ks[0]) + draw(jax, ks[1]))(
            jax.random.split(jax.random.key(0))), False,
    ),
    "columns_beside_a_scan": (
        lambda jax: (lambda ks: (
            jax.lax.scan(lambda c, k: (c + draw(jax, k[0]), c), 0.0, ks), draw(jax, ks[0, 1])))(
            jax.random.split(jax.random.key(0), (3, 2))), False,
    ),
    "columns_of_a_scan": (
        lambda jax: (lambda ks: (
            jax.lax.scan(lambda c, k: (c + draw(jax, k[0]), c), 0.0, ks), draw(jax, ks[2, 0])))(
            jax.random.split(jax.random.key(0), (3, 2))), True,
    ),
    "columns_of_a_scan_in_a_program": (
        lambda jax: jax.jit(lambda ks: (
            jax.lax.scan(lambda c, k: (c + draw(jax, k[0]), c), 0.0, ks), draw(jax, ks[2, 1])))(
            jax.random.split(jax.random.key(0), (3, 2))), False,
    ),
    "row_twice_in_a_program": (
        lambda jax: jax.jit(lambda ks: draw(jax, ks[0]) + draw(jax, ks[0]))(
            jax.random.split(jax.random.key(0))), True,
    ),
    "tracing": (
        lambda jax: jax.jit(lambda k: draw(jax, k) + draw(jax, k)).lower(jax.random.key(0)), True,
    ),
    "scan": (
        body(lambda jax, lax, k: lax.scan(
            lambda k, _: tuple(jax.random.split(k)), k, None, length=3)), False,
    ),
    "scan_constant": (
        body(lambda jax, lax, k: lax.scan(
            lambda c, _: (c, draw(jax, k)), 0.0, None, length=3)), True,
    ),
    "scan_carry": (
        body(lambda jax, lax, k: lax.scan(
            lambda k, _: (k, draw(jax, k)), k, None, length=3)), True,
    ),
    "while": (
        body(lambda jax, lax, k: lax.while_loop(
            lambda s: s[1] < 3, lambda s: (jax.random.split(s[0])[0], s[1] + 1), (k, 0))), False,
    ),
    "while_constant": (
        body(lambda jax, lax, k: lax.while_loop(
            lambda s: s < 3, lambda s: s + draw(jax, k), 0.0)), True,
    ),
    "while_both": (
        body(lambda jax, lax, k: lax.while_loop(
            lambda s: draw(jax, s[0]) < 0.5,
            lambda s: (jax.random.split(s[0])[0], s[1] + 1), (k, 0))), True,
    ),
    "cond": (
        key_twice(lambda jax, k: jax.lax.cond(True, lambda k: 0.0, lambda k: draw(jax, k), k), draw),
        True,
    ),
    "cond_that_looks": (
        key_twice(lambda jax, k: jax.lax.cond(True, lambda k: 0.0, lambda k: 1.0, k), draw), False,
    ),
    "other_generator": (
        lambda jax: (lambda k: (draw(jax, k), draw(jax, k)))(jax.random.key(0, impl="rbg")), True,
    ),
}  # fmt: skip


def is_refused(library, case):
    with library.debug_key_reuse(True):
        try:
            case(library)
        except library.errors.KeyReuseError:
            return True
    return False


@pytest.mark.parametrize("name", CASES)
def test_reuse(name):
    case, wanted = CASES[name]
    assert is_refused(jitney, case) is wanted
    assert of_jax(is_refused, case) is wanted


def test_off_by_default():
    key = random.key(0)
    assert random.uniform(key) == random.uniform(key)


def test_error_says_where():
    with jitney.debug_key_reuse(True):
        key = random.key(0)
        random.uniform(key)
        with pytest.raises(
            KeyReuseError,
            match=r"^random.uniform\(key\): a random key was used before[\s\S]*test_key_reuse",
        ):
            random.uniform(key)


def test_use_of_a_program():
    keys = random.split(random.key(0), 3)
    closed = jitney.make_jaxpr(lambda keys, x: (random.split(x), keys))(keys, keys[0])
    assert use_of_program(closed.jaxpr) == KeyUse(((1, True),), (0,), ((0, 1),))
