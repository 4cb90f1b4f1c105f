"""Closure conversion of traced functions: captured values become arguments.

`Traced.closure_convert` and `Traced.with_consts_as_arg` are built on these functions. The captured
values are the constants of the program, followed by values of enclosing traces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.program.closed_programs import closed_of, constants_as_operands
from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.pytree import pytrees
from jitney.core.util.record import replace
from jitney.runtime.devices.sharding import UNSPECIFIED

if TYPE_CHECKING:
    from jitney.api.jit.traced_program import TracedProgram
    from jitney.core.typing import PyTree, Value

# Parameters of `jit` that have one entry per operand -> the entry for an added operand.
_OF_OPERANDS: dict[str, object] = {
    "in_shardings": UNSPECIFIED, "in_layouts": None, "donated_invars": False,
}  # fmt: skip


def closed_over(program: TracedProgram) -> list[Value]:
    """Returns the values that the function captures."""
    return [*program.closed.consts, *program.outer_tracers]


def converted_function(program: TracedProgram, in_tree: pytrees.PyTreeDef) -> Callable[..., object]:
    """Returns `fun(consts, *args, **kwargs)`: the program with its captured values as an argument.

    Args:
      program: the traced function.
      in_tree: structure of (args, kwargs).
    """
    jaxpr = constants_as_operands(program.closed.jaxpr)
    count = len(closed_over(program))

    def fun(consts: Sequence[Any], *args: PyTree, **kwargs: PyTree) -> object:
        leaves, tree = pytrees.tree_flatten((args, kwargs))
        assert tree == in_tree, f"the function was traced for arguments {in_tree}, not {tree}"
        assert isinstance(consts, list) and len(consts) == count, (
            f"the function closes over {count} values: pass a list of these as its first argument"
        )
        return pytrees.tree_unflatten(program.out_tree, eval_jaxpr(jaxpr, (), *consts, *leaves))

    return fun


def with_values_as_operands(program: TracedProgram) -> TracedProgram:
    """Returns the program with the captured values as leading operands, which are not donated."""
    consts = len(program.closed.consts)
    params = {
        name: (added,) * consts + tuple(program.params[name])
        for name, added in _OF_OPERANDS.items()
    }
    params["donated_invars"] = (False,) * len(params["donated_invars"])
    return replace(
        program,
        closed=closed_of(constants_as_operands(program.closed.jaxpr)),
        outer_tracers=(),
        params={**program.params, **params},
        _given_up=None,
        _requests=None,
    )


def tree_with_consts(count: int, in_tree: pytrees.PyTreeDef) -> pytrees.PyTreeDef:
    """Returns the structure of (args, kwargs) with a list of `count` values as first argument."""
    args, kwargs = pytrees.tree_unflatten(in_tree, [0] * in_tree.num_leaves)
    return pytrees.tree_structure((([0] * count, *args), kwargs))
