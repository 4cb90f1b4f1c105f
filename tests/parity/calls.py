"""Calls of public functions, with right and wrong arguments, on both packages.

`data/calls.txt` has a few calls of each function that work. Variants of them are made here: operands of
other kinds (Python scalars, lists, NumPy scalars, arrays of rank 0), and arguments that are wrong.
What comes out is described by types (of results, or of the exception) and compared.

    python -m tests.parity.calls scalars            # all functions, operands of all kinds
    python -m tests.parity.calls wrong --count 2000 # so many wrong calls
    python -m tests.parity.calls wrong --only linalg
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import random
import signal
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

LINES = (Path(__file__).parent / "data" / "calls.txt").read_text().splitlines()

VALUES: dict[str, Any] = {
    "s": np.float32(0.5),
    "v": np.array([0.5, 0.25, 0.75], np.float32),
    "m": np.array([[0.5, 0.25, 0.75], [0.1, 0.9, 0.3], [0.2, 0.4, 0.8]], np.float32),
    "p": np.array([[4, 1, 0.5], [1, 3, 0.2], [0.5, 0.2, 2]], np.float32),
    "i": np.array([2, 0, 1], np.int32),
    "j": np.array([[2, 0, 1], [1, 2, 0]], np.int32),
    "b": np.array([True, False, True]),
    "c": np.array([1 + 2j, 0.5j, 2], np.complex64),
    "t": np.arange(18, dtype=np.float32).reshape(2, 3, 3) / 18,
    "u": np.array([3, 1, 2], np.uint8),
}

# Operands instead of arrays: by whether they stand for floats, integers, booleans, complex numbers.
_KINDS: dict[str, tuple[str, ...]] = {
    "f": ("2", "0.5", "True", "[0.5, 0.25]", "np.float32(0.5)", "np.float64(0.5)",
          "np.array(0.5, 'float32')", "jnp.array(0.5)", "jnp.asarray(0.5)"),
    "i": ("2", "True", "[1, 0]", "np.int32(1)", "np.int64(1)", "np.array(1)", "jnp.array(1)"),
    "b": ("True", "1", "[True, False]", "np.bool_(True)", "np.array(True)", "jnp.array(True)"),
    "c": ("2j", "0.5", "[1j, 2.0]", "np.complex64(1j)", "np.array(1j)", "jnp.array(1j)"),
}  # fmt: skip
_KIND_OF = {**dict.fromkeys("svmpt", "f"), **dict.fromkeys("iju", "i"), "b": "b", "c": "c"}

_WRONG_OPERANDS = (
    "None", "'abc'", "object()", "[1.0, 2.0]", "{'a': 1.0}", "jnp.ones((32, 10))", "jnp.ones(5)",
    "jnp.ones((2, 3, 4))", "jnp.ones((0,))", "jnp.ones((4, 0))", "2.0", "np.array(['a', 'b'])",
    "jax.random.key(0)", "jnp.ones(3, bool)", "jnp.ones((3, 3), complex)", "jnp.ones((3, 3), int)",
    "jnp.ones(3)", "jnp.ones(())", "np.array([None])", "int", "3", "(v, v)", "[v, m]", "1j",
)  # fmt: skip
_WRONG_OTHERS = (
    "None", "'abc'", "1.5", "-7", "100", "(0, 0)", "(9, 9)", "[]", "object()", "jnp.ones(2)",
    "True", "{}", "np.int64(1)", "(1.5,)", "'float33'", "0",
)  # fmt: skip
_WRONG_KEYWORDS = (
    ("axis", "7"), ("axis", "-7"), ("axis", "'x'"), ("axis", "1.5"), ("axis", "(0, 0)"),
    ("axis", "(0, 5)"), ("dtype", "'float33'"), ("dtype", "object"), ("dtype", "str"), ("other", "1"),
    ("out", "v"), ("mode", "'bad'"), ("where", "v"), ("keepdims", "'x'"), ("initial", "v"),
    ("method", "'bad'"), ("precision", "'bad'"), ("shape", "(2, -1)"), ("shape", "1.5"),
)  # fmt: skip


@dataclass(frozen=True)
class Call:
    """A call as text.

    Attributes:
      function: its full name in JAX.
      args, kwargs: expressions.
    """

    function: str
    args: tuple[str, ...]
    kwargs: tuple[tuple[str, str], ...] = ()
    rest: str = ""  # what follows the call, such as another call

    def __str__(self) -> str:
        words = [*self.args, *[f"{name}={value}" for name, value in self.kwargs]]
        return f"{self.function}({', '.join(words)}){self.rest}"


def read(line: str) -> Call:
    """The call on a line of the table."""
    tree = ast.parse(line, mode="eval").body
    call: Any = tree
    while not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
        call = call.func if isinstance(call, ast.Call) else call.value
    whole, inner = ast.unparse(tree), ast.unparse(call)
    rest = whole[len(inner) :]
    return Call(
        ast.unparse(call.func),
        tuple(map(ast.unparse, call.args)),
        tuple((k.arg or "", ast.unparse(k.value)) for k in call.keywords),
        rest,
    )


CALLS = [read(line) for line in LINES]


def base_calls(count: int = 2) -> list[Call]:
    """The first calls of each function."""
    found: dict[str, list[Call]] = {}
    for call in CALLS:
        found.setdefault(call.function, []).append(call)
    return [call for calls in found.values() for call in calls[:count]]


# --- variants -------------------------------------------------------------------------------------


def _with_arg(call: Call, k: int, value: str) -> Call:
    return replace(call, args=(*call.args[:k], value, *call.args[k + 1 :]))


def of_kinds(call: Call) -> Iterator[Call]:
    """The call with scalars, lists and arrays of rank 0 for its operands: for each, and for all."""
    places = [k for k, x in enumerate(call.args) if x in _KIND_OF]
    for k in places:
        for value in _KINDS[_KIND_OF[call.args[k]]]:
            yield _with_arg(call, k, value)
    if len(places) > 1:
        for row in range(6):
            changed = call
            for k in places:
                changed = _with_arg(changed, k, _KINDS[_KIND_OF[call.args[k]]][row])
            yield changed


def wrong(call: Call) -> Iterator[Call]:
    """The call with something that may be wrong."""
    for k, x in enumerate(call.args):
        for value in _WRONG_OPERANDS if x in _KIND_OF else _WRONG_OTHERS:
            yield _with_arg(call, k, value)
    if call.args:
        yield replace(call, args=call.args[:-1])
    yield replace(call, args=(*call.args, *["v"] * 7))
    given = dict(call.kwargs)
    for name, value in _WRONG_KEYWORDS:
        yield replace(call, kwargs=tuple({**given, name: value}.items()))


# --- outcomes -------------------------------------------------------------------------------------


class TooLong(Exception):
    """A call took more than some seconds."""


class Side:
    """One of the packages, with its operands."""

    def __init__(self, name: str) -> None:
        self.jax: Any = importlib.import_module(name)
        for line in {call.function.rpartition(".")[0] for call in CALLS}:
            with contextlib.suppress(ImportError):
                importlib.import_module(line.replace("jax", name, 1))
        jnp = self.jax.numpy
        self.names: dict[str, Any] = {"jax": self.jax, "jnp": jnp, "np": np}
        for letter, value in VALUES.items():
            self.names[letter] = jnp.asarray(value)
        self.names["key"] = self.jax.random.key(0)

    def outcome(self, call: Call | str, traced: bool = False) -> Any:
        """What the call gives, as `described`, or ("raises", the exception's class and its bases).

        Args:
          traced: whether it is traced instead of computed, where values do not matter.
        """
        code = compile(str(call), "<call>", "eval")
        found: list[Any] = []

        def run() -> None:
            found.append(self.described(eval(code, dict(self.names))))

        def out_of_time(*_: object) -> None:
            raise TooLong

        signal.signal(signal.SIGALRM, out_of_time)
        signal.setitimer(signal.ITIMER_REAL, 20)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                if traced:
                    try:
                        self.jax.eval_shape(run)
                    except self.jax.errors.ConcretizationTypeError:
                        run()
                else:
                    run()
            except Exception as error:
                return "raises", *classes(error)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        return found[-1]

    def described(self, x: Any) -> Any:
        """Types of what was returned."""
        if isinstance(x, self.jax.Array):
            weak = x.aval.weak_type if isinstance(x.dtype, np.dtype) else False
            return "array", str(x.dtype), x.shape, weak
        if isinstance(x, np.ndarray | np.generic):
            return type(x).__name__, str(x.dtype), x.shape
        if isinstance(x, dict):
            return {k: self.described(v) for k, v in x.items()}
        if isinstance(x, list | tuple):
            return type(x).__name__, [self.described(v) for v in x]
        return type(x).__name__


def classes(error: Exception) -> list[str]:
    """Names of what a program could catch the exception by, the narrowest first."""
    names = [kind.__name__ for kind in type(error).__mro__ if issubclass(kind, Exception)]
    return ["JaxRuntimeError" if name == "XlaRuntimeError" else name for name in names]


def _raised(outcome: Any) -> str:
    """The class that was raised, or "value"."""
    return outcome[1] if isinstance(outcome, tuple) and outcome[0] == "raises" else "value"


def fits(got: Any, want: Any) -> bool:
    """Whether the outcomes agree; of exceptions, whether what catches JAX's catches ours."""
    return got == want or (_raised(got) != "value" and _raised(want) in got[1:])


def different(ours: Side, theirs: Side, call: Call) -> tuple[Any, Any] | None:
    """(our outcome, theirs) if they differ."""
    got, want = ours.outcome(call), theirs.outcome(call, traced=True)
    if fits(got, want):
        return None
    want = theirs.outcome(call)
    return None if fits(got, want) else (got, want)


# Classes that show where JAX stumbles over an argument instead of refusing it.
ACCIDENTAL = frozenset(
    "AttributeError AssertionError NameError NotImplementedError UnboundLocalError IndexError "
    "ZeroDivisionError TracerArrayConversionError KeyError".split()
)


def is_meant(call: Call, got: Any, want: Any) -> bool:
    """Whether the difference is one that `docs/differences.md` tells of."""
    if _raised(want) in ACCIDENTAL:
        return _raised(got) in ("TypeError", "ValueError", "value")
    if _raised(got) == "value" != _raised(want):
        return True  # more is taken here
    # Lists are refused everywhere; JAX takes them where it flattens arguments first.
    return "[" in ",".join(call.args) and _raised(got) == "TypeError"


def variants(which: str, count: int | None, seed: int, only: str = "") -> list[Call]:
    """Variants of calls: all, or `count` of them that the seed chooses."""
    make = of_kinds if which == "scalars" else wrong
    calls = [c for base in base_calls() if only in base.function for c in make(base)]
    calls = list(dict.fromkeys(calls))
    if count is not None and count < len(calls):
        calls = random.Random(seed).sample(calls, count)
    return calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("which", choices=["scalars", "wrong"])
    parser.add_argument("--count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="part of the names of functions")
    options = parser.parse_args()
    calls = variants(options.which, options.count, options.seed, options.only)
    ours, theirs = Side("jitney"), Side("jax")
    number = 0
    for call in calls:
        found = different(ours, theirs, call)
        if found is not None and not is_meant(call, *found):
            number += 1
            print(f"{call}\n    ours {found[0]}\n    jax  {found[1]}", flush=True)
    print(f"{len(calls)} calls, {number} differ")


if __name__ == "__main__":
    main()
