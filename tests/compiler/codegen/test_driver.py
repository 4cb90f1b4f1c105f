"""Many compilations in one process, and from several threads at once."""

import gc
import threading

import numpy as np

import jitney as jax
import jitney.numpy as jnp
from jitney.compiler.codegen import program
from jitney.compiler.llvm import engine


def _modules_alive() -> int:
    gc.collect()
    return sum(isinstance(x, engine.Code) for x in gc.get_objects())


def test_code_of_functions_that_are_gone_goes_too(monkeypatch):
    monkeypatch.setattr(program, "MAX_RECENT", 5)
    monkeypatch.setattr(program, "_kernels", program._Kernels())
    x = jnp.ones(8)
    # Once there are keys of this kind, programs are looked through for them, and stay what they are.
    jax.jit(jax.random.bits)(jax.random.key(0, impl="rbg"))
    before = _modules_alive()
    for i in range(40):
        c = 1000.5 + i
        out = jax.jit(jax.grad(lambda x, c=c: jnp.sum(jnp.sin(x) * c)))(x)
        np.testing.assert_allclose(out, np.cos(1.0) * c, rtol=1e-5)
    assert _modules_alive() <= before + 8


def test_kernels_are_shared_by_functions_with_the_same_code(monkeypatch):
    monkeypatch.setattr(program, "_kernels", program._Kernels())
    x = jnp.ones(8)
    first = jax.jit(lambda x: jnp.sin(x) * 77.25).lower(x).compile()
    texts = []
    emit = engine.emit
    monkeypatch.setattr(engine, "emit", lambda new, *how: (texts.extend(new), emit(new, *how))[1])
    del first
    again = jax.jit(lambda x: jnp.sin(x) * 77.25).lower(x).compile()
    np.testing.assert_allclose(again(x), np.sin(1.0) * 77.25, rtol=1e-6)
    assert texts and all("define void @k0(" not in text for text in texts)


def test_threads_trace_compile_and_call_at_once():
    x = np.linspace(0, 1, 50, dtype=np.float32)
    shared = jax.jit(lambda x, n: (x * n).sum(), static_argnums=1)
    wrong: list[object] = []

    def work(number: int) -> None:
        try:
            for i in range(15):
                c = float(number * 100 + i)
                f = jax.jit(jax.value_and_grad(lambda x, c=c: jnp.sum(jnp.tanh(x) * c)))
                value, slope = f(x)
                np.testing.assert_allclose(value, np.tanh(x).sum() * c, rtol=1e-4, atol=1e-4)
                np.testing.assert_allclose(slope, c / np.cosh(x) ** 2, rtol=1e-4, atol=1e-4)
                np.testing.assert_allclose(shared(x, i % 4), x.sum() * (i % 4), rtol=1e-5)
                rows = jax.vmap(jax.grad(lambda y, c=c: jnp.sin(y) * c))(jnp.asarray(x))
                np.testing.assert_allclose(rows, np.cos(x) * c, rtol=1e-4, atol=1e-4)
        except BaseException as error:  # reported by the test's own thread
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[0]


def test_clear_caches_forgets_kernels(monkeypatch):
    monkeypatch.setattr(program, "_kernels", program._Kernels())
    f = jax.jit(lambda x: jnp.sin(x) + 41.5)
    before = f(jnp.ones(3))
    assert program._kernels.places
    jax.clear_caches()
    assert not program._kernels.places
    np.testing.assert_array_equal(f(jnp.ones(3)), before)
    assert program._kernels.places
