"""Kernels for the factors of a length, one after the other, are the transform."""

import math

import numpy as np
import pytest

from jitney.compiler.cost import COSTS
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.ir import TensorType
from jitney.compiler.kernels import interpret
from jitney.compiler.plan import ir
from jitney.compiler.plan.fourier_kernels import Plane, factors, has_kernels, kernels

F64 = np.dtype(np.float64)
RNG = np.random.default_rng(0)


def transformed(x, dim, complex_out=False, **options):
    """The results of the kernels of a transform: real and imaginary part, or one real array."""
    b = Builder()
    re, im = [b.parameter(k, TensorType(x.shape, F64)) for k in range(2)]
    results = b.dft(re, im, dim, **options)
    node = results[0].node
    assert has_kernels(node)
    shape, count = results[0].shape, len(results)
    size = math.prod(shape) * 8
    sizes = [size * count] if complex_out else [size] * count
    buffers = [ir.Buffer("output", nbytes) for nbytes in sizes]
    planes = [Plane(F64, buffer) for buffer in buffers]
    memory = {re: x.real.flatten(), im: x.imag.flatten()}
    for k in kernels(node, planes, lambda n: n in (re, im)):
        arrays = []
        for p in k.params:
            if isinstance(p, Plane):
                data = p.buffer.value
                new = np.full(p.buffer.nbytes // 8, np.nan) if data is None else data.reshape(-1)
                arrays.append(memory.setdefault(p.buffer, new))
            else:
                arrays.append(memory[p])
        interpret.run(k.kernel(lambda p: p.dtype), arrays)
    found = [memory[buffer] for buffer in buffers]
    if complex_out:
        return found[0].view(np.complex128).reshape(shape)
    return [part.reshape(shape) for part in found]


def numbers(*shape):
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 7, 8, 12, 16, 30, 32, 91, 128])
@pytest.mark.parametrize("inverse", [False, True])
def test_transforms_of_every_factor(n, inverse):
    x = numbers(2, n)
    re, im = transformed(x, 1, inverse=inverse, normalized=inverse)
    expected = (np.fft.ifft if inverse else np.fft.fft)(x)
    np.testing.assert_allclose(re + 1j * im, expected, atol=1e-12)


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("complex_out", [False, True])
def test_transforms_along_any_axis(dim, complex_out):
    x = numbers(6, 8, 20)
    found = transformed(x, dim, complex_out)
    found = found if complex_out else found[0] + 1j * found[1]
    np.testing.assert_allclose(found, np.fft.fft(x, axis=dim), atol=1e-12)


@pytest.mark.parametrize("n", [2, 3, 6, 7, 10, 16])
def test_transforms_of_real_elements(n):
    x = RNG.normal(size=(n, 3)) + 0j
    re, im = transformed(x, 0, of_real=True)
    np.testing.assert_allclose(re + 1j * im, np.fft.rfft(x.real, axis=0), atol=1e-13)
    half = np.fft.rfft(x.real, axis=0)
    (back,) = transformed(half, 0, inverse=True, to_real=n)
    np.testing.assert_allclose(back, x.real, atol=1e-13)


def test_infinities_stay_where_they_are():
    """A real operand has no imaginary part that would multiply them."""
    x = np.array([np.inf, 1, 2, 3, 4, 5]) + 0j
    re, _ = transformed(x, 0, of_real=True)
    assert np.isinf(re).all()


@pytest.mark.parametrize("n", [2, 16, 48, 64, 210, 1024])
@pytest.mark.parametrize("points", [1, 10**9])
def test_factors_multiply_to_the_length(n, points):
    found = factors(n, points)
    assert math.prod(found) == n and found == sorted(found, reverse=True)
    assert not {2, 8} <= set(found)


def test_lengths_of_large_prime_factors_have_no_kernels():
    def supported(n, **options):
        b = Builder()
        x = b.parameter(0, TensorType((n,), F64))
        return has_kernels(b.dft(x, x, 0, **options)[0].node)

    assert supported(2 * 13) and not supported(17) and not supported(2 * 19)
    assert supported(COSTS.kernel_transform) and not supported(2 * COSTS.kernel_transform)
    assert supported(COSTS.real_transform, of_real=True)
    assert not supported(2 * COSTS.real_transform, of_real=True)
