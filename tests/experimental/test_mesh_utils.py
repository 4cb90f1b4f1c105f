"""Devices are arranged in order of a mesh, with granules along the outer factor of each axis."""

from types import SimpleNamespace

import numpy as np
import pytest

from jitney.experimental.mesh_utils import create_device_mesh, create_hybrid_device_mesh


def devices(n, per_process=2):
    return [
        SimpleNamespace(id=k, process_index=k // per_process, device_kind="of this test")
        for k in range(n)
    ]


def numbers(mesh):
    return [device.id for device in mesh.flat]


@pytest.mark.parametrize("shape", [(6,), (2, 3), (3, 1, 2), [6, 1]])
def test_devices_are_in_their_order(shape):
    mesh = create_device_mesh(shape, devices(6))
    assert mesh.shape == tuple(shape) and numbers(mesh) == list(range(6))
    assert numbers(create_device_mesh(shape, np.array(devices(6)).reshape(3, 2))) == [*range(6)]


def test_meshes_have_as_many_devices_as_their_shape():
    with pytest.raises(
        ValueError, match=r"a mesh of shape \(2, 2\) requires 4 devices, but there are 3"
    ):
        create_device_mesh((2, 2), devices(3))
    assert create_device_mesh((0, 2), []).shape == (0, 2)


@pytest.mark.parametrize(("inner", "outer"), [((2, 2), (3, 1)), ((4,), (3,)), ((2, 2), (3,))])
def test_only_outer_factors_cross_granules(inner, outer):
    mesh = create_hybrid_device_mesh(inner, outer, devices(12, 4), process_is_granule=True)
    ndim = max(len(inner), len(outer))
    inner, outer = (1,) * (ndim - len(inner)) + inner, (1,) * (ndim - len(outer)) + outer
    assert mesh.shape == tuple(a * b for a, b in zip(inner, outer, strict=True))
    assert sorted(numbers(mesh)) == list(range(12))
    for place in np.ndindex(mesh.shape):
        granule = [k // n for k, n in zip(place, inner, strict=True)]
        assert mesh[place].process_index == np.ravel_multi_index(granule, outer)


def test_granules_need_an_index_and_the_right_number():
    with pytest.raises(ValueError, match="has no slice_index"):
        create_hybrid_device_mesh((2,), (2,), devices(4))
    with pytest.raises(ValueError, match="requires 3 granules"):
        create_hybrid_device_mesh((2,), (3,), devices(4), process_is_granule=True)
    with pytest.raises(ValueError, match="requires 3 devices, but there are 2"):
        create_hybrid_device_mesh((3,), (2,), devices(4), process_is_granule=True)
