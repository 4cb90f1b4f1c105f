"""Errors as values, which checked programs return besides their results.

An `Error` is a pytree of arrays, and passes through `jit`, `vmap` and loops like other values. Its
arrays are:

    code       int32: 0 if no check has failed, else the code of the check that failed first
    payload    for each kind of error, the values that are shown in its message

The checks that the codes refer to are known at trace time, and are static data of the pytree. A
kind is an `ErrorEffect`: a class of errors together with the types of their payload. Checks of the
same kind share memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from jitney.core.program.shape_dtype import ShapeDtypeStruct
from jitney.core.pytree import pytrees
from jitney.core.source import source_info
from jitney.core.tracing.trace import Tracer
from jitney.core.types.effects import Effect, control_flow_allowed_effects, lowerable_effects
from jitney.core.util.record import record

if TYPE_CHECKING:
    from jitney.core.typing import Value

NO_ERROR = 0  # code of an error that has not occurred
_codes = itertools.count(1)


class JaxRuntimeError(ValueError):
    """The exception that is raised for a failed check of `checkify`."""


class JaxException(Exception):
    """A failed check with its payload, as returned by `Error.get_exception`.

    Attributes:
      check: the check that failed.
      payload: the values that are shown in the message.
    """

    def __init__(self, check: Check, payload: Sequence[Any]) -> None:
        super().__init__(check.message(payload))
        self.check = check
        self.payload = payload


class FailedCheckError(JaxException):
    """The error of a failed `checkify.check`."""


class NaNError(JaxException):
    """The error of an operation that returned NaN."""


class DivisionByZeroError(JaxException):
    """The error of a division by zero."""


class OOBError(JaxException):
    """The error of an out-of-bounds index."""


ErrorCategory: TypeAlias = type[JaxException]


@record(frozen=True)
class ErrorEffect(Effect):
    """A kind of error that may occur in a program, with the types of its payload.

    Attributes:
      error_type: class of the errors.
      shape_dtypes: types of the payload.
    """

    error_type: ErrorCategory
    shape_dtypes: tuple[ShapeDtypeStruct, ...]


lowerable_effects.add_type(ErrorEffect)
control_flow_allowed_effects.add_type(ErrorEffect)


class Check:
    """A check of a program.

    Attributes:
      kind: kind of the error that the check may cause.
      text: error message; if `tree` is given, a format string for the payload.
      tree: structure of the payload, a pytree (args, kwargs), or None.
      note: text appended to the message.
      place: source location of the check.
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
        """Returns the error message with the values of `payload`."""
        args, kwargs = ((), {}) if self.tree is None else self.tree.unflatten(payload)
        text = self.text.format(*args, **kwargs) if self.tree is not None else self.text
        return f"{text}{self.note}"

    def __repr__(self) -> str:
        place = source_info.summarize(self.place) or "an unknown location"
        return f"<check {self.text!r} at {place}>"


Checks: TypeAlias = Mapping[int, Check]
"""Maps the codes of a program's errors to checks."""


def next_code() -> int:
    """Returns a new code."""
    return next(_codes)


@pytrees.register_pytree_node_class
class Error:
    """The first failed check of a checked function, if any; a pytree.

    Under `vmap`, and as a stacked result of `scan`, an `Error` holds several errors.

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

    # --- internal interface -----------------------------------------------------------------------

    @property
    def payload(self) -> dict[ErrorEffect, list[Value]]:
        """The payload of each kind of error."""
        return self._payload

    @property
    def _metadata(self) -> dict[int, Check]:
        return self.checks

    # --- user interface ---------------------------------------------------------------------------

    def get(self) -> str | None:
        """Returns the message of the first check that failed; None if no check failed.

        If there are several errors, the message lists each of them on a line with its index.
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
        """Returns the exception of the first error, with its payload; None if no check failed."""
        return next(iter(self._exceptions(self._codes()).values()), None)

    def throw(self) -> None:
        """Raises the exception of the first failed check, if any.

        Raises:
          JaxRuntimeError: if a check has failed; its cause is the exception of that check.
          ValueError: if the error is a tracer, because a function is being traced.
        """
        message = self.get()
        if message is not None:
            raise JaxRuntimeError(message) from self.get_exception()

    def _codes(self) -> np.ndarray:
        if isinstance(self.code, Tracer):
            raise ValueError(
                "checkify: the value of an Error is unknown while a function is traced; return it "
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

    def tree_flatten(self) -> tuple[list[object], object]:
        """Returns (arrays, static data)."""
        kinds = tuple(self._payload)
        return (
            [self.code, *[list(values) for values in self._payload.values()]],
            (kinds, tuple(self.checks.items())),
        )

    @classmethod
    def tree_unflatten(cls, metadata: Any, data: Sequence[Any]) -> Error:
        """Returns the error with the given static data and arrays."""
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
