"""Names of a program's values: source expressions, and for cotangents their primals.

Transposing an equation yields equations that compute the cotangents of its operands and have the
source location of the original equation. To determine the operand to which a cotangent belongs, the
forward equations at that location are searched, backwards from the incoming cotangent or from the
values that are read.
"""

from __future__ import annotations

import bisect
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np

from jitney.compiler.hlo import ir as hlo
from jitney.core.messages.messages import shortened
from jitney.core.program.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, jaxprs_in_params
from jitney.core.source.source_info import SourceInfo
from jitney.core.types.dtypes import issubdtype
from jitney.core.util.record import field, record
from jitney.inspection.sources import (
    Source,
    equations_of,
    is_transposed_by,
    source_of,
    source_of_equation,
)  # fmt: skip

_EXPRESSION = 40  # maximum length of a shown expression, in characters, if others begin otherwise
_DISTINCT = 12  # characters shown from the first one that differs from other expressions
_LONGEST = 100  # beyond this length, the common beginning of expressions is truncated, too
_MOST_LOOKED_AT = 200  # maximum number of equations searched for one
# Each of these equations becomes several nodes, which do not belong to equations of its body.
_REGIONS = frozenset({"cond", "scan", "while"})
# Equations that only move elements: their results are named after their operands.
_MOVES = frozenset({
    "broadcast_in_dim", "convert_element_type", "copy", "expand_dims", "reshape", "squeeze",
    "stop_gradient", "transpose",
})  # fmt: skip

Place: TypeAlias = tuple[int, int] | None  # (code object, instruction): a source location


@record(frozen=True)
class Named:
    """The name of a value.

    Attributes:
      text: the name, such as "`x @ w`" or "the cotangent of w".
      line: the source line that computes the value; None for arguments, and if unknown.
      is_on_several_lines: whether the program contains the same expression on other lines.
    """

    text: str
    line: int | None = None
    is_on_several_lines: bool = False

    @property
    def with_line(self) -> str:
        """The name with its line."""
        return self.text if self.line is None else f"{self.text} in line {self.line}"

    @property
    def label(self) -> str:
        """The name, with its line if the same expression is on other lines, too."""
        return self.with_line if self.is_on_several_lines else self.text

    def within(self, words: str) -> Named:
        """Returns the name of a value that belongs to this one: "the cotangent of w"."""
        return Named(f"{words} {self.text}", self.line, self.is_on_several_lines)


@record
class _Value:
    """A value of the program: an argument, or the result of an equation."""

    shape: tuple[int, ...]
    is_inexact: bool
    argument: str = ""
    operation: _Operation | None = None
    users: list[_Operation] = field(default_factory=list)
    is_result: bool = False
    cotangent_of: _Value | None = None

    @property
    def is_forward(self) -> bool:
        return self.operation is None or not self.operation.is_transposed


@record
class _Operation:
    """An equation, with its operands in the program."""

    equation: JaxprEqn
    place: Place
    is_transposed: bool
    operands: list[_Value]
    results: list[_Value]

    @property
    def name(self) -> str:
        return self.equation.primitive.name

    def is_beside(self, other: _Operation | None) -> bool:
        """Returns whether both have the same location, and both or neither are transposed."""
        return (
            other is not None
            and other.place == self.place
            and other.is_transposed == self.is_transposed
        )


class Expressions:
    """The source expressions of a program, which it names so that they can be told apart."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self._lines: dict[str, set[tuple[str, int]]] = {}
        for source in sources:
            if source.text:
                self._lines.setdefault(source.text, set()).add((source.file, source.line))
        self._sorted = sorted(self._lines)

    def named(self, source: Source) -> Named:
        """Returns the expression in backquotes, with its line.

        It is truncated only after it differs from all other expressions of the program. If they
        share a long beginning, that is truncated as well.
        """
        text = source.text
        if not text:
            return Named(f"line {source.line}", source.line)
        common = self._distinct(text)
        short = shortened(text, max(_EXPRESSION, common + _DISTINCT))
        if len(short) > _LONGEST:
            end = shortened(text[common - _DISTINCT :], _EXPRESSION)
            short = f"{text[: _EXPRESSION // 2]} ... {end}"
        return Named(f"`{short}`", source.line, len(self._lines.get(text, ())) > 1)

    def _distinct(self, text: str) -> int:
        """Returns how many characters `text` shares with the expression that begins most alike."""
        i = bisect.bisect_left(self._sorted, text)
        around = self._sorted[max(i - 1, 0) : i + 2]
        return max([_common(text, x) for x in around if x != text], default=0)


def _common(text: str, other: str) -> int:
    """Returns the length of the common prefix of two texts."""
    differs = (i for i, (a, b) in enumerate(zip(text, other, strict=False)) if a != b)
    return next(differs, min(len(text), len(other)))


class Values:
    """The names of a program's values."""

    def __init__(self, jaxpr: Jaxpr | None, arguments: Sequence[str]) -> None:
        """Reads a program.

        Args:
          jaxpr: the entire program; None if unknown.
          arguments: the names of its arguments.
        """
        self._operations: dict[int, list[_Operation]] = {}
        self._at: dict[Place, JaxprEqn] = {}  # the first equation of each source location
        self._forward: dict[Place, list[_Operation]] = {}
        if jaxpr is None:
            return
        values = [_value(v) for v in jaxpr.invars]
        if len(values) == len(arguments):
            for value, name in zip(values, arguments, strict=True):
                value.argument = name
        for result in self._walk(jaxpr, values, None, False):
            result.is_result = True
        for operations in self._operations.values():
            for operation in operations:
                if operation.is_transposed:
                    self._find_primal(operation)

    def named(self, node: hlo.Node) -> Named | None:
        """Returns the name of a node's value; None if unknown."""
        source = source_of(node)
        if source is None or not source.text:
            return None
        equation = next(equations_of(node), None)
        noted = self._operations.get(id(equation), ())
        expression = self._expressions.named(source)
        if any(map(_is_of_several_values, noted)):
            return expression.within(f"{hlo.word(node)} in")
        candidates = {self._named_result(x, source) for x in noted}
        if len(candidates) == 1:
            return candidates.pop()
        return expression.within("a cotangent in") if source.is_transposed else expression

    # --- reading the program ----------------------------------------------------------------------

    def _walk(
        self, jaxpr: Jaxpr, operands: Sequence[_Value], place: Place, is_transposed: bool
    ) -> list[_Value]:
        """Records the equations of a program, and returns its results."""
        values = {id(v): _value(v) for v in jaxpr.constvars}
        values.update(zip(map(id, jaxpr.invars), operands, strict=True))
        for equation in jaxpr.eqns:
            info = equation.source_info
            at = place
            if isinstance(info, SourceInfo) and info.code is not None:
                at = id(info.code), info.lasti
                self._at.setdefault(at, equation)
            answer = is_transposed_by(equation)
            transposed = is_transposed if answer is None else answer
            inputs = [values.get(id(v)) or _value(v) for v in equation.invars]
            called = equation.params.get(equation.primitive.called or "")
            if isinstance(called, ClosedJaxpr) and len(called.jaxpr.invars) == len(inputs):
                outputs = self._walk(called.jaxpr, inputs, at, transposed)
            else:
                outputs = [_value(v) for v in equation.outvars]
                self._note(_Operation(equation, at, transposed, inputs, outputs))
                for body in jaxprs_in_params(equation.params):
                    for result in self._walk(body, list(map(_value, body.invars)), at, transposed):
                        result.is_result = True
            values.update(zip(map(id, equation.outvars), outputs, strict=True))
        return [values.get(id(v)) or _value(v) for v in jaxpr.outvars]

    def _note(self, operation: _Operation) -> None:
        self._operations.setdefault(id(operation.equation), []).append(operation)
        if not operation.is_transposed:
            self._forward.setdefault(operation.place, []).append(operation)
        for value in operation.operands:
            value.users.append(operation)
        for value in operation.results:
            value.operation = operation

    # --- names ------------------------------------------------------------------------------------

    @cached_property
    def _expressions(self) -> Expressions:
        sources = map(source_of_equation, self._at.values())
        return Expressions([source for source in sources if source is not None])

    def _named_result(self, operation: _Operation, source: Source) -> Named:
        """Returns the name of the result of an equation."""
        if not operation.is_transposed:
            return self._named_forward(operation, source)
        moved = operation.operands[0] if operation.name in _MOVES else None
        if moved is not None and moved.is_forward and moved.cotangent_of is None:
            named = self._named_value(moved)
            if named is not None and operation.name == "transpose":
                text = f"{named.text}, transposed"
                return Named(text, named.line, named.is_on_several_lines)
        expression = self._expressions.named(source)
        (result,) = operation.results
        if not _leaves(result):
            return expression.within("a cotangent within")
        primal = None if result.cotangent_of is None else self._named_value(result.cotangent_of)
        if primal is not None:
            return primal.within("the cotangent of")
        return expression.within("the cotangent of an operand of")

    def _named_value(self, value: _Value) -> Named | None:
        """Returns the name of a forward value; None if unknown."""
        operation = value.operation
        if operation is None:
            return Named(value.argument) if value.argument else None
        source = source_of_equation(operation.equation)
        if operation.is_transposed or source is None or not source.text:
            return None
        return self._named_forward(operation, source)

    def _named_forward(self, operation: _Operation, source: Source) -> Named:
        expression = self._expressions.named(source)
        if any(map(_leaves, operation.results)):
            return expression
        return expression.within(f"{operation.name} in")

    # --- cotangents -------------------------------------------------------------------------------

    def _find_primal(self, operation: _Operation) -> None:
        """Records the primals of the cotangents that a transposed equation computes."""
        if len(operation.results) != 1:
            return
        (result,) = operation.results
        if operation.name == "add_any":
            known = [x.cotangent_of for x in operation.operands if x.cotangent_of is not None]
            result.cotangent_of = known[0] if known else None
            return
        came, read = _inputs(operation)
        forward = self._forward_of(operation, came, read)
        inner = [value for each in forward for value in each.results]
        candidates: list[_Value] = []
        for value in [value for each in forward for value in each.operands]:
            is_outer = not _is_among(value, inner) and not _is_among(value, candidates)
            if is_outer and value.is_inexact and sorted(value.shape) == sorted(result.shape):
                candidates.append(value)
        if len(candidates) > 1:  # the derivative with respect to one factor reads the others
            candidates = [value for value in candidates if not _is_among(value, read)]
        if len(candidates) > 1:
            candidates = [value for value in candidates if value.shape == result.shape]
        if len(candidates) == 1:
            result.cotangent_of = candidates[0]

    def _forward_of(
        self, operation: _Operation, came: Sequence[_Value], read: Sequence[_Value]
    ) -> list[_Operation]:
        """Returns the forward equations of a transposed equation; empty if unknown."""
        if operation.place is None:
            return []
        for value in came:
            nearest = _nearest(value, operation.place)
            if nearest is not None:
                return _with_neighbors(nearest)
        known = self._forward.get(operation.place, [])
        if len(known) > _MOST_LOOKED_AT:
            return []
        touching = [
            each
            for each in known
            if any(_is_among(value, read) for value in (*each.operands, *each.results))
        ]
        chosen = touching or known
        instance = _with_neighbors(chosen[0]) if chosen else []
        return instance if all(any(x is each for x in instance) for each in chosen) else []


def _value(v: object) -> _Value:
    aval = getattr(v, "aval", None)
    dtype = getattr(aval, "dtype", None)
    known = dtype is not None and not isinstance(v, Literal) and issubdtype(dtype, np.inexact)
    return _Value(getattr(aval, "shape", ()), known)


def _is_among(value: _Value, values: Sequence[_Value]) -> bool:
    return any(value is other for other in values)


def _is_of_several_values(operation: _Operation) -> bool:
    """Returns whether a node of an equation can be an intermediate value instead of its result."""
    if operation.name in _REGIONS:
        return True
    results = operation.results
    return operation.is_transposed and not (len(results) == 1 and results[0].is_inexact)


def _leaves(value: _Value) -> bool:
    """Returns whether a value is used outside of its source location.

    If it is not, it is an intermediate value of the expression there.
    """
    pending = [value]
    while pending:
        current = pending.pop()
        if current.is_result or not current.users or current.operation is None:
            return True
        for user in current.users:
            is_own = user.place == current.operation.place
            if not is_own:
                return True
            if user.name in _MOVES and user.is_beside(current.operation):
                pending += user.results
    return False


def _inputs(operation: _Operation) -> tuple[list[_Value], list[_Value]]:
    """Returns the inputs of all transposed equations at an equation's source location.

    The inputs are the primals of the incoming cotangents, and the forward values that are read.
    """
    came: list[_Value] = []
    read: list[_Value] = []
    pending, seen = [operation], {id(operation)}
    while pending and len(seen) <= _MOST_LOOKED_AT:
        for value in pending.pop().operands:
            if value.is_forward:
                read.append(value)
            elif value.operation is not None and operation.is_beside(value.operation):
                if id(value.operation) not in seen:
                    seen.add(id(value.operation))
                    pending.append(value.operation)
            elif value.cotangent_of is not None:
                came.append(value.cotangent_of)
    return came, read


def _nearest(value: _Value, place: Place) -> _Operation | None:
    """Returns the nearest forward equation at a source location, going backwards from a value."""
    pending, seen = deque([value]), {id(value)}
    while pending and len(seen) <= _MOST_LOOKED_AT:
        operation = pending.popleft().operation
        if operation is None or operation.is_transposed:
            continue
        if operation.place == place:
            return operation
        for operand in operation.operands:
            if id(operand) not in seen:
                seen.add(id(operand))
                pending.append(operand)
    return None


def _with_neighbors(operation: _Operation) -> list[_Operation]:
    """Returns the equations at an equation's source location that are connected to it.

    The result is empty if there are many.
    """
    members, pending = {id(operation): operation}, [operation]
    while pending:
        for other in _around(pending.pop()):
            if operation.is_beside(other) and id(other) not in members:
                members[id(other)] = other
                pending.append(other)
        if len(members) > _MOST_LOOKED_AT:
            return []
    return list(members.values())


def _around(operation: _Operation) -> Iterator[_Operation]:
    for value in operation.operands:
        if value.operation is not None:
            yield value.operation
    for value in operation.results:
        yield from value.users
