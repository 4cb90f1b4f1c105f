"""Public namespaces show what they have in JAX, not the files that implement it."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import subprocess
import sys
from typing import Any

import pytest
from tests.helpers.newest import added
from tests.helpers.oracle import answer, jax

import jitney.numpy as jnp


def own_name(name: str) -> str:
    """`jax.numpy` -> `jitney.numpy`."""
    return name.replace("jax", "jitney", 1)


@pytest.mark.parametrize("name", ["numpy", "lax", "random", "nn", "scipy.special", "scipy.linalg"])
def test_submodules_that_are_loaded_do_not_show(name: str) -> None:
    namespace = importlib.import_module(f"jitney.{name}")
    for public in namespace.__all__:
        getattr(namespace, public)
    loaded = {n for n in vars(namespace) if f"{namespace.__name__}.{n}" in sys.modules}
    internal = loaded - {*namespace.__all__}
    assert internal
    assert internal & {*dir(namespace)} == set()
    assert "attach" not in dir(namespace)
    assert {*namespace.__all__} <= {*dir(namespace)}


_THREADS = """
import threading
import jitney

def ask(name, names, start, wrong):
    start.wait()
    try:
        for part in names:
            getattr(getattr(jitney, name), part)
    except Exception as error:
        wrong.append(repr(error))

wrong = []
parts = {"lax": ["fori_loop"], "nn": ["relu"], "random": ["key"], "scipy": ["special", "linalg"]}
for name, names in parts.items():
    start = threading.Barrier(4)
    threads = [threading.Thread(target=ask, args=(name, names, start, wrong)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print(wrong)
"""


def test_threads_may_ask_for_the_same_namespace_at_once() -> None:
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", _THREADS], capture_output=True, text=True)
        assert (done.stdout, done.stderr) == ("[]\n", "")


def test_names_beside_the_table_of_contents_show() -> None:
    assert {"pi", "newaxis", "sin", "linalg"} <= {*dir(jnp)}


def test_functions_say_the_module_that_users_know() -> None:
    own = "jax.numpy"
    others = {"int1", "uint1", *added(own)}  # the first two if ml_dtypes has them
    listed = [n for n in vars(jnp)["__all__"] if n not in others]

    def named() -> list[str]:
        theirs = {n: getattr(jax.numpy, n) for n in listed}
        return [n for n, f in theirs.items() if callable(f) and f.__module__ == own]

    names = answer(named)
    assert len(names) > 300
    assert [n for n in names if getattr(jnp, n).__module__ != own] == []


def modules_of_users(package: str) -> dict[str, list[str]]:
    """Public modules of real JAX, with what `dir` and attribute access find in them."""
    found: dict[str, list[str]] = {}
    root = importlib.import_module(package)
    for info in [None, *pkgutil.walk_packages(root.__path__, f"{package}.", onerror=str)]:
        name = package if info is None else info.name
        if any(part.startswith("_") or part in OTHERS for part in name.split(".")):
            continue
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        found[name] = sorted({*dir(module), *getattr(module, "_deprecations", ())})
    return found


OTHERS = ("jax2tf", "mosaic", "tools")
# Names that JAX's `dir` has not: most are there, and found when they are asked for.
OWN = {
    "jax": "PerformanceWarning explain explore install_as_jax load_ipython_extension profile",
    "jax.ad_checkpoint": "saved_residuals",
    "jax.example_libraries": "optimizers stax",
    "jax.experimental": """checkify compute_on cur_qdd custom_partitioning fused hijax jet layout
        mesh_utils multihost_utils ode overlap pjit profiler random rnn roofline scheduling_groups
        serialize_executable shard_alike shard_map source_mapper topologies xla_metadata""",
    # These are of JAX 0.10, as is `cur_qdd`.
    "jax.experimental.hijax": "AvalMutableQDD AvalQDD HiPrimitive MutableHiType VJPHiPrimitive",
    "jax.experimental.scheduling_groups": "xla_metadata_call_p",
    "jax.extend.core": "CallPrimitive call_impl",
    "jax.extend.sharding": "Sharding SingleDeviceSharding",
    "jax.interpreters.batching": "BatchTrace BatchTracer not_mapped",
    "jax.interpreters.pxla": "ArrayMapping Index MeshAxisName",
    "jax.lax": "dce_sink_p ragged_dot_general_p",
    "jax.numpy.linalg": "EigResult EighResult QRResult SVDResult SlogdetResult",
    "jax.random": "PRNGImpl",
    "jax.scipy": "optimize spatial",
    "jax.scipy.spatial": "transform",
    "jax.sharding": "Infer",
    "jax.version": "PACKAGE_VERSION",
}


def shows_as_much(recorded: Any, live: Any) -> bool:
    """Whether modules show what is recorded; they may show what other tests have imported, too."""
    return all({*names} <= {*live.get(name, ())} for name, names in recorded.items())


def test_modules_show_public_names_alone() -> None:
    names = answer(lambda: modules_of_users("jax"), agrees=shows_as_much)
    wrong: dict[str, set[str]] = {}
    compared = 0
    for name, theirs in names.items():
        try:
            module = importlib.import_module(own_name(name))
        except ModuleNotFoundError:  # which docs/differences.md lists
            continue
        shown = {n for n in dir(module) if not n.startswith("__")}
        bad = {n for n in shown if n.startswith("_") or not hasattr(module, n)}
        if name != "jax.extend.core.primitives":  # has the primitives that there are
            bad |= shown - {*theirs} - {*OWN.get(name, "").split()} - added(name)
        bad |= {*getattr(module, "__all__", ())} - shown
        if bad:
            wrong[name] = bad
        compared += len(shown)
    assert compared > 2000
    assert wrong == {}


@pytest.mark.parametrize(
    "name", ["export.export", "interpreters.mlir.i32_attr", "experimental.pallas.pallas_call"]
)
def test_what_is_missing_says_so(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    with pytest.raises(AttributeError) as caught:
        getattr(importlib.import_module(f"jitney.{module}"), attribute)
    assert str(caught.value).startswith(f"jax.{name} is not in jitney 0.1; nearest: jax.")


def test_what_is_no_name_of_jax_is_not_called_missing() -> None:
    with pytest.raises(AttributeError) as caught:
        importlib.import_module("jitney.export").symbolic_shap  # noqa: B018
    assert str(caught.value) == "module 'jax.export' has no attribute 'symbolic_shap'"


def test_types_for_annotations_are_types():
    """Programs write `jax.lax.DotDimensionNumbers | None` where Python evaluates it."""
    for part in ("", ".lax", ".numpy", ".typing", ".random", ".core"):
        namespace = importlib.import_module(f"jitney{part}")
        texts = [
            name
            for name in dir(namespace)
            if name[0].isupper() and isinstance(getattr(namespace, name), str)
        ]
        assert not texts, (namespace.__name__, texts)
