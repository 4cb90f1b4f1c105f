"""The semantics of the tensor IR, defined by an interpreter on NumPy arrays.

Passes and generated code are tested against it, and constant folding uses it. It computes each node
with the functions of `compiler.reference`, which eager rules call as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitney.compiler import library, reference
from jitney.compiler.hlo import collectives, ir
from jitney.compiler.hlo.traversal import roots, topological_order
from jitney.compiler.reference import (
    collective,
    contraction,
    convolution,
    fourier,
    indexing,
    order,
    reduction,
)
from jitney.compiler.scalar_functions import lookup
from jitney.core.util import float_errors

Env = dict[ir.Node, Any]
Rule = Callable[[Any, Env], Any]

_rules: dict[type, Rule] = {}


def run(module: ir.Module, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Returns the results of the program on `inputs`."""
    with float_errors.ignored():
        return run_region(module.region, inputs)


def run_region(region: ir.Region, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Returns the results of `region` on `inputs`."""
    env: Env = dict(zip(region.parameters, inputs, strict=True))
    for node in topological_order(roots(region)):
        if node not in env:
            env[node] = evaluate(node, env)
    return [np.asarray(env[r]) for r in region.results]


def evaluate(node: ir.Node, env: Env) -> Any:
    """Returns the value of `node`, given the values of its operands in `env`.

    The value is an array, or a list of arrays for a node with several results.
    """
    value = _rules[type(node)](node, env)
    if isinstance(node.type, tuple):
        return value
    value = np.asarray(value)
    assert value.shape == node.shape and value.dtype == node.dtype, (
        f"{type(node).__name__} {node.type} evaluates to {value.dtype}{value.shape}"
    )
    return value


def rule(kind: type) -> Callable[[Rule], Rule]:
    """Registers the evaluation rule of nodes of `kind`.

    The rule takes the node and a mapping from nodes, including its operands, to their values. It
    returns an array, or a sequence of arrays for several results.
    """

    def enter(rule: Rule) -> Rule:
        _rules[kind] = rule
        return rule

    return enter


@rule(ir.Constant)
def _interpret_constant(node: ir.Constant, env: Env) -> np.ndarray:
    return node.value


@rule(ir.Iota)
def _interpret_iota(node: ir.Iota, env: Env) -> np.ndarray:
    row = np.arange(node.shape[node.dim]).astype(node.dtype)
    tail = (1,) * (len(node.shape) - node.dim - 1)
    return np.broadcast_to(row.reshape(-1, *tail), node.shape)


@rule(ir.Apply)
def _interpret_apply(node: ir.Apply, env: Env) -> np.ndarray:
    args = [env[a] for a in node.args]
    row = lookup(node.fn)
    if row.result is None:
        return row.reference(args[0], node.dtype)
    return reference.scalar.apply(node.fn, args)


@rule(ir.Broadcast)
def _interpret_broadcast(node: ir.Broadcast, env: Env) -> np.ndarray:
    inner = [1] * len(node.shape)
    for extent, dim in zip(node.x.shape, node.dims, strict=True):
        inner[dim] = extent
    return np.broadcast_to(env[node.x].reshape(inner), node.shape)


@rule(ir.Reshape)
def _interpret_reshape(node: ir.Reshape, env: Env) -> np.ndarray:
    return env[node.x].reshape(node.shape)


@rule(ir.Transpose)
def _interpret_transpose(node: ir.Transpose, env: Env) -> np.ndarray:
    return env[node.x].transpose(node.perm)


@rule(ir.Slice)
def _interpret_slice(node: ir.Slice, env: Env) -> np.ndarray:
    window = tuple(map(slice, node.starts, node.limits, node.strides))
    return env[node.x][window]


@rule(ir.Reverse)
def _interpret_reverse(node: ir.Reverse, env: Env) -> np.ndarray:
    return np.flip(env[node.x], node.dims)


@rule(ir.Pad)
def _interpret_pad(node: ir.Pad, env: Env) -> np.ndarray:
    return indexing.pad(env[node.x], env[node.value], node.low, node.high, node.interior)


@rule(ir.Concatenate)
def _interpret_concatenate(node: ir.Concatenate, env: Env) -> np.ndarray:
    return np.concatenate([env[p] for p in node.parts], axis=node.dim)


@rule(ir.Bitcast)
def _interpret_bitcast(node: ir.Bitcast, env: Env) -> np.ndarray:
    return reference.bitcast(env[node.x], node.dtype)


@rule(ir.DynamicSlice)
def _interpret_dynamic_slice(node: ir.DynamicSlice, env: Env) -> np.ndarray:
    return indexing.dynamic_slice(env[node.x], [env[s] for s in node.starts], node.sizes)


@rule(ir.DynamicUpdateSlice)
def _interpret_dynamic_update_slice(node: ir.DynamicUpdateSlice, env: Env) -> np.ndarray:
    starts = [env[s] for s in node.starts]
    return indexing.dynamic_update_slice(env[node.x], env[node.update], starts)


@rule(ir.Gather)
def _interpret_gather(node: ir.Gather, env: Env) -> np.ndarray:
    return indexing.gather(
        env[node.x], env[node.indices], node.dims, node.slice_sizes, node.mode, node.fill
    )


@rule(ir.Scatter)
def _interpret_scatter(node: ir.Scatter, env: Env) -> np.ndarray:
    combine = node.combine
    if isinstance(combine, ir.Region):
        combine = elementwise_function(combine)
    return indexing.scatter(
        env[node.x], env[node.indices], env[node.updates], node.dims, combine, node.mode
    )


def elementwise_function(region: ir.Region) -> Callable[..., np.ndarray]:
    """Returns a region of scalars with one result as a function of vectors of equal length.

    If all its nodes are elementwise, the function computes all elements at once.
    """
    nodes = topological_order(region.results)
    if all(isinstance(node, ir.Parameter | ir.Constant | ir.Apply) for node in nodes):

        def at_once(*vectors: np.ndarray) -> np.ndarray:
            env: Env = dict(zip(region.parameters, vectors, strict=True))
            for node in nodes:
                if node not in env:
                    env[node] = _rules[type(node)](node, env)
            return np.broadcast_to(env[region.results[0]], vectors[0].shape)

        return at_once

    def one_by_one(*vectors: np.ndarray) -> np.ndarray:
        results = [
            run_region(region, [np.asarray(x) for x in xs])[0] for xs in zip(*vectors, strict=True)
        ]
        return np.asarray(results, vectors[0].dtype)

    return one_by_one


@rule(ir.Reduce)
def _interpret_reduce(node: ir.Reduce, env: Env) -> np.ndarray:
    reduce = reduction.reduce_in_order if node.in_order else reduction.reduce
    return reduce(env[node.x], node.fn, node.dims)


@rule(ir.ArgReduce)
def _interpret_arg_reduce(node: ir.ArgReduce, env: Env) -> np.ndarray:
    return reduction.arg_reduce(env[node.x], node.kind, node.dim, node.dtype)


@rule(ir.ReduceRegion)
def _interpret_reduce_region(node: ir.ReduceRegion, env: Env) -> Sequence[np.ndarray]:
    xs, inits = [env[x] for x in node.xs], [env[x] for x in node.inits]
    body = node.body
    elementwise = all(
        isinstance(n, ir.Apply | ir.Constant | ir.Parameter)
        for n in topological_order(body.results)
    )
    evaluate_body = _run_scalars if elementwise else run_region
    return reduction.reduce_region(
        xs,
        inits,
        node.dims,
        lambda *args: evaluate_body(body, [np.asarray(a) for a in args]),
        elementwise,
    )


def _run_scalars(region: ir.Region, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Applies a region of scalar functions to all elements of `inputs` at once."""
    env: Env = dict(zip(region.parameters, inputs, strict=True))
    for node in topological_order(region.results):
        if node not in env:
            env[node] = _rules[type(node)](node, env)
    return [np.asarray(env[r]) for r in region.results]


@rule(ir.Cumulative)
def _interpret_cumulative(node: ir.Cumulative, env: Env) -> np.ndarray:
    return reduction.cumulative(env[node.x], node.fn, node.dim, node.reverse)


@rule(ir.Dft)
def _interpret_dft(node: ir.Dft, env: Env) -> Sequence[np.ndarray]:
    if node.of_real:
        return fourier.dft_of_real(env[node.re], node.dim)
    if node.to_real:
        return [fourier.dft_to_real(env[node.re], env[node.im], node.dim, node.to_real)]
    return fourier.dft(env[node.re], env[node.im], node.dim, node.inverse, node.normalized)


@rule(ir.Dot)
def _interpret_dot(node: ir.Dot, env: Env) -> np.ndarray:
    return contraction.dot(env[node.x], env[node.y], node.contract, node.batch, node.dtype)


@rule(ir.Convolution)
def _interpret_convolution(node: ir.Convolution, env: Env) -> np.ndarray:
    return convolution.convolution(env[node.x], env[node.w], node.dims)


@rule(ir.Sort)
def _interpret_sort(node: ir.Sort, env: Env) -> list[np.ndarray]:
    return order.sort([env[x] for x in node.xs], node.dim, node.num_keys, node.stable)


@rule(ir.TopK)
def _interpret_top_k(node: ir.TopK, env: Env) -> tuple[np.ndarray, np.ndarray]:
    return order.top_k(env[node.x], node.k, node.dim)


@rule(ir.Cond)
def _interpret_cond(node: ir.Cond, env: Env) -> list[np.ndarray]:
    index = min(max(int(env[node.index]), 0), len(node.cases) - 1)
    return run_region(node.cases[index], [env[a] for a in node.args])


@rule(ir.While)
def _interpret_while(node: ir.While, env: Env) -> list[np.ndarray]:
    carry = [env[x] for x in node.init]
    while run_region(node.cond, carry)[0]:
        carry = run_region(node.body, carry)
    return carry


@rule(ir.LibraryCall)
def _interpret_library_call(node: ir.LibraryCall, env: Env) -> Sequence[np.ndarray]:
    types = node.type
    assert isinstance(types, tuple)
    routine = library.Routine(node.name, node.params)
    call = library.Call(routine, tuple([a.tensor_type for a in node.args]), types)
    return library.implementation(call)(*[env[a] for a in node.args])


@rule(ir.Collective)
def _interpret_collective(node: ir.Collective, env: Env) -> np.ndarray:
    size = collectives.group_size(node.axes, node.groups)
    assert size == 1, f"the interpreter runs a single participant, but {node.kind} has {size}"
    operands = [env[a] for a in node.args] or [None]
    return collective.collective(node.kind, operands, **dict(node.params))[0]


@rule(ir.HostCall)
def _interpret_host_call(node: ir.HostCall, env: Env) -> list[np.ndarray]:
    types = node.type
    assert isinstance(types, tuple)
    operands = [env[a] for a in node.args]
    if node.in_place:
        written = [np.empty(t.shape, t.dtype) for t in types]
        node.fn(*operands, *written)
        if node.finish is not None:
            node.finish(*operands, *written)
        return written
    results = node.fn(*operands)
    assert results is not None
    return [np.asarray(r, t.dtype).reshape(t.shape) for r, t in zip(results, types, strict=True)]


@rule(ir.OptimizationBarrier)
def _interpret_optimization_barrier(node: ir.OptimizationBarrier, env: Env) -> list[np.ndarray]:
    return [env[a] for a in node.args]


@rule(ir.ShardingConstraint)
def _interpret_sharding_constraint(node: ir.ShardingConstraint, env: Env) -> np.ndarray:
    return env[node.x]


@rule(ir.Project)
def _interpret_project(node: ir.Project, env: Env) -> np.ndarray:
    return env[node.node][node.index]
