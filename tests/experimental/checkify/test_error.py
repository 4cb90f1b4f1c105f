"""Errors are pytrees that say which check failed first, and with which values."""

import numpy as np
import pytest

import jitney as jax
from jitney.core.program.shape_dtype import ShapeDtypeStruct
from jitney.experimental.checkify.error import (
    Check,
    Error,
    ErrorEffect,
    FailedCheckError,
    JaxRuntimeError,
    NaNError,
    init_error,
    next_code,
)
from jitney.tree_util import tree_leaves, tree_map, tree_structure

NUMBER = ErrorEffect(FailedCheckError, (ShapeDtypeStruct((), np.dtype("int32")),))
PLAIN = ErrorEffect(NaNError, ())
CHECKS = {
    7: Check(NUMBER, "{n} is odd", tree_structure(((), {"n": 0})), " (noted)"),
    9: Check(PLAIN, "a {nan}", None),
}


def error(code, payload):
    return Error(np.int32(code), {NUMBER: [np.int32(payload)], PLAIN: []}, CHECKS)


def test_messages_show_the_payload_of_their_kind():
    assert error(7, 3).get() == "3 is odd (noted)"
    assert error(9, 3).get() == "a {nan}"
    assert error(0, 3).get() is None and init_error.get() is None
    init_error.throw()


def test_exceptions_have_the_class_of_their_kind():
    found = error(7, 5).get_exception()
    assert type(found) is FailedCheckError and found.payload == [5]
    assert error(0, 0).get_exception() is None
    with pytest.raises(JaxRuntimeError, match=r"a \{nan\}") as caught:
        error(9, 0).throw()
    assert type(caught.value.__cause__) is NaNError


def test_several_errors_are_listed_with_their_indices():
    several = error([[0, 7], [9, 7]], [[1, 3], [5, 7]])
    assert several.get().splitlines() == [
        "at mapped index 0, 1: 3 is odd (noted)",
        "at mapped index 1, 0: a {nan}",
        "at mapped index 1, 1: 7 is odd (noted)",
    ]
    assert str(several.get_exception()) == "3 is odd (noted)"


def test_errors_are_pytrees_of_code_and_payload():
    first = error(7, 3)
    assert tree_leaves(first) == [7, 3]
    again = tree_map(lambda x: x + 2, first)
    assert again.get() == "a {nan}" and again.payload == {NUMBER: [5], PLAIN: []}


def test_errors_are_unknown_while_programs_are_traced():
    def f(e):
        with pytest.raises(ValueError, match="is unknown while a function is traced"):
            e.get()
        return e

    assert jax.jit(f)(error(7, 3)).get() == "3 is odd (noted)"


def test_codes_are_new():
    assert 0 < next_code() < next_code()
