"""Programs, executables and arrays of a client, and its compile options."""

import gzip

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.experimental.layout import Layout
from jitney.extend.backend import get_compile_options

device = jitney.devices()[0]
client = device.client


def lowered():
    return jitney.jit(lambda x: jnp.sin(x) + 1).lower(jnp.ones(3))


def test_programs_are_compiled_from_modules_and_texts():
    x = jnp.arange(3.0)
    expected = np.sin(np.arange(3.0)) + 1
    program = lowered()
    for computation in (program.compiler_ir(), program.as_text(), program.as_text().encode()):
        executable = client.compile_and_load(computation, [device])
        np.testing.assert_allclose(executable.run([x])[0], expected, rtol=1e-6)
    options = get_compile_options(1, 1, [device.id])
    executable = client.compile(program.compiler_ir(), compile_options=options)
    np.testing.assert_allclose(executable.run([x])[0], expected, rtol=1e-6)


def test_what_is_no_program_for_a_device():
    with pytest.raises(jitney.errors.JaxRuntimeError, match="the text is not a program"):
        client.compile_and_load("zzz")
    with pytest.raises(jitney.errors.JaxRuntimeError, match="expected a program"):
        client.compile_and_load(3)
    program = lowered().compiler_ir()
    with pytest.raises(ValueError, match="expected one device, got 2"):
        client.compile_and_load(program, [device, device])
    with pytest.raises(ValueError, match="expected one device, got 4"):
        client.compile_and_load(program, [device], get_compile_options(2, 2))


def test_executables_are_kept_as_bytes():
    x = jnp.arange(3.0)
    executable = lowered().compile().runtime_executable()
    assert executable in client.live_executables()
    data = client.serialize_executable(executable)
    for devices in ([], [device]):
        again = client.deserialize_executable(data, devices)
        np.testing.assert_array_equal(again.run([x])[0], executable.run([x])[0])
    assert client.serialize_executable(again)[:2] == data[:2]
    with pytest.raises(ValueError, match="are not an executable"):
        client.deserialize_executable(b"zzz")


def test_executables_that_cannot_be_kept():
    def f(x):
        return jitney.pure_callback(np.sin, jitney.ShapeDtypeStruct((), np.float32), x)

    executable = jitney.jit(f).lower(np.float32(1)).compile().runtime_executable()
    with pytest.raises(ValueError, match="calls Python functions"):
        client.serialize_executable(executable)
    executable.module = None
    with pytest.raises(ValueError, match="was not kept"):
        client.serialize_executable(executable)


def test_arrays_in_memory():
    x = jnp.arange(7.0) + 1
    for arrays in (client.live_arrays(), client.live_buffers(), device.live_buffers()):
        assert any(y is x for y in arrays)
    x.delete()
    assert not any(y is x for y in client.live_arrays())
    assert gzip.decompress(client.heap_profile())


def test_default_layouts():
    layout = client.get_default_layout(np.dtype(np.float32), (2, 3), device)
    assert str(layout) == "{1,0}"
    assert Layout.from_pjrt_layout(layout) == Layout.for_array(jnp.ones((2, 3)))
    with pytest.raises(TypeError, match="takes a result of Client"):
        Layout.from_pjrt_layout("{1,0}")


def test_compile_options():
    assert get_compile_options(1, 1).device_assignment is None
    options = get_compile_options(2, 3, [[0, 1, 2], [3, 4, 5]], {"xla_flag": True})
    assignment = options.device_assignment
    assert (assignment.replica_count(), assignment.computation_count()) == (2, 3)
    assert assignment.ids == [*range(6)] and options.env_option_overrides == (("xla_flag", True),)
    assert repr(assignment) == "DeviceAssignment([[0, 1, 2], [3, 4, 5]])"
    same = get_compile_options(2, 3, assignment).device_assignment
    assert same == assignment and hash(same) == hash(assignment)
    assert get_compile_options(2, 1, [0, 1]).device_assignment.ids == [0, 1]
    with pytest.raises(ValueError, match="has shape"):
        get_compile_options(2, 3, [[0, 1], [3, 4]])
