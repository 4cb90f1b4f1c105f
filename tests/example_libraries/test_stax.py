"""`jax.example_libraries.stax` against real jax: shapes, parameters for equal keys, outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.helpers.both import of_both
from tests.helpers.rule_checks import module

import jitney
from jitney.example_libraries import stax

IMAGES = (2, 7, 8, 3)
LAYERS: dict[str, Any] = {
    "Dense": (lambda s: s.Dense(4), (5, 3)),
    "Conv": (lambda s: s.Conv(4, (3, 2), (2, 1), "SAME"), IMAGES),
    "ConvTranspose": (lambda s: s.ConvTranspose(4, (3, 3), (2, 2)), IMAGES),
    "Conv1DTranspose": (lambda s: s.Conv1DTranspose(4, (3,), (2,)), (2, 8, 3)),
    "GeneralConv": (lambda s: s.GeneralConv(("NCHW", "OIHW", "NHWC"), 4, (3, 3)), (2, 3, 8, 8)),
    "BatchNorm": (lambda s: s.BatchNorm(), IMAGES),
    "BatchNorm of rows": (lambda s: s.BatchNorm(0, center=False), (5, 3)),
    "MaxPool": (lambda s: s.MaxPool((2, 3), padding="SAME"), IMAGES),
    "AvgPool": (lambda s: s.AvgPool((2, 3), (2, 2), padding="SAME"), IMAGES),
    "SumPool": (lambda s: s.SumPool((2, 3), spec="NCHW"), IMAGES),
    "all together": (
        lambda s: s.serial(
            s.Flatten, s.shape_dependent(lambda shape: s.Dense(shape[-1] // 6)), s.Relu,
            s.Dropout(0.5), s.FanOut(3), s.parallel(s.Dense(2), s.Identity, s.Tanh),
            s.FanInConcat(), s.LogSoftmax,
        ),
        IMAGES,
    ),
}  # fmt: skip


def run(package: Any, make: Any, shape: tuple[int, ...]) -> tuple[list[Any], str]:
    init, apply = make(module(package, "example_libraries.stax"))
    inputs = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    shapes = []

    def init_and_apply(key, inputs):
        out_shape, params = init(key, shape)
        shapes.append(tuple(map(int, out_shape)))
        return params, apply(params, inputs, rng=key)

    params, out = package.jit(init_and_apply)(package.random.PRNGKey(0), inputs)
    assert shapes == [out.shape]
    leaves = [np.asarray(x) for x in package.tree.leaves((params, out))]
    return leaves, str(package.tree.structure(params))


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str):
    make, shape = LAYERS[name]
    (found, structure), (expected, expected_structure) = of_both(
        lambda package: run(package, make, shape)
    )
    assert structure == expected_structure
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_any_size_of_batch():
    init, _ = stax.serial(stax.Conv(4, (3, 3)), stax.MaxPool((2, 2)), stax.Flatten, stax.Dense(3))
    assert init(jitney.random.key(0), (-1, 8, 8, 1))[0] == (-1, 3)


def test_sums_of_inputs():
    init, apply = stax.FanInSum
    assert init(jitney.random.key(0), [(2, 3), (2, 3)])[0] == (2, 3)
    assert apply((), [1, 2, 4]) == 7


def test_dropout_needs_a_key_in_training_and_keeps_all_after():
    with pytest.raises(ValueError, match=r"stax.Dropout: .* rng="):
        stax.Dropout(0.5)[1]((), np.ones(3))
    kept = stax.Dropout(0.5, mode="test")[1]((), np.ones(3), rng=jitney.random.key(0))
    np.testing.assert_array_equal(kept, np.ones(3))
