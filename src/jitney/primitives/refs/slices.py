"""`jax.ds`: slices of static size with a possibly dynamic start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jitney.core.pytree.registry import register_pytree_node_class
from jitney.core.util.record import record

if TYPE_CHECKING:
    from jitney.core.typing import Array


@register_pytree_node_class
@record
class Slice:
    """The `size` positions start, start + stride, start + 2 stride, ...

    Like a Python slice, an index of this class keeps the axis; unlike the bounds of a Python slice,
    `start` can be traced. If there are fewer than `size` elements after `start`, reads clamp
    `start`, and updates are dropped. If the stride is not 1, positions are clamped or dropped
    individually.

    Attributes:
      start: an integer, or an integer scalar array. Negative values count from the end if the index
        has no arrays and all strides are 1.
      size: the number of positions, an integer.
      stride: the distance between positions, a nonnegative integer.

    Raises:
      ValueError: if the stride is negative.
    """

    start: int | Array
    size: int | Array
    stride: int = 1

    def __post_init__(self) -> None:
        if self.stride < 0:
            raise ValueError(f"Slice: `stride` must be >= 0, got {self.stride}")

    @property
    def is_dynamic_start(self) -> bool:
        """Whether the start is an array."""
        return not isinstance(self.start, int)

    @property
    def is_dynamic_size(self) -> bool:
        """Whether the size is an array."""
        return not isinstance(self.size, int)

    def tree_flatten(self) -> tuple[tuple[object, ...], tuple[object, ...]]:
        """Returns (start and size, as far as they are arrays; all other data), for pytrees."""
        children = (
            self.start if self.is_dynamic_start else None,
            self.size if self.is_dynamic_size else None,
        )
        static = (
            None if self.is_dynamic_start else self.start,
            None if self.is_dynamic_size else self.size,
            self.stride,
        )
        return children, static

    @classmethod
    def tree_unflatten(cls, aux_data: tuple[Any, ...], children: tuple[Any, ...]) -> Slice:
        """Returns the slice that `tree_flatten` flattened."""
        start, size = (
            static if static is not None else child
            for static, child in zip(aux_data[:2], children, strict=True)
        )
        return cls(start, size, aux_data[2])

    @classmethod
    def from_slice(cls, slc: slice, size: int) -> Slice:
        """Converts a Python slice of an axis with size `size`.

        Raises:
          ValueError: if the step is negative.
        """
        start, stop, step = slc.indices(size)
        if step < 1:
            raise ValueError(f"Slice: a slice must have a step >= 1, got {step}")
        return cls(start, max((stop - start + step - 1) // step, 0), step)


def ds(
    start: int | Array | None, size: int | Array | None = None, stride: int | None = None
) -> slice | Slice:
    """Returns an index of `size` positions that begin at `start`, which can be traced.

    Args:
      start: the first position. If `size` is not given, this is the size, and the slice begins at
        0. None selects the entire axis.
      size: the number of positions.
      stride: the distance between positions; 1 by default.

    Returns: a `Slice`, or Python's `slice(None)`.

    Example:
      >>> jax.jit(lambda x, i: x[jax.ds(i, 2)])(jnp.arange(5), 3)
      Array([3, 4], dtype=int32)
    """
    if start is None:
        return slice(None)
    if size is None:
        start, size = 0, start
    return Slice(start, size, 1 if stride is None else stride)
