"""Runs one piece of user code with real jax and with jitney, and compares what comes out.

A case is a function of (jax, jnp). What it returns is described: arrays by type, weakness and
elements, pytrees by structure, errors by type. Cases say what they expect only by being run.

`of_both` returns the results of both, for comparisons of other kinds; `check_claim` and `in_both` are
for assertions that hold of both.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.helpers.oracle import agree, answer, jax, jnp, live, oracle, raise_own

import jitney
import jitney.numpy as jtnp

Case = Callable[[Any, Any], Any]

NUMPY = "2.4."  # the version that formatted the texts in the records


def describe(x: Any) -> Any:
    """Returns `x` as what `oracle.agree` compares, whichever library made it."""
    is_ours = isinstance(x, jitney.Array)
    if is_ours or (type(x).__module__.startswith("jax") and hasattr(x, "aval")):
        library = jitney if is_ours else sys.modules["jax"]
        if library.dtypes.issubdtype(x.dtype, library.dtypes.prng_key):
            return ("key", str(x.dtype), describe(library.random.key_data(x)))
        return ("array", bool(x.aval.weak_type), *_elements(x))
    if isinstance(x, (np.ndarray, np.generic)):
        return (type(x).__name__, *_elements(x))
    if type(x).__name__ == "ShapeDtypeStruct":
        return ("struct", x.shape, str(x.dtype), x.weak_type)
    if isinstance(x, dict):
        return {k: describe(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return (type(x).__name__, [describe(v) for v in x])
    if isinstance(x, (set, frozenset)):
        return (type(x).__name__, sorted(repr(describe(v)) for v in x))
    if isinstance(x, type):
        return x.__name__
    if type(x) is float:
        return x
    if type(x) in (int, complex, str, bytes, bool, type(None), slice, range):
        return (type(x).__name__, repr(x))
    return type(x).__name__  # whose state the packages keep otherwise


def _elements(x: Any) -> tuple[Any, list[int]]:
    """(the array, where it has negative zeros): numbers agree up to rounding, and zeros have signs."""
    value = np.asarray(x)
    if value.dtype.kind == "O":
        return [str(v) for v in value.ravel().tolist()], []
    if value.dtype.kind not in "fc":
        return value, []
    parts = np.stack([value.real, value.imag]) if value.dtype.kind == "c" else value
    return value, np.flatnonzero((parts == 0) & np.signbit(parts)).tolist()


def outcome(case: Case, library: Any, numpy: Any) -> Any:
    """The described result, or the type of the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return describe(case(library, numpy))
        except Exception as error:
            raise_own(error)
            return ("raises", type(error).__name__)


def outcome_of_jax(case: Case, last: str | None = None) -> Any:
    """The outcome with real JAX, as recorded; see `answer` for `last`."""
    return answer(lambda: outcome(case, jax, jnp), last=last)


def of_both(
    use: Callable[[Any], Any],
    *case: Any,
    last: str | None = None,
    agrees: Callable[[Any, Any], bool] = agree,
) -> tuple[Any, Any]:
    """What `use(library)` returns of jitney, and of real JAX, as recorded; see `answer`."""
    return use(jitney), answer(lambda: use(jax), *case, last=last, agrees=agrees)


def check_claim(claim: Callable[[Any], None], *case: Any) -> None:
    """Asserts what `claim(library)` does: of jitney, and of real JAX, where the outcome is recorded."""
    claim(jitney)
    assert answer(lambda: claim(jax), *case) is None


def in_both(test: Callable[..., None]) -> Callable[..., None]:
    """Decorates a test of `name`, a library: "jitney", or "jax", where the outcome is recorded.

    The test has parameters, and no fixtures.
    """

    @pytest.mark.parametrize("name", ["jitney", "jax"])
    @functools.wraps(test)
    def wrapper(name: str, **parameters: Any) -> None:
        if name == "jitney":
            test(name, **parameters)
        else:
            assert answer(lambda: test("jax", **parameters)) is None

    return wrapper


def check(case: Case, formatted: bool = False, last: str | None = None) -> None:
    """Asserts that the case comes out the same with both.

    Args:
      case: a function of (jax, jnp).
      formatted: whether it returns texts that NumPy formats: with other versions than that of the
        records JAX itself is asked, and if it is not installed the test is skipped.
      last: the last version of JAX that has what is asked about.
    """
    if formatted and not oracle.recording and not np.__version__.startswith(NUMPY):
        pytest.importorskip("jax", reason=f"texts are recorded with NumPy {NUMPY}, JAX is missing")
        want = live(lambda: outcome(case, jax, jnp))
    else:
        want = outcome_of_jax(case, last)
    got = outcome(case, jitney, jtnp)
    assert agree(want, got), f"real JAX: {want}, jitney: {got}"


class Cases:
    """Collects cases: `@cases` above a function of (jax, jnp)."""

    def __init__(self) -> None:
        self.all: list[Case] = []
        self.ids: list[str] = []

    def __call__(self, case: Case) -> Case:
        self.all.append(case)
        self.ids.append(case.__name__)
        return case


def counted(fun):
    """`fun`, and a list that grows with each run of its Python code."""
    runs: list[int] = []

    @functools.wraps(fun)
    def wrapper(*args, **kwargs):
        runs.append(1)
        return fun(*args, **kwargs)

    return wrapper, runs
