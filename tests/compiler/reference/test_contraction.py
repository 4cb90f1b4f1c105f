"""Contractions are sums of products, accumulated wide enough, whatever the axes."""

import ml_dtypes
import numpy as np
import pytest

from jitney.compiler.reference.contraction import dot, product

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("sum_", "shapes", "contract", "batch"),
    [
        ("ij,jk->ik", ((3, 4), (4, 5)), ((1,), (0,)), ((), ())),
        ("ji,kj->ik", ((4, 3), (5, 4)), ((0,), (1,)), ((), ())),
        ("ibj,jkb->bik", ((3, 2, 4), (4, 5, 2)), ((2,), (0,)), ((1,), (2,))),
        ("ijk,kj->i", ((3, 4, 5), (5, 4)), ((1, 2), (1, 0)), ((), ())),
        ("i,j->ij", ((3,), (4,)), ((), ()), ((), ())),
        ("i,i->", ((3,), (3,)), ((0,), (0,)), ((), ())),
        (",i->i", ((), (4,)), ((), ()), ((), ())),
        ("ij,jk->ik", ((3, 0), (0, 5)), ((1,), (0,)), ((), ())),
    ],
)
def test_axes_are_those_of_einsum(sum_, shapes, contract, batch):
    x, y = [RNG.normal(size=s) for s in shapes]
    np.testing.assert_allclose(dot(x, y, contract, batch), np.einsum(sum_, x, y), rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_halves_are_rounded_once(dtype):
    x = np.concatenate([[2048.0], np.full(4096, 0.5)]).astype(dtype)
    found = dot(x, np.ones_like(x), ((0,), (0,)), ((), ()))
    assert found.dtype == dtype and found == 4096  # adding 0.5 to 2048 changes no half


def test_integers_wrap_and_booleans_are_combined():
    x = np.full(3, 100, np.int8)
    assert dot(x, x, ((0,), (0,)), ((), ())) == np.int8(30000 % 256)
    assert dot(x, x, ((0,), (0,)), ((), ()), np.int32) == 30000
    some = np.array([True, False])
    assert dot(some, some, ((0,), (0,)), ((), ())) == np.True_
    assert dot(some, ~some, ((0,), (0,)), ((), ())) == np.False_


@pytest.mark.parametrize("shapes", [((1, 40_000), (40_000, 1)), ((2, 1, 20_001), (2, 20_001, 2))])
def test_errors_of_long_sums_stay_small(shapes):
    left, right = [RNG.random(s, np.float32) for s in shapes]
    exact = left.astype(np.float64) @ right.astype(np.float64)
    np.testing.assert_allclose(product(left, right), exact, rtol=3e-7)


def test_infinities_and_nan_reach_the_result():
    x = np.array([np.inf, 1.0])
    with np.errstate(invalid="ignore"):
        assert np.isnan(dot(x, np.array([0.0, 1.0]), ((0,), (0,)), ((), ())))
    assert dot(x, np.array([-1.0, 1.0]), ((0,), (0,)), ((), ())) == -np.inf
