"""Operators and methods of references, of views, and of tracers that stand for them.

`jitney.ref` installs them when it is loaded, before the first reference is created. Until then, all
tracers have only the methods of arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from jitney.core.array import Array
from jitney.core.tracing.hi_types import describe_tracers
from jitney.core.tracing.trace import Tracer
from jitney.core.types.refs import AbstractRef, array_type
from jitney.primitives.refs import access, views
from jitney.primitives.refs.indexer import indexer_of
from jitney.primitives.refs.ref import Ref, TransformedRef

if TYPE_CHECKING:
    from jitney.core.types.avals import ShapedArray
    from jitney.core.typing import ArrayLike, DTypeLike, Index
    from jitney.primitives.refs.views import Step


class RefIndexer:
    """The attribute `at` of a reference; indexing it creates a view."""

    __slots__ = ("_ref",)

    def __init__(self, ref: Ref | TransformedRef) -> None:
        self._ref = ref

    def __getitem__(self, index: Index) -> TransformedRef:
        return _viewed(self._ref, indexer_of(index, self._ref.shape))


def _viewed(ref: Ref | TransformedRef, step: Step) -> TransformedRef:
    """Returns a view of a reference or of another view."""
    if isinstance(ref, TransformedRef):
        return TransformedRef(ref.ref, (*ref.transforms, step))
    return TransformedRef(ref, (step,))


def _type(ref: Ref | TransformedRef) -> ShapedArray:
    return ref.inner_aval if isinstance(ref, TransformedRef) else array_type(ref.aval)


def _reshape(ref: Ref | TransformedRef, *shape: int | Sequence[int]) -> TransformedRef:
    """Returns a view of the elements in another shape, in which one size may be -1."""
    return _viewed(ref, views.reshaped(_type(ref), shape))


def _transpose(
    ref: Ref | TransformedRef, permutation: Sequence[int] | None = None
) -> TransformedRef:
    """Returns a view with permuted axes, by default in reverse order."""
    return _viewed(ref, views.transposed(_type(ref), permutation))


def _bitcast(ref: Ref | TransformedRef, dtype: DTypeLike) -> TransformedRef:
    """Returns a view of the bits as another dtype; another width scales the second-to-last axis."""
    return _viewed(ref, views.bitcast(_type(ref), dtype))


def _memory_space_cast(ref: Ref | TransformedRef, memory_space: object) -> TransformedRef:
    """Returns a view in another memory space; on a CPU, all spaces are the same memory."""
    return _viewed(ref, views.MemorySpaceCastTransform(memory_space))


def _at(ref: Ref) -> RefIndexer:
    """The indexer for views: `ref.at[index]` reads and writes part of the array through `ref`."""
    return RefIndexer(ref)


def _getitem(ref: Ref, index: Index) -> Array:
    return access.get(ref, index)


def _setitem(ref: Ref, index: Index, value: ArrayLike) -> None:
    access.swap(ref, index, value, _function_name="ref_set")


def _iter(ref: Ref) -> Iterator[Array]:
    return (access.get(ref, k) for k in range(len(ref)))


def _get(ref: Ref, idx: Index | None = ()) -> Array:
    """Returns the elements at an index."""
    return access.get(ref, idx)


def _set(ref: Ref, value: ArrayLike, idx: Index | None = ()) -> None:
    """Writes `value` at an index."""
    access.set(ref, idx, value)


def _swap(ref: Ref, value: ArrayLike, idx: Index | None = ()) -> Array:
    """Writes `value` at an index; returns the previous elements."""
    return access.swap(ref, idx, value)


def _addupdate(ref: Ref, x: ArrayLike, idx: Index | None = ()) -> None:
    """Adds `x` to the elements at an index."""
    access.addupdate(ref, idx, x)


_METHODS: dict[str, Callable[..., Any]] = {
    "__getitem__": _getitem, "__setitem__": _setitem, "__iter__": _iter,
    "get": _get, "set": _set, "swap": _swap, "addupdate": _addupdate,
    "reshape": _reshape, "transpose": _transpose, "bitcast": _bitcast,
    "memory_space_cast": _memory_space_cast,
}  # fmt: skip


def _for_tracers(name: str, of_ref: Callable[..., Any]) -> Callable[..., object]:
    """Returns a special method of tracers that dispatches to references or arrays."""
    of_array = getattr(Tracer, name)

    def method(self: Tracer, *args: Any) -> object:
        chosen = of_ref if type(self.aval) is AbstractRef else of_array
        return chosen(self, *args)

    method.__name__ = name
    return method


def _property_for_tracers(name: str, of_ref: Callable[[Ref], Any]) -> property:
    """Returns an attribute of tracers that dispatches to references or arrays."""
    of_array = getattr(Array, name, None)

    def attribute(self: Tracer) -> object:
        if type(self.aval) is AbstractRef:
            return of_ref(cast("Ref", self))
        if of_array is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return of_array.__get__(self)

    return property(attribute)


def install() -> None:
    """Installs operators and methods in `Ref`, `TransformedRef` and `Tracer`."""
    properties = {"at": property(_at), "T": property(_transpose)}
    describe_tracers(AbstractRef, {**_METHODS, **properties})
    for cls in (Ref, TransformedRef):
        for name, method in _METHODS.items():
            setattr(cls, name, method)
        for name, member in properties.items():
            setattr(cls, name, member)
    for name, method in _METHODS.items():
        if name.startswith("__"):
            setattr(Tracer, name, _for_tracers(name, method))
        else:
            setattr(
                Tracer, name, _property_for_tracers(name, lambda self, m=method: m.__get__(self))
            )
    for name, of_ref in (("at", _at), ("T", _transpose)):
        setattr(Tracer, name, _property_for_tracers(name, of_ref))
