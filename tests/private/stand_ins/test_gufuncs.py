"""Signatures of generalized ufuncs: sizes of dimensions, checks of results, excluded arguments."""

import numpy as np
import pytest

from jitney.private.stand_ins.gufuncs import (
    apply_excluded,
    check_output_dims,
    parse_input_dimensions,
)


def test_sizes_come_from_the_last_axes_and_the_others_broadcast():
    args = np.zeros((4, 1, 2, 3)), np.zeros((5, 3))
    shape, sizes = parse_input_dimensions(args, [("n", "m"), ("m",)])
    assert shape == (4, 5) and sizes == {"n": 2, "m": 3}
    assert parse_input_dimensions((1.0,), [()]) == ((), {})


@pytest.mark.parametrize(
    ("args", "dims", "error", "message"),
    [
        ((np.zeros(3),), [("n",), ()], TypeError, "the signature has 2 operands"),
        ((np.zeros(3), np.zeros(2)), [("n",), ("n",)], ValueError, "in context"),
        ((np.zeros(3),), [("n", "m")], ValueError, "in context"),
        ((np.zeros((2, 1)), np.zeros((3, 1))), [("n",), ("n",)], ValueError, "broadcast"),
    ],
)
def test_arguments_fit_the_signature(args, dims, error, message):
    with pytest.raises(error, match=message):
        parse_input_dimensions(args, dims, "in context")


def test_results_have_exactly_their_dimensions():
    sizes = {"n": 3}
    f = check_output_dims(lambda x: x, sizes, [("n",)], "in context")
    assert f(np.zeros(3)).shape == (3,)
    for wrong in np.zeros(2), np.zeros((1, 3)):
        with pytest.raises(ValueError):
            f(wrong)
    new = check_output_dims(lambda x: (x, x.sum()), sizes, [("m",), ()])
    assert new(np.ones(5))[1] == 5


def test_excluded_arguments_are_bound():
    def f(a, b, c, *, d, e):
        return a, b, c, d, e

    g, args, kwargs = apply_excluded(f, {1, "e"}, (1, 2, 3), {"d": 4, "e": 5})
    assert list(args) == [1, 3] and kwargs == {"d": 4}
    assert g(10, 30, d=40) == (10, 2, 30, 40, 5)
    same = apply_excluded(f, (), (1,), {"d": 4})
    assert same == (f, (1,), {"d": 4})
