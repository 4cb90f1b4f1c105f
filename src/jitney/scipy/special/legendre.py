"""Associated Legendre functions and spherical harmonics.

Both use the recurrence over the degree, for all orders at once. It starts at the degree that equals
the order, and proceeds upwards, which is stable.
"""

from __future__ import annotations

import operator

import numpy as np

from jitney import lax, numpy as jnp
from jitney.core.array import Array
from jitney.core.tracing.trace import concrete_or_error
from jitney.core.typing import ArrayLike
from jitney.numpy.promotion import ensure_arraylike, is_integer, promote_dtypes_inexact
from jitney.numpy.selection import where


def _tables(last: int, is_normalized: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the coefficients (starts [m], a [l, m], b [l, m]) of the recurrence over the degree.

    P_m^m = start (1 - z^2)^(m/2) and P_l = a z P_(l-1) - b P_(l-2).
    """
    m = np.arange(last + 1.0)
    degree, order = np.meshgrid(m, m, indexing="ij")
    above = degree > order
    if is_normalized:
        factors = np.sqrt((2 * m[1:] + 1) / (2 * m[1:]))
        starts = np.sqrt(1 / (4 * np.pi)) * np.cumprod(np.r_[1.0, -factors])
        gap = np.where(above, degree**2 - order**2, 1)
        a = np.sqrt(np.where(above, 4 * degree**2 - 1, 0) / gap)
        before = np.where(above, ((degree - 1) ** 2 - order**2) / (4 * (degree - 1) ** 2 - 1), 0)
        b = a * np.sqrt(before)
    else:
        starts = np.cumprod(np.r_[1.0, -(2 * m[1:] - 1)])
        gap = np.where(above, degree - order, 1)
        a, b = (2 * degree - 1) / gap, (degree + order - 1) / gap
    return starts, np.where(above, a, 0), np.where(above, b, 0)


def _values(z: Array, last: int, is_normalized: bool) -> Array:
    """Computes P_l^m(z) as an array [m, l, *shape of z], which is 0 where m > l."""
    dtype = z.dtype
    tables = [t.astype(dtype) for t in _tables(last, is_normalized)]
    starts, a, b = [jnp.asarray(t).reshape(t.shape + (1,) * z.ndim) for t in tables]
    root = lax.sqrt(lax.max((1 - z) * (1 + z), lax.full_like(z, 0)))
    powers = jnp.concatenate([jnp.ones((1, *z.shape), dtype)] + [root[None]] * last)
    diagonal = starts * jnp.cumprod(powers, axis=0)
    degrees = jnp.arange(last + 1)
    on_diagonal = jnp.expand_dims(degrees, tuple(range(1, 1 + z.ndim)))

    def step(
        carry: tuple[Array, Array], row: tuple[Array, Array, Array]
    ) -> tuple[tuple[Array, Array], Array]:
        before, here = carry
        degree, a_row, b_row = row
        following = a_row * z[None] * here - b_row * before
        following = where(on_diagonal == degree, diagonal, following)
        return (here, following), following

    zeros = lax.full_like(diagonal, 0)
    _, values = lax.scan(step, (zeros, zeros), (degrees, a, b))
    return jnp.moveaxis(values, 0, 1)


def _orders(name: str, m: int, n: int) -> int:
    last, degree = operator.index(m), operator.index(n)
    if last != degree:
        raise NotImplementedError(f"{name}: m and n must be equal, but got m={m}, n={n}")
    return last


def lpmn(m: int, n: int, z: Array) -> tuple[Array, Array]:
    """Computes associated Legendre functions P_n^m(z) and their derivatives.

    Args:
      m: highest order.
      n: highest degree; must be equal to m.
      z: floating array [k] of points in (-1, 1).

    Returns: (values, derivatives), arrays [m + 1, n + 1, k] indexed by order and degree; 0 where
      the order exceeds the degree.

    Raises:
      NotImplementedError: if m and n differ.
    """
    last = _orders("lpmn", m, n)
    z = _points("lpmn", z)
    values = _values(z, last, is_normalized=False)
    orders = np.arange(last + 1).reshape(-1, 1, *(1,) * z.ndim).astype(z.dtype)
    degrees = jnp.asarray(np.arange(last + 1).reshape(1, -1, *(1,) * z.ndim).astype(z.dtype))
    before = jnp.concatenate([lax.full_like(values[:, :1], 0), values[:, :-1]], axis=1)
    y = z.reshape(1, 1, *z.shape)
    slopes = (degrees * y * values - (degrees + orders) * before) / ((y - 1) * (y + 1))
    return values, slopes


def lpmn_values(m: int, n: int, z: Array, is_normalized: bool) -> Array:
    """Computes associated Legendre functions P_n^m(z) without derivatives.

    Args:
      m: highest order.
      n: highest degree; must be equal to m.
      z: floating array [k] of points in [-1, 1].
      is_normalized: whether to normalize the functions as in spherical harmonics, whose squared
        moduli integrate to 1 over the sphere.

    Returns: array [m + 1, n + 1, k] indexed by order and degree; 0 where the order exceeds the
      degree.

    Raises:
      NotImplementedError: if m and n differ.
    """
    last = _orders("lpmn_values", m, n)
    return _values(_points("lpmn_values", z), last, is_normalized)


def _points(name: str, z: ArrayLike) -> Array:
    value = ensure_arraylike(name, z)
    if value.ndim != 1:
        raise ValueError(f"{name}: z must be a vector, but got an array of shape {value.shape}")
    return value


def sph_harm_y(
    n: Array,
    m: Array,
    theta: Array,
    phi: Array,
    diff_n: int | None = None,
    n_max: int | None = None,
) -> Array:
    """Computes spherical harmonics Y_n^m(theta, phi) with the Condon-Shortley phase (-1)**m.

    Args:
      n: degrees, non-negative integers.
      m: orders, integers, |m| <= n.
      theta: polar angles in radians, 0 at the pole.
      phi: azimuthal angles in radians.
      diff_n: must be None.
      n_max: largest degree, static. By default it is computed from n, which then must not be
        traced.

    Returns: complex array of the broadcast shape of the operands; 0 where |m| > n.

    Raises:
      NotImplementedError: if `diff_n` is given.
      TypeError: if n or m does not have an integer dtype.
      ConcretizationTypeError: if `n_max` is None and n is traced.

    Example:
      >>> zero = jnp.array([0])
      >>> jax.scipy.special.sph_harm_y(zero, zero, jnp.array([1.0]), jnp.array([2.0])).real.round(4)
      Array([0.2821], dtype=float32)
    """
    if diff_n is not None:
        raise NotImplementedError(
            f"sph_harm_y: `diff_n` must be None, but got {diff_n!r}; use jax.jvp for derivatives "
            "with respect to the angles"
        )
    degree, order, *angles = ensure_arraylike("sph_harm_y", n, m, theta, phi)
    if not (is_integer(degree.dtype) and is_integer(order.dtype)):
        raise TypeError(
            f"sph_harm_y: n and m must be integers, but got {degree.dtype} and {order.dtype}"
        )
    polar, azimuth = promote_dtypes_inexact(*angles)
    if n_max is None:
        what = "jax.scipy.special.sph_harm_y: `n_max` is required if `n` is traced."
        n_max = int(np.max(concrete_or_error(np.asarray, degree, what), initial=0))
    last = operator.index(n_max)
    degree, order, polar, azimuth = jnp.broadcast_arrays(degree, order, polar, azimuth)
    shape = degree.shape
    degree, order, polar, azimuth = (x.reshape(-1) for x in (degree, order, polar, azimuth))
    values = _values(lax.cos(polar), last, is_normalized=True)
    # abs of the least integer of a narrow dtype overflows, and unsigned orders need a signed dtype.
    order = order.astype(jnp.promote_types(order.dtype, np.int32))
    size = lax.abs(order)
    value = values.at[size, degree, jnp.arange(size.shape[0])].get(mode="fill", fill_value=0)
    angle = size.astype(azimuth.dtype) * azimuth
    rotated = lax.complex(value * lax.cos(angle), value * lax.sin(angle))
    mirrored = where(size % 2 == 1, -lax.conj(rotated), lax.conj(rotated))
    return where(order < 0, mirrored, rotated).reshape(shape)
