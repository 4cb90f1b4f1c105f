"""Methods of arrays that reduce or accumulate along axes: `x.sum()`, `x.argmax()`, `x.cumsum()`.

They belong to `jitney.numpy.array_methods`; each calls the function of the same name in
`jax.numpy`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitney.core.array import Array
from jitney.core.typing import ArrayLike, Axis, DTypeLike
from jitney.primitives.linalg.precision import PrecisionLike

# Type checkers see the other attributes of arrays; at run time, methods are copied from here.
if TYPE_CHECKING:
    _Base = Array
else:
    _Base = object


class ReductionMethods(_Base):
    """Reductions and products as methods; see the functions of `jax.numpy` for their arguments."""

    def all(
        self,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
    ) -> Array:
        """Returns whether all elements along `axis` are true."""
        from jitney import numpy as jnp

        return jnp.all(self, axis, out, keepdims, where=where)

    def any(
        self,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
    ) -> Array:
        """Returns whether any element along `axis` is true."""
        from jitney import numpy as jnp

        return jnp.any(self, axis, out, keepdims, where=where)

    def argmax(
        self, axis: int | None = None, out: None = None, keepdims: bool | None = None
    ) -> Array:
        """Returns the index of the first occurrence of the maximum."""
        from jitney import numpy as jnp

        return jnp.argmax(self, axis, out, keepdims)

    def argmin(
        self, axis: int | None = None, out: None = None, keepdims: bool | None = None
    ) -> Array:
        """Returns the index of the first occurrence of the minimum."""
        from jitney import numpy as jnp

        return jnp.argmin(self, axis, out, keepdims)

    def max(
        self,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array:
        """Returns the largest element along `axis`."""
        from jitney import numpy as jnp

        return jnp.max(self, axis, out, keepdims, initial, where)

    def min(
        self,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array:
        """Returns the smallest element along `axis`."""
        from jitney import numpy as jnp

        return jnp.min(self, axis, out, keepdims, initial, where)

    def mean(
        self,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
    ) -> Array:
        """Returns the mean along `axis`."""
        from jitney import numpy as jnp

        return jnp.mean(self, axis, dtype, out, keepdims, where=where)

    def sum(
        self,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
        promote_integers: bool = True,
    ) -> Array:
        """Returns the sum along `axis`."""
        from jitney import numpy as jnp

        return jnp.sum(self, axis, dtype, out, keepdims, initial, where, promote_integers)

    def prod(
        self,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
        promote_integers: bool = True,
    ) -> Array:
        """Returns the product along `axis`."""
        from jitney import numpy as jnp

        return jnp.prod(self, axis, dtype, out, keepdims, initial, where, promote_integers)

    def ptp(self, axis: Axis = None, out: None = None, keepdims: bool = False) -> Array:
        """Returns the difference between the largest and the smallest element along `axis`."""
        from jitney import numpy as jnp

        return jnp.ptp(self, axis, out, keepdims)

    def std(
        self,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        ddof: int = 0,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
        correction: float | None = None,
    ) -> Array:
        """Returns the standard deviation along `axis`."""
        from jitney import numpy as jnp

        return jnp.std(self, axis, dtype, out, ddof, keepdims, where=where, correction=correction)

    def var(
        self,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        ddof: int = 0,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
        correction: float | None = None,
    ) -> Array:
        """Returns the variance along `axis`."""
        from jitney import numpy as jnp

        return jnp.var(self, axis, dtype, out, ddof, keepdims, where=where, correction=correction)

    def cumsum(
        self, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
    ) -> Array:
        """Returns the running sum along `axis`, or of the flattened array."""
        from jitney import numpy as jnp

        return jnp.cumsum(self, axis, dtype, out)

    def cumprod(
        self, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
    ) -> Array:
        """Returns the running product along `axis`, or of the flattened array."""
        from jitney import numpy as jnp

        return jnp.cumprod(self, axis, dtype, out)

    def dot(
        self,
        b: ArrayLike,
        *,
        precision: PrecisionLike = None,
        preferred_element_type: DTypeLike | None = None,
    ) -> Array:
        """Contracts the last axis of the array with the second-to-last axis of `b`."""
        from jitney import numpy as jnp

        return jnp.dot(self, b, precision=precision, preferred_element_type=preferred_element_type)

    def trace(
        self,
        offset: ArrayLike = 0,
        axis1: int = 0,
        axis2: int = 1,
        dtype: DTypeLike | None = None,
        out: None = None,
    ) -> Array:
        """Returns the sums of the diagonals over `axis1` and `axis2`."""
        from jitney import numpy as jnp

        return jnp.trace(self, offset, axis1, axis2, dtype, out)
