"""`jax.experimental.colocated_python`: functions and objects where arrays are."""

from __future__ import annotations

import importlib
import inspect

import numpy as np
import pytest

import jitney
import jitney.experimental.colocated_python as colocated
from jitney.experimental.colocated_python import func, obj, serialization


@pytest.fixture(params=["jitney", pytest.param("jax", marks=pytest.mark.live)])
def package(request):
    return importlib.import_module(request.param)


def module(package):
    if package is jitney:
        return colocated
    pytest.importorskip("cloudpickle", reason="real jax sends functions by it")
    return pytest.importorskip("jax.experimental.colocated_python")


def test_a_function_runs_with_arrays(package):
    @module(package).colocated_python
    def f(x, *, by):
        """Doc."""
        return {"y": x + by, "first": package.numpy.asarray(float(x[0]))}  # no tracer

    x = package.numpy.arange(1.0, 4.0)
    found = f(x, by=x)
    assert found["y"].tolist() == [2.0, 4.0, 6.0]
    assert found["first"] == 1.0
    assert f.__doc__ == "Doc."


def test_a_function_without_arguments_is_told_where(package):
    f = module(package).colocated_python(lambda: package.numpy.ones(2))
    with pytest.raises(ValueError, match=r"devices of a function .* are unknown|No devices found"):
        f()
    there = f.specialize(devices=package.devices())
    assert there().tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="devices already specified"):
        there.specialize(devices=package.devices())
    typed = f.specialize(out_specs_fn=lambda: None)
    with pytest.raises(ValueError, match="out_specs_fn already specified"):
        typed.specialize(out_specs_fn=lambda: None)


@pytest.mark.parametrize("result", [3, np.ones(3)])
def test_arrays_only(package, result):
    f = module(package).colocated_python(lambda x: result)
    with pytest.raises(ValueError, match=r"take and return only arrays|only supports jax.Array"):
        f(package.numpy.ones(1))


def test_arguments_are_arrays_that_are_there():
    f = colocated.colocated_python(lambda x: x)
    with pytest.raises(ValueError, match=r"take and return only arrays|only supports jax.Array"):
        f(np.ones(3))
    with pytest.raises(ValueError, match="only with concrete arrays"):
        jitney.jit(f)(jitney.numpy.ones(3))


def test_objects(package):
    @module(package).colocated_python_class
    class Counter:
        kind = "counter"

        def __init__(self, start):
            self.n = start

        def add(self, x):
            self.n += int(x)
            return package.numpy.asarray(self.n)

        def get(self):
            return package.numpy.asarray(self.n)

    counter = Counter(10)
    one = package.numpy.asarray(1)
    assert counter.add(one) == 11
    assert counter.add(one) == 12
    assert Counter(0).add(one) == 1
    with pytest.raises(ValueError, match=r"devices of a function .* are unknown|No devices found"):
        counter.get()
    assert counter.get.specialize(devices=package.devices())() == 12
    for name in ("n", "kind"):
        with pytest.raises(AttributeError):
            getattr(counter, name)


def test_devices():
    devices = jitney.devices()
    assert colocated.colocated_cpu_devices(devices) == devices
    assert colocated.colocated_cpu_devices(tuple(devices)) == devices
    mesh = jitney.make_mesh((1,), ("a",))
    assert colocated.colocated_cpu_devices(mesh) == mesh
    for wrong in ([1], devices[0]):
        with pytest.raises(TypeError, match=r"expected a sequence of devices, .* or a Mesh"):
            colocated.colocated_cpu_devices(wrong)
    assert serialization.xb.local_devices() == devices
    assert serialization.xb.backends()["cpu"].local_devices() == devices
    found = serialization.DeviceList(tuple(devices))
    assert found == serialization.DeviceList(devices)
    assert found.is_fully_addressable and found.addressable_device_list == found
    assert found.process_indices == {0}
    assert (found.device_kind, found.default_memory_kind) == ("cpu", found.memory_kinds[0])


def test_programs_for_other_runtimes_are_refused():
    from jitney.extend.ifrt_programs import ifrt_programs

    program = ifrt_programs.make_plugin_program("text")
    options = ifrt_programs.make_plugin_compile_options()
    with pytest.raises(jitney.errors.JaxRuntimeError, match="plugin programs are for other"):
        jitney.devices()[0].client.compile_ifrt_program(program, options)


def test_functions_and_classes_with_descriptions():
    signature = inspect.signature(lambda x: x)
    f = func.make_callable(lambda *xs: xs[0] + 1, "f at test.py:1", signature)
    assert inspect.signature(f) == signature and int(f(jitney.numpy.asarray(2))) == 3
    assert func.FunctionInfo(f, "f", signature).fun_sourceinfo == "f"

    class Counter:
        def __init__(self, start):
            self.n = start

        def add(self, x):
            return jitney.numpy.asarray(self.n + int(x))

    assert int(obj.wrap_class(Counter, None)(1).add(jitney.numpy.asarray(2))) == 3
    assert colocated.serialization is serialization
    assert colocated.api.make_callable is func.make_callable
