"""Types of values along manual axes: one object for each, which does not change."""

import copy
import pickle

import pytest

from jitney.sharding import ManualAxisType

TYPE = ManualAxisType(varying={"x"}, unreduced={"y"}, reduced={"z"})


def test_equal_types_are_one_object():
    assert ManualAxisType(varying=("x",), unreduced=["y"], reduced={"z"}) is TYPE
    for same in (copy.copy(TYPE), copy.deepcopy(TYPE), pickle.loads(pickle.dumps(TYPE))):
        assert same is TYPE
    assert TYPE.update(varying={"w"}) != TYPE
    assert TYPE.update() is TYPE.to_ct_mat().to_ct_mat() is TYPE
    assert TYPE.to_ct_mat().unreduced == {"z"}


def test_they_do_not_change():
    with pytest.raises(AttributeError, match="assign to varying"):
        TYPE.varying = frozenset()
    with pytest.raises(AttributeError, match="delete varying"):
        del TYPE.varying
    assert TYPE.varying == {"x"}


def test_an_axis_is_of_one_kind():
    with pytest.raises(ValueError, match="only one of them"):
        ManualAxisType(varying={"x"}, reduced={"x"})
    assert not ManualAxisType() and TYPE
