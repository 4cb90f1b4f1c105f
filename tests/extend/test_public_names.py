"""What libraries take from `jax.core`, `jax.extend`, `jax.api_util`, `jax.sharding`, `jax.dlpack`."""

from __future__ import annotations

import importlib
import itertools
import pickle
from pathlib import Path

import numpy as np
import pytest
from tests.helpers.both import Cases, check, of_both

import jitney

same = Cases()


def module(jax, name):
    return importlib.import_module(f"{jax.__name__}.{name}")


# --- linear_util, api_util ----------------------------------------------------------------------


@same
def stages_of_functions(jax, jnp):
    lu = module(jax, "extend.linear_util")

    @lu.transformation_with_aux
    def scaled(k, *args, **kwargs):
        out = yield (args[0] * k, *args[1:]), kwargs
        yield out + 1, "aside"

    @lu.transformation
    def doubled(*args):
        out = yield args, {}
        yield out * 2

    @lu.transformation2
    def raised(f, k, *args):
        return f(*args) + k

    @lu.transformation_with_aux2
    def noted(f, store, *args):
        store.store(len(args))
        return f(*args)

    info = jax.api_util.debug_info("test", lambda x, y: x, (1, 2), {})
    f = lu.wrap_init(lambda x, y: x + y, debug_info=info)
    g, aside = scaled(f, 10)
    h, count = noted(raised(doubled(g), 5))
    return h.call_wrapped(1, 2), aside(), count(), h.__name__, len(h.transforms), repr(f)


@same
def side_result_too_early(jax, jnp):
    lu = module(jax, "extend.linear_util")
    info = jax.api_util.debug_info("test", abs, (1,), {})
    stage = lu.transformation_with_aux2(lambda f, store: 1)
    aside = stage(lu.wrap_init(abs, debug_info=info))[1]
    try:
        aside()
    except lu.StoreException as error:
        return str(error)


@same
def merged_side_results(jax, jnp):
    lu = module(jax, "extend.linear_util")

    @lu.transformation_with_aux2
    def noted(f, store):
        store.store("x")
        return f()

    info = jax.api_util.debug_info("test", lambda: 1, (), {})
    f, first = noted(lu.wrap_init(lambda: 1, debug_info=info))
    _, second = noted(lu.wrap_init(lambda: 1, debug_info=info))
    f.call_wrapped()
    return lu.merge_linear_aux(first, second), lu.merge_linear_aux(second, first)


@same
def memoised_by_function(jax, jnp):
    lu = module(jax, "extend.linear_util")
    runs = []

    @lu.cache
    def call(f, x):
        runs.append(x)
        return f.call_wrapped(x)

    info = jax.api_util.debug_info("test", lambda x: x, (1,), {})
    fun = lambda x: x * 2  # noqa: E731
    outs = [call(lu.wrap_init(fun, debug_info=info), x) for x in (2, 2, 3)]
    return outs, runs


@same
def memoised_with_side_results(jax, jnp):
    lu, util = module(jax, "extend.linear_util"), jax.api_util
    info = util.debug_info("test", lambda x: x, (1,), {})
    fun = lambda x: {"doubled": x * 2}  # noqa: E731
    runs = []

    @lu.cache
    def call(f, x):
        runs.append(x)
        return f.call_wrapped(x)

    def flat(x):
        _, tree = jax.tree_util.tree_flatten(((x,), {}))
        f, structure = util.flatten_fun(lu.wrap_init(fun, debug_info=info), tree)
        return call(f, x), str(structure())

    return [flat(x) for x in (2, 2, 3)], runs


@same
def flat_functions(jax, jnp):
    lu, util = module(jax, "extend.linear_util"), jax.api_util
    info = util.debug_info("test", lambda x, d, k: x, (1, {"a": 2}), {"k": 3})
    args, kwargs = (1, {"a": 2}), {"k": 3}
    leaves, tree = jax.tree_util.tree_flatten((args, kwargs))
    f, out = util.flatten_fun(
        lu.wrap_init(lambda x, d, k: {"s": x + d["a"] + k}, debug_info=info), tree
    )
    plain_leaves, plain_tree = jax.tree_util.tree_flatten(args)
    g, plain_out = util.flatten_fun_nokwargs(
        lu.wrap_init(lambda x, d: [x + d["a"]], debug_info=info), plain_tree
    )
    return (f.call_wrapped(*leaves), str(out()), g.call_wrapped(*plain_leaves), str(plain_out()),
            info.arg_names, info.traced_for)  # fmt: skip


@same
def arguments_of_functions(jax, jnp):
    lu, util = module(jax, "extend.linear_util"), jax.api_util
    info = util.debug_info("test", lambda x, y, z: x, (1, 2, 3), {})
    f, dynamic = util.argnums_partial(
        lu.wrap_init(lambda x, y, z: (x, y, z), debug_info=info), (0, 2), (1, 2, 3)
    )
    tree = jax.tree_util.tree_structure(((1, {"a": 2}), {"k": 3}))
    return (f.call_wrapped(7, 8), dynamic, util.donation_vector((1,), ("k",), tree),
            util.rebase_donate_argnums((2, 3), (0,)), str(util.shaped_abstractify(np.ones(2))),
            util.flatten_axes("x", jax.tree_util.tree_structure({"a": 1, "b": (2,)}), {"a": 0, "b": 1}),
            util.safe_map(max, [1, 5], [3, 4]))  # fmt: skip


@same
def lists_of_different_lengths(jax, jnp):
    return jax.api_util.safe_map(max, [1, 2], [3])


# --- core ---------------------------------------------------------------------------------------


@same
def questions(jax, jnp):
    core = module(jax, "extend.core")
    seen = []

    def f(x):
        seen.append((core.unsafe_am_i_under_a_jit_DO_NOT_USE(), core.valid_jaxtype(x),
                     isinstance(x, jax.core.Tracer)))  # fmt: skip
        return x

    jax.jit(f)(1)
    return (seen, core.unsafe_am_i_under_a_jit_DO_NOT_USE(), core.valid_jaxtype("a"),
            core.valid_jaxtype(1), core.unsafe_get_axis_names_DO_NOT_USE(),
            core.nonempty_axis_env_DO_NOT_USE(), core.concrete_or_error(int, 3),
            core.get_opaque_trace_state() == core.get_opaque_trace_state(),
            str(core.primal_dtype_to_tangent_dtype(np.dtype("int32"))),
            str(core.mapped_aval(3, 0, jax.typeof(jnp.ones((3, 2))))),
            str(core.unmapped_aval(3, 1, jax.typeof(jnp.ones((3, 2))))),
            jax.core.max_dim(2, 3), jax.core.min_dim(2, 3))  # fmt: skip


@same
def programs_by_hand(jax, jnp):
    core = module(jax, "extend.core")
    primitives = module(jax, "extend.core.primitives")
    aval = jax.typeof(jnp.float32(1))
    x, y = core.Var(aval), core.Var(aval)
    eqn = core.new_jaxpr_eqn([x], [y], primitives.sin_p, {"accuracy": None}, core.no_effects)
    info = jax.make_jaxpr(lambda x: x)(1.0).jaxpr.debug_info
    jaxpr = core.Jaxpr((), [x], [y], [eqn], debug_info=info)
    core.check_jaxpr(jaxpr)
    closed = core.ClosedJaxpr(jaxpr, [])
    return core.jaxpr_as_fun(closed)(1.0), str(closed), len(list(core.subjaxprs(jaxpr)))


@same
def wrong_program(jax, jnp):
    core = module(jax, "extend.core")
    closed = jax.make_jaxpr(lambda x: jnp.sin(x) + 1)(1.0)
    core.check_jaxpr(closed.jaxpr)
    closed.jaxpr.eqns.reverse()
    core.check_jaxpr(closed.jaxpr)


@same
def own_primitive(jax, jnp):
    core = module(jax, "extend.core")
    p = core.Primitive("triple")
    p.def_impl(lambda x: np.asarray(x) * 3)
    p.def_abstract_eval(lambda x: jax.core.ShapedArray(x.shape, x.dtype))
    return np.asarray(p.bind(2.0)), str(jax.make_jaxpr(p.bind)(jnp.ones(2))), repr(p), p.name


@pytest.mark.parametrize(
    "name", [n.split() for n in Path(__file__).with_name("names.txt").read_text().splitlines()]
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_names(name):
    where, what = name
    assert hasattr(importlib.import_module("jitney" + where.removeprefix("jax")), what)


def test_deprecated_names_of_core_warn():
    with pytest.warns(DeprecationWarning, match="jax.core.valid_jaxtype"):
        assert jitney.core.valid_jaxtype(1)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = jitney.core.nonsense


# --- shardings ----------------------------------------------------------------------------------


@same
def partition_specs(jax, jnp):
    P = jax.P
    return (repr(P()), repr(P("x", None, ("a", "b"))), P("x") == P("x"), P("x", None) == P("x"),
            hash(P("x")) == hash(P("x")), len(P("x", None)), P("x")[0], tuple(P("x", "y")),
            repr(P("x") + P("y")), repr(P(P.UNCONSTRAINED)), repr(P(None)), P("x").partitions,
            repr(P(("x",))), repr(P("x", unreduced={"y"})), P("x").index("x"), P("x").count("y"),
            )  # fmt: skip


@same
def meshes(jax, jnp):
    m = jax.sharding.Mesh(np.array(jax.devices()), ("x",))
    n = jax.make_mesh((1, 1), ("x", "y"))
    return (repr(m), dict(m.shape), m.axis_names, m.size, repr(m.axis_types), m.axis_sizes,
            m == jax.sharding.Mesh(jax.devices(), "x"), m.empty, repr(n), m.shape_tuple,
            m.are_all_axes_auto, repr(jax.sharding.AbstractMesh((2,), ("x",))), str(m.device_ids),
            repr(jax.sharding.get_mesh()), repr(jax.sharding.get_abstract_mesh()))  # fmt: skip


@same
def types_of_the_axes_of_meshes(jax, jnp):
    kinds = [jax.sharding.AxisType[n] for n in ("Auto", "Explicit", "Manual")]
    asked = """are_all_axes_auto are_all_axes_explicit are_all_axes_manual _any_axis_auto
        _any_axis_explicit _any_axis_manual _any_axis_auto_or_manual _are_all_axes_auto_or_manual
        _name_to_type"""
    rows = [types for n in range(3) for types in itertools.product(kinds, repeat=n)]
    meshes = [jax.sharding.AbstractMesh((2, 2)[: len(t)], ("x", "y")[: len(t)], t) for t in rows]
    meshes.append(jax.sharding.Mesh(jax.devices(), "x"))
    return [[repr(getattr(m, name)) for name in asked.split()] for m in meshes]


@same
def mesh_of_wrong_rank(jax, jnp):
    return jax.sharding.Mesh(jax.devices(), ("x", "y"))


@same
def mesh_too_large(jax, jnp):
    return jax.make_mesh((2,), ("x",))


@same
def named_shardings(jax, jnp):
    m = jax.sharding.Mesh(jax.devices(), "x")
    s = jax.NamedSharding(m, jax.P("x"))
    single = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    return (repr(s), repr(s.spec), s.shard_shape((4, 2)), s.is_fully_replicated, s.num_devices,
            s == jax.NamedSharding(m, jax.P("x")), s.memory_kind, s.is_equivalent_to(single, 1),
            repr(single), single == jax.sharding.SingleDeviceSharding(jax.devices()[0]),
            str(s.devices_indices_map((4,))), single.is_fully_addressable)  # fmt: skip


@same
def named_sharding_without_axis(jax, jnp):
    return jax.NamedSharding(jax.sharding.Mesh(jax.devices(), "x"), jax.P("y"))


@same
def placing(jax, jnp):
    s = jax.NamedSharding(jax.sharding.Mesh(jax.devices(), "x"), jax.P("x"))
    x = jax.device_put(jnp.arange(4), s)
    tree = jax.device_put({"a": x, "b": 1}, {"a": s, "b": None})
    with jax.set_mesh(s.mesh):
        y = jax.device_put(x, jax.P("x"))
    return (x, repr(x.sharding), x.committed, tree, tree["b"].committed, repr(y.sharding),
            jnp.ones(2).committed, repr(jnp.ones(2).sharding), x.devices() == set(jax.devices()),
            jax.lax.with_sharding_constraint(x, s), x.to_device(jax.devices()[0]).committed,
            jax.jit(lambda v: jax.lax.with_sharding_constraint(v, s) + 1)(x),
            jax.make_array_from_callback((3,), s, lambda i: np.arange(3)[i]))  # fmt: skip


@same
def placing_without_mesh(jax, jnp):
    return jax.device_put(jnp.arange(4), jax.P("x"))


@same
def placing_nowhere(jax, jnp):
    return jax.device_put(jnp.arange(4), "cpu:0")


@same
def devices(jax, jnp):
    d = jax.devices()[0]
    return (repr(d), str(d), d.platform, d.id, d.device_kind, d.process_index, jax.device_count(),
            jax.local_devices() == jax.devices(), jax.default_backend(), jax.process_count(),
            jax.devices("cpu") == [d], d.client.platform)  # fmt: skip


@same
def no_such_backend(jax, jnp):
    return jax.devices("gpu")


def test_shardings_are_pickled():
    s = jitney.sharding.SingleDeviceSharding(jitney.devices()[0])
    assert pickle.loads(pickle.dumps(s)) == s
    n = jitney.NamedSharding(jitney.sharding.Mesh(jitney.devices(), "x"), jitney.P("x"))
    assert pickle.loads(pickle.dumps(n)) == n


# --- the rest -----------------------------------------------------------------------------------


def test_live_arrays():
    x = jitney.numpy.arange(17)
    assert any(y is x for y in jitney.live_arrays())
    x.delete()
    assert not any(y is x for y in jitney.live_arrays())


def test_environment_info(capsys):
    text = jitney.print_environment_info(return_string=True)
    assert "numpy" in text and "device" in text
    assert jitney.print_environment_info() is None
    assert capsys.readouterr().out.strip() == text


def test_names_of_primitives_and_classes():
    def named(j):
        importlib.import_module(f"{j.__name__}.interpreters.ad")
        primitives = importlib.import_module(f"{j.__name__}.extend.core.primitives")
        hijax = importlib.import_module(f"{j.__name__}.experimental.hijax")
        names = ("remat_p", "remat2_p", "linear_solve_p", "custom_linear_solve_p", "add_jaxvals_p")
        found = [str(getattr(primitives, name, None)) for name in names]
        return found, hijax.Zero is j.interpreters.ad.Zero, j.empty_ref is j.ref.empty_ref

    ours, theirs = of_both(named)
    assert ours == theirs


@pytest.mark.parametrize("case", same.all, ids=same.ids)
def test_same(case):
    check(case)
