"""What the array API standard asks of `jax.numpy`, and what libraries of several packages see."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney
import jitney.numpy as jtnp

KINDS = [
    None, "bool", "signed integer", "unsigned integer", "integral", "real floating",
    "complex floating", "numeric", ("bool", "integral"), (), "other", 3, ("other",),
]  # fmt: skip


def outcome(ask):
    try:
        return ask()
    except Exception as error:
        return type(error).__name__


def test_version():
    version = of_jax(lambda j: j.numpy.__array_api_version__)
    assert jtnp.__array_api_version__ == version
    for x in (jtnp.ones(3), jitney.random.key(0)):
        assert x.__array_namespace__() is jtnp
    assert jtnp.ones(3).__array_namespace__(api_version=version) is jtnp
    with pytest.raises(ValueError, match="2025"):
        jtnp.ones(3).__array_namespace__(api_version="2021.12")
    jitney.jit(lambda x: np.testing.assert_(x.__array_namespace__() is jtnp))(1.0)


@pytest.mark.parametrize("wide", [False, True])
def test_dtypes(wide: bool):

    def found(j):
        info = j.numpy.__array_namespace_info__()
        kinds = [outcome(partial(info.dtypes, kind=kind)) for kind in KINDS]
        return kinds, info.default_dtypes()

    with jitney.enable_x64(wide):
        ours, theirs = found(jitney), of_jax(found, x64=wide)
    for kind, one, other in zip(KINDS, ours[0], theirs[0], strict=True):
        assert one == other, kind
    assert ours[1] == theirs[1]


def test_devices_and_capabilities():
    def facts(j):
        info = j.numpy.__array_namespace_info__()
        names = [n for n in dir(info) if n[0] != "_"]
        types = [type(getattr(info, n)()).__name__ for n in names]
        return type(info).__name__, info.capabilities(), names, types

    assert facts(jitney) == of_jax(facts)
    ours = jtnp.__array_namespace_info__()
    assert ours.default_device() is None
    assert ours.devices() == (None, *jitney.devices())


# What libraries find out about an array or a tracer, as JSON. It runs in a process where jax is jitney,
# and in one where it is real jax.
PROGRAM = """
import json, sys
import jax, jax.numpy as jnp

found = {}
def look(name):
    def f(x):
        kind = type(x)
        found[name] = kind.__module__.split(".")[0], kind.__name__, x.__array_namespace__().__name__
        return (x * x).sum()
    return f

x = jnp.ones(3)
look("array")(x)
jax.jit(look("jit"))(x)
jax.vmap(look("vmap"))(jnp.ones((2, 3)))
jax.jvp(look("jvp"), (x,), (x,))
module = type(x).__module__, jax.Array.__module__
names = [m.__name__ for m in (
    jnp, jnp.linalg, jnp.fft, jax.lax, jax.lax.linalg, jax.nn, jax.nn.initializers, jax.random,
    jax.scipy, jax.scipy.special, jax.scipy.stats, jax.scipy.stats.norm, jax.tree, jax.tree_util,
    jax.sharding, jax.image, jax.errors,
)]
import jax.scipy.linalg
names.append(jax.scipy.linalg.__name__)
same = all(sys.modules[name] is m for name, m in (("jax.numpy", jnp), ("jax.lax", jax.lax)))

import scipy.fft, scipy.special, scipy.stats
results = [scipy.special.logsumexp(x), scipy.stats.zscore(jnp.arange(3.0)), scipy.fft.fft(x),
           scipy.special.softmax(x), scipy.stats.skew(jnp.arange(4.0) ** 2)]
kinds = [isinstance(y, jax.Array) and str(y.dtype) for y in results]
print(json.dumps([found, module, names, same, kinds]))
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("programs") / "program.py"
    path.write_text(textwrap.dedent(PROGRAM))
    return path


def printed(*command: str) -> object:
    source = Path(jitney.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, *command],
        capture_output=True, text=True, timeout=200,
        env={**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": str(source)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.live
def test_dispatchers_see_jax(program: Path):
    assert printed("-m", "jitney", str(program)) == printed(str(program))
