"""User-defined partial evaluation rules, in the form that JAX's `partial_eval` module defines.

Such rules take a trace and tracers of known and unknown values, and return tracers. Internally,
known values are not wrapped, and unknown values are tracers of the program that is being recorded.
This module presents the internal trace to rules in the form that they expect.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jitney.core.program.jaxpr import JaxprEqn, Var
from jitney.core.tracing.primitive import Primitive
from jitney.core.tracing.trace import Tracer, set_current_trace
from jitney.core.types.avals import AbstractValue, get_aval
from jitney.core.typing import Value
from jitney.interpreters.tables import RuleTable
from jitney.transforms.partial import PartialTrace

_USERS = "users_rule"  # attribute of an adapted rule that holds the user's rule
_OF_THREE = "rule_of_three"  # attribute that holds the user's DCE rule, adapted to take `live`


class PartialVal(tuple[Any, Any]):
    """A known value (None, value), or an unknown value (type, None)."""

    __slots__ = ()

    @classmethod
    def known(cls, const: Value) -> PartialVal:
        """Returns a known value."""
        return cls((None, const))

    @classmethod
    def unknown(cls, aval: AbstractValue) -> PartialVal:
        """Returns an unknown value of type `aval`."""
        return cls((aval, None))

    def is_known(self) -> bool:
        """Returns whether the value is known."""
        return self[0] is None

    def get_known(self) -> Any:
        """Returns the value, or None if it is unknown."""
        return self[1] if self.is_known() else None

    def get_aval(self) -> AbstractValue:
        """Returns the type of the value."""
        return get_aval(self[1]) if self.is_known() else self[0]


class JaxprEqnRecipe(NamedTuple):
    """An equation that a rule defines, before it is recorded.

    Attributes:
      eqn_id: identifier of the equation.
      in_tracers: operands.
      out_tracer_refs: weak references to the tracers of its results.
      out_avals: types of the results.
      primitive, params, effects, source_info, ctx: as in a `JaxprEqn`.
    """

    eqn_id: Any
    in_tracers: Sequence[JaxprTracer]
    out_tracer_refs: Sequence[weakref.ref[JaxprTracer]]
    out_avals: Sequence[AbstractValue]
    primitive: Primitive
    params: dict[str, Any]
    effects: Any
    source_info: Any
    ctx: Any


def new_eqn_recipe(
    trace: TraceView,
    in_tracers: Sequence[JaxprTracer],
    out_tracers: Sequence[JaxprTracer],
    primitive: Primitive,
    params: dict[str, Any],
    effects: object,
    source_info: object,
    ctx: object = None,
) -> JaxprEqnRecipe:
    """Returns an equation for a rule of `custom_partial_eval_rules`.

    The rule assigns the equation to the attribute `recipe` of the tracers of its results, and
    returns these tracers. Then the equation is recorded.

    Args:
      trace: trace that the rule receives.
      in_tracers: operands.
      out_tracers: results, which are new unknown `JaxprTracer`s without a recipe.
      primitive, params: the operation.
      effects, source_info, ctx: accepted for compatibility; the effects of the primitive and the
        current source location are recorded.

    Example:
      >>> from jax.interpreters import partial_eval as pe
      >>> def rule(trace, x):
      ...     out = pe.JaxprTracer(trace, pe.PartialVal.unknown(x.aval), None)
      ...     line = jax.extend.source_info_util.current()
      ...     out.recipe = pe.new_eqn_recipe(trace, [x], [out], lax.neg_p, {}, set(), line)
      ...     return out
    """
    return JaxprEqnRecipe(
        object(), tuple(in_tracers), [weakref.ref(t) for t in out_tracers],
        [t.aval for t in out_tracers], primitive, dict(params), effects, source_info, ctx,
    )  # fmt: skip


class JaxprTracer(Tracer):
    """A known or unknown value in partial evaluation, in the form for rules.

    Attributes:
      pval: the value, or its type if it is unknown.
      recipe: tracer that records an unknown value, or equation that is to compute it; None for
        known values.
    """

    __slots__ = ("pval", "recipe")

    _trace: Any

    def __init__(
        self, trace: TraceView, pval: PartialVal, recipe: Value | JaxprEqnRecipe | None
    ) -> None:
        self._trace = trace
        self.pval = pval
        self.recipe = recipe

    @property
    def parents(self) -> Sequence[JaxprTracer]:
        """The operands of the equation that is to compute the value; empty if there is none."""
        return self.recipe.in_tracers if isinstance(self.recipe, JaxprEqnRecipe) else []

    @property
    def aval(self) -> AbstractValue:
        """The type of the value."""
        return self.pval.get_aval()

    def is_known(self) -> bool:
        """Returns whether the value is known."""
        return self.pval.is_known()

    def __repr__(self) -> str:
        return f"JaxprTracer({self.pval!r})"


class TraceView:
    """A view of a partial evaluation trace, in the form that rules expect.

    Attributes:
      parent_trace: trace in which known values are computed.
    """

    def __init__(self, trace: PartialTrace) -> None:
        self._of = trace
        self.parent_trace = trace.parent_trace
        self._recorded: dict[Any, list[Any]] = {}  # the results of equations that rules define

    def tracer(self, x: Value | JaxprTracer) -> JaxprTracer:
        """Returns the tracer that presents `x` to rules."""
        if isinstance(x, JaxprTracer):
            return x
        if self._of.is_unknown(x):
            return JaxprTracer(self, PartialVal.unknown(get_aval(x)), x)
        return JaxprTracer(self, PartialVal.known(x), None)

    to_jaxpr_tracer = new_const = tracer

    def value(self, tracer: Value | JaxprTracer) -> Value:
        """Returns the internal value of a tracer that a rule returned."""
        if not isinstance(tracer, JaxprTracer):
            return tracer
        if tracer.is_known():
            return tracer.pval.get_known()
        recipe = tracer.recipe
        assert recipe is not None
        return self._computed(tracer, recipe) if isinstance(recipe, JaxprEqnRecipe) else recipe

    def _computed(self, tracer: JaxprTracer, recipe: JaxprEqnRecipe) -> Any:
        """Records the equation that is to compute `tracer`, once, and returns its result.

        Raises:
          ValueError: if the tracer is not a result of the equation.
        """
        outs = self._recorded.get(recipe.eqn_id)
        if outs is None:
            args = [self.value(self.instantiate_const(x)) for x in recipe.in_tracers]
            prim = recipe.primitive
            out = self._of.unknown_trace.process_primitive(prim, args, recipe.params)
            outs = self._recorded[recipe.eqn_id] = list(out) if prim.multiple_results else [out]
        for ref, out in zip(recipe.out_tracer_refs, outs, strict=True):
            if ref() is tracer:
                return out
        raise ValueError(
            f"new_eqn_recipe of {recipe.primitive}: the recipe is assigned to a tracer that is not "
            "among its `out_tracers`"
        )

    def instantiate_const(self, tracer: JaxprTracer) -> JaxprTracer:
        """Returns an unknown tracer of the same value, so that operations on it are recorded."""
        if not tracer.is_known():
            return tracer
        return self.tracer(self._of.unknown_trace.to_tracer(self.value(tracer)))

    def new_instantiated_const(self, x: Value) -> JaxprTracer:
        """Returns an unknown tracer of the value `x`."""
        return self.instantiate_const(self.tracer(x))

    def default_process_primitive(
        self, primitive: Primitive, tracers: Sequence[JaxprTracer], params: dict[str, Any]
    ) -> JaxprTracer | list[JaxprTracer]:
        """Computes the operation if all operands are known; otherwise records it."""
        args = [self.value(x) for x in tracers]
        if any([self._of.is_unknown(x) for x in args]):
            out = self._of.unknown_trace.process_primitive(primitive, args, params)
        else:
            with set_current_trace(self.parent_trace):
                out = self.parent_trace.process_primitive(primitive, args, params)
        return [self.tracer(x) for x in out] if primitive.multiple_results else self.tracer(out)


def _adapt_rule(rule: Callable[..., Any]) -> Callable[..., object]:
    """Adapts a user-defined rule to the internal calling convention of partial evaluation."""

    @functools.wraps(rule)  # keeps `__module__`, which shows where the rule is defined
    def divided(
        trace: PartialTrace, unknown: Sequence[bool], args: Sequence[Value], params: dict[str, Any]
    ) -> Value | list[Value]:
        view = TraceView(trace)
        with set_current_trace(trace.parent_trace):
            out = rule(view, *[view.tracer(x) for x in args], **params)
        return [view.value(x) for x in out] if isinstance(out, list | tuple) else view.value(out)

    setattr(divided, _USERS, rule)
    return divided


def _shown(rule: Callable[..., Any]) -> Callable[..., object]:
    """Converts a rule to the form that users write; the inverse of `_adapt_rule`."""
    user: Callable[..., Any] | None = getattr(rule, _USERS, None)
    if user is not None:
        return user

    def as_users(
        view: TraceView, *tracers: JaxprTracer, **params: object
    ) -> JaxprTracer | list[JaxprTracer]:
        args = [view.value(x) for x in tracers]
        out = rule(view._of, [not x.is_known() for x in tracers], args, params)
        return [view.tracer(x) for x in out] if isinstance(out, list | tuple) else view.tracer(out)

    return as_users


class _PartialRules(RuleTable):
    """A table of rules that are also applied if all operands are known."""

    def __setitem__(self, prim: Primitive, rule: Callable[..., Any]) -> None:
        super().__setitem__(prim, rule)
        prim.deferred = True

    def __delitem__(self, prim: Primitive) -> None:
        super().__delitem__(prim)
        prim.deferred = False


custom_partial_eval_rules = _PartialRules("partial", adapt=_adapt_rule, show=_shown)
"""Maps a primitive to rule(trace, *tracers, **params) -> tracer or sequence of tracers.

For `linearize`, `vjp` and `grad`, the rule splits an operation into a part that is computed
immediately from known operands, and a part that `trace` records for the linear program.
"""

partial_eval_jaxpr_custom_rules = RuleTable("divided_by_policy")
"""Maps a primitive to rule(saveable, unks_in, inst_in, eqn), by which `jax.checkpoint` splits it.

`saveable` is the checkpoint policy. All operands are known, and are recomputed where they are
needed; therefore `unks_in` is False and `inst_in` is True for each. The rule returns (equation of
the forward pass; equation of the recomputation; flags of the unknown results; flags of the results
that the recomputation yields; residuals, which are results of the forward equation and operands of
the recomputation). Both equations can be None.
"""


# --- dead code elimination ------------------------------------------------------------------------

_DCE = "dce"  # the slot that holds DCE rules

# (used, live, equation), or (used, equation) as in JAX before 0.11
DceRule = Callable[..., tuple[list[bool], JaxprEqn | None]]


def _of_three(rule: DceRule) -> DceRule:
    """Returns a user-defined DCE rule as a function of (used, live, equation)."""
    if len(inspect.signature(rule).parameters) != 2:
        return rule
    return lambda used, live, eqn: rule(used, eqn)


def dce_rule_of(prim: Primitive) -> DceRule | None:
    """Returns the DCE rule of a primitive as a function with `live`; None if it has no rule."""
    rule = prim.rules.get(_DCE)
    if rule is None:
        return None
    users: DceRule | None = getattr(rule, _OF_THREE, None)
    return _shown_dce(rule) if users is None else users


def _adapt_dce_rule(rule: DceRule) -> Callable[..., JaxprEqn | None]:
    of_three = _of_three(rule)  # inspects the signature once, not for each equation

    @functools.wraps(rule)
    def pruned(used: list[bool], eqn: JaxprEqn) -> JaxprEqn | None:
        return of_three(used, [True] * len(eqn.invars), eqn)[1]

    setattr(pruned, _USERS, rule)
    setattr(pruned, _OF_THREE, of_three)
    return pruned


def _shown_dce(rule: Callable[..., JaxprEqn]) -> DceRule:
    user: DceRule | None = getattr(rule, _USERS, None)
    if user is not None:
        return user

    def as_users(
        used: list[bool], live: list[bool], eqn: JaxprEqn
    ) -> tuple[list[bool], JaxprEqn | None]:
        if not any(used) and not eqn.effects:
            return [False] * len(eqn.invars), None
        if all(used) or eqn.effects:
            return [True] * len(eqn.invars), eqn
        smaller = rule(used, eqn)
        left = {v for v in smaller.invars if isinstance(v, Var)}
        return [isinstance(v, Var) and v in left for v in eqn.invars], smaller

    return as_users


dce_rules = RuleTable(_DCE, adapt=_adapt_dce_rule, show=_shown_dce)
"""Maps a primitive to rule(used, live, equation) -> (flags of the used operands, equation or None).

`used` has a flag for each result that is used, and `live` for each operand that may be read
afterwards: it is False only for references whose contents are not read. Rules with two parameters,
as in JAX before 0.11, are called without `live`.
"""
