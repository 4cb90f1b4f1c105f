"""Attention masks of shape (queries, keys), computed lazily.

`mask[rows, columns]` returns a block of a mask as a boolean array, in which True means that the
query attends to the key.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney.core.util.lazy import listing

__dir__ = listing(__name__)


class Mask:
    """The base class of masks."""

    @property
    def shape(self) -> tuple[int, ...]:
        raise NotImplementedError

    def __getitem__(self, idx: Any) -> np.ndarray:
        raise NotImplementedError

    def __bool__(self) -> bool:
        raise NotImplementedError(
            "a mask has no truth value; combine masks with `&` and `|` instead of `and` and `or`"
        )

    def __or__(self, other: Mask) -> Mask:
        return _Combined(self, other, np.logical_or)

    def __and__(self, other: Mask) -> Mask:
        return _Combined(self, other, np.logical_and)


class _Combined(Mask):
    """An elementwise combination of two masks of the same shape."""

    def __init__(self, left: Mask, right: Mask, combine: np.ufunc) -> None:
        if left.shape != right.shape:
            raise ValueError(f"masks of shapes {left.shape} and {right.shape} do not match")
        self.left, self.right, self.combine = left, right, combine

    @property
    def shape(self) -> tuple[int, ...]:
        return self.left.shape

    def __getitem__(self, idx: Any) -> np.ndarray:
        return self.combine(self.left[idx], self.right[idx])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Combined) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return self.left, self.right, self.combine


class _Computed(Mask):
    """A mask that is a function of the positions of query and key."""

    def __init__(self, shape: tuple[int, int], offset: int = 0) -> None:
        self._shape = shape
        self.offset = offset

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    def sees(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """Returns whether queries at the given positions attend to keys at the given positions."""
        raise NotImplementedError

    def __getitem__(self, idx: Any) -> np.ndarray:
        rows, columns = _two(idx, self)
        queries = np.arange(self._shape[0])[rows][:, None] + self.offset
        keys = np.arange(self._shape[1])[columns][None, :]
        return np.broadcast_to(self.sees(queries, keys), (queries.size, keys.size)).copy()

    def _key(self) -> tuple[object, ...]:
        return type(self), self._shape, self.offset

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Computed) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def _two(idx: Any, mask: Mask) -> tuple[slice, slice]:
    if not isinstance(idx, tuple) or len(idx) != 2:
        raise NotImplementedError(
            f"{type(mask).__name__} must be indexed by two slices, but got {idx!r}"
        )
    return idx[0], idx[1]


class CausalMask(_Computed):
    """A mask for which a query attends to the keys up to its own position plus `offset`."""

    def __init__(self, shape: tuple[int, int], offset: int = 0, shard_count: int = 1) -> None:
        super().__init__(shape, offset)

    def sees(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        return queries >= keys


class LocalMask(_Computed):
    """A mask for which a query attends to the keys in a window around its position.

    Args:
      shape: numbers of queries and keys.
      window_size: numbers of keys before and after the position of the query; None for no limit.
      offset: position of the first query.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        window_size: tuple[int | None, int | None],
        offset: int,
        shard_count: int = 1,
    ) -> None:
        super().__init__(shape, offset)
        self.window_size = window_size

    def sees(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        before, behind = self.window_size
        seen = np.ones(np.broadcast_shapes(queries.shape, keys.shape), np.bool_)
        if before is not None:
            seen &= queries - before <= keys
        if behind is not None:
            seen &= queries + behind >= keys
        return seen

    def _key(self) -> tuple[object, ...]:
        return *super()._key(), self.window_size


class FullMask(_Computed):
    """A mask for which every query attends to every key."""

    def __init__(self, _shape: tuple[int, int]) -> None:
        super().__init__(_shape)

    def sees(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        return np.ones((1, 1), np.bool_)


@dataclasses.dataclass(eq=False)
class NumpyMask(Mask):
    """A mask given as a boolean array."""

    array: np.ndarray

    def __post_init__(self) -> None:
        if self.array.ndim != 2:
            raise ValueError(
                f"NumpyMask: array must have two axes, but got shape {self.array.shape}"
            )
        if self.array.dtype != np.bool_:
            raise ValueError(f"NumpyMask: array must be boolean, but got {self.array.dtype}")

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def __getitem__(self, idx: Any) -> np.ndarray:
        return np.asarray(self.array)[idx]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NumpyMask) and np.array_equal(self.array, other.array)

    def __hash__(self) -> int:
        return hash((type(self), np.asarray(self.array).tobytes()))


@dataclasses.dataclass(eq=False)
class MultiHeadMask(Mask):
    """A stack of masks, one for each head."""

    masks: Sequence[Mask]

    def __post_init__(self) -> None:
        if not self.masks:
            raise ValueError("MultiHeadMask: expected at least one mask, but got none")
        shapes = {mask.shape for mask in self.masks}
        if len(shapes) > 1:
            raise ValueError(
                f"MultiHeadMask: masks must have the same shape, but got {sorted(shapes)}"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        return len(self.masks), *self.masks[0].shape

    def __getitem__(self, idx: Any) -> np.ndarray:
        if not isinstance(idx, tuple) or len(idx) != 3:
            raise NotImplementedError(
                f"MultiHeadMask must be indexed by a head and two slices, but got {idx!r}"
            )
        head, *slices = idx
        if isinstance(head, slice):
            return np.stack([mask[tuple(slices)] for mask in self.masks[head]])
        return self.masks[int(head)][tuple(slices)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MultiHeadMask) and tuple(self.masks) == tuple(other.masks)

    def __hash__(self) -> int:
        return hash((type(self), tuple(self.masks)))


def make_causal_mask(shape: tuple[int, int], offset: int = 0) -> np.ndarray:
    """Returns a `CausalMask` as an array."""
    return CausalMask(shape, offset)[:, :]


def make_local_attention_mask(
    shape: tuple[int, int], window_size: tuple[int | None, int | None], *, offset: int = 0
) -> np.ndarray:
    """Returns a `LocalMask` as an array."""
    return LocalMask(shape, window_size, offset)[:, :]


def make_random_mask(shape: tuple[int, int], sparsity: float, seed: int) -> np.ndarray:
    """Returns a random mask in which each element is False with probability `sparsity`."""
    return np.random.RandomState(seed).binomial(1, 1.0 - sparsity, shape).astype(np.bool_)
