"""The compiler's list of stages: what it says holds, and the documents show it."""

import re
from pathlib import Path

import pytest

import jitney
import jitney.numpy as jnp
from jitney.compiler import pipeline

ROOT = Path(__file__).resolve().parents[2]


def lowered():
    def program(x):
        return jnp.argmax(jnp.cumsum(jnp.abs(jnp.exp(1j * x))))

    return jitney.jit(program).lower(jnp.arange(8.0))


def test_each_stage_takes_what_the_one_before_gives():
    given = pipeline.TENSOR_IR
    for stage in pipeline.PIPELINE:
        assert stage.takes == given
        given = stage.gives
    assert given == pipeline.MACHINE_CODE


def test_texts_after_each_stage():
    texts = {name: lowered().as_text(name) for name in pipeline.STAGES}
    assert "complex64" in texts["simplify"] and "complex64" not in texts["split_complex"]
    assert "cumulative" in texts["split_complex"] and "cumulative" not in texts["decompose"]
    assert texts["plan"].startswith("program") and "define" in texts["llvm"]
    assert texts["loops"] == lowered().as_text("optimized")
    assert texts["plan"] == lowered().as_text("kernels")


def test_unknown_stages():
    with pytest.raises(
        ValueError, match=r"unknown stage 'tokens'; the stages are jaxpr, hlo, simplify"
    ):
        lowered().as_text("tokens")


def test_stages_that_are_not_needed_change_nothing():
    plain = jitney.jit(lambda x: x + 1).lower(1.0)
    assert plain.as_text("simplify") == plain.as_text("loops")


def test_every_result_is_checked(monkeypatch):
    seen = []
    for kind, check in pipeline.CHECKS.items():
        monkeypatch.setitem(
            pipeline.CHECKS,
            kind,
            lambda value, kind=kind, check=check: (seen.append(kind), check(value)),
        )
    with jitney.enable_checks(True):
        pipeline.run(lowered().compiler_ir(), last="plan")
    # As lowered, simplified, and twice each after the passes that this program needs.
    assert seen == [pipeline.TENSOR_IR] * (2 + 2 * 3) + [pipeline.PLAN]


def test_the_documents_show_the_list():
    text = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| ([\w ]+) -> ([\w ]+) \| (.*) \|$", text, re.M)
    assert rows == [(s.name, s.takes, s.gives, s.what) for s in pipeline.PIPELINE]
