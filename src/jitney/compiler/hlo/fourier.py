"""Decomposes Fourier transforms of several axes or of real data into 1-D transforms."""

from __future__ import annotations

from collections.abc import Sequence

from jitney.compiler.hlo import ir
from jitney.compiler.hlo.build import Builder


def fft(b: Builder, x: ir.Node, kind: str, lengths: Sequence[int]) -> ir.Node:
    """Returns the Fourier transform over the last axes of `x`; see `reference.fourier.fft`.

    No axis may be empty.
    """
    first = len(x.shape) - len(lengths)
    axes = list(range(first, len(x.shape)))
    if isinstance(x, ir.Transpose):  # `Dft` supports any axis, so the transpose is dropped
        x, perm = x.x, x.perm
        axes = [perm[axis] for axis in axes]
        return b.transpose(_along(b, x, kind, axes, lengths[-1]), perm)
    return _along(b, x, kind, axes, lengths[-1])


def _along(b: Builder, x: ir.Node, kind: str, axes: list[int], length: int) -> ir.Node:
    """Returns the transform along `axes`.

    `length` is the size of the last of them in the real operand or result.
    """
    if kind == "RFFT":
        re, im = b.dft(x, x, axes.pop(), of_real=True)
    else:
        re, im = b.apply("real", x), b.apply("imag", x)
    inverse = kind in ("IFFT", "IRFFT")
    last = axes.pop() if kind == "IRFFT" else 0
    for axis in axes:
        re, im = b.dft(re, im, axis, inverse, normalized=inverse)
    if kind == "IRFFT":
        return b.dft(re, im, last, inverse=True, normalized=True, to_real=length)[0]
    return b.apply("complex", re, im)
