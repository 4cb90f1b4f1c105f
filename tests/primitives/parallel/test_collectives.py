"""Collectives over axes that vmap has named, against real jax and against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.oracle import of_jax
from tests.helpers.rule_checks import close

import jitney

X = np.arange(24, dtype=np.float32).reshape(4, 2, 3) / 7 + 1
SQUARE = np.arange(48, dtype=np.float32).reshape(4, 4, 3) / 7 + 1
WEIGHTS = (np.random.default_rng(0).integers(-99, 100, 999) / 100).astype(np.float32)
WIDE = np.arange(64, dtype=np.float32).reshape(4, 8, 2) / 9


def mapped(f, **options):
    """The case that maps f(lax, x) over an axis called "i"."""
    return lambda j, x: j.vmap(lambda v: f(j, v), axis_name="i", **options)(x)


CASES = {
    "psum": (mapped(lambda j, x: j.lax.psum(x, "i")), X),
    "psum of booleans": (mapped(lambda j, x: j.lax.psum(x > 2, "i")), X),
    "psum of a constant": (mapped(lambda j, x: j.lax.psum(3, "i") * x), X),
    "psum of what is not mapped": (
        mapped(lambda j, x: j.lax.psum(j.numpy.ones(3, np.float32), "i") * x), X,
    ),
    "psum of a tree": (mapped(lambda j, x: j.lax.psum({"a": x, "b": (1, 2.0)}, "i")), X),
    "psum over a position": (mapped(lambda j, x: j.lax.psum(x, ("i", 0))), X),
    "pmean": (mapped(lambda j, x: j.lax.pmean(x, "i")), X),
    "pmax": (mapped(lambda j, x: x - j.lax.pmax(x, "i")), X),
    "pmin": (mapped(lambda j, x: j.lax.pmin(x, "i", axis_index_groups=None)), X),
    "axis_index": (mapped(lambda j, x: x * j.lax.axis_index("i")), X),
    "axis_size": (mapped(lambda j, x: x * j.lax.axis_size("i")), X),
    "all_gather": (mapped(lambda j, x: j.lax.all_gather(x, "i")), X),
    "all_gather at the end": (mapped(lambda j, x: j.lax.all_gather(x, "i", axis=-1)), X),
    "all_gather tiled": (mapped(lambda j, x: j.lax.all_gather(x, "i", axis=1, tiled=True)), X),
    "all_gather of a tree": (mapped(lambda j, x: j.lax.all_gather((x, x[0]), "i")), X),
    "all_to_all": (mapped(lambda j, x: j.lax.all_to_all(x, "i", 0, 1)), SQUARE),
    "all_to_all in place": (mapped(lambda j, x: j.lax.all_to_all(x, "i", 0, 0)), SQUARE),
    "all_to_all backwards": (
        mapped(lambda j, x: j.lax.all_to_all(x, "i", 1, 0), in_axes=2), SQUARE.transpose(2, 1, 0),
    ),
    "all_to_all tiled": (mapped(lambda j, x: j.lax.all_to_all(x, "i", 0, 1, tiled=True)), WIDE),
    "all_to_all tiled in place": (
        mapped(lambda j, x: j.lax.all_to_all(x, "i", 0, 0, tiled=True)), WIDE,
    ),
    "ppermute": (
        mapped(lambda j, x: j.lax.ppermute(x, "i", [(k, (k + 1) % 4) for k in range(4)])), X,
    ),
    "pshuffle": (mapped(lambda j, x: j.lax.pshuffle(x, "i", [2, 0, 3, 1])), X),
    "pswapaxes": (mapped(lambda j, x: j.lax.pswapaxes(x, "i", 0)), SQUARE),
    "psum_scatter": (mapped(lambda j, x: j.lax.psum_scatter(x, "i")), SQUARE),
    "psum_scatter elsewhere": (
        mapped(lambda j, x: j.lax.psum_scatter(x, "i", scatter_dimension=1)),
        SQUARE.transpose(0, 2, 1),
    ),
    "psum_scatter tiled": (mapped(lambda j, x: j.lax.psum_scatter(x, "i", tiled=True)), WIDE),
    "in a loop": (
        mapped(lambda j, x: j.lax.scan(lambda c, v: (j.lax.psum(c * v, "i"), c), x[0], x)), X,
    ),
    "in a while loop": (
        mapped(
            lambda j, x: j.lax.while_loop(
                lambda c: j.numpy.sum(c) < 100.0, lambda c: c + j.lax.pmean(c, "i"), x
            )
        ),
        X,
    ),
    "in a branch": (
        mapped(
            lambda j, x: j.lax.cond(
                x[0, 0] > 2, lambda v: v - j.lax.pmean(v, "i"), lambda v: v * 2.0, x
            )
        ),
        X,
    ),
    "axis_index in a loop": (
        mapped(
            lambda j, x: j.lax.fori_loop(0, 3, lambda k, c: c + j.lax.axis_index("i"), 0) + x
        ),
        X,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    case, x = CASES[name]
    want = of_jax(lambda j: j.tree.leaves(case(j, x)))
    close(tuple(jitney.tree.leaves(case(jitney, x))), tuple(want), rtol=2e-6)
    close(
        tuple(jitney.tree.leaves(jitney.jit(lambda v: case(jitney, v))(x))), tuple(want), rtol=2e-6
    )


NO_GRADIENT = ("pmax", "pmin", "booleans", "while")


@pytest.mark.parametrize("name", [n for n in CASES if not any(k in n for k in NO_GRADIENT)])
def test_gradients(name):
    case, x = CASES[name]

    def loss(j):
        def f(v):
            total = 0.0
            for leaf in j.tree.leaves(case(j, v)):
                n = leaf.size
                weights = WEIGHTS[:n].reshape(leaf.shape)
                total = total + j.numpy.sum(leaf * weights)
            return total

        return f

    def slopes(j):
        return j.grad(loss(j))(x), j.jvp(loss(j), (x,), (x,))[1]

    (gradient, tangent), (their_gradient, their_tangent) = slopes(jitney), of_jax(slopes)
    close(gradient, their_gradient, rtol=1e-5, atol=1e-5)
    close(tangent, their_tangent, rtol=1e-5)


@pytest.mark.parametrize(
    "f",
    [
        lambda j, x: j.lax.psum(x, ("a", "b")),
        lambda j, x: j.lax.psum(x, "a") - j.lax.psum(x, "b"),
        lambda j, x: j.lax.axis_index(("a", "b")) * x,
        lambda j, x: j.lax.all_gather(j.lax.psum(x, "a"), "b"),
        lambda j, x: j.lax.psum(1, ("a", "b")) * x,
        lambda j, x: j.lax.all_to_all(j.numpy.stack([x, x, x, x]), "a", 0, 1),
        lambda j, x: j.lax.psum_scatter(j.numpy.stack([x, 2 * x]), "b"),
        lambda j, x: j.grad(lambda v: j.numpy.sum(j.lax.psum(v, "a") * j.lax.pmean(v, "b")))(x),
        lambda j, x: j.jit(lambda v: j.lax.psum(v, "b") / j.lax.axis_size("a"))(x),
    ],
)
def test_two_names(f):
    def run(j):
        inner = j.vmap(lambda v: f(j, v), axis_name="b")
        return j.vmap(inner, axis_name="a")(X)

    close(run(jitney), of_jax(run), rtol=2e-6)


def test_an_inner_name_hides_an_outer_one():
    def run(j):
        inner = j.vmap(lambda v: j.lax.psum(v, "i"), axis_name="i")
        return j.vmap(lambda v: inner(v) + j.lax.axis_index("i"), axis_name="i")(X)

    close(run(jitney), of_jax(run))


def test_several_names_as_one():
    """Gathering, exchanging and permuting over two axes is doing so over the axis they make up."""
    flat = np.arange(6 * 6 * 2, dtype=np.float32).reshape(6, 6, 2)

    def both(f):
        one = jitney.vmap(lambda v: f(v, "i"), axis_name="i")(flat)
        inner = jitney.vmap(lambda v: f(v, ("a", "b")), axis_name="b")
        two = jitney.vmap(inner, axis_name="a")(flat.reshape(2, 3, 6, 2))
        close(two, np.asarray(one).reshape(2, 3, *one.shape[1:]))

    lax = jitney.lax
    both(lambda v, i: lax.all_gather(v, i))
    both(lambda v, i: lax.all_gather(v, i, axis=1, tiled=True))
    both(lambda v, i: lax.psum_scatter(v, i))
    both(lambda v, i: lax.psum_scatter(v, i, tiled=True))
    both(lambda v, i: lax.all_to_all(v, i, 0, 1))
    both(lambda v, i: lax.all_to_all(v, i, 0, 1, tiled=True))
    both(lambda v, i: lax.all_to_all(v, i, 0, 0))
    both(lambda v, i: lax.all_to_all(v, i, 0, 0, tiled=True))
    both(lambda v, i: lax.ppermute(v, i, [(0, 4), (4, 2), (3, 3)]))
    both(lambda v, i: lax.axis_index(i) * v)


def test_who_receives_nothing_has_zeros():
    got = jitney.vmap(lambda v: jitney.lax.ppermute(v, "i", [(0, 1), (2, 0)]), axis_name="i")(X)
    close(got, np.stack([X[2], X[0], 0 * X[0], 0 * X[0]]))


def test_pbroadcast():
    got = jitney.vmap(lambda v: jitney.lax.pbroadcast(v, "i", 2), axis_name="i")(X)
    close(got, np.stack([X[2]] * 4))

    def loss(x):
        weights = np.arange(4, dtype=np.float32)[:, None, None]
        shared = jitney.vmap(lambda v: jitney.lax.pbroadcast(v, "i", 2), axis_name="i")(x)
        return (weights * shared).sum()

    want = np.zeros_like(X)
    want[2] = 6
    close(jitney.grad(loss)(X), want)


def test_traces_are_kept_apart_by_axes():
    """A jitted function with a collective is traced again where the axis has another extent."""
    f = jitney.jit(lambda v: v * jitney.lax.psum(1, "i"))
    over = jitney.vmap(f, axis_name="i")
    close(over(np.ones(3, np.float32)), np.full(3, 3, np.float32))
    close(over(np.ones(5, np.float32)), np.full(5, 5, np.float32))
    with pytest.raises(NameError, match="i"):
        f(np.ones(3, np.float32))


@pytest.mark.parametrize(
    ("error", "f"),
    [
        (NameError, lambda lax, x: lax.psum(x, "k")),
        (NameError, lambda lax, x: lax.axis_index("k")),
        (NameError, lambda lax, x: lax.axis_size("k")),
        (NameError, lambda lax, x: lax.all_gather(x, ("i", "k"))),
        (ValueError, lambda lax, x: lax.all_to_all(x, "i", 0, 1)),
        (ValueError, lambda lax, x: lax.pshuffle(x, "i", [0, 0, 1, 2])),
    ],
)
def test_errors(error, f):
    def use(j):
        return j.vmap(lambda v: f(j.lax, v), axis_name="i")(X)

    assert of_jax(use).is_a(error)
    with pytest.raises(error):
        use(jitney)


def test_errors_of_extents():
    run = jitney.vmap(lambda v: jitney.lax.psum_scatter(v, "i"), axis_name="i")
    with pytest.raises(ValueError, match="must be the number of participants, 4"):
        run(X)
    run = jitney.vmap(lambda v: jitney.lax.ppermute(v, "i", [(0, 1), (0, 2)]), axis_name="i")
    with pytest.raises(ValueError, match="unique"):
        run(X)


def test_nothing_is_received_before_it_is_sent():
    def received(x):
        return jitney.lax.precv(jitney.lax.create_token(), x, "i", [(0, 1)])

    with pytest.raises(ValueError, match=r"precv along .*: there is no matching psend"):
        jitney.vmap(received, axis_name="i")(X)
