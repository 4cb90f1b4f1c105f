"""Which operations compiled programs leave to Python: these, and no others.

Every primitive has a record or a program, so the whole interface is made of what is tried here.
docs/kernels.md has the table.
"""

import warnings
from collections.abc import Iterator

import numpy as np
from tests.primitives.records import all_records
from tests.primitives.records.programs import PROGRAMS
from tests.primitives.test_rules_run import case_of, chosen_dtypes

import jitney
from jitney.compiler import pipeline
from jitney.compiler.plan import ir as plans

# What is called -> records or programs that call it.
LEFT = {
    "callback debug_callback": "callbacks",
    "callback debug_print": "callbacks",
    "callback io_callback": "callbacks",
    "callback pure_callback": "callbacks pure_callback",
    "callback rng_uniform": "rng_uniform",
    "scipy.spsolve": "spsolve",
    "reference.scatter": "scatter_add[nothing,clip,fill] scatter_add[nothing,promise_in_bounds] "
    "scatter_apply scatter_mul_all_dtypes",
    "reference.broadcast": "broadcast_scalar conv_general_dilated conv_general_dilated_exact "
    "integer_pow iota[complex64] scatter_apply",
    "reference.transpose": "sort sort_key_val",
}
# Of complex numbers alone.
COMPLEX = {"reference.broadcast", "reference.transpose"}


def steps_within(steps: list[plans.Step]) -> Iterator[plans.Step]:
    for step in steps:
        yield step
        for block in plans.inner(step):
            yield from steps_within(list(block))


def host_calls(f, args) -> set[str]:
    module = jitney.jit(f).lower(*args).compiler_ir()
    plan = pipeline.plan(pipeline.optimize(module))
    found = set()
    for step in steps_within(list(plan.steps)):
        if isinstance(step, plans.HostCall):
            found.add(f"callback {step.name}")
        elif isinstance(step, plans.LibraryCall) and step.native is None:
            found.add(step.call.routine.name)
    return found


def test_python_is_called_by_what_is_named_and_nothing_else():
    found: dict[str, set[str]] = {}
    with jitney.enable_x64(True), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _, record in all_records():
            for dtype in chosen_dtypes(record):
                args = case_of(record, dtype)
                for call in host_calls(lambda *xs, r=record: r.fn(jitney.lax, *xs), args):
                    assert call not in COMPLEX or dtype.kind == "c" or "complex" in record.name
                    found.setdefault(call, set()).add(record.name)
        for name, (program, args) in PROGRAMS.items():
            try:
                calls = host_calls(lambda *xs, p=program: p(jitney, *xs), args)
            except TypeError:  # derivatives of what has none: their tests are elsewhere
                continue
            for call in calls:
                found.setdefault(call, set()).add(name)
    assert {call: " ".join(sorted(names)) for call, names in found.items()} == LEFT
