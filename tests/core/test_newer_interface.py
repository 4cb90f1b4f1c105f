"""Names and attributes of JAX 0.12.0.1 that say things of types, programs and places.

What is asserted was printed by JAX 0.12.0.1 where nothing else is said.
"""

from __future__ import annotations

import copy
import importlib
import pickle
from typing import Any

import numpy as np
import pytest
from tests.helpers.both import check

import jitney as jax
import jitney.numpy as jnp
from jitney.core.program.text import Context
from jitney.private import reexports
from jitney.sharding import (
    AbstractDevice,
    AbstractMesh,
    AxisType,
    ManualAxisType,
    UnreducedKind,
    use_abstract_mesh,
)

P: Any = jax.P
core: Any = importlib.import_module("jitney.core")
extend: Any = importlib.import_module("jitney.extend.core")


# --- names of other modules -----------------------------------------------------------------------


@pytest.mark.parametrize("module", [*reexports.REEXPORTS])
def test_names_from_other_modules_are_there(module):
    loaded = importlib.import_module(module.replace("jax", "jitney", 1))
    for words in reexports.REEXPORTS[module].values():
        for word in words.split():
            assert getattr(loaded, word.partition("=")[0]) is not None
    with pytest.raises(AttributeError, match="no attribute 'tree_mop'"):
        loaded.tree_mop  # noqa: B018


def test_a_reexported_name_is_the_object_itself():
    ode: Any = importlib.import_module("jitney.experimental.ode")
    assert ode.tree_map is jax.tree_util.tree_map
    bcoo: Any = importlib.import_module("jitney.experimental.sparse.bcoo")
    assert bcoo.Array is jax.Array
    assert "tree_map" not in dir(ode)


def test_lists_of_equal_lengths():
    util: Any = importlib.import_module("jitney._src.util")
    lax: Any = importlib.import_module("jitney._src.lax.lax")
    assert util.safe_zip([1, 2], (3, 4)) == [(1, 3), (2, 4)]
    assert util.safe_zip(iter([1])) == [(1,)]
    with pytest.raises(ValueError, match="length"):
        util.safe_zip([1], [1, 2])
    with pytest.raises(TypeError):
        util.safe_zip()
    assert [*lax.ranges_like([1, 2], [3], [4, 5, 6])] == [range(2), range(2, 3), range(3, 6)]
    assert lax.remaining([1, 2, 3, 4], [2], [4]) == [1, 3]


# --- where arrays lie -----------------------------------------------------------------------------


def test_kinds_of_unreduced_arrays():
    kind = UnreducedKind
    assert [k.name for k in kind] == ["sum", "max", "min"]
    assert P(unreduced={"x"}).unreduced_kind is kind.sum
    assert P("x").unreduced_kind is None and P(reduced={"x"}).unreduced_kind is None
    assert P(unreduced={"x"}) == P(unreduced={"x"}, unreduced_kind=kind.sum)
    assert hash(P(unreduced={"x"})) == hash(P(unreduced={"x"}, unreduced_kind=kind.sum))
    largest = P("a", unreduced={"x"}, unreduced_kind=kind.max)
    assert repr(largest) == "P('a', unreduced={'x'}, unreduced_kind=max)"
    assert largest != P("a", unreduced={"x"})
    assert pickle.loads(pickle.dumps(largest)) == copy.copy(largest) == largest
    assert largest.update(unreduced={"y"}).unreduced_kind is kind.max
    assert largest.update(unreduced=()).unreduced_kind is None
    assert (largest + P("b")).unreduced_kind is kind.max
    with pytest.raises(TypeError, match="unreduced_kind"):
        largest + P(unreduced={"y"})
    with pytest.raises(ValueError, match="None if no axes"):
        P("x", unreduced_kind=kind.sum)
    with pytest.raises(TypeError, match="UnreducedKind"):
        P(unreduced={"x"}, unreduced_kind="sum")
    mesh = AbstractMesh((2,), ("x",), AxisType.Explicit)
    with pytest.raises(NotImplementedError, match=r"partial maxima.*pmax"):
        jax.NamedSharding(mesh, P(unreduced={"x"}, unreduced_kind=kind.max))


def test_specs_of_tangents_and_cotangents():
    assert P("x").to_lo() == [P("x")] and P("x").to_tangent_spec() == P("x")
    assert P("x").to_ct_spec() == P("x")
    assert P("y", unreduced={"x"}).to_ct_spec() == P("y", reduced={"x"})
    assert P("y", reduced={"x"}).to_ct_spec() == P("y", unreduced={"x"})


def test_manual_axis_types():
    kinds = ManualAxisType(varying={"x"}), ManualAxisType(unreduced={"x"}), ManualAxisType()
    assert [k.empty for k in kinds] == [False, False, True]
    assert [k.vur for k in kinds] == [{"x"}, {"x"}, set()]
    assert [k.unreduced_kind for k in kinds] == [None, UnreducedKind.sum, None]
    explicit = ManualAxisType(unreduced={"x"}, unreduced_kind=UnreducedKind.sum)
    assert explicit is kinds[1]
    with pytest.raises(ValueError, match="None if no axes"):
        ManualAxisType(varying={"x"}, unreduced_kind=UnreducedKind.sum)
    with pytest.raises(NotImplementedError, match="partial maxima"):
        ManualAxisType(unreduced={"x"}, unreduced_kind=UnreducedKind.min)


def test_devices_of_abstract_meshes():
    device = AbstractDevice("v6", 1, "tpu")
    assert repr(device) == "AbstractDevice(device_kind=v6, num_cores=1, platform=tpu)"
    assert device == AbstractDevice(device_kind="v6", num_cores=1, platform="tpu")
    frozen: Any = device
    with pytest.raises(AttributeError):
        frozen.platform = "cpu"
    plain = AbstractMesh((2,), ("x",))
    told = AbstractMesh((2,), ("x",), abstract_device=device)
    assert repr(told) == (
        "AbstractMesh('x': 2, axis_types=(Explicit,), device_kind=v6, num_cores=1, platform=tpu)"
    )
    assert plain.abstract_device is None and told.abstract_device == device
    assert plain != told and plain.update(abstract_device=device) == told
    assert told.update(axis_sizes=(4,)).abstract_device == device
    assert pickle.loads(pickle.dumps(told)) == told
    wrong: Any = 3
    with pytest.raises(TypeError, match="AbstractDevice"):
        AbstractMesh((2,), ("x",), abstract_device=wrong)
    for name in ("devices", "device_ids", "is_multi_process", "local_devices", "local_mesh"):
        with pytest.raises(ValueError, match=f"no {name}"):
            getattr(plain, name)
    assert plain.are_all_axes_explicit_or_manual
    auto = AbstractMesh((2,), ("x",), AxisType.Auto)
    assert not auto.are_all_axes_explicit_or_manual


def test_the_mesh_in_force_is_told_by_the_package():
    mesh = jax.make_mesh((1,), ("x",))
    assert jax.get_mesh().empty and jax.get_abstract_mesh().empty
    before = jax.set_mesh(mesh)
    with before:
        assert jax.get_mesh() == mesh and jax.get_abstract_mesh() == mesh.abstract_mesh
        assert before.prev_mesh.empty and before.prev_abstract_mesh.empty
        other = AbstractMesh((1,), ("y",))
        context = use_abstract_mesh(other)
        assert context.mesh is other and context.prev == mesh.abstract_mesh
        with jax.use_abstract_mesh(other):
            assert jax.get_abstract_mesh() == other
    assert jax.get_mesh().empty


def test_sizes_of_axes_have_two_names():
    make: Any = jax.make_mesh
    mesh = make((1,), ("x",))
    assert make(axis_sizes=(1,), axis_names=("x",)) == mesh
    assert make(axis_shapes=(1,), axis_names=("x",)) == mesh  # as in JAX 0.10
    for options in ({"axis_sizes": (1,)}, {"axis_names": ("x",)}, {}):
        with pytest.raises(TypeError, match="the sizes and the names of the axes"):
            make(**options)
    with pytest.raises(TypeError):
        make((1,), ("x",), axis_shapes=(1,))


@pytest.mark.parametrize(
    "options", [{"mtls_cert_file": "x"}, {"mtls_ca_file": "y"}, {"verify_secure_credentials": True}]
)
def test_encrypted_connections_are_refused(options: Any):
    initialize: Any = importlib.import_module("jitney.runtime.distributed.initialize").initialize
    client = importlib.import_module("jitney.runtime.devices.client")
    known = dict(client.backends)
    client.backends.clear()
    try:
        with pytest.raises(ValueError, match=r"the processes communicate through MPI"):
            initialize(**options)
    finally:
        client.backends.update(known)


def test_tracers_have_no_place():
    x: Any

    def of_tracer(x: Any) -> Any:
        assert not hasattr(x, "device") and not hasattr(x, "sharding")
        for name in (
            "addressable_shards", "global_shards", "is_fully_addressable", "is_fully_replicated",
            "traceback",
        ):  # fmt: skip
            with pytest.raises(jax.errors.ConcretizationTypeError, match=name):
                getattr(x, name)
        with pytest.raises(ValueError, match="memory_space"):
            x.memory_space  # noqa: B018
        assert x.dimension_as_value is None
        return x.to_device(jax.devices()[0])

    x = jnp.arange(3.0)
    for f in (jax.jit(of_tracer), jax.vmap(of_tracer)):
        np.testing.assert_array_equal(f(x), x)
    np.testing.assert_array_equal(jax.jvp(of_tracer, (x,), (x,))[1], x)


@pytest.mark.parametrize(
    "name",
    [
        "addressable_data", "addressable_shards", "committed", "copy_to_host_async", "device",
        "global_shards", "is_fully_addressable", "is_fully_replicated", "sharding", "to_device",
    ],
)  # fmt: skip
def test_attributes_of_the_class_of_arrays(name):
    assert hasattr(jax.Array, name)
    getattr(jnp.ones(2), name)


# --- types and programs ---------------------------------------------------------------------------


def test_methods_of_types():
    weak = core.ShapedArray((3, 4), np.float32, weak_type=True)
    strong = core.ShapedArray((3, 4), np.float32)
    assert weak.update_weak_type(False) == strong
    assert weak.to_ct_aval() == weak.at_least_vspace() == weak.reshard(None) == weak
    assert core.ShapedArray((3,), np.int32).to_ct_aval().dtype == jax.dtypes.float0
    varying = ManualAxisType(varying={"x"})
    assert weak.update_manual_axis_type(varying).manual_axis_type is varying
    assert weak.vspace_add(1.0, 2.0) == 3

    class Own(core.AbstractValue):
        pass

    own = Own()
    assert own.update_weak_type(False) is own.update_manual_axis_type(varying) is own
    assert own.leading_axis_spec() == 0
    for call in (own.update, lambda: own.inc_rank(1, 0), lambda: own.dec_rank(1, 0)):
        with pytest.raises(TypeError, match="no such operation"):
            call()


def test_open_programs_have_what_closed_ones_have():
    closed: Any = jax.make_jaxpr(lambda x: x * 2.0 + np.arange(3.0, dtype="f4"))(1.0)
    jaxpr = closed.jaxpr
    assert closed.all_invars == jaxpr.all_invars == [*jaxpr.constvars, *jaxpr.invars]
    assert closed.num_consts == jaxpr.num_consts == len(closed.consts)
    again = jaxpr.with_consts(closed.consts)
    assert again.jaxpr is jaxpr and again.consts == closed.consts
    assert closed.with_consts(closed.consts).jaxpr is jaxpr
    assert jaxpr.jaxpr is jaxpr.map_jaxpr(lambda j: j) is jaxpr
    plain: Any = jax.make_jaxpr(lambda x: x + 1)(1.0).jaxpr
    assert plain.consts == plain.literals == []
    v = core.Var(core.ShapedArray((), np.float32))
    with pytest.raises(AttributeError, match="with_consts"):
        extend.Jaxpr([v], [], [v], []).consts  # noqa: B018


def test_variables_and_literals_print_themselves():
    jaxpr: Any = jax.make_jaxpr(lambda x: x * 2.0)(1.0).jaxpr
    context = Context()
    (x, two), (y,) = jaxpr.eqns[0].invars, jaxpr.eqns[0].outvars
    assert [x.pretty_print(context), y.pretty_print(context)] == ["a", "b"]
    assert two.pretty_print(context) == "2.0:f32[]"
    assert two.pretty_print(context, print_dtype=False) == "2.0"
    assert extend.DropVar(y.aval).pretty_print(context) == "_"


def test_debug_info():
    info: Any = jax.make_jaxpr(lambda x: x)(1.0).jaxpr.debug_info
    assert info.arg_names == ("x",)
    info.assert_arg_names(1)
    with pytest.raises(AssertionError):
        info.assert_arg_names(2)
    assert info.filter_arg_names([True]) == ("x",)
    assert info.replace_func_name("foo").func_name == "foo"
    assert info.replace_func_name("foo").func_lineno == info.func_lineno
    named = info.set_result_paths({"a": [1, 2]})
    assert named.result_paths == ("result['a'][0]", "result['a'][1]")
    assert named.filter_result_paths([False, True]) == ("result['a'][1]",)
    named.assert_result_paths(2)
    with pytest.raises(AssertionError):
        named.assert_result_paths(3)
    unknown = info.with_unknown_names()
    assert unknown.arg_names is unknown.result_paths is None
    unknown.assert_arg_names(5)
    assert unknown.filter_arg_names([True]) is unknown.filter_result_paths([True]) is None
    later = info._replace(result_paths=lambda: ("late",))
    assert later.resolve_result_paths().result_paths == ("late",)


@pytest.mark.parametrize("inline", [*jax.Inline, True, False])
def test_when_calls_are_put_into_their_callers(inline):
    f = jax.jit(lambda x: x + 1, inline=inline)
    n_calls = str(jax.make_jaxpr(f)(1.0)).count("jit[")
    assert n_calls == (0 if inline is jax.Inline.JAX_EARLY else 1)
    assert jax.jit(lambda x: f(x) * 2)(1.0) == 4


def test_other_words_for_inlining_are_refused():
    wrong: Any
    for wrong in (3, None, "jax_early"):
        with pytest.raises(ValueError, match=r"inline must be a bool or a jax\.Inline"):
            jax.jit(lambda x: x, inline=wrong)


def test_effort_of_compilers():
    level = jax.CompilerEffortLevel
    assert [(k.name, k.value) for k in level] == [
        ("UNKNOWN", 0), ("O0", 9), ("O1", 19), ("O2", 29), ("O3", 39)
    ]  # fmt: skip
    f = jax.jit(lambda x: x + 1, compiler_options={"optimization_level": level.O1})
    assert f(1.0) == 2


def test_meshes_without_axes():
    device = np.array(jax.devices()[0])
    assert jax.sharding.Mesh(device, ()).is_scalar
    assert not jax.sharding.Mesh(device.reshape(1), ("x",)).is_scalar
    assert not jax.sharding.get_mesh().is_scalar


def test_axes_are_added_to_tracers():
    check(lambda jax, jnp: str(jax.make_jaxpr(lambda x: x.broadcast((2, 3)))(jnp.ones(4))))
    check(lambda jax, jnp: jax.jit(lambda x: x.broadcast((2,)))(1.0))
    check(lambda jax, jnp: jnp.ones(3).broadcast((2,)))
    check(lambda jax, jnp: jax.jit(lambda x: x.memory_space_cast(jax.memory.Space.Host))(1.0))


def test_modules_have_the_context_of_lowering_rules():
    from jitney.extend import lowering
    from jitney.interpreters import mlir

    assert lowering.LoweringRuleContext is mlir.LoweringRuleContext
    assert jax.extend.lowering is lowering
