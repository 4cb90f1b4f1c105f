"""`jax.ds` in indices: what is read and updated is what JAX reads and updates."""

import numpy as np
import pytest
from tests.helpers.both import Cases, check
from tests.helpers.oracle import of_jax

import jitney

same = Cases()
STARTS = (-2, -1, 0, 3, 8, 9)


@same
def reading(jax, jnp):
    x = jnp.arange(10)
    read = jax.jit(lambda i: (x[jax.ds(i, 2)], x[jax.ds(i, 2, 2)]))
    known = [x[jax.ds(i, 2)] for i in (0, 3, 8)]
    fill = [x.at[jax.ds(i, 2)].get(mode="fill", fill_value=-1) for i in STARTS]
    return known, [read(i) for i in STARTS], fill, x[jax.ds(5)], x[jax.ds(None)], x[jax.ds(2, 0)]


@same
def updating(jax, jnp):
    x = jnp.arange(10)
    write = jax.jit(lambda i: (x.at[jax.ds(i, 2)].set(0), x.at[jax.ds(i, 2, 2)].add(100)))
    return [write(i) for i in STARTS], [x.at[jax.ds(i, 2)].multiply(7) for i in STARTS]


@same
def several_axes(jax, jnp):
    x, points = jnp.arange(24).reshape(4, 6), jnp.array([0, 2])
    ds = jax.ds
    read = [(x[ds(i, 2), points], x[points, ds(i, 2)]) for i in (-1, 0, 2, 3)]
    inside = [
        (x[None, ds(i, 2), ::2], x[ds(i, 2), ::-1], x[ds(i, 2), 1], x[..., ds(i, 3)],
         x[ds(i, 2), ds(1, 2)])
        for i in (0, 2)
    ]  # fmt: skip
    written = [
        (x.at[ds(i, 2), points].set(0), x.at[ds(i, 2), 1].add(7), x.at[ds(i, 2), ::2].add(7))
        for i in (-1, 0, 2, 3)
    ]
    return read, inside, written


@same
def transformed(jax, jnp):
    x, starts = jnp.arange(10.0), jnp.array([0, 3])
    read = jax.vmap(lambda i: x[jax.ds(i, 2)])(starts)
    written = jax.vmap(lambda i: x.at[jax.ds(i, 2)].set(0))(starts)
    gradient = jax.grad(lambda x, i: (x[jax.ds(i, 2)] ** 2).sum())(x, 3)
    return read, written, gradient


@pytest.mark.parametrize("case", same.all, ids=same.ids)
def test_same(case):
    check(case)


def test_known_starts_are_read_as_traced_ones():
    """JAX 0.12 reads `x[start : start + size : stride]` where it knows the start: too few elements."""
    x = jitney.numpy.arange(24).reshape(4, 6)
    ds = jitney.ds
    for read in (
        lambda i: x[ds(i, 2)],
        lambda i: x[ds(i, 2, 2)],
        lambda i: x[0][ds(i, 2, 3)],
        lambda i: x[None, ds(i, 2), ::2],
        lambda i: x[ds(i, 2), ::-1],
        lambda i: x[ds(i, 2), 1],
        lambda i: x[..., ds(i, 3)],
        lambda i: x[ds(i, 2), ds(1, 2)],
    ):
        for start in (-2, -1, 0, 3, 4, 6):
            np.testing.assert_array_equal(read(start), jitney.jit(read)(start))


def test_programs():
    x = np.arange(10)
    for f in (
        lambda j: lambda x, i: x[j.ds(i, 2)],
        lambda j: lambda x, i: x.at[j.ds(i, 2)].set(0),
        lambda j: lambda x, i: x.reshape(5, 2)[j.ds(i, 2), np.array([0, 1])],
    ):

        def text(j, f=f):
            return str(j.make_jaxpr(f(j))(j.numpy.asarray(x), 1))

        assert text(jitney) == of_jax(text)


def test_slices_are_pytrees():
    ds = jitney.ds
    assert repr(ds(1, 2)) == of_jax(lambda j: repr(j.ds(1, 2))) and ds(1, 2) == ds(1, 2, 1)
    doubled = jitney.tree.map(lambda x: 2 * x, ds(jitney.numpy.int32(3), 2))
    assert int(doubled.start) == 6 and doubled.size == 2 and doubled.is_dynamic_start
    made = jitney.jit(lambda i: ds(i, 2, 3))(1)
    assert int(made.start) == 1 and (made.size, made.stride) == (2, 3)
    for theirs in (slice(5, 1), slice(1, 6, 2), slice(None), slice(-3, None)):

        def extent(j, given=theirs):
            found = type(j.ds(1)).from_slice(given, 7)
            return found.start, found.size, found.stride

        assert extent(jitney) == of_jax(extent)


def test_errors():
    x = jitney.numpy.arange(10)
    ds = jitney.ds
    for make, message in (
        (lambda: x[ds(1.5, 2)], "`start` must be an integer scalar"),
        (lambda: x[ds(np.arange(2), 2)], "`start` must be an integer scalar"),
        (lambda: x[ds(1, -1)], "`size` must be a static nonnegative integer, got -1"),
        (
            lambda: jitney.jit(lambda n: x[ds(1, n)])(2),
            "`size` must be a static nonnegative integer",
        ),
        (lambda: x[ds(1, 11)], r"`slice_sizes` \(11,\) must not exceed"),
    ):
        with pytest.raises(TypeError, match=message):
            make()
    with pytest.raises(ValueError, match="`stride` must be"):
        ds(1, 2, -1)
