"""Operators of arrays: `x + y`, `x[i] < 1`, `abs(x)`.

The other operand can be an array, a NumPy array, a scalar, or an object with `__jax_array__`.
Containers raise an error rather than being converted. For other objects the result is
NotImplemented, so that Python tries their reflected method.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitney.core.array import Array
from jitney.core.messages import cures
from jitney.core.source import user_code
from jitney.numpy import arithmetic, bitwise, comparison, division, products, unary_math
from jitney.runtime.arrays.array import ArrayImpl

_KNOWN_TYPES = (Array, np.ndarray, np.generic, bool, int, float, complex)
_REFUSED_TYPES: tuple[type[Any], ...] = (list, tuple, set, dict)
# Looked up by exact type, which saves the search through base classes.
_PLAIN_TYPES = frozenset((ArrayImpl, int, float, bool, complex, np.ndarray))


def binary_operator(
    symbol: str,
    function: Callable[[Any, Any], Any],
    *,
    reflected: bool = False,
    refuse: bool = True,
) -> Callable[[Array, object], Array]:
    """Returns the method for the operator `symbol`.

    Args:
      symbol: the operator as it is written in source code, for error messages.
      function: a function of the left and the right operand.
      reflected: whether the array is the right operand.
      refuse: whether to raise TypeError for containers; otherwise NotImplemented is returned for
        them.
    """

    def operator(self: Any, other: object) -> Array:
        if type(other) not in _PLAIN_TYPES:
            convert = getattr(other, "__jax_array__", None)
            if convert is not None and not isinstance(other, Array):
                other = convert()
            if not isinstance(other, _KNOWN_TYPES):
                # Named tuples may define operators.
                named = hasattr(type(other), "_fields")
                if refuse and isinstance(other, _REFUSED_TYPES) and not named:
                    left, right = (other, self) if reflected else (self, other)
                    raise TypeError(
                        f"unsupported operand type(s) for {symbol}: "
                        f"{type(left).__name__!r} and {type(right).__name__!r}"
                        f"\nInstead: {cures.of_container(user_code.current(), type(other), reflected)}"
                    )
                return NotImplemented
        return function(other, self) if reflected else function(self, other)

    return operator


def unary_operator(function: Callable[[Any], Any]) -> Callable[[Array], Array]:
    """Returns the method for a unary operator."""

    def operator(self: Any) -> Array:
        return function(self)

    return operator


# Method name without underscores, symbol, function; each has a reflected form.
_ARITHMETIC: tuple[tuple[str, str, Callable[[Any, Any], Any]], ...] = (
    ("add", "+", arithmetic.add),
    ("sub", "-", arithmetic.subtract),
    ("mul", "*", arithmetic.multiply),
    ("truediv", "/", arithmetic.true_divide),
    ("floordiv", "//", division.floor_divide),
    ("mod", "%", division.remainder),
    ("divmod", "divmod", division.divmod),
    ("pow", "**", arithmetic.power),
    ("matmul", "@", products.matmul),
    ("and", "&", bitwise.bitwise_and),
    ("or", "|", bitwise.bitwise_or),
    ("xor", "^", bitwise.bitwise_xor),
    ("lshift", "<<", bitwise.left_shift),
    ("rshift", ">>", bitwise.right_shift),
)

_COMPARISONS: tuple[tuple[str, str, Callable[[Any, Any], Any]], ...] = (
    ("eq", "==", comparison.equal),
    ("ne", "!=", comparison.not_equal),
    ("lt", "<", comparison.less),
    ("le", "<=", comparison.less_equal),
    ("gt", ">", comparison.greater),
    ("ge", ">=", comparison.greater_equal),
)

_UNARY: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("neg", unary_math.negative),
    ("pos", unary_math.positive),
    ("abs", unary_math.absolute),
    ("invert", unary_math.invert),
)


def operators() -> dict[str, Callable[..., Array]]:
    """Returns all operator methods by name."""
    table: dict[str, Callable[..., Any]] = {}
    for name, symbol, function in _ARITHMETIC:
        table[f"__{name}__"] = binary_operator(symbol, function)
        table[f"__r{name}__"] = binary_operator(symbol, function, reflected=True)
    for name, symbol, function in _COMPARISONS:
        table[f"__{name}__"] = binary_operator(symbol, function, refuse=name in ("eq", "ne"))
    for name, function in _UNARY:
        table[f"__{name}__"] = unary_operator(function)
    for name, method in table.items():
        method.__name__ = name
        method.__qualname__ = f"Array.{name}"
    return table
