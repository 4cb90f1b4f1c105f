"""Functionalization of checks: transforms programs to return an error besides their results.

A program is evaluated equation by equation under the current trace. A `Checker` holds the first
error found so far. A primitive can have a rule in the slot `checkify`, which adds checks and
threads the error through the jaxprs in its parameters:

    rule(checker, eqn, operands) -> results

Other primitives are bound unchanged; if they can produce NaN, their results are checked for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core.program.evaluate import last_uses, value_of
from jitney.core.program.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var, settings_of
from jitney.core.program.memo import memoize_by_identity
from jitney.core.program.shape_dtype import ShapeDtypeStruct
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.sharding.partition_spec import PartitionSpec
from jitney.core.sharding_in_types import explicit, varying
from jitney.core.source import source_info
from jitney.core.tracing.primitive import declare_slot
from jitney.core.tracing.pvary import pvary_p
from jitney.core.tracing.trace import state as trace_state
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, get_aval, shaped_array
from jitney.core.util.record import record
from jitney.experimental.checkify.error import (
    NO_ERROR,
    Check,
    Checks,
    Error,
    ErrorCategory,
    ErrorEffect,
    NaNError,
    next_code,
)
from jitney.primitives.array.broadcasting import broadcast_in_dim
from jitney.primitives.array.creation import full_like
from jitney.primitives.array.resharding import reshard
from jitney.primitives.array.shape import reshape
from jitney.primitives.elementwise.binary import bitwise_and
from jitney.primitives.elementwise.compare import eq, ne
from jitney.primitives.elementwise.convert import as_value
from jitney.primitives.elementwise.select import select_n
from jitney.primitives.indexing.dynamic_slice import dynamic_index_in_dim
from jitney.primitives.reduction.reduce import argmax, reduce_or_p

if TYPE_CHECKING:
    from jitney.core.types.avals import AbstractValue
    from jitney.core.typing import Array, Value

CHECKIFY = declare_slot("checkify")  # (checker, equation, operands) -> results

Kinds = tuple[ErrorEffect, ...]

_INT32 = np.dtype(np.int32)


class Checker:
    """The first error of a program so far, and the categories of errors to check for.

    Attributes:
      categories: classes of the errors to check for.
      code: code of the first error; after a `shard_map`, an array with the codes of all devices.
      payload: payload of each kind of error that may have occurred, with the same leading axes.
      checks: check for each code.
    """

    def __init__(
        self,
        categories: frozenset[ErrorCategory],
        code: Value | None = None,
        payload: Sequence[Value] = (),
        kinds: Kinds = (),
    ) -> None:
        self.categories = categories
        self.code: Any = as_value(np.int32(NO_ERROR)) if code is None else code
        values = iter(payload)
        self.payload: dict[ErrorEffect, list[Any]] = {
            kind: [next(values) for _ in kind.shape_dtypes] for kind in kinds
        }
        self.checks: dict[int, Check] = {}

    @property
    def kinds(self) -> Kinds:
        """The kinds of errors that may have occurred."""
        return tuple(self.payload)

    def error(self) -> Error:
        """Returns the error as an `Error` for users."""
        return Error(self.code, self.payload, self.checks)

    # --- adding checks ----------------------------------------------------------------------------

    def add(
        self,
        error_type: ErrorCategory,
        failed: Any,
        message: str,
        payload: Sequence[Any] = (),
        tree: Any = None,
    ) -> None:
        """Adds a check.

        Args:
          error_type: class of the error.
          failed: a boolean array; the check fails if any element is true.
          message: error message.
          payload: values that are shown in the message.
          tree: structure of the payload, as in `Check`.
        """
        avals = [get_aval(x) for x in payload]
        structs = tuple([ShapeDtypeStruct(a.shape, a.dtype) for a in avals])
        kind = ErrorEffect(error_type, structs)
        number = next_code()
        code = select_n(_anywhere(failed), as_value(np.int32(NO_ERROR)), as_value(np.int32(number)))
        self.merge(code, {kind: payload}, {number: Check(kind, message, tree)})

    def merge(self, code: Any, payload: dict[ErrorEffect, Sequence[Any]], checks: Checks) -> None:
        """Merges another error, which is kept if it has occurred and no earlier error has."""
        self._choose()
        self._make_room(payload)
        is_first = bitwise_and(
            eq(self.code, as_value(np.int32(NO_ERROR))), ne(code, as_value(np.int32(NO_ERROR)))
        )
        for kind, values in payload.items():
            self.payload[kind] = [
                select_n(is_first, old, as_value(new))
                for old, new in zip(self.payload[kind], values, strict=True)
            ]
        self.code = select_n(is_first, self.code, code)
        self.checks.update(checks)

    def _choose(self) -> None:
        """Reduces the errors of several devices to the first one."""
        shape = get_aval(self.code).shape
        if not shape:
            return
        n = int(np.prod(shape))
        codes = reshape(_unshard(self.code), (n,))
        place = argmax(ne(codes, like(as_value(np.int32(NO_ERROR)), codes)), 0, _INT32)

        def chosen(x: Any) -> Value:
            rows = reshape(_unshard(x), (n, *get_aval(x).shape[len(shape) :]))
            return dynamic_index_in_dim(rows, place, 0, keepdims=False)

        self.code = chosen(self.code)
        self.payload = {kind: [*map(chosen, xs)] for kind, xs in self.payload.items()}

    def _make_room(self, kinds: Iterable[ErrorEffect]) -> None:
        for kind in kinds:
            if kind not in self.payload:
                self.payload[kind] = [_zeros(s) for s in kind.shape_dtypes]

    # --- jaxprs in parameters ---------------------------------------------------------------------

    def state(self, kinds: Kinds) -> list[Value]:
        """Returns the error as the leading operands of a checked program.

        These are the code and the payloads of `kinds`.
        """
        self._choose()
        return [of_each_device(x) for x in self.results(kinds)]

    def results(self, kinds: Kinds) -> list[Value]:
        """Returns the error as the leading results of a checked program.

        These are the code and the payloads of `kinds`; after a `shard_map`, each of them is an
        array with one entry for each device.
        """
        self._make_room(kinds)
        return [self.code, *[x for kind in kinds for x in self.payload[kind]]]

    def take(
        self, program: CheckedProgram, outs: Sequence[Any], has_run: bool = True
    ) -> list[Value]:
        """Replaces the error by the one that `program` returned; returns its other results.

        Args:
          program: the checked program.
          outs: all values that the program returned.
          has_run: whether the checks of the program were evaluated at all.
        """
        values = iter(outs)
        self.code = next(values)
        for kind in program.kinds:
            self.payload[kind] = [next(values) for _ in kind.shape_dtypes]
        if has_run:
            self.checks.update(program.checks)
        return list(values)

    def programs(
        self, *programs: ClosedJaxpr, of_devices: bool = False
    ) -> list[CheckedProgram] | None:
        """Returns checked versions of `programs`, the programs that an equation contains.

        Their errors all have the same structure, which contains the kinds of errors of all
        programs. If `of_devices` is True, the programs may return the errors of several devices.

        Returns None if no program has checks. The equation then stays unchanged, so that it takes
        no additional memory, and unsupported cases are not rejected.
        """
        kinds = self.kinds
        has_checks = False
        for program in programs:
            alone = checked(program, self.categories, kinds, of_devices)
            kinds, has_checks = alone.kinds, has_checks or bool(alone.checks)
        if not has_checks:
            return None
        return [checked(program, self.categories, kinds, of_devices) for program in programs]

    # --- evaluation -------------------------------------------------------------------------------

    def evaluate(self, jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any]) -> list[Value]:
        """Evaluates a program, merges its errors, and returns its results."""
        env: dict[Var, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
        env.update(zip(jaxpr.invars, args, strict=True))
        with source_info.origins() as come_from:
            for eqn, dying in zip(jaxpr.eqns, last_uses(jaxpr), strict=True):
                come_from(eqn.source_info)
                operands = [value_of(atom, env) for atom in eqn.invars]
                with settings_of(eqn):
                    outs = self._apply(eqn, operands)
                env.update(zip(eqn.outvars, outs, strict=True))
                for var in dying:
                    env.pop(var, None)
        return [value_of(atom, env) for atom in jaxpr.outvars]

    def _apply(self, eqn: JaxprEqn, operands: Sequence[Any]) -> Sequence[Value]:
        rule = CHECKIFY.rule_of(eqn.primitive)
        if rule is not None:
            return rule(self, eqn, operands)
        return self.bind(eqn, operands)

    def bind(self, eqn: JaxprEqn, operands: Sequence[Any]) -> Sequence[Value]:
        """Binds an operation unchanged, and checks its results for NaN."""
        outs = bind_unchecked(eqn, operands)
        if NaNError in self.categories and eqn.primitive.name not in _MAKE_NO_NAN:
            for x in outs:
                if _is_inexact(get_aval(x)):
                    message = f"nan generated by primitive: {eqn.primitive.name}."
                    self.add(NaNError, ne(x, x), message)
        return outs


def bind_unchecked(eqn: JaxprEqn, operands: Sequence[Any]) -> Sequence[Value]:
    """Binds an operation unchanged."""
    out = eqn.primitive.bind(*operands, **eqn.primitive.get_bind_params(eqn.params))
    return out if eqn.primitive.multiple_results else [out]


def _is_inexact(aval: AbstractValue) -> bool:
    return isinstance(aval, ShapedArray) and dtypes.issubdtype(aval.dtype, np.inexact)


def of_each_device(x: Any) -> Value:
    """Returns `x` marked as varying over the devices, if types track that."""
    axes = trace_state.checked_axes - varying.axes_of(get_aval(x))
    return pvary_p.bind(x, axes=tuple(sorted(axes, key=str))) if axes else x


def _zeros(like: Any) -> Array:
    """Returns zeros of the shape and dtype of `like`, which can be a key dtype."""
    if dtypes.is_extended(like.dtype):
        return full_like(like, 0)
    return as_value(np.zeros(like.shape, like.dtype))


def _unshard(x: Any) -> Value:
    """Returns `x` replicated along Explicit mesh axes."""
    place = explicit.sharding_of(get_aval(x))
    return x if place is None else reshard(x, place.update(spec=PartitionSpec()))


def like(scalar: Any, x: Any) -> Value:
    """Returns `scalar` broadcast to the shape of `x`."""
    shape = get_aval(x).shape
    return broadcast_in_dim(scalar, shape, ()) if shape else scalar


def _anywhere(x: Any) -> Value:
    rank = len(get_aval(x).shape)
    return reduce_or_p.bind(x, axes=tuple(range(rank)), out_sharding=None) if rank else x


# Operations that return NaN only if an operand is NaN.
_MAKE_NO_NAN = frozenset(
    "abs argmax argmin bitcast_convert_type broadcast_in_dim ceil clamp complex concatenate conj "
    "convert_element_type copy copy_p cumlogsumexp cummax cummin device_put dynamic_slice "
    "dynamic_update_slice expand_dims floor gather imag max min name neg nextafter "
    "optimization_barrier pad pbroadcast pvary random_wrap real reduce_and reduce_max reduce_min "
    "reduce_or reduce_precision reduce_window_max reduce_window_min reshape rev round scatter "
    "scatter_max scatter_min select_n sharding_constraint sign slice sort split square squeeze stack "
    "stop_gradient tie top_k transpose".split()
)


# --- checked programs -----------------------------------------------------------------------------


@record
class CheckedProgram:
    """A program whose first operands and results are an error: its code, and payloads of `kinds`.

    Attributes:
      closed: the program.
      kinds: kinds of errors whose payloads it returns; kinds whose payloads it also takes come
        first.
      taken: number of operands that represent the error.
      checks: check for each code.
    """

    closed: ClosedJaxpr
    kinds: Kinds
    taken: int
    checks: Checks


@memoize_by_identity
def checked(
    program: ClosedJaxpr, categories: frozenset[ErrorCategory], kinds: Kinds, of_devices: bool
) -> CheckedProgram:
    """Returns the checked version of `program`; memoized, so that it is compiled only once.

    Args:
      program: any program.
      categories: classes of the errors to check for.
      kinds: kinds of errors that may have occurred before.
      of_devices: whether the program may return the errors of several devices.
    """
    jaxpr = program.jaxpr
    n = sum([len(kind.shape_dtypes) for kind in kinds])
    outcomes: list[tuple[Kinds, Checks]] = []  # does not hold the checker, which refers to tracers

    def run(*args: Value) -> list[Value]:
        code, payload, operands = args[0], args[1 : n + 1], args[n + 1 :]
        checker = Checker(categories, code, payload, kinds)
        outs = checker.evaluate(jaxpr, program.consts, operands)
        outcomes.append((checker.kinds, checker.checks))
        error = checker.results if of_devices else checker.state
        return [*error(checker.kinds), *outs]

    state = [shaped_array((), _INT32)]
    state += [shaped_array(s.shape, s.dtype) for kind in kinds for s in kind.shape_dtypes]
    axes = trace_state.checked_axes
    avals = [*[varying.along(aval, axes) for aval in state], *program.in_avals]
    info = jaxpr.debug_info._replace(arg_names=(None,) * len(avals), result_paths=None)
    out, _, consts = trace_to_jaxpr(run, avals, info)
    out_kinds, checks = outcomes[-1]
    return CheckedProgram(ClosedJaxpr(out, consts), out_kinds, n + 1, checks)
