"""Files of cases whose expected text is kept beside them.

A file holds cases: a line `=== name`, the input's text if any, then for each stage a line `--- stage`
and the expected text. `JITNEY_UPDATE_GOLDEN=1 pytest ...` writes what is computed now.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

DIRECTORY = Path(__file__).with_name("golden")
UPDATE = os.environ.get("JITNEY_UPDATE_GOLDEN") == "1"


@dataclass
class Case:
    """Input and expected texts, by stage."""

    name: str
    source: str = ""
    stages: dict[str, str] = field(default_factory=dict)


def read(file: str) -> dict[str, Case]:
    """Cases of a file by name; none if there is no such file."""
    path = DIRECTORY / file
    cases: dict[str, Case] = {}
    if not path.exists():
        return cases
    for block in ("\n" + path.read_text()).split("\n=== ")[1:]:
        name, _, rest = block.partition("\n")
        source, *stages = ("\n" + rest).split("\n--- ")
        case = cases[name] = Case(name, source.strip("\n"))
        for stage in stages:
            title, _, text = stage.partition("\n")
            case.stages[title] = text.strip("\n")
    return cases


def check(file: str, name: str, stages: dict[str, str], source: str = "") -> None:
    """Fails unless `stages` are the texts of case `name`; with UPDATE, makes them so."""
    cases = read(file)
    stages = {stage: text.strip("\n") for stage, text in stages.items()}
    if UPDATE:
        cases[name] = Case(name, source or (cases[name].source if name in cases else ""), stages)
        parts: list[str] = []
        for case in cases.values():
            parts.append(f"=== {case.name}")
            if case.source:
                parts.append(case.source)
            parts += [f"--- {stage}\n{text}" for stage, text in case.stages.items()]
            parts.append("")
        (DIRECTORY / file).write_text("\n".join(parts))
        return
    assert name in cases, f"no case {name} in {file}; run with JITNEY_UPDATE_GOLDEN=1"
    for stage, text in stages.items():
        assert text == cases[name].stages.get(stage), f"{name}: stage {stage} has changed"
