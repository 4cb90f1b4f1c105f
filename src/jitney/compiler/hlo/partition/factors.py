"""Factors of a node: the axes of its index space, which determine how it can be sharded.

A node computes over an index space. Each axis of it is a *factor*; an axis of an operand or of a
result runs over one factor, over several (for a reshape; major first), or over none: then it has to
be replicated. To shard a node is to assign mesh axes to factors. From this follow the shardings of
its operands and results, and over which devices results are partial: those of a factor that is
summed over. A product has three factors:

    x[i, k] y[k, j] -> out[i, j], k reduced by add

A rule for each kind of node returns its factors, and builds the node for shards; `rule` registers
it. A node without a rule is replicated: each device computes all of it.

The idea is Shardy's (openxla.org/shardy).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import ir
from jitney.compiler.hlo.partition.layout import Mesh, Names
from jitney.compiler.hlo.partition.movement import Movement
from jitney.compiler.hlo.sharding_propagation import Spec
from jitney.core.record import record

Dims: TypeAlias = tuple[tuple[int, ...], ...]  # for each axis of a tensor, its factors
Division: TypeAlias = Mapping[int, Names]  # the mesh axes assigned to factors

# (movement, shards of operands, sharding of factors, shapes of result shards) -> result shards
Build: TypeAlias = Callable[
    [Movement, list[ir.Node], Division, list[ir.Shape]], "ir.Node | list[ir.Node]"
]


@record(frozen=True, eq=False)
class Factors:
    """How a node can be sharded.

    Attributes:
      sizes: sizes of the factors; the number of shards along a factor has to divide its size.
      operands: for each operand the factors of its axes.
      results: for each result the factors of its axes.
      build: builds the node for shards.
      reduced: factors that results are reduced over, with the monoid; along these, results are
        partial.
      nodes: the operands, if they are not the node's own.
    """

    sizes: Sequence[int]
    operands: Sequence[Dims]
    results: Sequence[Dims]
    build: Build
    reduced: Mapping[int, ir.Monoid] = {}
    nodes: Sequence[ir.Node] | None = None

    def operand_specs(self, division: Division) -> list[Spec]:
        """Returns the specs of operands for a sharding of factors."""
        return [_spec(dims, division) for dims in self.operands]

    def result_specs(self, division: Division) -> list[Spec]:
        """Returns the specs of results for a sharding of factors."""
        return [_spec(dims, division) for dims in self.results]

    def read(self, dims: Dims, spec: Spec, mesh: Mesh) -> dict[int, Names]:
        """Returns the sharding of factors that a tensor with axes `dims` and `spec` implies.

        Mesh axes that do not divide factors evenly are left out.
        """
        division: dict[int, Names] = {}
        for factors, names in zip(dims, spec, strict=True):
            remaining = names
            for factor in factors:
                taken = 0
                while (
                    taken < len(remaining)
                    and self.sizes[factor] % mesh.parts(remaining[: taken + 1]) == 0
                ):
                    taken += 1
                if taken:
                    division[factor] = remaining[:taken]
                remaining = remaining[taken:]
                if mesh.parts(division.get(factor, ())) != self.sizes[factor]:
                    break
        return division

    def divisions(
        self, specs: Sequence[Spec | None], mesh: Mesh
    ) -> Iterator[tuple[dict[int, Names], int]]:
        """Yields shardings of the node that operands suggest: first all combined, last none.

        With each, it yields the number of shards along axes that no operand has sharded so, or 1.

        Args:
          specs: specs of the operands; None for those that are available in any sharding.
          mesh: the mesh.
        """
        options: dict[int, list[Names]] = {}
        kept = set[tuple[int, Names]]()
        for dims, spec in zip(self.operands, specs, strict=True):
            if spec is not None:
                read = self.read(dims, spec, mesh)
                kept.update(read.items())
                for factor, names in read.items():
                    _add(options, factor, names)
                self._moved(options, dims, spec, read)
        chosen_of = itertools.product(*[[*known, ()] for known in options.values()])
        for chosen in itertools.islice(chosen_of, COSTS.divisions):
            used = [name for names in chosen for name in names]
            division = {f: names for f, names in zip(options, chosen, strict=True) if names}
            if len(used) == len(set(used)) and self.is_possible(division, mesh):
                moved = [names for f, names in division.items() if (f, names) not in kept]
                yield division, math.prod(map(mesh.parts, moved))

    def _moved(
        self, options: dict[int, list[Names]], dims: Dims, spec: Spec, read: Mapping[int, Names]
    ) -> None:
        """Adds options for mesh axes that an axis of the operand cannot stay sharded along.

        These are moved to other axes of the operand.
        """
        for factors, names in zip(dims, spec, strict=True):
            kept = sum([len(read.get(factor, ())) for factor in factors])
            if names[kept:]:
                for other in {factor for axis in dims for factor in axis[:1]}:
                    _add(options, other, (*read.get(other, ()), *names[kept:]))

    def is_possible(self, division: Division, mesh: Mesh) -> bool:
        """Returns whether shards are blocks, and partial results have a single monoid.

        The number of shards has to divide the size of a factor; factors before it in an axis must
        be sharded completely.
        """
        if any([self.sizes[f] % mesh.parts(names) for f, names in division.items()]):
            return False
        for factors in {axis for dims in (*self.operands, *self.results) for axis in dims}:
            for major, minor in itertools.pairwise(factors):
                whole = mesh.parts(division.get(major, ())) == self.sizes[major]
                if not whole and any([f in division for f in factors[factors.index(minor) :]]):
                    return False
        return len({fn for factor, fn in self.reduced.items() if factor in division}) < 2


def _add(options: dict[int, list[Names]], factor: int, names: Names) -> None:
    known = options.setdefault(factor, [])
    if names not in known:
        known.append(names)


def _spec(dims: Dims, division: Division) -> Spec:
    return tuple([
        tuple([name for factor in factors for name in division.get(factor, ())])
        for factors in dims
    ])  # fmt: skip


Rule: TypeAlias = Callable[[Any], "Factors | None"]
_rules: dict[type, Rule] = {}


def rule(*kinds: type) -> Callable[[Rule], Rule]:
    """Registers how nodes of `kinds` can be sharded.

    The rule is node -> factors, or None if the node has to be replicated.
    """

    def enter(rule: Rule) -> Rule:
        for kind in kinds:
            _rules[kind] = rule
        return rule

    return enter


def factors_of(node: ir.Node) -> Factors | None:
    """Returns how `node` can be sharded, or None if it has to be replicated."""
    factor_rule = _rules.get(type(node))
    return None if factor_rule is None else factor_rule(node)


def refinement(old: ir.Shape, new: ir.Shape) -> tuple[list[int], Dims, Dims]:
    """Returns the common factors of the axes of two shapes of equal size.

    They are the sizes of the factors, and the factors of each axis of the two shapes.
    """
    bounds = sorted({*_bounds(old), *_bounds(new)}, reverse=True)
    spans = [*itertools.pairwise(bounds)]
    usable = {span for span in spans if span[0] % span[1] == 0}
    while True:  # factors after an unusable one in an axis are not blocks of it
        before = len(usable)
        for shape in (old, new):
            for axis, inner in zip(_spans(shape, spans), _bounds(shape)[1:], strict=True):
                fits = [span in usable and span[1] % inner == 0 for span in axis]
                usable -= {*axis[[*fits, False].index(False) :]}
        if len(usable) == before:
            break
    numbers = {span: k for k, span in enumerate([s for s in spans if s in usable])}
    dims = [
        tuple([tuple([numbers[s] for s in axis if s in numbers]) for axis in _spans(shape, spans)])
        for shape in (old, new)
    ]
    return [high // low for high, low in numbers], dims[0], dims[1]


def _bounds(shape: ir.Shape) -> list[int]:
    return [math.prod(shape[k:]) for k in range(len(shape) + 1)]


def _spans(shape: ir.Shape, spans: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Returns the spans that each axis of a shape consists of."""
    bounds = _bounds(shape)
    return [
        [span for span in spans if high >= span[0] and span[1] >= low]
        for high, low in itertools.pairwise(bounds)
    ]
