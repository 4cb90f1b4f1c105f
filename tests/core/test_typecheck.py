"""The type checker of jaxprs accepts the programs of all primitives, and their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.primitives.records.programs import PROGRAMS

import jitney
import jitney.numpy as jnp
from jitney.core.program.jaxpr import Jaxpr
from jitney.core.program.typecheck import JaxprTypeError, check_jaxpr

X = np.arange(33, dtype=np.float32)
FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    **PROGRAMS,
    "pad": (lambda j, x: j.lax.pad(x, x[0], [(np.int64(-1), np.int64(2), np.int64(1))]), (X,)),
    "slice": (lambda j, x: j.lax.slice(x, (np.int64(1),), (np.int64(9),), (np.int64(2),)), (X,)),
    "cumprod": (lambda j, x: j.lax.cumprod(j.numpy.fft.fft(x)), (X,)),
    "reduce_window": (
        lambda j, x: j.lax.reduce_window(x, 0.0, j.lax.add, (3,), (2,), "SAME"),
        (X,),
    ),
    "sort": (lambda j, x: j.lax.sort((x, -x), num_keys=1), (X,)),
}
# Types within `shard_map` depend on its axes, which the checker does not know.
WITHIN_A_MESH = {
    "all_gather_invariant", "moves between processes", "psend and precv", "ragged_all_to_all",
}  # fmt: skip
WAYS: dict[str, Any] = {
    "the program": lambda f, args: (f, args),
    "jvp": lambda f, args: (lambda *xs: jitney.jvp(f, xs, xs), args),
    "vmap": lambda f, args: (jitney.vmap(f), [np.stack([x, x]) for x in args]),
    "grad": lambda f, args: (jitney.grad(total(f)), args),
    "hessian": lambda f, args: (jitney.hessian(total(f)), args),
}


def total(f: Any) -> Any:
    """The sum of the real parts of the results of `f`."""

    def scalar(*args: Any) -> Any:
        leaves = jitney.tree.leaves(f(*args))
        return sum([jnp.real(x).sum() for x in leaves if jnp.issubdtype(x.dtype, np.inexact)], 0.0)

    return scalar


@pytest.mark.parametrize("way", WAYS)
def test_programs_are_well_typed(way: str) -> None:
    checked, wrong = 0, {}
    for name in FUNCTIONS.keys() - WITHIN_A_MESH:
        function, args = FUNCTIONS[name]
        f, xs = WAYS[way](lambda *xs, function=function: function(jitney, *xs), args)
        try:
            closed = jitney.make_jaxpr(f)(*xs)
        except (TypeError, ValueError, NotImplementedError):
            continue  # it has no derivative or batching rule
        checked += 1
        try:
            check_jaxpr(closed.jaxpr)
        except JaxprTypeError as error:
            wrong[name] = str(error)
    assert checked > len(FUNCTIONS) // 2 and not wrong


def test_numpy_integers_in_types_are_refused() -> None:
    jaxpr = jitney.make_jaxpr(lambda x: x * 2)(X).jaxpr
    (eqn,) = jaxpr.eqns
    object.__setattr__(eqn.outvars[0].aval, "shape", (np.int64(33),))
    assert isinstance(jaxpr, Jaxpr)
    with pytest.raises(JaxprTypeError, match=r"NumPy integers.*eqn\.C3"):
        check_jaxpr(jaxpr)
