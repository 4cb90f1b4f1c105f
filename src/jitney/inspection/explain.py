"""`jitney.explain`: describes compiled functions in terms of their source lines."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jitney.compiler.hlo.partition.text import bytes_text
from jitney.inspection import facts, quantities
from jitney.inspection.facts import Program, Source, Work

if TYPE_CHECKING:
    from jitney.core.typing import PyTree

_SHOWN_OPERATIONS = 6  # operation names per line
_SHOWN_STORED = 3  # stored values listed per step
_SHOWN_SIGNATURES = 3  # further arguments listed per function
_QUANTITY = re.compile(r"\d+(\.\d+)?( [kMGT]?(B|flop))?")


class Explanation:
    """A description of a compiled function, which prints as text.

    Attributes:
      program: the facts behind the text, for use in programs.
    """

    def __init__(self, program: Program) -> None:
        self.program = program

    def __str__(self) -> str:
        return "\n".join(_lines(self.program))

    __repr__ = __str__


def explain(fun: Callable[..., Any]) -> Callable[..., Explanation]:
    """Describes the compiled form of `fun`: its passes over memory, and why they are needed.

    Args:
      fun: a function that `jit` accepts, or a jitted function.

    Returns:
      A function with the signature of `fun`. It compiles `fun` for its arguments, without running
      it, and returns an `Explanation`, which prints as text. For each step of the compiled program
      the text contains the source lines, the code that runs the step (a kernel, BLAS, a library,
      Python), the minimum memory traffic in bytes, the number of operations, and the values that
      the step stores, with the reason why they are not fused into their consumers. Sizes are
      estimates.

    Raises:
      Any exception that tracing and lowering `fun` raises.

    Example:
      >>> explanation = jax.explain(lambda x: x - x.mean())(jnp.ones(1000))
      >>> [work.kind for work in explanation.program.work]
      ['kernel', 'kernel']
    """

    def explained(*args: PyTree, **kwargs: PyTree) -> Explanation:
        return Explanation(facts.of_module(facts.lowered_module(fun, args, kwargs)))

    return explained


def summaries(programs: Iterable[Program]) -> Iterator[str]:
    """Yields the descriptions of compiled functions.

    Programs of one function whose descriptions differ only in numbers share that of the first,
    followed by how often and for which other arguments the function was compiled.
    """
    texts: dict[tuple[str, str], str] = {}  # that of the first program of each group
    groups: dict[tuple[str, str], list[Program]] = {}
    for program in programs:
        text = "\n".join(_lines(program))
        key = program.place, _QUANTITY.sub("#", text)
        texts.setdefault(key, text)
        groups.setdefault(key, []).append(program)
    for key, text in texts.items():
        yield "\n".join([text, *_repetitions(groups[key])])


def _repetitions(programs: Sequence[Program]) -> Iterator[str]:
    if len(programs) == 1:
        return
    yield f"  Compiled {len(programs)} times, with the same steps."
    _, *signatures = dict.fromkeys(map(_arguments, programs))
    if signatures:
        more = len(signatures) - _SHOWN_SIGNATURES
        listed = "; ".join(signatures[:_SHOWN_SIGNATURES])
        yield f"  Other arguments: {listed}{f'; and {more} more' if more > 0 else ''}."


def _arguments(program: Program) -> str:
    return ", ".join([f"{name}: {kind}" for name, kind in program.arguments])


def _lines(program: Program) -> Iterator[str]:
    _, _, place = program.place.partition(" at ")
    results = ", ".join(program.results) or "nothing"
    yield f"{program.title}({_arguments(program)}) -> {results}"
    if place:
        yield f"  {_short_path(place)}"
    files = {source.file for work in program.everything() for source in work.sources}
    home = place.rpartition(":")[0]
    numbers = {id(work): str(n) for n, work in enumerate(program.work, 1)}
    yield ""
    for work in program.work:
        yield from _work_lines(work, numbers[id(work)], "  ", home if len(files) == 1 else None)
    if not program.work:
        yield "  nothing is computed: the results are arguments or constants"
    yield ""
    totals = [work.total() for work in program.work]
    yield (
        f"  In all {bytes_text(sum([moved for moved, _ in totals]))} moved, "
        f"{quantities.flops(sum([flops for _, flops in totals]))}, "
        f"{bytes_text(program.temporary_bytes)} of temporary memory."
    )
    if any([w.is_of_unknown_length for w in program.everything()]):
        yield "  A loop whose trip count is not known counts as one iteration."
    for named, users in program.recomputed:
        where = " and ".join([numbers[id(w)] for w in users if id(w) in numbers])
        if where:
            yield f"  Steps {where} each compute {named.with_line} rather than read it from memory."
    yield from (f"  {line}" for line in _advice(program))


def _work_lines(work: Work, number: str, indent: str, home: str | None) -> Iterator[str]:
    head = f"{indent}{number}. {places_text(work.sources, home)}: {work.what}"
    if len(work.steps) > 1:
        head += f", by {len(work.steps)} kernels"
    if work.operations and work.kind in ("kernel", "strips") and work.what != "copy":
        head += f" ({_operations(work)})"
    facts_of_step: list[str] = []
    if work.reads or work.writes:
        facts_of_step.append(f"reads {_list(work.reads)}" if work.reads else "")
        facts_of_step.append(f"writes {_list(work.writes)}" if work.writes else "")
        facts_of_step.append(f"{bytes_text(work.traffic)} moved")
    if work.flops:
        facts_of_step.append(quantities.flops(work.flops))
    if work.is_shared:
        facts_of_step.append("shared among threads")
    yield head
    if any(facts_of_step):
        yield f"{indent}   {'; '.join([fact for fact in facts_of_step if fact])}"
    for value in work.stored[:_SHOWN_STORED]:
        yield (
            f"{indent}   in memory: {value.name.with_line}, {value.type} ({bytes_text(value.nbytes)}), "
            f"because {value.reason}"
        )
    if len(work.stored) > _SHOWN_STORED:
        yield f"{indent}   and {_count(len(work.stored) - _SHOWN_STORED, 'other value')} in memory"
    for n, inner in enumerate(work.within, 1):
        yield from _work_lines(inner, f"{number}.{n}", f"{indent}   ", home)


def _operations(work: Work) -> str:
    names = [f"{name} x{n}" if n > 1 else name for name, n in work.operations.most_common()]
    shown = ", ".join(names[:_SHOWN_OPERATIONS])
    return f"{shown}, ..." if len(names) > _SHOWN_OPERATIONS else shown


def places_text(sources: Sequence[Source], home: str | None = None) -> str:
    """Returns the lines of expressions: "lines 12 to 15", with the file unless it is `home`."""
    if not sources:
        return "no line of your program"
    texts: list[str] = []
    for file in dict.fromkeys([s.file for s in sources]):
        lines = sorted(
            {n for s in sources if s.file == file for n in range(s.line, s.end_line + 1)}
        )
        spans = [_span(first, last) for first, last in _runs(lines)]
        word = "line" if len(lines) == 1 else "lines"
        text = f"{word} {_list(spans)}"
        texts.append(text if file == home else f"{os.path.basename(file)} {text}")
    return "; ".join(texts)


def _runs(lines: Sequence[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for n in lines:
        if runs and n == runs[-1][1] + 1:
            runs[-1] = runs[-1][0], n
        else:
            runs.append((n, n))
    return runs


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first} to {last}"


def _list(words: Sequence[str]) -> str:
    """Joins words: "a", "a and b", "a, b and c"."""
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _short_path(place: str) -> str:
    """Returns a path relative to the current folder if it is inside, else unchanged."""
    relative = os.path.relpath(place)
    return place if relative.startswith("..") else relative


def _advice(program: Program) -> Iterable[str]:
    """Yields advice on how to make the program faster."""
    for loop in [w for w in program.everything() if w.kind == "loop"]:
        calls = [w for w in facts.with_inner(loop.within) if w.kind == "python"]
        if calls:
            yield (
                f"Each iteration of the loop in {places_text(loop.sources, None)} calls Python "
                f"({calls[0].what.removeprefix('calls Python: ')}), which takes microseconds. Call "
                "it once for all iterations, after the loop."
            )
    for work in program.everything():
        if work.kind == "library" and work.what.endswith("by NumPy"):
            function = work.what.removesuffix(" by NumPy")
            reason = (
                "computed by NumPy, whose sorts of large arrays are faster"
                if function.endswith("sort")
                else "computed by NumPy, because there is no compiled code for these types"
            )
            yield f"{function} in {places_text(work.sources, None)}: {reason}."
