"""Key reuse checking: which PRNG keys a program consumes, for `jax_debug_key_reuse`.

A key may be consumed once. Samplers and splits consume their key, and the results of a split are
new keys. Operations that rearrange keys, such as a reshape, forward them: the result is consumed if
the operand is. A primitive declares how it uses keys in the slot `key_use`. A primitive without a
declaration is assumed to consume all keys among its operands, and to return consumed keys.

The keys of an array are tracked one by one if they are sliced with static bounds; otherwise, the
array is consumed as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from jitney.core.diagnostics.errors import KeyReuseError
from jitney.core.messages import messages
from jitney.core.program.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Var
from jitney.core.program.memo import memoize_by_identity
from jitney.core.source import source_info
from jitney.core.tracing.primitive import Primitive, declare_slot
from jitney.core.types import dtypes
from jitney.core.types.avals import AbstractValue, ShapedArray
from jitney.core.util.record import record

# (types of the operands, **params) -> KeyUse
KEY_USE = declare_slot("key_use")

Mask: TypeAlias = "bool | np.ndarray"
"""Selects keys of an array: all, none, or those at which a boolean array is True."""


@record(frozen=True)
class KeyUse:
    """The keys that an operation or a program consumes, creates and forwards.

    Attributes:
      consumed: pairs of an operand and the mask of its keys that are consumed.
      new: the results that are new keys, which may be consumed.
      forwarded: pairs of an operand and a result that has the keys of this operand.
    """

    consumed: tuple[tuple[int, Mask], ...] = ()
    new: tuple[int, ...] = ()
    forwarded: tuple[tuple[int, int], ...] = ()


def uses_keys(
    prim: Primitive, *, consumes: Sequence[int] = (), new: bool = False, forwards: bool = False
) -> None:
    """Declares how `prim` uses keys.

    Args:
      prim: a primitive with one result.
      consumes: the operands whose keys it consumes.
      new: whether the result is a new key.
      forwards: whether the result has the keys of the first operand.
    """
    use = KeyUse(
        tuple([(i, True) for i in consumes]), (0,) if new else (), ((0, 0),) if forwards else ()
    )

    @prim.key_use
    def key_use_rule(*_: object, **__: object) -> KeyUse:
        return use


def is_key(aval: AbstractValue) -> bool:
    """Returns whether values of this type are PRNG keys."""
    return isinstance(aval, ShapedArray) and dtypes.issubdtype(aval.dtype, dtypes.prng_key)


def use_of(
    primitive: Primitive, avals: Sequence[AbstractValue], params: Mapping[str, Any]
) -> KeyUse:
    """Returns how an operation on operands of types `avals` uses keys."""
    rule = KEY_USE.rule_of(primitive)
    if rule is not None:
        return rule(avals, **params)
    return KeyUse(tuple([(i, True) for i, aval in enumerate(avals) if is_key(aval)]))


# --- programs -------------------------------------------------------------------------------------


class _Consumption:
    """The keys of a program that have been consumed so far, and the consuming equations."""

    def __init__(self) -> None:
        self.masks: dict[Var, Mask] = {}
        self.users: dict[Var, JaxprEqn] = {}
        self.origins: dict[Var, Atom] = {}  # of forwarded keys

    def origin(self, atom: Atom) -> Atom:
        while isinstance(atom, Var) and atom in self.origins:
            atom = self.origins[atom]
        return atom

    def mask(self, atom: Atom) -> Mask:
        var = self.origin(atom)
        return self.masks.get(var, False) if isinstance(var, Var) else False

    def consume(self, eqn: JaxprEqn, operand: int, mask: Mask) -> None:
        var = self.origin(eqn.invars[operand])
        if not isinstance(var, Var) or not is_key(var.aval):
            return
        before = self.masks.get(var, False)
        if np.any(np.logical_and(before, mask)):
            first = self.users.get(var)
            raise reused(
                f"argument {operand} of {eqn.primitive}",
                None if first is None else first.source_info,
                eqn.source_info,
            )
        self.masks[var] = np.logical_or(before, mask)
        self.users[var] = eqn


def reused(what: str, first: object, second: object) -> KeyReuseError:
    """Returns the error for a key that is used twice.

    Args:
      what: the second use, such as "argument 0 of random_bits".
      first: where the key was consumed, a `SourceInfo`; None if it is not known.
      second: where it is used again.
    """
    message = f"a random key was used before ({what}), and would give the same numbers again"
    lines = [messages.at_expression(message)]
    for label, place in (("first used at", first), ("used again at", second)):
        text = source_info.summarize(place)
        if text:
            lines.append(f"  {label} {text}")
    lines.append("Instead: k1, k2 = jax.random.split(key), and use each new key once")
    return KeyReuseError("\n".join(lines))


@memoize_by_identity
def use_of_program(jaxpr: Jaxpr) -> KeyUse:
    """Returns how a program uses keys among its operands; constants are numbered last.

    Raises:
      KeyReuseError: if it uses a key twice.
    """
    seen = _Consumption()
    for eqn in jaxpr.eqns:
        use = use_of(eqn.primitive, [atom.aval for atom in eqn.invars], eqn.params)
        for operand, result in use.forwarded:
            if is_key(eqn.outvars[result].aval):
                seen.origins[eqn.outvars[result]] = eqn.invars[operand]
        for operand, mask in use.consumed:
            seen.consume(eqn, operand, mask)
        for i, var in enumerate(eqn.outvars):
            if is_key(var.aval) and var not in seen.origins:
                seen.masks[var] = i not in use.new
    operands: list[Var] = [*jaxpr.invars, *jaxpr.constvars]
    places = {var: i for i, var in enumerate(operands)}
    keys = [(i, seen.origin(a)) for i, a in enumerate(jaxpr.outvars) if is_key(a.aval)]
    forwarded = [(places[a], i) for i, a in keys if isinstance(a, Var) and a in places]
    kept = {i for _, i in forwarded}
    return KeyUse(
        tuple([(i, seen.masks[v]) for i, v in enumerate(operands) if np.any(seen.mask(v))
               and v in seen.masks]),
        tuple([i for i, a in keys if i not in kept and not np.any(seen.mask(a))]),
        tuple(forwarded),
    )  # fmt: skip


def check_program(closed: ClosedJaxpr) -> None:
    """Raises KeyReuseError if a program uses a key twice."""
    use_of_program(closed.jaxpr)


# --- loops and branches ---------------------------------------------------------------------------


def use_of_branches(branches: Sequence[ClosedJaxpr]) -> KeyUse:
    """Returns the combined key use of several programs of which one is run."""
    uses = [use_of_program(branch.jaxpr) for branch in branches]
    consumed: dict[int, Mask] = {}
    for use in uses:
        for i, mask in use.consumed:
            consumed[i] = np.logical_or(consumed.get(i, False), mask)
    new = set(uses[0].new).intersection(*[use.new for use in uses])
    forwarded = set(uses[0].forwarded).intersection(*[use.forwarded for use in uses])
    return KeyUse(tuple(consumed.items()), tuple(sorted(new)), tuple(sorted(forwarded)))


def use_of_rows(use: KeyUse, n_whole: int) -> KeyUse:
    """Returns how a loop uses keys that reads one row of each later operand per iteration.

    Args:
      use: how an iteration uses keys.
      n_whole: the number of leading operands that are loop-invariant or carried.
    """
    consumed = [(i, mask if i < n_whole else _of_all_rows(mask)) for i, mask in use.consumed]
    return KeyUse(tuple(consumed), use.new, use.forwarded)


def _of_all_rows(mask: Mask) -> Mask:
    """Returns the mask of an array whose rows all have `mask`; the first axis has size one."""
    return mask[None] if isinstance(mask, np.ndarray) else mask


def check_repeated(name: str, use: KeyUse, n_consts: int, n_carry: int, renewed: set[int]) -> None:
    """Raises KeyReuseError if a program that runs repeatedly uses a key in every iteration.

    Args:
      name: the construct that runs it, for the message.
      use: how one iteration uses keys.
      n_consts: the number of leading operands, which are the same in every iteration.
      n_carry: the number of operands after these, which are results of the previous iteration.
      renewed: the indices of carries that are new keys at the end of an iteration.
    """
    for i, _ in use.consumed:
        if i < n_consts:
            raise KeyReuseError(
                f"{name} uses the same key in every iteration: constant {i} of the loop. "
                "Derive a key for each iteration with jax.random.fold_in"
            )
        if i < n_consts + n_carry and i - n_consts not in renewed:
            raise KeyReuseError(
                f"{name} uses a key in every iteration: element {i - n_consts} of the carry is "
                "consumed, but not replaced by a new key. Derive one with jax.random.split"
            )
