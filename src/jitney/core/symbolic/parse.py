"""Parser for symbolic shapes: `symbolic_shape("b, 2*n + 1, ...", like=(None, None, 3))`.

    shape      ::= ["("] [dim {"," dim} [","]] [")"]
    dim        ::= "..." | "_" | expression
    expression ::= ["-"] term {("+" | "-") term}
    term       ::= factor {"*" factor}
    factor     ::= number | name ["^" number] | operation "(" expression "," expression ")"
    operation  ::= "floordiv" | "mod" | "max" | "min"

An operation may be raised to a power, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from jitney.core.messages import messages
from jitney.core.symbolic import expressions
from jitney.core.symbolic.expressions import DimSize, Factor, Scope

_TOKEN = re.compile(r"\s*(?:(\.\.\.)|([A-Za-z_]\w*)|(\d+)|(.))")
_OPERATIONS = (expressions.FLOORDIV, expressions.MOD, expressions.MAX, expressions.MIN)
_SIGN = re.compile(r"==|>=|<=")


class _Reader:
    """A reader of a text, from left to right."""

    def __init__(
        self, text: str, scope: Scope, like: Sequence[int | None] | None, what: str
    ) -> None:
        self.text = text
        self.scope = scope
        self.like = like
        self.what = what
        self.tokens = [
            (m.group(m.lastindex or 0), m.start()) for m in _TOKEN.finditer(text.rstrip())
        ]
        self.at = 0
        self.dimension: int | None = None

    def peek(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def take(self, *expected: str) -> str:
        token = self.peek()
        if expected and token not in expected:
            raise self.unexpected(" or ".join(map(repr, expected)))
        self.at += 1
        return token

    def unexpected(self, wanted: str) -> ValueError:
        """Returns the error for a token other than `wanted`."""
        token = f"{self.peek()!r}" if self.peek() else "the end"
        return self.error(f"expected {wanted}, but found {token}")

    def error(self, problem: str) -> ValueError:
        where = "" if self.dimension is None else f" in dimension {self.dimension}"
        start = self.tokens[self.at][1] if self.at < len(self.tokens) else len(self.text)
        return ValueError(
            f"syntax error in {self.what} {self.text!r}{where}: {problem}. "
            f"Parsed {self.text[:start]!r}, remaining {self.text[start:]!r}."
        )

    def shape(self) -> tuple[DimSize, ...]:
        closing = self.peek() == "("
        if closing:
            self.take()
        dims: list[DimSize] = []
        end = ")" if closing else ""
        while self.peek() != end:
            self.dimension = len(dims)
            if self.peek() == "...":
                self.take()
                dims.extend(self._of_like(slice(len(dims), None)))
                if self.peek() == ",":
                    self.take()
                if self.peek() not in (end, ""):
                    raise self.error(
                        f"'...' must be the last dimension, but {self.peek()!r} follows"
                    )
                break
            if self.peek() == "_":
                dims.extend(self._of_like(slice(len(dims), len(dims) + 1)))
                self.take()
            else:
                dims.append(self.expression())
            if self.peek() != end:
                if self.peek() != ",":
                    raise self.unexpected(
                        "',', ')' or an operator" if closing else "',' or an operator"
                    )
                self.take()
        if closing:
            self.take(")")
        if self.peek():
            raise self.unexpected("the end of the shape")
        return tuple(dims)

    def _of_like(self, where: slice) -> list[int]:
        sign = self.peek() if self.peek() == "_" else "..."
        if self.like is None:
            raise self.error(f"{sign!r} takes sizes of `like`, which was not passed")
        extents = list(self.like)[where]
        if sign == "_" and not extents:
            raise self.error(
                f"'_' takes a size of like={self.like}, which has no dimension {where.start}"
            )
        for i, n in enumerate(extents):
            if not isinstance(n, int):
                raise self.error(
                    f"{sign!r} takes sizes of like={self.like}, whose size "
                    f"{(where.start or 0) + i} is not known"
                )
        return [n for n in extents if n is not None]

    def expression(self) -> DimSize:
        sign = -1 if self.peek() == "-" else 1
        if sign < 0:
            self.take()
        total: Any = sign * self._term()
        while self.peek() in ("+", "-"):
            sign = 1 if self.take() == "+" else -1
            total = total + sign * self._term()
        return total

    def _term(self) -> DimSize:
        product: Any = self._factor()
        while self.peek() == "*":
            self.take()
            product = product * self._factor()
        return product

    def _factor(self) -> DimSize:
        token = self.peek()
        if token.isdigit() or (token == "-" and self.at + 1 < len(self.tokens)):
            sign = 1
            if token == "-":
                self.take()
                sign = -1
            if not self.peek().isdigit():
                raise self.unexpected("a number")
            return sign * int(self.take())
        if not token.isidentifier():
            raise self.unexpected("a name or a number")
        self.take()
        if token in _OPERATIONS and self.peek() == "(":
            self.take()
            x = self.expression()
            self.take(",")
            y = self.expression()
            self.take(")")
            value = expressions.apply(token, x, y)
        else:
            value = expressions.from_factor(Factor(token), self.scope)
        if self.peek() == "^":
            self.take()
            if not self.peek().isdigit():
                raise self.unexpected("a number")
            return value ** int(self.take())
        return value


def parse_shape(
    text: str | None, scope: Scope, like: Sequence[int | None] | None = None
) -> tuple[DimSize, ...]:
    """Returns the sizes in the text of a shape."""
    shape = _Reader("..." if text is None else text, scope, like, "symbolic shape").shape()
    if like is not None:
        if len(shape) != len(like):
            raise ValueError(
                f"symbolic shape {text!r} has {messages.counted(len(shape), 'dimension')}, but "
                f"like={tuple(like)} has {len(like)}; a final '...' stands for the remaining "
                "sizes of `like`."
            )
        for i, (extent, n) in enumerate(zip(shape, like, strict=True)):
            if isinstance(extent, int) and isinstance(n, int) and extent != n:
                raise ValueError(
                    f"symbolic shape {text!r} has {extent} for dimension {i}, but "
                    f"like={tuple(like)} has {n}"
                )
    return shape


def parse_constraint(text: str, scope: Scope) -> tuple[DimSize, str, DimSize]:
    """Returns the two sides and the sign of an inequality or an equation."""
    match = _SIGN.search(text)
    if match is None:
        raise ValueError(
            "symbolic_shape: a constraint must compare two sizes by '==', '>=' or '<=', but is "
            f"{text!r}"
        )
    sides: list[DimSize] = []
    for side in (text[: match.start()], text[match.end() :]):
        reader = _Reader(side, scope, None, "constraint")
        sides.append(reader.expression())
        if reader.peek():
            raise reader.unexpected("the end of the expression")
    return sides[0], match.group(), sides[1]
