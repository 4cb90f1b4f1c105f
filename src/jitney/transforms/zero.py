"""Symbolic zeros: tangents and cotangents that are known to be zero and need no computation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from jitney.core.pytree.pytrees import register_pytree_node
from jitney.core.types.avals import AbstractValue, get_aval, host_values
from jitney.transforms.algebra import algebra

if TYPE_CHECKING:
    import numpy as np

    from jitney.core.array import Array
    from jitney.core.typing import Value


class Zero:
    """A tangent or cotangent that is known to be zero; `aval` is its type."""

    __slots__ = ("aval",)

    def __init__(self, aval: AbstractValue) -> None:
        self.aval = aval

    @staticmethod
    def from_primal_value(value: Value) -> Zero:
        """Returns the zero tangent of a value."""
        return Zero(get_aval(value).to_tangent_aval())

    def instantiate(self) -> Array:
        """Returns zeros as an array or tracer."""
        return algebra.zeros(self.aval)

    def __repr__(self) -> str:
        return f"Zero({self.aval})"


# Rules of user-defined primitives may pass zeros through transformed functions. As in JAX, zeros are
# not leaves of results; code that uses one as a value gets an array of zeros.
register_pytree_node(Zero, lambda zero: ((), zero.aval), lambda aval, _: Zero(aval))
host_values[Zero] = Zero.instantiate

Tangent: TypeAlias = "Value | Zero"
"""A tangent or cotangent."""


class SymbolicZero(Zero):
    """A symbolic zero as passed to users' rules with `symbolic_zeros=True`."""

    __slots__ = ()

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype:
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)


def instantiate(x: Tangent) -> Value:
    """Returns `x`, or an array of zeros if it is a symbolic zero."""
    return x.instantiate() if isinstance(x, Zero) else x


def with_zeros(
    values: Iterable[Any], nonzero: Iterable[bool], avals: Iterable[AbstractValue]
) -> list[Tangent]:
    """Returns the next of `values` where `nonzero` is true, and zeros of types `avals` elsewhere.

    `avals` are types of tangents or cotangents. If `values` is an iterator, it is advanced only as
    far as needed.
    """
    remaining = iter(values)
    return [next(remaining) if nz else Zero(a) for nz, a in zip(nonzero, avals, strict=True)]


def add_tangents(x: Tangent, y: Tangent) -> Tangent:
    """Adds two tangents or cotangents."""
    if isinstance(x, Zero):
        return y
    if isinstance(y, Zero):
        return x
    return algebra.add(x, y)
