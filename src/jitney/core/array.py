"""`Array`, the abstract base class of all arrays: concrete arrays and tracers.

The class is public as `jax.Array`. `jitney.wiring` attaches its operators and methods, so concrete
arrays and tracers share them. Nothing in this module depends on how values are stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


class OfData:
    """An attribute that only concrete arrays have.

    Reading it on any other array raises an error that says so.
    """

    __slots__ = ("__name__",)

    def __set_name__(self, owner: type, name: str) -> None:
        self.__name__ = name

    def __get__(self, x: Array | None, owner: type | None = None) -> OfData:
        if x is None:
            return self
        raise x.__without_data__(self.__name__)


class Array:
    """An immutable n-dimensional array.

    Arrays are created by functions such as those of `jax.numpy` and `jax.device_put`, not by
    calling this class. `isinstance(x, jax.Array)` is true for concrete arrays and for tracers.
    """

    __slots__ = ()
    __array_priority__ = 100

    # --- type: attributes that concrete arrays and tracers derive from `aval` ---------------------

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype:
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        return len(self.aval.shape)

    @property
    def size(self) -> int:
        return self.aval.size

    @property
    def nbytes(self) -> int:
        return self.aval.size * self.aval.dtype.itemsize

    @property
    def itemsize(self) -> int:
        return self.aval.dtype.itemsize

    @property
    def weak_type(self) -> bool:
        return self.aval.weak_type

    # --- placement: attributes that concrete arrays define ----------------------------------------

    addressable_data = OfData()
    addressable_shards = OfData()
    committed = OfData()
    copy_to_host_async = OfData()
    device = OfData()
    global_shards = OfData()
    is_fully_addressable = OfData()
    is_fully_replicated = OfData()
    sharding = OfData()
    traceback = OfData()

    def __without_data__(self, name: str) -> Exception:
        """Returns the error to raise for an attribute that needs data."""
        return AttributeError(f"{type(self).__name__} has no {name}", name=name, obj=self)

    def item(self, *args: int) -> bool | int | float | complex:
        """Returns an element as a Python scalar: the only element, or the one at an index."""
        return self._numpy().item(*args)

    if TYPE_CHECKING:
        # Attributes that concrete arrays and tracers define themselves, or that `jitney.wiring`
        # attaches.
        def __getattr__(self, name: str) -> Any: ...
        def __getitem__(self, index: Any, /) -> Array: ...
        def __iter__(self) -> Iterator[Array]: ...
        def __len__(self) -> int: ...

    def __init__(self, *_: Any, **__: Any) -> None:
        raise TypeError("jax.Array cannot be instantiated; use jax.numpy.array(...)")


Array.__module__ = "jax"
