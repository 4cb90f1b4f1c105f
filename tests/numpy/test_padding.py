"""`pad` extends an array on each side as NumPy does, in every mode."""

from __future__ import annotations

import numpy as np
import pytest

from jitney.numpy.padding import pad

X = np.array([[3, 1, 7], [9, 2, 4]], np.int32)
MODES = [
    ("constant", {}), ("constant", {"constant_values": 5}),
    ("constant", {"constant_values": ((1, 2), (3, 4))}),
    ("constant", {"constant_values": ((1, 2),)}), ("constant", {"constant_values": (1, 2)}),
    ("linear_ramp", {"end_values": ((-3, 30),)}), ("linear_ramp", {"end_values": [8]}),
    ("edge", {}), ("linear_ramp", {"end_values": ((-3, 30), (0, 8))}),
    ("maximum", {}), ("maximum", {"stat_length": 1}), ("minimum", {"stat_length": (2, 1)}),
    ("mean", {}), ("median", {"stat_length": ((1, 2), (3, 2))}),
    ("reflect", {}), ("symmetric", {}), ("reflect", {"reflect_type": "odd"}),
    ("symmetric", {"reflect_type": "odd"}), ("wrap", {}),
]  # fmt: skip


# Widths beyond the size of an axis take several images.
@pytest.mark.parametrize("widths", [1, (2, 0), [3], ((1, 2),), ((0, 3), (5, 1))], ids=repr)
@pytest.mark.parametrize(("mode", "options"), MODES)
def test_modes(mode, options, widths):
    x = X.astype(np.float32)  # NumPy rounds ramps of integers down, and means to even
    np.testing.assert_allclose(
        pad(x, widths, mode, **options), np.pad(x, widths, mode, **options), rtol=1e-6
    )


def test_means_of_integers_are_rounded():
    np.testing.assert_array_equal(pad(np.array([1, 2, 5]), (1, 0), "mean"), [3, 1, 2, 5])
    assert pad(X, 1, "mean").dtype == np.int32


def test_a_function_fills_what_was_added():
    def mark(row, widths, axis, options):
        low, high = widths
        return row.at[:low].set(options["value"] + axis).at[row.size - high :].set(-1)

    np.testing.assert_array_equal(
        pad(X, 1, mark, value=10),
        [[11, 10, 10, 10, -1], [11, 3, 1, 7, -1], [11, 9, 2, 4, -1], [11, -1, -1, -1, -1]],
    )


def test_the_middle_of_empty_padding_is_the_array():
    np.testing.assert_array_equal(pad(X, ((1, 2), (0, 3)), "empty")[1:3, :3], X)
    assert pad(np.zeros((0, 2)), 1).shape == (2, 4)


@pytest.mark.parametrize(
    ("widths", "options", "error", "message"),
    [
        (-1, {}, ValueError, "must not be negative"),
        (1.5, {}, TypeError, "integer dtype, but it is float64"),
        ((1, 2, 3), {}, ValueError, r"\(before, after\) for each of the 2 axes"),
        (1, {"mode": "mirror"}, NotImplementedError, "a function or one of"),
        (1, {"mode": "edge", "stat_length": 2}, ValueError, "also got \\['stat_length'\\]"),
        (1, {"mode": "mean", "stat_length": 0}, ValueError, "1 or more in mode 'mean'"),
        (1, {"mode": "reflect", "reflect_type": "both"}, ValueError, "'even' or 'odd'"),
    ],
)
def test_wrong_arguments(widths, options, error, message):
    with pytest.raises(error, match=message):
        pad(X, widths, **options)


def test_an_edge_must_exist():
    with pytest.raises(ValueError, match="mode 'edge' needs elements"):
        pad(np.zeros((2, 0)), 1, "edge")
