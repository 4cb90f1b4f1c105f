"""Values from outside of the function that is traced."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [("float32", (2,)), ("float64", (2,)), ("float32", ()), ("int32", (300, 300))],
)
def test_array_written_to_between_its_uses(dtype, shape):
    """As a buffer that is filled in each step of a loop: each use is of the elements of that time."""
    buffer = np.zeros(shape, dtype)

    @jax.jit
    def f(x):
        found = []
        for k in range(3):
            buffer[...] = k
            found.append((x + buffer).sum())
        return jnp.stack(found)

    assert f(np.float32(0)).tolist() == [0, buffer.size, 2 * buffer.size]


def test_view_of_an_array_written_to():
    buffer = np.zeros(2, np.float32)
    view = np.broadcast_to(buffer, (3, 2))
    assert not view.flags.writeable

    @jax.jit
    def f(x):
        before = x + view
        buffer[1] = 1
        return before, x + view

    before, after = f(np.float32(0))
    assert before.tolist() == [[0, 0]] * 3
    assert after.tolist() == [[0, 1]] * 3


def test_array_of_another_shape_between_its_uses():
    buffer = np.arange(6, dtype=np.float32)

    @jax.jit
    def f(x):
        before = x + buffer
        buffer.resize((2, 3), refcheck=False)
        return before, x + buffer

    assert [y.shape for y in f(np.float32(0))] == [(6,), (2, 3)]


@pytest.mark.parametrize("n", [2, 100_000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_array_used_twice_is_one_constant(n, dtype):
    array = np.linspace(0, 1, n, dtype=dtype)
    turned = np.linspace(0, 1, 2 * n, dtype=dtype).reshape(2, n).T
    program = jax.make_jaxpr(lambda x: (x + array, x * array, x + turned, x * turned))(1.0)
    assert len(program.consts) == 2
