"""Calls of programs in three steps, and the buffers that they fill: `runtime/native/program.pxi`."""

import gc
import weakref

import numpy as np
import pytest
from tests.helpers.both import check_claim
from tests.helpers.oracle import answer, jax as real_jax

import jitney as jax
import jitney.numpy as jnp
from jitney.core.types.avals import shaped_array
from jitney.runtime.devices import client
from jitney.runtime.devices.device import Device
from jitney.runtime.execution import dispatch
from jitney.runtime.execution.assignment import assign

F32 = np.dtype(np.float32)


def program(f, *args):
    """The native program of a function of arrays."""
    return jax.jit(f).lower(*args).compile().runtime_executable().native


@pytest.fixture
def x():
    return np.arange(6, dtype=np.float32)


@pytest.fixture
def queue():
    return client.default_device().queue


def test_the_three_steps(x, queue):
    call = program(lambda x: (x + 1, x.sum()), x).prepare([x])
    first, second = call.results
    assert not call.is_complete and not first.is_ready() and not second.is_ready()
    assert queue.enqueue(call) is call
    assert call.is_complete and first.is_ready() and second.is_ready()
    np.testing.assert_array_equal(first, x + 1)
    again = call.complete()
    assert float(again[1]) == float(second) == 15
    assert [r.device for r in again] == [client.default_device()] * 2


def test_results_that_are_not_computed_cannot_be_read(x):
    call = program(lambda x: x + 1, x).prepare([x])
    (result,) = call.results
    for use in (
        np.asarray,
        lambda r: r + 1,
        lambda r: r[0],
        lambda r: 1.0 - r,
        repr,
        jax.jit(jnp.sin),
    ):
        with pytest.raises(RuntimeError, match="enqueued"):
            use(result)


def test_results_may_be_used_before_they_are_read(x, queue):
    """Every way to the data asks whether they are there."""
    uses = [
        lambda r: r + 1.0,
        lambda r: r * r,
        lambda r: r[2],
        lambda r: r.at[1].set(7.0),
        lambda r: jnp.take(r, jnp.array([1, 2])),
        jax.jit(lambda r: r - 1),
        jnp.sin,
        lambda r: memoryview(r).tolist(),
        lambda r: jax.device_put(r, jax.devices()[0]),
        lambda r: r.tolist(),
    ]
    for use in uses:
        call = queue.enqueue(program(lambda x: x * 2, x).prepare([x]))
        expected = use(jnp.asarray(x * 2))
        np.testing.assert_array_equal(use(call.results[0]), expected)


def test_inputs_are_held_until_the_call_has_run(queue):
    x = np.ones(1000, np.float32)
    gone = weakref.ref(x)
    call = program(lambda x: x + 1, x).prepare([x])
    del x
    gc.collect()
    assert gone() is not None
    queue.enqueue(call)
    gc.collect()
    assert gone() is None
    assert float(call.complete()[0].sum()) == 2000


def test_what_a_program_calls_may_delete_and_raise(x, queue):
    def fail(x):
        raise KeyError("no")

    def f(x):
        return jax.pure_callback(fail, jax.ShapeDtypeStruct((6,), np.float32), x) + x

    native = program(f, x)
    call = native.prepare([x])
    (result,) = call.results
    queue.enqueue(call)  # the error stays in the call
    for _ in range(2):
        with pytest.raises(RuntimeError, match="KeyError"):
            call.complete()
        with pytest.raises(RuntimeError, match="KeyError"):
            np.asarray(result)
    assert jnp.ones(2).sum() == 2  # and in no thread
    result.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(result)


def test_failed_calls_are_freed(x, queue):
    def fail(x):
        raise KeyError("no")

    f = jax.jit(lambda x: jax.pure_callback(fail, jax.ShapeDtypeStruct((6,), np.float32), x))
    for _ in range(3):
        with pytest.raises(RuntimeError, match="KeyError"):
            f(x)
        call = queue.enqueue(program(f, x).prepare([x]))
        with pytest.raises(RuntimeError, match="KeyError"):
            call.complete()
        del call
        gc.collect()


def test_calls_within_calls(x, queue):
    inner = jax.jit(lambda x: x * 3)

    def host(x):
        return np.asarray(inner(x))

    f = program(lambda x: jax.pure_callback(host, jax.ShapeDtypeStruct((6,), np.float32), x), x)
    (result,) = queue.enqueue(f.prepare([x])).complete()
    np.testing.assert_array_equal(result, x * 3)


def test_calls_that_are_refused(x, queue):
    native = program(lambda x: x + 1, x)
    with pytest.raises(ValueError, match="1 inputs was given 2"):
        native.prepare([x, x])
    with pytest.raises(TypeError):
        native.prepare([[1.0]])
    call = native.prepare([x])
    with pytest.raises(RuntimeError, match="enqueued"):
        call.complete()
    queue.enqueue(call)
    with pytest.raises(ValueError, match="twice"):
        queue.enqueue(call)
    other = Device(1, client.client(), "cpu", 1)
    with pytest.raises(ValueError, match="enqueued for another device"):
        other.queue.enqueue(native.prepare([x]))


def test_calls_that_are_dropped(x):
    native = program(lambda x: (x + 1, jnp.exp(x)), x)
    for _ in range(100):
        call = native.prepare([x])
        results = call.results
        del call
    del results
    gc.collect()


# --- assignments ----------------------------------------------------------------------------------


def test_executables_of_one_program_share_its_code(x):
    closed = jax.make_jaxpr(lambda x: x + 1)(x)
    plain = dispatch.executable_of(closed, "f", assign([x]))
    placed = jax.device_put(x, jax.devices()[0])
    other = dispatch.executable_of(closed, "f", assign([placed]))
    donating = dispatch.executable_of(closed, "f", assign([placed], [True]))
    assert len({id(e) for e in (plain, other, donating)}) == 3
    assert plain.program is other.program is donating.program
    assert dispatch.executable_of(closed, "f", assign([placed])) is other
    assert assign([placed]) is assign([placed]) is not assign([x])
    assert assign([placed], [True]).donated == (True,)
    assert assign([placed], [False]) is assign([placed])


def test_a_program_runs_on_the_device_of_its_assignment(x):
    """A second device has threads and a queue of its own, and owns the results of its programs."""
    second = Device(1, client.client(), "cpu", 2)
    built = jax.jit(lambda x: jnp.exp(x).sum()).lower(x).compile().runtime_executable().program
    from jitney.runtime.native._native import Program

    native = Program(
        built.entry, 1, [(F32, ())], [shaped_array((), F32)], built.arena_bytes, True, second,
        second.queue, None, None, built,
    )  # fmt: skip
    (result,) = second.queue.enqueue(native.prepare([x])).complete()
    assert result.device is second and result.devices() == {second}
    assert result.sharding.device_set == {second}
    assert float(result) == pytest.approx(float(np.exp(x).sum()))
    with pytest.raises(ValueError, match="enqueued for another device"):
        client.default_device().queue.enqueue(native.prepare([x]))


def test_signatures_tell_where_arrays_were_put():
    calls = []

    @jax.jit
    def f(x):
        return x + 1

    placed = jax.device_put(jnp.ones(3), jax.devices()[0])
    plain = jnp.ones(3)
    slowly = type(f).call_slowly
    try:
        type(f).call_slowly = lambda self, a, k: (calls.append(a), slowly(self, a, k))[1]
        for _ in range(3):
            f(plain), f(placed), f(jax.device_put(plain, placed.sharding))
    finally:
        type(f).call_slowly = slowly
    assert len(calls) == 2  # one for each place


# --- buffers --------------------------------------------------------------------------------------


def test_buffers_are_given_up_one_by_one():
    x = jnp.arange(3.0)
    y = x.clone()
    (buffer,) = x._buffers
    assert buffer.device is jax.devices()[0] and buffer.is_ready and not buffer.is_deleted
    assert x.unsafe_buffer_pointer() == y.unsafe_buffer_pointer()  # one memory, two buffers
    x.delete()
    assert buffer.is_deleted and buffer.wait() is None and x.is_deleted() and not y.is_deleted()
    x.delete()  # nothing is left to give up
    np.testing.assert_array_equal(y, [0, 1, 2])


def test_words_of_deleted_keys():
    def claim(module):
        keys = module.random.split(module.random.key(0), 3)
        keys.delete()
        assert keys._base_array.is_deleted() and keys._base_array.shape == (3, 2)

    check_claim(claim)


USES = [
    "np.asarray(x)", "x + 1", "x + 1.0", "1 - x", "x * x", "x[0]", "x.at[0].set(1.0)", "x.sum()",
    "jax.jit(lambda x: x + 1)(x)", "x.devices()", "x.block_until_ready()", "float(x[0])", "x.tolist()",
    "jax.device_put(x, jax.devices()[0])", "x.is_ready()", "jnp.take(x, jnp.array([0]))", "str(x)",
]  # fmt: skip


@pytest.mark.parametrize("use", USES)
def test_deleted_arrays_cannot_be_used(use):
    def claim(module, donate):
        x = module.numpy.arange(3.0)
        if donate:
            module.jit(lambda x: x + 1, donate_argnums=0)(x)
        else:
            x.delete()
        assert x.is_deleted()
        if module is jax:
            assert repr(x) == "Array(<deleted>, shape=(3,), dtype=float32)"
        assert type(x) is type(module.numpy.ones(2))
        with pytest.raises(RuntimeError, match="deleted"):
            eval(use, {"jax": module, "jnp": module.numpy, "np": np, "x": x})

    claim(jax, False)
    claim(jax, True)
    if use != "x.is_ready()":  # which crashes there
        assert answer(lambda: claim(real_jax, False)) is None
