"""The cases of `benchmarks.speed` as one writes them for NumPy and for Numba, derivatives by hand.

Each function makes the call to be timed, on the operands of the case of the same name. Numba's versions
are loops over elements, in parallel where that pays; `fastmath` is off, as it is for the others.
There is none for `lorenz_grad`: neither package has derivatives, and 20,000 steps of Runge and Kutta
are not differentiated by hand.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.harness import Call

F32 = np.float32


def _uniform(low: float, high: float, shape: tuple[int, ...], seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(low, high, shape).astype(F32)


# --- operands -------------------------------------------------------------------------------------


def _logistic() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    design = rng.normal(size=(100, 5)).astype(F32)
    labels = (design @ rng.normal(size=5) + rng.logistic(size=100) > 0).astype(F32)
    return design, labels


def _bodies() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return (
        rng.normal(size=(32, 3)).astype(F32),
        rng.normal(size=(32, 3), scale=0.1).astype(F32),
    )


def _recurrent() -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    shapes = (64, 256), (64, 256), (256,), (500, 1, 64)
    return tuple(rng.normal(size=shape, scale=0.1).astype(F32) for shape in shapes)


def _classifier() -> tuple[list[Any], Any, Any]:
    rng = np.random.default_rng(0)
    sizes = (784, 512, 256, 10)
    layers: list[Any] = []
    for m, n in pairwise(sizes):
        layers += [rng.normal(size=(m, n), scale=m**-0.5).astype(F32), np.zeros(n, F32)]
    x = rng.normal(size=(128, sizes[0])).astype(F32)
    labels = np.random.default_rng(1).integers(0, 10, 128)
    return layers, x, np.eye(10, dtype=F32)[labels]


# --- NumPy ----------------------------------------------------------------------------------------


def _selu_numpy() -> Call:
    x = _uniform(-3, 3, (1_000_000,))
    return lambda: F32(1.05) * np.where(x > 0, x, F32(1.67) * np.exp(x) - F32(1.67))


def _cosine_numpy() -> Call:
    x = _uniform(-10, 10, (1_000_000,))
    return lambda: np.cos(x)


def _squares_numpy() -> Call:
    x, y = (_uniform(0, 1, (500, 500), seed) for seed in (0, 1))
    return lambda: np.sum((x - y) ** 2)


def _bodies_numpy() -> Call:
    q0, v0 = _bodies()

    def acceleration(q: Any) -> Any:
        apart = q[None, :, :] - q[:, None, :]
        squares = np.sum(apart**2, axis=-1) + F32(0.1)
        return np.sum(apart * (squares ** F32(-1.5))[:, :, None], axis=1) / F32(32)

    def run() -> Any:
        q, v = q0, v0
        for _ in range(1000):
            v = v + F32(0.0005) * acceleration(q)
            q = q + F32(0.001) * v
            v = v + F32(0.0005) * acceleration(q)
        return q, v

    return run


def _hmc_numpy() -> Call:
    x, y = _logistic()
    size = F32(0.05)

    def potential(w: Any) -> Any:
        z = x @ w
        return np.sum(np.logaddexp(F32(0), z) - y * z) + F32(0.5) * np.sum(w**2)

    def force(w: Any) -> Any:
        return x.T @ (1 / (1 + np.exp(-(x @ w))) - y) + w

    def run() -> Any:
        rng = np.random.default_rng(0)
        w, out = np.zeros(5, F32), np.empty((200, 5), F32)
        for k in range(200):
            first = p = rng.standard_normal(5, F32)
            new = w
            for _ in range(20):
                p = p - F32(0.5) * size * force(new)
                new = new + size * p
                p = p - F32(0.5) * size * force(new)
            gain = potential(w) - potential(new) + F32(0.5) * (np.sum(first**2) - np.sum(p**2))
            w = new if math.log(rng.random()) < gain else w
            out[k] = w
        return out

    return run


def _lstm_numpy() -> Call:
    wx, wh, b, xs = _recurrent()

    def sigmoid(x: Any) -> Any:
        return 1 / (1 + np.exp(-x))

    def run() -> Any:
        h = c = np.zeros((1, 64), F32)
        total = F32(0)
        for x in xs:
            i, f, g, o = np.split(x @ wx + h @ wh + b, 4, axis=-1)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
            total += np.sum(h**2)
        return total

    return run


def _step(w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any, x: Any, y: Any) -> Any:
    """A step of gradient descent; Numba compiles it, too."""
    h1 = np.tanh(x @ w1 + b1)
    h2 = np.tanh(h1 @ w2 + b2)
    logits = h2 @ w3 + b3
    e = np.empty_like(logits)
    for k in range(len(logits)):
        row = np.exp(logits[k] - logits[k].max())
        e[k] = row / row.sum()
    d3 = (e - y) / np.float32(len(x))
    d2 = (d3 @ w3.T) * (np.float32(1) - h2 * h2)
    d1 = (d2 @ w2.T) * (np.float32(1) - h1 * h1)
    rate = np.float32(0.01)
    return (
        w1 - rate * (x.T @ d1), b1 - rate * d1.sum(axis=0),
        w2 - rate * (h1.T @ d2), b2 - rate * d2.sum(axis=0),
        w3 - rate * (h2.T @ d3), b3 - rate * d3.sum(axis=0),
    )  # fmt: skip


def _trained_by(step: Callable[..., Any]) -> Call:
    layers, x, y = _classifier()
    w1, b1, w2, b2, w3, b3 = layers
    return lambda: step(w1, b1, w2, b2, w3, b3, x, y)


def _sgd_numpy() -> Call:
    return _trained_by(_step)


NUMPY: dict[str, Callable[[], Call]] = {
    "selu": _selu_numpy,
    "vmap_grad_sin": _cosine_numpy,
    "sum_squared_error": _squares_numpy,
    "n_body": _bodies_numpy,
    "hmc": _hmc_numpy,
    "lstm": _lstm_numpy,
    "sgd_mlp": _sgd_numpy,
}


# --- Numba ----------------------------------------------------------------------------------------


def _numba() -> Any:
    return importlib.import_module("numba")


def _selu_numba() -> Call:
    numba, x = _numba(), _uniform(-3, 3, (1_000_000,))

    @numba.njit(parallel=True)
    def selu(x: Any) -> Any:
        out = np.empty_like(x)
        for k in numba.prange(len(x)):
            v = x[k]
            out[k] = F32(1.05) * (v if v > 0 else F32(1.67) * math.exp(v) - F32(1.67))
        return out

    return lambda: selu(x)


def _cosine_numba() -> Call:
    numba, x = _numba(), _uniform(-10, 10, (1_000_000,))

    @numba.njit(parallel=True)
    def cosine(x: Any) -> Any:
        out = np.empty_like(x)
        for k in numba.prange(len(x)):
            out[k] = math.cos(x[k])
        return out

    return lambda: cosine(x)


def _squares_numba() -> Call:
    numba = _numba()
    x, y = (_uniform(0, 1, (500, 500), seed) for seed in (0, 1))

    @numba.njit(parallel=True)
    def squares(x: Any, y: Any) -> Any:
        total = F32(0)
        for k in numba.prange(x.size):
            total += (x.flat[k] - y.flat[k]) ** 2
        return total

    return lambda: squares(x, y)


def _bodies_numba() -> Call:
    numba, (q0, v0) = _numba(), _bodies()

    @numba.njit
    def accelerate(q: Any, v: Any) -> Any:
        for i in range(32):
            for j in range(32):
                x, y, z = q[j, 0] - q[i, 0], q[j, 1] - q[i, 1], q[j, 2] - q[i, 2]
                s = x * x + y * y + z * z + F32(0.1)
                scale = F32(0.0005 / 32) / (s * math.sqrt(s))
                v[i, 0] += x * scale
                v[i, 1] += y * scale
                v[i, 2] += z * scale

    @numba.njit
    def run(q: Any, v: Any) -> Any:
        q, v = q.copy(), v.copy()
        for _ in range(1000):
            accelerate(q, v)
            q += F32(0.001) * v
            accelerate(q, v)
        return q, v

    return lambda: run(q0, v0)


def _hmc_numba() -> Call:
    numba, (x, y) = _numba(), _logistic()

    @numba.njit
    def potential(w: Any) -> Any:
        total = F32(0.5) * np.sum(w * w)
        for k in range(len(x)):
            z = np.sum(x[k] * w)
            total += max(z, F32(0)) + math.log1p(math.exp(-abs(z))) - y[k] * z
        return total

    @numba.njit
    def force(w: Any) -> Any:
        out = w.copy()
        for k in range(len(x)):
            z = F32(0)
            for i in range(5):
                z += x[k, i] * w[i]
            d = F32(1) / (F32(1) + math.exp(-z)) - y[k]
            for i in range(5):
                out[i] += x[k, i] * F32(d)
        return out

    @numba.njit
    def run() -> Any:
        np.random.seed(0)
        size = F32(0.05)
        w, out = np.zeros(5, F32), np.empty((200, 5), F32)
        for k in range(200):
            p = np.empty(5, F32)
            for i in range(5):
                p[i] = np.random.normal()
            energy = np.sum(p * p)
            new = w.copy()
            for _ in range(20):
                p = p - F32(0.5) * size * force(new)
                new = new + size * p
                p = p - F32(0.5) * size * force(new)
            gain = potential(w) - potential(new) + F32(0.5) * (energy - np.sum(p * p))
            if math.log(np.random.random()) < gain:
                w = new
            out[k] = w
        return out

    return run


def _lstm_numba() -> Call:
    numba, (wx, wh, b, xs) = _numba(), _recurrent()

    @numba.njit
    def run(wx: Any, wh: Any, b: Any, xs: Any) -> Any:
        h, c = np.zeros((1, 64), F32), np.zeros(64, F32)
        one, total = F32(1), F32(0)
        for k in range(len(xs)):
            a = np.dot(xs[k], wx)[0] + np.dot(h, wh)[0] + b
            for n in range(64):
                i, f = one / (one + math.exp(-a[n])), one / (one + math.exp(-a[64 + n]))
                g, o = math.tanh(a[128 + n]), one / (one + math.exp(-a[192 + n]))
                c[n] = f * c[n] + i * g
                h[0, n] = o * math.tanh(c[n])
                total += h[0, n] ** 2
        return total

    return lambda: run(wx, wh, b, xs)


def _sgd_numba() -> Call:
    return _trained_by(_numba().njit(_step))


NUMBA: dict[str, Callable[[], Call]] = {
    "selu": _selu_numba,
    "vmap_grad_sin": _cosine_numba,
    "sum_squared_error": _squares_numba,
    "n_body": _bodies_numba,
    "hmc": _hmc_numba,
    "lstm": _lstm_numba,
    "sgd_mlp": _sgd_numba,
}
