"""Divisions of a node: the ways in which it can be sharded.

Sharding a node means assigning mesh axes to the factors of its index map (`hlo.index_map`). The
assignment determines the shardings of its operands and results, and the devices over which results
are partial: those along the mesh axes of a factor that is summed over. Each kind of node has a
function that builds it for shards, which `builds` registers. A node without such a function is
replicated: each device computes all of it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import ir
from jitney.compiler.hlo.index_map import index_map
from jitney.compiler.hlo.partition.layout import Mesh, Names
from jitney.compiler.hlo.partition.movement import Movement
from jitney.compiler.hlo.sharding_propagation import Spec
from jitney.core.util.index_space import Dims, Division, IndexMap
from jitney.core.util.record import record

# (movement, shards of operands, sharding of factors, shapes of result shards) -> result shards
Build: TypeAlias = Callable[
    [Movement, list[ir.Node], Division, list[ir.Shape]], "ir.Node | list[ir.Node]"
]


@record(frozen=True, eq=False)
class Factors:
    """The ways in which a node can be sharded.

    Attributes:
      map: the factors of the axes of its operands and results, except those that have to be
        replicated.
      build: builds the node for shards.
    """

    map: IndexMap
    build: Build

    def operand_specs(self, division: Division, mesh: Mesh) -> list[Spec]:
        """Returns the specs of operands for a sharding of factors."""
        return [self.map.spec(dims, division, mesh.parts) for dims in self.map.operands]

    def result_specs(self, division: Division, mesh: Mesh) -> list[Spec]:
        """Returns the specs of results for a sharding of factors."""
        return [self.map.spec(dims, division, mesh.parts) for dims in self.map.results]

    def divisions(
        self, specs: Sequence[Spec | None], mesh: Mesh
    ) -> Iterator[tuple[dict[int, Names], int]]:
        """Yields the shardings of the node that operands suggest, from all combined to none.

        With each sharding, it yields the number of shards along those factors that no operand
        shards in this way, or 1 if there are none.

        Args:
          specs: specs of the operands; None for those that are available in any sharding.
          mesh: the mesh.
        """
        options: dict[int, list[Names]] = {}
        kept = set[tuple[int, Names]]()
        for dims, spec in zip(self.map.operands, specs, strict=True):
            if spec is not None:
                read = self.map.read(dims, spec, mesh.parts)
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
        """Adds options for mesh axes along which an axis of the operand cannot stay sharded.

        Such mesh axes move to other axes of the operand.
        """
        for factors, names in zip(dims, spec, strict=True):
            kept = sum([len(read.get(factor, ())) for factor in factors])
            if names[kept:]:
                for other in {factor for axis in dims for factor in axis[:1]}:
                    _add(options, other, (*read.get(other, ()), *names[kept:]))

    def is_possible(self, division: Division, mesh: Mesh) -> bool:
        """Returns whether shards are blocks, and partial results have a single monoid.

        Shards are blocks if the number of shards along each factor divides its size, and if all
        factors that precede it in an axis are sharded completely.
        """
        sizes = self.map.sizes
        if any([sizes[f] % mesh.parts(names) for f, names in division.items()]):
            return False
        tensors = (*self.map.operands, *self.map.results)
        for factors in {axis for dims in tensors for axis in dims}:
            for major, minor in itertools.pairwise(factors):
                whole = mesh.parts(division.get(major, ())) == sizes[major]
                if not whole and any([f in division for f in factors[factors.index(minor) :]]):
                    return False
        return len({fn for factor, fn in self.map.reduced.items() if factor in division}) < 2


def _add(options: dict[int, list[Names]], factor: int, names: Names) -> None:
    known = options.setdefault(factor, [])
    if names not in known:
        known.append(names)


# (node, and the arguments of a `Build`) -> result shards
NodeBuild: TypeAlias = Callable[
    [Any, Movement, list[ir.Node], Division, list[ir.Shape]], "ir.Node | list[ir.Node]"
]
_builds: dict[type, NodeBuild] = {}


def builds(*kinds: type) -> Callable[[NodeBuild], NodeBuild]:
    """Registers the function that builds nodes of `kinds` for shards."""

    def enter(build: NodeBuild) -> NodeBuild:
        for kind in kinds:
            _builds[kind] = build
        return build

    return enter


def factors_of(node: ir.Node) -> Factors | None:
    """Returns the ways in which `node` can be sharded, or None if it has to be replicated."""
    build, related = _builds.get(type(node)), index_map(node)
    if build is None or related is None:
        return None
    return Factors(related.divisible(), partial(build, node))
