"""`pmap` over the devices of all processes: each gives and gets what its own devices have.

Run by `mpiexec -n N`; prints "ok" from process 0.
"""

import numpy as np

import jitney as jax
import jitney.numpy as jnp
from jitney import lax

jax.distributed.initialize()
N, OWN, RANK = jax.device_count(), jax.local_device_count(), jax.process_index()
FIRST = RANK * OWN
ALL = np.arange(N, dtype=np.float32)
MINE = ALL[FIRST : FIRST + OWN]


def raises(kind, text, f, *args):
    try:
        f(*args)
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"{f} did not raise {kind}")


def collectives():
    f = jax.pmap(lambda x: x / lax.psum(x, "i"), axis_name="i")
    for _ in range(3):
        out = f(MINE)
        np.testing.assert_allclose(out, MINE / ALL.sum(), rtol=1e-6)
    assert out.is_fully_addressable and out.sharding.mesh.devices.tolist() == jax.local_devices()
    np.testing.assert_allclose(f(f(MINE)), MINE / ALL.sum(), rtol=1e-6)
    number = jax.pmap(lambda _: lax.axis_index("i"), axis_name="i")
    np.testing.assert_array_equal(number(MINE), np.arange(FIRST, FIRST + OWN))
    last = jax.pmap(lambda x: lax.ppermute(x, "i", [(N - 1, 0)]), axis_name="i")
    np.testing.assert_array_equal(
        last(MINE), np.where(np.arange(FIRST, FIRST + OWN) == 0, N - 1, 0)
    )


def arguments_and_results():
    f = jax.pmap(
        lambda x, y, n, *, z: {"x": x["x"] * n + y, "n": lax.psum(1, "i"), "z": z},
        axis_name="i", in_axes=({"x": 1}, None, None), out_axes={"x": -1, "n": None, "z": 0},
        static_broadcasted_argnums=2,
    )  # fmt: skip
    x = np.ones((3, OWN), np.float32) * MINE
    out = f({"x": x}, 1.0, 2, z=MINE)
    np.testing.assert_array_equal(out["x"], 2 * x + 1)
    np.testing.assert_array_equal(out["z"], MINE)
    assert out["n"] == N and out["n"].shape == ()
    keys = jax.random.split(jax.random.key(RANK), OWN)
    drawn = jax.pmap(jax.random.normal)(keys)
    np.testing.assert_array_equal(drawn, jax.vmap(jax.random.normal)(keys))


def training():
    """Gradients that are averaged over all devices lead all to the same weights."""

    def loss(w, x):
        return ((x @ w - 1.0) ** 2).mean()

    def step(w, x):
        return w - 0.05 * lax.pmean(jax.grad(loss)(w, x), "i")

    data = np.random.default_rng(0).normal(size=(N, 4, 2)).astype(np.float32)
    w = jnp.zeros((OWN, 2))
    whole = jnp.zeros(2)
    on_all = jax.pmap(step, axis_name="i")
    for _ in range(5):
        w = on_all(w, data[FIRST : FIRST + OWN])
        whole = whole - 0.05 * jax.grad(lambda w: jax.vmap(loss, (None, 0))(w, data).mean())(whole)
    np.testing.assert_allclose(w, np.broadcast_to(whole, (OWN, 2)), rtol=1e-5)


def devices():
    here = jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i", devices=jax.local_devices())
    np.testing.assert_array_equal(here(MINE), np.full(OWN, MINE.sum()))
    raises(ValueError, "each process passes one index", jax.pmap(jnp.sin), np.zeros(OWN + 1))
    mapped = jax.pmap(lambda x: x * 2)
    raises(RuntimeError, "cannot be transformed", jax.grad(lambda x: mapped(x).sum()), MINE)
    assert mapped.eval_shape(MINE).shape == MINE.shape


collectives()
arguments_and_results()
training()
devices()
if RANK == 0:
    print("ok")
