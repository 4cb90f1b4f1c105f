"""Symbolic zeros in results of users' rules pass through transformations; none is a constant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.helpers.both import of_both
from tests.helpers.rule_checks import module

X = np.array([1, 2, 3], np.float32)

WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "jit": lambda j, f: j.jit(f)(X),
    "vmap": lambda j, f: j.vmap(f)(X),
    "vmap in jit": lambda j, f: j.jit(j.vmap(f))(X),
    "jit in vmap": lambda j, f: j.vmap(j.jit(f))(X),
    "cond": lambda j, f: j.lax.cond(True, f, f, X),
    "checkpoint": lambda j, f: j.checkpoint(f)(X),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_zeros_pass_through(way: str, dtype: str) -> None:
    call = WAYS[way]

    def result(j: Any) -> Any:
        ad = module(j, "interpreters.ad")
        aval = j.core.ShapedArray((), np.dtype(dtype)).to_tangent_aval()
        value, zero = call(j, lambda x: (x * 2, ad.Zero(aval)))
        assert type(zero) is ad.Zero
        return np.asarray(value).tolist(), str(zero.aval), len(j.tree.leaves(zero))

    ours, theirs = of_both(result)
    assert ours == theirs


def counted(j: Any) -> Callable[[Any], Any]:
    """A primitive of the user's: x -> (2 x, a number of steps); its rule has a zero for the latter."""
    ad, batching, mlir, core = [
        module(j, name)
        for name in (
            "interpreters.ad", "interpreters.batching", "interpreters.mlir", "extend.core",
        )
    ]  # fmt: skip
    step_p = core.Primitive("step")
    rows_p = core.Primitive("rows")
    for p, scale in ((step_p, 2), (rows_p, 2)):
        p.multiple_results = True

        def evaluate(x: Any, scale: int = scale) -> list[Any]:
            return [x * scale, j.numpy.zeros(x.shape, np.int32)]

        p.def_impl(evaluate)
        p.def_abstract_eval(
            lambda x: [
                j.core.ShapedArray(x.shape, x.dtype),
                j.core.ShapedArray(x.shape, np.dtype("int32")),
            ]
        )
        mlir.register_lowering(p, mlir.lower_fun(evaluate, multiple_results=True))

    def step_rule(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        y, n = step_p.bind(x)
        return (y, n), (t * 2, ad.Zero(j.core.ShapedArray(n.shape, n.dtype).to_tangent_aval()))

    def rows_rule(primals: Any, tangents: Any) -> Any:
        rule = j.vmap(lambda x, t: step_rule((x,), (t,)))
        return rule(*primals, *tangents)

    batching.primitive_batchers[step_p] = lambda xs, dims: (
        rows_p.bind(*xs),
        [dims[0], dims[0]],
    )
    ad.primitive_jvps[step_p], ad.primitive_jvps[rows_p] = step_rule, rows_rule
    return lambda x: step_p.bind(x)


@pytest.mark.parametrize("compiled", [False, True])
def test_rules_hand_zeros_through_batches(compiled: bool) -> None:
    def result(j: Any) -> Any:
        f = counted(j)

        def tangents(x: Any) -> Any:
            return j.jvp(j.vmap(f), (x,), (x,))

        (y, n), (t, zero) = (j.jit(tangents) if compiled else tangents)(X)
        assert zero.dtype == j.dtypes.float0 and zero.shape == (3,)
        return [np.asarray(v).tolist() for v in (y, n, t)]

    ours, theirs = of_both(result)
    assert ours == theirs


FLOAT0_RESULTS = {
    "jit": lambda j, f, x: j.jit(f)(x),
    "vmap": lambda j, f, x: j.vmap(f)(x),
    "jit of vmap": lambda j, f, x: j.jit(j.vmap(f))(x),
    "cond": lambda j, f, x: j.lax.cond(x.sum() > 0, f, f, x),
}
FLOAT0_FUNCTIONS = {
    "gradient": lambda j: lambda x: j.grad(lambda v: 2.0 * v.sum(), allow_int=True)(x),
    "tangent": lambda j: (
        lambda x: j.jvp(lambda v: v * 2, (x,), (np.zeros(x.shape, j.dtypes.float0),))[1]
    ),
    "constant": lambda j: lambda x: np.zeros((*x.shape, 2), j.dtypes.float0),
    "beside a value": lambda j: lambda x: (np.zeros((), j.dtypes.float0), x + 1),
}


@pytest.mark.parametrize("way", FLOAT0_RESULTS)
@pytest.mark.parametrize("function", FLOAT0_FUNCTIONS)
@pytest.mark.parametrize("shape", [(3,), (0,)])
def test_tangents_of_integers_are_arrays_of_numpy(way: str, function: str, shape: Any) -> None:
    def kinds(j: Any) -> Any:
        f = FLOAT0_FUNCTIONS[function](j)
        x = np.arange(shape[0], dtype=np.int32)
        for _ in range(2):  # by Python, then by the signature
            found = j.tree.leaves(FLOAT0_RESULTS[way](j, f, x))
        return [
            (isinstance(y, np.ndarray), isinstance(y, j.Array), y.dtype == j.dtypes.float0, y.shape)
            for y in found
        ]

    ours, theirs = of_both(kinds)
    assert ours == theirs
