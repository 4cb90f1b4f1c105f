"""Gaussian kernel density estimation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from jitney import lax, numpy as jnp, random
from jitney.core.array import Array
from jitney.core.pytree.registry import register_pytree_node_class
from jitney.core.typing import ArrayLike
from jitney.numpy.promotion import (
    check_arraylike,
    dtype_of,
    is_complex,
    promote_dtypes_inexact,
)
from jitney.primitives.elementwise.convert import as_value
from jitney.scipy.special.error_functions import ndtr
from jitney.scipy.special.support import strong


@register_pytree_node_class
@dataclass(frozen=True, init=False, slots=True)
class gaussian_kde:  # SciPy's name
    """A kernel density estimate: a weighted mean of normal densities centered at the sample points.

    Args:
      dataset: sample [d, n] of n points, or [n].
      bw_method: ratio of the standard deviation of the kernels to that of the sample: "scott" (the
        default), "silverman", a scalar, or a function of the estimate that returns a scalar.
      weights: weights of the points [n]; equal by default.

    Raises:
      ValueError: if the dataset has fewer than two elements, or shapes do not match.
      NotImplementedError: if the dataset is complex.

    Example:
      >>> kde = jax.scipy.stats.gaussian_kde(jnp.array([1.0, 2.0, 4.0]))
      >>> kde.pdf(2.0).round(4)
      Array([0.2149], dtype=float32)
    """

    neff: Array
    dataset: Array
    weights: Array
    covariance: Array
    inv_cov: Array

    def __init__(
        self,
        dataset: ArrayLike,
        bw_method: str | ArrayLike | Callable[[Any], ArrayLike] | None = None,
        weights: ArrayLike | None = None,
    ) -> None:
        check_arraylike("gaussian_kde", dataset)
        points = jnp.atleast_2d(dataset)
        if is_complex(points.dtype):
            raise NotImplementedError(
                f"gaussian_kde: `dataset` must be real, but it is {points.dtype}; pass the real "
                "and imaginary parts as two coordinates"
            )
        if points.size <= 1:
            raise ValueError(
                f"gaussian_kde: `dataset` must have at least two elements, but it has {points.size}"
            )
        points = strong(as_value(promote_dtypes_inexact(points)[0]))
        count = points.shape[1]
        if weights is None:
            shares = jnp.full(count, 1.0 / count, points.dtype)
        else:
            check_arraylike("gaussian_kde", weights)
            shares = jnp.atleast_1d(weights)
            if shares.ndim != 1:
                raise ValueError(
                    f"gaussian_kde: `weights` must be a vector, but it has shape {shares.shape}"
                )
            if len(shares) != count:
                raise ValueError(
                    f"gaussian_kde: `weights` must have one element for each of the {count} "
                    f"points, but it has {len(shares)}"
                )
            points, shares = (strong(as_value(v)) for v in promote_dtypes_inexact(points, shares))
            shares = shares / jnp.sum(shares)
        self._set("dataset", points)
        self._set("weights", shares)
        self._set("neff", 1 / jnp.sum(lax.square(shares)))
        factor = self._bandwidth(bw_method)
        spread = jnp.atleast_2d(jnp.cov(points, rowvar=True, bias=False, aweights=shares))
        inverse = jnp.linalg.inv(spread)
        self._set("covariance", spread * factor**2)
        self._set("inv_cov", inverse / factor**2)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _bandwidth(self, method: Any) -> Array:
        if method is None or (isinstance(method, str) and method == "scott"):
            factor = jnp.power(self.neff, -1.0 / (self.d + 4))
        elif isinstance(method, str) and method == "silverman":
            factor = jnp.power(self.neff * (self.d + 2) / 4.0, -1.0 / (self.d + 4))
        elif callable(method):
            factor = jnp.asarray(method(self))
        elif not isinstance(method, str) and jnp.ndim(method) == 0:
            factor = jnp.asarray(method)
        else:
            raise ValueError(
                "gaussian_kde: `bw_method` must be a scalar, a function that returns a scalar, "
                f"'scott' or 'silverman', but got {method!r}"
            )
        return factor.astype(self.neff.dtype)

    def tree_flatten(self) -> tuple[tuple[Array, ...], None]:
        """Returns the arrays of the estimate as the children of a pytree node."""
        return (self.neff, self.dataset, self.weights, self.covariance, self.inv_cov), None

    @classmethod
    def tree_unflatten(cls, aux_data: None, children: Sequence[Any]) -> gaussian_kde:
        """Reconstructs an estimate from its arrays."""
        del aux_data
        kde = cls.__new__(cls)
        names = ("neff", "dataset", "weights", "covariance", "inv_cov")
        for name, value in zip(names, children, strict=True):
            kde._set(name, value)
        return kde

    @property
    def d(self) -> int:
        """Number of dimensions."""
        return self.dataset.shape[0]

    @property
    def n(self) -> int:
        """Number of points."""
        return self.dataset.shape[1]

    def evaluate(self, points: ArrayLike) -> Array:
        """Computes the density at points [d, m], or [m] if d is 1.

        Returns: array [m].

        Raises:
          ValueError: if the points do not have d coordinates.
        """
        return lax.exp(self.logpdf(points))

    __call__ = evaluate
    pdf = evaluate

    def logpdf(self, x: ArrayLike) -> Array:
        """Computes the logarithm of the density at points [d, m], or [m] if d is 1.

        Returns: array [m].

        Raises:
          ValueError: if the points do not have d coordinates.
        """
        check_arraylike("logpdf", x)
        points = self._points(x)
        # With the Cholesky factor L of the covariance, the Mahalanobis distance of two points is
        # the Euclidean distance of their images under L^-1.
        whiten = jnp.linalg.cholesky(self.covariance)
        ours, theirs = (
            lax.linalg.triangular_solve(whiten, v, left_side=True, lower=True)
            for v in (self.dataset, points)
        )
        difference = ours[:, :, None] - theirs[:, None, :]
        energy = 0.5 * jnp.sum(lax.square(difference), axis=0)
        logs = jnp.sum(lax.log(jnp.diagonal(whiten)))
        normalizer = 0.5 * self.d * math.log(2 * math.pi) + logs
        weighted = lax.log(self.weights)[:, None] - energy
        top = lax.stop_gradient(jnp.max(weighted, axis=0))
        top = jnp.where(jnp.isfinite(top), top, 0)
        total = jnp.sum(lax.exp(weighted - top[None]), axis=0)
        return lax.log(total) + top - normalizer

    def _points(self, points: ArrayLike) -> Array:
        """Converts points to shape [d, m] and the dtype of the sample."""
        if is_complex(dtype_of(points)):
            raise NotImplementedError(
                f"gaussian_kde: points must be real, but they have dtype {dtype_of(points)}"
            )
        value = jnp.atleast_2d(points)
        rows, columns = value.shape
        if rows != self.d:
            if rows == 1 and columns == self.d:
                value = value.reshape(self.d, 1)
            else:
                raise ValueError(
                    f"gaussian_kde: points must have {self.d} coordinates, like the dataset, but "
                    f"they have {rows}"
                )
        return value.astype(self.dataset.dtype)

    def integrate_gaussian(self, mean: ArrayLike, cov: ArrayLike) -> Array:
        """Computes the integral of this density times a normal density.

        Args:
          mean: mean [d] of the normal density.
          cov: covariance [d, d] of the normal density.

        Raises:
          ValueError: if the shapes of `mean` and `cov` do not match d.
        """
        center = jnp.atleast_1d(jnp.squeeze(jnp.asarray(mean)))
        spread = jnp.atleast_2d(cov)
        if center.shape != (self.d,):
            raise ValueError(
                f"gaussian_kde.integrate_gaussian: `mean` must have shape {(self.d,)}, but got "
                f"{center.shape}"
            )
        if spread.shape != (self.d, self.d):
            raise ValueError(
                f"gaussian_kde.integrate_gaussian: `cov` must have shape {(self.d, self.d)}, but "
                f"got {spread.shape}"
            )
        dtype = self.dataset.dtype
        energy = self._overlap(
            center.astype(dtype)[:, None], spread.astype(dtype) + self.covariance
        )
        return jnp.sum(self.weights * energy[:, 0])

    def _overlap(self, points: Array, spread: Array) -> Array:
        """Computes a normal density of covariance `spread` at differences of points.

        Entry (i, j) of the result [n, m] is its value at sample point i minus `points[:, j]`.
        """
        whiten = jnp.linalg.cholesky(spread)
        ours, theirs = (
            lax.linalg.triangular_solve(whiten, v, left_side=True, lower=True)
            for v in (self.dataset, points)
        )
        energy = 0.5 * jnp.sum(lax.square(ours[:, :, None] - theirs[:, None, :]), axis=0)
        logs = jnp.sum(lax.log(jnp.diagonal(whiten)))
        return lax.exp(-energy - (0.5 * self.d * math.log(2 * math.pi) + logs))

    def integrate_box_1d(self, low: ArrayLike, high: ArrayLike) -> Array:
        """Computes the probability of the interval [low, high] under a one-dimensional density.

        Raises:
          ValueError: if d is not 1, or the limits are not scalars.
        """
        if self.d != 1:
            raise ValueError(
                "gaussian_kde.integrate_box_1d: the density must be one-dimensional, but its "
                f"points have {self.d} coordinates"
            )
        if jnp.ndim(low) or jnp.ndim(high):
            raise ValueError(
                "gaussian_kde.integrate_box_1d: limits must be scalars, but they have shapes "
                f"{jnp.shape(low)} and {jnp.shape(high)}"
            )
        scale = lax.sqrt(self.covariance[0, 0])
        dtype = self.dataset.dtype
        low, high = ((jnp.asarray(v).astype(dtype) - self.dataset[0]) / scale for v in (low, high))
        return jnp.sum(self.weights * (ndtr(high) - ndtr(low)))

    def integrate_kde(self, other: gaussian_kde) -> Array:
        """Computes the integral of the product of this density and that of another estimate.

        Raises:
          ValueError: if the two estimates differ in dimension.
        """
        if other.d != self.d:
            raise ValueError(
                "gaussian_kde.integrate_kde: both estimates must be of the same dimension, but they "
                f"have dimensions {self.d} and {other.d}"
            )
        overlap = self._overlap(other.dataset, self.covariance + other.covariance)
        return jnp.sum(self.weights[:, None] * overlap * other.weights[None])

    def resample(self, key: Array, shape: tuple[int, ...] = ()) -> Array:
        """Draws points from the density.

        Args:
          key: PRNG key.
          shape: batch shape of the points.

        Returns: array [d, *shape].
        """
        which, noise = random.split(key)
        index = random.choice(which, self.n, shape=shape, p=self.weights)
        factor = jnp.linalg.cholesky(self.covariance)
        normal = random.normal(noise, (self.d, math.prod(shape)), dtype=self.dataset.dtype)
        steps = jnp.matmul(factor, normal).reshape(self.d, *shape)
        return self.dataset[:, index] + steps

    def integrate_box(
        self, low_bounds: object, high_bounds: object, maxpts: object = None
    ) -> Array:
        """Not supported; `integrate_box_1d` integrates over an interval."""
        del low_bounds, high_bounds, maxpts
        raise NotImplementedError(
            "gaussian_kde.integrate_box: integrals over boxes of several dimensions are not "
            "supported, as in JAX; `integrate_box_1d` integrates over an interval"
        )

    def set_bandwidth(self, bw_method: object = None) -> None:
        """Not supported: estimates are immutable."""
        raise NotImplementedError(
            "gaussian_kde.set_bandwidth: estimates are immutable; create a new one with "
            f"bw_method={bw_method!r}"
        )
