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
    assert texts["fission"] == lowered().as_text("optimized")
    for name in ("build_kernels", "strip_mine", "schedule", "assign_buffers"):
        assert texts[name].startswith("program")
        assert ("arena" in texts[name]) == (name == "assign_buffers")
    assert texts["assign_buffers"] == lowered().as_text("kernels")
    assert "define" in texts["llvm"]


def test_decisions_of_fusion_are_printed():
    def program(x, w):
        y = jnp.exp(x)
        return (y @ w).sum(), y + 1

    lines = jitney.jit(program).lower(jnp.ones((200, 200)), jnp.ones((200, 200))).as_text("group")
    notes = dict(re.findall(r"= (\w+) .*  # (.*)", lines))
    assert notes["exp"] == "step 1; 160000 bytes in memory: dot reads its operands from memory"
    assert notes["dot"].startswith("step 2; 160000 bytes in memory: ")
    assert notes["add"] == "step 1; 160000 bytes in memory: it is a result"
    assert notes["reduce"] == "step 3; 4 bytes in memory: it is a result"


def test_steps_of_loops_are_numbered_within_them():
    def program(x):
        return jitney.lax.while_loop(lambda c: c.sum() < 9, lambda c: jnp.tanh(c @ c), x)

    text = jitney.jit(program).lower(jnp.ones((70, 70))).as_text("group")
    numbers = dict(re.findall(r"= (\w+) .*  # step ([\d.]+)", text))
    loop = numbers["reduce"].partition(".")[0]  # the copy of the initial value comes before it
    assert numbers == {
        "reduce": f"{loop}.1", "lt": f"{loop}.2", "dot": f"{loop}.3", "tanh": f"{loop}.4",
    }, text  # fmt: skip


def test_recomputed_nodes_have_several_steps():
    def program(x):
        y = x + 1
        return y.sum(0), y.sum(1)

    text = jitney.jit(program).lower(jnp.ones((2000, 300))).as_text("group")
    assert re.search(r"= add .*  # steps 1, 2", text), text


def test_unknown_stages():
    with pytest.raises(
        ValueError, match=r"unknown stage 'tokens'; the stages are jaxpr, hlo, simplify"
    ):
        lowered().as_text("tokens")


def test_stages_that_are_not_needed_change_nothing():
    plain = jitney.jit(lambda x: x + 1).lower(1.0)
    assert plain.as_text("simplify") == plain.as_text("fission")


def test_every_result_is_checked(monkeypatch):
    seen = []
    for kind, check in pipeline.CHECKS.items():
        monkeypatch.setitem(
            pipeline.CHECKS,
            kind,
            lambda value, kind=kind, check=check: (seen.append(kind), check(value)),
        )
    with jitney.enable_checks(True):
        pipeline.run(lowered().compiler_ir(), last="assign_buffers")
    # As lowered, simplified, and after the passes that this program needs; three of them, and
    # fission after the passes on loops, are simplified once more.
    assert seen == [pipeline.TENSOR_IR] * (2 + 2 * 3 + 3) + [pipeline.PLAN]


def test_the_documents_show_the_list():
    text = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| ([\w ]+) -> ([\w ]+) \| (.*) \|$", text, re.M)
    assert rows == [(s.name, s.takes, s.gives, s.what) for s in pipeline.PIPELINE]
