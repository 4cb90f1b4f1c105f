"""`Traced.closure_convert` and its like: what a traced function closes over, as arguments."""

import pytest
from tests.helpers.both import Cases, check

import jitney

cases = Cases()


def scaled(jnp):
    c = jnp.arange(3.0)
    return c, lambda x, y=1.0: x * y + c


@cases
def converted(jax, jnp):
    c, f = scaled(jnp)
    consts, g = jax.jit(f).trace(jnp.ones(3), y=2.0).closure_convert()
    x = jnp.full(3, 4.0)
    grad = jax.grad(lambda k: g(k, x, y=2.0).sum())(consts)
    return consts, g(consts, x, y=2.0), g([c * 2], x, y=5.0), grad, jax.jit(g)(consts, x, y=2.0)


@cases
def converted_without_static_arguments(jax, jnp):
    c = jnp.arange(3.0)
    f = jax.jit(lambda n, x: x * n + c, static_argnums=0, donate_argnums=1)
    traced = f.trace(3, jnp.ones(3))
    consts, g = traced.closure_convert()
    _, stage = traced.with_consts_as_arg()
    return g(consts, jnp.ones(3)), stage.donate_argnums, traced.donate_argnums


@cases
def converted_within_a_derivative(jax, jnp):
    def f(z):
        consts, g = jax.jit(lambda x: x * z).trace(1.0).closure_convert()
        return g(consts, 2.0)

    return jax.grad(f)(3.0), jax.jit(f)(3.0)


@cases
def converted_called_with_other_arguments(jax, jnp):
    _, f = scaled(jnp)
    consts, g = jax.jit(f).trace(jnp.ones(3), y=2.0).closure_convert()
    return g(consts, jnp.ones(3), 2.0)


@cases
def converted_called_without_values(jax, jnp):
    _, f = scaled(jnp)
    _, g = jax.jit(f).trace(jnp.ones(3)).closure_convert()
    return g([], jnp.ones(3))


@cases
def with_values_as_argument(jax, jnp):
    _, f = scaled(jnp)
    consts, traced = jax.jit(f).trace(jnp.ones(3), y=2.0).with_consts_as_arg()
    compiled = traced.lower().compile()
    return (
        consts, str(traced.jaxpr), len(traced.jaxpr.consts), traced.fun_name, str(traced.in_tree),
        compiled([jnp.ones(3)], jnp.ones(3), y=3.0), traced.closure_convert()[0],
    )  # fmt: skip


@cases
def on_arrays(jax, jnp):
    _, f = scaled(jnp)
    stage = jax.jit(f).trace(jnp.ones(3)).lojax
    return (
        type(stage).__name__,
        str(stage.jaxpr),
        str(stage.out_tree),
        stage.fun_name,
        stage.out_info,
    )


@cases
def of_another_program(jax, jnp):
    class Context:
        def physicalize_closed_jaxpr(self, jaxpr):
            seen.append(str(jaxpr))
            return jax.make_jaxpr(lambda x: x * 3)(jnp.ones(3))

    seen = []
    traced = jax.jit(lambda x: x * 2).trace(jnp.ones(3)).physicalize(Context())
    if jax is jitney:  # JAX 0.12.0.1 cannot lower it
        assert traced.lower().compile()(jnp.ones(3)).sum() == 9
    return seen, str(traced.jaxpr)


@cases
def call_of_a_compiled_program(jax, jnp):
    compiled = jax.jit(lambda x, y: {"sum": x + y}).lower(1.0, y=2.0).compile()
    return compiled.call(compiled._params, 1.0, y=2.0)


@cases
def call_of_a_compiled_program_with_another_structure(jax, jnp):
    compiled = jax.jit(lambda x, y: x + y).lower(1.0, 2.0).compile()
    return compiled.call(compiled._params, 1.0)


@pytest.mark.parametrize("case", cases.all, ids=cases.ids)
def test_closure_conversion(case):
    check(case)
