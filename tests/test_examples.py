"""The examples in docstrings: they run, and print what is shown."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import jitney
import jitney.numpy as jnp
from jitney import custom_batching, flatten_util, image, lax, nn, ops, random
from jitney.example_libraries import optimizers, stax
from jitney.experimental import jet, multihost_utils, ode, sparse
from jitney.lax import linalg
from jitney.numpy import fft

NAMESPACES: dict[str, ModuleType] = {
    "jax": jitney,
    "jax.custom_batching": custom_batching,
    "lax": lax,
    "lax.linalg": linalg,
    "jnp.fft": fft,
    "random": random,
    "nn": nn,
    "nn.initializers": nn.initializers,
    "image": image,
    "ops": ops,
    "flatten_util": flatten_util,
    "optimizers": optimizers,
    "stax": stax,
    "jet": jet,
    "multihost_utils": multihost_utils,
    "ode": ode,
    "sparse": sparse,
    "sparse.linalg": sparse.linalg,
    "sparse.util": sparse.util,
}
GLOBALS = {"jax": jitney, "jnp": jnp, "lax": lax, "random": random, "nn": nn}
GLOBALS |= {"optimizers": optimizers, "stax": stax, "sparse": sparse}
GLOBALS |= {"multihost_utils": multihost_utils}
PARSER = doctest.DocTestParser()


def _examples(label: str, module: ModuleType) -> Iterator[doctest.DocTest]:
    """The examples of the public functions and classes of a namespace, and of their methods."""
    for name in getattr(module, "__all__", [n for n in vars(module) if not n.startswith("_")]):
        found = getattr(module, name)
        if not str(getattr(found, "__module__", "")).startswith(("jax", "jitney")):
            continue  # of another library
        owners = {name: found}
        if inspect.isclass(found):
            public = {n: m for n, m in vars(found).items() if not n.startswith("_")}
            owners |= {f"{name}.{n}": m for n, m in public.items() if inspect.isfunction(m)}
        for path, owner in owners.items():
            doc = None if inspect.ismodule(owner) else inspect.getdoc(owner)
            if doc is None or ">>>" not in doc:
                continue
            yield PARSER.get_doctest(doc, dict(GLOBALS), f"{label}.{path}", None, None)


CASES = {test.name: test for label, m in NAMESPACES.items() for test in _examples(label, m)}


@pytest.mark.parametrize("name", CASES)
def test_examples_print_what_is_shown(name: str) -> None:
    report: list[str] = []
    result: Any = doctest.DocTestRunner(verbose=False).run(CASES[name], out=report.append)
    assert result.failed == 0, "".join(report)


def test_examples_stand_under_their_heading() -> None:
    for test in CASES.values():
        assert "\nExample:\n  >>>" in (test.docstring or ""), test.name


@pytest.mark.parametrize(("label", "least"), [("jax", 15), ("lax", 60), ("random", 12), ("nn", 8)])
def test_the_most_used_functions_have_examples(label: str, least: int) -> None:
    assert sum(name.startswith(f"{label}.") for name in CASES) >= least
