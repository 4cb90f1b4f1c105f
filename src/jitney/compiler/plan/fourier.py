"""Plans Fourier transforms as calls of library functions, one or two for each axis.

`compiler/fourier.py` chooses the functions. Complex operands in memory are read in interleaved
form, and results are written in this form if they are only used as complex values. Otherwise real
and imaginary parts are separate arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from jitney.compiler import fourier, library
from jitney.compiler.cost import COSTS
from jitney.compiler.fourier_jobs import OF_COMPLEX, OF_REAL, TO_REAL
from jitney.compiler.hlo import ir as hlo, traversal
from jitney.compiler.plan import ir
from jitney.compiler.tensor_type import TensorType


def has_calls(node: hlo.Dft) -> bool:
    """Returns whether native code computes `node`."""
    n = node.to_real or node.re.shape[node.dim]
    return n <= COSTS.transform_points and fourier.has_native()


def wholes(region: hlo.Region, writes: Callable[[hlo.Dft], bool]) -> dict[hlo.Dft, hlo.Node]:
    """Returns the transforms that are only used as complex values.

    Each is mapped to the node that combines its parts. Only transforms for which `writes` returns
    true are considered.
    """
    ends = traversal.roots(region)
    nodes = traversal.topological_order(ends)
    consumers: dict[hlo.Dft, hlo.Node] = {}
    uses: dict[hlo.Node, int] = {}
    for node in nodes:
        if not isinstance(node, hlo.Apply) or node.fn != "complex":
            continue
        re, im = node.args
        if not isinstance(re, hlo.Project) or not isinstance(im, hlo.Project):
            continue
        if re.node is im.node and isinstance(re.node, hlo.Dft) and (re.index, im.index) == (0, 1):
            uses = uses or traversal.count_uses(nodes, ends)
            if uses[re] == uses[im] == 1 and writes(re.node):
                consumers[re.node] = node
    return consumers


def read(node: hlo.Dft) -> list[hlo.Node]:
    """Returns the operands of the calls for `node`.

    These are the real elements, the complex elements, or the real and imaginary parts.
    """
    re, im = node.re, node.im
    if node.of_real:
        return [re]
    if not isinstance(re, hlo.Apply) or not isinstance(im, hlo.Apply) or re.args != im.args:
        return [re, im]
    return [*re.args] if (re.fn, im.fn) == ("real", "imag") else [re, im]


def steps(
    node: hlo.Dft, args: Sequence[ir.Buffer], results: Sequence[ir.Buffer], keep_alive: list[object]
) -> list[ir.LibraryCall]:
    """Returns the steps that compute `node`.

    Args:
      node: the transform.
      args: the buffers of the nodes that `read` returns.
      results: the buffers of the result: one for each part, or one for complex or real elements.
      keep_alive: a list to which constants are appended.
    """
    kind = OF_REAL if node.of_real else TO_REAL if node.to_real else OF_COMPLEX
    shape = node.re.shape
    n = node.to_real or shape[node.dim]
    calls = fourier.calls(
        kind, shape, node.dim, n, node.re.dtype, inverse=node.inverse,
        divisor=n if node.normalized else 1, planes=(len(args) == 2, len(results) == 2),
    )  # fmt: skip
    types: Sequence[TensorType] = [TensorType((math.prod(x.shape),), x.dtype) for x in read(node)]
    library_calls: list[ir.LibraryCall] = []
    for call in calls:
        result_types = library.result_types(call.routine, types)
        is_last = call is calls[-1]
        to = results if is_last else [ir.Buffer("arena", t.nbytes) for t in result_types]
        library_calls.append(_step(call, args, types, to, result_types, keep_alive))
        args, types = to, result_types
    return library_calls


def _step(
    call: fourier.FourierCall, args: Sequence[ir.Buffer], types: Sequence[TensorType],
    results: Sequence[ir.Buffer], result_types: tuple[TensorType, ...], keep_alive: list[object],
) -> ir.LibraryCall:  # fmt: skip
    def constant(value: np.ndarray) -> ir.Buffer:
        keep_alive.append(value)
        return ir.Buffer("constant", value.nbytes, value=value)

    constant_types = [TensorType(value.shape, value.dtype) for value in call.constants]
    called = library.Call(call.routine, (*types, *constant_types), result_types)
    native = library.native_call(called)
    assert native is not None
    beside = constant(native.options), ir.Buffer("arena", native.workspace)
    operands = *args, *[constant(value) for value in call.constants]
    return ir.LibraryCall(called, operands, tuple(results), native, beside)
