"""Plans are printed step by step, with the kernels that they launch."""

import numpy as np
from tests.compiler.plan.executed import built

from jitney.compiler import library
from jitney.compiler.hlo.ir import TensorType
from jitney.compiler.kernels.parse import parse_kernel
from jitney.compiler.plan import ir
from jitney.compiler.plan.text import print_plan

F32 = np.dtype(np.float32)
X = TensorType((4,), F32)
KERNEL = parse_kernel(
    "kernel k(p0: float32, p1: float32) for i < 4 {\n  %0 = load p0[i] : float32\n"
    "  store p1[i] <- %0\n}"
)


def printed(*steps, arena=-1):
    return print_plan(ir.Plan("f", list(steps), (X,), (X,), arena)).splitlines()


def test_every_kind_of_step():
    a, b, c = ir.Buffer("input", 16, 0), ir.Buffer("output", 16, 0), ir.Buffer("arena", 16)
    call = library.Call(library.Routine("lapack.lu", (("rows", 2),)), (X,), (X,))
    host = ir.HostCall("g", lambda: None, ((a, X),), ((b, X),))
    steps = [
        ir.Launch(KERNEL, (a, c), apart="too long"),
        ir.RowStrips(8, 3, (ir.Launch(KERNEL, (a, b)),)),
        ir.Gemm(a, c, b, F32, 2, 3, 4, 5, True, False, adds=True),
        ir.LibraryCall(call, (a,), (b,)),
        host,
        ir.Wait(host),
        ir.Loop([ir.Copy(c, a)], c, [ir.SwapBuffers(c, b)]),
        ir.Branch(a, [[], [ir.Copy(b, ir.Buffer("constant", 16))]]),
        ir.Clock(np.zeros(3, np.int64), 7),
    ]
    lines = printed(*steps)
    assert lines[0] == "program f(input0: float32[4]) -> (output0: float32[4]) {"
    end = lines.index("}")
    assert lines[1:end] == [
        "  launch k0(input0, buffer0)  ; too long",
        "  strips of 3 rows, 8 in all {",
        "    launch k1(input0, output0)",
        "  }",
        "  gemm.float32 output0 <-+ input0^T @ buffer0 (2 x 3x4x5)",
        "  library_call lapack.lu{rows=2}(input0) -> (output0)",
        "  host_call g(input0) -> (output0)",
        "  wait g -> (output0)",
        "  while {",
        "    copy buffer0 <- input0 (16 bytes)",
        "  } buffer0 do {",
        "    swap buffer0 <-> output0",
        "  }",
        "  switch input0 {",
        "    case 0:",
        "    case 1:",
        "      copy output0 <- constant[16] (16 bytes)",
        "  }",
        "  clock 7",
    ]
    assert [line for line in lines[end:] if line.startswith("kernel ")] == [
        f"kernel k{k}(p0: float32, p1: float32) for i < 4 {{" for k in range(2)
    ]


def test_buffers_are_numbered_in_order_until_they_have_memory():
    first, second = ir.Buffer("arena", 16), ir.Buffer("arena", 16)
    steps = [ir.Copy(second, first), ir.Copy(first, second)]
    assert printed(*steps)[1:3] == [
        "  copy buffer0 <- buffer1 (16 bytes)",
        "  copy buffer1 <- buffer0 (16 bytes)",
    ]
    first.index, second.index = 64, 0
    lines = printed(*steps, arena=128)
    assert lines[0].endswith("), arena 128 bytes {")
    assert lines[1] == "  copy arena0 <- arena64 (16 bytes)"


def test_nodes_are_called_without_their_text():
    _, plan = built("%1 = cumulative p0 fn=add dim=0 reverse=False : float32[4]", ["float32[4]"])
    assert (
        print_plan(plan).splitlines()[1]
        == "  library_call reference.cumulative(input0) -> (output0)"
    )
