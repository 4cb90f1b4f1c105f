"""Collectives in the tensor IR: what each kind means, and that of one device nothing is left."""

import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney
from jitney import lax
from jitney.compiler import pipeline
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.parse import parse_module
from jitney.compiler.hlo.text import print_module
from jitney.compiler.hlo.verify import verify
from jitney.compiler.plan.verify import verify_plan
from jitney.compiler.reference.collective import KINDS, collective
from jitney.compiler.tensor_type import TensorType
from jitney.core.tracing.trace import extend_axis_env
from jitney.core.types.avals import shaped_array
from jitney.runtime.execution import dispatch
from jitney.runtime.execution.assignment import assign
from jitney.runtime.execution.executable import Executable

N = 4
X = np.random.default_rng(0).integers(-9, 9, (N, N, 2 * N, 3)).astype(np.float32)
ROTATION = tuple((k, (k + 1) % N) for k in range(N))

# The kind and its parameters, and the same along an axis of vmap.
MEANINGS = {
    "sum": ("all_reduce", {"fn": "add"}, lambda j, x: j.psum(x, "i")),
    "max": ("all_reduce", {"fn": "max"}, lambda j, x: j.pmax(x, "i")),
    "all_gather": ("all_gather", {"dim": 1}, lambda j, x: j.all_gather(x, "i", axis=1, tiled=True)),
    "reduce_scatter": (
        "reduce_scatter", {"fn": "add", "dim": 1},
        lambda j, x: j.psum_scatter(x, "i", scatter_dimension=1, tiled=True),
    ),
    "all_to_all": (
        "all_to_all", {"split_dim": 0, "concat_dim": 2},
        lambda j, x: j.all_to_all(x, "i", 0, 2, tiled=True),
    ),
    "all_to_all along one axis": (
        "all_to_all", {"split_dim": 1, "concat_dim": 1},
        lambda j, x: j.all_to_all(x, "i", 1, 1, tiled=True),
    ),
    "permute": ("permute", {"pairs": ROTATION}, lambda j, x: j.ppermute(x, "i", ROTATION)),
    "permute of some": (
        "permute", {"pairs": ((0, 2), (3, 0))}, lambda j, x: j.ppermute(x, "i", [(0, 2), (3, 0)]),
    ),
    "permute of none": ("permute", {"pairs": ()}, lambda j, x: j.ppermute(x, "i", [])),
    "broadcast": ("broadcast", {"source": 2}, lambda j, x: j.pbroadcast(x, "i", 2)),
    "axis_index": ("axis_index", {}, lambda j, x: j.axis_index("i")),
}  # fmt: skip


def test_each_kind_has_a_case():
    assert {kind for kind, _, _ in MEANINGS.values()} == {*KINDS}


@pytest.mark.parametrize("name", MEANINGS)
def test_meaning(name):
    kind, params, function = MEANINGS[name]

    # Real JAX has no rule of these for axes of vmap; ours are tested against their definitions.
    def mapped(module):
        return module.vmap(lambda x: function(module.lax, x), axis_name="i")(X)

    only_ours = name in ("broadcast", "permute of some", "permute of none")
    expected = mapped(jitney) if only_ours else of_jax(mapped)
    found = collective(kind, list(X), **params)
    np.testing.assert_array_equal(np.stack(found), np.asarray(expected))
    assert np.stack(found).dtype == expected.dtype


def built(kind, params, axes, groups=None):
    b = Builder()
    x = b.parameter(0, TensorType(X.shape[1:], X.dtype))
    node = b.collective(
        kind, axes, tuple(params.items()), [] if kind == "axis_index" else [x], groups
    )
    return b.module("f", [x], [node])


@pytest.mark.parametrize("name", MEANINGS)
@pytest.mark.parametrize(
    "axes, groups",
    [
        ((("i", N),), None),
        ((("rows", 2), ("of a mesh", 2)), None),
        ((("i", 2 * N),), ((0, 2, 4, 6), (1, 3, 5, 7))),
    ],
)
def test_types_and_text(name, axes, groups):
    kind, params, _ = MEANINGS[name]
    module = built(kind, params, axes, groups)
    verify(module)
    text = print_module(module)
    assert print_module(parse_module(text)) == text
    result = module.region.results[0].tensor_type
    expected = collective(kind, list(X), **params)[0]
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)


@pytest.mark.parametrize("name", MEANINGS)
def test_steps_of_one_participant(name):
    kind, params, _ = MEANINGS[name]
    params = {**params, "pairs": params["pairs"] and ((0, 0),)} if "pairs" in params else params
    params = {**params, "source": 0} if "source" in params else params
    module = built(kind, params, (("i", 1),))
    expected = collective(kind, [X[0]], **params)[0]
    np.testing.assert_array_equal(pipeline.interpret(module, [X[0]])[0], expected)
    plan = pipeline.plan(module)  # as it is, not simplified
    verify_plan(plan)
    assert f"collective {kind}{{i=1" in pipeline.TEXTS[pipeline.PLAN](plan)
    program = pipeline.run(plan, first="codegen", last="codegen")
    avals = [[shaped_array(t.shape, t.dtype)] for t in (*plan.inputs, *plan.outputs)]
    (found,) = Executable("f", program, *avals, assign([])).run([X[0]])
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype
    assert "collective" not in pipeline.as_text(module, "simplify")


def test_a_program_of_several_participants_is_not_compiled_for_one_device():
    module = built("all_reduce", {"fn": "add"}, (("i", 2), ("j", 3)))
    with pytest.raises(ValueError, match=r"all_reduce along \{'i': 2, 'j': 3\} has 6 participants"):
        pipeline.compile_module(module)
    with pytest.raises(AssertionError, match="all_reduce has 6"):
        pipeline.interpret(module, [X[0]])


# --- lowering ---------------------------------------------------------------------------------------


OF_ONE = {
    "psum": lambda x: lax.psum(x, "i"),
    "pmin": lambda x: lax.pmin(x, "i"),
    "psum over a position": lambda x: lax.psum(x, ("i", 0)),
    "all_gather": lambda x: lax.all_gather(x, "i"),
    "all_gather tiled": lambda x: lax.all_gather(x, "i", axis=1, tiled=True),
    "psum_scatter": lambda x: lax.psum_scatter(x, "i"),
    "psum_scatter tiled": lambda x: lax.psum_scatter(x, "i", scatter_dimension=1, tiled=True),
    "all_to_all": lambda x: lax.all_to_all(x, "i", 0, 1),
    "all_to_all tiled": lambda x: lax.all_to_all(x, "i", 1, 0, tiled=True),
    "ppermute": lambda x: lax.ppermute(x, "i", [(0, 0)]),
    "ppermute of nothing": lambda x: lax.ppermute(x, "i", []),
    "pbroadcast": lambda x: lax.pbroadcast(x, "i", 0),
    "axis_index": lambda x: x + lax.axis_index("i"),
}


@pytest.mark.parametrize("name", OF_ONE)
def test_programs_of_one_device_have_no_collectives(name):
    """They are lowered, and nothing is left of them: the result is that of vmap over one instance."""
    x = np.arange(4, dtype=np.float32).reshape(1, 4)
    closed = jitney.make_jaxpr(OF_ONE[name], axis_env=[("i", 1)])(x)
    lowered = dispatch.lower(closed)
    assert "collective" in lowered.as_text()
    assert "collective" not in lowered.as_text("optimized")
    expected = np.asarray(jitney.vmap(OF_ONE[name], axis_name="i")(x[None]))[0]
    np.testing.assert_array_equal(dispatch.run(closed, [x])[0], expected)
    assert lowered.is_exact() == (name != "psum over a position")  # a sum of floats


def test_groups_of_one():
    f = jitney.make_jaxpr(lambda x: lax.psum(x, "i", axis_index_groups=[[0]]), axis_env=[("i", 1)])
    closed = f(X[0])
    assert "groups=((0,),)" in dispatch.lower(closed).as_text()
    np.testing.assert_array_equal(dispatch.run(closed, [X[0]])[0], X[0])


def test_extents_are_those_in_scope():
    closed = jitney.make_jaxpr(lambda x: lax.psum(x, ("i", "j")), axis_env=[("i", 2), ("j", 3)])(
        X[0]
    )
    with extend_axis_env(("i", 2), ("j", 3)):
        assert "axes=(('i',2),('j',3))" in dispatch.lower(closed).as_text()
    closed = jitney.make_jaxpr(lambda x: lax.all_gather(x, "i"), axis_env=[("i", 2)])(X[0])
    with extend_axis_env(("i", 2)):
        assert "collective" in dispatch.lower(closed).as_text()
    with pytest.raises(NameError, match="all_gather over an axis of size 2"):
        dispatch.lower(closed)
    for function in (
        lambda x: lax.ppermute(x, "i", [(0, 1)]),
        lambda x: lax.psum(x, "i", axis_index_groups=[[0], [1]]),
        lambda x: lax.pbroadcast(x, "i", 1),
    ):
        closed = jitney.make_jaxpr(function, axis_env=[("i", 2)])(X[0])
        with pytest.raises(NameError, match="not all of them in scope"):
            dispatch.lower(closed)
