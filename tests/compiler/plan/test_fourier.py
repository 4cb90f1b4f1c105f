"""Which code computes a transform: kernels in loops, calls elsewhere, on both sides of all bounds."""

import math

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.compiler.codegen import symbols
from jitney.compiler.cost import COSTS
from jitney.compiler.plan.fourier_kernels import factors
from jitney.runtime.native import _fourier

RNG = np.random.default_rng(0)


def normal(shape, dtype=np.complex64):
    x = RNG.normal(size=shape)
    return (x + 1j * RNG.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def steps(function, *operands):
    return jitney.jit(function).lower(*operands).as_text("kernels")


@pytest.mark.parametrize("n", [1, 2, 8, 16, 60, 512, 1001, 1024, 4096, 8192, 3 * 2**15])
@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_factors_of_kernels(n, rows):
    """Eight elements at a time only where memory counts."""
    found = factors(n, n * rows)
    assert math.prod(found) == n
    if n <= COSTS.short_transform and n * rows <= COSTS.short_transforms:
        assert 8 not in found


@pytest.mark.parametrize("n", [1009, 2003, 5000, 2**14])
@pytest.mark.parametrize("rows", [1, 3, 4, 40])
def test_each_function(rows, n):
    """Side by side, as matrices, as convolutions, and by two calls that threads share."""
    x = normal((rows, n))
    wanted = np.fft.fft(x.astype(np.complex128))
    bound = (2 + math.log2(n)) * np.finfo(np.float32).eps * np.abs(wanted).max()
    assert np.abs(np.asarray(jitney.jit(jnp.fft.fft)(x)) - wanted).max() <= bound
    text = steps(jnp.fft.fft, x)
    if n == 2**14 and rows < COSTS.shared_lines:
        assert text.count("fourier.lines") == 2
    elif n in (1009, 2003):
        assert text.count("fourier.chirps") == 1 or rows == 40
    else:
        assert text.count("fourier.matrices") == 1


@pytest.mark.parametrize("shape", [(1, 511), (1, 512), (1, 513), (40, 2048), (40, 2050), (9000, 4)])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
def test_on_both_sides_of_the_bounds(shape, name):
    x = normal(shape, np.float32 if name == "rfft" else np.complex64)
    wanted = getattr(np.fft, name)(x.astype(np.result_type(x.dtype, np.float64)))
    bound = (2 + math.log2(shape[1])) * np.finfo(np.float32).eps * np.abs(wanted).max()
    assert np.abs(np.asarray(jitney.jit(getattr(jnp.fft, name))(x)) - wanted).max() <= bound


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", [(3, 40, 2100), (2100, 5, 3), (3, 2503, 17), (4, 64, 3)])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
def test_axes(name, shape, axis):
    """Lines that lie side by side, those that end within a vector, and matrices of them."""
    x = normal(shape, np.float64 if name == "rfft" else np.complex128)
    wanted = getattr(np.fft, name)(x, axis=axis)
    bound = (2 + math.log2(shape[axis])) * np.finfo(np.float64).eps * np.abs(wanted).max()
    with jitney.enable_x64(True):
        found = jitney.jit(lambda x: getattr(jnp.fft, name)(x, axis=axis))(x)
        assert np.abs(np.asarray(found) - wanted).max() <= bound
        assert "launch" not in steps(lambda x: getattr(jnp.fft, name)(x, axis=axis), x)


def test_parts_that_are_asked_for_alone():
    """Products before a transform and after it are kernels; between two axes there is nothing."""
    x = normal((30, 200), np.float32)
    text = steps(lambda x: abs(jnp.fft.rfft2(x * 2)) ** 2, x)
    assert text.count("launch") == 2
    assert text.count("library_call") == 2
    found = jitney.jit(lambda x: jnp.fft.ifft(jnp.fft.fft(x) * 3).real)(x)
    np.testing.assert_allclose(found, 3 * x, atol=1e-5)


def test_kernels_in_loops_alone():
    x = normal(64)

    def step(_, x):
        return jnp.fft.ifft(jnp.fft.fft(x) * 0.5)

    text = steps(lambda x: jitney.lax.fori_loop(0, 8, step, x), x)
    assert "library_call" not in text
    assert "library_call" in steps(jnp.fft.fft, x)
    found = jitney.jit(lambda x: jitney.lax.fori_loop(0, 8, step, x))(x)
    np.testing.assert_allclose(found, x / 2**8, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["rfft", "ihfft"])
def test_real_numbers_in_loops(name):
    """Many real numbers are transformed by calls there, too: the same bits as outside of loops."""
    transform = getattr(jnp.fft, name)

    @jitney.jit
    def last(x):
        return jitney.lax.fori_loop(0, 3, lambda i, _: transform(x * (i + 1.0)), transform(x))

    x = np.ones(40, np.float32)
    for x[5] in (1.0, np.inf, np.nan):
        np.testing.assert_array_equal(last(x), transform(x * 3))


@pytest.mark.parametrize("n", [1, 13, 17, 240, 4096, 8009])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
def test_bits_are_the_same_for_all_sets_of_instructions(name, n, monkeypatch):
    """With vectors of each length, and without."""
    x = normal((5, n), np.float32 if name == "rfft" else np.complex64)
    found, addresses = [], set()
    for level in range(3):
        for kind, function in enumerate(("lines", "matrices", "chirps")):
            address = _fourier.address(kind, 0, level)
            addresses.add(address)
            monkeypatch.setitem(symbols._symbols, f"fourier.{function}.float32", address)
            monkeypatch.setitem(symbols._symbols, f"fourier.{function}.complex64", address)
        jitney.clear_caches()
        found.append(np.asarray(jitney.jit(lambda x: getattr(jnp.fft, name)(x, n))(x)))
    wanted = getattr(np.fft, name)(x, n)
    bound = (2 + math.log2(n)) * np.finfo(np.float32).eps * np.abs(wanted).max()
    assert len(addresses) in (3, 6, 9)  # as many as this processor has instructions for
    assert np.abs(found[0] - wanted).max() <= bound
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()


def is_kernel_in_loop(function, x):
    _, _, loop = steps(function, x).partition("while {")
    return "library_call" not in loop


@pytest.mark.parametrize("shape", [(2, 3, 5), (6, 4, 10), (12, 9, 15), (1, 8, 16)])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
def test_short_lengths_in_loops(name, axis, shape):
    """Kernels that are written out: each has a batch before its axis, after it, or both."""
    transform = getattr(jnp.fft, name)
    x = normal(shape, np.float32 if name == "rfft" else np.complex64)
    n = max(2 * (shape[axis] - 1), 1) if name == "irfft" else shape[axis]

    def last(x):
        def step(i, _):
            return transform(x * (i + 1.0), n, axis)

        return jitney.lax.fori_loop(0, 3, step, transform(x, n, axis))

    wanted = getattr(np.fft, name)(x.astype(np.result_type(x.dtype, np.float64)) * 3, n, axis)
    bound = 4 * np.finfo(np.float32).eps * np.abs(wanted).max()
    assert np.abs(np.asarray(jitney.jit(last)(x)) - wanted).max() <= bound
    assert is_kernel_in_loop(last, x) == (n <= COSTS.real_transform or name in ("fft", "ifft"))
