"""`SymbolicScope`: constraints on the variables of symbolic sizes.

Variables are at least 1. A scope may have further constraints: inequalities between expressions,
and equations that replace a monomial. The bounds of an expression are derived from the bounds of
its terms, and by repeatedly subtracting multiples of known inequalities (which shows, for instance,
that `2 floordiv(a, 2) <= a`). The bounds are valid, but not always tight.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from jitney.core.source import source_info
from jitney.core.symbolic import expressions
from jitney.core.symbolic.expressions import DimExpr, DimSize, Factor, Monomial, Terms
from jitney.core.symbolic.parse import parse_constraint

_DEPTH = 3  # maximum number of inequalities that are subtracted in succession
Bounds = tuple[float, float]


class SymbolicScope:
    """A scope of variables; expressions combine only variables of the same scope.

    Args:
      constraints_str: texts such as "a >= b", "a <= 2*b + 1" or "a == 4*b". An equation replaces
        its left side, a product of variables, by its right side.

    Raises:
      ValueError: if a text is not a constraint.

    Example:
      >>> scope = jax.export.SymbolicScope(["a >= 4"])
      >>> jax.export.symbolic_shape("a", scope=scope)[0] >= 3
      True
    """

    def __init__(self, constraints_str: Sequence[str] = ()) -> None:
        if isinstance(constraints_str, str):
            raise ValueError(
                "SymbolicScope: constraints_str must be a sequence of strings, but is the string "
                f"{constraints_str!r}; wrap it in a list."
            )
        self._origin = source_info.summarize(source_info.current())
        self.constraints: tuple[str, ...] = tuple(constraints_str)
        self.substitutions: dict[Monomial, DimSize] = {}
        self._least_zero: list[DimExpr] = []  # nonnegative expressions
        self._variables: dict[str, Bounds] = {}
        self._known: dict[DimExpr, Bounds] = {}
        for text in self.constraints:
            self.require(*parse_constraint(text, self))

    def __str__(self) -> str:
        text = f"{id(self)}"
        if self._origin:
            text += f" created at {self._origin}"
        if self.constraints:
            text += " with constraints:" + "".join(f"\n  {c}" for c in self.constraints)
        return text

    def require(self, left: DimSize, sign: str, right: DimSize) -> None:
        """Adds the constraint `left sign right`, where `sign` is ">=", "<=" or "==".

        Raises:
          ValueError: if it cannot be satisfied, or the left side of an equation is not a product.
        """
        if sign == "==":
            self._equate(left, right)
            return
        difference = left - right if sign == ">=" else right - left
        _, high = expressions.bounds(difference)
        if high < 0:
            raise ValueError(f"Unsatisfiable constraint: {left} {sign} {right}")
        if isinstance(difference, DimExpr):
            self._note(difference)

    def _equate(self, left: DimSize, right: DimSize) -> None:
        if not isinstance(left, DimExpr) or len(left.terms) != 1 or left.terms[0][1] != 1:
            if left == right:
                return
            raise ValueError(
                f"the left side of constraint '{left} == {right}' must be a product of variables and "
                "operations, with the coefficient 1"
            )
        difference = left - right
        if isinstance(difference, int):
            if difference:
                raise ValueError(f"Unsatisfiable constraint: {left} == {right}")
            return
        opposite = -difference
        assert isinstance(opposite, DimExpr)
        for bound in (difference, opposite):
            if self.bounds(bound)[1] < 0:
                raise ValueError(f"Unsatisfiable constraint: {left} == {right}")
        self._note(difference)
        self._note(opposite)
        self.substitutions[left.terms[0][0]] = right

    def _note(self, least_zero: DimExpr) -> None:
        self._least_zero.append(least_zero)
        self._known.clear()
        named = least_zero.terms
        monomial, coefficient = named[0]
        constant = named[1][1] if len(named) == 2 and not named[1][0] else 0
        is_linear = len(monomial) == 1 and monomial[0][1] == 1 and not monomial[0][0].operands
        if is_linear and len(named) <= 1 + bool(constant):
            name = monomial[0][0].name
            low, high = self._variables.get(name, (1, math.inf))
            if coefficient > 0:
                low = max(low, -(constant // coefficient))
            else:
                high = min(high, constant // -coefficient)
            self._variables[name] = low, high

    def substitute(self, terms: Terms) -> Terms:
        """Returns the terms with monomials replaced by equations, and like terms collected."""
        out: Terms = {}
        for monomial, coefficient in terms.items():
            parts = expressions.terms_of(self._replaced(monomial))
            for m, c in parts:
                out[m] = out.get(m, 0) + coefficient * c
        return out

    def _replaced(self, monomial: Monomial) -> DimSize:
        whole = self.substitutions.get(monomial)
        if whole is not None:
            return whole
        left: Terms = {monomial: 1}
        for factor, exponent in monomial:
            single = self.substitutions.get(((factor, 1),))
            if single is not None:
                others = tuple([(f, e) for f, e in monomial if f != factor])
                cofactor: DimSize = DimExpr(((others, 1),), self) if others else 1
                return single**exponent * cofactor
        return DimExpr(tuple(left.items()), self) if monomial else 1

    # --- bounds -------------------------------------------------------------------------------

    def bounds(self, x: DimExpr) -> Bounds:
        """Returns lower and upper bounds of `x`, as far as they are known."""
        bounds = self._known.get(x)
        if bounds is None:
            low = self._least(x, _DEPTH)
            negative = -x
            high = -self._least(negative, _DEPTH) if isinstance(negative, DimExpr) else -negative
            bounds = self._known[x] = low, high
        return bounds

    def _least(self, x: DimSize, depth: int) -> float:
        """Returns a lower bound of `x`."""
        if isinstance(x, int):
            return x
        best = self._by_terms(x)
        if not depth:
            return best
        for known in (*self._least_zero, *self._of_operations(x)):
            there = dict(known.terms)
            for monomial, coefficient in x.terms:
                other = there.get(monomial, 0) if monomial else 0
                if coefficient * other <= 0:
                    continue
                # |other| x - |coefficient| known has one term fewer, and is at most |other| x.
                left = expressions.combine(x, abs(other), known, -abs(coefficient))
                low = self._least(left, depth - 1)
                if low > -math.inf:
                    best = max(best, math.ceil(low / abs(other)))
        return best

    def _by_terms(self, x: DimExpr) -> float:
        low = 0.0
        for monomial, coefficient in x.terms:
            least, greatest = self._of_monomial(monomial)
            low += coefficient * (least if coefficient > 0 else greatest)
        return low

    def _of_monomial(self, monomial: Monomial) -> Bounds:
        low, high = 1.0, 1.0
        for factor, exponent in monomial:
            bounds = self._of_factor(factor)
            if exponent % 2 == 0:
                smallest = 0.0 if bounds[0] <= 0 <= bounds[1] else min(map(abs, bounds))
                bounds, exponent = (smallest**2, max(map(abs, bounds)) ** 2), exponent // 2
            for _ in range(exponent):
                low, high = _product((low, high), bounds)
        return low, high

    def _of_factor(self, factor: Factor) -> Bounds:
        if not factor.operands:
            return self._variables.get(factor.name, (1, math.inf))
        x, y = (expressions.bounds(o) for o in factor.operands)
        if factor.name == expressions.MAX:
            return max(x[0], y[0]), max(x[1], y[1])
        if factor.name == expressions.MIN:
            return min(x[0], y[0]), min(x[1], y[1])
        if factor.name == expressions.MOD:
            if y[0] > 0:
                return 0, min(y[1] - 1, x[1]) if x[0] >= 0 else y[1] - 1
            return (y[0] + 1, 0) if y[1] < 0 else (min(y[0] + 1, 0), max(y[1] - 1, 0))
        if y[0] <= 0 <= y[1]:
            return -math.inf, math.inf
        ends = [_floor_quotient(p, q) for p in x for q in y]
        return min(ends), max(ends)

    def _of_operations(self, x: DimExpr) -> Iterator[DimExpr]:
        """Yields nonnegative expressions that follow from the definitions of operations in `x`."""
        seen: set[Factor] = set()
        for factor in x.factors():
            if factor in seen or not factor.operands:
                continue
            seen.add(factor)
            value = expressions.from_factor(factor, self)
            for known in _MEANINGS[factor.name](value, *factor.operands):
                if isinstance(known, DimExpr):
                    yield known


def _floor_quotient(p: float, q: float) -> float:
    if math.isinf(q):
        return -1.0 if (p < 0) != (q < 0) and p else 0.0
    return p / q if math.isinf(p) else p // q


def _times(p: float, q: float) -> float:
    return 0.0 if p == 0 or q == 0 else p * q  # infinity times zero is zero, for bounds


def _product(x: Bounds, y: Bounds) -> Bounds:
    ends = [_times(p, q) for p in x for q in y]
    return min(ends), max(ends)


def _quotient_facts(value: DimSize, x: DimSize, y: DimSize) -> list[DimSize]:
    """Returns nonnegative expressions for y q <= x < y q + y, if y is positive."""
    if expressions.bounds(y)[0] <= 0:
        return []
    return [x - value * y, value * y + y - 1 - x]


def _remainder_facts(value: DimSize, x: DimSize, y: DimSize) -> list[DimSize]:
    """Returns nonnegative expressions for r < y if y > 0, and r <= x if also x >= 0."""
    if expressions.bounds(y)[0] <= 0:
        return []
    facts = [y - 1 - value]
    return [*facts, x - value] if expressions.bounds(x)[0] >= 0 else facts


_MEANINGS: dict[str, Callable[[DimSize, DimSize, DimSize], list[DimSize]]] = {
    expressions.FLOORDIV: _quotient_facts,
    expressions.MOD: _remainder_facts,
    expressions.MAX: lambda value, x, y: [value - x, value - y],
    expressions.MIN: lambda value, x, y: [x - value, y - value],
}
