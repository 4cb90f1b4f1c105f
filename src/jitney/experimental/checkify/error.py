"""Errors as values: what a checked program returns beside its results.

An `Error` is a pytree of arrays, so it goes through `jit`, `vmap` and loops as other values do:

    code       int32, 0 while nothing has gone wrong, else the number of the check that failed first
    payload    for each kind of error, the numbers that its message shows

What the numbers of checks stand for is known when a program is traced, and stands in the structure.
Kinds are `ErrorEffect`s, a class of errors and the types of its payload: checks of one kind share its
memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from jitney.core import source_info
from jitney.core.effects import Effect, control_flow_allowed_effects, lowerable_effects
from jitney.core.pytree import pytrees
from jitney.core.record import record
from jitney.core.shape_dtype import ShapeDtypeStruct
from jitney.core.trace import Tracer

NO_ERROR = 0  # the code of an error that has not happened
_codes = itertools.count(1)


class JaxRuntimeError(ValueError):
    """A check of `checkify` has failed."""


class JaxException(Exception):
    """A check that failed, with its numbers; `Error.get_exception` returns one.

    Attributes:
      check: what was checked.
      payload: the numbers that the message shows.
    """

    def __init__(self, check: Check, payload: Sequence[Any]) -> None:
        super().__init__(check.message(payload))
        self.check = check
        self.payload = payload


class FailedCheckError(JaxException):
    """A `checkify.check` has failed."""


class NaNError(JaxException):
    """An operation has given NaN."""


class DivisionByZeroError(JaxException):
    """A number was divided by zero."""


class OOBError(JaxException):
    """An index was out of bounds."""


ErrorCategory: TypeAlias = type[JaxException]


@record(frozen=True)
class ErrorEffect(Effect):
    """A kind of error: what may go wrong in a program, and the numbers that come with it.

    Attributes:
      error_type: the class of the errors.
      shape_dtypes: types of the payload.
    """

    error_type: ErrorCategory
    shape_dtypes: tuple[ShapeDtypeStruct, ...]


lowerable_effects.add_type(ErrorEffect)
control_flow_allowed_effects.add_type(ErrorEffect)


class Check:
    """One check of a program.

    Attributes:
      kind: of the error that it may find.
      text: the message; fields of a format string stand for the payload, which is of structure `tree`:
        of (args, kwargs).
      note: what follows the message.
      place: where the program says so.
    """

    def __init__(
        self, kind: ErrorEffect, text: str, tree: pytrees.PyTreeDef | None, note: str = ""
    ) -> None:
        self.kind = kind
        self.text = text
        self.tree = tree
        self.note = note
        self.place = source_info.current()

    def message(self, payload: Sequence[Any]) -> str:
        """Returns the message of the error."""
        args, kwargs = ((), {}) if self.tree is None else self.tree.unflatten(payload)
        text = self.text.format(*args, **kwargs) if self.tree is not None else self.text
        return f"{text}{self.note}"

    def __repr__(self) -> str:
        return f"<check {self.text!r} at {source_info.summarize(self.place) or 'an unknown place'}>"


Checks: TypeAlias = Mapping[int, Check]
"""The checks that the codes of a program's errors stand for."""


def next_code() -> int:
    """Returns the code of a new check."""
    return next(_codes)


@pytrees.register_pytree_node_class
class Error:
    """The first failed check of a checked program, if any; a pytree.

    Under `vmap`, and as a stacked result of `scan`, it holds several errors.

    Example:
      >>> from jax.experimental import checkify
      >>> def root(x):
      ...     checkify.check(x >= 0, "{x} has no root", x=x)
      ...     return jnp.sqrt(x)
      >>> error, _ = jax.jit(checkify.checkify(root))(jnp.float32(-4.0))
      >>> error.get()
      '-4.0 has no root (`check` failed)'
    """

    __slots__ = ("_payload", "checks", "code")

    def __init__(
        self, code: Any, payload: Mapping[ErrorEffect, Sequence[Any]], checks: Checks
    ) -> None:
        self.code = code
        self._payload = {kind: list(values) for kind, values in payload.items()}
        self.checks = dict(checks)

    # --- for programs -----------------------------------------------------------------------------

    @property
    def payload(self) -> dict[ErrorEffect, list[Any]]:
        """The numbers of each kind of error."""
        return self._payload

    @property
    def _metadata(self) -> dict[int, Check]:
        return self.checks

    # --- for users --------------------------------------------------------------------------------

    def get(self) -> str | None:
        """Returns the message of the first check that failed; None if none did.

        Of several errors those that happened, each on a line with its index.
        """
        codes = self._codes()
        exceptions = self._exceptions(codes)
        if not exceptions:
            return None
        if not codes.shape:
            return str(exceptions[()])
        lines = [
            f"at mapped index {', '.join(map(str, index))}: {error}"
            for index, error in exceptions.items()
        ]
        return "\n".join(lines)

    def get_exception(self) -> JaxException | None:
        """Returns the first error, with its numbers; None if there is none."""
        return next(iter(self._exceptions(self._codes()).values()), None)

    def throw(self) -> None:
        """Raises the error of the first failed check, if any.

        Raises:
          JaxRuntimeError: if a check has failed; its cause is the exception of that check.
          ValueError: for an error that is not known yet, while a program is traced.
        """
        message = self.get()
        if message is not None:
            raise JaxRuntimeError(message) from self.get_exception()

    def _codes(self) -> np.ndarray:
        if isinstance(self.code, Tracer):
            raise ValueError(
                "Error: what has gone wrong is not known while a program is traced; return the error "
                "from the traced function, or pass it to checkify.check_error"
            )
        return np.asarray(self.code)

    def _exceptions(self, codes: np.ndarray) -> dict[tuple[int, ...], JaxException]:
        exceptions: dict[tuple[int, ...], JaxException] = {}
        for place in np.argwhere(codes != NO_ERROR):
            index = tuple(map(int, place))
            check = self.checks[int(codes[index])]
            payload = [x[index] if index else x for x in self._payload[check.kind]]
            exceptions[index] = check.kind.error_type(check, payload)
        return exceptions

    # --- as a pytree ------------------------------------------------------------------------------

    def tree_flatten(self) -> tuple[list[Any], Any]:
        """Returns the arrays and the static description."""
        kinds = tuple(self._payload)
        return (
            [self.code, *[list(values) for values in self._payload.values()]],
            (kinds, tuple(self.checks.items())),
        )

    @classmethod
    def tree_unflatten(cls, metadata: Any, data: Sequence[Any]) -> Error:
        """Inverts `tree_flatten`."""
        kinds, checks = metadata
        code, *payload = data
        error = cls.__new__(cls)
        error.code = code
        error._payload = dict(zip(kinds, payload, strict=True))
        error.checks = dict(checks)
        return error

    def __repr__(self) -> str:
        return f"Error(code={self.code!r}, payload={self._payload!r}, checks={self.checks!r})"


init_error = Error(np.int32(NO_ERROR), {}, {})
