"""The verifiers: each constraint is violated once, and its identifier is in the message."""

import numpy as np
import pytest

from jitney.compiler.hlo import ir
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.ir import ConvolutionDims, GatherDims, Region, ScatterDims, TensorType
from jitney.compiler.hlo.verify import IRError, verify
from jitney.compiler.kernels import ir as kernels
from jitney.compiler.kernels.verify import KernelError, verify as verify_kernel
from jitney.compiler.plan import ir as plans
from jitney.compiler.plan.verify import PlanError, verify_plan

F32, I32, BOOL = np.dtype(np.float32), np.dtype(np.int32), np.dtype(bool)


def t(dtype, *shape):
    return TensorType(shape, np.dtype(dtype))


def params(*types):
    return [ir.Parameter(type_, i, i) for i, type_ in enumerate(types)]


X, V, S, I, B, D, C = params(  # noqa: E741
    t("f4", 3, 4), t("f4", 4), t("f4"), t("i4"), t("?"), t("f8", 3, 4), t("c8", 3, 4)
)
INDICES = ir.Parameter(t("i4", 5, 1), 7, 7)
UPDATES = ir.Parameter(t("f4", 5, 4), 8, 8)
ROWS = GatherDims((1,), (0,), (0,))
INTO_ROWS = ScatterDims((1,), (0,), (0,))
N = 100  # id of the node that is wrong


def region(types, results=lambda b, *xs: xs):
    return Builder().region(types, results)


ROWS_OF_X = t("f4", 5, 4)


def gather(type_=ROWS_OF_X, indices=INDICES, dims=ROWS, sizes=(1, 4), mode="clip", fill=None):
    return ir.Gather(type_, N, X, indices, dims, sizes, mode, fill)


def scatter(updates=UPDATES, dims=INTO_ROWS, combine=None, mode="clip", indices=INDICES):
    return ir.Scatter(X.type, N, X, indices, updates, dims, combine, mode, False)


IMAGE, WINDOWS = ir.Parameter(t("f4", 2, 4, 9), 9, 9), ir.Parameter(t("f4", 5, 4, 3), 10, 10)


def convolution(w=WINDOWS, axes=(0, 1, 2), strides=(1,), low=(0,), groups=1):
    dims = ConvolutionDims(axes, (0, 1, 2), (0, 1, 2), strides, low, (0,), (1,), (1,), groups)
    return ir.Convolution(t("f4", 2, 5, 7), N, IMAGE, w, dims)


def dft(x, dim=1, inverse=False, of_real=False, to_real=0):
    types = (x.type,) if to_real else (x.type,) * 2
    return ir.Dft(types, N, x, x, dim, inverse, False, of_real, to_real)


def placed(dimensions, is_open, **more):
    return ir.ShardingConstraint(X.type, N, X, ir.TensorSharding(dimensions, is_open, **more))


TWO = ir.OptimizationBarrier((S.type, I.type), 50, (S, I))
LATER = ir.Apply(S.type, N + 1, "neg", (S,))

TWO_BY_TWO = (("a", 2), ("b", 2))  # axes of a mesh


def collective(kind, params, groups=None):
    return ir.Collective(X.type, N, kind, TWO_BY_TWO, groups, params, (X,))


WRONG = {
    "constant.C1": ir.Constant(t("f4", 4, 3), N, np.zeros((3, 4), np.float32).T),
    "constant.C2": ir.Constant(t("O"), N, np.array(None)),
    "constant.type": ir.Constant(t("f4", 3), N, np.zeros(4, np.float32)),
    "iota.C1": ir.Iota(t("i4", 3), N, 1),
    "iota.C2": ir.Iota(t("c8", 3), N, 0),
    "apply.C1": ir.Apply(X.type, N, "add", (X, V)),
    "apply.C2": ir.Apply(X.type, N, "sine", (X,)),
    "apply.C2 operands": ir.Apply(X.type, N, "add", (X,)),
    "apply.C3": ir.Apply(X.type, N, "add", (X, D)),
    "apply.C3 predicate": ir.Apply(S.type, N, "select", (I, S, S)),
    "apply.C3 real": ir.Apply(X.type, N, "real", (X,)),
    "apply.C4": ir.Apply(t("f8", 3, 4), N, "bitcast", (X,)),
    "apply.C4 complex": ir.Apply(t("f4", 3, 4), N, "convert", (C,)),
    "apply.type": ir.Apply(X.type, N, "lt", (X, X)),
    "broadcast.C1": ir.Broadcast(t("f4", 4, 3), N, X, (1, 0)),
    "broadcast.C2": ir.Broadcast(t("f4", 5, 4), N, X, (0, 1)),
    "broadcast.type": ir.Broadcast(t("i4", 3, 4), N, X, (0, 1)),
    "reshape.C1": ir.Reshape(t("f4", 13), N, X),
    "transpose.C1": ir.Transpose(t("f4", 3), N, X, (0,)),
    "transpose.type": ir.Transpose(t("f4", 3, 4), N, X, (1, 0)),
    "slice.C1": ir.Slice(t("f4", 3, 2), N, X, (0, 3), (3, 5), (1, 1)),
    "slice.type": ir.Slice(t("f4", 3, 3), N, X, (0, 0), (3, 4), (1, 2)),
    "reverse.C1": ir.Reverse(X.type, N, X, (2,)),
    "pad.C1": ir.Pad(t("f4", 3, 4), N, X, I, (0, 0), (0, 0), (0, 0)),
    "pad.C2": ir.Pad(t("f4", 3, 4), N, X, S, (0, 0), (0, 0), (0, -1)),
    "pad.C3": ir.Pad(t("f4", 0, 4), N, X, S, (-4, 0), (0, 0), (0, 0)),
    "concatenate.C1": ir.Concatenate(t("f4", 6, 4), N, (X, D), 0),
    "concatenate.C2": ir.Concatenate(t("f4", 6, 4), N, (X, X), 2),
    "concatenate.C3": ir.Concatenate(t("f4", 6, 4), N, (X, V), 0),
    "bitcast.C1": ir.Bitcast(t("f8", 3), N, X),
    "bitcast.C2": ir.Bitcast(t("i4", 3, 4), N, X),
    "dynamic_slice.C1": ir.DynamicSlice(t("f4", 1, 1), N, X, (I, S), (1, 1)),
    "dynamic_slice.C2": ir.DynamicSlice(t("f4", 4, 1), N, X, (I, I), (4, 1)),
    "dynamic_update_slice.C1": ir.DynamicUpdateSlice(X.type, N, X, X, (I,)),
    "dynamic_update_slice.C2": ir.DynamicUpdateSlice(X.type, N, X, V, (I, I)),
    "gather.C1": gather(indices=ir.Parameter(t("f4", 5, 1), 7, 7)),
    "gather.C2": gather(dims=GatherDims((1,), (0,), (0, 1))),
    "gather.C3": gather(dims=GatherDims((1,), (2,), (0,))),
    "gather.C4": gather(dims=GatherDims((), (0,), (0,), (1,), (0,))),
    "gather.C5": gather(sizes=(1, 5)),
    "gather.C5 collapsed": gather(sizes=(2, 4)),
    "gather.C6": gather(dims=GatherDims((0, 1), (0,), (0,))),
    "gather.C7": gather(mode="wrap"),
    "gather.C7 fill": gather(mode="fill"),
    "gather.type": gather(t("f4", 5, 5)),
    "scatter.C2": scatter(dims=ScatterDims((1,), (0,), (0, 1))),
    "scatter.C5": scatter(ir.Parameter(t("i4", 5, 4), 8, 8)),
    "scatter.C6": scatter(ir.Parameter(t("f4", 6, 4), 8, 8)),
    "scatter.C7": scatter(mode="wrap"),
    "scatter.C8": scatter(combine="pow"),
    "scatter.C8 region": scatter(combine=region([t("f4")])),
    "reduce.C1": ir.Reduce(t("f4", 3), N, X, "add", (2,)),
    "reduce.C2": ir.Reduce(t("f4", 3), N, X, "or", (1,)),
    "arg_reduce.C1": ir.ArgReduce(t("i4", 3), N, X, "max", 2),
    "arg_reduce.C2": ir.ArgReduce(t("i4", 3), N, X, "mean", 1),
    "arg_reduce.C3": ir.ArgReduce(t("f4", 3), N, X, "max", 1),
    "reduce_region.C1": ir.ReduceRegion((S.type,), N, (X,), (), (0, 1), region([])),
    "reduce_region.C2": ir.ReduceRegion((S.type,), N, (X,), (S,), (2,), region([])),
    "reduce_region.C3": ir.ReduceRegion((S.type,), N, (X,), (I,), (0, 1), region([])),
    "reduce_region.C4": ir.ReduceRegion((S.type,), N, (X,), (S,), (0, 1), region([t("f4")])),
    "cumulative.C1": ir.Cumulative(X.type, N, X, "add", 2, False),
    "convolution.C1": convolution(w=INDICES),
    "convolution.C2": convolution(axes=(0, 1, 1)),
    "convolution.C3": convolution(strides=(0,)),
    "convolution.C4": convolution(groups=2),
    "convolution.type": convolution(low=(7,)),
    "cumulative.C2": ir.Cumulative(X.type, N, X, "pow", 1, False),
    "dot.C1": ir.Dot(t("f4", 3, 3), N, X, D, ((1,), (1,)), ((), ())),
    "dot.C2": ir.Dot(t("f4", 3), N, X, X, ((1,), (1,)), ((1,), (0,))),
    "dot.C3": ir.Dot(t("f4", 4, 3), N, X, X, ((0,), (1,)), ((), ())),
    "dft.C1": ir.Dft((X.type,) * 2, N, X, D, 1, False, False, False, 0),
    "dft.C2": dft(C),
    "dft.C3": dft(X, dim=2),
    "dft.C4": dft(X, inverse=True, of_real=True),
    "dft.C5": dft(X, to_real=8),
    "dft.type": dft(X, of_real=True),
    "sort.C1": ir.Sort((X.type, V.type), N, (X, V), 0, 1, True),
    "sort.C2": ir.Sort((X.type,), N, (X,), 2, 1, True),
    "sort.C3": ir.Sort((X.type,), N, (X,), 0, 2, True),
    "top_k.C1": ir.TopK((t("f4", 3, 1), t("i4", 3, 1)), N, X, 1, 2),
    "top_k.C2": ir.TopK((t("f4", 3, 5), t("i4", 3, 5)), N, X, 5, 1),
    "cond.C1": ir.Cond((S.type,), N, B, (region([t("f4")]),), (S,)),
    "cond.C2": ir.Cond((), N, I, (), (S,)),
    "cond.C3": ir.Cond((S.type,), N, I, (region([t("f4")]), region([t("i4")])), (S,)),
    "while.C1": ir.While((S.type,), N, region([t("f4")]), region([t("f4")]), (S,)),
    "while.C2": ir.While(
        (B.type,), N, region([t("?")]), region([t("?")], lambda b, x: [b.convert(x, F32)]), (B,)
    ),
    "collective.C1": collective("all_gather", (("fn", "add"),)),
    "collective.C1 no operand": ir.Collective(S.type, N, "axis_index", TWO_BY_TWO, None, (), (S,)),
    "collective.C1 function": collective("all_reduce", (("fn", "sub"),)),
    "collective.C2": collective("all_reduce", (("fn", "add"),), groups=((0, 1), (2,), (3,))),
    "collective.C2 twice": collective("all_reduce", (("fn", "add"),), groups=((0, 1), (1, 2))),
    "collective.C3": collective("all_gather", (("dim", 2),)),
    "collective.C4": collective("reduce_scatter", (("fn", "add"), ("dim", 0))),
    "collective.C5": collective("permute", (("pairs", ((0, 1), (2, 1))),)),
    "collective.C5 range": collective("permute", (("pairs", ((0, 4),)),)),
    "collective.C5 source": collective("broadcast", (("source", 4),)),
    "collective.type": collective("all_gather", (("dim", 0),)),
    "sharding_constraint.C1": placed(((),), (True,)),
    "sharding_constraint.C2": placed((("x",), ()), (False, True), replicated=("x",)),
    "project.C2": ir.Project(S.type, N, TWO, 2),
    "project.type": ir.Project(S.type, N, TWO, 1),
    "project.C1": ir.Apply(S.type, N, "neg", (TWO,)),
    "region.C4": ir.Apply(S.type, N, "neg", (LATER,)),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_constraint(name):
    node = WRONG[name]
    several = isinstance(node.type, tuple)
    result = ir.Project(node.type[0], N + 2, node, 0) if several and node.type else node
    results, ordered = ((), (node,)) if several and not node.type else ((result,), ())
    # A case may bring a parameter of its own in place of one of these.
    operands = [
        *getattr(node, "args", ()),
        getattr(node, "indices", X),
        getattr(node, "updates", X),
    ]
    own = {p.index: p for p in operands if isinstance(p, ir.Parameter)}
    given = tuple(
        [own.get(p.index, p) for p in (X, V, S, I, B, D, C, INDICES, UPDATES, IMAGE, WINDOWS)]
    )
    with pytest.raises(IRError) as error:
        verify(ir.Module("f", Region(given, results, ordered)))
    assert str(error.value).startswith(name.split(" ")[0]), error.value


def test_constraints_of_regions():
    stranger = ir.Parameter(t("f4"), 0, 0)
    for wrong, message in (
        (Region((X,), ()), None),
        (Region((V,), ()), "region.C1"),  # it is number 1
        (Region((X,), (TWO,)), "region.C2"),
        (Region((X,), (ir.Apply(S.type, N, "neg", (stranger,)),)), "region.C3"),
    ):
        if message is None:
            verify(ir.Module("f", wrong))
            continue
        with pytest.raises(IRError, match=message):
            verify(ir.Module("f", wrong))


def test_regions_within_nodes_are_checked():
    inner = Region((ir.Parameter(t("f4"), 0, 0),), (ir.Apply(t("f4"), 1, "sine", ()),))
    node = ir.Cond((t("f4"),), N, I, (inner,), (S,))
    module = ir.Module("f", Region((X, V, S, I), (ir.Project(t("f4"), N + 1, node, 0),)))
    with pytest.raises(IRError, match=r"apply\.C2"):
        verify(module)


# --- kernels ------------------------------------------------------------------------------------


def index(*coefficients, offset=0, terms=()):
    return kernels.Affine(offset, coefficients, terms)


def kernel(body, outputs, extents=(4, 3), reduced=0):
    return kernels.Kernel(extents, reduced, (F32, F32), tuple(body), tuple(outputs))


LOAD = kernels.Load(0, index(3, 1), F32)
STORE = kernels.Store(1, index(3, 1), 0)
WRONG_KERNELS = {
    "K1": kernel([kernels.Call("neg", (0,), F32)], [STORE]),
    "K1 term": kernel([kernels.Load(0, index(3, 1, terms=((0, 1),)), F32)], [STORE]),
    "K2": kernel([kernels.Load(0, index(3), F32)], [STORE]),
    "K3": kernel([LOAD], [kernels.Reduce(1, index(3, 1), "add", 0)], reduced=1),
    "K3 term": kernel(
        [kernels.IndexValue(index(1, 0), I32), LOAD],
        [kernels.Reduce(1, index(0, 0, terms=((0, 1),)), "add", 1)],
        reduced=1,
    ),
    "K4": kernel([LOAD], [STORE, kernels.Reduce(1, index(3, 0), "add", 0)]),
    "K4 reduced": kernel([LOAD], [kernels.Store(1, index(3, 0), 0)], reduced=1),
    "K5": kernel([LOAD, kernels.Load(0, index(0, 0, terms=((0, 1),)), F32)], [STORE]),
    "K1 where": kernel([LOAD], [kernels.Store(1, index(3, 1), 0, where=1)]),
    "K6": kernel([LOAD], [kernels.Store(1, index(3, 1), 0, where=0)]),
}


@pytest.mark.parametrize("name", WRONG_KERNELS)
def test_kernel_constraint(name):
    with pytest.raises(KernelError) as error:
        verify_kernel(WRONG_KERNELS[name])
    assert str(error.value).startswith(name.split(" ")[0])


def test_a_kernel_that_is_right():
    verify_kernel(kernel([LOAD], [STORE]))


# --- plans --------------------------------------------------------------------------------------


def buffer(place, nbytes=48, at=0):
    return plans.Buffer(place, nbytes, at)


def plan(*steps, arena=256):
    return plans.Plan("f", list(steps), (), (), arena)


IN, OUT, P, Q = buffer("input"), buffer("output"), buffer("arena"), buffer("arena")
FLAG = buffer("arena", 1, 128)
FAR = buffer("arena", 48, 64)


NEVER = plans.Copy(FLAG, buffer("input", 1))


def exchanging(*more, to, source=IN):
    """A loop in which OUT becomes what it was plus one iteration's work, by exchange."""
    body = [plans.Copy(to, source), plans.SwapBuffers(OUT, to), *more, plans.Copy(FAR, OUT)]
    return plans.Copy(OUT, IN), plans.Loop([NEVER], FLAG, body)


launch = plans.Launch(kernel([LOAD], [STORE]), (IN, P))


def rows(*pairs, across=False, count=4, strip=2):
    """Strips of launches that copy the first buffer of each pair to the second, four rows of three."""
    place = kernels.Affine(0, (1, 4) if across else (3, 1))
    copy = kernels.Kernel(
        (4, 3), 0, (F32, F32),
        (kernels.Load(0, place, F32),), (kernels.Store(1, kernels.Affine(0, (3, 1)), 0),),
    )  # fmt: skip
    return plans.RowStrips(count, strip, tuple([plans.Launch(copy, pair) for pair in pairs]))


def looked_up():
    """Strips of a copy, and of a launch that reads the copy where numbers say."""
    place = kernels.Load(0, index(1, 0), I32)
    there = kernels.Load(1, index(3, 1, terms=((0, 3),)), F32)
    store = kernels.Store(2, index(3, 1), 1)
    look_up = kernels.Kernel((4, 3), 0, (I32, F32, F32), (place, there), (store,))
    last = plans.Launch(look_up, (buffer("input", 16), P, OUT))
    return plans.RowStrips(4, 2, (*rows((IN, P)).launches, last))


OWN, OTHER, OVER = buffer("strip", 24), buffer("strip", 24, 64), buffer("strip", 24)
FLOAT = TensorType((10,), np.dtype(np.float32))


def going_on(source, to):
    """A call that writes buffer `to` until it is waited for."""
    return plans.HostCall("f", print, ((source, FLOAT),), ((to, FLOAT),), True, print)


CALL = going_on(IN, P)
CALL_ON_P = going_on(P, Q)

WRONG_PLANS = {
    "P7 reads": plan(CALL, plans.Copy(OUT, P), plans.Wait(CALL)),
    "P7 writes": plan(CALL, plans.Copy(P, IN), plans.Wait(CALL)),
    "P7 writes operands": plan(
        plans.Copy(P, IN), CALL_ON_P, plans.Copy(P, IN), plans.Wait(CALL_ON_P)
    ),
    "P7 twice": plan(CALL, plans.Wait(CALL), plans.Wait(CALL)),
    "P7 never": plan(CALL),
    "P1": plan(plans.Launch(kernel([LOAD], [STORE]), (IN,))),
    "P1 input": plan(plans.Copy(IN, IN)),
    "P2": plan(plans.Copy(OUT, P)),
    "P2 in one case": plan(plans.Branch(IN, [[plans.Copy(P, IN)], []]), plans.Copy(OUT, P)),
    "P2 in a loop": plan(
        plans.Copy(FLAG, buffer("input", 1)),
        plans.Loop([plans.Copy(FLAG, buffer("input", 1))], FLAG, [plans.Copy(P, IN)]),
        plans.Copy(OUT, P),
    ),
    "P3": plan(plans.Copy(P, IN), plans.Copy(Q, IN), plans.Copy(OUT, P)),
    "P3 in the next iteration": plan(
        plans.Copy(P, IN),
        plans.Loop(
            [plans.Copy(FLAG, buffer("input", 1))], FLAG, [plans.Copy(OUT, P), plans.Copy(Q, IN)]
        ),
    ),
    "P3 where it was swapped to": plan(*exchanging(plans.Copy(Q, IN), to=P)),
    "P3 while a loop fills it": plan(
        plans.Loop([NEVER], FLAG, [plans.Copy(P, IN), plans.Copy(Q, IN)], (P,)), plans.Copy(OUT, P)
    ),
    "P4": plan(plans.Copy(buffer("arena", 48, 240), IN)),
    "P4 alignment": plan(plans.Copy(buffer("arena", 48, 8), IN)),
    "P5": plan(plans.Copy(buffer("arena", 40), IN)),
    "P6 not written": plan(rows((OWN, OTHER), (OTHER, OUT))),
    "P6 overwritten": plan(rows((IN, OWN), (IN, OVER), (OWN, OUT))),
    "P6 outside": plan(plans.Launch(rows((IN, OWN)).launches[0].kernel, (OWN, OUT))),
    "P6 other rows": plan(rows((IN, P), (P, OUT), across=True)),
    "P6 other rows, which values name": plan(looked_up()),
    "P6 rows": plan(rows((IN, P), (P, OUT), count=3)),
    "P6 strip": plan(rows((IN, P), (P, OUT), strip=5)),
    "P5 of an exchange": plan(*exchanging(to=buffer("arena", 40), source=buffer("input", 40))),
}


@pytest.mark.parametrize("name", WRONG_PLANS)
def test_plan_constraint(name):
    with pytest.raises(PlanError) as error:
        verify_plan(WRONG_PLANS[name])
    assert str(error.value).startswith(name.split(" ")[0])


def test_a_plan_that_is_right():
    verify_plan(plan(launch, plans.Copy(FAR, P), plans.Copy(Q, FAR), plans.Copy(OUT, Q)))
    verify_plan(plan(*exchanging(to=P), plans.Copy(OUT, IN)))
    verify_plan(plan(plans.Loop([NEVER], FLAG, [plans.Copy(P, IN)], (P,)), plans.Copy(OUT, P)))
    verify_plan(plan(rows((IN, OWN), (OWN, OTHER), (OTHER, OUT))))
    verify_plan(plan(CALL, plans.Copy(Q, IN), plans.Wait(CALL), plans.Copy(OUT, P)))
    verify_plan(plan(rows((IN, OWN), (OWN, FAR), (FAR, OUT)), plans.Copy(OUT, FAR)))
