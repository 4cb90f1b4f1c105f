"""Random programs of jitney.numpy functions give the same values eagerly and compiled."""

import warnings

import numpy as np
import pytest
from tests.compiler import numpy_programs
from tests.compiler.programs import Chooser

import jitney
import jitney.numpy as jnp

# Of the largest magnitude in a result: sums are taken in another order, functions are off by units.
TOLERANCE = {"float32": 2e-6, "complex64": 4e-6, "float16": 2e-3, "bfloat16": 1.6e-2}


def close(got, want):
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    if got.dtype.kind in "biu":
        return np.array_equal(got, want)
    tolerance = TOLERANCE[got.dtype.name]
    wide = np.complex128 if got.dtype.kind == "c" else np.float64
    got, want = got.astype(wide), want.astype(wide)
    finite = np.abs(want[np.isfinite(want)])
    scale = min(finite.max(initial=0.0), 1e30)
    return np.allclose(got, want, rtol=tolerance, atol=tolerance * scale + 1e-30, equal_nan=True)


@pytest.mark.parametrize("part", range(4))
def test_each_step(part):
    """Every function alone, on the values that the steps before it made."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(part, 160, 4):
            steps, inputs = numpy_programs.program(Chooser(seed), 6)
            values = [jnp.asarray(x) for x in inputs]
            for k, step in enumerate(steps):
                want = step(values)
                got = jitney.jit(lambda *xs, step=step: step(list(xs)))(*values)
                assert close(got, want), f"program {seed}, step {k}: {got}, should be {want}"
                values.append(want)


def test_whole_programs():
    """All steps in one program have the types they have eagerly, and integers the values."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(1000, 1060):
            steps, inputs = numpy_programs.program(Chooser(seed), 8)
            want = numpy_programs.run(steps, [jnp.asarray(x) for x in inputs])
            got = jitney.jit(lambda *xs, steps=steps: numpy_programs.run(steps, xs))(*inputs)
            assert [x.aval.str_short() for x in got] == [x.aval.str_short() for x in want], seed


def test_what_has_no_elements_costs_nothing():
    """The derivative by an empty array is empty: nothing of the function is left in its program."""

    def f(x):
        a = jnp.eye(3) * 4 + jnp.tanh(jnp.resize(jnp.mean(x, axis=-1), (3, 3)))
        return jnp.linalg.qr(a)[1].sum()

    gradient = jitney.jit(jitney.hessian(f))
    x = np.zeros((2, 0), np.float32)
    text = gradient.lower(x).as_text("kernels")
    assert "launch" not in text and "library" not in text
    assert gradient(x).shape == (2, 0, 2, 0)
