"""The transpose of `cond`: a `cond` of the transposed branches with a common set of results.

A branch returns zeros for those cotangents and log entries that only other branches have. Since the
executed branch is not known during tracing, an entry of the log is a `CondSum`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.program.memo import memoize_by_identity
from jitney.core.pytree import pytrees
from jitney.core.recording.jaxpr_trace import retrace
from jitney.core.util.record import record
from jitney.primitives.call.call import transposed_program
from jitney.transforms.zero import Zero

if TYPE_CHECKING:
    from jitney.core.program.jaxpr import ClosedJaxpr
    from jitney.core.pytree.treedef import PyTreeDef
    from jitney.core.types.avals import AbstractValue
    from jitney.core.typing import Array, PyTree
    from jitney.primitives.rule_types import Value
    from jitney.transforms.logs import Log
    from jitney.transforms.transpose import TransposedProgram


@record(frozen=True)
class CondSum:
    """A pytree of the entries that the branches of a `cond` or `switch` logged under one name.

    Attributes:
      index: index of the executed branch, an int32 scalar.
      branches: the entry of each branch. It is zero if the branch was not executed, and None if the
        branch does not have the entry.
    """

    index: Array
    branches: list[PyTree]


pytrees.register_dataclass(CondSum, data_fields=["index", "branches"], meta_fields=[])


@record(frozen=True)
class TransposedBranches:
    """The transposes of branches.

    Attributes:
      programs: the transposed programs, which map the nonlinear operands and the nonzero cotangents
        of results to cotangents of linear operands and the leaves of the logs of all branches.
      has_ct: whether each linear operand has a cotangent.
      log_trees: structures of the logs.
    """

    programs: list[ClosedJaxpr]
    has_ct: tuple[bool, ...]
    log_trees: list[PyTreeDef]

    def log_of(self, index: Array, leaves: Iterable[Value]) -> Log:
        """Returns the log of a `cond` that executed branch `index`, from its `leaves`."""
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
    """Transposes `branches`.

    Args:
      branches: programs that are linear in some operands.
      linear: whether they are linear in each operand.
      nonzero: whether each result has a nonzero cotangent.
      weak: whether each nonzero cotangent is weakly typed.
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
    """Extends the transpose `closed` of a branch with zeros for the results of the other branches.

    Args:
      closed: a program that returns the cotangents marked in `has_ct`, then the leaves of its log.
      has_ct: whether it returns a cotangent for each linear operand.
      wanted: whether the result must have a cotangent for each linear operand, which is zero if
        `closed` does not have one.
      avals: types of the cotangents of the linear operands.
      before: types of the leaves of the logs of preceding branches.
      after: types of the leaves of the logs of following branches.
    """
    if has_ct == wanted and not before and not after:
        return closed

    def zeros(avals: Iterable[AbstractValue]) -> list[Value]:
        return [Zero(a).instantiate() for a in avals]

    def fun(*args: Value) -> list[Value]:
        outs = iter(eval_jaxpr(closed.jaxpr, closed.consts, *args))
        cts = [next(outs) if h else Zero(a) for h, a in zip(has_ct, avals, strict=True)]
        values = [
            ct.instantiate() if isinstance(ct, Zero) else ct
            for ct, w in zip(cts, wanted, strict=True)
            if w
        ]
        return [*values, *zeros(before), *outs, *zeros(after)]

    return retrace("cond", fun, closed.in_avals, closed)
