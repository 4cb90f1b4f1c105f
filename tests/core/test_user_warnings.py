"""Warnings point at the user's line, so each line has its own."""

from __future__ import annotations

import importlib
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.oracle import answer

from jitney import numpy as jnp
from jitney.core.source import user_warnings
from jitney.flatten_util import ravel_pytree

FILE = "program_of_a_user.py"

# Lines that warn, in both packages and with the same class.
PROGRAMS = {
    "creation": "jnp.zeros(3, dtype='float64')",
    "asarray": "jnp.asarray([1.0], dtype='complex128')",
    "astype": "x.astype('int64')",
    "method of a tracer": "jax.jit(lambda y: y.astype('int64'))(x)",
    "random": "jax.random.normal(jax.random.key(0), (2,), 'float64')",
    "complex to real": "(x + 1j).astype('float32')",
    "scatter": "jnp.arange(3).at[0].set(1.5)",
    "in a loop": "jax.lax.fori_loop(0, 2, lambda i, c: c + jnp.ones(3, 'float64'), x)",
    "vectorize": "jax.vmap(lambda y: jnp.zeros(2, 'int64') + y)(x)",
    "rank promotion": "jnp.ones((2, 3)) + x",
    "one_hot": "jax.nn.one_hot(x, 3)",
    "device of jit": "jax.jit(lambda y: y, device=jax.devices()[0])",
    "donation": "jax.jit(lambda y: y[:1], donate_argnums=0)(jnp.ones(7))",
    "constants": "jax.jit(lambda y: y + captured[0])(x)",
}
# JAX's own points into itself.
OURS_ALONE = {"astype", "method of a tracer", "complex to real", "scatter", "rank promotion", "one_hot",
              "donation", "constants"}  # fmt: skip


def places(package: str, program: str) -> list[tuple[str, int, str]]:
    """Where the warnings of a program point to, and their classes. It is lines 2 and 3 of a file."""
    jax: Any = importlib.import_module(package)
    names = {"jax": jax, "jnp": importlib.import_module(f"{package}.numpy"), "__name__": "user"}
    names["x"], names["captured"] = names["jnp"].arange(3.0), names["jnp"].ones(1000)
    text = f"# Both lines warn.\n{program}\n{program}\n"
    before = jax.config.jax_captured_constants_warn_bytes
    jax.config.update("jax_captured_constants_warn_bytes", 1000)
    try:
        with warnings.catch_warnings(record=True) as found, jax.numpy_rank_promotion("warn"):
            warnings.simplefilter("default")
            exec(compile(text, FILE, "exec"), names)
    finally:
        jax.config.update("jax_captured_constants_warn_bytes", before)
    return sorted({(w.filename, w.lineno, w.category.__name__) for w in found})


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_line_is_the_users(name: str) -> None:
    program = PROGRAMS[name]
    found = places("jitney", program)
    assert {(file, line) for file, line, _ in found} == {(FILE, 2), (FILE, 3)}
    if name not in OURS_ALONE:
        assert found == answer(lambda: places("jax", program))


def test_there_is_one_way_to_warn() -> None:
    root = Path(user_warnings.__file__).parents[1]
    others = [
        p
        for p in root.rglob("*.py")
        if p.name != "user_warnings.py" and "warnings.warn" in p.read_text()
    ]
    assert not others, "use jitney.core.source.user_warnings"


def test_what_others_show_once_is_not_shown_again() -> None:
    """Compiling repeated calls, and taking real parts, leave Python's memory of warnings alone."""
    unravel = ravel_pytree((jnp.ones(2), 1j))[1]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(12):
            warnings.warn("mine", UserWarning, stacklevel=1)
            jnp.convolve(jnp.ones(5), jnp.ones(3)), jnp.polyval(jnp.ones(3), jnp.ones(4))
            unravel(jnp.ones(3, complex))
    assert [str(w.message) for w in found] == ["mine"]


def test_warnings_are_held_in_one_thread() -> None:
    with warnings.catch_warnings(record=True) as found, ThreadPoolExecutor(1) as other:
        warnings.simplefilter("always")
        with user_warnings.held() as held:
            user_warnings.warn("here")
            with user_warnings.held() as inner:
                user_warnings.warn("inside")
            other.submit(user_warnings.warn, "there").result()
        user_warnings.warn("after")
    assert (held, inner) == (["here"], ["inside"])
    assert [str(w.message) for w in found] == ["there", "after"]
