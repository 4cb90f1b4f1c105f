"""Shards of a tensor are its blocks, numbered as the devices of the mesh are."""

import numpy as np
import pytest

from jitney.compiler.hlo.partition.layout import Mesh, join, spec_text, split

X, Y = ("x",), ("y",)
MESH = Mesh({"x": 2, "y": 3, "one": 1})
M = np.arange(72).reshape(6, 12)


@pytest.mark.parametrize(
    ("spec", "first", "last"),
    [
        ((X, Y), M[:3, :4], M[3:, 8:]),
        ((Y, X), M[:2, :6], M[4:, 6:]),
        ((("x", "y"), ()), M[:1], M[5:]),
        (((), ()), M, M),
    ],
)
def test_devices_have_their_blocks(spec, first, last):
    parts = split(M, spec, MESH)
    assert len(parts) == MESH.size == 6 and parts[0].shape == MESH.local(M.shape, spec)
    np.testing.assert_array_equal(parts[0], first)
    np.testing.assert_array_equal(parts[-1], last)
    np.testing.assert_array_equal(join(parts, spec, MESH), M)


def test_the_first_mesh_axis_is_the_major_one():
    by_xy, by_yx = [
        [int(part[0, 0]) // 12 for part in split(M, (names, ()), MESH)]
        for names in (("x", "y"), ("y", "x"))
    ]
    assert by_xy == [0, 1, 2, 3, 4, 5] and by_yx == [0, 2, 4, 1, 3, 5]


def test_replicas_must_be_equal():
    parts = [part.copy() for part in split(M, (X, ()), MESH)]
    parts[1][0, 0] += 1
    with pytest.raises(AssertionError, match=r"replicas of .* differ"):
        join(parts, (X, ()), MESH)


def test_axes_of_one_device_are_dropped():
    assert MESH.normal((("one", "x"), ["y"]), (6, 12)) == (X, Y)
    assert spec_text(((), X, ("y", "x"))) == "[*, x, y+x]"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ((X,), "a spec has length 1"),
        ((X, X), "an axis of the mesh occurs twice"),
        ((("x", "y"), ()), "6 devices along .* do not evenly divide an axis of 8 elements"),
    ],
)
def test_wrong_specs_are_refused(spec, message):
    with pytest.raises(ValueError, match=message):
        MESH.normal(spec, (8, 12))


def test_numbers_are_those_of_coordinates():
    places = list(MESH.devices())
    assert [MESH.number(place, MESH.extents) for place in places] == list(range(6))
    assert places[4] == {"x": 1, "y": 1, "one": 0}
    assert list(MESH.devices(Y)) == [{"y": k} for k in range(3)]
    assert MESH.axes(("y", "x")) == (("y", 3), ("x", 2)) and MESH.parts(()) == 1
