"""Runs sources: by jitney, eagerly, compiled and interpreted, and by real JAX."""

from __future__ import annotations

import contextlib
import importlib
import sys
import time
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np

import jitney
from jitney.api.jit.stages import Traced
from jitney.compiler import lower, pipeline
from jitney.primitives.elementwise import masks
from jitney.runtime.arrays.donation import used_up
from jitney.runtime.execution import dispatch
from jitney.runtime.execution.assignment import assign

# Eager calls of a program: library functions are compiled from the third call of a signature on.
CALLS = 4

NAMES = {"np": np, "inf": np.inf, "nan": np.nan}


@dataclass
class Outcome:
    """Flat results and whether their types are weak, or the error; and the processor's seconds.

    Those of JAX and eager ones know the source, so that it can be run in another way. Those of an eager
    call have the outcome of the last of several calls, `again`.
    """

    results: list[np.ndarray] = field(default_factory=list)
    weak: list[bool] = field(default_factory=list)
    error: Exception | None = None
    seconds: float = 0.0
    body: str = ""
    again: Outcome | None = None


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def define(body: str, library: types.ModuleType, **names: Any) -> dict[str, Any]:
    """The names that a source's body defines, with `library` as jax."""
    space = {**NAMES, "jax": library, "jnp": library.numpy, "lax": library.lax, **names}
    exec(body, space)
    return space


def _collect(outcome: Outcome, out: Any) -> None:
    for x in jitney.tree_util.tree_leaves(out) if not isinstance(out, list) else out:
        aval = getattr(x, "aval", None)
        outcome.results.append(np.asarray(x))
        outcome.weak.append(bool(getattr(aval, "weak_type", False)))


def _timed(action: Callable[[Outcome], None]) -> Outcome:
    outcome = Outcome()
    start = time.process_time()
    try:
        with quietly():
            action(outcome)
    except Exception as error:
        outcome.error = error
    outcome.seconds = time.process_time() - start
    return outcome


def trace(space: dict[str, Any]) -> Traced:
    return jitney.jit(space["program"]).trace(*space["arguments"])


def compiled(body: str, **names: Any) -> Outcome:
    """Results of machine code."""

    def action(outcome: Outcome) -> None:
        space = define(body, jitney, **names)
        _collect(outcome, jitney.jit(space["program"])(*space["arguments"]))

    return _timed(action)


def compiled_and_interpreted(body: str) -> tuple[Outcome, Outcome]:
    """Results of machine code, and of the interpreter of the same program."""
    traced: list[tuple[Traced, Any]] = []

    def compile_(outcome: Outcome) -> None:
        space = define(body, jitney)
        closed = trace(space).program.closed
        leaves = jitney.tree_util.tree_leaves(space["arguments"])
        leaves = [
            np.asarray(x, aval.dtype) for x, aval in zip(leaves, closed.in_avals, strict=True)
        ]
        traced.append((closed, leaves))
        _collect(outcome, dispatch.run(closed, leaves))
        _check_donated(closed, leaves, outcome.results)

    def interpret(outcome: Outcome) -> None:
        closed, leaves = traced[0]
        _collect(outcome, pipeline.interpret(lower.lower(closed), leaves))

    fast = _timed(compile_)
    return fast, _timed(interpret) if traced else fast


def _check_donated(
    closed: Any, leaves: Sequence[np.ndarray], expected: Sequence[np.ndarray]
) -> None:
    """Raises AssertionError if results in the memory of operands that are given away are others."""
    given = [jitney.numpy.array(x) for x in leaves]
    donated, _ = used_up(closed, [True] * len(given), keep_unused=True)
    results = dispatch.run(closed, given, assign(given, donated))
    for i, (x, y) in enumerate(zip(results, expected, strict=True)):
        if np.asarray(x).tobytes() != y.tobytes():
            raise AssertionError(f"result {i} is another one where the operands are donated")


def eager(body: str) -> Outcome:
    """Results without compilation, that of loops excepted; of the first call and of a later one."""
    space: dict[str, Any] = {}

    def action(outcome: Outcome) -> None:
        space.update(space or define(body, jitney))
        arguments = [jitney.numpy.asarray(x) for x in space["arguments"]]
        _collect(outcome, space["program"](*arguments))

    first = _timed(action)
    first.body = body
    if first.error is None:
        for _ in range(CALLS - 1):
            first.again = _timed(action)
    return first


def eager_with_masks(body: str) -> Outcome:
    """Results without compilation, where products with masks select as they do within one program."""

    def action(outcome: Outcome) -> None:
        space = define(body, jitney)
        arguments = [jitney.numpy.asarray(x) for x in space["arguments"]]
        # One context for all: masks of a derivative's rule are factors of its transpose.
        one = patch.object(masks, "noting", contextlib.nullcontext)
        with jitney.disable_jit(), masks.noting(), one:
            _collect(outcome, space["program"](*arguments))

    return _timed(action)


def real_jax() -> Any:
    return importlib.import_module("jax")


def by_jax(bodies: list[str]) -> list[Outcome]:
    """Results of real JAX, of all programs in one compilation: that is what takes time.

    All bodies must agree on `jax_enable_x64`.
    """
    jax = real_jax()
    outcomes = [Outcome(body=body) for body in bodies]
    spaces = [define(body, jax) for body in bodies]

    def together(arguments: Any) -> Any:
        out: list[Any] = []
        for space, args, outcome in zip(spaces, arguments, outcomes, strict=True):
            try:
                leaves = [jax.numpy.asarray(x) for x in jax.tree.leaves(space["program"](*args))]
                outcome.weak = [x.weak_type for x in leaves]
            except Exception as error:
                outcome.error, leaves = error, []
            out.append(leaves)
        return out

    def action(_: Outcome) -> None:
        arguments = [space["arguments"] for space in spaces]
        for outcome, leaves in zip(outcomes, jax.jit(together)(arguments), strict=True):
            outcome.results = [np.asarray(x) for x in leaves]

    whole = _timed(action)
    for outcome in outcomes:
        outcome.error = outcome.error or whole.error
        outcome.seconds = whole.seconds
    return outcomes


def by_jax_eagerly(body: str) -> Outcome:
    """Results of real JAX, of one operation after the other."""
    jax = real_jax()

    def action(outcome: Outcome) -> None:
        with jax.disable_jit():
            space = define(body, jax)
            arguments = [jax.numpy.asarray(x) for x in space["arguments"]]
            leaves = jax.tree.leaves(space["program"](*arguments))
        outcome.results = [np.asarray(x) for x in leaves]
        outcome.weak = [False for _ in leaves]

    return _timed(action)


def forget() -> None:
    """Frees what both libraries keep of programs."""
    if "jax" in sys.modules:
        real_jax().clear_caches()
    jitney.clear_caches()
