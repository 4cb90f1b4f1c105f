"""Reductions by a tree of pairs, built from differentiable operations."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from jitney.primitives import calculus, rules

if TYPE_CHECKING:
    from jitney.primitives.rule_types import Primals, Value

Axes = tuple[int, ...]
Combine = Callable[[Sequence["Value"], Sequence["Value"]], Sequence["Value"]]


def by_pairs(
    xs: Primals, axes: Axes, combine: Combine, inits: Primals, halves: bool
) -> list[Value]:
    """Reduces the tuple of arrays `xs` over `axes` in pairs, with differentiable operations.

    `combine` must be associative. With `halves`, it must be commutative, too: each element of the
    first half is combined with one of the second half, as in JAX. (The pairs determine how equal
    extremes share derivatives.) Otherwise, neighbors are combined. `inits` are the results for
    empty arrays.
    """
    folded: list[Value] = list(xs)
    if halves and len(axes) > 1:
        folded = [_merged(x, axes) for x in folded]
        axes = (len(rules.shape_of(folded[0])) - 1,)
    for axis in sorted(axes, reverse=True):
        while (n := rules.shape_of(folded[0])[axis]) > 1:
            k, even = n // 2, n - n % 2
            parts = ((0, k), (n - k, n)) if halves else ((0, even, 2), (1, even, 2))
            first, second = ([cut(x, axis, *part) for x in folded] for part in parts)
            middle = k if halves else n - 1
            last = [cut(x, axis, middle, middle + 1) for x in folded] if n % 2 else []
            folded = list(combine(first, second))
            if last:
                folded = [
                    calculus.concatenate(x, end, dimension=axis)
                    for x, end in zip(folded, last, strict=True)
                ]
        if n == 0:
            shape = list(rules.shape_of(folded[0]))
            shape[axis] = 1
            folded = [rules.broadcast_to_result(i, tuple(shape)) for i in inits]
        folded = [calculus.squeeze(x, dimensions=(axis,)) for x in folded]
    return folded


def _merged(x: Value, axes: Axes) -> Value:
    """Merges `axes` of `x` into a single last axis."""
    shape = rules.shape_of(x)
    free = [k for k in range(len(shape)) if k not in axes]
    x = calculus.transpose(x, permutation=(*free, *sorted(axes)))
    return calculus.reshape(
        x, new_sizes=(*[shape[k] for k in free], math.prod([shape[k] for k in axes])),
    )  # fmt: skip


def cut(x: Value, axis: int, start: int, stop: int, step: int = 1) -> Value:
    """Slices `x` along `axis`."""
    shape = rules.shape_of(x)
    low, high, strides = [0] * len(shape), list(shape), [1] * len(shape)
    low[axis], high[axis], strides[axis] = start, stop, step
    return calculus.slice(
        x, start_indices=tuple(low), limit_indices=tuple(high), strides=tuple(strides)
    )
