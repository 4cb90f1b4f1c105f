"""Functions in modules of their own: their names say all, and they are compiled once."""

import itertools
import re

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.compiler.codegen import outlined_functions, program
from jitney.compiler.llvm import engine, outlined
from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.target import X86_AVX2, X86_AVX512, X86_SSE4
from jitney.compiler.llvm.values import Value, register_kind
from jitney.compiler.scalar import table
from jitney.compiler.scalar_functions import rows
from jitney.scipy import special

TARGETS = (X86_AVX512, X86_AVX2, X86_SSE4)


@pytest.fixture
def fresh(monkeypatch):
    """A process without outlined functions, or kernels."""
    monkeypatch.setattr(outlined, "known", {})
    monkeypatch.setattr(outlined_functions, "_codes", {})
    monkeypatch.setattr(program, "_kernels", program._Kernels())


DTYPES = [np.dtype(x) for x in (np.float32, np.float64, np.float16)]


def written(order):
    """Texts of all outlined functions that scalar functions of floats call, by processor and name."""
    found = {}
    order = [row for row in order if not row.name.startswith("round_to")]  # of float32 alone
    for target, row, dtype, lanes in itertools.product(TARGETS, order, DTYPES, (1, 4, 8)):
        dtypes = [dtype] * row.operands
        if row.part is None and row.accepts(dtypes) and row.result and row.result(dtypes) == dtype:
            e = Emitter(target)
            args = [Value(f"%x{k}", register_kind(dtype), lanes) for k in range(row.operands)]
            table.emit(e, row.name, dtype, args, dtype)
            gather(e.outlined, found, target)
    return found


def gather(outlined, found, target):
    for name, function in outlined.items():
        found[target.cpu, target.features, name] = function.text
        gather(function.calls, found, target)


def test_names_tell_functions_apart(monkeypatch):
    """Whichever program writes a function first, it is the same one."""
    monkeypatch.setattr(outlined, "known", {})
    first = written(rows())
    monkeypatch.setattr(outlined, "known", {})
    second = written(rows()[::-1])
    assert first == second
    called = {name for _, _, name in first}
    assert {"jitney.sin.rare.f32", "jitney.rem.rare.f64"} <= called
    assert any(name.startswith("betainc.f32") for name in called) and len(called) > 40


def test_programs_share_them(fresh, monkeypatch):
    texts = []
    emit_texts = engine.emit
    monkeypatch.setattr(
        engine, "emit", lambda new, *how: (texts.extend(new), emit_texts(new, *how))[1]
    )
    x = np.linspace(-1e9, 1e9, 1000).astype(np.float32)
    for c in (3.25, 4.25):
        found = jax.jit(lambda x, c=c: jnp.sin(x) * c + special.betainc(2.0, 3.0, 1 / (1 + x * x)))(
            x
        )
        assert np.isfinite(found).all()
    defined = [name for text in texts for name in re.findall(r"define [^@]*@([\w.]+)\(", text)]
    functions = [name for name in defined if "sin.rare" in name or name.startswith("betainc.f32")]
    assert functions and len(functions) == len(set(functions))
    assert sum(name == "entry" for name in defined) == 2


def test_code_outlives_the_caches(fresh):
    f = jax.jit(lambda x: jnp.sin(x) * 5.25)
    x = np.array([1e20, 2e30, 3.0], np.float32)
    expected = np.sin(x.astype(np.float64)) * 5.25
    np.testing.assert_allclose(f(x), expected, rtol=1e-5)
    compiled = f.lower(x).compile()
    jax.clear_caches()
    np.testing.assert_allclose(compiled(x), expected, rtol=1e-5)
    np.testing.assert_allclose(f(x), expected, rtol=1e-5)


def test_texts_show_them_and_are_whole(fresh):
    lowered = jax.jit(lambda x: jnp.sin(x) + jnp.cos(x)).lower(np.ones(8, np.float32))
    text = lowered.as_text("llvm")
    defined = re.findall(r"define [^@]*@([\w.]+)\(", text)
    assert len(defined) == len(set(defined))
    assert {"jitney.sin.rare.f32", "jitney.cos.rare.f32", "entry"} <= {*defined}
    assert "jitney.sin.rare.f32:" in lowered.as_text("asm")
