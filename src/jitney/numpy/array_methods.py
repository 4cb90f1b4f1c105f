"""Methods and properties of arrays: `x.sum()`, `x.T`, `x.at`, iteration.

They are collected in the class `ArrayMethods`, which is never instantiated: `jitney.wiring` copies
its attributes to `core.array.Array`, so that arrays and tracers have them. Each calls the function
of the same name in `jax.numpy`. Operators are defined in `jitney.numpy.operators`.
"""

# The functions are imported where they are called, because their modules need arrays that already
# have methods, and because most programs use few of the functions.
# The data of arrays (`_data`) is private to the package.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

import numpy as np

from jitney.core.messages import cures, messages
from jitney.core.sharding_in_types import explicit
from jitney.core.source import user_code
from jitney.core.typing import Array, ArrayLike, Axis, DTypeLike, Index, ShapeLike
from jitney.numpy import indexing, views
from jitney.numpy.at import IndexUpdateHelper
from jitney.primitives.array.concatenation import unstack
from jitney.primitives.array.shape import rev, transpose
from jitney.runtime.arrays.array import ArrayImpl, array_from_numpy

if TYPE_CHECKING:
    from types import ModuleType, NotImplementedType

    from jitney.core.sharding.partition_spec import PartitionSpec
    from jitney.core.sharding.sharding import Sharding
    from jitney.runtime.devices.device import Device


# Type checkers see the other attributes of arrays; at run time, methods are copied from here.
if TYPE_CHECKING:
    _Base = Array
else:
    _Base = object


class ArrayMethods(_Base):
    """The methods and properties that arrays and tracers share, except operators."""

    # --- elements ---------------------------------------------------------------------------------

    @property
    def at(self) -> IndexUpdateHelper:
        """A helper for updates by index: `x.at[index].set(y)` returns `x` with `x[index] = y`.

        Indices out of bounds are not errors: updates there are dropped, and `get` returns the
        nearest element. The argument `mode` of each method changes this.
        """
        return IndexUpdateHelper(self)

    def __getitem__(self, index: Index, /) -> Array:
        return indexing.getitem(self, index)

    def __setitem__(self, index: Index, value: ArrayLike) -> NoReturn:
        code = user_code.current()
        assignment = messages.located(messages.statement(code), "x[index] = y", code)
        raise TypeError(
            f"{assignment}: the elements of a JAX array cannot be assigned to, as arrays are "
            "immutable; a compiled program updates an array in place if the old value is not "
            f"needed later.\nInstead: {cures.of_assignment(code)}{messages.see('in-place')}"
        )

    def __iter__(self) -> Iterator[Array]:
        return iter(_rows(self))

    def __reversed__(self) -> Iterator[Array]:
        if self.ndim == 0:
            raise TypeError("iteration needs an axis, but the array is a scalar, of rank 0")
        return iter(_rows(rev(self, (0,))))

    def __contains__(self, other: ArrayLike, /) -> Any:
        from jitney.numpy.comparison import equal
        from jitney.numpy.reductions import any as any_true

        if np.ndim(other) != 0:
            raise ValueError(
                "`value in x`: the value must be a scalar, but it has shape "
                f"{np.shape(other)}; use jnp.isin(value, x) to look up each element"
            )
        if self.ndim != 1:
            raise ValueError(
                f"`value in x`: x must be one-dimensional, but it has shape {self.shape}; "
                "use jnp.isin(value, x), which accepts any shape"
            )
        return any_true(equal(self, other))

    def __round__(self, ndigits: int | None = None) -> Array:
        from jitney.numpy.rounding import round as round_to

        out = round_to(self, decimals=0 if ndigits is None else ndigits)
        return views.astype(out, int) if ndigits is None else out

    # --- interfaces -------------------------------------------------------------------------------

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        namespace: Any = sys.modules["jitney.numpy"]
        if api_version not in (None, namespace.__array_api_version__):
            raise ValueError(
                "__array_namespace__: jax.numpy implements only version "
                f"{namespace.__array_api_version__!r} of the array API standard, got "
                f"api_version={api_version!r}; omit api_version"
            )
        return namespace

    def __array_module__(self, types: Sequence[type]) -> ModuleType | NotImplementedType:
        if all(issubclass(t, ArrayImpl | np.ndarray) for t in types):
            return sys.modules["jitney.numpy"]
        return NotImplemented

    # --- type -------------------------------------------------------------------------------------

    def astype(
        self, dtype: DTypeLike | None, copy: bool = False, device: Device | Sharding | None = None
    ) -> Array:
        """Returns the elements converted to `dtype`, or to the default float if it is None."""
        return views.astype(self, dtype, copy=copy, device=device)

    def view(self, dtype: DTypeLike | None = None, type: None = None) -> Array:
        """Reinterprets the bytes as `dtype`; the last axis is resized accordingly."""
        if type is not None:
            raise NotImplementedError(
                f"Array.view: `type` must be None, as arrays have no subclasses, but got {type!r}"
            )
        return views.view(self, dtype)

    def to_device(self, device: Device | Sharding, *, stream: object = None) -> Array:
        """Returns the array moved to a device or resharded; in a trace, records the move."""
        from jitney.api.parallel.device_put import device_put

        return device_put(self, device)

    def byteswap(self) -> Array:
        """Returns the array with the bytes of each element reversed."""
        return views.byteswap(self)

    def copy(self) -> Array:
        """Returns a copy of the array."""
        from jitney.numpy.creation import copy

        return copy(self)

    @property
    def real(self) -> Array:
        """The real part of the array."""
        from jitney.numpy.complex_parts import real

        return real(self)

    @property
    def imag(self) -> Array:
        """The imaginary part of the array."""
        from jitney.numpy.complex_parts import imag

        return imag(self)

    def conj(self) -> Array:
        """Returns the complex conjugate, elementwise."""
        from jitney import numpy as jnp

        return jnp.conjugate(self)

    def conjugate(self) -> Array:
        """Returns the complex conjugate, elementwise."""
        from jitney import numpy as jnp

        return jnp.conjugate(self)

    # --- shape ------------------------------------------------------------------------------------

    @property
    def T(self) -> Array:
        """The array with all axes in reversed order."""
        return transpose(self, tuple(range(self.ndim))[::-1])

    @property
    def mT(self) -> Array:
        """The array with its last two axes exchanged."""
        if self.ndim < 2:
            raise ValueError(
                f"Array.mT: the array must have two or more axes, but it has shape {self.shape}"
            )
        rank = self.ndim
        return transpose(self, (*range(rank - 2), rank - 1, rank - 2))

    @property
    def flat(self) -> NoReturn:
        raise NotImplementedError(
            "Array.flat: a flat view does not exist, as arrays are immutable; x.ravel() returns "
            "the elements in order, and x.ravel().at[k].set(y) replaces one of them in a copy"
        )

    def reshape(
        self,
        *args: ShapeLike,
        order: str = "C",
        out_sharding: Sharding | PartitionSpec | None = None,
    ) -> Array:
        """Returns the elements in another shape, passed as a tuple or as one argument per axis."""
        from jitney.numpy.manipulation import reshape

        shape: Any = args[0] if len(args) == 1 else args
        return reshape(self, shape, order=order, out_sharding=out_sharding)

    def flatten(
        self, order: str = "C", *, out_sharding: Sharding | PartitionSpec | None = None
    ) -> Array:
        """Returns the array flattened to one axis."""
        from jitney.numpy.manipulation import ravel

        return ravel(self, order=order, out_sharding=out_sharding)

    def ravel(
        self, order: str = "C", *, out_sharding: Sharding | PartitionSpec | None = None
    ) -> Array:
        """Returns the array flattened to one axis."""
        from jitney.numpy.manipulation import ravel

        return ravel(self, order=order, out_sharding=out_sharding)

    def transpose(self, *args: SupportsIndex | Sequence[SupportsIndex] | None) -> Array:
        """Returns the array with its axes in the given order; by default, they are reversed."""
        if not args:
            axes: Any = None
        elif len(args) == 1:
            order = args[0]
            several = order is None or isinstance(order, Sequence) or getattr(order, "ndim", 0)
            axes = order if several else args
        else:
            axes = args
        from jitney.numpy.manipulation import transpose

        return transpose(self, axes)

    def squeeze(self, axis: Axis = None) -> Array:
        """Returns the array without axes of size 1."""
        from jitney.numpy.manipulation import squeeze

        return squeeze(self, axis)

    def swapaxes(self, axis1: int, axis2: int) -> Array:
        """Returns the array with two axes exchanged."""
        from jitney.numpy.manipulation import swapaxes

        return swapaxes(self, axis1, axis2)

    def repeat(
        self,
        repeats: ArrayLike,
        axis: int | None = None,
        *,
        total_repeat_length: int | None = None,
        out_sharding: Sharding | PartitionSpec | None = None,
    ) -> Array:
        """Repeats each slice along `axis`; by default, each element of the flattened array."""
        from jitney import numpy as jnp

        return jnp.repeat(
            self,
            repeats,
            axis,
            total_repeat_length=total_repeat_length,
            out_sharding=out_sharding,
        )

    # --- choice -----------------------------------------------------------------------------------

    def take(
        self,
        indices: ArrayLike,
        axis: int | None = None,
        out: None = None,
        mode: str | None = None,
        unique_indices: bool = False,
        indices_are_sorted: bool = False,
        fill_value: ArrayLike | None = None,
    ) -> Array:
        """Returns the elements at `indices` along `axis`."""
        from jitney import numpy as jnp

        return jnp.take(
            self, indices, axis, out, mode, unique_indices, indices_are_sorted, fill_value
        )

    def choose(
        self,
        choices: Array | np.ndarray | Sequence[ArrayLike],
        out: None = None,
        mode: str = "raise",
    ) -> Array:
        """Selects elements from the arrays `choices` by the indices in this array."""
        from jitney import numpy as jnp

        return jnp.choose(self, choices, out, mode)

    def compress(
        self,
        condition: ArrayLike,
        axis: int | None = None,
        *,
        out: None = None,
        size: int | None = None,
        fill_value: ArrayLike = 0,
    ) -> Array:
        """Returns the slices along `axis` for which `condition` is true."""
        from jitney import numpy as jnp

        return jnp.compress(condition, self, axis, size=size, fill_value=fill_value, out=out)

    def nonzero(
        self, *, fill_value: ArrayLike | None = None, size: int | None = None
    ) -> tuple[Array, ...]:
        """Returns the indices of the elements that are not zero."""
        from jitney import numpy as jnp

        return jnp.nonzero(self, size=size, fill_value=fill_value)

    def clip(self, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Array:
        """Clips the elements to [min, max]."""
        from jitney import numpy as jnp

        return jnp.clip(self, min, max)

    def round(self, decimals: int = 0, out: None = None) -> Array:
        """Rounds the elements to `decimals` decimal places."""
        from jitney import numpy as jnp

        return jnp.round(self, decimals, out)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
        """Returns the diagonals over `axis1` and `axis2`, as the last axis."""
        from jitney import numpy as jnp

        return jnp.diagonal(self, offset, axis1, axis2)

    # --- order ------------------------------------------------------------------------------------

    def sort(
        self,
        axis: int | None = -1,
        *,
        kind: None = None,
        order: None = None,
        stable: bool = True,
        descending: bool = False,
    ) -> Array:
        """Sorts the elements along `axis`, in ascending order by default."""
        from jitney import numpy as jnp

        return jnp.sort(self, axis, kind=kind, order=order, stable=stable, descending=descending)

    def argsort(
        self,
        axis: int | None = -1,
        *,
        kind: None = None,
        order: None = None,
        stable: bool = True,
        descending: bool = False,
    ) -> Array:
        """Returns the indices that sort the array along `axis`."""
        from jitney import numpy as jnp

        return jnp.argsort(self, axis, kind=kind, order=order, stable=stable, descending=descending)

    def argpartition(self, kth: int, axis: int = -1) -> Array:
        """Returns the indices that partition the array along `axis`."""
        from jitney import numpy as jnp

        return jnp.argpartition(self, kth, axis)

    def searchsorted(
        self,
        v: ArrayLike,
        side: str = "left",
        sorter: ArrayLike | None = None,
        *,
        method: str = "scan",
    ) -> Array:
        """Returns the positions at which to insert `v` to keep the array sorted."""
        from jitney import numpy as jnp

        return jnp.searchsorted(self, v, side, sorter, method=method)


def _rows(x: Array) -> list[Array]:
    """Returns the slices along the first axis."""
    if x.ndim == 0:
        raise TypeError("iteration needs an axis, but the array is a scalar, of rank 0")
    if type(x) is ArrayImpl and x.placement is None:
        aval = x.aval.update(shape=x.shape[1:])
        return [array_from_numpy(np.asarray(row), aval) for row in x._data()]
    if type(x) is ArrayImpl and not x.is_fully_replicated and x.is_fully_addressable:
        return _rows(array_from_numpy(x._data(), explicit.typed(x.aval, None)))  # on no mesh
    return list(unstack(x)) if x.shape[0] else []


def attributes(methods: type) -> dict[str, object]:
    """Returns the members defined by a class of methods, without those that every class has."""
    skipped = ("__module__", "__dict__", "__weakref__", "__doc__", "__qualname__", "__firstlineno__",
               "__static_attributes__", "__annotations__", "__orig_bases__")  # fmt: skip
    return {name: value for name, value in vars(methods).items() if name not in skipped}
