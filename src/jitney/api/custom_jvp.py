"""`custom_jvp`: functions with a forward derivative of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from jitney.api.jit_call import make_call
from jitney.core import pytrees
from jitney.core.errors import api_boundary
from jitney.core.trace import state
from jitney.ops.custom import custom_jvp_call_p


class custom_jvp:  # noqa: N801: the API's name
    """A function whose derivative is given by `defjvp` instead of by its operations.

    Args:
      fun: takes and returns pytrees of arrays.
      nondiff_argnums: positions of arguments that the rule gets first, as they are.

    >>> @custom_jvp
    ... def f(x):
    ...     return x * x
    >>> @f.defjvp
    ... def f_jvp(primals, tangents):
    ...     (x,), (dx,) = primals, tangents
    ...     return f(x), 3 * x * dx
    """

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = ()) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = tuple(nondiff_argnums)
        self.jvp: Callable[..., Any] | None = None
        self.symbolic_zeros = False
        self._call = make_call(fun, self.nondiff_argnums or None)

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Sets the rule: (primals, tangents) -> (primals out, tangents out); returns it."""
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Sets the rule as one function per argument: (tangent, primal out, *primals) -> tangent.

        None stands for a derivative of zero.
        """
        if self.nondiff_argnums:
            raise TypeError("Can't use ``defjvps`` with ``nondiff_argnums``.")

        def jvp(primals: Any, tangents: Any) -> Any:
            out = self(*primals)
            parts = [
                rule(t, out, *primals)
                for t, rule in zip(tangents, jvps, strict=True)
                if rule is not None
            ]
            total = functools.reduce(_add_trees, parts) if parts else _zeros_like(out)
            return out, total

        self.defjvp(jvp)

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.jvp is None:
            raise AttributeError(
                f"No JVP defined for custom_jvp function {self.__name__} using defjvp."  # type: ignore[attr-defined]
            )
        if state.trace is state.eval_trace:
            return self.fun(*args, **kwargs)
        program, leaves = self._call.trace(args, kwargs)
        outs = custom_jvp_call_p.bind(
            *program.outer_tracers,
            *leaves,
            name=self._call.name,
            call_jaxpr=program.closed,
            jvp=self.jvp,
            num_consts=len(program.outer_tracers),
            symbolic_zeros=self.symbolic_zeros,
        )
        return pytrees.tree_unflatten(program.out_tree, outs)


def _add_trees(a: Any, b: Any) -> Any:
    return pytrees.tree_map(lambda x, y: x + y, a, b)


def _zeros_like(tree: Any) -> Any:
    return pytrees.tree_map(lambda x: x - x, tree)


custom_jvp.__module__ = "jax"
