"""The pass "jaxpr", which maps lines of a jaxpr to the code that recorded their equations."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from jitney.api.jit.make_jaxpr import make_jaxpr
from jitney.core.util.lazy import listing
from jitney.experimental.source_mapper import common
from jitney.experimental.source_mapper.sourcemap import MappingsGenerator, SourceMap

if TYPE_CHECKING:
    from jitney.core.program.jaxpr import ClosedJaxpr
    from jitney.core.typing import PyTree

__dir__ = listing(__name__)

# The comment after a printed equation: file, line, column and function.
_SOURCE = re.compile(r" +# (?:(.+):(\d+):(\d+) \(.*\))?$")


def canonicalize_filename(file_name: str) -> str:
    """Returns the name of a file in source maps, which is the file name itself."""
    return file_name


def compile_jaxpr(
    work_dir: str,
    f: Callable[..., Any],
    f_args: Sequence[PyTree],
    f_kwargs: Mapping[str, PyTree],
    **_: object,
) -> ClosedJaxpr:
    """Traces a function to a jaxpr; `work_dir` is not used."""
    return make_jaxpr(f)(*f_args, **f_kwargs)


class _Equation(NamedTuple):
    """An equation that is being parsed: its first column, and its source location or ()."""

    column: int
    position: tuple[int, ...]


def make_jaxpr_dump(jaxpr: ClosedJaxpr, **_: object) -> common.SourceMapDump:
    """Returns the text of a jaxpr with its source map.

    Each line is attributed to the innermost enclosing equation. The line has no segment if the
    source location of that equation is unknown.
    """
    sources: dict[str, int] = {}
    generator = MappingsGenerator()
    lines: list[str] = []
    around: list[_Equation] = []
    for printed in jaxpr.pretty_print(source_info=True, use_color=False).splitlines():
        source = _SOURCE.search(printed)
        line = printed[: source.start()] if source else printed
        lines.append(line)
        generator.new_group()
        column = len(line) - len(line.lstrip())
        is_end = line.startswith("]", column) and not source
        while around and (
            around[-1].column > column or (around[-1].column == column and not is_end)
        ):
            around.pop()
        if source:
            file, row, place = source.groups()
            position = ()
            if file is not None:
                number = sources.setdefault(canonicalize_filename(file), len(sources))
                position = number, int(row) - 1, int(place)
            around.append(_Equation(column, position))
        if around and around[-1].position:
            generator.new_segment(column, *around[-1].position)
    generator.new_group()  # terminates the last line
    source_map = SourceMap(3, list(sources), [], [], generator.mappings())
    return common.SourceMapDump(source_map, "\n".join(lines), "jaxpr")


common.register_pass(common.Pass("jaxpr", compile_jaxpr, make_jaxpr_dump))
