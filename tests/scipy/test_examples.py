"""The examples in docstrings of `jax.scipy` print what is shown."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil

import pytest

import jitney
import jitney.numpy as jnp
import jitney.scipy


def examples() -> dict[str, list[doctest.Example]]:
    """The examples of each function of the namespaces below `jitney.scipy`."""
    found: dict[str, list[doctest.Example]] = {}
    for info in pkgutil.walk_packages(jitney.scipy.__path__, "jitney.scipy."):
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            if name[0] == "_" or getattr(value, "__module__", "") != info.name:
                continue
            lines = doctest.DocTestParser().get_examples(inspect.getdoc(value) or "")
            if lines:
                found[f"{info.name}.{name}".removeprefix("jitney.scipy.")] = lines
    return found


EXAMPLES = examples()


def test_there_are_examples():
    assert len(EXAMPLES) > 40


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name: str):
    names = {"jax": jitney, "jnp": jnp}
    importlib.import_module("jitney.scipy." + name.rpartition(".")[0])
    failures: list[str] = []
    case = doctest.DocTest(EXAMPLES[name], names, name, None, None, None)
    doctest.DocTestRunner().run(case, out=failures.append)
    assert not failures, "".join(failures)
