"""Each primitive is in a record, or has tests of its own."""

import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from records import all_records

import jitney
import jitney.lax
from jitney.core.primitive import registry

# Primitives that take functions, or whose results are not JAX's bit by bit, by where their tests are.
ELSEWHERE = {
    "tests/transforms": (
        "add_any", "cond", "custom_jvp_call", "custom_lin", "custom_linear_solve",
        "custom_vjp_call", "custom_vmap_call", "linear_call", "name", "remat2", "scan", "while",
        "debug_callback", "debug_print", "io_callback", "pure_callback", "all_gather",
        "all_to_all", "axis_index", "pbroadcast", "pmax", "pmin", "ppermute", "psum",
        "reduce_scatter", "sharding_constraint", "empty2", "platform_index",
    ),
    "tests/random": (
        "random_bits", "random_clone", "random_fold_in", "random_seed", "random_split",
        "random_unwrap", "random_wrap", "threefry2x32",
    ),
    "tests/numpy/test_linalg.py": (
        "cholesky", "cholesky_update", "eig", "eigh", "geqrf", "hessenberg",
        "householder_product", "lu", "lu_pivots_to_permutation", "ormqr", "qr", "schur", "svd",
        "symmetric_product", "triangular_solve", "tridiagonal", "tridiagonal_solve",
    ),
    "tests/ops/test_windows.py": (
        "reduce_window", "reduce_window_max", "reduce_window_min", "reduce_window_sum",
        "select_and_gather_add", "select_and_scatter_add",
    ),
    "tests/transforms/test_nests.py": ("remat_opt",),
    "tests/api": ("jit", "device_put", "copy", "stage", "stop_gradient", "empty"),
}  # fmt: skip


def primitives_of(jaxpr):
    for eqn in jaxpr.eqns:
        yield eqn.primitive.name
        for value in eqn.params.values():
            inner = getattr(value, "jaxpr", None)
            if inner is not None:
                yield from primitives_of(inner)


def recorded():
    found = set()
    for _, record in all_records():
        case = record.cases(record.dtypes[-1])[0]
        with jitney.enable_x64(True), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            closed = jitney.make_jaxpr(lambda *xs, fn=record.fn: fn(jitney.lax, *xs))(*case)
        found |= set(primitives_of(closed.jaxpr))
    return found


def test_places_exist():
    root = Path(__file__).parent.parent.parent
    assert all((root / place).exists() for place in ELSEWHERE)


def test_every_primitive():
    untried = set(registry) - recorded()
    untried -= {name for names in ELSEWHERE.values() for name in names}
    assert not untried, f"neither in a record nor tested elsewhere: {sorted(untried)}"
