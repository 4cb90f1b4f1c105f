"""`jax.nn.initializers` against real jax: equal draws for equal keys, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney
import jitney.nn

SHAPED = (
    "glorot_normal glorot_uniform he_normal he_uniform kaiming_normal kaiming_uniform lecun_normal"
    " lecun_uniform xavier_normal xavier_uniform normal uniform truncated_normal orthogonal"
    " delta_orthogonal"
).split()
CASES = {
    name: lambda init, key, name=name: getattr(init, name)()(key, (3, 2, 4)) for name in SHAPED
} | {
    "zeros": lambda init, key: init.zeros(key, (2, 3), np.int32),
    "ones": lambda init, key: init.ones(key, (2, 3)),
    "constant": lambda init, key: init.constant(np.arange(3.0))(key, (2, 3)),
    "constant of a dtype": lambda init, key: init.constant(4, np.float16)(key, (2, 3)),
    "orthogonal, tall": lambda init, key: init.orthogonal(2.0, 0)(key, (2, 3, 4)),
    "orthogonal, wide": lambda init, key: init.orthogonal(2.0, 1)(key, (2, 3, 4)),
    "orthogonal, complex": lambda init, key: init.orthogonal()(key, (3, 3), np.complex64),
    "one axis": lambda init, key: init.he_normal(in_axis=0, out_axis=())(key, (3,)),
    "fans of several axes": lambda init, key: init.variance_scaling(
        2.0, "fan_geo_avg", "normal", in_axis=(0, 1), out_axis=-1, batch_axis=2
    )(key, (2, 3, 4, 5)),
    "complex, uniform": lambda init, key: init.he_uniform()(key, (3, 4), np.complex64),
    "complex, truncated": lambda init, key: init.he_normal()(key, (3, 4), np.complex64),
    "complex, normal": lambda init, key: init.variance_scaling(2.0, "fan_out", "normal")(
        key, (3, 4), np.complex64
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_draws_are_those_of_jax(name: str):
    found = CASES[name](jitney.nn.initializers, jitney.random.key(3))
    case = CASES[name]
    expected = of_jax(lambda j: case(j.nn.initializers, j.random.key(3)))
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=3e-6, atol=1e-6)


def test_compiled_draws():
    init = jitney.nn.initializers.glorot_normal()
    draw = jitney.jit(lambda key: init(key, (3, 4)))
    np.testing.assert_allclose(
        draw(jitney.random.key(3)), init(jitney.random.key(3), (3, 4)), rtol=1e-6
    )


def test_initializers_are_of_their_protocol():
    init = jitney.nn.initializers
    assert isinstance(init.zeros, init.Initializer)
    assert isinstance(init.he_normal(), init.Initializer)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda init, key: init.he_normal()(key, (3,)), "at least two axes"),
        (lambda init, key: init.orthogonal()(key, (3,)), "at least two axes"),
        (lambda init, key: init.delta_orthogonal()(key, (3, 4)), "three to five axes"),
        (
            lambda init, key: init.delta_orthogonal()(key, (3, 4, 2)),
            "at most as many inputs as outputs",
        ),
        (lambda init, key: init.variance_scaling(1, "in", "normal")(key, (3, 4)), "mode must be"),
        (lambda init, key: init.variance_scaling(1, "fan_in", "n")(key, (3, 4)), "distribution"),
        (lambda init, key: init.he_normal()(key, (3, 4), np.int32), "float"),
    ],
)
def test_wrong_arguments(call, message: str):
    with pytest.raises(ValueError, match=message):
        call(jitney.nn.initializers, jitney.random.key(0))
