"""The differential fuzzer itself, some of its programs, and all that failed once."""

from dataclasses import replace

import numpy as np
import pytest
from tests.fuzz.differential import compare, corpus, generate, run, shrink
from tests.fuzz.differential.operand_rules import OPERAND_RULES
from tests.fuzz.differential.program import Block, Input, Op, Program, Type
from tests.helpers.programs_alike import printed, started
from tests.helpers.recorded_outcomes import use_recorded_outcomes

import jitney

F32 = Type("float32", (3,))


@pytest.fixture(autouse=True)
def restored():
    """Programs set `jax_enable_x64` themselves."""
    yield
    jitney.config.update("jax_enable_x64", False)


@pytest.fixture(autouse=True)
def recorded(monkeypatch):
    use_recorded_outcomes(monkeypatch)


def chain(*texts, exact=False, values=(0.5, -1.25, 3.0)):
    """A program in which each operation is applied to the result of the one before."""
    ops = [Op((f"v{i}",), text, (f"v{i - 1}" if i else "x0",), exact, (), (F32,))
           for i, text in enumerate(texts)]  # fmt: skip
    block = Block("x0", "", tuple(ops), (ops[-1].results[0],), "{0}, ")
    return Program((Input("x0", F32, values),), block)


def outcome(program, body=None):
    fast, slow = run.compiled_and_interpreted(program.body())
    theirs = run.by_jax([body or program.body()])[0]
    return compare.check(program, fast, slow, run.eager(program.body()), theirs)


@pytest.mark.parametrize("file", corpus.files(), ids=lambda file: file.stem)
def test_corpus(file):
    source = file.read_text()
    found = corpus.outcome(source)
    if found and source.startswith("# Expected"):
        pytest.xfail(found)
    assert not found


@pytest.mark.parametrize("part", range(2))
def test_compiled_against_interpreted(part):
    """The first programs of the long run."""
    wrong = []
    for seed in range(part, 60, 2):
        program = generate.program(seed)
        fast, slow = run.compiled_and_interpreted(program.body())
        found = compare.check(program, fast, slow, None, None)
        if found:
            wrong.append(f"seed {seed}: {found}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "rule", [rule for rule, _ in OPERAND_RULES], ids=lambda rule: rule.__name__
)
def test_rules_of_operands_draft_valid_calls(rule):
    """Of the drafts of each rule most are operations that jitney takes."""
    maker = generate.Generator(3)
    types = [F32, Type("float32", (2, 3)), Type("int32", (3,)), Type("float32", (2, 3))]
    maker.scope = [(f"x{i}", t) for i, t in enumerate(types)]
    drafts = [draft for draft in [rule(maker.r, maker.scope) for _ in range(20)] if draft]
    valid = [draft for draft in drafts if maker.types(maker.op(draft)) is not None]
    assert len(drafts) >= 10 and len(valid) >= len(drafts) // 2


def test_seeds():
    assert generate.program(7) == generate.program(7)
    assert generate.program(7) != generate.program(8)


def test_sources_run_alone(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(generate.program(11).source())
    assert printed(started(script, launcher=True))


def test_agreement():
    program = chain("jnp.sin({0})", "{0} * 2", "jnp.cumsum({0})")
    assert outcome(program) is None


@pytest.mark.parametrize(
    ("ours", "theirs", "kind"),
    [
        ("{0} + 1", "{0} + 1.001", "values"),
        ("{0} > 0", "{0} >= 0.5", "values"),
        ("{0} + 1", "{0}.astype('float16')", "types"),
        ("{0} + 1", "({0} + 1).reshape(1, 3)", "types"),
        ("{0}[5]", "lax.slice({0}, (5,), (6,))", "accepts"),
        ("lax.slice({0}, (5,), (6,))", "{0}[5]", "raises"),
    ],
)
def test_disagreement(ours, theirs, kind):
    found = outcome(chain(ours, values=(0.5, 0.25, 3.0)), chain(theirs).body())
    assert found
    assert found.kind.startswith(kind)


def test_rounding_explains():
    """A comparison that rounding decides says nothing; one that it does not is a failure."""
    cancels = chain("jnp.exp(jnp.log(jnp.abs({0})))", "{0} * 1e6 - jnp.float32(0.5e6)")
    other = chain("jnp.abs({0})", "{0} * 1e6 - jnp.float32(0.5e6)", values=(0.5, 0.3, 0.7))
    cancels = replace(cancels, inputs=other.inputs)
    assert outcome(cancels, other.body()) is None
    assert outcome(other, chain("{0} + 0.001").body()) is not None


def test_bits():
    one, negative = np.float32([1, 0, np.nan]), np.float32([1, -0.0, np.nan])
    assert compare.different_bits(one, negative).tolist() == [False, True, False]
    assert not compare.far(one, negative).any()


def test_shrinking():
    """What is left of a program is what its failure needs."""

    def has_sine(program):
        has = any("jnp.sin(" in op.text for op in program.all_ops())
        return has and run.eager(program.body()).error is None

    program = chain("{0} + 1", "jnp.exp({0})", "jnp.sin({0})", "jnp.cumsum({0})", "-{0}")
    inner = Op(("e",), "jnp.sin({0}) + d", ("v1",), True, (), (F32,))
    body = Block("i, d", "", (inner,), ("e",), "{0}")
    loop = Op(("c",), "lax.fori_loop(0, 3, {b0}, {0})", ("v4",), True, (body,), (F32,))
    ops = (*program.block.ops, loop)
    block = replace(program.block, ops=ops, results=("v4", "c"), returns="{0}, {1}, ")
    program = replace(program, mode=(("jitted", ""), ("mapped", "(0,)")), block=block)
    small = shrink.shrink(program, has_sine, 20)
    assert shrink.size(small)[:4] == (1, 1, 0, 1)
    assert has_sine(small)
