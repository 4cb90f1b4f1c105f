"""Dtypes of 64 bits that are given keep them, whether or not arrays have such."""

import itertools

import numpy as np
import pytest
from tests.helpers.both import outcome
from tests.helpers.oracle import RealModule, agree, answer, jax as peer

import jitney as jax
import jitney.numpy as jnp

peer_config = RealModule("jax._src.config")

DTYPES = "bool int8 int32 int64 uint32 uint64 bfloat16 float32 float64 complex64 complex128".split()


def _promoted(library, numpy, a, b, mode):
    with library.numpy_dtype_promotion(mode):
        try:
            return str(np.dtype(numpy.promote_types(a, b)))
        except Exception as error:
            return type(error).__name__


@pytest.mark.parametrize("mode", ["standard", "strict"])
@pytest.mark.parametrize("x64", [False, True])
def test_promote_types(mode, x64):
    pairs = list(itertools.product([*DTYPES, int, float, complex], repeat=2))

    def found(library):
        with library.enable_x64(x64):
            return [_promoted(library, library.numpy, a, b, mode) for a, b in pairs]

    for pair, ours, theirs in zip(pairs, found(jax), answer(lambda: found(peer)), strict=True):
        assert ours == theirs, pair


def test_derivatives_of_functions_that_compute_in_64_bits():
    def wide_sine(x):
        with jax.enable_x64():
            return jnp.sin(jnp.array(x, jnp.float64))

    with jax.enable_x64(False):
        first, second = jax.grad(wide_sine)(5.0), jax.grad(jax.grad(wide_sine))(5.0)
    assert first.dtype == second.dtype == np.float32
    np.testing.assert_allclose([first, second], [np.cos(5.0), -np.sin(5.0)], rtol=1e-6)


def test_second_derivatives_of_custom_rules_in_64_bits():
    @jax.custom_vjp
    def square(x):
        return x**2.0

    square.defvjp(lambda x: (square(x), jnp.sin(x)), lambda residual, ct: (residual * ct,))

    def wide_square(x):
        with jax.enable_x64():
            return square(jnp.array(x, jnp.float64))

    with jax.enable_x64(False):
        np.testing.assert_allclose(jax.grad(jax.grad(wide_square))(5.0), np.cos(5.0), rtol=1e-6)


ASKED = {
    "zeros": lambda jax, jnp: jnp.zeros(2, jnp.float64),
    "by name": lambda jax, jnp: jnp.zeros(2, "float64"),
    "Python's": lambda jax, jnp: (jnp.zeros(2, float), jnp.zeros(2, int), jnp.zeros(2, complex)),
    "arange": lambda jax, jnp: jnp.arange(3, dtype=np.int64),
    "data": lambda jax, jnp: (jnp.asarray(np.zeros(2)), jax.device_put(np.zeros(2))),
    "data asked for": lambda jax, jnp: jnp.array(np.zeros(2), dtype=np.float64),
    "scalar": lambda jax, jnp: (jnp.float64(3), jnp.asarray(2, jnp.int64)),
    "astype": lambda jax, jnp: jnp.zeros(2, jnp.float32).astype(jnp.float64),
    "bits": lambda jax, jnp: jax.random.bits(jax.random.key(0), (2,), jnp.uint64),
    "randint": lambda jax, jnp: jax.random.randint(jax.random.key(0), (2,), 0, 10, jnp.int64),
    "uniform": lambda jax, jnp: jax.random.uniform(jax.random.key(0), (2,), float),
    "mixed": lambda jax, jnp: jnp.ones(2, jnp.float64) + jnp.ones(2, jnp.float32) * 2,
    "with Python": lambda jax, jnp: jnp.ones(2, jnp.float64) * 2.5 + 1,
    "sum": lambda jax, jnp: jax.jit(lambda x: x.sum(dtype=jnp.float64))(jnp.ones(2, jnp.float32)),
    "jit": lambda jax, jnp: jax.jit(lambda x: x * 2)(jnp.ones(2, jnp.float64)),
    "jit of data": lambda jax, jnp: jax.jit(lambda x: x * 2)(np.ones(2)),
    "lax": lambda jax, jnp: (jax.lax.convert_element_type(1, np.float64),
                             jax.lax.full((2,), 1, jnp.int64),
                             jax.lax.iota(jnp.int64, 3)),
    "shape": lambda jax, jnp: jax.eval_shape(lambda: jnp.zeros(2, jnp.float64)),
    "grad": lambda jax, jnp: jax.grad(lambda x: (x**3).sum())(jnp.ones(2, jnp.float64)),
    "sine": lambda jax, jnp: jnp.sin(jnp.ones(2, jnp.float64)),
    "view": lambda jax, jnp: jnp.zeros(2, jnp.float32).view(jnp.float64),
    "integers": lambda jax, jnp: (jnp.arange(3, dtype=jnp.int64).sum(),
                                  jnp.arange(3, dtype=jnp.int64).mean()),
    "vmap": lambda jax, jnp: jax.vmap(lambda x: x + 1)(jnp.ones(2, jnp.float64)),
    "product": lambda jax, jnp: jnp.dot(jnp.ones((2, 2), jnp.float32), jnp.ones(2, jnp.float32),
                                        preferred_element_type=jnp.float64),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["warn", "error", "allow"])
@pytest.mark.parametrize("asked", ASKED)
def test_explicit_64_bit_types_without_x64(asked, mode):
    from jitney.core.settings import config

    case = ASKED[asked]

    def found(library, explicit):
        with explicit(mode), library.enable_x64(False):
            return outcome(case, library, library.numpy)

    expected = answer(lambda: found(peer, peer_config.explicit_x64_dtypes))
    assert agree(expected, found(jax, config.explicit_x64_dtypes))


def test_random_floats_that_are_asked_for():
    from jitney.core.settings import config

    key = jax.random.key(0)
    with config.explicit_x64_dtypes("allow"), jax.enable_x64(False):
        drawn = [f(key, (2,), jnp.float64) for f in (jax.random.uniform, jax.random.normal)]
    assert [x.dtype for x in drawn] == [np.float64] * 2
    with jax.enable_x64(True):
        assert drawn[0].tolist() == jax.random.uniform(key, (2,), jnp.float64).tolist()
