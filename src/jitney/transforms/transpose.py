"""Transposition of linear programs: from cotangents of results to cotangents of operands.

The equations are processed in reverse order. The `transpose` rule of a primitive receives the
operands and the cotangent of the result. In place of a linear operand it receives an
`UndefinedPrimal`, of which only the type is known.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from contextlib import nullcontext
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from jitney.core.program.evaluate import value_of
from jitney.core.program.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var, settings_of
from jitney.core.pytree import pytrees
from jitney.core.sharding_in_types import explicit
from jitney.core.source import source_info
from jitney.core.tracing.primitive import Primitive, declare_slot
from jitney.core.tracing.trace import state
from jitney.core.types.avals import AbstractValue, get_aval
from jitney.core.util.record import record
from jitney.transforms.accumulators import GradAccum, NullAccum, ValAccum
from jitney.transforms.algebra import algebra
from jitney.transforms.discharge import content_type, discharge_with_consts
from jitney.transforms.logs import add_entries
from jitney.transforms.zero import Zero, add_tangents

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from typing_extensions import TypeIs

    from jitney.core.program.jaxpr import ClosedJaxpr
    from jitney.core.pytree.treedef import PyTreeDef
    from jitney.core.typing import Value
    from jitney.transforms.logs import Log
    from jitney.transforms.zero import Tangent

# (cotangents, *operands, **params) -> cotangents of the operands, None for nonlinear ones
TRANSPOSE = declare_slot("transpose", required=True)
# (cotangents, *operands, **params) -> (cotangents of the operands, log), for operations that may
# involve users' backward rules.
LOGGED_TRANSPOSE = declare_slot("logged_transpose", instead_of="transpose")


class UndefinedPrimal:
    """A placeholder for an operand in which an operation is linear.

    Attributes:
      aval: the type of the operand.
      accum: the accumulator that users' backward rules use for its cotangent; None if they receive
        a `ValAccum`.
    """

    __slots__ = ("accum", "aval")

    def __init__(self, aval: AbstractValue, accum: GradAccum | None = None) -> None:
        self.aval = aval
        self.accum = accum

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype:
        return self.aval.dtype

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval})"


def is_undefined_primal(x: object) -> TypeIs[UndefinedPrimal]:
    """Returns whether `x` is a placeholder for a linear operand."""
    return type(x) is UndefinedPrimal


def accumulator_of(x: Value | UndefinedPrimal) -> tuple[GradAccum, bool]:
    """Returns the accumulator of an operand's cotangent, and whether to return its sum."""
    if type(x) is not UndefinedPrimal:
        return NullAccum(get_aval(x).to_cotangent_aval()), False
    if x.accum is not None:
        return x.accum, False
    return ValAccum(content_type(x.aval).to_cotangent_aval()), True


@record(frozen=True)
class TransposedProgram:
    """The transpose of a program.

    Attributes:
      closed: the transposed program. It maps the operands in which the original program is not
        linear, followed by cotangents of some of its results, to cotangents of linear operands,
        followed by the leaves of the log.
      has_ct: which linear operands have a cotangent.
      log_tree: the structure of the log.
    """

    closed: ClosedJaxpr
    has_ct: tuple[bool, ...]
    log_tree: PyTreeDef

    def log_of(self, leaves: Iterable[Any]) -> Log:
        """Returns the log with the given leaves."""
        return pytrees.tree_unflatten(self.log_tree, leaves)


_MAKES_REF = attrgetter("primitive.makes_ref")


def backward_pass(
    jaxpr: Jaxpr,
    consts: Sequence[Any],
    primals: Sequence[Any],
    cotangents: Sequence[Any],
    wanted: Sequence[bool] | None = None,
) -> list[Tangent]:
    """Returns the cotangents that `logged_backward_pass` computes, without the log."""
    return logged_backward_pass(jaxpr, consts, primals, cotangents, wanted)[0]


def logged_backward_pass(
    jaxpr: Jaxpr,
    consts: Sequence[Any],
    primals: Sequence[Any],
    cotangents: Sequence[Any],
    wanted: Sequence[bool] | None = None,
) -> tuple[list[Tangent], Log]:
    """Returns the cotangents of the operands of `jaxpr`, with the log of the backward pass.

    Args:
      jaxpr: a program.
      consts: the values of its constants.
      primals: the operands, with an `UndefinedPrimal` for each operand in which the program is
        linear. If an `UndefinedPrimal` has an accumulator, the `logged_transpose` rules of
        equations that take this operand receive the accumulator; all other contributions to the
        cotangent are returned.
      cotangents: the cotangents of the results, or `Zero`.
      wanted: whether the cotangent of each operand is needed; by default, all are. Values on which
        only other cotangents depend are not computed.

    Returns: a pair (cotangents of the operands, log of users' backward rules). A cotangent may be
      `Zero`.

    Raises:
      ValueError: if two log entries have the same name.
    """
    # Cotangents are accumulated without references: references to which tangents are written are
    # discharged first.
    which = [type(x) is UndefinedPrimal and x.aval.is_ref for x in primals]
    if any(which):
        return _through_refs(jaxpr, consts, primals, cotangents, wanted, which)
    if any(map(_MAKES_REF, jaxpr.eqns)):
        jaxpr, consts, _ = discharge_with_consts(jaxpr, consts, which)
    if not state.trace.names_sources:
        return _cotangents(jaxpr, consts, primals, cotangents, wanted, None)
    with source_info.origins() as come_from:
        return _cotangents(jaxpr, consts, primals, cotangents, wanted, come_from)


def _through_refs(
    jaxpr: Jaxpr,
    consts: Sequence[Any],
    primals: Sequence[Any],
    cotangents: Sequence[Any],
    wanted: Sequence[bool] | None,
    which: Sequence[bool],
) -> tuple[list[Tangent], Log]:
    """Computes `logged_backward_pass` if the linear operands marked in `which` are references.

    Before the pass, the accumulator of such an operand holds the cotangent of the reference's final
    contents; afterwards, it holds that of the initial contents. The returned cotangent is `Zero`.
    """
    jaxpr, consts, changed = discharge_with_consts(jaxpr, consts, which)
    accums = [
        accumulator_of(x)[0] if is_ref else None for x, is_ref in zip(primals, which, strict=True)
    ]
    contents = [
        UndefinedPrimal(content_type(x.aval)) if is_ref else x
        for x, is_ref in zip(primals, which, strict=True)
    ]
    of_last = [a.take() for a, c in zip(accums, changed, strict=True) if a is not None and c]
    cts, log = logged_backward_pass(jaxpr, consts, contents, [*cotangents, *of_last], wanted)
    for k, accum in enumerate(accums):
        if accum is not None:
            accum.accum(cts[k])
            cts[k] = Zero(accum.aval)
    return cts, log


def _cotangents(
    jaxpr: Jaxpr,
    consts: Sequence[Any],
    primals: Sequence[Any],
    cotangents: Sequence[Any],
    wanted: Sequence[bool] | None,
    come_from: Callable[[object], None] | None,
) -> tuple[list[Tangent], Log]:
    values, accumulated, unwanted = _variables(jaxpr, consts, primals, wanted)
    linear = _evaluate_known(jaxpr.eqns, values, unwanted, come_from)
    cts: dict[Var, Any] = {}
    log: Log = {}

    def accumulate(atoms: Sequence[Atom], new_cts: Sequence[Tangent | None]) -> None:
        for atom, ct in zip(atoms, new_cts, strict=True):
            if ct is None or isinstance(ct, Zero) or isinstance(atom, Literal) or atom in values:
                continue
            if atom in unwanted:
                continue
            if not atom.aval.has_default_place:
                ct = _aligned(ct, atom.aval)
            cts[atom] = add_tangents(cts[atom], ct) if atom in cts else ct

    accumulate(jaxpr.outvars, cotangents)
    for eqn in reversed(linear):
        if cts.keys().isdisjoint(eqn.outvars):
            continue
        ct_out: list[Any] = []
        for v in eqn.outvars:
            ct = cts.pop(v, None)
            ct_out.append(Zero(v.aval.to_cotangent_aval()) if ct is None else ct)
        operands: list[Any] = []
        for a in eqn.invars:
            if type(a) is Literal:
                operands.append(value_of(a, values))
            else:
                operands.append(values[a] if a in values else UndefinedPrimal(a.aval))
        rule = eqn.primitive.rules.get(TRANSPOSE.name)
        if rule is None:
            rule = _logging_rule(eqn.primitive, log)
            operands = [
                accumulated.get(a, x) if type(x) is UndefinedPrimal else x
                for a, x in zip(eqn.invars, operands, strict=True)
            ]
        ct_of_eqn = ct_out if eqn.primitive.multiple_results else ct_out[0]
        if come_from is not None:
            come_from(eqn.source_info)
        if eqn.ctx is not None and eqn.ctx.cur_abstract_mesh is not None:
            with settings_of(eqn):
                accumulate(eqn.invars, rule(ct_of_eqn, *operands, **eqn.params))
        else:
            accumulate(eqn.invars, rule(ct_of_eqn, *operands, **eqn.params))
    operand_cts: list[Any] = []
    for v in jaxpr.invars:
        ct = None if v in values else cts.get(v)
        operand_cts.append(Zero(v.aval.to_cotangent_aval()) if ct is None else ct)
    return operand_cts, log


def _variables(
    jaxpr: Jaxpr,
    consts: Sequence[Any],
    primals: Sequence[Any],
    wanted: Sequence[bool] | None,
) -> tuple[dict[Var, Value], dict[Atom, UndefinedPrimal], set[Var]]:
    """Returns the initial state of the backward pass.

    Returns: a tuple (values of constants and of nonlinear operands; linear operands with an
      accumulator; variables of linear operands whose cotangents are not needed).
    """
    values: dict[Var, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    accumulated: dict[Any, UndefinedPrimal] = {}
    for var, x in zip(jaxpr.invars, primals, strict=True):
        if type(x) is not UndefinedPrimal:
            values[var] = x
        elif x.accum is not None:
            accumulated[var] = x
    if wanted is None:
        return values, accumulated, set()
    unwanted = {v for v, w in zip(jaxpr.invars, wanted, strict=True) if not w}
    return values, accumulated, unwanted - values.keys()


def _logging_rule(primitive: Primitive, log: Log) -> Callable[..., Sequence[Tangent | None]]:
    """Returns the `logged_transpose` of `primitive` as a `transpose` rule that adds to `log`."""
    logged = LOGGED_TRANSPOSE.rule_of(primitive)
    if logged is None:
        raise NotImplementedError(_missing_rule(primitive))

    def rule(
        *args: Tangent | UndefinedPrimal | Sequence[Tangent], **params: object
    ) -> Sequence[Tangent | None]:
        operand_cts, entries = logged(*args, **params)
        add_entries(log, entries, primitive)
        return operand_cts

    return rule


def _evaluate_known(
    eqns: Sequence[JaxprEqn],
    values: dict[Var, Any],
    unwanted: set[Var],
    come_from: Callable[[object], None] | None,
) -> list[JaxprEqn]:
    """Evaluates the equations that do not depend on linear operands; returns the other ones.

    Args:
      eqns: the equations, in order.
      values: the values of variables that do not depend on linear operands; the results are added
        to this dict.
      unwanted: linear variables whose cotangents are not needed; variables that depend on no other
        linear variables are added to this set.
      come_from: a function that is called with the source of each evaluated equation.
    """
    linear: list[JaxprEqn] = []
    for eqn in eqns:
        for a in eqn.invars:
            if type(a) is not Literal and a not in values:
                if unwanted and _all_among(eqn.invars, values, unwanted):
                    unwanted.update(eqn.outvars)
                else:
                    linear.append(eqn)
                break
        else:
            if come_from is not None:
                come_from(eqn.source_info)
            is_on_mesh = eqn.ctx is not None and eqn.ctx.cur_abstract_mesh is not None
            with settings_of(eqn) if is_on_mesh else nullcontext():
                outs = eqn.primitive.bind(*[value_of(a, values) for a in eqn.invars], **eqn.params)
            outs = outs if eqn.primitive.multiple_results else [outs]
            values.update(zip(eqn.outvars, outs, strict=True))
    return linear


def _aligned(ct: Value, aval: AbstractValue) -> Value:
    """Reshards the cotangent `ct` of a value of type `aval` along Explicit axes, if necessary."""
    place = explicit.sharding_of(aval.to_cotangent_aval())
    if place is None or explicit.sharding_of(get_aval(ct)) == place:
        return ct
    return algebra.reshard(ct, place)


def _all_among(atoms: Sequence[Atom], known: Container[Var], unwanted: set[Var]) -> bool:
    return all(isinstance(a, Literal) or a in known or a in unwanted for a in atoms)


def _missing_rule(primitive: Primitive) -> str:
    why = primitive.absences.get("transpose")
    reason = f" ({why})" if why else ""
    return (
        f"'{primitive}' has no transpose rule, so reverse-mode differentiation is not implemented "
        f"for it{reason}. For a primitive of your own, set one in "
        "jax.interpreters.ad.primitive_transposes"
    )
