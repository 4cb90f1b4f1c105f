"""Digests of programs: equal for equal programs, and none for what may do anything."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.compiler import library
from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.digest import digest
from jitney.core.util.record import replace

X = np.arange(6, dtype=np.float32)


def lowered(f, *args):
    return jitney.jit(f).lower(*args).compiler_ir()


def test_equal_programs_have_equal_digests():
    module = lowered(lambda x: jnp.sin(x) * 2, X)
    assert digest(module) == digest(lowered(lambda y: jnp.sin(y) * 2, X))


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: jnp.sin(x) * 3, X),
        (lambda x: jnp.cos(x) * 2, X),
        (lambda x: jnp.sin(x) * 2, X[:5]),
        (lambda x: jnp.sin(x) * 2, X.astype(np.float16)),
        (lambda x: (jnp.sin(x) * 2, x), X),
        (lambda x: jnp.sin(x) * np.arange(6, dtype=np.float32), X),
    ],
)
def test_other_programs_have_others(f, x):
    assert digest(lowered(f, x)) != digest(lowered(lambda x: jnp.sin(x) * 2, X))


def test_other_constants_have_others():
    def scaled(values):
        return digest(lowered(lambda x: x * values, X))

    assert scaled(X + 1) == scaled(X + 1) != scaled(X + 2)


def test_levels_have_others():
    module = lowered(lambda x: jnp.sin(x), X)
    levels = [digest(replace(module, optimization_level=level)) for level in range(4)]
    assert len({*levels}) == 4


def test_large_constants_have_none():
    values = np.zeros(COSTS.digested_bytes // 4 + 1, np.float32)
    assert digest(lowered(lambda x: values[None] + x, X[:1])) is None


def with_calls(fn, finish):
    """A program with one host call, of `fn` and `finish`."""
    module = lowered(
        lambda x: jitney.pure_callback(np.sin, jitney.ShapeDtypeStruct((6,), np.float32), x), X
    )
    calls = [
        node
        for node in traversal.topological_order(traversal.roots(module.region))
        if isinstance(node, ir.HostCall)
    ]
    for call in calls:  # nodes are not to be changed; nothing else holds this program
        object.__setattr__(call, "fn", fn)
        object.__setattr__(call, "finish", finish)
    assert len(calls) == 1
    return module


PROCEDURE = library.Procedure((library.routine("test.begin"),))
OTHER = library.Procedure((library.routine("test.begin", size=2),))


def test_procedures_are_known_by_name():
    alone, both = digest(with_calls(PROCEDURE, None)), digest(with_calls(PROCEDURE, OTHER))
    assert alone is not None
    assert both is not None
    assert len({alone, both, digest(with_calls(OTHER, None))}) == 3


@pytest.mark.parametrize("calls", [(np.sin, None), (np.sin, PROCEDURE), (PROCEDURE, print)])
def test_functions_of_users_have_none(calls):
    assert digest(with_calls(*calls)) is None
