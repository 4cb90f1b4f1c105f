"""What a benchmark is, and the two sides that run it.

A case is a function that gets one side's modules (`side.jax`, `side.jnp`, `side.lax`, `side.random`,
`side.nn`), makes its operands from them, and gives back a callable without arguments: one call of it is
what is timed. The same function serves both sides, so both do the same work, and the results of the
two are compared before anything is timed.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

Call = Callable[[], Any]
Setup = Callable[["Side"], Call]

OWN, PEER = "jitney", "jax"

# The files that hold cases, in the order of the table.
GROUPS = (
    "startup",
    "first_call",
    "tracing",
    "calls",
    "eager",
    "kernels",
    "bulk",
    "movement",
    "convolutions",
    "linalg",
    "products",
    "complex",
    "loops",
    "training",
    "special",
    "random",
    "devices",
)


@dataclass(frozen=True)
class Side:
    """One package's modules, by the names that programs use for them."""

    name: str
    jax: ModuleType
    jnp: ModuleType
    lax: ModuleType
    random: ModuleType
    nn: ModuleType


@dataclass(frozen=True)
class Case:
    """One benchmark.

    Attributes:
      name: what the command line calls it.
      title: what is timed, in a few words.
      group: the file it stands in, without `cases_`.
      setup: makes the call to be timed, for one side.
      goal: what `peer's median / own median` should reach at least; None is a case to watch.
      known: the ratio that another implementation reaches, such as "C 2.0"; a hint at the limit.
      kind: "warm" calls are repeated in one process, where both sides have been warmed up;
        "first_call" times the first call in a process of its own, "import" an import likewise; "again"
        is a first call of what another process has compiled, where both sides keep programs on disk.
      peer: the other package; only imports have another than jax.
      check: turns a call's result into arrays to compare; None takes the leaves of the result.
      rtol: largest relative difference between the sides' results.
      atol: largest absolute difference beside it.
      devices: how many devices of the CPU both sides have.
    """

    name: str
    title: str
    group: str
    setup: Setup
    goal: float | None
    known: str
    kind: str
    peer: str
    check: Callable[[Any], list[Any]] | None
    rtol: float
    atol: float
    devices: int

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables that a process of the case has."""
        flag = f"--xla_force_host_platform_device_count={self.devices}"
        return {"XLA_FLAGS": flag} if self.devices > 1 else {}


_CASES: dict[str, Case] = {}


def case(
    name: str,
    title: str,
    goal: float | None = None,
    *,
    known: str = "",
    kind: str = "warm",
    peer: str = PEER,
    check: Callable[[Any], list[Any]] | None = None,
    rtol: float = 1e-4,
    atol: float = 1e-5,
    devices: int = 1,
) -> Callable[[Setup], Setup]:
    """Registers the decorated setup function as a case; see `Case` for the meanings."""

    def register(setup: Setup) -> Setup:
        group = setup.__module__.rpartition("cases_")[2]
        if name in _CASES:
            raise ValueError(f"case: two cases are named {name!r}")
        _CASES[name] = Case(
            name, title, group, setup, goal, known, kind, peer, check, rtol, atol, devices
        )
        return setup

    return register


Make = Callable[["Side"], tuple[Any, ...]]


def case_each_way(
    name: str, title: str, goal: float = 1.0, **options: Any
) -> Callable[[Make], Make]:
    """Registers two cases, `name` and `name`_eager: the decorated function gives a side's function and
    its operands, which are called compiled, `goal` times as fast as by the peer, and as they are, to be
    no slower.
    """

    def register(make: Make) -> Make:
        def compiled(side: Side) -> Call:
            f, *args = make(side)
            f = side.jax.jit(f)
            return lambda: f(*args)

        def eager(side: Side) -> Call:
            f, *args = make(side)
            return lambda: f(*args)

        compiled.__module__ = eager.__module__ = make.__module__
        case(name, title, goal, **options)(compiled)
        case(f"{name}_eager", f"{title}, eager", 1.0, **options)(eager)
        return make

    return register


def all_cases() -> dict[str, Case]:
    """All cases by name, in the order of the table."""
    for group in GROUPS:
        importlib.import_module(f"benchmarks.cases_{group}")
    return _CASES


def select(names: list[str]) -> Iterator[Case]:
    """The cases that `names` choose, all if empty: by name, by group, or by how names begin.

    Raises:
      LookupError: for a name that chooses nothing.
    """
    cases = all_cases()
    chosen: set[str] = set()
    for name in names:
        found = {name} & cases.keys() or {
            c.name for c in cases.values() if name == c.group or c.name.startswith(name)
        }
        if not found:
            raise LookupError(f"no benchmark or group is named {name!r}; --list shows them")
        chosen |= found
    for c in cases.values():
        if not names or c.name in chosen:
            yield c


def is_available(package: str) -> bool:
    """Whether `package` can be imported."""
    return importlib.util.find_spec(package) is not None


def load_side(package: str) -> Side:
    """Imports one side's modules.

    Raises:
      ImportError: if `package` is not installed.
    """
    own_name = {OWN: f"{OWN}.numpy", PEER: f"{PEER}.numpy"}[package]
    jax = importlib.import_module(package)
    return Side(
        package,
        jax,
        importlib.import_module(own_name),
        importlib.import_module(f"{package}.lax"),
        importlib.import_module(f"{package}.random"),
        importlib.import_module(f"{package}.nn"),
    )


def waiter(side: Side, result: Any) -> Callable[[Any], Any]:
    """What waits for results like `result`: nothing is timed before it is computed."""
    if hasattr(result, "block_until_ready"):
        return lambda x: x.block_until_ready()
    if isinstance(result, (tuple, list, dict)):
        return side.jax.block_until_ready
    return lambda x: x


def compare(c: Case, own: tuple[Side, Any], peer: tuple[Side, Any]) -> None:
    """Compares what the two sides computed.

    Raises:
      AssertionError: if the results differ in structure, shape, dtype or by more than the case allows.
    """
    values = []
    for side, result in (own, peer):
        leaves = c.check(result) if c.check else side.jax.tree_util.tree_leaves(result)
        values.append([np.asarray(leaf) for leaf in leaves])
    assert len(values[0]) == len(values[1]), "the sides give different numbers of arrays"
    for ours, theirs in zip(*values, strict=True):
        assert ours.dtype == theirs.dtype, f"dtypes differ: {ours.dtype}, {theirs.dtype}"
        np.testing.assert_allclose(ours, theirs, rtol=c.rtol, atol=c.atol)
