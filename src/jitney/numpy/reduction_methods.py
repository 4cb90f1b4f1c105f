"""Methods of arrays that reduce or accumulate along axes: `x.sum()`, `x.argmax()`, `x.cumsum()`.

A part of `jitney.numpy.array_methods`; each calls the function of the same name in `jax.numpy`.
"""

from __future__ import annotations

from typing import Any


class ReductionMethods:
    """Reductions and products as methods; see the functions for their arguments."""

    def all(
        self, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None
    ) -> Any:
        """True where all elements are."""
        from jitney.numpy import reductions

        return reductions.all(self, axis, out, keepdims, where=where)

    def any(
        self, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None
    ) -> Any:
        """True where one element is."""
        from jitney.numpy import reductions

        return reductions.any(self, axis, out, keepdims, where=where)

    def argmax(
        self, axis: int | None = None, out: None = None, keepdims: bool | None = None
    ) -> Any:
        """Index of the largest element."""
        from jitney.numpy import arg_extremes

        return arg_extremes.argmax(self, axis, out, keepdims)

    def argmin(
        self, axis: int | None = None, out: None = None, keepdims: bool | None = None
    ) -> Any:
        """Index of the smallest element."""
        from jitney.numpy import arg_extremes

        return arg_extremes.argmin(self, axis, out, keepdims)

    def max(
        self,
        axis: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        """The largest element."""
        from jitney.numpy import reductions

        return reductions.max(self, axis, out, keepdims, initial, where)

    def min(
        self,
        axis: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        """The smallest element."""
        from jitney.numpy import reductions

        return reductions.min(self, axis, out, keepdims, initial, where)

    def mean(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        *,
        where: Any = None,
    ) -> Any:
        """The mean."""
        from jitney.numpy import reductions

        return reductions.mean(self, axis, dtype, out, keepdims, where=where)

    def sum(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
        promote_integers: bool = True,
    ) -> Any:
        """The sum."""
        from jitney.numpy import reductions

        return reductions.sum(self, axis, dtype, out, keepdims, initial, where, promote_integers)

    def prod(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
        promote_integers: bool = True,
    ) -> Any:
        """The product."""
        from jitney.numpy import reductions

        return reductions.prod(self, axis, dtype, out, keepdims, initial, where, promote_integers)

    def ptp(self, axis: Any = None, out: None = None, keepdims: bool = False) -> Any:
        """The largest element less the smallest."""
        from jitney.numpy import reductions

        return reductions.ptp(self, axis, out, keepdims)

    def std(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: None = None,
        ddof: int = 0,
        keepdims: bool = False,
        *,
        where: Any = None,
        correction: float | None = None,
    ) -> Any:
        """The standard deviation."""
        from jitney.numpy import reductions

        return reductions.std(
            self, axis, dtype, out, ddof, keepdims, where=where, correction=correction
        )

    def var(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: None = None,
        ddof: int = 0,
        keepdims: bool = False,
        *,
        where: Any = None,
        correction: float | None = None,
    ) -> Any:
        """The variance."""
        from jitney.numpy import reductions

        return reductions.var(
            self, axis, dtype, out, ddof, keepdims, where=where, correction=correction
        )

    def cumsum(self, axis: Any = None, dtype: Any = None, out: None = None) -> Any:
        """Sums of the elements up to each."""
        from jitney.numpy import cumulative

        return cumulative.cumsum(self, axis, dtype, out)

    def cumprod(self, axis: Any = None, dtype: Any = None, out: None = None) -> Any:
        """Products of the elements up to each."""
        from jitney.numpy import cumulative

        return cumulative.cumprod(self, axis, dtype, out)

    def dot(self, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
        """Sum of products over the last axis and the last but one axis of `b`."""
        from jitney.numpy import products

        return products.dot(
            self, b, precision=precision, preferred_element_type=preferred_element_type
        )

    def trace(
        self,
        offset: Any = 0,
        axis1: int = 0,
        axis2: int = 1,
        dtype: Any = None,
        out: None = None,
    ) -> Any:
        """Sum along a diagonal."""
        from jitney.numpy import triangular

        return triangular.trace(self, offset, axis1, axis2, dtype, out)
