"""Update in place: determines which carries of loops can be updated without a copy.

This is the aggregate update problem of functional languages (Hudak and Bloss 1985), solved for the
carries of loops. An iteration can replace a part of a carry, by an update of a slice, a scatter, or
a nested loop. If nothing else reads the old value, or if all reads of it can precede the update,
the carry is updated in place (`updated_in_place`).

Otherwise an iteration writes the next value of a carry to a second buffer, since later steps of the
iteration may read the old value, and ends with a swap or a copy. If a single kernel writes the next
value, if each point of it reads only the element of the old value that it overwrites, and if
nothing reads the old value afterwards, the kernel can write to the carry directly
(`update_in_place`). Sums of gradients over the steps of a scan are an example.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jitney.compiler import library
from jitney.compiler.hlo import ir as hlo, traversal
from jitney.compiler.hlo.loop_analysis import is_fully_overwritten
from jitney.compiler.kernels import ir as kernels
from jitney.compiler.plan import ir
from jitney.core.util.record import record, replace


@record
class Updated:
    """A carry of which an iteration replaces a part.

    Attributes:
      is_read: whether the iteration also reads it elsewhere, which must happen before the update.
      is_fully_overwritten: whether the loop as a whole replaces all of it, so that its initial
        value does not matter.
    """

    is_read: bool
    is_fully_overwritten: bool


def updated_in_place(
    node: hlo.While, is_scatter: Callable[[hlo.Scatter], bool]
) -> dict[int, Updated]:
    """Returns the carries of a loop that are updated in place.

    Args:
      node: the loop.
      is_scatter: returns whether a kernel computes a scatter.
    """
    body = node.body
    ends = traversal.roots(body)
    uses = traversal.count_uses(traversal.topological_order(ends), ends)
    candidates: set[int] = set()
    for i, (result, parameter) in enumerate(zip(body.results, body.parameters, strict=True)):
        match result:
            case hlo.DynamicUpdateSlice():
                replaced = result.x is parameter
            case hlo.Scatter():
                replaced = result.x is parameter and is_scatter(result)
            case hlo.Project(node=hlo.While() as inner):
                replaced = inner.init[result.index] is parameter and uses[parameter] == 1
            case hlo.Project(node=hlo.LibraryCall() as call) if library.is_update(call.name):
                replaced = call.args[0] is parameter and uses[parameter] == 1
            case _:
                replaced = False
        if replaced and uses[result] == 1:
            candidates.add(i)
    kept = {traversal.storage_of(r) for i, r in enumerate(body.results) if i not in candidates}
    candidates = {i for i in candidates if body.parameters[i] not in kept}
    # Updates run last, and must not read memory that another update has changed before.
    changed = {body.parameters[i] for i in candidates}
    updated: dict[int, Updated] = {}
    for i in sorted(candidates):
        result = body.results[i]
        sources = _sources(result)
        if not any(traversal.storage_of(x) in changed for x in sources):
            is_read = uses[body.parameters[i]] > 1
            updated[i] = Updated(is_read, not is_read and is_fully_overwritten(node, i))
    return updated


def _sources(update: hlo.Node) -> Sequence[hlo.Node]:
    """Returns the operands of an update, except the updated one."""
    match update:
        case hlo.Project(node=hlo.LibraryCall() as call):
            return call.args[1:]
        case hlo.Project():  # a loop has carries of its own
            return ()
        case _:
            return traversal.operands(update)[1:]


def update_in_place(
    body: Sequence[ir.Step], carry: Sequence[ir.Buffer], after: Sequence[ir.Buffer]
) -> tuple[list[ir.Step], list[ir.Buffer]]:
    """Returns the steps of an iteration and the buffers of its results.

    The buffer of a result is that of its carry if it can be updated in place.
    """
    steps, ends = list(body), list(after)
    for i, (old, new) in enumerate(zip(carry, after, strict=True)):
        if old is not new and _is_update(steps, old, new):
            steps = [_renamed(step, new, old) for step in steps]
            ends[i] = old
    return steps, ends


def _is_update(steps: Sequence[ir.Step], old: ir.Buffer, new: ir.Buffer) -> bool:
    """Returns whether one kernel computes `new` elementwise from `old`, and reads `old` last."""
    uses = [list(ir.all_touched(step)) for step in steps]
    first = next((k for k, buffers in enumerate(uses) if new in buffers), None)
    if first is None or any(old in buffers for buffers in uses[first + 1 :]):
        return False
    step = steps[first]
    if any(isinstance(s, ir.Loop | ir.Branch) and new in ir.all_touched(s) for s in steps):
        return False
    return is_elementwise_update(step, lambda b: b is old, lambda b: b is new)


def is_elementwise_update(
    step: ir.Step, is_old: Callable[[ir.Buffer], bool], is_new: Callable[[ir.Buffer], bool]
) -> bool:
    """Returns whether `step` is a kernel that computes one buffer elementwise from another.

    To write an element of the new buffer, it reads only the same element of the old one.
    """
    if not isinstance(step, ir.Launch):
        return False
    kernel, buffers = step.kernel, step.buffers
    if kernel.loop is not None:
        used = [o.param for o in kernel.outputs]
        used += [s.param for s in kernel.body if isinstance(s, kernels.Load)]
        if any(is_old(buffers[param]) or is_new(buffers[param]) for param in used):
            return False
        return all(
            is_old(buffers[c.start]) == is_new(buffers[c.finish])
            and (c.varies or not kernel.extents)
            for c in kernel.loop.carries
        )
    stores = [o for o in kernel.outputs if is_new(buffers[o.param])]
    if len(stores) != 1 or not isinstance(stores[0], kernels.Store):
        return False
    loads = [s for s in kernel.body if isinstance(s, kernels.Load) and is_old(buffers[s.param])]
    # A scatter can write an element twice, and must then read the old value each time.
    if loads and not kernels.visits_once(kernel, stores[0].index):
        return False
    dtype = kernel.params[stores[0].param]
    return all(s.index == stores[0].index and s.dtype == dtype for s in loads)


def _renamed(step: ir.Step, new: ir.Buffer, old: ir.Buffer) -> ir.Step:
    """Returns `step` with `new` replaced by `old`."""

    def name(buffer: ir.Buffer) -> ir.Buffer:
        return old if buffer is new else buffer

    match step:
        case ir.Launch():
            return replace(step, buffers=tuple(map(name, step.buffers)))
        case ir.Gemm():
            return replace(step, x=name(step.x), y=name(step.y), out=name(step.out))
        case ir.LibraryCall():
            args, results = (tuple(map(name, some)) for some in (step.args, step.results))
            return replace(step, args=args, results=results)
        case ir.Collective():
            return replace(step, args=tuple(map(name, step.args)), result=name(step.result))
        case ir.HostCall():
            args = tuple((name(b), t) for b, t in step.args)
            return replace(step, args=args, results=tuple((name(b), t) for b, t in step.results))
        case ir.Copy():
            return replace(step, to=name(step.to), source=name(step.source))
        case _:
            return step
