"""Warnings, issued at lowering, about programs that are slow to compile or run, with remedies."""

from __future__ import annotations

import math
from collections import Counter

from jitney.core.messages import messages
from jitney.core.program.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, jaxprs_in_params
from jitney.core.settings import config, performance
from jitney.core.source import source_info, user_code
from jitney.core.source.user_warnings import warn
from jitney.core.util.record import field, record

_Line = tuple[int, int]  # code object, offset of the instruction

LONG_PROGRAM = 5_000  # the minimum number of equations to search a program for unrolled loops
EQUAL_STEPS = 100  # the minimum number of repetitions of a line in an unrolled loop
MANY_ITERATIONS = 100  # the number of iterations at which Python calls dominate a loop's time
LARGE_CONSTANTS = 100_000_000  # bytes


@record
class _Survey:
    """Statistics of a program and of all programs nested in it.

    Attributes:
      operations: the number of equations.
      longest: the program with the most equations.
      constants: the sizes of constants in bytes, by identity.
      host_call: a `pure_callback` that is called in each of many iterations, if there is one.
    """

    longest: Jaxpr
    operations: int = 0
    constants: dict[int, int] = field(default_factory=dict)
    host_call: JaxprEqn | None = None


def warn_of(closed: ClosedJaxpr, name: str) -> None:
    """Warns of properties that make the program `closed` slow.

    Args:
      closed: a program that is about to be lowered.
      name: its name.
    """
    survey = _survey(closed)
    _warn_of_constants(survey.constants, name)
    if not performance.warns():
        return
    if survey.operations >= LONG_PROGRAM:
        _warn_of_unrolled_loop(survey, name)
    if survey.host_call is not None:
        called = getattr(survey.host_call.params.get("callback"), "callback_func", None)
        what = f" of {source_info.fun_sourceinfo(called)}" if called is not None else ""
        performance.warn(
            f"jit({name}): the pure_callback{what} is called in each iteration of a loop, and runs "
            "Python each time. Instead: use the same function from jax.numpy, or make one "
            "call outside of the loop for all iterations.",
            survey.host_call.source_info,
        )


def _survey(closed: ClosedJaxpr) -> _Survey:
    survey = _Survey(closed.jaxpr)
    # Each with its number of runs: infinity if that is unknown.
    programs: list[tuple[Jaxpr, float]] = [(closed, 1)]
    while programs:
        program, times = programs.pop()
        for x in program.known_consts:
            survey.constants[id(x)] = getattr(x, "nbytes", 0)
        survey.operations += len(program.eqns)
        if len(program.eqns) > len(survey.longest.eqns):
            survey.longest = program
        for eqn in program.eqns:
            for inner in jaxprs_in_params(eqn.params):
                programs.append((inner, _times(eqn, times)))
            if times >= MANY_ITERATIONS and eqn.primitive.name == "pure_callback":
                survey.host_call = eqn
    return survey


def _times(eqn: JaxprEqn, times: float) -> float:
    """Returns how often a program in `eqn` runs if `eqn` runs `times` times; 0 if uncertain."""
    match eqn.primitive.name:
        case "scan":
            return times * int(eqn.params["length"])
        case "while":
            return math.inf
        case "cond":  # a rare branch may well call Python
            return 0
        case _:
            return times


def _warn_of_constants(sizes: dict[int, int], name: str) -> None:
    """Warns of large captured arrays, as each compiled function keeps its own copy."""
    total = sum(sizes.values())
    limit = config.captured_constants_warn_bytes.value
    if limit < 0:
        return
    message = (
        f"jit({name}): the function closes over {messages.counted(len(sizes), 'array')} of "
        f"{total / 1e6:.3g} MB in total, which become constants of its program. Pass large arrays "
        "as arguments; "
    )
    if total >= limit > 0:
        warn(f"{message}jax_captured_constants_warn_bytes=-1 disables this warning.")
    elif total >= LARGE_CONSTANTS and performance.warns():
        performance.warn(f"{message}jitney_performance_warnings=False disables this warning.")


def _warn_of_unrolled_loop(survey: _Survey, name: str) -> None:
    """Warns if most equations come from lines that ran many times while tracing."""
    equations: Counter[_Line] = Counter()
    steps: Counter[_Line] = Counter()
    places: dict[_Line, source_info.SourceInfo] = {}
    before: _Line | None = None
    for eqn in survey.longest.eqns:
        info = eqn.source_info
        if not isinstance(info, source_info.SourceInfo) or info.code is None:
            continue
        place = id(info.code), info.lasti  # hashing a code object hashes all that it contains
        equations[place] += 1
        if place != before:
            steps[place] += 1
            places.setdefault(place, info)
        before = place
    repeated = [place for place, n in steps.items() if n >= EQUAL_STEPS]
    if 2 * sum([equations[place] for place in repeated]) < survey.operations:
        return
    # The loop line; if that is in another function, the first of the repeated lines.
    most = max([steps[place] for place in repeated])
    first = min([p for p in repeated if steps[p] == most], key=lambda p: places[p].position())
    loop = user_code.loop_around(places[first])
    what = "iterations of this Python loop" if loop else "repetitions of this line"
    performance.warn(
        f"jit({name}) has {survey.operations:,} operations, most of them from {most:,} {what}: "
        "tracing unrolls Python loops, and each iteration is compiled. Use jax.lax.scan or "
        "jax.lax.fori_loop instead, whose body is traced and compiled once.",
        loop or places[first],
    )
