"""The tour runs, and its result is right."""

from __future__ import annotations

import pytest

from jitney.cli import tour


def test_tour(capsys: pytest.CaptureFixture[str]) -> None:
    assert tour.main(["--all"]) == 0
    out = capsys.readouterr().out
    for n in range(1, 8):
        assert f"--- {n}. " in out
    assert "reduce_max" in out
