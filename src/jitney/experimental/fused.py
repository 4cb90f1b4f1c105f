"""`jax.experimental.fused`: functions that are to be compiled to one kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.program.closed_programs import closed_of, constants_as_operands
from jitney.core.program.jaxpr import DebugInfo
from jitney.core.pytree import pytrees
from jitney.core.recording.flat_function import FlatFunction
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.source import source_info
from jitney.core.types.avals import get_aval
from jitney.core.types.memory_space import MemorySpace
from jitney.core.typing import PyTree
from jitney.core.util.lazy import listing, refusing
from jitney.primitives.call.fused_call import fused_p as fused_p, in_space
from jitney.primitives.elementwise.convert import as_value

__all__ = ["fused", "fused_p"]

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)


def fused(*, out_spaces: Sequence[MemorySpace]) -> Callable[[Callable[..., PyTree]], Any]:
    """Returns a decorator for functions that are to be compiled to one kernel.

    In jaxprs, a call of the function is a single equation, within which arrays can be in any memory
    space. CPUs have only one memory space, and jitney also fuses the operations of other functions.

    Args:
      out_spaces: memory space of each leaf of the result.

    Raises:
      TypeError: if `out_spaces` is not a sequence.
      ValueError: when the function is called, if the number of `out_spaces` differs from the number
        of results.

    Example:
      >>> from jax.experimental.fused import fused
      >>> f = fused(out_spaces=(jax.memory.Space.Device,))(lambda x: jnp.sin(x) + 1)
      >>> jax.jit(f)(0.0)
      Array(1., dtype=float32, weak_type=True)
    """
    given: Any = out_spaces  # unchecked, from the user
    if not isinstance(given, Sequence):
        raise TypeError(
            "fused: `out_spaces` must be a sequence with a memory space for each result, but got "
            f"{out_spaces!r}"
        )
    spaces = tuple(out_spaces)

    def decorated(f: Callable[..., PyTree]) -> Callable[..., Any]:
        def wrapped(*args: PyTree) -> Any:
            leaves, tree = pytrees.tree_flatten(args)
            operands = [as_value(leaf) for leaf in leaves]
            avals = [in_space(get_aval(x), MemorySpace.Any) for x in operands]
            flat = FlatFunction(f, tree)
            info = DebugInfo("fused", source_info.fun_sourceinfo(f))
            jaxpr, outs, consts = trace_to_jaxpr(flat, avals, info)
            if len(outs) != len(spaces):
                raise ValueError(
                    f"fused: the function returns {len(outs)} arrays, but `out_spaces` has length "
                    f"{len(spaces)}"
                )
            program = closed_of(constants_as_operands(jaxpr))
            results = fused_p.bind(*consts, *operands, jaxpr=program, out_spaces=spaces)
            return pytrees.tree_unflatten(flat.out_tree, results)

        return wrapped

    return decorated
