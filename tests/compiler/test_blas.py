"""BLAS is kept to one thread while programs and factorisations run, and has its threads again after."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg.lapack  # noqa: F401  # brings SciPy's BLAS into the process

import jitney as jax
import jitney.numpy as jnp
from jitney.compiler import blas
from jitney.compiler.reference import linalg as reference
from jitney.lax import linalg as lax_linalg


def _libraries() -> list[Any]:
    found = [blas._loaded(folder) for folder in ("numpy.libs", "scipy.libs")]
    return [x for x in found if x is not None and blas._setter(x)]


def _threads() -> list[int]:
    counts = []
    for library in _libraries():
        names = ("scipy_openblas_get_num_threads64_", "scipy_openblas_get_num_threads")
        name = next(n for n in names if hasattr(library, n))
        counts.append(getattr(library, name)())
    return counts


@pytest.fixture
def several_threads() -> Any:
    """OpenBLAS with two threads in each library."""
    setters = [ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(blas._setter(x)) for x in _libraries()]
    if not setters:
        pytest.skip("no OpenBLAS of wheels here")
    before = [set_threads(2) for set_threads in setters]
    yield
    for set_threads, n in zip(setters, before, strict=True):
        set_threads(n)


@pytest.mark.usefixtures("several_threads")
class TestOneThread:
    def test_holds_for_all_libraries_until_the_last_leaves(self) -> None:
        count = len(_threads())
        with blas.one_thread.guard():
            with blas.one_thread.guard():
                assert _threads() == [1] * count
            assert _threads() == [1] * count
        assert _threads() == [2] * count

    def test_callers_of_several_threads_are_counted(self) -> None:
        def work() -> None:
            for _ in range(40):
                with blas.one_thread.guard():
                    assert set(_threads()) == {1}

        workers = [threading.Thread(target=work) for _ in range(4)]
        for w in workers:
            w.start()
        for w in workers:
            w.join()
        assert set(_threads()) == {2}

    def test_factorisations_keep_to_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        seen: list[list[int]] = []
        original = np.linalg.eigh

        def eigh(*args: Any) -> Any:
            seen.append(_threads())
            return original(*args)

        monkeypatch.setattr(np.linalg, "eigh", eigh)
        reference.eigh(np.eye(3, dtype=np.float32))
        assert seen and set(seen[0]) == {1}
        assert set(_threads()) == {2}

    def test_is_left_when_a_factorisation_fails(self) -> None:
        with pytest.raises(TypeError), blas.for_work(1):
            raise TypeError
        assert set(_threads()) == {2}

    def test_compiled_products_leave_it(self) -> None:
        x = np.random.default_rng(0).normal(size=(300, 300)).astype(np.float32)
        out = jax.jit(lambda x: x @ x)(x)
        np.testing.assert_allclose(out, x @ x, rtol=1e-3, atol=1e-3)
        assert set(_threads()) == {2}


def test_large_factorisations_have_the_properties_of_small_ones() -> None:
    rng = np.random.default_rng(0)
    for shape in ((60, 60), (50, 80), (90, 50), (2, 64, 64)):
        for dtype in (np.float32, np.float64, np.complex64):
            x = rng.normal(size=shape).astype(dtype)
            if np.dtype(dtype).kind == "c":
                x = x + 1j * rng.normal(size=shape).astype(np.float32)
            q, r = reference.qr(x, full_matrices=False)
            assert q.dtype == r.dtype == dtype
            adjoint = np.swapaxes(q, -1, -2).conj()
            np.testing.assert_allclose(q @ r, x, atol=1e-4)
            np.testing.assert_allclose(
                adjoint @ q, np.eye(q.shape[-1]) + 0 * q[..., :1, :1], atol=1e-4
            )
            assert not np.tril(r, -1).any()
            if shape[-1] == shape[-2]:
                a = x @ np.swapaxes(x, -1, -2).conj() + shape[-1] * np.eye(shape[-1], dtype=dtype)
                above = np.triu(np.full(a.shape[-2:], np.nan, np.float32), 1)
                low = reference.cholesky(
                    (a + above).astype(dtype)
                )  # never reads above the diagonal
                np.testing.assert_allclose(low, np.linalg.cholesky(a), rtol=1e-3, atol=1e-3)
                assert np.isnan(reference.cholesky(-a)).all()


def test_eager_systems_are_compiled_once() -> None:
    from jitney.compiler.codegen import program

    a = jnp.eye(20) * 2
    jnp.linalg.inv(a), jnp.linalg.solve(a, a)
    compiled: list[int] = []
    original = program.compile_plan
    try:
        program.compile_plan = lambda *args: compiled.append(1) or original(*args)
        np.testing.assert_array_equal(jnp.linalg.inv(a), np.eye(20) / 2)
        np.testing.assert_array_equal(jnp.linalg.solve(a, a), np.eye(20))
    finally:
        program.compile_plan = original
    assert not compiled


def test_permutations_of_pivots() -> None:
    pivots = np.array([[2, 2, 2], [0, 1, 2]], np.int32)
    np.testing.assert_array_equal(lax_linalg.lu_pivots_to_permutation(pivots, 4),
                                  [[2, 0, 1, 3], [0, 1, 2, 3]])  # fmt: skip


@pytest.fixture
def fresh_choice() -> Any:
    """`blas.mkl` asks anew, and again after the test."""
    blas.mkl.cache_clear()
    yield
    blas.mkl.cache_clear()


def test_mkl_is_taken_where_it_is_installed_and_wished(
    fresh_choice: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(blas.sys, "prefix", str(tmp_path))
    assert blas.mkl() is None and blas.of_mkl("sgemm") == 0  # it is not installed
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libmkl_rt.so.2").touch()
    assert blas._installed(str(tmp_path / "lib")).endswith("libmkl_rt.so.2")
    monkeypatch.setenv("JITNEY_BLAS", "openblas")
    blas.mkl.cache_clear()
    assert blas.mkl() is None
    monkeypatch.setenv("JITNEY_BLAS", "mkl")
    blas.mkl.cache_clear()
    with pytest.raises(OSError, match="libmkl_rt"):  # an empty file
        blas.mkl()


@pytest.mark.skipif(not blas._installed(os.path.join(sys.prefix, "lib")), reason="no MKL here")
def test_products_and_factors_by_mkl() -> None:
    """In a process of its own: which library it is is decided once."""
    program = """
import numpy as np
import jitney as jax
import jitney.numpy as jnp
from jitney.compiler import blas
assert blas.mkl() is not None and blas.is_guarded()
x = np.random.default_rng(0).normal(size=(300, 300))
with jax.enable_x64(True):
    np.testing.assert_allclose(jax.jit(jnp.matmul)(x, x), x @ x, atol=1e-10)
    np.testing.assert_allclose(jax.jit(jnp.linalg.solve)(x, x), np.eye(300), atol=1e-9)
    np.testing.assert_allclose(jax.jit(jnp.linalg.svdvals)(x), np.linalg.svd(x)[1], atol=1e-10)
"""
    environment = {**os.environ, "JITNEY_BLAS": "mkl"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
