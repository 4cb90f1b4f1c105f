"""Calls of library functions as they are, outside of `jit`, on small arrays, again and again."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.harness import Call, Side, case


@dataclass(frozen=True)
class Operands:
    """Small arrays of one side, and its modules."""

    side: Side
    x: Any  # 20 floats in (0, 1)
    y: Any
    few: Any  # 5 of them
    wide: Any  # 20 in (-3, 3)
    nans: Any  # 20 floats, some NaN
    a: Any  # matrix of 5 x 5
    spd: Any  # symmetric and positive definite
    i: Any  # 20 integers below 6
    z: Any  # 20 complex numbers
    mask: Any
    key: Any

    def module(self, name: str) -> Any:
        return importlib.import_module(f"{self.side.name}.{name}")


def _operands(side: Side) -> Operands:
    rng = np.random.default_rng(0)
    jnp = side.jnp
    x, y = (rng.uniform(0.05, 0.95, 20).astype(np.float32) for _ in range(2))
    a = rng.uniform(0.05, 0.95, (5, 5)).astype(np.float32)
    nans = np.where(np.arange(20) % 7 == 3, np.nan, x).astype(np.float32)
    return Operands(
        side, jnp.asarray(x), jnp.asarray(y), jnp.asarray(x[:5]), jnp.asarray(6 * x - 3),
        jnp.asarray(nans), jnp.asarray(a), jnp.asarray(a @ a.T + 5 * np.eye(5, dtype=np.float32)),
        jnp.asarray(rng.integers(0, 6, 20).astype(np.int32)),
        jnp.asarray((x + 1j * y).astype(np.complex64)), jnp.asarray(x > 0.5), side.random.key(0),
    )  # fmt: skip


# What users write, by name: `np` is the side's jax.numpy, `o` are its operands.
_NUMPY: dict[str, Callable[[Any, Operands], Any]] = {
    "polyfit": lambda np, o: np.polyfit(o.x, o.y, 2),
    "polyval": lambda np, o: np.polyval(o.few, o.x),
    "polymul": lambda np, o: np.polymul(o.few, o.few),
    "polyadd": lambda np, o: np.polyadd(o.few, o.few),
    "median": lambda np, o: np.median(o.x),
    "percentile": lambda np, o: np.percentile(o.x, 30.0),
    "quantile": lambda np, o: np.quantile(o.x, o.few),
    "nanmedian": lambda np, o: np.nanmedian(o.nans),
    "nanquantile": lambda np, o: np.nanquantile(o.nans, 0.3),
    "convolve": lambda np, o: np.convolve(o.x, o.few),
    "correlate": lambda np, o: np.correlate(o.x, o.few),
    "cov": lambda np, o: np.cov(o.a),
    "corrcoef": lambda np, o: np.corrcoef(o.a),
    "logspace": lambda np, o: np.logspace(0.0, 2.0, 20),
    "geomspace": lambda np, o: np.geomspace(1.0, 2.0, 20),
    "linspace": lambda np, o: np.linspace(0.0, 1.0, 50),
    "vander": lambda np, o: np.vander(o.few, 4),
    "var": lambda np, o: np.var(o.x),
    "std": lambda np, o: np.std(o.a, axis=0),
    "mean": lambda np, o: np.mean(o.a, axis=1),
    "average": lambda np, o: np.average(o.x, weights=o.y),
    "ptp": lambda np, o: np.ptp(o.x),
    "tril": lambda np, o: np.tril(o.a),
    "triu": lambda np, o: np.triu(o.a, 1),
    "tri": lambda np, o: np.tri(5),
    "eye": lambda np, o: np.eye(5),
    "diag": lambda np, o: np.diag(o.few),
    "diagonal": lambda np, o: np.diagonal(o.a),
    "trace": lambda np, o: np.trace(o.a),
    "kron": lambda np, o: np.kron(o.a, o.a),
    "outer": lambda np, o: np.outer(o.x, o.y),
    "cross": lambda np, o: np.cross(o.few[:3], o.few[2:]),
    "tensordot": lambda np, o: np.tensordot(o.a, o.a, axes=1),
    "einsum": lambda np, o: np.einsum("ij,jk->ik", o.a, o.a),
    "nanmean": lambda np, o: np.nanmean(o.nans),
    "nansum": lambda np, o: np.nansum(o.nans),
    "nanvar": lambda np, o: np.nanvar(o.nans),
    "nanmax": lambda np, o: np.nanmax(o.nans),
    "nanargmax": lambda np, o: np.nanargmax(o.nans),
    "nancumsum": lambda np, o: np.nancumsum(o.nans),
    "nan_to_num": lambda np, o: np.nan_to_num(o.nans),
    "isin": lambda np, o: np.isin(o.i, o.i[:3]),
    "argsort": lambda np, o: np.argsort(o.x),
    "sort": lambda np, o: np.sort(o.x),
    "lexsort": lambda np, o: np.lexsort((o.x, o.i)),
    "partition": lambda np, o: np.partition(o.x, 4),
    "searchsorted": lambda np, o: np.searchsorted(o.x, o.few),
    "digitize": lambda np, o: np.digitize(o.x, o.few),
    "histogram": lambda np, o: np.histogram(o.x, 5),
    "bincount": lambda np, o: np.bincount(o.i, length=6),
    "clip": lambda np, o: np.clip(o.x, 0.2, 0.8),
    "where": lambda np, o: np.where(o.mask, o.x, 0.0),
    "select": lambda np, o: np.select([o.mask, o.x > 0.3], [o.x, o.y], 1.0),
    "interp": lambda np, o: np.interp(o.x, o.few, o.few),
    "gradient": lambda np, o: np.gradient(o.x),
    "diff": lambda np, o: np.diff(o.x),
    "ediff1d": lambda np, o: np.ediff1d(o.x),
    "trapezoid": lambda np, o: np.trapezoid(o.x),
    "unwrap": lambda np, o: np.unwrap(o.wide),
    "cumsum": lambda np, o: np.cumsum(o.x),
    "cumprod": lambda np, o: np.cumprod(o.x),
    "roll": lambda np, o: np.roll(o.x, 3),
    "flip": lambda np, o: np.flip(o.a),
    "rot90": lambda np, o: np.rot90(o.a),
    "pad": lambda np, o: np.pad(o.a, 1),
    "tile": lambda np, o: np.tile(o.x, 3),
    "repeat": lambda np, o: np.repeat(o.x, 3),
    "take": lambda np, o: np.take(o.x, o.i),
    "take_along_axis": lambda np, o: np.take_along_axis(o.x, o.i, 0),
    "concatenate": lambda np, o: np.concatenate([o.x, o.y]),
    "stack": lambda np, o: np.stack([o.x, o.y]),
    "block": lambda np, o: np.block([[o.a, o.a], [o.a, o.a]]),
    "meshgrid": lambda np, o: np.meshgrid(o.x, o.few),
    "split": lambda np, o: np.split(o.x, 4),
    "sinc": lambda np, o: np.sinc(o.wide),
    "hypot": lambda np, o: np.hypot(o.x, o.y),
    "round": lambda np, o: np.round(o.x, 2),
    "isclose": lambda np, o: np.isclose(o.x, o.y),
    "allclose": lambda np, o: np.allclose(o.x, o.y),
    "array_equal": lambda np, o: np.array_equal(o.x, o.y),
    "floor_divide": lambda np, o: np.floor_divide(o.x, 0.1),
    "remainder": lambda np, o: np.remainder(o.x, 0.1),
    "power": lambda np, o: np.power(o.x, o.y),
    "logaddexp": lambda np, o: np.logaddexp(o.x, o.y),
    "angle": lambda np, o: np.angle(o.z),
    "argmax": lambda np, o: np.argmax(o.x),
    "sum_where": lambda np, o: np.sum(o.x, where=o.mask),
    "method_var": lambda np, o: o.x.var(),
    "method_clip": lambda np, o: o.x.clip(0.2, 0.8),
    "norm": lambda np, o: np.linalg.norm(o.a),
    "vector_norm": lambda np, o: np.linalg.norm(o.x, ord=3),
    "inv": lambda np, o: np.linalg.inv(o.spd),
    "solve": lambda np, o: np.linalg.solve(o.spd, o.few),
    "det": lambda np, o: np.linalg.det(o.spd),
    "lstsq": lambda np, o: np.linalg.lstsq(o.spd, o.few)[0],
    "pinv": lambda np, o: np.linalg.pinv(o.spd),
    "matrix_power": lambda np, o: np.linalg.matrix_power(o.a, 3),
    "cholesky": lambda np, o: np.linalg.cholesky(o.spd),
    "rfft": lambda np, o: np.fft.rfft(o.x),
    "ifft": lambda np, o: np.fft.ifft(o.z),
    "fftshift": lambda np, o: np.fft.fftshift(o.x),
    "fftfreq": lambda np, o: np.fft.fftfreq(20),
}  # fmt: skip

_OTHERS: dict[str, Callable[[Operands], Any]] = {
    "one_hot": lambda o: o.side.nn.one_hot(o.i, 6),
    "softmax": lambda o: o.side.nn.softmax(o.x),
    "log_softmax": lambda o: o.side.nn.log_softmax(o.x),
    "logsumexp": lambda o: o.side.nn.logsumexp(o.x),
    "standardize": lambda o: o.side.nn.standardize(o.x),
    "relu": lambda o: o.side.nn.relu(o.wide),
    "gelu": lambda o: o.side.nn.gelu(o.wide),
    "silu": lambda o: o.side.nn.silu(o.wide),
    "elu": lambda o: o.side.nn.elu(o.wide),
    "leaky_relu": lambda o: o.side.nn.leaky_relu(o.wide, 0.1),
    "norm_logpdf": lambda o: o.module("scipy.stats.norm").logpdf(o.x, 0.0, 2.0),
    "beta_logpdf": lambda o: o.module("scipy.stats.beta").logpdf(o.x, 2.0, 3.0),
    "norm_cdf": lambda o: o.module("scipy.stats.norm").cdf(o.wide),
    "xlogy": lambda o: o.module("scipy.special").xlogy(o.x, o.y),
    "expit": lambda o: o.module("scipy.special").expit(o.wide),
    "gammaln": lambda o: o.module("scipy.special").gammaln(o.x),
    "cho_solve": lambda o: o.module("scipy.linalg").cho_solve((o.spd, True), o.few),
    "expm": lambda o: o.module("scipy.linalg").expm(o.a),
    "uniform": lambda o: o.side.random.uniform(o.key, (5,)),
    "normal": lambda o: o.side.random.normal(o.key, (5,)),
    "randint": lambda o: o.side.random.randint(o.key, (5,), 0, 10),
    "bernoulli": lambda o: o.side.random.bernoulli(o.key, 0.3, (5,)),
    "choice": lambda o: o.side.random.choice(o.key, o.x, (5,)),
    "permutation": lambda o: o.side.random.permutation(o.key, o.x),
    "categorical": lambda o: o.side.random.categorical(o.key, o.x),
    "split_key": lambda o: o.side.random.key_data(o.side.random.split(o.key)),
}  # fmt: skip


def _add(name: str, call: Callable[[Operands], Any]) -> None:
    @case(f"small_{name}", f"{name}, small, eager", 1.0)
    def _setup(side: Side) -> Call:
        operands = _operands(side)
        return lambda: call(operands)


# Control flow outside of `jit`, with the same functions at each call.
def _body(carry: Any, x: Any) -> tuple[Any, Any]:
    return 0.9 * carry + x, carry


_LOOPS: dict[str, Callable[[Any, Operands], Any]] = {
    "scan": lambda lax, o: lax.scan(_body, o.x[0], o.x),
    "while": lambda lax, o: lax.while_loop(lambda c: c < 5.0, lambda c: c + 1.0, o.x[0]),
    "fori": lambda lax, o: lax.fori_loop(0, 10, lambda i, c: 0.5 * c + i, o.x),
    "cond": lambda lax, o: lax.cond(o.mask[0], abs, abs, o.wide),
    "switch": lambda lax, o: lax.switch(o.i[0], [abs, abs, abs], o.wide),
    "map": lambda lax, o: lax.map(abs, o.wide),
    "vmap_scan": lambda lax, o: o.side.jax.vmap(lambda c: lax.scan(_body, c, o.few))(o.x),
}


for _name, _function in _LOOPS.items():
    _add(_name, lambda o, f=_function: f(o.side.lax, o))
for _name, _function in _NUMPY.items():
    _add(_name, lambda o, f=_function: f(o.side.jnp, o))
for _name, _function in _OTHERS.items():
    _add(_name, _function)
