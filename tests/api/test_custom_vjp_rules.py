"""Rules of `custom_vjp` of other kinds: with accumulators, logs, and residuals computed again."""

from functools import partial

import pytest
from tests.helpers.both import Cases, check

import jitney as jtn
import jitney.numpy as jnp

cases = Cases()


def product(jax, jnp):
    @jax.custom_vjp
    def f(x, y):
        return jnp.sin(x) * y

    return f


def forward(jnp):
    return lambda x, y: (jnp.sin(x) * y, (jnp.cos(x), y, jnp.sin(x)))


def backward(residuals, ct):
    c, y, s = residuals
    return c * y * ct, s * ct


def accumulate(residuals, ct, x, y):
    for _ in range(2):
        x.accum(residuals[0] * residuals[1] * ct / 2)
    y.accum(residuals[2] * ct)


@cases
def accumulators(jax, jnp):
    f = product(jax, jnp)
    f.defvjp_with_accums(forward(jnp), accumulate)
    both = jax.grad(f, (0, 1))
    ones = jnp.ones(2)
    loop = jax.grad(lambda x: jax.lax.scan(lambda c, _: (f(c, c), None), x, None, length=3)[0])
    return [
        both(1.0, 2.0), jax.grad(f)(1.0, 2.0), jax.jit(both)(1.0, 2.0), jax.vmap(both)(ones, ones),
        loop(1.0), jax.grad(jax.checkpoint(f))(1.0, 2.0),
    ]  # fmt: skip


@cases
def accumulators_of_trees(jax, jnp):
    @jax.custom_vjp
    def f(d, x):
        return d["a"] * d["b"] + x

    def bwd(residuals, ct, d, x):
        d["a"].accum(ct * residuals["b"])
        x.accum(ct)

    f.defvjp_with_accums(lambda d, x: (f(d, x), d), bwd)
    return jax.grad(f, (0, 1))({"a": 1.0, "b": 2.0}, 3.0)


@cases
def accumulators_beside_static_arguments(jax, jnp):
    @partial(jax.custom_vjp, nondiff_argnums=(0,))
    def f(k, x):
        return k(x)

    f.defvjp_with_accums(lambda k, x: (k(x), x), lambda k, r, ct, a: a.accum(ct * 7))
    return jax.grad(f, 1)(jnp.sin, 2.0)


@cases
def accumulators_and_a_result(jax, jnp):
    f = product(jax, jnp)
    f.defvjp_with_accums(forward(jnp), lambda r, ct, x, y: 3)
    return jax.grad(f)(1.0, 2.0)


@cases
def accumulators_and_a_log(jax, jnp):
    f = product(jax, jnp)
    f.defvjp_with_accums(forward(jnp), lambda r, ct, x, y: x.accum(ct) or {"ct": ct})
    return jax.grad(f)(1.0, 2.0)


@cases
def accumulators_of_another_type(jax, jnp):
    f = product(jax, jnp)
    f.defvjp_with_accums(forward(jnp), lambda r, ct, x, y: x.accum(jnp.ones(3)))
    return jax.grad(f)(1.0, 2.0)


@cases
def logs(jax, jnp):
    f = product(jax, jnp)
    f.defvjp_with_logs(forward(jnp), lambda r, ct: (backward(r, ct), {"ct": ct}))
    g = product(jax, jnp)
    g.defvjp_with_logs(forward(jnp), lambda r, ct: (backward(r, ct), None))
    return [jax.grad(h, (0, 1))(1.0, 2.0) for h in (f, jax.jit(f), g)]


@cases
def logs_that_are_no_dict(jax, jnp):
    f = product(jax, jnp)
    f.defvjp_with_logs(forward(jnp), lambda r, ct: (backward(r, ct), [ct]))
    return jax.grad(f)(1.0, 2.0)


@cases
def logs_that_are_missing(jax, jnp):
    f = product(jax, jnp)
    f.defvjp_with_logs(forward(jnp), backward)
    return jax.grad(f)(1.0, 2.0)


@cases
def rules_that_precede_those_of_remat(jax, jnp):
    f = product(jax, jnp)
    f.defvjp(forward(jnp), backward)
    f.defremat(lambda x, y: (f(x, y), None), None, None)
    return jax.grad(f, (0, 1))(1.0, 2.0)


@pytest.mark.parametrize("case", cases.all, ids=cases.ids)
def test_kinds_of_rules(case):
    check(case)


def test_residuals_that_are_computed_again():
    """JAX 0.12.0.1 needs options for it that it does not have on."""
    f = product(jtn, jnp)
    seen = []

    def rem(kept, x, y):
        seen.append(kept)
        return jnp.sin(x) * y, (jnp.cos(x), y, jnp.sin(x))

    f.defremat(lambda x, y: (jnp.sin(x) * y, "kept"), rem, backward)
    want = (jnp.cos(1.0) * 2.0, jnp.sin(1.0))
    for function in (f, jtn.checkpoint(f), jtn.jit(f)):
        got = jtn.grad(function, (0, 1))(1.0, 2.0)
        assert [float(x) for x in got] == pytest.approx([float(x) for x in want], rel=1e-6)
    assert {*seen} == {"kept"}
    f.defremat_with_logs(
        lambda x, y: (jnp.sin(x) * y, "kept"), rem, lambda r, ct: (backward(r, 2 * ct), {"ct": ct})
    )
    assert float(jtn.grad(f)(1.0, 2.0)) == pytest.approx(2 * float(want[0]), rel=1e-6)
