"""What tracing a jitted function gave: the program, and what its operands and options are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jitney.api.jit_placement import wishes_of
from jitney.core.record import record
from jitney.core.user_warnings import warn
from jitney.runtime.assignment import Wishes
from jitney.runtime.donation import used_up

if TYPE_CHECKING:
    from jitney.core.jaxpr import ClosedJaxpr
    from jitney.core.pytree import pytrees


@record(eq=False)
class TracedProgram:
    """What tracing a function on arguments of certain types gave.

    Attributes:
      closed: the program; its flat operands are `outer_tracers`, then the call's flat arguments.
      out_tree: structure of the function's result.
      outer_tracers: values of enclosing traces, and references, that the function closes over.
      params: parameters of the `jit` equation, all but `jaxpr`.
    """

    closed: ClosedJaxpr
    out_tree: pytrees.PyTreeDef
    outer_tracers: tuple[Any, ...]
    params: dict[str, Any]
    _given_up: tuple[bool, ...] | None = None
    _wishes: Wishes | None = None

    def wishes(self) -> Wishes:
        """Returns where the program says that values are to be."""
        if self._wishes is None:
            self._wishes = wishes_of(self.closed, self.params)
        return self._wishes

    def consumed(self, on_mesh: bool) -> tuple[bool, ...]:
        """For each flat operand, whether its buffer is used up: donated, and of a result's size.

        Warns, once, of donated ones that are of no result's size, if they are not `on_mesh`. Those that
        are not used at all are left alone silently.
        """
        if self._given_up is None:
            self._given_up, useless = used_up(
                self.closed, self.params["donated_invars"], self.params["keep_unused"]
            )
            if useless and not on_mesh:
                warn(
                    f"memory was donated that no result fits into: {', '.join(useless)}; donate "
                    "operands of the "
                    "shape and dtype of a result"
                )
        return self._given_up
