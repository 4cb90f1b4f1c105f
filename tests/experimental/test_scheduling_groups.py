"""Annotated calls are one equation with attributes, which transformations keep."""

import jitney as jax
import jitney.numpy as jnp
from jitney.experimental.scheduling_groups import scheduling_group, xla_metadata_call

call = xla_metadata_call(lambda pair, *, scale: {"out": pair[0] * pair[1] * scale}, a=1, b="x")


def calls_of(f, *args):
    eqns = jax.make_jaxpr(f)(*args).eqns
    return [e.params["xla_metadata"] for e in eqns if e.primitive.name == "xla_metadata_call"]


def test_calls_have_trees_of_arguments_and_results():
    assert call((2.0, 3.0), scale=4.0)["out"] == 24
    assert jax.jit(call)((2.0, 3.0), scale=4.0)["out"] == 24
    assert calls_of(lambda x: call((x, x), scale=x), 1.0) == [(("a", 1), ("b", "x"))]


def test_transformations_keep_the_attributes():
    def f(x):
        return call((x, 3.0), scale=2.0)["out"]

    assert jax.grad(f)(5.0) == 6
    assert jax.vmap(f)(jnp.arange(2.0)).tolist() == [0, 6]
    assert set(calls_of(jax.grad(f), 5.0)) == {(("a", 1), ("b", "x"))}
    assert calls_of(jax.vmap(f), jnp.ones(2)) == [(("a", 1), ("b", "x"))]


def test_groups_are_attributes_and_names_stay():
    @scheduling_group("first")
    def sine(x):
        return jnp.sin(x)

    assert sine.__name__ == "sine" and sine(0.0) == 0
    assert calls_of(sine, 1.0) == [(("scheduling_group", "first"),)]
