"""Rules are found by the names that rows of the table give them."""

import pytest

from jitney.compiler.scalar import arithmetic, exponential
from jitney.compiler.scalar.code import Code, named


def test_names_lead_to_rules_and_codes():
    assert named("exponential.exp") is exponential.exp
    assert named("arithmetic.add") is arithmetic.add and isinstance(named("arithmetic.add"), Code)


@pytest.mark.parametrize(
    ("path", "error"),
    [("exponential.none", AttributeError), ("nowhere.exp", ImportError), ("exp", ValueError)],
)
def test_names_that_lead_nowhere(path, error):
    with pytest.raises(error):
        named(path)


def test_codes_are_one_another_by_identity_and_do_not_change():
    code = Code(floats=exponential.exp)
    assert code != Code(floats=exponential.exp) and len({code, code}) == 1
    assert code.integers is None and code.cast is None
    with pytest.raises(AttributeError):
        code.floats = exponential.exp2
