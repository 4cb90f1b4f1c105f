"""Repeated calls of jitted functions, which native code makes: any argument, any order, right data."""

from __future__ import annotations

import collections
import dataclasses
import functools
import random
from typing import Any, NamedTuple

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import tree_util


class Point(NamedTuple):
    x: Any
    y: Any


@tree_util.register_dataclass
@dataclasses.dataclass
class Params:
    w: Any
    b: Any


@tree_util.register_pytree_node_class
class Box:
    """Its children are made when it is taken apart."""

    def __init__(self, value, note="n"):
        self.value, self.note = value, note

    def tree_flatten(self):
        return (self.value + 0 if isinstance(self.value, np.ndarray) else self.value,), self.note

    @classmethod
    def tree_unflatten(cls, note, children):
        return cls(children[0], note)


def random_leaf(rng):
    n = rng.randrange(4)
    return rng.choice([
        lambda: jnp.arange(n) + rng.randrange(100), lambda: jnp.full((n, 2), rng.random()),
        lambda: jnp.ones((2, 3)).T * rng.random(), lambda: np.arange(n) + rng.randrange(9),
        lambda: np.full(n, rng.random(), np.float32), lambda: rng.random(), lambda: rng.randrange(99),
        lambda: rng.random() < 0.5, lambda: np.float32(rng.random()), lambda: np.int8(rng.randrange(9)),
        lambda: np.float64(rng.random()), lambda: jnp.float32(rng.random()), lambda: 1j * rng.random(),
        lambda: jnp.asarray(rng.randrange(9)), lambda: jnp.bfloat16(rng.random()), lambda: None,
        lambda: np.ones((3, 2), np.float32).T * np.float32(rng.random()), lambda: np.uint16(n),
        lambda: np.arange(6, dtype=np.int32)[::2] * n, lambda: np.bool_(n > 1),
    ])()  # fmt: skip


def random_tree(rng, depth=2):
    if depth == 0 or rng.random() < 0.4:
        return random_leaf(rng)
    children = [random_tree(rng, depth - 1) for _ in range(rng.randrange(1, 4))]
    return rng.choice([
        lambda: tuple(children), lambda: children, lambda: Point(children[0], children[-1]),
        lambda: {f"k{i}": c for i, c in enumerate(reversed(children))}, lambda: Box(children[0]),
        lambda: Params(children[0], children), lambda: dict(enumerate(children)),
        lambda: collections.OrderedDict(z=children[0], a=children[-1]),
        lambda: Box(children[0], rng.choice("ab")),
    ])()  # fmt: skip


def same_shape(rng, tree):
    """Another tree of the same structure and types."""

    def change(x):
        if isinstance(x, bool | np.bool_):
            return x
        y = x + type(x)(1) if isinstance(x, np.generic | int | float | complex) else x + 1
        return y.astype(x.dtype) if isinstance(x, np.ndarray) else y

    return tree_util.tree_map(change, tree)


def check(got, want):
    got_leaves, got_tree = tree_util.tree_flatten(got)
    want_leaves, want_tree = tree_util.tree_flatten(want)
    assert got_tree == want_tree
    for x, y in zip(got_leaves, want_leaves, strict=True):
        assert isinstance(x, jax.Array)
        assert (x.dtype, x.shape, x.weak_type) == (y.dtype, y.shape, y.weak_type)
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y))


def body(*args, **kwargs):
    return tree_util.tree_map(lambda x: jnp.add(x, x), (args, kwargs))


@pytest.mark.parametrize("seed", range(60))
def test_random_calls(seed):
    """Calls of several signatures, mixed: each gives what the function itself gives."""
    rng = random.Random(seed)
    f = jax.jit(body)
    calls = []
    for _ in range(rng.randrange(1, 12)):
        args = [random_tree(rng) for _ in range(rng.randrange(3))]
        kwargs = {k: random_tree(rng, 1) for k in rng.sample("pqr", rng.randrange(3))}
        calls.append((args, kwargs))
    for _ in range(40):
        args, kwargs = rng.choice(calls)
        if rng.random() < 0.5:
            args, kwargs = same_shape(rng, (args, kwargs))
            args = list(args)
        with jax.enable_x64(rng.random() < 0.2):
            kwargs = dict(rng.sample(list(kwargs.items()), len(kwargs)))
            check(f(*args, **kwargs), body(*args, **kwargs))


def test_static_arguments_by_value():
    runs = []

    @functools.partial(jax.jit, static_argnums=1, static_argnames="mode")
    def f(x, n, *, mode=(1,)):
        runs.append((n, mode))
        return x * n + len(mode)

    for _ in range(3):
        assert int(f(2, 3, mode=(1, 2))) == 8
        assert int(f(2, 1 + 2, mode=(1, *(2,)))) == 8
        assert int(f(2, 4)) == 9
        assert float(f(2, 3.0, mode=(1, 2))) == 8
    assert len(runs) == 3


def test_donation_in_repeated_calls():
    f = jax.jit(lambda state, x: {"w": state["w"] + x, "n": state["n"] + 1}, donate_argnums=0)
    state = {"w": jnp.zeros(3), "n": jnp.zeros((), jnp.int32)}
    for i in range(5):
        new = f(state, 1.0)
        assert state["w"].is_deleted() and state["n"].is_deleted(), i
        state = new
    np.testing.assert_array_equal(state["w"], 5 * np.ones(3))
    with pytest.raises(RuntimeError, match="deleted"):
        f({"w": new["w"], "n": jnp.zeros((), jnp.int32)} | {"w": _deleted()}, 1.0)


def _deleted():
    x = jnp.zeros(3)
    x.delete()
    return x


def test_donated_twice_is_refused_each_time():
    f = jax.jit(lambda x, y: (x + 1, y + 1), donate_argnums=(0, 1))
    f(jnp.zeros(3), jnp.ones(3)), f(jnp.zeros(3), jnp.ones(3))
    x = jnp.zeros(3)
    for _ in range(2):
        with pytest.raises(jax.errors.JaxRuntimeError, match="twice"):
            f(x, x)
    assert not x.is_deleted()


def test_containers_that_change():
    f = jax.jit(lambda t: tree_util.tree_leaves(t)[0] * 2)
    for _ in range(3):
        assert f(Box(1.0, "a")) == 2
        assert f(Box(2.0, "b")) == 4
        assert f([1.0]) == 2 and f((1.0,)) == 2 and f(Point(1.0, None)) == 2
        assert f({"a": 1.0}) == 2 and f({"b": 3.0}) == 6 and f({"a": 1.0, "b": 2.0}) == 2


def test_arguments_made_by_containers_live_long_enough():
    f = jax.jit(lambda b: b.value.sum())
    for i in range(20):
        assert float(f(Box(np.full(100_000, i, np.float32)))) == 100_000 * i


def test_results_in_deep_containers():
    tree: Any = 1.0
    for _ in range(200):
        tree = (tree,)
    f = jax.jit(lambda t: t)
    assert tree_util.tree_structure(f(tree)) == tree_util.tree_structure(f(tree))


def test_many_signatures():
    f = jax.jit(lambda x: x * 2)
    for _ in range(3):
        for n in range(20):
            np.testing.assert_array_equal(f(jnp.arange(n)), 2 * np.arange(n))


def test_integers_at_the_edges():
    f = jax.jit(lambda x: x)
    for x in (0, 1, -1, 2**31 - 1, -(2**31)):
        assert int(f(x)) == x
    for x in (2**31, -(2**31) - 1, 2**63, 2**100):
        with pytest.raises(OverflowError, match=r"jit\(<lambda>\): argument x is out of the range"):
            f(x)
    with jax.enable_x64(True):
        for x in (2**31, 2**63 - 1, -(2**63)):
            assert int(f(x)) == x
        with pytest.raises(OverflowError):
            f(2**63)


def test_settings_between_calls():
    f = jax.jit(lambda x: jnp.log(x))
    for _ in range(3):
        assert f(1.0).dtype == np.float32
        with jax.enable_x64(True):
            assert f(1.0).dtype == np.float64
        with jax.debug_nans(True), pytest.raises(FloatingPointError):
            f(-1.0)
        assert np.isnan(f(-1.0))
        with jax.disable_jit():
            assert f(1.0) == 0
