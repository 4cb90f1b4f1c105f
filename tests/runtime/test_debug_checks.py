"""`jax_debug_nans`, `jax_debug_infs`: which operation gave the value, and where it stands."""

import logging
import re

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp


@jax.jit
def log_sum(x):
    y = x + 1
    return jnp.log(y).sum()


BAD = jnp.array([-3.0, 2.0])
HERE = re.escape(__file__)


@pytest.mark.parametrize(
    "call",
    [
        lambda: log_sum(BAD),
        lambda: jax.grad(log_sum)(BAD),
        lambda: jax.vmap(log_sum)(BAD[None]),
        lambda: jax.jit(lambda x: 2 * log_sum(x))(BAD),
    ],
    ids=["jit", "grad", "vmap", "nested"],
)
def test_the_operation_within_a_compiled_program_is_found(call):
    with (
        jax.debug_nans(True),
        pytest.raises(FloatingPointError, match=rf"\(nan\).* in log at {HERE}:16:.*log_sum"),
    ):
        call()


def test_the_traceback_leads_to_the_users_line():
    with jax.debug_nans(True), pytest.raises(FloatingPointError) as caught:
        log_sum(BAD)
    lines = [str(entry.statement) for entry in caught.traceback]
    assert any("jnp.log(y).sum()" in line for line in lines)


def test_python_numbers_are_evaluated_as_such():
    with jax.debug_nans(True), pytest.raises(ZeroDivisionError):
        jax.jit(lambda x: 0.0 / x)(0.0)


def test_infinities():
    with (
        jax.debug_infs(True),
        pytest.raises(FloatingPointError, match=r"\(inf\) encountered in div"),
    ):
        jax.jit(lambda x: 1 / x)(jnp.zeros(2))


def falling(c, y):
    c = jnp.log(c - y)  # line 62
    return c, c


def forwards(x):
    return jax.lax.scan(falling, 3.0, x)[0]


def backwards(x):
    return jax.lax.scan(falling, 3.0, x, reverse=True)[1]


def while_small(x):
    return jax.lax.while_loop(
        lambda s: s[0] < 5, lambda s: (s[0] + 1, falling(*s[1])), (0, (x, 2 * x))
    )


def counted(x):
    return jax.lax.fori_loop(0, 3, lambda i, c: falling(c, i)[0], x)


def chosen(x):
    return jax.lax.cond(x[0] < 1, lambda c: falling(c, 1)[0], lambda c: c, x)


def nested(x):
    return jax.lax.scan(lambda c, _: (forwards(x + c), None), 0.0, x)[0]


ROW = jnp.arange(3.0)


@pytest.mark.parametrize(
    ("function", "iterations"),
    [(forwards, [2]), (backwards, [1]), (while_small, [0]), (counted, [1]), (chosen, []),
     (nested, [2, 0]), (jax.value_and_grad(forwards), [2])],
)  # fmt: skip
@pytest.mark.parametrize("outer", [jax.jit, lambda f: f], ids=["jit", "eager"])
def test_the_line_in_the_body_of_a_loop_is_found(function, iterations, outer):
    with jax.debug_nans(True), pytest.raises(FloatingPointError) as caught:
        outer(function)(ROW)
    text = str(caught.value)
    assert re.search(rf"\(nan\) encountered in log at {HERE}:62:\d+ \(falling\)", text)
    assert [int(n) for n in re.findall(r"in iteration (\d+) of the loop at ", text)] == iterations


def test_loops_on_references_are_named_alone():
    def loop(x):
        ref = jax.new_ref(x)

        def body(_, c):
            ref[...] = jnp.log(ref[...] - 1)
            return c + ref[...]

        return jax.lax.fori_loop(0, 3, body, x)

    with jax.debug_nans(True), pytest.raises(FloatingPointError, match=rf"\(nan\).* at {HERE}"):
        jax.jit(loop)(1.5)


def test_it_is_logged_that_the_program_is_evaluated_again(caplog):
    with (
        caplog.at_level(logging.WARNING),
        jax.debug_nans(True),
        pytest.raises(FloatingPointError),
    ):
        log_sum(BAD)
    assert any("jit(log_sum)" in record.getMessage() for record in caplog.records)


def test_what_only_compiled_code_finds_is_reported_still():
    runs = []

    @jax.jit
    def f(x):
        runs.append(1)
        return jax.pure_callback(lambda v: np.sqrt(v - (len(runs) == 1)), x, x)

    with (
        np.errstate(invalid="ignore"),
        jax.debug_nans(True),
        pytest.raises(FloatingPointError, match=r"jit\(f\)"),
    ):
        f(jnp.float32(0.5))
    assert len(runs) == 2


def test_donated_arguments_are_not_used_again():
    f = jax.jit(lambda x: jnp.log(x), donate_argnums=0)
    with jax.debug_nans(True), pytest.raises(FloatingPointError, match="jit"):
        f(jnp.array([-1.0]))


def test_nothing_is_checked_without_request():
    assert np.isnan(log_sum(BAD))


@pytest.mark.parametrize("call", [log_sum, jax.vmap(log_sum), jax.jit(jax.vmap(log_sum))])
def test_the_error_of_the_whole_program_is_not_shown_as_well(call):
    with jax.debug_nans(True), pytest.raises(FloatingPointError) as caught:
        call(jnp.array([[-3.0], [2.0]]))
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
