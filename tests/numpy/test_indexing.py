"""Indexing and updates by index against real jax: values, types, and recorded operations."""

import re
import warnings

import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney
import jitney.numpy as jtnp

X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
II = np.array([0, 2, 1], np.int32)
K2 = np.array([0, 1], np.int32)
I1 = np.int32(1)
MASK = np.array([True, False, True])

INDICES = {
    "scalar": 0,
    "negative": -1,
    "numpy scalar": np.int64(2),
    "slice": slice(1, 3),
    "whole": slice(None),
    "ellipsis": ...,
    "empty tuple": (),
    "newaxis": None,
    "inner newaxis": (slice(None), None),
    "reversed": slice(None, None, -1),
    "strided": (slice(None), slice(None, None, 2)),
    "reversed part": slice(2, 0, -1),
    "empty": slice(2, 1),
    "empty reversed": slice(0, 2, -1),
    "mixed": (0, slice(1, 3), None, -1),
    "points": II,
    "points of lists": ([0, 2],),
    "two points": (II, II),
    "points apart": (II, slice(None), II),
    "points and scalar": (0, slice(None), II),
    "points broadcast": (II[:, None], K2),
    "points and strided": (K2, slice(None, None, -2)),
    "strided and points": (slice(None, None, 2), K2),
    "points and newaxis": (II, None, II),
    "small dtype": II.astype(np.uint8),
    "no points": np.zeros((0,), np.int32),
    "mask": MASK,
    "inner mask": (slice(None), np.array([True, False, True, True])),
    "wide mask": np.arange(12).reshape(3, 4) % 3 == 0,
    "mask and points": (MASK, slice(None), K2),
    "true": True,
    "false": False,
    "past the end": 10,
    "before the start": -10,
    "points past the end": np.array([1, 7, -9], np.int32),
}


def same(a, b):
    assert a.shape == b.shape
    assert np.dtype(a.dtype) == np.dtype(b.dtype)
    assert a.weak_type == b.weak_type
    np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def normalized(jaxpr):
    return re.sub(r"\s+", " ", str(jaxpr))


@pytest.mark.parametrize("name", INDICES)
def test_get(name):
    index = INDICES[name]
    same(jtnp.asarray(X)[index], of_jax(lambda j: j.numpy.asarray(X)[index]))


@pytest.mark.parametrize("name", INDICES)
def test_jaxpr_of_get(name):
    index = INDICES[name]

    def text(j):
        return normalized(j.make_jaxpr(lambda x: x[index])(X))

    assert text(jitney) == of_jax(text)


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("method", ["set", "add", "subtract", "multiply", "min", "max"])
def test_update(name, method):
    index = INDICES[name]

    def result(j):
        return getattr(j.numpy.asarray(X).at[index], method)(7.0)

    same(result(jitney), of_jax(result))


@pytest.mark.parametrize("name", INDICES)
def test_jaxpr_of_set(name):
    index = INDICES[name]

    def text(j):
        return normalized(j.make_jaxpr(lambda x: x.at[index].set(1))(X))

    assert text(jitney) == of_jax(text)


@pytest.mark.parametrize("mode", [None, "clip", "fill", "drop", "promise_in_bounds"])
@pytest.mark.parametrize("options", [{}, {"wrap_negative_indices": False}], ids=str)
def test_modes(mode, options):
    if mode == "promise_in_bounds":
        points = II
    else:
        points = np.array([-1, 2, 9, -7], np.int32)

    def results(j):
        at = j.numpy.asarray(X).at[points]
        return at.get(mode=mode, **options), at.set(1.5, mode=mode, **options)

    for ours, theirs in zip(results(jitney), of_jax(results), strict=True):
        same(ours, theirs)


TRACED = {
    "scalar": (lambda x, i: x[i], I1),
    "scalar and slice": (lambda x, i: x[i, 1:3, ::-1], I1),
    "scalar and strided": (lambda x, i: x[i, ::2], I1),
    "weak scalar": (lambda x, i: x[i, None], 1),
    "unsigned scalar": (lambda x, i: x[:, i], np.uint8(1)),
    "points": (lambda x, i: x[i], II),
    "points of int8": (lambda x, i: x[i], II.astype(np.int8)),
    "points and slice": (lambda x, i: x[i, 1:3], II),
    "points apart": (lambda x, i: x[i, :, i], II),
    "fill": (lambda x, i: x.at[i].get(mode="fill", fill_value=7), II),
    "set": (lambda x, i: x.at[i].set(x[0]), I1),
    "add": (lambda x, i: x.at[i, ::-1].add(1.0), II),
    "power": (lambda x, i: x.at[i].power(2.0), II),
    "apply": (lambda x, i: x.at[i].apply(lambda e: e * 2), II),
}


@pytest.mark.parametrize("name", TRACED)
def test_traced(name):
    fun, index = TRACED[name]

    def results(j):
        return normalized(j.make_jaxpr(fun)(X, index)), j.jit(fun)(X, index)

    (text, result), (their_text, theirs) = results(jitney), of_jax(results)
    assert text == their_text
    same(result, theirs)


def test_updates_promote_and_warn():
    with pytest.warns(FutureWarning, match=r"float32 cannot be cast without loss to int32"):
        out = jtnp.arange(3).at[0].set(2.5)
    assert out.dtype == np.int32
    assert out.tolist() == [2, 1, 2]


ERRORS = [
    (lambda v: v[[0, 1]], TypeError, "array or a tuple, but it is <class 'list'>"),
    (lambda v: v[0, 1], IndexError, "2 axes, but the array has rank 1"),
    (lambda v: v["a"], TypeError, "an index cannot be the string 'a'"),
    (lambda v: v[1.0], TypeError, "must be an integer, not the number 1.0"),
    (lambda v: v[np.array([True, False])], IndexError, "position 0 of the index has shape"),
    (lambda v: v[..., ...], IndexError, "one ellipsis at most, but there are 2"),
    (
        lambda v: v[object()],
        IndexError,
        "an integer, a slice, .* integers or booleans, not <object",
    ),
    (
        lambda v: v.at[0].set(jtnp.ones(3, int)),
        ValueError,
        r"shape \(3,\) and .* has shape \(\), with fewer axes",
    ),
    (
        lambda v: v.at[:2].set(jtnp.ones(3, int)),
        ValueError,
        r"32\[3\] does not broadcast to .*32\[2\]",
    ),
    (lambda v: v.at[0].get(mode="foo"), ValueError, "`mode` must be .*'foo'"),
    (lambda v: v[:0][0], IndexError, "axis 0 has size 0"),
    (lambda v: v[:0].at[-1].add(1, mode="drop"), IndexError, "axis 0 has size 0"),
    (lambda v: v[None, :0][0, v[0]], IndexError, "axis 1 has size 0"),
    (lambda v: v.at[0] + 1, TypeError, "_IndexUpdateRef"),
]


@pytest.mark.parametrize(("fun", "kind", "message"), ERRORS, ids=[m for _, _, m in ERRORS])
def test_errors(fun, kind, message):
    with pytest.raises(kind, match=message):
        fun(jtnp.arange(3))


def test_traced_mask():
    with pytest.raises(jitney.errors.NonConcreteBooleanIndexError):
        jitney.jit(lambda x: x[x > 0])(jtnp.arange(3.0))


def test_assignment_is_refused():
    x = jtnp.arange(3)
    with pytest.raises(TypeError, match=r"(?s)immutable.*x\.at\[0\]\.set\(1\)"):
        x[0] = 1


def test_random_indices_agree_with_numpy():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, 3, 5)).astype(np.float32)

    def item(extent):
        kind = rng.integers(5)
        if kind == 0:
            return int(rng.integers(-extent, extent))
        if kind == 1:
            return rng.integers(-extent, extent, size=2)
        if kind == 2:
            return rng.integers(-extent, extent, size=(3, 1))
        bounds = [None if rng.random() < 0.3 else int(b) for b in rng.integers(-6, 7, size=2)]
        return slice(*bounds, int(rng.choice([-2, -1, 1, 2])))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(200):
            index = [item(3) for _ in x.shape[: rng.integers(1, 4)]]
            if rng.random() < 0.3:
                index.insert(int(rng.integers(len(index) + 1)), None)
            if rng.random() < 0.3:
                index.insert(int(rng.integers(len(index) + 1)), ...)
            index = tuple(index)
            expected = x[index]
            got = jitney.make_jaxpr(lambda a: a[index])(x)  # noqa: B023
            assert got.out_avals[0].shape == expected.shape
            np.testing.assert_array_equal(np.asarray(jtnp.asarray(x)[index]), expected)


def test_updates_of_nothing_check_dtypes():
    def refused(j):
        empty = j.numpy.ones(0, "float8_e4m3fn")
        with pytest.raises(j.dtypes.TypePromotionError):
            empty.at[None].divide(j.numpy.ones((), "float16"))

    refused(jitney)
    assert of_jax(refused) is None
