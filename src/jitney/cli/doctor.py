"""`jitney doctor`: prints versions, hardware and self-tests, to be pasted into a bug report."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jitney.cli import as_jax, usage
from jitney.core.messages.messages import counted

if TYPE_CHECKING:
    import numpy as np

    from jitney.core.array import Array

USAGE = """\
usage: jitney doctor

Prints the versions, the compiler and the processor for which it emits code, BLAS, threads, the cache
of programs, the settings that environment variables change, and the package that `import jax`
imports. Runs self-tests, which take two seconds. The exit code is 0 if nothing is wrong. Paste the
output into bug reports.
"""
_OF_OTHERS = (
    "XLA_FLAGS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE", "MKL_NUM_THREADS",
)  # fmt: skip
_FEATURES = "avx512fp16 avx512bf16 avx512vnni amx-bf16 avx512f avx2 fma f16c sse4.2 neon".split()


def main(arguments: Sequence[str]) -> int:
    """Runs the command; returns the exit code."""
    if arguments:
        return usage.refuse_word(USAGE, arguments)
    troubles: list[str] = []
    for section in (_versions, _import_of_jax, _compiler, _blas, _cache, _settings, _tests):
        for name, said in section(troubles):
            print(f"{name:18} {said}", flush=True)
    print()
    print("Include this text, the program and the whole traceback in bug reports.")
    print(*[f"Wrong: {x}" for x in troubles] or ["Nothing is wrong."], sep="\n")
    return 1 if troubles else 0


def _versions(troubles: list[str]) -> Iterator[tuple[str, str]]:
    import numpy
    import scipy

    import jitney
    from jitney.version import PACKAGE_VERSION, __version__ as jax_version

    yield "jitney", f"{PACKAGE_VERSION}, {os.path.dirname(jitney.__file__)}"
    yield "interface", f"jax {jax_version}"
    yield (
        "python",
        f"{platform.python_version()} ({platform.python_implementation()}), {sys.executable}",
    )
    yield "system", f"{platform.platform()}"
    yield "numpy, scipy", f"{numpy.__version__}, {scipy.__version__}"


def _import_of_jax(troubles: list[str]) -> Iterator[tuple[str, str]]:
    from importlib.util import find_spec

    from jitney import install

    spec = None if install.is_installed() else find_spec("jax")
    if install.is_installed():
        said = "jitney, by install_as_jax"
    elif as_jax.installed("jax")[1]:
        said = "jitney, by `jitney as-jax install`; to undo this, run `jitney as-jax remove`"
    elif spec is None:
        said = "real JAX is not installed; to use jitney, run `python -m jitney program.py`"
    else:
        said = f"real JAX, {spec.origin}; to use jitney, run `python -m jitney program.py`"
    yield "import jax", said


def _compiler(troubles: list[str]) -> Iterator[tuple[str, str]]:
    import llvmlite
    import llvmlite.binding as llvm

    from jitney.compiler.llvm import target
    from jitney.runtime.devices import client

    host = target.host()
    has = [name for name in _FEATURES if name in host.features]
    devices = client.client().local_devices()
    yield (
        "compiler",
        f"LLVM {'.'.join(map(str, llvm.llvm_version_info))}, llvmlite {llvmlite.__version__}",
    )
    yield "processor", f"{host.cpu}: vectors of {host.vector_bits} bits, {' '.join(has)}"
    threads = [device.pool.threads for device in devices]
    each = "" if len(devices) == 1 else " each"
    yield "devices", f"{len(devices)}, of {counted(max(threads), 'thread')}{each}"


def _blas(troubles: list[str]) -> Iterator[tuple[str, str]]:
    import numpy
    import scipy

    from jitney.compiler import blas

    if blas.mkl() is not None:
        yield "BLAS", "Intel MKL, by JITNEY_BLAS or because the processor is Intel's"
    blas.exported("cython_blas")  # loads SciPy's
    for package, use in ((scipy, "products of compiled code"), (numpy, "products of eager code")):
        config: Any = package.show_config(mode="dicts")
        library = config["Build Dependencies"]["blas"]
        name = package.__name__
        threads = blas.threads(name)
        has = "" if threads is None else f", {counted(threads, 'thread')}"
        yield f"BLAS of {name}", f"{library['name']} {library['version']}{has}: {use}"


def _cache(troubles: list[str]) -> Iterator[tuple[str, str]]:
    from jitney.cli.cache import shown
    from jitney.runtime.cache import disk_cache

    reason = disk_cache.obstacle()
    if reason is not None:
        yield "cache", f"not used: {reason}"
        return
    place = disk_cache.directory()
    assert place is not None
    generations = disk_cache.generations()
    programs = sum([x.programs for x in generations if x.is_current])
    size = f"{shown(sum([x.nbytes for x in generations]))} of {shown(disk_cache.most_bytes())}"
    yield "cache", f"{os.path.dirname(place)}: {programs} programs for this machine; {size} in all"


def _settings(troubles: list[str]) -> Iterator[tuple[str, str]]:
    from jitney.core.settings import environment

    others = {name: os.environ[name] for name in _OF_OTHERS if name in os.environ}
    for name, value in {**environment.settings(), **others}.items():
        yield "environment", f"{name}={value}"
    for name, right in environment.misspelled().items():
        troubles.append(f"{name} is set, but is not a known setting; did you mean {right}?")


def _tests(troubles: list[str]) -> Iterator[tuple[str, str]]:
    import numpy as np

    import jitney
    import jitney.numpy as jnp

    x = np.linspace(0, 3, 1000, dtype=np.float32)
    matrix = np.cov(np.random.default_rng(0).normal(size=(40, 200))).astype(np.float32)
    tests: dict[str, tuple[Callable[..., Any], np.ndarray, np.ndarray]] = {
        "kernel": (lambda x: jnp.sin(x) * 2 + x, x, np.sin(x) * 2 + x),
        "loop": (
            lambda x: jitney.lax.fori_loop(0, 5, lambda i, y: y * 0.5 + 1, x),
            x,
            x / 32 + 1.9375,
        ),
        "gradient": (jitney.grad(lambda x: (x**3).sum()), x, 3 * x**2),
        "product": (lambda m: m @ m, matrix, matrix @ matrix),
        "eigenvalues": (jnp.linalg.eigvalsh, matrix, np.linalg.eigvalsh(matrix)),
        "transform": (lambda x: abs(jnp.fft.rfft(x)), x, abs(np.fft.rfft(x))),
    }
    for name, (function, operand, expected) in tests.items():
        compiled = jitney.jit(function)
        try:
            first, result = _timed(compiled, operand)
            later, _ = _timed(compiled, operand)
            error = float(np.max(np.abs(np.asarray(result) - expected)) / np.max(np.abs(expected)))
        except Exception as e:
            troubles.append(f"the test of a {name} raises {type(e).__name__}: {e}")
            yield f"test: {name}", f"raises {type(e).__name__}"
            continue
        if not error < 1e-4:
            troubles.append(f"the test of a {name} has a relative error of {error:.2g}")
        yield f"test: {name}", f"first call {first * 1e3:.1f} ms, then {later * 1e6:.0f} us"


def _timed(function: Callable[..., Array], operand: np.ndarray) -> tuple[float, Array]:
    begun = time.perf_counter()
    result = function(operand).block_until_ready()
    return time.perf_counter() - begun, result
