"""`jitney measure`: the rates that `jitney simulate` takes as options."""

import pytest
from tests.helpers.on_processes import NEEDS_MPI, run

from jitney.cli import measure, simulate


def rates_in(text):
    options, _ = simulate._parse(["--mesh", "4", *text.split(), "program.py"])
    return options.machine


def test_one_process(capsys):
    assert measure.main([]) == 0
    text = capsys.readouterr().out
    assert "--latency" not in text
    machine = rates_in(text)
    assert 1e8 < machine.operations < 1e14 and 1e8 < machine.memory < 1e13


@NEEDS_MPI
@pytest.mark.slow  # starts two processes, which repeat what they time
def test_processes():
    done = run(2, "-m", "jitney", "measure")
    assert done.returncode == 0, done.stderr
    machine = rates_in(done.stdout)
    assert 1e-8 < machine.latency < 1 and 1e5 < machine.bandwidth < 1e13


def test_words(capsys):
    assert measure.main(["--help"]) == 0
    assert capsys.readouterr().out == measure.USAGE
    assert measure.main(["more"]) == 2
    assert "jitney measure: unknown argument more" in capsys.readouterr().err
