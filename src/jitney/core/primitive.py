"""Primitives: the operations that programs are made of, each with all of its rules.

A primitive has six slots. Each is set once, by assignment or by the decorator of the same name, or
is marked absent with a reason; `slots()` tells which. `tests/test_primitives_complete.py` walks all
primitives and fails on an empty slot.

    abstract   (*avals, **params) -> aval, or list of avals     type rule; raises the user's errors
    eager      (*ndarrays, **params) -> ndarray, or list        meaning on NumPy arrays
    jvp        (primals, tangents, **params) -> (out, dout)     forward derivative
    transpose  (ct, *primals, **params) -> cts                  of linear operands
    batch      (args, dims, **params) -> (out, dim)             one more axis
    lower      (builder, *nodes, **params) -> node, or list     to the tensor IR

Some have more: `partial`, `dce` and `jet`, see the decorators of these names.

Users define primitives, too, in JAX's documented way: `Primitive(name)`, `def_impl`,
`def_abstract_eval`, and the tables of `jax.interpreters`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from jitney.core import trace as _trace
from jitney.core.avals import AbstractValue
from jitney.core.effects import no_effects

Rule = TypeVar("Rule", bound=Callable[..., Any])

SLOTS = ("abstract", "eager", "jvp", "transpose", "batch", "lower")

# Every primitive that the package itself declares, by name, in order of declaration.
registry: dict[str, Primitive] = {}


class Primitive:
    """An operation. See the module's docstring for its rules.

    Attributes:
      name: JAX's name for it, as jaxprs print it.
      multiple_results: whether rules return lists of results instead of one.
      linear: whether the operation is linear in its operands (all together).
    """

    multiple_results: bool = False
    call_primitive: bool = False
    skip_canonicalization: bool = False
    linear: bool = False

    def __init__(self, name: str) -> None:
        self.name = name
        self.rules: dict[str, Callable[..., Any]] = {}
        self.absences: dict[str, str] = {}
        # The two rules that every bind needs, as attributes for speed.
        self.abstract_rule: Callable[..., Any] | None = None
        self.eager_rule: Callable[..., Any] | None = None
        # (avals, params) -> (out avals, effects)
        self.abstract_memo: dict[Any, tuple[Any, Any]] = {}
        self.effectful = False
        self.user_impl: Callable[..., Any] | None = None

    # --- declaring rules ---------------------------------------------------------------------

    def _set(self, slot: str, rule: Rule) -> Rule:
        assert slot not in self.rules, f"{self.name} has a rule for {slot} already"
        self.rules[slot] = rule
        self.absences.pop(slot, None)
        return rule

    def abstract(self, rule: Rule) -> Rule:
        self.abstract_rule = rule
        return self._set("abstract", rule)

    def eager(self, rule: Rule) -> Rule:
        self.eager_rule = rule
        return self._set("eager", rule)

    def jvp(self, rule: Rule) -> Rule:
        return self._set("jvp", rule)

    def transpose(self, rule: Rule) -> Rule:
        return self._set("transpose", rule)

    def batch(self, rule: Rule) -> Rule:
        return self._set("batch", rule)

    def lower(self, rule: Rule) -> Rule:
        return self._set("lower", rule)

    def jet(self, rule: Rule) -> Rule:
        """Taylor series, in place of a family's rule: (primals, series) -> (out, terms).

        See `transforms.jet`. A primitive without one is differentiated.
        """
        self.rules["jet"] = rule
        return rule

    def partial(self, rule: Rule) -> Rule:
        """Divides a call of a program into what is known and what is not: `transforms.partial`."""
        return self._set("partial", rule)

    def dce(self, rule: Rule) -> Rule:
        """The equation without results that nobody reads: (used, eqn) -> eqn."""
        return self._set("dce", rule)

    def batch_with_axis(self, rule: Rule) -> Rule:
        """`batch` for operations that ask for the axis itself: (axis_data, args, dims, **params)."""
        self.absences.setdefault("batch", "has a rule that is given the axis")
        return self._set("batch_with_axis", rule)

    def batch_with_trace(self, rule: Rule) -> Rule:
        """`batch` for operations that run users' functions: (trace, args, dims, **params)."""
        self.absences.setdefault("batch", "has a rule that is given the trace")
        return self._set("batch_with_trace", rule)

    def lower_with_avals(self, rule: Rule) -> Rule:
        """`lower` for operations that ask for the operands' types: (b, avals, *nodes, **params)."""
        self.absences.setdefault("lower", "has a rule that is given the types")
        return self._set("lower_with_avals", rule)

    def absent(self, *slots: str, why: str) -> None:
        """Says that the primitive has no rule for `slots`, and why."""
        for slot in slots:
            assert slot in SLOTS and slot not in self.rules, slot
            self.absences[slot] = why

    def missing(self) -> list[str]:
        """Slots with neither a rule nor a reason for having none."""
        return [s for s in SLOTS if s not in self.rules and s not in self.absences]

    # --- JAX's way of declaring rules ------------------------------------------------------------

    def def_impl(self, impl: Rule) -> Rule:
        """Sets the function run outside of any transformation; it takes and returns arrays.

        What `impl` was before may be called by it, and set again later.
        """
        self.user_impl = None if impl == self.evaluate else impl
        return impl

    def def_abstract_eval(self, rule: Rule) -> Rule:
        """Sets the type rule, replacing an earlier one."""
        self.abstract_rule = self.rules["abstract"] = rule
        self.abstract_memo.clear()
        self.effectful = False
        return rule

    def def_effectful_abstract_eval(self, rule: Rule) -> Rule:
        """Sets a type rule that returns (avals, effects)."""
        self.def_abstract_eval(rule)
        self.effectful = True
        return rule

    def def_bind_with_trace(self, rule: Rule) -> Rule:
        self.bind_with_trace = rule  # type: ignore[method-assign]
        return rule

    @property
    def impl(self) -> Callable[..., Any]:
        return self.evaluate if self.user_impl is None else self.user_impl

    def evaluate(self, *args: Any, **params: Any) -> Any:
        """The operation on arrays by its own meaning, whatever `def_impl` has set."""
        return _trace.state.eval_trace.process_primitive(self, args, params, own=True)

    def abstract_eval(self, *avals: AbstractValue, **params: Any) -> tuple[Any, Any]:
        """(result type or types, effects), not memoised."""
        if self.abstract_rule is None:
            raise NotImplementedError(
                f"primitive '{self.name}' has no type rule; set one by def_abstract_eval"
            )
        out = self.abstract_rule(*avals, **params)
        return out if self.effectful else (out, no_effects)

    def result_type(self, avals: tuple[AbstractValue, ...], params: dict[str, Any]) -> Any:
        """`abstract_eval`, memoised by avals and parameters where these can be hashed."""
        # Parameters that are equal but of different types (1 and 1.0) never change a result's type.
        key: Any = (avals, *params.items()) if params else avals
        memo = self.abstract_memo
        try:
            found = memo.get(key)
        except TypeError:
            return self.abstract_eval(*avals, **params)
        if found is None:
            found = self.abstract_eval(*avals, **params)
            if len(memo) >= _MEMO_LIMIT:
                memo.clear()
            memo[key] = found
        return found

    # --- use -------------------------------------------------------------------------------------

    def bind(self, *args: Any, **params: Any) -> Any:
        """Applies the primitive under the current trace."""
        return _trace.state.trace.process_primitive(self, args, params)

    def bind_with_trace(self, trace: Any, args: tuple[Any, ...], *rest: Any) -> Any:
        """Applies the primitive under `trace`; the last argument is the parameters."""
        return trace.process_primitive(self, args, rest[-1])

    def get_bind_params(self, params: dict[str, Any]) -> Any:
        """What `bind` wants of an equation's parameters."""
        return params

    def is_effectful(self, params: dict[str, Any]) -> bool:
        return self.effectful

    def is_high(self, *_: Any, **__: Any) -> bool:
        return False

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__


_MEMO_LIMIT = 4096  # distinct (avals, params) of one primitive


def declare(name: str, *, multiple_results: bool = False, linear: bool = False) -> Primitive:
    """A new primitive of the package, entered in `registry`."""
    assert name not in registry, f"primitive {name} is declared twice"
    prim = Primitive(name)
    prim.multiple_results = multiple_results
    prim.linear = linear
    registry[name] = prim
    return prim
