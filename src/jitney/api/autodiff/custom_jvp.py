"""`custom_jvp`: functions with custom forward-mode derivatives."""

# `custom_jvp` and `_Call` access each other's private attributes.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Self, TypeVar

from jitney.api.autodiff.nondiff import NondiffArguments, has_tracers
from jitney.api.jit.signature import positional
from jitney.api.rules.inner_rules import inner_rule
from jitney.api.rules.user_results import is_sequence
from jitney.core.diagnostics.tracebacks import api_boundary
from jitney.core.pytree import pytrees
from jitney.core.tracing.trace import is_recorded, state
from jitney.core.types import dtypes
from jitney.core.types.avals import get_aval
from jitney.primitives.call.custom import FlatRule, custom_jvp_call_p, visible_tangent
from jitney.primitives.elementwise.convert import owned_results
from jitney.transforms.zero import SymbolicZero, Zero

if TYPE_CHECKING:
    from jitney.core.pytree.treedef import PyTreeDef
    from jitney.core.typing import Array, ArrayLike, PyTree, Value
    from jitney.transforms.zero import Tangent

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])


class custom_jvp(Generic[P, R]):  # lower-case, as in JAX's API
    """A function whose derivative is given by `defjvp` instead of by its operations.

    Args:
      fun: a function of pytrees of arrays that returns a pytree of arrays.
      nondiff_argnums: positions of arguments that are not differentiated; the rule receives them
        first, unchanged.
      nondiff_argnames: names of further such arguments.

    Example:
      >>> @jax.custom_jvp
      ... def log1pexp(x):
      ...     return jnp.log(1 + jnp.exp(x))
      >>> @log1pexp.defjvp
      ... def log1pexp_jvp(primals, tangents):
      ...     (x,), (dx,) = primals, tangents
      ...     return log1pexp(x), dx * (1 - 1 / (1 + jnp.exp(x)))
      >>> jax.grad(log1pexp)(100.0)  # without the rule: nan
      Array(1., dtype=float32, weak_type=True)
    """

    __name__: str

    jvp: Callable[..., Any] | None = None
    symbolic_zeros: bool = False

    def __init__(
        self,
        fun: Callable[P, R],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ) -> None:
        functools.update_wrapper(self, fun)
        self.fun: Callable[..., R] = fun
        self._nondiff = NondiffArguments(fun, nondiff_argnums, nondiff_argnames)
        self.nondiff_argnums = self._nondiff.positions
        self.shares_program = False  # whether equations with equal operand types share one program
        self._call = self._nondiff.call

    def defjvp(self, jvp: F, symbolic_zeros: bool = False) -> F:
        """Sets the JVP rule, (primals, tangents) -> (primals out, tangents out), and returns it."""
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Sets the JVP rule from one function for each differentiable argument.

        Each function maps (tangent of its argument, primal out, *primals) to a term, and the
        tangent of the result is the sum of these terms. None in place of a function means that the
        derivative with respect to the argument is zero.
        """
        if self.nondiff_argnums:
            raise TypeError(
                "custom_jvp.defjvps: each argument must be differentiable, but "
                f"nondiff_argnums={self.nondiff_argnums}; define one rule for all arguments with defjvp"
            )

        function: Any = self

        def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[object, object]:
            out = function(*primals)
            parts = [
                rule(t, out, *primals)
                for t, rule in zip(tangents, jvps, strict=True)
                if rule is not None
            ]
            total = functools.reduce(_add_trees, parts) if parts else _zeros_like(out)
            return out, total

        self.defjvp(jvp)

    def __get__(self, instance: Any, owner: type | None = None) -> Self | functools.partial[R]:
        return self if instance is None else functools.partial(self, instance)

    def __getattr__(self, name: str) -> Callable[..., object]:
        """Returns a rule setter of the wrapped function, such as `def_vmap`, if there is one."""
        return inner_rule(self, name)

    @api_boundary
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self.jvp is None:
            raise AttributeError(
                f"custom_jvp of {self.__name__}: no rule is defined; define one with defjvp or "
                "defjvps before the first call"
            )
        values = positional(self.fun, args, kwargs, "custom_jvp")
        trace = state.trace
        if trace is state.eval_trace:
            return owned_results(self.fun(*values))
        nondiff, diff_args = self._nondiff.split(values)
        # Traced arguments become operands, whose derivatives are dropped.
        lifted = {i: x for i, x in nondiff.items() if has_tracers(x)}
        leaves, in_tree = pytrees.tree_flatten((tuple(lifted.values()), tuple(diff_args)))
        fixed = {i: x for i, x in nondiff.items() if i not in lifted}
        call = _Call(self, fixed, tuple(lifted), in_tree)
        outs = trace.process_custom_jvp_call(call, leaves)
        return pytrees.tree_unflatten(call.out_tree, outs)


class _Call:
    """One call of a function on flat values; a `CustomCall`.

    Attributes:
      fixed: nondifferentiable arguments that are not operands, by position.
      lifted: positions of the nondifferentiable arguments that are operands.
      in_tree: structure of (lifted arguments, differentiable ones).
      out_tree: structure of the result, set once the function or its rule has run.
    """

    def __init__(
        self,
        owner: custom_jvp[..., Any],
        fixed: dict[int, Any],
        lifted: tuple[int, ...],
        in_tree: PyTreeDef,
    ) -> None:
        self.owner = owner
        self.fixed = fixed
        self.lifted = lifted
        self.in_tree = in_tree
        self.num_nondiff = in_tree.children()[0].num_leaves
        self.out_tree: Any = None

    def arguments(self, leaves: Sequence[Any]) -> tuple[dict[int, object], tuple[object, ...]]:
        """Returns (nondifferentiable arguments by position, tuple of the others)."""
        lifted, others = pytrees.tree_unflatten(self.in_tree, leaves)
        return {**self.fixed, **dict(zip(self.lifted, lifted, strict=True))}, others

    def rebind(self, leaves: Sequence[Any]) -> list[Value]:
        return self._results(self.owner, leaves)

    def inline(self, leaves: Sequence[Any]) -> list[Value]:
        return self._results(self.owner.fun, leaves)

    def _results(self, fun: Callable[..., Any], leaves: Sequence[Any]) -> list[Value]:
        nondiff, diff_args = self.arguments(leaves)
        result = fun(*self.owner._nondiff.merged(nondiff, diff_args))
        outs, self.out_tree = pytrees.tree_flatten(result)
        return outs

    def differentiate(
        self, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[list[Value], list[Tangent]]:
        visible = [visible_tangent(t, self.owner.symbolic_zeros) for t in tangents]
        return self._rule(primals, visible)

    def as_equation(self, leaves: Sequence[Any]) -> list[Value]:
        owner = self.owner
        assert owner.jvp is not None
        nondiff, diff_args = self.arguments(leaves)
        lifted = {i: nondiff[i] for i in self.lifted}
        program, leaves = owner._nondiff.traced(self.fixed, lifted, diff_args)
        self.out_tree = program.out_tree
        copied = not owner.shares_program and is_recorded()
        return custom_jvp_call_p.bind(
            *program.outer_tracers,
            *leaves,
            name=owner._call.name,
            call_jaxpr=program.closed.copy() if copied else program.closed,
            jvp=FlatRule(self._rule, owner.jvp.__name__),
            num_consts=len(program.outer_tracers),
            symbolic_zeros=owner.symbolic_zeros,
        )

    def _rule(
        self, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[list[Value], list[Tangent]]:
        """Applies the user's rule to flat values, and checks its results."""
        rule, name = self.owner.jvp, self.owner._call.name
        assert rule is not None
        nondiff, args = self.arguments(primals)
        _, dargs = self.arguments(tangents)
        result = rule(*(nondiff[i] for i in sorted(nondiff)), args, dargs)
        if not is_sequence(result) or len(result) != 2:
            raise TypeError(
                f"custom_jvp of {name}: its rule {rule.__name__} must return a pair (output, "
                "tangent of the "
                f"output), but returned {result!r}"
            )
        outs, out_tree = pytrees.tree_flatten(result[0])
        douts, dout_tree = pytrees.tree_flatten(result[1], is_leaf=_is_zero)
        if out_tree != dout_tree:
            raise TypeError(
                f"custom_jvp of {name}: the output and its tangent must have the same tree "
                f"structure, but rule {rule.__name__} returned {out_tree} and {dout_tree}"
            )
        self.out_tree = out_tree
        return outs, [_checked(rule, name, p, t) for p, t in zip(outs, douts, strict=True)]


def _is_zero(x: object) -> bool:
    return isinstance(x, Zero)


def _checked(rule: Callable[..., Any], name: str, primal: ArrayLike, tangent: PyTree) -> Tangent:
    """Returns a tangent from the user's rule after checking that its type matches the primal's."""
    wanted: Any = get_aval(primal).to_tangent_aval()
    if isinstance(tangent, SymbolicZero) or wanted.dtype == dtypes.float0:
        return Zero(wanted)
    got: Any = get_aval(tangent)
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        raise TypeError(
            f"custom_jvp of {name}: the tangent of an output of type {get_aval(primal).str_short()} "
            f"must be {wanted.str_short()}, but rule {rule.__name__} returned {got.str_short()}"
        )
    return tangent


def _add_trees(a: PyTree, b: PyTree) -> object:
    return pytrees.tree_map(operator.add, a, b)


def _zeros_like(tree: PyTree) -> object:
    def zero(x: Array) -> Array:
        return x - x

    return pytrees.tree_map(zero, tree)


custom_jvp.__module__ = "jax"
