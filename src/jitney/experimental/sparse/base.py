"""`JAXSparse`: the base class of all sparse formats."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from jitney.core.pytree import pytrees
from jitney.core.tracing.trace import Tracer

if TYPE_CHECKING:
    from jitney.core.typing import Array, ArrayLike, Index


class JAXSparse:
    """A sparse array: a pytree of arrays with a static shape and static flags.

    The operators `+`, `-`, `*`, `/`, `@`, `abs`, indexing and `sum` are functions of `jax.numpy`
    transformed by `sparsify`; `operators.py` adds them to the classes.

    Attributes:
      data: the stored elements.
      shape: shape of the dense array.
    """

    data: Array
    shape: tuple[int, ...]
    __array_priority__ = 100  # NumPy's arrays defer to these operators

    if TYPE_CHECKING:  # set by operators.py
        sum: Callable[..., Any]
        reshape: Callable[..., Any]
        astype: Callable[..., Any]

        def __matmul__(self, other: JAXSparse | ArrayLike) -> Any: ...
        def __rmatmul__(self, other: JAXSparse | ArrayLike) -> Any: ...
        def __getitem__(self, index: Index) -> Any: ...
        def __mul__(self, other: JAXSparse | ArrayLike) -> Any: ...
        def __add__(self, other: JAXSparse | ArrayLike) -> Any: ...

    def __init__(self, args: tuple[Any, ...], *, shape: Sequence[int]) -> None:
        """Creates a sparse array of the given shape from the arrays `args` of its format."""
        self.shape = tuple(int(n) for n in shape)

    @property
    def size(self) -> int:
        """The number of elements of the dense array."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the elements."""
        return self.data.dtype

    @property
    def nse(self) -> int:
        """The number of stored elements ("number of specified elements")."""
        raise NotImplementedError(f"{type(self).__name__}.nse")

    @property
    def T(self) -> Self:
        """The array with its axes reversed."""
        return self.transpose()

    def todense(self) -> Array:
        """Converts the array to a dense one."""
        raise NotImplementedError(f"{type(self).__name__}.todense")

    def transpose(self, axes: Sequence[int] | None = None) -> Self:
        """Returns the array with its axes permuted."""
        raise NotImplementedError(f"{type(self).__name__}.transpose")

    def tree_flatten(self) -> tuple[tuple[Array, ...], dict[str, object]]:
        """Returns (arrays, static data)."""
        raise NotImplementedError(f"{type(self).__name__}.tree_flatten")

    @classmethod
    def tree_unflatten(cls, aux_data: dict[str, Any], children: tuple[Any, ...]) -> Self:
        """Returns the sparse array with the given static data and arrays."""
        raise NotImplementedError(f"{cls.__name__}.tree_unflatten")

    def block_until_ready(self) -> Self:
        """Waits until all of its arrays are computed."""
        for x in pytrees.tree_leaves(self):
            x.block_until_ready()
        return self

    def __hash__(self) -> int:
        raise TypeError(
            f"unhashable type: {type(self).__name__!r}"
        )  # like arrays: == is elementwise

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __repr__(self) -> str:
        name = type(self).__name__
        try:
            dtype, shape, nse = self.dtype, list(self.shape), self.nse
        except (AttributeError, IndexError, TypeError):  # placeholders of transformations
            return f"{name}(<invalid>)"
        layout = ", ".join(
            f"{k}={getattr(self, k)}" for k in ("n_batch", "n_dense") if getattr(self, k, 0)
        )
        text = f"{dtype}{shape}, {nse=}" + (f", {layout}" if layout else "")
        if isinstance(self.data, Tracer):
            return f"{type(self.data).__name__}[{name}({text})]"
        return f"{name}({text})"
