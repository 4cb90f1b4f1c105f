"""The figures of a profile add up, and times and memory are assigned to source lines."""

from collections import Counter
from types import SimpleNamespace

import pytest

from jitney.inspection.facts import Work
from jitney.inspection.figures import Figures, Function
from jitney.inspection.memory import Held, Memory
from jitney.inspection.sources import Source
from jitney.inspection.timing import Timed


def source(line):
    return Source("f.py", line, 0, line, 9)


def work(*lines, within=()):
    sources = [source(line) for line in lines]
    return Work("kernel", "w", sources, Counter(), [], [], 0, 0, [], within=list(within))


def timed(own, seconds):
    return Timed(None, own, seconds, 1)


def test_parts_add_up_to_the_total():
    figures = Figures(10.0, 1.0, 2.0, 3.0, [timed(work(1), 0.5), timed(work(2), 1.5)])
    assert (figures.running, figures.python) == (2.0, 2.0)
    assert sum([seconds for seconds, _ in figures.parts()]) == figures.seconds
    assert Figures(1.0, 1.0, 1.0).python == 0.0


def test_times_are_divided_among_the_lines_of_a_step():
    figures = Figures(steps=[timed(work(1, 2), 1.0), timed(work(2, 3, 3), 4.0), timed(work(), 9.0)])
    assert figures.by_line() == {("f.py", 2): 2.5, ("f.py", 3): 2.0, ("f.py", 1): 0.5}
    assert list(figures.by_line()) == [("f.py", 2), ("f.py", 3), ("f.py", 1)]


@pytest.mark.parametrize("has_clocks", [False, True])
def test_loops_without_clocks_within_share_their_time(has_clocks):
    inner = work(2, 3)
    loop = timed(work(1, within=[work(4, within=[inner])]), 4.0)
    steps = [loop, timed(inner, 2.0)] if has_clocks else [loop]
    times = {line: t for (_, line), t in Figures(steps=steps).by_line().items()}
    assert times == ({1: 4.0, 2: 1.0, 3: 1.0} if has_clocks else dict.fromkeys((1, 2, 3, 4), 1.0))


def test_memory_of_a_line_is_that_of_the_largest_function():
    def function(*held):
        values = [Held("x", None if line is None else source(line), n) for line, n in held]
        return Function(SimpleNamespace(), 1, Memory(0, 0, [], -1, values))

    functions = [function((1, 10), (2, 5), (1, 20), (None, 99)), function((1, 25), (2, 50))]
    peaks = Figures(functions=functions).peak_by_line()
    assert list(peaks.items()) == [(("f.py", 2), 50), (("f.py", 1), 30)]
