"""Evaluation of operations that contain programs on references, such as jitted functions.

The discharged program runs on the contents of the references, and its results replace these
contents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.program.jaxpr import ClosedJaxpr, Literal
from jitney.core.program.memo import memoize_by_identity
from jitney.core.types.refs import is_ref
from jitney.transforms.discharge import discharge

if TYPE_CHECKING:
    from jitney.core.program.jaxpr import Atom, Var
    from jitney.primitives.rule_types import Value


def run_on_refs(
    closed: ClosedJaxpr, args: Sequence[Any], run: Callable[[ClosedJaxpr, list[Any]], list[Any]]
) -> list[Value]:
    """Runs a program on operands that include references, and updates the references.

    Args:
      closed: the program.
      args: the operands.
      run: a function that runs a program without references.

    Returns: the results of the program.
    """
    n_out = len(closed.out_avals)
    seen: dict[int, int] = {}
    first = tuple([seen.setdefault(id(x), k) if is_ref(x) else k for k, x in enumerate(args)])
    if any([k != place for k, place in enumerate(first)]):
        closed = _with_each_once(closed, first)
        args = [x for k, x in enumerate(args) if first[k] == k]
    which = tuple([is_ref(x) for x in args])
    program, changed = discharge(closed, which)
    outs = run(program, [x.content() if w else x for x, w in zip(args, which, strict=True)])
    contents = iter(outs[n_out:])
    for ref, is_changed in zip(args, changed, strict=True):
        if is_changed:
            ref.replace(next(contents))
    return outs[:n_out]


@memoize_by_identity
def _with_each_once(closed: ClosedJaxpr, first: tuple[int, ...]) -> ClosedJaxpr:
    """Merges equal operands of `closed`: operand k is the same as operand `first[k]`.

    A reference is a repeated operand of a loop if both functions of the loop close over it.
    """
    jaxpr = closed.jaxpr
    place: dict[Var, Var] = {v: jaxpr.invars[k] for v, k in zip(jaxpr.invars, first, strict=True)}

    def moved(atom: Atom) -> Atom:
        return atom if isinstance(atom, Literal) else place.get(atom, atom)

    eqns = [eqn.replace(invars=[moved(a) for a in eqn.invars]) for eqn in jaxpr.eqns]
    invars = [v for v in jaxpr.invars if place[v] is v]
    info = jaxpr.debug_info._replace(arg_names=None)
    return ClosedJaxpr(jaxpr.replace(invars=invars, eqns=eqns, debug_info=info), closed.consts)
