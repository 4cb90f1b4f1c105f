"""`custom_jvp`: functions with a forward derivative of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from jitney.api.inner_rules import inner_rule
from jitney.api.nondiff import NondiffArguments, has_tracers
from jitney.api.signature import positional
from jitney.core import dtypes
from jitney.core.avals import get_aval
from jitney.core.errors import api_boundary
from jitney.core.pytree import pytrees
from jitney.core.trace import set_current_trace, state
from jitney.primitives.call.custom import FlatRule, custom_jvp_call_p, visible_tangent
from jitney.primitives.elementwise.convert import owned_results
from jitney.transforms.jvp import JVPTrace
from jitney.transforms.partial import PartialTrace
from jitney.transforms.zero import SymbolicZero, Zero


class custom_jvp:  # the API's name
    """A function whose derivative is given by `defjvp` instead of by its operations.

    Args:
      fun: takes and returns pytrees of arrays.
      nondiff_argnums: positions of arguments that the rule gets first, as they are.
      nondiff_argnames: names of others.

    >>> @custom_jvp
    ... def f(x):
    ...     return x * x
    >>> @f.defjvp
    ... def f_jvp(primals, tangents):
    ...     (x,), (dx,) = primals, tangents
    ...     return f(x), 3 * x * dx
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self._nondiff = NondiffArguments(fun, nondiff_argnums, nondiff_argnames)
        self.nondiff_argnums = self._nondiff.positions
        self.jvp: Callable[..., Any] | None = None
        self.symbolic_zeros = False
        self.shares_program = False  # whether equations of equal types hold one program
        self._call = self._nondiff.call

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

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __getattr__(self, name: str) -> Any:
        """The rules of other kinds are those of the function inside, if it has such ones."""
        return inner_rule(self, name)

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.jvp is None:
            raise AttributeError(
                f"No JVP defined for custom_jvp function {self.__name__} using defjvp."  # type: ignore[attr-defined]
            )
        args = positional(self.fun, args, kwargs, "custom_jvp")
        trace = state.trace
        if trace is state.eval_trace:
            return owned_results(self.fun(*args))
        given, others = self._nondiff.split(args)
        # Traced ones become operands, of which derivatives are dropped.
        lifted = {i: x for i, x in given.items() if has_tracers(x)}
        call = _Call({i: x for i, x in given.items() if i not in lifted}, tuple(lifted))
        leaves, call.in_tree = pytrees.tree_flatten((tuple(lifted.values()), tuple(others)))
        if type(trace) is JVPTrace:
            return self._differentiate(trace, call, leaves)
        if type(trace) is PartialTrace and not any(trace.is_unknown(x) for x in leaves):
            with set_current_trace(trace.parent_trace):
                return self(*args)
        program, leaves = self._nondiff.traced(call.fixed, lifted, others)
        rule = FlatRule(self._flat_rule(call), self.jvp.__name__)
        outs = custom_jvp_call_p.bind(
            *program.outer_tracers,
            *leaves,
            name=self._call.name,
            call_jaxpr=program.closed if self.shares_program else program.closed.copy(),
            jvp=rule,
            num_consts=len(program.outer_tracers),
            symbolic_zeros=self.symbolic_zeros,
        )
        return pytrees.tree_unflatten(program.out_tree, outs)

    def _differentiate(self, trace: JVPTrace, call: _Call, leaves: list[Any]) -> Any:
        """The call under forward differentiation: the rule runs on the values themselves."""
        pairs = [trace.to_pair(x) for x in leaves]
        primals = [p for p, _ in pairs]
        _, tangents = pytrees.tree_unflatten(call.in_tree, [t for _, t in pairs])
        with set_current_trace(trace.parent_trace):
            if all(type(t) is Zero for t in pytrees.tree_leaves(tangents, is_leaf=_is_zero)):
                given, others = call.arguments(primals)
                return self(*self._nondiff.merged(given, others))
            visible = [visible_tangent(t, self.symbolic_zeros) for _, t in pairs]
            outs, douts = self._flat_rule(call)(primals, visible)
        tracers = [trace.pair(p, t) for p, t in zip(outs, douts, strict=True)]
        return pytrees.tree_unflatten(call.out_tree, tracers)

    def _flat_rule(self, call: _Call) -> Any:
        rule, name = self.jvp, self._call.name
        assert rule is not None

        def flat(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
            given, args = call.arguments(primals)
            _, dargs = call.arguments(tangents)
            result = rule(*(given[i] for i in sorted(given)), args, dargs)
            if not isinstance(result, list | tuple) or len(result) != 2:
                raise TypeError(
                    f"Custom JVP rule {rule.__name__} for function {name} must produce a pair (list "
                    "or tuple of length two) representing primal and tangent outputs, but got "
                    f"{result!r}."
                )
            outs, out_tree = pytrees.tree_flatten(result[0])
            douts, dout_tree = pytrees.tree_flatten(result[1], is_leaf=_is_zero)
            if out_tree != dout_tree:
                raise TypeError(
                    f"Custom JVP rule {rule.__name__} for function {name} must produce primal and "
                    f"tangent outputs with equal container (pytree) structures, but got {out_tree} "
                    f"and {dout_tree} respectively."
                )
            call.out_tree = out_tree
            return outs, [_checked(rule, name, p, t) for p, t in zip(outs, douts, strict=True)]

        return flat


class _Call:
    """One call of a function: what does not vary, and how flat values become arguments.

    Attributes:
      fixed: nondifferentiable arguments that are no operands, by position.
      lifted: positions of those that are.
      in_tree: structure of (lifted arguments, differentiable ones).
      out_tree: structure of the result, once the rule has run.
    """

    def __init__(self, fixed: dict[int, Any], lifted: tuple[int, ...]) -> None:
        self.fixed = fixed
        self.lifted = lifted
        self.in_tree: Any = None
        self.out_tree: Any = None

    def arguments(self, leaves: Sequence[Any]) -> tuple[dict[int, Any], Any]:
        """(nondifferentiable arguments by position, tuple of the others)."""
        lifted, others = pytrees.tree_unflatten(self.in_tree, leaves)
        return {**self.fixed, **dict(zip(self.lifted, lifted, strict=True))}, others


def _is_zero(x: Any) -> bool:
    return isinstance(x, Zero)


def _checked(rule: Callable[..., Any], name: str, primal: Any, tangent: Any) -> Any:
    """A tangent that a rule returned, if it is of the type that belongs to the primal."""
    wanted: Any = get_aval(primal).to_tangent_aval()
    if isinstance(tangent, SymbolicZero) or wanted.dtype == dtypes.float0:
        return Zero(wanted)
    got: Any = get_aval(tangent)
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        raise TypeError(
            f"Custom JVP rule {rule.__name__} for function {name} must produce primal and tangent "
            "outputs with corresponding shapes and dtypes. Expected "
            f"{wanted.str_short()} (tangent type of {get_aval(primal).str_short()}) but got "
            f"{got.str_short()}."
        )
    return tangent


def _add_trees(a: Any, b: Any) -> Any:
    return pytrees.tree_map(lambda x, y: x + y, a, b)


def _zeros_like(tree: Any) -> Any:
    return pytrees.tree_map(lambda x: x - x, tree)


custom_jvp.__module__ = "jax"
