"""Collectives over four devices, each with its derivatives, beside what NumPy makes of all parts.

Run by `tests/api/test_meshes.py` in a process of its own; raises an AssertionError where they differ.
"""

from __future__ import annotations

import os

os.environ["JAX_NUM_CPU_DEVICES"] = "4"

import numpy as np

import jitney as jax
import jitney.numpy as jnp
from jitney import lax

P = jax.P
mesh = jax.make_mesh((4,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
x = np.random.default_rng(0).normal(size=(4, 4, 2)).astype(np.float32)  # parts: (1, 4, 2)
pairs = [[0, 2], [1, 3]]
ring = [(i, (i + 1) % 4) for i in range(4)]
partly = [(0, 3), (2, 1)]


def permuted(parts, pairs):
    out = np.zeros_like(parts)
    for source, target in pairs:
        out[target] = parts[source]
    return out


def in_pairs(f):
    """`f` of the parts of each group."""

    def model(parts):
        out = [None] * 4
        for group in pairs:
            for k, part in zip(group, f(parts[group]), strict=True):
                out[k] = part
        return np.stack(out)

    return model


def everywhere(value):
    return lambda parts: np.stack([value(parts)] * len(parts))


total = everywhere(lambda parts: parts.sum(0))

reverse = [(b, a) for a, b in ring]


def sent_and_received(part, pairs):
    return lax.precv(lax.psend(part, "i", pairs), part, "i", pairs)


def both_ways(part):
    there, again = lax.psend(part, "i", ring), lax.psend(2 * part, "i", reverse)
    there, again = lax.optimization_barrier((there, again))
    received = lax.precv(again, jax.ShapeDtypeStruct(part.shape, part.dtype), "i", reverse)
    return lax.precv(there, part, "i", ring) - received


# name -> (of one device's part [4, 2], of all parts [4, 4, 2], whether it has derivatives, which are
# linear; None: it has none, but batches)
CASES = {
    "psum": (lambda p: lax.psum(p, "i"), total, True),
    "pmean": (lambda p: lax.pmean(p, "i"), lambda parts: total(parts) / 4, True),
    "pmax": (lambda p: lax.pmax(p, "i"), everywhere(lambda parts: parts.max(0)), False),
    "pmin": (lambda p: lax.pmin(p, "i"), everywhere(lambda parts: parts.min(0)), False),
    "all_gather": (lambda p: lax.all_gather(p, "i"), everywhere(lambda parts: parts), True),
    "all_gather tiled": (
        lambda p: lax.all_gather(p, "i", axis=1, tiled=True),
        everywhere(lambda parts: np.concatenate(parts, 1)), True,
    ),
    "all_gather of one value": (
        lambda p: lax.all_gather(p, "i", axis=1, to="invarying"),
        everywhere(lambda parts: parts.swapaxes(0, 1)), True,
    ),
    "psum_scatter": (lambda p: lax.psum_scatter(p, "i"), lambda parts: parts.sum(0), True),
    "psum_scatter tiled": (
        lambda p: lax.psum_scatter(p, "i", tiled=True), lambda parts: parts.sum(0)[:, None], True,
    ),
    "all_to_all": (
        lambda p: lax.all_to_all(p, "i", 0, 0), lambda parts: parts.swapaxes(0, 1), True,
    ),
    "all_to_all tiled": (
        lambda p: lax.all_to_all(p, "i", 0, 1, tiled=True),
        lambda parts: parts.transpose(1, 0, 2).reshape(4, 1, 8), True,
    ),
    "ppermute": (lambda p: lax.ppermute(p, "i", ring), lambda parts: permuted(parts, ring), True),
    "ppermute of some": (
        lambda p: lax.ppermute(p, "i", partly), lambda parts: permuted(parts, partly), True,
    ),
    "pshuffle": (lambda p: lax.pshuffle(p, "i", [3, 1, 0, 2]), lambda parts: parts[[3, 1, 0, 2]], True),
    "psend and precv": (
        lambda p: sent_and_received(p, ring), lambda parts: permuted(parts, ring), None,
    ),
    "psend and precv of some": (
        lambda p: sent_and_received(p, partly), lambda parts: permuted(parts, partly), None,
    ),
    "two at once": (
        both_ways, lambda parts: permuted(parts, ring) - 2 * permuted(parts, reverse), None,
    ),
    "axis_index": (
        lambda p: p * lax.axis_index("i"), lambda parts: parts * np.arange(4)[:, None, None], True,
    ),
    "psum in groups": (
        lambda p: lax.psum(p, "i", axis_index_groups=pairs), in_pairs(total), True,
    ),
    "all_gather in groups": (
        lambda p: lax.all_gather(p, "i", axis_index_groups=pairs),
        in_pairs(everywhere(lambda parts: parts)), True,
    ),
    "psum_scatter in groups": (
        lambda p: lax.psum_scatter(p, "i", axis_index_groups=pairs, tiled=True),
        in_pairs(lambda parts: parts.sum(0).reshape(2, 2, 2)), True,
    ),
}  # fmt: skip


def close(found, wanted, what):
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=2e-5, atol=2e-5, err_msg=what)


for name, (body, model, linear) in CASES.items():
    for checked in (False, True):
        if checked and "groups" in name:
            continue  # whether their results vary is not known

        def one(p, body=body):
            return body(p[0])[None]

        def whole(v, one=one, checked=checked):
            return jax.shard_map(
                one, mesh=mesh, in_specs=P("i"), out_specs=P("i"), check_vma=checked
            )(v)  # fmt: skip

        wanted = model(x)
        what = f"{name}, check_vma={checked}"
        if not linear:
            close(whole(x), wanted, what)
            if linear is None:
                both = jax.jit(jax.vmap(whole, 1, 1))(jnp.stack([x, np.sin(x)], 1))
                close(both, np.stack([wanted, model(np.sin(x))], 1), f"{what}: vmap")
            continue
        tangent = np.sin(x)
        cotangent = np.cos(np.arange(wanted.size, dtype=np.float32)).reshape(wanted.shape)

        @jax.jit
        def derivatives(v, dv, ct, whole=whole):
            out, d_out = jax.jvp(whole, (v,), (dv,))
            (back,) = jax.vjp(whole, v)[1](ct)
            return out, d_out, back, jax.vmap(whole, 1, 1)(jnp.stack([v, dv], 1))

        found, d_found, back, batched = derivatives(x, tangent, cotangent)
        close(found, wanted, what)
        close(d_found, model(tangent), f"{what}: jvp")
        # <ct, f(dx)> = <transpose(ct), dx> for all directions along an axis of ones and the tangent
        close((back * tangent).sum(), (cotangent * model(tangent)).sum(), f"{what}: transpose")
        close(batched, np.stack([wanted, model(tangent)], 1), f"{what}: vmap")

# --- ragged_all_to_all: device k sends k + j rows to device j, as far as it has them -----------------

sizes = np.array([[1, 0, 2, 1], [0, 2, 1, 0], [1, 1, 1, 1], [2, 0, 0, 1]], np.int32)
starts = np.cumsum(sizes, 1, dtype=np.int32) - sizes
targets = np.cumsum(sizes, 0, dtype=np.int32) - sizes
data = np.random.default_rng(1).normal(size=(4, 4, 3)).astype(np.float32)
outputs = np.random.default_rng(2).normal(size=(4, 5, 3)).astype(np.float32)


def sent(parts, out):
    out = out.copy()
    for k in range(4):
        for j in range(4):
            n = sizes[k, j]
            out[j, targets[k, j] : targets[k, j] + n] = parts[k, starts[k, j] : starts[k, j] + n]
    return out


def exchange(part, out, *numbers):
    found = lax.ragged_all_to_all(part[0], out[0], *[n[0] for n in numbers], axis_name="i")
    return found[None]


numbers = (starts, sizes, targets, sizes.T)
exchanged = jax.shard_map(exchange, mesh=mesh, in_specs=P("i"), out_specs=P("i"))


@jax.jit
def of_ragged(parts, out, ct):
    found, pull = jax.vjp(lambda a, b: exchanged(a, b, *numbers), parts, out)
    return found, pull(ct)


ct = np.cos(np.arange(60, dtype=np.float32)).reshape(outputs.shape)
found, (parts_ct, out_ct) = of_ragged(data, outputs, ct)
close(found, sent(data, outputs), "ragged_all_to_all")
nothing = np.zeros_like(data), np.zeros_like(outputs)
close((parts_ct * data).sum(), (ct * sent(data, nothing[1])).sum(), "ragged_all_to_all: operand")
close((out_ct * outputs).sum(), (ct * sent(nothing[0], outputs)).sum(), "ragged_all_to_all: output")

tangents = np.cos(data), np.sin(outputs)


@jax.jit
def forwards_and_batched(parts, out, d_parts, d_out):
    both = jnp.stack([parts, d_parts], 1), jnp.stack([out, d_out], 1)
    each = np.stack([sizes, sizes], 1)  # rows of a batch may have numbers of their own
    others = [np.stack([n, n], 1) for n in numbers]
    f = lambda a, b: exchanged(a, b, *numbers)  # noqa: E731
    return (
        jax.jvp(f, (parts, out), (d_parts, d_out))[1],
        jax.jvp(lambda a: f(a, out), (parts,), (d_parts,))[1],
        jax.vmap(f, 1, 1)(*both),
        jax.vmap(exchanged, 1, 1)(*both, *others[:1], each, *others[2:]),
    )


d_all, d_part, batch, own = forwards_and_batched(data, outputs, *tangents)
close(d_all, sent(*tangents), "ragged_all_to_all: jvp")
close(d_part, sent(tangents[0], nothing[1]), "ragged_all_to_all: jvp of the operand")
rows = np.stack([sent(data, outputs), sent(*tangents)], 1)
close(batch, rows, "ragged_all_to_all: vmap")
close(own, rows, "ragged_all_to_all: vmap with numbers of its own")
unchecked = jax.shard_map(exchange, mesh=mesh, in_specs=P("i"), out_specs=P("i"), check_vma=False)
close(
    jax.jit(unchecked)(data, outputs, *numbers), sent(data, outputs), "ragged_all_to_all: no types"
)

# --- what is sent and received ------------------------------------------------------------------------


def alone(part):
    return lax.precv(lax.create_token(), part, "i", ring)


def of_another_shape(part):
    return lax.precv(lax.psend(part, "i", ring), part[0], "i", ring)


def in_a_loop(part):
    return lax.fori_loop(0, 3, lambda _, p: sent_and_received(p, ring), part)


for wrong, why in ((alone, "there is no matching psend"), (of_another_shape, "must receive")):
    try:
        jax.jit(jax.shard_map(wrong, mesh=mesh, in_specs=P("i"), out_specs=P("i")))(x)
        raise AssertionError(why)
    except ValueError as error:
        assert why in str(error), error
looped = jax.jit(jax.shard_map(in_a_loop, mesh=mesh, in_specs=P("i"), out_specs=P("i")))
close(looped(x), permuted(permuted(permuted(x, ring), ring), ring), "psend in a loop")

# --- errors: they reach the caller, and the next call works ------------------------------------------


def fails(v):
    if v > 2:
        raise RuntimeError("too large")
    return v


@jax.jit
def calls(v):
    return jax.shard_map(
        lambda p: jax.pure_callback(fails, p[0], p[0])[None], mesh=mesh, in_specs=P("i"),
        out_specs=P("i"),
    )(v)  # fmt: skip


for _ in range(2):
    try:
        jax.block_until_ready(calls(np.arange(4.0, dtype=np.float32)))
        raise AssertionError("the error of a device is lost")
    except Exception as error:  # which class is not the matter
        assert "too large" in str(error), error
    np.testing.assert_array_equal(calls(np.ones(4, np.float32)), np.ones(4))
print("done")
