"""Each collective of a program, by MPI, beside its NumPy model; and random programs over grids.

Run by `mpiexec -n N`; prints "ok" from process 0. Operands of all processes are made by each of them,
so that it knows what all should get.
"""

import math
import random

import ml_dtypes
import numpy as np
from tests.compiler.hlo.partition.random_programs import MESHES, random_case

import jitney as jax
from jitney.compiler import pipeline
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.ir import Module, Region, TensorType
from jitney.compiler.hlo.partition import partitioner
from jitney.compiler.hlo.partition.layout import split
from jitney.compiler.reference.collective import collective
from jitney.core.types.avals import shaped_array
from jitney.runtime.devices import processes
from jitney.runtime.distributed.participants import of_grid
from jitney.runtime.distributed.process_grid import ProcessGrid
from jitney.runtime.execution import process_programs
from jitney.runtime.execution.executable import Lowering

DTYPES = [np.float32, np.float64, np.complex64, ml_dtypes.bfloat16, np.float16, np.int8, np.uint32,
          np.int64, np.bool_]  # fmt: skip


def compiled(module):
    """Results of a program of the tensor IR, whatever its dtypes, on ndarrays."""
    avals = [[shaped_array(x.shape, x.dtype) for x in xs]
             for xs in (module.region.parameters, module.region.results)]  # fmt: skip
    return Lowering(module, *avals).compile()


def check(members, kind, dtype, shape, rng, **params):
    n = processes.size()
    xs = [rng.integers(-3, 4, shape).astype(dtype) for _ in range(n)]
    if np.dtype(dtype).kind == "f" and params.get("fn") in ("max", "min") and math.prod(shape):
        xs[n // 2].flat[0] = np.nan
    expected = collective(kind, xs, **params)[processes.rank()]
    b = Builder()
    x = b.parameter(0, TensorType(shape, np.dtype(dtype)))
    node = b.collective(kind, (("x", n),), tuple(params.items()), [x])
    module, calls = process_programs.bind(Module("f", Region((x,), (node,))), members)
    assert calls or not math.prod(shape), "nothing is sent of nothing"
    (got,) = compiled(module).run([xs[processes.rank()]])
    got = np.asarray(got)
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype), (kind, params, dtype)
    same = got.tobytes() == expected.tobytes()
    assert same or (got == expected).all() or np.isnan(got).any(), (
        kind,
        params,
        dtype,
        got,
        expected,
    )
    if np.dtype(dtype).kind == "f":
        np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))


def check_collectives():
    n = processes.size()
    rng = np.random.default_rng(0)
    members = of_grid(ProcessGrid({"x": n}, {"x": 1}, tuple(range(n))))
    for dtype in DTYPES if n == 2 else [np.float32, ml_dtypes.bfloat16, np.int8]:
        logical = np.dtype(dtype) == bool
        monoids = ["and", "or"] if logical else ["add", "mul"]
        if np.dtype(dtype).kind in "iuf":
            monoids += ["max", "min"]
        if np.dtype(dtype).kind in "iu":
            monoids += ["and", "or", "xor"]
        for shape in ((n,), (2 * n, 3), (2, 3 * n), (0, n), (1, n, 2)):
            dim = next(k for k, extent in enumerate(shape) if extent and extent % n == 0)
            for fn in monoids:
                check(members, "all_reduce", dtype, shape, rng, fn=fn)
                check(members, "reduce_scatter", dtype, shape, rng, fn=fn, dim=dim)
            for to in range(len(shape)):
                check(members, "all_gather", dtype, shape, rng, dim=to)
                check(members, "all_to_all", dtype, shape, rng, split_dim=dim, concat_dim=to)
            check(members, "broadcast", dtype, shape, rng, source=n - 1)
            ring = tuple([(k, (k + 1) % n) for k in range(n)])
            check(members, "permute", dtype, shape, rng, pairs=ring)
            check(members, "permute", dtype, shape, rng, pairs=((0, n - 1),))


def check_random_programs(count):
    n = processes.size()
    fitting = [mesh for mesh in MESHES if math.prod(mesh.values()) == n]
    draw, found = random.Random(n), 0
    while found < count:
        module, inputs, specs, mesh, outs = random_case(draw)
        if mesh not in fitting:
            continue
        found += 1
        members = of_grid(ProcessGrid(mesh, dict.fromkeys(mesh, 1), tuple(range(n))))
        program = partitioner.partition(module, specs, mesh, outs)
        bound, _ = process_programs.bind(program.module, members)
        own = [split(x, spec, program.mesh)[processes.rank()]
               for x, spec in zip(inputs, program.in_specs, strict=True)]  # fmt: skip
        got = [np.asarray(x) for x in compiled(bound).run([np.ascontiguousarray(x) for x in own])]
        whole = pipeline.interpret(module, inputs)
        for x, y, spec in zip(got, whole, program.out_specs, strict=True):
            expected = split(np.asarray(y), spec, program.mesh)[processes.rank()]
            assert (x.shape, x.dtype) == (expected.shape, expected.dtype)
            assert x.tobytes() == np.ascontiguousarray(expected).tobytes(), (mesh, specs, spec)


jax.config.update("jax_enable_x64", True)
jax.distributed.initialize()
check_collectives()
check_random_programs(25)
if processes.rank() == 0:
    print("ok")
