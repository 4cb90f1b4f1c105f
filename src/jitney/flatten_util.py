"""`jax.flatten_util`: conversion of pytrees of arrays to vectors and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from jitney import lax, numpy as jnp
from jitney.core.pytree import pytrees
from jitney.core.source import user_warnings
from jitney.core.types import dtypes
from jitney.core.util.lazy import listing

if TYPE_CHECKING:
    from jitney.core.typing import Array, ArrayLike, PyTree

_T = TypeVar("_T")

__dir__ = listing(__name__)


class _Unravel:
    """A function from a vector to a pytree; compares equal if structure, shapes and dtypes do."""

    def __init__(
        self,
        tree: pytrees.PyTreeDef,
        shapes: Sequence[tuple[int, ...]],
        kinds: Sequence[np.dtype],
        dtype: np.dtype,
    ) -> None:
        self._key = (tree, shapes, kinds, dtype)

    def __call__(self, vector: ArrayLike) -> PyTree:
        tree, shapes, kinds, dtype = self._key
        vector_dtype = getattr(vector, "dtype", None) or dtypes.dtype(vector)
        if any(kind != dtype for kind in kinds) and vector_dtype != dtype:
            raise TypeError(
                f"unravel: the vector must have dtype {dtype}, like the result of ravel_pytree, but "
                f"has {vector_dtype}"
            )
        sizes = [math.prod(s) for s in shapes]
        if not sizes:
            return pytrees.tree_unflatten(tree, [])
        parts = lax.split(jnp.asarray(vector), sizes)
        leaves = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
        if any(kind != dtype for kind in kinds):
            with user_warnings.held():  # the imaginary parts of real leaves are discarded
                leaves = [
                    lax.convert_element_type(x, kind) for x, kind in zip(leaves, kinds, strict=True)
                ]
        return pytrees.tree_unflatten(tree, leaves)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Unravel) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def ravel_pytree(pytree: _T) -> tuple[Array, Callable[[ArrayLike], _T]]:
    """Concatenates all elements of a pytree of arrays to one vector.

    Args:
      pytree: pytree of arrays and scalars, which are promoted to a common dtype.

    Returns: (vector, unravel), where `unravel` converts a vector of this size to a pytree with the
      structure, shapes and dtypes of `pytree`. If the leaves have different dtypes, it raises
      TypeError for vectors whose dtype is not that of the returned vector.

    Example:
      >>> vector, unravel = jax.flatten_util.ravel_pytree({"a": 1.0, "b": jnp.array([2.0, 3.0])})
      >>> vector
      Array([1., 2., 3.], dtype=float32)
      >>> unravel(2 * vector)["b"]
      Array([4., 6.], dtype=float32)
    """
    leaves, tree = pytrees.tree_flatten(pytree)
    if not leaves:
        return jnp.zeros(0, jnp.float32), _Unravel(tree, (), (), np.dtype(np.float32))
    arrays = [jnp.asarray(x) for x in leaves]
    kinds = tuple(x.dtype for x in arrays)
    shapes = tuple(x.shape for x in arrays)
    dtype = kinds[0] if all(k == kinds[0] for k in kinds) else jnp.result_type(*arrays)
    if any(k != dtype for k in kinds):
        arrays = [lax.convert_element_type(x, dtype) for x in arrays]
    vector = jnp.concatenate([jnp.ravel(x) for x in arrays])
    return vector, _Unravel(tree, shapes, kinds, dtype)
