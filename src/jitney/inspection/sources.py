"""Source locations of equations and nodes."""

from __future__ import annotations

import linecache
from collections.abc import Iterator

from jitney.compiler.hlo import ir as hlo
from jitney.core.program.jaxpr import JaxprEqn, jaxprs_in_params
from jitney.core.source.source_info import SourceInfo, name_stack_of, span, stretch
from jitney.core.util.record import record


@record(frozen=True)
class Source:
    """A range of the user's source.

    Attributes:
      file: its path.
      line, column: where it begins; lines are counted from one, columns from zero.
      end_line, end_column: where it ends.
      is_transposed: whether reverse-mode differentiation derived the equation from this source.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    is_transposed: bool = False

    @property
    def text(self) -> str:
        """The expression on one line; "" if the source is unknown."""
        lines = [linecache.getline(self.file, n) for n in range(self.line, self.end_line + 1)]
        return stretch(lines, self.column, self.end_column) if all(lines) else ""


def source_of(node: hlo.Node) -> Source | None:
    """Returns the user's expression that a node comes from; None if unknown."""
    equation = equation_of(node)
    if equation is None:
        return None
    return source_of_equation(equation, _is_transposed(node))


def equation_of(node: hlo.Node) -> JaxprEqn | None:
    """Returns the innermost equation of the node with a known line."""
    known = (e for e in equations_of(node) if e.source_info is not None and e.source_info.code)
    return next(known, None)


def source_of_equation(equation: JaxprEqn, is_transposed: bool = False) -> Source | None:
    """Returns the user's expression that recorded an equation; None if unknown."""
    info = equation.source_info
    if not isinstance(info, SourceInfo) or info.code is None:
        return None
    line, end_line, column, end_column = span(info.code, info.lasti)
    if line is None:
        return None
    return Source(
        info.code.co_filename, line, column or 0,
        end_line or line, end_column or 0, is_transposed,
    )  # fmt: skip


def equations_of(node: hlo.Node) -> Iterator[JaxprEqn]:
    """Yields the equation of a node, then the calls from which it was inlined, innermost first."""
    origin = node.origin
    while origin is not None:
        equation, origin = origin
        yield equation


def _is_transposed(node: hlo.Node) -> bool:
    for equation in equations_of(node):
        answer = is_transposed_by(equation)
        if answer is not None:
            return answer
    return False


def is_transposed_by(equation: JaxprEqn) -> bool | None:
    """Returns whether an equation or one of its callees belongs to a transposed program.

    Residuals that a transposed program recomputes are not transposed equations. Returns None if the
    answer is unknown.
    """
    stack = name_stack_of(equation.source_info)
    if "rematted_computation" in stack:
        return False
    if "transpose(" in stack:
        return True
    infos = [program.debug_info for program in jaxprs_in_params(equation.params)]
    return any("transpose" in (*info.made_by, info.traced_for) for info in infos) or None
