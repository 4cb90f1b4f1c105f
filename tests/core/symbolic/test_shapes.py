"""Symbolic shapes of arguments share one scope."""

import numpy as np
import pytest

from jitney.core.symbolic.scope import SymbolicScope
from jitney.core.symbolic.shapes import symbolic_args_specs, symbolic_shape


def test_shapes_have_a_scope_of_their_own_unless_one_is_passed():
    scope = SymbolicScope(["a >= 3"])
    (a,) = symbolic_shape("a", scope=scope)
    assert a == symbolic_shape("a", scope=scope)[0]
    assert a != symbolic_shape("a")[0]
    assert a >= 3
    assert symbolic_shape("a", constraints=["a >= 4"])[0] > 3


def test_arguments_take_shapes_by_prefix():
    args = {"x": np.zeros((2, 3), np.float32), "y": [np.zeros(4, np.int8), np.zeros((2, 3))]}
    specs = symbolic_args_specs(args, {"x": "b, ...", "y": ["2*b", None]})
    b = specs["x"].shape[0]
    assert specs["x"].shape == (b, 3)
    assert specs["y"][0].shape == (2 * b,)
    assert specs["y"][0].dtype == np.int8
    assert specs["y"][1].shape == (2, 3)
    assert symbolic_args_specs((np.zeros(2), np.zeros(2)), "n")[1].shape[0].get_vars() == {"n"}


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="must be None or a string"):
        symbolic_shape(3)
    with pytest.raises(ValueError, match="cannot both be passed"):
        symbolic_shape("a", constraints=["a >= 2"], scope=SymbolicScope())
    with pytest.raises(ValueError, match="cannot both be passed"):
        symbolic_args_specs(np.zeros(2), "a", ["a >= 2"], SymbolicScope())
