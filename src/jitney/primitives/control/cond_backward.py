"""The transpose of `cond`: the transposes of its branches, with the same results.

A branch returns zeros for cotangents, and for entries of the log, that other branches alone have. As it
is known only later which branch has run, an entry of the log is a `CondSum`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.evaluate import eval_jaxpr
from jitney.core.jaxpr_trace import retrace
from jitney.core.memo import memoize_by_identity
from jitney.core.pytree import pytrees
from jitney.core.record import record
from jitney.primitives.call.call import transposed_program
from jitney.transforms.zero import Zero

if TYPE_CHECKING:
    from jitney.core.avals import AbstractValue
    from jitney.core.jaxpr import ClosedJaxpr
    from jitney.core.pytree.treedef import PyTreeDef
    from jitney.core.typing import Array, PyTree
    from jitney.primitives.rule_types import Value
    from jitney.transforms.logs import Log
    from jitney.transforms.transpose import TransposedProgram


@record(frozen=True)
class CondSum:
    """What the branches of a `cond` or `switch` have written to a log under one name; a pytree.

    Attributes:
      index: the branch that has run: int32.
      branches: for each branch its entry: zeros if it has not run, None if it writes none.
    """

    index: Array
    branches: list[PyTree]


pytrees.register_dataclass(CondSum, data_fields=["index", "branches"], meta_fields=[])


@record(frozen=True)
class TransposedBranches:
    """The transposes of branches.

    Attributes:
      programs: operands in which the branches are not linear, cotangents of some of their results ->
        cotangents of linear operands, leaves of the logs of all branches.
      has_ct: which of the linear operands have a cotangent.
      log_trees: structures of the logs.
    """

    programs: list[ClosedJaxpr]
    has_ct: tuple[bool, ...]
    log_trees: list[PyTreeDef]

    def log_of(self, index: Array, leaves: Iterable[Value]) -> Log:
        """Returns the log of the `cond`, with these leaves, whose branch `index` has run."""
        remaining = iter(leaves)
        logs: list[Log] = [
            pytrees.tree_unflatten(tree, list(itertools.islice(remaining, tree.num_leaves)))
            for tree in self.log_trees
        ]
        names = dict.fromkeys(itertools.chain(*logs))
        return {name: CondSum(index, [log.get(name) for log in logs]) for name in names}


def transposed_branches(
    branches: Sequence[ClosedJaxpr],
    linear: tuple[bool, ...],
    nonzero: tuple[bool, ...],
    weak: tuple[bool, ...],
    avals: tuple[AbstractValue, ...],
) -> TransposedBranches:
    """Returns the transposes of `branches`.

    Args:
      branches: programs, linear in some operands.
      linear: which ones.
      nonzero: which results have a cotangent.
      weak: which of these cotangents are weakly typed.
      avals: types of the cotangents of linear operands.
    """
    parts = [transposed_program(b, linear, nonzero, weak) for b in branches]
    some = tuple([any(column) for column in zip(*(p.has_ct for p in parts), strict=True)])
    logged = [_log_avals(part) for part in parts]
    programs = [
        _filled(
            part.closed,
            part.has_ct,
            some,
            avals,
            tuple(itertools.chain(*logged[:k])),
            tuple(itertools.chain(*logged[k + 1 :])),
        )
        for k, part in enumerate(parts)
    ]
    return TransposedBranches(programs, some, [part.log_tree for part in parts])


def _log_avals(part: TransposedProgram) -> list[AbstractValue]:
    return part.closed.out_avals[sum(part.has_ct) :]


@memoize_by_identity
def _filled(
    closed: ClosedJaxpr,
    has_ct: tuple[bool, ...],
    wanted: tuple[bool, ...],
    avals: tuple[AbstractValue, ...],
    before: tuple[AbstractValue, ...],
    after: tuple[AbstractValue, ...],
) -> ClosedJaxpr:
    """Returns the transpose `closed` of a branch, with results like those of the other branches.

    Args:
      closed: its results are the cotangents marked in `has_ct`, then the leaves of its log.
      has_ct: which linear operands have a cotangent.
      wanted: those that are to have one: zeros where there is none.
      avals: types of the cotangents of all of them.
      before: types of the leaves of the logs of earlier branches.
      after: of those of later ones.
    """
    if has_ct == wanted and not before and not after:
        return closed

    def zeros(avals: Iterable[AbstractValue]) -> list[Any]:
        return [Zero(a).instantiate() for a in avals]

    def fun(*args: Value) -> list[Any]:
        outs = iter(eval_jaxpr(closed.jaxpr, closed.consts, *args))
        cts = [next(outs) if h else Zero(a) for h, a in zip(has_ct, avals, strict=True)]
        values = [
            ct.instantiate() if isinstance(ct, Zero) else ct
            for ct, w in zip(cts, wanted, strict=True)
            if w
        ]
        return [*values, *zeros(before), *outs, *zeros(after)]

    return retrace("cond", fun, closed.in_avals, closed)
