"""`Ref`, a mutable reference to an array outside of programs, and `TransformedRef`, its views.

A `Ref` changes its array in place. It takes and returns arrays without copying them: an array to
which others may refer is marked as shared, and is copied before the next change. The operators and
methods of references, and of tracers that stand for them, are in `jitney.primitives.refs.methods`.
"""

# The data of arrays (`_data`, `_value`) is private to the package.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core.pytree.registry import register_pytree_node_class
from jitney.core.tracing.trace import Tracer
from jitney.core.types import dtypes
from jitney.core.types.refs import AbstractRef, array_type, is_ref
from jitney.core.util.record import record
from jitney.primitives.elementwise.convert import convert
from jitney.primitives.refs.elements import accumulate, change_through, read_through
from jitney.primitives.refs.indexer import NDIndexer
from jitney.primitives.refs.slices import Slice
from jitney.primitives.refs.views import type_through
from jitney.runtime.arrays.array import MAX_AXES, ArrayImpl, array_from_numpy, copied
from jitney.runtime.execution.eager import owned

if TYPE_CHECKING:
    from jitney.core.sharding.sharding import Sharding
    from jitney.core.types.avals import Shape, ShapedArray
    from jitney.core.typing import ArrayLike
    from jitney.primitives.refs.views import Step
    from jitney.runtime.devices.layout import Format


class _RefMeta(type):
    """The metaclass of `Ref`: tracers of references are instances of `Ref`."""

    def __instancecheck__(cls, instance: object) -> bool:
        kind: Any = cls
        return type(instance) is kind or (isinstance(instance, Tracer) and is_ref(instance))


class Ref(metaclass=_RefMeta):
    """A mutable reference to an array, created by `jax.new_ref`.

    `ref[index]` reads, `ref[index] = value` writes, and `ref.at[index]` is a view of a part.
    Transformed functions can take references as arguments, close over them, and create references,
    but must not return them.
    """

    __slots__ = ("__weakref__", "_array", "_aval", "_own")

    _array: ArrayImpl | None
    _own: np.ndarray | None

    def __init__(self, aval: AbstractRef, array: ArrayImpl) -> None:
        self._aval = aval
        self._array = array  # may be shared; None if `_own` has the data
        self._own = None  # unshared data

    @property
    def aval(self) -> AbstractRef:
        """The type of the reference."""
        return self._aval

    @property
    def shape(self) -> Shape:
        return self._aval.shape

    @property
    def dtype(self) -> np.dtype:
        return self._aval.dtype

    @property
    def ndim(self) -> int:
        return self._aval.ndim

    @property
    def size(self) -> int:
        return self._aval.size

    @property
    def sharding(self) -> Sharding:
        return self.content().sharding

    @property
    def committed(self) -> bool:
        return self.content().committed

    @property
    def format(self) -> Format:
        return self.content().format

    def unsafe_buffer_pointer(self) -> int:
        """Returns the address of the first element."""
        return self.content().unsafe_buffer_pointer()

    def block_until_ready(self) -> Ref:
        """Waits until the data is available; returns the reference."""
        if self._array is not None:
            self._array.block_until_ready()
        return self

    # --- content ----------------------------------------------------------------------------------

    def content(self) -> ArrayImpl:
        """Returns the current array, which later changes of the reference do not affect."""
        if self._array is None:
            assert self._own is not None
            self._own.setflags(write=False)
            self._array = array_from_numpy(self._own, array_type(self._aval))
            self._own = None
        return self._array

    def replace(self, array: ArrayImpl) -> None:
        """Replaces the array, keeping the weak type of the reference."""
        if array.weak_type is not array_type(self._aval).weak_type:
            converted: Any = convert(array, array.dtype, not array.weak_type)
            array = converted
        self._array, self._own = array, None

    def _writable(self) -> np.ndarray | None:
        """Returns data that can be written, or None if the array must be replaced completely."""
        if self._own is None:
            array = self._array
            assert array is not None
            if array.placement is not None or array.ndim > MAX_AXES:
                return None
            if dtypes.is_extended(array.dtype):
                return None
            self._own = copied(array._data(), array.dtype)
            self._array = None
        return self._own

    def read(self, indexers: tuple[Step, ...]) -> ArrayImpl:
        """Returns the elements that `indexers` select."""
        if self._own is not None and len(indexers) == 1:
            where = _numpy_index(indexers[0])
            if where is not None:
                aval = type_through(array_type(self._aval), indexers)
                return array_from_numpy(copied(self._own[where], aval.dtype), aval)
        elements: Any = read_through(self.content(), indexers)
        return elements

    def change(
        self,
        indexers: tuple[Step, ...],
        elements: ArrayLike,
        change: Callable[[Any, Step, Any], Any],
    ) -> None:
        """Changes the elements that `indexers` select, by `write` or `accumulate`."""
        is_anywhere = self._aval.inner_aval.has_default_place  # not sharded along Explicit axes
        if len(indexers) <= 1 and change is not accumulate and is_anywhere:
            if not indexers or _is_all(indexers[0]):
                self.replace(elements if type(elements) is ArrayImpl else owned(elements))
                return
            where = _numpy_index(indexers[0])
            own = self._writable() if where is not None else None
            if own is not None:
                own[where] = owned(elements)._data()
                return
        changed: Any = change_through(self.content(), indexers, elements, change)
        self.replace(changed)

    # --- copies and text --------------------------------------------------------------------------

    def __copy__(self) -> Ref:
        return Ref(self._aval, self.content())

    def __deepcopy__(self, memo: dict[int, Any]) -> Ref:
        return self.__copy__()

    def __len__(self) -> int:
        return len(self._aval)

    def __repr__(self) -> str:
        return "Ref" + repr(self.content()).removeprefix("Array")


Ref.__module__ = "jax"


def _is_all(step: Step) -> bool:
    return isinstance(step, NDIndexer) and step.is_whole


def _numpy_index(indexer: Step) -> tuple[int | slice, ...] | None:
    """Converts an indexer to a NumPy index; returns None for arrays and dynamic start indices."""
    if not isinstance(indexer, NDIndexer):
        return None
    where: list[int | slice] = []
    for entry in indexer.indices:
        if isinstance(entry, int):
            where.append(entry)
        elif isinstance(entry, Slice) and not entry.is_dynamic_start:
            start: Any = entry.start
            where.append(slice(start, start + entry.size * entry.stride, entry.stride))
        else:
            return None
    return tuple(where)


@register_pytree_node_class
@record
class TransformedRef:
    """A view of part of a reference; reads and writes go to the reference.

    Attributes:
      ref: the reference.
      transforms: a sequence of indexers and views, each of which applies to the preceding result.
    """

    ref: Any
    transforms: tuple[Step, ...]

    def tree_flatten(self) -> tuple[tuple[object, tuple[Step, ...]], tuple[()]]:
        """Returns ((reference, steps), ()), for pytrees."""
        return (self.ref, self.transforms), ()

    @classmethod
    def tree_unflatten(cls, data: tuple[Any, ...], children: tuple[Any, ...]) -> TransformedRef:
        """Inverts `tree_flatten`."""
        return cls(*children)

    @property
    def type(self) -> AbstractRef:
        """The type of a reference to the part."""
        whole = self.ref.aval
        return type(whole)(self.inner_aval, whole.memory_space, whole.kind)

    @property
    def memory_space(self) -> object:
        """The memory space of the reference, or None for the device's memory."""
        return self.ref.aval.memory_space

    @property
    def is_dynamic_size(self) -> bool:
        """Whether the number of elements is known only at run time; always False."""
        return False

    @property
    def multiref(self) -> bool:
        """Whether this is a view of several references; always False."""
        return False

    @property
    def inner_aval(self) -> ShapedArray:
        """The type of the part, as an array type."""
        return type_through(array_type(self.ref.aval), self.transforms)

    @property
    def shape(self) -> Shape:
        """The shape of the part."""
        return self.inner_aval.shape

    @property
    def dtype(self) -> np.dtype:
        return self.inner_aval.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def __repr__(self) -> str:
        return f"TransformedRef({self.ref!r}, transforms={self.transforms})"
