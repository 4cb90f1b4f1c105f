"""References are passed to a function once, and are not returned."""

import numpy as np
import pytest

import jitney
from jitney.core.program.jaxpr import DebugInfo
from jitney.core.recording.ref_checks import check_none_returned, check_passed_once

INFO = DebugInfo("jit", "f at a.py:1")


@pytest.fixture
def ref():
    return jitney.new_ref(np.zeros(2, np.float32))


def names():
    return ["x", "y", "z"]


def test_references_must_not_alias(ref):
    with pytest.raises(
        ValueError, match=r"when tracing f at a\.py:1 for jit.*x and z are the same"
    ):
        check_passed_once([ref, 1, ref], [], names, INFO)
    with pytest.raises(ValueError, match="argument y, and the function also closes over it"):
        check_passed_once([1, ref], [ref], names, INFO)


def test_other_arguments_may_be_passed_twice(ref):
    x = np.zeros(2)
    other = jitney.new_ref(x)
    check_passed_once([x, x, ref, other], [x], lambda: pytest.fail("names are not needed"), INFO)


def test_references_are_not_returned(ref):
    check_none_returned([1.0, ref[...]], INFO, str)
    with pytest.raises(
        ValueError, match=r"returned a reference.* of type Ref.*\. It is y\. Return its"
    ):
        check_none_returned([1.0, ref], INFO, lambda x: " It is y.")
