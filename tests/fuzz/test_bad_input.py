"""Wrong calls of public functions raise Python exceptions of sensible classes, and never crash."""

import importlib.util
import random
import warnings

import numpy as np
import pytest
from tests.fuzz import calls

import jitney
from jitney import tree_util

# As real jax does.
AS_JAX = {"jnp.ravel_multi_index": AssertionError}
EACH = 20  # calls of each function
FUNCTIONS = calls.functions()
if importlib.util.find_spec("jitney.numpy.linalg") is None:
    del FUNCTIONS["jnp.polyfit"], FUNCTIONS["jnp.roots"]  # made of linear algebra


def outcome(name, function, args, keywords):
    """None, or what is wrong with how the call went."""
    try:
        for leaf in tree_util.tree_leaves(function(*args, **keywords)):
            if isinstance(leaf, jitney.Array):
                np.asarray(leaf) if leaf.dtype.kind != "V" else leaf.block_until_ready()
    except (*calls.SENSIBLE, MemoryError) as error:
        return None if str(error) else f"{type(error).__name__} without a message"
    except AS_JAX.get(name, ()):
        return None
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


@pytest.mark.parametrize("namespace", ["jnp", "lax"])
@pytest.mark.parametrize("part", range(4))
def test_wrong_calls(namespace, part):
    names = [name for name in sorted(FUNCTIONS) if name.startswith(f"{namespace}.")][part::4]
    assert len(names) > 20
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            for seed in range(EACH):
                args, keywords = calls.call(random.Random(f"{name} {seed}"), FUNCTIONS[name])
                found = outcome(name, FUNCTIONS[name], args, keywords)
                if found:
                    wrong.append(f"{calls.text(name, args, keywords)}: {found}")
    assert not wrong, "\n".join(wrong)


UNDER_JIT = 4


@pytest.mark.parametrize("part", range(2))
def test_wrong_calls_while_tracing(part):
    """The same within jit: arrays are tracers, and programs are compiled."""
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in sorted(FUNCTIONS)[part::6]:
            for seed in range(UNDER_JIT):
                args, keywords = calls.call(random.Random(f"jit {name} {seed}"), FUNCTIONS[name])
                arrays = [isinstance(a, jitney.Array | np.ndarray) for a in args]

                def traced(*given, args=args, keywords=keywords, arrays=arrays, name=name):
                    left = iter(given)
                    full = [
                        next(left) if is_array else a
                        for a, is_array in zip(args, arrays, strict=True)
                    ]
                    out = FUNCTIONS[name](*full, **keywords)
                    return [x for x in tree_util.tree_leaves(out) if isinstance(x, jitney.Array)]

                given = [a for a, is_array in zip(args, arrays, strict=True) if is_array]
                found = outcome(name, jitney.jit(traced), given, {})
                if found:
                    wrong.append(f"{calls.text(name, args, keywords)}: {found}")
    assert not wrong, "\n".join(wrong)
