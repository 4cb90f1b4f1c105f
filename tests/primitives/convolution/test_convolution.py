"""Convolutions: derivatives, batching, programs, functions of the family, and errors are JAX's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.helpers.oracle import Raised, answer, jax
from tests.helpers.rule_checks import Case, check_jvp, check_vjp, check_vmap, same_text

import jitney
from jitney import lax

RNG = np.random.default_rng(0)
NHWC = ("NHWC", "HWIO", "NHWC")


def of(shape: Any, window: Any, strides: Any, padding: Any, **options: Any) -> Case:
    def f(lax: Any, x: Any, w: Any) -> Any:
        return lax.conv_general_dilated(x, w, strides, padding, **options)

    return Case(f, (RNG.standard_normal(shape), RNG.standard_normal(window)))


CASES = {
    "one axis": of((2, 3, 7), (4, 3, 3), (1,), "SAME"),
    "no axis": of((2, 3), (4, 3), (), "VALID"),
    "two axes": of((2, 8, 9, 4), (3, 3, 4, 6), (2, 1), "SAME", dimension_numbers=NHWC),
    "negative padding": of((2, 3, 7), (4, 3, 3), (2,), ((-1, 3),)),
    "dilations": of(
        (2, 3, 5, 6), (4, 3, 2, 3), (1, 2), ((1, 2), (0, 1)), lhs_dilation=(2, 1),
        rhs_dilation=(1, 2),
    ),
    "layouts": of(
        (5, 2, 3, 6), (3, 2, 3, 4), (1, 1), "SAME", dimension_numbers=("HNCW", "WHIO", "CWHN")
    ),
    "groups": of((2, 6, 5), (9, 2, 2), (1,), "VALID", feature_group_count=3),
    "groups of the batch": of((4, 6, 5), (6, 6, 2), (1,), "VALID", batch_group_count=2),
    "of each feature": of(
        (2, 6, 6, 5), (3, 3, 1, 5), (1, 1), "SAME", dimension_numbers=NHWC, feature_group_count=5
    ),
    "four axes": of((1, 2, 3, 4, 3, 3), (2, 2, 2, 1, 2, 2), (1, 2, 1, 1), "VALID"),
    "large window": of((3, 12, 12, 2), (10, 9, 2, 5), (1, 1), "VALID", dimension_numbers=NHWC),
    "strided window": of(
        (3, 13, 12, 3), (9, 9, 3, 17), (1, 1), ((1, 0), (2, 1)), dimension_numbers=NHWC,
        rhs_dilation=(1, 1),
    ),
    "none fits": of((2, 3, 2), (4, 3, 3), (1,), "VALID"),
    "summed in wider numbers": of((2, 3, 7), (4, 3, 3), (1,), "SAME", preferred_element_type="float64"),
    "of each pair of features": of(
        (2, 6, 6, 10), (3, 3, 2, 5), (1, 1), "SAME", dimension_numbers=NHWC, feature_group_count=5
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_jvp(name):
    check_jvp(CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_vjp(name):
    check_vjp(CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_vmap(name):
    check_vmap(CASES[name])


@pytest.mark.parametrize("name", ["one axis", "groups", "groups of the batch"])
@pytest.mark.parametrize("axes", [(0, None), (None, 1), (2, 0)])
def test_vmap_of_no_element(name, axes):
    f, (x, w), *_ = CASES[name]
    x, w = (
        np.ones(v.shape if a is None else (*v.shape[:a], 0, *v.shape[a:]), np.float32)
        for v, a in zip((x, w), axes, strict=True)
    )
    wanted = answer(lambda: jax.vmap(lambda *xs: f(jax.lax, *xs), axes)(x, w))
    batched = jitney.vmap(lambda *xs: f(lax, *xs), axes)
    assert batched(x, w).shape == jitney.jit(batched)(x, w).shape == wanted.shape
    grads = jitney.grad(lambda x, w: batched(x, w).sum(), (0, 1))(x, w)
    assert [g.shape for g in grads] == [x.shape, w.shape] and not any(g.any() for g in grads)


X, W = np.ones((2, 4, 8, 8), np.float32), np.ones((6, 4, 3, 3), np.float32)
IMAGE, WINDOW = np.ones((1, 4, 4, 3), np.float32), np.ones((3, 3, 5, 3), np.float32)
PLACES = np.arange(360, dtype=np.float32).reshape(2, 10, 6, 3)

FAMILY = {
    "conv": lambda lax: lax.conv(X, W, (1, 2), "SAME"),
    "conv_with_general_padding": lambda lax: lax.conv_with_general_padding(
        X, W, (1, 1), ((1, 1), (2, 0)), (2, 1), None
    ),
    "transposed": lambda lax: lax.conv_transpose(
        IMAGE, np.ones((2, 3, 3, 5), np.float32), (2, 3), "SAME"
    ),
    "transposed valid": lambda lax: lax.conv_transpose(
        IMAGE, np.ones((2, 3, 3, 5), np.float32), (3, 1), "VALID", rhs_dilation=(2, 1)
    ),
    "transposed kernel": lambda lax: lax.conv_transpose(
        IMAGE, WINDOW, (2, 2), ((1, 2), (0, 1)), transpose_kernel=True
    ),
    "transposed consistent": lambda lax: lax.conv_transpose(
        IMAGE, WINDOW, (2, 2), ((1, 0), (0, 1)), transpose_kernel=True, use_consistent_padding=True
    ),
    "patches": lambda lax: lax.conv_general_dilated_patches(
        PLACES, (2, 3), (1, 2), "SAME", dimension_numbers=("NHWC", "OIHW", "NHWC")
    ),
    "patches by position": lambda lax: lax.conv_general_dilated_patches(
        PLACES, (2, 3), (1, 1), ((1, 0), (0, 0)), dimension_numbers=("NCHW", "WHIO", "HCNW")
    ),
    "local": lambda lax: lax.conv_general_dilated_local(
        PLACES, np.arange(4 * 40 * 5 * 2, dtype=np.float32).reshape(5, 2, 40, 4), (1, 1), "VALID",
        (2, 2), dimension_numbers=("NCHW", "HWIO", "NHWC"),
    ),
    "shapes": lambda lax: [
        lax.conv_shape_tuple((2, 4, 8, 8), (6, 4, 3, 3), (1, 2), "SAME"),
        lax.conv_shape_tuple((2, 4, 8), (6, 4, 9), (1,), ((0, 0),)),
        lax.conv_general_shape_tuple((2, 8, 8, 4), (3, 3, 4, 6), (2, 1), "VALID", NHWC),
        lax.conv_transpose_shape_tuple((2, 8, 8, 4), (3, 3, 4, 6), (2, 1), "VALID", NHWC),
        lax.conv_transpose_shape_tuple((2, 8, 8, 4), (3, 3, 4, 6), (2, 1), ((1, 1), (0, 2)), NHWC),
        lax.conv_general_permutations(("NWHC", "HWIO", "NHWC"))[0],
        lax.conv_dimension_numbers((1, 2, 3), (1, 2, 3), None).rhs_spec,
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", FAMILY)
def test_family(name):
    family = FAMILY[name]
    found, wanted = family(lax), answer(lambda: family(jax.lax))
    if isinstance(found, list):
        assert [tuple(map(int, x)) for x in wanted] == found
    else:
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


PRINTED = {
    "patches": (lambda lax, x: lax.conv_general_dilated_patches(x, (2, 2), (1, 1), "VALID"), (X,)),
    "transposed": (
        lambda lax, x, w: lax.conv_transpose(x, w, (2, 2), "SAME", transpose_kernel=True),
        (IMAGE, WINDOW),
    ),
    "local": (
        lambda lax, x, w: lax.conv_general_dilated_local(x, w, (1, 1), "VALID", (2, 2)),
        (X, np.ones((5, 16, 7, 7), np.float32)),
    ),
}


@pytest.mark.parametrize("name", PRINTED)
def test_programs_are_jaxs(name):
    f, operands = PRINTED[name]
    found = jitney.make_jaxpr(lambda *xs: f(lax, *xs))(*operands)
    wanted = answer(lambda: str(jax.make_jaxpr(lambda *xs: f(jax.lax, *xs))(*operands)))
    same_text(wanted, found)


def dilated(x: Any, w: Any, *args: Any, **kwargs: Any) -> Any:
    return lambda lax: lax.conv_general_dilated(x, w, *args, **kwargs)


ONES = np.ones((1, 1, 3), np.float32)
ERRORS = {
    "features": dilated(X, W[:, :3], (1, 1), "SAME"),
    "ranks": dilated(X, W[0], (1, 1), "SAME"),
    "ranks of specifications": lambda lax: lax.conv_general_dilated(
        X,
        W[0],
        (1, 1),
        ((0, 0), (0, 0)),
        dimension_numbers=lax.ConvDimensionNumbers(*((0, 1, 2, 3),) * 3),
    ),
    "strides": dilated(X, W, (1,), "SAME"),
    "strides of zero": dilated(X, W, (1, 1), "SAME", feature_group_count=0),
    "pads": dilated(X, W, (1, 1), ((0, 0),)),
    "pairs": dilated(X, W, (1, 1), (1, 1)),
    "name of padding": dilated(X, W, (1, 1), "FULL"),
    "name of padding, dilated": dilated(X, W, (1, 1), "SAME", lhs_dilation=(2, 1)),
    "dilation": dilated(X, W, (1, 1), "SAME", rhs_dilation=(0, 1)),
    "groups": dilated(X, W, (1, 1), "SAME", feature_group_count=3),
    "features of groups": dilated(X, W[:, :1], (1, 1), "SAME", feature_group_count=4),
    "batch": dilated(X, W, (1, 1), "SAME", batch_group_count=3),
    "features of groups of the batch": dilated(X, W[:5], (1, 1), "SAME", batch_group_count=2),
    "both": dilated(X, W[:, :2], (1, 1), "SAME", batch_group_count=2, feature_group_count=2),
    "dtypes": dilated(X, W.astype(np.int32), (1, 1), "SAME"),
    "kinds": dilated(X, W, (1, 1), "SAME", preferred_element_type=np.int32),
    "narrower": dilated(X, W, (1, 1), "SAME", preferred_element_type=np.float16),
    "empty window": dilated(X, W[:, :, :0], (1, 1), "VALID"),
    "two strings": dilated(X, W, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW")),
    "axis twice": dilated(X, W, (1, 1), "SAME", dimension_numbers=("NCHH", "OIHW", "NCHW")),
    "no batch": dilated(X, W, (1, 1), "SAME", dimension_numbers=("XCHW", "OIHW", "NCHW")),
    "other axes": dilated(X, W, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHX", "NCHW")),
    "few letters": dilated(X, W, (1, 1), "SAME", dimension_numbers=("NCH", "OIHW", "NCHW")),
    "no strings": dilated(X, W, (1, 1), "SAME", dimension_numbers=3),
    "axes": dilated(X, W, (1, 1), "SAME", dimension_numbers=((0, 1, 2, 3),) * 3),
    "transposed": lambda lax: lax.conv_transpose(ONES, ONES, (1,), "FULL"),
    "default layout": lambda lax: lax.conv_transpose(
        np.ones((1,) * 6), np.ones((1,) * 6), (1,) * 4, "SAME"
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    call = ERRORS[name]
    wanted = answer(lambda: call(jax.lax))
    assert isinstance(wanted, Raised)
    with pytest.raises(Exception, match=r"conv|padding|preferred") as found:
        call(lax)
    assert found.type.__name__ == wanted.name


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_narrow_floats_are_summed_in_float32(dtype):
    """Sums that are exact in float32, so that all roundings but the last one show."""
    x = RNG.integers(-8, 9, (1, 2, 40)).astype(np.float32).astype(dtype)
    w = (RNG.integers(-4, 5, (3, 2, 25)) / 4).astype(np.float32).astype(dtype)
    wanted = np.asarray(answer(lambda: jax.lax.conv_general_dilated(x, w, (1,), "SAME")))
    for f in (
        lax.conv_general_dilated,
        jitney.jit(lax.conv_general_dilated, static_argnums=(2, 3)),
    ):
        found = np.asarray(f(x, w, (1,), "SAME"))
        np.testing.assert_array_equal(found.astype(np.float32), wanted.astype(np.float32))


@pytest.mark.parametrize("value", [np.nan, np.inf, 3e38])
@pytest.mark.parametrize("features", [1, 2])
@pytest.mark.parametrize("window", [(33,), (5, 5), (1, 17)])
def test_windows_that_do_not_see_what_is_not_finite(window, features, value):
    """No zeros of another window are multiplied with it, eagerly, compiled, or in a gradient."""
    rng = np.random.default_rng(0)
    extents = (150,) if len(window) == 1 else (12, 40)
    x = rng.uniform(1, 2, (2, 3, *extents)).astype(np.float32)
    x[(1, 1, *[n // 2 for n in extents])] = value
    w = rng.uniform(1, 2, (features, 3, *window)).astype(np.float32)

    def both(m):
        def conv(x, w):
            return m.lax.conv(x, w, (1,) * len(window), "SAME")

        return [conv(x, w), m.jit(conv)(x, w), m.jit(m.grad(lambda w: conv(x, w)[0].sum()))(w)]

    for got, want in zip(both(jitney), answer(lambda: both(jax)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4)
