"""Plans run step by step by NumPy: what a plan means, without its code."""

import numpy as np

from jitney.compiler import library
from jitney.compiler.hlo.interpret import run as interpreted
from jitney.compiler.hlo.parse import parse_module
from jitney.compiler.kernels import interpret as kernels
from jitney.compiler.pipeline import run as stages
from jitney.compiler.plan import ir


class Memory:
    """The bytes of each buffer."""

    def __init__(self, inputs):
        self.inputs = inputs
        self.places = {}

    def view(self, buffer, dtype):
        """The buffer as a vector of `dtype`."""
        if buffer not in self.places:
            if buffer.place == "constant":
                data = np.ascontiguousarray(buffer.value).reshape(-1)
            elif buffer.place == "input":
                data = np.array(self.inputs[buffer.index], order="C").reshape(-1)
            else:  # whatever was there before
                data = np.full(buffer.nbytes, 0xA5, np.uint8)
            self.places[buffer] = data.view(np.uint8)
        return self.places[buffer].view(dtype)

    def array(self, buffer, type_):
        return self.view(buffer, type_.dtype).reshape(type_.shape)

    def run(self, steps):
        for step in steps:
            match step:
                case ir.Launch():
                    pairs = zip(step.buffers, step.kernel.params, strict=True)
                    kernels.run(step.kernel, [self.view(b, t) for b, t in pairs])
                case ir.Copy():
                    self.view(step.to, np.uint8)[:] = self.view(step.source, np.uint8)
                case ir.SwapBuffers():
                    a, b = [self.view(x, np.uint8) for x in (step.carry, step.after)]
                    a[:], b[:] = b.copy(), a.copy()
                case ir.Gemm():
                    self.multiply(step)
                case ir.LibraryCall():
                    call = step.call
                    pairs = zip(step.args, call.args, strict=True)
                    made = library.implementation(call)(*[self.array(b, t) for b, t in pairs])
                    for b, t, value in zip(step.results, call.results, made, strict=True):
                        self.array(b, t)[...] = value
                case ir.HostCall():
                    made = step.fn(*[self.array(b, t) for b, t in step.args])
                    for (b, t), value in zip(step.results, made, strict=True):
                        self.array(b, t)[...] = value
                case ir.Loop():
                    self.run(step.cond)
                    while self.view(step.predicate, np.uint8)[0]:
                        self.run(step.body)
                        self.run(step.cond)
                case ir.Branch():
                    index = int(self.view(step.index, np.int32)[0])
                    self.run(step.cases[min(max(index, 0), len(step.cases) - 1)])
                case _:
                    raise NotImplementedError(type(step))

    def multiply(self, step):
        x, y, out = [self.view(b, step.dtype) for b in (step.x, step.y, step.out)]
        m, n, k = step.m, step.n, step.k
        x = x.reshape(step.batch, *((k, m) if step.trans_x else (m, k)))
        y = y.reshape(step.batch, *((n, k) if step.trans_y else (k, n)))
        x, y = [v.swapaxes(1, 2) if t else v for v, t in ((x, step.trans_x), (y, step.trans_y))]
        out = out.reshape(step.batch, m, n)
        out[...] = x @ y + (out if step.adds else 0)


def results(plan, inputs):
    """The results of a plan on NumPy arrays."""
    memory = Memory(inputs)
    memory.run(plan.steps)
    found = {
        b.index: b for s in ir.all_steps(plan.steps) for b in ir.touched(s) if b.place == "output"
    }
    return [memory.array(found[i], t) for i, t in enumerate(plan.outputs)]


def built(body, types, returned=None):
    """The module and the plan of a program, with parameters of `types`; the last value returned."""
    params = ", ".join(f"p{k}: {t}" for k, t in enumerate(types))
    last = [line for line in body.strip().splitlines() if line.startswith("%")][-1].split()[0]
    module = parse_module(f"module f({params}) {{\n{body}\nreturn {returned or last}\n}}")
    return module, stages(module, first="build_kernels", last="build_kernels")


def checked(body, inputs, returned=None, exact=True):
    """The plan of a program, which gives the interpreter's results on `inputs`."""
    inputs = [np.asarray(x) for x in inputs]
    types = [f"{x.dtype.name}[{','.join(map(str, x.shape))}]" for x in inputs]
    module, plan = built(body, types, returned)
    for found, expected in zip(results(plan, inputs), interpreted(module, inputs), strict=True):
        assert found.dtype == expected.dtype
        if exact:
            np.testing.assert_array_equal(found, expected)
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    return plan


def kinds(steps):
    """The names of the classes of steps."""
    return [type(step).__name__ for step in steps]
