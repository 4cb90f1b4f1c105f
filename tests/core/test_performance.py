"""Performance warnings are shown at a line of the user's code, unless they are off."""

import warnings

import pytest

import jitney
from jitney.core.settings import config, performance
from jitney.core.settings.performance import PerformanceWarning


def test_warnings_name_a_given_place():
    with pytest.warns(PerformanceWarning, match="slow; do this instead") as caught:
        performance.warn("slow; do this instead", ("/tmp/model.py", 17))
    assert (caught[0].filename, caught[0].lineno) == ("/tmp/model.py", 17)
    assert jitney.PerformanceWarning is PerformanceWarning


def test_warnings_name_the_running_line_by_default():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        performance.warn("slow")
    assert caught[0].filename == __file__
    assert caught[0].category is PerformanceWarning


@pytest.mark.parametrize("value", [True, False])
def test_the_option_turns_them_off(value):
    with config.performance_warnings(value):
        assert performance.warns() is value
