"""Programs of operations that take functions, axes or keys, and of linear algebra.

Their values are compared with JAX's where these operations have tests of their own; here they are
there for their rules: `test_rules_run` puts them through every transformation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jitney
import jitney.ref
from jitney.experimental import multihost_utils
from jitney.experimental.checkify import debug_check
from jitney.primitives.array.annotations import stage_p
from jitney.primitives.array.metadata import xla_metadata_value_p
from jitney.primitives.call.function_call import call_p, closed_call_p
from jitney.primitives.linalg.factorizations import geqrf_p
from jitney.primitives.linalg.linear_systems import ormqr_p
from jitney.primitives.random.threefry import threefry2x32_p
from jitney.sharding import NamedSharding, PartitionSpec, SingleDeviceSharding

Program = Callable[..., Any]

RNG = np.random.default_rng(5)
V = RNG.normal(size=4)
M = RNG.normal(size=(3, 3)) + 4 * np.eye(3)
S = M @ M.T
IMAGE = RNG.normal(size=(4, 5))
SHARDING = SingleDeviceSharding(jitney.devices()[0])
MESH = jitney.make_mesh((1,), ("i",))
KEY = np.array([3, 7], np.uint32)


def with_other_tangents(jax: Any, x: Any) -> Any:
    dtype = jax.experimental.primal_tangent_dtype(x.dtype, x.dtype)
    return jax.lax.convert_element_type(jax.lax.convert_element_type(x, dtype), x.dtype)


def over_axis(body: Program) -> Program:
    """`body(jax, row)` over rows, whose axis is named; its program and its derivatives, too."""

    def call(jax: Any, x: Any) -> Any:
        def one(row: Any) -> Any:
            traced = jax.jit(lambda r: body(jax, r))
            out, pull = jax.vjp(traced, row)
            series = jax.experimental.jet.jet(traced, (row,), ((row, row),))
            return body(jax, row), jax.jvp(traced, (row,), (row,)), pull(out), series

        return jax.vmap(one, axis_name="i")(x)

    return call


def moved_to_the_mesh_and_back(jax: Any, x: Any) -> Any:
    """Parts of processes as one array, and this one's part of it."""
    spec = PartitionSpec("i")
    whole = multihost_utils.host_local_array_to_global_array(x, MESH, spec)
    return multihost_utils.global_array_to_host_local_array(whole * whole, MESH, spec) * x


def over_mesh(jax: Any, x: Any) -> Any:
    """Over a mesh of one device: types say what varies, and a result is not used."""

    def body(part: Any) -> Any:
        whole = jax.lax.psum(part * part, "i")
        return jax.numpy.sin(part) * whole, part

    def first(v: Any) -> Any:
        spec = jax.P("i")
        return jax.shard_map(body, mesh=MESH, in_specs=spec, out_specs=spec)(v)[0]

    _, pull = jax.vjp(jax.jit(first), x)
    return first(x), pull(x)


def gathered(jax: Any, x: Any) -> Any:
    """What all devices have is no part of theirs: its type does not vary."""
    f = jax.shard_map(
        lambda part: jax.lax.all_gather(part, "i", to="invarying"), mesh=MESH, in_specs=jax.P("i"),
        out_specs=jax.P(),
    )  # fmt: skip
    return f(x)


def summed(jax: Any, x: Any) -> Any:
    """Terms of a sum, which is taken, and whose parts are taken and gathered."""
    lax = jax.lax

    def body(part: Any) -> Any:
        terms = lax.pcast(part, "i", to="unreduced")
        parts = lax.psum_scatter(terms, "i", tiled=True)
        total = lax.pcast(lax.psum(terms, "i"), "i", to="reduced")
        gathered = lax.all_gather(parts, "i", to="reduced", tiled=True)
        return lax.pcast(total + gathered, "i", to="varying")

    spec = jax.P("i")
    return jax.shard_map(body, mesh=MESH, in_specs=spec, out_specs=spec)(x)


def sent(jax: Any, x: Any) -> Any:
    def body(part: Any) -> Any:
        token = jax.lax.psend(part, "i", [(0, 0)])
        return jax.lax.precv(token, part, "i", [(0, 0)])

    spec = jax.P("i")
    return jax.shard_map(body, mesh=MESH, in_specs=spec, out_specs=spec)(x)


def exchanged(jax: Any, x: Any) -> Any:
    def body(part: Any) -> Any:
        numbers = [jax.numpy.array([k]) for k in (1, 2, 0, 2)]
        return jax.lax.ragged_all_to_all(part, 2 * part, *numbers, axis_name="i")

    spec = jax.P("i")
    return jax.shard_map(body, mesh=MESH, in_specs=spec, out_specs=spec)(x)


def scaled(jax: Any, x: Any) -> Any:
    factors = jax.numpy.arange(1.0, 4)
    return jax.custom_derivatives.linear_call(lambda r, y: r * y, lambda r, ct: r * ct, factors, x)


def branches(jax: Any, x: Any) -> Any:
    return jax.lax.cond(x.sum() > 0, lambda y: y * y, lambda y: jax.numpy.sin(y), x)


def scanned(jax: Any, x: Any) -> Any:
    return jax.lax.scan(lambda c, y: (c * y + 1, c), x[0], x)


def with_tokens(jax: Any, x: Any) -> Any:
    def step(x: Any) -> Any:
        return jax.lax.after_all(jax.lax.create_token(x)), x * x

    return jax.jit(lambda x: step(x)[1])(x) + step(x)[1]


def at_largest(jax: Any, x: Any) -> Any:
    choose, combine = (jax.make_jaxpr(f)(x[0, 0], x[0, 0]).jaxpr for f in (jax.lax.ge, jax.lax.add))
    return jax.lax.select_and_scatter_p.bind(
        x, x[:3, :4], x[0, 0], select_jaxpr=choose, select_consts=(), scatter_jaxpr=combine,
        scatter_consts=(), window_dimensions=(2, 2), window_strides=(1, 1), padding=((0, 0), (0, 0)),
    )  # fmt: skip


def repeated(jax: Any, x: Any) -> Any:
    return jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * c[1]), (0, x))[1]


def custom_jvp(jax: Any, x: Any) -> Any:
    f = jax.custom_jvp(lambda y: jax.numpy.sin(y))
    f.defjvp(lambda primals, tangents: (f(*primals), jax.numpy.cos(primals[0]) * tangents[0]))
    return f(x)


def linear_custom_jvp(jax: Any, x: Any) -> Any:
    """The transpose of a linear function that has a rule of its own."""
    f = jax.custom_jvp(lambda y: 3 * y)
    f.defjvp(lambda primals, tangents: (f(*primals), 3 * tangents[0]))
    return jax.linear_transpose(f, x)(x)[0]


def custom_vjp(jax: Any, x: Any) -> Any:
    f = jax.custom_vjp(lambda y: jax.numpy.sin(y))
    f.defvjp(lambda y: (jax.numpy.sin(y), y), lambda y, ct: (jax.numpy.cos(y) * ct,))
    return f(x)


def custom_vjp_derivatives(jax: Any, x: Any) -> Any:
    def traced(y: Any) -> Any:
        return jax.jit(lambda z: custom_vjp(jax, z))(y)

    _, linear = jax.linearize(traced, x)
    return jax.grad(lambda y: traced(y).sum())(x), linear(x)


def pruned_users_functions(jax: Any, x: Any) -> Any:
    """Functions with rules of their own, of whose results one is wanted."""
    two = jax.custom_jvp(lambda y: (jax.numpy.sin(y), jax.numpy.cos(y)))

    def jvp(primals: Any, tangents: Any) -> Any:
        s, c = outs = two(*primals)
        return outs, (c * tangents[0], -s * tangents[0])

    two.defjvp(jvp)
    other = jax.custom_vjp(lambda y: (jax.numpy.sin(y), y * y))
    other.defvjp(
        lambda y: (other(y), y), lambda y, cts: (jax.numpy.cos(y) * cts[0] + 2 * y * cts[1],)
    )
    closed = jax.make_jaxpr(lambda y: other(two(y)[0]))(x)
    pruned, _ = jax.interpreters.partial_eval.dce_jaxpr(closed.jaxpr, [False, True])
    return jax.core.eval_jaxpr(pruned, closed.consts, x)


def mapped_users_functions(jax: Any, x: Any) -> Any:
    """A function with a rule of its own for batches."""
    f = jax.custom_batching.custom_vmap(lambda y: jax.numpy.sin(y))
    f.def_vmap(lambda size, is_mapped, y: (jax.numpy.sin(y), is_mapped[0]))
    return f(x), jax.vmap(f)(x), jax.jit(lambda y: jax.linearize(f, y)[1](y))(x)


def optimized_remat(jax: Any, x: Any) -> Any:
    """The rules' first half in place of the function, in a program of its own."""
    f = jax.custom_vjp(lambda y: jax.numpy.sin(y))
    f.defvjp(
        lambda y: (jax.numpy.sin(y), y),
        lambda y, ct: (jax.numpy.cos(y) * ct,),
        optimize_remat=True,
    )

    def of(y: Any) -> Any:
        return jax.jit(jax.checkpoint(lambda z: f(z) * f(z)))(y)

    out, pull = jax.vjp(of, x)
    each = jax.vmap(jax.grad(lambda y: jax.jit(f)(y)))(x)
    return out, pull(out), jax.linearize(of, x)[1](x), jax.jit(f)(x), each


def solved(jax: Any, b: Any) -> Any:
    a = jax.numpy.asarray(S)

    def solve(_: Any, rhs: Any) -> Any:
        return jax.numpy.linalg.solve(a, rhs)

    return jax.lax.custom_linear_solve(lambda v: a @ v, b, solve, symmetric=True)


def gamma(jax: Any, a: Any) -> Any:
    key = jax.random.wrap_key_data(KEY)
    return jax.random.gamma(key, a, dtype=a.dtype), jax.random.gamma(key, a, dtype="float32")


def key_bits(jax: Any, data: Any) -> Any:
    key = jax.random.wrap_key_data(data)
    key, other = jax.random.split(jax.random.clone(jax.random.fold_in(key, 3)))
    return jax.random.bits(key, (3,)), jax.random.key_data(other)


def least_window(jax: Any, x: Any) -> Any:
    lax = jax.lax
    return [
        lax.reduce_window(x, -np.inf, lax.max, (2, 2), (1, 2), "VALID"),
        lax.reduce_window(x, np.inf, lax.min, (2, 2), (1, 1), "SAME"),
        lax.reduce_window(x, 0.0, lax.add, (2, 1), (1, 1), "VALID"),
        lax.reduce_window(x, 1.0, lax.mul, (2, 1), (1, 1), "VALID"),
    ]


def triangular(jax: Any, a: Any, b: Any) -> Any:
    return jax.lax.linalg.triangular_solve(a, b, left_side=True, lower=True)


def tridiagonal(jax: Any, x: Any) -> Any:
    x = jax.numpy.asarray(x)
    low, high = x.at[0].set(0.0), x.at[-1].set(0.0)
    return jax.lax.linalg.tridiagonal_solve(low, 8 + x * x, high, x[:, None])


def called(jax: Any, x: Any) -> Any:
    """Calls of Python functions."""
    x = jax.numpy.asarray(x)
    jax.debug.callback(lambda y: None, x)
    jax.debug.print("{}", x)
    jax.experimental.io_callback(lambda y: None, None, x)
    like = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.pure_callback(np.sin, like, jax.lax.stop_gradient(x), vmap_method="sequential")


def unused(jax: Any, x: Any) -> Any:
    """Unused results, in all operations that have programs."""

    def both(y: Any) -> Any:
        return y + 1, y * 2

    def inner(y: Any) -> Any:
        a, _ = jax.lax.cond(y.sum() > 0, both, both, y)
        (b, _), _ = jax.lax.scan(lambda c, z: ((c[0] + z, c[1] * z), z), (y[0], y[1]), y)
        c, _ = jax.jit(both)(y)
        d, _ = jax.checkpoint(both)(y)
        return a + b + c + d

    return jax.checkpoint(inner)(x)


def factors(name: str, **options: Any) -> Program:
    return lambda jax, *xs: getattr(jax.lax.linalg, name)(*xs, **options)


def reflected(jax: Any, x: Any) -> Any:
    a, taus = geqrf_p.bind(x)
    return jax.lax.linalg.householder_product(a, taus), ormqr_p.bind(
        a, taus, x, left=True, transpose=False
    )


def called_by(prim: Any) -> Program:
    """A function whose call stays a call of `prim` in programs."""

    def run(jax: Any, x: Any) -> Any:
        program = jax.make_jaxpr(lambda y: (jax.numpy.sin(y) * y, y * 2))(x)
        return (
            jax.checkpoint(lambda y: prim.call(program, [y], {})[0])(x)
            + prim.call(program, [x], {})[1]
        )

    return run


def checks_in_vain(jax: Any, x: Any) -> Any:
    """A check whose results are unused."""
    debug_check((x < 0).all(), "{} is not negative", x)
    return x * x


def references(jax: Any, x: Any) -> Any:
    def f(y: Any) -> Any:
        a, b = jax.new_ref(y), jax.ref.empty_ref(jax.ShapeDtypeStruct(y.shape, y.dtype))
        b[...] = y * y
        a[0] = b[1]
        jax.ref.addupdate(a, 1, y[2] * a[0])
        jax.free_ref(b)
        return jax.freeze(a) * a[0]

    def twice(y: Any) -> Any:
        return jax.jvp(lambda z: jax.jvp(f, (z,), (z,))[1], (y,), (y,))

    return f(x), twice(x), jax.vmap(twice)(x[None])


def laid_out(jax: Any, x: Any) -> Any:
    from jitney.experimental import layout

    return layout.with_layout_constraint(x, layout.Layout((0,))) * x


def in_a_layout(jax: Any, x: Any) -> Any:
    from jitney.experimental import layout

    f = layout.explicit_layout(lambda y: y * y, in_layouts=layout.Layout((0,)))
    return f(x) * x


def in_order(jax: Any, x: Any) -> Any:
    """A call that keeps an order, of whose results one is wanted, and whose first part is known."""
    from jitney.experimental.overlap import program_order

    f = program_order(lambda y: (jax.numpy.sin(y) * y, y), enforce=True)
    return pruned_call(jax, f, x) + f(x)[0]


def in_one_kernel(jax: Any, x: Any) -> Any:
    from jitney.experimental.fused import fused

    f = fused(out_spaces=[jax.memory.Space.Device] * 2)(lambda y: (jax.numpy.sin(y) * y, y))
    return pruned_call(jax, f, x) + f(x)[0]


def alike(jax: Any, x: Any) -> Any:
    from jitney.experimental.shard_alike import shard_alike

    one, other = shard_alike(x, x * x)
    return one * other


def in_a_group(jax: Any, x: Any) -> Any:
    """A call with attributes, of whose results one is wanted, and whose first part is known."""
    from jitney.experimental.scheduling_groups import scheduling_group

    f = scheduling_group("first")(lambda y: (jax.numpy.sin(y) * y, y))
    return pruned_call(jax, f, x) + f(x)[0]


def pruned_call(jax: Any, f: Any, x: Any) -> Any:
    """The first result of `f(x)`, by a program that computes no other."""
    closed = jax.make_jaxpr(f)(x)
    pruned, _ = jax.interpreters.partial_eval.dce_jaxpr(closed.jaxpr, [True, False])
    return jax.core.eval_jaxpr(pruned, closed.consts, x)[0]


PROGRAMS: dict[str, tuple[Program, tuple[Any, ...]]] = {
    "layout_constraint": (laid_out, (V,)),
    "relayout": (in_a_layout, (V,)),
    "program_order": (in_order, (V,)),
    "fused_call": (in_one_kernel, (V,)),
    "log2": (lambda j, x: j.lax.log2(x * x), (V,)),
    "polynomial": (lambda j, x, y: j.lax.polynomial(x, (y, y, 1.0)), (V, V)),
    "tanh": (lambda j, x: j.lax.tanh(x), (V,)),
    "one_minus_square": (
        lambda j, x: j.jit(j.vmap(j.lax.one_minus_square))(x), (V,),
    ),
    "shard_alike": (alike, (V,)),
    "xla_metadata_call": (in_a_group, (V,)),
    "call": (called_by(call_p), (V,)),
    "references": (references, (V,)),
    "check": (checks_in_vain, (V,)),
    "closed_call": (called_by(closed_call_p), (V,)),
    "cond": (branches, (V,)),
    "scan": (scanned, (V,)),
    "while": (repeated, (V / 4,)),
    "remat": (lambda jax, x: jax.checkpoint(lambda y: jax.numpy.sin(jax.numpy.sin(y)))(x), (V,)),
    "pruned_users_functions": (pruned_users_functions, (V,)),
    "mapped_users_functions": (mapped_users_functions, (V,)),
    "custom_jvp": (custom_jvp, (V,)),
    "custom_vjp": (custom_vjp, (V,)),
    "linear_custom_jvp": (linear_custom_jvp, (V,)),
    "custom_vjp_derivatives": (custom_vjp_derivatives, (V,)),
    "optimized_remat": (optimized_remat, (V,)),
    "batched_backward_rule": (
        lambda jax, x: jax.vmap(jax.linearize(lambda y: custom_vjp(jax, y), x)[1])(x[None]), (V,),
    ),
    "custom_linear_solve": (solved, (V[:3],)),
    "linear_call": (scaled, (V[:3],)),
    "name": (lambda jax, x: jax.ad_checkpoint.checkpoint_name(x * x, "square"), (V,)),
    "stop_gradient": (lambda jax, x: x * jax.lax.stop_gradient(x), (V,)),
    "copy": (lambda jax, x: jax.numpy.copy(x) * x, (V,)),
    "device_put": (lambda jax, x: jax.device_put(x) * x, (V,)),
    "empty": (lambda jax, x: jax.lax.full_like(x, 0) + 0 * jax.lax.empty((4,), x.dtype), (V,)),
    "psum": (over_axis(lambda jax, x: x * jax.lax.psum(x, "i")), (IMAGE,)),
    "pmax": (over_axis(lambda jax, x: jax.lax.pmax(jax.lax.stop_gradient(x), "i")), (IMAGE,)),
    "pmin": (over_axis(lambda jax, x: jax.lax.pmin(jax.lax.stop_gradient(x), "i")), (IMAGE,)),
    "all_gather": (over_axis(lambda jax, x: jax.lax.all_gather(x, "i") * x), (IMAGE,)),
    "all_to_all": (
        over_axis(lambda jax, x: jax.lax.all_to_all(x[:4], "i", 0, 0)), (IMAGE,),
    ),
    "ppermute": (
        over_axis(lambda jax, x: jax.lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 0)])), (IMAGE,),
    ),
    "pbroadcast": (over_axis(lambda jax, x: jax.lax.pbroadcast(x, "i", 1)), (IMAGE,)),
    "psum_scatter": (over_axis(lambda jax, x: jax.lax.psum_scatter(x[:4], "i")), (IMAGE,)),
    "axis_index": (over_axis(lambda jax, x: x * jax.lax.axis_index("i")), (IMAGE,)),
    "random": (key_bits, (KEY,)),
    "random_gamma": (gamma, (np.abs(V) + 1,)),
    "random_seed": (lambda jax, n: jax.random.key_data(jax.random.key(n)), (np.int32(7),)),
    "reduce_window": (least_window, (IMAGE,)),
    "cholesky": (lambda jax, x: jax.lax.linalg.cholesky(x @ x.T), (M,)),
    "eigh": (lambda jax, x: jax.lax.linalg.eigh(x @ x.T)[1], (M,)),
    "eig": (lambda jax, x: jax.lax.linalg.eig(x, compute_left_eigenvectors=False)[0], (M,)),
    "lu": (lambda jax, x: jax.lax.linalg.lu(x)[0], (M,)),
    "lu_pivots": (
        lambda jax, x: jax.lax.linalg.lu_pivots_to_permutation(jax.lax.linalg.lu(x)[1], 3), (M,),
    ),
    "callbacks": (called, (V,)),
    "all_gather_invariant": (gathered, (V,)),
    "shard_map": (over_mesh, (V,)),
    "moves between processes": (moved_to_the_mesh_and_back, (V,)),
    "sums over a mesh": (summed, (V,)),
    "psend and precv": (sent, (V,)),
    "ragged_all_to_all": (exchanged, (V,)),
    "unused": (unused, (V,)),
    "rng_bit_generator": (
        lambda jax, key: jax.lax.rng_bit_generator(key, (3,)), (np.array([1, 2, 3, 4], np.uint32),),
    ),
    # Between equal bounds the draw is known.
    "rng_uniform": (lambda jax, x: jax.lax.rng_uniform(x, x, (3,)), (np.array(2.5),)),
    "threefry2x32": (
        lambda jax, a, b: threefry2x32_p.bind(a, b, a, b), (KEY, KEY + 1),
    ),
    "reshard": (
        lambda jax, x: jax.reshard(x, NamedSharding(MESH, PartitionSpec("i"))) * x, (V,),
    ),
    "sharding_constraint": (
        lambda jax, x: jax.lax.with_sharding_constraint(x, SHARDING) * x, (V,),
    ),
    "tokens": (with_tokens, (V,)),
    "dce_sink": (lambda jax, x: (x * x, jax.lax.dce_sink(jax.numpy.sin(x)))[0], (V,)),
    "inspect_sharding": (
        lambda jax, x: (
            x * x, jax.debug.inspect_array_sharding(jax.numpy.sin(x), callback=lambda _: None),
        )[0], (V,),
    ),
    "xla_metadata_value": (
        lambda jax, x: xla_metadata_value_p.bind(x, xla_metadata_kvs=(("a", 1),)) * x, (V,),
    ),
    "composite": (lambda jax, x: jax.lax.composite(lambda y: y * y, "square")(x), (V,)),
    "select_and_scatter": (at_largest, (IMAGE,)),
    "stage": (lambda jax, x: stage_p.bind(x) * x, (V,)),
    "platform": (
        lambda jax, x: jax.lax.platform_dependent(x, cpu=jax.numpy.sin, default=jax.numpy.cos), (V,),
    ),
    "select_and_gather_add": (
        lambda jax, x: jax.jvp(
            lambda y: jax.lax.reduce_window(y, -np.inf, jax.lax.max, (2, 2), (1, 2), "VALID"),
            (x,), (x * x,),
        ), (IMAGE,),
    ),
    "select_and_scatter_add": (
        lambda jax, x: jax.vjp(
            lambda y: jax.lax.reduce_window(y, -np.inf, jax.lax.max, (2, 2), (1, 2), "VALID"), x,
        )[1](jax.lax.slice(x, (0, 0), (3, 2))), (IMAGE,),
    ),
    "qr": (lambda jax, x: jax.lax.linalg.qr(x, full_matrices=False)[1], (M,)),
    "svd": (lambda jax, x: jax.lax.linalg.svd(x, full_matrices=False)[1], (M,)),
    "hessenberg": (factors("hessenberg"), (M,)),
    "schur": (factors("schur"), (M,)),
    "tridiagonal": (lambda jax, x: jax.lax.linalg.tridiagonal(x @ x.T)[1], (M,)),
    "reflections": (reflected, (M,)),
    "householder_product": (factors("householder_product"), (M, V[:3])),
    "ormqr": (
        lambda jax, a, taus, c: ormqr_p.bind(a, taus, c, left=True, transpose=True), (M, V[:3], M),
    ),
    "pure_callback": (
        lambda jax, x: jax.pure_callback(
            np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="sequential"
        ), (V,),
    ),
    "symmetric_product": (
        lambda jax, a, c: jax.lax.linalg.symmetric_product(a, c, symmetrize_output=True), (M, S),
    ),
    "cholesky_update": (lambda jax, r, w: jax.lax.linalg.cholesky_update(r, w), (np.triu(M), V[:3])),
    "triangular_solve": (triangular, (np.tril(M), M)),
    "tridiagonal_solve": (tridiagonal, (V,)),
    "with_other_tangents": (with_other_tangents, (V,)),
}  # fmt: skip
