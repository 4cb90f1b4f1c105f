"""Programs that take long to compile or to run, found as they are lowered: warnings with the cure."""

from __future__ import annotations

import math
from collections import Counter

from jitney.core import config, messages, performance, source_info, user_code
from jitney.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, jaxprs_in_params
from jitney.core.record import field, record
from jitney.core.user_warnings import warn

_Line = tuple[int, int]  # code object, offset of the instruction

LONG_PROGRAM = 5_000  # operations, from which on it is looked for loops that have been unrolled
EQUAL_STEPS = 100  # times that a line is run, from which on it is in such a loop
MANY_ITERATIONS = 100  # of a loop, from which on calls of Python take most of its time
LARGE_CONSTANTS = 100_000_000  # bytes


@record
class _Survey:
    """What there is in a program and in all programs within.

    Attributes:
      operations: how many equations.
      longest: the program that has most of them.
      constants: by identity, their sizes in bytes.
      host_call: a `pure_callback` that is called in each of many iterations, if there is one.
    """

    longest: Jaxpr
    operations: int = 0
    constants: dict[int, int] = field(default_factory=dict)
    host_call: JaxprEqn | None = None


def warn_of(closed: ClosedJaxpr, name: str) -> None:
    """Warns of what makes the program `closed` slow.

    Args:
      closed: a program that is going to be lowered.
      name: what it is called.
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
            f"jit({name}): the pure_callback{what} is called in each iteration of a loop, which runs "
            "Python each time. Instead: the same function from jax.numpy, or one call outside of the "
            "loop for all iterations.",
            survey.host_call.source_info,
        )


def _survey(closed: ClosedJaxpr) -> _Survey:
    survey = _Survey(closed.jaxpr)
    # With how often each is run: infinity where nothing says it.
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
    """How often a program in `eqn` is run that is itself run `times`; 0 if that is not certain."""
    match eqn.primitive.name:
        case "scan":
            return times * int(eqn.params["length"])
        case "while":
            return math.inf
        case "cond":  # what is called now and then may well be one of Python's
            return 0
        case _:
            return times


def _warn_of_constants(sizes: dict[int, int], name: str) -> None:
    """Warns of many bytes of arrays: each function that is compiled keeps its own."""
    total = sum(sizes.values())
    limit = config.captured_constants_warn_bytes.value
    if limit < 0:
        return
    message = (
        f"jit({name}): the function closes over {messages.counted(len(sizes), 'array')} of "
        f"{total / 1e6:.3g} MB in all, "
        "which its program holds as constants. Pass large arrays as arguments; "
    )
    if total >= limit > 0:
        warn(f"{message}jax_captured_constants_warn_bytes=-1 turns this warning off.")
    elif total >= LARGE_CONSTANTS and performance.warns():
        performance.warn(f"{message}jitney_performance_warnings=False turns this warning off.")


def _warn_of_unrolled_loop(survey: _Survey, name: str) -> None:
    """Warns if most equations come from lines that were run many times."""
    equations: Counter[_Line] = Counter()
    steps: Counter[_Line] = Counter()
    places: dict[_Line, source_info.SourceInfo] = {}
    before: _Line | None = None
    for eqn in survey.longest.eqns:
        info = eqn.source_info
        if not isinstance(info, source_info.SourceInfo) or info.code is None:
            continue
        place = id(info.code), info.lasti  # hashing code goes over all that it holds
        equations[place] += 1
        if place != before:
            steps[place] += 1
            places.setdefault(place, info)
        before = place
    repeated = [place for place, n in steps.items() if n >= EQUAL_STEPS]
    if 2 * sum([equations[place] for place in repeated]) < survey.operations:
        return
    # The loop, or if it is in another function, of the lines that it runs that which stands first.
    most = max([steps[place] for place in repeated])
    first = min([p for p in repeated if steps[p] == most], key=lambda p: places[p].position())
    loop = user_code.loop_around(places[first])
    what = "iterations of this Python loop" if loop else "repetitions of this line"
    performance.warn(
        f"jit({name}) has {survey.operations:,} operations, most of them from {most:,} {what}: tracing "
        "unrolls Python loops, and each iteration is compiled. Use jax.lax.scan or "
        "jax.lax.fori_loop instead, whose body is traced and compiled once.",
        loop or places[first],
    )
