"""Public functions called with operands of all kinds, and wrongly: types and exceptions are JAX's.

This is a sample; `python -m tests.parity.calls` compares all calls.
"""

from __future__ import annotations

import functools
import inspect
import zlib
from typing import Any

import pytest
from tests.helpers.oracle import answer
from tests.parity.calls import VALUES, Call, Side, classes, fits, is_meant, read, variants

import jitney

# Functions of which some calls are refused by another class, or refused by one package alone.
OPEN = frozenset(
    f"jax.{name}"
    for name in (
        "lax.broadcast_shapes", "lax.linalg.cholesky_update", "lax.linalg.symmetric_product",
        "lax.split", "nn.dot_product_attention", "numpy.correlate", "numpy.isclose", "numpy.trace",
        "numpy.unravel_index", "ops.segment_sum", "scipy.linalg.hadamard",
        "scipy.linalg.solve_sylvester", "scipy.linalg.solve_triangular", "scipy.signal.convolve2d",
        "scipy.special.hyp2f1", "scipy.special.ndtr", "scipy.special.sph_harm_y",
        "scipy.special.xlog1py",
    )
)  # fmt: skip


@functools.cache
def side(name: str) -> Side:
    return Side(name)


def outcomes_of_jax(calls: list[str], traced: bool) -> dict[str, Any]:
    """JAX's outcomes by the calls, as recorded."""
    found = answer(lambda: [side("jax").outcome(call, traced) for call in calls], VALUES, classes)
    return dict(zip(calls, found, strict=True))


def differences(calls: list[str]) -> dict[str, tuple[Any, Any]]:
    """(our outcome, JAX's) of the calls whose outcomes differ."""
    ours = {call: side("jitney").outcome(call) for call in calls}
    traced = outcomes_of_jax(calls, traced=True)
    again = [call for call in calls if not fits(ours[call], traced[call])]
    if not again:
        return {}
    computed = outcomes_of_jax(again, traced=False)
    return {c: (ours[c], computed[c]) for c in again if not fits(ours[c], computed[c])}


def sample(which: str, share: int) -> list[Call]:
    """Each `share`-th variant, by its text: functions that are added move none."""
    calls = variants(which, None, 0)
    return [c for c in calls if zlib.crc32(str(c).encode()) % share == 0]


def test_sample() -> None:
    calls = {str(c): c for c in sample("scalars", 180) if c.function not in OPEN}
    assert len(calls) > 60
    found = [
        f"{call}: {ours}, JAX {theirs}"
        for call, (ours, theirs) in differences(list(calls)).items()
        if not is_meant(calls[call], ours, theirs)
    ]
    assert found == []


# Calls that differed once, one of each kind.
MENDED = """
jax.scipy.signal.fftconvolve(2, 2)
jax.scipy.signal.fftconvolve(True, True)
jax.scipy.fft.dctn(2)
jax.scipy.fft.idctn(True)
jax.numpy.poly(2)
jax.numpy.resize(2, 0)
jax.numpy.linalg.tensorsolve(2, 2)
jax.scipy.special.kl_div(2, 2)
jax.scipy.special.rel_entr(0.5, 0.5)
jax.scipy.special.ndtr(0.5)
jax.scipy.special.log_ndtr(0.5)
jax.scipy.linalg.block_diag(2, 2)
jax.scipy.linalg.toeplitz(2)
jax.scipy.stats.bernoulli.ppf(2, v)
jax.scipy.stats.bernoulli.ppf(2, 2)
jax.scipy.stats.multivariate_normal.logpdf(2, 0, 1)
jax.scipy.stats.uniform.cdf(0.5)
jax.scipy.stats.cauchy.sf(True)
jax.ops.segment_sum(2, 2)
jax.ops.segment_max(2, 2)
jax.numpy.promote_types(np.float32(0.5), v)
jax.numpy.issubdtype(np.array(0.5, 'float32'), v)
jax.numpy.add(jnp.ones((32, 10)), jnp.ones(32))
jax.numpy.add(jnp.ones(3), jnp.ones(4))
jax.numpy.clip(jnp.ones((2, 3, 4)), v, v)
jax.scipy.stats.gamma.pdf(jnp.ones((0,)), v)
jax.scipy.stats.gamma.pdf(jnp.ones((3, 3)), jnp.ones(2))
jax.numpy.concatenate(np.array(0.5, 'float32'))
jax.numpy.stack(np.array(0.5, 'float32'))
jax.numpy.hstack(jnp.array(0.5))
jax.numpy.lexsort(jnp.array(0.5))
jax.numpy.polyder(2)
jax.numpy.polyint(2)
jax.numpy.polymul(2, v)
jax.numpy.polydiv(v, 2)
jax.numpy.median(m, axis=(0, 0))
jax.numpy.percentile(m, 50, axis=(0, 0))
jax.numpy.histogram2d(2, v)
jax.scipy.linalg.cholesky(v)
jax.scipy.linalg.cho_factor(2.0)
jax.scipy.linalg.sqrtm(v)
jax.numpy.linalg.slogdet(jax.lax.full((1, 1), 0.5))
jax.numpy.linalg.slogdet(jax.lax.full((2, 2), 0.5))
jax.numpy.linalg.slogdet(jax.lax.full((3, 3), 0.5))
jax.scipy.special.kl_div(jax.lax.full((2,), 0.5), 0.5)
jax.scipy.special.kl_div(0.5, jax.lax.full((2,), 0.5))
jax.scipy.special.rel_entr(jax.lax.full((2,), 0.5), 0.5)
jax.scipy.special.owens_t(jnp.ones(2, 'float16'), 0.5)
jax.numpy.fft.rfftn(2)
jax.numpy.fft.rfftn(jnp.asarray(0.5))
"""


@pytest.mark.parametrize("line", MENDED.strip().splitlines())
def test_mended(line: str) -> None:
    assert differences([str(read(line))]) == {}


# Operands without axes that were an IndexError from within: (call, class).
WITHOUT_AXES = {
    "jax.numpy.linalg.cross(v, jnp.ones(()))": "ValueError",
    "jax.nn.glu(0.5)": "ValueError",
    "jax.nn.glu(m, axis=5)": "ValueError",
    "jax.numpy.piecewise(v, 2.0, v)": "TypeError",
    "jax.lax.linalg.householder_product(m, 0.5)": "TypeError",
    "jax.lax.linalg.householder_product(jnp.ones((3, 3), complex), v)": "TypeError",
    "jax.numpy.split(jnp.array(0.5), 1)": "IndexError",
    "jax.numpy.dsplit(np.int64(1), 2)": "IndexError",
    "jax.numpy.array_split(2, 1)": "IndexError",
    "jax.scipy.stats.dirichlet.pdf(2, v)": "ValueError",
    "jax.numpy.polyval(jnp.array(0.5), m)": "ValueError",
    "jax.scipy.linalg.qr_multiply(m, np.float32(0.5))": "ValueError",
    "jax.scipy.linalg.qr_multiply(2, m)": "ValueError",
    "jax.lax.index_take(jnp.array(0.5), (i, i), (0, 1))": "ValueError",
    "jax.numpy.unwrap(jnp.array(0.5))": "ValueError",
    "jax.scipy.signal.istft(2)": "ValueError",
    "jax.scipy.signal.stft(0.5)": "ValueError",
    "jax.scipy.signal.welch(0.5)": "ValueError",
    "jax.scipy.signal.csd(0.5, v)": "ValueError",
    "jax.lax.linalg.cholesky_update(m, jnp.ones(3, complex))": "TypeError",
}


@pytest.mark.parametrize("line", WITHOUT_AXES)
def test_operands_without_axes_are_refused_by_name(line: str) -> None:
    assert side("jitney").outcome(read(line))[:2] == ("raises", WITHOUT_AXES[line])


def test_the_table_has_most_functions() -> None:
    named = {c.function for c in variants("wrong", None, 0)}
    assert len(named) > 750
    missing = [
        n for n in dir(jitney.numpy)
        if inspect.isfunction(getattr(jitney.numpy, n)) and f"jax.numpy.{n}" not in named
    ]  # fmt: skip
    assert len(missing) < 30, missing
