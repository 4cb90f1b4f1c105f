"""Programs that failed once: files of `corpus`, each a Python script that runs by itself.

The first lines are comments: what went wrong. A file whose first line begins with `# Expected` is
known to fail until its defect is mended.
"""

from __future__ import annotations

from pathlib import Path

from tests.fuzz.differential import compare, run
from tests.fuzz.differential.program import CUT, Block, Program

FOLDER = Path(__file__).parent / "corpus"


def files() -> list[Path]:
    return sorted(FOLDER.glob("*.txt"))


def outcome(source: str) -> str | None:
    """What is wrong with the results of a script, or None."""
    body = source.split(CUT, 1)[1].rsplit("\nprint(", 1)[0]
    fast, slow = run.compiled_and_interpreted(body)
    found = compare.check(
        _Written(body), fast, slow, run.eager(body), run.by_jax([body])[0]
    )  # fmt: skip
    return None if found is None else f"{found.kind}: {found.detail}"


class _Written(Program):
    """A program that is known by its source only: noise goes to its arguments and results."""

    def __init__(self, body: str) -> None:
        super().__init__((), Block("", "", (), (), ""))
        object.__setattr__(self, "text", body)

    @property
    def is_exact(self) -> bool:
        return False

    def body(self, noisy: bool = False) -> str:
        text: str = self.text
        return _with_noise(text) if noisy else text


def _with_noise(body: str) -> str:
    """`body` with noise after each assignment to one name within a function."""
    lines = []
    for line in body.splitlines():
        name, equals, call = line.partition(" = ")
        is_plain = line.startswith("    ") and name.strip().isidentifier() and equals
        lines.append(f"{name} = noise({call})" if is_plain else line)
    return "\n".join(lines)
