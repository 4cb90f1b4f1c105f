"""The option `jax_optimization_level`: machine code of other levels, which computes the same bits."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.compiler import lower
from jitney.compiler.hlo.digest import digest
from jitney.core.settings import config

LEVELS = ("O0", "O1", "O2", "O3")


def program(x):
    """Outlined functions, a loop, a reduction, a product, and a sort."""
    y = jitney.lax.fori_loop(0, 3, lambda i, y: jnp.sin(y * 1e6) + i, x)
    return (
        jnp.sort(y @ y.T, axis=0),
        jitney.nn.softmax(y),
        jitney.scipy.special.betainc(2.0, 3.0, x),
    )


@pytest.fixture
def x():
    return np.random.default_rng(0).random((7, 33), np.float32)


def test_results_have_the_same_bits(x):
    found = {}
    for level in (*LEVELS, "UNKNOWN"):
        with config.optimization_level(level):
            found[level] = jitney.jit(program)(x)
    for results in found.values():
        for a, b in zip(results, found["O2"], strict=True):
            np.testing.assert_array_equal(a, b)


def test_code_of_level_0_is_other_code(x):
    f = jitney.jit(program)
    texts = {}
    for level in LEVELS:
        with config.optimization_level(level):
            texts[level] = f.lower(x).as_text("asm")
    assert len(texts["O0"]) > 1.1 * len(texts["O2"])
    with config.disable_most_optimizations(True):
        assert f.lower(x).as_text("asm") == texts["O0"]


def test_each_level_has_a_program_of_its_own(x):
    f = jitney.jit(lambda x: x * 3 + 0.25)
    for number, level in enumerate(LEVELS):
        for _ in range(2):
            with config.optimization_level(level):
                f(x)
                assert f._cache_size() == number + 1


def test_programs_on_disk_are_of_a_level(x):
    keys = set()
    for level in LEVELS:
        with config.optimization_level(level):
            keys.add(digest(lower.lower(jitney.make_jaxpr(program)(x))))
    assert len(keys) == len(LEVELS) and None not in keys


def test_there_are_no_other_levels():
    with pytest.raises(ValueError, match="O3"):
        jitney.config.update("jax_optimization_level", "O4")
