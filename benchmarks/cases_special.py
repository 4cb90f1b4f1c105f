"""Special functions of 1,000,000 numbers each, and sorts that carry other arrays along."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import Call, Side, case

N = 1_000_000
Draw = Callable[[np.random.Generator], "np.ndarray[Any, Any]"]


def _elementwise(name: str, what: str, find: Callable[[Side], Any], *draws: Draw) -> None:
    @case(f"special_{name}", f"{what} of 1,000,000 numbers", goal=2, rtol=2e-4, atol=1e-5)
    def _(side: Side) -> Call:
        rng = np.random.default_rng(0)
        xs = [side.jnp.asarray(draw(rng).astype(np.float32)) for draw in draws]
        f = side.jax.jit(find(side))
        return lambda: f(*xs)


def _gamma(rng: np.random.Generator) -> np.ndarray:
    return rng.gamma(2.0, 2.0, N) + 0.05


def _uniform(rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(0.001, 0.999, N)


def _normal(rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=N)


def _above_1(rng: np.random.Generator) -> np.ndarray:
    return _gamma(rng) + 1.05


def _order(rng: np.random.Generator) -> np.ndarray:
    return np.floor(rng.uniform(1, 5, N))


_elementwise("lgamma", "lgamma", lambda side: side.lax.lgamma, _gamma)
_elementwise("digamma", "digamma", lambda side: side.lax.digamma, _gamma)
_elementwise("erf_inv", "erf_inv", lambda side: side.lax.erf_inv, _uniform)
_elementwise("ndtri", "ndtri", lambda side: side.jax.scipy.special.ndtri, _uniform)
_elementwise("i0e", "bessel_i0e", lambda side: side.lax.bessel_i0e, _normal)
_elementwise("igamma", "igamma", lambda side: side.lax.igamma, _gamma, _gamma)
_elementwise("igammac", "igammac", lambda side: side.lax.igammac, _gamma, _gamma)
_elementwise("betainc", "betainc", lambda side: side.lax.betainc, _gamma, _gamma, _uniform)
_elementwise("zeta", "zeta", lambda side: side.lax.zeta, _above_1, _gamma)
_elementwise("polygamma", "polygamma", lambda side: side.lax.polygamma, _order, _gamma)


@case("sort_argsort", "argsort of 1,000,000 numbers", goal=2)
def _argsort(side: Side) -> Call:
    x = side.jnp.asarray(np.random.default_rng(0).normal(size=N).astype(np.float32))
    f = side.jax.jit(side.jnp.argsort)
    return lambda: f(x)


@case("sort_two_keys", "lexsort of 1,000,000 pairs", goal=2)
def _lexsort(side: Side) -> Call:
    rng = np.random.default_rng(0)
    x = side.jnp.asarray(rng.integers(0, 1000, N).astype(np.int32))
    y = side.jnp.asarray(rng.normal(size=N).astype(np.float32))
    f = side.jax.jit(lambda x, y: side.jnp.lexsort((y, x)))
    return lambda: f(x, y)


@case("sort_top_k", "the 100 largest of 1,000,000 numbers", goal=1.5)
def _top_k(side: Side) -> Call:
    x = side.jnp.asarray(np.random.default_rng(0).normal(size=N).astype(np.float32))
    f = side.jax.jit(lambda x: side.lax.top_k(x, 100))
    return lambda: f(x)
