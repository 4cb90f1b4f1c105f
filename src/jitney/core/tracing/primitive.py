"""Primitives: the operations of programs, each with all its rules.

A rule fills a slot. A module that looks up rules declares a slot for them (`declare_slot`): the
type rule and evaluation here, each transformation and the lowering in its own module:

    abstract   (*avals, **params) -> aval, or list of avals     type rule; raises errors to users
    eager      (*ndarrays, **params) -> ndarray, or list        reference implementation, in NumPy
    jvp        (primals, tangents, **params) -> (out, dout)     forward-mode derivative
    transpose  (ct, *primals, **params) -> cts                  for linear operands
    batch      (args, dims, **params) -> (out, dim)             vectorization
    lower      (builder, *nodes, **params) -> node, or list     lowering to the tensor IR

Every primitive must fill these six slots, or state why it does not (`absent`);
`tests/test_primitives_complete.py` fails if a slot is neither filled nor declared absent. Other
slots, such as `partial`, `dce` and `jet`, are optional. A rule is set once, with the decorator named
after the slot:

    @sin_p.jvp
    def _(primals, tangents): ...

Tracebacks and profiles show this rule as `sin.jvp`. `docs/adding_a_transformation.md` shows how to
add a slot.

Users can define primitives as well, in the way that JAX documents: with `Primitive(name)`,
`def_impl`, `def_abstract_eval`, and the tables of `jax.interpreters`.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from jitney.core.settings import caches
from jitney.core.sharding_in_types import explicit, sums, varying
from jitney.core.tracing import trace as _trace
from jitney.core.types.avals import AbstractValue
from jitney.core.types.effects import GenericEffect, no_effects
from jitney.core.types.refs import IS_REF
from jitney.core.util.declarations import Table, execution, is_repeated
from jitney.core.util.first_use import Features
from jitney.core.util.record import record
from jitney.core.util.thresholds import threshold

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

    from jitney.core.types.avals import ResultTypes
    from jitney.core.types.effects import Effects
    from jitney.core.typing import Params, Value

Rule = TypeVar("Rule", bound=Callable[..., Any])


@record(frozen=True)
class Slot:
    """A kind of rule that primitives may have.

    Attributes:
      name: the name of the slot, and of the decorator that fills it.
      required: whether a primitive of this package must fill it or state why not.
      instead_of: the required slot that may stay open if this one is filled.
    """

    name: str
    required: bool = False
    instead_of: str | None = None

    def rule_of(self, primitive: Primitive) -> Callable[..., Any] | None:
        """Returns the rule of `primitive` in this slot; None if there is none."""
        return primitive.rules.get(self.name)


slots: Table[Slot] = Table("the rule of primitives")


def declare_slot(name: str, *, required: bool = False, instead_of: str | None = None) -> Slot:
    """Declares a new kind of rule, which is set for a primitive by a decorator called `name`.

    Raises:
      ValueError: if the slot exists, or if primitives have an attribute of that name.
    """
    is_attribute = name not in slots and hasattr(Primitive(name), name)
    if slots.is_taken(name) or (is_attribute and name not in ("abstract", "eager")):
        raise ValueError(f"primitives already have '{name}'; give the slot another name")
    return slots.declare(name, Slot(name, required, instead_of))


# All primitives that the package declares, by name, in order of declaration.
registry: Table[Primitive] = Table("primitive")

_all: weakref.WeakSet[Primitive] = weakref.WeakSet()  # user-defined ones, too


def _clear_types() -> None:
    for primitive in list(_all):
        primitive.abstract_memo.clear()


caches.register(
    "types of results", "the primitive, types of the operands, parameters", __name__,
    entries=lambda: sum([len(p.abstract_memo) for p in list(_all)]), clear=_clear_types,
)  # fmt: skip


_HAS_DEFAULT_PLACE = attrgetter("has_default_place")


class Evaluator(Protocol):
    """An evaluator for operands of some types, used in place of reference implementations."""

    def concerns(self, avals: Sequence[AbstractValue]) -> bool:
        """Returns whether it evaluates operations with operand and result types `avals`."""
        ...

    def evaluate(
        self,
        primitive: Primitive,
        avals: Sequence[AbstractValue],
        args: Sequence[Any],
        params: dict[str, Any],
        out: Any,
    ) -> object:
        """Returns the results of an operation.

        Args:
          primitive: the operation.
          avals: the types of its operands.
          args: its operands.
          params: its parameters.
          out: the type, or list of types, of its results.
        """
        ...


# An evaluator must be installed before values of its types exist: the choice for a type is
# memoized.
evaluators: Features[Evaluator] = Features()


# The information that operand types and parameters determine: (result type or types, effects); the
# operand types, which are interned and kept alive here; the evaluator to use in place of the
# reference implementation, or None.
TypedOperation: TypeAlias = "tuple[tuple[Any, Any], tuple[AbstractValue, ...], Evaluator | None]"


class Primitive:
    """An operation; the docstring of the module describes its rules.

    Attributes:
      name: its name in JAX, as printed in jaxprs.
      multiple_results: whether rules return lists of results instead of a single result.
      linearity: the operands in which it is linear, so that it commutes with the reduction of
        unreduced values.
      called: the name of the parameter with the program that the operation calls on its operands;
        None if it is not a call.
      is_transparent: whether evaluation runs that program; other parameters are for derivatives.
      makes_ref: whether the result is a new reference; its tangent is then also a reference, even
        if the tangent is zero.
      passes_refs: whether it may pass references to users' functions that it calls.
      is_high_operation: whether it is a `HiPrimitive`.
      ref_primitive, ref_allocating: whether it operates on references, and whether it creates them;
        libraries read these attributes.
      declares_sharding: whether the type rule computes the sharding of results along Explicit axes.
      stretches: whether it is elementwise, so that broadcast operands are sharded like the result.
      asks_places: whether a parameter is a function of the shardings of the operands.
      divides_itself: whether it defines how devices compute it on their shards.
      deferred: whether partial evaluation treats the result as unknown, whatever the operands are.
      is_memoized: whether the result types depend only on the operand types and the parameters, and
        not on axes in scope or states of operands.
    """

    multiple_results: bool = False
    call_primitive: bool = False
    skip_canonicalization: bool = False
    linearity: sums.Linearity = sums.NONLINEAR
    called: str | None = None
    is_transparent: bool = False
    makes_ref: bool = False
    declares_sharding: bool = False
    stretches: bool = False
    asks_places: bool = False
    divides_itself: bool = False
    deferred: bool = False
    is_memoized: bool = True
    passes_refs: bool = False
    is_high_operation: bool = False
    ref_primitive: bool = False
    ref_allocating: bool = False

    def __init__(self, name: str) -> None:
        self.name = name
        self.rules: dict[str, Callable[..., Any]] = {}
        self.absences: dict[str, str] = {}
        self._defaults: set[str] = set()  # slots whose rules may be replaced
        self._executions: dict[
            str, ModuleSpec | None
        ] = {}  # specs of the modules that set the rules, by slot
        # The two rules that every bind needs, as attributes for speed.
        self.abstract_rule: Callable[..., Any] | None = None
        self.eager_rule: Callable[..., Any] | None = None
        # (ids of avals, params) -> what they determine
        self.abstract_memo: dict[Any, TypedOperation] = {}
        self.effectful = False
        self.user_impl: Callable[..., Any] | None = None
        _all.add(self)

    # --- declaring rules ---------------------------------------------------------------------

    def set_rule(self, slot: str, rule: Rule) -> Rule:
        """Fills a slot, and returns `rule`.

        Raises:
          ValueError: if it is filled already.
        """
        now = execution()
        is_filled = slot in self.rules and slot not in self._defaults
        if is_filled and not is_repeated(self._executions.get(slot), now):
            raise ValueError(f"{self.name} already has a rule for {slot}")
        self._defaults.discard(slot)
        self._executions[slot] = now
        self.rules[slot] = rule
        self.absences.pop(slot, None)
        replaced = slots[slot].instead_of
        if replaced is not None:
            self.absences.setdefault(replaced, f"has one for {slot}")
        _name_code(rule, f"{self.name}.{slot}")
        return rule

    def replace_rule(self, slot: str, rule: Rule) -> Rule:
        """Fills a slot, replacing any rule in it."""
        self.rules.pop(slot, None)
        return self.set_rule(slot, rule)

    def set_default(self, slot: str, rule: Rule) -> Rule:
        """Fills a slot with the rule of a family, which a specific rule may replace."""
        self.set_rule(slot, rule)
        self._defaults.add(slot)
        return rule

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[[Rule], Rule]: ...

    else:

        def __getattr__(self, name: str) -> Any:
            """Returns the decorator that fills the slot `name`."""
            if name not in slots:
                raise AttributeError(f"'{type(self).__name__}' object has no attribute {name!r}")
            return functools.partial(self.set_rule, name)

    def abstract(self, rule: Rule) -> Rule:
        self.abstract_rule = rule
        return self.set_rule("abstract", rule)

    def eager(self, rule: Rule) -> Rule:
        self.eager_rule = rule
        return self.set_rule("eager", rule)

    def absent(self, *names: str, why: str) -> None:
        """States that the primitive has no rules in the slots `names`, and why."""
        for name in names:
            assert slots[name].required and name not in self.rules, name
            self.absences[name] = why

    def missing(self) -> list[str]:
        """Returns the required slots with neither a rule nor a reason for its absence."""
        known = self.rules.keys() | self.absences.keys()
        return [name for name, slot in slots.items() if slot.required and name not in known]

    # --- JAX's way of declaring rules ------------------------------------------------------------

    def def_impl(self, impl: Rule) -> Rule:
        """Sets the function that evaluates the primitive eagerly; it maps arrays to arrays.

        It may call the previous `impl`, which can also be restored later.
        """
        self.user_impl = None if impl == self.evaluate else impl
        return impl

    def def_abstract_eval(self, rule: Rule) -> Rule:
        """Sets the type rule, replacing any earlier one."""
        self.abstract_rule = self.rules["abstract"] = rule
        self.abstract_memo.clear()
        self.effectful = False
        return rule

    def def_effectful_abstract_eval(self, rule: Rule) -> Rule:
        """Sets a type rule that returns (avals, effects)."""
        self.def_abstract_eval(rule)
        self.effectful = True
        return rule

    def def_effectful_abstract_eval2(self, rule: Rule) -> Rule:
        """Sets a type rule that returns avals only, for a primitive with its own effect.

        The effect, a `GenericEffect`, preserves the equations and their order.
        """

        def with_effect(*avals: AbstractValue, **params: object) -> tuple[ResultTypes, Effects]:
            return rule(*avals, **params), frozenset([GenericEffect(self)])

        self.def_effectful_abstract_eval(with_effect)
        return rule

    def to_lojax(self, *args: Value, **params: object) -> object:
        """Computes the operation on values of high-level types by operations on arrays.

        Raises:
          NotImplementedError: always; primitives on such values override it
            (`jax.experimental.hijax`).
        """
        raise NotImplementedError(
            f"the primitive {self.name} has no rule to_lojax, which is required for operands of "
            "user-defined types"
        )

    def def_bind_with_trace(self, rule: Rule) -> Rule:
        self.bind_with_trace = rule
        return rule

    @property
    def impl(self) -> Callable[..., Any]:
        return self.evaluate if self.user_impl is None else self.user_impl

    def is_evaluated_by_user(self, built_in: bool) -> bool:
        """Returns whether an implementation from `def_impl` evaluates an operation.

        Args:
          built_in: whether the built-in rule was requested instead.
        """
        return self.user_impl is not None and not built_in

    def evaluate(self, *args: Value, **params: object) -> object:
        """Returns the results on arrays by the primitive's own rules, ignoring `def_impl`."""
        return _trace.state.eval_trace.process_primitive(self, args, params, built_in=True)

    def abstract_eval(self, *avals: AbstractValue, **params: object) -> tuple[Any, Effects]:
        """Returns (result type or types, effects), without memoization."""
        if self.abstract_rule is None:
            if _trace.state.trace is _trace.state.eval_trace:
                what, setter = "evaluation rule, which calls outside of jit require", "def_impl"
            else:
                what, setter = "rule for result types, which tracing requires", "def_abstract_eval"
            raise NotImplementedError(
                f"'{self.name}' has no {what} (not implemented). For a primitive of your own, set "
                f"the rule with its method {setter}"
            )
        is_explicit = not all(map(_HAS_DEFAULT_PLACE, avals)) and explicit.is_explicit(avals)
        if params.get("out_sharding") is not None or params.get("sharding") is not None:
            is_explicit = is_explicit or explicit.requested_sharding(params) is not None
        local_avals = explicit.without(self, avals) if is_explicit else avals
        out = self.abstract_rule(*local_avals, **params)
        outs = out[0] if self.effectful else out
        if isinstance(outs, list | tuple) is not self.multiple_results:
            kind = "a list or tuple of types" if self.multiple_results else "one type"
            raise ValueError(
                f"{self.name}: the rule for result types (def_abstract_eval) must return {kind}, "
                f"because multiple_results is {self.multiple_results}, but it returned {outs!r}"
            )
        effects = out[1] if self.effectful else no_effects
        if varying.is_manual(avals):
            outs = varying.of_results(self, avals, params, outs)
        if is_explicit:
            outs = explicit.of_results(self, self.name, avals, params, outs)
        return outs, effects

    def result_type(self, avals: tuple[AbstractValue, ...], params: dict[str, Any]) -> Any:
        """Returns `abstract_eval`, memoized like `typed`."""
        return self.typed(avals, params)[0]

    def typed(self, avals: tuple[AbstractValue, ...], params: dict[str, Any]) -> TypedOperation:
        """Returns the `TypedOperation` for operand types and parameters, memoized if hashable."""
        # Parameters that are equal but of different types (1 and 1.0) never change a result's type.
        key: Any = (*map(id, avals), *params.items()) if self.is_memoized else None
        memo = self.abstract_memo
        try:
            typed = memo.get(key)
        except TypeError:
            key = typed = None
        if typed is None:
            if key is not None and any(map(IS_REF, avals)):
                self._check_takes_refs(avals)
            result = self.abstract_eval(*avals, **params)
            types = (*avals, *result[0]) if self.multiple_results else (*avals, result[0])
            evaluator = None
            for each in evaluators.installed:
                if each.concerns(types):
                    evaluator = each
            typed = result, avals, evaluator
            if key is not None:
                if len(memo) >= _MEMO_LIMIT:
                    memo.clear()
                memo[key] = typed
        return typed

    def _check_takes_refs(self, avals: tuple[AbstractValue, ...]) -> None:
        """Raises TypeError unless the operation accepts references."""
        if "discharge" not in self.rules and not self.passes_refs:
            types = ", ".join([a.str_short() for a in avals])
            raise TypeError(
                f"{self.name} takes arrays, but its operands, of types {types}, include mutable "
                "array references; read a reference with ref[...]"
            )

    # --- use -------------------------------------------------------------------------------------

    def bind(self, *args: Value, **params: object) -> Any:
        """Applies the primitive under the current trace."""
        return _trace.state.trace.process_primitive(self, args, params)

    def bind_with_trace(self, trace: _trace.Trace, args: tuple[Any, ...], *params: Any) -> Any:
        """Applies the primitive under `trace`; the last argument is the dict of parameters."""
        return trace.process_primitive(self, args, params[-1])

    def get_bind_params(self, params: dict[str, Any]) -> Params:
        """Returns the parameters with which to bind an equation again."""
        return params

    def is_effectful(self, params: dict[str, Any]) -> bool:
        return self.effectful

    def is_high(self, *_: Any, **__: Any) -> bool:
        return False

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__


ABSTRACT = declare_slot("abstract", required=True)
# (avals, params, results) -> results: result types with the manual axes along which they vary.
VARYING = declare_slot("varying")
# (operation) -> for each result, the mesh axes along which its axes are sharded:
# `core.sharding_in_types.explicit`.
SHARDING = declare_slot("sharding")
# (operation, out_sharding) -> None: raises an error if the rule can tell why results cannot have
# that sharding.
ASKED = declare_slot("checks_place")
EAGER = declare_slot("eager", required=True)

_MEMO_LIMIT = threshold(4096, small=16)  # distinct (avals, params) of one primitive


def declare(name: str, *, multiple_results: bool = False, linear: bool = False) -> Primitive:
    """Declares a new primitive of this package and enters it in `registry`.

    Args:
      name: the name of the primitive.
      multiple_results: whether rules return lists of results.
      linear: whether it is jointly linear in its operands.
    """
    prim = Primitive(name)
    prim.multiple_results = multiple_results
    if linear:
        prim.linearity = sums.LINEAR
    return registry.declare(name, prim)


def _name_code(rule: Callable[..., Any], name: str) -> None:
    """Renames the code of an anonymous rule to `name` for tracebacks and profiles."""
    code = getattr(rule, "__code__", None)
    if code is not None and code.co_name in ("_", "rule", "<lambda>"):
        rule.__code__ = code.replace(co_name=name, co_qualname=name)  # a plain function
