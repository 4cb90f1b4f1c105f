"""Name stacks say in which scopes, and how transformed, operations were recorded: as JAX's do."""

import pytest
from tests.helpers.both import Cases, check

import jitney
import jitney.numpy as jtnp

cases = Cases()


def model(jax, jnp):
    def f(x):
        with jax.named_scope("model"):
            y = jnp.sin(x) * x
        return y.sum()

    return f


def stacks(jax, jnp, f, scope="outer"):
    """Names of all equations of `f`, called within a scope, those of inner programs after them."""

    def scoped(x):
        if scope is None:
            return f(x)
        with jax.named_scope(scope):
            return f(x)

    def walk(jaxpr):
        for eqn in jaxpr.eqns:
            yield f"{eqn.primitive} {eqn.source_info.name_stack}"
            inner = eqn.params.get("jaxpr")
            if inner is not None:
                yield from walk(inner.jaxpr)

    return list(walk(jax.make_jaxpr(scoped)(jnp.ones((3, 2))).jaxpr))


@cases
def gradient(jax, jnp):
    return stacks(jax, jnp, jax.grad(model(jax, jnp)))


@cases
def tangents(jax, jnp):
    return stacks(jax, jnp, lambda x: jax.jvp(model(jax, jnp), (x,), (x,)))


@cases
def batched_gradient(jax, jnp):
    return stacks(jax, jnp, jax.vmap(jax.grad(model(jax, jnp))))


@cases
def linearized(jax, jnp):
    def f(x):
        _, linear = jax.linearize(model(jax, jnp), x)
        return linear(x)

    return stacks(jax, jnp, f)


@cases
def pulled_back_in_another_scope(jax, jnp):
    def f(x):
        _, pull = jax.vjp(model(jax, jnp), x)
        with jax.named_scope("back"):
            return pull(1.0)

    return stacks(jax, jnp, f)


@cases
def hessian_vector_product(jax, jnp):
    return stacks(jax, jnp, lambda x: jax.jvp(jax.grad(model(jax, jnp)), (x,), (x,)))


@cases
def transposed(jax, jnp):
    def f(x):
        return jax.linear_transpose(lambda y: (2 * y).sum(), x)(jnp.float32(1))

    return stacks(jax, jnp, f, scope=None)


@cases
def jitted(jax, jnp):
    return stacks(jax, jnp, jax.grad(jax.jit(model(jax, jnp))))


@pytest.mark.parametrize("case", cases.all, ids=cases.ids)
def test_like_jax(case):
    check(case)


def test_rules_of_users_are_in_scopes_of_their_own():
    @jitney.custom_vjp
    def f(x):
        return jtnp.sin(x)

    def forward(x):
        with jitney.named_scope("forward"):
            return jtnp.sin(x), x

    def backward(x, ct):
        with jitney.named_scope("backward"):
            return (jtnp.cos(x) * ct,)

    f.defvjp(forward, backward)
    assert stacks(jitney, jtnp, jitney.grad(lambda x: f(x).sum())) == [
        "sin outer/jvp(forward)", "reduce_sum outer/jvp()",
        "broadcast_in_dim outer/transpose(jvp())", "cos outer/transpose(jvp(backward))",
        "mul outer/transpose(jvp(backward))",
    ]  # fmt: skip
