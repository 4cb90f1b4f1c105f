"""Programs of several modules, which threads compile at once."""

import sys
import threading

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.compiler.codegen import outlined_functions, program, symbols
from jitney.compiler.codegen.program import divided
from jitney.compiler.llvm import engine, outlined

X = np.linspace(-3, 3, 600).astype(np.float32).reshape(20, 30)


@pytest.mark.parametrize(
    ("sizes", "own", "threads", "expected"),
    [
        ([40, 30], 20, 2, [[0, 1]]),  # little code
        ([400, 300], 20, 1, [[0, 1]]),  # one thread
        ([400, 300], 200, 2, [[1], [0]]),
        ([300, 400, 200], 500, 2, [[2], [1, 0]]),
        ([300, 400, 200, 350], 0, 4, [[1], [3], [0], [2]]),
        ([], 5000, 4, [[]]),  # no kernels: the program's own code is one module
        ([10, 5000], 0, 8, [[1], [0]]),
        ([3000] * 4, 0, 2, [[0, 3], [1], [2]]),  # long: an interrupt waits for one of them
    ],
)
def test_groups_take_equally_long(sizes, own, threads, expected):
    assert divided(sizes, own, threads) == expected


def several(x, c):
    """Several kernels, a sum, and functions that are out of line."""
    y = jnp.sin(x * c)
    z = jnp.tanh(y @ y.T) + jnp.cos(y.sum(1))
    w = jnp.cumsum(jnp.exp(z) / (1 + z * z), 0)
    return jnp.sort(w.reshape(-1))[::-1], z.max(), jnp.log1p(w * w).sum(0)


def results(threads, c, monkeypatch):
    """What `several` gives, compiled anew by so many threads, and how many modules there were."""
    monkeypatch.setattr(outlined, "known", {})
    monkeypatch.setattr(outlined_functions, "_codes", {})
    monkeypatch.setattr(program, "_kernels", program._Kernels())
    monkeypatch.setattr(symbols, "_threads", threads)
    counts = []
    emit_texts = engine.emit
    monkeypatch.setattr(
        engine, "emit", lambda texts, *how: (counts.append(len(texts)), emit_texts(texts, *how))[1]
    )
    compiled = jax.jit(lambda x: several(x, c)).lower(X).compile()
    found = [np.asarray(x) for x in compiled(X)]
    monkeypatch.undo()
    return found, max(counts)


def test_results_do_not_depend_on_the_number_of_threads(monkeypatch):
    (one, few), (four, many) = [results(n, 1.25, monkeypatch) for n in (1, 4)]
    assert few < many
    for x, y in zip(one, four, strict=True):
        np.testing.assert_array_equal(x, y)


def test_kernels_of_all_modules_are_shared(monkeypatch):
    monkeypatch.setattr(symbols, "_threads", 4)
    first = jax.jit(lambda x: several(x, 2.5)).lower(X).compile()
    texts = []
    emit_texts = engine.emit
    monkeypatch.setattr(
        engine, "emit", lambda new, *how: (texts.extend(new), emit_texts(new, *how))[1]
    )
    again = jax.jit(lambda x: several(x, 2.5)).lower(X).compile()
    expected = first(X)
    del first
    assert texts and not any("define i32 @k" in text for text in texts)
    for x, y in zip(again(X), expected, strict=True):
        np.testing.assert_array_equal(x, y)


def test_errors_of_any_thread_reach_the_caller():
    jax.jit(lambda x: x + 1)(X)  # sets the loader
    good = "define i32 @f() {\n  ret i32 3\n}\n"
    before = threading.active_count()
    for texts in ([good, "nonsense"], ["nonsense", good], ["nonsense"] * 3):
        with pytest.raises(RuntimeError, match="cannot parse a module"):
            engine.emit(texts, 3)
    assert threading.active_count() == before
    found = engine.emit([good] * 9, 4)
    assert len({*found}) == 1 and engine.load(found[0], {}).address("f")


def test_threads_may_take_what_another_has_just_seen(monkeypatch):
    """Threads switch at every step: none finds a machine or a text gone that it has looked at."""
    good = "define i32 @f() {\n  ret i32 7\n}\n"

    class Seen(list):
        """A list whose last element another thread takes after a look at it."""

        def __bool__(self):
            self.clear()
            return True

        def __len__(self):
            self.clear()
            return 1

    monkeypatch.setattr(engine.library(), "_machines", {engine.DEFAULT_LEVEL: Seen()})
    (found,) = engine.emit([good])
    assert engine.load(found, {}).address("f")
    monkeypatch.undo()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            assert len({*engine.emit([good] * 5, 5)}) == 1
    finally:
        sys.setswitchinterval(interval)
