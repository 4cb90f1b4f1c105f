"""The tour runs, its results are right, and it shows what it promises."""

from __future__ import annotations

import pytest

from jitney.cli import tour


def test_tour(capsys: pytest.CaptureFixture[str]) -> None:
    assert tour.main(["--all"]) == 0
    out = capsys.readouterr().out
    for program in tour.PROGRAMS:
        assert out.count(program.name) >= 3  # its jaxpr, its times, its stages
    for shown in (
        "select_n",
        "reduce_sum",
        "dot_general",
        "first call",
        "trace",
        "llvm",
        "kernel k0",
        "busiest loop",
    ):
        assert shown in out


def test_code_of_the_first_program_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert tour.main([]) == 0
    assert capsys.readouterr().out.count("busiest loop") == 1


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert tour.main(["--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: jitney tour")
    assert tour.main(["--kernel"]) == 2
    assert capsys.readouterr().err.startswith("usage: jitney tour")


X86 = """\
f:
\tmovl\t$1, %eax
.LBB0_1:
\tmovl\t$2, %ebx
.LBB0_2:
\tvaddps\t%ymm0, %ymm1, %ymm0
\tjl\t.LBB0_2
\tjmp\t.LBB0_1
"""


def test_busiest_loop() -> None:
    assert tour.busiest_loop(X86).split() == [
        ".LBB0_2:", "vaddps", "%ymm0,", "%ymm1,", "%ymm0", "jl", ".LBB0_2",
    ]  # fmt: skip
    assert tour.busiest_loop("f:\n\tret\n") == ""
    arm = X86.replace("%ymm", "v").replace("jl", "b.lo").replace("0,", "0.4s,")
    assert tour.busiest_loop(arm).startswith(".LBB0_2:")
