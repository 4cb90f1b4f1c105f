"""Minimax fits: where the polynomial coefficients of `jitney.compiler.scalar` come from.

    fit(f, low, high, powers)                  polynomial with the given powers
    fit(f, low, high, powers, denominator)     rational function, denominator's constant term 1

minimises the largest weighted error over [low, high] (relative error by default), by Lawson's
iteration: weighted least squares, the weights growing where the error is large. Then coefficients
are rounded to the working precision one by one, the others fitted again after each. Needs mpmath.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from mpmath import mp, mpf

mp.prec = 200


def _solve(rows: list[list], values: list, weights: list) -> list:
    n = len(rows[0])
    matrix = mp.matrix(n, n)
    right = mp.matrix(n, 1)
    for row, value, weight in zip(rows, values, weights, strict=True):
        scaled = [weight * r for r in row]
        for i in range(n):
            right[i] += scaled[i] * value
            for j in range(i, n):
                matrix[i, j] += scaled[i] * row[j]
    for i in range(n):
        for j in range(i):
            matrix[i, j] = matrix[j, i]
    return list(mp.lu_solve(matrix, right))


def fit(
    f: Callable,
    low: float,
    high: float,
    powers: Sequence[int],
    denominator: Sequence[int] = (),
    *,
    weight: Callable | None = None,
    dtype: type | None = None,
    fixed: dict[int, float] | None = None,
    steps: int = 12,
    nodes: int | None = None,
) -> tuple[list, list, float]:
    """Coefficients of the numerator, of the denominator, and the largest weighted error.

    Args:
      f: the function, of mpmath numbers.
      powers: powers of x in the numerator.
      denominator: powers of x in the denominator, without 0.
      weight: error's weight; by default 1/|f|, the relative error.
      dtype: NumPy float type that coefficients are rounded to; None leaves them.
      fixed: coefficients of the numerator that are given, by power.
    """
    count = len(powers) + len(denominator)
    nodes = nodes or 8 * count
    low, high = mpf(low), mpf(high)
    xs = [
        (low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * nodes))
        for i in range(nodes)
    ]
    ys = [f(x) for x in xs]
    scale = [weight(x) if weight else 1 / abs(y) for x, y in zip(xs, ys, strict=True)]
    known_p: dict[int, object] = {k: mpf(v) for k, v in (fixed or {}).items()}
    known_q: dict[int, object] = {}
    order = [("p", k) for k in powers if k not in known_p] + [("q", k) for k in denominator]
    order.sort(key=lambda t: t[1])
    lawson = [mpf(1)] * nodes
    bottom = [mpf(1)] * nodes

    def solve_once() -> tuple[dict, dict, list]:
        free = [t for t in order if t[1] not in (known_p if t[0] == "p" else known_q)]
        rows, values = [], []
        for x, y in zip(xs, ys, strict=True):
            rows.append([x**k if s == "p" else -y * x**k for s, k in free])
            target = y * (1 + sum((c * x**k for k, c in known_q.items()), mpf(0)))
            values.append(target - sum((c * x**k for k, c in known_p.items()), mpf(0)))
        weights = [v * (s / b) ** 2 for v, s, b in zip(lawson, scale, bottom, strict=True)]
        found = _solve(rows, values, weights) if free else []
        p, q = dict(known_p), dict(known_q)
        for (s, k), c in zip(free, found, strict=True):
            (p if s == "p" else q)[k] = c
        errors = []
        for i, (x, y) in enumerate(zip(xs, ys, strict=True)):
            bottom[i] = 1 + sum((c * x**k for k, c in q.items()), mpf(0))
            top = sum((c * x**k for k, c in p.items()), mpf(0))
            errors.append(abs(top / bottom[i] - y) * scale[i])
        return p, q, errors

    best = None
    for _ in range(steps):
        p, q, errors = solve_once()
        worst = max(errors)
        if best is None or worst < best[0]:
            best = (worst, p, q)
        lawson = [v * (e / worst + mpf("1e-3")) for v, e in zip(lawson, errors, strict=True)]
        total = sum(lawson)
        lawson = [v * nodes / total for v in lawson]
    assert best is not None
    worst, p, q = best
    if dtype is not None:
        for s, k in order:
            side, known = (p, known_p) if s == "p" else (q, known_q)
            known[k] = mpf(float(dtype(float(side[k]))))
            p, q, errors = solve_once()
            worst = max(errors)
    clean = (lambda c: float(dtype(float(c)))) if dtype else (lambda c: c)
    return [clean(p[k]) for k in powers], [clean(q[k]) for k in denominator], float(worst)


def shown(coefficients: Sequence[float], dtype: type = np.float64) -> str:
    """Coefficients as shortest decimals that read back the same."""
    return ", ".join(str(dtype(c)) for c in coefficients)
