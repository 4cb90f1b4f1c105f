"""Contractions of groups: values and programs are JAX's; batches are those of single calls."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney
from jitney import lax, numpy as jnp
from jitney.test_util import check_grads

RNG = np.random.default_rng(0)
ROWS, MATRICES = RNG.normal(size=(37, 5)), RNG.normal(size=(3, 5, 4))
SIZES = [[10, 0, 20], [0, 0, 0], [1, 35, 1], [37, 0, 0], [0, 30, 30]]


def expected(x, y, sizes):
    """Each row times the matrix of its group, in float64."""
    out, start = np.zeros((len(x), y.shape[2])), 0
    for matrix, size in zip(y, sizes, strict=True):
        out[start : start + size] = x[start : start + size] @ matrix
        start += size
    return out


def numbers(module, contracted, batch, ragged, group):
    return module.lax.RaggedDotDimensionNumbers((contracted, batch), ragged, group)


# Shapes of lhs, rhs and group sizes; contracted axes, batch axes, ragged axis, axis of groups.
MODES = {
    "free": ((9, 4), (3, 4, 2), (3,), ((1,), (1,)), ((), ()), [0], [0]),
    "free_amid_others": (
        (2, 3, 4, 9, 5), (5, 4, 3, 6, 2), (2, 3, 3), ((2, 4), (1, 0)), ((0,), (4,)), [3], [2],
    ),
    "contracted": ((9, 4), (9, 2), (3,), ((0,), (0,)), ((), ()), [0], []),
    "contracted_amid_others": (
        (4, 2, 9, 3), (3, 9, 2, 5), (2, 3, 3), ((3, 2), (0, 1)), ((1,), (2,)), [2], [],
    ),
    "batch": ((6, 9, 4), (6, 4, 2), (3,), ((2,), (1,)), ((0,), (0,)), [0], []),
}  # fmt: skip


@pytest.mark.parametrize("sizes", SIZES)
def test_rows_by_group(sizes):
    x, y = ROWS.astype(np.float32), MATRICES.astype(np.float32)
    sizes = np.array(sizes, np.int32)
    for f in (lax.ragged_dot, jitney.jit(lax.ragged_dot)):
        np.testing.assert_allclose(f(x, y, sizes), expected(x, y, sizes), rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("mode", MODES)
def test_every_mode(mode):
    left, right, groups, *axes = MODES[mode]
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=left).astype(np.float32), rng.normal(size=right).astype(np.float32)
    sizes = rng.integers(0, 4, groups).astype(np.int32)

    def use(j):
        return j.lax.ragged_dot_general(x, y, sizes, numbers(j, *axes))

    np.testing.assert_allclose(use(jitney), of_jax(use), rtol=1e-5, atol=1e-5)
    check_grads(
        lambda x, y: lax.ragged_dot_general(x, y, sizes, numbers(jitney, *axes)),
        (x, y), 2, rtol=2e-2, atol=2e-2,
    )  # fmt: skip


@pytest.mark.parametrize("mode", ["free", "free_amid_others", "contracted_amid_others", "batch"])
def test_batches(mode):
    left, right, groups, *axes = MODES[mode]
    own = numbers(jitney, *axes)
    shapes = left, right, groups

    def f(*operands):
        return lax.ragged_dot_general(*operands, own)

    for mapped in itertools.product((False, True), repeat=3):
        if not any(mapped):
            continue
        operands = [
            RNG.integers(0, 4, (2,) * m + s).astype(np.int32)
            if s == groups
            else RNG.normal(size=(2,) * m + s).astype(np.float32)
            for s, m in zip(shapes, mapped, strict=True)
        ]
        moved = [np.moveaxis(z, 0, -1) if m else z for z, m in zip(operands, mapped, strict=True)]
        got = jitney.vmap(f, [-1 if m else None for m in mapped])(*moved)
        for i in range(2):
            want = f(*[z[i] if m else z for z, m in zip(operands, mapped, strict=True)])
            np.testing.assert_allclose(got[i], want, rtol=1e-5, atol=1e-5)


def test_an_infinity_stays_in_its_group():
    x, y = np.ones((4, 2), np.float32), np.ones((2, 2, 3), np.float32)
    y[1] = np.inf
    np.testing.assert_array_equal(lax.ragged_dot(x, y, jnp.array([2, 1]))[:2], 2)
    x[3] = np.nan
    gradient = jitney.grad(lambda y: lax.ragged_dot(x, y, jnp.array([2, 1])).sum())(y)
    np.testing.assert_array_equal(gradient, [[[2] * 3] * 2, [[1] * 3] * 2])


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.int8, np.complex64])
def test_dtypes(dtype):
    x = RNG.integers(-3, 4, (9, 4)).astype(dtype)
    y = RNG.integers(-3, 4, (3, 4, 2)).astype(dtype)
    sizes = np.array([2, 4, 1], np.int32)
    for preferred in (None, np.dtype(np.int32) if dtype == np.int8 else np.dtype(np.complex64)):
        got = lax.ragged_dot(x, y, sizes, preferred_element_type=preferred)
        assert got.dtype == (preferred or np.dtype(dtype))
        np.testing.assert_array_equal(
            np.asarray(got).astype(np.complex64), expected(*map(np.real, (x, y)), sizes)
        )


def test_sizes_are_data():
    f = jitney.jit(lax.ragged_dot)
    x, y = ROWS.astype(np.float32), MATRICES.astype(np.float32)
    for sizes in SIZES:
        f(x, y, np.array(sizes, np.int32))
    assert f._cache_size() == 1
    assert "host_call" not in f.lower(x, y, np.array(SIZES[0], np.int32)).as_text("kernels")


def test_nothing():
    for m, g, k, n in ((0, 2, 3, 4), (5, 0, 3, 4), (5, 2, 0, 4), (5, 2, 3, 0)):
        out = lax.ragged_dot(jnp.ones((m, k)), jnp.ones((g, k, n)), jnp.ones(g, int))
        np.testing.assert_array_equal(out, expected(np.ones((m, k)), np.ones((g, k, n)), [1] * g))


def test_program():
    def program(module):
        def f(x, y, sizes):
            return module.lax.ragged_dot(x, y, sizes, preferred_element_type=np.float32).sum()

        operands = np.ones((9, 4), np.float32), np.ones((3, 4, 2), np.float32), np.ones(3, np.int32)
        return str(module.make_jaxpr(module.grad(f, (0, 1)))(*operands))

    def lines(text):
        return sorted(line.strip() for line in text.splitlines() if "ragged_dot_general[" in line)

    ours, theirs = program(jitney), of_jax(program)
    assert lines(ours) == lines(theirs)
    assert ours.count("rhs_group_dimensions=(0,)") == theirs.count("rhs_group_dimensions=(0,)") == 2


@pytest.mark.parametrize(("shapes", "axes"), [
    (((9, 4), (3, 4, 2), (2,)), (((1,), (1,)), ((), ()), [0], [0])),
    (((9, 4), (3, 4, 2), ()), (((1,), (1,)), ((), ()), [0], [0])),
    (((9, 4), (3, 4, 2), (9, 3)), (((1,), (1,)), ((), ()), [0], [0])),
    (((9, 4), (3, 5, 2), (3,)), (((1,), (1,)), ((), ()), [0], [0])),
    (((9, 4), (3, 4, 2), (3,)), (((1,), (1,)), ((), ()), [0, 1], [0])),
    (((9, 4), (3, 4, 2), (3,)), (((1,), (1,)), ((), ()), [2], [0])),
    (((9, 4), (3, 4, 2), (3,)), (((1,), (1,)), ((), ()), [0], [1])),
    (((9, 4), (3, 4, 2), (3,)), (((1,), (1,)), ((), ()), [0], [])),
    (((9, 4), (9, 2), (3,)), (((0,), (0,)), ((), ()), [0], [1])),
])  # fmt: skip
def test_errors(shapes, axes):
    left, right, sizes = shapes
    operands = np.ones(left, np.float32), np.ones(right, np.float32), np.ones(sizes, np.int32)

    def use(module):
        return module.lax.ragged_dot_general(*operands, numbers(module, *axes))

    assert of_jax(use).is_a(TypeError)
    with pytest.raises(TypeError):
        use(jitney)


def test_group_sizes_are_integers():
    with pytest.raises(TypeError, match="integers"):
        lax.ragged_dot(ROWS, MATRICES, np.ones(3))
    with pytest.raises(NotImplementedError):
        lax.ragged_dot(ROWS, MATRICES, np.ones(3, int), group_offset=np.zeros(1, int))


def test_sizes_that_a_batch_shares_are_not_copied():
    operands = np.ones((2, 9, 4), np.float32), np.ones((2, 3, 4, 2), np.float32)
    mapped = jitney.vmap(lax.ragged_dot, (0, 0, None))
    (eqn,) = jitney.make_jaxpr(mapped)(*operands, np.ones(3, np.int32)).jaxpr.eqns
    assert [v.aval.shape for v in eqn.invars] == [(2, 9, 4), (2, 3, 4, 2), (3,)]
