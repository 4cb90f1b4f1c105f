"""Sharding rules, which relate the axes of the operands and results of an operation.

A rule names a *factor*, one letter or word, for each axis, as in einsum: "i k, k j -> i j". Axes
with the same factor are sharded alike. An axis may consist of several factors, "(i j)", major
first; "..." stands for any number of leading axes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from jitney.core.messages import messages
from jitney.core.util.record import record

BATCHING = "…"
"""Stands for any number of leading axes in an `ArrayMapping`; a digit may follow."""

Names: TypeAlias = tuple[Any, ...]  # the mesh axes that shard an array axis, major first


def _check_name(name: str) -> None:
    if not name[:1].isalpha():
        raise ValueError(
            f"sharding rule: a factor's name must begin with a letter, but is {name!r}"
        )
    if not all([c.isalnum() or c == "_" for c in name]):
        raise ValueError(
            "sharding rule: a factor's name must consist of letters, digits and underscores, but "
            f"is {name!r}"
        )


def _is_leading(factor: object) -> bool:
    return isinstance(factor, str) and factor[:1] == BATCHING


class CompoundFactor(tuple[str, ...]):
    """Several factors that together form one axis, major first.

    Raises:
      ValueError: if there are fewer than two, or one is not a name.
    """

    __slots__ = ()

    def __new__(cls, *factors: Any) -> CompoundFactor:
        if len(factors) < 2:
            raise ValueError(f"CompoundFactor must have at least two factors, but has {factors}")
        for factor in factors:
            if not isinstance(factor, str):
                raise ValueError(f"CompoundFactor: factors must be strings, but one is {factor!r}")
            if _is_leading(factor):
                raise ValueError(
                    f"CompoundFactor: {factor!r} denotes several axes, so it cannot be a factor of "
                    "one axis"
                )
            _check_name(factor)
        return super().__new__(cls, factors)


class ArrayMapping(tuple["str | CompoundFactor", ...]):
    """The factors of an array's axes.

    Raises:
      ValueError: if an entry is not a factor, or `BATCHING` is not the first.
    """

    __slots__ = ()

    def __new__(cls, *dim_mappings: Any) -> ArrayMapping:
        for k, factor in enumerate(dim_mappings):
            if isinstance(factor, CompoundFactor):
                continue
            if not isinstance(factor, str):
                raise ValueError(
                    "ArrayMapping: entries must be strings or CompoundFactors, but one is "
                    f"{factor!r}"
                )
            if not _is_leading(factor):
                _check_name(factor)
            elif k or not all([c.isdigit() for c in factor[1:]]):
                raise ValueError(
                    f"ArrayMapping: {factor!r}, which denotes the leading axes, optionally "
                    f"numbered, must come first, but is entry {k} of {dim_mappings}"
                )
        return super().__new__(cls, dim_mappings)


class SdyShardingRule:
    """The correspondence between the axes of the operands and results of an operation.

    Args:
      operand_mappings: the factors of the axes of each operand.
      result_mappings: the factors of the axes of each result.
      reduction_factors: the factors over which results are sums or other reductions.
      need_replication_factors: the factors along which each device needs all elements. `partition`
        must ensure this, as for all special factors: they do not affect the shardings of results.
      permutation_factors: the factors along which elements are permuted.
      **factor_sizes: the sizes of factors that only occur within compound factors.

    Raises:
      ValueError: if a factor is unknown, a size is missing or superfluous, or a factor is of two
        kinds.
      TypeError: if a size is not an integer.
    """

    def __init__(
        self,
        operand_mappings: tuple[ArrayMapping, ...],
        result_mappings: tuple[ArrayMapping, ...],
        *,
        reduction_factors: tuple[str, ...] = (),
        need_replication_factors: tuple[str, ...] = (),
        permutation_factors: tuple[str, ...] = (),
        **factor_sizes: int,
    ) -> None:
        self.operand_mappings = operand_mappings
        self.result_mappings = result_mappings
        self.factor_sizes = factor_sizes
        self.reduction_factors = reduction_factors
        self.need_replication_factors = need_replication_factors
        self.permutation_factors = permutation_factors
        self._check()

    def _check(self) -> None:
        if not all([type(n) is int for n in self.factor_sizes.values()]):
            raise TypeError(
                f"sharding rule: sizes of factors must be integers, but are {self.factor_sizes}"
            )
        whole: set[str] = set()
        parts: dict[str, None] = {}
        mappings: tuple[Any, ...] = (*self.operand_mappings, *self.result_mappings)
        for mapping in mappings:  # users may ignore the annotations
            if not isinstance(mapping, ArrayMapping):
                raise TypeError(
                    f"sharding rule: each array needs an ArrayMapping, but got {mapping!r}"
                )
            for factor in mapping:
                if isinstance(factor, CompoundFactor):
                    parts.update(dict.fromkeys(factor))
                else:
                    whole.add(factor)
        for name in self.factor_sizes:
            if name in whole:
                raise ValueError(
                    f"sharding rule: factor {name!r} is an axis by itself, so its size is known; "
                    f"omit {name}={self.factor_sizes[name]}"
                )
            if name not in parts:
                raise ValueError(
                    f"sharding rule: {name}={self.factor_sizes[name]} is the size of a factor "
                    f"that no axis has; the factors are {sorted(whole | parts.keys())}"
                )
        for name in parts:
            if name not in whole and name not in self.factor_sizes:
                raise ValueError(
                    f"sharding rule: factor {name} occurs only within compound factors; pass its "
                    f"size, {name}=..."
                )
        self._check_kinds(whole | parts.keys())

    def _check_kinds(self, known: set[str]) -> None:
        """Raises ValueError unless the factors of each kind are `known`, and of one kind."""
        seen: set[str] = set()
        for kind, factors in self._kinds():
            if isinstance(factors, str):
                raise ValueError(
                    f"sharding rule: {kind} must be a tuple of names, but is {factors!r}"
                )
            for name in factors:
                if name not in known:
                    raise ValueError(
                        f"sharding rule: {name!r}, one of {kind}, is not a factor of any axis"
                    )
                if name in seen:
                    raise ValueError(
                        f"sharding rule: a factor must be of one kind, but {name!r} is in two of "
                        "`reduction_factors`, `need_replication_factors` and `permutation_factors`"
                    )
                seen.add(name)

    def _kinds(self) -> list[tuple[str, tuple[str, ...]]]:
        return [
            ("reduction_factors", self.reduction_factors),
            ("need_replication_factors", self.need_replication_factors),
            ("permutation_factors", self.permutation_factors),
        ]

    def __repr__(self) -> str:
        kinds = "".join([f" {kind}={factors}" for kind, factors in self._kinds() if factors])
        return (
            f"SdyShardingRule({self.operand_mappings}, {self.result_mappings}, "
            f"{self.factor_sizes}{kinds})"
        )

    # --- for arrays of given shapes ---------------------------------------------------------------

    def bound(
        self, operands: Sequence[tuple[int, ...]], results: Sequence[tuple[int, ...]]
    ) -> BoundRule:
        """Returns the rule for operands and results of given shapes.

        Raises:
          ValueError: if the numbers of arrays or axes, or the sizes, do not match.
        """
        sizes: dict[str, int] = dict(self.factor_sizes)
        leading: dict[str, int] = {}
        axes: list[list[tuple[str, ...]]] = []
        for kind, mappings, shapes in (
            ("operand", self.operand_mappings, operands),
            ("result", self.result_mappings, results),
        ):
            if len(mappings) != len(shapes):
                raise ValueError(
                    f"sharding rule: the rule is for {messages.counted(len(mappings), kind)}, but "
                    f"{messages.there_are(len(shapes))}, "
                    f"of shapes {list(shapes)}"
                )
            for k, (mapping, shape) in enumerate(zip(mappings, shapes, strict=True)):
                axes.append(_spread(f"{kind} {k}", mapping, shape, leading))
                for factors, n in zip(axes[-1], shape, strict=True):
                    if len(factors) == 1:
                        sizes.setdefault(factors[0], n)
        shapes = [*operands, *results]
        for k, (factors, shape) in enumerate(zip(axes, shapes, strict=True)):
            kind, i = ("operand", k) if k < len(operands) else ("result", k - len(operands))
            for axis, n in zip(factors, shape, strict=True):
                extent = math.prod([sizes[name] for name in axis])
                if len(axis) > 1 and extent != n:
                    raise ValueError(
                        f"sharding rule: an axis of {kind} {i}, of shape {shape}, has the factors "
                        f"{axis}, whose sizes have the product {extent}, but the axis has size {n}"
                    )
        return BoundRule(
            tuple(map(tuple, axes[: len(operands)])), tuple(map(tuple, axes[len(operands) :])),
            sizes,
        )  # fmt: skip


def _spread(
    what: str, mapping: ArrayMapping, shape: tuple[int, ...], leading: dict[str, int]
) -> list[tuple[str, ...]]:
    """Returns the factors of each axis; `leading` holds the number of axes of each ellipsis."""
    n_leading = 0
    explicit: Sequence[str | CompoundFactor] = mapping
    if mapping and _is_leading(mapping[0]):
        explicit = mapping[1:]
        n_leading = len(shape) - len(explicit)
    if n_leading < 0 or n_leading + len(explicit) != len(shape):
        raise ValueError(
            f"sharding rule: {what}, of shape {shape}, has {messages.counted(len(shape), 'axis')}, "
            f"but the rule has factors for {'at least ' if n_leading else ''}{len(explicit)}: "
            f"{mapping}"
        )
    names: list[tuple[str, ...]] = []
    if len(explicit) < len(mapping):
        ellipsis = str(mapping[0])
        n = leading.setdefault(ellipsis, n_leading)
        if n != n_leading:
            raise ValueError(
                f"sharding rule: {ellipsis} denotes {n} axes in one mapping, but {n_leading} axes "
                f"in {what}, of shape {shape}"
            )
        names += [(f"{ellipsis}_{i}",) for i in range(n_leading)]
    return names + [tuple(f) if isinstance(f, CompoundFactor) else (f,) for f in explicit]


@record(frozen=True, eq=False)
class BoundRule:
    """A sharding rule for given shapes.

    Attributes:
      operands: the factors of each axis of each operand.
      results: the factors of each axis of each result.
      sizes: the sizes of the factors.
    """

    operands: tuple[tuple[tuple[str, ...], ...], ...]
    results: tuple[tuple[tuple[str, ...], ...], ...]
    sizes: dict[str, int]

    def of_results(
        self, specs: Sequence[Sequence[Names]], extents: Mapping[Any, int]
    ) -> list[tuple[Names, ...]]:
        """Returns the specs of the results for operands with the given `specs`.

        A factor is sharded as in the operand that shards it most finely; if operands conflict, it
        is not sharded.

        Args:
          specs: for each axis of each operand, the mesh axes that shard it, major first.
          extents: the sizes of the mesh axes.
        """
        axes_of_factor = self._axes_of_factors(specs, extents)
        return [
            tuple([self._axis(axis, axes_of_factor, extents) for axis in axes])
            for axes in self.results
        ]

    def of_operands(
        self,
        specs: Sequence[Sequence[Names]],
        is_open: Sequence[bool],
        extents: Mapping[Any, int],
    ) -> list[tuple[Names, ...]]:
        """Returns `specs` with the shardings of the other operands propagated.

        Only operands that are marked in `is_open` change.
        """
        axes_of_factor = self._axes_of_factors(specs, extents)
        out: list[tuple[Names, ...]] = []
        for spec, axes, may_change in zip(specs, self.operands, is_open, strict=True):
            own = list(spec)
            for k, axis in enumerate(axes if may_change else ()):
                wanted = self._axis(axis, axes_of_factor, extents)
                others = {name for i, names in enumerate(own) if i != k for name in names}
                if wanted[: len(own[k])] == own[k] and not others.intersection(wanted):
                    own[k] = wanted
            out.append(tuple(own))
        return out

    def _axes_of_factors(
        self, specs: Sequence[Sequence[Names]], extents: Mapping[Any, int]
    ) -> dict[str, Names]:
        """Returns the mesh axes that shard each factor."""
        axes_of_factor: dict[str, Names] = {}
        contradicted: set[str] = set()
        for spec, axes in zip(specs, self.operands, strict=True):
            for names, factors in zip(spec, axes, strict=True):
                for factor, own in self._factors(names, factors, extents):
                    old = axes_of_factor.get(factor, ())
                    if own[: len(old)] == old:
                        axes_of_factor[factor] = own
                    elif old[: len(own)] != own:
                        contradicted.add(factor)
        for factor in contradicted:
            axes_of_factor[factor] = ()
        return axes_of_factor

    def _factors(
        self, names: Names, factors: tuple[str, ...], extents: Mapping[Any, int]
    ) -> list[tuple[str, Names]]:
        """Returns (factor, mesh axes) for each factor of an axis sharded by `names`, in order."""
        out: list[tuple[str, Names]] = []
        remaining = list(names)
        for factor in factors:
            own: list[Any] = []
            left = self.sizes[factor]
            while remaining and left % extents[remaining[0]] == 0:
                left //= extents[remaining[0]]
                own.append(remaining.pop(0))
            out.append((factor, tuple(own)))
            if left > 1:  # minor factors are sharded only if this one is completely
                break
        return out

    def _axis(
        self,
        factors: tuple[str, ...],
        axes_of_factor: Mapping[str, Names],
        extents: Mapping[Any, int],
    ) -> Names:
        names: list[Any] = []
        for factor in factors:
            own = axes_of_factor.get(factor, ())
            names += own
            if math.prod([extents[name] for name in own]) != self.sizes[factor]:
                break
        return tuple(names)


Rule: TypeAlias = SdyShardingRule | str | Callable[..., Any] | None


# --- notation -------------------------------------------------------------------------------------


def parse(text: str, **options: Any) -> SdyShardingRule:
    """Parses a sharding rule such as "i (j k), ... -> ... i".

    Args:
      text: the factors of operands and of results.
      **options: further arguments of `SdyShardingRule`.

    Raises:
      ValueError: if the text is not valid; the message says why.
    """
    sides = text.split("->")
    if len(sides) != 2:
        raise ValueError(
            f"sharding rule {text!r}: it must contain '->' exactly once, between operands and "
            "results, as in 'i k, k j -> i j'"
        )
    operands, results = [tuple([_parse_array(part) for part in side.split(",")]) for side in sides]
    return SdyShardingRule(operands, results, **options)


def _parse_array(text: str) -> ArrayMapping:
    entries: list[str | CompoundFactor] = []
    group: list[str] | None = None
    k = 0
    while k < len(text):
        c = text[k]
        if c.isspace():
            k += 1
        elif c == ".":
            if text[k : k + 3] != "...":
                raise _misread(text, "an ellipsis must have three dots, '...'")
            if entries or group is not None:
                raise _misread(text, "'...' denotes the leading axes, so it must come first")
            end = k + 3
            while end < len(text) and text[end].isdigit():
                end += 1
            entries.append(BATCHING + (text[k + 3 : end] or "0"))
            k = end
        elif c == "(":
            if group is not None:
                raise _misread(text, "parentheses cannot be nested")
            group, k = [], k + 1
        elif c == ")":
            if group is None:
                raise _misread(text, "a closing parenthesis has no opening parenthesis")
            if len(group) < 2:
                raise _misread(text, "parentheses must enclose at least two factors")
            entries.append(CompoundFactor(*group))
            group, k = None, k + 1
        elif c.isalnum() or c == "_":
            end = k
            while end < len(text) and (text[end].isalnum() or text[end] == "_"):
                end += 1
            (entries if group is None else group).append(text[k:end])
            k = end
        else:
            raise _misread(text, f"unexpected character {c!r}")
    if group is not None:
        raise _misread(text, "a parenthesis is not closed")
    return ArrayMapping(*entries)


def _misread(text: str, reason: str) -> ValueError:
    return ValueError(f"sharding rule: in {text.strip()!r}, {reason}")
