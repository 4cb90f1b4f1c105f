"""Meshes are arrays of devices with named axes, and one of them is in force in a context."""

import types

import numpy as np
import pytest

from jitney.core.sharding.mesh import (
    AbstractDevice,
    AbstractMesh,
    AxisType,
    Mesh,
    context_meshes,
    entered_mesh,
    get_abstract_mesh,
    get_mesh,
    last_created,
    set_mesh,
    use_abstract_mesh,
    with_axes_of,
    with_context_mesh,
)

AUTO, EXPLICIT, MANUAL = AxisType.Auto, AxisType.Explicit, AxisType.Manual


class Device(types.SimpleNamespace):
    __hash__ = object.__hash__


def grid(*shape, own=lambda index: True):
    array = np.empty(shape, object)
    for number, index in enumerate(np.ndindex(shape)):
        is_own = own(index)
        array[index] = Device(id=number, process_index=int(not is_own), is_addressable=is_own)
    return array


def test_axes_have_names_sizes_and_types():
    mesh = Mesh(grid(2, 3), ("test_p", "test_q"), (AUTO, EXPLICIT))
    assert dict(mesh.shape) == {"test_p": 2, "test_q": 3}
    assert mesh.size == 6
    assert (mesh.auto_axes, mesh.explicit_axes, mesh.manual_axes) == (("test_p",), ("test_q",), ())
    np.testing.assert_array_equal(mesh.device_ids, np.arange(6).reshape(2, 3))
    assert mesh.abstract_mesh == AbstractMesh((2, 3), ("test_p", "test_q"), (AUTO, EXPLICIT))
    assert not (mesh.are_all_axes_auto or mesh.are_all_axes_explicit_or_manual)
    assert not AbstractMesh((), ()).are_all_axes_auto
    assert last_created[mesh.shape_tuple] is mesh


@pytest.mark.parametrize(
    "shape, names, kinds, error, message",
    [
        ((2,), ("test_p", "test_q"), None, ValueError, "rank 1, and there are 2 names"),
        ((2, 1), ("test_p", "test_p"), None, ValueError, "must differ from each other"),
        ((2,), (None,), None, ValueError, "must not be None"),
        ((2,), "test_p", (AUTO, AUTO), ValueError, "has 2 for 1"),
        ((2,), "test_p", "auto", TypeError, "must be of type jax.sharding.AxisType"),
    ],
)
def test_axes_that_do_not_fit_are_refused(shape, names, kinds, error, message):
    with pytest.raises(error, match=message):
        Mesh(grid(*shape), names, kinds)


def test_the_local_mesh_is_the_box_of_this_process():
    mesh = Mesh(grid(2, 3, own=lambda index: index[1] >= 1), ("test_p", "test_q"), (EXPLICIT,) * 2)
    local = mesh.local_mesh
    np.testing.assert_array_equal(local.device_ids, [[1, 2], [4, 5]])
    assert local.are_all_axes_auto
    assert [device.id for device in mesh.local_devices] == [1, 2, 4, 5]
    scattered = Mesh(grid(2, 2, own=lambda index: index[0] == index[1]), ("test_p", "test_q"))
    with pytest.raises(ValueError, match="do not form a box"):
        scattered.local_mesh  # noqa: B018
    whole = Mesh(grid(2), "test_p")
    assert whole.local_mesh is whole


def test_equal_meshes_have_equal_devices_axes_and_types():
    array = grid(2, 2)
    mesh = Mesh(array, ("test_p", "test_q"))
    assert mesh == Mesh(array, ("test_p", "test_q"))
    assert hash(mesh) == hash(Mesh(array, ("test_p", "test_q")))
    assert mesh != Mesh(array.T, ("test_p", "test_q"))
    assert mesh != mesh.update(axis_types=(EXPLICIT, AUTO))
    assert mesh.update(axis_names=("test_q", "test_p")).axis_names == ("test_q", "test_p")


def test_abstract_meshes_have_axes_only():
    mesh = AbstractMesh((2, 4), ("x", "y"))
    assert mesh.are_all_axes_explicit
    assert mesh.update_axis_types({"y": MANUAL}).manual_axes == ("y",)
    with pytest.raises(ValueError, match="has no devices: an AbstractMesh has axes"):
        mesh.devices  # noqa: B018
    with pytest.raises(ValueError, match="must have the same length, but have 2 and 1 entries"):
        AbstractMesh((2, 4), ("x",))
    cpu = AbstractDevice("cpu", None, "cpu")
    assert mesh.update(abstract_device=cpu) == mesh
    assert mesh.update(abstract_device=AbstractDevice("gpu", 8, "gpu")) != mesh


def test_meshes_are_in_force_within_a_context():
    mesh = Mesh(grid(4), "test_p", EXPLICIT)
    count = context_meshes.number
    with with_context_mesh(mesh):
        assert get_mesh() is mesh
        assert get_abstract_mesh() == mesh.abstract_mesh
        assert context_meshes.number == count + 1
        with use_abstract_mesh(AbstractMesh((2, 2), ("test_p", "test_q"))):
            assert get_mesh().axis_sizes == (2, 2)
            assert [*get_mesh().devices.flat] == [*mesh.devices.flat]
        assert get_mesh() is mesh
    assert get_mesh().empty
    assert context_meshes.number == count
    with mesh:
        assert entered_mesh() is mesh
        assert get_mesh().empty
    assert mesh(entered_mesh)() is mesh
    assert entered_mesh().empty


def test_meshes_that_cannot_be_in_force_are_refused():
    with pytest.raises(ValueError, match="expected a Mesh, got"):
        set_mesh(3)
    with pytest.raises(ValueError, match="exist only within shard_map"):
        set_mesh(Mesh(grid(2), "test_p", MANUAL))
    with pytest.raises(ValueError, match="as many devices as the context mesh"):
        with_axes_of(Mesh(grid(2), "test_p"), AbstractMesh((3,), ("test_p",)))
