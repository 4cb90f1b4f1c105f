"""The passes "hlo:original" and "hlo:optimized": the tensor IR, before and after optimization.

A line is mapped to the code that recorded the equation from which the operation was lowered.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jitney.api.jit.jit import jit
from jitney.compiler import pipeline
from jitney.compiler.hlo.text import print_module
from jitney.core.source.source_info import SourceInfo
from jitney.core.util.lazy import listing, refusing
from jitney.experimental.source_mapper import common
from jitney.experimental.source_mapper.jaxpr import canonicalize_filename
from jitney.experimental.source_mapper.sourcemap import MappingsGenerator, SourceMap

if TYPE_CHECKING:
    from jitney.compiler.hlo import ir
    from jitney.core.typing import PyTree

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)

# The comment after an operation: file, line and column.
_SOURCE = re.compile(r" +# (.+):(\d+):(\d+)$")


class HloPass(enum.Enum):
    """The passes."""

    ORIGINAL = "hlo:original"
    OPTIMIZED = "hlo:optimized"


def trace_and_lower(
    work_dir: str,
    f: Callable[..., Any],
    f_args: Sequence[PyTree],
    f_kwargs: Mapping[str, PyTree],
    **_: object,
) -> tuple[Any, str]:
    """Traces and lowers `f`; returns (lowered function, `work_dir`)."""
    return jit(f).lower(*f_args, **f_kwargs), work_dir


def original_hlo_generate_dump(args: tuple[Any, str], **_: object) -> common.SourceMapDump:
    """Returns the tensor IR as lowered, with its source map.

    Args:
      args: result of `trace_and_lower`.
    """
    lowered, _work_dir = args
    return _dump(lowered.compiler_ir(), HloPass.ORIGINAL)


def optimized_generate_dump(
    args: tuple[Any, str], xla_compiler_flags: Mapping[str, Any] | None = None, **_: object
) -> common.SourceMapDump:
    """Returns the tensor IR after optimization, with its source map.

    Args:
      args: result of `trace_and_lower`.
      xla_compiler_flags: accepted for compatibility.
    """
    lowered, _work_dir = args
    return _dump(pipeline.optimize(lowered.compiler_ir()), HloPass.OPTIMIZED)


def _dump(module: ir.Module, name: HloPass) -> common.SourceMapDump:
    text = print_module(module, note=_note)
    lines = [_SOURCE.sub("", line) for line in text.splitlines()]
    return common.SourceMapDump(parse_hlo_dump(text), "\n".join(lines), name.value)


def _note(node: ir.Node) -> str:
    """Returns a comment with the source location of a node, or "" if the location is unknown.

    Since calls are inlined, it is the location of the innermost equation whose location is known.
    """
    origin = node.origin
    while origin is not None:
        equation, origin = origin
        info = equation.source_info
        if isinstance(info, SourceInfo) and info.code is not None:
            line, column = info.position()
            return f" # {info.code.co_filename}:{line}:{column}"
    return ""


def parse_hlo_dump(text: str) -> SourceMap:
    """Returns the source map of a program whose lines end in comments " # file:line:column".

    The columns of operations refer to the text without these comments.
    """
    sources: dict[str, int] = {}
    generator = MappingsGenerator()
    for line in text.splitlines():
        generator.new_group()
        found = _SOURCE.search(line)
        if found is not None:
            file, row, column = found.groups()
            number = sources.setdefault(canonicalize_filename(file), len(sources))
            start = len(line) - len(line.lstrip())
            generator.new_segment(start, number, int(row) - 1, int(column))
    generator.new_group()  # terminates the last line
    return SourceMap(3, list(sources), [], [], generator.mappings())


_known = {known.name for known in common.all_passes()}  # an interrupted import is repeated
for _name, _dumped in (
    (HloPass.ORIGINAL.value, original_hlo_generate_dump),
    (HloPass.OPTIMIZED.value, optimized_generate_dump),
):
    if _name not in _known:
        common.register_pass(common.Pass(_name, trace_and_lower, _dumped))
