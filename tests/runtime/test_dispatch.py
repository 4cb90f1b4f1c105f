"""Programs run by the executable of their assignment, which is compiled once."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.core.settings import config
from jitney.runtime.devices.client import Client
from jitney.runtime.execution import dispatch
from jitney.runtime.execution.assignment import assign


def program(fun, *args):
    return jax.make_jaxpr(fun)(*args)


def test_executables_of_one_program_share_machine_code():
    closed = program(lambda x: x * 2, np.float32(1))
    devices = Client("cpu", 0, (2,), 1).devices()
    own = dispatch.executable_of(closed, "f", assign([1.0]))
    assert dispatch.executable_of(closed, "f", assign([2.0])) is own
    x = jax.device_put(np.float32(3), devices[1])
    moved = dispatch.executable_of(closed, "f", assign([x]))
    assert moved is not own and moved.program is own.program
    (result,) = dispatch.run(closed, [x])
    assert result == 6 and result.devices() == {devices[1]}


def test_unused_operands_may_be_deleted():
    closed = program(lambda x, y: y + 1, np.ones(2, np.float32), np.float32(1))
    gone = jnp.ones(2)
    gone.delete()
    assert dispatch.run(closed, [gone, 1.0], keep_unused=False) == [2.0]
    with pytest.raises(RuntimeError, match="deleted"):
        dispatch.run(closed, [gone, 1.0])


def test_running_can_be_forbidden():
    closed = program(lambda x: x, 1.0)
    with (
        config.no_execution(True),
        pytest.raises(RuntimeError, match=r"jit\(f\) cannot be executed"),
    ):
        dispatch.run(closed, [1.0], name="f")


def test_lowered_programs_have_the_name_and_types():
    lowered = dispatch.lower(program(lambda x: (x, x > 0), np.float32([1, 2])), "f")
    assert lowered.module.name == "f" and "float32[2]" in lowered.as_text()
    assert [aval.dtype.name for aval in lowered.out_avals] == ["float32", "bool"]


def test_jitted_functions_look_like_the_function():
    def f(x: int) -> int:
        """Says what it does."""
        return x

    f.mark = "own"
    jitted = jax.jit(f)
    assert isinstance(jitted, dispatch.PjitFunction)
    assert (jitted.__name__, jitted.__doc__, jitted.mark) == ("f", f.__doc__, "own")
    assert jitted.__annotations__ == f.__annotations__ and jitted.__wrapped__ is f
    assert repr(jitted) == f"<PjitFunction of {f!r}>"

    class Doubled:
        @jax.jit
        def of(x):
            return 2 * x

        by = staticmethod(of)

    assert Doubled.of(3) == Doubled.by(3) == 6
    assert Doubled().of.__func__ is Doubled.of
