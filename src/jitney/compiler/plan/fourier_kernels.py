"""Plans Fourier transforms in loops as kernels, one for each factor of the length.

The algorithm is Stockham's autosort FFT with decimation in frequency (Cochran et al. 1967; Van
Loan, Computational Frameworks for the Fast Fourier Transform, 1.7), which needs no permutation of
elements. A transform of length n = r m is reduced to transforms of length m by transforms of r
elements with stride m, which are multiplied by powers of a root of unity (twiddle factors):

    out[j + l (p + r k)] = w^(p k) sum_q  in[j + l (k + m q)] exp(-2 pi i p q / r)

where w = exp(-2 pi i / (r m)), and l is 1 in the first stage and is multiplied by r after each
stage. A kernel computes one stage for all j and k and all other axes; its vector lanes are
contiguous elements. Transforms of r elements are unrolled. For the inverse transform, the real and
imaginary parts are swapped in the first and the last stage.

LLVM takes about 10 ms to compile each kernel, which is amortized in loops. Outside of loops,
transforms are calls of native code (`plan/fourier.py`).

Preceding elementwise operations, and reads of interleaved parts from memory, are fused into the
first kernel. The last kernel writes complex values if nothing else uses the parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import ir as hlo
from jitney.compiler.kernels.build import KernelBuilder, row_major
from jitney.compiler.kernels.ir import Affine
from jitney.compiler.plan import ir
from jitney.compiler.reference.fourier import unit_roots
from jitney.core.util.record import record

# Radices in order of preference. Larger radices need fewer passes over memory, but more registers.
# If all data fits in the caches, additional passes cost no more than the longer code of radix 8,
# and LLVM compiles them in half the time.
_SMALL_PRIMES = (2, 3, 5, 7, 11, 13)
_RADICES = (8, 4, *_SMALL_PRIMES)
_RADICES_IN_CACHE = (4, *_SMALL_PRIMES)

# The statements of the real and the imaginary part of a number. None stands for a part that is
# known to be zero and is never multiplied, so that infinities do not become NaN.
Part: TypeAlias = tuple[int | None, int | None]


def has_kernels(node: hlo.Dft) -> bool:
    """Returns whether kernels can compute `node`.

    Its length must be small, in particular for real elements, and have small prime factors only.
    """
    n = node.to_real or node.re.shape[node.dim]
    is_real = node.of_real or node.to_real
    if n > (COSTS.real_transform if is_real else COSTS.kernel_transform):
        return False
    for factor in _SMALL_PRIMES:
        while n % factor == 0:
            n //= factor
    return n == 1


def factors(n: int, points: int) -> list[int]:
    """Returns the radices of the stages, in order, of a transform of a supported length `n`.

    Args:
      n: the length.
      points: the number of elements of all transforms along the axis.
    """
    radices: list[int] = []
    is_small = n <= COSTS.short_transform and points <= COSTS.short_transforms
    for radix in _RADICES_IN_CACHE if is_small else _RADICES:
        while n % radix == 0 and n > 1:
            radices.append(radix)
            n //= radix
    # Radices 4, 4 are faster than 2, 8.
    if 2 in radices and 8 in radices:
        radices.remove(2)
        radices[radices.index(8)] = 4
        radices.append(4)
    return sorted(radices, reverse=True)


@record(eq=False)
class Plane:
    """A buffer that stands for a node in kernel builders.

    `dtype` is the dtype of its elements, or of the parts of complex elements.
    """

    dtype: np.dtype
    buffer: ir.Buffer


def kernels(
    node: hlo.Dft, planes: Sequence[Plane], has_buffer: Callable[[hlo.Node], bool]
) -> list[KernelBuilder]:
    """Returns the finished builders of the kernels of a transform, in order.

    Args:
      node: the transform.
      planes: the buffers of the result: one for each part, or one for complex elements.
      has_buffer: returns whether a node is loaded rather than computed.
    """
    return _Transform(node, planes, has_buffer).kernels()


class _Transform:
    """The kernels of one transform; see `kernels`."""

    def __init__(
        self, node: hlo.Dft, planes: Sequence[Plane], has_buffer: Callable[[hlo.Node], bool]
    ) -> None:
        self.node = node
        self.planes = planes
        self.has_buffer = has_buffer
        self.shape, self.dim = node.re.shape, node.dim
        self.dtype = node.re.dtype
        self.n = node.to_real or self.shape[node.dim]
        is_written_out = node.of_real or node.to_real
        self.radices = [self.n] if is_written_out else factors(self.n, math.prod(self.shape))
        nbytes = node.re.tensor_type.nbytes
        # The stages alternate between two pairs of planes.
        self.between = [
            [Plane(self.dtype, ir.Buffer("arena", nbytes)) for _ in range(2)]
            for _ in range(min(len(self.radices) - 1, 2))
        ]

    def kernels(self) -> list[KernelBuilder]:
        """Returns the finished builders of all kernels, in order."""
        builders: list[KernelBuilder] = []
        done = 1
        for stage, radix in enumerate(self.radices):
            source = None if stage == 0 else self.between[(stage - 1) % 2]
            is_last = stage == len(self.radices) - 1
            builders.append(self._stage(radix, done, source, stage, is_last))
            done *= radix
        return builders

    def _stage(
        self, radix: int, done: int, source: Sequence[Plane] | None, stage: int, is_last: bool
    ) -> KernelBuilder:
        """Returns the kernel of a stage; `done` is the product of the radices of earlier stages."""
        left = self.n // (done * radix)
        before, after = self.shape[: self.dim], self.shape[self.dim + 1 :]
        inner = math.prod(after)
        if source is None:
            k = KernelBuilder((*before, left, *after), 0, self.has_buffer)
            stored = radix // 2 + 1 if self.node.to_real else radix
            values = [self._operand(k, q * left) for q in range(stored)]
            rows = (*before, (self.n // 2 + 1 if self.node.of_real else self.n) * inner)
            at = [*[k.axis(j) for j in range(self.dim)], k.fixed(0)]
            base = k.linear(rows, tuple(at))
            strides = row_major(after)
            column = [(self.dim + 1 + j, s) for j, s in enumerate(strides) if after[j] > 1]
            along = self.dim
        else:
            k = KernelBuilder((math.prod(before), left, done * inner), 0, self.has_buffer)
            base = k.axis(0, factor=self.n * inner)
            column, along = [(2, 1)], 1
            places = [
                self._at(k, base, column, along, q * left, 1, done * inner) for q in range(radix)
            ]
            values: list[Part] = [(k.load(source[0], at), k.load(source[1], at)) for at in places]
        arithmetic = _Arithmetic(k, self.dtype)
        if self.node.to_real:
            for p, x in enumerate(arithmetic.to_real(values, radix)):
                at = self._at(k, base, column, along, p, radix, inner)
                k.store(self.planes[0], at, x)
            return k
        results = arithmetic.transform(values)
        if self.node.of_real:
            results = results[: self.n // 2 + 1]
        if left > 1:
            results = self._twiddled(arithmetic, results, left, along)
        if is_last and self.node.normalized:
            results = [arithmetic.scaled(z, 1 / self.n) for z in results]
        planes = self.planes if is_last else self.between[stage % 2]
        for p, z in enumerate(results):
            at = self._at(k, base, column, along, p, radix, done * inner)
            self._store(k, planes, at, z, is_last)
        return k

    def _operand(self, k: KernelBuilder, offset: int) -> Part:
        """Returns the element of the operand at `offset` along the transformed axis."""
        index = tuple([k.axis(j, offset if j == self.dim else 0) for j in range(len(self.shape))])
        if self.node.of_real:
            return k.value(self.node.re, index), None
        swaps_parts = self.node.inverse and not self.node.to_real
        parts = (self.node.im, self.node.re) if swaps_parts else (self.node.re, self.node.im)
        return k.value(parts[0], index), k.value(parts[1], index)

    def _at(
        self,
        k: KernelBuilder,
        base: Affine,
        column: Sequence[tuple[int, int]],
        along: int,
        offset: int,
        factor: int,
        row: int,
    ) -> Affine:
        """Returns the index of an operand or result of a stage.

        It is base + row * (offset + factor * i) + the position in the row, where i is the loop
        index of axis `along`.
        """
        coefficients = list(base.coefficients)
        coefficients[along] += row * factor
        for axis, stride in column:
            coefficients[axis] += stride
        return Affine(base.offset + row * offset, tuple(coefficients))

    def _twiddled(
        self, arithmetic: _Arithmetic, results: Sequence[Part], left: int, along: int
    ) -> list[Part]:
        """Multiplies result p by w^(p k), where k is the loop index of axis `along`."""
        k = arithmetic.k
        radix = len(results)
        powers = np.arange(1, radix)[:, None] * np.arange(left)
        roots = unit_roots(radix * left, powers)
        planes = [_constant(part.astype(self.dtype)) for part in (roots.real, roots.imag)]
        twiddled = [results[0]]
        for p, z in enumerate(results[1:]):
            index = k.axis(along, p * left)
            w = k.load(planes[0], index), k.load(planes[1], index)
            twiddled.append(arithmetic.times(z, w))
        return twiddled

    def _store(
        self, k: KernelBuilder, planes: Sequence[Plane], at: Affine, z: Part, is_last: bool
    ) -> None:
        if is_last and self.node.inverse:
            z = z[1], z[0]
        parts = [k.number(0, self.dtype) if part is None else part for part in z]
        if len(planes) == 1:
            k.store_parts(planes[0], at, parts)
        else:
            for plane, part in zip(planes, parts, strict=True):
                k.store(plane, at, part)


def _constant(values: np.ndarray) -> Plane:
    values = np.ascontiguousarray(values)
    return Plane(values.dtype, ir.Buffer("constant", values.nbytes, value=values))


class _Arithmetic:
    """Complex arithmetic on statements, and unrolled transforms of a few elements."""

    def __init__(self, k: KernelBuilder, dtype: np.dtype) -> None:
        self.k = k
        self.dtype = dtype

    def _call(self, fn: str, *args: int) -> int:
        return self.k.call(fn, args, self.dtype)

    def _sum(self, x: int | None, y: int | None) -> int | None:
        if x is None or y is None:
            return y if x is None else x
        return self._call("add", x, y)

    def _difference(self, x: int | None, y: int | None) -> int | None:
        if x is None or y is None:
            return x if y is None else self._negative(y)
        return self._call("sub", x, y)

    def _negative(self, x: int | None) -> int | None:
        return None if x is None else self._call("neg", x)

    def _product(self, x: int | None, y: int | None) -> int | None:
        return None if x is None or y is None else self._call("mul", x, y)

    def _by(self, x: int | None, factor: float) -> int | None:
        """Multiplies a statement by a constant."""
        if x is None or factor == 1.0:
            return x
        if factor == -1.0:
            return self._negative(x)
        return self._call("mul", x, self.k.number(factor, self.dtype))

    def add(self, z: Part, w: Part) -> Part:
        return self._sum(z[0], w[0]), self._sum(z[1], w[1])

    def sub(self, z: Part, w: Part) -> Part:
        return self._difference(z[0], w[0]), self._difference(z[1], w[1])

    def times(self, z: Part, w: Part) -> Part:
        product = self._product
        re = self._difference(product(z[0], w[0]), product(z[1], w[1]))
        return re, self._sum(product(z[0], w[1]), product(z[1], w[0]))

    def scaled(self, z: Part, factor: float) -> Part:
        return self._by(z[0], factor), self._by(z[1], factor)

    def times_minus_i(self, z: Part) -> Part:
        return z[1], self._negative(z[0])

    def sub_i(self, z: Part, w: Part) -> Part:
        """Returns z - i w."""
        return self._sum(z[0], w[1]), self._difference(z[1], w[0])

    def add_i(self, z: Part, w: Part) -> Part:
        """Returns z + i w."""
        return self._difference(z[0], w[1]), self._sum(z[1], w[0])

    def rotated(self, z: Part, power: int, n: int) -> Part:
        """Returns z exp(-2 pi i power / n)."""
        eighths, remainder = divmod(8 * power, n)
        if remainder:
            root = unit_roots(n, np.asarray(power))
            w = self.k.number(root.real, self.dtype), self.k.number(root.imag, self.dtype)
            return self.times(z, w)
        if eighths % 2:  # (1 - i) / sqrt(2), then quarters
            z = self.scaled(self.sub_i(z, z), math.sqrt(0.5))
        for _ in range(eighths // 2 % 4):
            z = self.times_minus_i(z)
        return z

    def transform(self, values: Sequence[Part]) -> list[Part]:
        """Returns the discrete Fourier transform of a few values, in order."""
        n = len(values)
        if n == 1:
            return list(values)
        if n == 2:
            return [self.add(*values), self.sub(*values)]
        if n == 4:
            return self._four(values)
        if n % 2 and (n % 3 or n == 3):
            return self._odd(values)
        first = 3 if n % 2 else 4 if n % 4 == 0 and n > 8 else 2
        m = n // first
        inner = [self.transform(values[start::first]) for start in range(first)]
        results: list[Part] = [(None, None)] * n
        for j in range(m):
            column = [self.rotated(part[j], start * j, n) for start, part in enumerate(inner)]
            for p, z in enumerate(self.transform(column)):
                results[j + m * p] = z
        return results

    def to_real(self, values: Sequence[Part], n: int) -> list[int]:
        """Returns the `n` real elements whose transform begins with `values`.

        In these sums, each value is multiplied once, so infinities become NaN only if they cancel.
        """
        results: list[int] = [0] * n
        for j in range(n // 2 + 1):
            roots = unit_roots(n, j * np.arange(n // 2 + 1))
            even = self._by(values[0][0], 1 / n)
            odd: int | None = None
            for k, (re, im) in enumerate(values):
                if k == 0:
                    continue
                factor = (1 if 2 * k == n else 2) / n
                even = self._sum(even, self._factored(re, factor * float(roots[k].real)))
                if 2 * k != n:
                    odd = self._sum(odd, self._factored(im, -factor * float(roots[k].imag)))
            at, mirrored = self._difference(even, odd), self._sum(even, odd)
            assert at is not None and mirrored is not None
            results[(n - j) % n], results[j] = mirrored, at
        return results

    def _factored(self, x: int | None, factor: float) -> int | None:
        return None if factor == 0.0 else self._by(x, factor)

    def _four(self, values: Sequence[Part]) -> list[Part]:
        a, b = self.add(values[0], values[2]), self.sub(values[0], values[2])
        c, d = self.add(values[1], values[3]), self.sub(values[1], values[3])
        return [self.add(a, c), self.sub_i(b, d), self.sub(a, c), self.add_i(b, d)]

    def _odd(self, values: Sequence[Part]) -> list[Part]:
        """Returns a transform of odd length.

        The sums of elements j and n - j are multiplied by cosines, and their differences by sines.
        """
        n = len(values)
        first = values[0]
        pairs = range(1, (n + 1) // 2)
        sums = [self.add(values[j], values[n - j]) for j in pairs]
        differences = [self.sub(values[j], values[n - j]) for j in pairs]
        total = first
        for z in sums:
            total = self.add(total, z)
        results = [total] * n
        for p in pairs:
            roots = unit_roots(n, p * np.arange(n))
            even, odd = first, None
            for j, s, d in zip(pairs, sums, differences, strict=True):
                even = self.add(even, self.scaled(s, float(roots[j].real)))
                part = self.scaled(d, float(-roots[j].imag))
                odd = part if odd is None else self.add(odd, part)
            assert odd is not None
            results[p] = self.sub_i(even, odd)
            results[n - p] = self.add_i(even, odd)
        return results
