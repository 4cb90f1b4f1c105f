"""The examples in docstrings of `jax.numpy` print what is shown, here and with real jax."""

from __future__ import annotations

import doctest
import inspect
import re

import numpy as np
import pytest
from tests.helpers import oracle

import jitney
import jitney.numpy as jnp


def examples() -> dict[str, list[doctest.Example]]:
    """The examples of each public function or method that has any; of aliases, of the first one."""
    found: dict[str, list[doctest.Example]] = {}
    seen: set[int] = set()
    public = [(name, getattr(jnp, name)) for name in sorted(jnp.__all__)]
    public += [(f"ufunc.{name}", m) for name, m in vars(jnp.ufunc).items() if name[0] != "_"]
    linalg = [(f"linalg.{name}", f) for name, f in vars(jnp.linalg).items() if name[0] != "_"]
    public += [(n, f) for n, f in linalg if getattr(f, "__module__", "") == "jax.numpy.linalg"]
    updates = type(jnp.zeros(1).at[0])
    public += [("at", updates), *((f"at.{n}", m) for n, m in vars(updates).items() if n[0] != "_")]
    for name, value in public:
        if id(value) in seen or value is getattr(np, name, None):  # not NumPy's own
            continue
        seen.add(id(value))
        lines = doctest.DocTestParser().get_examples(inspect.getdoc(value) or "")
        if lines:
            found[name] = lines
    return found


EXAMPLES = examples()


def test_there_are_examples():
    assert len(EXAMPLES) > 300
    assert {"sum", "sin", "sort", "take", "at.set", "add", "linalg.solve"} <= EXAMPLES.keys()


def run(name: str, names: dict[str, object], checker: doctest.OutputChecker | None = None) -> None:
    case = doctest.DocTest(EXAMPLES[name], names, name, None, None, None)
    failures: list[str] = []
    # No options: outputs are compared as they are.
    doctest.DocTestRunner(checker).run(case, out=failures.append)
    assert not failures, "".join(failures)


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name: str):
    run(name, {"jnp": jnp, "jax": jitney})


class Near(doctest.OutputChecker):
    """Takes floats that differ in their last bits; these make rows of other widths, too."""

    NUMBER = re.compile(r"-?\d+\.\d*(?:e[-+]\d+)?")

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        wanted, found = ([float(x) for x in self.NUMBER.findall(text)] for text in (want, got))
        rest = ["".join(self.NUMBER.sub("#", text).split()) for text in (want, got)]
        return rest[0] == rest[1] and np.allclose(wanted, found, rtol=1e-6, atol=1e-6)


@pytest.mark.live
@pytest.mark.slow  # XLA compiles each operation of the examples
@pytest.mark.parametrize("name", EXAMPLES)
def test_example_with_real_jax(name: str):
    import jax

    if oracle.installed_version() != oracle.VERSIONS[0]:
        pytest.skip("the examples print what this version prints")

    run(name, {"jnp": jax.numpy, "jax": jax}, Near())
