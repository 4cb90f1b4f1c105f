"""`DimExpr`: a symbolic size, which is a polynomial in variables.

    expression ::= sum of coefficient * monomial        coefficients are integers, not zero
    monomial   ::= product of factor ^ exponent         the empty one is 1
    factor     ::= Variable(name) | Operation(name, operands)
    operation  ::= floordiv | mod | max | min

An expression without variables is a Python int, so `b - b` is 0. Expressions with equal terms are
equal and have the same hash; expressions that differ for some values of the variables are unequal.
Order comparisons use the constraints of the scope (`core.symbolic.scope`), and raise an error if
the result depends on the variables.

If an expression is used in an array computation, `__jax_array__` converts it to an array with the
primitive `dim_as_value` (`primitives.array.extents`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, Union, cast, overload

import numpy as np

from jitney.core.diagnostics.errors import InconclusiveDimensionOperation

if TYPE_CHECKING:
    from jitney.core.array import Array

DimSize: TypeAlias = Union[int, "DimExpr"]
_Size: TypeAlias = "DimSize | np.integer"
_Operand: TypeAlias = "complex | Array | np.ndarray"  # which is not a size
_Division: TypeAlias = "tuple[DimSize, DimSize]"  # quotient and remainder
Key: TypeAlias = tuple[Any, ...]
V = TypeVar("V")
D = TypeVar("D", bound=DimSize)

FLOORDIV, MOD, MAX, MIN = "floordiv", "mod", "max", "min"

SEE = (
    "\nThe operation must have the same result for all values of the variables. Constraints "
    "restrict these values: symbolic_shape(..., constraints=['a >= b'])."
)


class Factor:
    """A variable, or an operation that is not polynomial.

    Attributes:
      name: the name of the variable or operation.
      operands: the operands of an operation; empty for variables.
      key: defines the order of factors: variables first, by name. Equal keys mean equal factors.
      degree: 1 for variables; for operations one more than the maximum degree of their operands.
    """

    __slots__ = ("degree", "key", "name", "operands")

    def __init__(self, name: str, operands: tuple[DimSize, ...] = ()) -> None:
        self.name = name
        self.operands = operands
        if operands:
            self.key: Key = (1, name, *[_order(o) for o in operands])
            self.degree = 1 + max(o.degree if isinstance(o, DimExpr) else 0 for o in operands)
        else:
            self.key, self.degree = (0, name), 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Factor) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        if not self.operands:
            return self.name
        texts = [f"- {-o}" if isinstance(o, int) and o < 0 else str(o) for o in self.operands]
        return f"{self.name}({', '.join(texts)})"

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """Returns the value for given values of the variables: numbers or expressions.

        Raises:
          KeyError: if a variable has no value.
        """
        if not self.operands:
            return values[self.name]
        return apply(self.name, *[evaluate(o, values) for o in self.operands])


Monomial: TypeAlias = tuple[tuple[Factor, int], ...]
Terms: TypeAlias = dict[Monomial, int]


def _monomial_key(m: Monomial) -> Key:
    return sum(f.degree * e for f, e in m), tuple([(f.key, e) for f, e in m])


def _order(x: DimSize) -> Key:
    """Returns a key that orders numbers and expressions, numbers first."""
    return x.key if isinstance(x, DimExpr) else (0, (), x)


def _product(x: Monomial, y: Monomial) -> Monomial:
    powers: dict[Factor, int] = dict(x)
    for factor, exponent in y:
        powers[factor] = powers.get(factor, 0) + exponent
    return tuple(sorted(powers.items(), key=lambda item: item[0].key))


def _quotient(x: Monomial, y: Monomial) -> Monomial | None:
    """Returns `x / y`, or None if it is not a monomial."""
    powers: dict[Factor, int] = dict(x)
    for factor, exponent in y:
        left = powers.pop(factor, 0) - exponent
        if left < 0:
            return None
        if left:
            powers[factor] = left
    return tuple(sorted(powers.items(), key=lambda item: item[0].key))


class Scope(Protocol):
    """The interface of scopes that expressions use (`core.symbolic.scope`)."""

    substitutions: dict[Monomial, DimSize]

    def substitute(self, terms: Terms) -> Terms: ...
    def bounds(self, x: DimExpr) -> tuple[float, float]: ...


class DimExpr:
    """A size that depends on variables, created by `symbolic_shape` and by arithmetic."""

    __slots__ = ("_hash", "degree", "key", "scope", "terms")

    scope: Scope
    terms: tuple[tuple[Monomial, int], ...]  # in descending order of monomials

    def __init__(self, terms: tuple[tuple[Monomial, int], ...], scope: Scope) -> None:
        self.terms = terms
        self.scope = scope
        ordered = [(_monomial_key(m), c) for m, c in terms]
        self.degree: int = ordered[0][0][0]
        self.key: Key = (self.degree, tuple(ordered), 0)
        self._hash = hash(self.key)

    # --- looking ------------------------------------------------------------------------------

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, DimExpr) and self.key == other.key and self.scope is other.scope

    def __repr__(self) -> str:
        text = ""
        for monomial, coefficient in self.terms:
            sign = "-" if coefficient < 0 else "+"
            text += f" {sign} " if text else ("- " if sign == "-" else "")
            factors = [str(f) if e == 1 else f"{f}^{e}" for f, e in monomial]
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, str(abs(coefficient)))
            text += "*".join(factors)
        return text

    def get_vars(self) -> set[str]:
        """Returns the names of its variables."""
        return {name for monomial, _ in self.terms for name in _variables(monomial)}

    def factors(self) -> Iterator[Factor]:
        """Yields the factors of its monomials, with repetitions."""
        for monomial, _ in self.terms:
            for factor, _ in monomial:
                yield factor

    def __bool__(self) -> bool:
        return self != 0

    def __int__(self) -> int:
        raise InconclusiveDimensionOperation(
            f"int(): the symbolic dimension '{self}' is used where a number is needed.{SEE}"
        )

    def evaluate(self, values: Mapping[str, V]) -> int | V:
        """Returns the value for given values of the variables: numbers or expressions."""
        total: Any = 0
        for monomial, coefficient in self.terms:
            product: Any = coefficient
            for factor, exponent in monomial:
                product = product * factor.evaluate(values) ** exponent
            total = total + product
        return total

    # --- arithmetic: sizes combine to sizes; with other operands, the result is an array --------

    __array_ufunc__ = None  # makes NumPy arrays defer to these methods

    @overload
    def __add__(self, other: _Size) -> DimSize: ...
    @overload
    def __add__(self, other: _Operand) -> DimSize | Array: ...
    def __add__(self, other: Any) -> DimSize | Array:
        y = as_dim(other)
        return value_of_dim(self) + other if y is None else combine(self, 1, y, 1)

    @overload
    def __sub__(self, other: _Size) -> DimSize: ...
    @overload
    def __sub__(self, other: _Operand) -> DimSize | Array: ...
    def __sub__(self, other: Any) -> DimSize | Array:
        y = as_dim(other)
        return value_of_dim(self) - other if y is None else combine(self, 1, y, -1)

    @overload
    def __rsub__(self, other: _Size) -> DimSize: ...
    @overload
    def __rsub__(self, other: _Operand) -> DimSize | Array: ...
    def __rsub__(self, other: Any) -> DimSize | Array:
        y = as_dim(other)
        return other - value_of_dim(self) if y is None else combine(self, -1, y, 1)

    @overload
    def __mul__(self, other: _Size) -> DimSize: ...
    @overload
    def __mul__(self, other: _Operand) -> DimSize | Array: ...
    def __mul__(self, other: Any) -> DimSize | Array:
        y = as_dim(other)
        return value_of_dim(self) * other if y is None else multiply(self, y)

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> DimSize:
        return combine(self, -1, 0, 0)

    @overload
    def __pow__(self, power: int | np.integer) -> DimSize: ...  # which is not negative
    @overload
    def __pow__(self, power: _Operand) -> DimSize | Array: ...
    def __pow__(self, power: Any) -> DimSize | Array:
        n = as_dim(power)
        if not isinstance(n, int) or n < 0:
            return value_of_dim(self) ** power
        result: Any = 1
        for _ in range(n):
            result = result * self
        return result

    @overload
    def __divmod__(self, other: _Size) -> _Division: ...
    @overload
    def __divmod__(self, other: _Operand) -> _Division | tuple[Array, Array]: ...
    def __divmod__(self, other: Any) -> _Division | tuple[Array, Array]:
        y = as_dim(other)
        if y is None:
            arrays: tuple[Array, Array] = divmod(value_of_dim(self), other)
            return arrays
        return divide(self, y)

    @overload
    def __rdivmod__(self, other: _Size) -> _Division: ...
    @overload
    def __rdivmod__(self, other: _Operand) -> _Division | tuple[Array, Array]: ...
    def __rdivmod__(self, other: Any) -> _Division | tuple[Array, Array]:
        y = as_dim(other)
        if y is None:
            arrays: tuple[Array, Array] = divmod(other, value_of_dim(self))
            return arrays
        return divide(y, self)

    @overload
    def __floordiv__(self, other: _Size) -> DimSize: ...
    @overload
    def __floordiv__(self, other: _Operand) -> DimSize | Array: ...
    def __floordiv__(self, other: Any) -> DimSize | Array:
        y = as_dim(other)
        return value_of_dim(self) // other if y is None else divide(self, y)[0]

    @overload
    def __rfloordiv__(self, other: _Size) -> DimSize: ...
    @overload
    def __rfloordiv__(self, other: _Operand) -> DimSize | Array: ...
    def __rfloordiv__(self, other: Any) -> DimSize | Array:
        y = as_dim(other)
        return other // value_of_dim(self) if y is None else divide(y, self)[0]

    @overload
    def __mod__(self, other: _Size) -> DimSize: ...
    @overload
    def __mod__(self, other: _Operand) -> DimSize | Array: ...
    def __mod__(self, other: Any) -> DimSize | Array:
        y = as_dim(other)
        return value_of_dim(self) % other if y is None else divide(self, y)[1]

    @overload
    def __rmod__(self, other: _Size) -> DimSize: ...
    @overload
    def __rmod__(self, other: _Operand) -> DimSize | Array: ...
    def __rmod__(self, other: Any) -> DimSize | Array:
        y = as_dim(other)
        return other % value_of_dim(self) if y is None else divide(y, self)[1]

    def __truediv__(self, other: Any) -> Array:
        return value_of_dim(self) / other

    def __rtruediv__(self, other: Any) -> Array:
        return other / value_of_dim(self)

    # --- order --------------------------------------------------------------------------------

    @overload
    def __ge__(self, other: _Size) -> bool: ...
    @overload
    def __ge__(self, other: _Operand) -> bool | Array: ...
    def __ge__(self, other: Any) -> bool | Array:
        return _compare(self, other, ">=", lambda x, y: (x, y, 0))

    @overload
    def __gt__(self, other: _Size) -> bool: ...
    @overload
    def __gt__(self, other: _Operand) -> bool | Array: ...
    def __gt__(self, other: Any) -> bool | Array:
        return _compare(self, other, ">", lambda x, y: (x, y, 1))

    @overload
    def __le__(self, other: _Size) -> bool: ...
    @overload
    def __le__(self, other: _Operand) -> bool | Array: ...
    def __le__(self, other: Any) -> bool | Array:
        return _compare(self, other, "<=", lambda x, y: (y, x, 0))

    @overload
    def __lt__(self, other: _Size) -> bool: ...
    @overload
    def __lt__(self, other: _Operand) -> bool | Array: ...
    def __lt__(self, other: Any) -> bool | Array:
        return _compare(self, other, "<", lambda x, y: (y, x, 1))

    # --- as an array --------------------------------------------------------------------------

    def __jax_array__(self) -> Array:
        return value_of_dim(self)

    def dimension_as_value(self) -> Array:
        """Returns the size as an integer scalar array, in a program that is traced."""
        return value_of_dim(self)

    def __deepcopy__(self, memo: object) -> DimExpr:
        return self

    def __copy__(self) -> DimExpr:
        return self


_value_hook: Callable[[DimExpr], Array] | None = None


def use_values(hook: Callable[[DimExpr], Array]) -> None:
    """Sets the function that converts expressions to arrays, which is in a higher layer."""
    global _value_hook
    _value_hook = hook


def value_of_dim(x: DimExpr) -> Array:
    """Returns the size as an integer scalar array, in a program that is traced."""
    assert _value_hook is not None
    return _value_hook(x)


def is_symbolic_dim(p: object) -> bool:
    """Returns whether a size depends on variables.

    Example:
      >>> jax.export.is_symbolic_dim(3)
      False
    """
    return isinstance(p, DimExpr)


def as_dim(x: object) -> DimSize | None:
    """Returns `x` as a size; None if it is neither an integer nor symbolic."""
    if isinstance(x, DimExpr):
        return x
    if isinstance(x, int | np.integer):
        return int(cast("int", x))
    if isinstance(x, np.ndarray):
        array = cast("np.ndarray", x)
        return int(array) if array.ndim == 0 and array.dtype.kind in "iu" else None
    return None


def index(x: Any) -> Any:
    """Returns `x` as an int, like `operator.index`, or unchanged if it is symbolic.

    Raises:
      TypeError: if it is neither an integer nor symbolic.
    """
    return x if type(x) is DimExpr else operator.index(x)


def from_terms(terms: Terms, scope: Scope) -> DimSize:
    """Returns the sum of terms; an int if no variables remain."""
    if scope.substitutions:
        terms = scope.substitute(terms)
    left = [(m, c) for m, c in terms.items() if c]
    if not left:
        return 0
    if len(left) == 1 and not left[0][0]:
        return left[0][1]
    if len(left) > 1:
        left.sort(key=lambda term: _monomial_key(term[0]), reverse=True)
    return DimExpr(tuple(left), scope)


def from_factor(factor: Factor, scope: Scope) -> DimSize:
    """Returns a variable or an operation as an expression."""
    return from_terms({((factor, 1),): 1}, scope)


def terms_of(x: DimSize) -> tuple[tuple[Monomial, int], ...]:
    """Returns the terms of an expression or a number."""
    return x.terms if isinstance(x, DimExpr) else (((), x),)


def combine(x: DimSize, a: int, y: DimSize, b: int) -> DimSize:
    """Returns a x + b y."""
    terms: Terms = {m: a * c for m, c in terms_of(x)} if a else {}
    if b:
        for m, c in terms_of(y):
            terms[m] = terms.get(m, 0) + b * c
    return from_terms(terms, _common_scope(x, y))


def multiply(x: DimExpr, y: DimSize) -> DimSize:
    """Returns x y."""
    if isinstance(y, int):
        return combine(x, y, 0, 0)
    terms: Terms = {}
    for m, c in x.terms:
        for n, d in y.terms:
            product = _product(m, n)
            terms[product] = terms.get(product, 0) + c * d
    return from_terms(terms, _common_scope(x, y))


def _common_scope(*xs: DimSize) -> Scope:
    scopes = [x.scope for x in xs if isinstance(x, DimExpr)]
    for x in xs:
        if isinstance(x, DimExpr) and x.scope is not scopes[0]:
            names = " and ".join(f"'{y}'" for y in xs)
            raise ValueError(
                f"Invalid mixing of symbolic scopes: {names} belong to {scopes[0]} and {x.scope}. "
                "Create all sizes of one program with the same `scope`, an argument of "
                "symbolic_shape."
            )
    return scopes[0]


def _variables(monomial: Monomial) -> Iterator[str]:
    for factor, _ in monomial:
        if not factor.operands:
            yield factor.name
        for operand in factor.operands:
            if isinstance(operand, DimExpr):
                yield from operand.get_vars()


def divide(x: DimSize, y: DimSize) -> tuple[DimSize, DimSize]:
    """Returns the floor quotient, and the remainder, which has the sign of `y`.

    Both are polynomials if polynomial division leaves no remainder, or leaves an integer and `y` is
    an integer. Otherwise, they are the operations floordiv and mod.
    """
    if isinstance(x, int) and isinstance(y, int):
        return divmod(x, y)
    if isinstance(y, int) and y == 0:
        raise ZeroDivisionError(f"division of the symbolic dimension '{x}' by zero")
    lead, by = terms_of(y)[0]
    quotient: DimSize = 0
    remainder = x
    while isinstance(remainder, DimExpr):
        monomial, coefficient = remainder.terms[0]
        part = _quotient(monomial, lead)
        if part is None or coefficient % by:
            break
        step = from_terms({part: coefficient // by}, remainder.scope)
        quotient = quotient + step
        remainder = remainder - step * y
    if isinstance(remainder, int) and (remainder == 0 or isinstance(y, int)):
        return quotient + (remainder // y if remainder else 0), remainder % y if remainder else 0
    scope = _common_scope(x, y)
    return (
        from_factor(Factor(FLOORDIV, (x, y)), scope),
        from_factor(Factor(MOD, (x, y)), scope),
    )


def apply(operation: str, x: Any, y: Any) -> Any:
    """Returns the result of an operation on numbers or expressions."""
    if operation == FLOORDIV:
        return x // y
    if operation == MOD:
        return x % y
    return max_dim(x, y) if operation == MAX else min_dim(x, y)


def evaluate(x: DimSize, values: Mapping[str, V]) -> int | V:
    """Returns the value of a size for given values of the variables."""
    return x.evaluate(values) if isinstance(x, DimExpr) else x


def evaluate_shape(shape: Iterable[DimSize], values: Mapping[str, V]) -> tuple[int | V, ...]:
    """Returns the values of the sizes in a shape for given values of the variables."""
    return tuple([evaluate(n, values) for n in shape])


def bounds(x: DimSize) -> tuple[float, float]:
    """Returns lower and upper bounds of a size; an unknown bound is infinite."""
    return x.scope.bounds(x) if isinstance(x, DimExpr) else (x, x)


def _compare(
    x: DimExpr,
    other: Any,
    sign: str,
    arrange: Callable[[DimSize, DimSize], tuple[DimSize, DimSize, int]],
) -> bool | Array:
    """Returns whether `x sign other`.

    This means that `greater - less >= margin`, for the results of `arrange`.

    Raises:
      InconclusiveDimensionOperation: if the result depends on the variables.
    """
    y = as_dim(other)
    if y is None:
        compare = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}
        return compare[sign](value_of_dim(x), other)
    greater, less, margin = arrange(x, y)
    low, high = bounds(greater - less)
    if low >= margin:
        return True
    if high < margin:
        return False
    raise InconclusiveDimensionOperation(
        f"the comparison '{x}' {sign} '{other}' is inconclusive: it depends on the values of the "
        f"variables, with {x.scope}{SEE}"
    )


@overload
def max_dim(d1: int, d2: int) -> int: ...
@overload
def max_dim(d1: D, d2: D) -> D: ...
def max_dim(d1: DimSize, d2: DimSize) -> DimSize:
    """Returns the maximum of two sizes.

    Raises:
      TypeError: if one is neither an integer nor symbolic.
    """
    x, y = index(d1), index(d2)
    if isinstance(x, int) and isinstance(y, int):
        return max(x, y)
    low, high = bounds(x - y)
    if low >= 0:
        return x
    if high <= 0:
        return y
    return from_factor(Factor(MAX, (x, y)), _common_scope(x, y))


@overload
def min_dim(d1: int, d2: int) -> int: ...
@overload
def min_dim(d1: D, d2: D) -> D: ...
def min_dim(d1: DimSize, d2: DimSize) -> DimSize:
    """Returns the minimum of two sizes.

    Raises:
      TypeError: if one is neither an integer nor symbolic.
    """
    x, y = index(d1), index(d2)
    if isinstance(x, int) and isinstance(y, int):
        return min(x, y)
    low, high = bounds(x - y)
    if high <= 0:
        return x
    if low >= 0:
        return y
    return from_factor(Factor(MIN, (x, y)), _common_scope(x, y))
