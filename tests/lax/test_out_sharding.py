"""Functions with the option `out_sharding` refuse what is not a sharding along Explicit axes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney

X, V = np.ones((4, 4), np.float32), np.ones(4, np.float32)
_DOT = (((1,), (0,)), ((), ()))
_IMAGE = np.ones((1, 1, 4, 4), np.float32)

# Function of `lax` -> its arguments but for `out_sharding`.
LAX: dict[str, tuple[Any, ...]] = {
    "broadcast": (V, (2,)),
    "broadcast_in_dim": (V, (4, 4), (0,)),
    "broadcasted_iota": (np.int32, (4,), 0),
    "conv_general_dilated": (_IMAGE, _IMAGE[..., :2, :2], (1, 1), "VALID"),
    "dot": (X, X),
    "dot_general": (X, X, _DOT),
    "empty": ((4,), np.float32),
    "ragged_dot": (X, X[None], np.array([4])),
    "reduce_sum": (X, (0,)),
    "reshape": (X, (16,)),
}
NUMPY: dict[str, tuple[Any, ...]] = {
    "arange": (4,),
    "array": (X,),
    "asarray": (X,),
    "bincount": (np.arange(4),),
    "broadcast_to": (V, (4, 4)),
    "dot": (X, X),
    "einsum": ("ij,jk", X, X),
    "empty": ((4,),),
    "full": ((4,), 1.0),
    "full_like": (X, 1.0),
    "matmul": (X, X),
    "ones": ((4,),),
    "ones_like": (X,),
    "ravel": (X,),
    "repeat": (V, 2),
    "reshape": (X, (16,)),
    "tensordot": (X, X),
    "zeros": ((4,),),
    "zeros_like": (X,),
}
INVALID: dict[str, Callable[[Any], Any]] = {
    "text": lambda j: "x",
    "number": lambda j: 3,
    "object": lambda j: object(),
    "tuple": lambda j: ("x",),
    "device": lambda j: j.devices()[0],
    "sharding of one device": lambda j: j.sharding.SingleDeviceSharding(j.devices()[0]),
    "spec without a mesh": lambda j: j.sharding.PartitionSpec("x"),
}


def refusal(function: Callable[..., Any], args: tuple[Any, ...], place: object) -> str:
    """The name of the error's class."""
    with pytest.raises((TypeError, ValueError)) as found:
        function(*args, out_sharding=place)
    return found.type.__name__


@pytest.mark.parametrize("name", [*(f"lax.{n}" for n in LAX), *(f"numpy.{n}" for n in NUMPY)])
def test_invalid_places_are_refused(name: str) -> None:
    module, function = name.split(".")
    args = (LAX if module == "lax" else NUMPY)[function]

    def refusals(j: Any) -> dict[str, str]:
        f = getattr(getattr(j, module), function)
        return {what: refusal(f, args, place(j)) for what, place in INVALID.items()}

    assert refusals(jitney) == of_jax(refusals)


def test_all_functions_are_here() -> None:
    for module, cases in ((jitney.lax, LAX), (jitney.numpy, NUMPY)):
        for name in dir(module):
            function = getattr(module, name)
            try:
                takes = "out_sharding" in inspect.signature(function).parameters
            except (TypeError, ValueError):
                continue
            left_out = {"percentile", "rng_bit_generator", "reduce", "ragged_dot_general"}
            left_out |= {"histogram"}  # which takes it since JAX 0.12: see below
            assert not takes or name in cases or name in left_out or name.startswith("reduce_"), (
                name
            )


@pytest.mark.parametrize("name", ["numpy.histogram", "nn.one_hot"])
@pytest.mark.parametrize("what", [*INVALID])
def test_functions_that_take_it_since_jax_0_12(name: str, what: str) -> None:
    module, function = name.split(".")
    f = getattr(getattr(jitney, module), function)
    args = (np.arange(4), 3)
    wanted = "ValueError" if what == "spec without a mesh" else "TypeError"
    assert refusal(f, args, INVALID[what](jitney)) == wanted
    with jitney.set_mesh(jitney.make_mesh((1,), ("x",))):
        out = f(*args, out_sharding=jitney.P("x"))
        assert jitney.tree.leaves(out)[0].sharding.spec[0] == "x"


@pytest.mark.parametrize("name", ["reduce_max", "reduce_min", "reduce_prod"])
def test_reductions_that_take_none(name: str) -> None:
    assert refusal(getattr(jitney.lax, name), (X, (0,)), "x") == "TypeError"
    assert of_jax(lambda j: refusal(getattr(j.lax, name), (X, (0,)), "x")) == "TypeError"


@pytest.mark.parametrize("fold", ["add", "max", "min"])
def test_folds_that_are_reductions_are_placed(fold: str) -> None:
    start = {"add": 0, "max": -np.inf, "min": np.inf}[fold]
    with jitney.set_mesh(jitney.make_mesh((1,), ("x",))):
        for run in (lambda f: f, jitney.jit):
            out = run(
                lambda x: jitney.lax.reduce(
                    x,
                    np.float32(start),
                    getattr(jitney.lax, fold),
                    (0,),
                    out_sharding=jitney.P("x"),
                )
            )(X)
            assert out.sharding.spec == jitney.P("x")
            np.testing.assert_array_equal(out, getattr(np, fold).reduce(X) if fold == "add" else V)
