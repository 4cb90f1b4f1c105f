"""Runs the programs of a range of seeds and reports on each, a line of JSON on standard output.

{"start": seed}                  before anything that may crash or hang
{"done": seed, "status": ...}    "ok", "rejected" (both raise), or a failure's kind with "detail"
"""

from __future__ import annotations

import json
import os
import pickle
import random
import sys
from collections.abc import Sequence
from typing import Any

# JAX's programs are small and run once: its optimisations cost more than they save.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
)
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["JITNEY_ENABLE_COMPILATION_CACHE"] = "0"

from tests.fuzz.differential import compare, generate, run, shrink
from tests.fuzz.differential.program import Program
from tests.fuzz.differential.run import Outcome

TOGETHER = 8  # programs in one compilation of JAX's
EAGER = 0.25  # of the programs run eagerly, too


def tell(**fields: Any) -> None:
    """Writes one line."""
    print(json.dumps(fields), flush=True)


def alone(program: Program, with_jax: bool = True, with_eager: bool = True) -> tuple[str, str]:
    """Status and detail of one program."""
    body = program.body()
    fast, slow = run.compiled_and_interpreted(body)
    eager = run.eager(body) if with_eager else None
    jax = run.by_jax([body])[0] if with_jax else None
    return judge(program, fast, slow, eager, jax)


def judge(program: Program, fast: Outcome, slow: Outcome, eager: Outcome | None,
          jax: Outcome | None) -> tuple[str, str]:  # fmt: skip
    """Status and detail of a program's outcomes."""
    found = compare.check(program, fast, slow, eager, jax)
    if found is not None:
        return found.kind, found.detail
    return ("rejected", compare.describe(fast.error)) if fast.error else ("ok", "")


def against_jax(seeds: Sequence[int]) -> None:
    """Runs programs by jitney one by one, and then by JAX together, by the width of their types."""
    made: list[tuple[int, Program, tuple[Any, ...]]] = []
    for seed in seeds:
        tell(start=seed)
        program = generate.program(seed)
        body = program.body()
        fast, slow = run.compiled_and_interpreted(body)
        eager = run.eager(body) if random.Random(seed).random() < EAGER else None
        made.append((seed, program, (fast, slow, eager)))
    for x64 in (False, True):
        group = [m for m in made if m[1].x64 == x64]
        tell(start=[seed for seed, _, _ in group])
        outcomes = run.by_jax([program.body() for _, program, _ in group]) if group else []
        for (seed, program, ours), theirs in zip(group, outcomes, strict=True):
            if theirs.error is not None or ours[0].seconds > compare.CLIFF[0]:
                theirs = run.by_jax([program.body()])[0]
            finish(seed, program, judge(program, *ours, theirs))


def finish(seed: int, program: Program, status: tuple[str, str]) -> None:
    tell(done=seed, status=status[0], detail=status[1], ops=sum(1 for _ in program.all_ops()))


def main(first: int, last: int, with_jax: bool) -> None:
    """Runs the programs of the seeds from `first` up to `last`."""
    for start in range(first, last, TOGETHER):
        seeds = range(start, min(start + TOGETHER, last))
        if with_jax:
            against_jax(seeds)
        for seed in () if with_jax else seeds:
            tell(start=seed)
            program = generate.program(seed)
            finish(seed, program, alone(program, False, random.Random(seed).random() < EAGER))
        if (start - first) // TOGETHER % 20 == 19:
            run.forget()


def shrunk(seed: int, seconds: float) -> None:
    """Tells the source of a small program that fails as that of `seed` does."""
    program = generate.program(seed)
    status = alone(program)

    def fails(candidate: Program) -> bool:
        kind, detail = alone(candidate)
        return kind == status[0] and _alike(detail, status[1])

    if status[0] not in ("ok", "rejected"):
        program = shrink.shrink(program, fails, seconds)
        status = alone(program)
    tell(source=f"# {status[0]}: {status[1]}\n{program.source()}")


def _alike(detail: str, other: str) -> bool:
    """Whether two details are of one defect: of errors, the class and the first words count."""
    return "Error" not in other or detail.split()[:4] == other.split()[:4]


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["one"]:
            tell(status=alone(pickle.loads(sys.stdin.buffer.read()))[0])
        case ["shrink", seed, seconds]:
            shrunk(int(seed), float(seconds))
        case [first, last, with_jax]:
            main(int(first), int(last), with_jax == "jax")
