"""One contestant of `jitney bench`: a process that runs a function of a program on request.

This file is run as a script by the interpreter of the command, so that `import jax` imports the
requested package. Requests and answers are lines of JSON:

    {"size": 1000}      creates arguments of this size and calls the function for the first time
    {"calls": 50}       calls the function that many times

The first line of output states the contestant's version. The output of the program is redirected to
standard error.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import os
import runpy
import statistics
import sys
import time
from collections.abc import Callable
from types import FunctionType
from typing import Any, Protocol, TypeVar

T = TypeVar("T")

CONTESTANTS = ("jitney", "numpy", "jax", "numba")
SHORTEST = 0.01  # minimum total seconds of the calls that are timed together


class _Jax(Protocol):
    """The part of the interface of `jitney` and `jax` that workers use."""

    def jit(self, fun: Callable[..., Any], /) -> Callable[..., object]: ...
    def block_until_ready(self, x: object, /) -> object: ...


class Unable(Exception):
    """The error raised if a contestant cannot run the function; the message states why."""


def load(
    contestant: str, path: str, name: str
) -> tuple[Callable[..., object], dict[str, object], str]:
    """Loads a function of a program for a contestant.

    Args:
      contestant: one of `CONTESTANTS`.
      path: the path of the program, which is not run as `__main__`.
      name: the name of the function.

    Returns:
      The function as the contestant runs it, the program's globals, and the contestant's version.

    Raises:
      Unable: if the contestant is not installed, or there is no function with that name.
    """
    load_ = {"jitney": _load_jitney, "numpy": _load_numpy, "jax": _load_jax, "numba": _load_numba}
    return load_[contestant](path, name)


def _load_jitney(path: str, name: str) -> tuple[Callable[..., object], dict[str, object], str]:
    import jitney

    jitney.install_as_jax()
    # First calls must compile the function, not load it from the disk cache of earlier processes.
    jitney.config.update("jax_enable_compilation_cache", False)
    program, function = _run(path, name)
    return _jitted(function, jitney), program, jitney.__version__


def _load_jax(path: str, name: str) -> tuple[Callable[..., object], dict[str, object], str]:
    try:
        import jax
    except ImportError as error:
        raise Unable(f"not installed ({error})") from None
    program, function = _run(path, name)
    return _jitted(function, jax), program, jax.__version__


def _load_numpy(path: str, name: str) -> tuple[Callable[..., object], dict[str, object], str]:
    import numpy

    program = _by_numpy(path, name)
    function = program[name]
    assert callable(function)
    return function, program, numpy.__version__


def _load_numba(path: str, name: str) -> tuple[Callable[..., object], dict[str, object], str]:
    try:
        numba: Any = importlib.import_module("numba")
    except ImportError as error:
        raise Unable(f"not installed ({error})") from None
    program = _by_numpy(path, name)
    plain = {key: x for key, x in program.items() if type(x) is FunctionType}
    program.update({key: numba.njit(x) for key, x in plain.items() if key != "make_arguments"})
    function = program[name]
    assert callable(function)
    return function, program, numba.__version__


def _run(path: str, name: str) -> tuple[dict[str, object], Callable[..., object]]:
    program = runpy.run_path(path, run_name=os.path.splitext(os.path.basename(path))[0])
    function = program.get(name)
    if not callable(function):
        raise Unable(f"{os.path.basename(path)} has no function {name}")
    # `run_path` clears the globals of the program, in which its functions look up names.
    body = inspect.unwrap(function)
    held = getattr(body, "__globals__", None)
    if held is not None:
        held.update(program)
    return program if held is None else held, function


def _jitted(function: Callable[..., Any], jax: _Jax) -> Callable[..., object]:
    """Returns the function, jitted unless it already is; its calls wait until results are ready."""
    jitted = function if hasattr(function, "lower") else jax.jit(function)

    @functools.wraps(function)
    def call(*args: object, **kwargs: object) -> object:
        return jax.block_until_ready(jitted(*args, **kwargs))

    return call


def _by_numpy(path: str, name: str) -> dict[str, object]:
    """Returns the program's globals, with NumPy in place of `jax.numpy` and functions unjitted."""
    import numpy

    import jitney
    import jitney.numpy as jnp

    jitney.install_as_jax()
    program, _ = _run(path, name)
    of_jnp = {id(getattr(jnp, n)): n for n in dir(jnp) if hasattr(numpy, n)}
    for key, x in list(program.items()):
        if x is jnp:
            program[key] = numpy
        elif id(x) in of_jnp:
            program[key] = getattr(numpy, of_jnp[id(x)])
        elif callable(x) and hasattr(x, "lower") and hasattr(x, "__wrapped__"):
            program[key] = inspect.unwrap(x)
    return program


# --- arguments ------------------------------------------------------------------------------------


def arguments(
    function: Callable[..., Any], program: dict[str, Any], size: int, contestant: str
) -> tuple[tuple[object, ...], dict[str, object]]:
    """Returns positional and keyword arguments for the function, equal for all contestants.

    The program's `make_arguments(size)` returns the positional arguments. If the program does not
    define it, each parameter without a default is a vector of `size` float32 numbers, which are
    uniformly distributed in [0, 1).
    """
    import numpy as np

    make = program.get("make_arguments")
    if callable(make):
        result = make(size)
        args, kwargs = (result if isinstance(result, tuple) else (result,)), {}
    else:
        draws = np.random.default_rng(0)
        args, kwargs = (), {}
        for parameter in inspect.signature(inspect.unwrap(function)).parameters.values():
            if parameter.default is not parameter.empty or parameter.kind in (
                parameter.VAR_POSITIONAL,
                parameter.VAR_KEYWORD,
            ):
                continue
            x = draws.random(size, np.float32)
            if parameter.kind == parameter.KEYWORD_ONLY:
                kwargs[parameter.name] = x
            else:
                args = (*args, x)
    return _converted((args, kwargs), contestant)


def _converted(tree: T, contestant: str) -> T:
    """Converts the arrays in the arguments to the contestant's array type."""
    import numpy as np

    if contestant in ("numpy", "numba"):
        import jitney as jax

        convert: Callable[[Any], Any] = np.asarray
    else:
        import jax
        import jax.numpy as jnp

        convert = jnp.asarray
    return jax.tree.map(lambda x: convert(x) if hasattr(x, "dtype") else x, tree)


# --- calls ----------------------------------------------------------------------------------------


class Contestant:
    """A function of a program, as one contestant runs it."""

    def __init__(self, contestant: str, path: str, name: str) -> None:
        self.contestant = contestant
        self.function, self.program, self.version = load(contestant, path, name)

    def prepare(self, size: int) -> dict[str, object]:
        """Creates arguments, calls the function for the first time, and returns the answer."""
        self.args, self.kwargs = arguments(self.function, self.program, size, self.contestant)
        begun = time.perf_counter()
        try:
            result = self.function(*self.args, **self.kwargs)
        except Exception as error:
            if callable(self.program.get("make_arguments")):
                raise
            raise Unable(
                f"{_in_one_line(error)}. Each argument was a vector of {size} random numbers: for "
                "others, define a function make_arguments(size) in the program that returns them"
            ) from error
        first = time.perf_counter() - begun
        return {"first": first, "summary": self._summary(result), "calls": self._enough_calls()}

    def seconds(self, calls: int) -> float:
        """Returns the mean time of a call over `calls` calls in sequence."""
        function, args, kwargs = self.function, self.args, self.kwargs
        begun = time.perf_counter()
        for _ in range(calls):
            function(*args, **kwargs)
        return (time.perf_counter() - begun) / calls

    def _enough_calls(self) -> int:
        """Returns a number of calls that together take long enough to be timed."""
        typical = statistics.median([self.seconds(1) for _ in range(3)])
        return max(1, round(SHORTEST / max(typical, 1e-9)))

    def _summary(self, result: object) -> list[float]:
        """Returns for each array of a result |mean(x)| and mean(|x|); empty arrays are skipped.

        Results of contestants are compared by these numbers.

        Raises:
          Unable: if the "numpy" contestant has computed with this package.
        """
        import numpy as np

        if self.contestant in ("numpy", "numba"):
            import jitney as jax
        else:
            import jax
        means: list[float] = []
        for x in jax.tree.leaves(result):
            if self.contestant in ("numpy", "numba") and isinstance(x, jax.Array):
                raise Unable(
                    f"{self.contestant} cannot run the functions that it imports from jax, other "
                    "than jax.numpy"
                )
            values = np.asarray(x)
            if values.size and values.dtype.kind in "biufc":
                values = values.astype(complex)
                means += [float(abs(values.mean())), float(abs(values).mean())]
        return means


def main() -> None:
    """Answers requests until the input ends."""
    contestant, path, name = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(**what: object) -> None:
        print(json.dumps(what), file=answers, flush=True)

    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    sys.argv[:] = [path]
    try:
        running = Contestant(contestant, path, name)
    except Exception as error:
        answer(error=_in_one_line(error))
        return
    answer(version=running.version)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "size" in request:
                answer(**running.prepare(request["size"]))
            else:
                answer(seconds=running.seconds(request["calls"]))
        except Exception as error:
            answer(error=_in_one_line(error))


def _in_one_line(error: Exception) -> str:
    """Returns the first line of an error message."""
    text = next(iter(str(error).strip().splitlines()), "")
    return text if isinstance(error, Unable) else f"{type(error).__name__}: {text}"


if __name__ == "__main__":
    main()
