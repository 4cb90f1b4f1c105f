"""The tour runs, its results are right, and it shows what it promises."""

from __future__ import annotations

import pytest

from jitney.cli import tour


def test_tour(capsys: pytest.CaptureFixture[str]) -> None:
    assert tour.main(["--kernels"]) == 0
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
    ):
        assert shown in out
