"""Programs as text, partitioned and run on all devices at once."""

import numpy as np

from jitney.compiler.hlo.interpret import run
from jitney.compiler.hlo.parse import parse_module
from jitney.compiler.hlo.partition import interpret, partitioner
from jitney.compiler.hlo.partition.traffic import collectives_of

X, Y, WHOLE = ("x",), ("y",), ()


def divided(body, specs, mesh, values, outs=None):
    """The partitioned program of `body`, whose results are those of the whole program, bit for bit.

    Parameters are named p0, p1 ...; the last line's value is the result.
    """
    values = [np.asarray(x) for x in values]
    types = [f"{x.dtype.name}[{','.join(map(str, x.shape))}]" for x in values]
    params = ", ".join(f"p{k}: {t}" for k, t in enumerate(types))
    last = [line for line in body.strip().splitlines() if line.startswith("%")][-1].split()[0]
    module = parse_module(f"module f({params}) {{\n{body}\nreturn {last}\n}}")
    program = partitioner.partition(module, specs, mesh, outs)
    (found,), (expected,) = interpret.run(program, values), run(module, values)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert found.tobytes() == expected.tobytes(), (found, expected)
    return program


def sends(program):
    """The kinds of its collectives that send something."""
    return [node.kind for node in collectives_of(program.module.region) if node.args]
