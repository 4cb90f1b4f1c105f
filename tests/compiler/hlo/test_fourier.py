"""Transforms of several axes are transforms along one axis after the other."""

import numpy as np
import pytest

from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.fourier import fft
from jitney.compiler.hlo.interpret import run_region

RNG = np.random.default_rng(0)
Z = RNG.normal(size=(3, 4, 5)) + 1j * RNG.normal(size=(3, 4, 5))


def transformed(kind, x, lengths, perm=None):
    b = Builder()
    p = b.parameter(0, ir.TensorType(x.shape, x.dtype))
    node = fft(b, p if perm is None else b.transpose(p, perm), kind, lengths)
    nodes = traversal.topological_order([node])
    dfts = [n for n in nodes if isinstance(n, ir.Dft)]
    turned = [n for n in nodes if isinstance(n, ir.Transpose)]
    return run_region(ir.Region((p,), (node,)), [x])[0], dfts, turned


@pytest.mark.parametrize("count", [1, 2, 3])
def test_complex_transforms(count):
    axes, lengths = range(3 - count, 3), Z.shape[3 - count :]
    found, dfts, _ = transformed("FFT", Z, lengths)
    np.testing.assert_allclose(found, np.fft.fftn(Z, axes=axes), atol=1e-12)
    assert sorted(n.dim for n in dfts) == list(axes)
    found, _, _ = transformed("IFFT", Z, lengths)
    np.testing.assert_allclose(found, np.fft.ifftn(Z, axes=axes), atol=1e-12)


@pytest.mark.parametrize("n", [4, 5])
@pytest.mark.parametrize("count", [1, 2])
def test_real_transforms_begin_or_end_with_the_last_axis(n, count):
    x = RNG.normal(size=(3, 4, n))
    axes, lengths = range(3 - count, 3), x.shape[3 - count :]
    found, dfts, _ = transformed("RFFT", x, lengths)
    half = np.fft.rfftn(x, axes=axes)
    np.testing.assert_allclose(found, half, atol=1e-12)
    assert dfts[0].of_real and dfts[0].dim == 2
    found, dfts, _ = transformed("IRFFT", half, lengths)
    np.testing.assert_allclose(found, x, atol=1e-12)
    assert dfts[-1].to_real == n and dfts[-1].dim == 2


def test_transposed_operands_are_transformed_in_place():
    found, dfts, turned = transformed("FFT", Z, (4,), (0, 2, 1))
    np.testing.assert_allclose(found, np.fft.fft(Z.transpose(0, 2, 1)), atol=1e-12)
    assert [n.dim for n in dfts] == [1] and len(turned) == 1  # of the result
