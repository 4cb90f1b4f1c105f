"""Checks of single operations, and propagation of errors through primitives with jaxprs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core.program.closed_programs import closed_of
from jitney.core.program.jaxpr import ClosedJaxpr, JaxprEqn
from jitney.core.program.memo import memoize_by_identity
from jitney.core.pytree import pytrees
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.sharding.partition_spec import PartitionSpec
from jitney.core.sharding_in_types import varying
from jitney.core.types.avals import get_aval
from jitney.experimental.checkify.checker import Checker, bind_unchecked, like, of_each_device
from jitney.experimental.checkify.checks import check_p
from jitney.experimental.checkify.error import DivisionByZeroError, FailedCheckError, OOBError
from jitney.primitives import flat_trees
from jitney.primitives.array.broadcasting import broadcast_in_dim
from jitney.primitives.array.shape import reshape
from jitney.primitives.call.call import call_params, jit_p
from jitney.primitives.call.custom import FlatRule, custom_jvp_call_p, custom_vjp_call_p
from jitney.primitives.call.remat import bind_program, remat_p
from jitney.primitives.control.cond_primitive import cond_p
from jitney.primitives.control.scan_primitive import scan_p
from jitney.primitives.control.while_loop import while_p
from jitney.primitives.elementwise.binary import bitwise_or, div_p, rem
from jitney.primitives.elementwise.compare import eq, gt, lt
from jitney.primitives.elementwise.convert import as_value, convert_element_type
from jitney.primitives.flat_trees import FlatTree, group
from jitney.primitives.indexing import scatter
from jitney.primitives.indexing.dynamic_slice import (
    dynamic_index_in_dim,
    dynamic_slice_p,
    dynamic_update_slice_p,
)
from jitney.primitives.indexing.gather import gather_p
from jitney.primitives.parallel.shard_map import (
    Region,
    bind as bind_parts,
    region_of,
    shard_map_p,
    traced,
)
from jitney.primitives.reduction.reduce import argmax

if TYPE_CHECKING:
    from jitney.core.tracing.primitive import Primitive
    from jitney.core.typing import Value
    from jitney.transforms.accumulators import GradAccum
    from jitney.transforms.logs import Log
    from jitney.transforms.zero import Tangent

Operands = Sequence[Any]
_INT32 = np.dtype(np.int32)

# --- checks -----------------------------------------------------------------------------------------


@check_p.checkify
def _check_checkify(checker: Checker, eqn: JaxprEqn, operands: Operands) -> list[Value]:
    if FailedCheckError in checker.categories:
        error = eqn.params["structure"].unflatten(operands)
        checker.merge(error.code, error.payload, error.checks)
    return []


@div_p.checkify
def _div_checkify(checker: Checker, eqn: JaxprEqn, operands: Operands) -> Sequence[Value]:
    if DivisionByZeroError in checker.categories:
        by = operands[1]
        zero = as_value(np.zeros((), get_aval(by).dtype))
        checker.add(DivisionByZeroError, eq(by, like(zero, by)), "division by zero")
    return checker.bind(eqn, operands)


# --- indices ----------------------------------------------------------------------------------------


def _check_indices(
    checker: Checker, shape: Sequence[int], indices: Any, axes: Sequence[int], last: Sequence[int]
) -> None:
    """Adds a check for out-of-bounds indices.

    Args:
      checker: checker that the check is added to.
      shape: shape of the indexed array.
      indices: indices [..., len(axes)].
      axes: axis that each component of an index refers to.
      last: largest valid index along each of these axes.
    """
    if not axes or 0 in get_aval(indices).shape:
        return
    aval = get_aval(indices)
    if aval.dtype.kind == "u" or aval.dtype.itemsize < _INT32.itemsize:
        indices = convert_element_type(indices, _INT32)
    rows = get_aval(indices).shape
    bounds = as_value(np.asarray(last, get_aval(indices).dtype))
    bounds = broadcast_in_dim(bounds, rows, (len(rows) - 1,))
    zero = like(as_value(np.zeros((), get_aval(indices).dtype)), indices)
    out = bitwise_or(lt(indices, zero), gt(indices, bounds))
    size = int(np.prod(rows))
    place = argmax(reshape(out, (size,)), 0, _INT32)
    index = dynamic_index_in_dim(reshape(indices, (size,)), place, 0, keepdims=False)
    which = rem(place, as_value(np.int32(len(axes))))
    axis = dynamic_index_in_dim(as_value(np.asarray(axes, _INT32)), which, 0, keepdims=False)
    sizes = as_value(np.asarray([shape[a] for a in axes], _INT32))
    extent = dynamic_index_in_dim(sizes, which, 0, keepdims=False)
    message = (
        f"out-of-bounds indexing of an array with shape {tuple(shape)}: index {{}} is out of "
        "bounds for axis {}, which has size {}."
    )
    payload, tree = pytrees.tree_flatten(((index, axis, extent), {}))
    checker.add(OOBError, out, message, payload, tree)


@gather_p.checkify
def _gather_checkify(checker: Checker, eqn: JaxprEqn, operands: Operands) -> Sequence[Value]:
    params = eqn.params
    if OOBError in checker.categories:  # in every mode, as in JAX
        x, indices = operands
        shape, sizes = get_aval(x).shape, params["slice_sizes"]
        axes = params["dimension_numbers"].start_index_map
        _check_indices(checker, shape, indices, axes, [shape[a] - sizes[a] for a in axes])
    return checker.bind(eqn, operands)


def _checks_scatter(prim: Primitive) -> None:
    @prim.checkify
    def checkify_rule(checker: Checker, eqn: JaxprEqn, operands: Operands) -> Sequence[Value]:
        if OOBError in checker.categories:
            x, indices, updates = operands
            numbers = eqn.params["dimension_numbers"]
            shape = get_aval(x).shape
            dropped = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
            extents = iter([get_aval(updates).shape[d] for d in numbers.update_window_dims])
            window = [1 if axis in dropped else next(extents) for axis in range(len(shape))]
            axes = numbers.scatter_dims_to_operand_dims
            _check_indices(checker, shape, indices, axes, [shape[a] - window[a] for a in axes])
        return checker.bind(eqn, operands)


for _prim in (
    scatter.scatter_p, scatter.scatter_add_p, scatter.scatter_mul_p, scatter.scatter_min_p,
    scatter.scatter_max_p, scatter.scatter_sub_p,
):  # fmt: skip
    _checks_scatter(_prim)


def _check_starts(checker: Checker, x: Any, starts: Sequence[Any], window: Sequence[int]) -> None:
    if OOBError not in checker.categories or not starts:
        return
    from jitney.primitives.array.concatenation import stack

    shape = get_aval(x).shape
    last = [n - w for n, w in zip(shape, window, strict=True)]
    indices = stack([convert_element_type(as_value(s), _INT32) for s in starts])
    _check_indices(checker, shape, indices, range(len(shape)), last)


@dynamic_slice_p.checkify
def _dynamic_slice_checkify(checker: Checker, eqn: JaxprEqn, operands: Operands) -> Sequence[Value]:
    x, *starts = operands
    _check_starts(checker, x, starts, eqn.params["slice_sizes"])
    return checker.bind(eqn, operands)


@dynamic_update_slice_p.checkify
def _dynamic_update_slice_checkify(
    checker: Checker, eqn: JaxprEqn, operands: Operands
) -> Sequence[Value]:
    x, update, *starts = operands
    _check_starts(checker, x, starts, get_aval(update).shape)
    return checker.bind(eqn, operands)


# --- primitives with jaxprs -------------------------------------------------------------------------


@jit_p.checkify
def _jit_checkify(checker: Checker, eqn: JaxprEqn, operands: Operands) -> Sequence[Value]:
    programs = checker.programs(eqn.params["jaxpr"], of_devices=True)
    if programs is None:
        return bind_unchecked(eqn, operands)
    (program,) = programs
    params = call_params(dict(eqn.params), program.closed)
    return checker.take(program, jit_p.bind(*checker.state(program.kinds), *operands, **params))


@shard_map_p.checkify
def _shard_map_checkify(checker: Checker, eqn: JaxprEqn, operands: Operands) -> Sequence[Value]:
    """Checks the program of each device; concatenates the errors along the mesh axes."""
    params = eqn.params
    region = region_of(params)
    with region.scope():
        programs = checker.programs(closed_of(params["jaxpr"]))
    if programs is None:
        return bind_unchecked(eqn, operands)
    (program,) = programs
    state = checker.state(program.kinds)
    n = len(checker.results(program.kinds))
    combined = _put_together(program.closed, region, n)
    devices = PartitionSpec(tuple([name for name, _ in region.axes]))
    outs = bind_parts(
        region, combined, [*state, *operands],
        (*[PartitionSpec()] * n, *params["in_specs"]), (*[devices] * n, *params["out_specs"]),
    )  # fmt: skip
    return checker.take(program, outs)


@memoize_by_identity
def _put_together(closed: ClosedJaxpr, region: Region, n: int) -> ClosedJaxpr:
    """Returns a per-device program that takes a single error and returns one error per device.

    Args:
      closed: the program; its first `n` operands and results are the error.
      region: the `shard_map` region in which it runs.
      n: number of values that represent the error.
    """

    def run(*args: Any) -> list[Value]:
        outs = _run(closed, [*map(of_each_device, args[:n]), *args[n:]])
        return [*[reshape(x, (1, *get_aval(x).shape)) for x in outs[:n]], *outs[n:]]

    avals = [varying.along(aval, frozenset()) for aval in closed.in_avals[:n]]
    return traced(region, run, [*avals, *closed.in_avals[n:]], closed.jaxpr, "shard_map")


@remat_p.checkify
def _remat_checkify(checker: Checker, eqn: JaxprEqn, operands: Operands) -> Sequence[Value]:
    programs = checker.programs(closed_of(eqn.params["jaxpr"]))
    if programs is None:
        return bind_unchecked(eqn, operands)
    (program,) = programs
    state = checker.state(program.kinds)
    return checker.take(program, bind_program(program.closed, [*state, *operands], eqn.params))


@cond_p.checkify
def _cond_checkify(checker: Checker, eqn: JaxprEqn, operands: Operands) -> Sequence[Value]:
    index, *branch_operands = operands
    programs = checker.programs(*eqn.params["branches"])
    if programs is None:
        return bind_unchecked(eqn, operands)
    params = {**eqn.params, "branches": tuple([p.closed for p in programs])}
    outs = cond_p.bind(index, *checker.state(programs[0].kinds), *branch_operands, **params)
    results: list[Any] = []
    for program in programs:
        results = checker.take(program, outs)
    return results


@scan_p.checkify
def _scan_checkify(checker: Checker, eqn: JaxprEqn, operands: Operands) -> Sequence[Value]:
    params = eqn.params
    ft_in, ft_out = params["ft_in"], params["ft_out"]
    n = len(ft_in.elts[0])
    programs = checker.programs(params["jaxpr"])
    if programs is None:
        return bind_unchecked(eqn, operands)
    (program,) = programs
    state = checker.state(program.kinds)
    body = _moved(program.closed, len(state), n)
    carried = flat_trees.values(len(state))

    def with_state(tree: FlatTree, k: int) -> FlatTree:
        """Returns `tree` with the error prepended to group `k`, the carry."""
        elts = tree.elts
        return group(*elts[:k], group(carried, elts[k]), *elts[k + 1 :])

    changed = {"jaxpr": body, "ft_in": with_state(ft_in, 1), "ft_out": with_state(ft_out, 0)}
    outs = scan_p.bind(*operands[:n], *state, *operands[n:], **{**params, **changed})
    return checker.take(program, outs)


def _moved(closed: ClosedJaxpr, n_state: int, n: int) -> ClosedJaxpr:
    """Returns `closed` with its leading operands, the error, moved behind the next `n`."""
    invars = closed.jaxpr.invars
    order = [*invars[n_state : n_state + n], *invars[:n_state], *invars[n_state + n :]]
    info = closed.jaxpr.debug_info._replace(arg_names=(None,) * len(order))
    return ClosedJaxpr(closed.jaxpr.replace(invars=order, debug_info=info), closed.consts)


@while_p.checkify
def _while_checkify(checker: Checker, eqn: JaxprEqn, operands: Operands) -> Sequence[Value]:
    """Threads the error through the carry of a while loop.

    The condition cannot return an error. It is therefore evaluated once more for its checks, before
    the loop and at the end of each iteration.
    """
    params = eqn.params
    n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
    programs = checker.programs(params["cond_jaxpr"], params["body_jaxpr"])
    if programs is None:
        return bind_unchecked(eqn, operands)
    if params["cond_jaxpr"].out_avals[0].shape:
        raise ValueError(
            "checkify: a while_loop whose condition was batched by vmap cannot be checked "
            "(checkify-of-vmap-of-while), because batch elements whose loops have ended would be "
            "checked, too. Apply vmap to the checked function instead"
        )
    of_cond, init = operands[:n_cond], operands[n_cond + n_body :]
    cond, body = programs
    n_state = cond.taken
    checker.take(cond, _run(cond.closed, [*checker.state(cond.kinds), *of_cond, *init]))

    def goes_on(*args: Any) -> list[Value]:
        # Errors of the condition have already been recorded by the body, or before the loop.
        consts, state, carry = args[:n_cond], args[n_cond:][:n_state], args[n_cond + n_state :]
        return [_run(cond.closed, [*state, *consts, *carry])[-1]]

    def step(*args: Any) -> list[Value]:
        consts, mine = args[:n_cond], args[n_cond : n_cond + n_body]
        state, carry = args[n_cond + n_body :][:n_state], args[n_cond + n_body + n_state :]
        outs = _run(body.closed, [*state, *mine, *carry])
        state, carry = outs[:n_state], outs[n_state:]
        return [*_run(cond.closed, [*state, *consts, *carry])[:n_state], *carry]

    state = checker.state(cond.kinds)
    avals = [get_aval(x) for x in state]
    cond_avals, body_avals = params["cond_jaxpr"].in_avals, params["body_jaxpr"].in_avals
    cond_program = _traced(
        goes_on, [*cond_avals[:n_cond], *avals, *cond_avals[n_cond:]], params["cond_jaxpr"]
    )
    body_program = _traced(
        step, [*cond_avals[:n_cond], *body_avals[:n_body], *avals, *body_avals[n_body:]],
        params["body_jaxpr"],
    )  # fmt: skip
    outs = while_p.bind(
        *of_cond, *operands[: n_cond + n_body], *state, *init, cond_jaxpr=cond_program,
        cond_nconsts=n_cond, body_jaxpr=body_program, body_nconsts=n_cond + n_body,
    )  # fmt: skip
    checker.take(cond, outs[:n_state])
    return checker.take(body, outs)


def _run(closed: ClosedJaxpr, args: Sequence[Any]) -> list[Value]:
    from jitney.core.program.evaluate import eval_jaxpr

    return eval_jaxpr(closed.jaxpr, closed.consts, *args)


def _traced(fun: Any, avals: Sequence[Any], like: ClosedJaxpr) -> ClosedJaxpr:
    info = like.jaxpr.debug_info._replace(arg_names=(None,) * len(avals), result_paths=None)
    jaxpr, _, consts = trace_to_jaxpr(fun, avals, info)
    return ClosedJaxpr(jaxpr, consts)


# --- functions with user-defined derivatives --------------------------------------------------------


@custom_jvp_call_p.checkify
def _custom_jvp_call_checkify(
    checker: Checker, eqn: JaxprEqn, operands: Operands
) -> Sequence[Value]:
    """Checks the function, but not the user-defined JVP rule."""
    params = eqn.params
    n = params["num_consts"]
    programs = checker.programs(params["call_jaxpr"])
    if programs is None:
        return bind_unchecked(eqn, operands)
    (program,) = programs
    state = checker.state(program.kinds)
    n_state, rule = len(state), params["jvp"]
    replaced: list[bool] = []  # non-empty if the JVP rule replaced the function when it was bound

    def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Value], list[Tangent]]:
        replaced.append(True)
        outs, douts = rule(primals[n_state:], tangents[n_state:])
        return [*primals[:n_state], *outs], [*tangents[:n_state], *douts]

    changed = {
        "call_jaxpr": _moved(program.closed, n_state, n),
        "jvp": FlatRule(jvp, rule.__name__),
    }
    outs = custom_jvp_call_p.bind(*operands[:n], *state, *operands[n:], **{**params, **changed})
    return checker.take(program, outs, has_run=not replaced)


@custom_vjp_call_p.checkify
def _custom_vjp_call_checkify(
    checker: Checker, eqn: JaxprEqn, operands: Operands
) -> Sequence[Value]:
    """Checks the function, but not the user-defined rules of the VJP."""
    params = eqn.params
    n = params["num_consts"]
    programs = checker.programs(params["call_jaxpr"])
    if programs is None:
        return bind_unchecked(eqn, operands)
    (program,) = programs
    state = checker.state(program.kinds)
    n_state, forward, backward = len(state), params["fwd"], params["bwd"]
    replaced: list[bool] = []  # non-empty if the forward rule replaced the function when bound

    def fwd(
        primals: Sequence[Any], perturbed: Sequence[bool]
    ) -> tuple[list[Value], Sequence[Value]]:
        replaced.append(True)
        outs, residuals = forward(primals[n_state:], perturbed[n_state:])
        return [*primals[:n_state], *outs], residuals

    def bwd(residuals: Sequence[Any], cts: Sequence[Any], accums: Sequence[GradAccum]) -> Log:
        for accum, ct in zip(accums[:n_state], cts[:n_state], strict=True):
            accum.accum(ct)
        return backward(residuals, cts[n_state:], accums[n_state:])

    changed = {
        "call_jaxpr": _moved(program.closed, n_state, n),
        "fwd": FlatRule(fwd, forward.__name__),
        "bwd": FlatRule(bwd, backward.__name__),
    }
    outs = custom_vjp_call_p.bind(*operands[:n], *state, *operands[n:], **{**params, **changed})
    return checker.take(program, outs, has_run=not replaced)
