"""The nondifferentiable arguments of `custom_jvp` and `custom_vjp` functions.

JVP rules and backward functions receive them before their other arguments, in the order of the
function's arguments; forward functions receive them in their original positions.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jitney.api.jit.jit_call import JitCall, make_call
from jitney.api.jit.signature import signature_of
from jitney.core.pytree import pytrees
from jitney.core.tracing.trace import Tracer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jitney.api.jit.jit_call import TracedProgram
    from jitney.core.typing import PyTree, Value


class NondiffArguments:
    """The nondifferentiable arguments of a function, and its programs for fixed values of them.

    Args:
      fun: the function.
      argnums: the positions of nondifferentiable arguments; negative ones count from the end.
      argnames: the names of further nondifferentiable arguments.

    Raises:
      ValueError: if the function has no argument with one of these positions or names.
    """

    def __init__(
        self, fun: Callable[..., Any], argnums: Sequence[int], argnames: str | Sequence[str]
    ) -> None:
        self.fun = fun
        signature = signature_of(fun)
        names = [] if signature is None else list(signature.parameters)
        positions: set[int] = set()
        for number in argnums:
            n = operator.index(number)
            positions.add(n + len(names) if n < 0 else n)
        for name in (argnames,) if isinstance(argnames, str) else argnames:
            if name not in names:
                raise ValueError(f"nondiff_argnames: the function has no parameter {name!r}")
            positions.add(names.index(name))
        self.positions = tuple(sorted(positions))
        self.call: JitCall = make_call(fun, self.positions or None)

    def split(self, args: Sequence[Any]) -> tuple[dict[int, object], list[object]]:
        """Returns (nondifferentiable arguments by position, the others)."""
        nondiff = {i: args[i] for i in self.positions}
        return nondiff, [x for i, x in enumerate(args) if i not in nondiff]

    def merged(self, nondiff: dict[int, Any], others: Sequence[Any]) -> list[object]:
        """Returns all arguments in their original positions."""
        remaining = iter(others)
        return [
            nondiff[i] if i in nondiff else next(remaining)
            for i in range(len(nondiff) + len(others))
        ]

    def traced(
        self, fixed: dict[int, Any], lifted: dict[int, Any], others: Sequence[Any]
    ) -> tuple[TracedProgram, list[Value]]:
        """Returns the traced program of a call, and its operands.

        Args:
          fixed: nondifferentiable arguments that are part of the program.
          lifted: nondifferentiable arguments that are leading operands of the program.
          others: the differentiable arguments.
        """
        if not lifted and _is_hashable(fixed.values()):
            return self.call.trace(tuple(self.merged(fixed, others)), {})

        def with_lifted(values: Sequence[Any], *others: PyTree) -> object:
            nondiff = {**fixed, **dict(zip(lifted, values, strict=True))}
            return self.fun(*self.merged(nondiff, others))

        call = make_call(with_lifted, name=self.call.name)
        return call.trace((tuple(lifted.values()), *others), {})


def has_tracers(x: PyTree) -> bool:
    """Returns whether a pytree contains tracers."""
    return any(isinstance(leaf, Tracer) for leaf in pytrees.tree_leaves(x))


def _is_hashable(values: Iterable[object]) -> bool:
    try:
        hash(tuple(values))
    except TypeError:
        return False
    return True
