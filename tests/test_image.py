"""`jax.image` against real jax: every method up and down, derivatives, dtypes, empty axes, errors."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney
import jitney.image

IMAGE = np.random.default_rng(0).standard_normal((7, 9, 3)).astype(np.float32)
METHODS = ["linear", "lanczos3", "lanczos5", "cubic", "cubic-pytorch"]


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("method", [*METHODS, "nearest"])
def test_resize(method: str, antialias: bool):
    for shape in (3, 13, 3), (14, 4, 3):
        found = jitney.image.resize(IMAGE, shape, method, antialias)
        expected = of_jax(lambda j, shape=shape: j.image.resize(IMAGE, shape, method, antialias))
        np.testing.assert_allclose(found, expected, atol=3e-6)


@pytest.mark.parametrize("method", ["lanczos3", "cubic-pytorch"])
def test_scale_and_translate_and_its_gradient(method: str):
    arguments = np.array([2.1, 0.4], np.float32), np.array([1.3, -2.2], np.float32), IMAGE

    def leaves(package):
        def loss(scale, translation, image):
            out = package.image.scale_and_translate(
                image, (8, 6, 3), (0, 1), scale, translation, method, antialias=False
            )
            return (out**2).sum(), out

        slopes = package.jit(package.value_and_grad(loss, (0, 1, 2), has_aux=True))
        return package.tree.leaves(slopes(*arguments))

    for found, expected in zip(leaves(jitney), of_jax(leaves), strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float16, np.int32, np.uint8, np.bool_, np.complex64])
def test_dtypes(dtype: type):
    image = (abs(IMAGE) * 2).astype(dtype)
    for method in "cubic", "nearest":
        found = jitney.image.resize(image, (3, 4, 3), method)
        expected = of_jax(lambda j, method=method: j.image.resize(image, (3, 4, 3), method))
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=2e-3, atol=1e-5)


@pytest.mark.parametrize("method", ["nearest", "linear"])
def test_empty_axes(method: str):
    for before, after in [((0, 3), (0, 5)), ((2, 3), (0, 3)), ((2, 0), (5, 0))]:
        assert jitney.image.resize(np.zeros(before), after, method).shape == after
    with pytest.raises((ZeroDivisionError, IndexError)):
        jitney.image.resize(np.zeros((0, 3)), (2, 3), method)


def test_batches_are_images_one_by_one():
    images = np.stack([IMAGE, 2 * IMAGE])
    found = jitney.vmap(lambda x: jitney.image.resize(x, (3, 4, 3), "cubic"))(images)
    for one, image in zip(found, images, strict=True):
        np.testing.assert_allclose(one, jitney.image.resize(image, (3, 4, 3), "cubic"), atol=1e-6)


def test_wrong_arguments():
    one = np.ones(1, np.float32)
    with pytest.raises(ValueError, match=r"resize.*: `shape` must have.*\(7, 9, 3\).*\(2,\)"):
        jitney.image.resize(IMAGE, (2,), "linear")
    with pytest.raises(ValueError, match=r"`method` must be one of .*'cubist'"):
        jitney.image.resize(IMAGE, (2, 2, 3), "cubist")
    with pytest.raises(ValueError, match="nearest neighbor"):
        jitney.image.scale_and_translate(IMAGE, (7, 9, 3), (0,), one, one, "nearest")
    with pytest.raises(ValueError, match="one element for each of the 2 spatial_dims"):
        jitney.image.scale_and_translate(IMAGE, (7, 9, 3), (0, 1), one, one, "linear")
