"""`HiPrimitive`: user-defined operations on values of high-level types.

The method `to_lojax` defines such an operation when it is evaluated or compiled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from jitney.core.tracing.primitive import Primitive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jitney.core.tracing.hi_types import HiVal
    from jitney.core.types.avals import AbstractValue, ResultTypes
    from jitney.core.types.effects import Effects

Param: TypeAlias = Any  # a parameter of an equation


class HiPrimitive(Primitive):
    """The base class of primitives on values of high-level types, such as `HiType`, or on arrays.

    A subclass defines `abstract_eval`, which returns (type or types of the results, effects), and
    `to_lojax`; also `jvp` and `transpose` if it is to be differentiated.
    """

    passes_refs = True
    is_high_operation = True
    is_memoized = False  # operands may have states

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.user_impl = self._evaluate
        self.rules["jvp"] = self.jvp
        self.rules["transpose"] = self.transpose

    def _evaluate(self, *args: HiVal, **params: Param) -> object:
        return self.to_lojax(*args, **params)

    def is_high(self, *_: HiVal, **__: Param) -> bool:
        return True

    def is_effectful(self, params: dict[str, Any]) -> bool:
        return False

    def _undefined(self, method: str) -> NotImplementedError:
        return NotImplementedError(
            f"{type(self).__name__} ('{self.name}') must define the method {method}, which this "
            "operation needs"
        )

    def abstract_eval(
        self, *arg_avals: AbstractValue, **params: Param
    ) -> tuple[ResultTypes, Effects]:
        """Returns (result type or types, effects) for operands of the given types."""
        raise self._undefined("abstract_eval")

    def to_lojax(self, *lotypes_wrapped_in_hitypes: HiVal, **params: Param) -> object:
        """Returns the results, computed on values of the users' classes and on arrays."""
        raise self._undefined("to_lojax")

    def jvp(self, primals: Sequence[HiVal], tangents: Sequence[HiVal], **params: Param) -> object:
        """Returns (results, tangents of the results)."""
        raise self._undefined("jvp")

    def transpose(self, *args: HiVal, **params: Param) -> object:
        """Returns the cotangents of the operands, given those of the results and the operands."""
        raise self._undefined("transpose")
