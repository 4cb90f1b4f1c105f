"""`jax._src.util`: functions that split, merge and update lists and tuples."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, MutableSet, Sequence
from typing import Any, Generic, SupportsIndex, TypeVar

T = TypeVar("T")
S = TypeVar("S")
U = TypeVar("U")


def unzip2(pairs: Iterable[tuple[T, S]]) -> tuple[tuple[T, ...], tuple[S, ...]]:
    """Returns tuples of the first and of the second elements of pairs."""
    listed = list(pairs)
    return tuple(x for x, _ in listed), tuple(y for _, y in listed)


def unzip3(
    triples: Iterable[tuple[T, S, U]],
) -> tuple[tuple[T, ...], tuple[S, ...], tuple[U, ...]]:
    """Returns tuples of the first, second and third elements of triples."""
    listed = list(triples)
    return (
        tuple(x for x, _, _ in listed),
        tuple(y for _, y, _ in listed),
        tuple(z for *_, z in listed),
    )


def safe_zip(first: Iterable[T], *others: Iterable[T]) -> list[tuple[T, ...]]:
    """Returns the tuples of `zip` as a list.

    Raises:
      ValueError: if the lengths of the arguments differ.
    """
    lists = [list(first), *map(list, others)]
    if any(len(x) != len(lists[0]) for x in lists):
        raise ValueError(
            f"safe_zip: arguments must have equal lengths, but got {[len(x) for x in lists]}"
        )
    return list(zip(*lists, strict=True))


def ranges_like(*xs: Sequence[Any]) -> Iterator[range]:
    """Yields consecutive ranges with the lengths of the arguments."""
    start = 0
    for x in xs:
        yield range(start, start + len(x))
        start += len(x)


def remaining(original: Iterable[T], *removed_lists: Iterable[T]) -> list[T]:
    """Returns the elements of `original` that are in none of the lists; they can be unhashable."""
    removed = list(itertools.chain(*removed_lists))
    return [x for x in original if x not in removed]


def subvals(lst: Sequence[T], replace: Iterable[tuple[int, T]]) -> tuple[T, ...]:
    """Returns the elements as a tuple, with the elements at some positions replaced."""
    values = list(lst)
    for position, value in replace:
        values[position] = value
    return tuple(values)


def split_list(args: Sequence[T], ns: Sequence[int]) -> list[list[T]]:
    """Splits a list into consecutive lists of `ns` elements, and a list of the rest."""
    values = list(args)
    ends = list(itertools.accumulate(ns, initial=0))
    pieces = [values[begin:end] for begin, end in itertools.pairwise(ends)]
    return [*pieces, values[ends[-1] :]]


def split_list_checked(args: Sequence[T], ns: Sequence[int]) -> list[list[T]]:
    """Splits a list into consecutive lists of `ns` elements, which must add up to its length."""
    assert sum(ns) == len(args), (ns, len(args))
    return split_list(args, ns)[:-1]


def partition_list(bs: Sequence[bool], l: Sequence[T]) -> tuple[list[T], list[T]]:  # noqa: E741
    """Returns a list of the elements whose flag is False, and a list of all others."""
    assert len(bs) == len(l), (len(bs), len(l))
    parts: tuple[list[T], list[T]] = [], []
    for flag, value in zip(bs, l, strict=True):
        parts[bool(flag)].append(value)
    return parts


def merge_lists(bs: Sequence[bool], l0: Sequence[T], l1: Sequence[T]) -> list[T]:
    """Merges two lists by flags; the inverse of `partition_list`."""
    sides = iter(l0), iter(l1)
    merged = [next(sides[bool(flag)]) for flag in bs]
    assert all(next(side, None) is None for side in sides), (len(bs), len(l0), len(l1))
    return merged


def subs_list(subs: Sequence[int | None], src: Sequence[T], base: Sequence[T]) -> list[T]:
    """Returns `src[k]` for each index k in `subs`, and the next element of `base` for each None."""
    return subs_list2(subs, [None] * len(subs), src, [], base)


def subs_list2(
    subs1: Sequence[int | None],
    subs2: Sequence[int | None],
    src1: Sequence[T],
    src2: Sequence[T],
    base: Sequence[T],
) -> list[T]:
    """Computes `subs_list` with two sources, of which the first takes precedence."""
    others = iter(base)
    merged = [
        src1[k1] if k1 is not None else src2[k2] if k2 is not None else next(others)
        for k1, k2 in zip(subs1, subs2, strict=True)
    ]
    assert next(others, None) is None
    return merged


def concatenate(xs: Iterable[Sequence[T]]) -> list[T]:
    """Returns a list of the elements of all of `xs`, in order."""
    return list(itertools.chain.from_iterable(xs))


def unflatten(xs: Iterable[T], ns: Sequence[int]) -> list[list[T]]:
    """Splits elements into consecutive lists of `ns` elements, which must use all elements."""
    values = iter(xs)
    pieces = [list(itertools.islice(values, n)) for n in ns]
    assert next(values, None) is None
    return pieces


def tuple_insert(t: tuple[T, ...], idx: int, val: T) -> tuple[T, ...]:
    """Returns the tuple with `val` inserted at position `idx`, from 0 to the length of `t`."""
    assert 0 <= idx <= len(t), (idx, len(t))
    return (*t[:idx], val, *t[idx:])


def tuple_delete(t: tuple[T, ...], idx: int) -> tuple[T, ...]:
    """Returns the tuple without the element at position `idx`."""
    assert 0 <= idx < len(t), (idx, len(t))
    return t[:idx] + t[idx + 1 :]


def tuple_update(t: tuple[T, ...], idx: int, val: T) -> tuple[T, ...]:
    """Returns the tuple with `val` at position `idx`."""
    assert 0 <= idx < len(t), (idx, len(t))
    return (*t[:idx], val, *t[idx + 1 :])


def stable_unique(it: Iterable[T]) -> Iterable[T]:
    """Returns each element once, in the order of first occurrence."""
    return dict.fromkeys(it).keys()


def ceil_of_ratio(x: int, y: int) -> int:
    """Returns x / y, rounded up."""
    return -(-x // y)


def canonicalize_axis(axis: SupportsIndex, num_dims: int) -> int:
    """Returns an axis as an index in 0 ... `num_dims` - 1; negative axes count from the end.

    Raises:
      ValueError: if the axis is out of range.
    """
    position = operator.index(axis)
    if not -num_dims <= position < num_dims:
        axes = f"the axes {-num_dims} to {num_dims - 1}" if num_dims else "no axes"
        raise ValueError(
            f"axis {position} is out of bounds: an array of rank {num_dims} has {axes}"
        )
    return position % num_dims


def canonicalize_axis_tuple(
    axis: int | Sequence[int] | None, ndim: int, allow_duplicate: bool = False
) -> tuple[int, ...]:
    """Returns the indices of one or several axes, or of all axes if `axis` is None.

    Raises:
      ValueError: if an axis is out of range, or occurs twice and `allow_duplicate` is False.
    """
    if axis is None:
        return tuple(range(ndim))
    several = axis if isinstance(axis, Sequence) else (axis,)
    axes = tuple(canonicalize_axis(x, ndim) for x in several)
    if not allow_duplicate and len(set(axes)) != len(axes):
        raise ValueError(f"axes must be unique, but got axis={axis}")
    return axes


def maybe_named_axis(axis: Any, if_pos: Callable[[int], T], if_named: Callable[[Any], T]) -> T:
    """Calls `if_pos` with the index of an axis, or `if_named` with its name."""
    try:
        position = operator.index(axis)
    except TypeError:
        return if_named(axis)
    return if_pos(position)


class OrderedSet(MutableSet[T], Generic[T]):
    """A set that is iterated over in insertion order."""

    def __init__(self, elements: Iterable[T] = ()) -> None:
        self._elements = dict.fromkeys(elements)

    def __contains__(self, x: object) -> bool:
        return x in self._elements

    def __iter__(self) -> Iterator[T]:
        return iter(self._elements)

    def __len__(self) -> int:
        return len(self._elements)

    def add(self, value: T) -> None:
        """Adds an element at the end, if it is new."""
        self._elements.setdefault(value)

    def update(self, *others: Iterable[T]) -> None:
        """Adds all elements of `others`."""
        for value in itertools.chain(*others):
            self.add(value)

    def discard(self, value: T) -> None:
        """Removes an element, if present."""
        self._elements.pop(value, None)
