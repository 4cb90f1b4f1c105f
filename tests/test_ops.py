"""`jax.ops`, against real jax."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney

NAMES = ["segment_sum", "segment_prod", "segment_max", "segment_min"]
RNG = np.random.default_rng(0)
IDS = np.array([0, 2, 2, -1, 5, 1, 0, 3], np.int32)
ROWS = RNG.normal(size=(8, 2)).astype(np.float32)
DATA = {
    "float32": ROWS,
    "special": np.where(np.abs(ROWS) > 1, np.nan, np.copysign(np.float32(np.inf), ROWS)),
    "int8": (ROWS[:, 0] * 50).astype(np.int8),
    "bool": ROWS > 0,
    "complex64": ROWS + 1j * ROWS[::-1],
    "row": ROWS[0],
    "scalar": np.float32(2),
}
OPTIONS = [
    {},
    {"num_segments": 4},
    {"num_segments": 4, "bucket_size": 3},
    {"num_segments": 7, "mode": "clip"},
    {"num_segments": 0},
]


def outcome(library, name, *args, **options):
    try:
        return np.asarray(getattr(library.ops, name)(*args, **options))
    except (TypeError, ValueError) as error:
        return type(error).__name__


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
@pytest.mark.parametrize("name", NAMES)
def test_values(name, data, options):
    got = outcome(jitney, name, data, IDS, **options)
    want = of_jax(lambda j: outcome(j, name, data, IDS, **options))
    if isinstance(want, str):
        assert got == want
        return
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    np.testing.assert_allclose(got, want, rtol=1e-5)


@pytest.mark.parametrize("name", ["segment_sum", "segment_max", "segment_min"])
def test_transformations(name):
    def results(j):
        def f(rows):
            return getattr(j.ops, name)(rows, IDS, 4)

        clean = j.jit(j.grad(lambda rows: (f(rows)[:3] ** 2).sum()))
        return j.jit(f)(ROWS), j.vmap(f, 1)(ROWS), clean(ROWS)

    for got, want in zip(results(jitney), of_jax(results), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_errors(name):
    function = getattr(jitney.ops, name)
    with pytest.raises(ValueError, match=f"{name}: `num_segments` must be 0 or more, but it is -"):
        function(ROWS, IDS, -1)
    with pytest.raises(ValueError, match="broadcast"):
        function(ROWS, IDS[:3])
    with pytest.raises(jitney.errors.ConcretizationTypeError, match=f"{name}: num_segments"):
        jitney.jit(function)(ROWS, IDS)
