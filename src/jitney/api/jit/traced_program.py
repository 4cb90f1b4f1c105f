"""The result of tracing a jitted function: the program, its operands and options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jitney.api.jit.jit_placement import requests_of
from jitney.core.source.user_warnings import warn
from jitney.core.util.record import record
from jitney.runtime.arrays.donation import used_up
from jitney.runtime.execution.assignment import RequestedShardings

if TYPE_CHECKING:
    from jitney.core.program.jaxpr import ClosedJaxpr
    from jitney.core.pytree import pytrees


@record(frozen=True, eq=False)
class TraceResult:
    """The result of tracing a function, shared by `jit`s of the function with different options."""

    closed: ClosedJaxpr
    out_tree: pytrees.PyTreeDef
    outer_tracers: tuple[Any, ...]


@record(eq=False)
class TracedProgram:
    """The result of tracing a function for arguments with certain types.

    Attributes:
      closed: the program; its flat operands are `outer_tracers`, then the call's flat arguments.
      out_tree: structure of the function's result.
      outer_tracers: the values of enclosing traces and the references over which the function
        closes.
      params: parameters of the `jit` equation, except `jaxpr`.
    """

    closed: ClosedJaxpr
    out_tree: pytrees.PyTreeDef
    outer_tracers: tuple[Any, ...]
    params: dict[str, Any]
    _given_up: tuple[bool, ...] | None = None
    _requests: RequestedShardings | None = None

    def requests(self) -> RequestedShardings:
        """Returns the shardings that the program requests."""
        if self._requests is None:
            self._requests = requests_of(self.closed, self.params)
        return self._requests

    def consumed(self, on_mesh: bool) -> tuple[bool, ...]:
        """Returns for each flat operand whether its buffer is donated and reused for a result.

        A buffer is reused if it has the size of a result. Warns once about donated operands for
        which there is no such result, unless `on_mesh`. Unused operands cause no warning.
        """
        if self._given_up is None:
            self._given_up, useless = used_up(
                self.closed, self.params["donated_invars"], self.params["keep_unused"]
            )
            if useless and not on_mesh:
                warn(
                    "no result can use the memory of these donated buffers: "
                    f"{', '.join(useless)}; donate operands with the shape and dtype of a result"
                )
        return self._given_up
