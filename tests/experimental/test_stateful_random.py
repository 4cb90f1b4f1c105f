"""Generators with a state, `jax.experimental.random`, beside real jax."""

import importlib

import pytest
from tests.helpers.both import Cases, check

import jitney
from jitney.experimental.random import StatefulPRNG, stateful_rng

same = Cases()


def rng(jax, seed: int | None = 0, **options):
    return importlib.import_module(f"{jax.__name__}.experimental.random").stateful_rng(
        seed, **options
    )


@same
def keys(jax, jnp):
    r = rng(jax)
    return r.key(), r.key(), r.key(2), r.key((2, 2)), r._counter[...]


@same
def uniform(jax, jnp):
    r = rng(jax)
    return (
        r.uniform(),
        r.uniform(2, 5, (2, 2)),
        r.uniform(jnp.arange(3.0), 5),
        r.random(3, "float16"),
    )


@same
def normal(jax, jnp):
    r = rng(jax, 1)
    return (
        r.normal(), r.normal(jnp.arange(3.0), 5, dtype="float16").shape,
        r.normal(jnp.arange(3), 5, size=(2, 3)).shape,
    )  # fmt: skip


@same
def integers(jax, jnp):
    r = rng(jax, 2)
    return (
        r.integers(10), r.integers(5, size=3), r.integers(jnp.arange(1, 4)),
        r.integers(jnp.arange(1, 4), 10, size=(2, 3), dtype="uint8"),
    )  # fmt: skip


@same
def in_jit(jax, jnp):
    r = rng(jax)
    f = jax.jit(lambda r: (r.uniform(), r.key()))
    return f(r), f(r), r.uniform(), str(jax.make_jaxpr(lambda r: r.key())(r))


@same
def made_in_jit(jax, jnp):
    return jax.jit(lambda seed: rng(jax, seed).uniform(size=2))(3)


@same
def split(jax, jnp):
    r = rng(jax)
    several = r.split((2, 3))
    drawn = jax.vmap(jax.vmap(lambda r: (r.uniform(), r.integers(9))))(several)
    return drawn, several._counter[...], jax.vmap(lambda r: r.spawn(2)[1].uniform())(r.split(2))


@same
def spawned(jax, jnp):
    return [r.uniform() for r in rng(jax, 5).spawn(3)], rng(jax, 5).spawn(0)


@same
def in_a_loop(jax, jnp):
    r = rng(jax)
    return jax.lax.scan(lambda c, _: (c, r.uniform()), 0, length=3)[1]


@same
def other_keys(jax, jnp):
    return rng(jax, 3, impl="rbg").key()


@same
def drawing_from_several(jax, jnp):
    return rng(jax).split(2).uniform()


@same
def shapes_that_do_not_broadcast(jax, jnp):
    return rng(jax).normal(jnp.arange(2), size=(3, 3))


@same
def seed_that_is_none(jax, jnp):
    return rng(jax, 1.5)  # pyright: ignore[reportArgumentType]  # what is refused


@same
def structure(jax, jnp):
    leaves, tree = jax.tree.flatten(rng(jax))
    return len(leaves), str(tree)


@pytest.mark.parametrize("case", same.all, ids=same.ids)
def test_like_jax(case):
    check(case)


def test_seed_of_the_system():
    assert stateful_rng().integers(1 << 30) != stateful_rng().integers(1 << 30)


def test_derivatives_go_past_it():
    r = stateful_rng(0)
    expected = stateful_rng(0).uniform()
    assert jitney.grad(lambda x: x * r.uniform())(2.0) == expected


def test_errors():
    with pytest.raises(ValueError, match="-1"):
        stateful_rng(0).spawn(-1)
    with pytest.raises(AttributeError):
        setattr(stateful_rng(0), "_counter", None)  # noqa: B010  # a frozen class
    assert isinstance(stateful_rng(0).split(2), StatefulPRNG)
