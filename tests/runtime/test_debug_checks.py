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


def test_loops_are_named():
    def loop(x):
        return jax.lax.fori_loop(0, 3, lambda i, c: jnp.log(c), x)

    with jax.debug_nans(True), pytest.raises(FloatingPointError, match=rf"scan.* at {HERE}"):
        jax.jit(loop)(1.0)


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
